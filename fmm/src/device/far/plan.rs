//! How the kernels of the far field cut their work into blocks.

use crate::geometry::grid::BoxGrid;
use crate::operators::harmonics::count;
use crate::operators::lattice::waves::unique;
use crate::operators::m2l::convolution::images;

/// Shared memory of a block that lets three of them run on one multiprocessor, bytes.
const THIRD: usize = 72 * 1024;

/// Shapes of a far field and of the blocks of its kernels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Order of the expansions.
    pub order: usize,
    /// Boxes per axis.
    pub shape: [usize; 3],
    /// Length of the convolution per axis.
    pub cycle: [usize; 3],
    /// Wave vectors per axis that have their own operator.
    pub unique: [usize; 3],
    /// Mirror images that share an operator.
    pub images: usize,
    /// Whether the grid closes on itself with a shift.
    pub sheared: bool,
    /// Bytes of a number.
    pub real: usize,
    /// Coefficients per box, padded.
    pub stride: usize,
    /// Threads of a column of boxes.
    pub column_threads: usize,
    /// Channels that P2M adds up at a time.
    pub rows: usize,
    /// Wave numbers per thread in lines along z.
    pub column_waves: usize,
    /// Boxes of a column whose fields are in shared memory together.
    pub boxes: usize,
    /// Channels of a plane.
    pub channels: usize,
    /// Wave numbers per thread in lines along x and y.
    pub plane_waves: usize,
    /// Lines that a block transforms together.
    pub lines: usize,
    /// Degrees l of a tile of an operator.
    pub tile: usize,
    /// Threads of an operator.
    pub operator_threads: usize,
}

impl Plan {
    /// For a grid of about `n_particles` on a GPU of `multiprocessors` with `shared` bytes for a block; numbers of `real` bytes.
    pub fn new(
        grid: &BoxGrid,
        order: usize,
        n_particles: usize,
        real: usize,
        (multiprocessors, shared): (usize, usize),
    ) -> Self {
        let (shape, cycle) = (grid.topology.shape, grid.cycle());
        let [mx, my, mz] = shape;
        let half = cycle[2] / 2 + 1;
        let stride = count(order).next_multiple_of(4);
        let in_column = (n_particles / (mx * my)).max(mz);
        let chunks = in_column.div_ceil(480);
        let column_threads = (in_column / chunks + in_column / (12 * chunks) + 16).next_multiple_of(32).clamp(128, 512);
        let tasks = |waves: usize| stride / 2 * half.div_ceil(waves);
        let column_waves = [1, 2, 4].into_iter().find(|w| tasks(*w) <= column_threads).unwrap_or(8);
        let fields = (count(order) | 1) * 4 * real;
        let chunks = (mz * fields).div_ceil(THIRD * 2 / 3).max(1);
        // Cycles of a source: from shared memory (vectors, place, V), 4 bytes per lane and cycle, or of arithmetic, whichever is more.
        let cycles = |rows: &usize| operator_threads(order, *rows) / 32 * (20 + 4 * rows).max(9 * rows);
        let tile = (2..=4).min_by_key(cycles).unwrap_or(2);
        let mut plan = Self {
            order,
            shape,
            cycle,
            unique: unique(grid),
            images: images(grid),
            sheared: grid.topology.shear != [0; 3],
            real,
            stride,
            column_threads,
            rows: (order + 1).max(2 * order).max(32),
            column_waves,
            boxes: mz.div_ceil(chunks),
            channels: 4,
            plane_waves: 8,
            lines: 0,
            tile,
            operator_threads: operator_threads(order, tile),
        };
        // A sector of 32 bytes holds 4 complex numbers of f32, 2 of f64; fewer channels if blocks were fewer than multiprocessors.
        plan.channels = 32 / (2 * real);
        while plan.channels > 1
            && (plan.plane_bytes() > shared.min(2 * THIRD / 2) || half * stride / plan.channels < multiprocessors)
        {
            plan.channels /= 2;
        }
        plan.cut_planes();
        plan
    }

