//! From λ(t) to fractions, pKa and calibration curves, each with errors.

pub mod agreement;
mod ascent;
pub mod blocks;
pub mod bootstrap;
pub mod counted;
pub mod determined;
pub mod equilibration;
pub mod equilibrium;
pub mod flatness;
pub mod hill;
pub mod histogram;
pub mod independent_units;
pub mod mbar;
pub mod occupancy;
pub mod pairs;
pub mod reweighting;
pub mod simplex_fit;
pub mod symmetry;
#[cfg(test)]
pub(crate) mod synthetic;
pub mod tails;
pub mod titration;
