//! The start of a simulation: minimisation and first velocities.

use super::Simulation;
use crate::error::{PhysicsError, Result};
use crate::motion::constraints::{Constraints, DEFAULT_TOLERANCE};
use crate::motion::leapfrog::{LeapFrog, start_velocities};
use crate::motion::minimise::{MinimiseEnd, MinimiseError, MinimiseSettings, steepest_descent};
use crate::system::start_temperature;
use nalgebra::Vector3;
use std::ops::ControlFlow;

impl Simulation {
    /// Steepest descent, if the job asks for it.
    pub(super) fn minimise(&mut self, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        let system = self.system.clone();
        let Some(minimise) = &system.config.minimise else {
            return Ok(());
        };
        let settings = MinimiseSettings {
            force_tolerance: minimise.force_tolerance.get(),
            first_step: minimise.initial_step.get(),
            max_steps: minimise.steps,
            ..MinimiseSettings::default()
        };
        let topology = &system.topology;
        let constraints = Constraints::with_equal_masses(topology, DEFAULT_TOLERANCE).map_err(|e| e.of(topology))?;
        let mut x = self.state.positions.clone();
        let forces = |x: &[Vector3<f64>], forces: &mut [Vector3<f64>]| -> Result<f64> {
            self.state.positions.copy_from_slice(x);
            self.touch();
            let energies = self.energies()?;
            forces.copy_from_slice(self.forces());
            Ok(energies.potential())
        };
        let ended = steepest_descent(&mut x, &constraints, &settings, forces, |_| ControlFlow::Continue(()));
        let (progress, end) = ended.map_err(|e| match e {
            MinimiseError::Forces(e) => e,
            MinimiseError::Constraints(e) => e.of(topology),
            other => PhysicsError::of("minimisation", &other),
        })?;
        self.state.positions = x;
        self.touch();
        let label = topology.label(progress.atom as u32);
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
        let (step, system) = (self.state.step, self.system.clone());
        let (masses, constraints, plan) = (&system.masses, &system.constraints, &system.plan);
        if let Some(velocities) = &system.start_velocities {
            self.state.velocities.clone_from(velocities);
            let projected = constraints.project(&self.state.positions, &mut self.state.velocities);
            self.touch();
            return projected.map(|_| ()).map_err(|e| e.of(&system.topology).at_step(step));
        }
        let Some(temperature) = start_temperature(&system.config) else {
            return Ok(());
        };
        let com = plan.remove_com > 0;
        let drawn = start_velocities(&self.state.positions, masses, constraints, temperature, com, plan.seed);
        self.state.velocities = drawn.map_err(|e| e.of(&system.topology).at_step(step))?;
        self.touch();
        self.energies()?;
        let leap = LeapFrog { masses, constraints, dt: plan.dt };
        let forces = &self.backend.evaluation().forces;
        let back = leap.half_step_back(&self.state.positions, &mut self.state.velocities, forces);
        self.touch();
        back.map_err(|e| e.of(&system.topology).at_step(step))
    }
}
