//! Checks of what callers give, and of what comes out.

use rayon::prelude::*;

use crate::FmmError;
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::potentials::Potentials;

/// # Errors
/// [`FmmError::Length`] if `found` is not `expected`.
pub fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), FmmError> {
    if expected == found { Ok(()) } else { Err(FmmError::Length { what, expected, found }) }
}

/// # Errors
/// Exclusions for another number of particles, a position that is not finite.
pub fn check_particles(positions: &[[f64; 3]], exclusions: &Exclusions) -> Result<(), FmmError> {
    check_length("exclusions", positions.len(), exclusions.n_particles())?;
    match positions.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
        Some(particle) => Err(FmmError::NotFinite { particle, what: "position" }),
        None => Ok(()),
    }
}

/// # Errors
/// A position that is not finite.
pub fn check_finite(positions: &[[f64; 3]]) -> Result<(), FmmError> {
    match positions.par_iter().position_first(|p| p.iter().any(|x| !x.is_finite())) {
        Some(particle) => Err(FmmError::NotFinite { particle, what: "position" }),
        None => Ok(()),
    }
}

/// Slabs and wires have no energy unless they are neutral.
///
/// # Errors
/// A net charge in one of these.
pub fn check_charge(boundary: &Boundary, charges: &[f64]) -> Result<(), FmmError> {
    if !matches!(boundary.periods().len(), 1 | 2) {
        return Ok(());
    }
    let (charge, size) = charges.iter().fold((0.0, 0.0), |(sum, size), q| (sum + q, size + q.abs()));
    // The charges of a force field add up to zero within some 1e-6 of one elementary charge among thousands.
    if charge.abs() > 1e-9 * size { Err(FmmError::Charged { charge }) } else { Ok(()) }
}

/// Finds out why a result is not finite: a position, a charge, or two particles on one point.
pub fn not_finite(positions: &[[f64; 3]], charges: &[f64], out: &Potentials) -> FmmError {
    if let Some(particle) = positions.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
        return FmmError::NotFinite { particle, what: "position" };
    }
    if let Some(particle) = charges.iter().position(|q| !q.is_finite()) {
        return FmmError::NotFinite { particle, what: "charge" };
    }
    let infinite = |i: &usize| !out.potential[*i].is_finite() || out.field[*i].iter().any(|v| !v.is_finite());
    FmmError::Coincident { particle: (0..out.potential.len()).find(infinite).unwrap_or(0) }
}
