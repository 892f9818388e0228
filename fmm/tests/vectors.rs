//! Several charge vectors in one pass: the same results as those of single evaluations, to the last bit, because every sum is made in the same order.

use crate::common::Random;
use crate::common::systems::{PERIODIC, SLAB, WIRE, filled};
use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, Real, Settings, TreeShape};

const PARTICLES: usize = 300;
const TARGETS: usize = 40;

/// `n` charge vectors; the first is zero but for two particles, and every other one has a net charge where there may be one.
fn vectors(boundary: &Boundary, n: usize) -> Vec<Vec<f64>> {
    let may_be_charged = !matches!(boundary, Boundary::Slab { .. } | Boundary::Wire { .. });
    let of_seed = |v: usize| {
        let charge = if may_be_charged && v % 2 == 1 { 3.0 } else { 0.0 };
        filled(boundary, PARTICLES, charge, 50 + v as u64).1
    };
    let mut out: Vec<Vec<f64>> = (0..n).map(of_seed).collect();
    if let Some(first) = out.first_mut() {
        first.fill(0.0);
        (first[3], first[200]) = (0.5, -0.5);
    }
    out
}

fn slices(vectors: &[Vec<f64>]) -> Vec<&[f64]> {
    vectors.iter().map(Vec::as_slice).collect()
}

/// Compares several numbers of vectors, in turn with single evaluations of the same solver.
fn compare<T: Real>(boundary: Boundary, settings: Settings) {
    let (mut x, _) = filled(&boundary, PARTICLES, 0.0, 3);
    // Half of them in one corner, so that boxes differ in their number of particles and some are empty; excluded pairs are close.
    x.iter_mut().step_by(2).for_each(|r| *r = r.map(|c| 0.4 * c));
    (x[1], x[7]) = (x[0].map(|c| c + 0.03), x[5].map(|c| c - 0.02));
    x.extend(filled(&boundary, TARGETS, 0.0, 4).0);
    let exclusions = Exclusions::from_pairs(PARTICLES, [[0, 1], [5, 7]]).unwrap();
    let mut fmm = Fmm::<T>::new(boundary, settings).unwrap();
    fmm.assign_with_targets(&x, TARGETS, &exclusions).unwrap();
    let all = vectors(&boundary, 17);
    let single: Vec<(f64, Potentials)> = (all.iter())
        .map(|charges| {
            let mut out = Potentials::default();
            (fmm.evaluate(&x, charges, &mut out).unwrap(), out)
        })
        .collect();
    // More than one pass from 9 on. `out` has entries from the number before.
    let mut out = Vec::new();
    for n in [0, 1, 2, 3, 4, 8, 9, 17, 5] {
        let energies = fmm.evaluate_vectors(&x, &slices(&all[..n]), &mut out).unwrap();
        assert_eq!((energies.len(), out.len()), (n, n));
        for (v, ((energy, out), single)) in energies.into_iter().zip(&out).zip(&single).enumerate() {
            assert!((energy, out) == (single.0, &single.1), "vector {v} of {n}: {boundary:?} {settings:?}");
        }
    }
    let mut again = Potentials::default();
    let energy = fmm.evaluate(&x, &all[4], &mut again).unwrap();
    assert!((energy, again) == single[4], "a single one after several: {boundary:?} {settings:?}");
}

#[test]
fn results_are_those_of_single_evaluations() {
    for (boundary, root, depth, separation) in [
        (Boundary::Open, [4; 3], 0, 1.12),
        (Boundary::Open, [1; 3], 3, 1.12),
        (Boundary::Open, [2; 3], 2, 1.5),
        (Boundary::rectangular([2.0; 3]), [6; 3], 0, 1.12),
        (Boundary::rectangular([2.0; 3]), [3; 3], 1, 1.12),
        (PERIODIC, [4, 5, 4], 0, 1.12),
        (PERIODIC, [3; 3], 2, 1.12),
        (SLAB, [3; 3], 1, 1.12),
        (WIRE, [4; 3], 0, 1.12),
    ] {
        // M2L of low orders by matrices, of higher ones by rotations.
        for order in [3, 8] {
            let settings = Settings { order, tree: TreeShape { root, depth }, separation };
            compare::<f64>(boundary, settings);
            compare::<f32>(boundary, settings);
        }
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let (x, _) = filled(&PERIODIC, PARTICLES, 0.0, 3);
    let charges = vectors(&PERIODIC, 5);
    let result = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut fmm = Fmm::<f64>::new(PERIODIC, Settings::new(4, TreeShape { root: [3; 3], depth: 1 })).unwrap();
            fmm.assign(&x, &Exclusions::none(PARTICLES)).unwrap();
            let mut out = Vec::new();
            (fmm.evaluate_vectors(&x, &slices(&charges), &mut out).unwrap(), out)
        })
    };
    assert!(result(1) == result(3));
}

