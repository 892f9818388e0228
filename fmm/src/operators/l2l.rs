//! L2L: the local expansion of a parent, moved to the centres of its children.
//!
//!   L_child = ½ Uᵀ(octant) L_parent
//!
//! with the matrices U of M2M (`m2m.rs`); the factor ½ changes the units of length from the scale of the parent to that of the child.

use kernels::{Operator, Real, rows_times_matrix};
use rayon::prelude::*;

use crate::geometry::grid::BoxGrid;
use crate::geometry::tree::Level;
use crate::operators::harmonics::count;
use crate::operators::m2m::{child_shift, m2m, slab};
use crate::workspace::ScratchPool;

/// L2L between any two levels of one tree.
pub struct L2l<T> {
    stride: usize,
    /// One for each octant; none in a tree without refinement.
    operators: Vec<Operator<T>>,
}

impl<T: Real> L2l<T> {
    /// Operators for boxes of this grid, `stride` coefficients in a row. None are made for a tree without refinement.
    pub fn new(grid: &BoxGrid, order: usize, stride: usize, depth: usize) -> Self {
        let n = count(order);
        let octants = if depth == 0 { 0 } else { 8 };
        let operator = |octant| {
            let up = m2m(order, child_shift(grid, octant));
            let down: Vec<f64> = (0..n * n).map(|i| 0.5 * up[i % n * n + i / n]).collect();
            Operator::new(n, n, &down)
        };
        Self { stride, operators: (0..octants).map(operator).collect() }
    }

    /// Children's local expansions from their parents', overwritten; `vectors` rows for each box.
    pub fn apply(&self, coarse: &[T], level: &Level, fine: &mut [T], vectors: usize, pool: &ScratchPool<T>) {
        let (stride, boxes) = (self.stride, slab(vectors));
        fine.par_chunks_mut(boxes * vectors * stride).enumerate().for_each(|(slab, out)| {
            out.fill(T::zero());
            let buckets = &mut pool.get().buckets;
            buckets.clear(8);
            for target in 0..out.len() / (vectors * stride) {
                let i = slab * boxes + target;
                buckets.push(level.octant(i), (target, level.parents[i] as usize), vectors);
            }
            for (octant, pairs) in buckets.iter() {
                rows_times_matrix(&self.operators[octant], pairs, coarse, stride, out, stride);
            }
        });
    }
}
