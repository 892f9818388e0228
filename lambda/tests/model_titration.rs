//! The whole chain on a site whose force field is known: calibrate, move λ at several pH, count, fit.
//!
//! V_ff(λ) = −310 λ + 270 λ² − 8 λ³ kJ/mol stands for the force field; windows give noisy, correlated ∂V/∂λ, from which the
//! correction is fitted. The titration must return the reference pKa within its error, with slope one.

use forcefield::units::GAS_CONSTANT;
use lambda::analysis::counted::Resampling;
use lambda::analysis::hill;
use lambda::analysis::occupancy::{OCCUPIED, states};
use lambda::analysis::reweighting::{Ensemble, RunFrames, SiteFrames};
use lambda::analysis::simplex_fit::{Window, fit_best};
use lambda::analysis::symmetry::Symmetry;
use lambda::analysis::titration::{Titration, TitrationSeries, evaluate};
use lambda::bias::{Acidity, Barrier, ModelCorrection, PhPotential, Separation, SiteBias};
use lambda::coordinate::{self, Coordinate};
use lambda::motion::{LambdaDynamics, LambdaSettings, SiteMotion};

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
    let windows: Vec<Window> = (0..13)
        .map(|i| {
            let x = -0.1 + 0.1 * f64::from(i);
            let mut slow = 0.0;
            let series: Vec<f64> = (0..4000)
                .map(|_| {
                    slow = 0.9 * slow + 12.0 * noise(&mut state);
                    dvdl(x) + slow
                })
                .collect();
            Window::from_series(&[1.0 - x, x], &[series]).unwrap()
        })
        .collect();
    let surface = fit_best(&windows, 1..=8, &Symmetry::none(2)).unwrap().surface;
    let free_energy = surface.forms()[1];
    assert!((free_energy.value - (-310.0 + 270.0 - 8.0)).abs() < 4.0 * free_energy.error);
    (ModelCorrection::new(surface.basis, &surface.coefficients).unwrap(), free_energy.error)
}

fn run(bias: &SiteBias, ph: f64, steps: u64) -> Vec<f64> {
    let settings = LambdaSettings {
        time_step: 0.002,
        temperature: TEMPERATURE,
        coupling_time: Some(0.5),
        seed: (ph * 100.0) as u64,
    };
    let site =
        SiteMotion { coordinate: Coordinate::Linear, n_forms: 2, mass: coordinate::MASS, charges: vec![0.0, -1.0] };
    let dynamics = LambdaDynamics::new(settings, vec![site], None).unwrap();
    let mut state = dynamics.initial_state(&[0.5; 2]).unwrap();
    let mut series = Vec::new();
    for step in 0..steps {
        let lambda = state.coordinates[0];
        let mut derivatives = [0.0, dvdl(lambda)];
        bias.evaluate(&[1.0 - lambda, lambda], &mut derivatives);
        dynamics.step(&mut state, &derivatives, step).unwrap();
        if step % 50 == 0 {
            series.push(lambda);
        }
    }
    series
}

fn titrate(smoothed: bool) -> (Titration, f64) {
    let (correction, free_energy_error) = calibrated();
    let barrier = Barrier::solve(5.0).unwrap();
    let acidities: Vec<f64> = (0..5).map(|k| PKA - 2.0 + f64::from(k)).collect();
    let runs: Vec<RunFrames> = acidities
        .iter()
        .map(|&ph| {
            let acid = vec![Acidity { pk: 0.0, protons_lost: 0 }, Acidity { pk: PKA, protons_lost: 1 }];
            let term = PhPotential::new(acid, ph, TEMPERATURE, smoothed.then_some(barrier.a)).unwrap();
            let bias = SiteBias {
                separation: Separation::Wells(barrier),
                ph: Some(term.clone()),
                correction: Some(correction.clone()),
                entropy: None,
            };
            let lambda = run(&bias, ph, 1_500_000);
            let frames = lambda.len();
            let weights = [lambda.iter().map(|l| 1.0 - l).collect(), lambda];
            let states = states(&[&weights[0], &weights[1]], OCCUPIED).unwrap();
            RunFrames { ph, frames, sites: vec![Some(SiteFrames::new(term, &weights, states))] }
        })
        .collect();
    let ensemble = Ensemble::connected(runs).unwrap();
    let of = |run: &RunFrames| run.sites[0].clone().unwrap();
    let sites: Vec<SiteFrames> = ensemble.runs().iter().map(of).collect();
    let series: Vec<TitrationSeries> =
        acidities.iter().zip(&sites).map(|(&ph, site)| TitrationSeries { ph, states: site.states() }).collect();
    let question = ensemble.ask(&[0], &[0, 1, 2, 3, 4]);
    let titration = evaluate(&[0, 1], &series, Some(&question), Resampling { draws: 200, seed: 1 }).unwrap();
    (titration, free_energy_error / (GAS_CONSTANT * TEMPERATURE * std::f64::consts::LN_10))
}

#[test]
fn the_reference_pka_is_returned() {
    for smoothed in [false, true] {
        let (titration, calibration_error) = titrate(smoothed);
        let (pka, slope) = (titration.macroscopic[0].pka, titration.macroscopic[0].slope.unwrap());
        println!("smoothed {smoothed}: pKa {pka}, slope {slope}, error of the calibration {calibration_error:.3}");
        for s in &titration.series {
            println!("{:?}", s);
        }
        let (hill::Determined::Value { value, error }, hill::Determined::Value { value: n, error: n_error }) =
            (pka, slope)
        else {
            panic!("not determined: {pka}, {slope}");
        };
        // Sixty or more independent samples near the pKa: 1/(ln 10 √(N S(1−S))) = 0.11.
        assert!(error < 0.15, "{error}");
        assert!((value - PKA).abs() < 3.0 * error.hypot(calibration_error), "{value} ± {error}");
        // A site alone has slope one exactly, whatever its V_pH; the error is that of fractions counted at each pH.
        assert!((n - 1.0).abs() < 0.005 && n_error < 0.3, "{n} ± {n_error}");
    }
}
