//! V_MM: minus the free energy of the force field along λ, measured for the model compound.
//!
//!   ⟨∂V/∂λ⟩_model = Σ_k c_k λ^k   ⇒   V_MM(λ) = −∫₀^λ Σ_k c_k t^k dt = −Σ_k c_k λ^{k+1}/(k+1)
//!
//! With it the model compound sees V_pH and the barrier alone, and a site in a protein the difference of its surroundings
//! from those of the model compound. Outside the range of the calibration windows the derivative keeps its value at the
//! edge, so that a polynomial does not run away where nothing was measured.
//!
//! Units: kJ/mol.

use thiserror::Error;

use super::Term;
use crate::library::Calibration;

/// Coefficients that make no correction.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum CorrectionError {
    /// No coefficients, or not numbers.
    #[error("V_MM coefficients {0:?}: expected at least one, all finite")]
    Coefficients(Vec<f64>),
    /// A range that is empty.
    #[error("V_MM range {0:?}: expected a lower and a higher finite λ")]
    Range([f64; 2]),
}

/// V_MM of one site.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCorrection {
    dvdl: Vec<f64>,
    range: [f64; 2],
}

impl ModelCorrection {
    /// From the coefficients c_k of ⟨∂V/∂λ⟩ (kJ/mol) and the range of λ where they hold.
    ///
    /// # Errors
    /// [`CorrectionError`] for no or infinite coefficients or an empty range.
    pub fn new(dvdl: &[f64], range: [f64; 2]) -> Result<Self, CorrectionError> {
        if dvdl.is_empty() || dvdl.iter().any(|c| !c.is_finite()) {
            return Err(CorrectionError::Coefficients(dvdl.to_vec()));
        }
        if !(range[0] < range[1] && range.iter().all(|r| r.is_finite())) {
            return Err(CorrectionError::Range(range));
        }
        Ok(Self { dvdl: dvdl.to_vec(), range })
    }

    /// From an entry of the library.
    ///
    /// # Errors
    /// As [`ModelCorrection::new`].
    pub fn from_calibration(calibration: &Calibration) -> Result<Self, CorrectionError> {
        Self::new(&calibration.dvdl, calibration.range)
    }

    /// Energy and derivative at `lambda`; the energy is 0 at λ = 0.
    pub fn evaluate(&self, lambda: f64) -> Term {
        let inside = lambda.clamp(self.range[0], self.range[1]);
        let slope = self.dvdl.iter().rev().fold(0.0, |sum, c| sum * inside + c);
        let derivative = -slope;
        Term { energy: -(self.integral(inside) - self.integral_at_zero()) + derivative * (lambda - inside), derivative }
    }

    /// Coefficients c_k, their range, and the integral that is taken off, so that the energy at λ = 0 is zero.
    pub(crate) fn parameters(&self) -> (&[f64], [f64; 2], f64) {
        (&self.dvdl, self.range, self.integral_at_zero())
    }

    fn integral(&self, lambda: f64) -> f64 {
        let terms = self.dvdl.iter().enumerate().rev();
        lambda * terms.fold(0.0, |sum, (k, c)| sum * lambda + c / (k as f64 + 1.0))
    }

    /// Zero, unless the range leaves λ = 0 out: then the integral continued to λ = 0 with the slope at the edge.
    fn integral_at_zero(&self) -> f64 {
        let inside = 0.0_f64.clamp(self.range[0], self.range[1]);
        let slope = self.dvdl.iter().rev().fold(0.0, |sum, c| sum * inside + c);
        self.integral(inside) - slope * inside
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bias::assert_derivative;

    #[test]
    fn energy_is_minus_the_integral() {
        // ⟨∂V/∂λ⟩ = 6 − 12 λ + 12 λ²: integral to 1 is 6 − 6 + 4 = 4.
        let v = ModelCorrection::new(&[6.0, -12.0, 12.0], [-0.1, 1.1]).unwrap();
        assert_eq!(v.evaluate(0.0).energy, 0.0);
        assert!((v.evaluate(1.0).energy + 4.0).abs() < 1e-14);
        assert!((v.evaluate(0.5).derivative + 3.0).abs() < 1e-14);
    }

    #[test]
    fn derivatives_are_right_inside_and_outside_the_range() {
        for range in [[-0.1, 1.1], [0.2, 0.9]] {
            let v = ModelCorrection::new(&[-300.0, 500.0, 40.0, -25.0, 3.0], range).unwrap();
            // Rounding: 1e-16 · 500 kJ/mol / 1e-5; at the edges V'' jumps: h V''/2 ≤ 3e-3.
            assert_derivative(|l| v.evaluate(l), [-0.55, 1.55], 5e-3);
            assert_eq!(v.evaluate(1.3).derivative, v.evaluate(range[1]).derivative);
            assert!(v.evaluate(0.0).energy.abs() < 1e-12);
        }
    }

    #[test]
    fn bad_coefficients_are_refused() {
        assert!(ModelCorrection::new(&[], [-0.1, 1.1]).is_err());
        assert!(ModelCorrection::new(&[1.0, f64::NAN], [-0.1, 1.1]).is_err());
        assert!(ModelCorrection::new(&[1.0], [1.1, -0.1]).is_err());
        assert!(ModelCorrection::new(&[1.0], [f64::NAN, 1.0]).is_err());
    }
}
