//! V_MM: minus the free energy of the force field over the weights of the forms, measured for the model compound.
//!
//!   V_MM(λ) = −F(λ),   F in the basis of [`super::simplex`], coefficients from a calibration
//!
//! With it the model compound sees V_pH and the barrier alone, and a site in a protein the difference of its surroundings
//! from those of the model compound. Windows reach from λ = −0.06 to 1.06 by default (those of older entries from −0.1 to 1.1), and walls keep λ from going
//! far beyond.
//!
//! Units: kJ/mol.

use thiserror::Error;

use super::simplex::SimplexBasis;

/// Coefficients that do not fit the basis.
#[derive(Clone, Debug, Error, PartialEq)]
#[error(
    "V_MM of {n_forms} forms, degree {degree} and {interior} inside: found {found} coefficients, expected {expected}, all finite"
)]
pub struct CorrectionError {
    /// Forms of the site.
    pub n_forms: usize,
    /// Degree along an edge.
    pub degree: usize,
    /// Interior degree.
    pub interior: usize,
    /// Coefficients given.
    pub found: usize,
    /// Coefficients needed.
    pub expected: usize,
}

/// V_MM of one site.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelCorrection {
    basis: SimplexBasis,
    coefficients: Vec<f64>,
}

impl ModelCorrection {
    /// V_MM = −F with these coefficients (kJ/mol) of F.
    ///
    /// # Errors
    /// [`CorrectionError`] for a wrong number of coefficients, or one that is not finite.
    pub fn new(basis: SimplexBasis, coefficients: &[f64]) -> Result<Self, CorrectionError> {
        let (found, expected) = (coefficients.len(), basis.len());
        if found != expected || coefficients.iter().any(|c| !c.is_finite()) {
            let (n_forms, degree, interior) = (basis.n_forms(), basis.degree(), basis.interior());
            return Err(CorrectionError { n_forms, degree, interior, found, expected });
        }
        Ok(Self { basis, coefficients: coefficients.to_vec() })
    }

    /// V_MM multiplied by `factor`: that of a buffer of so many molecules, which do not feel each other.
    #[must_use]
    pub fn times(mut self, factor: f64) -> Self {
        self.coefficients.iter_mut().for_each(|c| *c *= factor);
        self
    }

    /// With the free energy of each form higher by `offsets` (kJ/mol), linearly in the weights; that of form 0 is what the others are measured against.
    #[must_use]
    pub fn with_offsets(mut self, offsets: &[f64]) -> Self {
        debug_assert_eq!(offsets.len(), self.basis.n_forms());
        for (coefficient, offset) in self.coefficients.iter_mut().zip(&offsets[1..]) {
            *coefficient += offset - offsets[0];
        }
        self
    }

    /// F of each form, kJ/mol; that of form 0 is zero.
    pub fn free_energies(&self) -> Vec<f64> {
        let others = &self.coefficients[..self.basis.n_forms() - 1];
        std::iter::once(0.0).chain(others.iter().copied()).collect()
    }

    /// Energy at `weights`, zero at form 0; its derivatives are added to `by_weight`.
    pub fn evaluate(&self, weights: &[f64], by_weight: &mut [f64]) -> f64 {
        -self.basis.evaluate(&self.coefficients, weights, -1.0, by_weight)
    }

    /// The basis.
    pub fn basis(&self) -> SimplexBasis {
        self.basis
    }

    /// Coefficients of F, kJ/mol.
    pub fn coefficients(&self) -> &[f64] {
        &self.coefficients
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energy_is_minus_the_free_energy() {
        let v = ModelCorrection::new(SimplexBasis::new(2, 2), &[4.0, -3.0]).unwrap();
        let mut slopes = [0.0; 2];
        assert_eq!(v.evaluate(&[1.0, 0.0], &mut [0.0; 2]), 0.0);
        assert_eq!(v.evaluate(&[0.0, 1.0], &mut [0.0; 2]), -4.0);
        assert_eq!(v.evaluate(&[0.5, 0.5], &mut slopes), -2.0 + 0.75);
        // dF/dλ at ½ is 4.
        assert_eq!(slopes[1] - slopes[0], -4.0);
        assert_eq!(v.free_energies(), [0.0, 4.0]);
        assert_eq!(v.times(3.0).evaluate(&[0.0, 1.0], &mut slopes), -12.0);
    }

    /// An offset is linear in the weights and nothing else changes, whatever the number of forms and the degree.
    #[test]
    fn offsets_are_linear_in_the_weights() {
        for (basis, offsets) in [
            (SimplexBasis::new(2, 1), vec![0.0, 5.0]),
            (SimplexBasis::new(3, 4).with_interior(1), vec![1.0, 1.0, -7.5]),
            (SimplexBasis::new(3, 8).with_interior(2), vec![0.0, 2.5, 4.0]),
        ] {
            let coefficients: Vec<f64> = (0..basis.len()).map(|k| (1.7 * k as f64).sin()).collect();
            let plain = ModelCorrection::new(basis, &coefficients).unwrap();
            let shifted = plain.clone().with_offsets(&offsets);
            let weights = &[0.2, 0.5, 0.3][3 - basis.n_forms()..];
            let total: f64 = weights.iter().sum();
            let weights: Vec<f64> = weights.iter().map(|w| w / total).collect();
            let mut slopes = [vec![0.0; basis.n_forms()], vec![0.0; basis.n_forms()]];
            let [before, after] = &mut slopes;
            let difference = shifted.evaluate(&weights, after) - plain.evaluate(&weights, before);
            let expected: f64 = -weights.iter().zip(&offsets).map(|(w, o)| w * (o - offsets[0])).sum::<f64>();
            assert!((difference - expected).abs() < 1e-12, "{difference} and {expected}");
            for form in 1..basis.n_forms() {
                let steeper = |slopes: &[f64]| slopes[form] - slopes[0];
                assert!((steeper(after) - steeper(before) + offsets[form] - offsets[0]).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn bad_coefficients_are_refused() {
        assert!(ModelCorrection::new(SimplexBasis::new(2, 2), &[1.0]).is_err());
        assert!(ModelCorrection::new(SimplexBasis::new(3, 2), &[1.0, 2.0, 3.0, 4.0, f64::NAN]).is_err());
    }
}
