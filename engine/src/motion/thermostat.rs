//! Which thermostat a job has, and v-rescale: canonical sampling by stochastic velocity rescaling.
//!
//! All velocities are multiplied by α with
//! α² = c + (1−c) K̄/(N_f K) (R₁² + Σ_{i=2}^{N_f} R_i²) + 2 R₁ √(c (1−c) K̄/(N_f K)),  c = e^{−dt/τ},  K̄ = N_f RT/2,
//! with independent normal R_i; Σ_{i≥2} R_i² is one χ² number. The sign of α is that of R₁ + √(c N_f K/((1−c) K̄)).
//! The work ΔK = (α² − 1) K is summed, so that E − work is conserved.
//!
//! Units: kJ/mol, K, ps. Reference: G. Bussi, D. Donadio, M. Parrinello, J. Chem. Phys. 126, 014101 (2007),
//! DOI 10.1063/1.2408420, eqs. A7 and A8.

use forcefield::units::GAS_CONSTANT;
use rand_distr::{ChiSquared, Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::langevin::Langevin;
use crate::config;
use crate::random::{RandomStream, generator};

/// Why a thermostat cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ThermostatError {
    /// Temperature, coupling time or degrees of freedom out of range.
    #[error(
        "thermostat: temperature {temperature} K, coupling time {tau} ps, {degrees_of_freedom} degrees of freedom: \
         the temperature must not be negative, the others must be positive"
    )]
    Settings {
        /// Temperature, K.
        temperature: f64,
        /// Coupling time, ps.
        tau: f64,
        /// Degrees of freedom.
        degrees_of_freedom: usize,
    },
    /// Temperature or friction out of range.
    #[error(
        "thermostat: temperature {temperature} K, friction {friction} /ps: the temperature must not be negative, the friction must be positive"
    )]
    Friction {
        /// Temperature, K.
        temperature: f64,
        /// Friction, 1/ps.
        friction: f64,
    },
    /// Velocities that are all zero, or not finite, cannot be scaled to a temperature.
    #[error("thermostat: kinetic energy {kinetic} kJ/mol cannot be scaled; it must be positive and finite")]
    KineticEnergy {
        /// Kinetic energy found, kJ/mol.
        kinetic: f64,
    },
}

/// A thermostat of the atoms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Thermostat {
    /// Scales all velocities together, every few steps.
    VRescale(VRescale),
    /// Gives each atom friction and noise, in the middle of every step.
    Langevin(Langevin),
}

impl Thermostat {
    /// That of a job, for a system of so many degrees of freedom.
    ///
    /// # Errors
    /// Numbers out of range.
    pub fn new(settings: &config::Thermostat, degrees_of_freedom: usize) -> Result<Self, ThermostatError> {
        let temperature = settings.temperature.get();
        if settings.is_langevin() {
            return Langevin::new(temperature, settings.friction().get()).map(Self::Langevin);
        }
        VRescale::new(temperature, settings.coupling_time().get(), degrees_of_freedom).map(Self::VRescale)
    }

    /// v-rescale, if it is that.
    pub fn v_rescale(&self) -> Option<&VRescale> {
        match self {
            Self::VRescale(thermostat) => Some(thermostat),
            Self::Langevin(_) => None,
        }
    }

    /// Langevin dynamics, if it is that.
    pub fn langevin(&self) -> Option<&Langevin> {
        match self {
            Self::VRescale(_) => None,
            Self::Langevin(thermostat) => Some(thermostat),
        }
    }
}

/// The v-rescale thermostat. The energy it has given is its whole state, and is kept in [`crate::state::BathState`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct VRescale {
    temperature: f64,
    tau: f64,
    degrees_of_freedom: usize,
}

impl VRescale {
    /// Thermostat for `temperature` (K) with coupling time `tau` (ps).
    ///
    /// # Errors
    /// A temperature below zero, a time that is not positive, numbers that are not finite; no degrees of freedom.
    pub fn new(temperature: f64, tau: f64, degrees_of_freedom: usize) -> Result<Self, ThermostatError> {
        let valid = temperature.is_finite() && temperature >= 0.0 && tau.is_finite() && tau > 0.0;
        if valid && degrees_of_freedom > 0 {
            Ok(Self { temperature, tau, degrees_of_freedom })
        } else {
            Err(ThermostatError::Settings { temperature, tau, degrees_of_freedom })
        }
    }

    /// Factor α for all velocities of kinetic energy `kinetic` (kJ/mol) at this step; `dt` (ps): time since the last call.
    ///
    /// The energy it gives is added to `work` (kJ/mol): E − work is conserved. The random numbers depend on `seed` and `step` only.
    ///
    /// # Errors
    /// [`ThermostatError::KineticEnergy`] if nothing moves, or not finitely.
    pub fn rescale(&self, work: &mut f64, kinetic: f64, dt: f64, seed: u64, step: u64) -> Result<f64, ThermostatError> {
        if !(kinetic.is_finite() && kinetic > 0.0) {
            return Err(ThermostatError::KineticEnergy { kinetic });
        }
        let [first, others] = self.numbers(seed, step);
        let [keep, mix] = self.coefficients(dt);
        let mix = mix / kinetic;
        let square = keep + mix * (first * first + others) + 2.0 * first * (keep * mix).sqrt();
        let factor = square.max(0.0).sqrt().copysign(first * mix.sqrt() + keep.sqrt());
        *work += (factor * factor - 1.0) * kinetic;
        Ok(factor)
    }

