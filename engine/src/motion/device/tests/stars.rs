//! Stars of thermal motion: how long the way to the solution is, and that it is that of the sweeps.

use super::*;
use crate::motion::constraints::shake::MAX_SWEEPS;
use crate::motion::constraints::{Constraints, DEFAULT_TOLERANCE};
use crate::motion::device::constraints::{LEAVES, MAX_ROUNDS, Triangle};
use crate::motion::device::shared::MotionStatus;
use crate::motion::device::twins::{TOLERANCE, Vectors};
use crate::motion::leapfrog::start_velocities;
use forcefield::topology::Constraint;
use kernels::device::{In, Launch, Out, Source, arguments};

arguments! {
    /// Arguments of `ways`.
    struct WayArgs<'a> {
        /// 1/m of the centre, then of the leaves; 1/u.
        weights: In<'a, f64>,
        /// `[star][bond][3]`, nm.
        reference: In<'a, f64>,
        /// The same after the step.
        bond: In<'a, f64>,
        /// `[star][4]`: rounds of Newton's method, sweeps, −1 where there are none; what `shake_star` returns.
        counts: Out<'a, [i32; 4]>,
        /// `[star][way][bond][3]` by Newton's method, by sweeps, by `shake_star`.
        solved: Out<'a, f64>,
        /// What the other kernels of the motion are given, of no use here.
        kinds: In<'a, Triangle>,
        status: Out<'a, MotionStatus>,
        tolerance: f64,
        bonds: i32,
        n: i32,
    }
}

/// Both ways for each star, with as few rounds and sweeps as do.
const TEXT: &str = "
template <int N> DEVICE void both(const WayArgs &a, int star) {
    Star<N> s;
    Vec r[N + 1] = {};
    s.weight = a.weights[0];
    for (int k = 0; k < N; k++) {
        s.weights[k] = a.weights[1 + k];
        s.reference[k] = load(a.reference + 3 * (N * star + k));
        r[k + 1] = load(a.bond + 3 * (N * star + k));
        s.wanted[k] = dot(s.reference[k], s.reference[k]);
    }
    const float allowed = 2.0f * (float)a.tolerance;
    double g[3][N];
    int rounds = 0, sweeps = 1;
    while (rounds <= MAX_ROUNDS && !newton(s, r, allowed, rounds, g[0])) rounds++;
    while (sweeps <= MAX_SWEEPS && sweep(s, r, allowed, sweeps, g[1]) >= 0) sweeps++;
    const int stuck = shake_star(s, r, a.tolerance, g[2]);
    a.counts[star] = make_int4(rounds > MAX_ROUNDS ? -1 : rounds, sweeps > MAX_SWEEPS ? -1 : sweeps, stuck, 0);
    for (int way = 0; way < 3; way++) {
        Vec bond[N];
        for (int k = 0; k < N; k++) bond[k] = r[k + 1];
        pull(s, g[way], bond);
        for (int k = 0; k < N; k++) store(a.solved + 3 * (N * (3 * star + way) + k), bond[k]);
    }
}
KERNEL __launch_bounds__(THREADS) void ways(const __grid_constant__ WayArgs a) {
    const int star = blockIdx.x * blockDim.x + threadIdx.x;
    if (star >= a.n) return;
    switch (a.bonds) {
        case 1: both<1>(a, star); break;
        case 2: both<2>(a, star); break;
        case 3: both<3>(a, star); break;
        default: both<4>(a, star);
    }
}
";

fn source() -> Source {
    let numbers = [("THREADS", 32), ("LANGEVIN", 0), ("QUANTITIES", 8), ("LEAVES", LEAVES)];
    let limits = [("MAX_SWEEPS", MAX_SWEEPS), ("MAX_ROUNDS", MAX_ROUNDS)];
    let source = Source::new("stars", TEXT).define("REAL", "double");
    let source = numbers.into_iter().chain(limits).fold(source, |source, (key, value)| source.define(key, value));
    source
        .header(include_str!("../shared.cuh"))
        .header(include_str!("../constraints.cuh"))
        .kernel::<WayArgs<'static>>("ways")
}

/// Stars of one kind before and after a step without constraints.
struct Stars {
    weights: Vec<f64>,
    reference: Vectors,
    bond: Vectors,
}

const D: f64 = 0.109;

