//! Random requests through the public interface: each gives the right answer or an `FmmError`, and none panics.

use crate::common::Random;
use crate::common::systems::{combine, frame, norm, plus, scattered};
use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, Settings, TreeShape, Workload, ewald};
use proptest::prelude::*;

/// A boundary of `periods` periods from a box with these edges and shears, turned.
fn boundary(periods: usize, edges: [f64; 3], shears: [f64; 3], turn: [f64; 4]) -> Boundary {
    let turned = crate::common::lattices::rotation(turn);
    let rows = [[edges[0], 0.0, 0.0], [shears[0], edges[1], 0.0], [shears[1], shears[2], edges[2]]];
    let [a, b, c] = rows.map(|r| crate::common::lattices::turn(&turned, r));
    match periods {
        0 => Boundary::Open,
        1 => Boundary::Wire { period: a },
        2 => Boundary::Slab { periods: [a, b] },
        _ => Boundary::Periodic { cell: [a, b, c] },
    }
}

fn any_boundary(aspect: f64, skew: f64) -> impl Strategy<Value = Boundary> {
    let edge = (0.0..1.0f64).prop_map(move |x| aspect.powf(x));
    let shear = -skew..skew;
    (
        0..=3usize,
        [edge.clone(), edge.clone(), edge],
        [shear.clone(), shear.clone(), shear],
        [-1.0..1.0f64, 0.1..1.0, -1.0..1.0, -1.0..1.0],
    )
        .prop_map(|(periods, edges, shears, turn)| boundary(periods, edges, shears, turn))
}

/// Where particles lie: anywhere; on faces, edges and corners of boxes; in one spot; anywhere in distant images.
fn any_fractions() -> impl Strategy<Value = Vec<[f64; 3]>> {
    let anywhere = prop::collection::vec(prop::array::uniform3(0.0..1.0f64), 0..25);
    let faces = prop::collection::vec(prop::array::uniform3((0..=12i32).prop_map(|n| f64::from(n) / 12.0)), 0..25);
    let spot = (prop::array::uniform3(-1.0..2.0f64), prop::collection::vec(prop::array::uniform3(0.0..0.01f64), 0..25))
        .prop_map(|(at, spread)| spread.into_iter().map(|s| plus(at, 1.0, s)).collect());
    let distant = prop::collection::vec(prop::array::uniform3(-1000.0..1000.0f64), 0..10);
    prop_oneof![3 => anywhere, 2 => faces, 1 => spot, 1 => distant]
}

fn any_tree() -> impl Strategy<Value = TreeShape> {
    (prop::array::uniform3(1..=4usize), 0..=2usize)
        .prop_map(|(root, depth)| TreeShape { root: if depth == 2 { root.map(|n| n.min(2)) } else { root }, depth })
}

fn positions(boundary: &Boundary, fractions: &[[f64; 3]], scale: f64) -> Vec<[f64; 3]> {
    let longest = boundary.periods().iter().map(|p| norm(*p)).fold(0.0, f64::max);
    let vectors = frame(boundary, if longest > 0.0 { longest } else { scale });
    let within = |f: &[f64; 3], a: usize| if boundary.periodic()[a] { f[a] } else { f[a] % 2.0 };
    fractions.iter().map(|f| combine([0, 1, 2].map(|a| within(f, a)), &vectors)).collect()
}

fn charges(n: usize, neutral: bool, seed: u64) -> Vec<f64> {
    let mut r = Random(seed | 1);
    let mut q: Vec<f64> = (0..n).map(|_| 2.0 * r.uniform() - 1.0).collect();
    let mean = q.iter().sum::<f64>() / n.max(1) as f64;
    q.iter_mut().for_each(|q| *q -= if neutral { mean } else { 0.0 });
    q
}

