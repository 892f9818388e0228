//! Titratable sites of a run and their charge buffer: found in the topology, with their bias, and the dynamics of their weights.
//!
//! Per site the whole potential of the weights is V_forcefield(λ) + V_bias(λ). V_forcefield comes from
//! [`crate::backend::cpu::hamiltonian::Hamiltonian`], V_bias (barrier, walls, V_pH, V_MM) is here. A site held at fixed weights (windows of a
//! calibration) has no bias: its ∂V/∂λ is that of the force field.
//!
//! Weights, and ∂V/∂λ_α, of all sites are [`SiteValues`], indexed by site, the buffer last. What changes of the
//! sites (λ, pH, barriers) is [`SitesState`]; [`Biases`] are what follows from it.

mod bias;
mod buffer;
mod conditions;
mod factors;
mod find;
mod gather;
mod mismatch;
mod place;
mod record;
mod warnings;

pub use buffer::{NAME as BUFFER, residue as buffer_residue};
pub use find::{library, lj_types};

use crate::config::{self, BARRIER_LOOK_INTERVAL, Config};
use crate::error::{Error, PhysicsError, Result};
use crate::state::{BarrierState, SitesState};
use bias::{Recipe, no_ph};
pub(crate) use factors::check as check_factors;
use find::{Found, are_known, find, left_fixed, variants};
use forcefield::variants::SiteVariants;
use forcefield::{Cell, Topology};
use gather::Gathered;
use kernels::device::Device;
use lambda::bias::barrier::BarrierError;
use lambda::bias::ph::PhError;
use lambda::bias::{Barrier, BiasEnergies, SiteBias};
use lambda::coordinate::Coordinate;
use lambda::device::{DeviceSites, SitesError};
use lambda::library::Conditions;
use lambda::motion::{LambdaDynamics, LambdaEnergies, LambdaSettings, LambdaState, SiteMotion};
use lambda::site::{ResiduePlace, Site, Untitrated};
use lambda::{SiteLayout, SiteValues};
use nalgebra::Vector3;
use warnings::two_temperatures;

/// The sites of a run.
#[derive(Debug)]
pub struct Sites {
    /// What titrates, and the buffer behind it.
    pub sites: Vec<Site>,
    /// What differs between the forms of each besides charges.
    pub variants: Vec<SiteVariants>,
    /// What the free energy of each depends on.
    conditions: Vec<Conditions>,
    /// Where titratable sites stand in the entry that the system was made of, as the job says.
    places: Vec<Option<ResiduePlace>>,
    /// For each entry in use where its correction comes from.
    corrections: Vec<String>,
    /// What was done to barriers between rotamers.
    eased: Option<String>,
    config: Config,
    /// What the bias of each site that moves is made of.
    recipes: Vec<Recipe>,
    start: Vec<f64>,
    /// Steps in which a run that begins holds λ.
    held: u64,
    dynamics: LambdaDynamics,
    /// The pH of the job.
    ph: Option<f64>,
    temperature: f64,
    facts: Vec<(&'static str, String)>,
    warnings: Vec<String>,
    /// Groups that the library knows and that do not titrate.
    untitrated: Vec<Untitrated>,
    /// Whether every group of the library is wanted, none being named.
    all_are_wanted: bool,
}

/// The bias of every site at one pH and with barriers of one height; none where a site is fixed.
#[derive(Clone, Debug)]
pub struct Biases {
    sites: Vec<Option<SiteBias>>,
    layout: SiteLayout,
}

impl Default for Biases {
    /// No sites.
    fn default() -> Self {
        Self { sites: Vec::new(), layout: SiteLayout::new([]) }
    }
}

impl Biases {
    /// The bias of each site; none where it is fixed.
    pub fn sites(&self) -> &[Option<SiteBias>] {
        &self.sites
    }

    /// Energies at `weights`; ∂V/∂λ_α (kJ/mol) are added to `by_weight`.
    pub fn evaluate(&self, weights: &SiteValues, by_weight: &mut SiteValues) -> BiasEnergies {
        let mut sum = BiasEnergies::default();
        for ((bias, weights), by_weight) in self.sites.iter().zip(weights.sites()).zip(by_weight.sites_mut()) {
            if let Some(bias) = bias {
                sum += bias.evaluate(weights, by_weight);
            }
        }
        sum
    }

