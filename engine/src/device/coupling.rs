//! What couples all atoms between two steps on a GPU: thermostat, barostat, centre of mass, with their settings and random numbers, which
//! are those of [`VRescale`] and [`CRescale`]; launches of `coupling.cu`.
//!
//! Units: nm, ps, u, kJ/mol, K; pressure kJ/mol/nm³.

use super::DeviceMotion;
use super::constraints::{LEAVES, THREADS};
use super::integrate::{LeapArgs, RescaleArgs};
use super::motion::{Clock, CouplingSettings, CouplingState, MotionError, MotionStatus, Observed, StepNumbers};
use crate::motion::barostat::{CRescale, LARGEST_CHANGE};
use crate::motion::constraints::shake::MAX_SWEEPS;
use crate::motion::thermostat::VRescale;
use bytemuck::Zeroable;
use fmm::device::BoxGeometry;
use forcefield::units::GAS_CONSTANT;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};

/// Number of steps whose random numbers the table holds.
pub const TABLE_STEPS: u64 = 4096;

/// Most terms of which a virial is made.
pub const MAX_TERMS: usize = 64;

/// Threads of the kernels that have one block.
const WIDE: u32 = 1024;

/// Sums that a block leaves for each step: those of `motion.cuh`.
pub(super) const QUANTITIES: usize = 8;

arguments! {
    /// Arguments of `finish`.
    pub(super) struct FinishArgs<'a> {
        /// `[QUANTITIES][n_blocks]`.
        partials: In<'a, f64>,
        settings: In<'a, CouplingSettings>,
        state: Out<'a, CouplingState>,
        observed: Out<'a, Observed>,
        clock: Out<'a, Clock>,
        status: Out<'a, MotionStatus>,
        table: In<'a, StepNumbers>,
        energies: In<'a, i64>,
        slots: In<'a, u32>,
        factors: In<'a, f64>,
        edges: Out<'a, f64>,
        /// Boxes of the FMM that follow the cell, or null.
        geometry: Out<'a, BoxGeometry>,
        n_blocks: i32,
        n_terms: i32,
        /// 1: the state goes on to the next step; 0: energies are told and nothing else.
        commit: i32,
    }

    /// Arguments of `begin`.
    pub(super) struct BeginArgs<'a> {
        masses: In<'a, f64>,
        v: In<'a, f64>,
        settings: In<'a, CouplingSettings>,
        state: Out<'a, CouplingState>,
        clock: In<'a, Clock>,
        status: Out<'a, MotionStatus>,
        table: In<'a, StepNumbers>,
        n_atoms: i32,
    }

    /// Arguments of `mark`.
    pub(super) struct MarkArgs<'a> {
        state: Out<'a, CouplingState>,
    }
}

/// What acts on all velocities and on the box, and how often (steps; 0: never).
#[derive(Clone, Copy, Debug, Default)]
pub struct Coupling {
    /// Seed of the random numbers.
    pub seed: u64,
    /// Steps between removals of the motion of the centre of mass.
    pub remove_com_interval: u64,
    /// Thermostat and steps between its actions.
    pub thermostat: Option<(VRescale, u64)>,
    /// Barostat and steps between its actions.
    pub barostat: Option<(CRescale, u64)>,
    /// When neighbour lists and boxes cease to serve.
    pub lists: Option<ListLimits>,
}

/// Lists serve while no atom is farther than ½ (s reach − cut-off) and than `slack` from where it was, scaled by s with the box.
#[derive(Clone, Copy, Debug)]
pub struct ListLimits {
    /// Cut-off, nm.
    pub cutoff: f64,
    /// Distance up to which pairs are listed: cut-off + buffer, nm.
    pub reach: f64,
    /// Largest move that the boxes of the FMM allow, nm.
    pub slack: f64,
}

/// The virial of all forces but those of constraints: Σ factor · energy of a slot (i64, 2⁻²⁴ kJ/mol) + tail/volume.
#[derive(Clone, Debug, Default)]
pub struct VirialTerms {
    /// Slots of the array of energies, each with a factor; at most [`MAX_TERMS`].
    pub slots: Vec<(u32, f64)>,
    /// Virial times volume of the dispersion beyond the cut-off, kJ/mol nm³.
    pub tail: f64,
}

