//! The sections of one molecule type, with local 0-based atom indices and every parameter resolved.

use nalgebra::Vector3;

use super::dihedral_types::{DihedralKind, fourier};
use super::error::{TopologyError, TopologyProblem};
use super::exclude;
use super::fields::{Fields, Parameters};
use super::forcefield::ForceField;
use super::source::{Location, SourceLine};
use super::virtual_sites::Massless;
use crate::exclusions::ExcludedPairs;
use crate::topology::{
    Angle, Atom, Bond, Cmap, Constraint, HarmonicImproper, Pair14, PeriodicDihedral, PositionRestraint, Residue,
    RyckaertBellemans, Settle, Topology, UreyBradley,
};

/// A molecule type. Atom types in `top` are indices into the force field's.
#[derive(Debug)]
pub(super) struct MoleculeType {
    pub name: String,
    n_excluded_bonds: usize,
    pub top: Topology,
    /// Chemical bonds for exclusions: bonds and constraints of function 1. Rigid water has none, as in GROMACS: its
    /// exclusions are those listed.
    links: Vec<[u32; 2]>,
    listed_exclusions: Vec<[u32; 2]>,
    /// Particles that virtual sites have to place.
    pub massless: Vec<Massless>,
    /// Where it begins.
    pub at: Location,
}

impl MoleculeType {
    pub fn new(line: &SourceLine) -> Result<Self, TopologyError> {
        let f = Fields::new("moleculetype", line);
        if f.len() != 2 {
            return Err(f.columns("name nrexcl"));
        }
        let n_excluded_bonds = match f.int(1)? {
            n @ 0..=100 => n as usize,
            n => return Err(f.out_of_range("nrexcl", n, "from 0 to 100")),
        };
        Ok(Self {
            name: f.word(0).to_string(),
            n_excluded_bonds,
            top: Topology::default(),
            links: Vec::new(),
            listed_exclusions: Vec::new(),
            massless: Vec::new(),
            at: line.at.clone(),
        })
    }

    /// All excluded pairs: neighbours up to nrexcl bonds away, and those listed.
    pub fn exclusions(&self) -> ExcludedPairs {
        let n = self.top.atoms.len();
        let near = exclude::neighbours(n, &self.links, self.n_excluded_bonds);
        ExcludedPairs::from_pairs(n, near.into_iter().chain(self.listed_exclusions.iter().copied()))
    }

    /// `nr type resnr residue atom cgnr [charge [mass [typeB [chargeB [massB]]]]]`
    pub fn read_atom(&mut self, ff: &ForceField, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("atoms", line);
        let expected = "number type residue-number residue atom group [charge [mass [state B]]]";
        f.at_least(6, expected)?;
        if f.len() > 11 {
            return Err(f.columns(expected));
        }
        let next = self.top.atoms.len() + 1;
        let found = f.int(0)?;
        if found != next as i64 {
            return Err(f.error(TopologyProblem::AtomNumber { found, expected: next }));
        }
        let type_index = ff.atom_type(f.word(1), &f)?;
        let atom_type = &ff.types[type_index as usize];
        let ((number, insertion), residue, name) = (residue_number(&f)?, f.word(3), f.word(4).to_string());
        let optional = |column: usize, default: f64| if f.len() > column { f.real(column) } else { Ok(default) };
        let (charge, mass) = (optional(6, atom_type.charge)?, optional(7, atom_type.mass)?);
        if f.len() > 8 {
            let other = &ff.types[ff.atom_type(f.word(8), &f)? as usize];
            if *other != *atom_type || optional(9, other.charge)? != charge || optional(10, other.mass)? != mass {
                return Err(f.error(TopologyProblem::PerturbedState { section: "atoms" }));
            }
        }
        let who = || format!("{next} ({residue} {} {name})", f.word(2));
        let index = (next - 1) as u32;
        let is = |kind: &str| atom_type.kind.eq_ignore_ascii_case(kind);
        let problem = if is("A") {
            (mass <= 0.0).then(|| TopologyProblem::Mass { atom: who(), mass })
        } else {
            let (atom_type, kind) = (atom_type.name.clone(), atom_type.kind.clone());
            Some(TopologyProblem::ParticleKind { atom: who(), atom_type, kind })
        };
        if let Some(problem) = problem {
            // What has no mass may be a virtual site, whatever its type is called: the sections that place it come later.
            if mass < 0.0 || !(is("A") || is("V") || is("D")) {
                return Err(f.error(problem));
            }
            self.massless.push(Massless { atom: index, at: line.at.clone(), problem });
        }
        match self.top.residues.last_mut() {
            Some(r) if (r.number, r.insertion) == (number, insertion) && r.name == residue => r.atoms.end = index + 1,
            _ => {
                let (name, atoms) = (residue.into(), index..index + 1);
                self.top.residues.push(Residue { name, number, insertion, molecule: 0, atoms });
            }
        }
        let residue = self.top.residues.len() as u32 - 1;
        self.top.atoms.push(Atom { name, type_index, residue, molecule: 0, charge, mass });
        Ok(())
    }

