//! Motion of the λ coordinates: leap-frog with a v-rescale thermostat of their own.
//!
//!   v(t+½Δt) = c v(t−½Δt) − Δt/m dV/dλ(t),   λ(t+Δt) = λ(t) + Δt v(t+½Δt)
//!
//! The factor c couples all λ to one bath (Bussi, Donadio, Parrinello 2007, doi:10.1063/1.2408420, eq. A7; the sign of c is
//! kept, eq. A8, so that with one λ it is exactly the Ornstein–Uhlenbeck process of its velocity). The kinetic energy of step t
//! is the mean over both half steps; the heat of a step is what the scaling changes in that mean. Summed up, V + kinetic − heat
//! is conserved as well as V + kinetic without a thermostat.
//!
//! Random numbers are counter-based, ChaCha8 keyed by (seed, stream, step): λ, velocity and heat are the whole state.
//!
//! Units: ps, u nm² (mass of λ), 1/ps (velocity), kJ/mol, K.

use forcefield::units::GAS_CONSTANT;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::coordinate::linear;

/// How far λ may be from ½ before the motion counts as broken; the walls hold it within 0.75.
pub(crate) const ESCAPE: f64 = 1.0;

/// Random streams of this crate; numbers are part of the reproducible result and must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Velocities = 0x6c61_0001,
    Thermostat = 0x6c61_0002,
}

/// Why λ cannot move.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DynamicsError {
    /// A setting out of its range.
    #[error("λ dynamics: {name} = {value}, expected {expected}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// What is valid.
        expected: &'static str,
    },
    /// Derivatives or λ do not match the number of sites.
    #[error("λ dynamics: {found} values of {what} for {expected} sites")]
    Length {
        /// Which array.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Number of sites.
        expected: usize,
    },
    /// dV/dλ is not a number.
    #[error("step {step}: dV/dλ of site {site} (counted from 1) is {value} kJ/mol at λ = {lambda}")]
    NotFinite {
        /// Site, from 1.
        site: usize,
        /// Step.
        step: u64,
        /// dV/dλ.
        value: f64,
        /// λ.
        lambda: f64,
    },
    /// λ left its range.
    #[error(
        "step {step}: λ of site {site} (counted from 1) escaped to {lambda} (dV/dλ {derivative} kJ/mol); \
         the time step is too long or a potential too steep"
    )]
    Escaped {
        /// Site, from 1.
        site: usize,
        /// Step.
        step: u64,
        /// λ.
        lambda: f64,
        /// dV/dλ of this step.
        derivative: f64,
    },
}

/// Settings of the motion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LambdaSettings {
    /// Time step, ps.
    pub time_step: f64,
    /// Mass of every λ, u nm²; [`linear::MASS`] is usual.
    pub mass: f64,
    /// Temperature, K.
    pub temperature: f64,
    /// Coupling time of the thermostat, ps; absent: constant energy.
    pub coupling_time: Option<f64>,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// Whether λ moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Motion {
    /// λ follows its equation of motion.
    Free,
    /// λ stays: a window of a calibration.
    Fixed,
}

/// State of all λ: everything that a checkpoint needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LambdaState {
    /// λ of each site at time t.
    pub lambda: Vec<f64>,
    /// Velocity of each λ at t − ½Δt, 1/ps.
    pub velocity: Vec<f64>,
    /// Heat given to λ by the thermostat so far, kJ/mol.
    pub heat: f64,
    /// Free or fixed, for each site.
    pub motion: Vec<Motion>,
}

impl LambdaState {
    /// λ that will not move.
    pub fn fixed(lambda: Vec<f64>) -> Self {
        let sites = lambda.len();
        Self { lambda, velocity: vec![0.0; sites], heat: 0.0, motion: vec![Motion::Fixed; sites] }
    }

    /// Holds one site, counted from 0, where it is while the others move; nothing beyond the last site.
    pub fn hold(&mut self, site: usize) {
        if let (Some(motion), Some(velocity)) = (self.motion.get_mut(site), self.velocity.get_mut(site)) {
            (*motion, *velocity) = (Motion::Fixed, 0.0);
        }
    }

    /// Number of λ that move.
    pub fn free_sites(&self) -> usize {
        self.motion.iter().filter(|&&motion| motion == Motion::Free).count()
    }

