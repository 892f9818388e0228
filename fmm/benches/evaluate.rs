//! Times of the stages of one evaluation, and the error against an f64 evaluation of order 24.
//!
//! cargo bench -p octitrate-fmm -- [particles] [order] [leaves per axis] [depth] [open|periodic] [f32|f64] [repeats]
//! Random charges ±1 in a unit cube, or water-like triples with the argument `water` in place of open|periodic (periodic, neutral molecules).

use std::time::Instant;

use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let get = |i: usize, default: &str| args.get(i).cloned().unwrap_or(default.into());
    let number = |i: usize, default: &str| get(i, default).parse::<usize>().unwrap_or(0);
    let (n, order, leaves, depth) = (number(0, "3500"), number(1, "7"), number(2, "7"), number(3, "0"));
    let (kind, precision, repeats) = (get(4, "water"), get(5, "f32"), number(6, "50"));
    let (positions, charges, exclusions) = particles(n, kind == "water");
    let boundary = if kind == "open" { Boundary::Open } else { Boundary::rectangular([1.0; 3]) };
    let tree = TreeShape { root: [leaves >> depth; 3], depth };
    let system = (&positions[..], &charges[..], &exclusions);
    let out = match precision.as_str() {
        "f64" => time::<f64>(boundary, Settings::new(order, tree), system, repeats),
        _ => time::<f32>(boundary, Settings::new(order, tree), system, repeats),
    };
    let mut exact = Potentials::default();
    let mut fmm =
        Fmm::<f64>::new(boundary, Settings::new(24, TreeShape { root: [3; 3], depth: if n > 20_000 { 1 } else { 0 } }))
            .expect("valid settings");
    fmm.assign(&positions, &exclusions, &[]).expect("valid positions");
    let energy = fmm.evaluate(&positions, &charges, &mut exact).expect("finite");
    let (mut d, mut s) = (0.0, 0.0);
    for (q, (a, b)) in charges.iter().zip(out.field.iter().zip(&exact.field)) {
        for (a, b) in a.iter().zip(b) {
            d += q * q * (a - b) * (a - b);
            s += q * q * b * b;
        }
    }
    println!(
        "force error {:.2e}, energy error {:.2e}",
        f64::sqrt(d / s),
        ((out.energy(&charges) - energy) / energy).abs()
    );
}

fn particles(n: usize, water: bool) -> (Vec<[f64; 3]>, Vec<f64>, Exclusions) {
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64
    };
    if !water {
        let positions = (0..n).map(|_| [random(), random(), random()]).collect();
        return (positions, (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect(), Exclusions::none(n));
    }
    // Molecules on a jittered lattice, bond length 0.32 of the spacing (0.1 nm at 0.31 nm).
    let side = (n as f64 / 3.0).cbrt().ceil() as usize;
    let spacing = 1.0 / side as f64;
    let (mut positions, mut charges, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for cell in 0..n / 3 {
        let at = [cell / (side * side), cell / side % side, cell % side];
        let oxygen = at.map(|c| (c as f64 + 0.3 * random()) * spacing);
        let first = positions.len() as u32;
        positions.push(oxygen);
        for _ in 0..2 {
            let (z, phi) = (2.0 * random() - 1.0, std::f64::consts::TAU * random());
            let (r, b) = ((1.0f64 - z * z).sqrt(), 0.32 * spacing);
            positions.push([oxygen[0] + b * r * phi.cos(), oxygen[1] + b * r * phi.sin(), oxygen[2] + b * z]);
        }
        charges.extend([-0.834, 0.417, 0.417]);
        pairs.extend([[first, first + 1], [first, first + 2], [first + 1, first + 2]]);
    }
    let exclusions = Exclusions::from_pairs(positions.len(), pairs).expect("valid pairs");
    (positions, charges, exclusions)
}

fn time<T: kernels::Real>(
    boundary: Boundary,
    settings: Settings,
    (positions, charges, exclusions): (&[[f64; 3]], &[f64], &Exclusions),
    repeats: usize,
) -> Potentials {
    let start = Instant::now();
    let mut fmm = Fmm::<T>::new(boundary, settings).expect("valid settings");
    let ready = start.elapsed().as_secs_f64();
    let mut out = Potentials::default();
    let (mut assign, mut evaluate) = (f64::INFINITY, f64::INFINITY);
    let mut best = *fmm.timings();
    for _ in 0..repeats {
        let start = Instant::now();
        fmm.assign(positions, exclusions, &[]).expect("valid positions");
        assign = assign.min(start.elapsed().as_secs_f64());
        let start = Instant::now();
        fmm.evaluate(positions, charges, &mut out).expect("finite");
        let seconds = start.elapsed().as_secs_f64();
        if seconds < evaluate {
            evaluate = seconds;
            best = *fmm.timings();
        }
    }
    println!("{} particles, {settings:?}, {} threads", positions.len(), rayon::current_num_threads());
    println!(
        "new {:.1} ms, assign {:.3} ms, evaluate {:.3} ms (best of {repeats})",
        1e3 * ready,
        1e3 * assign,
        1e3 * evaluate
    );
    let t = best;
    let stages = [
        ("sort", t.sort),
        ("p2m", t.p2m),
        ("m2m", t.m2m),
        ("lattice", t.lattice),
        ("l2l", t.l2l),
        ("m2l", t.m2l),
        ("l2p", t.l2p),
        ("p2p", t.p2p),
        ("gather", t.gather),
    ];
    println!("{}", stages.map(|(name, s)| format!("{name} {:.3}", 1e3 * s)).join(" "));
    out
}
