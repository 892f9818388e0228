//! What a system is made of and which interactions act in it.
//!
//! A [`Topology`] is the whole system, expanded: atoms in the order of the structure file, every interaction with global
//! 0-based atom indices and its own parameters. Positions, velocities and the box are not part of it.
//!
//! Units: nm, u, e, kJ/mol, rad. Sign and factor conventions of every term are in the documentation of its struct;
//! dihedral angles follow IUPAC (φ = 0 is cis, positive is clockwise seen along the central bond).

mod fingerprint;
mod well;

use std::collections::BTreeMap;
use std::ops::Range;

use nalgebra::Vector3;

pub use fingerprint::Section;
pub use well::Well;

use crate::exclusions::ExcludedPairs;
use crate::virtual_sites::VirtualSite;

/// Net charges (e) below this come from the rounding of charges in files.
pub const CHARGE_TOLERANCE: f64 = 1e-3;

/// One atom of the system.
#[derive(Clone, Debug, PartialEq)]
pub struct Atom {
    /// Name within its residue, such as "CA".
    pub name: String,
    /// Index into [`Topology::atom_types`] and both axes of [`Topology::lj`].
    pub type_index: u32,
    /// Index into [`Topology::residues`].
    pub residue: u32,
    /// Index into [`Topology::molecules`].
    pub molecule: u32,
    /// Charge (e) as the topology gives it; titratable sites replace it.
    pub charge: f64,
    /// Mass (u), positive; 0 for the particle of a virtual site.
    pub mass: f64,
}

/// A residue: consecutive atoms of one molecule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Residue {
    /// Name such as "GLU".
    pub name: String,
    /// Number as the file gives it (not unique).
    pub number: i32,
    /// Letter behind the number, as the A of 27A.
    pub insertion: Option<char>,
    /// Index into [`Topology::molecules`].
    pub molecule: u32,
    /// Its atoms.
    pub atoms: Range<u32>,
}

/// One molecule: consecutive atoms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Molecule {
    /// Name of its `[ moleculetype ]`.
    pub name: String,
    /// Its atoms.
    pub atoms: Range<u32>,
}

/// A Lennard-Jones atom type that occurs in the system.
#[derive(Clone, Debug, PartialEq)]
pub struct AtomType {
    /// Name such as "opls_135" or "CT".
    pub name: String,
    /// Atomic number, where the file gives one greater than zero.
    pub atomic_number: Option<u8>,
}

/// Lennard-Jones coefficients of every pair of types: V = c12/r¹² − c6/r⁶, after combination rule and explicit pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LennardJonesTable {
    /// Number of types n.
    pub n_types: usize,
    /// c6\[i n + j\] in kJ/mol nm⁶, symmetric.
    pub c6: Vec<f64>,
    /// c12\[i n + j\] in kJ/mol nm¹², symmetric.
    pub c12: Vec<f64>,
}

impl LennardJonesTable {
    /// (c6, c12) of types `i` and `j`.
    #[inline]
    pub fn get(&self, i: u32, j: u32) -> (f64, f64) {
        let k = i as usize * self.n_types + j as usize;
        (self.c6[k], self.c12[k])
    }

    /// σ and ε of type `i` with itself; none where it has no well.
    pub fn well(&self, i: u32) -> Option<Well> {
        Well::of(self.get(i, i))
    }

    /// Whether type `i` has no Lennard-Jones interaction with any type.
    pub fn is_inert(&self, i: u32) -> bool {
        (0..self.n_types as u32).all(|j| self.get(i, j) == (0.0, 0.0))
    }
}

/// Harmonic bond V = ½ k (r − r0)².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bond {
    /// Bonded atoms.
    pub atoms: [u32; 2],
    /// Length at rest, nm.
    pub r0: f64,
    /// Force constant, kJ/mol/nm².
    pub k: f64,
}

