//! A system that moves: positions, velocities and λ, one leap-frog step after the other.
//!
//! One step, from t to t + dt (velocities from t − ½dt to t + ½dt):
//!
//! ```text
//! lists rebuilt if an atom has moved too far        hamiltonian.rebuild
//! F(x, λ), ∂V/∂λ_α                                  hamiltonian.evaluate
//! barriers that adapt     every 100 steps           titration
//! v ← α v                 every 10 steps            thermostat
//! v ← v − v_com           every remove_com steps    com
//! v ← v + dt F/m, x ← x + dt v, constraints         integrator
//! λ, v_λ likewise, with their own thermostat        lambda::dynamics
//! x ← μ x, v ← v/μ        every interval steps      barostat
//! ```
//!
//! Units: nm, ps, u, kJ/mol, K; pressure in bar towards people.

mod device;
mod propagate;
mod sites;
mod start;
mod walker;

use crate::barostat::{self, CRescale};
use crate::cell::{Cell, Fragments};
use crate::checkpoint::Owner;
use crate::com;
use crate::config::{self, Config};
use crate::constraints::{ConstraintError, Constraints};
use crate::error::{Error, PhysicsError, Result};
use crate::frame::Quantity;
use crate::hamiltonian::{Energies, Hamiltonian};
use crate::integrator::{self, LeapFrog, StepEnergies, kinetic_energy};
use crate::thermostat::VRescale;
use crate::titration::Sites;
use forcefield::Topology;
use kernels::device::Device;
use lambda::dynamics::LambdaState;
use nalgebra::Vector3;

/// Net charges (e) below this come from the rounding of charges in files.
const CHARGE_TOLERANCE: f64 = 1e-3;

/// Steps between two actions of the thermostat: short beside its coupling time.
const THERMOSTAT_INTERVAL: u64 = 10;

/// A system in motion.
pub struct Simulation {
    hamiltonian: Hamiltonian,
    sites: Option<Sites>,
    model: Model,
    thermostat: Option<VRescale>,
    barostat: Option<CRescale>,
    now: Now,
    /// Positions and box of the last list rebuild: a continued run makes the same lists.
    lists: (Vec<Vector3<f64>>, Option<Vector3<f64>>),
    /// Energies at the present positions and λ, once computed, with `forces` and `by_weight`, ∂V/∂λ_α of all sites.
    energies: Option<Energies>,
    forces: Vec<Vector3<f64>>,
    by_weight: Vec<f64>,
    previous: Vec<Vector3<f64>>,
    /// Positions for output, with every fragment in the box.
    wrapped: Vec<Vector3<f64>>,
    on_device: Option<device::OnDevice>,
    /// What computes, in words.
    computed_by: String,
}

/// Energies and their derivatives at one point.
#[derive(Debug, Clone)]
pub struct SinglePoint {
    /// Every term of the force field, then their sum.
    pub energies: Vec<Quantity>,
    /// Forces (kJ/mol/nm), one per atom.
    pub forces: Vec<Vector3<f64>>,
    /// ∂V/∂λ without bias (kJ/mol), in the columns of `lambda.csv`.
    pub dvdl: Vec<f64>,
}

/// What does not change.
struct Model {
    masses: Vec<f64>,
    constraints: Constraints,
    fragments: Fragments,
    degrees_of_freedom: usize,
    dt: f64,
    dynamics: config::Dynamics,
    minimise: Option<config::Minimise>,
    temperature: Option<f64>,
    barostat_interval: u64,
    start_velocities: Option<Vec<Vector3<f64>>>,
    owner: Owner,
}

/// What moves.
struct Now {
    step: u64,
    x: Vec<Vector3<f64>>,
    /// Half a step before `x`.
    v: Vec<Vector3<f64>>,
    edges: Option<Vector3<f64>>,
    lambda: LambdaState,
}

/// Kinetic energies and constraint forces of one step, with what follows from them.
struct Motion {
    step: StepEnergies,
    lambda_kinetic: f64,
    lambda_temperature: f64,
    /// What the constraint on the charge is corrected by, kJ/mol.
    lambda_metric: f64,
}

impl Simulation {
    /// Reads the files of a job and sets everything up; nothing is computed yet.
    ///
    /// # Errors
    /// [`Error::Input`] with file and line, or the key of the job.
    pub fn new(config: &Config) -> Result<Self> {
        Self::build(config, None, true)
    }

    /// The same on a GPU, if one is given.
    ///
    /// # Errors
    /// As [`Simulation::new`]; a system that the device cannot hold.
    pub fn on(config: &Config, device: Option<&Device>) -> Result<Self> {
        Self::build(config, device, true)
    }

    /// One of many on the same GPU: nothing in a step runs side by side, which leaves room for the others.
    ///
    /// # Errors
    /// As [`Simulation::on`].
    pub fn among_many(config: &Config, device: Option<&Device>) -> Result<Self> {
        Self::build(config, device, false)
    }

