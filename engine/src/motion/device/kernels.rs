//! The kernels of the motion: what each takes, and their sources `integrate.cu` and `coupling.cu`.
//!
//! They are compiled for a motion with Langevin dynamics or for one without, where nothing of it is left.

use super::constraints::{LEAVES, MAX_ROUNDS, THREADS, UnitTables};
use super::coupling::MAX_TERMS;
use super::shared::{Bath, Clock, CouplingSettings, CouplingState, MotionStatus, Observed, StepNumbers};
use crate::motion::barostat::LARGEST_CHANGE;
use crate::motion::constraints::shake::MAX_SWEEPS;
use crate::random::RandomStream;
use fmm::device::BoxGeometry;
use kernels::device::{Device, DeviceError, In, Kernel, Out, Source, arguments};

/// Threads of a block that is alone, `begin`; also the most that `finish` has.
pub const WIDE: usize = 1024;

/// Sums that a block leaves for each step, those of `shared.cuh`; with Langevin dynamics one more.
pub const fn quantities(langevin: bool) -> usize {
    8 + langevin as usize
}

/// Threads of `finish` for each of these sums, a power of two.
pub const fn reducers(langevin: bool) -> usize {
    1 << (WIDE / quantities(langevin)).ilog2()
}

/// Flag: displacements since the lists were made are summed up.
pub const MOVES_FROM_LISTS: i32 = 1;
/// Flag: forces are set to zero once they are read.
pub const CLEAR_FORCES: i32 = 2;

arguments! {
    /// Arguments of `leap`.
    pub struct LeapArgs<'a> {
        units: UnitTables<'a>,
        masses: In<'a, f64>,
        x: In<'a, f64>,
        v: In<'a, f64>,
        x_out: Out<'a, f64>,
        v_out: Out<'a, f64>,
        forces: Out<'a, i64>,
        scaling: In<'a, CouplingState>,
        listed: In<'a, f64>,
        /// 1/(how far each atom may be from there)², 1/nm².
        per_farthest2: In<'a, f32>,
        partials: Out<'a, f64>,
        status: Out<'a, MotionStatus>,
        dt: f64,
        /// 1/dt.
        per_dt: f64,
        /// Largest relative deviation of a fixed bond.
        tolerance: f64,
        /// Number of the step, for the random numbers of the bath.
        step: In<'a, i64>,
        /// What the bath of Langevin dynamics does.
        bath: Bath,
        /// [`MOVES_FROM_LISTS`], [`CLEAR_FORCES`].
        flags: i32,
    }

    /// Arguments of `rescale`.
    pub struct RescaleArgs<'a> {
        units: UnitTables<'a>,
        masses: In<'a, f64>,
        x: Out<'a, f64>,
        v: Out<'a, f64>,
        state: In<'a, CouplingState>,
        /// Positions that restraints hold, or null.
        reference: Out<'a, f64>,
        /// Number of its elements.
        n_reference: i32,
    }

    /// Arguments of `groups`.
    pub struct GroupArgs<'a> {
        units: UnitTables<'a>,
        masses: In<'a, f64>,
        x: In<'a, f64>,
        v: In<'a, f64>,
        forces: In<'a, i64>,
        scaling: In<'a, CouplingState>,
        partials: Out<'a, f64>,
        /// 1 before the step, 0 after it.
        before: i32,
        /// So that the size is a multiple of eight.
        unused: i32,
    }

    /// Arguments of `finish`.
    pub struct FinishArgs<'a> {
        /// `[quantities][n_blocks]`.
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
    pub struct BeginArgs<'a> {
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
    pub struct MarkArgs<'a> {
        state: Out<'a, CouplingState>,
        status: Out<'a, MotionStatus>,
        clock: Out<'a, Clock>,
        /// Largest number of neighbours in the list; null if nobody has counted them.
        neighbours: In<'a, u32>,
        /// Room for them.
        room: u32,
        /// So that the size is a multiple of eight.
        unused: u32,
    }
}

/// All kernels of the motion.
pub struct Kernels {
    pub leap: Kernel<LeapArgs<'static>>,
    pub rescale: Kernel<RescaleArgs<'static>>,
    pub groups: Kernel<GroupArgs<'static>>,
    pub finish: Kernel<FinishArgs<'static>>,
    pub begin: Kernel<BeginArgs<'static>>,
    pub mark: Kernel<MarkArgs<'static>>,
}

/// Sources of the kernels, `integrate.cu` and `coupling.cu`, for a motion with or without Langevin dynamics.
pub fn sources(langevin: bool) -> [Source; 2] {
    let source = |name, text| {
        Source::new(name, text)
            .define("REAL", "double")
            .define("THREADS", THREADS)
            .define("LANGEVIN", i32::from(langevin))
            .define("QUANTITIES", quantities(langevin))
            .define("LEAVES", LEAVES)
            .define("MAX_SWEEPS", MAX_SWEEPS)
            .define("MAX_ROUNDS", MAX_ROUNDS)
            .define("MAX_TERMS", MAX_TERMS)
            .define("LARGEST_CHANGE", LARGEST_CHANGE)
            .header(include_str!("shared.cuh"))
    };
    let integrate = source("integrate", include_str!("integrate.cu"))
        .define("LANGEVIN_STREAM", RandomStream::Langevin as u64)
        .header(include_str!("constraints.cuh"))
        .header(include_str!("../../random/philox.cuh"))
        .header(include_str!("langevin.cuh"))
        .early_kernel::<LeapArgs<'static>>("leap")
        .kernel::<RescaleArgs<'static>>("rescale")
        .kernel::<GroupArgs<'static>>("groups");
    let coupling = source("coupling", include_str!("coupling.cu"))
        .define("WIDE", WIDE)
        .define("REDUCERS", reducers(langevin))
        .kernel::<FinishArgs<'static>>("finish")
        .kernel::<BeginArgs<'static>>("begin")
        .kernel::<MarkArgs<'static>>("mark");
    [integrate, coupling]
}

impl Kernels {
    /// Compiles them for this device.
    pub fn new(device: &Device, langevin: bool) -> Result<Self, DeviceError> {
        let [integrate, coupling] = sources(langevin);
        let (integrate, coupling) = (device.compile(&integrate)?, device.compile(&coupling)?);
        Ok(Self {
            leap: integrate.kernel("leap")?,
            rescale: integrate.kernel("rescale")?,
            groups: integrate.kernel("groups")?,
            finish: coupling.kernel("finish")?,
            begin: coupling.kernel("begin")?,
            mark: coupling.kernel("mark")?,
        })
    }
}
