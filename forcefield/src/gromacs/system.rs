//! From lines to a system: which section a line belongs to, and the molecules one after the other.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::error::{TopologyError, TopologyProblem};
use super::fields::Fields;
use super::forcefield::ForceField;
use super::molecule::MoleculeType;
use super::source::{Location, SourceLine};
use super::virtual_sites::Parents;
use crate::topology::{AtomType, LennardJonesTable, Molecule, Topology};

/// Far beyond any simulation on one machine; keeps a mistyped count from filling the memory.
const MAX_ATOMS: u128 = 200_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Defaults,
    AtomTypes,
    BondTypes,
    ConstraintTypes,
    AngleTypes,
    DihedralTypes,
    PairTypes,
    NonbondParams,
    CmapTypes,
    /// Radii and surfaces of implicit solvent: force fields of GROMACS up to 2018, and ports of CHARMM36, have them. An .mdp asked for such a solvent and
    /// no topology can, so that no energy depends on them; GROMACS itself reads over them since 2019.
    ImplicitSolvent,
    MoleculeType,
    Atoms,
    Bonds,
    Constraints,
    Settles,
    VirtualSites1,
    VirtualSites2,
    VirtualSites3,
    VirtualSitesN,
    Angles,
    Dihedrals,
    Cmap,
    Pairs,
    Exclusions,
    PositionRestraints,
    System,
    Molecules,
}

use Section::*;

const SECTIONS: [(&str, Section); 28] = [
    ("defaults", Defaults),
    ("atomtypes", AtomTypes),
    ("bondtypes", BondTypes),
    ("constrainttypes", ConstraintTypes),
    ("angletypes", AngleTypes),
    ("dihedraltypes", DihedralTypes),
    ("pairtypes", PairTypes),
    ("nonbond_params", NonbondParams),
    ("cmaptypes", CmapTypes),
    ("implicit_genborn_params", ImplicitSolvent),
    ("implicit_surface_params", ImplicitSolvent),
    ("moleculetype", MoleculeType),
    ("atoms", Atoms),
    ("bonds", Bonds),
    ("constraints", Constraints),
    ("settles", Settles),
    ("virtual_sites1", VirtualSites1),
    ("virtual_sites2", VirtualSites2),
    ("virtual_sites3", VirtualSites3),
    ("virtual_sitesn", VirtualSitesN),
    ("angles", Angles),
    ("dihedrals", Dihedrals),
    ("cmap", Cmap),
    ("pairs", Pairs),
    ("exclusions", Exclusions),
    ("position_restraints", PositionRestraints),
    ("system", System),
    ("molecules", Molecules),
];

/// A section header `[ name ]`; names are compared without regard to case, '_' and '-', as GROMACS does.
fn header(line: &SourceLine) -> Result<Option<Section>, TopologyError> {
    let Some(rest) = line.text.strip_prefix('[') else { return Ok(None) };
    let Some((name, "")) = rest.split_once(']').map(|(n, after)| (n.trim(), after.trim())) else {
        return Err(line.at.error(TopologyProblem::BadHeader(line.text.clone())));
    };
    let plain = |s: &str| s.to_ascii_lowercase().replace(['_', '-'], "");
    match SECTIONS.iter().find(|(n, _)| plain(n) == plain(name)) {
        Some((_, section)) => Ok(Some(*section)),
        None => Err(line.at.error(TopologyProblem::UnsupportedSection {
            section: name.to_string(),
            supported: SECTIONS
                .iter()
                .filter(|(_, section)| *section != ImplicitSolvent)
                .map(|(name, _)| *name)
                .collect::<Vec<_>>()
                .join(", "),
        })),
    }
}

impl Section {
    fn name(self) -> &'static str {
        SECTIONS.iter().find(|(_, s)| *s == self).map_or("", |(n, _)| n)
    }

    fn is_of_force_field(self) -> bool {
        (self as u8) < MoleculeType as u8
    }

    fn is_of_molecule(self) -> bool {
        (Atoms as u8..=PositionRestraints as u8).contains(&(self as u8))
    }
}

