//! A system that moves: one [`State`], and a [`Backend`] that moves it on.
//!
//! The simulation knows no device. It keeps the state and what follows from it, tells the backend when something else has changed the state,
//! and lets barriers that adapt look at λ. What happens in a step is in [`crate::system::Plan`].
//!
//! Units: nm, ps, u, kJ/mol, K; pressure in bar towards people.

mod fade;
mod failure;
mod lines;
mod observe;
mod placed;
mod sites;
mod start;
#[cfg(test)]
mod tests;

use crate::backend::choice::{Chosen, Share};
use crate::backend::{Backend, Evaluation, ListOrigin};
use crate::checkpoint::Identity;
use crate::config::{BARRIER_LOOK_INTERVAL, Config};
use crate::energies::Energies;
use crate::error::{Error, Result};
use crate::frame::{Frame, LineIntervals, Quantity, Upto, Wanted};
use crate::propagate::{Propagate, Walker};
use crate::record::Description;
use crate::state::State;
use crate::system::System;
use crate::system::restraints::references;
use crate::titration::{Biases, Sites};
use forcefield::Structure;
use forcefield::Topology;
use forcefield::gromacs::write_gro;
use forcefield::units::GAS_CONSTANT;
use forcefield::virtual_sites;
use kernels::device::Device;
use lambda::SiteValues;
use lines::Lines;
use nalgebra::Vector3;
use std::path::Path;
use std::sync::Arc;

/// A system in motion.
pub struct Simulation {
    system: Arc<System>,
    state: State,
    /// The biases that follow from the pH and the barriers of the state.
    biases: Arc<Biases>,
    backend: Box<dyn Backend>,
    /// Whether the backend still has other biases.
    unsent: bool,
    /// Where lists come from when the state is given to the backend; none if the backend has the state.
    unloaded: Option<ListOrigin>,
    /// Lines of tables on their way.
    lines: Lines,
    /// What computes, in words.
    computed_by: String,
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
    /// ∂V/∂λ without bias (kJ/mol), in the columns of `lambda.csv`.
    pub dvdl: Vec<f64>,
}

impl Simulation {
    /// Reads the files of a job and sets everything up on the CPU; nothing is computed yet.
    ///
    /// # Errors
    /// [`Error::Input`] with file and line, or the key of the job.
    pub fn new(config: &Config) -> Result<Self> {
        Self::on(config, None)
    }

    /// The same on a GPU, if one is given.
    ///
    /// # Errors
    /// As [`Simulation::new`]; a system that the device cannot hold.
    pub fn on(config: &Config, device: Option<&Device>) -> Result<Self> {
        Self::build(config, &mut Chosen::from(device.cloned()), Share::Whole, &mut |_| ())
    }

    /// One of many on the same GPU: nothing in a step runs side by side, which leaves room for the others.
    ///
    /// # Errors
    /// As [`Simulation::on`].
    pub fn among_many(config: &Config, device: Option<&Device>) -> Result<Self> {
        Self::build(config, &mut Chosen::from(device.cloned()), Share::Part, &mut |_| ())
    }

    /// The same on what a person chose. If that was `auto` and its GPU refuses the system, the CPU takes its place, and `say` gets a line that
    /// tells why.
    ///
    /// # Errors
    /// As [`Simulation::on`].
    pub fn chosen(config: &Config, chosen: &mut Chosen, say: &mut dyn FnMut(&str)) -> Result<Self> {
        Self::build(config, chosen, Share::Whole, say)
    }

    fn build(config: &Config, chosen: &mut Chosen, share: Share, say: &mut dyn FnMut(&str)) -> Result<Self> {
        let (system, state) = System::new(config)?;
        let system = Arc::new(system);
        let biases = system.sites.as_ref().map_or(Ok(Biases::default()), |sites| sites.biases(&state.sites))?;
        let backend = chosen.backend(&system, &state, &biases, share, say)?;
        Ok(Self {
            system,
            state,
            biases: Arc::new(biases),
            unsent: false,
            backend,
            unloaded: Some(ListOrigin::Positions),
            lines: Lines::default(),
            computed_by: chosen.to_string(),
            wrapped: Vec::new(),
        })
    }

    /// The topology.
    pub fn topology(&self) -> &Topology {
        &self.system.topology
    }

