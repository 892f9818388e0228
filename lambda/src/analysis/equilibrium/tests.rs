//! Tests of the binding polynomial: exact populations, multinomial data, states never seen.

use rand_distr::{Binomial, Distribution};

use super::*;
use crate::analysis::synthetic::random;

/// Exact populations of `samples` frames at each pH.
fn exact(ph: &[f64], constants: &[f64], protons: &[u32], samples: f64) -> Vec<Populations> {
    let at = |&ph: &f64| {
        let weights: Vec<f64> =
            constants.iter().zip(protons).map(|(k, &d)| 10f64.powf(f64::from(d) * ph - k)).collect();
        let sum: f64 = weights.iter().sum();
        Populations { ph, samples: weights.iter().map(|w| samples * w / sum).collect() }
    };
    ph.iter().map(at).collect()
}

fn near(found: Determined, exact: f64) -> bool {
    found.value().is_some_and(|value| (value - exact).abs() < 1e-8)
}

#[test]
fn histidine_has_its_macroscopic_pka_from_the_microscopic_ones() {
    let points = exact(&[5.0, 6.0, 7.0, 8.0], &[0.0, 6.92, 6.53], &[0, 1, 1], 300.0);
    let fitted = fit(&points, &[0, 1, 1]).unwrap();
    assert!(near(fitted.microscopic(0, 1), 6.92) && near(fitted.microscopic(0, 2), 6.53), "{fitted:?}");
    let macroscopic = fitted.macroscopic(0, 1);
    assert!((macroscopic.value().unwrap() - 6.381_589).abs() < 1e-6, "{macroscopic:?}");
    assert!(near(fitted.share(2), 1.0 / (1.0 + 10f64.powf(-0.39))) && near(fitted.share(0), 1.0));
    assert_eq!(fitted.share(0).error(), Some(0.0));
    assert!(fitted.dispersion.unwrap() < 1e-9);
    for (found, exact) in fitted.populations(6.0).iter().zip(&points[1].samples) {
        assert!((found - exact / 300.0).abs() < 1e-9);
    }
}

#[test]
fn forms_that_differ_in_one_proton_or_none_or_two_are_all_the_same_polynomial() {
    // Two protonated forms of a carboxyl group, pK 4.0 and 4.4; then one of two protons, pK 3 and 9.
    let ph = [2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0];
    let carboxyl = fit(&exact(&ph, &[0.0, -0.4, 4.0], &[0, 0, 1], 50.0), &[0, 0, 1]).unwrap();
    assert!(near(carboxyl.microscopic(1, 2), 4.4));
    assert!(near(carboxyl.macroscopic(0, 1), 4.0 + (1.0 + 10f64.powf(0.4)).log10()));
    let diprotic = fit(&exact(&ph, &[0.0, 3.0, 12.0], &[0, 1, 2], 50.0), &[0, 1, 2]).unwrap();
    assert!(near(diprotic.macroscopic(0, 1), 3.0) && near(diprotic.macroscopic(1, 2), 9.0));
    let both_at_once = fit(&exact(&ph, &[0.0, 12.0], &[0, 2], 50.0), &[0, 2]).unwrap();
    assert!(near(both_at_once.macroscopic(0, 2), 6.0) && near(both_at_once.microscopic(0, 1), 6.0));
}

#[test]
fn a_start_far_from_the_answer_is_no_obstacle() {
    let ph: Vec<f64> = (0..15).map(f64::from).collect();
    let fitted = fit(&exact(&ph, &[0.0, 0.5, 14.0], &[0, 1, 2], 1e4), &[0, 1, 2]).unwrap();
    assert!(near(fitted.macroscopic(0, 1), 0.5) && near(fitted.macroscopic(1, 2), 13.5));
}

#[test]
fn errors_cover_the_truth_as_often_as_they_should() {
    let (ph, protons) = ([5.0, 6.0, 7.0, 8.0], [0, 1, 1]);
    let truth = exact(&ph, &[0.0, 6.92, 6.53], &protons, 1.0);
    let mut rng = random(9);
    let runs = 300;
    let mut pulls = [0.0; 3];
    for _ in 0..runs {
        let draw = |p: &Populations| {
            let first = Binomial::new(200, p.samples[0]).unwrap().sample(&mut rng);
            let second = Binomial::new(200 - first, p.samples[1] / (1.0 - p.samples[0])).unwrap().sample(&mut rng);
            Populations { ph: p.ph, samples: [first, second, 200 - first - second].map(|n| n as f64).to_vec() }
        };
        let fitted = fit(&truth.iter().map(draw).collect::<Vec<_>>(), &protons).unwrap();
        let results = [fitted.microscopic(0, 1), fitted.macroscopic(0, 1), fitted.share(1)];
        let exact = [6.92, 6.381_589, 1.0 / (1.0 + 10f64.powf(0.39))];
        for ((pull, found), exact) in pulls.iter_mut().zip(results).zip(exact) {
            *pull += ((found.value().unwrap() - exact) / found.error().unwrap()).powi(2) / f64::from(runs);
        }
    }
    // 1 ± 0.08, less because deviances below one do not narrow the errors.
    assert!(pulls.iter().all(|pull| (0.6..1.25).contains(pull)), "{pulls:?}");
}

#[test]
fn states_never_seen_leave_the_others_as_they_are() {
    let mut points = exact(&[5.0, 6.0, 7.0], &[0.0, 6.5], &[0, 1], 100.0);
    points.iter_mut().for_each(|p| p.samples.push(0.0));
    points.push(Populations { ph: 9.0, samples: vec![0.0; 3] });
    let fitted = fit(&points, &[0, 1, 1]).unwrap();
    assert!(near(fitted.microscopic(0, 1), 6.5) && near(fitted.macroscopic(0, 1), 6.5));
    assert_eq!((fitted.microscopic(0, 2), fitted.share(2)), (Determined::Unknown, Determined::Unknown));
    assert_eq!(fit(&[], &[0, 1]), None);
    let one = fit(&[Populations { ph: 4.0, samples: vec![0.0, 5.0] }], &[0, 1]).unwrap();
    assert_eq!(one.populations(2.0), [0.0, 1.0]);
    assert_eq!(one.macroscopic(0, 1), Determined::Unknown);
}
