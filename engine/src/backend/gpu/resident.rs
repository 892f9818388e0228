//! A system that lives on a GPU, which makes one step after the other without the host.
//!
//! The parts are those of the CPU: the FMM (`fmm::device`), Lennard-Jones and bonded terms (`forcefield::device`), sites and their λ
//! (`lambda::device`), the motion of the atoms ([`DeviceMotion`]). A step is recorded into a graph:
//!
//! ```text
//! q(λ) → boxes of the FMM ─┬─ near field ─┐
//!                          └─ far field ──┤
//! Lennard-Jones, bonded terms ────────────┴─ forces → ∂V/∂λ, bracket of the sites → λ, v, x, constraints, thermostats, barostat
//! ```
//!
//! Lists and boxes are made anew every `interval` steps, counted from step 0, so that a continued run makes the same ones. The device
//! watches how far atoms go in between; if it was too far, the interval is halved at the next multiple of 100 steps.

use super::coulomb::CoulombEnergy;
use super::long_range::LongRange;
use super::moments::Moments;
use super::setup::{Lists, ResidentError, ResidentState, Setup, Streams};
use crate::backend::fmm_settings::slack;
use crate::config::Interpolation;
use crate::motion::device::{Coupling, DeviceMotion, ListLimits, MotionState};
use fmm::device::BoxGeometry;
use forcefield::Cell;
use forcefield::device::{DeviceBonded, DeviceLennardJones, ENERGY_SLOTS, EnergyTerm};
use kernels::device::{Buffer, Device, DeviceError, Graph};
use lambda::device::{Corrected, DeviceSites, Whole};
use nalgebra::Vector3;
use parts::Parts;

mod fetch;
mod lines;
mod parts;
mod profile;

/// Steps, counted from step 0, after which the host waits for the device, looks whether all went well, and may shorten the interval of the
/// lists. Nothing else does that: a trajectory must not depend on who looks at it, or when a checkpoint is written.
const CHECK_INTERVAL: u64 = 100;

/// Most steps that random numbers for λ are handed over for at a time.
const NOISE_STEPS: usize = 4096;

/// Time between two rebuilds of lists, ps.
const LIST_TIME: f64 = 0.02;

/// Recorded sequences of work.
struct Graphs {
    /// Makes new lists.
    lists: Graph,
    /// Makes one step.
    step: Graph,
    /// Makes as many steps as lists serve.
    batch: Graph,
    /// Evaluates forces and ∂V/∂λ, first without energies, then with all of them.
    evaluate: [Graph; 2],
}

/// The system on its device.
pub struct Resident {
    streams: Streams,
    long_range: Box<dyn LongRange>,
    lennard_jones: DeviceLennardJones,
    bonded: DeviceBonded,
    motion: DeviceMotion,
    sites: Option<DeviceSites>,
    interpolation: Interpolation,
    /// First step that has no random numbers for λ.
    noise_end: u64,
    coulomb: CoulombEnergy,
    moments: Moments,
    charges: Buffer<f64>,
    forces: Buffer<i64>,
    potential_14: Buffer<i64>,
    energies: Buffer<i64>,
    /// Positions and edges that the present lists were made from.
    listed: [Buffer<f64>; 2],
    /// Whether every step needs the virial.
    virial: bool,
    /// Steps that lists serve, counted from step 0.
    interval: u64,
    graphs: Option<Graphs>,
    step: u64,
    /// Step that the present lists were made at.
    listed_at: Option<u64>,
    /// Whether lists had ceased to serve before the state came here, since the last multiple of [`CHECK_INTERVAL`].
    stale: bool,
}

