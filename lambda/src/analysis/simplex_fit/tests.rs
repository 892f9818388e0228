//! Fits of exact and noisy averages: coefficients, errors, degree.

use rand_distr::{Distribution, StandardNormal};

use super::*;
use crate::analysis::synthetic::{autoregressive, random};
use crate::analysis::tails;

/// Free energy of three forms, degree 4 along the edges.
fn truth() -> (SimplexBasis, Vec<f64>) {
    let basis = SimplexBasis::new(3, 4);
    (basis, vec![-180.0, 95.0, -260.0, 14.0, 6.0, -240.0, -11.0, 4.0, -300.0, 3.0, -5.0, 40.0])
}

/// Polynomials of this degree along the edges of three forms.
fn edges_of(degree: usize) -> Space {
    Space::whole(SimplexBasis::new(3, degree))
}

fn exact((basis, c): &(SimplexBasis, Vec<f64>), weights: &[f64], form: usize) -> f64 {
    let g = basis.gradients(weights);
    (0..c.len()).map(|k| c[k] * (g[3 * k + form] - g[3 * k])).sum()
}

const T: [f64; 13] = [-0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1];

/// Windows with noise of their covariance, `scale` times as large as stated.
fn measured(seed: u64, scale: f64) -> Vec<Window> {
    measured_of(&truth(), seed, scale)
}

fn measured_of(truth: &(SimplexBasis, Vec<f64>), seed: u64, scale: f64) -> Vec<Window> {
    let mut rng = random(seed);
    let covariance = DMatrix::from_row_slice(2, 2, &[0.25, 0.24, 0.24, 0.64]);
    let l = covariance.clone().cholesky().unwrap().l();
    let one = |weights: Vec<f64>| {
        let noise = &l * DVector::from_fn(2, |_, _| -> f64 { StandardNormal.sample(&mut rng) });
        let slopes = (0..2).map(|k| exact(truth, &weights, k + 1) + scale * noise[k]).collect();
        Window { weights, slopes, covariance: covariance.clone(), frames: 1000, samples: 100.0 }
    };
    windows(3, &T, 4).into_iter().map(one).collect()
}

