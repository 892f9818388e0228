//! Motion of the coordinates ξ of all sites: leap-frog with constraints and a Langevin thermostat of their own.
//!
//!   v ← P [v(t−½Δt) − (Δt/2m) ∂V/∂ξ]                velocity at t, kinetic energy of the step
//!   v ← P [√κ v + √((1−κ)RT/m) R],  κ = e^{−Δt/τ}    Ornstein–Uhlenbeck process, friction 1/2τ; its change of the kinetic energy is heat
//!   v ← v − (Δt/2m) ∂V/∂ξ,   ξ(t+Δt) = ξ(t) + Δt v + constraints,   v(t+½Δt) = (ξ(t+Δt) − ξ(t))/Δt
//!
//! P takes off what the constraints do not allow (`motion/constraints.rs`): Σ λ_α = 1, Σ x_α² = 1, and with charge buffers the total charge Σ λ_sα Q_sα;
//! ∂V/∂ξ then holds the force that keeps probabilities as they are without that constraint (`metric`), whose energy V_Z belongs to V.
//! V + kinetic − heat is conserved as well as V + kinetic without a thermostat.
//!
//! In the first [`LambdaState::held`] steps of a run neither ξ nor v changes, so that everything else relaxes around the weights of the start; the
//! energies are those of what is held.
//!
//! Random numbers are counter-based, ChaCha8 keyed by (seed, stream, step): coordinates, velocities and heat are the whole state.
//!
//! Units: ps, u nm² (masses), 1/ps (velocities), e, kJ/mol, K.

pub(crate) mod constraints;
mod error;
mod metric;
mod sites;

use forcefield::units::GAS_CONSTANT;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use crate::values::{SiteLayout, SiteValues};
use constraints::Constraints;
pub use error::DynamicsError;
pub(crate) use error::check_length;
use sites::MovingSites;
pub use sites::SiteMotion;

/// How far a linear weight may be from ½ before the motion counts as broken; the walls hold it within 0.75.
pub(crate) const ESCAPE: f64 = 1.0;

/// Random streams of this crate; numbers are part of the reproducible result and must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Velocities = 0x6c61_0001,
    Thermostat = 0x6c61_0002,
}

/// Settings of the motion.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LambdaSettings {
    /// Time step, ps.
    pub time_step: f64,
    /// Temperature, K.
    pub temperature: f64,
    /// Coupling time τ of the thermostat, ps; absent: constant energy.
    pub coupling_time: Option<f64>,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// State of all sites: everything that a checkpoint needs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LambdaState {
    /// ξ of all sites at time t, one site after the other.
    pub coordinates: Vec<f64>,
    /// Velocities at t − ½Δt, 1/ps.
    pub velocities: Vec<f64>,
    /// Heat given by the thermostat so far, kJ/mol.
    pub heat: f64,
    /// Steps, counted from step 0 of the run, in which ξ is held where it is.
    #[serde(default)]
    pub held: u64,
}

/// Energies of λ at one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LambdaEnergies {
    /// Kinetic energy at time t, kJ/mol.
    pub kinetic: f64,
    /// Kinetic temperature, K; 0 if nothing moves.
    pub temperature: f64,
    /// Heat given by the thermostat up to this step, kJ/mol.
    pub heat: f64,
    /// V_Z, what the constraint on the charge is corrected by, kJ/mol.
    pub metric: f64,
}

impl LambdaEnergies {
    /// kinetic + V_Z − heat, kJ/mol: plus the potential energy it is conserved.
    pub fn conserved(&self) -> f64 {
        self.kinetic + self.metric - self.heat
    }
}

/// The equation of motion of all sites.
#[derive(Clone, Debug, PartialEq)]
pub struct LambdaDynamics {
    settings: LambdaSettings,
    sites: MovingSites,
    constraints: Constraints,
    degrees_of_freedom: usize,
}

impl LambdaDynamics {
    /// The motion of `sites`; with `total_charge` (e) the charge Σ λ_sα Q_sα of all of them is kept at this value.
    ///
    /// # Errors
    /// [`DynamicsError`] for a value that is not finite or not positive, forms that do not fit their coordinate, and charges that are not one for each form.
    pub fn new(
        settings: LambdaSettings,
        sites: Vec<SiteMotion>,
        total_charge: Option<f64>,
    ) -> Result<Self, DynamicsError> {
        let mut positive = vec![
            ("time step", settings.time_step),
            ("temperature", settings.temperature),
            ("coupling time", settings.coupling_time.unwrap_or(1.0)),
        ];
        positive.extend(sites.iter().map(|site| ("mass", site.mass)));
        if let Some((name, value)) = positive.into_iter().find(|(_, value)| !(value.is_finite() && *value > 0.0)) {
            return Err(DynamicsError::Setting { name, value, expected: "a finite number above 0" });
        }
        let sites = MovingSites::new(sites)?;
        let kept = usize::from(total_charge.is_some());
        Ok(Self {
            settings,
            degrees_of_freedom: sites.degrees_of_freedom().saturating_sub(kept),
            constraints: Constraints { total_charge },
            sites,
        })
    }

