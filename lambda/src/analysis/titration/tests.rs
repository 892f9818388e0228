//! Tests of titrations from synthetic λ(t) with known constants.

use super::*;
use crate::analysis::occupancy::{OCCUPIED, states};
use crate::analysis::synthetic::{forms, random as test_random};

const PH: [f64; 5] = [2.25, 3.25, 4.25, 5.25, 6.25];

fn of_forms(weights: &[Vec<f64>]) -> Vec<State> {
    let weights: Vec<&[f64]> = weights.iter().map(Vec::as_slice).collect();
    states(&weights, OCCUPIED).unwrap()
}

fn experiment(pka: f64, frames: usize, seed: u64) -> Vec<Vec<State>> {
    let mut rng = test_random(seed);
    let at = |&ph: &f64| {
        let s = hill::deprotonated_fraction(ph, pka, 1.0);
        of_forms(&forms(frames, &[1.0 - s, s], 0.05, &mut rng))
    };
    PH.iter().map(at).collect()
}

fn evaluated(states: &[Vec<State>], draws: u32) -> Titration {
    let series: Vec<TitrationSeries> =
        PH.iter().zip(states).map(|(&ph, states)| TitrationSeries { ph, states }).collect();
    evaluate(&[0, 1], &series, None, Resampling { draws, seed: 1 }).unwrap()
}

fn pull(found: Determined, exact: f64) -> f64 {
    (found.value().unwrap() - exact) / found.error().unwrap()
}

#[test]
fn pka_and_slope_of_correlated_series_lie_within_their_errors() {
    let runs = 100;
    let (mut pka, mut slope, mut error) = (0.0, 0.0, 0.0);
    for seed in 0..runs {
        let step = evaluated(&experiment(4.0, 8000, seed), 100).macroscopic[0];
        pka += pull(step.pka, 4.0).powi(2) / runs as f64;
        slope += pull(step.slope.unwrap(), 1.0).powi(2) / runs as f64;
        error += step.pka.error().unwrap() / runs as f64;
    }
    // 1 ± 0.14 for 100 runs, less because the larger of two errors is taken; 8000/39 = 205 samples a point give 0.045.
    assert!((0.4..1.4).contains(&pka) && (0.4..1.4).contains(&slope), "{pka} {slope}");
    assert!((0.03..0.08).contains(&error), "{error}");
}

#[test]
fn histidine_is_macroscopic_6_38_from_microscopic_6_53_and_6_92() {
    let ph = [5.0, 5.75, 6.5, 7.25, 8.0];
    let runs = 30;
    let mut squares = [0.0; 5];
    for seed in 0..runs {
        let mut rng = test_random(seed);
        let at = |&ph: &f64| {
            let weights = [1.0, 10f64.powf(ph - 6.92), 10f64.powf(ph - 6.53)];
            let sum: f64 = weights.iter().sum();
            of_forms(&forms(10_000, &weights.map(|w| w / sum), 0.05, &mut rng))
        };
        let states: Vec<Vec<State>> = ph.iter().map(at).collect();
        let series: Vec<TitrationSeries> =
            ph.iter().zip(&states).map(|(&ph, states)| TitrationSeries { ph, states }).collect();
        let found = evaluate(&[0, 1, 1], &series, None, Resampling { draws: 50, seed: 1 }).unwrap();
        let (step, micro) = (found.macroscopic[0], &found.microscopic);
        assert_eq!([(micro[0].from, micro[0].to), (micro[1].from, micro[1].to)], [(0, 1), (0, 2)]);
        let macroscopic = -(10f64.powf(-6.53) + 10f64.powf(-6.92)).log10();
        assert!((macroscopic - 6.38).abs() < 2e-3);
        let pulls = [
            pull(step.pka, macroscopic),
            pull(step.from_microscopic, macroscopic),
            pull(micro[0].pk, 6.92),
            pull(micro[1].pk, 6.53),
            pull(found.shares[1], 1.0 / (1.0 + 10f64.powf(0.39))),
        ];
        squares.iter_mut().zip(pulls).for_each(|(square, pull)| *square += pull * pull / runs as f64);
        assert!(pull(step.slope.unwrap(), 1.0).abs() < 4.0);
        assert!(step.from_microscopic.error().unwrap() < 0.08 && found.hill.is_some());
    }
    // 1 ± 0.26 each.
    assert!(squares.iter().all(|square| (0.2..1.7).contains(square)), "{squares:?}");
}

