//! A system that moves: positions, velocities and λ, one leap-frog step after the other.
//!
//! One step, from t to t + dt (velocities from t − ½dt to t + ½dt):
//!
//! ```text
//! lists rebuilt if an atom has moved too far        hamiltonian.rebuild
//! F(x, λ), dV/dλ                                    hamiltonian.evaluate
//! v ← α v                 every 10 steps            thermostat
//! v ← v − v_com           every remove_com steps    com
//! v ← v + dt F/m, x ← x + dt v, constraints         integrator
//! λ, v_λ likewise, with their own thermostat        lambda::dynamics
//! x ← μ x, v ← v/μ        every interval steps      barostat
//! ```
//!
//! Units: nm, ps, u, kJ/mol, K; pressure in bar towards people.

use crate::barostat::{self, BarostatSettings, CRescale};
use crate::cell::{Cell, Fragments};
use crate::checkpoint::{Digest, Owner, State};
use crate::com;
use crate::config::{self, Config, Velocities};
use crate::constraints::{ConstraintError, Constraints, DEFAULT_TOLERANCE};
use crate::error::{Error, PhysicsError, Result};
use crate::hamiltonian::{Energies, Hamiltonian};
use crate::integrator::{self, LeapFrog, StepEnergies, kinetic_energy, start_velocities};
use crate::minimise::{MinimiseEnd, MinimiseError, MinimiseSettings, steepest_descent};
use crate::output::{Frame, Quantity};
use crate::thermostat::VRescale;
use crate::titration::Sites;
use crate::workflow::run::{Description, Propagate, settings_of};
use forcefield::Topology;
use forcefield::gromacs::{Structure, write_gro};
use forcefield::units::{BAR, DENSITY};
use lambda::dynamics::LambdaState;
use nalgebra::Vector3;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

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
    /// Energies at the present positions and λ, once computed, with `forces` and `dvdl`.
    energies: Option<Energies>,
    forces: Vec<Vector3<f64>>,
    dvdl: Vec<f64>,
    previous: Vec<Vector3<f64>>,
    /// Positions for output, with every fragment in the box.
    wrapped: Vec<Vector3<f64>>,
}

/// Energies and their derivatives at one point.
#[derive(Debug, Clone)]
pub struct SinglePoint {
    /// Every term of the force field, then their sum.
    pub energies: Vec<Quantity>,
    /// Forces (kJ/mol/nm), one per atom.
    pub forces: Vec<Vector3<f64>>,
    /// dV/dλ of each site without bias (kJ/mol).
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
}

