//! Rotation blocks against rotated points, the whole operator against the dense one.

use super::*;
use crate::operators::harmonics::{irregular, regular};
use crate::operators::m2l::matrix::{Domain, m2l};

/// Uniform in [−1, 1), reproducible.
fn numbers() -> impl FnMut() -> f64 {
    let mut state = 88_172_645_463_325_252_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 * 2.0_f64.powi(-52) - 1.0
    }
}

/// Rotation by `angle` about a unit axis (Rodrigues).
fn about([x, y, z]: [f64; 3], angle: f64) -> [[f64; 3]; 3] {
    let (c, s) = (angle.cos(), angle.sin());
    let d = 1.0 - c;
    [
        [c + x * x * d, x * y * d - z * s, x * z * d + y * s],
        [y * x * d + z * s, c + y * y * d, y * z * d - x * s],
        [z * x * d - y * s, z * y * d + x * s, c + z * z * d],
    ]
}

#[test]
fn blocks_turn_harmonics_and_are_orthogonal_at_order_sixty() {
    let p = 60;
    let axis = [1.0, -2.0, 2.0].map(|x| x / 3.0);
    for q in [about([0.0, 1.0, 0.0], 0.3), about([0.0, 1.0, 0.0], 2.9), about(axis, 1.1), about(axis, -2.5)] {
        let blocks = rotation_blocks(p, q);
        let r = [0.48, -0.6, 0.64];
        let turned = [0, 1, 2].map(|a| (0..3).map(|b| q[a][b] * r[b]).sum());
        let (before, after) = (regular(p, r), regular(p, turned));
        for (l, d) in blocks.iter().enumerate() {
            let n = 2 * l + 1;
            let row = |m: usize| &d[m * n..][..n];
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            for m in 0..n {
                // |r| = 1, |R̂| ≤ √2; one rounding per degree in both.
                let value = dot(row(m), &before[l * l..][..n]);
                assert!((value - after[l * l + m]).abs() < 1e-13, "{l} {m}: {value} {}", after[l * l + m]);
                for k in 0..n {
                    let unit = if m == k { 1.0 } else { 0.0 };
                    assert!((dot(row(m), row(k)) - unit).abs() < 1e-13, "degree {l}: rows {m} and {k}");
                }
            }
        }
    }
}

/// Largest difference from the dense operator, relative to the largest result, for more pairs than lanes with repeated targets.
fn difference<T: Real>(p: usize, t: [f64; 3], n_pairs: usize) -> f64 {
    let mut random = numbers();
    let (n, n_rows) = (count(p), 7);
    let (b_stride, c_stride) = (n + 3, n + 1);
    let sources: Vec<T> = (0..n_rows * b_stride).map(|_| T::of(random())).collect();
    let mut targets = vec![T::one(); n_rows * c_stride];
    let pairs: Vec<RowPair> = (0..n_pairs as u32).map(|i| RowPair { target: i * i % 5, source: i % 7 }).collect();
    let matrix = m2l(p, &irregular(2 * p, t), Domain::Space);
    let mut exact = vec![1.0; n_rows * c_stride];
    for pair in &pairs {
        for (k, row) in matrix.chunks_exact(n).enumerate() {
            let b = sources[pair.source as usize * b_stride + k].widen();
            let c = &mut exact[pair.target as usize * c_stride..][..n];
            c.iter_mut().zip(row).for_each(|(c, m)| *c += b * m);
        }
    }
    RotationM2l::new(p, t).apply(&pairs, (&sources, b_stride), (&mut targets, c_stride), &mut Vec::new());
    let largest = exact.iter().fold(0.0f64, |a, x| a.max(x.abs()));
    targets.iter().zip(&exact).map(|(a, b)| (a.widen() - b).abs()).fold(0.0, f64::max) / largest
}

#[test]
fn equals_the_dense_operator() {
    let offsets = [
        [0.0, 0.0, 2.0],
        [0.0, 0.0, -2.0],
        [2.0, 0.0, 0.0],
        [-3.0, 0.0, 0.0],
        [0.0, 2.0, 0.0],
        [0.0, -2.0, 0.0],
        [2.0, -3.0, 1.0],
        [-1.0, 2.0, -3.0],
        [-2.31, -0.4, 1.7],
    ];
    for p in 1..=40 {
        for (i, t) in offsets.into_iter().enumerate() {
            // Long sums only for some, to save time.
            let n_pairs = if p > 12 { 1 + (p + i) % 5 } else { 1 + (7 * p + 5 * i) % 40 };
            let (double, single) = (difference::<f64>(p, t, n_pairs), difference::<f32>(p, t, n_pairs));
            // A hundred roundings of the numbers that go in, √n_pairs of those that come out.
            assert!(double < 100.0 * f64::EPSILON, "order {p}, {t:?}, f64: {double:e}");
            assert!(single < 100.0 * f64::from(f32::EPSILON), "order {p}, {t:?}, f32: {single:e}");
        }
    }
}
