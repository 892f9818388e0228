//! Free runs drawn from known distributions: the free energy comes back, with its error, and rounds become flat.

use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StandardUniform};

use super::round::BINS;
use super::*;
use crate::analysis::agreement::Difference;
use crate::analysis::simplex_fit::vertex;
use crate::analysis::symmetry::Symmetry;
use crate::analysis::synthetic::random;

const T: f64 = 300.0;

fn free_energy(basis: SimplexBasis, c: &[f64], weights: &[f64]) -> f64 {
    basis.values(weights).iter().zip(c).map(|(b, c)| b * c).sum()
}

/// Metropolis walk of the weights in exp(−(F − F_r)/RT) on the simplex, cut at −0.03 by walls.
fn walk(basis: SimplexBasis, c: &[f64], bias: &[f64], frames: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let n = basis.n_forms();
    let energy = |w: &[f64]| (free_energy(basis, c, w) - free_energy(basis, bias, w)) / (GAS_CONSTANT * T);
    let mut now = vec![1.0 / n as f64; n];
    let mut series = vec![Vec::with_capacity(frames); n];
    for _ in 0..frames {
        for _ in 0..5 {
            let noise: Vec<f64> = (0..n).map(|_| -> f64 { StandardNormal.sample(rng) }).collect();
            let mean = noise.iter().sum::<f64>() / n as f64;
            let next: Vec<f64> = now.iter().zip(&noise).map(|(w, r)| w + 0.15 * (r - mean)).collect();
            let chance: f64 = StandardUniform.sample(rng);
            if next.iter().all(|&w| w > -0.03) && chance.ln() < energy(&now) - energy(&next) {
                now = next;
            }
        }
        series.iter_mut().zip(&now).for_each(|(one, &w)| one.push(w));
    }
    series
}

/// A prior that knows next to nothing about `terms` coefficients.
fn ignorant(terms: usize) -> Prior {
    Prior { coefficients: vec![0.0; terms], precision: DMatrix::identity(terms, terms) * 1e-6 }
}

