//! Verlet list: which clusters of eight atoms each atom may meet before the list is made again.
//!
//! Atoms are sorted into columns in x and y of about one cluster's width and by z inside a column; every eight of a column
//! are a cluster, their coordinates side by side for SIMD. An entry of the list is one atom against one cluster: every
//! pair stands in the list of both its atoms (no third law), so that an atom's force is summed in one place and in one order.
//! A cluster is kept if any of its atoms lies within cut-off + buffer; the kernel tests the cut-off itself.
//! In a periodic box every atom is first moved by whole edges into the box, and that number of edges is kept until the
//! next list; a run of entries belongs to one image of the atom. With edges ≥ 2 (cut-off + buffer) each pair is met once.

use nalgebra::Vector3;
use rayon::prelude::*;

use super::simd::{Lane, Level, Simd};
use crate::Exclusions;
use crate::cell::Cell;

/// Clusters per independent piece of work. Fixed, so that sums do not depend on the number of threads.
const CLUSTERS_PER_CHUNK: usize = 16;

/// Not an atom: fills the last cluster of a column.
pub(super) const NO_ATOM: u32 = u32::MAX;

/// Atoms in their order in space, eight to a cluster.
#[derive(Clone, Debug, Default)]
pub(super) struct Clusters {
    /// Atom in each of the 8 × (number of clusters) slots, [`NO_ATOM`] in the padding.
    pub atoms: Vec<u32>,
    /// Edges added to the position of each slot's atom.
    pub wraps: Vec<[f64; 3]>,
    /// Bits of the slots that hold an atom, per cluster.
    pub filled: Vec<u8>,
    /// Coordinates x, y, z of each cluster, nm.
    pub xyz: Vec<[Lane; 3]>,
    /// Slot of each atom of the system; [`NO_ATOM`] for atoms without Lennard-Jones.
    slots: Vec<u32>,
    /// First cluster of each column, and the end.
    columns: Vec<u32>,
    grid: [usize; 2],
    origin: [f64; 3],
    widths: [f64; 2],
    bounds: Vec<Bounds>,
    /// Around all clusters.
    whole: Bounds,
}

/// Smallest box around the atoms of a cluster.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    low: [f64; 3],
    high: [f64; 3],
}

impl Bounds {
    fn shifted(&self, by: [f64; 3]) -> Self {
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

/// Entries of one atom in one of its images.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Slot of the atom.
    pub slot: u32,
    /// Index into the 27 images.
    pub image: u32,
    /// Its part of [`Chunk::entries`].
    pub start: u32,
    pub end: u32,
}

/// The list of [`CLUSTERS_PER_CHUNK`] consecutive clusters.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunk {
    /// First slot.
    pub first_slot: usize,
    pub runs: Vec<Run>,
    /// cluster · 256 + bits of the atoms of the cluster that interact with the atom of the run.
    pub entries: Vec<u32>,
    /// Forces on its slots, kJ/mol/nm; written by the kernel.
    pub forces: Vec<[f64; 3]>,
    candidates: Vec<u32>,
}

/// Displacement, in edges, of image 0…26; image 13 is the atom itself.
pub(super) fn image_shift(image: usize) -> [f64; 3] {
    [(image / 9) as f64 - 1.0, (image / 3 % 3) as f64 - 1.0, (image % 3) as f64 - 1.0]
}

const HOME: usize = 13;

