//! Slower methods that the FMM is tested against and compared with: direct and Ewald sums, and a treecode.

pub mod direct;
pub mod ewald;
pub(crate) mod treecode;
