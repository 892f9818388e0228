//! Pairs so close that rounding of their coordinates decides the error of all forces.

use std::time::Instant;

use crate::common::lattices::salt_droplet;
use crate::common::systems::{BOUNDARIES, exact, filled, force_error};
use crate::common::{Random, cloud};
use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, Settings, TreeShape, Workload, accuracy, direct};

/// Where particles are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Anywhere on a line, in a square or a cube of edge 1.
    Cube(usize),
    /// In a Plummer sphere, most of them in its middle.
    Plummer,
    /// In eight crowds in a cube of edge 1.
    Crowds,
    /// On a grid, but for a twentieth of its spacing.
    Grid,
}

/// `n` particles, or a few more or less on a grid.
fn placed(n: usize, place: Place, seed: u64) -> Vec<[f64; 3]> {
    let random = &mut Random(7919 * seed + 13);
    let edge = (n as f64).cbrt().round() as usize;
    let crowds: [[f64; 3]; 8] = std::array::from_fn(|_| [0; 3].map(|_| random.uniform()));
    let mut one = |i: usize| match place {
        Place::Cube(dimensions) => [0, 1, 2].map(|a| if a < dimensions { random.uniform() } else { 0.3 }),
        Place::Plummer => {
            // None lies beyond 20.
            let part = 0.9963 * random.uniform();
            let radius = 1.0 / (part.powf(-2.0 / 3.0) - 1.0).sqrt();
            let (z, turn) = (2.0 * random.uniform() - 1.0, std::f64::consts::TAU * random.uniform());
            let across = (1.0 - z * z).sqrt();
            [across * turn.cos(), across * turn.sin(), z].map(|c| radius * c)
        }
        Place::Crowds => crowds[i % 8].map(|c| c + 0.02 * (random.uniform() + random.uniform() + random.uniform())),
        Place::Grid => [i / edge / edge, i / edge % edge, i % edge].map(|c| c as f64 + 0.1 * (random.uniform() - 0.5)),
    };
    (0..if place == Place::Grid { edge.pow(3) } else { n }).map(&mut one).collect()
}

/// Charges ±1 in turn, as in rock salt on a grid of even edge, or all of one sign.
fn charged(n: usize, place: Place, masses: bool) -> Vec<f64> {
    let edge = (n as f64).cbrt().round() as usize;
    let odd = |i: usize| match place {
        Place::Grid => i / edge / edge + i / edge % edge + i % edge,
        Place::Crowds => i / 8,
        _ => i,
    };
    (0..n).map(|i| if masses || odd(i).is_multiple_of(2) { 1.0 } else { -1.0 }).collect()
}

/// What single precision makes of these charges, with the settings that the builder would take, and what that says to it.
fn found(x: &[[f64; 3]], q: &[f64], tolerance: f64) -> (f64, Result<f64, FmmError>) {
    let none = Exclusions::none(x.len());
    let settings = accuracy::estimate::<f32>(tolerance, &Workload::new(&Boundary::Open, x, 0.0)).unwrap();
    let mut fmm = Fmm::<f32>::new(Boundary::Open, settings).unwrap();
    fmm.assign(x, &none).unwrap();
    let mut out = Potentials::default();
    // Two that are rounded to one point have results without end, if nobody looks.
    let error = match fmm.evaluate(x, q, &mut out) {
        Ok(_) => force_error(q, &out, &direct::evaluate(x, q, &none).unwrap().1),
        Err(FmmError::Overflow { .. }) => f64::INFINITY,
        Err(error) => panic!("{error}"),
    };
    let mut fmm = Fmm::builder().tolerance(tolerance).single_precision().build_for(x).unwrap();
    let said = fmm.evaluate(x, q, &mut out);
    if error.is_finite() {
        // Whoever has a solver from settings can ask for the same.
        let checked = fmm.check_close_pairs(x, q, &none, &out, tolerance);
        assert_eq!(checked.err(), said.clone().err());
    }
    (error, said)
}

