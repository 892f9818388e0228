//! The motion on a GPU ([`::kernels::device`]): each `.cu` file stands beside the file that launches it.

pub(crate) mod constraints;
pub(crate) mod coupling;
pub(crate) mod integrate;
mod kernels;
pub(crate) mod shared;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod twins;

pub use coupling::{Coupling, ListLimits, VirialTerms};
pub use integrate::DeviceMotion;
pub use shared::{Crowd, MotionError, MotionState, Observed, Standing};