impl Simulation {
    /// Reads the files of a job and sets everything up; nothing is computed yet.
    ///
    /// # Errors
    /// [`Error::Input`] with file and line, or the key of the job.
    pub fn new(config: &Config) -> Result<Self> {
        let (mut topology, structure) = crate::system::read(config)?;
        topology.constrain_bonds(match config.dynamics.constraints {
            config::Constraints::None => forcefield::topology::BondConstraints::None,
            config::Constraints::HBonds => forcefield::topology::BondConstraints::HBonds,
            config::Constraints::AllBonds => forcefield::topology::BondConstraints::AllBonds,
        });
        let edges = crate::system::edges(config, &structure)?;
        let sites = Sites::new(config, &topology)?;
        let model = Model::new(config, &topology, &structure, sites.as_ref())?;
        let mut x = structure.positions;
        if let Some(edges) = edges {
            let cell = Cell::new(edges).map_err(|e| Error::input(e.to_string(), ""))?;
            model.fragments.make_whole(&cell, &mut x).map_err(|e| Error::input(e.to_string(), ""))?;
        }
        let thermostat = match &config.thermostat {
            Some(t) => Some(
                VRescale::new(t.temperature.get(), t.coupling_time.get(), model.degrees_of_freedom)
                    .map_err(|e| config.error_at("thermostat", e.to_string(), ""))?,
            ),
            None => None,
        };
        let barostat = match &config.barostat {
            Some(b) => Some(barostat(config, b, model.temperature, edges)?),
            None => None,
        };
        let n = x.len();
        let lambda = sites.as_ref().map_or(Ok(LambdaState::fixed(Vec::new())), Sites::initial_state)?;
        let list: &[lambda::Site] = sites.as_ref().map_or(&[], |sites| &sites.sites);
        Ok(Self {
            hamiltonian: Hamiltonian::new(config, topology, &x, edges, list)?,
            sites,
            thermostat,
            barostat,
            now: Now { step: 0, x, v: vec![Vector3::zeros(); n], edges, lambda },
            lists: (Vec::new(), edges),
            energies: None,
            forces: vec![Vector3::zeros(); n],
            dvdl: Vec::new(),
            previous: Vec::with_capacity(n),
            wrapped: Vec::new(),
            model,
        })
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

    /// dV/dλ of each site without bias (kJ/mol), of the last [`Self::energies`].
    pub fn dvdl(&self) -> &[f64] {
        &self.dvdl
    }

    /// Energies, forces and dV/dλ at the present positions and λ.
    ///
    /// # Errors
    /// [`Error::Physics`].
    pub fn single_point(&mut self) -> Result<SinglePoint> {
        let energies = self.energies()?;
        let mut list = energies.terms().to_vec();
        list.push(Quantity { name: "potential", unit: "kJ/mol", value: energies.potential() });
        Ok(SinglePoint { energies: list, forces: self.forces.clone(), dvdl: self.dvdl.clone() })
    }

    /// Puts λ of the sites at these values.
    pub fn set_lambda(&mut self, lambda: &[f64]) {
        self.now.lambda.lambda.copy_from_slice(lambda);
        self.energies = None;
    }

    /// Energies and forces of the present state; lists are rebuilt where needed.
    fn refresh(&mut self) -> Result<Energies> {
        if let Some(energies) = self.energies {
            return Ok(energies);
        }
        let step = self.now.step;
        self.update_lists().map_err(|e| at_step(e, step))?;
        let sites: &[lambda::Site] = self.sites.as_ref().map_or(&[], |sites| &sites.sites);
        let now = &self.now;
        let lambda = &now.lambda.lambda;
        let energies = self
            .hamiltonian
            .evaluate(&now.x, now.edges, sites, lambda, &mut self.forces, &mut self.dvdl)
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
        let mut lambda = self.now.lambda.clone();
        let (mut lambda_kinetic, mut lambda_temperature) = (0.0, 0.0);
        if let Some(sites) = &self.sites {
            let energies = sites.look_ahead(&mut lambda, &self.dvdl, self.now.step)?;
            (lambda_kinetic, lambda_temperature) = (energies.kinetic, energies.temperature);
        }
        Ok(Motion { step, lambda_kinetic, lambda_temperature })
    }

    fn volume(&self) -> Option<f64> {
        self.now.edges.map(|edges| edges.product())
    }

    /// Pressure (kJ/mol/nm³); `None` without a box.
    fn pressure(&self, energies: &Energies, step: &StepEnergies) -> Option<f64> {
        let virial = energies.virial + step.constraint_virial;
        self.volume().map(|volume| integrator::pressure(step.kinetic(), virial, volume))
    }

    fn columns(&mut self) -> Result<Vec<Quantity>> {
        let energies = self.refresh()?;
        let motion = self.look_ahead().map_err(|e| at_step(e, self.now.step))?;
        let kinetic = motion.step.kinetic();
        let mut columns = energies.terms().to_vec();
        let mut add = |name, unit, value| columns.push(Quantity { name, unit, value });
        let mut potential = energies.potential();
        add("potential", "kJ/mol", potential);
        if let Some(sites) = &self.sites {
            let bias = sites.bias(&self.now.lambda.lambda);
            let sum = |term: fn(&lambda::bias::BiasTerms) -> lambda::bias::Term| -> f64 {
                bias.iter().map(|bias| term(bias).energy).sum()
            };
            for (name, value) in [
                ("barrier", sum(|b| b.barrier)),
                ("walls", sum(|b| b.walls)),
                ("pH", sum(|b| b.ph)),
                ("correction", sum(|b| b.correction)),
            ] {
                add(name, "kJ/mol", value);
                potential += value;
            }
            add("λ kinetic", "kJ/mol", motion.lambda_kinetic);
        }
        let total = potential + kinetic + motion.lambda_kinetic;
        let work = self.thermostat.map_or(0.0, |t| t.work()) + self.barostat.map_or(0.0, |b| b.work());
        add("kinetic", "kJ/mol", kinetic);
        add("total", "kJ/mol", total);
        add("conserved", "kJ/mol", total - work - self.now.lambda.heat);
        add("temperature", "K", integrator::temperature(kinetic, self.model.degrees_of_freedom));
        if self.sites.is_some() {
            add("λ temperature", "K", motion.lambda_temperature);
        }
        if let (Some(volume), Some(pressure)) = (self.volume(), self.pressure(&energies, &motion.step)) {
            add("pressure", "bar", pressure / BAR);
            add("volume", "nm³", volume);
            add("density", "kg/m³", self.model.masses.iter().sum::<f64>() / volume * DENSITY);
        }
        Ok(columns)
    }

    /// The step, all of it, with forces at hand.
    fn move_on(&mut self) -> Result<()> {
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
            sites.advance(&mut self.now.lambda, &self.dvdl, step)?;
        }
        self.scale_box(&energies, &motion, step)?;
        self.now.step += 1;
        self.energies = None;
        Ok(())
    }
}

