//! The constraint on the total charge changes probabilities; the potential ½ RT ln Z takes that back.
//!
//! Motion kept at Q(ξ) = const visits it with e^{−V/RT} √Z, Z = ∇Q·m⁻¹∇Q along the directions that each site's own constraint leaves, in place of
//! e^{−V/RT} δ(Q − const): where Q changes fast with ξ it stays longer. The potential ½ RT ln Z takes the factor back (Fixman 1974,
//! doi:10.1073/pnas.71.8.3050), so that weights are distributed as without the constraint. Without it, a site of charge 1 beside a buffer of three
//! molecules is 5 % (hypersphere) and 36 % (Nexp) more often between its forms than at them.
//!
//! m Z of one site, with charges q, weights λ, q̄ = Σ λ q (c of Nexp):
//!
//!   linear        (q₁ − q₀)², or Σ (q_α − mean)²: constant
//!   circle        (q₁ − q₀)² sin² 2θ
//!   sphere        4 (Σ x_α² q_α² − q̄²)
//!   Nexp          (2c cos ϑ λ₀ λ₁ (q₁ − q₀))²
//!   Nexp weights  Σ (c cos ϑ_α λ_α (q_α − q̄))²

use forcefield::units::GAS_CONSTANT;

use super::sites::MovingSites;
use crate::coordinate::{Coordinate, NEXP_STEEPNESS};

/// m Z of one site; its derivatives by ξ go to `out`.
fn of_site(coordinate: Coordinate, xi: &[f64], weights: &[f64], charges: &[f64], out: &mut [f64]) -> f64 {
    const C: f64 = NEXP_STEEPNESS;
    out.fill(0.0);
    let step = charges[charges.len() - 1] - charges[0];
    let mean: f64 = weights.iter().zip(charges).map(|(w, q)| w * q).sum();
    match coordinate {
        Coordinate::Fixed => 0.0,
        Coordinate::Linear => step * step,
        Coordinate::LinearWeights => {
            let mean = charges.iter().sum::<f64>() / charges.len() as f64;
            charges.iter().map(|q| (q - mean) * (q - mean)).sum()
        }
        Coordinate::Circle => {
            let (sine, cosine) = (2.0 * xi[0]).sin_cos();
            out[0] = 4.0 * step * step * sine * cosine;
            step * step * sine * sine
        }
        Coordinate::Sphere => {
            for ((out, x), q) in out.iter_mut().zip(xi).zip(charges) {
                *out = 8.0 * x * q * (q - 2.0 * mean);
            }
            4.0 * (weights.iter().zip(charges).map(|(w, q)| w * q * q).sum::<f64>() - mean * mean)
        }
        Coordinate::Nexp => {
            let (sine, cosine) = xi[0].sin_cos();
            let gradient = 2.0 * C * weights[0] * weights[1] * step;
            out[0] =
                2.0 * gradient * gradient * cosine * (2.0 * C * cosine * cosine * (weights[0] - weights[1]) - sine);
            gradient * gradient * cosine * cosine
        }
        Coordinate::NexpWeights => {
            let slope = |k: usize| C * xi[k].cos();
            let gradient = |k: usize| slope(k) * weights[k] * (charges[k] - mean);
            let n = weights.len();
            let square: f64 = (0..n).map(|k| gradient(k) * gradient(k)).sum();
            let shift: f64 = (0..n).map(|k| gradient(k) * slope(k) * weights[k]).sum();
            for (k, out) in out.iter_mut().enumerate() {
                let g = gradient(k);
                let own = C * xi[k].sin() * weights[k] * (charges[k] - mean);
                *out = 2.0 * (slope(k) * (g * g - weights[k] * square) - g * (own + shift));
            }
            square
        }
    }
}

/// Whether Z changes with ξ.
pub(super) fn is_variable(sites: &MovingSites) -> bool {
    let constant = |c: Coordinate| matches!(c, Coordinate::Fixed | Coordinate::Linear | Coordinate::LinearWeights);
    !sites.sites.iter().all(|site| constant(site.coordinate))
}

/// ½ RT ln Z (kJ/mol) at ξ and `temperature` (K); its derivatives are added to `slopes`. Zero where Z vanishes.
pub(super) fn add(sites: &MovingSites, temperature: f64, coordinates: &[f64], slopes: &mut [f64]) -> f64 {
    let weights = sites.weights_at(coordinates);
    let mut derivatives = vec![0.0; coordinates.len()];
    let mut z = 0.0;
    for ((site, at), weights) in sites.with_coordinates().zip(weights.sites()) {
        let xi = &coordinates[at.clone()];
        z += of_site(site.coordinate, xi, weights, &site.charges, &mut derivatives[at]) / site.mass;
    }
    if z <= 0.0 {
        return 0.0;
    }
    let half = 0.5 * GAS_CONSTANT * temperature;
    for ((derivative, mass), slope) in sites.masses(&mut derivatives).zip(slopes) {
        *slope += half / z * *derivative / mass;
    }
    half * z.ln()
}

#[cfg(test)]
mod tests {
    use super::super::constraints::square_of_gradient;
    use super::*;
    use crate::coordinate::MASS;
    use crate::motion::SiteMotion;

    #[test]
    fn the_metric_is_the_square_of_the_gradient_and_its_derivatives_are_right() {
        for (coordinate, charges) in [
            (Coordinate::LinearWeights, vec![1.0, 0.0, -0.5]),
            (Coordinate::Circle, vec![0.0, -1.0]),
            (Coordinate::Sphere, vec![1.0, 0.0]),
            (Coordinate::Sphere, vec![1.0, 0.0, -1.5]),
            (Coordinate::Nexp, vec![0.0, -1.0]),
            (Coordinate::NexpWeights, vec![0.0, -1.0]),
            (Coordinate::NexpWeights, vec![0.0, -1.0, -2.0]),
        ] {
            let n = charges.len();
            let site = SiteMotion { coordinate, n_forms: n, mass: MASS, charges };
            let buffer = SiteMotion { coordinate: Coordinate::Linear, n_forms: 2, mass: 7.0, charges: vec![-1.5, 1.5] };
            let sites = MovingSites::new(vec![site, buffer]).unwrap();
            let metric = |xi: &[f64], slopes: &mut [f64]| {
                if is_variable(&sites) { add(&sites, 300.0, xi, slopes) } else { 0.0 }
            };
            let mut xi = vec![0.0; coordinate.dimension(n) + 1];
            let last = xi.len() - 1;
            coordinate.at_weights(
                &[0.15, 0.6, 0.25][..n].iter().map(|w| w / [0.75, 1.0][n - 2]).collect::<Vec<_>>(),
                &mut xi[..last],
            );
            xi[last] = 0.4;
            let mut slopes = vec![0.0; xi.len()];
            let energy = metric(&xi, &mut slopes);
            let half = 0.5 * GAS_CONSTANT * 300.0;
            if is_variable(&sites) {
                assert!((energy - half * square_of_gradient(&sites, &xi).ln()).abs() < 1e-12, "{coordinate:?}");
            }
            assert_eq!(slopes[last], 0.0);
            for k in 0..last {
                let at = |h: f64| {
                    let mut moved = xi.clone();
                    moved[k] += h;
                    metric(&moved, &mut vec![0.0; moved.len()])
                };
                let numerical = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((slopes[k] - numerical).abs() < 1e-6, "{coordinate:?} {k}: {} {numerical}", slopes[k]);
            }
        }
    }
}
