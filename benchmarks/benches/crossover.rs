//! Time of direct sum, treecode and FMM against the number of particles, open boundary, f32: the crossover plot of R. Yokota, L. A. Barba,
//! arXiv:1010.1482.
//!
//! cargo bench -p octitrate-benchmarks --bench crossover -- [most particles] [orders of the FMM] [orders of the treecode] [openings] [leaves of the treecode per axis]
//! Random charges ±1 in a unit cube; lists are separated by commas. CSV: seconds of assign and evaluate (best of some), relative L2 error
//! of the forces on a sample of particles against the direct sum in f64. The direct sum beyond 100 000 particles is extrapolated (N²).

use std::time::Instant;

use fmm::{
    Boundary, Coulomb, Direct, Exclusions, Fmm, Potentials, Settings, StageTimings, TreeShape, Treecode,
    TreecodeSettings, Workload, direct,
};

/// Most particles of a direct sum over all.
const ALL_PAIRS: usize = 100_000;

struct System {
    positions: Vec<[f64; 3]>,
    charges: Vec<f64>,
    exclusions: Exclusions,
    sample: Vec<u32>,
    exact: Potentials,
}

impl System {
    fn new(n: usize) -> Self {
        let mut state = 88_172_645_463_325_252_u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let positions: Vec<[f64; 3]> = (0..n).map(|_| [random(), random(), random()]).collect();
        let charges: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let (exclusions, step) = (Exclusions::none(n), n.div_ceil(1000));
        let sample: Vec<u32> = (0..n as u32).step_by(step).collect();
        let exact = direct::at(&positions, &charges, &exclusions, &sample).unwrap();
        Self { positions, charges, exclusions, sample, exact }
    }

    fn error(&self, out: &Potentials) -> f64 {
        let (mut d, mut s) = (0.0, 0.0);
        for (i, exact) in self.sample.iter().zip(&self.exact.field) {
            for (e, exact) in out.field[*i as usize].iter().zip(exact) {
                d += (e - exact) * (e - exact);
                s += exact * exact;
            }
        }
        f64::sqrt(d / s)
    }

    /// Best seconds of assign and evaluate, and the error.
    fn measure(&self, method: &mut dyn Coulomb) -> (f64, f64, f64, StageTimings) {
        let mut out = Potentials::default();
        let (mut assign, mut evaluate, mut stages) = (f64::INFINITY, f64::INFINITY, StageTimings::default());
        let begin = Instant::now();
        for round in 0..50 {
            let start = Instant::now();
            method.assign(&self.positions, &self.exclusions).expect("valid positions");
            assign = assign.min(start.elapsed().as_secs_f64());
            let start = Instant::now();
            method.evaluate(&self.positions, &self.charges, &mut out).expect("finite");
            let seconds = start.elapsed().as_secs_f64();
            if seconds < evaluate {
                (evaluate, stages) = (seconds, *method.timings());
            }
            if round >= 1 && begin.elapsed().as_secs_f64() > 1.0 {
                break;
            }
        }
        (assign, evaluate, self.error(&out), stages)
    }

    fn row(&self, method: &mut dyn Coulomb, label: &str) -> f64 {
        let (assign, evaluate, error, stages) = self.measure(method);
        let total = assign + evaluate;
        println!(
            "{},{},{label},{assign:.3e},{evaluate:.3e},{total:.3e},{error:.2e},{:.3e},{:.3e}",
            self.positions.len(),
            method.name(),
            stages.m2p + stages.m2l + stages.lattice,
            stages.p2p,
        );
        total
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let list = |i: usize, default: &str| -> Vec<f64> {
        args.get(i).map_or(default, String::as_str).split(',').filter_map(|v| v.parse().ok()).collect()
    };
    let most = list(0, "1e6")[0];
    let (fmm_orders, tree_orders, openings) = (list(1, "7"), list(2, "7"), list(3, ""));
    let leaves = list(4, "");
    let mut curves: Vec<[f64; 4]> = Vec::new();
    let mut per_pair = 0.0;
    println!("particles,method,settings,assign_s,evaluate_s,total_s,force_error,far_s,near_s");
    for n in [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6].into_iter().filter(|n| *n <= most) {
        let system = System::new(n as usize);
        let workload = Workload::new(&Boundary::Open, &system.positions, 0.0);
        let direct = if n as usize <= ALL_PAIRS {
            let seconds = system.row(&mut Direct::<f32>::new(Boundary::Open).expect("open"), "");
            per_pair = seconds / (n * n);
            seconds
        } else {
            println!("{n},direct,extrapolated,0,{0:.3e},{0:.3e},,,", per_pair * n * n);
            per_pair * n * n
        };
        let (mut treecode, mut fmm) = (f64::INFINITY, f64::INFINITY);
        for order in tree_orders.iter().map(|p| *p as usize) {
            let base = TreecodeSettings::auto(order, &workload);
            let openings = if openings.is_empty() { vec![base.opening] } else { openings.clone() };
            let leaves = leaves.iter().map(|n| *n as usize).map(|n| {
                let depth = n.trailing_zeros() as usize;
                TreeShape { root: [n >> depth; 3], depth }
            });
            let trees: Vec<TreeShape> = if leaves.len() == 0 { vec![base.tree] } else { leaves.collect() };
            let all = openings.iter().flat_map(|opening| trees.iter().map(move |tree| (*opening, *tree)));
            for (opening, tree) in all {
                let settings = TreecodeSettings { order, tree, opening };
                let label = format!("p={order} θ={opening} leaves={}", settings.tree.leaves()[0]);
                let mut method = Treecode::<f32>::new(Boundary::Open, settings).expect("valid");
                treecode = treecode.min(system.row(&mut method, &label));
            }
        }
        for order in fmm_orders.iter().map(|p| *p as usize) {
            let tree = TreeShape::auto::<f32>(order, Settings::TOUCHING, &workload);
            let label = format!("p={order} leaves={} depth={}", tree.leaves()[0], tree.depth);
            let mut method = Fmm::<f32>::new(Boundary::Open, Settings::new(order, tree)).expect("valid");
            fmm = fmm.min(system.row(&mut method, &label));
        }
        curves.push([n, direct, treecode, fmm]);
    }
    for (name, a, b) in [("direct = treecode", 1, 2), ("direct = fmm", 1, 3), ("treecode = fmm", 2, 3)] {
        println!("# {name}: {}", crossover(&curves, a, b));
    }
}

/// Number of particles at which curve `b` becomes the lower one, by straight lines between the points of a double logarithmic plot.
fn crossover(curves: &[[f64; 4]], a: usize, b: usize) -> String {
    let ratio = |c: &[f64; 4]| (c[a] / c[b]).ln();
    let cross = curves.windows(2).rfind(|w| ratio(&w[0]) < 0.0 && ratio(&w[1]) >= 0.0);
    match (cross, curves.first()) {
        (Some(w), _) => {
            let (low, high) = (ratio(&w[0]), ratio(&w[1]));
            format!("{:.0} particles", w[0][0] * (w[1][0] / w[0][0]).powf(-low / (high - low)))
        }
        (None, Some(first)) if ratio(first) >= 0.0 => format!("below {} particles", first[0]),
        _ => "not reached".into(),
    }
}
