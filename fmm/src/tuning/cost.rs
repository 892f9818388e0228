//! Choice of the tree: a cost model with measured constants.
//!
//! Per core (AVX-512, f32; f64 twice as much) the near field costs 0.4 ns per pair, P2M and L2P 5 ns per coefficient and block of 16
//! particles, M2L on the root grid 2 K² flops at 80 Gflop/s for each of the n₀ n₁ n₂ waves and transforms of 1 ns (n₀ + n₁ + n₂)/3 per coefficient and wave (0.6 of
//! that where the last axis is open), M2L on refined levels 25 ns and 0.065 ns (p+1)³ for each of seven times as many boxes as are near; operators beyond the
//! cache stream at 10 GB/s. Where the density is uneven, pairs, boxes and how many of those around a box are occupied are those of `density`. Constants within a
//! factor of two choose trees within some 20 % of the best.

use kernels::Real;
use rayon::prelude::*;

use crate::geometry::assignment::Geometry;
use crate::geometry::boundary::{Boundary, dot, norm, unit_of};
use crate::geometry::grid::{MAX_NEAR, NearSet, box_vectors};
use crate::geometry::tree::{MAX_LEAVES, MAX_ROOT, TreeShape};
use crate::operators::harmonics::count;
use crate::solver::settings::Settings;
use crate::tuning::density::Density;

/// The system that a tree is wanted for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Number of particles.
    pub particles: usize,
    /// What surrounds them.
    pub boundary: Boundary,
    /// Along each axis of the grid: distance between images, or the extent of the particles where the axis is open.
    pub edges: [f64; 3],
    /// Part of that volume that particles occupy: 1 for a liquid, little for droplets in vacuum.
    pub filled: f64,
    /// How unevenly they fill it; none where the density is the same all over.
    pub density: Option<Density>,
    /// Shortest way allowed from a box to one that is not near; where near boxes are those that touch, this is the edge of a box. Excluded pairs
    /// must lie in near boxes, so it must be the longest distance of one at least, plus the way that particles move before the next `assign`. It
    /// is 0 if there are none.
    pub minimum_leaf: f64,
}

/// Particles per box at which [`Workload::new`] looks for empty space.
const CROWD: f64 = 16.0;

/// Bytes of root-grid operators and transforms that a tree may take.
const MEMORY: f64 = 512e6;

impl Workload {
    /// The workload of particles at `positions`; positions that are not finite are left out, and a smallest leaf that is none is 0.
    #[must_use]
    pub fn new(boundary: &Boundary, positions: &[[f64; 3]], minimum_leaf: f64) -> Self {
        let axes = box_vectors(boundary, [1; 3], 1.0).0;
        let heights = boundary.heights();
        let (mut edges, mut low) = ([0.0; 3], [0.0; 3]);
        for a in 0..3 {
            let along = positions.iter().map(|p| dot(*p, axes[a]) / norm(axes[a])).filter(|x| x.is_finite());
            let (least, most) = along.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
            edges[a] = heights.get(a).copied().unwrap_or((most - least).max(0.0));
            low[a] = least;
        }
        let largest = edges.iter().copied().fold(0.0, f64::max);
        // A flat system gets one plane of boxes, and a point one box.
        let thinnest = if largest > 0.0 { 1e-3 * largest } else { 1.0 };
        let edges = edges.map(|e| e.max(thinnest));
        let minimum_leaf = minimum_leaf.max(0.0);
        let mut out =
            Self { particles: positions.len(), boundary: *boundary, edges, filled: 1.0, density: None, minimum_leaf };
        out.filled = out.occupied(positions, axes, low);
        out.density = Density::uneven(boundary, edges, positions);
        out
    }

