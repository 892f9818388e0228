//! The barrier between forms, and walls that hold linear weights.
//!
//! Linear weights have a double well U in each weight and walls outside (Aho et al. 2022, doi:10.1021/acs.jctc.2c00516; Donnini et al. 2016):
//! V = ½ Σ_α U(λ_α), so that V along the edge between any two of n forms is that of two forms alone,
//!
//!   U = −k [e^{−(λ−1−b)²/2a²} + e^{−(λ+b)²/2a²}] + d e^{−(λ−½)²/2s²}            (wells and barrier)
//!     + (w/2) [2 + erf(r(λ−1−m)) − erf(r(λ+m))]                                  (walls)
//!   s = 0.3, d = h/2, w = 1000 kJ/mol, r = 13.5, m = 0.201852; walls are 1 kJ/mol at −2σ₀ and 10 kJ/mol at −4σ₀
//!
//! a, b, k follow from the height h: the well is where V ≤ 0 (left half, walls included); weighted with e^{−V/(1 kJ/mol)}
//! it has mean λ = 0 and standard deviation σ₀ = 0.02, and its minimum is −h/2. [`Barrier::solve`] relaxes them as
//! published, to 0.5 % in the width, on a grid of 0.001: so it gives the published parameters to 2e-6.
//! Below h = 1 kJ/mol those conditions cease to have a solution (the walls fill the well): the wells of h = 1 kJ/mol are
//! scaled by h, continuous down to no wells at h = 0.
//!
//! Weights of the hypersphere and of Nexp end at the forms and need no well to hold them: V = 4h Σ_{α<β} λ_α λ_β ([`parabola`]), h at the middle of an
//! edge (Donnini et al. 2011, doi:10.1021/ct200061r).
//!
//! Units: kJ/mol.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::Term;

/// Width s of the central barrier.
pub(crate) const CENTRE_WIDTH: f64 = 0.3;
/// Height w of the walls, kJ/mol.
pub(crate) const WALL_HEIGHT: f64 = 1000.0;
/// Steepness r of the walls.
pub(crate) const WALL_STEEPNESS: f64 = 13.5;
/// Position m of the walls outside [0, 1].
pub(crate) const WALL_OFFSET: f64 = 0.201852;
/// Standard deviation σ₀ of λ in a well.
const WELL_DEVIATION: f64 = 0.02;
/// Tolerance of the published parameters: of the mean, and of the width in units of itself.
const TOLERANCE: f64 = 0.005;
/// Gain of one relaxation step.
const GAIN: f64 = 0.01;
/// Step of the grid in λ.
const SPACING: f64 = 0.001;
/// Relaxation steps before giving up; some thousand suffice from 1 to 70 kJ/mol.
const MAX_STEPS: usize = 20_000;
/// Height below which the wells are those of this height, scaled.
const SMALLEST_SOLVED: f64 = 1.0;
/// Largest height, kJ/mol: above it the wells are so wide that they lower the barrier between them.
pub const LARGEST: f64 = 70.0;

/// Why a barrier cannot be made.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum BarrierError {
    /// The height is not a number in the range.
    #[error("barrier height {0} kJ/mol: expected 0 to {LARGEST} kJ/mol")]
    Height(f64),
    /// The relaxation did not converge.
    #[error("no double well of height {0} kJ/mol found")]
    NoSolution(f64),
}

/// Parameters of the double well.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Barrier {
    /// Height h, kJ/mol.
    pub height: f64,
    /// Width a of the wells.
    pub a: f64,
    /// Shift b of the wells outwards: they are centred at −b and 1 + b.
    pub b: f64,
    /// Depth k of the wells, kJ/mol.
    pub k: f64,
    /// Amplitude d of the central barrier, kJ/mol.
    pub d: f64,
}

impl Barrier {
    /// Parameters for a barrier of `height` kJ/mol, 0 to 70. Takes about 20 ms for a height that this process has not solved before: the sites of a
    /// system, and of all runs of a titration, have few heights between them.
    ///
    /// # Errors
    /// [`BarrierError`] for a height out of range or not a number.
    pub fn solve(height: f64) -> Result<Self, BarrierError> {
        if !(0.0..=LARGEST).contains(&height) {
            return Err(BarrierError::Height(height));
        }
        let solved = relaxed(height.max(SMALLEST_SOLVED))?;
        let scale = height / solved.height;
        Ok(Self { height, k: solved.k * scale, d: solved.d * scale, ..solved })
    }

    /// Wells and central barrier without the walls.
    pub fn wells(&self, lambda: f64) -> Term {
        gaussian(-self.k, 1.0 + self.b, self.a, lambda)
            + gaussian(-self.k, -self.b, self.a, lambda)
            + gaussian(self.d, 0.5, CENTRE_WIDTH, lambda)
    }

    /// Wells, central barrier and walls.
    pub fn evaluate(&self, lambda: f64) -> Term {
        self.wells(lambda) + walls(lambda)
    }
}

