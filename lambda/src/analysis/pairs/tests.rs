//! Tests of pairs: two coupled sites whose constants are known exactly, and two that are independent.

use super::*;
use crate::analysis::synthetic::{coupled, random, states_of_two};
use crate::analysis::titration::{self, TitrationSeries};

/// Repeated experiments in each test of errors.
const RUNS: u64 = 100;
/// χ² of 100 experiments, divided by them: 99.9 % lie between these. Where samples are undercounted it is smaller by as much; g itself comes out
/// up to 15 % too large.
const SQUARE: std::ops::Range<f64> = 0.60..1.52;
const PH: [f64; 7] = [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0];

/// States of both sites at each pH.
fn experiment(constants: [f64; 3], frames: usize, seed: u64) -> Vec<[Vec<State>; 2]> {
    let mut rng = random(seed);
    let of = |lambda: Vec<f64>| states_of_two(&lambda);
    PH.iter().map(|&ph| coupled(frames, ph, constants, 0.1, &mut rng).map(of)).collect()
}

fn evaluated(states: &[[Vec<State>; 2]], draws: u32) -> Pair {
    let series: Vec<PairSeries> =
        PH.iter().zip(states).map(|(&ph, [first, second])| PairSeries { ph, first, second }).collect();
    let of = |site: usize| {
        let list: Vec<StateSeries<'_>> =
            PH.iter().zip(states).map(|(&ph, both)| StateSeries { ph, states: &both[site] }).collect();
        Counted::new(&list, 2, None).inefficiencies()
    };
    evaluate(&series, [&of(0), &of(1)], None, Resampling { draws, seed: 1 })
}

fn pull(found: Determined, exact: f64) -> f64 {
    (found.value().unwrap() - exact) / found.error().unwrap()
}

#[test]
fn two_coupled_sites_have_their_analytic_pka_values() {
    let (pk1, pk2, w) = (5.2_f64, 5.6_f64, 1.5_f64);
    // Z = 1 + B₁ x + B₂ x²: the macroscopic constants by hand.
    let b1 = 10f64.powf(-pk1) + 10f64.powf(-pk2);
    let b2 = 10f64.powf(-pk1 - pk2 - w);
    let exact = [pk1, pk2, w, -b1.log10(), b1.log10() - b2.log10()];
    assert!((exact[3] - 5.0545).abs() < 1e-4 && (exact[4] - 7.2455).abs() < 1e-4, "{exact:?}");
    let runs = RUNS;
    let mut squares = [0.0; 5];
    for seed in 0..runs {
        let pair = evaluated(&experiment([pk1, pk2, w], 20_000, seed), 50);
        let found = [pair.pka[0], pair.pka[1], pair.interaction, pair.macroscopic[0], pair.macroscopic[1]];
        for ((square, found), exact) in squares.iter_mut().zip(found).zip(exact) {
            // 20 000 frames of which 19 to 40 are one sample.
            assert!(found.error().unwrap() < 0.15, "{found:?}");
            *square += pull(found, exact).powi(2) / runs as f64;
        }
        assert!(pair.significant(3.0), "{:?}", pair.correlation);
        assert!(pair.correlation.value().unwrap() < -0.2);
    }
    // The joint state forgets as fast as one site where they are bound to each other, and twice as fast where they are not.
    assert!(squares.iter().all(|square| (0.5 * SQUARE.start..SQUARE.end).contains(square)), "{squares:?}");
}

#[test]
fn the_curve_of_one_of_two_coupled_sites_is_flatter_than_that_of_a_single_site() {
    let states = experiment([6.0, 6.0, 1.5], 20_000, 77);
    let series: Vec<TitrationSeries> =
        PH.iter().zip(&states).map(|(&ph, both)| TitrationSeries { ph, states: &both[0] }).collect();
    let found = titration::evaluate(&[0, 1], &series, None, Resampling { draws: 50, seed: 1 }).unwrap();
    let slope = found.macroscopic[0].slope.unwrap();
    assert!(slope.value().unwrap() + 3.0 * slope.error().unwrap() < 0.95, "{slope:?}");
    // By symmetry its midpoint is pK + w/2.
    assert!(pull(found.macroscopic[0].pka, 6.75).abs() < 3.5);
}

