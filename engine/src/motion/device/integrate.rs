//! The motion on a GPU: leap-frog with constraints, thermostat, barostat and removal of the motion of the centre of mass. All state stays on
//! the device; launches of `integrate.cu`.
//!
//! A step is [`DeviceMotion::enqueue_advance`] (v and x of all atoms, constraints; `integrate.cu`), then
//! [`DeviceMotion::enqueue_finish`] (sums, energies, pressure, what the next step will do to the velocities; `coupling.cu`), then, with
//! a barostat, [`DeviceMotion::enqueue_rescale`]. The thermostat acts at the start of a step from the kinetic energy at the end
//! of the step before, so that the order is that of [`crate::simulation`]. Nothing is read back in a step; a failure stops the
//! motion on the device and is told by [`DeviceMotion::check`]; so do lists that cease to serve, until [`DeviceMotion::release`]. Sums have a fixed order: runs repeat bit for bit.
//!
//! Units: nm, ps, u, kJ/mol; f64, atoms in their order. Forces: fixed-point 2⁻³² kJ/mol/nm; energies: 2⁻²⁴ kJ/mol.

use super::constraints::{THREADS, UnitBuffers, Units};
use super::coupling::{Coupling, ListLimits, MAX_TERMS, TABLE_STEPS, VirialTerms};
use super::kernels::{CLEAR_FORCES, Kernels, LeapArgs, MOVES_FROM_LISTS, RescaleArgs, quantities};
use super::shared::{Bath, Clock, CouplingSettings, CouplingState, MotionStatus, Observed, StepNumbers};
use crate::motion::constraints::Constraints;
use bytemuck::Zeroable;
use fmm::device::BoxGeometry;
use kernels::device::{Buffer, Device, DeviceError, In, Launch, Stream};
use std::mem::offset_of;

mod axes;
mod finish;
mod state;

/// Bytes of shared memory for positions, velocities and forces of a block of waters.
const STAGE: u32 = 27 * THREADS as u32 * 8;

/// A system in motion on a device.
pub struct DeviceMotion {
    pub(super) kernels: Kernels,
    pub(super) units: UnitBuffers,
    coupling: Coupling,
    dt: f64,
    tolerance: f64,
    mass: f64,
    tail: f64,
    pub(super) slots: Buffer<u32>,
    /// Energies that there must be, for the last of these slots.
    pub(super) n_energies: usize,
    pub(super) factors: Buffer<f64>,
    pub(super) masses: Buffer<f64>,
    pub(super) x: Buffer<f64>,
    pub(super) v: Buffer<f64>,
    /// Positions and velocities after a step that is only looked at.
    ahead: [Buffer<f64>; 2],
    pub(super) listed: Buffer<f64>,
    /// 1/(how far each atom may be from there)², 1/nm²; empty without lists.
    per_farthest2: Buffer<f32>,
    least_scale: f64,
    pub(super) edges: Buffer<f64>,
    pub(super) partials: Buffer<f64>,
    pub(super) settings: Buffer<CouplingSettings>,
    pub(super) state: Buffer<CouplingState>,
    /// The state of a coupling that does nothing.
    still: Buffer<CouplingState>,
    pub(super) observed: Buffer<Observed>,
    looked: Buffer<Observed>,
    pub(super) clock: Buffer<Clock>,
    pub(super) status: Buffer<MotionStatus>,
    pub(super) table: Buffer<StepNumbers>,
    table_start: u64,
    /// X F, M V² before and M V² after a step of groups along each axis, `[9][blocks]`; empty without a barostat along single axes.
    groups: Buffer<f64>,
    /// The last change of each edge, of whose work one half is still to be counted, nm.
    pub(super) pending_edges: [f64; 3],
    /// Whether it is still to be found out what the next step does to the velocities.
    unprepared: bool,
}