    fn build(config: &Config, device: Option<&Device>, alone: bool) -> Result<Self> {
        let (mut topology, structure) = crate::system::read(config)?;
        topology.constrain_bonds(match config.dynamics.constraints {
            config::Constraints::None => forcefield::topology::BondConstraints::None,
            config::Constraints::HBonds => forcefield::topology::BondConstraints::HBonds,
            config::Constraints::AllBonds => forcefield::topology::BondConstraints::AllBonds,
        });
        let edges = crate::system::edges(config, &structure)?;
        let mut x = structure.positions.clone();
        let fragments = Fragments::new(&topology);
        if let Some(edges) = edges {
            let cell = Cell::new(edges).map_err(|e| Error::input(e.to_string(), ""))?;
            fragments.make_whole(&cell, &mut x).map_err(|e| Error::input(e.to_string(), ""))?;
        }
        let sites = Sites::new(config, &mut topology, &x, edges)?;
        let model = Model::new(config, &topology, &structure, fragments, sites.as_ref())?;
        let thermostat = match &config.thermostat {
            Some(t) => Some(
                VRescale::new(t.temperature.get(), t.coupling_time.get(), model.degrees_of_freedom)
                    .map_err(|e| config.error_at("thermostat", e.to_string(), ""))?,
            ),
            None => None,
        };
        let barostat = match &config.barostat {
            Some(b) => Some(start::barostat(config, b, model.temperature, edges)?),
            None => None,
        };
        let n = x.len();
        let lambda = sites.as_ref().map_or(Ok(LambdaState::default()), Sites::initial_state)?;
        let list = sites.as_ref().map_or((&[][..], &[][..]), |sites| (&sites.sites[..], &sites.variants[..]));
        let mut simulation = Self {
            hamiltonian: Hamiltonian::new(config, topology, &x, edges, list)?,
            sites,
            thermostat,
            barostat,
            now: Now { step: 0, x, v: vec![Vector3::zeros(); n], edges, lambda },
            lists: (Vec::new(), edges),
            energies: None,
            forces: vec![Vector3::zeros(); n],
            by_weight: Vec::new(),
            previous: Vec::with_capacity(n),
            wrapped: Vec::new(),
            model,
            on_device: None,
            computed_by: device.map_or_else(crate::device::choice::cpu, Device::name),
        };
        simulation.on_device =
            device.map(|device| device::OnDevice::new(config, device, alone, &simulation)).transpose()?;
        Ok(simulation)
    }

    /// Says more about what computes, for the log.
    #[must_use]
    pub fn computed_by(mut self, words: String) -> Self {
        self.computed_by = words;
        self
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        self.hamiltonian.topology()
    }

    /// Every term of the force field at the present positions and λ.
    ///
    /// # Errors
    /// [`Error::Physics`].
    pub fn energies(&mut self) -> Result<Energies> {
        self.refresh()
    }

    /// Forces (kJ/mol/nm) of the last [`Self::energies`].
    pub fn forces(&self) -> &[Vector3<f64>] {
        &self.forces
    }

    /// ∂V/∂λ_α of every form of every site, without bias (kJ/mol), of the last [`Self::energies`].
    pub fn derivatives(&self) -> &[f64] {
        &self.by_weight
    }

    /// Energies, forces and ∂V/∂λ at the present positions and λ.
    ///
    /// # Errors
    /// [`Error::Physics`].
    pub fn single_point(&mut self) -> Result<SinglePoint> {
        let energies = self.energies()?;
        let mut list = energies.terms().to_vec();
        list.push(Quantity { name: "potential", unit: "kJ/mol", value: energies.potential() });
        let dvdl = self.sites.as_ref().map_or(Vec::new(), |sites| sites.columns(&self.by_weight, true));
        Ok(SinglePoint { energies: list, forces: self.forces.clone(), dvdl })
    }

    /// Energies and forces of the present state; lists are rebuilt where needed.
    fn refresh(&mut self) -> Result<Energies> {
        if let Some(energies) = self.energies {
            return Ok(energies);
        }
        if self.on_device.is_some() {
            return self.refresh_on_device();
        }
        let step = self.now.step;
        self.update_lists().map_err(|e| at_step(e, step))?;
        let sites: &[lambda::Site] = self.sites.as_ref().map_or(&[], |sites| &sites.sites);
        let weights = self.sites.as_ref().map_or(Vec::new(), |sites| sites.weights(&self.now.lambda));
        let now = &self.now;
        let energies = self
            .hamiltonian
            .evaluate(&now.x, now.edges, sites, &weights, &mut self.forces, &mut self.by_weight)
            .map_err(|e| at_step(e, step))?;
        self.energies = Some(energies);
        Ok(energies)
    }

    fn update_lists(&mut self) -> Result<()> {
        let now = &self.now;
        if !self.lists.0.is_empty() && !self.hamiltonian.is_stale(&now.x, now.edges) {
            return Ok(());
        }
        self.hamiltonian.rebuild(&now.x, now.edges)?;
        self.lists.0.clone_from(&now.x);
        self.lists.1 = now.edges;
        Ok(())
    }

