//! Lattice sums of a wire: one period p, open across. Up to a constant the interaction is G(r) = 1/|r| + Σ_{n≠0} (1/|r+np| − 1/|np|).
//!
//! Images up to |n| = N are summed as they are. The farther ones make around the origin the field, with p = |p| p̂,
//!
//!   Σ_{|n|>N} 1/|r+np| = Σ_{l even} S_l Σ_m R̂_lm(p̂) R̂_lm(r),   S_l = 2 p^{−l−1} Σ_{n>N} n^{−l−1} = 2 p^{−l−1} ζ(l+1, N+1),
//!
//! of which l = 0, the same everywhere, drops out; a Taylor series moves it to t. With |t| + 2 ≤ N p / 4 its terms fall as 4^−l relative to
//! 2^-(l+1), the size of the largest coefficient of order l.

use super::cell::DIGITS;
use crate::geometry::boundary::{dot, norm};
use crate::geometry::grid::BoxGrid;
use crate::operators::gradient::gradient;
use crate::operators::harmonics::{Recursion, count};

/// Order of the expansion of the far images: 4^−28 is below rounding.
const TAIL: usize = 28;

/// What the sums of all offsets of a grid have in common.
pub struct Wire<'a> {
    grid: &'a BoxGrid,
    order: usize,
    /// Boxes per period.
    boxes: i32,
    period: [f64; 3],
    recursion: Recursion,
    /// R̂_lm(p̂).
    axial: Vec<f64>,
    gradient: Vec<([u32; 5], [f64; 5])>,
}

impl<'a> Wire<'a> {
    /// For coefficients up to order `order`.
    pub fn new(grid: &'a BoxGrid, order: usize) -> Self {
        let boxes = grid.topology.shape[0] as i32;
        let period = grid.vector([f64::from(boxes), 0.0, 0.0]);
        let recursion = Recursion::new(order.max(TAIL));
        let mut axial = vec![0.0; count(TAIL)];
        recursion.regular(TAIL, period.map(|x| x / norm(period)), &mut axial);
        Self { grid, order, boxes, period, recursion, axial, gradient: gradient(TAIL) }
    }

    /// Add the coefficients a_lm for boxes `offset` apart.
    pub fn add(&self, sum: &mut [f64], offset: [i32; 3]) {
        let Self { grid, order, boxes, .. } = *self;
        let nearest = (f64::from(offset[0]) / f64::from(boxes)).round() as i32;
        let offset = [offset[0] - nearest * boxes, offset[1], offset[2]];
        let t = grid.vector(offset.map(f64::from));
        let length = norm(self.period);
        let explicit = (4.0 * (norm(t) + 2.0) / length).ceil() as i32;
        let explicit = explicit.max(grid.near.offsets().iter().fold(0, |r, u| r.max(u[0])) / boxes + 1);
        let tail = self.tail(explicit as usize, t);
        for l in 0..=order.min(TAIL) {
            for i in l * l..(l + 1) * (l + 1) {
                sum[i] += if l % 2 == 0 { tail[i] } else { -tail[i] };
            }
        }
        let mut values = vec![0.0; count(order)];
        // The farthest ones, the smallest, first.
        for n in (0..=explicit).rev() {
            for n in if n == 0 { 0..=0 } else { 0..=1 }.map(|side| n - 2 * side * n) {
                let u = [offset[0] + n * boxes, offset[1], offset[2]];
                if grid.near.contains(u) {
                    continue;
                }
                let r = grid.vector(u.map(f64::from));
                let p = orders_at(norm(r)).min(order);
                self.recursion.irregular(p, r, &mut values);
                sum.iter_mut().zip(&values[..count(p)]).for_each(|(s, v)| *s += v);
            }
            if n > 0 {
                sum[0] -= 2.0 / (f64::from(n) * length);
            }
        }
    }

    /// Coefficients around t of the potential of the images |n| > `explicit`, up to order [`TAIL`].
    fn tail(&self, explicit: usize, t: [f64; 3]) -> Vec<f64> {
        let mut field = vec![0.0; count(TAIL)];
        for l in (2..=TAIL).step_by(2) {
            let (power, orders) = ((l + 1) as i32, l * l..(l + 1) * (l + 1));
            let strength = 2.0 * norm(self.period).powi(-power) * zeta(power, explicit + 1);
            field[orders.clone()].iter_mut().zip(&self.axial[orders]).for_each(|(f, a)| *f = strength * a);
        }
        // e^{t·∇}: the n-th term has orders up to TAIL − n.
        let mut term = field.clone();
        let mut next = field.clone();
        for n in 1..=TAIL {
            let rows = count(TAIL - n);
            for (next, (s, w)) in next.iter_mut().zip(&self.gradient[..rows]) {
                let along = [0, 1, 2, 3, 4].map(|e| w[e] * term[s[e] as usize]);
                *next = dot(t, [along[0] + along[1], along[2] + along[3], along[4]]) / n as f64;
            }
            field.iter_mut().zip(&next[..rows]).for_each(|(f, t)| *f += t);
            std::mem::swap(&mut term, &mut next);
        }
        field
    }
}

/// Orders above this one are below rounding, relative to 2^-(l+1), for an image at distance `r`.
fn orders_at(r: f64) -> usize {
    if r <= 2.5 { usize::MAX } else { (DIGITS / (r / 2.0).ln()).ceil() as usize }
}

/// Hurwitz ζ(s, first) = Σ_{n≥first} n^−s by the Euler–Maclaurin formula, to rounding for s = 2..=30.
fn zeta(s: i32, first: usize) -> f64 {
    // B_2k / (2k)!
    const BERNOULLI: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
        1.0 / 74_724_249_600.0,
        -3617.0 / 10_670_622_842_880_000.0,
    ];
    let start = first.max(40);
    let m = start as f64;
    let mut sum = m.powi(1 - s) / f64::from(s - 1) + 0.5 * m.powi(-s);
    let mut factor = f64::from(s) * m.powi(-s - 1);
    for (k, b) in BERNOULLI.iter().enumerate() {
        sum += b * factor;
        let next = f64::from(s) + 2.0 * k as f64;
        factor *= (next + 1.0) * (next + 2.0) / (m * m);
    }
    (first..start).rev().fold(sum, |sum, n| sum + (n as f64).powi(-s))
}

#[cfg(test)]
mod tests {
    use super::zeta;

    #[test]
    fn zeta_values() {
        let pi = std::f64::consts::PI;
        assert!((zeta(2, 1) / (pi * pi / 6.0) - 1.0).abs() < 1e-15);
        assert!((zeta(3, 1) - 1.202_056_903_159_594_3).abs() < 1e-15);
        // The tail from its head.
        let head: f64 = (1..60).map(|n| f64::from(n).powi(-2)).sum();
        assert!((zeta(2, 60) - (pi * pi / 6.0 - head)).abs() < 1e-14);
        // Neighbouring tails differ by one term, on both sides of where the formula starts.
        for s in [3, 15, 29] {
            for first in [5, 39, 40, 70] {
                let term = (first as f64).powi(-s);
                assert!((zeta(s, first) - zeta(s, first + 1) - term).abs() < 1e-15 * term * first as f64);
            }
        }
    }
}