    /// The same in a unit of length near the size of the system. Trees and settings do not depend on the unit, and products of lengths do not leave the range
    /// of numbers.
    pub(crate) fn in_own_unit(boundary: &Boundary, positions: &[[f64; 3]], minimum_leaf: f64) -> Self {
        let unit = unit_of(boundary.periods().iter().chain(positions).flatten().copied());
        let positions: Vec<[f64; 3]> = positions.iter().map(|p| p.map(|x| x / unit)).collect();
        Self::new(&boundary.in_units_of(unit), &positions, minimum_leaf / unit)
    }

    /// Number of boxes near each leaf box, itself included.
    #[must_use]
    pub fn near_boxes(&self, settings: &Settings) -> usize {
        let open_edge = (0..3).map(|a| self.edges[a] / settings.tree.root[a] as f64).fold(0.0, f64::max);
        let (basis, _) = box_vectors(&self.boundary, settings.tree.root, open_edge);
        NearSet::checked(&basis, settings.separation).map_or(usize::MAX, |near| near.offsets().len())
    }

    /// Part of the volume in boxes that hold particles, at the resolution where these hold [`CROWD`] of them.
    fn occupied(&self, positions: &[[f64; 3]], axes: [[f64; 3]; 3], low: [f64; 3]) -> f64 {
        let n = positions.len() as f64;
        let volume: f64 = self.edges.iter().product();
        let mut edge = (volume * CROWD / n.max(CROWD)).cbrt();
        let mut boxes: Vec<[i32; 3]> = Vec::with_capacity(positions.len());
        for _ in 0..8 {
            boxes.clear();
            boxes.extend(positions.iter().map(|p| {
                [0, 1, 2].map(|a| {
                    let x = dot(*p, axes[a]) / norm(axes[a]) - low[a];
                    ((x / edge).floor()) as i32
                })
            }));
            boxes.par_sort_unstable();
            boxes.dedup();
            if n < 1.5 * CROWD * boxes.len() as f64 {
                break;
            }
            edge *= 0.5;
        }
        (boxes.len() as f64 * edge.powi(3) / volume).clamp(1e-9, 1.0)
    }
}

impl TreeShape {
    /// Near-cubic boxes as large as they can be; a single box around a flat or thin molecule, where they would be smaller than pairs need.
    pub(crate) fn coarsest(separation: f64, workload: &Workload) -> Self {
        let tree = Self::near_cubic(workload.edges, 0);
        let leaves = tree.leaves();
        let leaf = [0, 1, 2].map(|a| workload.edges[a] / leaves[a] as f64);
        if clearance(leaf, separation) >= workload.minimum_leaf { tree } else { Self { root: [1; 3], depth: 0 } }
    }

    /// The fastest tree for `order` and `separation` by the cost model; the coarsest if no other has large enough leaves.
    #[must_use]
    pub fn auto<T: Real>(order: usize, separation: f64, workload: &Workload) -> Self {
        Self::with_cost::<T>(order, separation, workload).0
    }

