//! M2P against finite differences of the harmonics and against direct sums.

use super::*;
use crate::operators::gradient::gradient_irregular;
use crate::operators::harmonics::{count, irregular, regular};

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

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// M2P at `points`, added to ones.
fn m2p<T: Real>(order: usize, multipole: &[f64], points: &[[f64; 3]]) -> [Vec<f64>; 4] {
    let table = M2pTable::<T>::new(order);
    let multipole: Vec<T> = multipole.iter().map(|m| T::of(*m)).collect();
    let [x, y, z] = [0, 1, 2].map(|a| points.iter().map(|p| T::of(p[a] - 0.25)).collect::<Vec<T>>());
    let mut out = [(); 4].map(|()| vec![T::one(); points.len()]);
    let mut coefficients = Vec::new();
    table.field_coefficients(&multipole, &mut coefficients);
    kernels::dispatch_vectors(M2p {
        table: &table,
        points: Points { x: &x, y: &y, z: &z },
        shift: [T::of(0.25); 3],
        coefficients: &coefficients,
        out: out.each_mut().map(Vec::as_mut_slice),
    });
    out.map(|v| v.into_iter().map(T::widen).collect())
}

#[test]
fn gradient_of_irregular_harmonics_matches_finite_difference() {
    let mut random = numbers();
    for p in [0, 1, 2, 9, 30] {
        let multipole: Vec<f64> = (0..count(p)).map(|_| random()).collect();
        let (at, h) = ([0.9, -0.5, 0.7], 1e-4);
        let table = gradient_irregular(p);
        let above = irregular(p + 1, at);
        for axis in 0..3 {
            let slots = [0..2, 2..4, 4..5][axis].clone();
            let term = |((s, w), v): (&([u32; 5], [f64; 5]), &f64)| {
                v * slots.clone().map(|e| w[e] * multipole[s[e] as usize]).sum::<f64>()
            };
            let exact: f64 = table.iter().zip(&above).map(term).sum();
            let value = |step: f64| {
                let mut r = at;
                r[axis] += step * h;
                dot(&multipole, &irregular(p, r))
            };
            let difference = (8.0 * (value(1.0) - value(-1.0)) - (value(2.0) - value(-2.0))) / (12.0 * h);
            // Five points: h⁴/30 of the fifth derivative, which is (p + 1)⁵ values: 1e-16 · 3e7 / 30; and rounding, 1e-16 / h.
            assert!(
                (exact - difference).abs() < 1e-8 * (1.0 + exact.abs()),
                "order {p} axis {axis}: {exact} {difference}"
            );
        }
    }
}

/// Charges within the unit cube, particles around it at `distance` and more: M2P of order p, and the largest error of potential and field
/// relative to Σ |q| / d^k.
fn errors<T: Real>(p: usize, n: usize, distance: f64) -> [f64; 2] {
    let mut random = numbers();
    let sources: Vec<([f64; 3], f64)> = (0..40).map(|_| ([(); 3].map(|()| 0.5 * random()), random())).collect();
    let mut multipole = vec![0.0; count(p)];
    for (r, q) in &sources {
        multipole.iter_mut().zip(regular(p, *r)).for_each(|(m, v)| *m += q * v);
    }
    let points: Vec<[f64; 3]> = (0..n)
        .map(|i| {
            let mut r = [(); 3].map(|()| T::of(distance * random()).widen());
            r[i % 3] = if i % 2 == 0 { distance } else { -distance };
            r
        })
        .collect();
    let out = m2p::<T>(p, &multipole, &points);
    let mut worst = [0.0f64; 2];
    for (i, r) in points.iter().enumerate() {
        let (mut exact, mut scale) = ([1.0; 4], [0.0; 2]);
        for (s, q) in &sources {
            let d = [0, 1, 2].map(|a| r[a] - s[a]);
            let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
            exact[0] += q * inverse;
            (0..3).for_each(|a| exact[a + 1] += q * d[a] * inverse.powi(3));
            scale[0] += q.abs() * inverse;
            scale[1] += q.abs() * inverse * inverse;
        }
        for (c, (o, exact)) in out.iter().zip(exact).enumerate() {
            let k = usize::from(c > 0);
            worst[k] = worst[k].max((o[i] - exact).abs() / (1.0 + scale[k]));
        }
    }
    worst
}

#[test]
fn m2p_matches_direct_sums() {
    for p in [1, 2, 3, 8, 15, 30] {
        for n in [1, 15, 16, 17, 50] {
            // Sources within 0.87 of the centre, points beyond 3: ratio below 0.29, for the field times (p + 1).
            let truncation = 0.29f64.powi(p as i32 + 1);
            let (double, single) = (errors::<f64>(p, n, 3.0), errors::<f32>(p, n, 3.0));
            for (k, factor) in [(0, 1.0), (1, p as f64 + 2.0)] {
                // Rounding: a unit in the last place for each of the p steps of the recurrence, of terms that decay with the order.
                assert!(double[k] < factor * truncation + 1e-15, "order {p}, {n} points: {double:?}");
                assert!(single[k] < factor * truncation + 4e-7, "order {p}, {n} points: {single:?}");
            }
        }
    }
}

#[test]
fn m2p_of_a_single_harmonic() {
    // One coefficient at a time, so that none can hide behind larger ones.
    let (p, at) = (30, [1.3, -0.4, 0.8]);
    let exact = irregular(p, at);
    for i in 0..count(p) {
        let mut multipole = vec![0.0; count(p)];
        multipole[i] = 1.0;
        let value = m2p::<f64>(p, &multipole, &[at])[0][0] - 1.0;
        // Rounding of the one that was there before.
        assert!((value - exact[i]).abs() < 1e-15 + 1e-13 * exact[i].abs(), "{i}: {value} {}", exact[i]);
    }
}
