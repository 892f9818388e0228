//! A better free energy from runs with free weights, and a measure of how flat those were.
//!
//! With V_MM = −F_r of round r, no barrier and every form equally likely (pH = pK), a site whose free energy is F has
//!
//!   p_r(λ) ∝ exp(−(F − F_r)/RT)        inside D = {λ_α ≥ 0.02}, where walls are below 0.02 kJ/mol
//!
//! in the measure dλ of the linear coordinate. F = Σ c_k b_k is the most likely one given all rounds and what was known before:
//!
//!   maximise  −½ (c − c₀)ᵀ P (c − c₀) + Σ_r N_r [ −(c − c_r)·⟨b⟩_r/RT − ln ∫_D exp(−(c − c_r)·b/RT) dλ ]
//!
//! N_r is the number of independent samples. The function is concave; Newton's method with a lattice for the integral finds its
//! top. The covariance is the inverse of its curvature there. Where forms are the same chemically c = E s ([`Space`]), and s is found: every
//! frame counts with its images, and none twice.
//!
//! Units: kJ/mol, K.

mod round;

pub use round::{EdgeHistogram, Round, halves};

use forcefield::units::GAS_CONSTANT;
use nalgebra::{DMatrix, DVector};
use thiserror::Error;

use super::blocks::SeriesError;
use super::simplex_fit::{Surface, Uncertain, compositions, edges, on_edge};
use super::symmetry::Space;
use crate::bias::simplex::SimplexBasis;

/// Smallest weight of the samples that count: closer to the walls they are pushed.
pub const LOWEST: f64 = 0.02;
/// The edge of the region that [`Flatness`] judges, 0.05 to 0.95.
const JUDGED: [f64; 2] = [0.05, 0.95];
/// Points of the lattice, at most.
const LATTICE: usize = 4000;
/// Newton steps, at most; ten are usual.
const STEPS: usize = 200;
/// Degree of smooth profiles: what flatness is judged by, and what errors of windows may hide.
const SMOOTH: usize = 3;

/// Why rounds cannot be evaluated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FlatnessError {
    /// A series has neither correlation nor error.
    #[error(transparent)]
    Series(#[from] SeriesError),
    /// No frame has all weights above the lowest.
    #[error("no frame has every weight above {LOWEST}")]
    Outside,
    /// Coefficients or weights belong to another number of forms.
    #[error("{found} {what}, expected {expected}")]
    Length {
        /// Which.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// The maximum was not found.
    #[error("the most likely free energy was not found: the runs are too far from flat, or too short")]
    Diverged,
}

/// What is known before a round: coefficients and the inverse of their covariance.
#[derive(Clone, Debug, PartialEq)]
pub struct Prior {
    /// Coefficients.
    pub coefficients: Vec<f64>,
    /// Inverse of their covariance.
    pub precision: DMatrix<f64>,
}

impl Prior {
    /// A fit whose smooth terms may be off by another `systematic` (kJ/mol) that its errors do not show; `None` if its covariance cannot be
    /// inverted.
    pub fn from_surface(surface: &Surface, space: &Space, systematic: f64) -> Option<Self> {
        let mut covariance = surface.covariance.clone();
        for k in (0..covariance.nrows()).filter(|&k| is_smooth(surface.basis, k)) {
            covariance[(k, k)] += systematic * systematic;
        }
        let free = &space.free;
        let precision = (free.transpose() * covariance * free).cholesky()?.inverse();
        Some(Self { coefficients: surface.coefficients.clone(), precision: free * precision * free.transpose() })
    }
}

/// How far from flat the weights of the last round were, judged by all rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Flatness {
    /// F − F_r, a smooth profile.
    pub profile: Surface,
    /// Where along the edges, from 0.05 to 0.95, it is farthest from its mean, and how far.
    pub deviation: Uncertain,
}

impl Flatness {
    /// Whether the deviation and its standard error stay within `tolerance` (kJ/mol).
    pub fn within(&self, tolerance: f64) -> bool {
        self.deviation.value + self.deviation.error <= tolerance
    }

    /// Judges the last of `rounds` at `temperature`.
    ///
    /// # Errors
    /// As [`estimate`].
    pub fn new(space: &Space, rounds: &[Round], temperature: f64) -> Result<Self, FlatnessError> {
        let basis = space.basis;
        let last = rounds.last().ok_or(FlatnessError::Outside)?;
        let rt = GAS_CONSTANT * temperature;
        // Smooth terms are free within 10 RT, the others stay as they were.
        let width = |k: usize| if is_smooth(basis, k) { 10.0 * rt } else { 1e-4 * rt };
        let precision = DMatrix::from_fn(basis.len(), basis.len(), |a, b| if a == b { width(a).powi(-2) } else { 0.0 });
        let prior = Prior { coefficients: last.coefficients.clone(), precision };
        let mut profile = estimate(space, rounds, &prior, temperature)?;
        profile.coefficients.iter_mut().zip(&last.coefficients).for_each(|(c, before)| *c -= before);
        let deviation = farthest(&profile);
        Ok(Self { profile, deviation })
    }
}

/// Whether a term is a polynomial of degree 3 or less: λ_α, λ_α λ_β (λ_β − λ_α)^k with k < 2, λ_α λ_β λ_γ.
fn is_smooth(basis: SimplexBasis, term: usize) -> bool {
    let (n, powers) = (basis.n_forms(), basis.degree() - 1);
    let pair_terms = n * (n - 1) / 2 * powers;
    match term.checked_sub(n - 1) {
        None => true,
        Some(k) if k < pair_terms => k % powers + 2 <= SMOOTH,
        Some(k) => (k - pair_terms).is_multiple_of(basis.triple_terms()),
    }
}

