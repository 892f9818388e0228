//! Times of the whole FMM on the CPU: `cargo bench -p octitrate-benchmarks --bench evaluate`. Stages, rates and errors: `octitrate bench fmm`.
//!
//! 50 000 random charges in a unit cube, order 8, near boxes those that touch, the tree chosen by the cost model. Median and
//! least time of calls for three seconds, at least three calls.

use std::hint::black_box;
use std::time::Instant;

use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape, Workload};
use kernels::Real;
use octitrate::charges::{median_and_least, systems};

const N: usize = 50_000;
const ORDER: usize = 8;
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
        time(&title("assign"), || fmm.assign(&positions, &none).expect("valid positions"));
        time(&title("evaluate"), || {
            fmm.evaluate(&positions, &charges, &mut out).expect("finite results");
        });
    }
}

fn main() {
    println!("{:<36} {:>10} {:>10}", "", "median", "least");
    in_precision::<f32>("f32");
    in_precision::<f64>("f64");
}
