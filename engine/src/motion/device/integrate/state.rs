//! What goes to a system in motion on a device, and what comes back: its state, random numbers, lists, observations, failures.

use super::DeviceMotion;
use crate::motion::device::coupling::TABLE_STEPS;
use crate::motion::device::shared::{Clock, CouplingState, MotionError, MotionState, MotionStatus, Observed, Standing};
use crate::state::{BarostatState, BathState};
use bytemuck::Zeroable;
use forcefield::Cell;
use kernels::device::{DeviceError, Stream};
use nalgebra::Vector3;

fn vectors(numbers: &[f64]) -> Vec<Vector3<f64>> {
    numbers.as_chunks::<3>().0.iter().map(|&a| Vector3::from(a)).collect()
}

impl DeviceMotion {
    /// Puts the state on the device; lists count as made from these positions. [`Self::cover`] then finds out what the first step does to the
    /// velocities.
    ///
    /// # Errors
    /// Lists of another length; a lost device.
    pub fn upload(&mut self, stream: &Stream, state: &MotionState) -> Result<(), MotionError> {
        self.x.write(stream, bytemuck::cast_slice(&state.x))?;
        self.v.write(stream, bytemuck::cast_slice(&state.v))?;
        self.edges.write(stream, &state.cell.packed())?;
        let BathState { thermostat_work, barostat } = state.bath;
        let BarostatState { work: barostat_work, pending_volume, pending_edges } = barostat;
        self.pending_edges = pending_edges;
        let mut coupling = CouplingState { thermostat_work, barostat_work, pending_volume, ..CouplingState::still() };
        if let Some(prepared) = state.prepared {
            coupling.set_prepared(prepared);
        }
        self.state.write(stream, &[coupling])?;
        let step = state.step as i64;
        self.write_table(stream, Clock { step, due: step, ..Clock::zeroed() }, state.step)?;
        self.status.write(stream, &[MotionStatus::zeroed()])?;
        self.unprepared = state.prepared.is_none();
        Ok(self.enqueue_mark_lists(stream, None)?)
    }

    /// The state at the present step. After a failure all but positions and velocities is that of the last good step.
    ///
    /// # Errors
    /// A lost device; a box that is none.
    pub fn download(&self, stream: &Stream) -> Result<MotionState, MotionError> {
        let coupling = self.state.read(stream)?[0];
        let edges = self.edges.read(stream)?;
        let edges = edges.as_chunks::<6>().0.first().copied().unwrap_or_default();
        Ok(MotionState {
            step: self.step(stream)?,
            x: vectors(&self.x.read(stream)?),
            v: vectors(&self.v.read(stream)?),
            cell: Cell::from_packed(edges)?,
            bath: BathState {
                thermostat_work: coupling.thermostat_work,
                barostat: BarostatState {
                    work: coupling.barostat_work,
                    pending_volume: coupling.pending_volume,
                    pending_edges: self.pending_edges,
                },
            },
            prepared: Some(coupling.prepared()),
        })
    }

    pub(super) fn write_settings(&self, stream: &Stream) -> Result<(), DeviceError> {
        self.settings.write(stream, &[self.coupling.settings(self.dt, self.mass, self.tail, self.least_scale)])
    }

    /// Makes sure that random numbers are there for the `steps` steps (at most `TABLE_STEPS` − 1) from `step` on, where the device will then
    /// be; it is called before these steps are enqueued.
    ///
    /// # Errors
    /// A lost device.
    pub fn cover(&mut self, stream: &Stream, step: u64, steps: u64) -> Result<(), MotionError> {
        // The end of the last step prepares the one after it.
        if step < self.table_start || step + steps >= self.table_start + TABLE_STEPS {
            let clock = self.clock.read(stream)?[0];
            self.write_table(stream, clock, step)?;
        }
        if std::mem::take(&mut self.unprepared) { self.prepare(stream) } else { Ok(()) }
    }

    /// Puts the random numbers of the steps from `first` on beside a clock that stands as it is.
    fn write_table(&mut self, stream: &Stream, clock: Clock, first: u64) -> Result<(), DeviceError> {
        self.table.write(stream, &self.coupling.random_numbers(first))?;
        self.table_start = first;
        self.clock.write(stream, &[Clock { table_start: first as i64, table_steps: TABLE_STEPS as i64, ..clock }])
    }

    /// Where atoms were when lists were made (nm), and by how much the box has been scaled since.
    ///
    /// # Errors
    /// A lost device.
    pub fn lists(&self, stream: &Stream) -> Result<(Vec<Vector3<f64>>, Vector3<f64>), DeviceError> {
        Ok((vectors(&self.listed.read(stream)?), self.state.read(stream)?[0].list_scale.into()))
    }

    /// Puts back what [`Self::lists`] told, after [`Self::upload`]: lists were made from those positions.
    ///
    /// # Errors
    /// A list of another length; a lost device.
    pub fn restore_lists(&self, stream: &Stream, x: &[Vector3<f64>], scale: Vector3<f64>) -> Result<(), DeviceError> {
        self.listed.write(stream, bytemuck::cast_slice(x))?;
        let coupling = self.state.read(stream)?[0];
        self.state.write(stream, &[CouplingState { list_scale: scale.into(), ..coupling }])
    }

    /// What [`Self::enqueue_look_ahead`] saw.
    ///
    /// # Errors
    /// A lost device.
    pub fn looked(&self, stream: &Stream) -> Result<Observed, DeviceError> {
        Ok(self.looked.read(stream)?[0])
    }

    /// What the last step told.
    ///
    /// # Errors
    /// A lost device.
    pub fn observed(&self, stream: &Stream) -> Result<Observed, DeviceError> {
        Ok(self.observed.read(stream)?[0])
    }

    /// Waits for all that is enqueued, and tells where the motion stands.
    ///
    /// # Errors
    /// Whatever stopped the motion.
    pub fn check(&self, stream: &Stream) -> Result<Standing, MotionError> {
        let status = self.status.read(stream)?[0];
        let step = self.step(stream)?;
        match MotionError::from_status(&status, step) {
            Some(error) => Err(error),
            None => Ok(Standing::new(step, &status)),
        }
    }

    /// Lets a motion go on that has waited for new lists: they have been made from the present positions. It may be called only after
    /// [`Self::check`] found no failure, which would be forgotten too.
    ///
    /// # Errors
    /// A lost device.
    pub fn release(&self, stream: &Stream) -> Result<(), DeviceError> {
        self.status.write(stream, &[MotionStatus::zeroed()])?;
        let clock = self.clock.read(stream)?[0];
        self.clock.write(stream, &[Clock { due: clock.step, ..clock }])
    }

    /// The step where the device stands; waits for the stream.
    fn step(&self, stream: &Stream) -> Result<u64, DeviceError> {
        Ok(self.clock.read(stream)?[0].step as u64)
    }
}