/// Largest deviation of a profile from its mean over the edges.
fn farthest(profile: &Surface) -> Uncertain {
    let n = profile.basis.n_forms();
    let place = |k: usize| JUDGED[0] + (JUDGED[1] - JUDGED[0]) * k as f64 / 18.0;
    let points: Vec<Vec<f64>> =
        edges(n).into_iter().flat_map(|edge| (0..=18).map(move |k| on_edge(n, edge, place(k)))).collect();
    let terms = profile.coefficients.len();
    let values: Vec<DVector<f64>> = points.iter().map(|point| DVector::from_vec(profile.basis.values(point))).collect();
    let mean = values.iter().fold(DVector::zeros(terms), |sum, b| sum + b) / values.len() as f64;
    let coefficients = DVector::from_column_slice(&profile.coefficients);
    let off = values.iter().map(|b| {
        let d = b - &mean;
        let error = (d.transpose() * &profile.covariance * &d)[(0, 0)].max(0.0).sqrt();
        Uncertain { value: d.dot(&coefficients).abs(), error }
    });
    off.fold(Uncertain::default(), |most, one| if one.value > most.value { one } else { most })
}

/// Points of D that stand for equal volumes.
fn lattice(n_forms: usize) -> Vec<Vec<f64>> {
    let count = |steps: usize| (1..n_forms).fold(1, |product, k| product * (steps + k) / k);
    let steps = (4..=600).take_while(|&steps| count(steps) <= LATTICE).last().unwrap_or(4);
    let (n, room) = (n_forms as f64, 1.0 - n_forms as f64 * LOWEST);
    let place = |k: usize| LOWEST + room * (k as f64 + 1.0 / n) / (steps as f64 + 1.0);
    compositions(n_forms, steps).into_iter().map(|point| point.into_iter().map(place).collect()).collect()
}

/// The most likely free energy given what was known before and the rounds, at `temperature` (K).
///
/// # Errors
/// [`FlatnessError::Length`] for rounds of another basis, [`FlatnessError::Diverged`] if the maximum is not found.
pub fn estimate(space: &Space, rounds: &[Round], prior: &Prior, temperature: f64) -> Result<Surface, FlatnessError> {
    let (basis, free) = (space.basis, &space.free);
    let terms = basis.len();
    for found in rounds.iter().map(|round| round.coefficients.len()).chain([prior.coefficients.len()]) {
        if found != terms {
            return Err(FlatnessError::Length { what: "coefficients", found, expected: terms });
        }
    }
    let values: Vec<DVector<f64>> =
        lattice(basis.n_forms()).iter().map(|w| DVector::from_vec(basis.values(w))).collect();
    let problem = Problem { values, rounds, prior, beta: 1.0 / (GAS_CONSTANT * temperature) };
    let mut c = DVector::from_column_slice(&rounds.last().map_or(&prior.coefficients, |round| &round.coefficients)[..]);
    let mut here = problem.likelihood(&c);
    for _ in 0..STEPS {
        let cholesky = (free.transpose() * &here.curvature * free).cholesky().ok_or(FlatnessError::Diverged)?;
        let step = free * cholesky.solve(&(free.transpose() * &here.gradient));
        let promise = step.dot(&here.gradient);
        if promise < 1e-12 {
            let covariance = free * cholesky.inverse() * free.transpose();
            return Ok(Surface { basis, coefficients: c.iter().copied().collect(), covariance });
        }
        let mut length = 1.0;
        loop {
            let next = &c + length * &step;
            let there = problem.likelihood(&next);
            // A sum over many samples may be off by 1e-12 of itself, which is rounding.
            if there.value >= here.value + 1e-4 * length * promise - 1e-12 * here.value.abs() {
                (c, here) = (next, there);
                break;
            }
            length *= 0.5;
            if length < 1e-9 {
                return Err(FlatnessError::Diverged);
            }
        }
    }
    Err(FlatnessError::Diverged)
}

/// The logarithm of the posterior probability of the coefficients, which is maximised.
struct Problem<'a> {
    values: Vec<DVector<f64>>,
    rounds: &'a [Round],
    prior: &'a Prior,
    beta: f64,
}

/// The logarithm of the likelihood with its gradient and minus its second derivatives.
struct Likelihood {
    value: f64,
    gradient: DVector<f64>,
    curvature: DMatrix<f64>,
}

impl Problem<'_> {
    fn likelihood(&self, c: &DVector<f64>) -> Likelihood {
        let off = c - DVector::from_column_slice(&self.prior.coefficients);
        let pull = &self.prior.precision * &off;
        let mut sum =
            Likelihood { value: -0.5 * off.dot(&pull), gradient: -pull, curvature: self.prior.precision.clone() };
        for round in self.rounds {
            let d = c - DVector::from_column_slice(&round.coefficients);
            let exponents: Vec<f64> = self.values.iter().map(|b| -self.beta * d.dot(b)).collect();
            let top = exponents.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let (mut z, mut mean) = (0.0, DVector::zeros(d.len()));
            let mut square = DMatrix::zeros(d.len(), d.len());
            for (b, exponent) in self.values.iter().zip(exponents) {
                let p = (exponent - top).exp();
                z += p;
                mean.axpy(p, b, 1.0);
                square.syger(p, b, b, 1.0);
            }
            mean /= z;
            square /= z;
            square.fill_upper_triangle_with_lower_triangle();
            let measured = DVector::from_column_slice(&round.means);
            let n = round.samples;
            sum.value += n * (-self.beta * d.dot(&measured) - top - (z / self.values.len() as f64).ln());
            sum.gradient += n * self.beta * (&mean - measured);
            sum.curvature += n * self.beta * self.beta * (square - &mean * mean.transpose());
        }
        sum
    }
}

#[cfg(test)]
mod tests;