    /// Atom index in `column`, 0-based.
    pub(super) fn atom(&self, f: &Fields, column: usize) -> Result<u32, TopologyError> {
        let (found, n_atoms) = (f.int(column)?, self.top.atoms.len());
        if (1..=n_atoms as i64).contains(&found) {
            return Ok(found as u32 - 1);
        }
        let molecule = self.name.clone();
        Err(f.error(TopologyProblem::AtomIndex { section: f.section, found, molecule, n_atoms }))
    }

    /// N different atoms from the first columns.
    pub(super) fn atoms<const N: usize>(&self, f: &Fields, expected: &'static str) -> Result<[u32; N], TopologyError> {
        f.at_least(N, expected)?;
        let mut atoms = [0; N];
        for i in 0..N {
            atoms[i] = self.atom(f, i)?;
            if atoms[..i].contains(&atoms[i]) {
                let atom = i64::from(atoms[i]) + 1;
                return Err(f.error(TopologyProblem::RepeatedAtom { section: f.section, atom }));
            }
        }
        Ok(atoms)
    }

    fn bonded_types<const N: usize>(&self, ff: &ForceField, atoms: [u32; N]) -> [u32; N] {
        atoms.map(|a| ff.types[self.top.atoms[a as usize].type_index as usize].bonded)
    }

    fn no_parameters<const N: usize>(
        &self,
        ff: &ForceField,
        f: &Fields,
        function: u8,
        atoms: [u32; N],
    ) -> TopologyError {
        let types = match f.section {
            "pairs" => atoms.map(|a| ff.types[self.top.atoms[a as usize].type_index as usize].name.as_str()),
            _ => self.bonded_types(ff, atoms).map(|t| ff.bonded_names[t as usize].as_str()),
        };
        let atoms = atoms.map(|a| format!("{} {}", self.top.atoms[a as usize].name, a + 1)).join(", ");
        f.error(TopologyProblem::NoParameters { section: f.section, function, types: types.join(" "), atoms })
    }

    pub fn read_bond(&mut self, ff: &ForceField, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("bonds", line);
        let atoms = self.atoms(&f, "atom atom [function [b0 k]]")?;
        let function = f.function(2, &[1, 6], super::BONDS)?;
        let types = self.bonded_types(ff, atoms);
        let p = f.parameters(3, function, 2)?.or_else(|| ff.bonds.get(function, types));
        let [r0, k] = p.ok_or_else(|| self.no_parameters(ff, &f, function, atoms))?.get();
        if function == 6 {
            self.top.distances.push(Bond { atoms, r0, k });
            return Ok(());
        }
        self.top.bonds.push(Bond { atoms, r0, k });
        self.links.push(atoms);
        Ok(())
    }

