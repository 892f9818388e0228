//! What all parts of an Ewald sum have in common: the charges, the cell, and the split into screened charges and waves.

use nalgebra::Vector3;

use super::cell::Cell;
use crate::geometry::exclusions::Exclusions;

/// 2/√π.
pub const TWO_OVER_SQRT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

/// What all parts of the sum need.
pub struct System<'a> {
    /// The cell, made of short periods.
    pub cell: Cell,
    /// Width α of the split.
    pub alpha: f64,
    /// Distance at which the sum over screened charges ends.
    pub cutoff: f64,
    /// Wave number at which the sum over waves ends.
    pub largest: f64,
    /// Positions, as given.
    pub positions: Vec<Vector3<f64>>,
    /// Charges.
    pub charges: &'a [f64],
    /// Pairs that skip their nearest image.
    pub exclusions: &'a Exclusions,
}

/// φ and E at one particle.
pub type PotentialAndField = (f64, Vector3<f64>);
