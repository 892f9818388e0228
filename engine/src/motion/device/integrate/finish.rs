//! The end of a step: sums over all atoms, and what follows from them for the next step; launches of `coupling.cu`.

use super::DeviceMotion;
use crate::motion::device::kernels::{BeginArgs, FinishArgs, MarkArgs, WIDE, quantities, reducers};
use crate::motion::device::shared::{Crowd, MotionError, Observed};
use fmm::device::BoxGeometry;
use kernels::device::{Buffer, DeviceError, In, Launch, Stream};

impl DeviceMotion {
    /// Finds kinetic energy and momentum of the velocities that are there, and what the present step will do to them.
    pub(super) fn prepare(&self, stream: &Stream) -> Result<(), MotionError> {
        self.enqueue_prepare(stream)?;
        self.check(stream).map(|_| ())
    }

    /// The same, and what went wrong is told later.
    pub(super) fn enqueue_prepare(&self, stream: &Stream) -> Result<(), DeviceError> {
        let arguments = BeginArgs {
            masses: self.masses.arg(),
            v: self.v.arg(),
            settings: self.settings.arg(),
            state: self.state.arg(),
            clock: self.clock.arg(),
            status: self.status.arg(),
            table: self.table.arg(),
            n_atoms: self.masses.len() as i32,
        };
        stream.launch(&self.kernels.begin, Launch::new(1, WIDE as u32), arguments)
    }

    /// Notes that neighbour lists are made from the present positions. A motion that waits for them still has to be let go ([`Self::release`]). If
    /// the list has more neighbours than room, both told by `crowd`, the motion waits for another one.
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_mark_lists(&self, stream: &Stream, crowd: Option<Crowd<'_>>) -> Result<(), DeviceError> {
        if !self.listed.is_empty() {
            stream.copy(&self.x, &self.listed)?;
        }
        let arguments = MarkArgs {
            state: self.state.arg(),
            status: self.status.arg(),
            clock: self.clock.arg(),
            neighbours: crowd.map_or(In::none(), |crowd| crowd.neighbours),
            room: crowd.map_or(0, |crowd| crowd.room as u32),
            unused: 0,
        };
        stream.launch(&self.kernels.mark, Launch::new(1, 1), arguments)
    }

    /// Does what follows from the sums of all atoms; this must be done before the next [`Self::enqueue_advance`]. Without a barostat that
    /// is its only deadline: it may run on another stream beside the forces.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a slot of the virial is not among `energies`; what the driver says against the launch.
    pub fn enqueue_finish(
        &self,
        stream: &Stream,
        energies: &Buffer<i64>,
        geometry: Option<&Buffer<BoxGeometry>>,
    ) -> Result<(), DeviceError> {
        self.sum_up(stream, energies, geometry, &self.observed, true)
    }

    /// Makes the sums of a step; with `commit` the state goes on to the next one.
    pub(super) fn sum_up(
        &self,
        stream: &Stream,
        energies: &Buffer<i64>,
        geometry: Option<&Buffer<BoxGeometry>>,
        observed: &Buffer<Observed>,
        commit: bool,
    ) -> Result<(), DeviceError> {
        energies.holds(self.n_energies)?;
        let arguments = FinishArgs {
            partials: self.partials.arg(),
            settings: self.settings.arg(),
            state: self.state.arg(),
            observed: observed.arg(),
            clock: self.clock.arg(),
            status: self.status.arg(),
            table: self.table.arg(),
            energies: energies.arg(),
            slots: self.slots.arg(),
            factors: self.factors.arg(),
            edges: self.edges.arg(),
            geometry: geometry.into(),
            n_blocks: self.units.n_blocks as i32,
            n_terms: self.slots.len() as i32,
            commit: i32::from(commit),
        };
        let langevin = self.coupling.langevin.is_some();
        let threads = reducers(langevin) * quantities(langevin);
        stream.launch(&self.kernels.finish, Launch::new(1, threads as u32), arguments)
    }
}
