//! Fast multipole method for the Coulomb potential, k_e = 1.

mod assignment;
mod convolution;
pub mod direct;
mod error;
pub mod ewald;
pub mod exclusions;
mod expansion;
mod fourier;
pub mod harmonics;
pub mod lattice;
mod levels;
mod passes;
pub mod potentials;
mod scratch;
mod solver;
mod sparse;
mod tree;

pub use error::FmmError;
pub use exclusions::Exclusions;
pub use passes::StageTimings;
pub use potentials::Potentials;
pub use solver::{Boundary, Fmm, MAX_ORDER, Settings};
pub use sparse::GroupPotentials;
pub use tree::TreeShape;
