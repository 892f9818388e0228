//! Plain Ewald sum for any three-dimensional periodic cell: what the periodic fast methods are tested against.
//!
//! ```text
//! φ_i = Σ'_{j,n} q_j erfc(α r)/r + (4π/V) Σ_{k≠0} e^{−k²/4α²}/k² Σ_j q_j cos k·(x_i − x_j) − 2α/√π q_i − πQ/(Vα²)
//! r = |x_i − x_j + n|        E = ½ Σ q_i φ_i        E_i = −∇φ_i        k_e = 1
//! ```
//!
//! Tin-foil boundary; a net charge Q is neutralised by a uniform background (last term). An excluded pair keeps its
//! other images: for the nearest one erfc(αr)/r becomes −erf(αr)/r. Both sums end where their terms fall below the
//! tolerance; the result does not depend on α. Double precision, N² work, kept simple. P. P. Ewald, Ann. Phys. 369
//! (1921) 253, doi 10.1002/andp.19213690304; background: J. S. Hub et al., J. Chem. Theory Comput. 10 (2014) 381,
//! doi 10.1021/ct400626b.

use std::f64::consts::PI;

use nalgebra::{Matrix3, Vector3};
use num_complex::Complex64;
use rayon::prelude::*;
use thiserror::Error;

use crate::exclusions::Exclusions;
use crate::potentials::Potentials;

const TWO_OVER_SQRT_PI: f64 = std::f64::consts::FRAC_2_SQRT_PI;

/// Why an Ewald sum was refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum EwaldError {
    /// The three cell vectors span no volume, or are not finite.
    #[error("the cell vectors span the volume {volume:e}; they must be finite and not lie in a plane")]
    Cell {
        /// |a · (b × c)|.
        volume: f64,
    },
    /// The tolerance is out of range.
    #[error("the tolerance is {tolerance:e}; it must lie between 1e-16 and 1e-1")]
    Tolerance {
        /// As given.
        tolerance: f64,
    },
    /// Arrays that should be equally long are not.
    #[error("{positions} positions, {charges} charges and exclusions for {exclusions} particles do not match")]
    Lengths {
        /// Number of positions.
        positions: usize,
        /// Number of charges.
        charges: usize,
        /// Number of rows of the exclusions.
        exclusions: usize,
    },
}

/// The diagonal cell with these edges.
#[must_use]
pub fn rectangular(edges: [f64; 3]) -> [[f64; 3]; 3] {
    [[edges[0], 0.0, 0.0], [0.0, edges[1], 0.0], [0.0, 0.0, edges[2]]]
}

/// Energy, potentials and fields of `charges` at `positions` in the periodic cell whose vectors are the rows of
/// `cell`. Positions may lie anywhere; pairs in `exclusions` are skipped for their nearest image. `tolerance` is the
/// size of the terms left out, relative to the largest ones (1e-16 reaches about 1e-14 of the sum).
///
/// # Errors
/// A degenerate cell, a tolerance outside 1e-16 … 1e-1, arrays of different length.
pub fn evaluate(
    cell: &[[f64; 3]; 3],
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
    tolerance: f64,
) -> Result<(f64, Potentials), EwaldError> {
    // α = √π N^(1/6) / V^(1/3) makes both sums equally long.
    let balance = (positions.len() as f64).powf(1.0 / 6.0);
    evaluate_with(balance, cell, positions, charges, exclusions, tolerance)
}

/// As [`evaluate`], with the splitting parameter α = `splitting` · √π / V^⅓.
fn evaluate_with(
    splitting: f64,
    cell: &[[f64; 3]; 3],
    positions: &[[f64; 3]],
    charges: &[f64],
    exclusions: &Exclusions,
    tolerance: f64,
) -> Result<(f64, Potentials), EwaldError> {
    let (n, rows) = (positions.len(), exclusions.n_particles());
    if charges.len() != n || rows != n {
        return Err(EwaldError::Lengths { positions: n, charges: charges.len(), exclusions: rows });
    }
    if !(1e-16..=1e-1).contains(&tolerance) {
        return Err(EwaldError::Tolerance { tolerance });
    }
    let lattice = Lattice::new(cell)?;
    let alpha = splitting * PI.sqrt() / lattice.volume.cbrt();
    // e^{−c²} = tolerance ends the real sum at αr = c and the reciprocal sum at k/2α = c.
    let c = (-tolerance.ln()).sqrt();
    let positions: Vec<_> = positions.iter().map(|&x| Vector3::from(x)).collect();
    let near = real_space(&lattice, alpha, c / alpha, &positions, charges, exclusions);
    let far = reciprocal_space(&lattice, alpha, 2.0 * alpha * c, &positions, charges);
    let background = PI * charges.iter().sum::<f64>() / (lattice.volume * alpha * alpha);
    let mut result = Potentials::zero(n);
    for i in 0..n {
        let own = TWO_OVER_SQRT_PI * alpha * charges[i];
        result.potential[i] = near[i].0 + far[i].0 - own - background;
        result.field[i] = (near[i].1 + far[i].1).into();
    }
    Ok((result.energy(charges), result))
}

