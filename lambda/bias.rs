//! The bias on λ of one site: V_bias = V_barrier + walls + V_pH + V_MM.
//!
//! Each part is a plain function of λ that returns a [`Term`]. Only V_pH knows the pH, only V_MM knows the force field.

pub mod barrier;
pub mod correction;
pub mod ph;

pub use barrier::Barrier;
pub use correction::ModelCorrection;
pub use ph::PhPotential;

/// An energy (kJ/mol) and its derivative with respect to λ (kJ/mol).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Term {
    /// Energy, kJ/mol.
    pub energy: f64,
    /// dV/dλ, kJ/mol.
    pub derivative: f64,
}

impl std::ops::Add for Term {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { energy: self.energy + other.energy, derivative: self.derivative + other.derivative }
    }
}

/// All bias terms of one site.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteBias {
    /// Barrier and walls.
    pub barrier: Barrier,
    /// V_pH; absent in a calibration.
    pub ph: Option<PhPotential>,
    /// V_MM; absent in a calibration.
    pub correction: Option<ModelCorrection>,
}

/// The bias terms of one site at one λ.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BiasTerms {
    /// Double well between the walls.
    pub barrier: Term,
    /// Walls.
    pub walls: Term,
    /// pH.
    pub ph: Term,
    /// Correction V_MM.
    pub correction: Term,
}

impl BiasTerms {
    /// Sum of the terms.
    pub fn total(&self) -> Term {
        self.barrier + self.walls + self.ph + self.correction
    }
}

impl SiteBias {
    /// Every term at `lambda`.
    pub fn evaluate(&self, lambda: f64) -> BiasTerms {
        BiasTerms {
            barrier: self.barrier.wells(lambda),
            walls: barrier::walls(lambda),
            ph: self.ph.map_or(Term::default(), |ph| ph.evaluate(lambda)),
            correction: self.correction.as_ref().map_or(Term::default(), |c| c.evaluate(lambda)),
        }
    }
}

#[cfg(test)]
pub(crate) fn assert_derivative(evaluate: impl Fn(f64) -> Term, range: [f64; 2], tolerance: f64) {
    let h = 1e-5;
    for k in 0..=400 {
        let lambda = range[0] + (range[1] - range[0]) * f64::from(k) / 400.0;
        let numerical = (evaluate(lambda + h).energy - evaluate(lambda - h).energy) / (2.0 * h);
        let ours = evaluate(lambda).derivative;
        assert!((ours - numerical).abs() <= tolerance, "λ = {lambda}: {ours} and {numerical}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_add_up_and_the_total_derivative_is_right() {
        let bias = SiteBias {
            barrier: Barrier::solve(5.0).unwrap(),
            ph: Some(PhPotential::linear(4.25, 3.0, 300.0).unwrap()),
            correction: Some(ModelCorrection::new(&[10.0, -30.0, 5.0], [-0.1, 1.1]).unwrap()),
        };
        let terms = bias.evaluate(0.3);
        let sum = terms.barrier.energy + terms.walls.energy + terms.ph.energy + terms.correction.energy;
        assert!((terms.total().energy - sum).abs() < 1e-13);
        // Truncation h²/6 V''' with V''' up to 5e5 near the walls: 1e-5.
        assert_derivative(|l| bias.evaluate(l).total(), [-0.1, 1.1], 1e-4);
        let bare = SiteBias { ph: None, correction: None, ..bias };
        let term = bare.evaluate(0.3);
        assert_eq!(term.total(), term.barrier + term.walls);
    }
}
