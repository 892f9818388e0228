//! A GPU: the whole step runs there (`resident.rs`), and the state is fetched when someone looks at it.
//!
//! Nothing of the CPU's way is built beside it: neither its FMM nor its lists. Units: nm, ps, u, kJ/mol.

mod coulomb;
mod empty;
mod errors;
mod long_range;
mod moments;
mod plan;
mod planned;
pub mod replay;
mod resident;
pub mod schedule;
mod setup;

use super::{Backend, Evaluation, ListOrigin, Moment};
use crate::energies::Energies;
use crate::error::{Error, Result};
use crate::motion::leapfrog::StepEnergies;
use crate::state::{BarostatState, BathState, GpuState, State};
use crate::system::System;
use crate::titration::Biases;
use errors::{setup_error, step_error};
use forcefield::Cell;
use forcefield::device::EnergyTerm;
use kernels::device::Device;
use lambda::SiteValues;
use lambda::device::{KEPT_ROWS, KeptStep};
use lambda::motion::LambdaState;
use moments::Noted;
use plan::{Plan, plan};
use resident::Resident;
use setup::{Lists, ResidentError};
use std::collections::VecDeque;
use std::sync::Arc;

/// Steps between two looks at signals and the clock; outputs and lists are due at multiples of their own.
const PACE: u64 = 100;

/// Most steps given to the device at once, for which random numbers are there.
const PART: u64 = 1000;

/// A GPU as a backend.
pub struct Gpu {
    device: Device,
    system: Arc<System>,
    /// Those of the state that the device has.
    biases: Biases,
    alone: bool,
    resident: Resident,
    /// Order and boxes in words.
    coulomb: String,
    /// The lists in words.
    lists: String,
    /// Whether the device has moved on since the state was stored.
    ahead: bool,
    /// Whether it has since λ was stored.
    lambda_ahead: bool,
    /// Whether the motion has come to an end that nobody wanted: from then on the state is what it left, for whoever looks for the cause.
    motion_failed: bool,
    evaluation: Evaluation,
    /// Whether the evaluation is that of the present state.
    evaluated: bool,
    /// Steps between two that are kept, and the first one that is not fetched yet.
    keeping: Option<(u64, u64)>,
    /// Steps that have been fetched and nobody has asked for.
    kept: Vec<KeptStep>,
    /// Steps of the moments that are noted on the device.
    noted: VecDeque<u64>,
    /// Moments that have been fetched and nobody has asked for.
    moments: Vec<Moment>,
    /// What a person should know and has not been told.
    notices: Vec<String>,
}

impl Gpu {
    /// The system on `device`; `state` says around which positions boxes are laid. `alone`: whether the parts of a step run beside each other,
    /// which is faster for one system and slower for many that share a GPU.
    ///
    /// # Errors
    /// A system that the device cannot hold or does not know, by the key of the job.
    pub fn new(device: &Device, system: &Arc<System>, state: &State, biases: &Biases, alone: bool) -> Result<Self> {
        check(system, state)?;
        let Plan { resident, coulomb, lists } = plan(device, system, (state, state.cell), biases, alone)?;
        Ok(Self {
            device: device.clone(),
            system: system.clone(),
            biases: biases.clone(),
            alone,
            resident,
            coulomb,
            lists,
            ahead: false,
            lambda_ahead: false,
            motion_failed: false,
            evaluation: Evaluation::default(),
            evaluated: false,
            keeping: None,
            kept: Vec::new(),
            noted: VecDeque::new(),
            moments: Vec::new(),
            notices: Vec::new(),
        })
    }

    /// Values of all sites as the device has them.
    fn by_weight(&self, flat: Vec<f64>) -> SiteValues {
        self.system.layout().with_values(flat).expect("invariant: the device has the sites of the system")
    }

    /// Fetches what steps before the present one have left.
    fn fetch_kept(&mut self, state: &State) -> Result<()> {
        let Some((every, first)) = self.keeping.filter(|(_, first)| *first < state.step) else { return Ok(()) };
        self.kept.extend(self.resident.kept(first, state.step, every).map_err(self.failed(state.step))?);
        self.keeping = Some((every, state.step.next_multiple_of(every)));
        Ok(())
    }

    /// Fetches the moments that are noted on the device.
    fn fetch_noted(&mut self, state: &State) -> Result<()> {
        if self.noted.is_empty() {
            return Ok(());
        }
        for row in self.resident.noted().map_err(self.failed(state.step))? {
            let step = self.noted.pop_front().expect("invariant: every row was noted at a step");
            // A motion that has stopped stands where it was, and its moments are none.
            if row.step != step {
                continue;
            }
            let now = energies(&row.energies);
            now.check(&[], &self.system.topology).map_err(|e| e.at_step(step))?;
            let cell = Cell::from_packed(row.edges).map_err(|e| self.failed(step)(e.into()))?;
            let moment = self.moment(step, row, now, cell, state.sites.lambda.held);
            self.moments.push(moment);
        }
        Ok(())
    }

