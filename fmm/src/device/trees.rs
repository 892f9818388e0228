//! Which tree suits a device: what fits, and a cost model with constants of an H200.
//!
//! In single precision 10¹² pairs of particles a second near by, 1.5·10¹³ operations on the root grid (transforms 2 K N_κ Σ n, operators
//! 2 K² N_κ; N_κ wave vectors, n the length of the convolution per axis), 3·10¹³ between boxes of refined levels (2 K² for each of seven
//! times as many boxes as are near); half of all that in double precision. Operators of the root grid take so little memory that it may have
//! 128 boxes per axis, or as many as the planes of its transforms fit into the shared memory of a block; refinement pays only for trees
//! beyond that.

use kernels::Real;
use kernels::device::Device;

use super::far::FarField;
use super::{MAX_BOXES, MAX_DEVICE_ROOT};
use crate::geometry::grid::{BoxGrid, NearSet, Topology, box_vectors};
use crate::geometry::tree::TreeShape;
use crate::operators::harmonics::count;
use crate::tuning::cost::{Workload, clearance};

/// Fewest particles for each box: with fewer, far boxes cost more than near ones save.
const PARTICLES: f64 = 8.0;

/// Most refinements that are looked at.
const MAX_DEPTH: usize = 6;

/// Pairs of particles a second.
const PAIRS: f64 = 1e12;

/// Operations a second on the root grid.
const ROOT: f64 = 1.5e13;

/// Operations a second on refined levels.
const REFINED: f64 = 3e13;

impl TreeShape {
    /// The finest grid without refinement that fits `device`, whose boxes are large enough for the pairs of `workload` and hold some ten
    /// particles.
    #[must_use]
    pub fn finest_root_on<T: Real + bytemuck::Pod>(
        device: &Device,
        order: usize,
        separation: f64,
        workload: &Workload,
    ) -> Self {
        let wanted = Wanted { device, order, separation, workload };
        let roots = (1..=MAX_DEVICE_ROOT).map(|cut| Self { root: wanted.root(cut), depth: 0 });
        roots.take_while(|tree| wanted.suits::<T>(tree)).last().unwrap_or_else(|| Self::coarsest(separation, workload))
    }

    /// The fastest tree on `device` for `order` and `separation` by the cost model; the one with the fewest boxes if no other has large enough
    /// leaves.
    #[must_use]
    pub fn auto_on<T: Real + bytemuck::Pod>(
        device: &Device,
        order: usize,
        separation: f64,
        workload: &Workload,
    ) -> Self {
        Self::with_cost_on::<T>(device, order, separation, workload).0
    }

    /// [`auto_on`](Self::auto_on), and the estimated seconds of an evaluation.
    pub(crate) fn with_cost_on<T: Real + bytemuck::Pod>(
        device: &Device,
        order: usize,
        separation: f64,
        workload: &Workload,
    ) -> (Self, f64) {
        let wanted = Wanted { device, order, separation, workload };
        let mut best = (Self::coarsest(separation, workload), f64::INFINITY);
        for depth in 0..=MAX_DEPTH {
            let trees = (1..=MAX_DEVICE_ROOT).map(|cut| Self { root: wanted.root(cut), depth });
            for tree in trees.take_while(|tree| wanted.suits::<T>(tree)) {
                let seconds = wanted.seconds::<T>(&tree);
                if seconds < best.1 {
                    best = (tree, seconds);
                }
            }
        }
        best
    }
}

/// What a tree is wanted for.
struct Wanted<'a> {
    device: &'a Device,
    order: usize,
    separation: f64,
    workload: &'a Workload,
}