/// Harmonic angle V = ½ k (θ − θ0)², θ at the middle atom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Angle {
    /// Atoms i, j (vertex), k.
    pub atoms: [u32; 3],
    /// Angle at rest, rad.
    pub theta0: f64,
    /// Force constant, kJ/mol/rad².
    pub k: f64,
}

/// Urey–Bradley angle V = ½ k (θ − θ0)² + ½ k13 (r13 − r13⁰)².
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UreyBradley {
    /// Atoms i, j (vertex), k.
    pub atoms: [u32; 3],
    /// Angle at rest, rad.
    pub theta0: f64,
    /// Force constant of the angle, kJ/mol/rad².
    pub k: f64,
    /// Distance i–k at rest, nm.
    pub r13: f64,
    /// Force constant of the distance i–k, kJ/mol/nm².
    pub k13: f64,
}

/// Periodic dihedral V = k (1 + cos(n φ − φ0)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PeriodicDihedral {
    /// Atoms i, j, k, l.
    pub atoms: [u32; 4],
    /// Phase, rad.
    pub phi0: f64,
    /// Amplitude, kJ/mol.
    pub k: f64,
    /// Multiplicity n.
    pub multiplicity: u32,
    /// Counted with the impropers (GROMACS type 4) in energy reports; the function is the same.
    pub improper: bool,
}

/// Harmonic improper dihedral V = ½ k (ξ − ξ0)², the difference taken in (−π, π].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HarmonicImproper {
    /// Atoms i, j, k, l.
    pub atoms: [u32; 4],
    /// Angle at rest, rad.
    pub xi0: f64,
    /// Force constant, kJ/mol/rad².
    pub k: f64,
}

/// Ryckaert–Bellemans dihedral V = Σ_{n=0}^{5} c_n (cos ψ)^n with ψ = φ − π (ψ = 0 is trans).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RyckaertBellemans {
    /// Atoms i, j, k, l.
    pub atoms: [u32; 4],
    /// Coefficients, kJ/mol.
    pub c: [f64; 6],
}

/// Correction map over two consecutive dihedrals (atoms 1–4 and 2–5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cmap {
    /// Atoms of both dihedrals.
    pub atoms: [u32; 5],
    /// Index into [`Topology::cmap_grids`].
    pub grid: u32,
}

/// Energies of a correction map on an n × n grid of angles.
#[derive(Clone, Debug, PartialEq)]
pub struct CmapGrid {
    /// Points per angle n.
    pub size: usize,
    /// values\[i n + j\] in kJ/mol at φ = −π + 2π i/n (first dihedral) and ψ = −π + 2π j/n (second).
    pub values: Vec<f64>,
}

/// 1-4 pair: V = c12/r¹² − c6/r⁶ + coulomb_scale · k_e q_i q_j / r, plain and without cut-off.
///
/// Charges are those of the atoms at the time of evaluation, because titratable sites change them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair14 {
    /// The two atoms.
    pub atoms: [u32; 2],
    /// kJ/mol nm⁶.
    pub c6: f64,
    /// kJ/mol nm¹².
    pub c12: f64,
    /// Factor of the Coulomb energy (fudgeQQ).
    pub coulomb_scale: f64,
}

/// A distance held fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constraint {
    /// The two atoms.
    pub atoms: [u32; 2],
    /// Distance, nm.
    pub length: f64,
}

/// A rigid three-site water molecule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settle {
    /// Oxygen.
    pub oxygen: u32,
    /// Hydrogens.
    pub hydrogens: [u32; 2],
    /// Distance O–H, nm.
    pub d_oh: f64,
    /// Distance H–H, nm.
    pub d_hh: f64,
}

/// Harmonic position restraint V = ½ Σ_d k_d (x_d − x⁰_d)²; reference positions come with the structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PositionRestraint {
    /// Restrained atom.
    pub atom: u32,
    /// Force constants along x, y, z, kJ/mol/nm².
    pub k: Vector3<f64>,
    /// Whether it ends in the course of a run: whoever evaluates it says which part of its force constants is left.
    pub fades: bool,
}

