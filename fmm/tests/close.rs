//! Pairs so close that rounding of their coordinates decides the error of all forces.

use crate::common::lattices::salt_droplet;
use crate::common::systems::{BOUNDARIES, exact, filled, force_error};
use crate::common::{Random, cloud};
use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, Workload, accuracy, direct};

/// Charges ±1 in turn at random places of a line, a square or a cube of edge 1.
fn scattered(n: usize, dimensions: usize, seed: u64) -> (Vec<[f64; 3]>, Vec<f64>) {
    let mut random = Random(7919 * seed + 13);
    let place = |_| [0, 1, 2].map(|a| if a < dimensions { random.uniform() } else { 0.3 });
    let positions = (0..n).map(place).collect();
    (positions, (0..n).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect())
}

/// What single precision makes of these charges, with the settings that the builder would take.
fn found(x: &[[f64; 3]], q: &[f64], tolerance: f64) -> f64 {
    let none = Exclusions::none(x.len());
    let settings = accuracy::estimate::<f32>(tolerance, &Workload::new(&Boundary::Open, x, 0.0)).unwrap();
    let mut fmm = Fmm::<f32>::new(Boundary::Open, settings).unwrap();
    fmm.assign(x, &none).unwrap();
    let mut out = Potentials::default();
    fmm.evaluate(x, q, &mut out).unwrap();
    force_error(q, &out, &direct::evaluate(x, q, &none).unwrap().1)
}

#[test]
fn forces_are_as_accurate_as_was_asked_for_or_refused() {
    let mut refused = [0; 3];
    for dimensions in 1..=3 {
        for seed in 1..=8 {
            for n in [300, 1000] {
                let (x, q) = scattered(n, dimensions, seed);
                for tolerance in [1e-5, 1e-4] {
                    let error = found(&x, &q, tolerance);
                    match Fmm::builder().tolerance(tolerance).single_precision().build_for(&x) {
                        Ok(_) => assert!(error < tolerance, "{dimensions} {seed} {n}: {error:e} for {tolerance:e}"),
                        Err(FmmError::ClosePair { error: expected, i, j, distance, .. }) => {
                            // The worst pair alone makes nearly all of the error; others, and the signs of charges, make the rest.
                            assert!(
                                (0.5..2.0).contains(&(expected / error)),
                                "{dimensions} {seed} {n}: {error:e}, {expected:e}"
                            );
                            let apart = (0..3).map(|a| (x[i][a] - x[j][a]).powi(2)).sum::<f64>().sqrt();
                            assert!((distance / apart - 1.0).abs() < 1e-9);
                            refused[dimensions - 1] += 1;
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
                assert!(Fmm::builder().tolerance(1e-6).build_for(&x).is_ok());
            }
        }
    }
    // Of 32 each: lines are nearly always refused, cubes never.
    assert!(refused[0] > 16 && refused[1] < 8 && refused[2] == 0, "{refused:?}");
}

/// The least tolerance of single precision, for what it is made for.
#[test]
fn liquids_and_periodic_systems_are_not_refused() {
    let water = salt_droplet(1000, 3);
    let build = |x: &[[f64; 3]], boundary, exclusions: &Exclusions| {
        let builder = Fmm::builder().boundary(boundary).exclusions(exclusions.clone());
        builder.tolerance(1e-5).single_precision().build_for(x).map(|_| ())
    };
    assert_eq!(build(&water.positions, Boundary::Open, &water.exclusions), Ok(()));
    for boundary in BOUNDARIES {
        let (x, _) = filled(&boundary, 2000, 0.0, 5);
        assert_eq!(build(&x, boundary, &Exclusions::none(2000)), Ok(()), "{boundary:?}");
    }
}

/// Two charges 1e-9 of a box apart, at the faces of boxes and of the cell, too.
#[test]
fn a_close_pair_is_found_wherever_it_is() {
    for boundary in BOUNDARIES {
        let (mut x, mut q) = filled(&boundary, 500, 0.0, 5);
        q[0] = -q[1..].iter().sum::<f64>();
        let periods = boundary.periods();
        for place in [[0.1234, 0.7, 0.3], [0.5; 3], [1e-10, 0.0, -1e-10], [1.0; 3]] {
            x[7] = place;
            x[400] = [place[0] + 1.3e-9, place[1] - 1e-9, place[2] + 1.1e-9];
            for p in periods {
                x[400] = [0, 1, 2].map(|a| x[400][a] + p[a]);
            }
            let build = |exclusions| {
                let builder = Fmm::builder().boundary(boundary).exclusions(exclusions).tolerance(1e-4);
                builder.single_precision().build_for(&x).map(|_| ())
            };
            let refused = build(Exclusions::none(500)).unwrap_err();
            assert!(
                matches!(refused, FmmError::ClosePair { i: 7, j: 400, single: true, .. }),
                "{boundary:?}: {refused}"
            );
            assert!(refused.to_string().contains("take double precision"), "{refused}");
            // A pair that does not interact has no error.
            assert_eq!(build(Exclusions::from_pairs(500, [[7, 400]]).unwrap()), Ok(()), "{boundary:?}");
            // Double precision has 1e-7 of it.
            let mut fmm = Fmm::builder().boundary(boundary).tolerance(1e-4).build_for(&x).unwrap();
            let mut out = Potentials::default();
            fmm.evaluate(&x, &q, &mut out).unwrap();
            let error = force_error(&q, &out, &exact(&boundary, &x, &q, &Exclusions::none(500)).1);
            assert!(error < 1e-4, "{boundary:?}: {error:e}");
        }
    }
}

/// `tune` knows the charges, so that a close pair without any is no harm, and knows the pair although it measures the forces of others.
#[test]
fn settings_are_not_found_where_a_close_pair_makes_them_wrong() {
    let (mut x, mut q) = cloud(1000, [1.0; 3], 0.0, 3);
    x[501] = [x[502][0] + 1e-8, x[502][1], x[502][2]];
    let tune = |q: &[f64]| {
        let (none, tolerance) = (Exclusions::none(1000), accuracy::Tolerance::Force(1e-4));
        accuracy::tune::<f32>(&Boundary::Open, &x, q, &none, 0.0, tolerance).map(|_| ())
    };
    let refused = tune(&q).unwrap_err();
    assert!(matches!(refused, accuracy::TuneError::Fmm(FmmError::ClosePair { i: 501, j: 502, .. })), "{refused}");
    q[501] = 0.0;
    q[502] = 0.0;
    assert_eq!(tune(&q), Ok(()));
}
