//! Positions and cells that differ from those of the assignment: how errors grow, and what is refused.

use crate::common::systems::scattered;
use crate::common::{Random, cloud, relative_l2, run, solver};
use fmm::regularised::Regularised;
use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, Settings, TreeShape, direct};

const EDGE: f64 = 6.0;
const BOXES: usize = 6;
const N: usize = 3000;

/// Order 8, boxes of edge 1, those that touch are near: relative errors of the fields.
fn system() -> (Fmm<f64>, Vec<[f64; 3]>, Vec<f64>) {
    let (x, q) = cloud(N, [EDGE; 3], 0.0, 5);
    (solver(Boundary::rectangular([EDGE; 3]), 8, [BOXES; 3], 0), x, q)
}

/// What is done to positions and charges.
type Change<'a> = &'a dyn Fn(&mut [[f64; 3]], &mut [f64]);

fn field_error(a: &Potentials, b: &Potentials) -> f64 {
    relative_l2(a.field.iter().flatten(), b.field.iter().flatten())
}

#[test]
fn errors_grow_as_particles_leave_their_boxes() {
    let (mut fmm, x, q) = system();
    let none = Exclusions::none(N);
    let mut random = Random(11);
    for (moved, least, most) in [(0.0, 0.0, 4e-5), (0.1, 2e-5, 2e-4), (0.3, 2e-4, 2e-3), (0.5, 3e-3, 3e-2)] {
        fmm.assign(&x, &none).unwrap();
        // Each by this far, in any direction.
        let direction = |random: &mut Random| loop {
            let d = [(); 3].map(|()| 2.0 * random.uniform() - 1.0);
            let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
            if r > 0.1 && r < 1.0 {
                return d.map(|x| x / r);
            }
        };
        let y: Vec<[f64; 3]> = x
            .iter()
            .map(|x| {
                let d = direction(&mut random);
                [0, 1, 2].map(|a| x[a] + moved * d[a])
            })
            .collect();
        let mut out = Potentials::default();
        fmm.evaluate(&y, &q, &mut out).unwrap();
        let exact = run(&mut solver(fmm.boundary(), 20, [BOXES; 3], 0), &y, &q, &none).1;
        let found = field_error(&out, &exact);
        assert!(found > least && found < most, "{moved}: {found:e}");
    }
}

#[test]
fn particles_far_from_their_boxes_are_refused() {
    let (mut fmm, mut x, q) = system();
    // In the middle of a box, so that it may move by an edge.
    x[17] = [2.5, 3.5, 0.5];
    let mut out = Potentials::default();
    fmm.assign(&x, &Exclusions::none(N)).unwrap();
    x[17][1] += 0.99;
    let energy = fmm.evaluate(&x, &q, &mut out).unwrap();
    // Its images are at home in images of its box.
    x[17][0] -= EDGE;
    x[17][1] += 0.02;
    let Err(FmmError::Strayed { particle: 17, boxes }) = fmm.evaluate(&x, &q, &mut out) else { panic!("not refused") };
    assert!((boxes - 5.5).abs() < 1e-9, "{boxes}");
    fmm.assign(&x, &Exclusions::none(N)).unwrap();
    let again = fmm.evaluate(&x, &q, &mut out).unwrap();
    assert!((energy / again - 1.0).abs() < 0.1, "{energy} {again}");
    // Another configuration altogether.
    let other = scattered(&fmm.boundary(), &x, 1.0, &mut Random(3));
    let all: Vec<[f64; 3]> = other.iter().rev().copied().collect();
    let refused = fmm.evaluate(&all, &q, &mut out).unwrap_err().to_string();
    assert!(refused.ends_with("at most 0.5 are allowed: assign the particles again"), "{refused}");
    assert_eq!(fmm.virial(), Err(FmmError::NotEvaluated));
}

#[test]
fn messages_stay_short_wherever_a_particle_is() {
    let message = |boxes| FmmError::Strayed { particle: 3, boxes }.to_string();
    assert!(message(0.614).starts_with("particle 3 lies 0.61 box edges outside"));
    assert!(message(7.8e97).starts_with("particle 3 lies 7.8e97 box edges outside"));
}