    /// Steps between two rebuilds of lists, where that is fixed.
    pub fn list_interval(&self) -> Option<u64> {
        self.backend.list_interval()
    }

    /// Every term of the force field at the present positions and λ.
    ///
    /// # Errors
    /// [`Error::Physics`].
    pub fn energies(&mut self) -> Result<Energies> {
        self.load()?;
        self.backend.evaluate(&mut self.state)
    }

    /// Forces (kJ/mol/nm) of the last [`Self::energies`].
    pub fn forces(&self) -> &[Vector3<f64>] {
        &self.backend.evaluation().forces
    }

    /// ∂V/∂λ_α of every form of every site, without bias (kJ/mol), of the last [`Self::energies`].
    pub fn derivatives(&self) -> &SiteValues {
        &self.backend.evaluation().by_weight
    }

    /// Energies, forces and ∂V/∂λ at the present positions and λ.
    ///
    /// # Errors
    /// [`Error::Physics`].
    pub fn single_point(&mut self) -> Result<SinglePoint> {
        let mut cpu = None;
        let Evaluation { energies, forces, by_weight } = self.evaluation_of_any_size(&mut cpu)?;
        let mut list = energies.terms().to_vec();
        list.push(Quantity { name: "potential", unit: "kJ/mol", value: energies.potential() });
        Ok(SinglePoint { energies: list, forces: forces.clone(), dvdl: Sites::columns(by_weight, true) })
    }

    /// Seconds of a whole step and of each of its parts on a GPU; nothing on the CPU.
    ///
    /// # Errors
    /// As [`Simulation::on`]; whatever stops the motion.
    pub fn profile(&mut self) -> Result<Vec<(&'static str, f64)>> {
        self.load()?;
        self.backend.profile(&self.state)
    }

    /// The state has been changed by something else than the backend.
    fn touch(&mut self) {
        self.unloaded = Some(ListOrigin::Positions);
    }

    /// Gives the state and the biases to the backend unless it has them.
    fn load(&mut self) -> Result<()> {
        if let Some(lists) = self.unloaded {
            // Until this has succeeded the backend has another state, and nothing may be stored from it.
            self.backend.load(&mut self.state, lists)?;
            self.unloaded = None;
        }
        if self.unsent {
            self.backend.set_biases(&self.biases, self.state.step)?;
            self.unsent = false;
        }
        Ok(())
    }

    /// Brings the whole state up to date, unless it is newer than what the backend has.
    fn store(&mut self) -> Result<()> {
        if self.unloaded.is_some() { Ok(()) } else { self.backend.store(&mut self.state) }
    }

    /// Brings λ up to date.
    fn store_lambda(&mut self) -> Result<()> {
        if self.unloaded.is_some() { Ok(()) } else { self.backend.store_lambda(&mut self.state) }
    }

    /// The present positions with every fragment in the box.
    fn wrap(&mut self) {
        self.wrapped.clone_from(&self.state.positions);
        if let Some(periodic) = self.state.cell.periodic() {
            self.system.fragments.wrap(periodic, &mut self.wrapped);
        }
    }
}

impl Propagate for Simulation {
    fn describe(&self) -> Description {
        observe::describe(&self.system, &self.state, self.backend.as_ref(), &self.computed_by)
    }

    fn step(&self) -> u64 {
        self.state.step
    }

    fn pace(&self) -> u64 {
        self.backend.pace()
    }

    fn advance(&mut self, steps: u64) -> Result<()> {
        let end = self.state.step + steps;
        while self.state.step < end {
            self.note_if_due()?;
            self.adapt()?;
            self.load()?;
            let step = self.state.step;
            let adapts = self.system.sites.as_ref().is_some_and(|sites| step <= sites.adapts_until(&self.state.sites));
            let look = if adapts { (step / BARRIER_LOOK_INTERVAL + 1) * BARRIER_LOOK_INTERVAL } else { u64::MAX };
            let fade = self.system.plan.fading.next_change(step).unwrap_or(u64::MAX);
            let steps = (end - step).min(look - step).min(fade - step).min(self.steps_to_line());
            self.backend.advance(&mut self.state, steps)?;
            self.fade()?;
            self.note_if_due()?;
        }
        Ok(())
    }

    fn notices(&mut self) -> Vec<String> {
        self.backend.notices()
    }