impl Propagate for Simulation {
    fn describe(&self) -> Description {
        let topology = self.hamiltonian.topology();
        let (masses, now) = (&self.model.masses, &self.now);
        let mut facts = vec![
            (
                "atoms",
                format!(
                    "{} in {} molecules, {:.1} u",
                    masses.len(),
                    topology.molecules.len(),
                    masses.iter().sum::<f64>()
                ),
            ),
            (
                "degrees of freedom",
                format!("{} ({} constraints)", self.model.degrees_of_freedom, self.model.constraints.count()),
            ),
            ("Coulomb", self.hamiltonian.describe_electrostatics()),
        ];
        if let Some(edges) = now.edges {
            facts.insert(1, ("box", format!("{:.4} × {:.4} × {:.4} nm", edges.x, edges.y, edges.z)));
        }
        let (sites, mut warnings) = self.sites.as_ref().map_or_else(Default::default, |sites| sites.describe(topology));
        let charge = topology.net_charge();
        if sites.is_empty() && now.edges.is_some() && charge.abs() > CHARGE_TOLERANCE {
            warnings.push(format!("the net charge of {charge:+.4} e is compensated by a uniform background"));
        }
        let facts = facts.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
        Description { facts, warnings, sites }
    }

    fn step(&self) -> u64 {
        self.now.step
    }

    fn advance(&mut self) -> Result<()> {
        let step = self.now.step;
        self.move_on().map_err(|e| at_step(e, step))
    }

