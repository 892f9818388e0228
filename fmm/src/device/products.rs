//! Translations of expansions as products of matrices on a device: M2M, M2L and L2L of refined levels.
//!
//!   L_bt = Σ_e Σ_j ω_{s(e,b) j} M(e)_jt
//!
//! Target boxes b that receive from the same offsets e form a tile. A block of threads multiplies the rows of their source boxes s(e,b) with
//! the operator M(e) of each offset in turn (products.cuh). The lists of offsets and sources are made on the host once for a tree
//! ([`Lists`]), so that dense trees and trees of occupied boxes are served by one kernel. [`Tiling`] cuts rows and operators so that they fit
//! into shared memory.
//! Reference: T. Takahashi, C. Cecka, W. Fong, E. Darve, Int. J. Numer. Meth. Eng. 89, 105 (2012), doi:10.1002/nme.3240.

mod lists;

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};
use rayon::prelude::*;

use crate::operators::harmonics::count;

pub use lists::{Job, Lists, NONE};

arguments! {
    /// Arguments of a kernel that multiplies, such as `product`.
    pub struct ProductArgs<'a, T: Real> {
        /// Rows of the sources.
        multipoles: In<'a, T>,
        /// Rows of the targets.
        locals: Out<'a, T>,
        /// Sums of the jobs, where tiles have several.
        parts: Out<'a, T>,
        /// Operators, rows of sources.
        operators: In<'a, T>,
        /// Target rows of each tile.
        targets: In<'a, u32>,
        /// Operator of each entry.
        entries: In<'a, u32>,
        /// Source rows of each entry.
        sources: In<'a, u32>,
        /// A job for each block.
        jobs: In<'a, Job>,
        /// Flags of the targets, or null: all are wanted.
        wanted: In<'a, u8>,
        /// Flags of the sources, or null: all are filled.
        filled: In<'a, u8>,
        /// 1: every tile is one job, whose sums go to the targets; 0: they go to `parts`.
        direct: i32,
        /// 1: sums are added to what is in the targets.
        add: i32,
    }

    /// Arguments of `gather_parts`.
    pub struct PartArgs<'a, T: Real> {
        /// Sums of the jobs.
        parts: In<'a, T>,
        /// Rows of the targets.
        locals: Out<'a, T>,
        /// Target rows of each tile.
        targets: In<'a, u32>,
        /// First job of each tile, and the end.
        first: In<'a, u32>,
        /// Flags of the targets, or null.
        wanted: In<'a, u8>,
        /// 1: sums are added to what is in the targets.
        add: i32,
    }
}

/// Target boxes of a tile.
pub const BOXES: usize = 64;

/// Shared memory of a multiprocessor, bytes, and what the device takes of it for each block.
const SHARED_MEMORY: usize = 227 * 1024;
const SHARED_OF_BLOCK: usize = 1024;

/// Most blocks on one multiprocessor for which jobs are cut.
const MAX_RESIDENT: usize = 6;

/// Most jobs that a tile is cut into.
const MAX_JOBS: usize = 48;

/// Number of elements of a row of coefficients on the device for order `p`: whole 32-byte words in single precision, and whole tiles of a
/// tensor core.
pub const fn row_length(p: usize) -> usize {
    count(p).next_multiple_of(8)
}

/// `n` matrices `[source][target]`, one after the other, each padded with zeros to rows of [`row_length`]. `make(i)` gives matrix i without
/// padding, and `places` says where each of its coefficients goes in a row.
pub fn padded<T: Real>(n: usize, places: &[usize], make: &(impl Fn(usize) -> Vec<f64> + Sync)) -> Vec<T> {
    let row = places.len().next_multiple_of(8);
    let mut out = vec![T::zero(); n * row * row];
    out.par_chunks_mut(row * row).enumerate().for_each(|(i, out)| {
        for (matrix, j) in make(i).chunks(places.len()).zip(places) {
            matrix.iter().zip(places).for_each(|(m, t)| out[j * row + t] = T::of(*m));
        }
    });
    out
}

/// How a product is cut for shared memory: the defines of products.cuh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Order of the expansions.
    pub order: usize,
    /// Elements of a row of coefficients, [`row_length`].
    pub row: usize,
    /// Target coefficients of a block.
    pub columns: usize,
    /// Entries of a list that are multiplied side by side in one step: more than one where rows are short.
    pub per_step: usize,
    /// Source coefficients of a step.
    pub depth: usize,
    /// Target boxes of a thread.
    pub down: usize,
    /// Elements from one row of sources to the next in shared memory.
    pub source_row: usize,
    /// Elements from one row of an operator to the next in shared memory.
    pub matrix_row: usize,
    /// Threads of a block.
    pub threads: usize,
    /// Bytes of a number.
    pub element: usize,
}