impl Resident {
    /// Takes memory and compiles kernels; nothing is computed yet.
    ///
    /// # Errors
    /// Settings that make no sense; out of memory.
    pub fn new(device: &Device, setup: &Setup) -> Result<Self, ResidentError> {
        let n = setup.masses.len();
        let slack = slack(&setup.fmm, setup.cell);
        // Only the boxes are watched by the motion: Lennard-Jones watches its own list.
        let coupling =
            Coupling { lists: Some(ListLimits { cutoff: 0.0, reach: 4.0 * slack, slack }), ..setup.coupling };
        let Parts { long_range, lennard_jones, bonded, motion, sites } = Parts::new(device, setup, coupling)?;
        let main = device.stream()?;
        let stream = || if setup.alone { device.stream() } else { Ok(main.clone()) };
        Ok(Self {
            streams: Streams {
                main: main.clone(),
                // A chain of short kernels beside the near field, which has blocks enough to hold it up.
                far: if setup.alone { device.urgent_stream()? } else { main.clone() },
                short: stream()?,
                sites: stream()?,
                behind: stream()?,
            },
            long_range,
            lennard_jones,
            bonded,
            moments: Moments::new(device, sites.as_ref())?,
            motion,
            sites,
            interpolation: setup.interpolation,
            noise_end: 0,
            coulomb: CoulombEnergy::new(device)?,
            charges: device.upload(&setup.topology.charges())?,
            forces: device.zeros(3 * n)?,
            potential_14: device.zeros(n)?,
            energies: device.zeros(ENERGY_SLOTS)?,
            listed: [device.zeros(3 * n)?, device.zeros(3)?],
            virial: setup.coupling.barostat.is_some(),
            interval: ((LIST_TIME / setup.dt).round() as u64).clamp(1, 50),
            graphs: None,
            step: 0,
            listed_at: None,
            stale: false,
        })
    }

    /// Number of steps that lists serve.
    pub fn interval(&self) -> u64 {
        self.interval
    }

    /// Sets the number of steps that lists serve to that of a run which is continued.
    pub fn set_interval(&mut self, steps: u64) {
        self.interval = steps.max(1);
        self.graphs = None;
    }

    /// Whether `lists` are made of the boxes that this device has, in a cell that has become `cell` since. The number of boxes depends on the
    /// device, and a kernel that reads boxes of another number computes nonsense.
    ///
    /// # Errors
    /// A cell that is too small; a lost device.
    pub fn has_boxes_of(&mut self, lists: &Lists, cell: Cell) -> Result<bool, ResidentError> {
        let Ok([theirs]) = bytemuck::try_cast_slice::<f64, BoxGeometry>(&lists.geometry) else { return Ok(false) };
        let Some(stretch) = cell.stretch_since(&lists.cell).filter(|_| !lists.x.is_empty()) else { return Ok(false) };
        let main = &self.streams.main;
        self.long_range.set_cell(main, lists.cell)?;
        let Some(geometry) = self.long_range.geometry() else { return Ok(false) };
        let ours = geometry.read(main)?[0];
        // Edges of boxes differ by a whole number of boxes in the cell or, by the rounding of barostats, hardly at all.
        let same = |ours: f64, theirs: f64| (ours * stretch.x - theirs).abs() <= 1e-6 * ours.abs();
        Ok(ours.basis.as_flattened().iter().zip(theirs.basis.as_flattened()).all(|(&ours, &theirs)| same(ours, theirs)))
    }

    /// Puts the state on the device, with the lists of a run that is continued, or else with lists made from the state itself; and the positions
    /// (nm) that restraints hold, unless there are none given.
    ///
    /// # Errors
    /// Positions that are not finite, a box that is too small, a lost device.
    pub fn upload(
        &mut self,
        state: &ResidentState,
        references: &[Vector3<f64>],
        lists: Option<&Lists>,
    ) -> Result<(), ResidentError> {
        let main = &self.streams.main;
        let atoms = &state.atoms;
        let (listed, cell) = lists.map_or((&atoms.x, atoms.cell), |lists| (&lists.x, lists.cell));
        if cell.is_periodic() {
            self.long_range.set_cell(main, cell)?;
        }
        if !references.is_empty() {
            self.bonded.set_reference(main, references)?;
        }
        self.motion.upload(main, &MotionState { x: listed.clone(), cell, ..atoms.clone() })?;
        self.lennard_jones.rebuild(main, self.motion.x(), self.motion.edges())?;
        self.long_range.enqueue_assign(main, self.motion.x())?;
        self.long_range.check(main)?;
        main.copy(self.motion.x(), &self.listed[0])?;
        main.copy(self.motion.edges(), &self.listed[1])?;
        if let Some(lists) = lists {
            self.motion.upload(main, atoms)?;
            let scale = atoms.cell.stretch_since(&cell).map_or(1.0, |stretch| stretch.x);
            self.motion.restore_lists(main, &lists.x, scale)?;
            if let Some(geometry) = self.long_range.geometry() {
                let found = bytemuck::try_cast_slice::<f64, BoxGeometry>(&lists.geometry);
                let expected = size_of::<BoxGeometry>() / size_of::<f64>();
                let wrong = |_| DeviceError::Length { expected, found: lists.geometry.len() };
                geometry.write(main, found.map_err(wrong)?)?;
            }
        }
        if let Some(sites) = &mut self.sites {
            sites.upload(main, &state.lambda, atoms.step)?;
            self.noise_end = atoms.step + sites.supplied_steps() as u64;
        }
        self.step = atoms.step;
        // Those of a state that goes on were made before; at a multiple of the interval they are made anew.
        self.listed_at = None;
        self.stale = lists.is_some_and(|lists| lists.stale);
        self.graphs = None;
        Ok(())
    }