impl DeviceMotion {
    /// A system of atoms of `masses` (u) under `constraints`, made with the same masses, with time step `dt` (ps). What has no mass stays where it
    /// is: something else places it.
    ///
    /// # Errors
    /// Out of memory; kernels that do not compile; too many terms of the virial.
    pub fn new(
        device: &Device,
        masses: &[f64],
        constraints: &Constraints,
        dt: f64,
        coupling: Coupling,
        virial: &VirialTerms,
    ) -> Result<Self, DeviceError> {
        if virial.slots.len() > MAX_TERMS {
            return Err(DeviceError::Length { expected: MAX_TERMS, found: virial.slots.len() });
        }
        let n = masses.len();
        let langevin = coupling.langevin.is_some();
        let units = UnitBuffers::new(device, &Units::new(masses, constraints), langevin)?;
        let (slots, factors): (Vec<u32>, Vec<f64>) = virial.slots.iter().copied().unzip();
        let mass = masses.iter().sum();
        let still = [CouplingState::still()];
        Ok(Self {
            kernels: Kernels::new(device, langevin)?,
            dt,
            tolerance: constraints.tolerance(),
            mass,
            tail: virial.tail,
            n_energies: slots.iter().max().map_or(0, |last| *last as usize + 1),
            slots: device.upload(&slots)?,
            factors: device.upload(&factors)?,
            masses: device.upload(masses)?,
            x: device.zeros(3 * n)?,
            v: device.zeros(3 * n)?,
            ahead: [device.zeros(3 * n)?, device.zeros(3 * n)?],
            listed: device.zeros(0)?,
            per_farthest2: device.zeros(0)?,
            least_scale: 0.0,
            edges: device.zeros(6)?,
            partials: device.zeros(quantities(langevin) * units.n_blocks as usize)?,
            settings: device.upload(&[coupling.settings(dt, mass, virial.tail, 0.0)])?,
            state: device.upload(&still)?,
            still: device.upload(&still)?,
            observed: device.zeros(1)?,
            looked: device.zeros(1)?,
            clock: device.zeros(1)?,
            status: device.zeros(1)?,
            table: device.zeros(TABLE_STEPS as usize)?,
            table_start: 0,
            groups: device.zeros(if coupling.axes.is_some() { 9 * units.n_blocks as usize } else { 0 })?,
            pending_edges: [0.0; 3],
            unprepared: true,
            units,
            coupling,
        })
    }

    /// Stops the motion from now on where lists cease to serve, until [`Self::release`]. Graphs that hold a step must be captured anew.
    ///
    /// # Errors
    /// Limits of another number of atoms; out of memory.
    pub fn watch_lists(&mut self, device: &Device, stream: &Stream, limits: &ListLimits) -> Result<(), DeviceError> {
        let (expected, found) = (self.masses.len(), limits.farthest.len());
        if found != expected {
            return Err(DeviceError::Length { expected, found });
        }
        let inverse: Vec<f32> = limits.farthest.iter().map(|d| (1.0 / (d * d)) as f32).collect();
        self.per_farthest2 = device.upload(&inverse)?;
        self.listed = device.zeros(3 * expected)?;
        self.least_scale = limits.least_scale;
        self.write_settings(stream)
    }

    /// Positions (nm) `[3N]`.
    pub fn x(&self) -> &Buffer<f64> {
        &self.x
    }

    /// Velocities (nm/ps) `[3N]`.
    pub fn v(&self) -> &Buffer<f64> {
        &self.v
    }

    /// Edges of the box (nm) `[6]`, as [`forcefield::Cell::packed`]; zeros without a box.
    pub fn edges(&self) -> &Buffer<f64> {
        &self.edges
    }

    /// What the last look ahead saw.
    pub fn looked_at(&self) -> &Buffer<Observed> {
        &self.looked
    }

    /// What thermostat and barostat carry from step to step.
    pub fn coupling_state(&self) -> &Buffer<CouplingState> {
        &self.state
    }

    /// Thermostat, barostat and what else acts between two steps.
    pub fn coupling(&self) -> &Coupling {
        &self.coupling
    }

