//! The motion on a GPU ([`::kernels::device`]): each `.cu` file stands beside the file that launches it.

pub mod constraints;
pub mod coupling;
pub mod integrate;
mod kernels;
pub mod shared;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twins;

pub use coupling::{Coupling, ListLimits, VirialTerms};
pub use integrate::DeviceMotion;
pub use shared::{Crowd, MotionError, MotionState, Observed, Standing};
