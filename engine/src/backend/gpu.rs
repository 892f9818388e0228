//! A GPU: the whole step runs there (`resident.rs`), and the state is fetched when someone looks at it.
//!
//! Nothing of the CPU's way is built beside it: neither its FMM nor its lists. Units: nm, ps, u, kJ/mol.

mod coulomb;
mod long_range;
pub mod replay;
mod resident;
pub mod schedule;
mod setup;

use super::fmm_settings::choose_on_gpu;
use super::terms::{coulomb_error, modifier};
use super::{Backend, Evaluation, ListOrigin};
use crate::config::{self, Config};
use crate::energies::Energies;
use crate::error::{Error, InputError, PhysicsError, Result};
use crate::motion::device::{Coupling, MotionError, MotionState};
use crate::state::{GpuState, State};
use crate::system::System;
use crate::titration::Biases;
use fmm::FmmError;
use forcefield::Topology;
use forcefield::device::{DeviceTermError, EnergyTerm, Precision};
use kernels::device::{Device, DeviceError};
use lambda::SiteValues;
use lambda::device::SitesError;
use resident::Resident;
use schedule::Schedule;
use setup::{Lists, ResidentError, ResidentState, Setup};
use std::sync::Arc;

/// Steps between two looks at signals and the clock; outputs and lists are due at multiples of their own.
const PACE: u64 = 100;

/// Most steps given to the device at once, for which random numbers are there.
const PART: u64 = 1000;

/// A GPU as a backend.
pub struct Gpu {
    system: Arc<System>,
    resident: Resident,
    /// Order and boxes in words.
    coulomb: String,
    /// The lists in words.
    lists: String,
    /// Whether the device has moved on since the state was stored.
    ahead: bool,
    evaluation: Evaluation,
    /// Whether the evaluation is that of the present state.
    evaluated: bool,
}

impl Gpu {
    /// The system on `device`; `state` says around which positions boxes are laid. `alone`: whether the parts of a step run beside each other,
    /// which is faster for one system and slower for many that share a GPU.
    ///
    /// # Errors
    /// A system that the device cannot hold or does not know, by the key of the job.
    pub fn new(device: &Device, system: &Arc<System>, state: &State, biases: &Biases, alone: bool) -> Result<Self> {
        let config = &system.config;
        check(system, state)?;
        let van_der_waals = &config.van_der_waals;
        let (fmm, coulomb) = choose_on_gpu(device, &config.electrostatics, &state.positions, state.cell);
        let plan = &system.plan;
        let schedule = Schedule::new(system, state.cell);
        let setup = Setup {
            topology: &system.topology,
            masses: &system.masses,
            constraints: &system.constraints,
            dt: plan.dt,
            coupling: Coupling {
                seed: plan.seed,
                remove_com_interval: plan.remove_com,
                thermostat: system.thermostat.map(|thermostat| (thermostat, plan.thermostat)),
                barostat: system.barostat.map(|barostat| (barostat, plan.barostat)),
            },
            lennard_jones: forcefield::device::Settings {
                cutoff: van_der_waals.cutoff.get(),
                modifier: modifier(van_der_waals),
                buffer: schedule.buffer,
                dispersion_correction: van_der_waals.dispersion_correction,
                precision: match config.electrostatics.precision {
                    config::Precision::Single => Precision::Single,
                    config::Precision::Double => Precision::Double,
                },
            },
            schedule: &schedule,
            fmm,
            start: &state.positions,
            cell: state.cell,
            reference: &state.restraint_references,
            sites: system.sites.as_ref().filter(|sites| !sites.sites.is_empty()),
            biases,
            alone,
            interpolation: config.titration.as_ref().map_or(config::Interpolation::Hamiltonian, |t| t.interpolation),
        };
        let resident = Resident::new(device, &setup).map_err(|e| setup_error(config, e))?;
        Ok(Self {
            system: system.clone(),
            resident,
            coulomb,
            lists: schedule.describe(config),
            ahead: false,
            evaluation: Evaluation::default(),
            evaluated: false,
        })
    }

    /// Values of all sites as the device has them.
    fn by_weight(&self, flat: Vec<f64>) -> SiteValues {
        self.system.layout().with_values(flat).expect("invariant: the device has the sites of the system")
    }

    fn failed(&self, step: u64) -> impl Fn(ResidentError) -> Error + use<> {
        let topology = self.system.topology.clone();
        move |e| step_error(e, &topology, step)
    }
}

/// Refuses what only the CPU can do.
fn check(system: &System, state: &State) -> Result<()> {
    let refused =
        |key: &str, message: String| Err(system.config.error_at(key, message, "--device cpu has no such limit"));
    if !state.cell.is_periodic() {
        // Boxes on a device lie where they were laid at the start; molecules that leave them would lose accuracy unseen.
        let message = "open boundaries: molecular dynamics on a GPU is for periodic boxes";
        return refused("electrostatics.boundary", message.into());
    }
    let Some(sites) = &system.sites else { return Ok(()) };
    match sites.sites.iter().zip(&sites.variants).find(|(_, variants)| !variants.is_empty()) {
        Some((site, _)) => {
            let name = &site.name;
            refused("titration", format!("forms of {name} differ in Lennard-Jones types or bonded terms: not on a GPU"))
        }
        None => Ok(()),
    }
}

impl Backend for Gpu {
    fn describe_coulomb(&self) -> &str {
        &self.coulomb
    }

    fn describe_lists(&self) -> Option<&str> {
        Some(&self.lists)
    }

    fn notices(&mut self) -> Vec<String> {
        let topology = &self.system.topology;
        self.resident.take_waits().iter().map(|wait| wait.describe(topology)).collect()
    }

    fn pace(&self) -> u64 {
        PACE
    }