    fn moment(&self, step: u64, row: Noted, energies: Energies, cell: Cell, held: u64) -> Moment {
        let ([kinetic_before, kinetic_after, constraint_virial], [thermostat_work, work, heat]) =
            (row.motion, row.works);
        Moment {
            step,
            energies,
            motion: Some(StepEnergies { kinetic_before, kinetic_after, constraint_virial }),
            cell,
            bath: BathState { thermostat_work, barostat: BarostatState { work, ..BarostatState::default() } },
            lambda: LambdaState { coordinates: row.coordinates, velocities: row.velocities, heat, held },
            by_weight: self.by_weight(row.derivatives),
        }
    }

    fn failed(&self, step: u64) -> impl Fn(ResidentError) -> Error + use<> {
        let topology = self.system.topology.clone();
        move |e| step_error(e, &topology, step)
    }
}

/// Refuses what only the CPU can do.
fn check(system: &System, state: &State) -> Result<()> {
    if state.cell.is_periodic() {
        return Ok(());
    }
    // Boxes on a device lie where they were laid at the start; molecules that leave them would lose accuracy unseen.
    let message = "open boundaries: molecular dynamics on a GPU is for periodic boxes";
    Err(system.config.error_at("electrostatics.boundary", message, "--device cpu has no such limit"))
}

impl Backend for Gpu {
    fn describe_coulomb(&self) -> &str {
        &self.coulomb
    }

    fn describe_lists(&self) -> Option<&str> {
        Some(&self.lists)
    }

    fn notices(&mut self) -> Vec<String> {
        self.take_waits();
        std::mem::take(&mut self.notices)
    }

    fn pace(&self) -> u64 {
        PACE
    }

    fn list_interval(&self) -> Option<u64> {
        Some(self.resident.interval())
    }

    fn load(&mut self, state: &mut State, origin: ListOrigin) -> Result<()> {
        (self.ahead, self.lambda_ahead, self.evaluated) = (false, false, false);
        let kept = state.gpu.clone().filter(|_| origin == ListOrigin::Checkpoint);
        // A run that goes on has the plan that it had.
        let planned = kept.as_ref().and_then(|gpu| gpu.planned).unwrap_or(self.planned_for(state.cell));
        if planned != self.resident.planned().cell {
            self.plan(state, planned)?;
        }
        self.resident.check_cell(state.cell).map_err(|e| setup_error(&self.system.config, e))?;
        let shape = kept.as_ref().and_then(|gpu| gpu.shape).unwrap_or(state.cell);
        self.resident.set_shape(shape).map_err(self.failed(state.step))?;
        let lists = kept.as_ref().map(|gpu| Lists {
            pairs: state.lists.clone(),
            boxes: gpu.boxes.clone(),
            geometry: gpu.geometry.clone(),
        });
        // A checkpoint of the CPU has no boxes of a device, and one of another device may have others: lists are then made from the state.
        let lists = match lists {
            Some(lists) if self.resident.has_boxes_of(&lists, state.cell).map_err(self.failed(state.step))? => {
                Some(lists)
            }
            _ => None,
        };
        let continued = kept.filter(|_| lists.is_some());
        self.upload(state, lists.as_ref(), continued.and_then(|gpu| gpu.prepared))
    }

    fn set_biases(&mut self, biases: &Biases, step: u64) -> Result<()> {
        self.biases.clone_from(biases);
        self.resident.set_biases(biases.sites()).map_err(self.failed(step))
    }

