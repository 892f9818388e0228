//! Force field: topology, parameters, readers, and the short-range energy terms of biomolecular simulation.
//!
//! [`topology`] holds a whole system; [`gromacs`] reads it. Long-range Coulomb and titration are
//! elsewhere (crates `fmm` and `lambda`).
//!
//! Units everywhere: nm, ps, u, e, kJ/mol, K, rad ([`units`]).

pub mod bonded;
pub mod cell;
pub mod device;
pub mod energy;
pub mod exclusions;
pub mod gromacs;
pub mod lennard_jones;
pub mod pairs;
pub mod restraints;
pub mod topology;
pub mod units;
pub mod variants;

pub use cell::Cell;
pub use energy::TermEnergy;
pub use exclusions::Exclusions;
pub use topology::Topology;