    /// Evaluates the energies at the present state, by slot; forces stay for [`Self::forces`], ∂V/∂λ for [`Self::by_weight`].
    ///
    /// # Errors
    /// A lost device; whatever was wrong with the steps before.
    pub fn evaluate(&mut self) -> Result<Vec<i64>, ResidentError> {
        self.launch_evaluation(true)?;
        self.check()?;
        Ok(self.energies.read(&self.streams.main)?)
    }

    /// Evaluates ∂V/∂λ_α of the force field (kJ/mol) at the present state by the kernels of a step.
    ///
    /// # Errors
    /// A lost device.
    pub fn derivatives(&mut self) -> Result<Vec<f64>, ResidentError> {
        self.launch_evaluation(self.virial)?;
        self.by_weight()
    }

    fn launch_evaluation(&mut self, energies: bool) -> Result<(), ResidentError> {
        let graphs = self.recorded()?;
        self.update_lists(&graphs)?;
        self.streams.main.zero(&self.forces)?;
        graphs.evaluate[usize::from(energies)].launch(&self.streams.main)?;
        self.graphs = Some(graphs);
        Ok(())
    }

    /// Makes new lists where they are due.
    fn update_lists(&mut self, graphs: &Graphs) -> Result<(), ResidentError> {
        if self.step.is_multiple_of(self.interval) && self.listed_at != Some(self.step) {
            graphs.lists.launch(&self.streams.main)?;
            self.listed_at = Some(self.step);
        }
        Ok(())
    }

    fn recorded(&mut self) -> Result<Graphs, ResidentError> {
        self.graphs.take().map_or_else(|| self.record(), Ok)
    }

    /// Makes so many steps.
    ///
    /// # Errors
    /// Whatever stops the motion.
    pub fn run(&mut self, steps: u64) -> Result<(), ResidentError> {
        self.motion.cover(&self.streams.main, self.step, steps)?;
        self.streams.main.zero(&self.forces)?;
        let end = self.step + steps;
        while self.step < end {
            let mut part = ((self.step / CHECK_INTERVAL + 1) * CHECK_INTERVAL).min(end);
            if let Some(sites) = &self.sites {
                if part > self.noise_end {
                    sites.supply(&self.streams.main, self.step)?;
                    self.noise_end = self.step + sites.supplied_steps() as u64;
                }
                part = part.min(self.noise_end);
            }
            self.launch_steps(part)?;
            if self.step.is_multiple_of(CHECK_INTERVAL) {
                self.adapt()?;
            }
        }
        Ok(())
    }

    /// Makes the steps until step `end`.
    fn launch_steps(&mut self, end: u64) -> Result<(), ResidentError> {
        let graphs = self.recorded()?;
        while self.step < end {
            self.update_lists(&graphs)?;
            let whole = self.step.is_multiple_of(self.interval) && end - self.step >= self.interval;
            let (graph, done) = if whole { (&graphs.batch, self.interval) } else { (&graphs.step, 1) };
            graph.launch(&self.streams.main)?;
            self.step += done;
        }
        self.graphs = Some(graphs);
        Ok(())
    }

    /// Halves the interval of the lists if they have not served.
    fn adapt(&mut self) -> Result<(), ResidentError> {
        if self.check()? {
            if self.interval == 1 {
                return Err(ResidentError::Fast);
            }
            self.interval /= 2;
            self.graphs = None;
            self.stale = false;
            self.motion.forget_stale(&self.streams.main)?;
        }
        Ok(self.lennard_jones.reset_status(&self.streams.main)?)
    }

    /// Waits, and looks for what went wrong. The answer is whether lists have ceased to serve since the last multiple of [`CHECK_INTERVAL`].
    fn check(&self) -> Result<bool, ResidentError> {
        let main = &self.streams.main;
        let (_, stale) = self.motion.check(main)?;
        if let Some(sites) = &self.sites {
            sites.check(main)?;
        }
        self.long_range.check(main)?;
        let list = self.lennard_jones.status(main)?;
        if list.neighbours > list.capacity {
            return Err(ResidentError::Neighbours { found: list.neighbours, room: list.capacity });
        }
        if list.saturated || (!self.bonded.is_empty() && self.bonded.saturated(main)?) {
            return Err(ResidentError::Saturated);
        }
        Ok(self.stale || stale.is_some() || list.staleness > 1.0)
    }