    fn frame(&mut self, energies: bool) -> Result<Frame<'_>> {
        let energies = if energies { self.columns()? } else { Vec::new() };
        if self.sites.is_some() {
            self.refresh()?;
        }
        self.wrapped.clone_from(&self.now.x);
        if let Some(cell) = self.now.edges.and_then(|edges| Cell::new(edges).ok()) {
            self.model.fragments.wrap(&cell, &mut self.wrapped);
        }
        let now = &self.now;
        Ok(Frame {
            step: now.step,
            time: now.step as f64 * self.model.dt,
            energies,
            lambda: now.lambda.lambda.clone(),
            dvdl: self.dvdl.clone(),
            positions: &self.wrapped,
            velocities: &now.v,
            edges: now.edges,
        })
    }

    fn state(&self) -> State {
        let mut extra = BTreeMap::new();
        let flat = |x: &[Vector3<f64>]| x.iter().flatten().copied().collect::<Vec<f64>>();
        extra.insert("list_positions".into(), flat(&self.lists.0));
        extra.insert("restraint_reference".into(), flat(self.hamiltonian.reference()));
        extra.insert("list_edges".into(), self.lists.1.map_or(Vec::new(), |edges| flat(&[edges])));
        extra.insert("thermostat_work".into(), vec![self.thermostat.map_or(0.0, |t| t.work())]);
        extra.insert("barostat".into(), self.barostat.map_or([0.0; 2], |b| b.state()).to_vec());
        extra.insert("lambda_heat".into(), vec![self.now.lambda.heat]);
        State {
            step: self.now.step,
            positions: self.now.x.clone(),
            velocities: self.now.v.clone(),
            edges: self.now.edges,
            lambda: self.now.lambda.lambda.clone(),
            lambda_velocities: self.now.lambda.velocity.clone(),
            extra,
        }
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        let unusable = || Error::input("the checkpoint lacks a part of the state", "remove the folder to start again");
        let array = |name: &str| state.extra.get(name).ok_or_else(unusable);
        let number = |name: &str| array(name)?.first().copied().ok_or_else(unusable);
        let vectors = |name: &str| -> Result<Vec<Vector3<f64>>> {
            Ok(array(name)?.as_chunks::<3>().0.iter().map(|&a| Vector3::from(a)).collect())
        };
        let n = self.now.x.len();
        let lists = (vectors("list_positions")?, vectors("list_edges")?.first().copied());
        let lengths = [state.positions.len(), state.velocities.len()];
        let (sites, lambdas) = (self.now.lambda.lambda.len(), [state.lambda.len(), state.lambda_velocities.len()]);
        let periodic = |edges: &Option<Vector3<f64>>| edges.is_some() == self.now.edges.is_some();
        let lists_fit = (lists.0.is_empty() || lists.0.len() == n) && periodic(&lists.1) && periodic(&state.edges);
        if lengths != [n; 2] || lambdas != [sites; 2] || !lists_fit {
            return Err(unusable());
        }
        let reference = vectors("restraint_reference")?;
        if reference.len() != self.hamiltonian.reference().len() {
            return Err(unusable());
        }
        self.hamiltonian.set_reference(reference);
        if let Some(thermostat) = &mut self.thermostat {
            thermostat.restore_work(number("thermostat_work")?);
        }
        if let Some(barostat) = &mut self.barostat {
            barostat.restore(array("barostat")?.as_slice().try_into().map_err(|_| unusable())?);
        }
        self.now.lambda.heat = number("lambda_heat")?;
        self.now.lambda.lambda.clone_from(&state.lambda);
        self.now.lambda.velocity.clone_from(&state.lambda_velocities);
        self.now.step = state.step;
        self.now.x.clone_from(&state.positions);
        self.now.v.clone_from(&state.velocities);
        self.now.edges = state.edges;
        if !lists.0.is_empty() {
            self.hamiltonian.rebuild(&lists.0, lists.1)?;
        }
        self.lists = lists;
        self.energies = None;
        Ok(())
    }

    fn owner(&self) -> Owner {
        self.model.owner.clone()
    }

    fn prepare(&mut self, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        self.minimise(say)?;
        let model = &self.model;
        let start = self.now.x.clone();
        model
            .constraints
            .apply(&start, &mut self.now.x)
            .map_err(|e| constraint_error(&e, self.hamiltonian.topology()))?;
        self.first_velocities()
    }

    fn write_structure(&self, path: &Path) -> Result<()> {
        let now = &self.now;
        let topology = self.hamiltonian.topology();
        let mut x = now.x.clone();
        if let Some(cell) = now.edges.and_then(|edges| Cell::new(edges).ok()) {
            self.model.fragments.wrap(&cell, &mut x);
        }
        let structure = Structure::from_topology(topology, x, Some(now.v.clone()), now.edges);
        write_gro(path, &structure, 3).map_err(|e| Error::input(e.to_string(), ""))
    }
}

impl Simulation {
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

    /// Steepest descent, if the job asks for it.
    fn minimise(&mut self, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let Some(minimise) = self.model.minimise.clone() else {
            return Ok(());
        };
        let settings = MinimiseSettings {
            force_tolerance: minimise.force_tolerance.get(),
            first_step: minimise.initial_step.get(),
            max_steps: minimise.steps,
            ..MinimiseSettings::default()
        };
        let topology = self.hamiltonian.topology();
        let constraints =
            Constraints::with_equal_masses(topology, DEFAULT_TOLERANCE).map_err(|e| constraint_error(&e, topology))?;
        let mut x = self.now.x.clone();
        let forces = |x: &[Vector3<f64>], forces: &mut [Vector3<f64>]| -> Result<f64> {
            self.now.x.copy_from_slice(x);
            self.energies = None;
            let energies = self.refresh()?;
            forces.copy_from_slice(&self.forces);
            Ok(energies.potential())
        };
        let ended = steepest_descent(&mut x, &constraints, &settings, forces, |_| ControlFlow::Continue(()));
        let (progress, end) = ended.map_err(|e| match e {
            MinimiseError::Forces(e) => e,
            MinimiseError::Constraints(e) => constraint_error(&e, self.hamiltonian.topology()),
            other => physics("minimisation", &other),
        })?;
        self.now.x = x;
        self.energies = None;
        let label = self.hamiltonian.topology().label(progress.atom as u32);
        let end = match end {
            MinimiseEnd::Converged => "converged",
            MinimiseEnd::Precision => "stopped at the precision of the numbers",
            MinimiseEnd::Steps => "stopped at the number of steps",
            MinimiseEnd::Interrupted => "interrupted",
        };
        say(&format!(
            "minimisation {end} after {} steps: energy {:.6e} kJ/mol, largest force {:.3e} kJ/mol/nm on {label}",
            progress.step, progress.energy, progress.largest_force
        ))
    }