    pub fn read_constraint(&mut self, ff: &ForceField, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("constraints", line);
        let atoms = self.atoms(&f, "atom atom [function [length]]")?;
        let function = f.function(2, &[1, 2], super::CONSTRAINTS)?;
        let types = self.bonded_types(ff, atoms);
        let p = f.parameters(3, function, 1)?.or_else(|| ff.constraints.get(function, types));
        let [length] = p.ok_or_else(|| self.no_parameters(ff, &f, function, atoms))?.get();
        if length <= 0.0 {
            return Err(f.out_of_range("length", length, "positive"));
        }
        self.top.constraints.push(Constraint { atoms, length });
        if function == 1 {
            self.links.push(atoms);
        }
        Ok(())
    }

    /// `oxygen function d_OH d_HH`; the hydrogens are the next two atoms.
    pub fn read_settle(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("settles", line);
        f.at_least(4, "oxygen function d_OH d_HH")?;
        let function = f.function(1, &[1], super::SETTLES)?;
        let oxygen = self.atom(&f, 0)?;
        let n_atoms = self.top.atoms.len();
        if oxygen as usize + 2 >= n_atoms {
            let (found, molecule) = (i64::from(oxygen) + 3, self.name.clone());
            return Err(f.error(TopologyProblem::AtomIndex { section: f.section, found, molecule, n_atoms }));
        }
        let p = f.parameters(2, function, 2)?;
        let [d_oh, d_hh] = p.ok_or_else(|| f.columns("oxygen function d_OH d_HH"))?.get();
        if !(d_oh > 0.0 && d_hh > 0.0 && d_hh < 2.0 * d_oh) {
            return Err(f.out_of_range("d_OH, d_HH", format!("{d_oh}, {d_hh}"), "positive, with d_HH < 2 d_OH"));
        }
        let hydrogens = [oxygen + 1, oxygen + 2];
        let mass = |a: u32| self.top.atoms[a as usize].mass;
        if mass(hydrogens[0]) != mass(hydrogens[1]) {
            return Err(f.out_of_range("second hydrogen's mass", mass(hydrogens[1]), "that of the first"));
        }
        self.top.settles.push(Settle { oxygen, hydrogens, d_oh, d_hh });
        Ok(())
    }

    pub fn read_angle(&mut self, ff: &ForceField, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("angles", line);
        let atoms = self.atoms(&f, "atom atom atom [function [parameters]]")?;
        let function = f.function(3, &[1, 5], super::ANGLES)?;
        let types = self.bonded_types(ff, atoms);
        let n = if function == 1 { 2 } else { 4 };
        let p = f.parameters(4, function, n)?.or_else(|| ff.angles.get(function, types));
        let p = p.ok_or_else(|| self.no_parameters(ff, &f, function, atoms))?;
        if function == 1 {
            let [theta0, k] = p.get();
            self.top.angles.push(Angle { atoms, theta0: theta0.to_radians(), k });
        } else {
            let [theta0, k, r13, k13] = p.get();
            self.top.urey_bradley.push(UreyBradley { atoms, theta0: theta0.to_radians(), k, r13, k13 });
        }
        Ok(())
    }

    pub fn read_dihedral(&mut self, ff: &ForceField, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("dihedrals", line);
        let atoms = self.atoms(&f, "atom atom atom atom [function [parameters]]")?;
        let function = f.function(4, &[1, 2, 3, 4, 5, 9], super::DIHEDRALS)?;
        let kind = DihedralKind::of(function);
        if let Some(p) = f.parameters(5, function, kind.n_parameters())? {
            kind.check(&p, &f)?;
            self.push_dihedral(kind, atoms, &p);
            return Ok(());
        }
        let terms = ff.dihedrals.find(kind, self.bonded_types(ff, atoms));
        if terms.is_empty() {
            return Err(self.no_parameters(ff, &f, function, atoms));
        }
        terms.iter().for_each(|p| self.push_dihedral(kind, atoms, p));
        Ok(())
    }

