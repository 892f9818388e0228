//! Targets: points without a charge behind the particles, against exact sums in which they are particles of charge 0.

use crate::common::systems::{PERIODIC, SLAB, WIRE, filled};
use crate::common::{difference, solver};
use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, ewald};

const PARTICLES: usize = 300;

#[test]
fn targets_feel_the_particles_and_make_nothing() {
    for (boundary, root, depth) in [
        (Boundary::Open, [4; 3], 0),
        (Boundary::Open, [1; 3], 3),
        (Boundary::rectangular([2.0; 3]), [3; 3], 1),
        (PERIODIC, [4; 3], 0),
        (SLAB, [3; 3], 1),
        (WIRE, [3; 3], 1),
    ] {
        // Targets fill twice the space, so that some lie in boxes without particles; the last one is where the one before it is.
        let (mut x, q) = filled(&boundary, PARTICLES, 0.0, 3);
        x.iter_mut().for_each(|r| *r = r.map(|c| 0.5 * c));
        // Excluded pairs are close.
        (x[1], x[7]) = (x[0].map(|c| c + 0.03), x[5].map(|c| c - 0.02));
        let (mut targets, _) = filled(&boundary, 200, 0.0, 4);
        targets.push(targets[199]);
        let exclusions = Exclusions::from_pairs(PARTICLES, [[0, 1], [5, 7]]).unwrap();
        let all = [&x[..], &targets].concat();
        let with_zeros: Vec<f64> = q.iter().copied().chain([0.0; 200]).collect();
        let pairs = Exclusions::from_pairs(all.len() - 1, [[0, 1], [5, 7]]).unwrap();
        let (_, exact) = ewald::evaluate(&boundary, &all[..all.len() - 1], &with_zeros, &pairs, 1e-14).unwrap();

        let mut fmm = solver(boundary, 24, root, depth);
        let mut out = Potentials::default();
        fmm.assign_with_targets(&all, targets.len(), &exclusions).unwrap();
        let energy = fmm.evaluate(&all, &q, &mut out).unwrap();
        let last = out.potential.len() - 1;
        assert_eq!((out.potential[last], out.field[last]), (out.potential[last - 1], out.field[last - 1]));
        out.potential.truncate(last);
        out.field.truncate(last);
        // What order 24 gives with boxes that touch.
        let error = difference(&out, &exact);
        assert!(error < 1e-7, "{boundary:?} {root:?} {depth}: {error:e}");
        let own: f64 = 0.5 * q.iter().zip(&out.potential).map(|(q, phi)| q * phi).sum::<f64>();
        assert!((energy - own).abs() < 1e-12 * own.abs(), "{energy} {own}");
    }
}

#[test]
fn targets_cost_no_pairs_among_themselves() {
    let (x, _) = filled(&Boundary::Open, PARTICLES, 0.0, 3);
    let (targets, _) = filled(&Boundary::Open, 1000, 0.0, 4);
    let mut fmm = solver(Boundary::Open, 4, [1; 3], 0);
    fmm.assign_with_targets(&[&x[..], &targets].concat(), targets.len(), &Exclusions::none(PARTICLES)).unwrap();
    let pairs = PARTICLES * (PARTICLES - 1) + targets.len() * PARTICLES;
    assert_eq!(fmm.work().unwrap().particle_pairs, pairs as u64);
}

#[test]
fn wrong_targets_are_errors() {
    let (mut x, q) = filled(&Boundary::Open, PARTICLES, 0.0, 3);
    x.extend([[0.1, 0.2, 0.3], x[17], [0.3, 0.2, 0.1]]);
    let mut out = Potentials::default();
    // Where a charge is the potential is infinite.
    let mut fmm = Fmm::builder().targets(3).build_for(&x).unwrap();
    let error = fmm.evaluate(&x, &q, &mut out).unwrap_err();
    assert_eq!(error, FmmError::Coincident { particle: PARTICLES + 1, other: Some(17) });
    x[PARTICLES + 1] = x[PARTICLES];
    fmm.assign_with_targets(&x, 3, &Exclusions::none(PARTICLES)).unwrap();
    assert!(fmm.evaluate(&x, &q, &mut out).is_ok());
    let length = |what, expected, found| Err(FmmError::Length { what, expected, found });
    assert_eq!(fmm.evaluate(&x, &[1.0; PARTICLES + 3], &mut out), length("charges", PARTICLES, PARTICLES + 3));
    let error = Fmm::builder().targets(9).build_for(&x[..5]).err();
    assert_eq!(error, Some(FmmError::Length { what: "positions", expected: 9, found: 5 }));
    let refused = fmm.assign_with_targets(&x, 3, &Exclusions::none(PARTICLES + 3));
    assert_eq!(refused, Err(FmmError::Length { what: "exclusions", expected: PARTICLES, found: PARTICLES + 3 }));
    // No particles at all: targets feel nothing.
    let mut fmm = Fmm::builder().targets(x.len()).build_for(&x).unwrap();
    assert_eq!(fmm.evaluate(&x, &[], &mut out), Ok(0.0));
    assert!(out.potential.iter().all(|phi| *phi == 0.0));
}