#[test]
fn two_independent_sites_have_two_curves_and_no_interaction() {
    let mut square = [0.0; 2];
    let runs = RUNS;
    for seed in 100..100 + runs {
        let states = experiment([4.4, 6.8, 0.0], 20_000, seed);
        let pair = evaluated(&states, 50);
        square[0] += pull(pair.correlation, 0.0).powi(2) / runs as f64;
        square[1] += pull(pair.interaction, 0.0).powi(2) / runs as f64;
        for (site, exact) in [(0, 4.4), (1, 6.8)] {
            let series: Vec<TitrationSeries> =
                PH.iter().zip(&states).map(|(&ph, both)| TitrationSeries { ph, states: &both[site] }).collect();
            let found = titration::evaluate(&[0, 1], &series, None, Resampling { draws: 20, seed: 1 }).unwrap();
            let step = found.macroscopic[0];
            assert!(pull(step.pka, exact).abs() < 4.0, "{step:?}");
            assert!(pull(step.slope.unwrap(), 1.0).abs() < 4.0, "{step:?}");
        }
    }
    // Both forget at their own times: the joint state twice as fast as each, and g is 19 where 9.5 would do.
    assert!(square.iter().all(|square| (0.5 * SQUARE.start * 0.85..0.5 * SQUARE.end).contains(square)), "{square:?}");
}

/// Why errors of pairs are too large by up to √2: with the inefficiency of the joint state in place of that of the slower site χ² is one. Of two sites that forget as
/// c^k each, their product forgets as c^2k: (1 + c²)/(1 − c²) = 9.53 frames with c = 0.9, where (1 + c)/(1 − c) = 19 count for a site.
#[test]
fn errors_of_independent_sites_are_exact_with_the_inefficiency_of_their_joint_state() {
    let (c, frames): (f64, usize) = (0.9, 20_000);
    let joint = [Inefficiency { frames: (1.0 + c * c) / (1.0 - c * c), is_borrowed: false }; PH.len()];
    let mut square = [0.0; 2];
    for seed in 300..300 + RUNS {
        let states = experiment([5.6, 6.2, 0.0], frames, seed);
        let series: Vec<PairSeries> =
            PH.iter().zip(&states).map(|(&ph, [first, second])| PairSeries { ph, first, second }).collect();
        let pair = evaluate(&series, [&joint, &joint], None, Resampling { draws: 50, seed: 1 });
        square[0] += pull(pair.correlation, 0.0).powi(2) / RUNS as f64;
        square[1] += pull(pair.interaction, 0.0).powi(2) / RUNS as f64;
    }
    println!("χ² {square:?}");
    assert!(square.iter().all(|square| SQUARE.contains(square)), "{square:?}");
}

#[test]
fn sites_that_never_change_have_no_correlation() {
    let stuck = vec![[vec![Some(0); 100], vec![Some(1); 100]]; 7];
    let pair = evaluated(&stuck, 10);
    assert_eq!((pair.correlation, pair.interaction), (Determined::Unknown, Determined::Unknown));
    assert!(!pair.significant(3.0));
    // A small number with a smaller error, of sites that never share a pH, is no coupling.
    let apart = Pair { correlation: Determined::Value { value: 0.004, error: 0.001 }, ..pair };
    assert!(!apart.significant(3.0) && Pair { interaction: Determined::AtLeast(2.0), ..apart }.significant(3.0));
    let opposite =
        PairSeries { ph: 4.0, first: &[Some(0), Some(1)].repeat(50), second: &[Some(1), Some(0)].repeat(50) };
    assert_eq!(
        evaluate(&[opposite], [&[Inefficiency { frames: 1.0, is_borrowed: false }]; 2], None, Resampling::default())
            .correlation
            .value(),
        Some(-1.0)
    );
}
