//! Tests of the Hill fit: exact curves, binomial data, and data that determine little.

use rand_distr::{Binomial, Distribution};

use super::*;
use crate::analysis::synthetic::random;

fn points(list: &[(f64, f64, f64)]) -> Vec<TitrationPoint> {
    list.iter().map(|&(ph, deprotonated, samples)| TitrationPoint { ph, deprotonated, samples }).collect()
}

fn curve(pka: f64, slope: f64, samples: f64) -> Vec<TitrationPoint> {
    (0..5)
        .map(|k| {
            let ph = 2.25 + f64::from(k);
            TitrationPoint { ph, deprotonated: deprotonated_fraction(ph, pka, slope), samples }
        })
        .collect()
}

#[test]
fn the_curve_is_the_one_of_henderson_and_hasselbalch() {
    assert_eq!(deprotonated_fraction(4.25, 4.25, 1.3), 0.5);
    assert!((deprotonated_fraction(5.25, 4.25, 1.0) - 10.0 / 11.0).abs() < 1e-15);
    assert!((deprotonated_fraction(2.25, 4.25, 0.5) - 1.0 / 11.0).abs() < 1e-15);
    assert_eq!(deprotonated_fraction(-1e4, 4.25, 1.0), 0.0);
}

#[test]
fn exact_fractions_give_pka_and_slope_back() {
    for (pka, slope) in [(4.25, 1.0), (3.1, 0.7), (6.0, 1.8), (1.9, 1.0)] {
        for samples in [1.5, 1e6] {
            let fitted = fit(&curve(pka, slope, samples)).unwrap();
            let near = |d: Option<f64>, exact: f64| (d.unwrap() - exact).abs() < 1e-8;
            assert!(near(fitted.slope.value(), slope), "{fitted:?}");
            assert!(fitted.deviance.unwrap() < 1e-9);
            if samples > 2.0 {
                assert!(near(fitted.pka.value(), pka), "{fitted:?}");
            }
            if slope == 1.0 {
                assert!(near(fitted.pka_slope_one.value(), pka));
            }
        }
    }
}

#[test]
fn errors_are_those_of_repeated_experiments() {
    let (runs, samples) = (2000, 60);
    let mut rng = random(11);
    let (mut pulls, mut count) = ([0.0; 3], 0.0);
    for _ in 0..runs {
        let mut drawn = curve(4.0, 1.0, samples as f64);
        for point in &mut drawn {
            let hits: u64 = Binomial::new(samples, point.deprotonated).unwrap().sample(&mut rng);
            point.deprotonated = hits as f64 / samples as f64;
        }
        let fitted = fit(&drawn).unwrap();
        // The widening would bias the pulls: undo it.
        let Some(deviance) = fitted.deviance else { continue };
        let scale = (deviance / fitted.degrees_of_freedom as f64).max(1.0).sqrt();
        let pull = |d: Determined, exact: f64| ((d.value().unwrap() - exact) / d.error().unwrap() * scale).powi(2);
        pulls[0] += pull(fitted.pka, 4.0);
        pulls[1] += pull(fitted.slope, 1.0);
        count += 1.0;
    }
    assert!(count > 0.99 * f64::from(runs));
    // χ² of one degree: 1 ± 0.032; 60 samples a point leave the likelihood somewhat off its parabola.
    for pull in &pulls[..2] {
        assert!((0.85..1.15).contains(&(pull / count)), "{:?}", pulls.map(|p| p / count));
    }
}

#[test]
fn points_at_zero_and_one_do_no_harm() {
    let fitted =
        fit(&points(&[(2.0, 0.0, 50.0), (3.0, 0.06, 50.0), (4.0, 0.36, 50.0), (5.0, 0.86, 50.0), (7.0, 1.0, 50.0)]));
    let fitted = fitted.unwrap();
    assert!((fitted.pka.value().unwrap() - 4.23).abs() < 0.05, "{fitted:?}");
    assert!((fitted.slope.value().unwrap() - 1.03).abs() < 0.1, "{fitted:?}");
    // More samples at 0 and 1 far away change little.
    let far =
        fit(&points(&[(0.0, 0.0, 1e3), (3.0, 0.06, 50.0), (4.0, 0.36, 50.0), (5.0, 0.86, 50.0), (9.0, 1.0, 1e3)]))
            .unwrap();
    assert!((far.pka.value().unwrap() - fitted.pka.value().unwrap()).abs() < 0.02);
}

#[test]
fn one_stray_sample_far_away_does_not_hide_the_pka() {
    // Half a sample that a run has kept from its start.
    let fitted =
        fit(&points(&[(3.0, 0.2, 200.0), (4.0, 0.6, 200.0), (5.0, 0.93, 200.0), (11.0, 0.9975, 200.0)])).unwrap();
    assert!((fitted.pka.value().unwrap() - 3.7).abs() < 0.3 && fitted.pka.error().unwrap() < 0.5, "{fitted:?}");
}

