//! M2L on one core, dense against rotation: `cargo bench -p octitrate-benchmarks --bench rotation -- [largest order]`.
//!
//! One slab of 128 target boxes, all 316 offsets of a refined level in turn (fewer where the dense operators would exceed 256 MB), so that
//! operators come from memory or the last-level cache as in an evaluation. The rates count the multiply-adds of the respective method, and are
//! given as fractions of the measured peak of one core.

use std::hint::black_box;
use std::time::Instant;

use fmm::harmonics::{count, irregular};
use fmm::operators::m2l::matrix::{Domain, m2l};
use fmm::operators::m2l::rotation::RotationM2l;
use kernels::{Isa, Operator, Real, RowPair, peak_flops, rows_times_matrix};

const TARGETS: usize = 128;
const SOURCES: usize = 1024;

/// Best time of one call in seconds over about a quarter of a second.
fn best_time(mut call: impl FnMut()) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    while begin.elapsed().as_secs_f64() < 0.25 {
        let start = Instant::now();
        call();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}

/// Vectors between boxes that do not touch but whose parents may.
fn offsets() -> Vec<[f64; 3]> {
    (0..343)
        .map(|i| [i / 49 - 3, i / 7 % 7 - 3, i % 7 - 3])
        .filter(|u| u.iter().any(|x| i32::abs(*x) > 1))
        .map(|u| u.map(f64::from))
        .collect()
}

/// Seconds per M2L, dense and by rotation.
fn times<T: Real>(p: usize) -> [f64; 2] {
    let n = count(p);
    let fit = (1 << 28) / (n * n * size_of::<T>());
    let mut offsets = offsets();
    if fit < offsets.len() {
        let step = offsets.len().div_ceil(fit);
        offsets = offsets.into_iter().step_by(step).collect();
    }
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    let stride = n.next_multiple_of(16);
    let sources: Vec<T> = (0..SOURCES * stride).map(|_| T::of(random() as f64 / (1u64 << 31) as f64 - 0.5)).collect();
    let mut targets = vec![T::zero(); TARGETS * stride];
    let mut pairs = || -> Vec<RowPair> {
        (0..TARGETS as u32).map(|target| RowPair { target, source: (random() % SOURCES) as u32 }).collect()
    };
    let pairs: Vec<_> = offsets.iter().map(|_| pairs()).collect();
    let translations = (offsets.len() * TARGETS) as f64;
    let rotations: Vec<_> = offsets.iter().map(|t| RotationM2l::<T>::new(p, *t)).collect();
    let mut scratch = Vec::new();
    let rotation = best_time(|| {
        for (operator, pairs) in rotations.iter().zip(&pairs) {
            operator.apply(pairs, (&sources, stride), (&mut targets, stride), &mut scratch);
        }
    });
    let operators: Vec<_> =
        offsets.iter().map(|t| Operator::<T>::new(n, n, &m2l(p, &irregular(2 * p, *t), Domain::Space))).collect();
    let dense = best_time(|| {
        for (operator, pairs) in operators.iter().zip(&pairs) {
            rows_times_matrix(operator, pairs, &sources, stride, &mut targets, stride);
        }
    });
    black_box(&targets);
    [dense / translations, rotation / translations]
}

/// Multiply-adds of a translation, dense and by rotation (turning there and back, along z, phases).
fn operations(p: usize) -> [f64; 2] {
    let blocks: usize = (0..=p).map(|l| (l + 1) * (l + 1) + l * l).sum();
    [count(p) * count(p), 3 * blocks + 4 * (count(p) - p - 1)].map(|n| n as f64)
}

fn table<T: Real>(name: &str, largest: usize) {
    let peak = peak_flops::<T>(Isa::best());
    println!("{name}, {:?}, peak {:.0} GFLOP/s", Isa::best(), 1e-9 * peak);
    println!("  p   dense: ns  GFLOP/s   %   rotation: ns  GFLOP/s   %   dense/rotation");
    let mut crossover = None;
    for p in 2..=largest {
        let (seconds, flops) = (times::<T>(p), operations(p).map(|n| 2.0 * n));
        let rate = [flops[0] / seconds[0], flops[1] / seconds[1]];
        println!(
            "{p:3} {:11.1} {:8.1} {:3.0} {:14.1} {:8.1} {:3.0} {:16.2}",
            1e9 * seconds[0],
            1e-9 * rate[0],
            100.0 * rate[0] / peak,
            1e9 * seconds[1],
            1e-9 * rate[1],
            100.0 * rate[1] / peak,
            seconds[0] / seconds[1],
        );
        // The first order of those from which on rotation always wins.
        crossover = if seconds[1] < seconds[0] { crossover.or(Some(p)) } else { None };
    }
    match crossover {
        Some(p) => println!("rotation is faster from order {p} on"),
        None => println!("rotation is not faster up to order {largest}"),
    }
}

fn main() {
    let largest = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(20);
    table::<f32>("f32", largest);
    table::<f64>("f64", largest);
}