    /// V_pH (kJ/mol) that `weights` would have at another pH.
    ///
    /// # Errors
    /// A pH that is not finite.
    pub fn ph_energy(&self, weights: &SiteValues, ph: f64) -> std::result::Result<f64, PhError> {
        let mut sum = 0.0;
        for (bias, own) in self.sites.iter().zip(weights.sites()) {
            if let Some(v) = bias.as_ref().and_then(|bias| bias.ph.as_ref()) {
                sum += v.at(ph)?.evaluate(own, &mut vec![0.0; own.len()]);
            }
        }
        Ok(sum)
    }

    /// Puts another pH, which changes V_pH and nothing else: in particular no double well is solved again, which takes 20 ms for each site.
    ///
    /// # Errors
    /// A pH that is not finite.
    pub fn set_ph(&mut self, ph: f64) -> std::result::Result<(), PhError> {
        for v in self.sites.iter_mut().flatten().filter_map(|bias| bias.ph.as_mut()) {
            *v = v.at(ph)?;
        }
        Ok(())
    }

    /// Energies at `weights`, without derivatives.
    pub fn energies(&self, weights: &SiteValues) -> BiasEnergies {
        self.evaluate(weights, &mut self.layout.zeros())
    }
}

impl Sites {
    /// Finds the sites that the job asks for in `topology` at `x` (nm) in `cell`, puts the torsions of their entries into it, and chooses and
    /// restrains the molecules of the buffer; `None` if it has no `[titration]`.
    ///
    /// # Errors
    /// [`crate::error::InputError`] that names the key: unknown residue, atoms missing, no calibration, library not readable, a charge that
    /// the buffer cannot take up.
    pub fn new(config: &Config, topology: &mut Topology, x: &[Vector3<f64>], cell: Cell) -> Result<Option<Self>> {
        let Some(settings) = &config.titration else {
            return Ok(None);
        };
        let library = library(config)?;
        let found = find(config, settings, topology, &library)?;
        let untitrated = left_fixed(config, settings, topology, &library, &found)?;
        let temperature = temperature(config, settings);
        let mut all = Gathered::new(config, settings, &found)?;
        let bath = config.thermostat.as_ref().map(|thermostat| thermostat.temperature.get());
        all.warnings.extend(two_temperatures(temperature, bath));
        lambda::site::hold_torsions(topology, &library, &all.sites);
        let rest = rest(topology, &found);
        let buffer = all.choose_buffer(config, &library, topology, (x, cell), (&found, rest))?;
        are_known(config, topology, &library, found.iter().filter(|one| !one.is_fixed()))?;
        all.add_recipes(config, settings, &found, temperature)?;
        if let Some(buffer) = buffer {
            all.add_buffer(config, settings, buffer, rest)?;
        }
        let of_forms = |site| variants(config, topology, &library, site);
        let mut variants: Vec<SiteVariants> = all.sites.iter().map(of_forms).collect::<Result<_>>()?;
        let conditions = all.conditions(config, topology, &library, temperature);
        let corrections = all.corrections(config, settings, (topology, &library), &conditions)?;
        // After the fingerprints of the force field, which corrections were calibrated with.
        let eased = all.ease_rotamers(settings, topology, &mut variants);
        let moving = LambdaSettings {
            time_step: config.dynamics.time_step.get(),
            temperature,
            coupling_time: config.thermostat.as_ref().map(|_| settings.coupling_time.get()),
            seed: config.dynamics.seed,
        };
        let dynamics = LambdaDynamics::new(moving, all.motion, all.total_charge);
        let dynamics = dynamics.map_err(|e| config.error_at("titration", e.to_string(), ""))?;
        if settings.ph.is_none() && all.recipes.iter().any(Recipe::has_ph) {
            return Err(no_ph(config));
        }
        Ok(Some(Self {
            variants,
            conditions,
            places: found.iter().map(|one| one.request.and_then(|(_, request)| request.place.clone())).collect(),
            corrections,
            eased,
            sites: all.sites,
            config: config.clone(),
            recipes: all.recipes,
            start: all.weights.concat(),
            held: settings.relax.map_or(0, |time| (time.get() / config.dynamics.time_step.get()).round() as u64),
            dynamics,
            ph: settings.ph,
            temperature,
            facts: all.facts,
            warnings: all.warnings,
            untitrated,
            all_are_wanted: settings.sites.is_empty(),
        }))
    }