#[test]
fn a_site_of_two_protons_has_two_macroscopic_pka_values() {
    let ph = [3.0, 4.0, 5.0, 6.0, 7.0];
    let mut rng = test_random(12);
    let at = |&ph: &f64| {
        let weights = [1.0, 10f64.powf(ph - 4.1), 10f64.powf(2.0 * ph - 4.1 - 6.2)];
        let sum: f64 = weights.iter().sum();
        of_forms(&forms(20_000, &weights.map(|w| w / sum), 0.05, &mut rng))
    };
    let states: Vec<Vec<State>> = ph.iter().map(at).collect();
    let series: Vec<TitrationSeries> =
        ph.iter().zip(&states).map(|(&ph, states)| TitrationSeries { ph, states }).collect();
    let found = evaluate(&[0, 1, 2], &series, None, Resampling { draws: 50, seed: 1 }).unwrap();
    assert_eq!((found.macroscopic.len(), found.hill, found.macroscopic[1].slope), (2, None, None));
    for (step, exact) in found.macroscopic.iter().zip([4.1, 6.2]) {
        assert!(pull(step.pka, exact).abs() < 3.5 && step.pka.error().unwrap() < 0.1, "{step:?}");
    }
    let middle = &found.points[2];
    let exact = (10f64.powf(0.9) + 2.0 * 10f64.powf(-0.3)) / (1.0 + 10f64.powf(0.9) + 10f64.powf(-0.3)) / 2.0;
    assert!((middle.deprotonated.unwrap() - exact).abs() < 0.03);

    // At the lowest pH alone, nothing of the second is known but a bound.
    let low = evaluate(&[0, 1, 2], &series[..1], None, Resampling { draws: 10, seed: 1 }).unwrap();
    assert_eq!(low.macroscopic[1].pka, Determined::AtLeast(3.0));
}

/// Two protons that are lost together make a curve of slope two about their mean pKa. A curve of slope one through its flank has its middle elsewhere.
#[test]
fn two_protons_that_are_lost_together_have_a_slope_of_two() {
    let of = |ph: &[f64]| {
        let mut rng = test_random(3);
        let at = |&ph: &f64| {
            let s = hill::deprotonated_fraction(ph, 5.0, 2.0);
            of_forms(&forms(20_000, &[1.0 - s, s], 0.05, &mut rng))
        };
        let states: Vec<Vec<State>> = ph.iter().map(at).collect();
        let series: Vec<TitrationSeries> =
            ph.iter().zip(&states).map(|(&ph, states)| TitrationSeries { ph, states }).collect();
        evaluate(&[0, 2], &series, None, Resampling { draws: 50, seed: 1 }).unwrap().macroscopic[0]
    };
    let step = of(&[4.0, 4.5, 5.0, 5.5, 6.0]);
    assert_eq!((step.from, step.to, step.alone()), (0, 2, 2.0));
    for (found, exact) in [(step.pka, 5.0), (step.slope.unwrap(), 2.0), (step.pka_slope_one, 5.0)] {
        assert!(pull(found, exact).abs() < 3.5 && found.error().unwrap() < 0.15, "{step:?}");
    }
    let [pka, slope] = step.counted;
    assert!(pull(pka, 5.0).abs() < 3.5 && pull(slope, 2.0).abs() < 3.5, "{step:?}");
    // One flank: with a slope of one it would be 5.5.
    let flank = of(&[4.25, 4.5, 4.75]);
    assert!((flank.pka_slope_one.value().unwrap() - 5.0).abs() < 0.1, "{flank:?}");
}

#[test]
fn results_do_not_depend_on_anything_but_the_seed() {
    let states = experiment(4.5, 2000, 3);
    assert_eq!(evaluated(&states, 50), evaluated(&states, 50));
}

#[test]
fn series_without_a_transition_borrow_their_correlation() {
    let mut states = experiment(4.0, 4000, 5);
    states[0] = vec![Some(0); 4000];
    states[4] = vec![Some(1); 4000];
    let titration = evaluated(&states, 100);
    let g = |k: usize| titration.series[k].inefficiency;
    assert!(titration.series[0].borrowed && !titration.series[2].borrowed);
    assert_eq!(g(0), g(1).max(g(2)).max(g(3)));
    let [low, high] = titration.points[4].interval.unwrap();
    assert!(low < 1.0 && low > 0.9 && high > 1.0 - 1e-12, "{low} {high}");
    assert_eq!(titration.points[4].intervals.as_ref().unwrap()[1], [low, high]);
    assert!(pull(titration.macroscopic[0].pka, 4.0).abs() < 4.0);
}