    fn frame(&mut self, wanted: Wanted) -> Result<Frame<'_>> {
        let energies = if wanted.energies { self.energy_columns(observe::Known::All)? } else { Vec::new() };
        if wanted.forces {
            self.energies()?;
        }
        if wanted.derivatives {
            self.load()?;
            self.backend.evaluate_derivatives(&mut self.state)?;
        }
        self.wrapped.clear();
        if wanted.positions || wanted.forces {
            self.store()?;
        } else {
            self.store_lambda()?;
        }
        if wanted.positions {
            self.wrap();
        }
        let state = &self.state;
        Ok(Frame {
            step: state.step,
            time: state.step as f64 * self.system.plan.dt,
            energies,
            lambda: Sites::columns(&self.system.weights(state), false),
            dvdl: if wanted.derivatives { Sites::columns(self.derivatives(), true) } else { Vec::new() },
            positions: &self.wrapped,
            velocities: if wanted.positions { &state.velocities } else { &[] },
            forces: if wanted.forces { self.forces() } else { &[] },
            walker: None,
            cell: state.cell,
        })
    }

    fn keep(&mut self, lines: LineIntervals, continued: bool) -> Result<LineIntervals> {
        self.keep_lines(lines, continued)
    }

    fn lines(&mut self, upto: Upto) -> Result<Vec<Frame<'static>>> {
        self.kept_lines(upto)
    }

    fn makes_lists(&self) -> bool {
        self.unloaded.is_none() && self.backend.makes_lists(&self.state)
    }

    fn state(&mut self) -> Result<State> {
        if self.unloaded.is_none() {
            self.backend.store_with_lists(&mut self.state)?;
        }
        Ok(self.state.clone())
    }

    fn restore(&mut self, state: &State) -> Result<()> {
        if !state.fits(&self.state) {
            return Err(Error::input("the checkpoint lacks a part of the state", "remove the folder to start again"));
        }
        self.state.clone_from(state);
        // Up to version 4 checkpoints had references of all atoms.
        self.state.restraint_references = references(&self.system.topology, &state.restraint_references);
        self.unloaded = Some(ListOrigin::Checkpoint);
        self.update_biases()
    }

    fn identity(&self) -> Identity {
        self.system.identity.clone()
    }

    fn prepare(&mut self, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()> {
        self.minimise(say)?;
        let start = self.state.positions.clone();
        let constraints = &self.system.constraints;
        constraints.apply(&start, &mut self.state.positions).map_err(|e| e.of(&self.system.topology))?;
        virtual_sites::place(&self.system.topology.virtual_sites, &mut self.state.positions);
        self.touch();
        self.check_first_forces(true)?;
        self.first_velocities()
    }

    fn trajectory_atoms(&self) -> Option<&[u32]> {
        self.system.trajectory_atoms.as_deref()
    }

    fn write_structure(&mut self, path: &Path, atoms: Option<&[u32]>) -> Result<()> {
        self.store()?;
        self.wrap();
        let (state, positions) = (&self.state, std::mem::take(&mut self.wrapped));
        // Only a motion that could not go on has velocities that the columns of the file do not hold: then positions must do.
        let fits = |v: &Vector3<f64>| v.amax() < 99.0;
        let velocities = state.velocities.iter().all(fits).then(|| state.velocities.clone());
        let mut structure = Structure::from_topology(&self.system.topology, positions, velocities, state.cell);
        if let Some(atoms) = atoms {
            structure = structure.of_atoms(atoms);
        }
        // The time as GROMACS writes it.
        structure.title = format!("{}, t= {:.5}", structure.title, state.step as f64 * self.system.plan.dt);
        write_gro(path, &structure, 3).map_err(Error::of_structure)
    }

    fn failure(&mut self) -> Option<String> {
        self.store().ok()?;
        Some(failure::report(&self.system, &self.state))
    }
}

impl Walker for Simulation {
    fn ph_energy(&mut self, ph: f64) -> Result<f64> {
        let rt = self.system.sites.as_ref().map_or(1.0, |sites| GAS_CONSTANT * Sites::temperature(sites));
        Ok(Simulation::ph_energy(self, ph)? / rt)
    }

    fn set_ph(&mut self, ph: f64) -> Result<()> {
        Simulation::set_ph(self, ph)
    }
}