impl PositionRestraint {
    /// Its force constants (kJ/mol/nm²) while `part` of those that fade is left.
    pub fn stiffness(&self, part: f64) -> Vector3<f64> {
        if self.fades { self.k * part } else { self.k }
    }
}

/// Which bonds [`Topology::constrain_bonds`] makes rigid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BondConstraints {
    /// No bonds beyond those that the topology holds fixed.
    #[default]
    None,
    /// Bonds with at least one hydrogen.
    HBonds,
    /// All harmonic bonds.
    AllBonds,
}

/// A whole system: atoms and interactions. See the module documentation for conventions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topology {
    /// Title of the system.
    pub title: String,
    /// All atoms, in the order of the structure file.
    pub atoms: Vec<Atom>,
    /// All residues, consecutive.
    pub residues: Vec<Residue>,
    /// All molecules, consecutive.
    pub molecules: Vec<Molecule>,
    /// Atom types in use.
    pub atom_types: Vec<AtomType>,
    /// Lennard-Jones coefficients by type.
    pub lj: LennardJonesTable,
    /// What types that forms may change to have in 1-4 pairs, where that is another well than elsewhere. Pairs of the types that atoms have are in `pairs`.
    pub wells_14: BTreeMap<u32, Well>,
    /// Harmonic bonds.
    pub bonds: Vec<Bond>,
    /// Harmonic distances between atoms that are not bonded, such as those of elastic networks: they exclude nothing and are never held fixed.
    pub distances: Vec<Bond>,
    /// Harmonic angles.
    pub angles: Vec<Angle>,
    /// Urey–Bradley angles.
    pub urey_bradley: Vec<UreyBradley>,
    /// Periodic dihedrals (GROMACS types 1, 4, 9).
    pub propers: Vec<PeriodicDihedral>,
    /// Harmonic impropers (type 2).
    pub harmonic_impropers: Vec<HarmonicImproper>,
    /// Ryckaert–Bellemans dihedrals (type 3), and Fourier dihedrals (type 5) in this form.
    pub ryckaert_bellemans: Vec<RyckaertBellemans>,
    /// Correction maps.
    pub cmaps: Vec<Cmap>,
    /// Grids of the correction maps.
    pub cmap_grids: Vec<CmapGrid>,
    /// 1-4 pairs.
    pub pairs: Vec<Pair14>,
    /// Pairs without non-bonded interaction.
    pub exclusions: ExcludedPairs,
    /// Fixed distances.
    pub constraints: Vec<Constraint>,
    /// Rigid water molecules.
    pub settles: Vec<Settle>,
    /// Massless particles that follow atoms.
    pub virtual_sites: Vec<VirtualSite>,
    /// Position restraints.
    pub position_restraints: Vec<PositionRestraint>,
}

/// What charges of ionised groups are multiplied by for the electronic screening of water, 1/√1.78 (Leontyev, Stuchebrukhov, arXiv:1505.04576), in force fields that do.
pub const SCALED_CHARGE: f64 = 0.75;

/// Whether a charge is a whole number times another one, both e.
pub fn is_multiple(charge: f64, of: f64) -> bool {
    (charge - (charge / of).round() * of).abs() <= CHARGE_TOLERANCE
}

impl Topology {
    /// Number of atoms.
    pub fn n_atoms(&self) -> usize {
        self.atoms.len()
    }

    /// Charges of all atoms, e.
    pub fn charges(&self) -> Vec<f64> {
        self.atoms.iter().map(|a| a.charge).collect()
    }

    /// Masses of all atoms, u.
    pub fn masses(&self) -> Vec<f64> {
        self.atoms.iter().map(|a| a.mass).collect()
    }

    /// Sum of all charges, e.
    pub fn net_charge(&self) -> f64 {
        self.atoms.iter().map(|a| a.charge).sum()
    }