    /// Velocities half a step before the start, from the structure or drawn.
    fn first_velocities(&mut self) -> Result<()> {
        let step = self.now.step;
        let topology_error = |e: ConstraintError, topology: &Topology| at_step(constraint_error(&e, topology), step);
        if let Some(v) = self.model.start_velocities.take() {
            self.now.v = v;
            let projected = self.model.constraints.project(&self.now.x, &mut self.now.v);
            projected.map_err(|e| topology_error(e, self.hamiltonian.topology()))?;
            return Ok(());
        }
        let Some(temperature) = self.model.temperature else {
            return Ok(());
        };
        let (dynamics, masses) = (&self.model.dynamics, &self.model.masses);
        let (constraints, com) = (&self.model.constraints, dynamics.remove_com_interval > 0);
        let drawn = start_velocities(&self.now.x, masses, constraints, temperature, com, dynamics.seed);
        self.now.v = drawn.map_err(|e| topology_error(e, self.hamiltonian.topology()))?;
        self.refresh()?;
        let model = &self.model;
        let leap = LeapFrog { masses: &model.masses, constraints: &model.constraints, dt: model.dt };
        leap.half_step_back(&self.now.x, &mut self.now.v, &self.forces)
            .map_err(|e| topology_error(e, self.hamiltonian.topology()))
    }
}

impl Model {
    fn new(config: &Config, topology: &Topology, structure: &Structure, sites: Option<&Sites>) -> Result<Self> {
        let dynamics = config.dynamics.clone();
        let constraints = Constraints::new(topology, DEFAULT_TOLERANCE).map_err(|e| Error::input(e.to_string(), ""))?;
        let com = dynamics.remove_com_interval > 0;
        let degrees_of_freedom = integrator::degrees_of_freedom(topology.n_atoms(), constraints.count(), com)
            .ok_or_else(|| Error::input("no degree of freedom is left: nothing can move", ""))?;
        let start_velocities = match dynamics.velocities {
            Velocities::Generate => None,
            Velocities::Auto => structure.velocities.clone(),
            Velocities::Structure if structure.velocities.is_some() => structure.velocities.clone(),
            Velocities::Structure => {
                let message = format!("{} has no velocities", config.system.structure.display());
                return Err(config.error_at("dynamics.velocities", message, "use \"generate\" or \"auto\""));
            }
        };
        let temperature =
            dynamics.velocity_temperature.or(config.thermostat.as_ref().map(|t| t.temperature)).map(|t| t.get());
        Ok(Self {
            masses: topology.masses(),
            constraints,
            fragments: Fragments::new(topology),
            degrees_of_freedom,
            dt: dynamics.time_step.get(),
            dynamics,
            minimise: config.minimise.clone(),
            temperature,
            barostat_interval: config.barostat.as_ref().map_or(1, |b| b.interval),
            start_velocities,
            owner: Owner {
                settings: settings_of(config)?,
                topology: digest(topology),
                atoms: topology.n_atoms(),
                sites: sites.map_or(0, |sites| sites.sites.len()),
            },
        })
    }
}

/// Digest of what shapes a trajectory: charges, masses and every parameter, as they print.
fn digest(topology: &Topology) -> u64 {
    let mut digest = Digest::default();
    digest.add(format!("{topology:?}").as_bytes());
    digest.value()
}

fn barostat(
    config: &Config,
    settings: &config::Barostat,
    temperature: Option<f64>,
    edges: Option<Vector3<f64>>,
) -> Result<CRescale> {
    let Some(temperature) = temperature.filter(|_| edges.is_some()) else {
        return Err(config.error_at("barostat", "needs a periodic box and a thermostat", ""));
    };
    let settings = BarostatSettings {
        pressure: settings.pressure.get() * BAR,
        temperature,
        tau: settings.coupling_time.get(),
        compressibility: settings.compressibility.get() / BAR,
    };
    CRescale::new(settings).map_err(|e| config.error_at("barostat", e.to_string(), ""))
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
