//! The linear coordinate of a site with two forms: λ itself, the weight of the deprotonated form.
//!
//!   weights (λ_0, λ_1) = (1 − λ, λ),   λ = 0 protonated, λ = 1 deprotonated
//!   dV/dλ = ∂V/∂λ_1 − ∂V/∂λ_0
//!
//! λ may leave [0, 1] a little: the weights are then slightly negative or above one, V stays linear in them, and the walls
//! of [`crate::bias::barrier`] bring λ back. The measure is flat in λ. Donnini et al. 2016, doi:10.1021/acs.jctc.5b01160.

/// Mass of λ in common use, u nm² (Donnini et al. 2016).
pub const MASS: f64 = 5.0;

/// Weights of the protonated and the deprotonated form.
pub fn weights(lambda: f64) -> [f64; 2] {
    [1.0 - lambda, lambda]
}

/// dV/dλ (kJ/mol) from the derivatives ∂V/∂λ_α with respect to the two weights.
pub fn derivative(by_weight: [f64; 2]) -> f64 {
    by_weight[1] - by_weight[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_also_outside() {
        assert_eq!(weights(0.0), [1.0, 0.0]);
        assert_eq!(weights(1.0), [0.0, 1.0]);
        assert_eq!(weights(-0.25), [1.25, -0.25]);
    }

    #[test]
    fn derivative_follows_from_the_weights() {
        // V = 3 λ_0² + 5 λ_1: a finite difference along λ, exact up to rounding for a quadratic function.
        let energy = |lambda: f64| {
            let [w0, w1] = weights(lambda);
            3.0 * w0 * w0 + 5.0 * w1
        };
        let lambda = 0.3;
        let [w0, _] = weights(lambda);
        let numerical = (energy(lambda + 1e-3) - energy(lambda - 1e-3)) / 2e-3;
        assert!((derivative([6.0 * w0, 5.0]) - numerical).abs() < 1e-11);
    }
}
