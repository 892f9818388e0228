//! Coordinates ξ that carry the weights λ_α of a site's n forms, Σ λ_α = 1.
//!
//! | variant | coordinates | ξ | weights | dV/dξ, D_α = ∂V/∂λ_α |
//! |---|---|---|---|---|
//! | linear | transition, n = 2 | λ | λ_1 = λ, λ_0 = 1 − λ | D_1 − D_0 |
//! | linear | weight | λ_α with Σ λ_α = 1 | λ_α | D_α |
//! | hypersphere | transition, n = 2 | θ | λ_1 = sin²θ, λ_0 = cos²θ | sin 2θ (D_1 − D_0) |
//! | hypersphere | weight | x with Σ x_α² = 1 | λ_α = x_α² | 2 x_α D_α |
//! | Nexp | transition, n = 2 | ϑ | λ_1 = 1/(1 + e^{−2c sin ϑ}) | 2c cos ϑ λ_0 λ_1 (D_1 − D_0) |
//! | Nexp | weight | ϑ_α | λ_α = e^{c sin ϑ_α} / Σ_β e^{c sin ϑ_β} | c cos ϑ_α λ_α (D_α − Σ_β λ_β D_β) |
//!
//! c = 5.5. Linear weights may leave [0, 1] a little: V stays linear in them, and walls bring them back ([`crate::bias::barrier`]).
//! Constraints (Σ λ_α = 1, Σ x_α² = 1) are kept by [`crate::motion`]. Donnini et al. 2011, doi:10.1021/ct200061r (circle); Donnini et
//! al. 2016, doi:10.1021/acs.jctc.5b01160 (linear); Knight & Brooks 2011, doi:10.1021/ct200444f (Nexp).

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The constant c of Nexp.
pub const NEXP_STEEPNESS: f64 = 5.5;

/// Mass of a coordinate in common use, u nm² (Donnini et al. 2016).
pub const MASS: f64 = 5.0;

/// Largest |sin ϑ| at a start: at 1 no force would act.
const LARGEST_SINE: f64 = 0.99;

/// How weights follow from the coordinates that move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// The coordinates are the weights.
    #[default]
    Linear,
    /// The weights are squares of the coordinates of a point on a sphere.
    Hypersphere,
    /// The weights are normalised exponentials.
    Nexp,
}

/// How many coordinates a site has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoordinateCount {
    /// One, between two forms.
    Transition,
    /// One for each form.
    Weight,
}

/// The coordinate of one site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Coordinate {
    /// The weights are given and nothing moves.
    Fixed,
    /// λ between two forms.
    Linear,
    /// Weights whose sum is kept.
    LinearWeights,
    /// Angle between two forms.
    Circle,
    /// Point on the unit sphere.
    Sphere,
    /// ϑ between two forms.
    Nexp,
    /// ϑ of each form.
    NexpWeights,
}

/// A number of coordinates that does not fit the forms.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error(
    "{forms} forms and one coordinate between two of them: sites of more than two forms have one coordinate for each"
)]
pub struct CoordinateError {
    /// Forms of the site.
    pub forms: usize,
}

/// What keeps the weights of a site on the simplex.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LocalConstraint {
    None,
    Sum,
    Norm,
}

impl Coordinate {
    /// The coordinate of a site with `n_forms` forms. Without `count`: one for two forms, one for each of more.
    ///
    /// # Errors
    /// [`CoordinateError`] for a transition between more than two forms.
    pub fn new(variant: Variant, count: Option<CoordinateCount>, n_forms: usize) -> Result<Self, CoordinateError> {
        let count = count.unwrap_or(if n_forms == 2 { CoordinateCount::Transition } else { CoordinateCount::Weight });
        if count == CoordinateCount::Transition && n_forms != 2 {
            return Err(CoordinateError { forms: n_forms });
        }
        Ok(match (variant, count) {
            (Variant::Linear, CoordinateCount::Transition) => Self::Linear,
            (Variant::Linear, CoordinateCount::Weight) => Self::LinearWeights,
            (Variant::Hypersphere, CoordinateCount::Transition) => Self::Circle,
            (Variant::Hypersphere, CoordinateCount::Weight) => Self::Sphere,
            (Variant::Nexp, CoordinateCount::Transition) => Self::Nexp,
            (Variant::Nexp, CoordinateCount::Weight) => Self::NexpWeights,
        })
    }

    /// How many numbers ξ has.
    pub fn dimension(self, n_forms: usize) -> usize {
        if matches!(self, Self::Linear | Self::Circle | Self::Nexp) { 1 } else { n_forms }
    }

