//! Several charge vectors on the same points: the time of one of them in a pass of 1, 2, 4 and 8, beside that of an evaluation.
//!
//! cargo run --release -p octitrate-fmm --example vectors -- 100000 1e-6 open

use std::time::Instant;

use fmm::{Boundary, Fmm, Potentials};

const VECTORS: [usize; 4] = [1, 2, 4, 8];
/// Rounds, in each of which all passes are timed in turn.
const ROUNDS: usize = 9;

/// The lowest and the middle one of some times, in milliseconds.
fn least_and_median(mut seconds: Vec<f64>) -> [f64; 2] {
    seconds.sort_by(f64::total_cmp);
    [seconds[0], seconds[seconds.len() / 2]].map(|s| 1e3 * s)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let n: usize = arguments.next().map_or(Ok(100_000), |n| n.parse())?;
    let tolerance: f64 = arguments.next().map_or(Ok(1e-6), |tolerance| tolerance.parse())?;
    let boundary = match arguments.next().as_deref() {
        None | Some("open") => Boundary::Open,
        Some("periodic") => Boundary::rectangular([1.0; 3]),
        Some(other) => return Err(format!("{other}: open or periodic").into()),
    };
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / (1_u64 << 31) as f64
    };
    let positions: Vec<[f64; 3]> = (0..n).map(|_| [random(), random(), random()]).collect();
    let charges: Vec<Vec<f64>> = (0..8).map(|_| (0..n).map(|_| 2.0 * random() - 1.0).collect()).collect();
    let charges: Vec<&[f64]> = charges.iter().map(Vec::as_slice).collect();

    let mut fmm = Fmm::builder().boundary(boundary).tolerance(tolerance).build_for(&positions)?;
    let (mut one, mut out) = (Potentials::default(), Vec::new());
    let (mut single, mut together) = (Vec::new(), VECTORS.map(|_| Vec::new()));
    for _ in 0..ROUNDS {
        // The first call of each kind makes room.
        for timed in [false, true] {
            let start = Instant::now();
            fmm.evaluate(&positions, charges[0], &mut one)?;
            if timed {
                single.push(start.elapsed().as_secs_f64());
            }
        }
        for (n, seconds) in VECTORS.into_iter().zip(&mut together) {
            for timed in [false, true] {
                let start = Instant::now();
                fmm.evaluate_vectors(&positions, &charges[..n], &mut out)?;
                if timed {
                    seconds.push(start.elapsed().as_secs_f64() / n as f64);
                }
            }
        }
    }
    assert!(out[0] == one, "results are those of an evaluation to the last bit");

    let settings = fmm.settings();
    println!("order {}, leaf boxes {:?}, separation {}", settings.order, settings.tree.leaves(), settings.separation);
    let single = least_and_median(single);
    println!("evaluation {:.2} ms, least {:.2} ms", single[1], single[0]);
    for (n, seconds) in VECTORS.into_iter().zip(together) {
        let each = least_and_median(seconds);
        let [least, median] = [0, 1].map(|i| single[i] / each[i]);
        println!("each of {n}: {:.2} ms, least {:.2} ms: {median:.2} and {least:.2} times as fast", each[1], each[0]);
    }
    Ok(())
}
