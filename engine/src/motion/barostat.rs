//! C-rescale: isothermal–isobaric sampling by stochastic cell rescaling, isotropic; along single axes it is in [`axes`].
//!
//! Written for λ = √V, where the noise does not depend on the volume:
//! dλ = −(β_T λ / 2τ) [P₀ − P − RT/2V] dt + √(RT β_T / 2τ) dW,  P = (2K + W)/3V.
//! Lengths are multiplied by μ = (λ'/λ)^⅔ and velocities by 1/μ. Its exact distribution for constant P₀ and T is
//! p(V) ∝ ∫ e^{−(E + P₀V)/RT}; β_T only sets the rate.
//!
//! What is scaled are free atoms, and the centres of mass of groups held together by constraints (their inner velocities
//! stay too). So rigid waters stay rigid, and the change of the energy is −P dV with the P above, because for a rigid
//! group the virial of constraints cancels the kinetic energy of its rotation. Scaling single atoms, as is common, leaves
//! bonds of wrong length for the next step to repair.
//! The work −∫P dV is summed by the trapezoidal rule with the pressures before and after, so that E − work is conserved:
//! with the pressure before alone, the noise would make it drift by about RT per τ.
//!
//! Units: nm, ps, kJ/mol, K; pressure kJ/mol/nm³, β_T its inverse ([`forcefield::units::BAR`]).
//! Reference: M. Bernetti and G. Bussi, J. Chem. Phys. 153, 114107 (2020), DOI 10.1063/5.0020514.

pub mod axes;

use axes::AxesRescale;
use forcefield::units::GAS_CONSTANT;
use nalgebra::Vector3;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::com;
use super::constraints::Constraints;
use crate::random::{RandomStream, generator};
use crate::state::BarostatState;
use forcefield::Cell;
use forcefield::cell::CellError;

/// Largest relative change of lengths in one scaling that is still taken for physics.
pub(crate) const LARGEST_CHANGE: f64 = 0.05;

/// Why a barostat cannot work.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BarostatError {
    /// A setting out of range.
    #[error("barostat: {name} is {value}, it must be {valid}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Value found.
        value: f64,
        /// What is valid.
        valid: &'static str,
    },
    /// The cell would change too much at once.
    #[error(
        "barostat: lengths would be scaled by {factor:.4} at once (pressure {pressure:.4e} kJ/mol/nm³): minimise or \
         equilibrate at constant volume first, or couple more weakly"
    )]
    TooFast {
        /// Factor of lengths.
        factor: f64,
        /// Pressure found, kJ/mol/nm³.
        pressure: f64,
    },
}

/// Settings of [`CRescale`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BarostatSettings {
    /// Pressure P₀, kJ/mol/nm³.
    pub pressure: f64,
    /// Temperature of the thermostat, K.
    pub temperature: f64,
    /// Coupling time τ, ps.
    pub tau: f64,
    /// Isothermal compressibility β_T, nm³ mol/kJ (water: 4.5e-5 / bar).
    pub compressibility: f64,
}

/// How the box is scaled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Barostat {
    /// All lengths alike.
    Isotropic(CRescale),
    /// Some axes apart from others.
    Axes(AxesRescale),
}

/// The isotropic C-rescale barostat. What it has done so far is in [`BarostatState`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CRescale {
    settings: BarostatSettings,
}

impl CRescale {
    /// Barostat with these settings.
    ///
    /// # Errors
    /// Numbers that are not finite, times and compressibility not positive.
    pub fn new(settings: BarostatSettings) -> Result<Self, BarostatError> {
        let BarostatSettings { pressure, temperature, tau, compressibility } = settings;
        if !pressure.is_finite() {
            return Err(BarostatError::Setting { name: "pressure", value: pressure, valid: "finite" });
        }
        let positive =
            [("temperature (K)", temperature), ("coupling time (ps)", tau), ("compressibility", compressibility)];
        for (name, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Err(BarostatError::Setting { name, value, valid: "positive and finite" });
            }
        }
        Ok(Self { settings })
    }

    /// Tell the pressure (kJ/mol/nm³) of the step just done. It completes the work of a scaling before that step; call it
    /// once in every step, before the work is read and before [`Self::couple`].
    pub fn observe(state: &mut BarostatState, pressure: f64) {
        state.work -= 0.5 * pressure * state.pending_volume;
        state.pending_volume = 0.0;
    }

    /// Factor μ of all lengths, at pressure `pressure` (kJ/mol/nm³) and `volume` (nm³); `dt` (ps): time since the last
    /// call. The random numbers depend on `seed` and `step` only. Apply it with [`stretch`].
    ///
    /// # Errors
    /// [`BarostatError::TooFast`] if the factor is far from one.
    pub fn couple(
        &self,
        state: &mut BarostatState,
        pressure: f64,
        volume: f64,
        dt: f64,
        seed: u64,
        step: u64,
    ) -> Result<f64, BarostatError> {
        let BarostatSettings { pressure: wanted, temperature, tau, compressibility } = self.settings;
        let rt = GAS_CONSTANT * temperature;
        let rate = compressibility * dt / (2.0 * tau);
        let normal = Self::number(seed, step);
        let root = volume.sqrt();
        let change = -rate * root * (wanted - pressure - 0.5 * rt / volume) + (rt * rate).sqrt() * normal;
        let factor = ((root + change) / root).max(0.0).powi(2).cbrt();
        if factor.is_nan() || (factor - 1.0).abs() > LARGEST_CHANGE {
            return Err(BarostatError::TooFast { factor, pressure });
        }
        state.pending_volume = volume * (factor.powi(3) - 1.0);
        state.work -= 0.5 * pressure * state.pending_volume;
        Ok(factor)
    }

    /// The random number of a step: normal.
    pub fn number(seed: u64, step: u64) -> f64 {
        StandardNormal.sample(&mut generator(seed, RandomStream::Barostat, step))
    }

    /// The settings.
    pub fn settings(&self) -> &BarostatSettings {
        &self.settings
    }
}

/// Scale the cell and all positions (nm) by a factor for each axis and velocities (nm/ps) by its inverse: free atoms one by one, groups connected by
/// constraints by their centres, without turning them.
///
/// # Errors
/// [`CellError::Edges`] if the result is no box; nothing has moved then.
pub fn stretch(
    factors: Vector3<f64>,
    cell: &mut Cell,
    x: &mut [Vector3<f64>],
    v: &mut [Vector3<f64>],
    masses: &[f64],
    constraints: &Constraints,
) -> Result<(), CellError> {
    *cell = cell.stretched(factors)?;
    let (longer, slower) = (factors.add_scalar(-1.0), factors.map(|factor| 1.0 / factor - 1.0));
    let mut free = vec![true; x.len()];
    for group in constraints.groups() {
        let at = || group.iter().map(|&atom| atom as usize);
        let group_masses: Vec<f64> = at().map(|i| masses[i]).collect();
        let centre = com::mass_average(&group_masses, &at().map(|i| x[i]).collect::<Vec<_>>());
        let velocity = com::mass_average(&group_masses, &at().map(|i| v[i]).collect::<Vec<_>>());
        for i in at() {
            x[i] += longer.component_mul(&centre);
            v[i] += slower.component_mul(&velocity);
            free[i] = false;
        }
    }
    for (i, _) in free.iter().enumerate().filter(|(_, free)| **free) {
        x[i].component_mul_assign(&factors);
        v[i].component_div_assign(&factors);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
