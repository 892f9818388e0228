//! M2L on the refined levels of the tree: children of near parents that are not near themselves.
//!
//! Lengths are in units of each level's own scale, so that one set of operators, one for each displacement, serves all levels and any
//! isotropic change of the cell. The operator of one displacement is applied to all pairs of a slab of boxes that need it, one row each, so
//! that it is read from memory once.
//! Reference for reuse of one operator over many boxes: T. Takahashi, C. Cecka, W. Fong, E. Darve, Int. J. Numer. Meth. Eng. 89, 105 (2012),
//! doi:10.1002/nme.3240.

use kernels::Real;
use rayon::prelude::*;

use crate::geometry::grid::{BoxGrid, OffsetSet};
use crate::geometry::tree::{Level, cousins};
use crate::operators::m2l::convolution::OPERATOR_MEMORY;
use crate::operators::m2l::translation::Translation;
use crate::operators::m2m::slab;
use crate::workspace::{Scratch, ScratchPool};

/// Operators made at a time when they are too large to keep.
const BATCH: usize = 8;

/// M2L on any refined level of one tree.
pub struct RefinedM2l<T> {
    order: usize,
    stride: usize,
    /// Displacements target → source, ascending.
    offsets: OffsetSet,
    /// One for each displacement; none if they are too large to keep.
    operators: Vec<Translation<T>>,
}

impl<T: Real> RefinedM2l<T> {
    /// Operators for boxes of this grid, `stride` coefficients in a row. None are made for a tree without refinement.
    pub fn new(grid: &BoxGrid, order: usize, stride: usize, depth: usize) -> Self {
        let mut out = Self { order, stride, offsets: OffsetSet::default(), operators: Vec::new() };
        if depth == 0 {
            return out;
        }
        out.offsets = offsets(grid);
        if out.offsets.offsets().len() * Translation::<T>::bytes(order, stride) <= OPERATOR_MEMORY {
            out.operators = out.offsets.offsets().par_iter().map(|u| out.translation(grid, *u)).collect();
        }
        out
    }

    /// M2L from a source `u` boxes from the target.
    pub fn translation(&self, grid: &BoxGrid, u: [i32; 3]) -> Translation<T> {
        Translation::new(self.order, grid.vector(u.map(|u| -f64::from(u))))
    }

    /// Add to the local expansions of one refined level what the children of near parents make, near boxes left out; `vectors` rows for each box.
    pub fn apply(
        &self,
        grid: &BoxGrid,
        (parents, level): (&Level, &Level),
        (multipoles, locals): (&[T], &mut [T]),
        vectors: usize,
        pool: &ScratchPool<T>,
    ) {
        let levels = (parents, level);
        if !self.operators.is_empty() {
            return self.apply_batch(grid, levels, (0, &self.operators), (multipoles, locals), vectors, pool);
        }
        for (batch, first) in self.offsets.offsets().chunks(BATCH).zip((0..).step_by(BATCH)) {
            let operators: Vec<Translation<T>> = batch.par_iter().map(|u| self.translation(grid, *u)).collect();
            self.apply_batch(grid, levels, (first, &operators), (multipoles, locals), vectors, pool);
        }
    }

    /// The same for the offsets from `first` on, with their operators.
    fn apply_batch(
        &self,
        grid: &BoxGrid,
        (parents, level): (&Level, &Level),
        (first, operators): (usize, &[Translation<T>]),
        (multipoles, locals): (&[T], &mut [T]),
        vectors: usize,
        pool: &ScratchPool<T>,
    ) {
        let (stride, boxes) = (self.stride, slab(vectors));
        locals.par_chunks_mut(boxes * vectors * stride).enumerate().for_each(|(slab, out)| {
            let Scratch { buckets, lines, .. } = &mut *pool.get();
            buckets.clear(operators.len());
            for target in 0..out.len() / (vectors * stride) {
                cousins(parents, level, &grid.near, slab * boxes + target, |source, u| {
                    let offset = self.offsets.slot(u).and_then(|o| o.checked_sub(first));
                    if let Some(offset) = offset.filter(|o| *o < operators.len()) {
                        buckets.push(offset, (target, source as usize), vectors);
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