    fn record(&self) -> Result<Graphs, ResidentError> {
        let main = &self.streams.main;
        Ok(Graphs {
            lists: main.capture(|| self.enqueue_lists())?,
            step: main.capture(|| self.enqueue_steps(1))?,
            batch: main.capture(|| self.enqueue_steps(self.interval))?,
            evaluate: [main.capture(|| self.enqueue_forces(false))?, main.capture(|| self.enqueue_forces(true))?],
        })
    }

    /// Makes new lists and boxes from the present positions.
    fn enqueue_lists(&self) -> Result<(), ResidentError> {
        let Streams { main, short, .. } = &self.streams;
        let (x, edges) = (self.motion.x(), self.motion.edges());
        short.wait_for(main)?;
        self.lennard_jones.enqueue_rebuild(short, x, edges)?;
        self.motion.enqueue_mark_lists(main)?;
        main.copy(x, &self.listed[0])?;
        main.copy(edges, &self.listed[1])?;
        self.long_range.enqueue_assign(main, x)?;
        Ok(main.wait_for(short)?)
    }

    /// Makes steps; forces are zero before and after.
    fn enqueue_steps(&self, steps: u64) -> Result<(), ResidentError> {
        let Streams { main, behind, .. } = &self.streams;
        behind.wait_for(main)?;
        (0..steps).try_for_each(|_| self.enqueue_step())?;
        Ok(main.wait_for(behind)?)
    }

    fn enqueue_step(&self) -> Result<(), ResidentError> {
        self.enqueue_forces(self.virial)?;
        let reference = (!self.bonded.restrained().is_empty()).then(|| self.bonded.references());
        let Streams { main, behind, .. } = &self.streams;
        main.wait_for(behind)?;
        if let Some(sites) = &self.sites {
            self.streams.sites.wait_for(main)?;
            sites.enqueue_advance(&self.streams.sites, self.motion.clock())?;
        }
        self.motion.enqueue_advance(main, &self.forces, true)?;
        if self.sites.is_some() {
            main.wait_for(&self.streams.sites)?;
        }
        if self.virial {
            // The box changes before anything else is computed.
            self.motion.enqueue_finish(main, &self.energies, self.long_range.geometry())?;
            self.motion.enqueue_rescale(main, reference)?;
        } else {
            behind.wait_for(main)?;
            self.motion.enqueue_finish(behind, &self.energies, None)?;
        }
        Ok(())
    }

    /// Adds all forces at the present positions to what is there.
    fn enqueue_forces(&self, with_energy: bool) -> Result<(), ResidentError> {
        let streams = &self.streams;
        let (x, edges) = (self.motion.x(), self.motion.edges());
        if with_energy {
            streams.main.zero(&self.energies)?;
        }
        if let Some(sites) = &self.sites {
            streams.main.zero(&self.potential_14)?;
            sites.enqueue_charges(&streams.main, &self.charges)?;
        }
        streams.short.wait_for(&streams.main)?;
        self.lennard_jones.enqueue_forces(&streams.short, x, edges, &self.forces, &self.energies, with_energy)?;
        if !self.bonded.is_empty() {
            self.bonded.enqueue_forces(
                &streams.short,
                x,
                &self.charges,
                edges,
                &self.forces,
                &self.potential_14,
                &self.energies,
                with_energy,
            )?;
        }
        self.long_range.enqueue_forces(streams, x, &self.charges, &self.forces)?;
        let potential = self.long_range.potential();
        if with_energy {
            self.coulomb.enqueue(&streams.main, &self.charges, potential, &self.energies)?;
        }
        streams.main.wait_for(&streams.short)?;
        if let Some(sites) = &self.sites {
            let whole = Whole { positions: x, potential, potential_14: &self.potential_14 };
            sites.enqueue_interpolate(&streams.main, &whole, self.corrected().as_ref())?;
        }
        Ok(())
    }

    /// What Hamiltonian interpolation corrects; none with charge interpolation.
    fn corrected(&self) -> Option<Corrected<'_>> {
        let slots = [EnergyTerm::Interpolation as usize, EnergyTerm::Virial as usize];
        let corrected = Corrected { forces: &self.forces, energies: &self.energies, slots };
        (self.interpolation == Interpolation::Hamiltonian).then_some(corrected)
    }
}
