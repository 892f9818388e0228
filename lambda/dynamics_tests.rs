//! Tests of the motion of λ: energy conservation, temperature, sampling against quadrature, exact continuation.

use super::*;
use crate::bias::{Barrier, Term};

const TEMPERATURE: f64 = 300.0;

fn settings(coupling_time: Option<f64>) -> LambdaSettings {
    LambdaSettings { time_step: 0.002, mass: linear::MASS, temperature: TEMPERATURE, coupling_time, seed: 2026 }
}

/// Two λ in double wells with a coupling 8 λ_0 λ_1.
fn coupled(barrier: &Barrier, lambda: &[f64]) -> (f64, Vec<f64>) {
    let (v0, v1) = (barrier.evaluate(lambda[0]), barrier.evaluate(lambda[1]));
    let energy = v0.energy + v1.energy + 8.0 * lambda[0] * lambda[1];
    (energy, vec![v0.derivative + 8.0 * lambda[1], v1.derivative + 8.0 * lambda[0]])
}

/// Root mean square deviation and drift (kJ/mol/ps, least squares) of V + kinetic − heat.
fn conservation(time_step: f64, coupling_time: Option<f64>, time: f64) -> (f64, f64) {
    let barrier = Barrier::solve(5.0).unwrap();
    let dynamics = LambdaDynamics::new(LambdaSettings { time_step, ..settings(coupling_time) }).unwrap();
    let mut state = dynamics.initial_state(&[0.1, 0.9]).unwrap();
    let steps = (time / time_step).round() as u64;
    let mut series = Vec::new();
    for step in 0..steps {
        let (potential, derivatives) = coupled(&barrier, &state.lambda);
        let energies = dynamics.step(&mut state, &derivatives, step).unwrap();
        series.push(potential + energies.conserved());
    }
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let deviation = (series.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / n).sqrt();
    let middle = 0.5 * (n - 1.0);
    let slope = series.iter().enumerate().map(|(i, e)| (i as f64 - middle) * (e - mean)).sum::<f64>()
        / (n * (n * n - 1.0) / 12.0);
    (deviation, slope / time_step)
}

#[test]
fn energy_is_conserved_to_second_order() {
    let (coarse, drift) = conservation(0.002, None, 200.0);
    let (fine, _) = conservation(0.001, None, 200.0);
    println!("deviation {coarse:.3e} {fine:.3e} kJ/mol, drift {drift:.3e} kJ/mol/ps");
    assert!(drift.abs() < 1e-5, "drift {drift} kJ/mol/ps");
    // Second order: a factor of 4 for half the step; trajectories differ, hence the margin.
    assert!(coarse < 0.05 && (3.0..5.0).contains(&(coarse / fine)), "{coarse} {fine}");
}

#[test]
fn heat_bookkeeping_keeps_the_conserved_energy() {
    // kT-sized heat is exchanged every 0.5 ps over 400 ps, and the deviation stays that of constant energy (1.4e-3 kJ/mol)
    // but for the higher energies visited.
    let (deviation, drift) = conservation(0.002, Some(0.5), 400.0);
    println!("deviation {deviation:.3e} kJ/mol, drift {drift:.3e} kJ/mol/ps");
    assert!(deviation < 0.03 && drift.abs() < 2e-4, "{deviation} {drift}");
}

/// Histogram of λ over [−0.1, 1.1] in 24 bins, and mean kinetic temperature.
fn sample(potential: impl Fn(f64) -> Term, steps: u64) -> (Vec<f64>, f64) {
    let dynamics = LambdaDynamics::new(settings(Some(0.5))).unwrap();
    let mut state = dynamics.initial_state(&[0.5]).unwrap();
    let (mut bins, mut temperature) = (vec![0.0; 24], 0.0);
    for step in 0..steps {
        let derivative = potential(state.lambda[0]).derivative;
        temperature += dynamics.step(&mut state, &[derivative], step).unwrap().temperature;
        let bin = ((state.lambda[0] + 0.1) / 0.05).floor();
        if (0.0..24.0).contains(&bin) {
            bins[bin as usize] += 1.0 / steps as f64;
        }
    }
    (bins, temperature / steps as f64)
}