    fn list_interval(&self) -> Option<u64> {
        Some(self.resident.interval())
    }

    fn load(&mut self, state: &mut State, origin: ListOrigin) -> Result<()> {
        (self.ahead, self.evaluated) = (false, false);
        self.resident.check_cell(state.cell).map_err(|e| setup_error(&self.system.config, e))?;
        let kept = state.gpu.as_ref().filter(|_| origin == ListOrigin::Checkpoint);
        let lists = kept.map(|gpu| Lists {
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
        let atoms = MotionState {
            step: state.step,
            x: state.positions.clone(),
            v: state.velocities.clone(),
            cell: state.cell,
            bath: state.bath,
            prepared: continued.and_then(|gpu| gpu.prepared),
        };
        let resident = ResidentState { atoms, lambda: state.sites.lambda.clone() };
        let uploaded = self.resident.upload(&resident, &state.restraint_references, lists.as_ref());
        uploaded.map_err(self.failed(state.step))?;
        if lists.is_none() {
            state.lists.positions.clone_from(&state.positions);
            state.lists.cell = state.cell;
        }
        Ok(())
    }

    fn set_biases(&mut self, biases: &Biases, step: u64) -> Result<()> {
        self.resident.set_biases(biases.sites()).map_err(self.failed(step))
    }

    fn advance(&mut self, state: &mut State, steps: u64) -> Result<()> {
        (self.ahead, self.evaluated) = (true, false);
        let end = state.step + steps;
        while state.step < end {
            let part = PART.min(end - state.step);
            self.resident.run(part).map_err(self.failed(state.step))?;
            state.step += part;
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
        if !self.evaluated {
            let flat = self.resident.derivatives().map_err(self.failed(state.step))?;
            self.evaluation.by_weight = self.by_weight(flat);
        }
        Ok(())
    }

    fn evaluation(&self) -> &Evaluation {
        &self.evaluation
    }

    fn store(&mut self, state: &mut State) -> Result<()> {
        if !self.ahead {
            return Ok(());
        }
        let failed = self.failed(state.step);
        let (resident, lists) = self.resident.download().map_err(&failed)?;
        for (atom, x) in self.resident.references().map_err(&failed)? {
            state.restraint_references[atom as usize] = x;
        }
        state.lists = lists.pairs;
        let atoms = resident.atoms;
        let (geometry, boxes) = (lists.geometry, lists.boxes);
        state.gpu = Some(GpuState { geometry, prepared: atoms.prepared, boxes });
        (state.positions, state.velocities) = (atoms.x, atoms.v);
        (state.cell, state.bath) = (atoms.cell, atoms.bath);
        if !resident.lambda.coordinates.is_empty() {
            state.sites.lambda = resident.lambda;
        }
        self.ahead = false;
        Ok(())
    }

    fn store_lambda(&mut self, state: &mut State) -> Result<()> {
        if !self.ahead {
            return Ok(());
        }
        if let Some(lambda) = self.resident.lambda().map_err(self.failed(state.step))? {
            state.sites.lambda = lambda;
        }
        Ok(())
    }

    fn profile(&mut self, state: &State) -> Result<Vec<(&'static str, f64)>> {
        self.resident.profile().map_err(self.failed(state.step))
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

/// What the device itself says, if it is the cause.
fn cause(error: &ResidentError) -> Option<&DeviceError> {
    match error {
        ResidentError::Device(e)
        | ResidentError::Fmm(FmmError::Device(e))
        | ResidentError::Term(DeviceTermError::Device(e))
        | ResidentError::Sites(SitesError::Device(e))
        | ResidentError::Motion(MotionError::Device(e)) => Some(e),
        _ => None,
    }
}

fn setup_error(config: &Config, error: ResidentError) -> Error {
    if let Some(e) = cause(&error) {
        return device_error(e);
    }
    match error {
        ResidentError::Fmm(e) => config.error_at("electrostatics", e.to_string(), "--device cpu has other limits"),
        other => Error::input(other.to_string(), "--device cpu has other limits"),
    }
}

fn device_error(error: &DeviceError) -> Error {
    let full = match error {
        DeviceError::OutOfMemory { .. } => true,
        DeviceError::Driver { code, .. } => code == "CUDA_ERROR_OUT_OF_MEMORY",
        _ => false,
    };
    if full {
        let help = "take a smaller system or a larger GPU, or --device cpu";
        return Error::Memory(Box::new(InputError::new(error.to_string(), help)));
    }
    let help = match error {
        DeviceError::Lost { .. } => "the last checkpoint is kept: the same command continues",
        _ => "--device cpu runs without a GPU",
    };
    Error::input(error.to_string(), help)
}

fn step_error(error: ResidentError, topology: &Topology, step: u64) -> Error {
    let physics = |term: &str, message: String, atom: Option<u32>, step: u64| {
        PhysicsError {
            message,
            term: term.into(),
            atom: atom.map(|atom| topology.label(atom)),
            step: Some(step),
            help: "atoms that overlap: minimise first, or use a shorter time step".into(),
            ..PhysicsError::default()
        }
        .into()
    };
    if let Some(e) = cause(&error) {
        return device_error(e);
    }
    match error {
        ResidentError::Sites(e) => physics("λ", e.to_string(), None, step),
        ResidentError::Fmm(e) => coulomb_error(&e, topology),
        ResidentError::Motion(e) => {
            let (atom, at) = match &e {
                MotionError::NotFinite { step, atom } | MotionError::Settle { step, atom } => (Some(*atom), *step),
                MotionError::Shake { step, atoms } => (Some(atoms[0]), *step),
                _ => (None, step),
            };
            physics("motion", e.to_string(), atom, at)
        }
        other => physics("motion", other.to_string(), None, step),
    }
}