#[test]
fn windows_of_edges_and_inside() {
    assert_eq!(windows(2, &[0.0, 0.5, 1.0], 4), [vec![1.0, 0.0], vec![0.5, 0.5], vec![0.0, 1.0]]);
    let three = windows(3, &T, 4);
    // Three edges of 13 with each vertex once, and (½, ¼, ¼) with its turns.
    assert_eq!(three.len(), 39 - 3 + 3);
    assert!(three.contains(&vec![0.25, 0.5, 0.25]) && three.contains(&vec![1.1, 0.0, -0.1]));
    assert!(three.iter().all(|w| (w.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    assert_eq!(windows(4, &[0.0, 1.0], 4).len(), 5);
}

#[test]
fn exact_averages_give_the_coefficients_back() {
    let (_, coefficients) = truth();
    for degree in [4, 6] {
        let fitted = fit(&measured(0, 0.0), &edges_of(degree)).unwrap();
        let basis = fitted.surface.basis;
        let forms: Vec<f64> = fitted.surface.forms().iter().map(|f| f.value).collect();
        for (found, exact) in forms.iter().zip([0.0, -180.0, 95.0]) {
            assert!((found - exact).abs() < 1e-8, "degree {degree}: {forms:?}");
        }
        // Terms that the truth has are found, the others are zero.
        let known = |k: usize| match k {
            0 | 1 => Some(k),
            k if k + 1 == basis.len() => Some(11),
            k => Some((k - 2) % (degree - 1))
                .filter(|power| *power < 3)
                .map(|power| 2 + (k - 2) / (degree - 1) * 3 + power),
        };
        for (k, c) in fitted.surface.coefficients.iter().enumerate() {
            let expected = known(k).map_or(0.0, |k| coefficients[k]);
            assert!((c - expected).abs() < 1e-7, "degree {degree}, term {k}: {c}, expected {expected}");
        }
        assert!(fitted.chi_squared < 1e-12);
    }
}

#[test]
fn what_three_forms_do_together_needs_more_than_one_term() {
    let (edges, mut coefficients) = truth();
    coefficients.extend([-25.0, 30.0, 60.0, -20.0, 15.0]);
    let truth = (edges.with_interior(2), coefficients);
    for seed in 0..10 {
        let windows = measured_of(&truth, seed, 1.0);
        let [one, six] = [0, 2].map(|interior| fit(&windows, &Space::whole(edges.with_interior(interior))).unwrap());
        // 78 averages, 12 and 17 terms: 1 ± 0.18 where the terms are the right ones.
        assert!(one.reduced_chi_squared() > 2.0 && six.reduced_chi_squared() < 1.7, "{seed}");
        let best = fit_best(&windows, 1..=8, &Symmetry::none(3)).unwrap();
        assert_eq!(best.surface.basis.interior(), 2, "{seed}");
        let inside = best.surface.between(&[1.0, 0.0, 0.0], &[0.2, 0.3, 0.5]);
        let exact: f64 = (0..17).map(|k| truth.1[k] * truth.0.values(&[0.2, 0.3, 0.5])[k]).sum();
        assert!((inside.value - exact).abs() < 5.0 * inside.error, "{inside:?}, exact {exact}");
    }
}

#[test]
fn errors_and_correlations_are_those_of_repeated_experiments() {
    let runs = 1000;
    let (from, to) = ([1.0, 0.0, 0.0], [0.2, 0.3, 0.5]);
    let (basis, c) = truth();
    let f = |w: &[f64]| basis.values(w).iter().zip(&c).map(|(b, c)| b * c).sum::<f64>();
    let mut pulls = [0.0; 4];
    for seed in 0..runs {
        let fitted = fit(&measured(seed, 1.0), &edges_of(4)).unwrap();
        // The widening by χ² would bias the pulls: undo it.
        let scale = fitted.reduced_chi_squared().max(1.0).sqrt();
        let forms = fitted.surface.forms();
        let all = [
            (forms[1], -180.0),
            (forms[2], 95.0),
            (fitted.surface.between(&from, &to), f(&to) - f(&from)),
            (fitted.surface.slope(&to, 0, 2), exact(&truth(), &to, 2)),
        ];
        for (pull, (found, exact)) in pulls.iter_mut().zip(all) {
            *pull += ((found.value - exact) / found.error * scale).powi(2) / runs as f64;
        }
    }
    // Mean of χ² of one degree over 1000 runs: 1 ± 0.045; four times.
    assert!(pulls.iter().all(|pull| (pull - 1.0).abs() < 0.18), "{pulls:?}");
}

/// Two forms that are the same, windows of one image each: the free energy is symmetric to the last digits, and its errors are those of repeated
/// experiments, neither too small from data that count twice nor too large.
#[test]
fn symmetric_free_energies_come_back_with_their_errors() {
    let symmetry = Symmetry::new(3, &[[0, 1]]);
    let (basis, c) = truth();
    let space = symmetry.space(basis);
    // The symmetric part of a free energy.
    let c: Vec<f64> = (&space.free * space.free.transpose() * DVector::from_vec(c)).iter().copied().collect();
    let f = |w: &[f64]| basis.values(w).iter().zip(&c).map(|(b, c)| b * c).sum::<f64>();
    let all = windows(3, &T, 4).len();
    let (runs, from, inside) = (1000, [1.0, 0.0, 0.0], [0.2, 0.3, 0.5]);
    let mut pulls = [0.0; 3];
    for seed in 0..runs {
        let kept = symmetry.distinct(windows(3, &T, 4));
        // Of 13 windows between the two forms 7 remain, of two edges one, of three inside two.
        assert_eq!((kept.len(), all), (7 + 13 - 1 + 2, 39));
        let measured = measured_of(&(basis, c.clone()), seed, 1.0);
        let measured: Vec<Window> = measured.into_iter().filter(|window| kept.contains(&window.weights)).collect();
        let fitted = fit(&measured, &space).unwrap();
        let surface = &fitted.surface;
        let scale = fitted.reduced_chi_squared().max(1.0).sqrt();
        for (pull, to) in pulls.iter_mut().zip([[0.0, 0.0, 1.0], inside, [0.5, 0.5, 0.0]]) {
            let found = surface.between(&from, &to);
            *pull += ((found.value - f(&to) + f(&from)) / found.error * scale).powi(2);
        }
        let mirrored = surface.between(&from, &[0.3, 0.2, 0.5]);
        assert!((mirrored.value - surface.between(&from, &inside).value).abs() < 1e-9);
        assert_eq!(surface.between(&from, &[0.0, 1.0, 0.0]), Uncertain::default());
    }
    // χ² of 1000 degrees of freedom: one of a thousand sets is outside on each side.
    let p = pulls.map(|pull| tails::chi_squared(pull, runs as usize));
    assert!(p.iter().all(|p| (0.001..0.999).contains(p)), "{p:?} {pulls:?}");
}

/// Runs at the same weights are pooled by their frames.
#[test]
fn runs_are_pooled() {
    let one = |slope: f64, frames| Window {
        weights: vec![0.5, 0.5],
        slopes: vec![slope],
        covariance: DMatrix::from_element(1, 1, 4.0),
        frames,
        samples: 10.0,
    };
    let pooled = Window::pool(&[one(1.0, 300), one(5.0, 100)]).unwrap();
    assert_eq!((pooled.slopes[0], pooled.covariance[(0, 0)]), (2.0, 4.0 * (0.5625 + 0.0625)));
    assert_eq!((pooled.frames, pooled.samples, Window::pool(&[])), (400, 20.0, None));
}

#[test]
fn the_degree_is_found() {
    let mut found = [0; 9];
    for seed in 0..100 {
        found[fit_best(&measured(seed, 1.0), 1..=8, &Symmetry::none(3)).unwrap().surface.basis.degree()] += 1;
    }
    // Terms of 4 to 6 kJ/mol against errors of 0.5 in 39 windows are seen; three more terms are rarely accepted.
    assert!(found[..4].iter().all(|&n| n == 0) && found[4] >= 75, "{found:?}");
}

#[test]
fn too_small_errors_are_widened() {
    let fitted = fit(&measured(3, 5.0), &edges_of(4)).unwrap();
    assert!((fitted.reduced_chi_squared() / 25.0 - 1.0).abs() < 0.5, "{}", fitted.reduced_chi_squared());
    let ratio = fitted.surface.largest_error() / fit(&measured(3, 1.0), &edges_of(4)).unwrap().surface.largest_error();
    assert!((ratio / 5.0 - 1.0).abs() < 0.4, "{ratio}");
}

#[test]
fn averages_of_a_window_are_correlated_as_their_frames() {
    let mut rng = random(5);
    let (a, b) = (autoregressive(20_000, 0.5, &mut rng), autoregressive(20_000, 0.5, &mut rng));
    let series: Vec<f64> = a.iter().zip(&b).map(|(a, b)| 0.8 * a + 0.6 * b).collect();
    let window = Window::from_series(&[0.2, 0.3, 0.5], &[a, series]).unwrap();
    let s = &window.covariance;
    // Inefficiency 3 of a variance of 1; Geyer's sum is up to 15 % long, the correlation of 20 000 frames uncertain by 1 %.
    assert!((s[(0, 0)] / (3.0 / 20_000.0) - 1.0).abs() < 0.2);
    assert!((s[(0, 1)] / (s[(0, 0)] * s[(1, 1)]).sqrt() - 0.8).abs() < 0.03);
    let between = window.slope(1, 2);
    assert!((between.value - (window.slopes[1] - window.slopes[0])).abs() < 1e-12);
    let expected = (s[(0, 0)] + s[(1, 1)] - 2.0 * s[(0, 1)]).sqrt();
    assert!((between.error - expected).abs() < 1e-12);
}

#[test]
fn bad_windows_are_refused() {
    let good = measured(1, 1.0);
    assert_eq!(fit(&good[..3], &edges_of(4)), Err(FitError::NoVertex(1)));
    let few: Vec<Window> =
        windows(3, &[0.0, 1.0], 4)[..3].iter().map(|w| Window { weights: w.clone(), ..good[0].clone() }).collect();
    assert_eq!(fit(&few, &edges_of(4)), Err(FitError::TooFew { found: 6, needed: 12 }));
    let repeated: Vec<Window> = (0..12).map(|k| few[k % 3].clone()).collect();
    assert_eq!(fit(&repeated, &edges_of(4)), Err(FitError::Singular(4)));
    assert!(fit_best(&repeated, 1..=8, &Symmetry::none(3)).is_ok_and(|fit| fit.surface.basis.degree() == 1));
    let mut bad = good.clone();
    bad[4].slopes[0] = f64::NAN;
    assert!(matches!(fit(&bad, &edges_of(2)), Err(FitError::Window { index: 4, .. })));
    bad[4] = Window { covariance: DMatrix::zeros(2, 2), ..good[4].clone() };
    assert!(fit_best(&bad, 1..=2, &Symmetry::none(3)).is_err());
}
