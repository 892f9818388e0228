//! M2L as products of matrices on a device: tiles of shared memory, jobs, launches. Serves any lists of any level.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Arg, Buffer, Device, DeviceError, Kernel, Source, Stream, args};

use super::lists::Lists;
use super::operators::row_length;
use crate::harmonics::count;

/// Target boxes of a tile.
pub const BOXES: usize = 64;

/// Shared memory of a multiprocessor, bytes, and what the device takes of it for each block.
const SHARED_MEMORY: usize = 227 * 1024;
const SHARED_OF_BLOCK: usize = 1024;

/// Most blocks on one multiprocessor for which jobs are cut.
const MAX_RESIDENT: usize = 6;

/// Most jobs that a tile is cut into.
const MAX_JOBS: usize = 48;

/// What multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Units {
    /// Fused multiply-adds.
    Plain,
    /// Tensor cores, single precision from numbers split in two.
    Tensor,
}

/// How a product is cut for shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tiling {
    order: usize,
    row: usize,
    columns: usize,
    per_step: usize,
    depth: usize,
    down: usize,
    source_row: usize,
    matrix_row: usize,
    threads: usize,
    element: usize,
}

impl Tiling {
    fn new(order: usize, units: Units, element: usize) -> Self {
        let row = row_length(order);
        let lanes = 16 / element;
        // Two stages of 64 × 88 and 88 × 88 numbers in single precision, half as deep in double.
        let columns = row.div_ceil(row.div_ceil(88)).next_multiple_of(8);
        let (deepest, step) = if element == 4 { (88, 8) } else { (44, 4) };
        let per_step = (deepest / row).max(1);
        let depth =
            if per_step > 1 { per_step * row } else { row.div_ceil(row.div_ceil(deepest)).next_multiple_of(step) };
        // Boxes of a thread: fewer where there are few columns, for more threads.
        let down = [(16, 2), (40, 4)].into_iter().find(|(most, _)| columns <= *most).map_or(8, |(_, down)| down);
        // Rows an odd number of words apart are in different banks; for fragments of operators, 8 modulo 16 numbers.
        let source_row = if (depth / lanes) % 2 == 1 { depth } else { depth + lanes };
        let matrix_row = if units == Units::Plain || columns % 16 == 8 { columns } else { columns + 8 };
        let threads = match units {
            Units::Plain => (columns / 4 * (BOXES / down)).next_multiple_of(32),
            Units::Tensor => 128,
        };
        Self { order, row, columns, per_step, depth, down, source_row, matrix_row, threads, element }
    }

    /// Bytes of two stages and a list of `entries`.
    fn shared(&self, entries: usize) -> u32 {
        (2 * (BOXES * self.source_row + self.depth * self.matrix_row) * self.element + 4 * entries) as u32
    }

    fn source(&self, units: Units) -> Source {
        let (name, text) = match units {
            Units::Plain => ("product", include_str!("product.cu")),
            Units::Tensor => ("tensor", include_str!("tensor.cu")),
        };
        Source::new(name, text)
            .header(super::LEVEL)
            .header(include_str!("product.cuh"))
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

/// Kernels of the products.
pub fn source(order: usize, units: Units, element: usize) -> Source {
    Tiling::new(order, units, element).source(units)
}

/// Which rows of targets and of sources there are: flags by row.
#[derive(Clone, Copy, Default)]
pub struct Occupied {
    /// Flags of targets; none: all are wanted.
    pub wanted: Option<Arg>,
    /// Flags of sources; none: all are filled.
    pub filled: Option<Arg>,
}

/// Products for one set of lists.
pub struct Products<T: Pod> {
    tiling: Tiling,
    longest: usize,
    tiles: usize,
    n_jobs: usize,
    kernel: Kernel,
    gather: Kernel,
    targets: Buffer<u32>,
    entries: Buffer<u32>,
    sources: Buffer<u32>,
    jobs: Buffer<u32>,
    first: Buffer<u32>,
    parts: Buffer<T>,
}

impl<T: Real + Pod> Products<T> {
    /// For these lists with tiles of [`BOXES`]; `parts`: jobs of a tile, by default as many as fill the device. Tensor cores are for f32.
    ///
    /// # Errors
    /// The device.
    pub fn new(
        device: &Device,
        order: usize,
        lists: &Lists,
        units: Units,
        parts: Option<usize>,
    ) -> Result<Self, DeviceError> {
        let tiling = Tiling::new(order, units, size_of::<T>());
        let module = device.compile(&tiling.source(units))?;
        let kernel = module.kernel(if units == Units::Plain { "product" } else { "tensor" })?;
        let (tiles, across) = (lists.tiles(), tiling.row.div_ceil(tiling.columns));
        let resident = (SHARED_MEMORY / (tiling.shared(0) as usize + SHARED_OF_BLOCK)).min(MAX_RESIDENT);
        let room = resident * device.multiprocessors() as usize;
        let parts =
            parts.unwrap_or_else(|| best_parts(tiles * across, lists.entries.len().div_ceil(tiles.max(1)), room));
        let (jobs, first) = lists.jobs(parts);
        let (n_jobs, split) = (jobs.len() / 3, jobs.len() / 3 > tiles);
        let longest = jobs.chunks(3).map(|job| (job[2] - job[1]) as usize).max().unwrap_or(0);
        Ok(Self {
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

    /// Local expansions from multipoles, both in rows of [`row_length`]: of the rows that are `occupied`; `add`: to what is there, else in its place.
    ///
    /// # Errors
    /// The device.
    pub fn enqueue(
        &self,
        stream: &Stream,
        operators: &Buffer<T>,
        multipoles: &Buffer<T>,
        locals: &Buffer<T>,
        (occupied, add): (Occupied, bool),
    ) -> Result<(), DeviceError> {
        let (tiling, add) = (&self.tiling, i32::from(add));
        let [wanted, filled] = [occupied.wanted, occupied.filled].map(|flags| flags.unwrap_or(Arg::value(&0_u64)));
        let direct = self.n_jobs == self.tiles;
        let grid = [self.n_jobs as u32, tiling.row.div_ceil(tiling.columns) as u32, 1];
        let lists = [&self.targets, &self.entries, &self.sources, &self.jobs].map(|list| list.into());
        let [targets, entries, sources, jobs] = lists;
        let args: &[Arg] = &[
            multipoles.into(),
            locals.into(),
            (&self.parts).into(),
            operators.into(),
            targets,
            entries,
            sources,
            jobs,
            wanted,
            filled,
            i32::from(direct).into(),
            add.into(),
        ];
        stream.launch(&self.kernel, grid, tiling.threads as u32, tiling.shared(self.longest), args)?;
        if direct {
            return Ok(());
        }
        let blocks = (self.tiles * BOXES) as u32;
        let args = args![&self.parts, locals, &self.targets, &self.first, wanted, add];
        stream.launch(&self.gather, blocks, 128, 0, args)
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
        for (element, units) in [(4, Units::Plain), (4, Units::Tensor), (8, Units::Plain)] {
            for order in 0..=20 {
                let tiling = Tiling::new(order, units, element);
                assert!(tiling.shared(316) <= 113 * 1024, "{tiling:?}");
                assert!(tiling.threads <= 256 && tiling.depth.is_multiple_of(4), "{tiling:?}");
            }
        }
        assert_eq!([8, 64, 512].map(|blocks| best_parts(blocks, 189, 264)), [32, 4, 1]);
    }
}