    /// Add one term; a term with amplitude 0 has no energy and is not kept.
    fn push_dihedral(&mut self, kind: DihedralKind, atoms: [u32; 4], p: &Parameters) {
        match kind {
            DihedralKind::HarmonicImproper => {
                let [xi0, k] = p.get();
                if k != 0.0 {
                    self.top.harmonic_impropers.push(HarmonicImproper { atoms, xi0: xi0.to_radians(), k });
                }
            }
            DihedralKind::RyckaertBellemans | DihedralKind::Fourier => {
                let c = if kind == DihedralKind::Fourier { fourier(p.get()) } else { p.get() };
                if c != [0.0; 6] {
                    self.top.ryckaert_bellemans.push(RyckaertBellemans { atoms, c });
                }
            }
            DihedralKind::Proper | DihedralKind::PeriodicImproper => {
                let [phi0, k, n] = p.get();
                if k != 0.0 {
                    let (phi0, improper) = (phi0.to_radians(), kind == DihedralKind::PeriodicImproper);
                    self.top.propers.push(PeriodicDihedral { atoms, phi0, k, multiplicity: n as u32, improper });
                }
            }
        }
    }

    pub fn read_cmap(&mut self, ff: &ForceField, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("cmap", line);
        let atoms = self.atoms(&f, "atom atom atom atom atom [function]")?;
        let function = f.function(5, &[1], super::CMAPS)?;
        if f.len() > 6 {
            return Err(f.columns("atom atom atom atom atom [function]"));
        }
        let grid = ff.cmap(self.bonded_types(ff, atoms));
        let grid = grid.ok_or_else(|| self.no_parameters(ff, &f, function, atoms))?;
        self.top.cmaps.push(Cmap { atoms, grid });
        Ok(())
    }

    pub fn read_pair(&mut self, ff: &ForceField, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("pairs", line);
        let atoms = self.atoms(&f, "atom atom [function [V W]]")?;
        let function = f.function(2, &[1], super::PAIRS)?;
        let [i, j] = atoms.map(|a| self.top.atoms[a as usize].type_index);
        let explicit = f.parameters(3, function, 2)?.map(|p| ff.lennard_jones(p.get()));
        let (c6, c12) =
            explicit.or_else(|| ff.pair(i, j)).ok_or_else(|| self.no_parameters(ff, &f, function, atoms))?;
        let coulomb_scale = ff.defaults.map_or(1.0, |d| d.fudge_qq);
        self.top.pairs.push(Pair14 { atoms, c6, c12, coulomb_scale });
        Ok(())
    }

    /// An atom, then all atoms excluded from it.
    pub fn read_exclusions(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("exclusions", line);
        let first = self.atom(&f, 0)?;
        for column in 1..f.len() {
            let other = self.atom(&f, column)?;
            self.listed_exclusions.push([first, other]);
        }
        Ok(())
    }

    pub fn read_position_restraint(&mut self, line: &SourceLine) -> Result<(), TopologyError> {
        let f = Fields::new("position_restraints", line);
        let [atom] = self.atoms(&f, "atom function kx ky kz")?;
        let function = f.function(1, &[1], super::POSITION_RESTRAINTS)?;
        let p = f.parameters(2, function, 3)?.ok_or_else(|| f.columns("atom function kx ky kz"))?;
        let k = Vector3::from(p.get::<3>());
        self.top.position_restraints.push(PositionRestraint { atom, k, fades: false });
        Ok(())
    }
}

/// Residue number, and its insertion code, such as the B of 27B.
fn residue_number(f: &Fields) -> Result<(i32, Option<char>), TopologyError> {
    let word = f.word(2);
    let insertion = word.chars().last().filter(char::is_ascii_alphabetic);
    let digits = insertion.map_or(word, |letter| &word[..word.len() - letter.len_utf8()]);
    let number = digits.parse().map_err(|_| {
        let (expected, found) = ("a residue number, one letter may follow", word.to_string());
        f.error(TopologyProblem::NotANumber { section: f.section, column: 3, expected, found })
    })?;
    Ok((number, insertion))
}