    /// Lines per round and wave numbers per thread that suit the size of a plane.
    fn cut_planes(&mut self) {
        let [nx, ny, _] = self.cycle;
        let all = (self.shape[0].max(ny) * self.channels).next_multiple_of(32);
        let rounds = all.div_ceil(192);
        self.lines = all.div_ceil(rounds).next_multiple_of(32);
        let threads = |waves: usize| (nx.max(ny) / 2 + 1).div_ceil(waves) * self.lines;
        self.plane_waves = [1, 2, 4].into_iter().find(|w| threads(*w) <= 384).unwrap_or(8);
        // A block has at most 1024 threads: of long lines fewer in a round.
        let parts = (nx.max(ny) / 2 + 1).div_ceil(self.plane_waves);
        self.lines = self.lines.min((1024 / parts / 32 * 32).max(32));
    }

    /// Blocks, threads of a block, and its shared memory in bytes, of each step.
    pub fn launches(&self) -> [[usize; 3]; 5] {
        let plane = [self.half() * self.stride / self.channels, self.plane_threads(), self.plane_bytes()];
        [
            [self.columns(), self.column_threads, self.multipole_bytes()],
            plane,
            [self.unique.iter().product(), self.operator_threads, self.operator_bytes()],
            plane,
            [self.columns(), self.column_threads, self.potential_bytes()],
        ]
    }

    /// Wave numbers κ₂ ≤ n₂/2.
    pub fn half(&self) -> usize {
        self.cycle[2] / 2 + 1
    }

    /// Columns of boxes.
    pub fn columns(&self) -> usize {
        self.shape[0] * self.shape[1]
    }

    /// Threads of a plane.
    pub fn plane_threads(&self) -> usize {
        (self.cycle[0].max(self.cycle[1]) / 2 + 1).div_ceil(self.plane_waves) * self.lines
    }

    /// Elements of the table of a line of `n` boxes with `waves` per thread.
    fn table(n: usize, waves: usize) -> usize {
        (n - 1) / 2 * (n / 2 + 1).next_multiple_of(waves)
    }

    /// Shared memory of P2M, bytes.
    fn multipole_bytes(&self) -> usize {
        let table = 2 * Self::table(self.cycle[2], self.column_waves);
        (table + self.shape[2] * self.stride + self.rows * (self.column_threads + 1)) * self.real
    }

    /// Shared memory of a plane, bytes.
    fn plane_bytes(&self) -> usize {
        let [nx, ny, _] = self.cycle;
        let tables = Self::table(nx, self.plane_waves) + Self::table(ny, self.plane_waves);
        2 * (tables + nx * (ny | 1) * self.channels) * self.real
    }

    /// Shared memory of an operator, bytes.
    fn operator_bytes(&self) -> usize {
        let sources = (self.order + 1) * (self.order + 2) / 2;
        2 * count(2 * self.order).next_multiple_of(2) * self.real + sources * (16 + self.row() * self.real)
    }

    /// Elements of a source of an operator, see `operators.cu`.
    pub fn row(&self) -> usize {
        4 * self.images + 16 / self.real
    }

    /// Shared memory of L2P, bytes.
    fn potential_bytes(&self) -> usize {
        let fields = (self.boxes * (count(self.order) | 1)).max(self.half() * self.stride / 2);
        let table = Self::table(self.cycle[2], self.column_waves).next_multiple_of(2);
        (4 * fields + 2 * table + self.shape[2] * self.stride) * self.real
    }
}

/// First targets (l, m) of groups of `rows` targets (l, m), (l + 1, m), …
pub fn tiles(order: usize, rows: usize) -> Vec<[i32; 2]> {
    (0..=order as i32).flat_map(|m| (m..=order as i32).step_by(rows).map(move |l| [l, m])).collect()
}

/// Four threads for each tile.
fn operator_threads(order: usize, rows: usize) -> usize {
    (4 * tiles(order, rows).len()).next_multiple_of(32).min(256)
}
