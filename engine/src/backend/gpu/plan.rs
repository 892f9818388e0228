//! What a system on a GPU is planned for, at first and when a barostat has changed the density by much: order and boxes of the FMM, lists and
//! their buffers, memory for all of it.

use super::Gpu;
use super::errors::setup_error;
use crate::backend::Backend;
use crate::backend::fmm_settings::{charged, choose_on_gpu};
use crate::backend::gpu::resident::Resident;
use crate::backend::gpu::schedule::Schedule;
use crate::backend::gpu::setup::{Lists, ResidentState, Setup};
use crate::backend::terms::{modifier, split};
use crate::config;
use crate::error::Result;
use crate::motion::barostat::Barostat;
use crate::motion::device::{Coupling, MotionState};
use crate::motion::thermostat::Thermostat;
use crate::state::State;
use crate::system::System;
use crate::titration::Biases;
use forcefield::Cell;
use forcefield::device::Precision;
use kernels::device::Device;

/// A plan, carried out.
pub struct Plan {
    /// The system on its device.
    pub resident: Resident,
    /// Order and boxes in words.
    pub coulomb: String,
    /// The lists in words.
    pub lists: String,
}

/// The system in about `cell`; `state` says around which positions boxes are laid where nothing repeats. `alone`: whether the parts of a step
/// run beside each other.
///
/// # Errors
/// A system that the device cannot hold or does not know, by the key of the job.
pub fn plan(
    device: &Device,
    system: &System,
    (state, cell): (&State, Cell),
    biases: &Biases,
    alone: bool,
) -> Result<Plan> {
    let config = &system.config;
    let van_der_waals = &config.van_der_waals;
    let charged = charged(&system.topology, system.titratable());
    let (fmm, coulomb) = choose_on_gpu(device, &config.electrostatics, (&state.positions, &charged), cell)
        .map_err(|e| setup_error(config, e.into()))?;
    let plan = &system.plan;
    let schedule = Schedule::new(system, cell);
    let variants = system.sites.as_ref().map_or(&[][..], |sites| &sites.variants);
    let (shared, variants) = split(config, &system.topology, system.titratable(), variants, schedule.buffer)?;
    let setup = Setup {
        topology: &shared,
        variants: variants.as_ref().map(|variants| (variants, &*system.topology)),
        masses: &system.masses,
        constraints: &system.constraints,
        dt: plan.dt,
        coupling: Coupling {
            seed: plan.seed,
            remove_com_interval: plan.remove_com,
            thermostat: (system.thermostat.as_ref().and_then(Thermostat::v_rescale))
                .map(|bath| (*bath, plan.thermostat)),
            langevin: system.thermostat.as_ref().and_then(Thermostat::langevin).copied(),
            barostat: match system.barostat {
                Some(Barostat::Isotropic(barostat)) => Some((barostat, plan.barostat)),
                _ => None,
            },
            axes: match system.barostat {
                Some(Barostat::Axes(barostat)) => Some((barostat, plan.barostat)),
                _ => None,
            },
            barostat_start: plan.barostat_start,
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
            axes: matches!(system.barostat, Some(Barostat::Axes(_))),
        },
        schedule: &schedule,
        fmm,
        charged: &charged,
        start: &state.positions,
        cell,
        reference: &state.restraint_references,
        fading: plan.fading,
        sites: system.sites.as_ref().filter(|sites| !sites.sites.is_empty()),
        biases,
        alone,
        interpolation: config.titration.as_ref().map_or(config::Interpolation::Hamiltonian, |t| t.interpolation),
    };
    let resident = Resident::new(device, &setup).map_err(|e| setup_error(config, e))?;
    Ok(Plan { resident, coulomb, lists: schedule.describe(config) })
}

impl Gpu {
    /// The box to plan for in `cell`: that of the present plan, as long as it serves.
    pub(super) fn planned_for(&self, cell: Cell) -> Cell {
        let planned = self.resident.planned();
        if planned.is_outgrown_by(cell) { cell } else { planned.cell }
    }

    /// Another plan, for `cell`. The device then has no state.
    ///
    /// # Errors
    /// As [`plan`]; the old plan is then still there.
    pub(super) fn plan(&mut self, state: &State, cell: Cell) -> Result<()> {
        let Plan { resident, coulomb, lists } =
            plan(&self.device, &self.system, (state, cell), &self.biases, self.alone)?;
        self.take_waits();
        (self.resident, self.coulomb, self.lists) = (resident, coulomb, lists);
        if let Some((every, _)) = self.keeping {
            self.resident.keep(every).map_err(self.failed(state.step))?;
        }
        Ok(())
    }

    /// Plans for the box of now, and goes on there.
    ///
    /// # Errors
    /// As [`plan`]; a lost device.
    pub(super) fn plan_anew(&mut self, state: &mut State) -> Result<()> {
        self.fetch_kept(state)?;
        self.fetch_noted(state)?;
        self.store(state)?;
        let then = self.resident.planned().cell.volume().unwrap_or_default();
        let now = state.cell.volume().unwrap_or_default();
        self.plan(state, state.cell)?;
        self.notices.push(format!(
            "step {}: the volume of the box has gone from {then:.1} to {now:.1} nm³ since boxes and lists were planned; they are planned anew: {}; neighbour lists {}",
            state.step, self.coulomb, self.lists
        ));
        let prepared = state.gpu.as_ref().and_then(|gpu| gpu.prepared);
        self.upload(state, None, prepared)?;
        (self.ahead, self.lambda_ahead, self.evaluated) = (true, true, false);
        Ok(())
    }

    /// Puts the state on the device, with these lists or with new ones, and with what is known of the next step.
    ///
    /// # Errors
    /// Positions of which no list can be made; a lost device.
    pub(super) fn upload(
        &mut self,
        state: &mut State,
        lists: Option<&Lists>,
        prepared: Option<[f64; 5]>,
    ) -> Result<()> {
        let atoms = MotionState {
            step: state.step,
            x: state.positions.clone(),
            v: state.velocities.clone(),
            cell: state.cell,
            bath: state.bath,
            prepared,
        };
        let resident = ResidentState { atoms, lambda: state.sites.lambda.clone() };
        let uploaded = self.resident.upload(&resident, &state.restraint_references, lists);
        uploaded.map_err(self.failed(state.step))?;
        if lists.is_none() {
            state.lists.positions.clone_from(&state.positions);
            state.lists.cell = state.cell;
        }
        Ok(())
    }

    /// Keeps what the resident system has to say.
    pub(super) fn take_waits(&mut self) {
        let topology = &self.system.topology;
        self.notices.extend(self.resident.take_waits().iter().map(|wait| wait.describe(topology)));
    }
}
