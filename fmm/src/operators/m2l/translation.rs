//! M2L for one vector between boxes: a dense matrix at low orders, along a rotated axis from medium orders on.

use kernels::{Operator, Real, RowPair, rows_times_matrix};

use crate::operators::harmonics::{count, irregular};
use crate::operators::m2l::matrix::{Domain, m2l};
use crate::operators::m2l::rotation::RotationM2l;

/// Lowest order at which rotations are faster than products, in both precisions; at order 6 they take as long (benchmarks/benches/rotation.rs,
/// AVX-512).
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
        // Turning there, turning back and shifting each take blocks of the same sizes: the cosines and the sines of each degree, or of each m.
        // The phases come on top.
        let blocks: usize = (0..=order).map(|l| (l + 1) * (l + 1) + l * l).sum();
        2.0 * (3 * blocks + 4 * (k - order - 1)) as f64
    }

    /// About how many bytes one takes: n_out · n_in elements, or the blocks of two rotations and of the shift, which are 5/3 p³ and more.
    pub fn bytes(order: usize, stride: usize) -> usize {
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
