//! M2M, M2L and L2L between the refined levels of the tree, as matrix products.
//!
//! Lengths are in units of each level's own scale, so one set of operators serves all levels and any isotropic change of the cell. The M2L
//! operator of one offset is used for all boxes of a slab of the grid that need it, one row each: parents touch, boxes do not.

use kernels::{Operator, Real, RowPair, rows_times_matrix};
use rayon::prelude::*;

use crate::convolution::OPERATOR_MEMORY;
use crate::harmonics::{Domain, count, irregular, m2l, m2m};
use crate::lattice::is_near;
use crate::scratch::ScratchPool;
use crate::tree::Level;

/// Boxes per slab, at least: enough rows for each operator, few enough to stay in the cache.
const SLAB: usize = 128;

/// Operators between and on refined levels.
pub struct LevelOperators<T> {
    order: usize,
    stride: usize,
    box_edges: [f64; 3],
    m2m: Vec<Operator<T>>,
    l2l: Vec<Operator<T>>,
    /// Displacements target → source of M2L.
    offsets: Vec<[i32; 3]>,
    m2l: Vec<Operator<T>>,
}

impl<T: Real> LevelOperators<T> {
    /// Operators for boxes with edges `box_edges` in units of their scale. None are made for a tree without refinement.
    pub fn new(order: usize, stride: usize, box_edges: [f64; 3], depth: usize) -> Self {
        let n = count(order);
        let mut out =
            Self { order, stride, box_edges, m2m: Vec::new(), l2l: Vec::new(), offsets: Vec::new(), m2l: Vec::new() };
        if depth == 0 {
            return out;
        }
        for octant in 0..8 {
            let side = octant_of(octant);
            let up = m2m(order, [0, 1, 2].map(|a| 0.25 * box_edges[a] * if side[a] == 1 { 1.0 } else { -1.0 }));
            let down: Vec<f64> = (0..n * n).map(|i| 0.5 * up[i % n * n + i / n]).collect();
            out.m2m.push(Operator::new(n, n, &up));
            out.l2l.push(Operator::new(n, n, &down));
        }
        let axis = -3..=3;
        out.offsets = axis
            .clone()
            .flat_map(|x| axis.clone().flat_map(move |y| (-3..=3).map(move |z| [x, y, z])))
            .filter(|u| !is_near(*u))
            .collect();
        if out.offsets.len() * n * stride * size_of::<T>() <= OPERATOR_MEMORY {
            out.m2l = out.offsets.par_iter().map(|u| out.m2l_operator(*u)).collect();
        }
        out
    }

    /// M2L operator of a source `u` boxes from the target.
    pub fn m2l_operator(&self, u: [i32; 3]) -> Operator<T> {
        let n = count(self.order);
        let t = [0, 1, 2].map(|a| -f64::from(u[a]) * self.box_edges[a]);
        Operator::new(n, n, &m2l(self.order, &irregular(2 * self.order, t), Domain::Space))
    }

    /// M2M operator of octant `i`, and L2L.
    pub fn shift_operators(&self, octant: usize) -> (&Operator<T>, &Operator<T>) {
        (&self.m2m[octant], &self.l2l[octant])
    }

    /// Parents' multipoles from their children's, overwritten.
    pub fn m2m(
        &self,
        parents: &Level,
        coarse: &mut [T],
        fine_level: &Level,
        fine: &[T],
        counts: &[u32],
        pool: &ScratchPool<T>,
    ) {
        let stride = self.stride;
        coarse.par_chunks_mut(SLAB * stride).enumerate().for_each(|(slab, out)| {
            out.fill(T::zero());
            let pairs = &mut pool.get().pairs;
            for octant in 0..8 {
                let side = octant_of(octant);
                pairs.clear();
                for target in 0..out.len() / stride {
                    let c = parents.coordinates(slab * SLAB + target);
                    let source = fine_level.index([0, 1, 2].map(|a| 2 * c[a] + side[a]));
                    if counts[source] > 0 {
                        pairs.push(RowPair { target: target as u32, source: source as u32 });
                    }
                }
                rows_times_matrix(&self.m2m[octant], pairs, fine, stride, out, stride);
            }
        });
    }

    /// Children's local expansions from their parents', overwritten.
    pub fn l2l(
        &self,
        parents: &Level,
        coarse: &[T],
        fine_level: &Level,
        fine: &mut [T],
        counts: &[u32],
        pool: &ScratchPool<T>,
    ) {
        let stride = self.stride;
        fine.par_chunks_mut(SLAB * stride).enumerate().for_each(|(slab, out)| {
            out.fill(T::zero());
            let pairs = &mut pool.get().pairs;
            for octant in 0..8 {
                let side = octant_of(octant);
                pairs.clear();
                for target in 0..out.len() / stride {
                    let c = fine_level.coordinates(slab * SLAB + target);
                    if counts[slab * SLAB + target] > 0 && (0..3).all(|a| c[a] % 2 == side[a]) {
                        pairs.push(RowPair { target: target as u32, source: parents.index(c.map(|x| x / 2)) as u32 });
                    }
                }
                rows_times_matrix(&self.l2l[octant], pairs, coarse, stride, out, stride);
            }
        });
    }

    /// Add to the local expansions of one refined level what the children of touching parents make, boxes that touch left out.
    pub fn m2l(&self, level: &Level, multipoles: &[T], locals: &mut [T], counts: &[u32], pool: &ScratchPool<T>) {
        if !self.m2l.is_empty() {
            self.m2l_group(level, &self.offsets, &self.m2l, multipoles, locals, counts, pool);
            return;
        }
        for offsets in self.offsets.chunks(8) {
            let operators: Vec<Operator<T>> = offsets.par_iter().map(|u| self.m2l_operator(*u)).collect();
            self.m2l_group(level, offsets, &operators, multipoles, locals, counts, pool);
        }
    }

    #[allow(clippy::too_many_arguments)] // one stage, all its inputs
    fn m2l_group(
        &self,
        level: &Level,
        offsets: &[[i32; 3]],
        operators: &[Operator<T>],
        multipoles: &[T],
        locals: &mut [T],
        counts: &[u32],
        pool: &ScratchPool<T>,
    ) {
        let stride = self.stride;
        locals.par_chunks_mut(SLAB * stride).enumerate().for_each(|(slab, out)| {
            let pairs = &mut pool.get().pairs;
            for (&u, operator) in offsets.iter().zip(operators) {
                pairs.clear();
                for target in 0..out.len() / stride {
                    let i = slab * SLAB + target;
                    let c = level.coordinates(i);
                    if counts[i] == 0 || !parents_touch(c, u) {
                        continue;
                    }
                    if let Some(source) = level.displaced(c, u).filter(|s| counts[*s] > 0) {
                        pairs.push(RowPair { target: target as u32, source: source as u32 });
                    }
                }
                rows_times_matrix(operator, pairs, multipoles, stride, out, stride);
            }
        });
    }
}

/// Whether the parents of the box at `c` and of the one displaced by `u` touch.
pub fn parents_touch(c: [usize; 3], u: [i32; 3]) -> bool {
    (0..3).all(|a| (((c[a] % 2) as i32 + u[a]).div_euclid(2)).abs() <= 1)
}

/// Which half of the parent octant `i` occupies, per axis.
pub fn octant_of(i: usize) -> [usize; 3] {
    [i >> 2 & 1, i >> 1 & 1, i & 1]
}
