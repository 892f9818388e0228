//! Choice of order and tree: a cost model with measured constants.
//!
//! Per core (AVX-512, f32; f64 twice as much) the near field costs 0.4 ns per pair, P2M and L2P 25 ns per coefficient and block of 16
//! particles, M2L on the root grid K² flops and a transform of 1 ns per coefficient and box along each axis, M2L on refined levels 189 products
//! of K² each per box; operators beyond the cache stream at 10 GB/s. Constants within a factor of two choose trees within some 20 % of the best.

use kernels::Real;

use crate::harmonics::count;
use crate::solver::{MAX_ORDER, Settings};
use crate::tree::{MAX_LEAVES, TreeShape, elongation};

/// What a tree is wanted for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    /// Number of particles.
    pub particles: usize,
    /// Cell edges, or the extent of the particles for an open boundary.
    pub edges: [f64; 3],
    /// Whether the cell repeats.
    pub periodic: bool,
    /// Smallest leaf edge allowed: excluded pairs must lie in neighbouring boxes, so at least the longest distance of one, plus the way
    /// particles move before the next `assign`. 0 if there is nothing to respect.
    pub minimum_leaf: f64,
}

/// Bytes of root-grid operators and transforms that a tree may take.
const MEMORY: f64 = 512e6;

/// Longest elongation of boxes that `auto` accepts; a cube has 0.866, divergence begins at 1.
const MAX_ELONGATION: f64 = 0.93;

impl Settings {
    /// Order for a relative L2 force error of at most `tolerance`, and the fastest tree for it on this kind of machine.
    ///
    /// Calibrated on disordered water, 5.5e-4 at order 8 and a factor 2.3 per order; uncorrelated charges do ten times better.
    pub fn for_tolerance<T: Real>(tolerance: f64, workload: &Workload) -> Self {
        let order = 8.0 + ((5.5e-4 / tolerance).ln() / 2.3f64.ln()).ceil();
        let order = if order.is_finite() { order.clamp(2.0, MAX_ORDER as f64) as usize } else { MAX_ORDER };
        Self { order, tree: TreeShape::auto::<T>(order, workload) }
    }
}

impl TreeShape {
    /// The fastest tree for `order` by the cost model; the one with the fewest boxes if no other has large enough leaves.
    pub fn auto<T: Real>(order: usize, workload: &Workload) -> Self {
        let edges = workload.edges;
        let shortest = edges.iter().copied().fold(f64::INFINITY, f64::min);
        let mut best = (Self::near_cubic(edges, 0), f64::INFINITY);
        for cut in 1..=MAX_LEAVES {
            let n = edges.map(|e| (e / shortest * cut as f64).round().max(1.0) as usize);
            let leaf = [0, 1, 2].map(|a| edges[a] / n[a] as f64);
            let small = leaf.iter().any(|e| *e < workload.minimum_leaf);
            if small || n.iter().any(|n| *n > MAX_LEAVES) || n.iter().product::<usize>() > 64 + 2 * workload.particles {
                break;
            }
            if workload.periodic && elongation(leaf) > MAX_ELONGATION {
                continue;
            }
            for depth in (0..=5).take_while(|d| n.iter().all(|n| n.is_multiple_of(1 << d))) {
                let tree = Self { root: n.map(|n| n >> depth), depth };
                let seconds = cost::<T>(order, workload, &tree);
                if seconds < best.1 {
                    best = (tree, seconds);
                }
            }
        }
        best.0
    }
}

/// Estimated seconds of one evaluation on one core; infinite if it takes too much memory.
fn cost<T: Real>(order: usize, workload: &Workload, tree: &TreeShape) -> f64 {
    let width = size_of::<T>() as f64 / 4.0;
    let k = count(order) as f64;
    let particles = workload.particles as f64;
    let boxes: f64 = tree.leaves().iter().map(|n| *n as f64).product();
    let per_box = particles / boxes;
    let pairs = particles * (27.0 * per_box + 8.0);
    let blocks = boxes.min(particles) * (per_box / 16.0 + 0.6);
    let cycle = tree.root.map(|m| if workload.periodic { m as f64 } else { 2.0 * m as f64 - 1.0 });
    let waves: f64 = cycle.iter().product();
    let operators = cycle.iter().map(|n| (n / 2.0).floor() + 1.0).product::<f64>() * k * k * 4.0 * width;
    if operators + 6.0 * waves * k * 4.0 * width > MEMORY {
        return f64::INFINITY;
    }
    let transform = waves * k * cycle.iter().sum::<f64>() / 3.0 * 1e-9 * if workload.periodic { 1.0 } else { 0.6 };
    let product = waves * k * k * 2.0 / 80e9;
    let stream = if operators > 8e6 { operators / 10e9 } else { 0.0 };
    let levels: f64 = (1..=tree.depth).map(|d| boxes / 8f64.powi((tree.depth - d) as i32)).sum();
    let refined = levels * 191.0 * k * k * 2.0 / 80e9;
    width * (0.4e-9 * pairs + 25e-9 * k * blocks + transform + product + refined) + stream
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(particles: usize, edge: f64, periodic: bool, minimum_leaf: f64) -> Workload {
        Workload { particles, edges: [edge; 3], periodic, minimum_leaf }
    }

    #[test]
    fn leaves_hold_tens_of_particles() {
        for (n, periodic) in [(3_500, true), (46_500, true), (50_000, false), (1_000_000, true), (1_000_000, false)] {
            let tree = TreeShape::auto::<f32>(8, &workload(n, 1.0, periodic, 0.0));
            let per_leaf = n as f64 / tree.leaves().iter().product::<usize>() as f64;
            assert!((4.0..100.0).contains(&per_leaf), "{n} {periodic}: {tree:?}, {per_leaf} per leaf");
        }
    }

    #[test]
    fn leaves_respect_the_longest_exclusion() {
        let tree = TreeShape::auto::<f32>(8, &workload(3_500, 3.3, true, 0.55));
        assert!(tree.leaves()[0] <= 6, "{tree:?}");
        assert_eq!(TreeShape::auto::<f32>(8, &workload(3_500, 3.3, true, 5.0)).leaves(), [1; 3]);
    }

    #[test]
    fn boxes_of_long_cells_are_near_cubic() {
        let tree = TreeShape::auto::<f64>(
            6,
            &Workload { particles: 20_000, edges: [3.0, 3.0, 9.5], periodic: true, minimum_leaf: 0.3 },
        );
        let n = tree.leaves();
        assert!(elongation([3.0 / n[0] as f64, 3.0 / n[1] as f64, 9.5 / n[2] as f64]) < MAX_ELONGATION, "{tree:?}");
    }
}
