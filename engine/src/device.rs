//! The parts of a simulation that run on a GPU ([`kernels::device`]).

pub mod constraints;
mod coulomb;
pub mod coupling;
pub mod electrostatics;
pub mod integrate;
pub mod motion;
pub mod replay;
pub mod resident;
pub mod setup;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twins;

pub use crate::backend::choice::{Choice, Chosen, gpus};
pub use coupling::{Coupling, ListLimits, VirialTerms};
pub use integrate::DeviceMotion;
pub use motion::{MotionError, MotionState, Observed};
pub use resident::Resident;
pub use setup::{Lists, ResidentError, ResidentState, Setup};