/// Assigns and evaluates with a new solver.
fn solve(
    boundary: Boundary,
    settings: Settings,
    x: &[[f64; 3]],
    q: &[f64],
    exclusions: &Exclusions,
) -> Result<(f64, Potentials), FmmError> {
    let mut fmm = Fmm::<f64>::new(boundary, settings)?;
    fmm.assign(x, exclusions)?;
    let mut out = Potentials::default();
    let energy = fmm.evaluate(x, q, &mut out)?;
    Ok((energy, out))
}

/// |φ| and length · |E| may be wrong by this much: the bound of expansions of particles in the corners of boxes (a hundredth of it is
/// typical), and rounding.
fn check(
    boundary: &Boundary,
    settings: Settings,
    x: &[[f64; 3]],
    q: &[f64],
    exclusions: &Exclusions,
    found: &(f64, Potentials),
) -> Result<(), TestCaseError> {
    let (energy, exact) = ewald::evaluate(boundary, x, q, exclusions, 1e-15).unwrap();
    let all: f64 = q.iter().map(|q| q.abs()).sum();
    // Images and boxes count: the shortest period, or the extent of the particles.
    let extent = (0..3).map(|a| x.iter().fold([f64::MAX, f64::MIN], |m, r| [m[0].min(r[a]), m[1].max(r[a])]));
    let extent = extent.map(|[low, high]| high - low).fold(0.0, f64::max);
    let length = boundary.heights().into_iter().fold(if extent > 0.0 { extent } else { 1.0 }, f64::min);
    let size = all / length * settings.tree.leaves().iter().map(|n| *n as f64).fold(1.0, f64::max);
    let worst = exact.potential.iter().map(|p| p.abs()).fold(size, f64::max);
    let rounding = 1e-11 * worst;
    let tolerance = size * settings.separation.powi(-(settings.order as i32 + 1)) + rounding;
    for (a, b) in found.1.potential.iter().zip(&exact.potential) {
        prop_assert!((a - b).abs() <= tolerance, "{a} {b}, tolerance {tolerance:.1e}");
    }
    prop_assert!((found.0 - energy).abs() <= all * tolerance, "{} {energy}", found.0);
    let strongest = exact.field.iter().flatten().map(|e| e.abs()).fold(0.0, f64::max);
    let leaf = length / settings.tree.leaves().iter().copied().max().unwrap_or(1) as f64;
    let tolerance = tolerance * (settings.order + 2) as f64 / leaf + 1e-10 * strongest;
    for (a, b) in found.1.field.iter().flatten().zip(exact.field.iter().flatten()) {
        prop_assert!((a - b).abs() <= tolerance, "field {a} {b}, tolerance {tolerance:.1e}");
    }
    Ok(())
}

/// Whether two particles, images included, are as good as on one point.
fn coincide(boundary: &Boundary, x: &[[f64; 3]], length: f64) -> bool {
    (0..x.len()).any(|i| (0..i).any(|j| crate::common::systems::distance(boundary, x[i], x[j]) < 1e-6 * length))
}

/// Positions in a cell of reasonable coordinates, so that the distances of images can be searched.
fn within(boundary: &Boundary, x: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let dual =
        nalgebra::Matrix3::from_columns(&frame(boundary, 1.0).map(nalgebra::Vector3::from)).try_inverse().unwrap();
    let fold = |r: &[f64; 3]| {
        let f = dual * nalgebra::Vector3::from(*r);
        boundary.periods().iter().enumerate().fold(*r, |r, (a, p)| plus(r, -f[a].floor(), *p))
    };
    x.iter().map(fold).collect()
}

