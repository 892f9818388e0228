//! The tree: a root grid of boxes, each refined a number of times; only boxes that hold particles exist below the root.
//!
//! A cell with m₀ × m₁ × m₂ root boxes and depth d has m·2^d leaf boxes per axis, so any number such as 6, 7 or 12 can be had, and boxes of
//! a long cell can be near-cubic. Boxes of a level are sorted by root box, then along a Morton curve, so that every box of every level
//! holds a contiguous run of the sorted particles. Cost and memory follow the occupied boxes: droplets in vacuum pay for their water only.
//! References: C. A. White, M. Head-Gordon, Chem. Phys. Lett. 257, 647 (1996), doi:10.1016/0009-2614(96)00574-X (intermediate depths);
//! M. S. Warren, J. K. Salmon, Supercomputing '93, 12, doi:10.1145/169627.169640 (keys along a Morton curve).

use rayon::prelude::*;

use crate::FmmError;
use crate::geometry::grid::{NearSet, Topology};

/// Most root boxes per axis: their M2L is one convolution over all of them.
pub const MAX_ROOT: usize = 64;

/// Most leaf boxes per axis.
pub const MAX_LEAVES: usize = 1 << 13;

/// Boxes per task when lists are made.
const GRAIN: usize = 256;

/// Root grid and number of refinements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TreeShape {
    /// Boxes of the root grid per axis: first the periods, in their order, then the open directions.
    pub root: [usize; 3],
    /// How often each root box is cut into eight.
    pub depth: usize,
}

impl TreeShape {
    /// The smallest root grid whose boxes are near-cubic in a region with these `edges` ([`Workload::edges`](crate::Workload)), refined
    /// `depth` times. A cube gets one root box. Edges must be positive and finite.
    pub fn near_cubic(edges: [f64; 3], depth: usize) -> Self {
        let shortest = edges.iter().copied().fold(f64::INFINITY, f64::min);
        let mut best = ([1; 3], f64::INFINITY);
        for cut in 1..=6 {
            let root = edges.map(|e| ((e / shortest * f64::from(cut)).round() as usize).clamp(1, MAX_ROOT));
            let ratio = elongation([0, 1, 2].map(|a| edges[a] / root[a] as f64));
            if ratio < best.1 - 0.02 {
                best = (root, ratio);
            }
            if best.1 < 0.92 {
                break;
            }
        }
        Self { root: best.0, depth }
    }

    /// Leaf boxes per axis; the largest number there is if they are more, which no solver takes.
    pub fn leaves(&self) -> [usize; 3] {
        let cuts = u32::try_from(self.depth).ok().and_then(|depth| 1_usize.checked_shl(depth)).unwrap_or(usize::MAX);
        self.root.map(|m| m.saturating_mul(cuts))
    }

    /// Root boxes up to `max_root` per axis.
    pub(crate) fn check(&self, max_root: usize) -> Result<(), FmmError> {
        let fits = |m: &usize| (1..=max_root).contains(m) && self.depth <= 13 && (m << self.depth) <= MAX_LEAVES;
        if self.root.iter().all(fits) {
            return Ok(());
        }
        Err(FmmError::Tree { root: self.root, depth: self.depth, max_root, max: MAX_LEAVES })
    }

    /// Key of the leaf at `c`: root box, then Morton order.
    pub(crate) fn key(&self, root: &Topology, c: [usize; 3]) -> u64 {
        let mask = (1 << self.depth) - 1;
        let [x, y, z] = c.map(|c| spread((c & mask) as u64));
        (root.index(c.map(|c| c >> self.depth)) as u64) << (3 * self.depth) | x << 2 | y << 1 | z
    }
}

/// Diagonal of a box over twice its shortest edge: √3/2 for a cube.
pub fn elongation(edges: [f64; 3]) -> f64 {
    let diagonal = edges.iter().map(|e| e * e).sum::<f64>().sqrt();
    diagonal / (2.0 * edges.iter().copied().fold(f64::INFINITY, f64::min))
}

