//! The CPU: forces from the [`Hamiltonian`], motion by leap-frog, on the state itself.
//!
//! Lists are made anew when an atom has moved too far. Results do not depend on the number of threads.
//! Units: nm, ps, u, kJ/mol.

pub mod coulomb;
pub mod hamiltonian;

use super::{Backend, Evaluation, ListOrigin};
use crate::energies::Energies;
use crate::error::{PhysicsError, Result};
use crate::motion::barostat::{self, CRescale};
use crate::motion::com;
use crate::motion::langevin::Scratch;
use crate::motion::leapfrog::{self, LeapFrog, StepEnergies, kinetic_energy};
use crate::motion::thermostat::Thermostat;
use crate::state::State;
use crate::system::System;
use crate::titration::Biases;
use forcefield::virtual_sites;
use hamiltonian::{Forms, Hamiltonian, Point};
use nalgebra::Vector3;
use std::sync::Arc;

/// The CPU as a backend.
pub struct Cpu {
    system: Arc<System>,
    hamiltonian: Hamiltonian,
    biases: Biases,
    evaluation: Evaluation,
    /// Whether the evaluation is that of the present state.
    evaluated: bool,
    /// Whether the Hamiltonian has lists.
    listed: bool,
    /// Room for a step: positions before it, what the bath does to velocities.
    scratch: Scratch,
}

impl Cpu {
    /// For a system; its `state` says for which positions the tree of the FMM is chosen.
    ///
    /// # Errors
    /// A cut-off that does not fit the box, an order or depth that the FMM refuses; named by key.
    pub fn new(system: &Arc<System>, state: &State, biases: Biases) -> Result<Self> {
        let variants = system.sites.as_ref().map_or(&[][..], |sites| &sites.variants[..]);
        let forms = Forms { sites: system.titratable(), variants };
        let n = state.positions.len();
        Ok(Self {
            hamiltonian: Hamiltonian::new(&system.config, &system.topology, &state.positions, state.cell, forms)?,
            system: system.clone(),
            biases,
            evaluation: Evaluation {
                forces: vec![Vector3::zeros(); n],
                by_weight: system.layout().zeros(),
                ..Evaluation::default()
            },
            evaluated: false,
            listed: false,
            scratch: Scratch::default(),
        })
    }

    fn update_lists(&mut self, state: &mut State) -> Result<()> {
        if self.listed && !self.hamiltonian.is_stale(&state.positions, state.cell) {
            return Ok(());
        }
        self.hamiltonian.rebuild(&state.positions, state.cell)?;
        state.lists.positions.clone_from(&state.positions);
        state.lists.cell = state.cell;
        self.listed = true;
        Ok(())
    }

    /// Energies and forces of a state.
    fn compute(&mut self, state: &mut State) -> Result<Energies> {
        let step = state.step;
        self.update_lists(state).map_err(|e| e.at_step(step))?;
        let point = Point {
            positions: &state.positions,
            cell: state.cell,
            restraint_references: &state.restraint_references,
            restraint_part: self.system.plan.fading.part(step),
            weights: &self.system.weights(state),
        };
        let Evaluation { energies, forces, by_weight } = &mut self.evaluation;
        *energies = self.hamiltonian.evaluate(point, forces, by_weight).map_err(|e| e.at_step(step))?;
        self.evaluated = true;
        Ok(*energies)
    }

    /// One step, all of it.
    fn step(&mut self, state: &mut State) -> Result<()> {
        let energies = self.evaluate(state)?;
        let (step, system) = (state.step, self.system.clone());
        let plan = &system.plan;
        let v_rescale = system.thermostat.as_ref().and_then(Thermostat::v_rescale);
        if let Some(thermostat) = v_rescale.filter(|_| plan.thermostat_acts(step)) {
            let kinetic = kinetic_energy(&state.velocities, &system.masses);
            let (time, work) = (plan.thermostat as f64 * plan.dt, &mut state.bath.thermostat_work);
            let factor = thermostat
                .rescale(work, kinetic, time, plan.seed, step)
                .map_err(|e| PhysicsError::of("thermostat", &e))?;
            leapfrog::scale(&mut state.velocities, factor);
        }
        if plan.removes_com(step) {
            com::remove_motion(&system.masses, &mut state.velocities);
        }
        let leap = LeapFrog { masses: &system.masses, constraints: &system.constraints, dt: plan.dt };
        let forces = &self.evaluation.forces;
        let (x, v, scratch) = (&mut state.positions, &mut state.velocities, &mut self.scratch);
        let motion = match system.thermostat.as_ref().and_then(Thermostat::langevin) {
            Some(langevin) => langevin.step(&leap, x, v, forces, [plan.seed, step], scratch).map(|(motion, work)| {
                state.bath.thermostat_work += work;
                motion
            }),
            None => leap.step(x, v, forces, &mut scratch.previous),
        };
        let motion = motion.map_err(|e| e.of(&system.topology))?;
        if let Some(sites) = &system.sites {
            sites.advance(&self.biases, &mut state.sites.lambda, &self.evaluation.by_weight, step)?;
        }
        scale_box(&system, state, &energies, &motion)?;
        virtual_sites::place(&system.topology.virtual_sites, &mut state.positions);
        state.step += 1;
        self.evaluated = false;
        Ok(())
    }
}