/// 4h Σ_{α<β} λ_α λ_β at `weights`; its derivatives are added to `by_weight`.
pub fn parabola(height: f64, weights: &[f64], by_weight: &mut [f64]) -> f64 {
    let sum: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|w| w * w).sum();
    by_weight.iter_mut().zip(weights).for_each(|(slope, w)| *slope += 4.0 * height * (sum - w));
    2.0 * height * (sum * sum - squares)
}

/// The walls: zero between the forms, 1000 kJ/mol far outside.
pub fn walls(lambda: f64) -> Term {
    let (right, left) = (WALL_STEEPNESS * (lambda - 1.0 - WALL_OFFSET), WALL_STEEPNESS * (lambda + WALL_OFFSET));
    let slope = WALL_HEIGHT * WALL_STEEPNESS / std::f64::consts::PI.sqrt();
    Term {
        energy: 0.5 * WALL_HEIGHT * (libm::erfc(-right) + libm::erfc(left)),
        derivative: slope * ((-right * right).exp() - (-left * left).exp()),
    }
}

fn gaussian(amplitude: f64, centre: f64, width: f64, lambda: f64) -> Term {
    let x = (lambda - centre) / width;
    let energy = amplitude * (-0.5 * x * x).exp();
    Term { energy, derivative: -energy * x / width }
}

/// Wells of this height, from those that are known or by relaxation.
fn relaxed(height: f64) -> Result<Barrier, BarrierError> {
    static SOLVED: Mutex<BTreeMap<u64, Barrier>> = Mutex::new(BTreeMap::new());
    let known = || SOLVED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = known().get(&height.to_bits()).copied();
    if let Some(barrier) = found {
        return Ok(barrier);
    }
    let barrier = relax(height)?;
    known().insert(height.to_bits(), barrier);
    Ok(barrier)
}

/// Relaxes a, b, k: each step corrects the depth by its error, the centre by 1 % of the mean, the width by 1 % of its
/// relative error.
fn relax(height: f64) -> Result<Barrier, BarrierError> {
    let mut barrier = Barrier { height, a: 0.05, b: -0.1, k: 0.5 * height, d: 0.5 * height };
    let grid: Vec<f64> = (0..700).map(|i| 0.5 - SPACING * f64::from(i)).collect();
    let fixed: Vec<f64> =
        grid.iter().map(|&lambda| (gaussian(barrier.d, 0.5, CENTRE_WIDTH, lambda) + walls(lambda)).energy).collect();
    barrier.k += 0.5 * height + minimum(&barrier, &grid, &fixed);
    for _ in 0..MAX_STEPS {
        barrier.k += 0.5 * height + minimum(&barrier, &grid, &fixed);
        let (mean, deviation) = well_moments(&barrier, &grid, &fixed);
        let width_error = deviation / WELL_DEVIATION - 1.0;
        barrier.b += GAIN * mean;
        barrier.a /= 1.0 + GAIN * width_error;
        if mean.abs() <= TOLERANCE && width_error.abs() <= TOLERANCE {
            return Ok(barrier);
        }
    }
    Err(BarrierError::NoSolution(height))
}

/// V at one point of the grid; `fixed` are the terms that do not depend on a, b and k.
fn potential(barrier: &Barrier, lambda: f64, fixed: f64) -> f64 {
    let well = |centre: f64| (-0.5 * ((lambda - centre) / barrier.a).powi(2)).exp();
    fixed - barrier.k * (well(1.0 + barrier.b) + well(-barrier.b))
}

/// Lowest V in −0.1 … 0.2.
fn minimum(barrier: &Barrier, grid: &[f64], fixed: &[f64]) -> f64 {
    let inside = |lambda: f64| (-0.1 - 0.5 * SPACING..0.2 - 0.5 * SPACING).contains(&lambda);
    grid.iter()
        .zip(fixed)
        .filter(|&(&lambda, _)| inside(lambda))
        .map(|(&lambda, &fixed)| potential(barrier, lambda, fixed))
        .fold(f64::INFINITY, f64::min)
}