#[test]
fn cells_that_are_stretched_keep_their_accuracy_or_lose_their_assignment() {
    let stretched = |by: f64| Boundary::rectangular([by * EDGE, EDGE, EDGE]);
    for (by, most) in [(1.1, 4e-5), (1.5, 1.5e-4)] {
        let (mut fmm, mut x, q) = system();
        fmm.assign(&x, &Exclusions::none(N)).unwrap();
        fmm.set_boundary(stretched(by)).unwrap();
        x.iter_mut().for_each(|x| x[0] *= by);
        let mut out = Potentials::default();
        fmm.evaluate(&x, &q, &mut out).unwrap();
        let exact = run(&mut solver(stretched(by), 20, [BOXES; 3], 0), &x, &q, &Exclusions::none(N)).1;
        let found = field_error(&out, &exact);
        assert!(found < most, "{by}: {found:e}");
    }
    // By order 8 and the near boxes of the cube fields were wrong by 170 %.
    let (mut fmm, mut x, q) = system();
    fmm.assign(&x, &Exclusions::none(N)).unwrap();
    fmm.set_boundary(stretched(3.0)).unwrap();
    x.iter_mut().for_each(|x| x[0] *= 3.0);
    let mut out = Potentials::default();
    assert_eq!(fmm.evaluate(&x, &q, &mut out), Err(FmmError::NotAssigned));
    let found = run(&mut fmm, &x, &q, &Exclusions::none(N)).1;
    let exact = run(&mut solver(stretched(3.0), 20, [BOXES; 3], 0), &x, &q, &Exclusions::none(N)).1;
    assert!(field_error(&found, &exact) < 2e-3);
}

#[test]
fn no_virial_after_an_evaluation_that_failed() {
    let (mut fmm, mut x, q) = system();
    let mut out = Potentials::default();
    fmm.assign(&x, &Exclusions::none(N)).unwrap();
    fmm.evaluate(&x, &q, &mut out).unwrap();
    assert!(fmm.virial().unwrap().iter().all(|w| w.is_finite()));
    x[3][0] = f64::NAN;
    assert_eq!(fmm.evaluate(&x, &q, &mut out), Err(FmmError::NotFinite { particle: 3, what: "position" }));
    assert_eq!(fmm.virial(), Err(FmmError::NotEvaluated));
}

#[test]
fn errors_of_soft_faces_name_particles_and_not_their_parts() {
    let (x, q) = cloud(100, [2.0; 3], 0.0, 2);
    let settings = Settings::new(6, TreeShape { root: [4; 3], depth: 0 });
    let fault = |change: Change, exclusions: &Exclusions| {
        let (mut x, mut q) = (x.clone(), q.clone());
        change(&mut x, &mut q);
        let mut soft = Regularised::<f64>::new(Boundary::rectangular([2.0; 3]), settings, 0.3).unwrap();
        soft.evaluate(&x, &q, exclusions, &mut Potentials::default()).unwrap_err()
    };
    let none = Exclusions::none(100);
    assert_eq!(fault(&|_, q| q[50] = f64::NAN, &none), FmmError::NotFinite { particle: 50, what: "charge" });
    assert_eq!(fault(&|x, _| x[50][1] = 1e12, &none), FmmError::TooFar { particle: 50 });
    assert_eq!(fault(&|x, _| x[30] = x[70], &none), FmmError::Coincident { particle: 30, other: Some(70) });
    let far = Exclusions::from_pairs(100, [[41, 8]]).unwrap();
    let apart = |x: &mut [[f64; 3]], _: &mut [f64]| (x[41], x[8]) = ([0.1; 3], [1.1; 3]);
    assert_eq!(fault(&apart, &far), FmmError::ExclusionTooFar { i: 8, j: 41 });
}

#[test]
fn what_is_too_large_for_the_numbers_is_not_taken_for_two_particles_on_one_point() {
    let (mut x, q) = cloud(50, [1.0; 3], 0.0, 2);
    let settings = Settings::new(6, TreeShape { root: [2; 3], depth: 0 });
    let mut fmm = Fmm::<f32>::new(Boundary::rectangular([1.0; 3]), settings).unwrap();
    fmm.assign(&x, &Exclusions::none(50)).unwrap();
    let mut out = Potentials::default();
    let large: Vec<f64> = q.iter().map(|q| 1e39 * q).collect();
    assert_eq!(fmm.evaluate(&x, &large, &mut out), Err(FmmError::Overflow { particle: 0 }));
    // One point of the cell, in another image.
    x[20] = [0, 1, 2].map(|a| x[33][a] + [2.0, -1.0, 0.0][a]);
    fmm.assign(&x, &Exclusions::none(50)).unwrap();
    assert_eq!(fmm.evaluate(&x, &q, &mut out), Err(FmmError::Coincident { particle: 20, other: Some(33) }));
    // Direct sums know one image alone.
    let open = direct::at(&x, &q, &Exclusions::none(50), &[20, 33]).unwrap();
    assert!(open.potential.iter().all(|phi| phi.is_finite()));
    x[20] = x[33];
    let found = direct::at(&x, &q, &Exclusions::none(50), &[1, 33]).unwrap_err();
    assert_eq!(found, FmmError::Coincident { particle: 33, other: Some(20) });
}
