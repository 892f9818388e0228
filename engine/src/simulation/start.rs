//! The start of a simulation: what does not change, minimisation, first velocities.

use super::{Model, Simulation, at_step, constraint_error, physics};
use crate::barostat::{BarostatSettings, CRescale};
use crate::cell::Fragments;
use crate::checkpoint::{Digest, Owner};
use crate::config::{self, Config, Velocities};
use crate::constraints::{ConstraintError, Constraints, DEFAULT_TOLERANCE};
use crate::error::{Error, Result};
use crate::integrator::{self, LeapFrog, start_velocities};
use crate::minimise::{MinimiseEnd, MinimiseError, MinimiseSettings, steepest_descent};
use crate::titration::Sites;
use forcefield::Topology;
use forcefield::gromacs::Structure;
use forcefield::units::BAR;
use nalgebra::Vector3;
use std::ops::ControlFlow;

impl Simulation {
    /// Steepest descent, if the job asks for it.
    pub(super) fn minimise(&mut self, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
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
            self.touch();
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
        self.touch();
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
    pub(super) fn first_velocities(&mut self) -> Result<()> {
        let step = self.now.step;
        let topology_error = |e: ConstraintError, topology: &Topology| at_step(constraint_error(&e, topology), step);
        if let Some(v) = self.model.start_velocities.take() {
            self.now.v = v;
            let projected = self.model.constraints.project(&self.now.x, &mut self.now.v);
            self.touch();
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
        let back = leap.half_step_back(&self.now.x, &mut self.now.v, &self.forces);
        self.touch();
        back.map_err(|e| topology_error(e, self.hamiltonian.topology()))
    }
}

impl Model {
    pub(super) fn new(
        config: &Config,
        topology: &Topology,
        structure: &Structure,
        fragments: Fragments,
        sites: Option<&Sites>,
    ) -> Result<Self> {
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
            fragments,
            degrees_of_freedom,
            dt: dynamics.time_step.get(),
            dynamics,
            minimise: config.minimise.clone(),
            temperature,
            barostat_interval: config.barostat.as_ref().map_or(1, |b| b.interval),
            start_velocities,
            owner: Owner {
                settings: config.trajectory_settings()?,
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

/// The barostat of a job.
pub(super) fn barostat(
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