/// Bits of x (13 at most) three apart.
pub fn spread(x: u64) -> u64 {
    (0..13).fold(0, |out, bit| out | (x >> bit & 1) << (3 * bit))
}

/// Every third bit of x, 13 at most, next to each other.
pub fn gathered(x: u64) -> usize {
    (0..13).fold(0, |out, bit| out | (x >> (3 * bit) & 1) << bit) as usize
}

/// A near box: its place in the level, and the displacement as a slot of the [`NearSet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Place in the level.
    pub source: u32,
    /// Displacement target → source.
    pub slot: u16,
}

/// Boxes of one level. The root level holds all boxes of the root grid, refined levels those with particles.
#[derive(Clone, Debug)]
pub struct Level {
    /// Grid of the level.
    pub topology: Topology,
    /// Coordinates of each box in the grid.
    pub coordinates: Vec<[u32; 3]>,
    /// Parent of each box on the level above.
    pub parents: Vec<u32>,
    /// First child of each box on the level below, and the end; empty for leaves.
    pub children: Vec<u32>,
    /// First sorted particle of each box, and the end.
    pub starts: Vec<u32>,
    near_starts: Vec<u32>,
    near: Vec<Neighbour>,
}

impl Level {
    /// Number of boxes.
    pub fn len(&self) -> usize {
        self.coordinates.len()
    }

    /// Whether box `i` holds no particles.
    pub fn is_vacant(&self, i: usize) -> bool {
        self.starts[i] == self.starts[i + 1]
    }