impl Clusters {
    /// Sort `active` atoms at `x` into clusters; coordinates are those of `x` moved into the box.
    pub fn sort(&mut self, active: &[u32], x: &[Vector3<f64>], cell: Cell) {
        let wraps: Vec<[f64; 3]> = active.iter().map(|&a| wrap(x[a as usize], cell)).collect();
        let moved: Vec<[f64; 3]> = active.iter().zip(&wraps).map(|(&a, w)| place(x[a as usize], *w, cell)).collect();
        self.make_grid(&moved, cell);
        let mut order: Vec<(u32, f64, u32)> = moved
            .iter()
            .enumerate()
            .map(|(k, r)| (self.column(r[0], 0) * self.grid[1] as u32 + self.column(r[1], 1), r[2], k as u32))
            .collect();
        order.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.cmp(&b.2)));
        self.atoms.clear();
        self.wraps.clear();
        self.columns.clear();
        let mut next = 0;
        for column in 0..(self.grid[0] * self.grid[1]) as u32 {
            self.columns.push((self.atoms.len() / 8) as u32);
            while next < order.len() && order[next].0 == column {
                let k = order[next].2 as usize;
                self.atoms.push(active[k]);
                self.wraps.push(wraps[k]);
                next += 1;
            }
            let full = self.atoms.len().next_multiple_of(8);
            self.atoms.resize(full, NO_ATOM);
            self.wraps.resize(full, [0.0; 3]);
        }
        self.columns.push((self.atoms.len() / 8) as u32);
        self.slots.clear();
        self.slots.resize(x.len(), NO_ATOM);
        for (slot, &atom) in self.atoms.iter().enumerate() {
            if atom != NO_ATOM {
                self.slots[atom as usize] = slot as u32;
            }
        }
        self.filled =
            self.atoms.chunks_exact(8).map(|c| (0..8).map(|k| u8::from(c[k] != NO_ATOM) << k).sum()).collect();
        self.xyz.clear();
        self.xyz.resize(self.filled.len(), [Lane::default(); 3]);
        self.load(x, cell);
        self.bounds = (0..self.filled.len()).map(|c| self.bound(c)).collect();
        self.whole = self.bounds.iter().copied().reduce(|a, b| a.around(&b)).unwrap_or_default();
    }

    /// Copy the positions `x` into the clusters.
    pub fn load(&mut self, x: &[Vector3<f64>], cell: Cell) {
        let (atoms, wraps) = (&self.atoms, &self.wraps);
        self.xyz.par_iter_mut().with_min_len(64).enumerate().for_each(|(cluster, xyz)| {
            for k in 0..8 {
                let slot = 8 * cluster + k;
                if atoms[slot] != NO_ATOM {
                    let r = place(x[atoms[slot] as usize], wraps[slot], cell);
                    (0..3).for_each(|d| xyz[d].0[k] = r[d]);
                }
            }
        });
    }

    /// Position of a slot, nm.
    #[inline]
    pub fn position(&self, slot: usize) -> [f64; 3] {
        let xyz = &self.xyz[slot / 8];
        [xyz[0].0[slot % 8], xyz[1].0[slot % 8], xyz[2].0[slot % 8]]
    }

    /// Columns about as wide as a cluster of eight is high.
    fn make_grid(&mut self, moved: &[[f64; 3]], cell: Cell) {
        let (low, span) = match cell.edges() {
            Some(edges) => ([0.0; 3], [edges.x, edges.y, edges.z]),
            None => {
                let fold = |f: fn(f64, f64) -> f64, start: f64| -> [f64; 3] {
                    std::array::from_fn(|d| moved.iter().map(|r| r[d]).fold(start, f))
                };
                let (low, high) = (fold(f64::min, f64::INFINITY), fold(f64::max, f64::NEG_INFINITY));
                (low, std::array::from_fn(|d| (high[d] - low[d]).max(0.1)))
            }
        };
        let width = (8.0 * span[0] * span[1] * span[2] / moved.len().max(1) as f64).cbrt();
        self.grid = std::array::from_fn(|d| ((span[d] / width) as usize).clamp(1, 1 + moved.len() / 8));
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
                (0..8).filter(|k| filled >> k & 1 == 1).map(|k| lane[k]).fold(start, f)
            })
        };
        Bounds { low: over(f64::min, f64::INFINITY), high: over(f64::max, f64::NEG_INFINITY) }
    }

    /// Clusters within `reach` of the box `bounds`, in increasing order.
    fn near(&self, bounds: &Bounds, reach: f64, found: &mut Vec<u32>) {
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
    fn touches(&self, bounds: &Bounds, reach: f64) -> bool {
        self.whole.distance_squared(bounds) < reach * reach
    }
}

/// Whole edges to add so that `r` lies in the box.
fn wrap(r: Vector3<f64>, cell: Cell) -> [f64; 3] {
    cell.edges().map_or([0.0; 3], |edges| std::array::from_fn(|d| -(r[d] / edges[d]).floor()))
}

#[inline]
fn place(r: Vector3<f64>, wrap: [f64; 3], cell: Cell) -> [f64; 3] {
    match cell.edges() {
        Some(edges) => std::array::from_fn(|d| r[d] + wrap[d] * edges[d]),
        None => [r.x, r.y, r.z],
    }
}