impl Coupling {
    /// The settings as the kernels read them; `mass`: of all atoms, u.
    pub(super) fn settings(&self, dt: f64, mass: f64, tail: f64) -> CouplingSettings {
        let [keep, mix] = self.thermostat.map_or([0.0; 2], |(t, every)| t.coefficients(every as f64 * dt));
        let mut out = CouplingSettings {
            dt,
            mass,
            com_every: self.remove_com_interval as f64,
            thermostat_every: self.thermostat.map_or(0, |(_, every)| every) as f64,
            keep,
            mix,
            tail,
            ..CouplingSettings::zeroed()
        };
        if let Some((barostat, every)) = &self.barostat {
            let s = barostat.settings();
            out.barostat_every = *every as f64;
            out.pressure = s.pressure;
            out.rt = GAS_CONSTANT * s.temperature;
            out.rate = s.compressibility * (*every as f64 * dt) / (2.0 * s.tau);
        }
        if let Some(lists) = self.lists {
            (out.cutoff, out.reach, out.slack) = (lists.cutoff, lists.reach, lists.slack);
        }
        out
    }

    /// Whether the barostat changes the box at the end of `step`.
    pub fn box_changes(&self, step: u64) -> bool {
        self.barostat.is_some_and(|(_, every)| every > 0 && (step + 1).is_multiple_of(every))
    }

    /// Random numbers of [`TABLE_STEPS`] steps from `first` on.
    pub(super) fn random_numbers(&self, first: u64) -> Vec<StepNumbers> {
        let row = |step: u64| {
            let acts = |every: u64| every > 0 && step.is_multiple_of(every);
            let thermostat = self.thermostat.filter(|(_, every)| acts(*every));
            let [one, others] = thermostat.map_or([0.0; 2], |(thermostat, _)| thermostat.numbers(self.seed, step));
            let barostat = if self.box_changes(step) { CRescale::number(self.seed, step) } else { 0.0 };
            StepNumbers { first: one, others, barostat }
        };
        (first..first + TABLE_STEPS).map(row).collect()
    }
}

/// All kernels of the motion.
pub(super) struct Kernels {
    pub leap: Kernel<LeapArgs<'static>>,
    pub rescale: Kernel<RescaleArgs<'static>>,
    pub finish: Kernel<FinishArgs<'static>>,
    pub begin: Kernel<BeginArgs<'static>>,
    pub mark: Kernel<MarkArgs<'static>>,
}

/// Sources of the kernels: `integrate.cu` and `coupling.cu`.
pub(super) fn sources() -> [Source; 2] {
    let source = |name, text| {
        Source::new(name, text)
            .define("REAL", "double")
            .define("THREADS", THREADS)
            .define("QUANTITIES", QUANTITIES)
            .define("LEAVES", LEAVES)
            .define("MAX_SWEEPS", MAX_SWEEPS)
            .define("MAX_TERMS", MAX_TERMS)
            .define("LARGEST_CHANGE", LARGEST_CHANGE)
            .header(include_str!("motion.cuh"))
    };
    let integrate = source("integrate", include_str!("integrate.cu"))
        .header(include_str!("constraints.cuh"))
        .kernel::<LeapArgs<'static>>("leap")
        .kernel::<RescaleArgs<'static>>("rescale");
    let coupling = source("coupling", include_str!("coupling.cu"))
        .kernel::<FinishArgs<'static>>("finish")
        .kernel::<BeginArgs<'static>>("begin")
        .kernel::<MarkArgs<'static>>("mark");
    [integrate, coupling]
}

impl Kernels {
    /// Compiles them for this device.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let [integrate, coupling] = sources();
        let (integrate, coupling) = (device.compile(&integrate)?, device.compile(&coupling)?);
        Ok(Self {
            leap: integrate.kernel("leap")?,
            rescale: integrate.kernel("rescale")?,
            finish: coupling.kernel("finish")?,
            begin: coupling.kernel("begin")?,
            mark: coupling.kernel("mark")?,
        })
    }
}

impl DeviceMotion {
    /// Finds kinetic energy and momentum of the velocities that are there, and what the present step will do to them.
    pub(super) fn prepare(&self, stream: &Stream) -> Result<(), MotionError> {
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
        stream.launch(&self.kernels.begin, Launch::new(1, WIDE), arguments)?;
        self.check(stream).map(|_| ())
    }

    /// Notes that neighbour lists are made from the present positions. That earlier lists did not serve stays known ([`Self::check`]).
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue_mark_lists(&self, stream: &Stream) -> Result<(), DeviceError> {
        if !self.listed.is_empty() {
            stream.copy(&self.x, &self.listed)?;
        }
        stream.launch(&self.kernels.mark, Launch::new(1, 1), MarkArgs { state: self.state.arg() })
    }

    /// Does what follows from the sums of all atoms; this must be done before the next [`Self::enqueue_advance`]. Without a barostat that
    /// is its only deadline: it may run on another stream beside the forces.
    ///
    /// # Errors
    /// What the driver says against the launch.
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
        stream.launch(&self.kernels.finish, Launch::new(1, WIDE), arguments)
    }
}