    /// Sorted places of the particles of box `i`.
    pub fn particles(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// Children of box `i` on the level below.
    pub fn children(&self, i: usize) -> std::ops::Range<usize> {
        self.children[i] as usize..self.children[i + 1] as usize
    }

    /// The occupied boxes near box `i`, itself included. In a small periodic grid a box occurs once for each of its images.
    pub fn near(&self, i: usize) -> &[Neighbour] {
        &self.near[self.near_starts[i] as usize..self.near_starts[i + 1] as usize]
    }

    /// Which half of its parent box `i` occupies, per axis.
    pub fn side(&self, i: usize) -> [i32; 3] {
        self.coordinates[i].map(|c| (c & 1) as i32)
    }

    /// Number (0–7) of that octant.
    pub fn octant(&self, i: usize) -> usize {
        let [x, y, z] = self.coordinates[i].map(|c| (c & 1) as usize);
        x << 2 | y << 1 | z
    }

    /// All boxes of the root grid, without particles.
    fn root(topology: Topology) -> Self {
        let coordinates = (0..topology.len()).map(|i| topology.coordinates(i).map(|c| c as u32)).collect();
        Self {
            topology,
            coordinates,
            parents: Vec::new(),
            children: Vec::new(),
            starts: Vec::new(),
            near_starts: Vec::new(),
            near: Vec::new(),
        }
    }
}

/// Calls `visit(place of the source on this level, displacement in boxes)` for every child of the boxes near the parent of box `i`: the boxes
/// that are either near `i` or receive from it by M2L on this level.
pub fn cousins(parents: &Level, level: &Level, near: &NearSet, i: usize, mut visit: impl FnMut(u32, [i32; 3])) {
    let own = level.side(i);
    for n in parents.near(level.parents[i] as usize) {
        let across = near.offsets()[n.slot as usize];
        for child in parents.children(n.source as usize) {
            let side = level.side(child);
            visit(child as u32, [0, 1, 2].map(|a| 2 * across[a] + side[a] - own[a]));
        }
    }
}

/// All levels of a tree, root first, from the ascending leaf keys of the sorted particles; with near boxes if there is a `near`.
pub fn levels(root: Topology, shape: TreeShape, near: Option<&NearSet>, keys: &[u64]) -> Vec<Level> {
    let mut out = vec![Level::root(root)];
    out[0].starts = vec![0; root.len() + 1];
    for key in keys {
        out[0].starts[(key >> (3 * shape.depth)) as usize + 1] += 1;
    }
    for i in 0..root.len() {
        out[0].starts[i + 1] += out[0].starts[i];
    }
    if let Some(near) = near {
        find_root_neighbours(&mut out[0], near);
    }
    for d in 1..=shape.depth {
        let level = refine(&mut out[d - 1], root.refined(d), (d, shape.depth), keys);
        out.push(level);
        let (above, below) = out.split_at_mut(d);
        if let Some(near) = near {
            find_neighbours(&above[d - 1], &mut below[0], near);
        }
    }
    out
}

fn find_root_neighbours(level: &mut Level, near: &NearSet) {
    (level.near_starts, level.near) = collect_neighbours(level.len(), |i, list| {
        if level.is_vacant(i) {
            return;
        }
        let c = level.coordinates[i].map(|c| c as usize);
        for (slot, u) in near.offsets().iter().enumerate() {
            let source = level.topology.displaced(c, *u).map(|c| level.topology.index(c));
            if let Some(source) = source.filter(|s| !level.is_vacant(*s)) {
                list.push(Neighbour { source: source as u32, slot: slot as u16 });
            }
        }
    });
}

fn find_neighbours(parents: &Level, level: &mut Level, near: &NearSet) {
    (level.near_starts, level.near) = collect_neighbours(level.len(), |i, list| {
        cousins(parents, level, near, i, |source, u| {
            if let Some(slot) = near.slot(u) {
                list.push(Neighbour { source, slot: slot as u16 });
            }
        });
    });
}

/// The lists that `find` appends for each of `n` boxes, one after the other, with their starts.
fn collect_neighbours(n: usize, find: impl Fn(usize, &mut Vec<Neighbour>) + Sync) -> (Vec<u32>, Vec<Neighbour>) {
    let part = |chunk: usize| {
        let (mut ends, mut list) = (Vec::new(), Vec::new());
        for i in chunk * GRAIN..n.min((chunk + 1) * GRAIN) {
            find(i, &mut list);
            ends.push(list.len() as u32);
        }
        (ends, list)
    };
    let parts: Vec<_> = (0..n.div_ceil(GRAIN)).into_par_iter().map(part).collect();
    let (mut starts, mut all) = (vec![0], Vec::new());
    for (ends, list) in parts {
        let before = all.len() as u32;
        starts.extend(ends.iter().map(|e| before + e));
        all.extend(list);
    }
    (starts, all)
}

/// The boxes of level `d` below `above`, whose children are set.
fn refine(above: &mut Level, topology: Topology, (d, depth): (usize, usize), keys: &[u64]) -> Level {
    let key = |place: usize| keys[place] >> (3 * (depth - d));
    let split = |parent: usize| {
        let places = above.particles(parent);
        let first = places.start;
        places.filter(move |k| *k == first || key(*k) != key(k - 1)).map(move |k| (parent, k))
    };
    let boxes: Vec<(usize, usize)> = (0..above.len()).into_par_iter().flat_map_iter(split).collect();
    above.children = vec![0; above.len() + 1];
    for (parent, _) in &boxes {
        above.children[parent + 1] += 1;
    }
    for i in 0..above.len() {
        above.children[i + 1] += above.children[i];
    }
    let mut starts: Vec<u32> = boxes.iter().map(|b| b.1 as u32).collect();
    starts.push(keys.len() as u32);
    let coordinates = |&(parent, place): &(usize, usize)| {
        let within = key(place) & 7;
        let c = above.coordinates[parent];
        [0, 1, 2].map(|a| 2 * c[a] + (within >> (2 - a) & 1) as u32)
    };
    Level {
        topology,
        coordinates: boxes.par_iter().map(coordinates).collect(),
        parents: boxes.iter().map(|b| b.0 as u32).collect(),
        children: Vec::new(),
        starts,
        near_starts: Vec::new(),
        near: Vec::new(),
    }
}
