//! Limits: bad input, systems of a few particles, and results that do not depend on the number of threads.

use crate::common::systems::{PERIODIC, SLAB, WIRE, filled};
use crate::common::{cloud, run, solver};
use fmm::{Boundary, Exclusions, Fmm, FmmBuilder, FmmError, Potentials, Settings, TreeShape, ewald};

const CUBE: Boundary = Boundary::rectangular([2.0; 3]);

fn refused(boundary: Boundary, order: usize, root: [usize; 3], depth: usize) -> FmmError {
    Fmm::<f32>::new(boundary, Settings::new(order, TreeShape { root, depth })).err().unwrap()
}

#[test]
fn impossible_settings_are_refused() {
    assert!(matches!(refused(CUBE, 1000, [1; 3], 0), FmmError::Order { .. }));
    assert!(matches!(refused(CUBE, 4, [1, 0, 1], 0), FmmError::Tree { .. }));
    for depth in [14, 63, 64, 70, usize::MAX] {
        assert!(matches!(refused(CUBE, 4, [1; 3], depth), FmmError::Tree { .. }));
    }
    // A shift by 64 would be one by 0.
    let leaves = |root, depth| TreeShape { root, depth }.leaves();
    assert_eq!(leaves([3, 2, 1], 4), [48, 32, 16]);
    assert_eq!([leaves([3; 3], 63), leaves([1; 3], 64), leaves([1; 3], usize::MAX)], [[usize::MAX; 3]; 3]);
    assert!(matches!(refused(Boundary::rectangular([1.0, f64::NAN, 1.0]), 4, [1; 3], 0), FmmError::Periods { .. }));
    let mut fmm = solver(CUBE, 4, [2; 3], 0);
    assert!(matches!(fmm.set_boundary(Boundary::rectangular([0.0; 3])), Err(FmmError::Periods { .. })));
    assert!(matches!(fmm.set_boundary(Boundary::Open), Err(FmmError::Kind { .. })));
    assert_eq!(fmm.evaluate(&[], &[], &mut Potentials::default()), Err(FmmError::NotAssigned));
}

/// φ ∝ 1/L in any unit of length: of solvers for a tolerance, which choose a tree, and of exact sums. The sixth power of 2^±200 is beyond the range of
/// numbers, and so is the fourth of 2^330.
#[test]
fn settings_and_exact_sums_do_not_depend_on_the_unit_of_length() {
    let charges = [1.0, -1.5, 0.5];
    let values = |kind: usize, unit: f64| {
        let [a, b, c] = [[unit, 0.0, 0.0], [0.3 * unit, unit, 0.0], [0.0, 0.2 * unit, unit]];
        let boundary = match kind {
            0 => Boundary::Open,
            1 => Boundary::Wire { period: a },
            2 => Boundary::Slab { periods: [a, b] },
            _ => Boundary::Periodic { cell: [a, b, c] },
        };
        let x = [[0.1, 0.2, 0.3], [0.6, 0.5, 0.9], [0.3, 0.3, 0.5]].map(|x| x.map(|x| x * unit));
        let mut fmm = Fmm::builder().boundary(boundary).tolerance(1e-10).build_for(&x).unwrap();
        let mut out = Potentials::default();
        fmm.evaluate(&x, &charges, &mut out).unwrap();
        let (_, exact) = ewald::evaluate(&boundary, &x, &charges, &Exclusions::none(3), 1e-15).unwrap();
        let tree = fmm.settings().tree;
        (tree, [out, exact].map(|p| (p.potential[0] * unit, p.field[0][1] * unit * unit)))
    };
    for kind in 0..=3 {
        let (tree, [_, exact]) = values(kind, 1.0);
        // Powers of two leave the same numbers, so that only sums made in another order differ.
        let exponents: &[i32] = if kind == 0 { &[-200, -20, 20, 200, 330] } else { &[-200, -20, 20, 200] };
        for &exponent in exponents {
            let (found, values) = values(kind, f64::powi(2.0, exponent));
            assert_eq!(found, tree, "2^{exponent}");
            for (value, tolerance) in values.iter().zip([1e-9, 1e-13]) {
                for (value, exact) in [(value.0, exact.0), (value.1, exact.1)] {
                    assert!(
                        (value - exact).abs() < tolerance * exact.abs().max(1.0),
                        "{kind}, 2^{exponent}: {value} {exact}"
                    );
                }
            }
        }
    }
}

#[test]
fn bad_particles_are_named() {
    let (mut x, mut q) = cloud(20, [2.0; 3], 0.0, 2);
    let none = Exclusions::none(20);
    let mut fmm = solver(CUBE, 4, [4; 3], 0);
    let mut out = Potentials::default();
    fmm.assign(&x, &none).unwrap();
    assert_eq!(fmm.evaluate(&x, &q[1..], &mut out), Err(FmmError::Length { what: "charges", expected: 20, found: 19 }));
    fmm.assign(&x, &none).unwrap();
    q[5] = f64::NAN;
    assert_eq!(fmm.evaluate(&x, &q, &mut out), Err(FmmError::NotFinite { particle: 5, what: "charge" }));
    q[5] = 0.5;
    let keep = x[7];
    x[7][1] = f64::INFINITY;
    assert_eq!(fmm.evaluate(&x, &q, &mut out), Err(FmmError::NotFinite { particle: 7, what: "position" }));
    assert_eq!(fmm.assign(&x, &none), Err(FmmError::NotFinite { particle: 7, what: "position" }));
    x[7] = keep;
    x[9] = x[2];
    fmm.assign(&x, &none).unwrap();
    assert_eq!(fmm.evaluate(&x, &q, &mut out), Err(FmmError::Coincident { particle: 2, other: Some(9) }));
    // Excluded from each other, they may sit on one point.
    fmm.assign(&x, &Exclusions::from_pairs(20, [[2, 9]]).unwrap()).unwrap();
    assert!(fmm.evaluate(&x, &q, &mut out).is_ok());
    let far = Exclusions::from_pairs(20, (0..20).flat_map(|i| (0..i).map(move |j| [i, j]))).unwrap();
    assert!(matches!(fmm.assign(&x, &far), Err(FmmError::ExclusionTooFar { .. })));
}

