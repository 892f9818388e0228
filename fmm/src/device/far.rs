//! Far field of a root grid on a GPU: from sorted particles to potential and field of everything beyond the near boxes, images included.
//!
//! Five launches, each step of which the CPU has too (`expansion.rs`, `convolution.rs`, `fourier/grid.rs`):
//!
//!   1. P2M and the transform along z, a block for each column of boxes,
//!   2. the transform along y and x, a block for the plane of one κ_z and a few channels, in shared memory,
//!   3. L(κ) = T(κ) M(κ), a block for each operator, in place,
//!   4. back along x and y,
//!   5. back along z and L2P.
//!
//! K = (p+1)² coefficients for N = n³ boxes: two arrays of K N numbers, each written and read twice; 3 K n⁴ multiplications in the
//! transforms; 4 K² N in the operators (all of them half for real numbers). An operator is kept as (2p+1)² numbers and its K² elements are
//! made as they are used, which costs less than to read them. Lines have any length (open axes: 2m − 1), cells any shape.
//!
//! Scaled units: coordinates relative to the centre of the own box over the scale s, φ' = φ s, E' = E s².

mod multipoles;
mod operators;
mod plan;
mod planes;
mod potentials;
mod root;
mod shape;
mod tables;

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Source, Stream};

use crate::geometry::grid::BoxGrid;
use multipoles::MultipoleArgs;
use operators::{Channel, OperatorArgs, Origin};
use plan::Plan;
use planes::PlaneArgs;
use potentials::PotentialArgs;

pub use root::{RootField, places};
pub use shape::RootShapes;
pub use tables::fields;

const LINES: &str = include_str!("far/lines.cuh");
/// Device function: all harmonics at a point, one after the other.
pub const HARMONICS: &str = include_str!("far/harmonics.cuh");

/// What the blocks of each step work on.
const BLOCKS: [&str; 5] = ["P2M", "a plane of boxes", "an operator", "a plane of boxes", "L2P"];

/// Steps of the far field, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Charges to multipoles, transform along z.
    Multipoles,
    /// Transform along y and x.
    Forward,
    /// Operators.
    Operators,
    /// Transform back along x and y.
    Back,
    /// Transform back along z, expansions to potentials.
    Potentials,
}

impl Step {
    /// All steps in their order.
    pub const ALL: [Self; 5] = [Self::Multipoles, Self::Forward, Self::Operators, Self::Back, Self::Potentials];
}

/// The far field of one grid of boxes on a device.
pub struct FarField<T: Real> {
    plan: Plan,
    kernels: Kernels<T>,
    /// Lines along z; along x, then y.
    tables: [Buffer<T>; 2],
    turns: [Buffer<T>; 2],
    operators: Operators<T>,
    gradient: (Buffer<i32>, Buffer<T>),
    /// `[κ₂][x][y][channel]`, complex.
    columns: Buffer<T>,
    /// `[κ₂][κ₀][κ₁][channel]`, complex.
    waves: Buffer<T>,
}

struct Operators<T> {
    coefficients: Buffer<T>,
    squares: Buffer<i32>,
    channels: Buffer<Channel>,
    scales: Buffer<T>,
    origins: Buffer<Origin>,
    tiles: Buffer<[i32; 2]>,
}

impl<T: Real + Pod> FarField<T> {
    /// Operators and kernels for expansions of order `order` on `grid`, blocks cut for `n_particles`.
    ///
    /// # Errors
    /// A grid too large for the shared memory of a block; no memory; no compiler.
    pub fn new(device: &Device, grid: &BoxGrid, order: usize, n_particles: usize) -> Result<Self, DeviceError> {
        let plan = Self::plan(device, grid, order, n_particles)?;
        let [nx, ny, nz] = plan.cycle;
        let along_xy = [nx, ny].into_iter().flat_map(|n| tables::line::<T>(n, plan.plane_waves)).collect::<Vec<T>>();
        let [turns_x, turns_y] = tables::turns::<T>(grid);
        let (channels, scales) = tables::scales::<T>(&plan);
        let (sources, weights) = tables::fields::<T>(order);
        let complex = 2 * plan.half() * plan.stride;
        Ok(Self {
            kernels: Kernels::new(device, &plan)?,
            tables: [device.upload(&tables::line::<T>(nz, plan.column_waves))?, device.upload(&along_xy)?],
            turns: [device.upload(&turns_x)?, device.upload(&turns_y)?],
            operators: Operators {
                coefficients: device.upload(&tables::coefficients::<T>(grid, order))?,
                squares: device.upload(&tables::squares(order))?,
                channels: device.upload(&channels)?,
                scales: device.upload(&scales)?,
                origins: device.upload(&tables::origins(order))?,
                tiles: device.upload(&plan::tiles(order, plan.tile))?,
            },
            gradient: (device.upload(&sources)?, device.upload(&weights)?),
            columns: device.zeros(complex * plan.columns())?,
            waves: device.zeros(complex * nx * ny)?,
            plan,
        })
    }

