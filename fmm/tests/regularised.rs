//! Soft box faces: smooth energy, its gradient, the right values.

use crate::common::{cloud, difference};
use fmm::regularised::Regularised;
use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, Settings, TreeShape, ewald};

const CELL: [[f64; 3]; 3] = [[2.0, 0.0, 0.0], [0.3, 2.1, 0.0], [-0.4, 0.5, 1.9]];

fn soft(order: usize) -> Regularised<f64> {
    let settings = Settings::new(order, TreeShape { root: [4; 3], depth: 0 });
    Regularised::new(Boundary::Periodic { cell: CELL }, settings, 0.2).unwrap()
}

#[test]
fn values_are_those_of_the_ewald_sum() {
    let (mut x, q) = cloud(80, [2.0; 3], 0.5, 3);
    x[1] = x[0].map(|c| c + 0.05);
    let exclusions = Exclusions::from_pairs(80, [[0, 1]]).unwrap();
    let (_, exact) = ewald::evaluate(&Boundary::Periodic { cell: CELL }, &x, &q, &exclusions, 1e-15).unwrap();
    let mut out = Potentials::default();
    soft(24).evaluate(&x, &q, &exclusions, &mut out).unwrap();
    // Truncation at order 24 for particles up to 0.2 edges outside their boxes.
    assert!(difference(&out, &exact) < 1e-6, "{:.1e}", difference(&out, &exact));
}

/// Grids so small that the parts of a particle lie in a box and an image of the same box, or half a period apart.
#[test]
fn small_grids_have_the_values_of_the_ewald_sum() {
    let boundary = Boundary::Periodic { cell: CELL };
    let (mut x, q) = cloud(60, [2.0; 3], 0.5, 3);
    for i in 0..15 {
        let turn = f64::from(i as u32);
        x[2 * i + 1] = [0, 1, 2].map(|a| x[2 * i][a] + 0.07 * (turn + 2.1 * a as f64).cos());
    }
    let exclusions = Exclusions::from_pairs(60, (0..15).map(|i| [2 * i, 2 * i + 1])).unwrap();
    let (_, exact) = ewald::evaluate(&boundary, &x, &q, &exclusions, 1e-15).unwrap();
    for root in [[1; 3], [2; 3], [3; 3], [4; 3], [5; 3], [1, 2, 2], [3, 2, 2]] {
        let settings = Settings::new(24, TreeShape { root, depth: 0 });
        let mut out = Potentials::default();
        let mut soft = Regularised::<f64>::new(boundary, settings, 0.2).unwrap();
        soft.evaluate(&x, &q, &exclusions, &mut out).unwrap();
        let error = difference(&out, &exact);
        assert!(error < 2e-6, "{root:?}: {error:.1e}");
    }
}

/// Parts two boxes apart of an excluded pair that is less than one apart, nearer than the image that lies on the other side.
#[test]
fn pairs_whose_parts_lie_two_boxes_apart_are_skipped_there_or_refused() {
    let (edges, tree) = ([2.0, 2.1, 1.9], |m| TreeShape { root: [m; 3], depth: 0 });
    let boundary = Boundary::rectangular(edges);
    let (mut x, q) = cloud(60, edges, 0.5, 3);
    let exclusions = Exclusions::from_pairs(60, [[0, 1]]).unwrap();
    for boxes in 2..=5 {
        let edge = edges[0] / boxes as f64;
        (x[0], x[1]) = ([1.15 * edge, 0.4, 0.5], [1.85 * edge, 0.45, 0.4]);
        let (_, exact) = ewald::evaluate(&boundary, &x, &q, &exclusions, 1e-15).unwrap();
        let evaluate = |separation| {
            let settings = Settings { separation, ..Settings::new(20, tree(boxes)) };
            let mut out = Potentials::default();
            let mut soft = Regularised::<f64>::new(boundary, settings, 0.2).unwrap();
            soft.evaluate(&x, &q, &exclusions, &mut out).map(|_| difference(&out, &exact))
        };
        assert_eq!(evaluate(Settings::TOUCHING), Err(FmmError::ExclusionTooFar { i: 0, j: 1 }), "{boxes}");
        let error = evaluate(Settings::TWO_APART).unwrap();
        assert!(error < 1e-6, "{boxes}: {error:.1e}");
    }
}

#[test]
fn energy_is_smooth_across_faces_and_forces_are_its_gradient() {
    let (mut x, q) = cloud(60, [2.0; 3], 0.0, 8);
    let none = Exclusions::none(60);
    // Low order: the jumps of hard faces are large. Particle 0 crosses a corner where eight boxes meet.
    let (order, corner) = (3, [0, 1, 2].map(|a| 0.25 * (CELL[0][a] + CELL[1][a] + CELL[2][a])));
    let (mut soft, mut out) = (soft(order), Potentials::default());
    let settings = Settings::new(order, TreeShape { root: [4; 3], depth: 0 });
    let mut hard = Fmm::<f64>::new(Boundary::Periodic { cell: CELL }, settings).unwrap();
    let (mut largest_soft, mut largest_hard) = (0.0f64, 0.0f64);
    let h = 1e-4;
    for k in -40..40 {
        let mut energies = [[0.0; 2]; 2];
        for (side, e) in energies.iter_mut().enumerate() {
            let s = 5e-3 * f64::from(k) + h * side as f64;
            x[0] = [corner[0] + s, corner[1] - 0.7 * s, corner[2] + 0.4 * s];
            e[0] = soft.evaluate(&x, &q, &none, &mut out).unwrap();
            hard.assign(&x, &none).unwrap();
            e[1] = hard.evaluate(&x, &q, &mut Potentials::default()).unwrap();
        }
        let along = |e: [f64; 3]| q[0] * (e[0] - 0.7 * e[1] + 0.4 * e[2]);
        let step = along(out.field[0]) * h;
        largest_soft = largest_soft.max((energies[1][0] - energies[0][0] + step).abs());
        largest_hard = largest_hard.max((energies[1][1] - energies[0][1] + step).abs());
    }
    // ½ h² E'' = 1e-8 E''; a hard face jumps by the truncation error.
    assert!(largest_soft < 1e-6 && largest_hard > 30.0 * largest_soft, "{largest_soft:e} {largest_hard:e}");
}

#[test]
fn impossible_widths_are_refused() {
    let settings = Settings::new(3, TreeShape { root: [4; 3], depth: 0 });
    for width in [0.0, 0.6, f64::NAN] {
        let refused = Regularised::<f64>::new(Boundary::Periodic { cell: CELL }, settings, width).err();
        assert!(matches!(refused, Some(FmmError::Width { .. })));
    }
    let open = Regularised::<f64>::new(Boundary::Open, settings, 0.1).err();
    assert!(matches!(open, Some(FmmError::SoftFaces { periods: 0 })));
}