    /// Moves positions and velocities by one step; the state is complete but for λ and the barostat.
    fn leap(&mut self) -> Result<StepEnergies> {
        let model = &self.model;
        let leap = LeapFrog { masses: &model.masses, constraints: &model.constraints, dt: model.dt };
        let now = &mut self.now;
        leap.step(&mut now.x, &mut now.v, &self.forces, &mut self.previous)
            .map_err(|e| constraint_error(&e, self.hamiltonian.topology()))
    }

    /// Kinetic energies and constraint forces at the present step: half a step is looked ahead and taken back.
    fn look_ahead(&mut self) -> Result<Motion> {
        let velocities = self.now.v.clone();
        let step = self.leap()?;
        std::mem::swap(&mut self.now.x, &mut self.previous);
        self.now.v = velocities;
        let (mut lambda_kinetic, mut lambda_temperature, mut lambda_metric) = (0.0, 0.0, 0.0);
        if let Some(sites) = &self.sites {
            let energies = sites.look_ahead(&self.now.lambda, &self.by_weight, self.now.step)?;
            (lambda_kinetic, lambda_temperature) = (energies.kinetic, energies.temperature);
            lambda_metric = energies.metric;
        }
        Ok(Motion { step, lambda_kinetic, lambda_temperature, lambda_metric })
    }

    fn volume(&self) -> Option<f64> {
        self.now.edges.map(|edges| edges.product())
    }

    /// Pressure (kJ/mol/nm³); `None` without a box.
    fn pressure(&self, energies: &Energies, step: &StepEnergies) -> Option<f64> {
        let virial = energies.virial + step.constraint_virial;
        self.volume().map(|volume| integrator::pressure(step.kinetic(), virial, volume))
    }

    /// The step, all of it, with forces at hand.
    fn move_on(&mut self) -> Result<()> {
        self.adapt()?;
        let energies = self.refresh()?;
        let (step, dt, seed) = (self.now.step, self.model.dt, self.model.dynamics.seed);
        if let Some(thermostat) = self.thermostat.as_mut().filter(|_| step.is_multiple_of(THERMOSTAT_INTERVAL)) {
            let kinetic = kinetic_energy(&self.now.v, &self.model.masses);
            let factor = thermostat
                .rescale(kinetic, THERMOSTAT_INTERVAL as f64 * dt, seed, step)
                .map_err(|e| physics("thermostat", &e))?;
            integrator::scale(&mut self.now.v, factor);
        }
        let every = self.model.dynamics.remove_com_interval;
        if every > 0 && step.is_multiple_of(every) {
            com::remove_motion(&self.model.masses, &mut self.now.v);
        }
        let motion = self.leap()?;
        if let Some(sites) = &self.sites {
            sites.advance(&mut self.now.lambda, &self.by_weight, step)?;
        }
        self.scale_box(&energies, &motion, step)?;
        self.now.step += 1;
        self.energies = None;
        Ok(())
    }

    /// Lets the barostat see the pressure of the step just done and, every few steps, change the box.
    fn scale_box(&mut self, energies: &Energies, motion: &StepEnergies, step: u64) -> Result<()> {
        let (Some(pressure), Some(volume)) = (self.pressure(energies, motion), self.volume()) else {
            return Ok(());
        };
        let Some(barostat) = &mut self.barostat else {
            return Ok(());
        };
        barostat.observe(pressure);
        let every = self.model.barostat_interval;
        if !(step + 1).is_multiple_of(every) {
            return Ok(());
        }
        let (dt, seed) = (every as f64 * self.model.dt, self.model.dynamics.seed);
        let factor = barostat.couple(pressure, volume, dt, seed, step).map_err(|e| physics("barostat", &e))?;
        let now = &mut self.now;
        let edges = now.edges.unwrap_or_else(Vector3::zeros);
        let mut cell = Cell::new(edges).map_err(|e| physics("barostat", &e))?;
        let model = &self.model;
        barostat::rescale(factor, &mut cell, &mut now.x, &mut now.v, &model.masses, &model.constraints)
            .map_err(|e| physics("barostat", &e))?;
        now.edges = Some(cell.edges());
        self.hamiltonian.scale_reference(factor);
        Ok(())
    }
}

fn physics(term: &str, error: &dyn std::fmt::Display) -> Error {
    PhysicsError { message: error.to_string(), term: term.into(), ..PhysicsError::default() }.into()
}

fn constraint_error(error: &ConstraintError, topology: &Topology) -> Error {
    PhysicsError {
        message: error.to_string(),
        term: error.term().into(),
        atom: Some(topology.label(error.atom())),
        help: "minimise first, or use a shorter time step".into(),
        ..PhysicsError::default()
    }
    .into()
}

/// The same error, with the step at which it happened.
fn at_step(error: Error, step: u64) -> Error {
    match error {
        Error::Physics(mut physics) => {
            physics.step.get_or_insert(step);
            Error::Physics(physics)
        }
        other => other,
    }
}