    /// Charge of a monovalent ion of one atom, e: 1, or less in a force field that scales the charges of ions and ionised groups, whose molecules then have multiples of it.
    /// 1 where ions do not agree. Where there are none, [`SCALED_CHARGE`] if the molecules have multiples of that and not of 1.
    pub fn whole_charge(&self) -> f64 {
        let alone = self.molecules.iter().filter(|molecule| molecule.atoms.len() == 1);
        let charges = alone.map(|molecule| self.atoms[molecule.atoms.start as usize].charge.abs());
        if charges.clone().next().is_none() {
            let of = |atoms: &Range<u32>| self.atoms[atoms.start as usize..atoms.end as usize].iter().map(|a| a.charge);
            let charges: Vec<f64> = self.molecules.iter().map(|molecule| of(&molecule.atoms).sum()).collect();
            let are_whole = |unit: f64| charges.iter().all(|&charge| is_multiple(charge, unit));
            return if !are_whole(1.0) && are_whole(SCALED_CHARGE) { SCALED_CHARGE } else { 1.0 };
        }
        let least = charges.clone().filter(|&charge| charge > 0.5).fold(1.0, f64::min);
        let agree = charges.clone().all(|charge| is_multiple(charge, least));
        if agree { least } else { 1.0 }
    }

    /// Number of distances held fixed: constraints and three per rigid water.
    pub fn n_constrained(&self) -> usize {
        self.constraints.len() + 3 * self.settles.len()
    }

    /// Number of atoms that move by themselves: all but virtual sites.
    pub fn n_moving(&self) -> usize {
        self.atoms.len() - self.virtual_sites.len()
    }

    /// Degrees of freedom 3N − (fixed distances) − `removed` of the N atoms with mass, where `removed` is 3 if the momentum of the centre of
    /// mass is kept zero, 6 if the angular momentum is too.
    pub fn degrees_of_freedom(&self, removed: usize) -> usize {
        (3 * self.n_moving()).saturating_sub(self.n_constrained() + removed)
    }

    /// How to call atom `atom` (0-based) in a message: residue name and number, atom name, 1-based index:
    /// "GLU 2 OE1 (atom 17)".
    pub fn label(&self, atom: u32) -> String {
        match self.atoms.get(atom as usize) {
            Some(a) => {
                let r = &self.residues[a.residue as usize];
                let insertion = r.insertion.map(String::from).unwrap_or_default();
                format!("{} {}{insertion} {} (atom {})", r.name, r.number, a.name, atom + 1)
            }
            None => format!("atom {} (of {})", u64::from(atom) + 1, self.atoms.len()),
        }
    }

    /// Whether `atom` counts as a hydrogen when bonds are made rigid: its name starts with H (as `gmx grompp` decides).
    ///
    /// # Panics
    /// If there is no such atom.
    pub fn is_hydrogen(&self, atom: u32) -> bool {
        self.atoms[atom as usize].name.starts_with(['H', 'h'])
    }

    /// Move harmonic bonds into [`Topology::constraints`] with their length at rest; their energy disappears.
    /// Exclusions and all other interactions stay. A distance that is already fixed is not fixed twice.
    pub fn constrain_bonds(&mut self, which: BondConstraints) {
        if which == BondConstraints::None {
            return;
        }
        let mut fixed: std::collections::HashSet<[u32; 2]> = self.constraints.iter().map(|c| sorted(c.atoms)).collect();
        let bonds = std::mem::take(&mut self.bonds);
        for bond in bonds {
            let [i, j] = bond.atoms;
            if which == BondConstraints::HBonds && !self.is_hydrogen(i) && !self.is_hydrogen(j) {
                self.bonds.push(bond);
            } else if fixed.insert(sorted(bond.atoms)) {
                self.constraints.push(Constraint { atoms: bond.atoms, length: bond.r0 });
            }
        }
    }
}

fn sorted([i, j]: [u32; 2]) -> [u32; 2] {
    [i.min(j), i.max(j)]
}
