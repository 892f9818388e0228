//! Small root grids, where several images of the same box are near; excluded pairs across images.

use crate::common::systems::{
    BOUNDARIES, DODECAHEDRON, PERIODIC, SLAB, WIRE, close_pairs, exact, filled, frame, plus, scattered, separated,
};
use crate::common::{Random, difference, run};
use fmm::{Boundary, Exclusions, FmmError, Potentials};

/// A cell of which the shortest vector is a sixth of the others: its own images are near to each other.
const FLAT: Boundary = Boundary::Periodic { cell: [[0.4, 0.1, 0.0], [0.2, 2.1, 0.1], [0.0, 0.6, 2.4]] };

#[test]
fn one_two_and_three_boxes_per_axis() {
    for boundary in [WIRE, SLAB, PERIODIC, FLAT, Boundary::Periodic { cell: DODECAHEDRON }] {
        let charge = if boundary.periods().len() == 3 { -1.0 } else { 0.0 };
        let (x, q) = filled(&boundary, 30, charge, 51);
        let exclusions = close_pairs(&boundary, &x, 0.15);
        let (energy, reference) = exact(&boundary, &x, &q, &exclusions);
        for root in [[1, 1, 1], [1, 2, 3], [2, 2, 2], [3, 3, 2]] {
            let (e, out) = run(&mut separated(boundary, 14, (root, 0), 1.5), &x, &q, &exclusions);
            let error = difference(&out, &reference);
            // 1.5^-15 = 2e-3 at the corners, 3^-15 = 7e-8 for most.
            assert!(error < 5e-6, "{boundary:?} {root:?}: {error:.1e}");
            assert!((e - energy).abs() < 1e-7 * energy.abs().max(1.0), "{boundary:?} {root:?}: {e} {energy}");
        }
    }
}

#[test]
fn an_excluded_pair_keeps_its_other_images() {
    // Two charges, far from each other but near across a face, an edge, a corner; nothing else. What is left are all images but one.
    for boundary in [WIRE, SLAB, PERIODIC, Boundary::Periodic { cell: DODECAHEDRON }] {
        let vectors = frame(&boundary, 0.0);
        let pair = Exclusions::from_pairs(2, [[0, 1]]).unwrap();
        for mask in 0..1 << boundary.periods().len() {
            let across = (0..3).filter(|a| mask >> a & 1 == 1).fold([0.0; 3], |s, a| plus(s, 1.0, vectors[a]));
            let first = [0.03, 0.05, 0.02];
            let x = [first, plus(plus(first, 1.0, across), 1.0, [-0.07, -0.06, -0.09])];
            let q = [1.0, -1.0];
            let (energy, reference) = exact(&boundary, &x, &q, &pair);
            for tree in [([1; 3], 0), ([3; 3], 0), ([2, 1, 2], 1)] {
                let (e, out) = run(&mut separated(boundary, 12, tree, 1.5), &x, &q, &pair);
                // Potentials of the excluded image would be 7.8, its field 60.
                let phi =
                    out.potential.iter().zip(&reference.potential).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                let field = out.field.iter().flatten().zip(reference.field.iter().flatten());
                let field = field.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(phi < 1e-5 && field < 1e-4, "{boundary:?} {mask} {tree:?}: {phi:.1e} {field:.1e}");
                assert!((e - energy).abs() < 1e-5, "{boundary:?} {mask} {tree:?}: {e} {energy}");
            }
        }
    }
}

#[test]
fn excluded_pairs_wrapped_at_random() {
    for boundary in [WIRE, SLAB, PERIODIC, FLAT] {
        let (x, q) = filled(&boundary, 60, 0.0, 52);
        let exclusions = close_pairs(&boundary, &x, 0.19);
        assert!(exclusions.n_pairs() > 4, "{boundary:?}: {}", exclusions.n_pairs());
        let (_, reference) = exact(&boundary, &x, &q, &exclusions);
        let mut random = Random(7);
        for tree in [([1; 3], 0), ([2, 3, 4], 0), ([1, 2, 2], 1)] {
            let wrapped = scattered(&boundary, &x, 4.0, &mut random);
            let (_, out) = run(&mut separated(boundary, 14, tree, 1.5), &wrapped, &q, &exclusions);
            assert!(difference(&out, &reference) < 5e-6, "{boundary:?} {tree:?}: {:.1e}", difference(&out, &reference));
        }
    }
}

#[test]
fn particles_on_faces_edges_and_corners() {
    for boundary in BOUNDARIES {
        let vectors = frame(&boundary, 2.0);
        // Every corner, edge and face of boxes of a 4 × 4 × 4 grid in one of them, and the far corner of the cell.
        let mut x = Vec::new();
        for i in 0..27 {
            let f = [i / 9, i / 3 % 3, i % 3].map(|n| f64::from(n) / 8.0);
            x.push(crate::common::systems::combine(f, &vectors));
        }
        x.push(crate::common::systems::combine([0.99; 3], &vectors));
        let q: Vec<f64> = (0..x.len()).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let none = Exclusions::none(x.len());
        let (energy, reference) = exact(&boundary, &x, &q, &none);
        for tree in [([4; 3], 0), ([1; 3], 2), ([4; 3], 1)] {
            let (e, out) = run(&mut separated(boundary, 13, tree, 1.5), &x, &q, &none);
            assert!(difference(&out, &reference) < 1e-5, "{boundary:?} {tree:?}: {:.1e}", difference(&out, &reference));
            assert!((e / energy - 1.0).abs() < 1e-6, "{boundary:?} {tree:?}: {e} {energy}");
        }
    }
}

#[test]
fn excluded_pairs_out_of_reach_are_refused() {
    for boundary in BOUNDARIES {
        let vectors = frame(&boundary, 2.0);
        let at = |f: f64| crate::common::systems::combine([f; 3], &vectors);
        let x = [at(0.01), at(0.5), at(0.98)];
        let pair = |i, j| Exclusions::from_pairs(3, [[i, j]]).unwrap();
        let mut fmm = separated(boundary, 4, ([6; 3], 0), 1.12);
        assert_eq!(fmm.assign(&x, &pair(0, 1)), Err(FmmError::ExclusionTooFar { i: 0, j: 1 }), "{boundary:?}");
        let mut out = Potentials::default();
        assert_eq!(fmm.evaluate(&x, &[1.0, -1.0, 0.0], &mut out), Err(FmmError::NotAssigned));
        let ends = fmm.assign(&x, &pair(2, 0));
        // Near across the corner of the cell, if it repeats.
        assert_eq!(ends.is_ok(), boundary.periods().len() == 3, "{boundary:?}: {ends:?}");
    }
}
