//! The correction of the measure makes the distribution of weights uniform on the simplex where nothing else acts.
//!
//! Uniform ξ do not mean uniform weights. V = RT ln p(λ) takes back the density p that they induce (with respect to dλ_1 … dλ_{n−1}):
//!
//! - circle and sphere: p ∝ Π_α λ_α^{−1/2}. With x_α = ±√λ_α the area of the sphere is Π dx_α/x_0 over α ≥ 1, and dx_α = dλ_α/2√λ_α.
//! - one ϑ of Nexp, s = ln(λ_1/λ_0)/2c: p ∝ 1/(λ_0 λ_1 √(1−s²)).
//! - ϑ of each form, of which one direction changes no weight: with u_α = c sin ϑ_α the density of u is Π (c² − u_α²)^{−1/2}, u_α = ln λ_α + t has the
//!   Jacobian Π λ_α^{−1} for (λ, t), and what is redundant is integrated over,
//!
//!   p ∝ Π_α λ_α^{−1} · I(λ),     I = ∫ dt Π_α (c² − (ln λ_α + t)²)^{−1/2}   over all t with |ln λ_α + t| < c
//!
//! I depends on differences of ln λ alone. Its limits are c − max ln λ and −c − min ln λ; with t = t̄ + h sin φ between them the integrand is
//! smooth, and the midpoint rule of 32 points in φ is exact to 1e-6 or so. Where the two largest or the two smallest weights are equal I diverges as the logarithm of their
//! difference: max and min are replaced by τ ln Σ e^{v/τ}, τ = 0.02, which cuts the logarithm where ln λ differ by τ.
//!
//! ln λ is replaced by v = ½ ln(λ² + ε²), ε = 0.01, in all of them: near a form its weight may still be large. Linear weights need none.
//! Donnini et al. 2011, doi:10.1021/ct200061r ("circle entropy"); the others follow from the transformations above.
//!
//! Units: kJ/mol, K.

use forcefield::units::GAS_CONSTANT;

use crate::coordinate::{Coordinate, NEXP_STEEPNESS};

/// ε: the weight below which the correction levels off.
const LEAST_WEIGHT: f64 = 0.01;
/// τ: difference of ln λ below which two weights count as equal.
pub(crate) const TIE: f64 = 0.02;
/// Points of the integral over what is redundant.
pub(crate) const POINTS: usize = 32;

/// The correction of one site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entropy {
    /// V = −factor Σ_α ½ ln(λ_α² + ε²), kJ/mol.
    factor: f64,
    /// Factor of −½ ln(1 − s²); 0 but for one ϑ of Nexp.
    arc: f64,
    /// Factor of ln I; 0 but for ϑ of each form.
    redundant: f64,
}

impl Entropy {
    /// The correction for a coordinate at `temperature` (K); `None` where uniform ξ mean uniform weights.
    pub fn new(coordinate: Coordinate, temperature: f64) -> Option<Self> {
        let rt = GAS_CONSTANT * temperature;
        match coordinate {
            Coordinate::Circle | Coordinate::Sphere => Some(Self { factor: 0.5 * rt, arc: 0.0, redundant: 0.0 }),
            Coordinate::Nexp => Some(Self { factor: rt, arc: rt, redundant: 0.0 }),
            Coordinate::NexpWeights => Some(Self { factor: rt, arc: 0.0, redundant: rt }),
            Coordinate::Fixed | Coordinate::Linear | Coordinate::LinearWeights => None,
        }
    }

    /// Factors of −½ Σ ln(λ² + ε²), of −½ ln(1 − s²) and of ln I (kJ/mol), and ε.
    pub fn parameters(&self) -> [f64; 4] {
        [self.factor, self.arc, self.redundant, LEAST_WEIGHT]
    }

    /// Energy at `weights`; its derivatives are added to `by_weight`.
    pub fn evaluate(&self, weights: &[f64], by_weight: &mut [f64]) -> f64 {
        let mut energy = 0.0;
        for (weight, slope) in weights.iter().zip(by_weight.iter_mut()) {
            let square = level(*weight);
            energy -= 0.5 * self.factor * square.ln();
            *slope -= self.factor * weight / square;
        }
        if self.arc != 0.0 {
            // ln λ levelled off as above keeps s away from ±1.
            let s = 0.25 * (level(weights[1]) / level(weights[0])).ln() / NEXP_STEEPNESS;
            energy -= 0.5 * self.arc * (1.0 - s * s).ln();
            let slope = self.arc * s / (1.0 - s * s) / (2.0 * NEXP_STEEPNESS);
            by_weight[1] += slope * weights[1] / level(weights[1]);
            by_weight[0] -= slope * weights[0] / level(weights[0]);
        }
        if self.redundant != 0.0 {
            energy += redundant(self.redundant, weights, by_weight);
        }
        energy
    }
}