    fn advance(&mut self, state: &mut State, steps: u64) -> Result<()> {
        (self.ahead, self.lambda_ahead, self.evaluated) = (true, true, false);
        let end = state.step + steps;
        while state.step < end {
            let mut part = PART.min(end - state.step);
            if let Some((every, first)) = self.keeping {
                if (state.step + part).saturating_sub(first).div_ceil(every) > KEPT_ROWS {
                    self.fetch_kept(state)?;
                }
                part = part.min(KEPT_ROWS * every);
            }
            let ran = self.resident.run(part);
            self.motion_failed = ran.is_err();
            let (made, outgrown) = ran.map_err(self.failed(state.step))?;
            state.step += made;
            if outgrown {
                self.plan_anew(state)?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self, state: &mut State) -> Result<Energies> {
        if self.evaluated {
            return Ok(self.evaluation.energies);
        }
        let failed = self.failed(state.step);
        let energies = energies(&self.resident.evaluate().map_err(&failed)?);
        let forces = self.resident.forces().map_err(&failed)?;
        let by_weight = self.by_weight(self.resident.by_weight().map_err(&failed)?);
        energies.check(&forces, &self.system.topology)?;
        self.evaluation = Evaluation { energies, forces, by_weight };
        self.evaluated = true;
        Ok(energies)
    }

    fn evaluate_derivatives(&mut self, state: &mut State) -> Result<()> {
        // What steps leave is computed as they compute it, energies or not: whoever looks gets the same number to the last bit.
        if !(self.evaluated && self.resident.has_energies(state.step)) {
            let flat = self.resident.derivatives().map_err(self.failed(state.step))?;
            self.evaluation.by_weight = self.by_weight(flat);
        }
        Ok(())
    }

    fn evaluation(&self) -> &Evaluation {
        &self.evaluation
    }

    fn keep(&mut self, every: u64, first: u64) -> Result<bool> {
        let kept = self.resident.keep(every).map_err(self.failed(first))?;
        self.keeping = kept.then_some((every, first));
        Ok(kept)
    }

    fn kept(&mut self, state: &State, wait: bool) -> Result<Vec<KeptStep>> {
        if wait {
            self.fetch_kept(state)?;
        }
        Ok(std::mem::take(&mut self.kept))
    }

    fn notes(&self) -> bool {
        true
    }

    fn note(&mut self, state: &State) -> Result<()> {
        if self.resident.notes_are_full() {
            self.fetch_noted(state)?;
        }
        self.resident.note().map_err(self.failed(state.step))?;
        self.noted.push_back(state.step);
        Ok(())
    }

    fn noted(&mut self, state: &State, wait: bool) -> Result<Vec<Moment>> {
        if wait {
            self.fetch_noted(state)?;
        }
        Ok(std::mem::take(&mut self.moments))
    }

    fn makes_lists(&self, state: &State) -> bool {
        self.resident.makes_lists(state.step)
    }

    fn store(&mut self, state: &mut State) -> Result<()> {
        if !self.ahead {
            return Ok(());
        }
        let failed = self.failed(state.step);
        if self.motion_failed {
            let atoms = self.resident.state_as_it_is().map_err(failed)?;
            (state.positions, state.velocities, state.cell) = (atoms.x, atoms.v, atoms.cell);
            return Ok(());
        }
        let (resident, lists) = self.resident.download().map_err(&failed)?;
        for (atom, x) in self.resident.references().map_err(&failed)? {
            state.restraint_references[atom as usize] = x;
        }
        state.lists = lists.pairs;
        let atoms = resident.atoms;
        let (geometry, boxes) = (lists.geometry, lists.boxes);
        let (planned, shape) = (Some(self.resident.planned().cell), self.resident.shape());
        state.gpu = Some(GpuState { geometry, prepared: atoms.prepared, boxes, planned, shape });
        (state.positions, state.velocities) = (atoms.x, atoms.v);
        (state.cell, state.bath) = (atoms.cell, atoms.bath);
        if !resident.lambda.coordinates.is_empty() {
            state.sites.lambda = resident.lambda;
        }
        (self.ahead, self.lambda_ahead) = (false, false);
        Ok(())
    }

    fn store_lambda(&mut self, state: &mut State) -> Result<()> {
        if !self.lambda_ahead {
            return Ok(());
        }
        if let Some(lambda) = self.resident.lambda().map_err(self.failed(state.step))? {
            state.sites.lambda = lambda;
        }
        self.lambda_ahead = false;
        Ok(())
    }

    fn profile(&mut self, state: &State) -> Result<Vec<(&'static str, f64)>> {
        self.resident.profile(&self.device).map_err(self.failed(state.step))
    }
}

fn energies(slots: &[i64]) -> Energies {
    let of = |term: EnergyTerm| term.of(slots);
    let mut out = Energies {
        lennard_jones: of(EnergyTerm::LennardJones),
        lennard_jones_14: of(EnergyTerm::LennardJones14),
        dispersion: of(EnergyTerm::Dispersion),
        coulomb: of(EnergyTerm::Coulomb),
        coulomb_14: of(EnergyTerm::Coulomb14),
        interpolation: of(EnergyTerm::Interpolation),
        restraints: of(EnergyTerm::Restraints),
        virial: of(EnergyTerm::Virial),
        ..Energies::default()
    };
    let b = &mut out.bonded;
    b.bonds.energy = of(EnergyTerm::Bonds);
    b.angles.energy = of(EnergyTerm::Angles);
    b.urey_bradley.energy = of(EnergyTerm::UreyBradley);
    b.proper_dihedrals.energy = of(EnergyTerm::ProperDihedrals);
    b.improper_dihedrals.energy = of(EnergyTerm::ImproperDihedrals);
    b.ryckaert_bellemans.energy = of(EnergyTerm::RyckaertBellemans);
    b.cmap.energy = of(EnergyTerm::Cmap);
    out
}
