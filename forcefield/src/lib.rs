//! Force field: topology, parameters, readers, and the short-range energy terms of biomolecular simulation.
//!
//! [`gromacs`] reads a whole system into a [`Topology`]; [`bonded`], [`pairs`], [`lennard_jones`] and [`restraints`] evaluate it on the CPU,
//! [`device`] does so on a GPU. [`virtual_sites`] places massless particles. [`variants`] holds what differs between the forms of a titratable site besides its charges. Long-range
//! Coulomb interactions and titration are elsewhere (crates `fmm` and `lambda`). Positions live in a [`Cell`]; a [`Structure`] holds them with the names of their atoms.
//!
//! Units everywhere: nm, ps, u, e, kJ/mol, K, rad ([`units`]).
//!
//! ```
//! use forcefield::lennard_jones::{LennardJones, Modifier};
//! use forcefield::{Cell, bonded, gromacs};
//! use nalgebra::Vector3;
//!
//! let text = "[ defaults ]\n1 2 no\n[ atomtypes ]\nAR 39.948 0.0 A 0.34 1.0\n[ moleculetype ]\nDIMER 0\n[ atoms ]\n\
//!             1 AR 1 DIM A1 1\n2 AR 1 DIM A2 2\n[ bonds ]\n1 2 1 0.33 1000\n[ system ]\nA dimer\n[ molecules ]\nDIMER 1\n";
//! let folder = temp_dir::TempDir::new()?;
//! let file = folder.child("dimer.top");
//! std::fs::write(&file, text)?;
//! let topology = gromacs::read_topology(&file, &[], &[])?;
//! let x = [Vector3::zeros(), Vector3::new(0.34, 0.0, 0.0)];
//! let mut forces = [Vector3::zeros(); 2];
//! let bonds = bonded::evaluate(&topology, &x, &mut forces).bonds;
//! assert!((bonds.energy - 0.5 * 1000.0 * 0.01 * 0.01).abs() < 1e-12);
//! let mut lennard_jones = LennardJones::new(&topology, 1.0, Modifier::None, 0.1)?;
//! lennard_jones.rebuild(&x, Cell::Open)?;
//! let van_der_waals = lennard_jones.evaluate(&x, Cell::Open, &mut forces);
//! assert!(van_der_waals.energy.abs() < 1e-12 && (van_der_waals.virial - 24.0).abs() < 1e-10); // r = σ, ε = 1
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod bonded;
pub mod cell;
pub mod device;
pub mod energy;
pub mod exclusions;
pub mod fnv;
pub mod gromacs;
pub mod lennard_jones;
pub mod openmm;
pub mod pairs;
pub mod restraints;
pub mod solvent;
pub mod structure;
pub mod topology;
pub mod units;
pub mod variants;
pub mod virtual_sites;

pub use cell::Cell;
pub use energy::TermEnergy;
pub use exclusions::ExcludedPairs;
pub use structure::Structure;
pub use topology::Topology;
pub use virtual_sites::VirtualSite;