#[test]
fn none_and_one_particle() {
    for (root, depth) in [([1; 3], 0), ([3; 3], 0), ([1; 3], 2)] {
        let mut fmm = solver(CUBE, 10, root, depth);
        assert_eq!(run(&mut fmm, &[], &[], &Exclusions::none(0)).0.to_bits(), 0);
        // One charge with its images and background: −2.837297479480620/(2L).
        let (e, out) = run(&mut fmm, &[[0.3, 1.9, -5.0]], &[2.0], &Exclusions::none(1));
        assert!((e + 4.0 * 2.837_297_479_480_62 / 4.0).abs() < 1e-4, "{e}");
        // Zero by symmetry, but for the truncation at order 10.
        assert!(out.field[0].iter().all(|f| f.abs() < 2e-3), "{:?}", out.field);
        let mut fmm = solver(Boundary::Open, 10, root, depth);
        assert_eq!(run(&mut fmm, &[], &[], &Exclusions::none(0)).0.to_bits(), 0);
        let (e, out) = run(&mut fmm, &[[0.3, 1.9, -5.0]], &[2.0], &Exclusions::none(1));
        // The convolution rounds: zero to 1e-15 of the potential at a box edge.
        assert!(e.abs() < 1e-14 && out.field[0].iter().all(|f| f.abs() < 1e-14), "{e} {:?}", out.field);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let n = 1500;
    let trees = [
        (CUBE, [6; 3], 0),
        (CUBE, [3; 3], 1),
        (Boundary::Open, [6; 3], 0),
        (Boundary::Open, [1; 3], 4),
        (PERIODIC, [4, 5, 4], 0),
        (PERIODIC, [2; 3], 2),
        (SLAB, [3; 3], 1),
        (WIRE, [3; 3], 1),
    ];
    for (boundary, root, depth) in trees {
        let (mut x, q) = filled(&boundary, n, 0.0, 2);
        // Half of them in one corner: most boxes of the deep trees are empty.
        x.iter_mut().step_by(2).for_each(|r| *r = r.map(|x| 0.3 * x));
        let result = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut fmm = solver(boundary, 4, root, depth);
                fmm.assign(&x, &Exclusions::none(n)).unwrap();
                let mut out = Potentials::default();
                (fmm.evaluate(&x, &q, &mut out).unwrap(), out)
            })
        };
        let one = result(1);
        assert!(one == result(2) && one == result(8), "{boundary:?} {root:?} {depth}");
    }
}

#[test]
fn a_solver_may_be_used_from_another_thread_pool_than_it_was_made_in() {
    let (x, q) = cloud(100, [2.0; 3], 0.0, 2);
    let mut fmm = solver(CUBE, 5, [4; 3], 0);
    let (energy, _) = run(&mut fmm, &x, &q, &Exclusions::none(100));
    let pool = rayon::ThreadPoolBuilder::new().num_threads(7).build().unwrap();
    assert_eq!(pool.install(|| run(&mut fmm, &x, &q, &Exclusions::none(100)).0), energy);
}

/// A root grid has at most 64 boxes per axis, so that those of a very long cell are long.
#[test]
fn cells_of_any_reasonable_shape_are_taken_and_others_told_why() {
    let build = |boundary: Boundary, edges: [f64; 3], n| {
        let (x, _) = cloud(n, edges, 0.0, 9);
        Fmm::builder().boundary(boundary).build_for(&x).map(|_| ())
    };
    for edges in [[1.0, 1.0, 2500.0], [2500.0, 1.0, 1.0], [1.0, 3e4, 3e4]] {
        assert_eq!(build(Boundary::rectangular(edges), edges, 300), Ok(()), "{edges:?}");
    }
    let edges = [1.0, 1.0, 1e4];
    let refused = build(Boundary::rectangular(edges), edges, 300).unwrap_err().to_string();
    assert!(
        refused.contains("1.6e2 times as long as thin") && refused.contains("2500 times as long as wide"),
        "{refused}"
    );
    // Few particles need one box, which is too long before it is known how far they reach along the open direction.
    for n in [3, 1000] {
        let slab = Boundary::Slab { periods: [[1.0, 0.0, 0.0], [0.0, 600.0, 0.0]] };
        assert_eq!(build(slab, [1.0, 600.0, 600.0], n), Ok(()), "{n}");
    }
}

/// An image of another particle lies where that one does but for the rounding of its position.
#[test]
fn particles_on_images_of_others_are_named() {
    let positions = [[0.1, 0.2, 0.3], [0.6, 0.9, 0.4], [1.1, 0.2, 0.3]];
    let builder = Fmm::builder().boundary(Boundary::rectangular([1.0; 3])).tolerance(1e-6);
    let evaluated = |builder: FmmBuilder<f64>| {
        let mut fmm = builder.build_for(&positions).unwrap();
        fmm.evaluate(&positions, &[1.0, -2.0, 1.0], &mut Potentials::default()).map(|_| ())
    };
    assert_eq!(evaluated(builder.clone()), Err(FmmError::Coincident { particle: 0, other: Some(2) }));
    let exclusions = Exclusions::from_pairs(3, [[0, 2]]).unwrap();
    assert_eq!(evaluated(builder.exclusions(exclusions)), Ok(()));
}