/// Mean and standard deviation of λ where V ≤ 0, weighted with e^{−V/(1 kJ/mol)}.
fn well_moments(barrier: &Barrier, grid: &[f64], fixed: &[f64]) -> (f64, f64) {
    let weighted: Vec<(f64, f64)> = grid
        .iter()
        .zip(fixed)
        .map(|(&lambda, &fixed)| (lambda, potential(barrier, lambda, fixed)))
        .filter(|&(_, v)| v <= 0.0)
        .map(|(lambda, v)| (lambda, (-v).exp()))
        .collect();
    let norm: f64 = weighted.iter().map(|(_, p)| p).sum();
    let mean = weighted.iter().map(|(lambda, p)| lambda * p).sum::<f64>() / norm;
    let variance = weighted.iter().map(|(lambda, p)| (lambda - mean).powi(2) * p).sum::<f64>() / norm;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bias::{assert_derivative, assert_derivatives};

    /// h, a, b, k as published (Aho et al. 2022 procedure, six decimals).
    const PUBLISHED: [[f64; 4]; 6] = [
        [2.5, 0.031583, 0.008757, 1.649981],
        [5.0, 0.036304, 0.004432, 3.188904],
        [7.5, 0.043480, 0.002722, 4.743058],
        [10.0, 0.051016, 0.001633, 6.301063],
        [15.0, 0.065120, -0.000181, 9.422669],
        [20.0, 0.077122, -0.001985, 12.550612],
    ];

    #[test]
    fn parameters_are_the_published_ones() {
        for [h, a, b, k] in PUBLISHED {
            let barrier = Barrier::solve(h).unwrap();
            // Six decimals were published; k feels the rounding of the grid in its sixth.
            assert!((barrier.a - a).abs() < 1e-6 && (barrier.b - b).abs() < 1e-6, "{barrier:?}");
            assert!((barrier.k - k).abs() < 3e-6, "{barrier:?}");
        }
    }

    #[test]
    fn wells_meet_their_conditions_at_any_height() {
        for h in [1.0, 1.3, 2.0, 3.7, 6.0, 12.0, 33.0, 50.0, 70.0] {
            let barrier = Barrier::solve(h).unwrap();
            let fine: Vec<f64> = (0..70_000).map(|i| 0.5 - 1e-5 * f64::from(i)).collect();
            let fixed: Vec<f64> =
                fine.iter().map(|&l| (gaussian(barrier.d, 0.5, CENTRE_WIDTH, l) + walls(l)).energy).collect();
            let (mean, deviation) = well_moments(&barrier, &fine, &fixed);
            // 0.5 % of relaxation; the grid of 0.001 resolves the ends of the well to half a step each (1.3 % of 0.07), and
            // the deepest point to ½ V'' (5e-4)² ≤ 1e-3 kJ/mol.
            assert!(mean.abs() < 0.0055 && (deviation / 0.02 - 1.0).abs() < 0.02, "h = {h}: {mean} {deviation}");
            assert!((minimum(&barrier, &fine, &fixed) + 0.5 * h).abs() < 2e-3 + 1e-4 * h, "h = {h}");
            let top = barrier.evaluate(0.5).energy;
            assert!((top - 0.5 * h).abs() < 0.05 * h, "h = {h}: {top} at λ = ½");
        }
    }

    #[test]
    fn small_heights_fade_out() {
        let one = Barrier::solve(1.0).unwrap();
        let half = Barrier::solve(0.5).unwrap();
        assert_eq!((half.a, half.b), (one.a, one.b));
        assert!((half.wells(0.01).energy / one.wells(0.01).energy - 0.5).abs() < 1e-12);
        let zero = Barrier::solve(0.0).unwrap();
        for lambda in [-0.2, 0.0, 0.3, 0.5, 1.0] {
            assert_eq!(zero.evaluate(lambda), walls(lambda));
        }
    }

    #[test]
    fn the_parabola_is_h_at_the_middle_of_an_edge() {
        assert_eq!(parabola(5.0, &[0.5, 0.0, 0.5], &mut [0.0; 3]), 5.0);
        assert_eq!(parabola(5.0, &[0.0, 1.0, 0.0], &mut [0.0; 3]), 0.0);
        assert_derivatives(3, |w, d| parabola(5.0, w, d), 1e-8);
    }

    #[test]
    fn heights_out_of_range_are_refused() {
        for h in [-1.0, f64::NAN, f64::INFINITY, 71.0] {
            assert!(matches!(Barrier::solve(h), Err(BarrierError::Height(_))), "{h}");
        }
    }

    #[test]
    fn walls_have_the_heights_they_are_built_for() {
        // erfc(2.185) = 0.002, erfc(1.645) = 0.02: 1 kJ/mol at −2σ₀, 10 kJ/mol at −4σ₀, both to 0.2 % (rounded arguments).
        assert!((walls(-0.04).energy - 1.0).abs() < 4e-3);
        assert!((walls(1.08).energy - 10.0).abs() < 2e-2);
        assert!(walls(0.5).energy < 1e-12 && (walls(-1.0).energy - 1000.0).abs() < 1e-9);
        assert!((walls(-0.07).energy - walls(1.07).energy).abs() < 1e-12);
    }

    #[test]
    fn derivatives_are_right_and_the_potential_symmetric() {
        for h in [0.0, 5.0, 20.0] {
            let barrier = Barrier::solve(h).unwrap();
            // Truncation h²/6 V''' with V''' ≤ 5e6 kJ/mol in the walls: 1e-4.
            assert_derivative(|l| barrier.evaluate(l), [-0.5, 1.5], 2e-4);
            let (left, right) = (barrier.evaluate(0.13), barrier.evaluate(0.87));
            assert!((left.energy - right.energy).abs() < 1e-12 && (left.derivative + right.derivative).abs() < 1e-10);
        }
    }
}