    /// The settings.
    pub fn settings(&self) -> &LambdaSettings {
        &self.settings
    }

    /// How each site moves.
    pub fn sites(&self) -> &[SiteMotion] {
        &self.sites.sites
    }

    /// Charge of all sites that is kept, e.
    pub fn total_charge(&self) -> Option<f64> {
        self.constraints.total_charge
    }

    /// Where the weights of each site lie in a flat list.
    pub fn weight_layout(&self) -> &SiteLayout {
        &self.sites.weights
    }

    /// First number of ξ of each site, and the end.
    pub fn coordinate_starts(&self) -> &[usize] {
        self.sites.coordinates.starts()
    }

    /// First weight of each site, and the end.
    pub fn weight_starts(&self) -> &[usize] {
        self.sites.weights.starts()
    }

    /// Number of weights.
    pub fn n_weights(&self) -> usize {
        self.sites.weights.n_values()
    }

    /// Directions in which all ξ together can move.
    pub fn degrees_of_freedom(&self) -> usize {
        self.degrees_of_freedom
    }

    /// Weights of all sites.
    pub fn weights(&self, state: &LambdaState) -> SiteValues {
        self.sites.weights_at(&state.coordinates)
    }

    /// Σ λ_sα Q_sα, e.
    pub fn charge(&self, weights: &[f64]) -> f64 {
        self.sites.charge(weights)
    }

    /// Charge (e) that all sites together can carry, 1 e at least: the unit of the tolerance of the kept charge.
    pub(crate) fn charge_scale(&self) -> f64 {
        self.sites.charge_scale()
    }

    /// Whether ½ RT ln Z, the correction for the kept charge, changes with ξ.
    pub(crate) fn has_metric(&self) -> bool {
        self.total_charge().is_some() && metric::is_variable(&self.sites)
    }

    /// Sites at the given weights (of all sites, one after the other) with Maxwell–Boltzmann velocities.
    ///
    /// # Errors
    /// [`DynamicsError`] for a weight that is not finite or farther than 1 from ½, and for weights of another charge than the one to be kept.
    pub fn initial_state(&self, weights: &[f64]) -> Result<LambdaState, DynamicsError> {
        check_length("weights", weights.len(), self.n_weights())?;
        if let Some(&value) = weights.iter().find(|&&l| !(0.5 - ESCAPE..=0.5 + ESCAPE).contains(&l)) {
            return Err(DynamicsError::Setting { name: "initial λ", value, expected: "−0.5 to 1.5" });
        }
        let n = self.sites.coordinates.n_values();
        let mut state = LambdaState { coordinates: vec![0.0; n], velocities: vec![0.0; n], heat: 0.0, held: 0 };
        for ((site, at), of_site) in self.sites.with_coordinates().zip(self.sites.weights.ranges()) {
            let value: f64 = weights[of_site.clone()].iter().sum();
            if value <= 0.0 {
                let name = "sum of the initial λ of a site";
                return Err(DynamicsError::Setting { name, value, expected: "a number above 0, 1 as a rule" });
            }
            site.coordinate.at_weights(&weights[of_site], &mut state.coordinates[at]);
        }
        self.constraints.settle_start(&self.sites, &mut state.coordinates)?;
        let rt = GAS_CONSTANT * self.settings.temperature;
        let normals = self.random(Stream::Velocities, 0);
        for ((v, mass), normal) in self.sites.moving(&mut state.velocities).zip(normals) {
            *v = (rt / mass).sqrt() * normal;
        }
        self.constraints.project(&self.sites, &state.coordinates, &mut state.velocities);
        Ok(state)
    }

    /// One step: from ξ(t), v(t−½Δt) and ∂V/∂λ_α(t) of all weights (kJ/mol, whole: force field and bias) to ξ(t+Δt), v(t+½Δt).
    /// `step` counts the steps of the run; with the seed it fixes the random numbers.
    ///
    /// Returns the energies at time t.
    ///
    /// # Errors
    /// [`DynamicsError`] if a list has a wrong length, a derivative is not finite, λ escapes through the walls, or the charge cannot be kept. The
    /// state is then unchanged.
    pub fn step(&self, state: &mut LambdaState, by_weight: &[f64], step: u64) -> Result<LambdaEnergies, DynamicsError> {
        let forces = self.forces(state, by_weight, step)?;
        if step < state.held {
            return Ok(self.energies(self.sites.kinetic(&state.velocities), state.heat, forces.metric));
        }
        let mut velocities = self.velocities_now(state, &forces);
        let kinetic = self.sites.kinetic(&velocities);
        let heat = self.thermostat(&state.coordinates, &mut velocities, kinetic, step);
        self.kick(&mut velocities, &forces.slopes);
        let mut moved = state.coordinates.clone();
        for (xi, v) in moved.iter_mut().zip(&velocities) {
            *xi += self.settings.time_step * v;
        }
        self.constraints.apply(&self.sites, &state.coordinates, &mut moved, step)?;
        self.check_range(&moved, step)?;
        for ((v, now), then) in velocities.iter_mut().zip(&moved).zip(&state.coordinates) {
            *v = (now - then) / self.settings.time_step;
        }
        state.heat += heat;
        (state.coordinates, state.velocities) = (moved, velocities);
        Ok(self.energies(kinetic, state.heat, forces.metric))
    }

