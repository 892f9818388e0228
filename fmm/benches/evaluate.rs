//! Times of the whole: `cargo bench -p octitrate-fmm --bench evaluate -- [filter]`. Stages, rates and errors: `octitrate bench fmm`.
//!
//! 50 000 random charges in a unit cube, order 8, near boxes those that touch, the tree chosen by the cost model. Groups: 64 sites of the 12
//! particles nearest to one of them, with 4 charge vectors each.

#[path = "../tests/common/mod.rs"]
mod common;

use std::hint::black_box;
use std::time::Duration;

use common::cloud;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape, Workload};
use kernels::Real;

const N: usize = 50_000;
const ORDER: usize = 8;
const GROUPS: usize = 64;
/// For each figure.
const SECONDS: Duration = Duration::from_secs(3);

fn boundaries() -> [(&'static str, Boundary); 2] {
    [("open", Boundary::Open), ("periodic", Boundary::rectangular([1.0; 3]))]
}

fn settings<T: Real>(boundary: Boundary, positions: &[[f64; 3]]) -> Settings {
    let workload = Workload::new(&boundary, positions, 0.0);
    Settings::new(ORDER, TreeShape::auto::<T>(ORDER, Settings::TOUCHING, &workload))
}

fn solver<T: Real>(boundary: Boundary, settings: Settings) -> Fmm<T> {
    Fmm::new(boundary, settings).expect("valid settings")
}

fn in_precision<T: Real>(criterion: &mut Criterion, precision: &str) {
    let (positions, charges) = cloud(N, [1.0; 3], 0.0, 1);
    let none = Exclusions::none(N);
    let mut out = Potentials::default();
    for (name, boundary) in boundaries() {
        let mut group = criterion.benchmark_group(format!("{name} {precision}"));
        group.sample_size(20).measurement_time(SECONDS);
        let settings = settings::<T>(boundary, &positions);
        group.bench_function("operators", |b| b.iter(|| black_box(solver::<T>(boundary, settings))));
        group.throughput(Throughput::Elements(N as u64));
        let mut fmm = solver::<T>(boundary, settings);
        group.bench_function("assign", |b| b.iter(|| fmm.assign(&positions, &none, &[]).expect("valid positions")));
        group.bench_function("evaluate", |b| {
            b.iter(|| fmm.evaluate(&positions, &charges, &mut out).expect("finite results"));
        });
        group.finish();
    }
}

/// The `size` particles nearest to particle `i`.
fn nearest(positions: &[[f64; 3]], i: usize, size: usize) -> Vec<u32> {
    let square = |j: &u32| (0..3).map(|a| (positions[*j as usize][a] - positions[i][a]).powi(2)).sum::<f64>();
    let mut all: Vec<u32> = (0..positions.len() as u32).collect();
    all.select_nth_unstable_by(size, |a, b| square(a).total_cmp(&square(b)));
    all.truncate(size);
    all
}

fn groups(criterion: &mut Criterion) {
    let (positions, _) = cloud(N, [1.0; 3], 0.0, 1);
    let none = Exclusions::none(N);
    let sites: Vec<Vec<u32>> = (0..GROUPS).map(|s| nearest(&positions, s * (N / GROUPS), 12)).collect();
    let charges = vec![vec![vec![0.5; 12]; 4]; GROUPS];
    let mut out = Vec::new();
    let boundary = Boundary::rectangular([1.0; 3]);
    let mut fmm = solver::<f32>(boundary, settings::<f32>(boundary, &positions));
    let mut group = criterion.benchmark_group("periodic f32, 64 groups");
    group.sample_size(20).measurement_time(SECONDS);
    group.throughput(Throughput::Elements(GROUPS as u64));
    group.bench_function("assign", |b| b.iter(|| fmm.assign(&positions, &none, &sites).expect("valid positions")));
    group.bench_function("evaluate", |b| {
        b.iter(|| fmm.evaluate_groups(&positions, &charges, &mut out).expect("finite results"));
    });
    group.finish();
}

fn precisions(criterion: &mut Criterion) {
    in_precision::<f32>(criterion, "f32");
    in_precision::<f64>(criterion, "f64");
}

criterion_group!(benches, precisions, groups);
criterion_main!(benches);
