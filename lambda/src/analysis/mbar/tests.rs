//! Harmonic wells, whose free energies are known, and what MBAR is where there are two states only.

use super::*;
use crate::analysis::synthetic::random;
use rand_distr::{Distribution, StandardNormal, StandardUniform};

/// Energies u_k = ½ c_k (x − x_k)² of normal frames of every state: f_k − f_0 = ½ ln(c_k/c_0).
fn wells(wells: &[[f64; 2]], frames: &[usize], seed: u64) -> Vec<Sampled> {
    let mut rng = random(seed);
    let run = |(state, &frames): (usize, &usize)| {
        let [stiffness, centre] = wells[state];
        let energies = (0..frames).flat_map(|_| {
            let noise: f64 = StandardNormal.sample(&mut rng);
            let x = centre + noise / stiffness.sqrt();
            wells.iter().map(move |[c, middle]| 0.5 * c * (x - middle).powi(2))
        });
        Sampled { state, energies: energies.collect() }
    };
    frames.iter().enumerate().map(run).collect()
}

const WELLS: [[f64; 2]; 4] = [[1.0, 0.0], [2.0, 0.7], [4.0, 1.2], [3.0, 2.0]];

/// The gradient of ln L has the variance N_k − Σ p p; f then has the response as covariance, to the first order in 1/N.
#[test]
fn free_energies_of_harmonic_wells_come_back_with_their_errors() {
    let sets = 200;
    let mut squares = [0.0; 3];
    for seed in 0..sets {
        let found = solve(wells(&WELLS, &[500, 200, 400, 300], seed), 4).unwrap();
        for (k, square) in squares.iter_mut().enumerate() {
            let exact = 0.5 * (WELLS[k + 1][0] / WELLS[0][0]).ln();
            // Θ = H⁻¹ − the covariance that the fixed N_k take away: 1/N_k + 1/N_0 (Shirts & Chodera 2008, eq. 8).
            let variance = found.response[(k + 1, k + 1)] - 1.0 / found.frames[k + 1] - 1.0 / found.frames[0];
            *square += (found.free_energies[k + 1] - exact).powi(2) / variance / sets as f64;
        }
    }
    // χ² of 200 sets is 200 ± 20; 99.9 % lie in 0.70 to 1.36 of it.
    assert!(squares.iter().all(|square| (0.70..1.36).contains(square)), "{squares:?}");
}

