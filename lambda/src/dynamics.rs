//! Motion of the coordinates ξ of all sites: leap-frog with constraints and a Langevin thermostat of their own.
//!
//!   v ← P [v(t−½Δt) − (Δt/2m) ∂V/∂ξ]                velocity at t, kinetic energy of the step
//!   v ← P [√κ v + √((1−κ)RT/m) R],  κ = e^{−Δt/τ}    Ornstein–Uhlenbeck process, friction 1/2τ; its change of the kinetic energy is heat
//!   v ← v − (Δt/2m) ∂V/∂ξ,   ξ(t+Δt) = ξ(t) + Δt v + constraints,   v(t+½Δt) = (ξ(t+Δt) − ξ(t))/Δt
//!
//! P takes off what the constraints do not allow ([`constraints`]): Σ λ_α = 1, Σ x_α² = 1, and with charge buffers the total charge Σ λ_sα Q_sα;
//! ∂V/∂ξ then holds the force that keeps probabilities as they are without that constraint (`metric`), whose energy V_Z belongs to V.
//! V + kinetic − heat is conserved as well as V + kinetic without a thermostat.
//!
//! Random numbers are counter-based, ChaCha8 keyed by (seed, stream, step): coordinates, velocities and heat are the whole state.
//!
//! Units: ps, u nm² (masses), 1/ps (velocities), e, kJ/mol, K.

pub mod constraints;
mod metric;

use forcefield::units::GAS_CONSTANT;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::coordinate::Coordinate;
use constraints::Constraints;

/// How far a linear weight may be from ½ before the motion counts as broken; the walls hold it within 0.75.
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
    /// A list of a wrong length.
    #[error("λ dynamics: {found} values of {what}, expected {expected}")]
    Length {
        /// Which list.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Length needed.
        expected: usize,
    },
    /// A derivative is not a number.
    #[error("step {step}: ∂V/∂λ of site {site} (counted from 1) is {value} kJ/mol")]
    NotFinite {
        /// Site, from 1.
        site: usize,
        /// Step.
        step: u64,
        /// The derivative by a coordinate.
        value: f64,
    },
    /// A weight left its range.
    #[error(
        "step {step}: λ of site {site} (counted from 1) escaped to {lambda}; the time step is too long or a potential too steep"
    )]
    Escaped {
        /// Site, from 1.
        site: usize,
        /// Step.
        step: u64,
        /// The weight.
        lambda: f64,
    },
    /// The total charge could not be kept.
    #[error(
        "step {step}: the total charge of sites and buffers is {found:e} e off; the time step is too long, or nothing that moves can take up charge"
    )]
    Charge {
        /// Step.
        step: u64,
        /// Deviation, e.
        found: f64,
    },
    /// Weights at the start that do not have the total charge to be kept.
    #[error("the sites and buffers have a charge of {found} e at the start, {expected} e are to be kept")]
    StartCharge {
        /// Charge at the start, e.
        found: f64,
        /// Charge wanted, e.
        expected: f64,
    },
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

/// How one site moves.
#[derive(Clone, Debug, PartialEq)]
pub struct SiteMotion {
    /// Its coordinate.
    pub coordinate: Coordinate,
    /// Number of its forms.
    pub n_forms: usize,
    /// Mass of each number of ξ, u nm²; [`crate::coordinate::MASS`] is usual.
    pub mass: f64,
    /// Net charge of each form, e.
    pub charges: Vec<f64>,
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
    sites: Vec<SiteMotion>,
    constraints: Constraints,
    /// First number of ξ, and first weight, of each site, and the ends.
    coordinate_starts: Vec<usize>,
    weight_starts: Vec<usize>,
    degrees_of_freedom: usize,
}