#[derive(Default)]
struct Reader {
    force_field: ForceField,
    molecule_types: Vec<MoleculeType>,
    /// Names of the molecule types: index and place.
    by_name: HashMap<String, (usize, Location)>,
    /// The molecule type being read.
    in_molecule: bool,
    title: Option<String>,
    /// Molecule type and number of copies.
    molecules: Vec<(usize, usize)>,
}

/// Read all lines and expand the molecules; `keep`: names of types that stay although no atom has them.
/// `n_atoms`: how many atoms there must be, if that is known.
pub(super) fn assemble(
    path: &Path,
    lines: &[SourceLine],
    keep: &[&str],
    n_atoms: Option<usize>,
) -> Result<Topology, TopologyError> {
    let mut reader = Reader::default();
    let mut section = None;
    for line in lines {
        if let Some(new) = header(line)? {
            reader.check_order(new, line)?;
            section = Some(new);
        } else {
            match section {
                Some(section) => reader.line(section, line)?,
                // Title lines of shipped force fields stand before everything, marked by asterisks.
                None if line.text.starts_with('*') => {}
                None => return Err(line.at.error(TopologyProblem::DataOutsideSection(line.text.clone()))),
            }
        }
    }
    let whole = Location { file: Arc::new(path.to_path_buf()), line: 0 };
    reader.expand(&whole, keep, n_atoms)
}

impl Reader {
    fn check_order(&mut self, new: Section, line: &SourceLine) -> Result<(), TopologyError> {
        let misplaced = |reason| Err(line.at.error(TopologyProblem::MisplacedSection { section: new.name(), reason }));
        if new != Defaults && self.force_field.defaults.is_none() {
            return misplaced("[ defaults ] with its line must come first");
        }
        if new != Molecules && new != System && self.title.is_some() {
            return misplaced("[ system ] and [ molecules ] come last");
        }
        if new.is_of_force_field() && !self.molecule_types.is_empty() {
            return misplaced("force-field sections come before the first [ moleculetype ]");
        }
        if new.is_of_molecule() && !self.in_molecule {
            return misplaced("a [ moleculetype ] with its line must come before it");
        }
        if new == Molecules && self.title.is_none() {
            return misplaced("[ system ] with a title must come before it");
        }
        if new == MoleculeType {
            self.in_molecule = false;
        }
        Ok(())
    }

    fn line(&mut self, section: Section, line: &SourceLine) -> Result<(), TopologyError> {
        let ff = &mut self.force_field;
        match section {
            Defaults => return ff.read_defaults(line),
            AtomTypes => return ff.read_atom_type(line),
            BondTypes => return ff.read_bond_type(line),
            ConstraintTypes => return ff.read_constraint_type(line),
            AngleTypes => return ff.read_angle_type(line),
            DihedralTypes => return ff.read_dihedral_type(line),
            PairTypes => return ff.read_pair_type(line, "pairtypes"),
            NonbondParams => return ff.read_pair_type(line, "nonbond_params"),
            CmapTypes => return ff.read_cmap_type(line),
            MoleculeType => return self.molecule_type(line),
            System => {
                let title = self.title.get_or_insert_default();
                if !title.is_empty() {
                    title.push(' ');
                }
                title.push_str(&line.text);
                return Ok(());
            }
            Molecules => return self.molecule_count(line),
            ImplicitSolvent => return Ok(()),
            _ => {}
        }
        let ff = &self.force_field;
        let molecule = self.molecule_types.last_mut().expect("invariant: checked at the section's header");
        match section {
            Atoms => molecule.read_atom(ff, line),
            Bonds => molecule.read_bond(ff, line),
            Constraints => molecule.read_constraint(ff, line),
            Settles => molecule.read_settle(line),
            VirtualSites1 => molecule.read_virtual_site(Parents::One, line),
            VirtualSites2 => molecule.read_virtual_site(Parents::Two, line),
            VirtualSites3 => molecule.read_virtual_site(Parents::Three, line),
            VirtualSitesN => molecule.read_virtual_site(Parents::Any, line),
            Angles => molecule.read_angle(ff, line),
            Dihedrals => molecule.read_dihedral(ff, line),
            Cmap => molecule.read_cmap(ff, line),
            Pairs => molecule.read_pair(ff, line),
            Exclusions => molecule.read_exclusions(line),
            PositionRestraints => molecule.read_position_restraint(line),
            _ => Ok(()),
        }
    }