impl Tiling {
    /// For fused multiply-adds of numbers of `element` bytes, 4 or 8.
    pub fn new(order: usize, element: usize) -> Self {
        let row = row_length(order);
        let lanes = 16 / element;
        // Two stages of 64 × 88 and 88 × 88 numbers in single precision, half as deep in double.
        let columns = row.div_ceil(row.div_ceil(88)).next_multiple_of(8);
        let (deepest, step) = if element == 4 { (88, 8) } else { (44, 4) };
        let per_step = (deepest / row).max(1);
        let depth =
            if per_step > 1 { per_step * row } else { row.div_ceil(row.div_ceil(deepest)).next_multiple_of(step) };
        // A thread has fewer boxes where there are few columns, so that there are more threads.
        let down = [(16, 2), (40, 4)].into_iter().find(|(most, _)| columns <= *most).map_or(8, |(_, down)| down);
        // Rows that are an odd number of 16-byte words apart lie in different banks.
        let source_row = if (depth / lanes) % 2 == 1 { depth } else { depth + lanes };
        let threads = (columns / 4 * (BOXES / down)).next_multiple_of(32);
        Self { order, row, columns, per_step, depth, down, source_row, matrix_row: columns, threads, element }
    }

    /// Bytes of shared memory for two stages and a list of `entries`.
    pub fn shared(&self, entries: usize) -> u32 {
        (2 * (BOXES * self.source_row + self.depth * self.matrix_row) * self.element + 4 * entries) as u32
    }

    /// The kernel `text` with what products.cuh gives it, cut like this.
    pub fn source(&self, name: &'static str, text: &'static str) -> Source {
        Source::new(name, text)
            .header(include_str!("products.cuh"))
            .define("REAL", if self.element == 4 { "float" } else { "double" })
            .define("K", count(self.order))
            .define("ROW", self.row)
            .define("BOXES", BOXES)
            .define("COLUMNS", self.columns)
            .define("PER_STEP", self.per_step)
            .define("DEPTH", self.depth)
            .define("DOWN", self.down)
            .define("SOURCE_ROW", self.source_row)
            .define("MATRIX_ROW", self.matrix_row)
            .define("THREADS", self.threads)
    }
}

/// A kernel that multiplies what products.cuh brings to shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Multiplier {
    /// How rows and operators are cut.
    pub tiling: Tiling,
    /// Name of the file and of its kernel.
    pub name: &'static str,
    /// The kernel.
    pub text: &'static str,
}

impl Multiplier {
    /// Fused multiply-adds of numbers of `element` bytes, 4 or 8.
    pub fn fused(order: usize, element: usize) -> Self {
        Self { tiling: Tiling::new(order, element), name: "product", text: include_str!("products.cu") }
    }

    /// The kernel with its defines, and the one that gathers the parts.
    pub fn source(&self) -> Source {
        if self.tiling.element == 4 { self.typed_source::<f32>() } else { self.typed_source::<f64>() }
    }

    fn typed_source<T: Real>(&self) -> Source {
        let source = self.tiling.source(self.name, self.text).kernel::<ProductArgs<'static, T>>(self.name);
        source.kernel::<PartArgs<'static, T>>("gather_parts")
    }
}

/// Which rows of targets and of sources there are: one flag for each row.
#[derive(Clone, Copy, Default)]
pub struct Occupied<'a> {
    /// Flags of the targets; without them all are wanted.
    pub wanted: Option<In<'a, u8>>,
    /// Flags of the sources; without them all are filled.
    pub filled: Option<In<'a, u8>>,
}

/// Products for one set of lists.
pub struct Products<T: Real> {
    tiling: Tiling,
    /// Operators, and rows of sources and of targets, that the lists name: all up to the last one.
    named: [usize; 3],
    longest: usize,
    tiles: usize,
    n_jobs: usize,
    kernel: Kernel<ProductArgs<'static, T>>,
    gather: Kernel<PartArgs<'static, T>>,
    targets: Buffer<u32>,
    entries: Buffer<u32>,
    sources: Buffer<u32>,
    jobs: Buffer<Job>,
    first: Buffer<u32>,
    parts: Buffer<T>,
}

impl<T: Real + Pod> Products<T> {
    /// Fused multiply-adds for these lists with tiles of [`BOXES`].
    ///
    /// # Errors
    /// If the device has no memory for the lists, or cannot compile the kernel.
    pub fn new(device: &Device, order: usize, lists: &Lists) -> Result<Self, DeviceError> {
        Self::with(device, lists, Multiplier::fused(order, size_of::<T>()), None)
    }

