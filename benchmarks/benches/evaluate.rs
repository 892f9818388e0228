//! Times of the whole FMM on the CPU: `cargo bench -p octitrate-benchmarks --bench evaluate`. Stages, rates and errors: `octitrate bench fmm`.
//!
//! 50 000 random charges in a unit cube, order 8, near boxes those that touch, the tree chosen by the cost model. Groups: 64 sites of the 12
//! particles nearest to one of them, with 4 charge vectors each. Median and least time of calls for three seconds, at least three calls.

use std::hint::black_box;
use std::time::Instant;

use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape, Workload};
use kernels::Real;
use octitrate::charges::{median_and_least, systems};

const N: usize = 50_000;
const ORDER: usize = 8;
const GROUPS: usize = 64;
/// For each figure.
const SECONDS: f64 = 3.0;

/// Times `call` and prints a line.
fn time(name: &str, mut call: impl FnMut()) {
    // The first call warms up.
    call();
    let (begin, mut seconds) = (Instant::now(), Vec::new());
    while begin.elapsed().as_secs_f64() < SECONDS || seconds.len() < 3 {
        let start = Instant::now();
        call();
        seconds.push(start.elapsed().as_secs_f64());
    }
    let [median, least] = median_and_least(seconds).map(|s| 1e3 * s);
    println!("{name:<36} {median:>10.3} {least:>10.3} ms");
}

/// Charges in a unit cube.
fn cloud() -> (Vec<[f64; 3]>, Vec<f64>) {
    let system = systems::make(systems::Kind::Random, systems::Images::Open, N).expect("valid number");
    (system.positions, system.charges)
}

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

fn in_precision<T: Real>(precision: &str) {
    let (positions, charges) = cloud();
    let none = Exclusions::none(N);
    let mut out = Potentials::default();
    for (name, boundary) in boundaries() {
        let settings = settings::<T>(boundary, &positions);
        let title = |what| format!("{name} {precision}, {what}");
        time(&title("operators"), || drop(black_box(solver::<T>(boundary, settings))));
        let mut fmm = solver::<T>(boundary, settings);
        time(&title("assign"), || fmm.assign(&positions, &none, &[]).expect("valid positions"));
        time(&title("evaluate"), || {
            fmm.evaluate(&positions, &charges, &mut out).expect("finite results");
        });
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

fn groups() {
    let (positions, _) = cloud();
    let none = Exclusions::none(N);
    let sites: Vec<Vec<u32>> = (0..GROUPS).map(|s| nearest(&positions, s * (N / GROUPS), 12)).collect();
    let charges = vec![vec![vec![0.5; 12]; 4]; GROUPS];
    let mut out = Vec::new();
    let boundary = Boundary::rectangular([1.0; 3]);
    let mut fmm = solver::<f32>(boundary, settings::<f32>(boundary, &positions));
    let title = |what| format!("periodic f32, {GROUPS} groups, {what}");
    time(&title("assign"), || fmm.assign(&positions, &none, &sites).expect("valid positions"));
    time(&title("evaluate"), || fmm.evaluate_groups(&positions, &charges, &mut out).expect("finite results"));
}

fn main() {
    println!("{:<36} {:>10} {:>10}", "", "median", "least");
    in_precision::<f32>("f32");
    in_precision::<f64>("f64");
    groups();
}