    /// Whether a site can have so many forms: two where ξ lies between them, two or more where each has a number of its own, any where nothing moves.
    pub fn fits(self, n_forms: usize) -> bool {
        match self {
            Self::Fixed => n_forms >= 1,
            Self::Linear | Self::Circle | Self::Nexp => n_forms == 2,
            Self::LinearWeights | Self::Sphere | Self::NexpWeights => n_forms >= 2,
        }
    }

    /// In how many directions ξ can move.
    pub fn degrees_of_freedom(self, n_forms: usize) -> usize {
        match self {
            Self::Fixed => 0,
            _ => self.dimension(n_forms) - usize::from(self.constraint() != LocalConstraint::None),
        }
    }

    /// Whether weights may lie outside [0, 1], where walls are needed.
    pub fn needs_walls(self) -> bool {
        matches!(self, Self::Linear | Self::LinearWeights)
    }

    pub(crate) fn constraint(self) -> LocalConstraint {
        match self {
            Self::LinearWeights => LocalConstraint::Sum,
            Self::Sphere => LocalConstraint::Norm,
            _ => LocalConstraint::None,
        }
    }

    /// Weights at `xi` (one for each form) into `weights`.
    pub fn weights(self, xi: &[f64], weights: &mut [f64]) {
        match self {
            Self::Fixed | Self::LinearWeights => weights.copy_from_slice(xi),
            Self::Linear => weights.copy_from_slice(&[1.0 - xi[0], xi[0]]),
            Self::Circle => {
                let (sine, cosine) = xi[0].sin_cos();
                weights.copy_from_slice(&[cosine * cosine, sine * sine]);
            }
            Self::Sphere => weights.iter_mut().zip(xi).for_each(|(w, x)| *w = x * x),
            Self::Nexp => {
                let u = 2.0 * NEXP_STEEPNESS * xi[0].sin();
                weights.copy_from_slice(&[1.0 / (1.0 + u.exp()), 1.0 / (1.0 + (-u).exp())]);
            }
            Self::NexpWeights => {
                weights.iter_mut().zip(xi).for_each(|(w, x)| *w = (NEXP_STEEPNESS * x.sin()).exp());
                let sum: f64 = weights.iter().sum();
                weights.iter_mut().for_each(|w| *w /= sum);
            }
        }
    }

    /// dV/dξ at `xi` from D_α = ∂V/∂λ_α, with the weights there; constraints are left out.
    pub fn derivative(self, xi: &[f64], weights: &[f64], by_weight: &[f64], out: &mut [f64]) {
        match self {
            Self::Fixed => out.fill(0.0),
            Self::LinearWeights => out.copy_from_slice(by_weight),
            Self::Linear => out[0] = by_weight[1] - by_weight[0],
            Self::Circle => out[0] = (2.0 * xi[0]).sin() * (by_weight[1] - by_weight[0]),
            Self::Sphere => {
                for ((out, x), d) in out.iter_mut().zip(xi).zip(by_weight) {
                    *out = 2.0 * x * d;
                }
            }
            Self::Nexp => {
                let slope = 2.0 * NEXP_STEEPNESS * xi[0].cos() * weights[0] * weights[1];
                out[0] = slope * (by_weight[1] - by_weight[0]);
            }
            Self::NexpWeights => {
                let mean: f64 = weights.iter().zip(by_weight).map(|(w, d)| w * d).sum();
                for (k, out) in out.iter_mut().enumerate() {
                    *out = NEXP_STEEPNESS * xi[k].cos() * weights[k] * (by_weight[k] - mean);
                }
            }
        }
    }

    /// A ξ that has these weights, or the nearest that the variant can have.
    pub fn at_weights(self, weights: &[f64], xi: &mut [f64]) {
        match self {
            Self::Fixed | Self::LinearWeights => xi.copy_from_slice(weights),
            Self::Linear => xi[0] = weights[1],
            Self::Circle => xi[0] = weights[1].max(0.0).sqrt().atan2(weights[0].max(0.0).sqrt()),
            Self::Sphere => {
                let sum: f64 = weights.iter().map(|w| w.max(0.0)).sum();
                xi.iter_mut().zip(weights).for_each(|(x, w)| *x = (w.max(0.0) / sum).sqrt());
            }
            Self::Nexp => {
                let u = logarithm(weights[1]) - logarithm(weights[0]);
                xi[0] = angle(u / (2.0 * NEXP_STEEPNESS));
            }
            Self::NexpWeights => {
                let least = weights.iter().fold(f64::INFINITY, |m, w| m.min(logarithm(*w)));
                let most = weights.iter().fold(f64::NEG_INFINITY, |m, w| m.max(logarithm(*w)));
                let middle = 0.5 * (least.max(most - 2.0 * NEXP_STEEPNESS * LARGEST_SINE) + most);
                xi.iter_mut().zip(weights).for_each(|(x, w)| *x = angle((logarithm(*w) - middle) / NEXP_STEEPNESS));
            }
        }
    }
}