#[test]
fn a_run_too_short_to_say_anything_says_so() {
    let stuck: Vec<Vec<State>> = [0, 0, 0, 1, 1].map(|form| vec![Some(form); 100]).to_vec();
    let titration = evaluated(&stuck, 20);
    // One sample at each pH: another start may have given another form at two of them.
    assert_eq!(titration.macroscopic[0].pka, Determined::AtLeast(3.13));
    assert_eq!(titration.macroscopic[0].slope, Some(Determined::Unknown));
    assert!(titration.series.iter().all(|s| s.samples == 1.0 && s.borrowed));
    let mixed = evaluated(&vec![vec![None; 100]; 5], 20);
    assert_eq!((mixed.macroscopic[0].pka, mixed.points[0].interval), (Determined::Unknown, None));
}

#[test]
fn replicas_of_one_ph_count_together() {
    let states = experiment(4.0, 4000, 8);
    let whole: Vec<TitrationSeries> =
        PH.iter().zip(&states).map(|(&ph, states)| TitrationSeries { ph, states }).collect();
    let halves: Vec<TitrationSeries> = whole
        .iter()
        .flat_map(|s| [&s.states[..2000], &s.states[2000..]].map(|states| TitrationSeries { ph: s.ph, states }))
        .collect();
    let resampling = Resampling { draws: 100, seed: 1 };
    let (one, two) = [&whole, &halves].map(|s| evaluate(&[0, 1], s, None, resampling).unwrap()).into();
    let (a, b) = (one.macroscopic[0].pka, two.macroscopic[0].pka);
    assert!((a.value().unwrap() - b.value().unwrap()).abs() < a.error().unwrap());
    assert!((0.5..2.0).contains(&(b.error().unwrap() / a.error().unwrap())));
    let (one, two) = (&one.points[2].occupancy, &two.points[2].occupancy);
    assert!(one.forms == two.forms && one.transitions - two.transitions <= 1);
}

#[test]
fn convergence_ends_at_the_whole_and_shows_a_drift() {
    let mut states = experiment(4.0, 8000, 21);
    // The first quarter never loses a proton.
    states.iter_mut().for_each(|s| s[..2000].fill(Some(0)));
    let series: Vec<TitrationSeries> =
        PH.iter().zip(&states).map(|(&ph, states)| TitrationSeries { ph, states }).collect();
    let titration = evaluate(&[0, 1], &series, None, Resampling { draws: 0, seed: 1 }).unwrap();
    let found = convergence(&[0, 1], &series, None, &titration.inefficiencies, 8).unwrap();
    let whole = titration.macroscopic[0].pka_slope_one;
    assert_eq!((found.shares.len(), found.forward.len()), (8, 1));
    assert_eq!(found.forward[0][7].value(), whole.value());
    assert_eq!(found.reverse[0][7].value(), whole.value());
    // Samples at pH 6.25 are few in an eighth of the runs: the bound lies below the last pH.
    assert!(
        matches!(found.forward[0][0], Determined::AtLeast(low) if (4.5..6.25).contains(&low)),
        "{:?}",
        found.forward
    );
    // The last half has not seen the drift.
    assert!(pull(found.reverse[0][3], 4.0).abs() < 4.0, "{:?}", found.reverse);
    assert!(found.forward[0][3].value().unwrap() > 4.15);
}

#[test]
fn bad_series_are_refused() {
    let one = |ph| [TitrationSeries { ph, states: &[Some(0), Some(1)] }];
    let refused = |protons: &[u32], ph| evaluate(protons, &one(ph), None, Resampling::default()).unwrap_err();
    assert!(matches!(refused(&[0, 1], f64::NAN), TitrationError::Ph { index: 0, .. }));
    assert_eq!(refused(&[1, 1], 4.0), TitrationError::OneClass);
    assert_eq!(evaluate(&[0, 1], &[], None, Resampling::default()), Err(TitrationError::Empty));
    assert_eq!(convergence(&[0, 1], &[], None, &[], 4), Err(TitrationError::Empty));
}
