//! Masses of a Plummer sphere, most of them crowded in its middle: accelerations and energy, the potential at points along a line, and errors against the direct sum.
//!
//! cargo run --release -p octitrate-fmm --example gravity -- 100000 1e-4

use std::time::Instant;

use fmm::{Exclusions, Fmm, Potentials, direct};

/// Points along the line.
const TARGETS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let n: usize = arguments.next().map_or(Ok(100_000), |n| n.parse())?;
    let tolerance: f64 = arguments.next().map_or(Ok(1e-4), |tolerance| tolerance.parse())?;
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    // The mass inside of a radius r is r³ / (1 + r²)^(3/2) of all, with the scale radius 1; none lies beyond 20.
    let mut sphere = || {
        let mut radius = f64::INFINITY;
        while radius > 20.0 {
            radius = 1.0 / (random().powf(-2.0 / 3.0) - 1.0).sqrt();
        }
        let (z, turn) = (2.0 * random() - 1.0, std::f64::consts::TAU * random());
        let across = (1.0 - z * z).sqrt();
        [across * turn.cos(), across * turn.sin(), z].map(|c| radius * c)
    };
    let mut positions: Vec<[f64; 3]> = (0..n).map(|_| sphere()).collect();
    let masses = vec![1.0 / n as f64; n];
    // Targets come behind the masses.
    positions.extend((0..TARGETS).map(|i| [0.5 + i as f64, 0.0, 0.0]));

    let start = Instant::now();
    let mut fmm = Fmm::builder().tolerance(tolerance).targets(TARGETS).build_for(&positions)?;
    let built = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let mut out = Potentials::default();
    let energy = fmm.evaluate(&positions, &masses, &mut out)?;
    let evaluated = start.elapsed().as_secs_f64();

    // Gravity attracts where charges of one sign repel: with G = 1 the potential is −φ, the acceleration −E and the energy has the other sign, too.
    println!("{n} masses: tree and operators {built:.2} s, one evaluation {evaluated:.2} s");
    let pairs = fmm.work().map_or(0, |work| work.particle_pairs);
    println!("order {}, leaf boxes {:?}, {pairs} pairs near by", fmm.settings().order, fmm.settings().tree.leaves());
    println!("energy {:.6}; of the model −3π/32 = −0.294524", -energy);
    println!("acceleration of the first mass {:?}", out.field[0].map(|e| -e));
    for ([x, ..], phi) in positions[n..].iter().zip(&out.potential[n..]) {
        println!("potential at x = {x}: {:.6}; of the model {:.6}", -phi, -1.0 / (1.0 + x * x).sqrt());
    }
    let some: Vec<u32> = (0..n as u32).step_by(n.div_ceil(500).max(1)).collect();
    let exact = direct::at(&positions[..n], &masses, &Exclusions::none(n), &some)?;
    let (mut error, mut size) = (0.0, 0.0);
    for (i, exact) in some.iter().zip(&exact.field) {
        for (a, b) in out.field[*i as usize].iter().zip(exact) {
            error += (a - b) * (a - b);
            size += b * b;
        }
    }
    println!("relative error of the accelerations {:.1e}", f64::sqrt(error / size));
    Ok(())
}