/// Exact probabilities of the same bins.
fn quadrature(potential: impl Fn(f64) -> Term) -> Vec<f64> {
    let weight = |lambda: f64| (-potential(lambda).energy / (GAS_CONSTANT * TEMPERATURE)).exp();
    let cell = |start: f64, width: f64| {
        (0..200).map(|i| weight(start + width * (f64::from(i) + 0.5) / 200.0)).sum::<f64>() * width / 200.0
    };
    let norm = cell(-0.5, 0.4) + (0..24).map(|k| cell(-0.1 + 0.05 * f64::from(k), 0.05)).sum::<f64>() + cell(1.1, 0.4);
    (0..24).map(|k| cell(-0.1 + 0.05 * f64::from(k), 0.05) / norm).collect()
}

#[test]
fn flat_potential_and_double_well_are_sampled_as_quadrature_says() {
    for height in [0.0, 5.0] {
        let barrier = Barrier::solve(height).unwrap();
        let tilt = |lambda: f64| barrier.evaluate(lambda) + Term { energy: -1.5 * lambda, derivative: -1.5 };
        let (sampled, temperature) = sample(tilt, 8_000_000);
        let exact = quadrature(tilt);
        let worst = sampled.iter().zip(&exact).map(|(s, e)| (s - e).abs()).fold(0.0, f64::max);
        let left: f64 = sampled[..12].iter().sum::<f64>() / exact[..12].iter().sum::<f64>();
        println!("h = {height}: worst bin {worst:.4}, left half {left:.4}, T {temperature:.2} K");
        // 16 ns; λ forgets itself in about 2 ps (flat) to 4 ps (5 kJ/mol): about 4000 independent samples, 1.5 % of a half.
        assert!(worst < 0.006, "h = {height}: {worst}");
        assert!((left - 1.0).abs() < 0.05, "h = {height}: {left}");
        // v² forgets itself in τ = 0.5 ps: 16 000 samples of a χ² of one degree, √2 · 300 K / √16000 = 3.4 K, three times.
        assert!((temperature - TEMPERATURE).abs() < 10.0, "h = {height}: {temperature} K");
    }
}

#[test]
fn kinetic_energy_of_many_lambdas_is_a_gamma_distribution() {
    let dynamics = LambdaDynamics::new(settings(Some(0.05))).unwrap();
    let mut state = dynamics.initial_state(&[0.5; 6]).unwrap();
    state.velocity = vec![0.0; 6]; // also from rest
    let (mut mean, mut square, steps) = (0.0, 0.0, 400_000);
    for step in 0..steps {
        state.lambda = vec![0.5; 6];
        let kinetic = dynamics.step(&mut state, &[0.0; 6], step).unwrap().kinetic;
        if step >= 1000 {
            mean += kinetic / (steps - 1000) as f64;
            square += kinetic * kinetic / (steps - 1000) as f64;
        }
    }
    let kt = GAS_CONSTANT * TEMPERATURE;
    // n/2 kT and n/2 (kT)² with n = 6; 32 000 independent samples (25 steps each): 0.4 % and about 2 %.
    assert!((mean / (3.0 * kt) - 1.0).abs() < 0.015, "{}", mean / (3.0 * kt));
    assert!(((square - mean * mean) / (3.0 * kt * kt) - 1.0).abs() < 0.06);
}