    fn molecule_type(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let molecule = MoleculeType::new(line)?;
        let entry = (self.molecule_types.len(), line.at.clone());
        if let Some((_, first)) = self.by_name.insert(molecule.name.clone(), entry) {
            let what = format!("molecule type '{}'", molecule.name);
            return Err(line.at.error(TopologyProblem::Redefined { what, first: first.to_string() }));
        }
        self.molecule_types.push(molecule);
        self.in_molecule = true;
        Ok(())
    }

    fn molecule_count(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("molecules", line);
        if f.len() != 2 {
            return Err(f.columns("name count"));
        }
        let name = f.word(0);
        let count = match f.int(1)? {
            n if n >= 0 => n as usize,
            n => return Err(f.out_of_range("count", n, "zero or positive")),
        };
        let found = self.by_name.get(name).map(|e| e.0).or_else(|| {
            let mut alike = self.molecule_types.iter().enumerate().filter(|(_, m)| m.name.eq_ignore_ascii_case(name));
            alike.next().map(|e| e.0).filter(|_| alike.next().is_none())
        });
        match found {
            Some(index) if self.molecule_types[index].top.atoms.is_empty() => {
                return Err(f.error(TopologyProblem::Missing("this molecule type has no [ atoms ]")));
            }
            Some(index) => self.molecules.push((index, count)),
            None => {
                let names: Vec<_> = self.molecule_types.iter().map(|m| m.name.as_str()).collect();
                let hint = format!("; defined are {}", names.join(", "));
                return Err(f.error(TopologyProblem::Unknown { what: "molecule type", name: name.into(), hint }));
            }
        }
        Ok(())
    }

    fn expand(mut self, whole: &Location, keep: &[&str], wanted: Option<usize>) -> Result<Topology, TopologyError> {
        let missing = |what| Err(whole.error(TopologyProblem::Missing(what)));
        if self.force_field.defaults.is_none() {
            return missing("no [ defaults ] section: include a force field at the top");
        }
        let atoms_of = |&(m, n): &(usize, usize)| self.molecule_types[m].top.atoms.len() as u128 * n as u128;
        let n_atoms: u128 = self.molecules.iter().map(atoms_of).sum();
        if n_atoms == 0 {
            return missing("the system has no atoms: [ molecules ] is missing or empty");
        }
        // Before they are made: a mistyped count would fill the memory.
        if let Some(wanted) = wanted.filter(|&wanted| wanted as u128 != n_atoms) {
            return Err(whole.error(TopologyProblem::AtomCount { found: n_atoms, wanted }));
        }
        if n_atoms > MAX_ATOMS {
            return Err(whole.error(TopologyProblem::TooManyAtoms { found: n_atoms, limit: MAX_ATOMS }));
        }
        for &(index, _) in &self.molecules {
            self.molecule_types[index].check_virtual_sites()?;
        }
        let mut top = Topology { title: self.title.clone().unwrap_or_default(), ..Default::default() };
        top.atoms.reserve(n_atoms as usize);
        let mut exclusions: Vec<Option<_>> = self.molecule_types.iter().map(|_| None).collect();
        for &(index, count) in &self.molecules {
            let molecule = &self.molecule_types[index];
            let excluded = exclusions[index].get_or_insert_with(|| molecule.exclusions());
            for _ in 0..count {
                append(&mut top, molecule);
                top.exclusions.append(excluded);
            }
        }
        self.keep_types_in_use(&mut top, keep);
        if !top.cmaps.is_empty() {
            top.cmap_grids = self.force_field.cmap_grids;
        }
        Ok(top)
    }

