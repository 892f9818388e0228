//! The CPU: forces from the [`Hamiltonian`], motion by leap-frog, on the state itself.
//!
//! Lists are made anew when an atom has moved too far. Results do not depend on the number of threads.
//! Units: nm, ps, u, kJ/mol.

pub(crate) mod coulomb;
pub mod hamiltonian;

use super::{Backend, Evaluation, ListOrigin};
use crate::energies::Energies;
use crate::error::{PhysicsError, Result};
use crate::motion::barostat::axes::{self, AxesRescale};
use crate::motion::barostat::{self, Barostat, CRescale};
use crate::motion::com;
use crate::motion::langevin::Scratch;
use crate::motion::leapfrog::{self, LeapFrog, StepEnergies, kinetic_energy};
use crate::motion::thermostat::Thermostat;
use crate::state::State;
use crate::system::System;
use crate::titration::Biases;
use forcefield::virtual_sites;
use hamiltonian::{Forms, Hamiltonian, Point};
use lambda::SiteValues;
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
        if !self.makes_lists(state) {
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
        let weights = self.system.weights(state);
        let point = self.point(state, &weights);
        let Evaluation { energies, forces, by_weight } = &mut self.evaluation;
        *energies = self.hamiltonian.evaluate(point, forces, by_weight).map_err(|e| e.at_step(step))?;
        self.evaluated = true;
        Ok(*energies)
    }

    /// The virial along each axis of the centres of free atoms and of groups held together by constraints (kJ/mol), of the present evaluation.
    fn virial_of_molecules(&mut self, state: &State) -> Result<Vector3<f64>> {
        let system = self.system.clone();
        let weights = system.weights(state);
        let virial = self.hamiltonian.virial(self.point(state, &weights), &self.evaluation.forces)?;
        let (forces, masses) = (&self.evaluation.forces, &system.masses);
        Ok(virial - axes::inner_virial(&state.positions, forces, masses, &system.constraints))
    }

    /// Where the Hamiltonian is evaluated.
    fn point<'a>(&self, state: &'a State, weights: &'a SiteValues) -> Point<'a> {
        Point {
            positions: &state.positions,
            cell: state.cell,
            restraint_references: &state.restraint_references,
            restraint_part: self.system.plan.fading.part(state.step),
            weights,
        }
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
        let translation = |v: &[Vector3<f64>]| axes::translation(v, &system.masses, &system.constraints);
        let along = match wants_axes(&system, state) {
            true => Some((self.virial_of_molecules(state)?, translation(&state.velocities))),
            false => None,
        };
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
        let along = along.map(|(virial, before)| virial + 0.5 * (before + translation(&state.velocities)));
        scale_box(&system, state, &energies, &motion, along)?;
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

/// Lets the barostat see the pressure of the step just done and, every few steps, change the box. `along`: V P_a along each axis (kJ/mol), where it was wanted.
fn scale_box(
    system: &System,
    state: &mut State,
    energies: &Energies,
    motion: &StepEnergies,
    along: Option<Vector3<f64>>,
) -> Result<()> {
    let (Some(barostat), Some(periodic)) = (&system.barostat, state.cell.periodic().copied()) else {
        return Ok(());
    };
    let (plan, step, volume) = (&system.plan, state.step, periodic.volume());
    let (acts, time) = (plan.barostat_acts(step), plan.barostat as f64 * plan.dt);
    let done = &mut state.bath.barostat;
    let failed = |e: &dyn std::fmt::Display| PhysicsError::of("barostat", e);
    let factors = match barostat {
        Barostat::Isotropic(barostat) => {
            let pressure = leapfrog::pressure(motion.kinetic(), energies.virial + motion.constraint_virial, volume);
            CRescale::observe(done, pressure);
            if !acts {
                return Ok(());
            }
            barostat.couple(done, pressure, volume, time, plan.seed, step).map(Vector3::repeat)
        }
        Barostat::Axes(barostat) => {
            let Some(along) = along else { return Ok(()) };
            let (pressure, edges) = (along / volume, periodic.diagonal());
            AxesRescale::observe(done, pressure, edges);
            if !acts {
                return Ok(());
            }
            barostat.couple(done, pressure, edges, time, (plan.seed, step))
        }
    };
    let factors = factors.map_err(|e| failed(&e))?;
    let (masses, constraints) = (&system.masses, &system.constraints);
    let (positions, velocities) = (&mut state.positions, &mut state.velocities);
    barostat::stretch(factors, &mut state.cell, positions, velocities, masses, constraints).map_err(|e| failed(&e))?;
    state.restraint_references.iter_mut().for_each(|x| x.component_mul_assign(&factors));
    Ok(())
}

/// Whether the barostat scales axes apart and wants the pressure along each of them in this step: where the box changes at its end, and in the step after, for the other
/// half of the work.
fn wants_axes(system: &System, state: &State) -> bool {
    let pending = state.bath.barostat.pending_edges != [0.0; 3];
    matches!(system.barostat, Some(Barostat::Axes(_))) && (pending || system.plan.barostat_acts(state.step))
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

    fn makes_lists(&self, state: &State) -> bool {
        !self.listed || self.hamiltonian.is_stale(&state.positions, state.cell)
    }

    fn store(&mut self, _state: &mut State) -> Result<()> {
        Ok(())
    }

    fn store_with_lists(&mut self, state: &mut State) -> Result<()> {
        let step = state.step;
        self.update_lists(state).map_err(|e| e.at_step(step))
    }

    fn store_lambda(&mut self, _state: &mut State) -> Result<()> {
        Ok(())
    }

    fn profile(&mut self, _state: &State) -> Result<Vec<(&'static str, f64)>> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests;
