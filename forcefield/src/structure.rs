//! Atoms and their places at one moment, whatever file they come from: what a `.gro` file holds ([`crate::gromacs::read_gro`]), and what gives the atoms of a
//! system of OpenMM their names ([`crate::openmm::read_system`]).
//!
//! Units: nm, ps.

use std::collections::HashSet;

use nalgebra::Vector3;
use thiserror::Error;

use crate::cell::Cell;
use crate::fnv::Fnv1a;
use crate::topology::{Atom, Residue, Topology};

/// Atoms and their places at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Structure {
    /// Title, the first line of a `.gro` file.
    pub title: String,
    /// Positions, nm.
    pub positions: Vec<Vector3<f64>>,
    /// Velocities, nm/ps, if they are known.
    pub velocities: Option<Vec<Vector3<f64>>>,
    /// The box; open space if there is none.
    pub cell: Cell,
    /// Residue and atom name of every atom.
    pub names: Vec<(String, String)>,
    /// Residue number of every atom (0–99999, repeats in large systems).
    pub residue_numbers: Vec<i32>,
}

/// Structure and topology disagree on the number of atoms.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the structure has {structure} atoms, but the topology has {topology}: they do not belong together")]
pub struct AtomCountMismatch {
    /// Atoms of the structure.
    pub structure: usize,
    /// Atoms of the topology.
    pub topology: usize,
}

/// An atom whose name in the structure is not that of the topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameMismatch {
    /// Atom, 0-based.
    pub atom: u32,
    /// Name in the structure.
    pub structure: String,
    /// Its name in the topology.
    pub topology_atom: String,
    /// The atom as the topology calls it, [`Topology::label`].
    pub topology: String,
}

impl std::fmt::Display for NameMismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "atom {} is {} in the structure but {} in the topology", self.atom + 1, self.structure, self.topology)
    }
}

impl Structure {
    /// FNV-1a hash of positions, velocities and box, by which a run recognises the structure that it started from wherever the file lies.
    pub fn fingerprint(&self) -> u64 {
        let mut hash = Fnv1a::default();
        let velocities = self.velocities.iter().flatten();
        self.positions.iter().chain(velocities).for_each(|x| hash.numbers(x));
        if let Cell::Periodic(periodic) = &self.cell {
            periodic.rows().iter().for_each(|row| hash.numbers(row));
        }
        hash.value()
    }

    /// Compare with a topology. Names that differ (in their first five characters, all that a file holds) are returned
    /// for a warning.
    ///
    /// # Errors
    /// [`AtomCountMismatch`] if the numbers of atoms differ.
    pub fn check_against(&self, top: &Topology) -> Result<Vec<NameMismatch>, AtomCountMismatch> {
        let (structure, topology) = (self.positions.len(), top.atoms.len());
        if structure != topology {
            return Err(AtomCountMismatch { structure, topology });
        }
        let head = |s: &str| s.chars().take(5).collect::<String>();
        let differs = |(i, ((_, name), atom)): (usize, (&(String, String), &Atom))| {
            let i = i as u32;
            (head(name) != head(&atom.name)).then(|| NameMismatch {
                atom: i,
                structure: name.clone(),
                topology_atom: atom.name.clone(),
                topology: top.label(i),
            })
        };
        Ok(self.names.iter().zip(&top.atoms).enumerate().filter_map(differs).collect())
    }

    /// The structure of these atoms (0-based) alone.
    ///
    /// # Panics
    /// If there is no such atom.
    #[must_use]
    pub fn of_atoms(&self, atoms: &[u32]) -> Self {
        fn of<T: Clone>(all: &[T], atoms: &[u32]) -> Vec<T> {
            atoms.iter().map(|&atom| all[atom as usize].clone()).collect()
        }
        Self {
            title: self.title.clone(),
            positions: of(&self.positions, atoms),
            velocities: self.velocities.as_ref().map(|velocities| of(velocities, atoms)),
            cell: self.cell,
            names: of(&self.names, atoms),
            residue_numbers: of(&self.residue_numbers, atoms),
        }
    }

    /// Names and residue numbers of a topology with the given positions, box, and velocities. Molecules of one residue that all have one number there, as water of a
    /// topology of GROMACS, have numbers of their own behind all others.
    pub fn from_topology(
        top: &Topology,
        positions: Vec<Vector3<f64>>,
        velocities: Option<Vec<Vector3<f64>>>,
        cell: Cell,
    ) -> Self {
        let (residue, numbers) = (|a: &Atom| &top.residues[a.residue as usize], residue_numbers(top));
        Self {
            title: top.title.clone(),
            positions,
            velocities,
            cell,
            names: top.atoms.iter().map(|a| (residue(a).name.clone(), a.name.clone())).collect(),
            residue_numbers: top.atoms.iter().map(|a| numbers[a.residue as usize]).collect(),
        }
    }
}

/// A number of each residue by which programs can tell residues apart that read one from a file where number or name changes. All molecules of water have one number in a
/// topology of GROMACS: molecules of one residue that follow one of the same name and number are numbered on behind all others, as GROMACS does.
fn residue_numbers(top: &Topology) -> Vec<i32> {
    let alone = |r: &Residue| top.molecules[r.molecule as usize].atoms == r.atoms;
    let called = |r: &Residue| (r.name.clone(), r.number, r.insertion);
    let follows = |pair: &&[Residue]| pair.iter().all(alone) && called(&pair[0]) == called(&pair[1]);
    let alike: HashSet<_> = top.residues.windows(2).filter(follows).map(|pair| called(&pair[1])).collect();
    let counted = |r: &&Residue| alone(r) && alike.contains(&called(r));
    let mut last = top.residues.iter().filter(|r| !counted(r)).map(|r| r.number).fold(0, i32::max);
    let number = |r: &Residue| {
        if !counted(&r) {
            return r.number;
        }
        last = last.saturating_add(1);
        last
    };
    top.residues.iter().map(number).collect()
}
