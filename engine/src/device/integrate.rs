//! The motion on a GPU: leap-frog with constraints, thermostat, barostat, centre of mass, all state on the device.
//!
//! A step is [`DeviceMotion::enqueue_advance`] (v and x of all atoms, constraints; `integrate.cu`), then
//! [`DeviceMotion::enqueue_finish`] (sums, energies, pressure, what the next step will do to the velocities; `coupling.cu`), then, with
//! a barostat, [`DeviceMotion::enqueue_rescale`]. The thermostat acts at the start of a step from the kinetic energy at the end
//! of the step before, so that the order is that of [`crate::simulation`]. Nothing is read back in a step; a failure stops the
//! motion on the device and is told by [`DeviceMotion::check`]. Sums have a fixed order: runs repeat bit for bit.
//!
//! Units: nm, ps, u, kJ/mol; f64, atoms in their order. Forces: fixed-point 2⁻³² kJ/mol/nm; energies: 2⁻²⁴ kJ/mol.

use super::constraints::{THREADS, UnitBuffers, Units};
use super::coupling::{
    self, Coupling, Kernels, MAX_TERMS, MotionError, MotionState, OBSERVED, Observed, STATE, TABLE_STEPS, VirialTerms,
};
use crate::motion::constraints::Constraints;
use crate::motion::thermostat::VRescale;
use crate::state::{BarostatState, BathState};
use forcefield::Cell;
use kernels::device::{Buffer, Device, DeviceError, Stream, args};
use nalgebra::Vector3;

/// Displacements since the lists were made are wanted.
const MOVES_FROM_LISTS: i32 = 1;
/// Forces are set to zero once they are read.
const CLEAR_FORCES: i32 = 2;
/// Threads of the kernels of one block.
const WIDE: u32 = 1024;
/// Positions, velocities and forces of a block of waters.
const STAGE: u32 = 27 * THREADS as u32 * 8;

fn vectors(numbers: &[f64]) -> Vec<Vector3<f64>> {
    numbers.as_chunks::<3>().0.iter().map(|&a| Vector3::from(a)).collect()
}

/// A system in motion on a device.
pub struct DeviceMotion {
    kernels: Kernels,
    units: UnitBuffers,
    coupling: Coupling,
    dt: f64,
    tolerance: f64,
    mass: f64,
    tail: f64,
    n_terms: i32,
    slots: Buffer<u32>,
    factors: Buffer<f64>,
    masses: Buffer<f64>,
    x: Buffer<f64>,
    v: Buffer<f64>,
    /// Where a step that is only looked at goes.
    ahead: [Buffer<f64>; 2],
    listed: Buffer<f64>,
    edges: Buffer<f64>,
    partials: Buffer<f64>,
    settings: Buffer<f64>,
    state: Buffer<f64>,
    /// The state of a coupling that does nothing.
    still: Buffer<f64>,
    observed: Buffer<f64>,
    looked: Buffer<f64>,
    clock: Buffer<i64>,
    status: Buffer<u64>,
    table: Buffer<f64>,
    table_start: u64,
    /// Whether it is still to be found out what the next step does to the velocities.
    unprepared: bool,
    nothing: Buffer<f64>,
}