    /// How the work is cut, if it can be.
    fn plan(device: &Device, grid: &BoxGrid, order: usize, n_particles: usize) -> Result<Plan, DeviceError> {
        let limit = device.shared_memory() as usize;
        let plan = Plan::new(grid, order, n_particles, size_of::<T>(), (device.multiprocessors() as usize, limit));
        match plan.launches().into_iter().zip(BLOCKS).find(|([_, _, asked], _)| *asked > limit) {
            Some(([_, _, asked], what)) => Err(DeviceError::SharedMemory { what: what.into(), asked, limit }),
            None => Ok(plan),
        }
    }

    /// Whether blocks have enough shared memory for this grid.
    pub fn fits(device: &Device, grid: &BoxGrid, order: usize, n_particles: usize) -> bool {
        Self::plan(device, grid, order, n_particles).is_ok()
    }

    /// Bytes on the device: transforms, operators.
    pub fn memory(&self) -> [usize; 2] {
        [self.columns.len() + self.waves.len(), self.operators.coefficients.len()].map(|n| n * size_of::<T>())
    }

    /// Bytes that a step reads and writes at least, and its floating-point operations, for `n` particles.
    pub fn work(&self, step: Step, n: usize) -> [f64; 2] {
        let (plan, real) = (&self.plan, size_of::<T>());
        let [lattice, operators] = self.memory();
        let k = crate::operators::harmonics::count(plan.order);
        let [nx, ny, nz] = plan.cycle;
        let columns = self.columns.len();
        // Half of the complex multiplications of plain sums, thanks to pairs.
        let line = |boxes: usize, length: usize| boxes * length;
        let [bytes, flops] = match step {
            Step::Multipoles => [4 * n * real + columns * real, 6 * n * k + line(columns, nz)],
            Step::Forward | Step::Back => [lattice, line(columns, ny) + line(self.waves.len(), nx)],
            Step::Operators => [2 * self.waves.len() * real + operators, 2 * k * self.waves.len()],
            Step::Potentials => [8 * n * real + columns * real, 12 * n * k + line(columns, nz)],
        };
        [bytes as f64, flops as f64]
    }

    /// How the work is cut into blocks, for a table of measurements.
    pub fn describe(&self) -> String {
        let p = &self.plan;
        format!(
            "columns {}x{} {} per {}, planes {}x{} {} channels, operators {}",
            p.column_threads,
            p.column_waves,
            p.boxes,
            p.shape[2],
            p.plane_threads(),
            p.plane_waves,
            p.channels,
            p.operator_threads
        )
    }

    /// `out` (φ', E'x, E'y, E'z by place) made from `sorted` (x', y', z', q by place) and `starts`, the first place of each leaf and the end. No place may
    /// lie beyond `sorted`.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `starts` has no number for each leaf and the end, or `out` is shorter than `sorted`; what the device says against a launch.
    pub fn enqueue(
        &self,
        stream: &Stream,
        sorted: &Buffer<T>,
        starts: &Buffer<u32>,
        out: &Buffer<T>,
    ) -> Result<(), DeviceError> {
        starts.holds(self.plan.shape.iter().product::<usize>() + 1)?;
        out.holds(sorted.len())?;
        Step::ALL.into_iter().try_for_each(|step| self.enqueue_step(step, stream, sorted, starts, out))
    }

    /// How many threads run a step.
    pub fn launch(&self, step: Step) -> Launch {
        let [blocks, threads, shared] = self.plan.launches()[step as usize].map(|n| n as u32);
        Launch::new(blocks, threads).with_shared(shared)
    }