#[test]
fn the_lattice_fills_the_simplex_evenly() {
    for n in 2..=5 {
        let points = lattice(n);
        assert!((200..=LATTICE).contains(&points.len()), "{n}: {}", points.len());
        let mean: f64 = points.iter().map(|p| p[n - 1]).sum::<f64>() / points.len() as f64;
        assert!((mean - 1.0 / n as f64).abs() < 1e-12);
        assert!(points.iter().all(|p| p.iter().all(|&w| w > LOWEST) && (p.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    }
}

/// Weights of two forms, each frame drawn anew from exp(−F/RT), cut at −0.03 by walls.
fn independent(basis: SimplexBasis, c: &[f64], frames: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let energy = |x: f64| free_energy(basis, c, &[1.0 - x, x]) / (GAS_CONSTANT * T);
    let grid = (0..=106).map(|k| -0.03 + 0.01 * f64::from(k));
    // A line of the third degree leaves its values on this grid by less than one RT.
    let lowest = grid.map(energy).fold(f64::INFINITY, f64::min) - 1.0;
    let mut series = vec![Vec::new(); 2];
    while series[0].len() < frames {
        let [place, chance]: [f64; 2] = std::array::from_fn(|_| StandardUniform.sample(rng));
        let x = -0.03 + 1.06 * place;
        if chance.ln() < lowest - energy(x) {
            series[0].push(1.0 - x);
            series[1].push(x);
        }
    }
    series
}

/// χ² of the free energy at two places against [0.9, 0.1], over `runs` rounds of which `series` gives the weights, divided by their number.
fn squares(runs: u64, series: impl Fn(SimplexBasis, &[f64], &mut ChaCha8Rng) -> Vec<Vec<f64>>) -> [f64; 2] {
    let basis = SimplexBasis::new(2, 3);
    let exact = [2.0, -6.0, 3.0];
    let mut pulls = [0.0; 2];
    for seed in 0..runs {
        let round = Round::new(&Space::whole(basis), &[0.0; 3], &[series(basis, &exact, &mut random(seed))]).unwrap();
        let found = estimate(&Space::whole(basis), &[round], &ignorant(3), T).unwrap();
        for (pull, t) in pulls.iter_mut().zip([0.5, 0.9]) {
            let (from, to) = ([0.9, 0.1], [1.0 - t, t]);
            let u = found.between(&from, &to);
            let truth = free_energy(basis, &exact, &to) - free_energy(basis, &exact, &from);
            *pull += ((u.value - truth) / u.error).powi(2) / runs as f64;
        }
    }
    pulls
}

#[test]
fn the_free_energy_of_two_forms_comes_back_with_its_error() {
    // Independent frames: χ² of 200 rounds is 200 ± 20, and 99.9 % lie in 0.70 to 1.36 of it; g of noise is up to 15 % too large.
    let found = squares(200, |basis, c, rng| independent(basis, c, 600, rng));
    assert!(found.iter().all(|square| (0.60..1.36).contains(square)), "{found:?}");
    // A walk: averages of higher terms are less correlated than λ itself, by which samples are counted. The term λ² forgets up to three times as
    // fast as λ, as the second eigenfunction of diffusion between walls does four times: errors are on the safe side, by less than a factor of two.
    let found = squares(200, |basis, c, rng| walk(basis, c, &[0.0; 3], 3000, rng));
    assert!(found.iter().all(|square| (0.25..1.0).contains(square)), "{found:?}");
}

#[test]
fn three_forms_in_rounds_become_flat() {
    let basis = SimplexBasis::new(3, 4);
    let exact: Vec<f64> = vec![-8.0, 5.0, -20.0, 2.0, 1.0, 9.0, -2.0, 0.5, -15.0, 1.0, -1.0, 20.0];
    // Windows were wrong by 3 to 5 kJ/mol at the forms and say so.
    let mut start = exact.clone();
    (start[0], start[1], start[2]) = (-4.0, 2.0, -17.0);
    let known = Surface { basis, coefficients: start, covariance: DMatrix::identity(12, 12) * 9.0 };
    let prior = Prior::from_surface(&known, &Space::whole(basis), 0.0).unwrap();
    let (mut rounds, mut surface, mut rng) = (Vec::new(), known, random(7));
    let mut deviations = Vec::new();
    for _ in 0..6 {
        let bias = surface.coefficients.clone();
        let runs = [0, 1].map(|_| walk(basis, &exact, &bias, 4000, &mut rng));
        rounds.push(Round::new(&Space::whole(basis), &bias, &runs).unwrap());
        let flatness = Flatness::new(&Space::whole(basis), &rounds, T).unwrap();
        deviations.push(flatness.deviation);
        if flatness.within(1.0) {
            break;
        }
        surface = estimate(&Space::whole(basis), &rounds, &prior, T).unwrap();
    }
    let last = *deviations.last().unwrap();
    assert!(deviations[0].value > 2.0 && last.value + last.error <= 1.0, "{deviations:?}");
    let off = |form: usize| free_energy(basis, &surface.coefficients, &vertex(3, form)) - exact[form - 1];
    assert!(off(1).abs() < 1.0 && off(2).abs() < 1.0, "{} {}", off(1), off(2));
    let last = rounds.last().unwrap();
    assert!(last.transitions > 10 && last.populations.iter().all(|p| *p > 0.0), "{last:?}");
}

/// Two forms that are the same: what is found is symmetric, with its error, and every histogram shows the frames of its images.
#[test]
fn symmetric_runs_give_symmetric_free_energies() {
    let space = Symmetry::new(3, &[[0, 1]]).space(SimplexBasis::new(3, 3));
    let (basis, terms) = (space.basis, space.basis.len());
    let raw = DVector::from_vec(vec![1.0, -2.0, -5.0, 1.0, -4.0, 2.0, 3.0, -1.0, 6.0]);
    assert_eq!(raw.len(), terms);
    let exact: Vec<f64> = (&space.free * space.free.transpose() * raw).iter().copied().collect();
    let (mut pull, runs) = (0.0, 40);
    for seed in 0..runs {
        let walked = walk(basis, &exact, &vec![0.0; terms], 3000, &mut random(100 + seed));
        let round = Round::new(&space, &vec![0.0; terms], std::slice::from_ref(&walked)).unwrap();
        let found = estimate(&space, std::slice::from_ref(&round), &ignorant(terms), T).unwrap();
        let (from, to) = ([0.45, 0.45, 0.1], [0.1, 0.1, 0.8]);
        let u = found.between(&from, &to);
        let truth = free_energy(basis, &exact, &to) - free_energy(basis, &exact, &from);
        pull += ((u.value - truth) / u.error).powi(2) / runs as f64;
        let images = [[0.6, 0.3, 0.1], [0.3, 0.6, 0.1]].map(|w| free_energy(basis, &found.coefficients, &w));
        assert!((images[0] - images[1]).abs() < 1e-10 && round.populations[0] == round.populations[1]);
        // Between the two forms a histogram is its own mirror image; the two others are equal, and hold the frames of both.
        let [middle, one, other] = [0, 1, 2].map(|edge| &round.edges[edge]);
        assert!((0..BINS).all(|k| middle.counts[k] == middle.counts[BINS - 1 - k]));
        assert_eq!((&one.counts, &one.images, middle.images[4]), (&other.counts, &vec![2; BINS], 1));
        let alone = Round::new(&Space::whole(basis), &vec![0.0; terms], &[walked]).unwrap();
        assert_eq!(one.counts[3], alone.edges[1].counts[3] + alone.edges[2].counts[3]);
    }
    // As for two forms: errors are on the safe side; mean of χ² of 40 runs ± 0.22.
    assert!((0.25..1.7).contains(&pull), "{pull}");
}

/// Halves of stationary runs differ by their errors, and halves of runs that move on by more.
#[test]
fn halves_show_runs_that_move_on() {
    let basis = SimplexBasis::new(2, 2);
    let symmetry = Symmetry::none(2);
    let mut rng = random(31);
    let runs = [0, 1].map(|_| walk(basis, &[0.0; 2], &[0.0; 2], 3000, &mut rng));
    let still = Difference::of(&halves(&symmetry, &runs).unwrap().unwrap()).unwrap();
    assert!(still.degrees == 1 && still.probability() > 0.01, "{still:?}");
    let moving = runs.map(|run| {
        let shifted = |form: usize, sign: f64| {
            run[form].iter().zip(0..).map(|(w, k)| w + sign * 0.2 * f64::from(k) / 3000.0).collect()
        };
        vec![shifted(0, -1.0), shifted(1, 1.0)]
    });
    let moving = Difference::of(&halves(&symmetry, &moving).unwrap().unwrap()).unwrap();
    // By 0.1, with 2 × 2 × 1500 frames whose weights scatter by 0.3 and forget in ten frames: 0.02.
    assert!(moving.probability() < 0.01 && moving.z > 3.0, "{moving:?}");
    assert_eq!(halves(&Symmetry::new(2, &[[0, 1]]), &[vec![vec![0.5; 20]; 2]]), Ok(None));
}

#[test]
fn what_was_known_before_counts() {
    let basis = SimplexBasis::new(2, 2);
    let known = Surface { basis, coefficients: vec![1.0, 2.0], covariance: DMatrix::identity(2, 2) * 1e-6 };
    let prior = Prior::from_surface(&known, &Space::whole(basis), 2e-3).unwrap();
    let mut rng = random(9);
    let round = Round::new(&Space::whole(basis), &[1.0, 2.0], &[walk(basis, &[3.0, 2.0], &[1.0, 2.0], 2000, &mut rng)])
        .unwrap();
    let firm = estimate(&Space::whole(basis), std::slice::from_ref(&round), &prior, T).unwrap();
    assert!((firm.coefficients[0] - 1.0).abs() < 0.01);
    // No round at all leaves it as it was, its errors with what they may hide.
    let none = estimate(&Space::whole(basis), &[], &prior, T).unwrap();
    assert!((none.coefficients[1] - 2.0).abs() < 1e-9 && (none.errors()[0] / 5f64.sqrt() / 1e-3 - 1.0).abs() < 1e-6);
    let open = estimate(&Space::whole(basis), &[round], &ignorant(2), T).unwrap();
    assert!((open.coefficients[0] - 3.0).abs() < 4.0 * open.errors()[0], "{open:?}");
}

#[test]
fn histograms_show_the_profile() {
    let basis = SimplexBasis::new(2, 2);
    let exact = [0.0, 6.0];
    let round = Round::new(&Space::whole(basis), &[0.0; 2], &[walk(basis, &exact, &[0.0; 2], 20_000, &mut random(11))])
        .unwrap();
    let profile = round.edges[0].profile(&round, T);
    assert_eq!(profile.len(), BINS);
    let exact_at = |x: f64| 6.0 * x * (1.0 - x);
    let mean = profile.iter().map(|(x, _)| exact_at(*x)).sum::<f64>() / BINS as f64;
    for (x, w) in profile {
        // Bins of 0.1: the curvature shifts them by 0.005; five errors.
        assert!((w.value - (exact_at(x) - mean)).abs() < 5.0 * w.error + 0.02, "{x}: {w:?}");
    }
}

#[test]
fn bad_rounds_are_refused() {
    let basis = SimplexBasis::new(2, 2);
    let series = |f: fn(usize) -> f64| (0..20).map(f).collect::<Vec<f64>>();
    let alternating = vec![series(|k| 1.0 - (k % 2) as f64), series(|k| (k % 2) as f64)];
    assert_eq!(
        Round::new(&Space::whole(basis), &[0.0; 2], std::slice::from_ref(&alternating)),
        Err(FlatnessError::Outside)
    );
    assert!(matches!(Round::new(&Space::whole(basis), &[0.0], &[]), Err(FlatnessError::Length { .. })));
    assert!(matches!(Round::new(&Space::whole(basis), &[0.0; 2], &[vec![]]), Err(FlatnessError::Length { .. })));
    let fixed = vec![vec![0.5; 20], vec![0.5; 20]];
    assert!(matches!(Round::new(&Space::whole(basis), &[0.0; 2], &[fixed]), Err(FlatnessError::Series(_))));
    assert!(estimate(&Space::whole(basis), &[], &ignorant(3), T).is_err());
}
