//! A barostat along single axes: the device sums what the pressure is made of, the host couples, the device lets its atoms follow.
//!
//! The host must wait for such a step, because operators of the FMM follow the shape of the box. It is the coupling of the CPU, [`AxesRescale`], with the numbers of the device.

use super::DeviceMotion;
use crate::motion::barostat::axes::AxesRescale;
use crate::motion::device::constraints::THREADS;
use crate::motion::device::kernels::GroupArgs;
use crate::motion::device::shared::MotionError;
use crate::state::BarostatState;
use forcefield::Cell;
use kernels::device::{Buffer, DeviceError, Launch, Stream};
use nalgebra::Vector3;

/// The box after a step at whose end it has changed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretched {
    /// The box.
    pub cell: Cell,
    /// Whether lists from before do not serve any more, because it has become too much shorter along an axis.
    pub lists_are_stale: bool,
}

impl DeviceMotion {
    /// Sums up groups that constraints hold together, and free atoms, for the pressure along each axis: with `forces` `[3N]` and the velocities that a step begins with,
    /// or with those that it has ended with.
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_groups(&self, stream: &Stream, forces: &Buffer<i64>, before: bool) -> Result<(), DeviceError> {
        let arguments = GroupArgs {
            units: self.units.tables(),
            masses: self.masses.arg(),
            x: self.x.arg(),
            v: self.v.arg(),
            forces: forces.arg(),
            scaling: self.state.arg(),
            partials: self.groups.arg(),
            before: i32::from(before),
            unused: 0,
        };
        stream.launch(&self.kernels.groups, Launch::new(self.units.n_blocks, THREADS as u32), arguments)
    }

    /// V P_a along each axis (kJ/mol) in the middle of a step before and after which groups were summed up; `images` (kJ/mol): what Σ x_a F_a misses of the virial.
    ///
    /// # Errors
    /// A lost device.
    pub fn pressure_times_volume(&self, stream: &Stream, images: Vector3<f64>) -> Result<Vector3<f64>, DeviceError> {
        let partials = self.groups.read(stream)?;
        let rows = partials.chunks_exact(self.units.n_blocks.max(1) as usize);
        let sums: Vec<f64> = rows.map(|row| row.iter().sum()).collect();
        let of = |first: usize, axis: usize| sums.get(first + axis).copied().unwrap_or(0.0);
        Ok(Vector3::from_fn(|axis, _| of(0, axis) + images[axis] + 0.5 * (of(3, axis) + of(6, axis))))
    }

    /// Lets the barostat along single axes see V P_a (kJ/mol) of the `step` just made, and change the box where it is due; atoms and `reference` follow, and what the next
    /// step does to velocities is found anew. None if the box stays.
    ///
    /// # Errors
    /// A box that would change too much at once; a lost device.
    pub fn couple_axes(
        &mut self,
        stream: &Stream,
        along: Vector3<f64>,
        step: u64,
        reference: Option<&Buffer<f64>>,
    ) -> Result<Option<Stretched>, MotionError> {
        let Some((barostat, every)) = self.coupling.axes else { return Ok(None) };
        let packed = self.edges.read(stream)?;
        let edges = Vector3::from_column_slice(&packed[..3]);
        let pressure = along / edges.product();
        let mut state = self.state.read(stream)?[0];
        let mut done = BarostatState {
            work: state.barostat_work,
            pending_volume: state.pending_volume,
            pending_edges: self.pending_edges,
        };
        AxesRescale::observe(&mut done, pressure, edges);
        let time = every as f64 * self.dt;
        let factors = match self.coupling.box_changes(step) {
            true => {
                let seed = (self.coupling.seed, step);
                let factors = barostat.couple(&mut done, pressure, edges, time, seed);
                Some(factors.map_err(|_| MotionError::Barostat { step })?)
            }
            false => None,
        };
        (state.barostat_work, self.pending_edges) = (done.work, done.pending_edges);
        let Some(factors) = factors else {
            self.state.write(stream, &[state])?;
            return Ok(None);
        };
        let stretched = edges.component_mul(&factors);
        let scale = Vector3::from(state.list_scale).component_mul(&factors);
        (state.mu, state.list_scale) = (factors.into(), scale.into());
        self.state.write(stream, &[state])?;
        let mut packed: [f64; 6] = std::array::from_fn(|k| packed[k]);
        packed[..3].copy_from_slice(stretched.as_slice());
        self.edges.write(stream, &packed)?;
        self.enqueue_rescale(stream, reference)?;
        self.enqueue_prepare(stream)?;
        let lists_are_stale = self.least_scale > 0.0 && scale.min() < self.least_scale;
        Ok(Some(Stretched { cell: Cell::from_packed(packed)?, lists_are_stale }))
    }
}