/// Cell and reciprocal cell.
struct Lattice {
    /// Columns: the cell vectors.
    direct: Matrix3<f64>,
    /// Rows: b_i with b_i · a_j = δ_ij (no 2π).
    dual: Matrix3<f64>,
    volume: f64,
}

impl Lattice {
    fn new(cell: &[[f64; 3]; 3]) -> Result<Self, EwaldError> {
        let direct = Matrix3::from_columns(&cell.map(Vector3::from));
        let volume = direct.determinant().abs();
        let extent: f64 = direct.column_iter().map(|a| a.norm()).product();
        match direct.try_inverse() {
            Some(dual) if volume.is_finite() && volume > 1e-10 * extent => Ok(Self { direct, dual, volume }),
            _ => Err(EwaldError::Cell { volume }),
        }
    }

    /// d less the lattice vector that brings its fractional coordinates into [−½, ½].
    fn reduce(&self, d: Vector3<f64>) -> Vector3<f64> {
        d - self.direct * (self.dual * d).map(f64::round)
    }

    /// The longest vector that `reduce` can return: half the longest diagonal of the cell.
    fn reach(&self) -> f64 {
        let half = |a: f64, b: f64| 0.5 * (self.direct * Vector3::new(1.0, a, b)).norm();
        half(1.0, 1.0).max(half(1.0, -1.0)).max(half(-1.0, 1.0)).max(half(-1.0, -1.0))
    }

    /// All lattice vectors up to `radius`. |n_i| = |b_i · x| ≤ |b_i| |x| bounds the indices.
    fn vectors_within(&self, radius: f64) -> Vec<Vector3<f64>> {
        indices_within(&self.dual.transpose(), radius).map(|n| self.direct * n).filter(|x| x.norm() <= radius).collect()
    }
}

/// All integer triples n with |n_i| ≤ |column i of `dual`| · `radius`.
fn indices_within(dual: &Matrix3<f64>, radius: f64) -> impl Iterator<Item = Vector3<f64>> + use<> {
    let [x, y, z] = [0, 1, 2].map(|i| (dual.column(i).norm() * radius).floor() as i64);
    let triples = (-x..=x).flat_map(move |i| (-y..=y).flat_map(move |j| (-z..=z).map(move |k| [i, j, k])));
    triples.map(|n| Vector3::from(n.map(|n| n as f64)))
}

type PotentialAndField = (f64, Vector3<f64>);

/// Σ'_{j,n} of the screened charges up to `cutoff`, and the correction of excluded pairs.
fn real_space(
    lattice: &Lattice,
    alpha: f64,
    cutoff: f64,
    positions: &[Vector3<f64>],
    charges: &[f64],
    exclusions: &Exclusions,
) -> Vec<PotentialAndField> {
    let images = lattice.vectors_within(cutoff + lattice.reach());
    // The nearest image of a reduced vector d is d + n with |d + n| ≤ |d|, hence |n| ≤ 2|d|.
    let close_images = lattice.vectors_within(2.0 * lattice.reach());
    let screened = |r: f64| {
        let value = libm::erfc(alpha * r) / r;
        (value, (value + gaussian(alpha, r)) / (r * r))
    };
    let at = |i: usize| {
        let (mut phi, mut field) = (0.0, Vector3::zeros());
        let mut add = |q: f64, d: Vector3<f64>, (value, slope): (f64, f64)| {
            phi += q * value;
            field += q * slope * d;
        };
        for j in 0..positions.len() {
            let d = lattice.reduce(positions[i] - positions[j]);
            let excluded = exclusions.contains(i, j);
            let skipped = match (excluded, i == j) {
                (true, _) => nearest(d, &close_images),
                (_, true) => Some(Vector3::zeros()),
                _ => None,
            };
            for image in images.iter().filter(|&&n| Some(n) != skipped) {
                let x = d + image;
                let r2 = x.norm_squared();
                if r2 <= cutoff * cutoff {
                    add(charges[j], x, screened(r2.sqrt()));
                }
            }
            if let (true, Some(image)) = (excluded, skipped) {
                let x = d + image;
                add(-charges[j], x, complement(alpha, x.norm()));
            }
        }
        (phi, field)
    };
    (0..positions.len()).into_par_iter().map(at).collect()
}

