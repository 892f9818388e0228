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
    check_finite(positions)
}

/// # Errors
/// A position that is not finite.
pub fn check_finite(positions: &[[f64; 3]]) -> Result<(), FmmError> {
    match positions.par_iter().position_first(|p| p.iter().any(|x| !x.is_finite())) {
        Some(particle) => Err(FmmError::NotFinite { particle, what: "position" }),
        None => Ok(()),
    }
}

/// # Errors
/// Lists of different length, a position or charge that is not finite.
pub fn check_system(positions: &[[f64; 3]], charges: &[f64], exclusions: &Exclusions) -> Result<(), FmmError> {
    check_length("charges", positions.len(), charges.len())?;
    check_particles(positions, exclusions)?;
    match charges.iter().position(|q| !q.is_finite()) {
        Some(particle) => Err(FmmError::NotFinite { particle, what: "charge" }),
        None => Ok(()),
    }
}

/// Targets as indices.
///
/// # Errors
/// One that is none of `n` particles.
pub fn existing(targets: &[u32], n: usize) -> Result<Vec<usize>, FmmError> {
    match targets.iter().find(|&&target| target as usize >= n) {
        Some(&target) => Err(FmmError::Target { target, n }),
        None => Ok(targets.iter().map(|&target| target as usize).collect()),
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

/// For particles that are finite themselves.
///
/// # Errors
/// A sum at a target that is not finite.
pub fn check_sums(
    boundary: &Boundary,
    positions: &[[f64; 3]],
    targets: &[usize],
    sums: &Potentials,
) -> Result<(), FmmError> {
    let finite = |k: usize| sums.potential[k].is_finite() && sums.field[k].iter().all(|e| e.is_finite());
    let Some(wrong) = (0..targets.len()).find(|k| !finite(*k)) else { return Ok(()) };
    let particle = targets[wrong];
    let others = (0..positions.len()).filter(|i| *i != particle);
    Err(at_one_point(boundary, positions, particle, others).unwrap_or(FmmError::Overflow { particle }))
}

/// Finds out why a result is not finite: a position, a charge, two particles on one point, or numbers without end.
pub fn not_finite(boundary: &Boundary, positions: &[[f64; 3]], charges: &[f64], out: &Potentials) -> FmmError {
    if let Some(particle) = positions.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
        return FmmError::NotFinite { particle, what: "position" };
    }
    if let Some(particle) = charges.iter().position(|q| !q.is_finite()) {
        return FmmError::NotFinite { particle, what: "charge" };
    }
    let infinite = |i: &usize| !out.potential[*i].is_finite() || out.field[*i].iter().any(|v| !v.is_finite());
    let mut wrong = (0..out.potential.len()).filter(infinite);
    // Finite terms may have an energy that is not.
    let particle = wrong.next().unwrap_or(0);
    // Both of two particles on one point have results that are not finite; a target is alone with that.
    let sources = if particle < charges.len() { 0..0 } else { 0..charges.len() };
    at_one_point(boundary, positions, particle, wrong.chain(sources)).unwrap_or(FmmError::Overflow { particle })
}

/// The first of `others` that sits where `particle` does, or one of its images.
pub fn at_one_point(
    boundary: &Boundary,
    positions: &[[f64; 3]],
    particle: usize,
    mut others: impl Iterator<Item = usize>,
) -> Option<FmmError> {
    let size = |p: &[f64; 3]| p.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
    // Images coincide but for rounding.
    let length = boundary.periods().iter().map(size).fold(size(&positions[particle]), f64::max);
    let apart = |i: usize| boundary.nearest([0, 1, 2].map(|a| positions[i][a] - positions[particle][a]));
    let other = others.find(|i| apart(*i) <= 1e-14 * length.max(size(&positions[*i])))?;
    Some(FmmError::Coincident { particle, other: Some(other) })
}