impl DeviceMotion {
    /// Atoms of `masses` (u) under `constraints`, made with the same masses, with time step `dt` (ps).
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
        let units = UnitBuffers::new(device, &Units::new(n, constraints))?;
        let (slots, factors): (Vec<u32>, Vec<f64>) = virial.slots.iter().copied().unzip();
        let mass = masses.iter().sum();
        let mut still = [0.0; STATE];
        for place in [coupling::FACTOR, coupling::LIST_SCALE, coupling::MU] {
            still[place] = 1.0;
        }
        Ok(Self {
            kernels: Kernels::new(device)?,
            dt,
            tolerance: constraints.tolerance(),
            mass,
            tail: virial.tail,
            n_terms: slots.len() as i32,
            slots: device.upload(&slots)?,
            factors: device.upload(&factors)?,
            masses: device.upload(masses)?,
            x: device.zeros(3 * n)?,
            v: device.zeros(3 * n)?,
            ahead: [device.zeros(3 * n)?, device.zeros(3 * n)?],
            listed: device.zeros(if coupling.lists.is_some() { 3 * n } else { 0 })?,
            edges: device.zeros(3)?,
            partials: device.zeros(8 * units.n_blocks as usize)?,
            settings: device.upload(&coupling.numbers(dt, mass, virial.tail))?,
            state: device.upload(&still)?,
            still: device.upload(&still)?,
            observed: device.zeros(OBSERVED)?,
            looked: device.zeros(OBSERVED)?,
            clock: device.zeros(3)?,
            status: device.zeros(3)?,
            table: device.zeros(3 * TABLE_STEPS as usize)?,
            table_start: 0,
            unprepared: true,
            nothing: device.zeros(0)?,
            units,
            coupling,
        })
    }

    /// Positions (nm) `[3N]`.
    pub fn x(&self) -> &Buffer<f64> {
        &self.x
    }

    /// Velocities (nm/ps) `[3N]`.
    pub fn v(&self) -> &Buffer<f64> {
        &self.v
    }

    /// Edges of the box (nm) `[3]`; zeros without a box.
    pub fn edges(&self) -> &Buffer<f64> {
        &self.edges
    }

    /// What acts between two steps.
    pub fn coupling(&self) -> &Coupling {
        &self.coupling
    }

    /// Puts the state; lists count as made from these positions. What the first step does to the velocities is
    /// found out by [`Self::cover`].
    ///
    /// # Errors
    /// Lists of another length; a lost device.
    pub fn upload(&mut self, stream: &Stream, state: &MotionState) -> Result<(), MotionError> {
        self.x.write(stream, bytemuck::cast_slice(&state.x))?;
        self.v.write(stream, bytemuck::cast_slice(&state.v))?;
        self.edges.write(stream, state.cell.edges().unwrap_or_else(Vector3::zeros).as_slice())?;
        let mut numbers = self.still.read(stream)?;
        let BathState { thermostat_work, barostat } = state.bath;
        numbers[coupling::THERMOSTAT_WORK] = thermostat_work;
        numbers[coupling::BAROSTAT_WORK] = barostat.work;
        numbers[coupling::PENDING_VOLUME] = barostat.pending_volume;
        if let Some(prepared) = state.prepared {
            numbers[..coupling::PREPARED].copy_from_slice(&prepared);
        }
        self.state.write(stream, &numbers)?;
        self.write_table(stream, state.step, state.step)?;
        self.status.write(stream, &[0; 3])?;
        self.unprepared = state.prepared.is_none();
        Ok(self.enqueue_mark_lists(stream)?)
    }

    /// The state at the present step; after a failure that of the last good step but for x and v.
    ///
    /// # Errors
    /// A lost device.
    pub fn download(&self, stream: &Stream) -> Result<MotionState, MotionError> {
        let numbers = self.state.read(stream)?;
        let edges = Vector3::from_vec(self.edges.read(stream)?);
        Ok(MotionState {
            step: self.clock.read(stream)?[0] as u64,
            x: vectors(&self.x.read(stream)?),
            v: vectors(&self.v.read(stream)?),
            cell: Cell::rectangular(edges).unwrap_or(Cell::Open),
            bath: BathState {
                thermostat_work: numbers[coupling::THERMOSTAT_WORK],
                barostat: BarostatState {
                    work: numbers[coupling::BAROSTAT_WORK],
                    pending_volume: numbers[coupling::PENDING_VOLUME],
                },
            },
            prepared: numbers.first_chunk().copied(),
        })
    }

    /// Number of the present step, and the steps that random numbers are there for.
    pub fn clock(&self) -> &Buffer<i64> {
        &self.clock
    }

    /// Replaces the thermostat, for annealing; its work stays.
    ///
    /// # Errors
    /// A lost device.
    pub fn set_thermostat(&mut self, stream: &Stream, thermostat: VRescale) -> Result<(), MotionError> {
        if let Some((present, _)) = &mut self.coupling.thermostat {
            *present = thermostat;
        }
        self.settings.write(stream, &self.coupling.numbers(self.dt, self.mass, self.tail))?;
        let step = self.clock.read(stream)?[0] as u64;
        self.write_table(stream, step, step)?;
        self.prepare(stream)
    }

    /// Makes sure that random numbers of the `steps` steps from `step` (where the device will be) on are there; call it
    /// before these steps are enqueued. At most [`TABLE_STEPS`] − 1 steps.
    ///
    /// # Errors
    /// A lost device.
    pub fn cover(&mut self, stream: &Stream, step: u64, steps: u64) -> Result<(), MotionError> {
        // The end of the last step prepares the one after it.
        if step < self.table_start || step + steps >= self.table_start + TABLE_STEPS {
            let at = self.clock.read(stream)?[0] as u64;
            self.write_table(stream, at, step)?;
        }
        if std::mem::take(&mut self.unprepared) { self.prepare(stream) } else { Ok(()) }
    }

    fn write_table(&mut self, stream: &Stream, at: u64, first: u64) -> Result<(), DeviceError> {
        self.table.write(stream, &self.coupling.random_numbers(first))?;
        self.table_start = first;
        self.clock.write(stream, &[at as i64, first as i64, TABLE_STEPS as i64])
    }

    /// Kinetic energy and momentum of the velocities that are there, and what the present step will do to them.
    fn prepare(&self, stream: &Stream) -> Result<(), MotionError> {
        let n = self.masses.len() as i32;
        let args = args![&self.masses, &self.v, n, &self.settings, &self.state, &self.clock, &self.status, &self.table];
        stream.launch(&self.kernels.begin, 1, WIDE, 0, args)?;
        self.check(stream).map(|_| ())
    }

    /// Neighbour lists are made from the present positions. That earlier ones did not serve stays known ([`Self::check`]).
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_mark_lists(&self, stream: &Stream) -> Result<(), DeviceError> {
        if !self.listed.is_empty() {
            stream.copy(&self.x, &self.listed)?;
        }
        stream.launch(&self.kernels.mark, 1, 1, 0, args![&self.state])
    }

    /// Where atoms were when lists were made (nm), and by how much the box has been scaled since.
    ///
    /// # Errors
    /// A lost device.
    pub fn lists(&self, stream: &Stream) -> Result<(Vec<Vector3<f64>>, f64), DeviceError> {
        Ok((vectors(&self.listed.read(stream)?), self.state.read(stream)?[coupling::LIST_SCALE]))
    }

    /// Puts what [`Self::lists`] told, after [`Self::upload`]: lists were made from those positions.
    ///
    /// # Errors
    /// A list of another length; a lost device.
    pub fn restore_lists(&self, stream: &Stream, x: &[Vector3<f64>], scale: f64) -> Result<(), DeviceError> {
        self.listed.write(stream, bytemuck::cast_slice(x))?;
        let mut numbers = self.state.read(stream)?;
        numbers[coupling::LIST_SCALE] = scale;
        self.state.write(stream, &numbers)
    }

    /// A whole step with `forces` `[3N]` at the present positions.
    ///
    /// `energies`: slots of which the virial is made; `geometry`: of the boxes of the FMM, `reference`: what restraints hold: both
    /// follow the box. `clear`: set the forces to zero for the next step.
    ///
    /// # Errors
    /// What the driver says against a launch.
    pub fn enqueue_step(
        &self,
        stream: &Stream,
        forces: &Buffer<i64>,
        energies: &Buffer<i64>,
        geometry: Option<&Buffer<f64>>,
        reference: Option<&Buffer<f64>>,
        clear: bool,
    ) -> Result<(), DeviceError> {
        self.enqueue_advance(stream, forces, clear)?;
        self.enqueue_finish(stream, energies, geometry)?;
        if self.coupling.barostat.is_some() { self.enqueue_rescale(stream, reference) } else { Ok(()) }
    }

    /// The step of all atoms: velocities, positions, constraints.
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_advance(&self, stream: &Stream, forces: &Buffer<i64>, clear: bool) -> Result<(), DeviceError> {
        let moves = if self.listed.is_empty() { 0 } else { MOVES_FROM_LISTS };
        let flags = moves | if clear { CLEAR_FORCES } else { 0 };
        self.move_atoms(stream, forces, [&self.x, &self.v], &self.state, flags)
    }

    fn move_atoms(
        &self,
        stream: &Stream,
        forces: &Buffer<i64>,
        out: [&Buffer<f64>; 2],
        scaling: &Buffer<f64>,
        flags: i32,
    ) -> Result<(), DeviceError> {
        if forces.len() != self.x.len() {
            return Err(DeviceError::Length { expected: self.x.len(), found: forces.len() });
        }
        let rest = args![
            &self.masses,
            &self.x,
            &self.v,
            out[0],
            out[1],
            forces,
            scaling,
            &self.listed,
            flags,
            &self.partials,
            &self.status,
            self.dt,
            self.tolerance,
        ];
        let (u, args) = (&self.units, [&self.units.args(), &rest[..]].concat());
        stream.launch(&self.kernels.leap, u.n_blocks, THREADS as u32, STAGE, &args)
    }

    /// What follows from the sums of all atoms; must be done before the next [`Self::enqueue_advance`]. Without a barostat that is
    /// its only deadline: it may run on another stream beside the forces.
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_finish(
        &self,
        stream: &Stream,
        energies: &Buffer<i64>,
        geometry: Option<&Buffer<f64>>,
    ) -> Result<(), DeviceError> {
        self.sum_up(stream, energies, geometry, &self.observed, 1)
    }

    fn sum_up(
        &self,
        stream: &Stream,
        energies: &Buffer<i64>,
        geometry: Option<&Buffer<f64>>,
        observed: &Buffer<f64>,
        commit: i32,
    ) -> Result<(), DeviceError> {
        let (n_geometry, geometry) = geometry.map_or((0, &self.nothing), |g| (g.len() as i32, g));
        let args = args![
            &self.partials,
            self.units.n_blocks as i32,
            &self.settings,
            &self.state,
            observed,
            &self.clock,
            &self.status,
            &self.table,
            energies,
            &self.slots,
            &self.factors,
            self.n_terms,
            &self.edges,
            geometry,
            n_geometry,
            commit,
        ];
        stream.launch(&self.kernels.finish, 1, WIDE, 0, args)
    }

    /// Positions and velocities follow the box; nothing to do but in steps for which [`Coupling::box_changes`].
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_rescale(&self, stream: &Stream, reference: Option<&Buffer<f64>>) -> Result<(), DeviceError> {
        let u = &self.units;
        let (n_reference, reference) = reference.map_or((0, &self.nothing), |r| (r.len(), r));
        let grid = u.n_blocks + n_reference.div_ceil(THREADS) as u32;
        let args = args![
            &u.blocks,
            u.n_blocks as i32,
            &u.waters,
            &u.stars,
            u.n_stars,
            &u.groups,
            &u.group_atoms,
            &u.free,
            &self.masses,
            &self.x,
            &self.v,
            &self.state,
            reference,
            n_reference as i32,
        ];
        stream.launch(&self.kernels.rescale, grid, THREADS as u32, 0, args)
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
        self.move_atoms(stream, forces, [&self.ahead[0], &self.ahead[1]], &self.still, 0)?;
        self.sum_up(stream, energies, None, &self.looked, 0)
    }

    /// What [`Self::enqueue_look_ahead`] saw.
    ///
    /// # Errors
    /// A lost device.
    pub fn looked(&self, stream: &Stream) -> Result<Observed, DeviceError> {
        Ok(Observed::from_numbers(&self.looked.read(stream)?))
    }

    /// What the last step told.
    ///
    /// # Errors
    /// A lost device.
    pub fn observed(&self, stream: &Stream) -> Result<Observed, DeviceError> {
        Ok(Observed::from_numbers(&self.observed.read(stream)?))
    }

    /// Waits for all that is enqueued. The step where the device stands, and the first step for which the lists did not serve.
    ///
    /// # Errors
    /// Whatever stopped the motion.
    pub fn check(&self, stream: &Stream) -> Result<(u64, Option<u64>), MotionError> {
        let status = self.status.read(stream)?;
        let step = self.clock.read(stream)?[0] as u64;
        match MotionError::from_status(&status, step) {
            Some(error) => Err(error),
            None => Ok((step, status[2].checked_sub(1))),
        }
    }

    /// Forgets that lists did not serve; only after [`Self::check`] found no failure.
    ///
    /// # Errors
    /// A lost device.
    pub fn forget_stale(&self, stream: &Stream) -> Result<(), DeviceError> {
        self.status.write(stream, &[0; 3])
    }
}
