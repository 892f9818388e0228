//! Plain Ewald sums for cells that repeat in one, two or three directions: what the fast methods are tested against.
//!
//! ```text
//! φ_i = Σ'_{j,n} q_j erfc(α r)/r + (4π/V) Σ_k e^{−k²/4α²}/k² Σ_j q_j cos k·(x_i − x_j) − 2α/√π q_i + φ⁰_i
//! r = |x_i − x_j + n|        E = ½ Σ q_i φ_i        E_i = −∇φ_i        k_e = 1
//! ```
//!
//! An excluded pair keeps its other images: for the nearest one erfc(αr)/r becomes −erf(αr)/r. φ⁰ is the wave without
//! variation along the periods:
//!
//! - cell (3 periods; tin-foil): φ⁰ = −πQ/(Vα²), the background that neutralises a net charge Q;
//! - slab (2 periods, area A): −(2√π/A) Σ_j q_j [e^{−α²z²}/α + √π z erf(αz)], z along the normal;
//! - wire (1 period, length L): −(1/L) Σ_j q_j [γ + ln(α²ρ²) + E₁(α²ρ²)], ρ the distance from the axis through j.
//!
//! In slab and wire the integral over the other components of k is the trapezoidal rule, that is, the cell is closed
//! by an orthogonal period H for this part of the sum only. A wave k along the periods falls off as e^{−k|z|}, so the
//! images that the rule adds vanish with H. All sums end where their terms fall below the tolerance; the result does
//! not depend on α. Double precision, kept simple. P. P. Ewald, Ann. Phys. 369 (1921) 253, doi 10.1002/andp.19213690304;
//! background: J. S. Hub et al., J. Chem. Theory Comput. 10 (2014) 381, doi 10.1021/ct400626b; slab: D. E. Parry,
//! Surf. Sci. 49 (1975) 433, doi 10.1016/0039-6028(75)90362-3; wire: M. Porto, J. Phys. A 33 (2000) 6211,
//! doi 10.1088/0305-4470/33/35/307.

mod cell;
mod mean;
mod real;
mod system;
mod waves;

use nalgebra::Vector3;
use rayon::prelude::*;
use thiserror::Error;

use crate::FmmError;
use crate::checks::{check_charge, check_sums, check_system, existing};
use crate::geometry::boundary::{Boundary, unit_of};
use crate::geometry::exclusions::Exclusions;
use crate::potentials::Potentials;
use crate::reference::direct;
use cell::Cell;
use system::{System, TWO_OVER_SQRT_PI};

/// Why an Ewald sum was refused.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EwaldError {
    /// Boundary, particles or targets that every method refuses.
    #[error(transparent)]
    Fmm(#[from] FmmError),
    /// The tolerance is out of range.
    #[error("the tolerance is {tolerance:e}; it must lie between 1e-16 and 1e-1")]
    Tolerance {
        /// As given.
        tolerance: f64,
    },
}

/// Energy, potentials and fields of `charges` at `positions` inside `boundary`. Positions may lie anywhere; pairs in
/// `exclusions` are skipped for their nearest image. `tolerance` is the size of the terms left out, relative to the
/// largest ones (1e-16 reaches about 1e-14 of the sum); an open boundary needs none and is summed directly.
///
/// # Errors
/// Degenerate periods, a tolerance outside 1e-16 … 1e-1, arrays of different length, numbers that are not finite, a
/// net charge in a slab or wire, two particles on one point that are not excluded from each other.
pub fn evaluate(
    boundary: &Boundary,
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
    tolerance: f64,
) -> Result<(f64, Potentials), EwaldError> {
    check(boundary, positions, charges, exclusions, tolerance)?;
    let targets: Vec<usize> = (0..positions.len()).collect();
    let result = sum(1.0, boundary, positions, charges, exclusions, &targets, tolerance);
    check_sums(boundary, positions, &targets, &result)?;
    Ok((direct::energy(charges, &result), result))
}

/// Potential and field of all charges at the particles `targets` only, in this order; else as [`evaluate`].
///
/// # Errors
/// As [`evaluate`], and a target that does not exist.
pub fn at(
    boundary: &Boundary,
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
    targets: &[u32],
    tolerance: f64,
) -> Result<Potentials, EwaldError> {
    check(boundary, positions, charges, exclusions, tolerance)?;
    let targets = existing(targets, positions.len())?;
    let result = sum(1.0, boundary, positions, charges, exclusions, &targets, tolerance);
    check_sums(boundary, positions, &targets, &result)?;
    Ok(result)
}

/// See the errors of [`evaluate`].
fn check(
    boundary: &Boundary,
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
    tolerance: f64,
) -> Result<(), EwaldError> {
    if !(1e-16..=1e-1).contains(&tolerance) {
        return Err(EwaldError::Tolerance { tolerance });
    }
    boundary.check()?;
    check_system(positions, charges, exclusions)?;
    Ok(check_charge(boundary, charges)?)
}

/// Potential and field at `targets`, with α = `splitting` times the fastest.
fn sum(
    splitting: f64,
    boundary: &Boundary,
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
    targets: &[usize],
    tolerance: f64,
) -> Potentials {
    if *boundary == Boundary::Open {
        return direct::sum(positions, charges, exclusions, targets);
    }
    // In a unit near the periods the sixth power of a length is a number, too.
    let unit = unit_of(boundary.periods().iter().flatten().copied());
    let positions: Vec<_> = positions.iter().map(|x| Vector3::from(x.map(|x| x / unit))).collect();
    let cell = Cell::new(boundary.in_units_of(unit).periods(), &positions, tolerance);
    let alpha = splitting * fastest_alpha(&cell, positions.len() as f64, targets.len() as f64);
    // e^{−c²} = tolerance ends the real sum at αr = c and the sum over waves at k/2α = c.
    let c = (-tolerance.ln()).sqrt();
    let system = System { cell, alpha, cutoff: c / alpha, largest: 2.0 * alpha * c, positions, charges, exclusions };
    let images = real::images(&system);
    let waves = waves::Waves::new(&system);
    let mean = mean::Mean::new(&system);
    let parts = |&i: &usize| {
        let parts = [real::at(&system, &images, i), waves.at(&system.positions[i]), mean.at(&system, i)];
        let own = -TWO_OVER_SQRT_PI * alpha * charges[i];
        parts.into_iter().fold((own, Vector3::zeros()), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    };
    let in_units = |(phi, field): (f64, Vector3<f64>)| (phi / unit, <[f64; 3]>::from(field / unit / unit));
    let (potential, field) = targets.par_iter().map(parts).map(in_units).unzip();
    Potentials { potential, field }
}

/// The α that makes both sums equally long. A target has N (4π/3)(c/α)³/V′ screened charges within its cut-off; there
/// are (2π/3)(αc/π)³V waves, each with N terms of its structure factor and one for each target. V′ is the volume that
/// holds the charges, V the one that sets the waves apart.
fn fastest_alpha(cell: &Cell, charges: f64, targets: f64) -> f64 {
    // One erfc takes as long as 120 terms of a structure factor; a target sums its waves 5 times slower than those.
    let ratio = 120.0 * charges * targets / (charges + 5.0 * targets).max(1.0);
    std::f64::consts::PI.sqrt() * (2.0 * ratio.max(1.0)).powf(1.0 / 6.0) / (cell.volume * cell.filled).powf(1.0 / 6.0)
}

#[cfg(test)]
mod open_axes_tests;
#[cfg(test)]
mod tests;