#[test]
fn a_checkpoint_continues_exactly() {
    let barrier = Barrier::solve(5.0).unwrap();
    let dynamics = LambdaDynamics::new(settings(Some(0.5))).unwrap();
    let run = |state: &mut LambdaState, steps: std::ops::Range<u64>| {
        for step in steps {
            let (_, derivatives) = coupled(&barrier, &state.lambda);
            dynamics.step(state, &derivatives, step).unwrap();
        }
    };
    let mut whole = dynamics.initial_state(&[0.0, 1.0]).unwrap();
    run(&mut whole, 0..1000);
    let mut part = dynamics.initial_state(&[0.0, 1.0]).unwrap();
    run(&mut part, 0..400);
    let mut restored: LambdaState = toml::from_str(&toml::to_string(&part).unwrap()).unwrap();
    run(&mut restored, 400..1000);
    assert_eq!(restored, whole);
    let other = LambdaDynamics::new(LambdaSettings { seed: 2027, ..settings(Some(0.5)) }).unwrap();
    assert_ne!(
        other.initial_state(&[0.0, 1.0]).unwrap().velocity,
        dynamics.initial_state(&[0.0, 1.0]).unwrap().velocity
    );
}

#[test]
fn fixed_lambdas_stay() {
    let dynamics = LambdaDynamics::new(settings(Some(0.5))).unwrap();
    let mut state = LambdaState::fixed(vec![0.25, -0.1]);
    let energies = dynamics.step(&mut state, &[100.0, -5.0], 3).unwrap();
    assert_eq!(state, LambdaState::fixed(vec![0.25, -0.1]));
    assert_eq!((energies.kinetic, energies.heat), (0.0, 0.0));
    assert_eq!(state.weights(0), Some([0.75, 0.25]));
    assert_eq!(state.weights(2), None);
}

#[test]
fn one_site_is_held_while_the_others_move() {
    // The free site must move exactly as it does alone: own degrees of freedom, own random numbers.
    let barrier = Barrier::solve(5.0).unwrap();
    let dynamics = LambdaDynamics::new(settings(Some(0.5))).unwrap();
    let mut alone = dynamics.initial_state(&[0.1]).unwrap();
    let mut both = dynamics.initial_state(&[0.1, 0.7]).unwrap();
    both.hold(1);
    both.hold(9);
    assert_eq!(both.free_sites(), 1);
    for step in 0..2000 {
        let derivative = barrier.evaluate(alone.lambda[0]).derivative;
        let one = dynamics.step(&mut alone, &[derivative], step).unwrap();
        assert_eq!(dynamics.step(&mut both, &[derivative, 50.0], step).unwrap(), one);
    }
    assert_eq!(both.lambda, [alone.lambda[0], 0.7]);
    assert_eq!((both.velocity[1], both.heat), (0.0, alone.heat));
}

#[test]
fn bad_input_is_refused_and_the_state_kept() {
    for change in [
        |s: &mut LambdaSettings| s.time_step = 0.0,
        |s: &mut LambdaSettings| s.mass = -5.0,
        |s: &mut LambdaSettings| s.temperature = f64::NAN,
        |s: &mut LambdaSettings| s.coupling_time = Some(0.0),
    ] {
        let mut bad = settings(Some(0.5));
        change(&mut bad);
        assert!(matches!(LambdaDynamics::new(bad), Err(DynamicsError::Setting { .. })));
    }
    let dynamics = LambdaDynamics::new(settings(None)).unwrap();
    assert!(dynamics.initial_state(&[2.0]).is_err() && dynamics.initial_state(&[f64::NAN]).is_err());
    let mut state = dynamics.initial_state(&[0.5, 0.5]).unwrap();
    let before = state.clone();
    assert!(matches!(dynamics.step(&mut state, &[0.0], 0), Err(DynamicsError::Length { .. })));
    assert!(matches!(dynamics.step(&mut state, &[0.0, f64::NAN], 0), Err(DynamicsError::NotFinite { site: 2, .. })));
    let error = dynamics.step(&mut state, &[0.0, 1e9], 7).unwrap_err();
    assert!(matches!(error, DynamicsError::Escaped { site: 2, step: 7, .. }));
    assert_eq!(state, before);
}