impl LambdaDynamics {
    /// The motion of `sites`; with `total_charge` (e) the charge Σ λ_sα Q_sα of all of them is kept at this value.
    ///
    /// # Errors
    /// [`DynamicsError`] for a value that is not finite or not positive, and charges that are not one for each form.
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
        for site in &sites {
            length("charges of the forms of a site", site.charges.len(), site.n_forms)?;
        }
        let starts = |size: fn(&SiteMotion) -> usize| {
            let ends = sites.iter().scan(0, |end, site| {
                *end += size(site);
                Some(*end)
            });
            std::iter::once(0).chain(ends).collect::<Vec<usize>>()
        };
        let free: usize = sites.iter().map(|site| site.coordinate.degrees_of_freedom(site.n_forms)).sum();
        Ok(Self {
            settings,
            coordinate_starts: starts(|site| site.coordinate.dimension(site.n_forms)),
            weight_starts: starts(|site| site.n_forms),
            degrees_of_freedom: free.saturating_sub(usize::from(total_charge.is_some())),
            constraints: Constraints::new(total_charge),
            sites,
        })
    }

    /// The settings.
    pub fn settings(&self) -> &LambdaSettings {
        &self.settings
    }

    /// How each site moves.
    pub fn sites(&self) -> &[SiteMotion] {
        &self.sites
    }

    /// Charge of all sites that is kept, e.
    pub fn total_charge(&self) -> Option<f64> {
        self.constraints.total_charge
    }

    /// First number of ξ of each site, and the end.
    pub fn coordinate_starts(&self) -> &[usize] {
        &self.coordinate_starts
    }

    /// First weight of each site, and the end.
    pub fn weight_starts(&self) -> &[usize] {
        &self.weight_starts
    }

    /// Number of weights.
    pub fn n_weights(&self) -> usize {
        self.weight_starts[self.sites.len()]
    }

    /// Directions in which all ξ together can move.
    pub fn degrees_of_freedom(&self) -> usize {
        self.degrees_of_freedom
    }

    /// Weights of all sites.
    pub fn weights(&self, state: &LambdaState) -> Vec<f64> {
        self.weights_at(&state.coordinates)
    }

    pub(crate) fn weights_at(&self, coordinates: &[f64]) -> Vec<f64> {
        let mut weights = vec![0.0; self.n_weights()];
        for (s, site) in self.sites.iter().enumerate() {
            let xi = &coordinates[self.coordinate_starts[s]..self.coordinate_starts[s + 1]];
            site.coordinate.weights(xi, &mut weights[self.weight_starts[s]..self.weight_starts[s + 1]]);
        }
        weights
    }

    /// Σ λ_sα Q_sα, e.
    pub fn charge(&self, weights: &[f64]) -> f64 {
        self.sites.iter().flat_map(|site| &site.charges).zip(weights).map(|(q, w)| q * w).sum()
    }

    /// Sites at the given weights (of all sites, one after the other) with Maxwell–Boltzmann velocities.
    ///
    /// # Errors
    /// A weight that is not finite or farther than 1 from ½; weights of another charge than the one to be kept.
    pub fn initial_state(&self, weights: &[f64]) -> Result<LambdaState, DynamicsError> {
        length("weights", weights.len(), self.n_weights())?;
        if let Some(&value) = weights.iter().find(|&&l| !(0.5 - ESCAPE..=0.5 + ESCAPE).contains(&l)) {
            return Err(DynamicsError::Setting { name: "initial λ", value, expected: "−0.5 to 1.5" });
        }
        let n = self.coordinate_starts[self.sites.len()];
        let mut state = LambdaState { coordinates: vec![0.0; n], velocities: vec![0.0; n], heat: 0.0 };
        for (s, site) in self.sites.iter().enumerate() {
            let xi = &mut state.coordinates[self.coordinate_starts[s]..self.coordinate_starts[s + 1]];
            site.coordinate.at_weights(&weights[self.weight_starts[s]..self.weight_starts[s + 1]], xi);
        }
        self.constraints.settle_start(self, &mut state.coordinates)?;
        let rt = GAS_CONSTANT * self.settings.temperature;
        let normals = self.random(Stream::Velocities, 0);
        for ((v, mass), normal) in self.moving(&mut state.velocities).zip(normals) {
            *v = (rt / mass).sqrt() * normal;
        }
        self.constraints.project(self, &state.coordinates, &mut state.velocities);
        Ok(state)
    }

    /// One step: from ξ(t), v(t−½Δt) and ∂V/∂λ_α(t) of all weights (kJ/mol, whole: force field and bias) to ξ(t+Δt), v(t+½Δt).
    /// `step` counts the steps of the run; with the seed it fixes the random numbers.
    ///
    /// Returns the energies at time t.
    ///
    /// # Errors
    /// [`DynamicsError`]: wrong length, derivatives not finite, λ escaped through the walls, charge not kept. The state is then unchanged.
    pub fn step(&self, state: &mut LambdaState, by_weight: &[f64], step: u64) -> Result<LambdaEnergies, DynamicsError> {
        let (slopes, metric) = self.derivatives(state, by_weight, step)?;
        let mut velocities = state.velocities.clone();
        self.kick(&mut velocities, &slopes);
        self.constraints.project(self, &state.coordinates, &mut velocities);
        let kinetic = self.kinetic_of(&velocities);
        let heat = self.thermostat(&state.coordinates, &mut velocities, kinetic, step);
        self.kick(&mut velocities, &slopes);
        let mut moved = state.coordinates.clone();
        for (xi, v) in moved.iter_mut().zip(&velocities) {
            *xi += self.settings.time_step * v;
        }
        self.constraints.apply(self, &state.coordinates, &mut moved, step)?;
        self.check_range(&moved, step)?;
        for ((v, now), then) in velocities.iter_mut().zip(&moved).zip(&state.coordinates) {
            *v = (now - then) / self.settings.time_step;
        }
        state.heat += heat;
        (state.coordinates, state.velocities) = (moved, velocities);
        Ok(self.energies(kinetic, state.heat, metric))
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
        let (slopes, metric) = self.derivatives(state, by_weight, step)?;
        let mut velocities = state.velocities.clone();
        self.kick(&mut velocities, &slopes);
        self.constraints.project(self, &state.coordinates, &mut velocities);
        Ok(self.energies(self.kinetic_of(&velocities), state.heat, metric))
    }

    fn energies(&self, kinetic: f64, heat: f64, metric: f64) -> LambdaEnergies {
        let free = self.degrees_of_freedom as f64;
        let temperature = if free > 0.0 { 2.0 * kinetic / (free * GAS_CONSTANT) } else { 0.0 };
        LambdaEnergies { kinetic, temperature, heat, metric }
    }

    /// dV/dξ of all sites, V_Z included, and V_Z.
    fn derivatives(&self, state: &LambdaState, by_weight: &[f64], step: u64) -> Result<(Vec<f64>, f64), DynamicsError> {
        let n = self.coordinate_starts[self.sites.len()];
        length("derivatives", by_weight.len(), self.n_weights())?;
        length("coordinates", state.coordinates.len(), n)?;
        length("velocities", state.velocities.len(), n)?;
        let weights = self.weights(state);
        let mut slopes = vec![0.0; n];
        for (s, site) in self.sites.iter().enumerate() {
            let (at, form) = (
                self.coordinate_starts[s]..self.coordinate_starts[s + 1],
                self.weight_starts[s]..self.weight_starts[s + 1],
            );
            let xi = &state.coordinates[at.clone()];
            site.coordinate.derivative(xi, &weights[form.clone()], &by_weight[form], &mut slopes[at.clone()]);
            if let Some(&value) = slopes[at].iter().find(|slope| !slope.is_finite()) {
                return Err(DynamicsError::NotFinite { site: s + 1, step, value });
            }
        }
        let metric = self.metric(&state.coordinates, &mut slopes);
        Ok((slopes, metric))
    }

    /// Half a step of the forces.
    fn kick(&self, velocities: &mut [f64], slopes: &[f64]) {
        let half = 0.5 * self.settings.time_step;
        for (k, (v, mass)) in self.masses(velocities).enumerate() {
            *v -= half / mass * slopes[k];
        }
    }

    fn kinetic_of(&self, velocities: &[f64]) -> f64 {
        let of_site = |(s, site): (usize, &SiteMotion)| {
            let v = &velocities[self.coordinate_starts[s]..self.coordinate_starts[s + 1]];
            0.5 * site.mass * v.iter().map(|v| v * v).sum::<f64>()
        };
        self.sites.iter().enumerate().map(of_site).sum()
    }

    /// The Ornstein–Uhlenbeck process over one step; the heat it brings.
    fn thermostat(&self, coordinates: &[f64], velocities: &mut [f64], kinetic: f64, step: u64) -> f64 {
        let Some(coupling_time) = self.settings.coupling_time else {
            return 0.0;
        };
        let kept = (-self.settings.time_step / coupling_time).exp();
        let scale = (1.0 - kept) * GAS_CONSTANT * self.settings.temperature;
        for ((v, mass), normal) in self.moving(velocities).zip(self.normals(step)) {
            *v = kept.sqrt() * *v + (scale / mass).sqrt() * normal;
        }
        self.constraints.project(self, coordinates, velocities);
        self.kinetic_of(velocities) - kinetic
    }

    fn check_range(&self, coordinates: &[f64], step: u64) -> Result<(), DynamicsError> {
        for (s, _) in self.sites.iter().enumerate().filter(|(_, site)| site.coordinate.needs_walls()) {
            let xi = &coordinates[self.coordinate_starts[s]..self.coordinate_starts[s + 1]];
            if let Some(&lambda) = xi.iter().find(|&&l| !(0.5 - ESCAPE..=0.5 + ESCAPE).contains(&l)) {
                return Err(DynamicsError::Escaped { site: s + 1, step, lambda });
            }
        }
        Ok(())
    }

    /// A number for each ξ, with its mass.
    fn masses<'a>(&'a self, values: &'a mut [f64]) -> impl Iterator<Item = (&'a mut f64, f64)> {
        let masses =
            self.sites.iter().flat_map(|site| std::iter::repeat_n(site.mass, site.coordinate.dimension(site.n_forms)));
        values.iter_mut().zip(masses)
    }

    /// The same for those ξ that move: what random numbers are drawn for.
    fn moving<'a>(&'a self, values: &'a mut [f64]) -> impl Iterator<Item = (&'a mut f64, f64)> {
        let moves = self.sites.iter().flat_map(|site| {
            std::iter::repeat_n(site.coordinate != Coordinate::Fixed, site.coordinate.dimension(site.n_forms))
        });
        self.masses(values).zip(moves).filter(|(_, moves)| *moves).map(|(value, _)| value)
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

pub(crate) fn length(what: &'static str, found: usize, expected: usize) -> Result<(), DynamicsError> {
    if found == expected { Ok(()) } else { Err(DynamicsError::Length { what, found, expected }) }
}

#[cfg(test)]
mod tests;