#[test]
fn forces_are_as_accurate_as_was_asked_for_or_refused() {
    let places = [Place::Cube(1), Place::Cube(2), Place::Cube(3), Place::Plummer, Place::Crowds, Place::Grid];
    for place in places {
        for masses in [false, true] {
            let mut refused = 0;
            for seed in 1..=6 {
                // The direct sum of many takes most of the time.
                let sizes: &[usize] = if seed <= 2 { &[300, 1000, 3000] } else { &[300, 1000] };
                for &n in sizes {
                    let x = placed(n, place, seed);
                    let q = charged(x.len(), place, masses);
                    for tolerance in [1e-5, 1e-4] {
                        let (error, said) = found(&x, &q, tolerance);
                        let what = format!("{place:?} {masses} {seed} {n}: {error:e} for {tolerance:e}");
                        match said {
                            // The forces of a crystal nearly cancel, so that what is estimated for its expansions is too little.
                            Ok(_) => assert!(error < tolerance || place == Place::Grid && !masses, "{what}"),
                            Err(FmmError::ClosePair { error: expected, i, j, distance, .. }) => {
                                // Nineteen twentieths of the tolerance are what close pairs may take.
                                assert!(error > 0.9 * tolerance, "{what}");
                                let right = (0.95..1.05).contains(&(expected / error));
                                assert!(right || error > 0.1 && expected > 0.1, "{what}, {expected:e}");
                                let apart = (0..3).map(|a| (x[i][a] - x[j][a]).powi(2)).sum::<f64>().sqrt();
                                assert!((distance / apart - 1.0).abs() < 1e-9);
                                refused += 1;
                            }
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            }
            eprintln!("{place:?}, {}: {refused} of 28 refused", if masses { "masses" } else { "charges" });
            let expected = match place {
                Place::Cube(1) => 16..=28,
                Place::Cube(2) | Place::Plummer | Place::Crowds => 1..=18,
                _ => 0..=0,
            };
            assert!(expected.contains(&refused), "{place:?} {masses}: {refused}");
        }
    }
    // Double precision has a billionth of it.
    let x = placed(1000, Place::Cube(1), 1);
    let mut fmm = Fmm::builder().tolerance(1e-6).build_for(&x).unwrap();
    assert!(fmm.evaluate(&x, &charged(1000, Place::Cube(1), false), &mut Potentials::default()).is_ok());
}

/// All particles of a crowd that fills a small part of its box are close to each other by what rounding is to the box: 5 s for the pairs of 10 000 where an evaluation
/// takes 0.04 s.
#[test]
fn pairs_that_do_not_matter_are_not_looked_at() {
    let x = placed(10_000, Place::Plummer, 2);
    let (q, none) = (charged(x.len(), Place::Plummer, true), Exclusions::none(x.len()));
    let mut fmm = Fmm::<f32>::new(Boundary::Open, Settings::new(20, TreeShape { root: [1; 3], depth: 0 })).unwrap();
    fmm.assign(&x, &none).unwrap();
    let mut out = Potentials::default();
    let least = |work: &mut dyn FnMut()| {
        let time = |_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64()
        };
        (0..3).map(time).fold(f64::INFINITY, f64::min)
    };
    let evaluating = least(&mut || assert!(fmm.evaluate(&x, &q, &mut out).is_ok()));
    let looking = least(&mut || drop(fmm.check_close_pairs(&x, &q, &none, &out, 1e-5)));
    eprintln!("{evaluating:.1e} s, {looking:.1e} s");
    assert!(looking < 20.0 * evaluating, "{looking:e} s, {evaluating:e} s");
}

/// Positions and charges of a later assignment, and each of several charge vectors.
#[test]
fn a_tolerance_is_kept_or_refused_after_each_assignment() {
    let (x, mut q) = cloud(500, [1.0; 3], 0.0, 3);
    let (mut close, none) = (x.clone(), Exclusions::none(500));
    close[7] = [x[400][0] + 1e-8, x[400][1], x[400][2]];
    let mut fmm = Fmm::builder().tolerance(1e-4).single_precision().build_for(&x).unwrap();
    let mut out = Potentials::default();
    assert!(fmm.evaluate(&x, &q, &mut out).is_ok());
    for _ in 0..2 {
        fmm.assign(&close, &none).unwrap();
        // Refused as often as it is asked for.
        for _ in 0..2 {
            let refused = fmm.evaluate(&close, &q, &mut out).unwrap_err();
            assert!(matches!(refused, FmmError::ClosePair { i: 7, j: 400, .. }), "{refused}");
        }
        fmm.assign(&x, &none).unwrap();
        assert!(fmm.evaluate(&x, &q, &mut out).is_ok());
    }
    // Pairs that an assignment excludes; vectors without charges there.
    fmm.assign(&close, &Exclusions::from_pairs(500, [[7, 400]]).unwrap()).unwrap();
    assert!(fmm.evaluate(&close, &q, &mut out).is_ok());
    let with = q.clone();
    (q[7], q[400]) = (0.0, 0.0);
    fmm.assign(&close, &none).unwrap();
    let refused = fmm.evaluate_vectors(&close, &[&q, &with], &mut Vec::new()).unwrap_err();
    let FmmError::Vector { vector: 1, error } = refused else { panic!("{refused}") };
    assert!(matches!(*error, FmmError::ClosePair { i: 7, j: 400, .. }), "{error}");
    assert!(fmm.evaluate(&close, &q, &mut out).is_ok());
    // An order promises nothing.
    let mut fmm = Fmm::builder().order(8, 1.2).single_precision().build_for(&x).unwrap();
    fmm.assign(&close, &none).unwrap();
    let evaluated = fmm.evaluate(&close, &with, &mut out);
    assert!(matches!(evaluated, Ok(_) | Err(FmmError::Overflow { .. })), "{evaluated:?}");
}

#[test]
fn crowds_of_a_later_assignment_are_refused() {
    let (x, q) = cloud(500, [1.0; 3], 0.0, 3);
    let mut far = x.clone();
    far[7] = [1e6, 0.0, 0.0];
    let mut fmm = Fmm::builder().tolerance(1e-4).single_precision().build_for(&x).unwrap();
    let refused = fmm.assign(&far, &Exclusions::none(500)).unwrap_err();
    assert!(matches!(refused, FmmError::Rounding { particles: 499, .. }), "{refused}");
    assert_eq!(fmm.evaluate(&far, &q, &mut Potentials::default()), Err(FmmError::NotAssigned));
}

#[test]
fn what_does_not_fit_together_is_not_checked() {
    let (x, q) = cloud(50, [1.0; 3], 0.0, 3);
    let none = Exclusions::none(50);
    let mut fmm = Fmm::<f32>::new(Boundary::Open, Settings::new(4, TreeShape { root: [1; 3], depth: 0 })).unwrap();
    let mut out = Potentials::default();
    assert_eq!(fmm.check_close_pairs(&x, &q, &none, &out, 1e-4), Err(FmmError::NotAssigned));
    fmm.assign(&x, &none).unwrap();
    let length = |what, expected, found| Err(FmmError::Length { what, expected, found });
    assert_eq!(fmm.check_close_pairs(&x, &q, &none, &out, 1e-4), length("fields", 50, 0));
    fmm.evaluate(&x, &q, &mut out).unwrap();
    assert_eq!(fmm.check_close_pairs(&x[1..], &q, &none, &out, 1e-4), length("positions", 50, 49));
    assert_eq!(fmm.check_close_pairs(&x, &q[1..], &none, &out, 1e-4), length("charges", 50, 49));
    assert_eq!(fmm.check_close_pairs(&x, &q, &Exclusions::none(3), &out, 1e-4), length("exclusions", 50, 3));
    for tolerance in [0.0, 1e-6, 1.0, f64::NAN] {
        let refused = fmm.check_close_pairs(&x, &q, &none, &out, tolerance);
        assert!(matches!(refused, Err(FmmError::Tolerance { .. })), "{tolerance}");
    }
    assert_eq!(fmm.check_close_pairs(&x, &q, &none, &out, 1e-4), Ok(()));
}

/// The least tolerance of single precision, for what it is made for.
#[test]
fn liquids_and_periodic_systems_are_not_refused() {
    let water = salt_droplet(1000, 3);
    let evaluated = |x: &[[f64; 3]], q: &[f64], boundary, exclusions: &Exclusions| {
        let builder = Fmm::builder().boundary(boundary).exclusions(exclusions.clone());
        let mut fmm = builder.tolerance(1e-5).single_precision().build_for(x).unwrap();
        fmm.evaluate(x, q, &mut Potentials::default()).map(|_| ())
    };
    assert_eq!(evaluated(&water.positions, &water.charges, Boundary::Open, &water.exclusions), Ok(()));
    for boundary in BOUNDARIES {
        let (x, q) = filled(&boundary, 2000, 0.0, 5);
        assert_eq!(evaluated(&x, &q, boundary, &Exclusions::none(2000)), Ok(()), "{boundary:?}");
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
            let evaluated = |exclusions| {
                let builder = Fmm::builder().boundary(boundary).exclusions(exclusions).tolerance(1e-4);
                let mut fmm = builder.single_precision().build_for(&x).unwrap();
                fmm.evaluate(&x, &q, &mut Potentials::default()).map(|_| ())
            };
            let refused = evaluated(Exclusions::none(500)).unwrap_err();
            assert!(
                matches!(refused, FmmError::ClosePair { i: 7, j: 400, single: true, .. }),
                "{boundary:?}: {refused}"
            );
            assert!(refused.to_string().contains("take double precision"), "{refused}");
            // A pair that does not interact has no error.
            assert_eq!(evaluated(Exclusions::from_pairs(500, [[7, 400]]).unwrap()), Ok(()), "{boundary:?}");
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