fn config(cases: u32) -> ProptestConfig {
    // The same cases every time, no files beside the sources.
    ProptestConfig {
        cases,
        failure_persistence: None,
        rng_seed: prop::test_runner::RngSeed::Fixed(20),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn right_or_refused(
        boundary in any_boundary(5.0, 3.0),
        fractions in any_fractions(),
        tree in any_tree(),
        order in 0..=9usize,
        separation in 1.2..2.0f64,
        exponent in -12.0..12.0f64,
        seed in any::<u64>(),
    ) {
        let settings = Settings { order, tree, separation };
        let x = positions(&boundary, &fractions, 1.0);
        let n = x.len();
        let q = charges(n, matches!(boundary.periods().len(), 1 | 2), seed);
        let none = Exclusions::none(n);
        let length = boundary.heights().into_iter().fold(1.0, f64::min);
        let found = solve(boundary, settings, &x, &q, &none);
        if coincide(&boundary, &within(&boundary, &x), length) {
            return Ok(());
        }
        let found = found.map_err(|e| TestCaseError::fail(format!("{e}")))?;
        check(&boundary, settings, &x, &q, &none, &found)?;
        // Another unit of length: φ ∝ 1/L.
        let unit = 10f64.powf(exponent);
        let scaled: Vec<[f64; 3]> = x.iter().map(|r| r.map(|x| x * unit)).collect();
        let scale = |p: [f64; 3]| p.map(|x| x * unit);
        let other = match boundary {
            Boundary::Open => Boundary::Open,
            Boundary::Wire { period } => Boundary::Wire { period: scale(period) },
            Boundary::Slab { periods } => Boundary::Slab { periods: periods.map(scale) },
            Boundary::Periodic { cell } => Boundary::Periodic { cell: cell.map(scale) },
        };
        let (_, out) = solve(other, settings, &scaled, &q, &none).map_err(|e| TestCaseError::fail(format!("{e}")))?;
        // Particles on faces of boxes may fall into others.
        let size = q.iter().map(|q| q.abs()).sum::<f64>() / length * 12.0;
        let tolerance = 2.0 * size * separation.powi(-(order as i32 + 1)) + 1e-10 * found.1.potential.iter().fold(size, |m, p| m.max(p.abs()));
        for (a, b) in out.potential.iter().zip(&found.1.potential) {
            prop_assert!((a * unit - b).abs() <= tolerance, "{a} {b} {unit:e}");
        }
    }

    #[test]
    fn images_and_exclusions(
        boundary in any_boundary(5.0, 1.5),
        fractions in prop::collection::vec(prop::array::uniform3(0.0..1.0f64), 2..20),
        tree in any_tree(),
        pairs in prop::collection::vec((0..20u32, 0..20u32), 0..8),
        seed in any::<u64>(),
    ) {
        let settings = Settings { order: 9, tree, separation: 1.6 };
        let x = positions(&boundary, &fractions, 1.0);
        let n = x.len() as u32;
        let pairs = pairs.into_iter().map(|(i, j)| [i % n, j % n]).filter(|[i, j]| i != j);
        let exclusions = Exclusions::from_pairs(x.len(), pairs).unwrap();
        let x = scattered(&boundary, &x, 2.0, &mut Random(seed | 1));
        let q = charges(x.len(), true, seed);
        match solve(boundary, settings, &x, &q, &exclusions) {
            Ok(found) => check(&boundary, settings, &x, &q, &exclusions, &found)?,
            Err(FmmError::ExclusionTooFar { i, j }) => prop_assert!(exclusions.contains(i, j)),
            Err(e) => return Err(TestCaseError::fail(format!("{e}"))),
        }
    }

    #[test]
    fn numbers_that_are_none(
        boundary in any_boundary(5.0, 3.0),
        fractions in prop::collection::vec(prop::array::uniform3(0.0..1.0f64), 1..12),
        tree in any_tree(),
        bad in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(f64::NEG_INFINITY), Just(1e300), Just(-1e200), Just(1e120), Just(1e16)],
        place in any::<prop::sample::Index>(),
        axis in 0..4usize,
        late in any::<bool>(),
    ) {
        let settings = Settings::new(4, tree);
        let mut x = positions(&boundary, &fractions, 1.0);
        let mut q = charges(x.len(), true, 5);
        let mut fmm = Fmm::<f64>::new(boundary, settings).unwrap();
        let none = Exclusions::none(x.len());
        fmm.assign(&x, &none).unwrap();
        let i = place.index(x.len());
        if axis < 3 { x[i][axis] = bad } else { q[i] = bad }
        let assigned = if late { Ok(()) } else { fmm.assign(&x, &none) };
        let mut out = Potentials::default();
        let result = assigned.and_then(|()| fmm.evaluate(&x, &q, &mut out));
        if bad.is_finite() {
            prop_assert!(result.as_ref().map_or(true, |e| e.is_finite()));
            prop_assert!(result.is_err() || out.potential.iter().chain(out.field.iter().flatten()).all(|v| v.is_finite()));
        } else if axis < 3 {
            prop_assert_eq!(result, Err(FmmError::NotFinite { particle: i, what: "position" }));
        } else {
            prop_assert!(matches!(result, Err(FmmError::NotFinite { particle, what: "charge" }) if particle == i)
                || matches!(result, Err(FmmError::Charged { .. })), "{result:?}");
        }
    }

    #[test]
    fn nearly_dependent_periods(
        periods in 1..=3usize,
        aspect in 0.0..8.0f64,
        tilt in 0.0..9.0f64,
        root in prop::array::uniform3(1..=3usize),
        depth in 0..=1usize,
        separation in 1.0..2.0f64,
        turn in [-1.0..1.0f64, 0.1..1.0, -1.0..1.0, -1.0..1.0],
    ) {
        // One long edge and vectors that differ by 10^-tilt only.
        let thin = 10f64.powf(-tilt);
        for (edges, shears) in [([10f64.powf(aspect), 1.0, 1.0], [0.0; 3]), ([1.0, thin, 1.0], [1.0, 0.3, 0.1]), ([1.0, 1.0, thin], [0.2, 0.9, 0.4]), ([1.0, 1.0, 10f64.powf(aspect)], [0.1; 3])] {
            let boundary = boundary(periods, edges, shears, turn);
            let settings = Settings { order: 2, tree: TreeShape { root, depth }, separation };
            let x = positions(&boundary, &[[0.1, 0.2, 0.3], [0.6, 0.8, 0.4]], 1.0);
            if let Ok((energy, out)) = solve(boundary, settings, &x, &[1.0, -1.0], &Exclusions::none(2)) {
                prop_assert!(energy.is_finite() && out.potential.iter().all(|p| p.is_finite()));
            }
        }
    }

    #[test]
    fn any_workload_has_a_tree(
        boundary in any_boundary(20.0, 3.0),
        fractions in any_fractions(),
        order in 0..=60usize,
        separation in 1.0..4.0f64,
        exponent in -12.0..12.0f64,
        bad in any::<bool>(),
    ) {
        let mut x = positions(&boundary, &fractions, 10f64.powf(exponent));
        if bad {
            x.extend([[f64::NAN; 3], [f64::INFINITY, 0.0, 0.0], [1e300, -1e300, 0.0]]);
        }
        let tree = TreeShape::auto::<f64>(order, separation, &Workload::new(&boundary, &x, 0.0));
        prop_assert!(Fmm::<f64>::new(boundary, Settings { order: 0, tree, separation: 1.0 }).is_ok(), "{tree:?}");
    }
}

#[test]
fn boxes_with_aspect_ratios_of_5_and_20() {
    for ratio in [5.0, 20.0] {
        for edges in [[ratio, 1.0, 1.0], [1.0, ratio, ratio], [1.0, 1.0, ratio]] {
            for periods in 0..=3 {
                let boundary = boundary(periods, edges, [0.2, -0.3, 0.1], [1.0, 0.2, 0.3, 0.1]);
                let fractions = crate::common::cloud(20, [1.0; 3], 0.0, 8).0;
                let x = positions(&boundary, &fractions, 1.0);
                let q = charges(20, true, 4);
                let settings = Settings { order: 8, tree: TreeShape { root: [2; 3], depth: 0 }, separation: 1.3 };
                let none = Exclusions::none(20);
                let found = solve(boundary, settings, &x, &q, &none).unwrap();
                check(&boundary, settings, &x, &q, &none, &found).unwrap();
            }
        }
    }
}