/// λ² + ε².
fn level(weight: f64) -> f64 {
    weight * weight + LEAST_WEIGHT * LEAST_WEIGHT
}

/// `factor` · ln I; its derivatives are added to `by_weight`.
fn redundant(factor: f64, weights: &[f64], by_weight: &mut [f64]) -> f64 {
    let v: Vec<f64> = weights.iter().map(|&w| 0.5 * level(w).ln()).collect();
    // Smooth maximum of ±v, and the share of each form in it.
    let extreme = |sign: f64| -> (f64, Vec<f64>) {
        let top = v.iter().map(|v| sign * v).fold(f64::NEG_INFINITY, f64::max);
        let mut shares: Vec<f64> = v.iter().map(|v| ((sign * v - top) / TIE).exp()).collect();
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|share| *share /= sum);
        (top + TIE * sum.ln(), shares)
    };
    let ((most, upper), (least, lower)) = (extreme(1.0), extreme(-1.0));
    let (high, low) = (NEXP_STEEPNESS - most, least - NEXP_STEEPNESS);
    let (middle, half) = (0.5 * (high + low), 0.5 * (high - low));
    // Sums of the integrand f, of f q_α, f Σ q_α and f sin φ Σ q_α, with q = u/(c² − u²), the derivative of ln f by u.
    let (mut sum, mut shift, mut stretch, mut own) = (0.0, 0.0, 0.0, vec![0.0; v.len()]);
    for k in 0..POINTS {
        let (sine, cosine) = (std::f64::consts::PI * ((k as f64 + 0.5) / POINTS as f64 - 0.5)).sin_cos();
        let u = |v: &f64| v + middle + half * sine;
        let room = |u: f64| NEXP_STEEPNESS * NEXP_STEEPNESS - u * u;
        let f = cosine / v.iter().map(|v| room(u(v))).product::<f64>().sqrt();
        let mut all = 0.0;
        for (own, v) in own.iter_mut().zip(&v) {
            let q = u(v) / room(u(v));
            *own += f * q;
            all += q;
        }
        sum += f;
        shift += f * all;
        stretch += f * sine * all;
    }
    for (a, &w) in weights.iter().enumerate() {
        // By v of the form: the middle moves by −½ (upper + lower), the half by ½ (lower − upper).
        let [mean, wide] = [0.5 * (upper[a] + lower[a]), 0.5 * (lower[a] - upper[a])];
        let slope = (own[a] - mean * shift + wide * stretch) / sum + wide / half;
        by_weight[a] += factor * slope * w / level(w);
    }
    factor * (half * sum).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::random;
    use crate::analysis::tails;
    use crate::bias::assert_derivatives;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal, StandardUniform};

    const COORDINATES: [(Coordinate, usize); 6] = [
        (Coordinate::Circle, 2),
        (Coordinate::Sphere, 2),
        (Coordinate::Nexp, 2),
        (Coordinate::NexpWeights, 2),
        (Coordinate::Sphere, 3),
        (Coordinate::NexpWeights, 3),
    ];

    /// ξ of uniform measure.
    fn anywhere(coordinate: Coordinate, n: usize, rng: &mut ChaCha8Rng) -> Vec<f64> {
        let dimension = coordinate.dimension(n);
        if coordinate == Coordinate::Sphere {
            let x: Vec<f64> = (0..n).map(|_| StandardNormal.sample(rng)).collect();
            let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
            return x.into_iter().map(|x| x / norm).collect();
        }
        let angle = |rng: &mut ChaCha8Rng| -> f64 { StandardUniform.sample(rng) };
        (0..dimension).map(|_| std::f64::consts::TAU * angle(rng)).collect()
    }

    /// Cells of equal volume of the part of the simplex with all weights above 0.1, twelve along the edge of two forms and four along those of three;
    /// `None` outside.
    fn cell(weights: &[f64]) -> Option<usize> {
        let (n, parts) = (weights.len(), [12.0, 4.0][weights.len() - 2]);
        let places: Vec<f64> = weights.iter().map(|w| (w - 0.1) / (1.0 - 0.1 * n as f64) * parts).collect();
        if places.iter().any(|place| *place <= 0.0) {
            return None;
        }
        // Floors of all weights: every triangle has its own.
        Some(places.iter().fold(0, |code, place| 13 * code + *place as usize))
    }

    /// Frames of weights that are distributed as uniform ξ, taken or refused by e^{−V/RT} if `corrected`, by cell.
    fn histogram(coordinate: Coordinate, n: usize, corrected: bool, wanted: usize) -> Vec<f64> {
        let (entropy, mut rng) = (Entropy::new(coordinate, 300.0).unwrap(), random(41));
        let energy = |w: &[f64]| entropy.evaluate(w, &mut vec![0.0; n]) / (GAS_CONSTANT * 300.0);
        // Nothing is deeper by 2 RT than the middle of the simplex, where the correction of the tie is cut, or a corner of the part that counts.
        let lowest = energy(&vec![1.0 / n as f64; n])
            .min(energy(&[vec![0.1; n - 1], vec![1.1 - 0.1 * n as f64]].concat()))
            - 2.0;
        let mut cells = std::collections::BTreeMap::new();
        let (mut count, mut weights) = (0, vec![0.0; n]);
        while count < wanted {
            coordinate.weights(&anywhere(coordinate, n, &mut rng), &mut weights);
            let Some(cell) = cell(&weights) else { continue };
            let chance: f64 = StandardUniform.sample(&mut rng);
            let accepted = (lowest - energy(&weights)).exp();
            assert!(accepted <= 1.0, "{coordinate:?} {weights:?}");
            if !corrected || chance < accepted {
                *cells.entry(cell).or_insert(0.0) += 1.0;
                count += 1;
            }
        }
        cells.into_values().collect()
    }

    /// Probability of a histogram at least as uneven if all cells are equally likely.
    fn evenness(cells: &[f64]) -> f64 {
        let mean = cells.iter().sum::<f64>() / cells.len() as f64;
        tails::chi_squared(cells.iter().map(|n| (n - mean).powi(2) / mean).sum(), cells.len() - 1)
    }

    /// What is left is below what 6000 frames show: ε²/2λ² is 0.5 % at the edge of the part that counts, τ changes the cells at a tie by 1 %.
    #[test]
    fn weights_are_uniform_on_the_simplex_with_the_correction_and_not_without() {
        for (coordinate, n) in COORDINATES {
            let [with, without] = [true, false].map(|corrected| histogram(coordinate, n, corrected, 6000));
            // Twelve parts of an edge, sixteen triangles.
            assert_eq!((with.len(), without.len()), ([12, 16][n - 2], [12, 16][n - 2]), "{coordinate:?}");
            let [with_p, without_p] = [evenness(&with), evenness(&without)];
            assert!(with_p > 0.001, "{coordinate:?}, {n} forms: {with_p} {with:?}");
            assert!(without_p < 1e-6, "{coordinate:?}, {n} forms: {without_p} {without:?}");
        }
    }

    /// The factor of what is redundant is needed: Π λ^{−1} alone leaves a maximum in the middle.
    #[test]
    fn the_redundant_direction_counts() {
        let coordinate = Coordinate::NexpWeights;
        let (mut rng, entropy) = (random(43), Entropy { redundant: 0.0, ..Entropy::new(coordinate, 300.0).unwrap() });
        let (mut bins, mut weights) = ([0.0; 9], [0.0; 2]);
        for _ in 0..300_000 {
            coordinate.weights(&anywhere(coordinate, 2, &mut rng), &mut weights);
            let bin = ((weights[1] - 0.05) / 0.1).floor();
            if (0.0..9.0).contains(&bin) {
                bins[bin as usize] += (-entropy.evaluate(&weights, &mut [0.0; 2]) / (GAS_CONSTANT * 300.0)).exp();
            }
        }
        let mean = bins.iter().sum::<f64>() / 9.0;
        assert!(bins[4] / mean > 1.2 && bins[0] / mean < 0.95, "{bins:?}");
    }

    /// I of two forms is a complete elliptic integral: (1/c) K(√(1 − s²)) with s = ln(λ_1/λ_0)/2c, by the arithmetic-geometric mean
    /// (DLMF 19.8.5).
    #[test]
    fn the_integral_of_two_forms_is_elliptic() {
        for weights in [[0.9, 0.1], [0.7, 0.3], [0.55, 0.45], [0.98, 0.02]] {
            let s = 0.25 * (level(weights[1]) / level(weights[0])).ln().abs() / NEXP_STEEPNESS;
            let (mut a, mut g) = (1.0_f64, s);
            for _ in 0..30 {
                (a, g) = (0.5 * (a + g), (a * g).sqrt());
            }
            let exact = std::f64::consts::FRAC_PI_2 / a / NEXP_STEEPNESS;
            let found = redundant(1.0, &weights, &mut [0.0; 2]).exp() * std::f64::consts::PI / POINTS as f64;
            assert!((found / exact - 1.0).abs() < 1e-3, "{weights:?}: {found} {exact}");
        }
    }

    #[test]
    fn derivatives_are_right_and_linear_weights_need_nothing() {
        for coordinate in [Coordinate::Sphere, Coordinate::NexpWeights] {
            let entropy = Entropy::new(coordinate, 300.0).unwrap();
            assert_derivatives(3, |w, d| entropy.evaluate(w, d), 1e-3);
        }
        let entropy = Entropy::new(Coordinate::Nexp, 300.0).unwrap();
        assert_derivatives(2, |w, d| entropy.evaluate(w, d), 1e-3);
        assert_eq!(Entropy::new(Coordinate::Linear, 300.0), None);
    }
}