    /// Number of the present step, on the device.
    pub fn clock(&self) -> In<'_, i64> {
        In::within(&self.clock, offset_of!(Clock, step))
    }

    /// Number of the step that is to be made, on the device; −1 while nothing moves.
    pub fn due(&self) -> In<'_, i64> {
        In::within(&self.clock, offset_of!(Clock, due))
    }

    /// How many threads move the atoms.
    pub fn launch(&self) -> Launch {
        Launch::new(self.units.n_blocks, THREADS as u32).with_shared(STAGE)
    }

    /// Makes a whole step with `forces` `[3N]` at the present positions.
    ///
    /// The virial is made of slots of `energies`. The boxes of the FMM (`geometry`) and the positions that restraints hold (`reference`)
    /// follow the box. With `clear` the forces are set to zero for the next step.
    ///
    /// # Errors
    /// [`DeviceError::Length`] for forces of other atoms, or too few energies; what the driver says against a launch.
    pub fn enqueue_step(
        &self,
        stream: &Stream,
        forces: &Buffer<i64>,
        energies: &Buffer<i64>,
        geometry: Option<&Buffer<BoxGeometry>>,
        reference: Option<&Buffer<f64>>,
        clear: bool,
    ) -> Result<(), DeviceError> {
        self.enqueue_advance(stream, forces, clear)?;
        self.enqueue_finish(stream, energies, geometry)?;
        if self.coupling.barostat.is_some() { self.enqueue_rescale(stream, reference) } else { Ok(()) }
    }

    /// Moves all atoms by one step: velocities, positions, constraints.
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_advance(&self, stream: &Stream, forces: &Buffer<i64>, clear: bool) -> Result<(), DeviceError> {
        let moves = if self.listed.is_empty() { 0 } else { MOVES_FROM_LISTS };
        let flags = moves | if clear { CLEAR_FORCES } else { 0 };
        self.move_atoms(stream, forces, [&self.x, &self.v], (&self.state, self.coupling.bath(self.dt)), flags)
    }

    fn move_atoms(
        &self,
        stream: &Stream,
        forces: &Buffer<i64>,
        out: [&Buffer<f64>; 2],
        (scaling, bath): (&Buffer<CouplingState>, Bath),
        flags: i32,
    ) -> Result<(), DeviceError> {
        if forces.len() != self.x.len() {
            return Err(DeviceError::Length { expected: self.x.len(), found: forces.len() });
        }
        let arguments = LeapArgs {
            units: self.units.tables(),
            masses: self.masses.arg(),
            x: self.x.arg(),
            v: self.v.arg(),
            x_out: out[0].arg(),
            v_out: out[1].arg(),
            forces: forces.arg(),
            scaling: scaling.arg(),
            listed: self.listed.arg(),
            per_farthest2: self.per_farthest2.arg(),
            partials: self.partials.arg(),
            status: self.status.arg(),
            dt: self.dt,
            per_dt: 1.0 / self.dt,
            tolerance: self.tolerance,
            step: self.clock(),
            bath,
            flags,
        };
        stream.launch(&self.kernels.leap, self.launch(), arguments)
    }

    /// Lets positions and velocities follow the box. It does nothing but in steps for which [`Coupling::box_changes`].
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_rescale(&self, stream: &Stream, reference: Option<&Buffer<f64>>) -> Result<(), DeviceError> {
        let n_reference = reference.map_or(0, Buffer::len);
        let arguments = RescaleArgs {
            units: self.units.tables(),
            masses: self.masses.arg(),
            x: self.x.arg(),
            v: self.v.arg(),
            state: self.state.arg(),
            reference: reference.into(),
            n_reference: n_reference as i32,
        };
        let blocks = self.units.n_blocks + n_reference.div_ceil(THREADS) as u32;
        stream.launch(&self.kernels.rescale, Launch::new(blocks, THREADS as u32), arguments)
    }

    /// Looks half a step ahead for [`Self::looked`]; nothing moves.
    ///
    /// # Errors
    /// What the driver says against a launch.
    pub fn enqueue_look_ahead(
        &self,
        stream: &Stream,
        forces: &Buffer<i64>,
        energies: &Buffer<i64>,
    ) -> Result<(), DeviceError> {
        let nothing = (&self.still, Bath::zeroed());
        self.move_atoms(stream, forces, [&self.ahead[0], &self.ahead[1]], nothing, 0)?;
        self.sum_up(stream, energies, None, &self.looked, false)
    }
}
