//! Atoms in clusters of eight that lie close together.
//!
//! Atoms are sorted into columns in x and y of about one cluster's width and by z inside a column; every eight of a column
//! are a cluster, their coordinates side by side for the vector registers. In a periodic box every atom is first moved by whole edges into
//! the brick aₓ × b_y × c_z, and that number of edges is kept until the atoms are sorted again. Units: nm.

use kernels::CacheLine;
use kernels::lennard_jones::{CLUSTER, Eight};
use nalgebra::Vector3;
use rayon::prelude::*;

use crate::cell::Cell;

/// Coordinates where there is no atom.
const NONE: Eight = CacheLine([0.0; CLUSTER]);

/// Stands where the last cluster of a column has no atom.
pub const NO_ATOM: u32 = u32::MAX;

/// Atoms in their order in space, eight to a cluster.
#[derive(Clone, Debug, Default)]
pub struct Clusters {
    /// Atom in each of the [`CLUSTER`] × (number of clusters) slots, [`NO_ATOM`] in the padding.
    pub atoms: Vec<u32>,
    /// Edges added to the position of each slot's atom.
    pub wraps: Vec<[f64; 3]>,
    /// Bits of the slots that hold an atom, per cluster.
    pub filled: Vec<u8>,
    /// Coordinates x, y, z of each cluster, nm.
    pub xyz: Vec<[Eight; 3]>,
    /// Slot of each atom of the system; [`NO_ATOM`] for atoms without Lennard-Jones.
    pub slots: Vec<u32>,
    /// First cluster of each column, and the end.
    columns: Vec<u32>,
    grid: [usize; 2],
    origin: [f64; 3],
    widths: [f64; 2],
    /// Box around each cluster.
    pub bounds: Vec<Bounds>,
    /// Box around all clusters.
    whole: Bounds,
}

/// Where an active atom is sorted to.
#[derive(Clone, Copy, Debug)]
struct Place {
    column: u32,
    /// z, nm.
    height: f64,
    /// Among the active atoms.
    index: u32,
}

/// Smallest box around the atoms of a cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    low: [f64; 3],
    high: [f64; 3],
}

impl Bounds {
    /// The same box moved by `by` (nm).
    pub fn shifted(&self, by: [f64; 3]) -> Self {
        Self { low: std::array::from_fn(|d| self.low[d] + by[d]), high: std::array::from_fn(|d| self.high[d] + by[d]) }
    }

    fn around(&self, other: &Self) -> Self {
        Self {
            low: std::array::from_fn(|d| self.low[d].min(other.low[d])),
            high: std::array::from_fn(|d| self.high[d].max(other.high[d])),
        }
    }

    fn distance_squared(&self, other: &Self) -> f64 {
        (0..3).map(|d| (self.low[d] - other.high[d]).max(other.low[d] - self.high[d]).max(0.0).powi(2)).sum()
    }
}

impl Clusters {
    /// Sort `active` atoms at `x` into clusters; coordinates are those of `x` moved into the box.
    pub fn sort(&mut self, active: &[u32], x: &[Vector3<f64>], cell: Cell) {
        let wraps: Vec<[f64; 3]> = active.iter().map(|&a| wrap(x[a as usize], cell)).collect();
        let moved: Vec<[f64; 3]> = active.iter().zip(&wraps).map(|(&a, w)| place(x[a as usize], *w, cell)).collect();
        self.make_grid(&moved, cell);
        let order = self.order(&moved);
        self.atoms.clear();
        self.wraps.clear();
        self.columns.clear();
        let mut next = 0;
        for column in 0..(self.grid[0] * self.grid[1]) as u32 {
            self.columns.push((self.atoms.len() / CLUSTER) as u32);
            while next < order.len() && order[next].column == column {
                let k = order[next].index as usize;
                self.atoms.push(active[k]);
                self.wraps.push(wraps[k]);
                next += 1;
            }
            let full = self.atoms.len().next_multiple_of(CLUSTER);
            self.atoms.resize(full, NO_ATOM);
            self.wraps.resize(full, [0.0; 3]);
        }
        self.columns.push((self.atoms.len() / CLUSTER) as u32);
        self.slots.clear();
        self.slots.resize(x.len(), NO_ATOM);
        for (slot, &atom) in self.atoms.iter().enumerate() {
            if atom != NO_ATOM {
                self.slots[atom as usize] = slot as u32;
            }
        }
        self.filled = self
            .atoms
            .chunks_exact(CLUSTER)
            .map(|c| (0..CLUSTER).map(|k| u8::from(c[k] != NO_ATOM) << k).sum())
            .collect();
        self.xyz.clear();
        self.xyz.resize(self.filled.len(), [NONE; 3]);
        self.load(x, cell);
        self.bounds = (0..self.filled.len()).map(|c| self.bound(c)).collect();
        self.whole = self.bounds.iter().copied().reduce(|a, b| a.around(&b)).unwrap_or_default();
    }