    /// [`auto`](Self::auto), and the estimated seconds of an evaluation on one core.
    pub(crate) fn with_cost<T: Real>(order: usize, separation: f64, workload: &Workload) -> (Self, f64) {
        let edges = workload.edges;
        let shortest = edges.iter().copied().fold(f64::INFINITY, f64::min);
        let mut best = (Self::coarsest(separation, workload), f64::INFINITY);
        let mut consider = |tree: Self| {
            let leaves = tree.leaves();
            let large = (0..3).all(|a| edges[a] / leaves[a] as f64 >= workload.minimum_leaf);
            if large && tree.check(MAX_ROOT).is_ok() {
                let seconds = cost::<T>(order, separation, workload, &tree);
                if seconds < best.1 {
                    best = (tree, seconds);
                }
            }
        };
        // Near-cubic boxes are as thick as a flat or thin system, and may be far too many for its particles. Larger ones are considered for as
        // long as boxes that are occupied hold fewer than `CROWD`.
        let mut root = Self::near_cubic(edges, 0).leaves();
        let sparse = |n: [usize; 3]| {
            let occupied = n.iter().product::<usize>() as f64 * workload.filled;
            n != [1; 3] && occupied * CROWD > workload.particles as f64
        };
        while sparse(root) {
            root = root.map(|n| n.div_ceil(2));
            consider(Self { root, depth: 0 });
        }
        for cut in 1..=MAX_LEAVES {
            let n = edges.map(|e| (e / shortest * cut as f64).round().max(1.0) as usize);
            let boxes: f64 = n.iter().map(|n| *n as f64).product();
            let leaf = [0, 1, 2].map(|a| edges[a] / n[a] as f64);
            let small = workload.minimum_leaf > 0.0 && clearance(leaf, separation) < workload.minimum_leaf;
            // Finer boxes only make more of them: there are half as many particles as boxes, or hardly any near a particle.
            let empty = match &workload.density {
                None => boxes * workload.filled > 64.0 + 2.0 * workload.particles as f64,
                Some(density) => density.others(edge(leaf), 27.0) < 8.0,
            };
            if small || empty || n.iter().any(|n| *n > MAX_LEAVES) {
                break;
            }
            // The numbers of boxes of the other axes are rounded to what the refinement of the shortest one allows.
            for depth in (0..=13).take_while(|d| cut.is_multiple_of(1 << d)) {
                consider(Self { root: n.map(|n| ((n as f64 / f64::from(1 << depth)).round() as usize).max(1)), depth });
            }
        }
        best
    }
}

/// Shortest way from a box with these edges to one that is not near.
pub fn clearance(edges: [f64; 3], separation: f64) -> f64 {
    let basis = [[edges[0], 0.0, 0.0], [0.0, edges[1], 0.0], [0.0, 0.0, edges[2]]];
    NearSet::checked(&basis, separation).map_or(0.0, |near| near.clearance(&basis))
}

/// Edge of the cube with the volume of a box.
fn edge(edges: [f64; 3]) -> f64 {
    edges.iter().product::<f64>().cbrt()
}