/// A solver of a slab, its particles and charge vectors for two passes.
fn slab() -> (Fmm<f64>, Vec<[f64; 3]>, Vec<Vec<f64>>) {
    let (x, _) = filled(&SLAB, PARTICLES, 0.0, 3);
    let mut fmm = Fmm::new(SLAB, Settings::new(4, TreeShape { root: [3; 3], depth: 0 })).unwrap();
    fmm.assign(&x, &Exclusions::none(PARTICLES)).unwrap();
    (fmm, x, vectors(&SLAB, 12))
}

#[test]
fn what_is_wrong_with_a_vector_is_said_with_its_number() {
    let (mut fmm, x, charges) = slab();
    let mut out = Vec::new();
    let mut refused = |wrong: Vec<f64>| {
        let mut charges = charges.clone();
        charges[10] = wrong;
        match fmm.evaluate_vectors(&x, &slices(&charges), &mut out) {
            Err(FmmError::Vector { vector: 10, error }) => *error,
            other => panic!("{other:?}"),
        }
    };
    let short = FmmError::Length { what: "charges", expected: PARTICLES, found: PARTICLES - 1 };
    assert_eq!(refused(charges[0][1..].to_vec()), short);
    let with = |i: usize, q: f64| (0..PARTICLES).map(|k| if k == i { q } else { 0.0 }).collect::<Vec<f64>>();
    assert!(matches!(refused(with(7, 1.0)), FmmError::Charged { charge: 1.0 }));
    assert_eq!(refused(with(7, f64::NAN)), FmmError::NotFinite { particle: 7, what: "charge" });
    let mut huge = with(7, 1e308);
    huge[8] = -1e308;
    assert!(matches!(refused(huge), FmmError::Overflow { .. }));
    let error = FmmError::Vector { vector: 10, error: Box::new(short) }.to_string();
    assert_eq!(error, "charge vector 10: charges: expected 300 entries, found 299");
}

#[test]
fn what_is_wrong_with_positions_is_said_as_by_one_evaluation() {
    let (mut fmm, x, charges) = slab();
    let mut out = Vec::new();
    let short = fmm.evaluate_vectors(&x[1..], &slices(&charges), &mut out);
    assert_eq!(short, Err(FmmError::Length { what: "positions", expected: PARTICLES, found: PARTICLES - 1 }));
    let mut refused = |to: [f64; 3]| {
        let mut x = x.clone();
        x[17] = to;
        fmm.evaluate_vectors(&x, &slices(&charges), &mut out).unwrap_err()
    };
    assert_eq!(refused([f64::NAN, 0.0, 0.0]), FmmError::NotFinite { particle: 17, what: "position" });
    assert!(matches!(refused([0.0, 0.0, 1e3]), FmmError::Strayed { particle: 17, .. }));
    let neighbour = x.iter().position(|r| *r != x[17]).unwrap();
    let mut twice = x.clone();
    twice[17] = twice[neighbour];
    fmm.assign(&twice, &Exclusions::none(PARTICLES)).unwrap();
    let coincident = fmm.evaluate_vectors(&twice, &slices(&charges), &mut out);
    assert_eq!(coincident, Err(FmmError::Coincident { particle: neighbour, other: Some(17) }));
    let mut fresh = Fmm::<f64>::new(SLAB, fmm.settings()).unwrap();
    assert_eq!(fresh.evaluate_vectors(&x, &slices(&charges), &mut out), Err(FmmError::NotAssigned));
}

#[test]
fn a_virial_is_that_of_a_single_evaluation() {
    let (mut fmm, x, charges) = slab();
    let mut one = Potentials::default();
    fmm.evaluate(&x, &charges[5], &mut one).unwrap();
    let virial = fmm.virial().unwrap();
    fmm.evaluate_vectors(&x, &slices(&charges), &mut Vec::new()).unwrap();
    assert_eq!(fmm.virial(), Err(FmmError::NotEvaluated));
    fmm.evaluate(&x, &charges[5], &mut one).unwrap();
    assert_eq!(fmm.virial(), Ok(virial));
}

#[test]
fn columns_of_the_matrix_of_pairs_are_symmetric() {
    // Unit charges one after the other; φ_i of a unit charge at j is φ_j of one at i, 1/r, and order 24 gives it to 1e-6 at least.
    let mut random = Random(5);
    let x: Vec<[f64; 3]> = (0..20).map(|_| [0; 3].map(|_| random.uniform())).collect();
    let unit: Vec<Vec<f64>> = (0..20).map(|i| (0..20).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    let mut fmm = Fmm::<f64>::new(Boundary::Open, Settings::new(24, TreeShape { root: [4; 3], depth: 0 })).unwrap();
    fmm.assign(&x, &Exclusions::none(20)).unwrap();
    let mut out = Vec::new();
    fmm.evaluate_vectors(&x, &slices(&unit), &mut out).unwrap();
    for i in 0..20 {
        for j in 0..i {
            let inverse = 1.0 / (0..3).map(|a| (x[i][a] - x[j][a]).powi(2)).sum::<f64>().sqrt();
            for found in [out[i].potential[j], out[j].potential[i]] {
                assert!((found / inverse - 1.0).abs() < 1e-6, "{i} {j}: {found} for {inverse}");
            }
        }
    }
}
