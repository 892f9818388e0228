//! The start of a simulation: minimisation and first velocities.

use super::Simulation;
use crate::backend::cpu::Cpu;
use crate::backend::{Backend, Evaluation, ListOrigin};
use crate::error::{Error, PhysicsError, Result};
use crate::motion::constraints::{Constraints, DEFAULT_TOLERANCE};
use crate::motion::leapfrog::{LeapFrog, start_velocities};
use crate::motion::minimise::{MinimiseEnd, MinimiseError, MinimiseSettings, steepest_descent};
use crate::record::counted;
use crate::system::start_temperature;
use forcefield::virtual_sites;
use nalgebra::Vector3;
use std::ops::ControlFlow;

/// Largest force (kJ/mol/nm) that a motion can start from: it moves a carbon by 0.3 nm in a step of 2 fs, a hydrogen by 4 nm. After a
/// minimisation the largest is about 1000.
const LARGEST_FORCE: f64 = 1e6;

impl Simulation {
    /// Looks for atoms that lie on each other, by the forces at the present positions. Before a minimisation that the job asks for they are
    /// a hint.
    ///
    /// # Errors
    /// [`crate::error::Error::Physics`] that names the atom and what is next to it; a force that is not finite.
    pub fn check_first_forces(&mut self, is_minimised: bool) -> Result<Option<String>> {
        let forces = self.evaluation_of_any_size(&mut None)?.forces.clone();
        let Some(message) = self.large_force(&forces) else { return Ok(None) };
        let minimises = self.system.config.minimise.is_some();
        let help = match (minimises, is_minimised) {
            (true, false) => return Ok(Some(format!("{message}; the minimisation of the job has to take that away"))),
            (true, true) => "it is so large after the minimisation: move the atoms apart, or minimise for longer",
            (false, _) => "move the atoms apart, or add a section [minimise]",
        };
        Err(PhysicsError { message, term: "forces".into(), help: help.into(), ..PhysicsError::default() }.into())
    }

    /// Energies, forces and ∂V/∂λ at the present positions. The forces of atoms that lie on each other can be beyond the fixed-point numbers of a GPU, 1e8
    /// kJ/mol/nm, or not finite there; then the CPU computes them: `cpu` is made for it, and serves the next such positions.
    ///
    /// # Errors
    /// [`Error::Physics`] that names the atom, if the CPU cannot either.
    pub(super) fn evaluation_of_any_size<'a>(&'a mut self, cpu: &'a mut Option<Cpu>) -> Result<&'a Evaluation> {
        match self.energies() {
            Ok(_) => return Ok(self.backend.evaluation()),
            Err(Error::Physics(_)) => self.touch(),
            Err(other) => return Err(other),
        }
        let mut state = self.state.clone();
        let cpu = match cpu {
            Some(cpu) => cpu,
            None => cpu.insert(Cpu::new(&self.system, &state, (*self.biases).clone())?),
        };
        cpu.load(&mut state, ListOrigin::Positions)?;
        cpu.evaluate(&mut state)?;
        Ok(cpu.evaluation())
    }

    /// The largest of these forces (kJ/mol/nm) at the present positions in words, if nothing can start from it.
    pub fn large_force(&self, forces: &[Vector3<f64>]) -> Option<String> {
        let forces = forces.iter().map(|force| force.norm()).enumerate();
        let (atom, force) = forces.max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, force)| *force > LARGEST_FORCE)?;
        let topology = &self.system.topology;
        let mut message = format!("a force of {force:.1e} kJ/mol/nm acts on {}", topology.label(atom as u32));
        if let Some((other, distance)) = self.nearest(atom as u32) {
            message.push_str(&format!("; {} is {distance:.3} nm away and not bonded to it", topology.label(other)));
        }
        Some(message)
    }

    /// The atom nearest to `atom` among those that interact with it without a bond, and its distance (nm).
    fn nearest(&self, atom: u32) -> Option<(u32, f64)> {
        let (topology, state) = (&self.system.topology, &self.state);
        let place = state.positions[atom as usize];
        let others = (0..topology.n_atoms() as u32).filter(|&i| i != atom && !topology.exclusions.contains(i, atom));
        let distance = |i: u32| (i, state.cell.minimum_image(state.positions[i as usize] - place).norm());
        others.map(distance).min_by(|a, b| a.1.total_cmp(&b.1))
    }

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
        let (mut x, mut cpu) = (self.state.positions.clone(), None);
        let forces = |x: &[Vector3<f64>], forces: &mut [Vector3<f64>]| -> Result<f64> {
            self.state.positions.copy_from_slice(x);
            virtual_sites::place(&topology.virtual_sites, &mut self.state.positions);
            self.touch();
            let evaluation = self.evaluation_of_any_size(&mut cpu)?;
            forces.copy_from_slice(&evaluation.forces);
            Ok(evaluation.energies.potential())
        };
        let ended = steepest_descent(&mut x, &constraints, &settings, forces, |_| ControlFlow::Continue(()));
        let (progress, end) = ended.map_err(|e| match e {
            MinimiseError::Forces(e) => e,
            MinimiseError::Constraints(e) => e.of(topology),
            other => PhysicsError::of("minimisation", &other),
        })?;
        self.state.positions = x;
        virtual_sites::place(&topology.virtual_sites, &mut self.state.positions);
        self.touch();
        let label = topology.label(progress.atom as u32);
        let end = match end {
            MinimiseEnd::Converged => "converged",
            MinimiseEnd::Precision => "stopped at the precision of the numbers",
            MinimiseEnd::Steps => "stopped at the number of steps",
            MinimiseEnd::Interrupted => "interrupted",
        };
        say(&format!(
            "minimisation {end} after {}: energy {:.6e} kJ/mol, largest force {:.3e} kJ/mol/nm on {label}",
            counted(progress.step, "step"),
            progress.energy,
            progress.largest_force
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