    /// One step of [`enqueue`](Self::enqueue).
    ///
    /// # Errors
    /// What the device says against the launch.
    pub(crate) fn enqueue_step(
        &self,
        step: Step,
        stream: &Stream,
        sorted: &Buffer<T>,
        starts: &Buffer<u32>,
        out: &Buffer<T>,
    ) -> Result<(), DeviceError> {
        let Self { columns, waves, .. } = self;
        let ([along_z, along_xy], [turns_x, turns_y]) = (&self.tables, &self.turns);
        let (sources, weights) = &self.gradient;
        let (kernels, launch) = (&self.kernels, self.launch(step));
        let tables = along_xy.arg();
        let (turns_x, turns_y) = (turns_x.arg(), turns_y.arg());
        match step {
            Step::Multipoles => {
                let (particles, starts) = (sorted.arg(), starts.arg());
                let arguments = MultipoleArgs { particles, starts, table_z: along_z.arg(), columns: columns.arg() };
                stream.launch(&kernels.multipoles, launch, arguments)
            }
            Step::Forward => {
                let arguments = PlaneArgs { from: columns.arg(), tables, turns_x, turns_y, to: waves.arg() };
                stream.launch(&kernels.forward, launch, arguments)
            }
            Step::Operators => self.enqueue_operators(stream, self.operators.coefficients.arg()),
            Step::Back => {
                let arguments = PlaneArgs { from: waves.arg(), tables, turns_x, turns_y, to: columns.arg() };
                stream.launch(&kernels.back, launch, arguments)
            }
            Step::Potentials => {
                let arguments = PotentialArgs {
                    columns: columns.arg(),
                    table_z: along_z.arg(),
                    gradient: sources.arg(),
                    weights: weights.arg(),
                    particles: sorted.arg(),
                    starts: starts.arg(),
                    out: out.arg(),
                };
                stream.launch(&kernels.potentials, launch, arguments)
            }
        }
    }

    /// L(κ) = T(κ) M(κ) with these coefficients.
    fn enqueue_operators(&self, stream: &Stream, coefficients: In<'_, [T; 2]>) -> Result<(), DeviceError> {
        let o = &self.operators;
        let arguments = OperatorArgs {
            coefficients,
            places: o.squares.arg(),
            channels: o.channels.arg(),
            scales: o.scales.arg(),
            origins: o.origins.arg(),
            tiles: o.tiles.arg(),
            waves: (&self.waves).into(),
            n_tiles: o.tiles.len() as i32,
        };
        stream.launch(&self.kernels.operators, self.launch(Step::Operators), arguments)
    }
}

/// Kernels of the steps.
struct Kernels<T: Real> {
    multipoles: Kernel<MultipoleArgs<'static, T>>,
    forward: Kernel<PlaneArgs<'static, T>>,
    operators: Kernel<OperatorArgs<'static, T>>,
    back: Kernel<PlaneArgs<'static, T>>,
    potentials: Kernel<PotentialArgs<'static, T>>,
}

impl<T: Real> Kernels<T> {
    fn new(device: &Device, plan: &Plan) -> Result<Self, DeviceError> {
        let [multipoles, planes, operators, potentials] = sources::<T>(plan);
        let planes = device.compile(&planes)?;
        Ok(Self {
            multipoles: device.compile(&multipoles)?.kernel("far_multipoles")?,
            forward: planes.kernel("far_forward")?,
            operators: device.compile(&operators)?.kernel("far_operators")?,
            back: planes.kernel("far_back")?,
            potentials: device.compile(&potentials)?.kernel("far_potentials")?,
        })
    }
}

/// P2M, planes, operators, L2P.
fn sources<T: Real>(plan: &Plan) -> [Source; 4] {
    [
        multipoles::source::<T>(plan),
        planes::source::<T>(plan),
        operators::source::<T>(plan),
        potentials::source::<T>(plan),
    ]
}

/// A text with the sizes of a plan, and the threads of a block and wave numbers of a thread of its own.
fn cut<T: Real>(name: &'static str, text: &'static str, plan: &Plan, (threads, waves): (usize, usize)) -> Source {
    let ([mx, my, mz], [nx, ny, nz]) = (plan.shape, plan.cycle);
    let sizes = [("MX", mx), ("MY", my), ("MZ", mz), ("NX", nx), ("NY", ny), ("NZ", nz)];
    let cuts = [("ORDER", plan.order), ("KS", plan.stride), ("THREADS", threads), ("KB", waves)];
    let source = Source::new(name, text).define("REAL", super::real_name::<T>()).header(LINES);
    sizes.into_iter().chain(cuts).fold(source, |source, (key, value)| source.define(key, value))
}

#[cfg(test)]
mod tests;