    /// Weights (protonated, deprotonated) of site `site`, counted from 0; `None` beyond the last.
    pub fn weights(&self, site: usize) -> Option<[f64; 2]> {
        self.lambda.get(site).map(|&lambda| linear::weights(lambda))
    }
}

/// Energies of λ at one step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LambdaEnergies {
    /// Kinetic energy at time t, mean of both half steps, kJ/mol.
    pub kinetic: f64,
    /// Kinetic temperature, K; 0 for fixed λ.
    pub temperature: f64,
    /// Heat given by the thermostat up to this step, kJ/mol.
    pub heat: f64,
}

impl LambdaEnergies {
    /// kinetic − heat, kJ/mol: plus the potential energy it is conserved.
    pub fn conserved(&self) -> f64 {
        self.kinetic - self.heat
    }
}

/// The equation of motion of all λ.
#[derive(Clone, Debug, PartialEq)]
pub struct LambdaDynamics {
    settings: LambdaSettings,
}

impl LambdaDynamics {
    /// Checks the settings.
    ///
    /// # Errors
    /// [`DynamicsError::Setting`] for a value that is not finite or not positive.
    pub fn new(settings: LambdaSettings) -> Result<Self, DynamicsError> {
        let positive = [
            ("time step", settings.time_step),
            ("mass", settings.mass),
            ("temperature", settings.temperature),
            ("coupling time", settings.coupling_time.unwrap_or(1.0)),
        ];
        match positive.into_iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
            Some((name, value)) => Err(DynamicsError::Setting { name, value, expected: "a finite number above 0" }),
            None => Ok(Self { settings }),
        }
    }

    /// The settings.
    pub fn settings(&self) -> &LambdaSettings {
        &self.settings
    }

    /// Free λ at the given values with Maxwell–Boltzmann velocities.
    ///
    /// # Errors
    /// [`DynamicsError::Setting`] for a λ that is not finite or farther than 1 from ½.
    pub fn initial_state(&self, lambda: &[f64]) -> Result<LambdaState, DynamicsError> {
        if let Some(&value) = lambda.iter().find(|&&l| !(0.5 - ESCAPE..=0.5 + ESCAPE).contains(&l)) {
            return Err(DynamicsError::Setting { name: "initial λ", value, expected: "−0.5 to 1.5" });
        }
        let mut rng = self.random(Stream::Velocities, 0);
        let width = (GAS_CONSTANT * self.settings.temperature / self.settings.mass).sqrt();
        let velocity = lambda.iter().map(|_| width * normal(&mut rng)).collect();
        Ok(LambdaState { lambda: lambda.to_vec(), velocity, heat: 0.0, motion: vec![Motion::Free; lambda.len()] })
    }

    /// One step: from λ(t), v(t−½Δt) and dV/dλ(t) (kJ/mol, whole: force field and bias) to λ(t+Δt), v(t+½Δt).
    /// `step` counts the steps of the run; with the seed it fixes the random numbers. Fixed λ stay where they are.
    ///
    /// Returns the energies at time t.
    ///
    /// # Errors
    /// [`DynamicsError`]: wrong length, dV/dλ not finite, λ escaped through the walls. The state is then unchanged.
    pub fn step(
        &self,
        state: &mut LambdaState,
        derivatives: &[f64],
        step: u64,
    ) -> Result<LambdaEnergies, DynamicsError> {
        check(state, derivatives, step)?;
        let free: Vec<usize> = (0..state.lambda.len()).filter(|&k| state.motion[k] == Motion::Free).collect();
        if free.is_empty() {
            return Ok(LambdaEnergies { kinetic: 0.0, temperature: 0.0, heat: state.heat });
        }
        let derivatives: Vec<f64> = free.iter().map(|&k| derivatives[k]).collect();
        let before: Vec<f64> = free.iter().map(|&k| state.velocity[k]).collect();
        let mut velocity = before.clone();
        self.thermostat(&mut velocity, step);
        let kinetic = self.kinetic_on_step(&velocity, &derivatives);
        let heat = kinetic - self.kinetic_on_step(&before, &derivatives);
        let mut moved = Vec::with_capacity(free.len());
        for ((v, &derivative), &k) in velocity.iter_mut().zip(&derivatives).zip(&free) {
            *v -= self.settings.time_step / self.settings.mass * derivative;
            let lambda = state.lambda[k] + self.settings.time_step * *v;
            if (lambda - 0.5).abs() > ESCAPE {
                return Err(DynamicsError::Escaped { site: k + 1, step, lambda, derivative });
            }
            moved.push(lambda);
        }
        for ((&k, lambda), v) in free.iter().zip(moved).zip(velocity) {
            (state.lambda[k], state.velocity[k]) = (lambda, v);
        }
        state.heat += heat;
        let temperature = 2.0 * kinetic / (free.len() as f64 * GAS_CONSTANT);
        Ok(LambdaEnergies { kinetic, temperature, heat: state.heat })
    }

    fn kinetic(&self, velocity: &[f64]) -> f64 {
        0.5 * self.settings.mass * velocity.iter().map(|v| v * v).sum::<f64>()
    }

    /// Mean kinetic energy of v(t−½Δt) and v(t+½Δt) = v(t−½Δt) − Δt/m dV/dλ.
    fn kinetic_on_step(&self, velocity: &[f64], derivatives: &[f64]) -> f64 {
        let kick = self.settings.time_step / self.settings.mass;
        let after: Vec<f64> = velocity.iter().zip(derivatives).map(|(v, d)| v - kick * d).collect();
        0.5 * (self.kinetic(velocity) + self.kinetic(&after))
    }

    /// Rescales the velocities over one time step.
    fn thermostat(&self, velocity: &mut [f64], step: u64) {
        let Some(coupling_time) = self.settings.coupling_time else {
            return;
        };
        let kept = (-self.settings.time_step / coupling_time).exp();
        let quantum = 0.5 * GAS_CONSTANT * self.settings.temperature;
        let before = self.kinetic(velocity);
        if before > 0.0 {
            let [first, others] = self.noise(step, velocity.len());
            let added = quantum * (1.0 - kept) / before;
            // c² = (√kept + √added R₁)² + added Σ R²: a sum of squares, never negative.
            let along = kept.sqrt() + added.sqrt() * first;
            let factor = (along * along + added * others).sqrt().copysign(along);
            velocity.iter_mut().for_each(|v| *v *= factor);
        } else {
            // At rest there is no direction to scale: the same process gives independent normal velocities.
            let width = (2.0 * quantum * (1.0 - kept) / self.settings.mass).sqrt();
            velocity.iter_mut().zip(self.normals(step)).for_each(|(v, normal)| *v = width * normal);
        }
    }

    /// What chance adds at a step with `free` λ that move: R₁ and the sum of the squares of the other free − 1 normal numbers.
    pub fn noise(&self, step: u64, free: usize) -> [f64; 2] {
        let mut normals = self.normals(step);
        let first = normals.next().unwrap_or_default();
        [first, normals.take(free.saturating_sub(1)).map(|r| r * r).sum()]
    }

    /// The normal numbers of a step, of which λ at rest take one each.
    pub(crate) fn normals(&self, step: u64) -> impl Iterator<Item = f64> {
        let mut rng = self.random(Stream::Thermostat, step);
        std::iter::repeat_with(move || normal(&mut rng))
    }

    fn random(&self, stream: Stream, step: u64) -> ChaCha8Rng {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.settings.seed.to_le_bytes());
        key[8..16].copy_from_slice(&(stream as u64).to_le_bytes());
        key[16..24].copy_from_slice(&step.to_le_bytes());
        ChaCha8Rng::from_seed(key)
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

fn check(state: &LambdaState, derivatives: &[f64], step: u64) -> Result<(), DynamicsError> {
    let expected = state.lambda.len();
    let lengths = [("dV/dλ", derivatives.len()), ("velocity", state.velocity.len()), ("motion", state.motion.len())];
    for (what, found) in lengths {
        if found != expected {
            return Err(DynamicsError::Length { what, found, expected });
        }
    }
    match derivatives.iter().position(|d| !d.is_finite()) {
        Some(k) => {
            let (value, lambda) = (derivatives[k], state.lambda[k]);
            Err(DynamicsError::NotFinite { site: k + 1, step, value, lambda })
        }
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "dynamics_tests.rs"]
mod tests;