impl Stars {
    /// `n` stars of a carbon and `bonds` hydrogens of `hydrogen` u, whose mass is taken from the carbon, in a step of `dt` (ps) at `temperature` (K) with
    /// forces of 1 000 kJ/mol/nm (root mean square of each component): what atoms of a protein feel at 300 K.
    fn new(n: usize, bonds: usize, hydrogen: f64, dt: f64, temperature: f64) -> Self {
        let corners = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]].map(Vector3::from);
        let weights: Vec<f64> = std::iter::once(12.011 - bonds as f64 * (hydrogen - 1.008))
            .chain(vec![hydrogen; bonds])
            .map(|m| 1.0 / m)
            .collect();
        let (mut x, mut fixed) = (Vectors::new(), Vec::new());
        for _ in 0..n {
            // All at the origin: they do not see each other, and coordinates are as exact as bonds.
            let centre = x.len() as u32;
            x.push(Vector3::zeros());
            for corner in &corners[..bonds] {
                fixed.push(Constraint { atoms: [centre, x.len() as u32], length: D });
                x.push(D * corner.normalize());
            }
        }
        let masses: Vec<f64> = weights.iter().cycle().take(x.len()).map(|w| 1.0 / w).collect();
        let constraints = Constraints::from_parts(&masses, &fixed, &[], TOLERANCE).unwrap();
        let v = start_velocities(&x, &masses, &constraints, temperature, false, 3).unwrap();
        let mut normal = normals(8);
        let moved: Vectors = (0..x.len()).map(|i| x[i] + dt * (v[i] + dt / masses[i] * 1000.0 * normal())).collect();
        let bonds_of = |x: &Vectors| {
            let of_star = |star: &[Vector3<f64>]| star[1..].iter().map(|leaf| leaf - star[0]).collect::<Vec<_>>();
            x.chunks(bonds + 1).flat_map(of_star).collect()
        };
        Self { weights, reference: bonds_of(&x), bond: bonds_of(&moved) }
    }

    fn bonds(&self) -> usize {
        self.weights.len() - 1
    }

    /// Counts of each star, and bonds by Newton's method, by sweeps, by what a step does.
    fn solve(&self, tolerance: f64) -> (Vec<[i32; 4]>, [Vectors; 3]) {
        let device = Device::of_tests().unwrap();
        let (kernel, stream) =
            (device.compile(&source()).unwrap().kernel::<WayArgs>("ways").unwrap(), device.stream().unwrap());
        let flat = |v: &Vectors| v.iter().flatten().copied().collect::<Vec<f64>>();
        let (bonds, n) = (self.bonds(), self.bond.len() / self.bonds());
        let weights = device.upload(&self.weights).unwrap();
        let (reference, bond) =
            (device.upload(&flat(&self.reference)).unwrap(), device.upload(&flat(&self.bond)).unwrap());
        let (counts, solved) =
            (device.zeros::<[i32; 4]>(n).unwrap(), device.zeros::<f64>(9 * self.bond.len()).unwrap());
        let (kinds, status) = (device.zeros(1).unwrap(), device.zeros(1).unwrap());
        let arguments = WayArgs {
            weights: weights.arg(),
            reference: reference.arg(),
            bond: bond.arg(),
            counts: counts.arg(),
            solved: solved.arg(),
            kinds: kinds.arg(),
            status: status.arg(),
            tolerance,
            bonds: bonds as i32,
            n: n as i32,
        };
        stream.launch(&kernel, Launch::for_each(n, 32), arguments).unwrap();
        let solved: Vectors =
            solved.read(&stream).unwrap().as_chunks::<3>().0.iter().map(|&x| Vector3::from(x)).collect();
        let by =
            |way| solved.chunks(3 * bonds).flat_map(|star| star[way * bonds..(way + 1) * bonds].to_vec()).collect();
        (counts.read(&stream).unwrap(), [by(0), by(1), by(2)])
    }
}

fn mean(of: impl Iterator<Item = i32> + Clone) -> (f64, i32) {
    (of.clone().map(f64::from).sum::<f64>() / of.clone().count() as f64, of.max().unwrap())
}

/// A round finds all bonds at once, a sweep one after the other: what counts is how many bonds follow each other.
#[test]
fn thermal_stars_take_few_rounds_to_where_sweeps_end() {
    for (hydrogen, dt) in [(1.008_f64, 0.002), (3.024, 0.004)] {
        for bonds in 1..=LEAVES {
            // Methane with heavy hydrogens has next to no carbon left.
            let stars = Stars::new(200, bonds, if bonds == 4 { hydrogen.min(2.0) } else { hydrogen }, dt, 300.0);
            for (tolerance, most) in [(DEFAULT_TOLERANCE, 6), (TOLERANCE, 8)] {
                let (counts, [newton, sweeps, step]) = stars.solve(tolerance);
                let (rounds, longest) = mean(counts.iter().map(|c| c[0]));
                let (serial, most_serial) = mean(counts.iter().map(|c| c[1] * bonds as i32));
                println!(
                    "{bonds} of {hydrogen} u, {dt} ps, {tolerance:e}: {rounds:.2} rounds (at most {longest}), {serial:.1} bonds in sweeps ({most_serial})"
                );
                assert!(longest <= most && counts.iter().all(|c| c[0] >= 0 && c[1] >= 0 && c[2] == -1));
                assert!(bonds == 1 || 2.0 * rounds < serial);
                // Each bond of either may miss its length by the tolerance, and moves the others through the centre by less than that.
                let apart = difference(&newton, &sweeps).max(difference(&newton, &step));
                assert!(apart < 2.0 * (bonds + 1) as f64 * tolerance * D, "{apart:e}");
                assert!(newton.iter().all(|s| (s.norm() / D - 1.0).abs() < 1.1 * tolerance));
            }
        }
    }
}

/// Where bonds turn by more than Newton's method takes, sweeps find what there is to find and say what stands in the way.
#[test]
fn stars_of_steps_that_are_far_too_long_are_left_to_sweeps() {
    for bonds in 1..=LEAVES {
        let stars = Stars::new(400, bonds, 1.008, 0.006, 2000.0);
        let (counts, [_, sweeps, step]) = stars.solve(DEFAULT_TOLERANCE);
        let left = |c: &[i32; 4]| c[0] < 0;
        let solved = counts.iter().filter(|c| left(c) && c[1] >= 0).count();
        let stuck = counts.iter().filter(|c| c[1] < 0).count();
        println!("{bonds}: {solved} of 400 by sweeps alone, {stuck} by neither");
        assert!(solved > 5 && stuck > 5);
        for (star, c) in counts.iter().enumerate() {
            assert_eq!(c[2] < 0, c[0] >= 0 || c[1] >= 0);
            assert!(c[2] < bonds as i32);
            if left(c) {
                let of = star * bonds..(star + 1) * bonds;
                // Bit for bit, also where it is not a number.
                assert_eq!(format!("{:?}", &step[of.clone()]), format!("{:?}", &sweeps[of]));
            }
        }
    }
}
