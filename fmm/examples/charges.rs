//! A thousand charges in open space: energy and forces by the FMM, and their error against the direct sum.
//!
//! cargo run --release -p octitrate-fmm --example charges

use fmm::{Exclusions, Fmm, FmmError, Potentials, direct};

fn main() -> Result<(), FmmError> {
    // Charges ±1 at random places in a unit cube.
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let positions: Vec<[f64; 3]> = (0..1000).map(|_| [random(), random(), random()]).collect();
    let charges: Vec<f64> = (0..1000).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();

    let mut fmm = Fmm::builder().tolerance(1e-6).build_for(&positions)?;
    let mut found = Potentials::default();
    let energy = fmm.evaluate(&positions, &charges, &mut found)?;

    let (exact_energy, exact) = direct::evaluate(&positions, &charges, &Exclusions::none(positions.len()))?;
    let (mut error, mut size) = (0.0, 0.0);
    for ((q, a), b) in charges.iter().zip(&found.field).zip(&exact.field) {
        for (a, b) in a.iter().zip(b) {
            error += (q * (a - b)).powi(2);
            size += (q * b).powi(2);
        }
    }
    let settings = fmm.settings();
    println!("order {}, boxes {:?}, separation {}", settings.order, settings.tree.leaves(), settings.separation);
    println!("energy {energy:.9}, direct sum {exact_energy:.9}");
    println!("force on the first charge {:?}", found.field[0].map(|e| charges[0] * e));
    println!("relative error of the forces {:.1e}", f64::sqrt(error / size));
    Ok(())
}
