//! Orders 0 … 60 and separations 1 … 4: what each must reach.

use crate::common::systems::{BOUNDARIES, PERIODIC, SLAB, WIRE, close_pairs, exact, filled, force_error, separated};
use crate::common::{difference, run};
use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, Settings, TreeShape};

#[test]
fn order_0_sees_the_charges_of_boxes() {
    // Along x boxes of edge 1 from 0 to 8; boxes 0, 3 and 7 hold charges 2, −1 + 3 and 5.
    let x = [[0.0, 0.0, 0.0], [3.2, 0.0, 0.0], [3.9, 0.0, 0.0], [8.0, 0.0, 0.0]];
    let q = [2.0, -1.0, 3.0, 5.0];
    for (root, depth) in [([8, 1, 1], 0), ([4, 1, 1], 1)] {
        let (_, out) = run(&mut separated(Boundary::Open, 0, (root, depth), 1.12), &x, &q, &Exclusions::none(4));
        let near = |other: f64| other / 0.7;
        let expected = [2.0 / 3.0 + 5.0 / 7.0, near(3.0) + 2.0 / 3.0 + 5.0 / 4.0, near(-1.0) + 2.0 / 3.0 + 5.0 / 4.0];
        if depth == 0 {
            for (phi, expected) in out.potential.iter().zip(expected) {
                assert!((phi - expected).abs() < 1e-13, "{:?}", out.potential);
            }
        }
        // A constant has no field: only the neighbour in the own box makes one.
        for (field, expected) in out.field.iter().zip([0.0, -3.0 / 0.49, -1.0 / 0.49, 0.0]) {
            assert!((field[0] - expected).abs() < 1e-12 && field[1] == 0.0 && field[2] == 0.0, "{:?}", out.field);
        }
    }
}

#[test]
fn order_0_to_3_on_every_boundary() {
    for boundary in BOUNDARIES {
        let (x, q) = filled(&boundary, 200, 0.0, 41);
        let none = Exclusions::none(200);
        let (_, reference) = exact(&boundary, &x, &q, &none);
        for tree in [([3; 3], 0), ([2; 3], 1)] {
            let errors = [0, 1, 2, 3].map(|order| {
                difference(&run(&mut separated(boundary, order, tree, 1.12), &x, &q, &none).1, &reference)
            });
            eprintln!("{boundary:?} {tree:?}: {errors:?}");
            assert!(errors.windows(2).all(|e| e[1] < 0.9 * e[0]), "{boundary:?} {tree:?}: {errors:?}");
            assert!(errors[0] < 1.5 && errors[3] < 0.05, "{boundary:?} {tree:?}: {errors:?}");
        }
    }
}

#[test]
fn highest_orders_are_finite_and_exact() {
    for (boundary, order, root) in [
        (PERIODIC, 50, [1, 1, 2]),
        (PERIODIC, 60, [1; 3]),
        (SLAB, 50, [1; 3]),
        (WIRE, 50, [2, 1, 1]),
        (Boundary::Open, 60, [3, 1, 1]),
    ] {
        let charge = if boundary == PERIODIC { 1.0 } else { 0.0 };
        let (x, q) = filled(&boundary, 60, charge, 42);
        let exclusions = close_pairs(&boundary, &x, 0.2);
        let (energy, reference) = exact(&boundary, &x, &q, &exclusions);
        let (e, out) = run(&mut separated(boundary, order, (root, 0), 1.12), &x, &q, &exclusions);
        let errors = [(e / energy - 1.0).abs(), difference(&out, &reference), force_error(&q, &out, &reference)];
        eprintln!("{boundary:?} {order} {root:?}: {errors:?}");
        // 1.12^-50 = 3e-3 at the corners of boxes, 2^-50 where most particles are; rounding of Ewald sums 1e-14.
        assert!(errors.iter().all(|e| *e < 1e-12), "{boundary:?} {order} {root:?}: {errors:?}");
    }
}

#[test]
fn larger_separations_are_more_accurate() {
    for boundary in BOUNDARIES {
        let (x, q) = filled(&boundary, 150, 0.0, 44);
        let none = Exclusions::none(150);
        let (_, reference) = exact(&boundary, &x, &q, &none);
        for tree in [([6; 3], 0), ([2; 3], 2)] {
            let errors = [1.0, 1.2, 1.35, 1.5, 1.7, 2.0]
                .map(|s| difference(&run(&mut separated(boundary, 8, tree, s), &x, &q, &none).1, &reference));
            eprintln!("{boundary:?} {tree:?}: {errors:?}");
            // 57 instead of 27 near cubes gain a factor 3 and more at order 8, 93 another one; single steps may gain little.
            assert!(errors.windows(2).all(|e| e[1] < 1.05 * e[0]), "{boundary:?} {tree:?}: {errors:?}");
            assert!(errors[3] < errors[0] / 3.0 && errors[5] < errors[3] / 2.0, "{boundary:?} {tree:?}: {errors:?}");
        }
    }
}

#[test]
fn separations_out_of_range_are_refused() {
    let tree = TreeShape { root: [2; 3], depth: 0 };
    for separation in [0.0, 0.99, 4.01, -1.0, f64::NAN, f64::INFINITY] {
        let settings = Settings { order: 3, tree, separation };
        assert!(matches!(Fmm::<f64>::new(Boundary::Open, settings), Err(FmmError::Separation { .. })));
    }
    let (x, q) = filled(&WIRE, 30, 0.0, 45);
    let (_, reference) = exact(&WIRE, &x, &q, &Exclusions::none(30));
    let (_, out) = run(&mut separated(WIRE, 4, ([3; 3], 0), 4.0), &x, &q, &Exclusions::none(30));
    // Each ratio of distances is below 1/4: 4^-5.
    assert!(difference(&out, &reference) < 1e-3);
}

#[test]
fn a_pair_in_corners_of_boxes_obeys_the_bound() {
    // The worst places: opposite ends of two boxes 2 apart; |error| ≤ q/(d − D) (D/d)^(p+1), d between centres, D the diagonal.
    let edge = 1.0;
    let corner = |c: f64| [c, 0.5, 0.5].map(|x| x * edge);
    let x = [corner(0.999), corner(2.001), [0.0, 0.0, 0.0], [4.0, 1.0, 1.0]];
    let q = [1.0, 1.0, 0.0, 0.0];
    let none = Exclusions::none(4);
    let exact = 1.0 / 1.002;
    for order in [0, 5, 10, 20, 40] {
        let mut out = Potentials::default();
        let mut fmm = separated(Boundary::Open, order, ([4, 1, 1], 0), 1.12);
        fmm.assign(&x, &none).unwrap();
        fmm.evaluate(&x, &q, &mut out).unwrap();
        let bound = 1.0 / (2.0 - 3f64.sqrt()) * (3f64.sqrt() / 2.0).powi(order as i32 + 1);
        let error = (out.potential[0] - exact).abs();
        assert!(error < bound, "order {order}: {error:.1e}, bound {bound:.1e}");
    }
}