    /// The energies that [`Self::step`] would return, without a step; the heat is that before it.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn look_ahead(
        &self,
        state: &LambdaState,
        by_weight: &[f64],
        step: u64,
    ) -> Result<LambdaEnergies, DynamicsError> {
        let forces = self.forces(state, by_weight, step)?;
        if step < state.held {
            return Ok(self.energies(self.sites.kinetic(&state.velocities), state.heat, forces.metric));
        }
        let velocities = self.velocities_now(state, &forces);
        Ok(self.energies(self.sites.kinetic(&velocities), state.heat, forces.metric))
    }

    fn energies(&self, kinetic: f64, heat: f64, metric: f64) -> LambdaEnergies {
        let free = self.degrees_of_freedom as f64;
        let temperature = if free > 0.0 { 2.0 * kinetic / (free * GAS_CONSTANT) } else { 0.0 };
        LambdaEnergies { kinetic, temperature, heat, metric }
    }

    /// dV/dξ of all sites, V_Z included.
    fn forces(&self, state: &LambdaState, by_weight: &[f64], step: u64) -> Result<Slopes, DynamicsError> {
        let n = self.sites.coordinates.n_values();
        check_length("derivatives", by_weight.len(), self.n_weights())?;
        check_length("coordinates", state.coordinates.len(), n)?;
        check_length("velocities", state.velocities.len(), n)?;
        let weights = self.weights(state);
        let mut slopes = vec![0.0; n];
        for (s, (site, at)) in self.sites.with_coordinates().enumerate() {
            let (xi, slopes) = (&state.coordinates[at.clone()], &mut slopes[at]);
            site.coordinate.derivative(xi, weights.site(s), &by_weight[self.sites.weights.range(s)], slopes);
            if let Some(&value) = slopes.iter().find(|slope| !slope.is_finite()) {
                return Err(DynamicsError::NotFinite { site: s + 1, step, value });
            }
        }
        let metric = if self.has_metric() {
            metric::add(&self.sites, self.settings.temperature, &state.coordinates, &mut slopes)
        } else {
            0.0
        };
        Ok(Slopes { slopes, metric })
    }

    /// Velocities at the time of the coordinates, from those half a step before.
    fn velocities_now(&self, state: &LambdaState, forces: &Slopes) -> Vec<f64> {
        let mut velocities = state.velocities.clone();
        self.kick(&mut velocities, &forces.slopes);
        self.constraints.project(&self.sites, &state.coordinates, &mut velocities);
        velocities
    }

    /// Changes velocities by the forces over half a step.
    fn kick(&self, velocities: &mut [f64], slopes: &[f64]) {
        let half = 0.5 * self.settings.time_step;
        for ((v, mass), slope) in self.sites.masses(velocities).zip(slopes) {
            *v -= half / mass * slope;
        }
    }

    /// The Ornstein–Uhlenbeck process over one step; returns the heat that it brings, kJ/mol.
    fn thermostat(&self, coordinates: &[f64], velocities: &mut [f64], kinetic: f64, step: u64) -> f64 {
        let Some(coupling_time) = self.settings.coupling_time else {
            return 0.0;
        };
        let kept = (-self.settings.time_step / coupling_time).exp();
        let scale = (1.0 - kept) * GAS_CONSTANT * self.settings.temperature;
        for ((v, mass), normal) in self.sites.moving(velocities).zip(self.normals(step)) {
            *v = kept.sqrt() * *v + (scale / mass).sqrt() * normal;
        }
        self.constraints.project(&self.sites, coordinates, velocities);
        self.sites.kinetic(velocities) - kinetic
    }

    fn check_range(&self, coordinates: &[f64], step: u64) -> Result<(), DynamicsError> {
        for (s, (_, at)) in
            self.sites.with_coordinates().enumerate().filter(|(_, (site, _))| site.coordinate.needs_walls())
        {
            if let Some(&lambda) = coordinates[at].iter().find(|&&l| !(0.5 - ESCAPE..=0.5 + ESCAPE).contains(&l)) {
                return Err(DynamicsError::Escaped { site: s + 1, step, lambda });
            }
        }
        Ok(())
    }

    /// The normal numbers of a step, one for each number of ξ that moves.
    pub fn normals(&self, step: u64) -> impl Iterator<Item = f64> + use<> {
        self.random(Stream::Thermostat, step)
    }

    fn random(&self, stream: Stream, step: u64) -> impl Iterator<Item = f64> + use<> {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&self.settings.seed.to_le_bytes());
        key[8..16].copy_from_slice(&(stream as u64).to_le_bytes());
        key[16..24].copy_from_slice(&step.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        std::iter::repeat_with(move || StandardNormal.sample(&mut rng))
    }
}

/// Derivatives of the potential by ξ.
struct Slopes {
    /// ∂V/∂ξ of all sites, kJ/mol, V_Z included.
    slopes: Vec<f64>,
    /// V_Z, kJ/mol.
    metric: f64,
}

#[cfg(test)]
mod tests;
