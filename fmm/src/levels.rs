//! M2M, M2L and L2L between the refined levels of the tree: matrix products, M2L from medium orders on along rotated axes.
//!
//! Lengths are in units of each level's own scale, so one set of operators serves all levels and any isotropic change of the cell. A slab is
//! a run of neighbouring boxes of a level; the M2L operator of one offset is applied to all pairs of a slab that need it, one row each, so
//! that it is read from memory once. Children of near boxes that are not near themselves are translated on this level.
//! Reference for reuse of one operator over many boxes: T. Takahashi, C. Cecka, W. Fong, E. Darve, Int. J. Numer. Meth. Eng. 89, 105 (2012),
//! doi:10.1002/nme.3240.

use kernels::{Operator, Real, RowPair, rows_times_matrix};
use rayon::prelude::*;

use crate::convolution::OPERATOR_MEMORY;
use crate::grid::{BoxGrid, OffsetSet};
use crate::harmonics::{Domain, count, irregular, m2l, m2m};
use crate::rotation::RotationM2l;
use crate::scratch::{Scratch, ScratchPool};
use crate::tree::{Level, cousins};

/// Boxes per slab, at least: enough rows for each operator, few enough to stay in the cache.
const SLAB: usize = 128;

/// Operators made at a time when they are too large to keep.
const BATCH: usize = 8;

/// Lowest order at which rotations are faster than products, in both precisions; at order 6 they are alike (benchmarks/benches/rotation.rs, AVX-512).
const FIRST_ROTATED_ORDER: usize = 7;

/// M2L for one vector between boxes.
pub enum Translation<T> {
    /// K × K matrix.
    Product(Operator<T>),
    /// Along the rotated axis.
    Rotation(RotationM2l<T>),
}

impl<T: Real> Translation<T> {
    /// From a source to a target box that lies `t` from it, in units of the scale of both.
    pub fn new(order: usize, t: [f64; 3]) -> Self {
        if order >= FIRST_ROTATED_ORDER {
            return Self::Rotation(RotationM2l::new(order, t));
        }
        let n = count(order);
        Self::Product(Operator::new(n, n, &m2l(order, &irregular(2 * order, t), Domain::Space)))
    }

    /// Floating-point operations of one.
    pub fn flops(order: usize) -> f64 {
        let k = count(order);
        if order < FIRST_ROTATED_ORDER {
            return 2.0 * (k * k) as f64;
        }
        // Cosines and sines of each degree (turned there and back) or of each m (shifted): the same blocks. Then the phases.
        let blocks: usize = (0..=order).map(|l| (l + 1) * (l + 1) + l * l).sum();
        2.0 * (3 * blocks + 4 * (k - order - 1)) as f64
    }

    /// Bytes of one, about: n_out · n_in elements, or the blocks of two rotations and of the shift, 5/3 p³ and more.
    fn bytes(order: usize, stride: usize) -> usize {
        let elements = if order >= FIRST_ROTATED_ORDER { 2 * (order + 2).pow(3) } else { count(order) * stride };
        elements * size_of::<T>()
    }

    /// targets[pair.target] += M2L(sources[pair.source]), rows of `stride` elements.
    pub fn apply(&self, pairs: &[RowPair], sources: &[T], targets: &mut [T], stride: usize, lines: &mut Vec<T::Line>) {
        match self {
            Self::Product(operator) => rows_times_matrix(operator, pairs, sources, stride, targets, stride),
            Self::Rotation(operator) => operator.apply(pairs, (sources, stride), (targets, stride), lines),
        }
    }
}

/// Operators between and on refined levels.
pub struct LevelOperators<T> {
    order: usize,
    stride: usize,
    m2m: Vec<Operator<T>>,
    l2l: Vec<Operator<T>>,
    /// Displacements target → source of M2L on a refined level, ascending.
    offsets: OffsetSet,
    /// One for each offset; none if they are too large to keep.
    m2l: Vec<Translation<T>>,
}

impl<T: Real> LevelOperators<T> {
    /// M2M and L2L for boxes of this grid, no M2L. None are made for a tree without refinement.
    pub fn shifts(grid: &BoxGrid, order: usize, stride: usize, depth: usize) -> Self {
        let n = count(order);
        let mut out =
            Self { order, stride, m2m: Vec::new(), l2l: Vec::new(), offsets: OffsetSet::default(), m2l: Vec::new() };
        if depth == 0 {
            return out;
        }
        for octant in 0..8 {
            let side = [octant >> 2 & 1, octant >> 1 & 1, octant & 1];
            let up = m2m(order, grid.vector(side.map(|s| 0.5 * f64::from(s) - 0.25)));
            let down: Vec<f64> = (0..n * n).map(|i| 0.5 * up[i % n * n + i / n]).collect();
            out.m2m.push(Operator::new(n, n, &up));
            out.l2l.push(Operator::new(n, n, &down));
        }
        out
    }