/// Estimated seconds of one evaluation on one core; infinite if it takes too much memory.
fn cost<T: Real>(order: usize, separation: f64, workload: &Workload, tree: &TreeShape) -> f64 {
    let width = size_of::<T>() as f64 / 4.0;
    let k = count(order) as f64;
    let particles = workload.particles as f64;
    let periodic = workload.boundary.periodic();
    let all: f64 = tree.leaves().iter().map(|n| *n as f64).product();
    let leaf = edge([0, 1, 2].map(|a| workload.edges[a] / tree.leaves()[a] as f64));
    // Occupied boxes `above` levels above the leaves.
    let occupied = |above: usize| match &workload.density {
        None => (all * workload.filled).max(1.0).min(all / 8f64.powi(above as i32)),
        Some(density) => density.occupied(leaf * f64::from(1 << above)),
    };
    let leaves = occupied(0);
    let per_box = particles / leaves;
    let open_edge = (0..3).map(|a| workload.edges[a] / tree.root[a] as f64).fold(0.0, f64::max);
    let basis = box_vectors(&workload.boundary, tree.root, open_edge).0;
    let Ok(near) = NearSet::checked(&basis, separation) else { return f64::INFINITY };
    // A solver has boxes before it has particles, whose extent along open directions of slabs and wires makes them longer.
    let empty = Geometry::new(&workload.boundary, *tree, &[]).unit_basis();
    if NearSet::candidates(&empty, separation) > MAX_NEAR {
        return f64::INFINITY;
    }
    let near = near.offsets().len() as f64;
    let others = workload.density.map_or(near * per_box, |density| density.others(leaf, near));
    let pairs = particles * (others + 8.0);
    let blocks = leaves.min(particles) * (per_box / 16.0 + 0.6);
    let cycle = [0, 1, 2].map(|a| if periodic[a] { tree.root[a] as f64 } else { 2.0 * tree.root[a] as f64 - 1.0 });
    let waves: f64 = cycle.iter().product();
    let operators = cycle.iter().map(|n| (n / 2.0).floor() + 1.0).product::<f64>() * k * k * 4.0 * width;
    if operators + 6.0 * waves * k * 4.0 * width > MEMORY {
        return f64::INFINITY;
    }
    let padding = if periodic[2] { 1.0 } else { 0.6 };
    let transform = waves * k * cycle.iter().sum::<f64>() / 3.0 * 1e-9 * padding;
    let product = waves * k * k * 2.0 / 80e9;
    let stream = if operators > 8e6 { operators / 10e9 } else { 0.0 };
    let around = |above: usize| match &workload.density {
        None => 1.0,
        Some(density) => density.around(leaf * f64::from(1 << above)),
    };
    let levels: f64 = (0..tree.depth).map(occupied).sum();
    let translated: f64 = (0..tree.depth).map(|above| occupied(above) * around(above)).sum();
    let refined = translated * 7.0 * near * (25e-9 + 0.065e-9 * k.powf(1.5)) + levels * 4.0 * k * k / 80e9;
    width * (0.4e-9 * pairs + 5e-9 * k * blocks + transform + product + refined) + stream
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(particles: usize, edge: f64, periodic: bool, minimum_leaf: f64) -> Workload {
        let boundary = if periodic { Boundary::rectangular([edge; 3]) } else { Boundary::Open };
        Workload { particles, boundary, edges: [edge; 3], filled: 1.0, density: None, minimum_leaf }
    }

    fn auto(order: usize, workload: &Workload) -> TreeShape {
        TreeShape::auto::<f32>(order, Settings::TOUCHING, workload)
    }

    #[test]
    fn leaves_hold_tens_of_particles() {
        for (n, periodic) in [(3_500, true), (46_500, true), (50_000, false), (1_000_000, true), (1_000_000, false)] {
            let tree = auto(8, &workload(n, 1.0, periodic, 0.0));
            let per_leaf = n as f64 / tree.leaves().iter().product::<usize>() as f64;
            assert!((4.0..100.0).contains(&per_leaf), "{n} {periodic}: {tree:?}, {per_leaf} per leaf");
        }
    }

    #[test]
    fn leaves_respect_the_longest_exclusion() {
        let tree = auto(8, &workload(3_500, 3.3, true, 0.55));
        assert!(tree.leaves()[0] <= 6, "{tree:?}");
        assert_eq!(auto(8, &workload(3_500, 3.3, true, 5.0)).leaves(), [1; 3]);
        // A capped residue in vacuum, flatter than the boxes that its pairs need.
        let flat = |minimum_leaf| Workload { edges: [1.2, 0.8, 0.36], ..workload(32, 1.0, false, minimum_leaf) };
        assert_eq!(auto(10, &flat(0.5)).leaves(), [1; 3]);
        assert_ne!(TreeShape::coarsest(Settings::TOUCHING, &flat(0.1)).leaves(), [1; 3]);
    }

    #[test]
    fn droplets_in_vacuum_get_leaves_for_their_own_density() {
        // Eight clusters of 1000 in the corners of a cube of edge 100, each in a cube of edge 2: 1e-5 of the volume is occupied.
        let mut positions = Vec::new();
        for i in 0..8000 {
            let corner = [i & 1, i >> 1 & 1, i >> 2 & 1].map(|c| 98.0 * f64::from(c));
            let within = i / 8;
            let at = [within % 10, within / 10 % 10, within / 100].map(|c| 0.2 * f64::from(c));
            positions.push([0, 1, 2].map(|a| corner[a] + at[a]));
        }
        let workload = Workload::new(&Boundary::Open, &positions, 0.0);
        assert!((2e-5..3e-4).contains(&workload.filled), "{}", workload.filled);
        let leaf = 100.0 / auto(6, &workload).leaves()[0] as f64;
        assert!((0.2..1.6).contains(&leaf), "{leaf}");
    }
}