    /// The bias of every site at the pH and with the barriers of `state`.
    ///
    /// # Errors
    /// A height out of range, a pH that is not finite.
    pub fn biases(&self, state: &SitesState) -> Result<Biases> {
        let mut sites = vec![None; self.sites.len()];
        // Barriers mostly have one height, and solving a double well takes 20 ms.
        let mut solved: Vec<Barrier> = Vec::new();
        for (recipe, BarrierState { height, .. }) in self.recipes.iter().zip(&state.barriers) {
            let barrier = match solved.iter().find(|one| one.height == *height) {
                Some(barrier) => *barrier,
                None => {
                    let refused = |e: BarrierError| self.config.error_at("titration.barrier", e.to_string(), "");
                    let barrier = Barrier::solve(*height).map_err(refused)?;
                    solved.push(barrier);
                    barrier
                }
            };
            sites[recipe.index] = Some(recipe.bias(&self.config, state.ph, barrier, self.temperature)?);
        }
        Ok(Biases { sites, layout: self.layout().clone() })
    }

    /// The same on a device, for the system of `topology`; random numbers for `steps` steps at a time.
    ///
    /// # Errors
    /// Out of memory.
    pub fn on_device(
        &self,
        biases: &Biases,
        device: &Device,
        topology: &Topology,
        steps: usize,
    ) -> std::result::Result<DeviceSites, SitesError> {
        let sizes = (topology.n_atoms(), steps);
        DeviceSites::new(device, &self.sites, biases.sites(), topology, &self.dynamics, sizes)
    }

    /// Weights of all sites.
    pub fn weights(&self, state: &LambdaState) -> SiteValues {
        self.dynamics.weights(state)
    }

    /// Where the values of each site lie among those of all sites.
    pub fn layout(&self) -> &SiteLayout {
        self.dynamics.weight_layout()
    }

    /// The state at the start: weights with Maxwell velocities where they are free, the pH of the job, barriers of their first height.
    ///
    /// # Errors
    /// A start value out of range.
    pub fn initial_state(&self) -> Result<SitesState> {
        Ok(SitesState {
            lambda: LambdaState { held: self.held, ..self.lambda_at(&self.start)? },
            ph: self.ph,
            barriers: self.recipes.iter().map(Recipe::start).collect(),
            barrier_work: 0.0,
        })
    }

    /// λ at these weights, as at a start.
    ///
    /// # Errors
    /// A weight out of range, or a charge other than the one that is kept.
    pub fn lambda_at(&self, weights: &[f64]) -> Result<LambdaState> {
        self.dynamics.initial_state(weights).map_err(|e| Error::input(e.to_string(), ""))
    }

    /// One step with the derivatives `by_weight` (kJ/mol) of the force field, and those of the bias.
    ///
    /// # Errors
    /// [`PhysicsError`]: ∂V/∂λ not finite, λ through the walls.
    pub fn advance(&self, biases: &Biases, state: &mut LambdaState, by_weight: &SiteValues, step: u64) -> Result<()> {
        let whole = self.with_bias(biases, state, by_weight);
        self.dynamics.step(state, &whole, step).map(|_| ()).map_err(|e| physics(&e, step))
    }

    /// Kinetic energy at a step, which does not move.
    ///
    /// # Errors
    /// As [`Self::advance`].
    pub fn look_ahead(
        &self,
        biases: &Biases,
        state: &LambdaState,
        by_weight: &SiteValues,
        step: u64,
    ) -> Result<LambdaEnergies> {
        let whole = self.with_bias(biases, state, by_weight);
        self.dynamics.look_ahead(state, &whole, step).map_err(|e| physics(&e, step))
    }

    fn with_bias(&self, biases: &Biases, state: &LambdaState, by_weight: &SiteValues) -> SiteValues {
        let mut whole = by_weight.clone();
        biases.evaluate(&self.weights(state), &mut whole);
        whole
    }