    /// Operators for boxes of this grid. None are made for a tree without refinement.
    pub fn new(grid: &BoxGrid, order: usize, stride: usize, depth: usize) -> Self {
        let mut out = Self::shifts(grid, order, stride, depth);
        if depth == 0 {
            return out;
        }
        out.offsets = offsets(grid);
        if out.offsets.offsets().len() * Translation::<T>::bytes(order, stride) <= OPERATOR_MEMORY {
            out.m2l = out.offsets.offsets().par_iter().map(|u| out.translation(grid, *u)).collect();
        }
        out
    }

    /// M2L from a source `u` boxes from the target.
    pub fn translation(&self, grid: &BoxGrid, u: [i32; 3]) -> Translation<T> {
        Translation::new(self.order, grid.vector(u.map(|u| -f64::from(u))))
    }

    /// The same, if it is kept.
    pub fn kept(&self, u: [i32; 3]) -> Option<&Translation<T>> {
        self.m2l.get(self.offsets.slot(u)?)
    }

    /// M2M operator of octant `i`, and L2L.
    pub fn shift_operators(&self, octant: usize) -> (&Operator<T>, &Operator<T>) {
        (&self.m2m[octant], &self.l2l[octant])
    }

    /// Parents' multipoles from their children's, overwritten.
    pub fn m2m(&self, parents: &Level, coarse: &mut [T], level: &Level, fine: &[T], pool: &ScratchPool<T>) {
        let stride = self.stride;
        coarse.par_chunks_mut(SLAB * stride).enumerate().for_each(|(slab, out)| {
            out.fill(T::zero());
            let buckets = &mut pool.get().buckets;
            buckets.clear(8);
            for target in 0..out.len() / stride {
                for source in parents.children(slab * SLAB + target) {
                    buckets.push(level.octant(source), target, source);
                }
            }
            for (octant, pairs) in buckets.iter() {
                rows_times_matrix(&self.m2m[octant], pairs, fine, stride, out, stride);
            }
        });
    }

    /// Children's local expansions from their parents', overwritten.
    pub fn l2l(&self, coarse: &[T], level: &Level, fine: &mut [T], pool: &ScratchPool<T>) {
        let stride = self.stride;
        fine.par_chunks_mut(SLAB * stride).enumerate().for_each(|(slab, out)| {
            out.fill(T::zero());
            let buckets = &mut pool.get().buckets;
            buckets.clear(8);
            for target in 0..out.len() / stride {
                let i = slab * SLAB + target;
                buckets.push(level.octant(i), target, level.parents[i] as usize);
            }
            for (octant, pairs) in buckets.iter() {
                rows_times_matrix(&self.l2l[octant], pairs, coarse, stride, out, stride);
            }
        });
    }

    /// Add to the local expansions of one refined level what the children of near parents make, near boxes left out.
    pub fn m2l(
        &self,
        grid: &BoxGrid,
        (parents, level): (&Level, &Level),
        multipoles: &[T],
        locals: &mut [T],
        pool: &ScratchPool<T>,
    ) {
        if !self.m2l.is_empty() {
            return self.m2l_batch(grid, (parents, level), (0, &self.m2l), multipoles, locals, pool);
        }
        for (batch, first) in self.offsets.offsets().chunks(BATCH).zip((0..).step_by(BATCH)) {
            let operators: Vec<Translation<T>> = batch.par_iter().map(|u| self.translation(grid, *u)).collect();
            self.m2l_batch(grid, (parents, level), (first, &operators), multipoles, locals, pool);
        }
    }

    /// The same for the offsets from `first` on, with their operators.
    fn m2l_batch(
        &self,
        grid: &BoxGrid,
        (parents, level): (&Level, &Level),
        (first, operators): (usize, &[Translation<T>]),
        multipoles: &[T],
        locals: &mut [T],
        pool: &ScratchPool<T>,
    ) {
        let stride = self.stride;
        locals.par_chunks_mut(SLAB * stride).enumerate().for_each(|(slab, out)| {
            let Scratch { buckets, lines, .. } = &mut *pool.get();
            buckets.clear(operators.len());
            for target in 0..out.len() / stride {
                cousins(parents, level, &grid.near, slab * SLAB + target, |source, u| {
                    let offset = self.offsets.slot(u).and_then(|o| o.checked_sub(first));
                    if let Some(offset) = offset.filter(|o| *o < operators.len()) {
                        buckets.push(offset, target, source as usize);
                    }
                });
            }
            for (offset, pairs) in buckets.iter() {
                operators[offset].apply(pairs, multipoles, out, stride, lines);
            }
        });
    }
}

/// Displacements of children of near boxes that are not near themselves.
pub fn offsets(grid: &BoxGrid) -> OffsetSet {
    let mut out = Vec::new();
    for across in grid.near.offsets() {
        for d in 0..27 {
            let u = [0, 1, 2].map(|a| 2 * across[a] + [d / 9, d / 3 % 3, d % 3][a] - 1);
            if !grid.near.contains(u) {
                out.push(u);
            }
        }
    }
    OffsetSet::new(out)
}