/// ln of a weight; it is finite for a weight of zero too.
fn logarithm(weight: f64) -> f64 {
    weight.max(1e-300).ln()
}

fn angle(sine: f64) -> f64 {
    sine.clamp(-LARGEST_SINE, LARGEST_SINE).asin()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(Coordinate, usize); 9] = [
        (Coordinate::Linear, 2),
        (Coordinate::LinearWeights, 2),
        (Coordinate::LinearWeights, 3),
        (Coordinate::Circle, 2),
        (Coordinate::Sphere, 2),
        (Coordinate::Sphere, 4),
        (Coordinate::Nexp, 2),
        (Coordinate::NexpWeights, 2),
        (Coordinate::NexpWeights, 3),
    ];

    fn energy(w: &[f64]) -> f64 {
        w.iter().enumerate().map(|(k, w)| (3.0 + k as f64) * w * w - 7.0 * (k * k) as f64 * w).sum::<f64>()
            + 5.0 * w[0] * w[1]
    }

    fn gradient(w: &[f64]) -> Vec<f64> {
        let mut g: Vec<f64> =
            w.iter().enumerate().map(|(k, w)| 2.0 * (3.0 + k as f64) * w - 7.0 * (k * k) as f64).collect();
        g[0] += 5.0 * w[1];
        g[1] += 5.0 * w[0];
        g
    }

    #[test]
    fn derivatives_are_those_of_the_energy_and_weights_sum_to_one() {
        for (coordinate, n) in ALL {
            let start: Vec<f64> = (0..n).map(|k| [0.5, 0.3, 0.15, 0.05][k]).collect();
            let sum: f64 = start.iter().sum();
            let start: Vec<f64> = start.iter().map(|w| w / sum).collect();
            let mut xi = vec![0.0; coordinate.dimension(n)];
            coordinate.at_weights(&start, &mut xi);
            let mut w = vec![0.0; n];
            coordinate.weights(&xi, &mut w);
            assert!(w.iter().zip(&start).all(|(a, b)| (a - b).abs() < 1e-14), "{coordinate:?} {w:?} {start:?}");
            assert!((w.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let mut ours = vec![0.0; xi.len()];
            coordinate.derivative(&xi, &w, &gradient(&w), &mut ours);
            for k in 0..xi.len() {
                let h = 1e-5;
                let mut at = |shift: f64| {
                    let mut moved = xi.clone();
                    moved[k] += shift;
                    coordinate.weights(&moved, &mut w);
                    energy(&w)
                };
                let numerical = (at(h) - at(-h)) / (2.0 * h);
                // Truncation h² V'''/6 with V''' ≤ 1e4 (Nexp): 2e-7.
                assert!((ours[k] - numerical).abs() < 1e-6, "{coordinate:?} {k}: {} {numerical}", ours[k]);
            }
        }
    }

    #[test]
    fn vertices_are_reached_as_far_as_the_variant_can() {
        for (coordinate, n) in ALL {
            let vertex: Vec<f64> = (0..n).map(|k| f64::from(u8::from(k == 1))).collect();
            let (mut xi, mut w) = (vec![0.0; coordinate.dimension(n)], vec![0.0; n]);
            coordinate.at_weights(&vertex, &mut xi);
            coordinate.weights(&xi, &mut w);
            // e^{−2c·0.99} = 1.9e-5 for each of the other forms of Nexp.
            let least =
                if matches!(coordinate, Coordinate::Nexp | Coordinate::NexpWeights) { 1.0 - 6e-5 } else { 1.0 - 1e-15 };
            assert!(w[1] >= least, "{coordinate:?} {w:?}");
        }
    }

    #[test]
    fn linear_weights_may_leave_the_unit_interval() {
        let mut w = [0.0; 2];
        Coordinate::Linear.weights(&[-0.25], &mut w);
        assert_eq!(w, [1.25, -0.25]);
    }

    #[test]
    fn counts_fit_the_forms() {
        assert_eq!(Coordinate::new(Variant::Linear, None, 2), Ok(Coordinate::Linear));
        assert_eq!(Coordinate::new(Variant::Nexp, None, 3), Ok(Coordinate::NexpWeights));
        let error = Coordinate::new(Variant::Hypersphere, Some(CoordinateCount::Transition), 3).unwrap_err();
        assert_eq!(error, CoordinateError { forms: 3 });
        assert_eq!(Coordinate::Sphere.degrees_of_freedom(4), 3);
        assert_eq!(Coordinate::NexpWeights.degrees_of_freedom(3), 3);
        assert_eq!(Coordinate::Fixed.degrees_of_freedom(3), 0);
    }
}
