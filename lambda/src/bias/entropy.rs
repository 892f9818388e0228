//! The correction of the measure makes the distribution of weights flat where nothing else acts.
//!
//! Uniform ξ do not mean uniform weights. On the circle and the sphere p(λ) ∝ Π_α λ_α^{−1/2}; with one ϑ of Nexp, s = ln(λ_1/λ_0)/2c,
//! p(λ) ∝ 1/(λ_0 λ_1 √(1−s²)), and with ϑ of each form the factor Π_α λ_α^{−1} is the main part (for two forms another one, ln(s)-like, is left; V_MM of
//! a refined calibration takes it). V = RT ln p, with ln λ replaced by ½ ln(λ² + ε²), ε = 0.01: near a form its weight may still be large.
//! Linear weights need none. Donnini et al. 2011, doi:10.1021/ct200061r ("circle entropy").
//!
//! Units: kJ/mol, K.

use forcefield::units::GAS_CONSTANT;

use crate::coordinate::{Coordinate, NEXP_STEEPNESS};

/// ε: the weight below which the correction levels off.
const LEAST_WEIGHT: f64 = 0.01;

/// The correction of one site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entropy {
    /// V = −factor Σ_α ½ ln(λ_α² + ε²), kJ/mol.
    factor: f64,
    /// Factor of −½ ln(1 − s²); 0 but for one ϑ of Nexp.
    arc: f64,
}

impl Entropy {
    /// The correction for a coordinate at `temperature` (K); `None` where uniform ξ mean uniform weights.
    pub fn new(coordinate: Coordinate, temperature: f64) -> Option<Self> {
        let rt = GAS_CONSTANT * temperature;
        match coordinate {
            Coordinate::Circle | Coordinate::Sphere => Some(Self { factor: 0.5 * rt, arc: 0.0 }),
            Coordinate::Nexp => Some(Self { factor: rt, arc: rt }),
            Coordinate::NexpWeights => Some(Self { factor: rt, arc: 0.0 }),
            Coordinate::Fixed | Coordinate::Linear | Coordinate::LinearWeights => None,
        }
    }

    /// Factors of −½ Σ ln(λ² + ε²) and of −½ ln(1 − s²) (kJ/mol), and ε.
    pub fn parameters(&self) -> [f64; 3] {
        [self.factor, self.arc, LEAST_WEIGHT]
    }

    /// Energy at `weights`; its derivatives are added to `by_weight`.
    pub fn evaluate(&self, weights: &[f64], by_weight: &mut [f64]) -> f64 {
        let mut energy = 0.0;
        for (weight, slope) in weights.iter().zip(by_weight.iter_mut()) {
            let square = weight * weight + LEAST_WEIGHT * LEAST_WEIGHT;
            energy -= 0.5 * self.factor * square.ln();
            *slope -= self.factor * weight / square;
        }
        if self.arc != 0.0 {
            // ln λ levelled off as above keeps s away from ±1.
            let level = |w: f64| w * w + LEAST_WEIGHT * LEAST_WEIGHT;
            let s = 0.25 * (level(weights[1]) / level(weights[0])).ln() / NEXP_STEEPNESS;
            energy -= 0.5 * self.arc * (1.0 - s * s).ln();
            let slope = self.arc * s / (1.0 - s * s) / (2.0 * NEXP_STEEPNESS);
            by_weight[1] += slope * weights[1] / level(weights[1]);
            by_weight[0] -= slope * weights[0] / level(weights[0]);
        }
        energy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bias::assert_derivatives;

    /// Histogram of λ_1 over 0.05–0.95 in 9 bins for ξ distributed as e^{−V/RT}, by a fine grid of ξ.
    fn histogram(coordinate: Coordinate, corrected: bool) -> Vec<f64> {
        let entropy = Entropy::new(coordinate, 300.0).unwrap();
        let (mut bins, dimension) = (vec![0.0; 9], coordinate.dimension(2));
        let angle = |k: usize, n: usize| std::f64::consts::TAU * (k as f64 + 0.5) / n as f64;
        let mut add = |xi: &[f64]| {
            let mut w = [0.0; 2];
            coordinate.weights(xi, &mut w);
            let v = if corrected { entropy.evaluate(&w, &mut [0.0; 2]) } else { 0.0 };
            let bin = ((w[1] - 0.05) / 0.1).floor();
            if (0.0..9.0).contains(&bin) {
                bins[bin as usize] += (-v / (GAS_CONSTANT * 300.0)).exp();
            }
        };
        match (coordinate, dimension) {
            (Coordinate::Sphere, _) => {
                (0..200_000).for_each(|k| add(&[angle(k, 200_000).cos(), angle(k, 200_000).sin()]))
            }
            (_, 1) => (0..200_000).for_each(|k| add(&[angle(k, 200_000)])),
            _ => (0..1500).for_each(|i| (0..1500).for_each(|j| add(&[angle(i, 1500), angle(j, 1500)]))),
        }
        let sum: f64 = bins.iter().sum();
        bins.iter().map(|b| b * 9.0 / sum).collect()
    }

    #[test]
    fn weights_are_uniform_with_the_correction_and_not_without() {
        for coordinate in [Coordinate::Circle, Coordinate::Sphere, Coordinate::Nexp] {
            let (with, without) = (histogram(coordinate, true), histogram(coordinate, false));
            let spread = |h: &[f64]| h.iter().fold(0.0_f64, |m, b| m.max((b - 1.0).abs()));
            // ε²/λ² at λ = 0.05…0.15: 1 % on average in the outer bins.
            assert!(spread(&with) < 0.02, "{coordinate:?} {with:?}");
            assert!(spread(&without) > 0.2, "{coordinate:?} {without:?}");
        }
        // For two ϑ a maximum at ½ is left.
        let left = histogram(Coordinate::NexpWeights, true);
        assert!(left[4] > 1.2 && left[0] < 1.0 && left.iter().all(|b| (0.6..1.8).contains(b)), "{left:?}");
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