    /// Protons lost, Σ_s Σ_α λ_sα d_α over the sites on which the pH acts.
    pub fn protons(&self, weights: &SiteValues) -> f64 {
        let site = |recipe: &Recipe| -> f64 {
            let forms = &self.sites[recipe.index].forms;
            forms.iter().zip(weights.site(recipe.index)).map(|(form, w)| w * f64::from(form.protons_lost)).sum()
        };
        self.recipes.iter().filter(|recipe| recipe.has_ph()).map(site).sum()
    }

    /// Whether barriers that adapt look at the weights at `step`.
    pub fn observes(&self, state: &SitesState, step: u64) -> bool {
        step <= self.adapts_until(state) && step.is_multiple_of(BARRIER_LOOK_INTERVAL)
    }

    /// Lets barriers that adapt see the weights of `state` at `step`, where [`Self::observes`]; the new biases if a height changes.
    ///
    /// # Errors
    /// A height out of range.
    pub fn observe(&self, state: &mut SitesState, biases: &Biases, step: u64) -> Result<Option<Biases>> {
        let weights = self.weights(&state.lambda);
        let dt = self.dynamics.settings().time_step;
        let begin = adapts_from(state);
        let mut changed = false;
        for (recipe, barrier) in self.recipes.iter().zip(&mut state.barriers) {
            changed |= recipe.observe(barrier, weights.site(recipe.index), step.saturating_sub(begin), dt);
        }
        if !changed {
            return Ok(None);
        }
        let after = self.biases(state)?;
        state.barrier_work += after.energies(&weights).total() - biases.energies(&weights).total();
        Ok(Some(after))
    }

    /// Step after which no barrier changes any more.
    pub fn adapts_until(&self, state: &SitesState) -> u64 {
        match self.recipes.iter().map(Recipe::frozen_after).max() {
            None | Some(0) => 0,
            Some(after) => adapts_from(state) + after,
        }
    }
}

/// Step from which barriers that adapt look at λ: the first look after λ has been held.
fn adapts_from(state: &SitesState) -> u64 {
    state.lambda.held.next_multiple_of(BARRIER_LOOK_INTERVAL)
}

fn physics(error: &dyn std::fmt::Display, step: u64) -> Error {
    PhysicsError { message: error.to_string(), term: "λ".into(), step: Some(step), ..PhysicsError::default() }.into()
}

/// What moves in a site.
fn coordinate(config: &Config, settings: &config::Titration, found: &Found<'_>) -> Result<Coordinate> {
    if found.is_fixed() {
        return Ok(Coordinate::Fixed);
    }
    let variant = found.request.and_then(|(_, request)| request.coordinate).unwrap_or(settings.coordinate);
    Coordinate::new(variant, settings.coupling.lambda(), found.site.forms.len())
        .map_err(|e| config.error_at("titration.coupling", format!("{}: {e}", found.site.name), "use \"auto\""))
}

/// The weights that a coordinate has nearest to `weights`.
fn reachable(coordinate: Coordinate, mut weights: Vec<f64>) -> Vec<f64> {
    let mut xi = vec![0.0; coordinate.dimension(weights.len())];
    coordinate.at_weights(&weights, &mut xi);
    coordinate.weights(&xi, &mut weights);
    weights
}

fn site_motion(site: &Site, coordinate: Coordinate, settings: &config::Titration) -> SiteMotion {
    let n_forms = site.forms.len();
    let charges = (0..n_forms).map(|form| site.net_charge(form)).collect();
    SiteMotion { coordinate, n_forms, mass: settings.mass.get(), charges }
}

/// Charge of all atoms that belong to no site, e.
fn rest(topology: &Topology, found: &[Found<'_>]) -> f64 {
    let mut charges = topology.charges();
    found.iter().flat_map(|one| &one.site.atoms).for_each(|&atom| charges[atom as usize] = 0.0);
    charges.iter().sum()
}

/// Temperature of λ and of V_pH (K): the job's, the thermostat's, or 300 K.
fn temperature(config: &Config, settings: &config::Titration) -> f64 {
    let own = settings.temperature.or_else(|| config.thermostat.as_ref().map(|t| t.temperature));
    own.unwrap_or_else(|| config::Thermostat::default().temperature).get()
}