    /// The same by another kernel, whose numbers must be those of `T`. Each tile is cut into `parts` jobs, or without a number into as many as
    /// fill the device.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with(
        device: &Device,
        lists: &Lists,
        multiplier: Multiplier,
        parts: Option<usize>,
    ) -> Result<Self, DeviceError> {
        let tiling = multiplier.tiling;
        let module = device.compile(&multiplier.source())?;
        let kernel = module.kernel(multiplier.name)?;
        let (tiles, across) = (lists.tiles(), tiling.row.div_ceil(tiling.columns));
        let resident = (SHARED_MEMORY / (tiling.shared(0) as usize + SHARED_OF_BLOCK)).min(MAX_RESIDENT);
        let room = resident * device.multiprocessors() as usize;
        let parts =
            parts.unwrap_or_else(|| best_parts(tiles * across, lists.entries.len().div_ceil(tiles.max(1)), room));
        let (jobs, first) = lists.jobs(parts);
        let (n_jobs, split) = (jobs.len(), jobs.len() > tiles);
        let longest = jobs.iter().map(|job| (job.end - job.first) as usize).max().unwrap_or(0);
        let named = [&lists.entries, &lists.sources, &lists.targets]
            .map(|list| list.iter().filter(|row| **row != NONE).max().map_or(0, |last| *last as usize + 1));
        Ok(Self {
            named,
            tiles,
            longest,
            n_jobs,
            kernel,
            gather: module.kernel("gather_parts")?,
            targets: device.upload(&lists.targets)?,
            entries: device.upload(&lists.entries)?,
            sources: device.upload(&lists.sources)?,
            jobs: device.upload(&jobs)?,
            first: device.upload(&first)?,
            parts: device.zeros(if split { n_jobs * BOXES * tiling.row } else { 1 })?,
            tiling,
        })
    }

    /// Local expansions of the rows that are `occupied` from multipoles, both in rows of [`row_length`]. They are added to what is there if
    /// `add` is true, and else take its place.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if a buffer lacks an operator or a row that the lists name; if the device fails.
    pub fn enqueue(
        &self,
        stream: &Stream,
        operators: &Buffer<T>,
        multipoles: &Buffer<T>,
        locals: &Buffer<T>,
        (occupied, add): (Occupied<'_>, bool),
    ) -> Result<(), DeviceError> {
        let (tiling, add) = (&self.tiling, i32::from(add));
        let ([of_operators, of_sources, of_targets], row) = (self.named, tiling.row);
        operators.holds(of_operators * row * row)?;
        multipoles.holds(of_sources * row)?;
        locals.holds(of_targets * row)?;
        let [wanted, filled] = [occupied.wanted, occupied.filled].map(|flags| flags.unwrap_or(In::none()));
        let direct = self.n_jobs == self.tiles;
        let product = ProductArgs {
            multipoles: multipoles.arg(),
            locals: locals.arg(),
            parts: self.parts.arg(),
            operators: operators.arg(),
            targets: self.targets.arg(),
            entries: self.entries.arg(),
            sources: self.sources.arg(),
            jobs: self.jobs.arg(),
            wanted,
            filled,
            direct: i32::from(direct),
            add,
        };
        let blocks = [self.n_jobs as u32, tiling.row.div_ceil(tiling.columns) as u32, 1];
        let launch = Launch::new(blocks, tiling.threads as u32).with_shared(tiling.shared(self.longest));
        stream.launch(&self.kernel, launch, product)?;
        if direct {
            return Ok(());
        }
        let parts = PartArgs {
            parts: self.parts.arg(),
            locals: locals.arg(),
            targets: self.targets.arg(),
            first: self.first.arg(),
            wanted,
            add,
        };
        stream.launch(&self.gather, Launch::new((self.tiles * BOXES) as u32, 128), parts)
    }
}

/// Parts of `blocks` with so many `entries` each that end soonest when `room` of them run at a time; starting one takes as long as an entry.
fn best_parts(blocks: usize, entries: usize, room: usize) -> usize {
    let cost = |parts: &usize| (blocks * parts).div_ceil(room) * (entries.div_ceil(*parts) + 1);
    (1..=MAX_JOBS).min_by_key(cost).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_fit_twice_and_fill_the_device() {
        for element in [4, 8] {
            for order in 0..=20 {
                let tiling = Tiling::new(order, element);
                assert!(tiling.shared(316) <= 113 * 1024, "{tiling:?}");
                assert!(tiling.threads <= 256 && tiling.depth.is_multiple_of(4), "{tiling:?}");
            }
        }
        assert_eq!([8, 64, 512].map(|blocks| best_parts(blocks, 189, 264)), [32, 4, 1]);
    }

    /// Needs libnvrtc, no GPU.
    #[test]
    fn kernels_compile_for_gpus() {
        for (order, element, architecture) in
            [(2, 4, "sm_90"), (8, 4, "sm_90"), (20, 4, "sm_90"), (8, 8, "sm_90"), (20, 8, "sm_90"), (8, 4, "sm_75")]
        {
            kernels::device::compiles(&Multiplier::fused(order, element).source(), architecture).unwrap();
        }
    }
}