    /// The random numbers of a step: R₁ and Σ_{i≥2} R_i².
    pub fn numbers(&self, seed: u64, step: u64) -> [f64; 2] {
        let mut rng = generator(seed, RandomStream::Thermostat, step);
        let first: f64 = StandardNormal.sample(&mut rng);
        let others = match ChiSquared::new((self.degrees_of_freedom - 1) as f64) {
            Ok(distribution) => distribution.sample(&mut rng),
            Err(_) => 0.0, // one degree of freedom has no others
        };
        [first, others]
    }

    /// c = e^{−dt/τ} and (1−c) K̄/N_f (kJ/mol), with expm1 for steps that are short beside τ.
    pub fn coefficients(&self, dt: f64) -> [f64; 2] {
        let keep = (-dt / self.tau).exp();
        [keep, -(-dt / self.tau).exp_m1() * 0.5 * GAS_CONSTANT * self.temperature]
    }

    /// Temperature of the bath, K.
    pub fn temperature(&self) -> f64 {
        self.temperature
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toy::mean_and_variance;

    const RT: f64 = GAS_CONSTANT * 300.0;

    /// The kinetic energy follows the Gamma distribution of shape N_f/2 and scale RT; so does its third moment.
    #[test]
    fn kinetic_energy_is_canonical() {
        for dof in [1, 2, 3, 40] {
            let thermostat = VRescale::new(300.0, 0.1, dof).unwrap();
            let (mut kinetic, mut start, mut work) = (RT, 0.0, 0.0);
            // dt = 5 τ: consecutive values are almost independent.
            let series: Vec<f64> = (0..60_000)
                .map(|step| {
                    let factor = thermostat.rescale(&mut work, kinetic, 0.5, 9, step).unwrap();
                    if step == 0 {
                        start = kinetic;
                    }
                    kinetic *= factor * factor;
                    kinetic
                })
                .collect();
            assert!((kinetic - start - work).abs() < 1e-6 * work.abs().max(RT));
            let (n, shape) = (series.len() as f64, 0.5 * dof as f64);
            let (mean, variance) = mean_and_variance(&series);
            let third = series.iter().map(|k| (k - mean).powi(3)).sum::<f64>() / n;
            // Five standard errors, from the moments of the Gamma distribution (kurtosis 3 + 6/shape).
            assert!((mean / (shape * RT) - 1.0).abs() < 5.0 / (shape * n).sqrt(), "{dof}: {mean}");
            let width = ((2.0 + 6.0 / shape) / n).sqrt();
            assert!((variance / (shape * RT * RT) - 1.0).abs() < 5.0 * width, "{dof}: {variance}");
            let third = third / (2.0 * shape * RT.powi(3));
            assert!((third - 1.0).abs() < 0.35, "{dof}: third moment {third}");
        }
    }

    /// Eq. A7 is exact for any step: the mean relaxes as K̄ + (K₀ − K̄) e^{−t/τ}.
    #[test]
    fn mean_relaxes_exponentially() {
        let dof = 30;
        let target = 0.5 * dof as f64 * RT;
        let n = 20_000;
        let mut sum = 0.0;
        for seed in 0..n {
            let thermostat = VRescale::new(300.0, 0.1, dof).unwrap();
            let mut kinetic = 3.0 * target;
            for step in 0..3 {
                kinetic *= thermostat.rescale(&mut 0.0, kinetic, 0.04, seed, step).unwrap().powi(2);
            }
            sum += kinetic / n as f64;
        }
        let expected = target * (1.0 + 2.0 * (-1.2_f64).exp());
        // Spread of K after 3 steps is about a third of the target: five standard errors.
        assert!((sum - expected).abs() < 5.0 * target / 3.0 / (n as f64).sqrt(), "{sum} {expected}");
    }

    #[test]
    fn depends_on_seed_and_step_only() {
        let factor = |seed, step| VRescale::new(300.0, 0.1, 50).unwrap().rescale(&mut 0.0, 50.0, 0.002, seed, step);
        assert_eq!(factor(1, 5), factor(1, 5));
        assert_ne!(factor(1, 5), factor(2, 5));
        assert_ne!(factor(1, 5), factor(1, 6));
    }

    #[test]
    fn zero_temperature_cools_and_impossible_input_is_refused() {
        let cold = VRescale::new(0.0, 0.1, 5).unwrap();
        let factor = cold.rescale(&mut 0.0, 10.0, 0.1, 1, 1).unwrap();
        assert!((factor * factor - (-1.0_f64).exp()).abs() < 1e-14);
        assert!(VRescale::new(-1.0, 0.1, 5).is_err());
        assert!(VRescale::new(300.0, 0.0, 5).is_err());
        assert!(VRescale::new(300.0, 0.1, 0).is_err());
        for kinetic in [0.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(cold.rescale(&mut 0.0, kinetic, 0.1, 1, 1), Err(ThermostatError::KineticEnergy { .. })));
        }
    }
}