impl Wanted<'_> {
    /// Near-cubic boxes, `cut` along the shortest edge.
    fn root(&self, cut: usize) -> [usize; 3] {
        let edges = self.workload.edges;
        let shortest = edges.iter().copied().fold(f64::INFINITY, f64::min);
        edges.map(|e| (e / shortest * cut as f64).round().max(1.0) as usize)
    }

    /// Edges of the leaves.
    fn leaf(&self, tree: &TreeShape) -> [f64; 3] {
        let leaves = tree.leaves();
        [0, 1, 2].map(|a| self.workload.edges[a] / leaves[a] as f64)
    }

    /// The root grid; none if its boxes are too thin.
    fn grid(&self, tree: &TreeShape) -> Option<BoxGrid> {
        let (boundary, shape) = (&self.workload.boundary, tree.root);
        let edge = (0..3).map(|a| self.workload.edges[a] / shape[a] as f64).fold(0.0, f64::max);
        let (basis, shear) = box_vectors(boundary, shape, edge);
        let near = NearSet::checked(&basis, self.separation).ok()?;
        Some(BoxGrid { topology: Topology { shape, periodic: boundary.periodic(), shear }, basis, near })
    }

    /// Large enough leaves, not too many, and a root grid that fits.
    fn suits<T: Real + bytemuck::Pod>(&self, tree: &TreeShape) -> bool {
        let (particles, boxes) = (self.workload.particles, boxes(tree));
        clearance(self.leaf(tree), self.separation) >= self.workload.minimum_leaf
            && PARTICLES * boxes * self.workload.filled <= particles as f64
            && boxes <= MAX_BOXES as f64
            && tree.check(MAX_DEVICE_ROOT).is_ok()
            && self.grid(tree).is_some_and(|grid| {
                let n = if tree.depth == 0 { particles } else { grid.topology.len() };
                FarField::<T>::fits(self.device, &grid, self.order, n)
            })
    }

    /// Estimated seconds of an evaluation.
    fn seconds<T>(&self, tree: &TreeShape) -> f64 {
        let Some(grid) = self.grid(tree) else { return f64::INFINITY };
        let (particles, k) = (self.workload.particles as f64, count(self.order) as f64);
        let near = grid.near.offsets().len() as f64;
        let all = boxes(tree);
        let pairs = particles * near * (particles / (all * self.workload.filled).max(1.0));
        let cycle = grid.cycle().map(|n| n as f64);
        let root = 2.0 * k * cycle.iter().product::<f64>() * (cycle.iter().sum::<f64>() + k);
        // Empty boxes are skipped.
        let level = |d: usize| (all / 8f64.powi((tree.depth - d) as i32)).min(all * self.workload.filled);
        let refined = (1..=tree.depth).map(level).sum::<f64>() * 7.0 * near * 2.0 * k * k;
        (pairs / PAIRS + root / ROOT + refined / REFINED) * size_of::<T>() as f64 / 4.0
    }
}

/// Number of leaf boxes.
fn boxes(tree: &TreeShape) -> f64 {
    tree.leaves().iter().map(|n| *n as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Boundary;

    fn workload(particles: usize, boundary: Boundary, minimum_leaf: f64) -> Workload {
        Workload { particles, boundary, edges: [1.0; 3], filled: 1.0, density: None, minimum_leaf }
    }

    #[test]
    fn large_systems_have_large_root_grids() {
        let device = Device::emulator().unwrap();
        let periodic = Boundary::rectangular([1.0; 3]);
        let tree = |n: usize, boundary| TreeShape::auto_on::<f32>(&device, 8, 1.12, &workload(n, boundary, 0.0));
        for n in [1000, 100_000, 1_000_000, 10_000_000] {
            // Near and far field take about as long.
            let (TreeShape { root, depth }, finest) = (tree(n, periodic), (n as f64 / PARTICLES).cbrt().floor());
            assert!(depth == 0 && root[0] as f64 <= finest && root[0] as f64 > 0.8 * finest, "{n}: {root:?} {depth}");
        }
        assert_eq!(tree(100_000_000, periodic), TreeShape { root: [128; 3], depth: 0 });
        // The convolution over open axes is twice as long, and its planes end at 68 boxes.
        assert_eq!(tree(3_000_000, Boundary::Open).depth, 0);
        let open = tree(100_000_000, Boundary::Open);
        assert!(open.depth == 1 && open.leaves()[0] > 100, "{open:?}");
    }

    #[test]
    fn boxes_keep_the_size_that_pairs_need() {
        let device = Device::emulator().unwrap();
        let workload = workload(100_000, Boundary::rectangular([1.0; 3]), 0.101);
        for tree in [
            TreeShape::finest_root_on::<f64>(&device, 8, 1.12, &workload),
            TreeShape::auto_on::<f64>(&device, 8, 1.12, &workload),
        ] {
            assert_eq!(tree, TreeShape { root: [9; 3], depth: 0 });
        }
    }
}
