//! M2M: multipole expansions of the children, moved to the centre of their parent and added up.
//!
//!   M_parent = Σ_children U(octant) M_child
//!
//! Lengths are in units of each level's own scale, so that one set of eight matrices serves all levels and any isotropic change of the cell.
//! The transpose of U times ½ is L2L (`l2l.rs`). A slab is a run of neighbouring boxes of a level; the matrix of one octant is applied to all
//! pairs of a slab that need it, one row each.

use kernels::{Operator, Real, rows_times_matrix};
use num_complex::Complex64;
use rayon::prelude::*;

use crate::geometry::grid::BoxGrid;
use crate::geometry::tree::Level;
use crate::operators::harmonics::{complex, count, index, regular, sqrt_factorials};
use crate::workspace::ScratchPool;

/// Rows per slab: enough for each operator, few enough to stay in the cache.
const SLAB: usize = 128;

/// Boxes per slab, which have a row for each charge vector.
pub fn slab(vectors: usize) -> usize {
    SLAB.div_ceil(vectors)
}

/// M2M between any two levels of one tree.
pub struct M2m<T> {
    stride: usize,
    /// One for each octant; none in a tree without refinement.
    operators: Vec<Operator<T>>,
}

impl<T: Real> M2m<T> {
    /// Operators for boxes of this grid, `stride` coefficients in a row. None are made for a tree without refinement.
    pub fn new(grid: &BoxGrid, order: usize, stride: usize, depth: usize) -> Self {
        let n = count(order);
        let octants = if depth == 0 { 0 } else { 8 };
        let operators =
            (0..octants).map(|octant| Operator::new(n, n, &m2m(order, child_shift(grid, octant)))).collect();
        Self { stride, operators }
    }

    /// Parents' multipoles from their children's, overwritten; `vectors` rows for each box.
    pub fn apply(
        &self,
        (parents, level): (&Level, &Level),
        coarse: &mut [T],
        fine: &[T],
        vectors: usize,
        pool: &ScratchPool<T>,
    ) {
        let (stride, boxes) = (self.stride, slab(vectors));
        coarse.par_chunks_mut(boxes * vectors * stride).enumerate().for_each(|(slab, out)| {
            out.fill(T::zero());
            let buckets = &mut pool.get().buckets;
            buckets.clear(8);
            for target in 0..out.len() / (vectors * stride) {
                for source in parents.children(slab * boxes + target) {
                    buckets.push(level.octant(source), (target, source), vectors);
                }
            }
            for (octant, pairs) in buckets.iter() {
                rows_times_matrix(&self.operators[octant], pairs, fine, stride, out, stride);
            }
        });
    }
}

/// Centre of the child in `octant`, seen from the centre of its parent, in units of the parent's scale.
pub fn child_shift(grid: &BoxGrid, octant: usize) -> [f64; 3] {
    let side = [octant >> 2 & 1, octant >> 1 & 1, octant & 1];
    grid.vector(side.map(|s| 0.5 * s as f64 - 0.25))
}

/// Real 2×2 block (target cos/sin × source cos/sin) of one pair of magnetic numbers.
struct Block {
    cc: f64,
    cs: f64,
    sc: f64,
    ss: f64,
}

fn store(out: &mut [f64], n: usize, (l, m): (usize, usize), (j, k): (usize, usize), b: &Block) {
    let (m, k) = (m as isize, k as isize);
    out[index(j, k) * n + index(l, m)] = b.cc;
    if m > 0 {
        out[index(j, k) * n + index(l, -m)] = b.sc;
    }
    if k > 0 {
        out[index(j, -k) * n + index(l, m)] = b.cs;
    }
    if m > 0 && k > 0 {
        out[index(j, -k) * n + index(l, -m)] = b.ss;
    }
}

/// M2M operator of order `p`, row-major [child (j,k)][parent (l,m)]: the child's centre lies at `shift` (in units of the parent's scale)
/// from the parent's, and the child's scale is half the parent's. Its transpose times ½ is L2L.
pub fn m2m(p: usize, shift: [f64; 3]) -> Vec<f64> {
    let n = count(p);
    let root = sqrt_factorials(2 * p);
    let at = regular(p, shift);
    let value = |l: usize, m: isize| {
        let k = m.unsigned_abs();
        if k > l { Complex64::new(0.0, 0.0) } else { complex(&at, l, m) / (root[l - k] * root[l + k]) }
    };
    let root2 = std::f64::consts::SQRT_2;
    let mut out = vec![0.0; n * n];
    for l in 0..=p {
        for m in 0..=l {
            for j in 0..=l {
                for k in 0..=j {
                    let norm = root[l - m] * root[l + m] / (root[j - k] * root[j + k]) * 0.5f64.powi(j as i32);
                    let (ms, ks) = (m as isize, k as isize);
                    let a = value(l - j, ms - ks) * norm;
                    let b = value(l - j, ms + ks) * if k % 2 == 0 { norm } else { -norm };
                    let block = match (m, k) {
                        (0, 0) => Block { cc: a.re, cs: 0.0, sc: 0.0, ss: 0.0 },
                        (_, 0) => Block { cc: root2 * a.re, cs: 0.0, sc: root2 * a.im, ss: 0.0 },
                        (0, _) => Block { cc: root2 * a.re, cs: -root2 * a.im, sc: 0.0, ss: 0.0 },
                        _ => Block { cc: a.re + b.re, cs: b.im - a.im, sc: a.im + b.im, ss: a.re - b.re },
                    };
                    store(&mut out, n, (l, m), (j, k), &block);
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(matrix: &[f64], row: &[f64]) -> Vec<f64> {
        let n = row.len();
        (0..n).map(|c| (0..n).map(|r| row[r] * matrix[r * n + c]).sum()).collect()
    }

    #[test]
    fn m2m_shifts_regular_harmonics_exactly() {
        let (p, shift, child) = (12, [0.25, -0.25, 0.2], [0.31, -0.44, 0.17]);
        let moved = apply(&m2m(p, shift), &regular(p, child));
        let direct = regular(p, [0, 1, 2].map(|i| shift[i] + 0.5 * child[i]));
        for (a, b) in moved.iter().zip(&direct) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
    }
}