    /// Renumber atom types by first appearance, then those of `keep`, and tabulate their Lennard-Jones coefficients.
    fn keep_types_in_use(&self, top: &mut Topology, keep: &[&str]) {
        let ff = &self.force_field;
        let mut new_index = vec![u32::MAX; ff.types.len()];
        let mut used: Vec<u32> = Vec::new();
        for atom in &mut top.atoms {
            let new = &mut new_index[atom.type_index as usize];
            if *new == u32::MAX {
                *new = used.len() as u32;
                used.push(atom.type_index);
            }
            atom.type_index = *new;
        }
        let kept = (0..ff.types.len()).filter(|&t| keep.contains(&ff.types[t].name.as_str()));
        used.extend(kept.filter(|&t| new_index[t] == u32::MAX).map(|t| t as u32));
        let describe = |&t: &u32| {
            let line = &ff.types[t as usize];
            AtomType { name: line.name.clone(), atomic_number: line.atomic_number }
        };
        top.atom_types = used.iter().map(describe).collect();
        let pairs = used.iter().flat_map(|&i| used.iter().map(move |&j| ff.lennard_jones(ff.combine(i, j))));
        let (c6, c12) = pairs.unzip();
        top.lj = LennardJonesTable { n_types: used.len(), c6, c12 };
    }
}

/// Add one copy of `molecule` after the atoms of `top`.
fn append(top: &mut Topology, molecule: &MoleculeType) {
    let (a, r, m) = (top.atoms.len() as u32, top.residues.len() as u32, top.molecules.len() as u32);
    let one = &molecule.top;
    let end = a + one.atoms.len() as u32;
    top.molecules.push(Molecule { name: molecule.name.clone(), atoms: a..end });
    top.atoms.extend(one.atoms.iter().cloned().map(|mut x| {
        x.residue += r;
        x.molecule = m;
        x
    }));
    top.residues.extend(one.residues.iter().cloned().map(|mut x| {
        x.atoms = x.atoms.start + a..x.atoms.end + a;
        x.molecule = m;
        x
    }));
    shifted(&mut top.bonds, &one.bonds, |x| shift(&mut x.atoms, a));
    shifted(&mut top.distances, &one.distances, |x| shift(&mut x.atoms, a));
    shifted(&mut top.angles, &one.angles, |x| shift(&mut x.atoms, a));
    shifted(&mut top.urey_bradley, &one.urey_bradley, |x| shift(&mut x.atoms, a));
    shifted(&mut top.propers, &one.propers, |x| shift(&mut x.atoms, a));
    shifted(&mut top.harmonic_impropers, &one.harmonic_impropers, |x| shift(&mut x.atoms, a));
    shifted(&mut top.ryckaert_bellemans, &one.ryckaert_bellemans, |x| shift(&mut x.atoms, a));
    shifted(&mut top.cmaps, &one.cmaps, |x| shift(&mut x.atoms, a));
    shifted(&mut top.pairs, &one.pairs, |x| shift(&mut x.atoms, a));
    shifted(&mut top.constraints, &one.constraints, |x| shift(&mut x.atoms, a));
    shifted(&mut top.settles, &one.settles, |x| {
        x.oxygen += a;
        shift(&mut x.hydrogens, a);
    });
    top.virtual_sites.extend(one.virtual_sites.iter().cloned().map(|mut x| {
        x.site += a;
        x.parents.iter_mut().for_each(|i| *i += a);
        x
    }));
    shifted(&mut top.position_restraints, &one.position_restraints, |x| x.atom += a);
}

fn shift<const N: usize>(atoms: &mut [u32; N], by: u32) {
    atoms.iter_mut().for_each(|i| *i += by);
}

fn shifted<T: Copy>(all: &mut Vec<T>, one: &[T], change: impl Fn(&mut T)) {
    all.extend(one.iter().map(|x| {
        let mut x = *x;
        change(&mut x);
        x
    }));
}
