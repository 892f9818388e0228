//! The whole chain on a site whose force field is known: calibrate, move λ at several pH, count, fit.
//!
//! V_ff(λ) = −310 λ + 270 λ² − 8 λ³ kJ/mol stands for the force field; windows give noisy, correlated ∂V/∂λ, from which the
//! correction is fitted. The titration must return the reference pKa within its error, with a slope near 1.

use forcefield::units::GAS_CONSTANT;
use lambda::analysis::polynomial::{DataPoint, fit_best};
use lambda::analysis::titration::{Titration, TitrationSeries, TitrationSettings, evaluate};
use lambda::analysis::{blocks, hill};
use lambda::bias::{Barrier, ModelCorrection, PhPotential, SiteBias};
use lambda::coordinate::linear;
use lambda::dynamics::{LambdaDynamics, LambdaSettings};

const TEMPERATURE: f64 = 300.0;
const PKA: f64 = 4.25;

fn dvdl(lambda: f64) -> f64 {
    -310.0 + 540.0 * lambda - 24.0 * lambda * lambda
}

/// Pseudorandom number in −1…1 for the noise of the windows.
fn noise(state: &mut u64) -> f64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// 13 windows of 4000 frames; the noise has a standard deviation of 16 kJ/mol and forgets itself in 10 frames.
fn calibrated() -> (ModelCorrection, f64) {
    let mut state = 20_26;
    let windows: Vec<DataPoint> = (0..13)
        .map(|i| {
            let x = -0.1 + 0.1 * f64::from(i);
            let mut slow = 0.0;
            let series: Vec<f64> = (0..4000)
                .map(|_| {
                    slow = 0.9 * slow + 12.0 * noise(&mut state);
                    dvdl(x) + slow
                })
                .collect();
            let mean = blocks::mean(&series).unwrap();
            DataPoint { x, y: mean.value, error: mean.error }
        })
        .collect();
    let fitted = fit_best(&windows, 6).unwrap();
    let free_energy = fitted.integral(0.0, 1.0);
    assert!((free_energy.value - (-310.0 + 270.0 - 8.0)).abs() < 4.0 * free_energy.error);
    (ModelCorrection::new(&fitted.coefficients, fitted.range).unwrap(), free_energy.error)
}

fn run(bias: &SiteBias, ph: f64, steps: u64) -> Vec<f64> {
    let dynamics = LambdaDynamics::new(LambdaSettings {
        time_step: 0.002,
        mass: linear::MASS,
        temperature: TEMPERATURE,
        coupling_time: Some(0.5),
        seed: (ph * 100.0) as u64,
    })
    .unwrap();
    let mut state = dynamics.initial_state(&[0.5]).unwrap();
    let mut series = Vec::new();
    for step in 0..steps {
        let derivative = dvdl(state.lambda[0]) + bias.evaluate(state.lambda[0]).total().derivative;
        dynamics.step(&mut state, &[derivative], step).unwrap();
        if step % 50 == 0 {
            series.push(state.lambda[0]);
        }
    }
    series
}

fn titrate(smoothed: bool) -> (Titration, f64) {
    let (correction, free_energy_error) = calibrated();
    let barrier = Barrier::solve(5.0).unwrap();
    let acidities: Vec<f64> = (0..5).map(|k| PKA - 2.0 + f64::from(k)).collect();
    let series: Vec<Vec<f64>> = acidities
        .iter()
        .map(|&ph| {
            let term = if smoothed {
                PhPotential::smoothed(PKA, ph, TEMPERATURE, &barrier)
            } else {
                PhPotential::linear(PKA, ph, TEMPERATURE)
            };
            let bias = SiteBias { barrier, ph: Some(term.unwrap()), correction: Some(correction.clone()) };
            run(&bias, ph, 1_500_000)
        })
        .collect();
    let series: Vec<TitrationSeries> =
        acidities.iter().zip(&series).map(|(&ph, lambda)| TitrationSeries { ph, lambda }).collect();
    let titration = evaluate(&series, &TitrationSettings { resamples: 200, ..TitrationSettings::default() }).unwrap();
    (titration, free_energy_error / (GAS_CONSTANT * TEMPERATURE * std::f64::consts::LN_10))
}

#[test]
fn the_reference_pka_is_returned() {
    for smoothed in [false, true] {
        let (titration, calibration_error) = titrate(smoothed);
        let (pka, slope) = (titration.fit.pka, titration.fit.slope);
        println!("smoothed {smoothed}: pKa {pka}, slope {slope}, error of the calibration {calibration_error:.3}");
        for s in &titration.series {
            println!("{:?}", s);
        }
        let (hill::Determined::Value { value, error }, hill::Determined::Value { value: n, error: n_error }) =
            (pka, slope)
        else {
            panic!("not determined: {pka}, {slope}");
        };
        assert!(error < 0.1, "{error}");
        assert!((value - PKA).abs() < 3.0 * error.hypot(calibration_error), "{value} ± {error}");
        // λ < 0.2 and λ > 0.8 lie 0.9 to 1 apart on average, so that the slope of the linear term is at most 1.
        assert!((n - 0.96).abs() < 0.05 + 3.0 * n_error, "{n} ± {n_error}");
    }
}
