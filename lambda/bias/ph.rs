//! The chemical potential of the protons as a potential of λ.
//!
//!   linear    V = λ RT ln10 (pKa − pH)
//!   smoothed  V = RT ln10 (pKa − pH) / (1 + e^{−5r(λ−λ_s)}),  λ_s = 2a if pKa > pH, else 1 − 2a,  r = 13.5
//!
//! Deprotonated (λ = 1) is favoured where pH > pKa. In the smoothed form the wells stay where they are, since the step
//! lies beside the well that is left uphill (Aho et al. 2022, doi:10.1021/acs.jctc.2c00516); a is the width of the wells.
//!
//! Units: kJ/mol, K.

use forcefield::units::GAS_CONSTANT;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::barrier::WALL_STEEPNESS;
use super::{Barrier, Term};

/// Input that makes no potential.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
#[error("pH {ph}, pKa {pka}, temperature {temperature} K: expected finite numbers and a temperature above 0 K")]
pub struct PhError {
    /// pH.
    pub ph: f64,
    /// pKa.
    pub pka: f64,
    /// Temperature, K.
    pub temperature: f64,
}

/// V_pH of one site.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhPotential {
    /// RT ln10 (pKa − pH), kJ/mol.
    free_energy: f64,
    /// Position of the smoothed step; absent for the linear potential.
    step: Option<f64>,
}

impl PhPotential {
    /// Linear in λ.
    ///
    /// # Errors
    /// [`PhError`] for numbers that are not finite or a temperature that is not positive.
    pub fn linear(pka: f64, ph: f64, temperature: f64) -> Result<Self, PhError> {
        let valid = pka.is_finite() && ph.is_finite() && temperature.is_finite() && temperature > 0.0;
        if !valid {
            return Err(PhError { ph, pka, temperature });
        }
        let free_energy = GAS_CONSTANT * temperature * std::f64::consts::LN_10 * (pka - ph);
        Ok(Self { free_energy, step: None })
    }

    /// Smoothed step beside a well of `barrier`.
    ///
    /// # Errors
    /// As [`PhPotential::linear`].
    pub fn smoothed(pka: f64, ph: f64, temperature: f64, barrier: &Barrier) -> Result<Self, PhError> {
        let linear = Self::linear(pka, ph, temperature)?;
        let step = if pka > ph { 2.0 * barrier.a } else { 1.0 - 2.0 * barrier.a };
        Ok(Self { step: Some(step), ..linear })
    }

    /// RT ln10 (pKa − pH) and the position of the smoothed step, if it is smoothed.
    pub(crate) fn parameters(&self) -> (f64, Option<f64>) {
        (self.free_energy, self.step)
    }

    /// Energy and derivative at `lambda`.
    pub fn evaluate(&self, lambda: f64) -> Term {
        match self.step {
            None => Term { energy: self.free_energy * lambda, derivative: self.free_energy },
            Some(step) => {
                let steepness = 5.0 * WALL_STEEPNESS;
                let s = 1.0 / (1.0 + (-steepness * (lambda - step)).exp());
                Term { energy: self.free_energy * s, derivative: self.free_energy * steepness * s * (1.0 - s) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bias::assert_derivative;

    #[test]
    fn one_ph_unit_is_rt_ln10() {
        let v = PhPotential::linear(4.25, 5.25, 298.15).unwrap();
        // RT ln 10 = 5.7080 kJ/mol at 298.15 K.
        assert!((v.evaluate(1.0).energy + 5.70804).abs() < 1e-4);
        assert_eq!(v.evaluate(0.0).energy, 0.0);
        assert!(v.evaluate(0.4).derivative < 0.0, "pH above pKa drives towards λ = 1");
    }

    #[test]
    fn smoothed_step_has_the_same_free_energy_and_leaves_the_wells_alone() {
        let barrier = Barrier::solve(7.5).unwrap();
        for ph in [2.25, 6.25] {
            let linear = PhPotential::linear(4.25, ph, 300.0).unwrap();
            let smooth = PhPotential::smoothed(4.25, ph, 300.0, &barrier).unwrap();
            let difference = |v: &PhPotential| v.evaluate(1.0).energy - v.evaluate(0.0).energy;
            // e^{−67.5·2a} = 0.003 of 11.5 kJ/mol.
            assert!((difference(&linear) - difference(&smooth)).abs() < 0.05);
            let uphill_well = if ph < 4.25 { 1.0 } else { 0.0 };
            assert!(smooth.evaluate(uphill_well).derivative.abs() < 1e-9);
            assert_derivative(|l| smooth.evaluate(l), [-0.3, 1.3], 1e-4);
            assert_derivative(|l| linear.evaluate(l), [-0.3, 1.3], 1e-8);
        }
    }

    #[test]
    fn bad_numbers_are_refused() {
        for (pka, ph, t) in [(f64::NAN, 7.0, 300.0), (4.0, f64::INFINITY, 300.0), (4.0, 7.0, 0.0), (4.0, 7.0, -1.0)] {
            assert!(PhPotential::linear(pka, ph, t).is_err());
        }
    }
}
