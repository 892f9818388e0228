//! What the look for close pairs costs: random charges in a cube, medians of nine times each.
//!
//! cargo run --release -p octitrate-fmm --example close_pairs

use std::time::Instant;

use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, Workload, accuracy};
use kernels::Real;

fn main() -> Result<(), FmmError> {
    for n in [3_000, 20_000, 50_000, 100_000] {
        for tolerance in [1e-3, 1e-4, 1e-5] {
            look::<f32>(n, tolerance)?;
        }
        for tolerance in [1e-4, 1e-6] {
            look::<f64>(n, tolerance)?;
        }
    }
    Ok(())
}

/// Prints the times of assignment, evaluation and look for `n` charges.
fn look<T: Real>(n: usize, tolerance: f64) -> Result<(), FmmError> {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let positions: Vec<[f64; 3]> = (0..n).map(|_| [(); 3].map(|()| random())).collect();
    let charges: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
    let none = Exclusions::none(n);
    let settings = accuracy::estimate::<T>(tolerance, &Workload::new(&Boundary::Open, &positions, 0.0))?;
    let mut fmm = Fmm::<T>::new(Boundary::Open, settings)?;
    let mut out = Potentials::default();
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..9 {
        let start = Instant::now();
        fmm.assign(&positions, &none)?;
        let assigned = Instant::now();
        fmm.evaluate(&positions, &charges, &mut out)?;
        let evaluated = Instant::now();
        // Whatever it says.
        let _ = fmm.check_close_pairs(&positions, &charges, &none, &out, tolerance);
        let end = Instant::now();
        for (all, one) in times.iter_mut().zip([assigned - start, evaluated - assigned, end - evaluated]) {
            all.push(1e3 * one.as_secs_f64());
        }
    }
    let [assigning, evaluating, looking] = times.map(|mut all| {
        all.sort_by(f64::total_cmp);
        all[4]
    });
    println!(
        "f{} {n:>7} {tolerance:.0e}: assignment {assigning:.2} ms, evaluation {evaluating:.2} ms, look {looking:.2} ms, {:.0} % of both",
        8 * size_of::<T>(),
        100.0 * looking / (assigning + evaluating)
    );
    Ok(())
}