#[test]
fn the_equations_hold_to_ten_digits_and_the_parts_fit_together() {
    let runs = wells(&WELLS, &[300, 10, 500, 40], 7);
    // Runs of one state in pieces are the run as a whole.
    let mut pieces = runs.clone();
    let (first, second) = pieces[2].energies.split_at(4 * 123);
    let (first, second) = (first.to_vec(), second.to_vec());
    pieces[2].energies = first;
    pieces.push(Sampled { state: 2, energies: second });
    let found = solve(runs.clone(), 4).unwrap();
    let parts = solve(pieces, 4).unwrap();
    assert!(found.free_energies.iter().zip(&parts.free_energies).all(|(a, b)| (a - b).abs() < 1e-10));
    let rows: Vec<&[f64]> = runs.iter().flat_map(|run| run.energies.chunks_exact(4)).collect();
    for k in 0..4 {
        // f_k = −ln Σ_n e^{−u_k} / D_n, summed by hand.
        let sum: f64 = rows
            .iter()
            .map(|row| {
                let of = |l: usize| found.frames[l] * (found.free_energies[l] - row[l] + row[k]).exp();
                1.0 / (0..4).map(of).sum::<f64>()
            })
            .sum();
        assert!((found.free_energies[k] + sum.ln()).abs() < 1e-10, "{k}");
        let own: f64 = found.chances.iter().flatten().skip(k).step_by(4).sum();
        assert!((own - found.frames[k]).abs() < 1e-7 && (found.overlap[k].iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }
}

/// Bennett 1976: Σ_0 1/(1 + e^{Δu − C}) = Σ_1 1/(1 + e^{C − Δu}), C = Δf + ln(N₁/N₀).
#[test]
fn two_states_are_bennetts_acceptance_ratio() {
    let runs = wells(&WELLS[..2], &[400, 150], 3);
    let found = solve(runs.clone(), 2).unwrap().free_energies[1];
    let sum = |run: &Sampled, sign: f64, c: f64| -> f64 {
        run.energies.chunks_exact(2).map(|u| 1.0 / (1.0 + (sign * (u[1] - u[0] - c)).exp())).sum()
    };
    let c = found + (150.0_f64 / 400.0).ln();
    assert!((sum(&runs[0], 1.0, c) - sum(&runs[1], -1.0, c)).abs() < 1e-8);
}

#[test]
fn states_far_apart_are_told_by_their_overlap_and_do_no_harm() {
    let far = [[1.0, 0.0], [1.0, 1.0], [1.0, 400.0], [1.0, 401.0]];
    let found = solve(wells(&far, &[300; 4], 5), 4).unwrap();
    assert!(found.overlap[0][1] > 0.2 && found.overlap[2][3] > 0.2 && found.overlap[1][2] < 1e-12);
    // Within both groups all is as if they were alone.
    let [low, high] = [&far[..2], &far[2..]].map(|two| solve(wells(two, &[300; 2], 9), 2).unwrap().free_energies[1]);
    let [lower, upper] = [found.free_energies[1], found.free_energies[3] - found.free_energies[2]];
    // 600 frames with this overlap have an error of 0.05 in each of two sets.
    assert!((lower - low).abs() < 0.3 && (upper - high).abs() < 0.3, "{found:?}");
}

/// What equal numbers of frames say, a state with few frames says within its noise: a tenth of an overlap of 0.2 to 0.3 from 60 frames.
#[test]
fn overlap_does_not_depend_on_the_number_of_frames() {
    let with = |frames: &[usize]| solve(wells(&WELLS, frames, 11), 4).unwrap();
    let [equal, few] = [with(&[3000; 4]), with(&[3000, 3000, 60, 3000])];
    for k in 1..4 {
        let [a, b] = [&equal, &few].map(|found| found.overlap[k - 1][k]);
        assert!((a - b).abs() < 0.1 * a && a == equal.overlap[k][k - 1], "{k}: {a} {b}");
    }
    // Of equal numbers it is Σ_n p_nk p_nl / N_k.
    let product: f64 = equal.chances.iter().flat_map(|run| run.chunks_exact(4)).map(|p| p[1] * p[2]).sum();
    assert!((equal.overlap[1][2] - product / 3000.0).abs() < 1e-9);
}

/// Frames that are all alike round all to the same side: λ at exactly 0 or 1, half a million frames at five pH values. Summed one by one a third of such
/// titrations have no solution.
#[test]
fn many_frames_that_are_alike_are_solved() {
    let ph = [-1.0, -0.5, 0.0, 0.5, 1.0];
    for seed in 0..8 {
        let mut rng = random(seed);
        let mut run = |state: usize| {
            let share = 1.0 / (1.0 + 10f64.powf(-ph[state]));
            let frame = |rng: &mut _| {
                let drawn: f64 = StandardUniform.sample(rng);
                let lambda = f64::from(u8::from(drawn < share));
                ph.map(|ph| -std::f64::consts::LN_10 * ph * lambda)
            };
            Sampled { state, energies: (0..100_000).flat_map(|_| frame(&mut rng)).collect() }
        };
        let found = solve((0..5).map(&mut run).collect(), 5).unwrap_or_else(|e| panic!("{seed}: {e}"));
        // f = −ln(1 + 10^pH), with an error of 0.004.
        let exact = |k: usize| (1.0 + 10f64.powf(ph[0])).ln() - (1.0 + 10f64.powf(ph[k])).ln();
        assert!((0..5).all(|k| (found.free_energies[k] - exact(k)).abs() < 0.02), "{:?}", found.free_energies);
    }
}

#[test]
fn what_cannot_be_solved_is_refused_and_one_state_is_its_own() {
    assert_eq!(solve(wells(&WELLS, &[10, 0, 10, 10], 1), 4), Err(MbarError::Empty(1)));
    assert_eq!(solve(wells(&WELLS, &[10, 10, 10, 10], 1), 0), Err(MbarError::Empty(0)));
    assert_eq!(solve(Vec::new(), 0), Err(MbarError::Empty(0)));
    let bad = Sampled { state: 0, energies: vec![0.0, f64::NAN] };
    assert!(matches!(solve(vec![bad], 1), Err(MbarError::Energies { run: 0, found: 2, states: 1 })));
    let one = solve(wells(&WELLS[..1], &[5], 1), 1).unwrap();
    assert_eq!((one.free_energies, one.chances), (vec![0.0], vec![vec![1.0; 5]]));
}