    /// The atoms at `moved` column by column, by height inside a column; equal heights by index, so that the order is always the same.
    fn order(&self, moved: &[[f64; 3]]) -> Vec<Place> {
        let mut order: Vec<Place> = (0..)
            .zip(moved)
            .map(|(index, r)| {
                let column = self.column(r[0], 0) * self.grid[1] as u32 + self.column(r[1], 1);
                Place { column, height: r[2], index }
            })
            .collect();
        order.par_sort_unstable_by(|a, b| {
            a.column.cmp(&b.column).then(a.height.total_cmp(&b.height)).then(a.index.cmp(&b.index))
        });
        order
    }

    /// Where the atom of a slot is in the box, nm.
    pub fn position(&self, slot: usize) -> [f64; 3] {
        let [x, y, z] = &self.xyz[slot / CLUSTER];
        [x, y, z].map(|c| c.0[slot % CLUSTER])
    }

    /// Copy the positions `x` into the clusters.
    pub fn load(&mut self, x: &[Vector3<f64>], cell: Cell) {
        let (atoms, wraps) = (&self.atoms, &self.wraps);
        self.xyz.par_iter_mut().with_min_len(64).enumerate().for_each(|(cluster, xyz)| {
            for k in 0..CLUSTER {
                let slot = CLUSTER * cluster + k;
                if atoms[slot] != NO_ATOM {
                    let r = place(x[atoms[slot] as usize], wraps[slot], cell);
                    (0..3).for_each(|d| xyz[d].0[k] = r[d]);
                }
            }
        });
    }

    /// The clusters as the kernels read them.
    pub fn view(&self) -> kernels::lennard_jones::Clusters<'_> {
        kernels::lennard_jones::Clusters { positions: &self.xyz, filled: &self.filled }
    }

    /// Columns about as wide as a cluster of eight is high.
    fn make_grid(&mut self, moved: &[[f64; 3]], cell: Cell) {
        let (low, span) = match cell.periodic() {
            Some(periodic) => ([0.0; 3], periodic.diagonal().into()),
            None => {
                let fold = |f: fn(f64, f64) -> f64, start: f64| -> [f64; 3] {
                    std::array::from_fn(|d| moved.iter().map(|r| r[d]).fold(start, f))
                };
                let (low, high) = (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY));
                (low, std::array::from_fn(|d| (high[d] - low[d]).max(0.1)))
            }
        };
        let width = (CLUSTER as f64 * span[0] * span[1] * span[2] / moved.len().max(1) as f64).cbrt();
        self.grid = std::array::from_fn(|d| ((span[d] / width) as usize).clamp(1, 1 + moved.len() / CLUSTER));
        self.origin = low;
        self.widths = std::array::from_fn(|d| span[d] / self.grid[d] as f64);
    }

    fn column(&self, r: f64, d: usize) -> u32 {
        (((r - self.origin[d]) / self.widths[d]).max(0.0) as usize).min(self.grid[d] - 1) as u32
    }

    fn bound(&self, cluster: usize) -> Bounds {
        let filled = self.filled[cluster];
        let over = |f: fn(f64, f64) -> f64, start: f64| -> [f64; 3] {
            std::array::from_fn(|d| {
                let lane = &self.xyz[cluster][d].0;
                (0..CLUSTER).filter(|k| filled >> k & 1 == 1).map(|k| lane[k]).fold(start, f)
            })
        };
        Bounds { low: over(f64::min, f64::INFINITY), high: over(f64::max, f64::NEG_INFINITY) }
    }

    /// Clusters within `reach` of the box `bounds`, in increasing order.
    pub fn near(&self, bounds: &Bounds, reach: f64, found: &mut Vec<u32>) {
        found.clear();
        let range = |d: usize| {
            let first = ((bounds.low[d] - reach - self.origin[d]) / self.widths[d]).floor().max(0.0) as usize;
            let last = ((bounds.high[d] + reach - self.origin[d]) / self.widths[d]).floor();
            first..if last < 0.0 { 0 } else { (last as usize + 1).min(self.grid[d]) }
        };
        let (lowest, highest) = (bounds.low[2] - reach, bounds.high[2] + reach);
        for cx in range(0) {
            for cy in range(1) {
                let column = cx * self.grid[1] + cy;
                let first = self.columns[column] as usize;
                let clusters = &self.bounds[first..self.columns[column + 1] as usize];
                // Clusters of a column follow each other in z.
                let start = clusters.partition_point(|c| c.high[2] < lowest);
                let within = clusters[start..].iter().take_while(|c| c.low[2] <= highest);
                for (cluster, other) in (first + start..).zip(within) {
                    if other.distance_squared(bounds) < reach * reach {
                        found.push(cluster as u32);
                    }
                }
            }
        }
    }

    /// Whether any cluster can be within `reach` of the box `bounds`.
    pub fn touches(&self, bounds: &Bounds, reach: f64) -> bool {
        self.whole.distance_squared(bounds) < reach * reach
    }
}

/// Whole edges to add so that `r` lies in the brick of the box.
fn wrap(r: Vector3<f64>, cell: Cell) -> [f64; 3] {
    cell.periodic().map_or([0.0; 3], |periodic| periodic.turns_into_brick(r))
}

#[inline]
fn place(r: Vector3<f64>, wrap: [f64; 3], cell: Cell) -> [f64; 3] {
    cell.periodic().map_or(r, |periodic| r + periodic.vector(wrap)).into()
}