/// Make the list of all clusters anew, `reach` = cut-off + buffer; memory of `chunks` is used again.
pub(super) fn build(
    clusters: &Clusters,
    exclusions: &Exclusions,
    cell: Cell,
    reach: f64,
    level: Level,
    chunks: &mut Vec<Chunk>,
) {
    let n = clusters.filled.len();
    chunks.resize_with(n.div_ceil(CLUSTERS_PER_CHUNK), Chunk::default);
    chunks.par_iter_mut().enumerate().for_each(|(number, chunk)| {
        let range = number * CLUSTERS_PER_CHUNK..n.min((number + 1) * CLUSTERS_PER_CHUNK);
        chunk.first_slot = 8 * range.start;
        chunk.forces.clear();
        chunk.forces.resize(8 * range.len(), [0.0; 3]);
        chunk.runs.clear();
        chunk.entries.clear();
        for cluster in range {
            for image in 0..27 {
                let shift = match cell.edges() {
                    Some(edges) => {
                        let s = image_shift(image);
                        [s[0] * edges.x, s[1] * edges.y, s[2] * edges.z]
                    }
                    None if image == HOME => [0.0; 3],
                    None => continue,
                };
                let bounds = clusters.bounds[cluster].shifted(shift);
                if !clusters.touches(&bounds, reach) {
                    continue;
                }
                clusters.near(&bounds, reach, &mut chunk.candidates);
                if !chunk.candidates.is_empty() {
                    list_cluster(clusters, exclusions, chunk, (cluster, image, shift), reach, level);
                }
            }
        }
    });
}

/// Entries of the atoms of one cluster in one image, from the candidates of the chunk.
fn list_cluster(
    clusters: &Clusters,
    exclusions: &Exclusions,
    chunk: &mut Chunk,
    (cluster, image, shift): (usize, usize, [f64; 3]),
    reach: f64,
    level: Level,
) {
    for slot in 8 * cluster..8 * cluster + 8 {
        let atom = clusters.atoms[slot];
        if atom == NO_ATOM {
            continue;
        }
        let start = chunk.entries.len();
        let r = clusters.position(slot);
        let r = [r[0] + shift[0], r[1] + shift[1], r[2] + shift[2]];
        select(level, clusters, &chunk.candidates, r, reach * reach, &mut chunk.entries);
        let found = &mut chunk.entries[start..];
        if image == HOME {
            exclude(found, slot);
        }
        for &partner in exclusions.of(atom) {
            let slot = clusters.slots[partner as usize];
            if slot != NO_ATOM {
                exclude(found, slot as usize);
            }
        }
        let end = chunk.entries.len();
        if end > start {
            chunk.runs.push(Run { slot: slot as u32, image: image as u32, start: start as u32, end: end as u32 });
        }
    }
}

/// Take the atom of `slot` out of its entry, if there is one.
fn exclude(entries: &mut [u32], slot: usize) {
    if let Ok(k) = entries.binary_search_by_key(&(slot as u32 / 8), |e| e >> 8) {
        entries[k] &= !(1 << (slot % 8));
    }
}

fn select(level: Level, c: &Clusters, candidates: &[u32], r: [f64; 3], limit: f64, entries: &mut Vec<u32>) {
    match level {
        // SAFETY: the value of the variant exists only where the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(s) => unsafe { select_avx512(s, c, candidates, r, limit, entries) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(s) => unsafe { select_avx2(s, c, candidates, r, limit, entries) },
        Level::Scalar(s) => select_generic(s, c, candidates, r, limit, entries),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
fn select_avx512(
    s: super::simd::Avx512,
    c: &Clusters,
    candidates: &[u32],
    r: [f64; 3],
    limit: f64,
    entries: &mut Vec<u32>,
) {
    select_generic(s, c, candidates, r, limit, entries);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn select_avx2(
    s: super::simd::Avx2,
    c: &Clusters,
    candidates: &[u32],
    r: [f64; 3],
    limit: f64,
    entries: &mut Vec<u32>,
) {
    select_generic(s, c, candidates, r, limit, entries);
}

/// Those of the candidates that have an atom within √`limit` of `r`.
#[inline(always)]
fn select_generic<S: Simd>(
    s: S,
    clusters: &Clusters,
    candidates: &[u32],
    r: [f64; 3],
    limit: f64,
    entries: &mut Vec<u32>,
) {
    let [x, y, z] = r.map(|a| s.splat(a));
    let limit = s.splat(limit);
    // Written always and kept if near: whether it is near cannot be predicted.
    let start = entries.len();
    entries.resize(start + candidates.len(), 0);
    let mut next = start;
    for &cluster in candidates {
        let (j, filled) = (&clusters.xyz[cluster as usize], clusters.filled[cluster as usize]);
        let (dx, dy, dz) = (s.sub(x, s.load(&j[0])), s.sub(y, s.load(&j[1])), s.sub(z, s.load(&j[2])));
        let r2 = s.fma(dz, dz, s.fma(dy, dy, s.mul(dx, dx)));
        entries[next] = cluster << 8 | u32::from(filled);
        next += usize::from(s.any(s.less(r2, limit, filled)));
    }
    entries.truncate(next);
}