/// Does something on a thread of the pool. From a thread outside it each of the dozens of parallel loops of a step would be handed over and waited
/// for: a step of 1 171 atoms took up to twice as long, most of all beside other programs.
fn on_the_pool<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    rayon::scope(|_| work())
}

/// Lets the barostat see the pressure of the step just done and, every few steps, change the box.
fn scale_box(system: &System, state: &mut State, energies: &Energies, motion: &StepEnergies) -> Result<()> {
    let (Some(barostat), Some(volume)) = (&system.barostat, state.cell.volume()) else {
        return Ok(());
    };
    let (plan, step) = (&system.plan, state.step);
    let pressure = leapfrog::pressure(motion.kinetic(), energies.virial + motion.constraint_virial, volume);
    let done = &mut state.bath.barostat;
    CRescale::observe(done, pressure);
    if !plan.barostat_acts(step) {
        return Ok(());
    }
    let failed = |e: &dyn std::fmt::Display| PhysicsError::of("barostat", e);
    let time = plan.barostat as f64 * plan.dt;
    let factor = barostat.couple(done, pressure, volume, time, plan.seed, step).map_err(|e| failed(&e))?;
    let (masses, constraints) = (&system.masses, &system.constraints);
    let (positions, velocities) = (&mut state.positions, &mut state.velocities);
    barostat::rescale(factor, &mut state.cell, positions, velocities, masses, constraints).map_err(|e| failed(&e))?;
    state.restraint_references.iter_mut().for_each(|x| *x *= factor);
    Ok(())
}

impl Backend for Cpu {
    fn describe_coulomb(&self) -> &str {
        self.hamiltonian.describe_coulomb()
    }

    fn pace(&self) -> u64 {
        1
    }

    fn list_interval(&self) -> Option<u64> {
        None
    }

    fn load(&mut self, state: &mut State, lists: ListOrigin) -> Result<()> {
        self.evaluated = false;
        state.gpu = None;
        if lists == ListOrigin::Checkpoint {
            self.listed = !state.lists.positions.is_empty();
            if self.listed {
                self.hamiltonian.rebuild(&state.lists.positions, state.lists.cell)?;
            }
        }
        Ok(())
    }

    fn set_biases(&mut self, biases: &Biases, _step: u64) -> Result<()> {
        self.biases = biases.clone();
        Ok(())
    }

    fn advance(&mut self, state: &mut State, steps: u64) -> Result<()> {
        on_the_pool(|| {
            (0..steps).try_for_each(|_| {
                let step = state.step;
                self.step(state).map_err(|e| e.at_step(step))
            })
        })
    }

    fn evaluate(&mut self, state: &mut State) -> Result<Energies> {
        if self.evaluated {
            return Ok(self.evaluation.energies);
        }
        on_the_pool(|| self.compute(state))
    }

    fn evaluate_derivatives(&mut self, state: &mut State) -> Result<()> {
        self.evaluate(state).map(|_| ())
    }

    fn evaluation(&self) -> &Evaluation {
        &self.evaluation
    }

    fn store(&mut self, _state: &mut State) -> Result<()> {
        Ok(())
    }

    fn store_lambda(&mut self, _state: &mut State) -> Result<()> {
        Ok(())
    }

    fn profile(&mut self, _state: &State) -> Result<Vec<(&'static str, f64)>> {
        Ok(Vec::new())
    }
}