/// 2α/√π e^{−α²r²}.
fn gaussian(alpha: f64, r: f64) -> f64 {
    TWO_OVER_SQRT_PI * alpha * (-(alpha * r).powi(2)).exp()
}

/// erf(αr)/r and −(1/r) d/dr of it, by their series where the closed form of the second cancels.
fn complement(alpha: f64, r: f64) -> (f64, f64) {
    let x = alpha * r;
    if x > 1.0 {
        let value = libm::erf(x) / r;
        return (value, (value - gaussian(alpha, r)) / (r * r));
    }
    // erf(x)/x = (2/√π) Σ (−x²)^m / (m! (2m+1)); 20 terms leave less than 1/20! < 1e-18.
    let (mut value, mut slope, mut term) = (0.0, 0.0, 1.0);
    for m in 0..20 {
        let order = f64::from(m);
        value += term / (2.0 * order + 1.0);
        // −(1/x) d/dx of the term with x^{2m+2}.
        slope += 2.0 * term / (2.0 * order + 3.0);
        term *= -x * x / (order + 1.0);
    }
    (TWO_OVER_SQRT_PI * alpha * value, TWO_OVER_SQRT_PI * alpha.powi(3) * slope)
}

/// The one of `images` that makes |d + image| smallest.
fn nearest(d: Vector3<f64>, images: &[Vector3<f64>]) -> Option<Vector3<f64>> {
    images.iter().copied().min_by(|a, b| (d + a).norm_squared().total_cmp(&(d + b).norm_squared()))
}

/// (4π/V) Σ_{k≠0} e^{−k²/4α²}/k² of the structure factor, |k| ≤ `largest`.
fn reciprocal_space(
    lattice: &Lattice,
    alpha: f64,
    largest: f64,
    positions: &[Vector3<f64>],
    charges: &[f64],
) -> Vec<PotentialAndField> {
    let triples = indices_within(&lattice.direct, largest / (2.0 * PI));
    // One of k and −k; the other one doubles it.
    let waves: Vec<_> = triples
        .filter(|h| (h.x, h.y, h.z) > (0.0, 0.0, 0.0))
        .map(|h| (h, 2.0 * PI * lattice.dual.tr_mul(&h)))
        .filter(|(_, k)| k.norm() <= largest)
        .collect();
    let fractional: Vec<_> = positions.iter().map(|x| (lattice.dual * x).map(|s| s - s.round())).collect();
    let phase = |s: &Vector3<f64>, h: &Vector3<f64>| Complex64::cis(2.0 * PI * h.dot(s));
    // 2 · (4π/V) e^{−k²/4α²}/k² Σ_j q_j e^{−ik·x_j}
    let amplitude = |(h, k): &(Vector3<f64>, Vector3<f64>)| {
        let k2 = k.norm_squared();
        let weight = 8.0 * PI / lattice.volume * (-k2 / (4.0 * alpha * alpha)).exp() / k2;
        let factor: Complex64 = fractional.iter().zip(charges).map(|(s, &q)| phase(s, h).conj() * q).sum();
        factor * weight
    };
    let amplitudes: Vec<Complex64> = waves.par_iter().map(amplitude).collect();
    let at = |s: &Vector3<f64>| {
        waves.iter().zip(&amplitudes).fold((0.0, Vector3::zeros()), |(phi, field), ((h, k), a)| {
            let wave = phase(s, h) * a;
            (phi + wave.re, field + wave.im * k)
        })
    };
    fractional.par_iter().map(at).collect()
}

#[cfg(test)]
mod tests;