/// A third of a sample at pH 5 leaves a fraction of 0 to 0.79 there: it bounds nothing.
#[test]
fn bounds_respect_their_samples() {
    let of = |samples: f64| fit(&points(&[(3.0, 0.0, samples), (5.0, 0.0, samples)])).unwrap();
    assert_eq!((of(0.33).pka, of(0.33).pka_slope_one), (Determined::Unknown, Determined::Unknown));
    // One sample at each pH: both are missed in one of 20 cases where (1 + 10^(5 − pKa)) (1 + 10^(3 − pKa)) = 20. Two decimals are given.
    let Determined::AtLeast(low) = of(1.0).pka else { panic!("{:?}", of(1.0)) };
    let chance = (1.0 + 10_f64.powf(5.0 - low)) * (1.0 + 10_f64.powf(3.0 - low));
    assert!((20.0..20.5).contains(&chance), "{low}: 1 in {chance}");
    assert_eq!(of(100.0).pka, Determined::AtLeast(5.0));
    let high = |samples: f64| fit(&points(&[(3.0, 1.0, samples), (5.0, 1.0, samples)])).unwrap().pka;
    assert_eq!((high(0.33), high(100.0)), (Determined::Unknown, Determined::AtMost(3.0)));
    let Determined::AtMost(limit) = high(1.0) else { panic!("{:?}", high(1.0)) };
    assert!((limit + low - 8.0).abs() < 0.011, "{limit} {low}");
    // Between two pH values with few samples: wider than their distance.
    let jump = |samples: f64| {
        fit(&points(&[(1.0, 0.0, samples), (3.0, 0.0, samples), (5.0, 1.0, samples), (7.0, 1.0, samples)])).unwrap().pka
    };
    assert_eq!(jump(100.0), Determined::Between(3.0, 5.0));
    assert!(matches!(jump(2.0), Determined::Between(low, high) if low < 3.0 && high > 5.0), "{:?}", jump(2.0));
}

#[test]
fn what_cannot_be_determined_is_said() {
    let all_in = fit(&points(&[(2.0, 0.0, 9.0), (4.0, 0.0, 9.0)])).unwrap();
    assert_eq!((all_in.pka, all_in.slope), (Determined::AtLeast(4.0), Determined::Unknown));
    let all_out = fit(&points(&[(2.0, 1.0, 9.0), (4.0, 1.0, 9.0)])).unwrap();
    assert_eq!(all_out.pka, Determined::AtMost(2.0));
    let jump = fit(&points(&[(2.0, 0.0, 9.0), (3.0, 0.0, 9.0), (5.0, 1.0, 9.0)])).unwrap();
    assert_eq!((jump.pka, jump.slope), (Determined::Between(3.0, 5.0), Determined::Unknown));
    let one = jump.pka_slope_one;
    assert!((3.0..5.0).contains(&one.value().unwrap()) && one.error().unwrap() > 0.2, "{one}");
    let partial = fit(&points(&[(3.0, 0.0, 9.0), (4.0, 0.3, 9.0), (5.0, 1.0, 9.0)])).unwrap();
    assert_eq!((partial.pka, partial.slope), (Determined::Between(3.0, 5.0), Determined::Unknown));
    let single = fit(&points(&[(4.0, 0.25, 100.0)])).unwrap();
    assert_eq!((single.pka, single.slope), (Determined::Unknown, Determined::Unknown));
    assert!((single.pka_slope_one.value().unwrap() - (4.0 + 3.0_f64.log10())).abs() < 1e-9);
    let falling = fit(&points(&[(3.0, 0.9, 50.0), (4.0, 0.5, 50.0), (5.0, 0.1, 50.0)])).unwrap();
    assert_eq!((falling.pka, falling.pka_slope_one), (Determined::Unknown, Determined::Unknown));
    let flipped = fit(&points(&[(3.0, 1.0, 50.0), (5.0, 0.0, 50.0)])).unwrap();
    assert_eq!(flipped.pka, Determined::Unknown);
    let flat = fit(&points(&[(3.0, 0.4, 5.0), (4.0, 0.6, 5.0), (5.0, 0.5, 5.0)])).unwrap();
    assert_eq!(flat.pka, Determined::Unknown, "a slope that may be zero has no pKa");
    assert!(flat.slope.error().unwrap() > 0.2);
}

#[test]
fn equal_ph_are_merged_and_empty_points_ignored() {
    let apart = points(&[(3.0, 0.0, 10.0), (3.0, 0.2, 30.0), (4.0, 0.5, 40.0), (5.0, 0.9, 40.0), (9.0, 0.0, 0.0)]);
    let merged = points(&[(3.0, 0.15, 40.0), (4.0, 0.5, 40.0), (5.0, 0.9, 40.0)]);
    let (a, b) = (fit(&apart).unwrap(), fit(&merged).unwrap());
    assert!((a.pka.value().unwrap() - b.pka.value().unwrap()).abs() < 1e-10);
    assert_eq!(a.degrees_of_freedom, b.degrees_of_freedom);
}

#[test]
fn bad_points_are_refused() {
    assert_eq!(fit(&[]), Err(HillError::NoPoints));
    assert_eq!(fit(&points(&[(4.0, 0.5, 0.0)])), Err(HillError::NoPoints));
    for bad in
        [(f64::NAN, 0.5, 1.0), (4.0, 1.1, 1.0), (4.0, f64::NAN, 1.0), (4.0, 0.5, -1.0), (4.0, 0.5, f64::INFINITY)]
    {
        assert!(matches!(fit(&points(&[bad])), Err(HillError::BadPoint { index: 0, .. })), "{bad:?}");
    }
}

#[test]
fn results_read_well() {
    assert_eq!(Determined::Value { value: 4.254, error: 0.05 }.to_string(), "4.25 ± 0.05");
    assert_eq!(Determined::Between(3.0, 5.5).to_string(), "between 3 and 5.5");
    assert_eq!(Determined::Unknown.to_string(), "not determined");
}
