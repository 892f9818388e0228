//! The maximum of a concave function by Newton's method with halved steps.
//!
//!   θ ← θ + 2⁻ᵏ s,   s = H⁻¹ ∇f with H = −∇∇f,   the smallest k = 0, 1, … for which f does not fall
//!
//! f may fall by 1e-13 of itself, which is rounding. Steps that change nothing any more end the ascent, and so does a step of which even
//! 1e-10 is too long: rounding is all that is left then.

/// Newton steps before giving up; ten are usual.
const STEPS: usize = 500;
/// Part of a step below which it is not halved again.
const SHORTEST: f64 = 1e-10;
/// Rounding of the function, as a part of it.
const ROUNDING: f64 = 1e-13;

/// A concave function of a few parameters.
pub(super) trait Concave {
    /// The function at one point, with its derivatives.
    type Point;

    /// Function and derivatives at `parameters`.
    fn at(&self, parameters: &[f64]) -> Self::Point;

    /// The function at a point.
    fn value(point: &Self::Point) -> f64;

    /// Newton's step from a point, cut to the longest that is sensible; `None` where the curvature is not positive definite.
    fn step(&self, point: &Self::Point) -> Option<Vec<f64>>;

    /// Whether a step from `parameters` changes nothing that counts.
    fn is_negligible(step: &[f64], parameters: &[f64]) -> bool;
}

/// Where a function has its maximum.
pub(super) struct Maximum<P> {
    /// The parameters there.
    pub parameters: Vec<f64>,
    /// Function and derivatives there.
    pub point: P,
}

/// The maximum of `function`, from `start` on; `None` if it is not found.
pub(super) fn maximise<F: Concave>(function: &F, start: Vec<f64>) -> Option<Maximum<F::Point>> {
    let (mut parameters, mut point) = (start.clone(), function.at(&start));
    for _ in 0..STEPS {
        let step = function.step(&point)?;
        if F::is_negligible(&step, &parameters) {
            return Some(Maximum { parameters, point });
        }
        let mut part = 1.0;
        loop {
            let next: Vec<f64> = parameters.iter().zip(&step).map(|(at, step)| at + part * step).collect();
            let there = function.at(&next);
            let value = F::value(&point);
            if F::value(&there) >= value - ROUNDING * value.abs() {
                (parameters, point) = (next, there);
                break;
            }
            part *= 0.5;
            if part < SHORTEST {
                return Some(Maximum { parameters, point });
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// −ln cosh(x − 3): from far away Newton's step is much too long.
    struct Flat;

    impl Concave for Flat {
        type Point = [f64; 3];

        fn at(&self, x: &[f64]) -> [f64; 3] {
            let tanh = (x[0] - 3.0).tanh();
            [-(x[0] - 3.0).cosh().ln(), -tanh, 1.0 - tanh * tanh]
        }

        fn value(point: &[f64; 3]) -> f64 {
            point[0]
        }

        fn step(&self, [_, gradient, curvature]: &[f64; 3]) -> Option<Vec<f64>> {
            (*curvature > 0.0).then(|| vec![gradient / curvature])
        }

        fn is_negligible(step: &[f64], _: &[f64]) -> bool {
            step[0].abs() < 1e-11
        }
    }

    #[test]
    fn long_steps_are_halved_and_no_curvature_is_no_maximum() {
        for start in [-2.0, 2.9, 3.0, 8.0] {
            assert!((maximise(&Flat, vec![start]).unwrap().parameters[0] - 3.0).abs() < 1e-9, "{start}");
        }
        assert!(maximise(&Flat, vec![300.0]).is_none());
    }
}
