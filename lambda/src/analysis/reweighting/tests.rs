//! Sites whose free energy is known on a grid and whose frames are drawn from it exactly: populations, pKa, slopes and their errors come back.
//!
//! Everything is discrete, so that sums over the grid are exact. A frame is drawn anew with probability [`RATE`], else it is the one before: the
//! inefficiency is 2/RATE − 1 = 19.

use super::*;
use crate::analysis::bootstrap::{self, RingSums};
use crate::analysis::counted::{Counted, Resampling, StateSeries};
use crate::analysis::determined::Determined;
use crate::analysis::hill::{self, TitrationPoint};
use crate::analysis::occupancy::{OCCUPIED, classes, states};
use crate::analysis::pairs::{self, PairSeries};
use crate::analysis::synthetic::random;
use crate::analysis::titration::{self, Titration, TitrationSeries};
use crate::bias::{Acidity, Barrier, Separation, SiteBias};
use forcefield::units::GAS_CONSTANT;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardUniform};

const T: f64 = 300.0;
const RATE: f64 = 0.1;
/// Sets of frames in each test of errors.
const SETS: u64 = 120;
/// χ² of 120 sets, divided by them: 99.9 % lie between these.
const SQUARE: std::ops::Range<f64> = 0.62..1.48;
const PH: [f64; 5] = [2.5, 3.5, 4.5, 5.5, 6.5];

/// Sites with their weights at every point of a grid, and the energy there without V_pH.
struct Model {
    potentials: Vec<PhPotential>,
    protons: Vec<u32>,
    /// `[point][site][form]`.
    weights: Vec<Vec<Vec<f64>>>,
    /// F₀/RT.
    base: Vec<f64>,
}

/// Wells, barrier and walls, and what is left of a force field: a tilt and a curvature that the analysis does not know of, in units of RT.
fn energy(barrier: &Barrier, weights: &[f64]) -> f64 {
    let bias = SiteBias { separation: Separation::Wells(*barrier), ph: None, correction: None, entropy: None };
    let mut slopes = vec![0.0; weights.len()];
    let separated = bias.evaluate(weights, &mut slopes);
    (separated.barrier + separated.walls) / (GAS_CONSTANT * T) + rest(weights)
}

/// What is left of a force field, in units of RT.
fn rest(weights: &[f64]) -> f64 {
    (0.9 * weights[0] + 1.5 * weights[0] * weights[1]) / (GAS_CONSTANT * T)
}

impl Model {
    /// One site with forms of these protons lost and pK, on a grid of this spacing.
    fn one(forms: &[(u32, f64)], height: f64, smoothed: bool, spacing: f64) -> Self {
        let barrier = Barrier::solve(height).unwrap();
        let acids = forms.iter().map(|&(protons_lost, pk)| Acidity { pk, protons_lost }).collect();
        let potential = PhPotential::new(acids, 7.0, T, smoothed.then_some(barrier.a)).unwrap();
        let axis: Vec<f64> = (0..).map(|k| -0.1 + spacing * f64::from(k)).take_while(|w| *w < 1.1).collect();
        let mut points: Vec<Vec<f64>> = axis.iter().map(|&w| vec![w]).collect();
        for _ in 2..forms.len() {
            points = points.iter().flat_map(|p| axis.iter().map(|&w| [&p[..], &[w]].concat())).collect();
        }
        points.iter_mut().for_each(|p| p.insert(0, 1.0 - p.iter().sum::<f64>()));
        points.retain(|p| p[0] > -0.15);
        let base = points.iter().map(|p| energy(&barrier, p)).collect();
        let protons = forms.iter().map(|form| form.0).collect();
        Self { potentials: vec![potential], protons, weights: points.into_iter().map(|p| vec![p]).collect(), base }
    }

    /// Two sites of two forms whose last forms cost `interaction` more together, in units of pK.
    fn two(pk: [f64; 2], interaction: f64, height: f64, smoothed: bool) -> Self {
        let [a, b] = pk.map(|pk| Self::one(&[(0, 0.0), (1, pk)], height, smoothed, 0.02));
        let (mut weights, mut base) = (Vec::new(), Vec::new());
        for (first, one) in a.weights.iter().zip(&a.base) {
            for (second, other) in b.weights.iter().zip(&b.base) {
                let both = std::f64::consts::LN_10 * interaction * first[0][1] * second[0][1];
                weights.push(vec![first[0].clone(), second[0].clone()]);
                base.push(one + other + both);
            }
        }
        let potentials = [a.potentials, b.potentials].concat();
        Self { potentials, protons: a.protons, weights, base }
    }

    /// u at every point.
    fn energies(&self, ph: f64) -> Vec<f64> {
        let g: Vec<Vec<f64>> = self.potentials.iter().map(|v| v.reduced(ph)).collect();
        let of = |weights: &Vec<Vec<f64>>| -> f64 {
            let site = |((v, g), w): ((&PhPotential, &Vec<f64>), &Vec<f64>)| {
                g.iter().zip(w).map(|(g, w)| g * v.share(*w)).sum::<f64>()
            };
            self.potentials.iter().zip(&g).zip(weights).map(site).sum()
        };
        self.weights.iter().map(of).collect()
    }

    /// A run, drawn from exp(−F₀ − u).
    fn run(&self, ph: f64, frames: usize, rng: &mut ChaCha8Rng) -> RunFrames {
        let mut cumulative: Vec<f64> = self.base.iter().zip(self.energies(ph)).map(|(f, u)| (-f - u).exp()).collect();
        (1..cumulative.len()).for_each(|k| cumulative[k] += cumulative[k - 1]);
        let all = cumulative[cumulative.len() - 1];
        let mut point = 0;
        let drawn: Vec<usize> = (0..frames)
            .map(|frame| {
                let [again, place]: [f64; 2] = std::array::from_fn(|_| StandardUniform.sample(rng));
                if frame == 0 || again < RATE {
                    point = cumulative.partition_point(|c| *c < place * all);
                }
                point
            })
            .collect();
        let site = |(index, potential): (usize, &PhPotential)| {
            let forms = self.weights[0][index].len();
            let weights: Vec<Vec<f64>> =
                (0..forms).map(|form| drawn.iter().map(|&p| self.weights[p][index][form]).collect()).collect();
            let slices: Vec<&[f64]> = weights.iter().map(Vec::as_slice).collect();
            Some(SiteFrames::new(potential.clone(), &weights, states(&slices, OCCUPIED).unwrap()))
        };
        RunFrames { ph, frames, sites: self.potentials.iter().enumerate().map(site).collect() }
    }

    fn experiment(&self, ph: &[f64], frames: usize, seed: u64) -> Vec<RunFrames> {
        self.runs(ph, &vec![frames; ph.len()], seed)
    }

    /// A run of so many frames at each pH.
    fn runs(&self, ph: &[f64], frames: &[usize], seed: u64) -> Vec<RunFrames> {
        let mut rng = random(seed);
        ph.iter().zip(frames).map(|(&ph, &frames)| self.run(ph, frames, &mut rng)).collect()
    }

    /// ln Σ e^{−F₀} over the points of each joint form of all sites, the last site counting fastest.
    fn pure(&self) -> Vec<f64> {
        let forms = self.weights[0][0].len();
        let mut sums = vec![0.0; forms.pow(self.potentials.len() as u32)];
        for (weights, base) in self.weights.iter().zip(&self.base) {
            let form = |w: &Vec<f64>| w.iter().rposition(|w| *w > OCCUPIED);
            if let Some(forms_of) = weights.iter().map(form).collect::<Option<Vec<usize>>>() {
                sums[forms_of.iter().fold(0, |all, form| all * forms + form)] += (-base).exp();
            }
        }
        sums.into_iter().map(f64::ln).collect()
    }
}

fn titrated(ensemble: &Ensemble, site: usize, protons: &[u32], draws: u32) -> Titration {
    let all: Vec<usize> = (0..ensemble.runs().len()).collect();
    let question = ensemble.ask(&[site], &all);
    let series: Vec<TitrationSeries<'_>> = ensemble
        .runs()
        .iter()
        .map(|run| TitrationSeries { ph: run.ph, states: run.sites[site].as_ref().unwrap().states() })
        .collect();
    titration::evaluate(protons, &series, Some(&question), Resampling { draws, seed: 1 }).unwrap()
}

fn pull(found: Determined, exact: f64) -> f64 {
    (found.value().unwrap() - exact) / found.error().unwrap()
}

/// The slope of a fit to these fractions, each of so many samples.
fn slope(titration: &Titration, fraction: impl Fn(&titration::PhPoint) -> Option<f64>) -> f64 {
    let points = titration.points.iter().map(|point| TitrationPoint {
        ph: point.ph,
        deprotonated: fraction(point).unwrap(),
        samples: point.samples,
    });
    hill::fit(&points.collect::<Vec<_>>()).unwrap().slope.value().unwrap()
}

/// Linear and smoothed, without and with a barrier: slope one, and the pKa within its error.
#[test]
fn one_site_has_slope_one_and_its_pka_whatever_the_potential() {
    for (height, smoothed) in [(0.0, false), (5.0, false), (0.0, true), (5.0, true)] {
        let model = Model::one(&[(0, 0.0), (1, 4.25)], height, smoothed, 0.01);
        let pure = model.pure();
        let exact = 4.25 - (pure[1] - pure[0]) / std::f64::consts::LN_10;
        // The unknown tilt counts: pK units by which the site is off its reference.
        assert!((exact - 4.25).abs() > 0.05, "{exact}");
        let (mut square, mut counted, mut weighted) = (0.0, 0.0, 0.0);
        for seed in 0..SETS {
            let ensemble = Ensemble::connected(model.experiment(&PH, 3000, seed)).unwrap();
            let found = titrated(&ensemble, 0, &model.protons, 100);
            let step = found.macroscopic[0];
            assert!((step.slope.unwrap().value().unwrap() - 1.0).abs() < 0.005, "{height} {smoothed}: {step:?}");
            square += pull(step.pka, exact).powi(2) / SETS as f64;
            counted += slope(&found, |point| point.deprotonated_counted) / SETS as f64;
            weighted += slope(&found, |point| point.deprotonated_weighted) / SETS as f64;
        }
        assert!(SQUARE.contains(&square), "{height} {smoothed}: {square}");
        // 150 samples at each pH: the slope of a fit has an error of 0.1, its mean one of 0.01.
        assert!((weighted - 1.0).abs() < 0.035, "{height} {smoothed}: {weighted}");
        // The plain count is what it is: without the weights no slope is one.
        assert!(counted < 0.965, "{height} {smoothed}: {counted}");
    }
}

/// What a protein does to F along λ is known from frame to frame: each counts for the form itself, wherever the line is drawn, and not for the part of λ about it.
#[test]
fn frames_that_are_taken_to_their_forms_give_the_free_energies_of_these() {
    let protein = |w: f64| 6.0 * w - 10.0 * w * w * (1.0 - w);
    let mut model = Model::one(&[(0, 0.0), (1, 4.25)], 5.0, false, 0.01);
    // Without it both parts of λ are alike but for the tilt of the model.
    let alone = |line: f64, form: usize| -> f64 {
        let points = model.weights.iter().zip(&model.base).filter(|(w, _)| w[0][form] > line);
        points.map(|(_, base)| (-base).exp()).sum::<f64>().ln()
    };
    let exact = |line: f64| 4.25 - (alone(line, 1) - alone(line, 0) - protein(1.0)) / std::f64::consts::LN_10;
    let lines = [0.9, 0.95];
    let expected = lines.map(exact);
    model.base = model.weights.iter().zip(&model.base).map(|(w, base)| base + protein(w[0][1])).collect();
    let taken = |runs: Vec<RunFrames>, line: f64| -> Vec<RunFrames> {
        let site = |site: SiteFrames| {
            let step = |(frame, state): (usize, &State)| match state.map(usize::from) {
                Some(form) if site.shares[form][frame] > line => {
                    protein([0.0, 1.0][form]) - protein(site.shares[1][frame])
                }
                _ => f64::INFINITY,
            };
            let perturbations = site.states.iter().enumerate().map(step).collect();
            site.taken_to_forms(perturbations)
        };
        let run = |run: RunFrames| RunFrames { sites: run.sites.into_iter().map(|one| one.map(site)).collect(), ..run };
        runs.into_iter().map(run).collect()
    };
    let ph = PH.map(|ph| ph + 2.6);
    let sets = 40;
    let mean = |of: &dyn Fn(Vec<RunFrames>) -> Vec<RunFrames>| -> f64 {
        let one = |seed| {
            let ensemble = Ensemble::connected(of(model.experiment(&ph, 3000, seed))).unwrap();
            let curve = ensemble.populations(6.9)[0].clone().unwrap();
            let found = titrated(&ensemble, 0, &model.protons, 20).macroscopic[0].pka.value().unwrap();
            // The curve of MBAR is of the same forms.
            assert!((6.9 - (curve[1] / curve[0]).log10() - found).abs() < 0.05, "{curve:?} {found}");
            found
        };
        (0..sets).map(one).sum::<f64>() / sets as f64
    };
    for (line, expected) in lines.into_iter().zip(expected) {
        let found = mean(&|runs| taken(runs, line));
        assert!((found - expected).abs() < 0.03, "{line}: {found} {expected}");
    }
    let parts = mean(&|runs| runs);
    assert!((parts - expected[0]).abs() > 0.15, "{parts} {expected:?}");
    // Without a frame near a form nothing is known.
    let far = |run: &RunFrames| RunFrames {
        sites: run
            .sites
            .iter()
            .flatten()
            .map(|site| Some(site.clone().taken_to_forms(vec![f64::INFINITY; run.frames])))
            .collect(),
        ..run.clone()
    };
    let all = Ensemble::connected(model.experiment(&ph, 300, 1).iter().map(far).collect()).unwrap();
    assert_eq!(all.populations(6.9), [None]);
    assert_eq!(titrated(&all, 0, &model.protons, 20).macroscopic[0].pka.value(), None);
}

#[test]
fn three_forms_have_their_microscopic_and_macroscopic_constants() {
    for smoothed in [false, true] {
        // A carboxyl whose two oxygens differ: 10^−pKa = 1/(10^pK₁ + 10^pK₂) of the two protonated forms.
        let model = Model::one(&[(0, 0.0), (0, 0.5), (1, 4.4)], 2.0, smoothed, 0.04);
        let pure = model.pure();
        let kappa: Vec<f64> = [0.0, 0.5, 4.4].iter().zip(&pure).map(|(k, f)| k - f / std::f64::consts::LN_10).collect();
        let share = 1.0 / (1.0 + 10f64.powf(kappa[0] - kappa[1]));
        let macroscopic = kappa[2] + (10f64.powf(-kappa[0]) + 10f64.powf(-kappa[1])).log10();
        let exact = [kappa[2] - kappa[0], kappa[2] - kappa[1], macroscopic, share];
        let mut squares = [0.0; 4];
        for seed in 0..SETS {
            let ensemble = Ensemble::connected(model.experiment(&PH, 3000, 1000 + seed)).unwrap();
            let found = titrated(&ensemble, 0, &model.protons, 60);
            let step = found.macroscopic[0];
            assert!((step.slope.unwrap().value().unwrap() - 1.0).abs() < 0.005, "{smoothed}: {step:?}");
            let numbers = [found.microscopic[0].pk, found.microscopic[1].pk, step.pka, found.shares[0]];
            for ((square, number), exact) in squares.iter_mut().zip(numbers).zip(exact) {
                *square += pull(number, exact).powi(2) / SETS as f64;
            }
        }
        assert!(squares.iter().all(|square| SQUARE.contains(square)), "{smoothed}: {squares:?}");
    }
}

/// Z = Σ e^{−g_α − g_β + ln C_αβ} of the four pure forms gives both macroscopic constants exactly.
#[test]
fn two_coupled_sites_have_the_macroscopic_pka_values_of_their_partition_function() {
    let (pk, ph) = ([4.0, 4.6], [2.5, 3.5, 4.5, 5.5, 6.5, 7.5]);
    for smoothed in [false, true] {
        let model = Model::two(pk, 1.2, 2.0, smoothed);
        let lg: Vec<f64> = model.pure().iter().map(|f| f / std::f64::consts::LN_10).collect();
        // lg of the binding polynomial without the pH: 0, 1 and 2 protons lost.
        let one = (10f64.powf(lg[1] - pk[1]) + 10f64.powf(lg[2] - pk[0])).log10();
        let exact = [lg[0] - one, one - (lg[3] - pk[0] - pk[1]), lg[1] + lg[2] - lg[0] - lg[3]];
        let mut squares = [0.0; 3];
        let mut slope = 0.0;
        for seed in 0..SETS {
            // Both sites are pure in a fifth of the frames.
            let ensemble = Ensemble::connected(model.experiment(&ph, 6000, 2000 + seed)).unwrap();
            let all: Vec<usize> = (0..ph.len()).collect();
            let of: Vec<[Vec<State>; 2]> = ensemble
                .runs()
                .iter()
                .map(|run| [0, 1].map(|site| classes(run.sites[site].as_ref().unwrap().states(), &[0, 1])))
                .collect();
            let series: Vec<PairSeries<'_>> =
                ph.iter().zip(&of).map(|(&ph, [first, second])| PairSeries { ph, first, second }).collect();
            let titrations = [0, 1].map(|site| titrated(&ensemble, site, &model.protons, 1));
            let question = ensemble.ask(&[0, 1], &all);
            let inefficiencies = [&titrations[0].inefficiencies[..], &titrations[1].inefficiencies[..]];
            let pair = pairs::evaluate(&series, inefficiencies, Some(&question), Resampling { draws: 60, seed: 1 });
            let found = [pair.macroscopic[0], pair.macroscopic[1], pair.interaction];
            for ((square, found), exact) in squares.iter_mut().zip(found).zip(exact) {
                *square += pull(found, exact).powi(2) / SETS as f64;
            }
            slope += titrations[0].macroscopic[0].slope.unwrap().value().unwrap() / SETS as f64;
        }
        assert!(squares.iter().all(|square| SQUARE.contains(square)), "{smoothed}: {squares:?}");
        // Each alone is flatter than a single site, and the slope is not made one.
        assert!((0.5..0.93).contains(&slope), "{smoothed}: {slope}");
    }
}

/// One Newton step for each draw, and whole solutions with the frames of the same draws.
#[test]
fn draws_to_the_first_order_are_those_of_whole_solutions() {
    let model = Model::two([3.6, 5.0], 0.8, 5.0, false);
    let (frames, ph) = (400, [3.0, 4.2, 5.4]);
    let runs = model.experiment(&ph, frames, 31);
    let ensemble = Ensemble::connected(runs.clone()).unwrap();
    let all = [0, 1, 2];
    let question = ensemble.ask(&[0], &all);
    let of = |runs: &[RunFrames]| -> Vec<Vec<State>> {
        runs.iter().map(|run| run.sites[0].as_ref().unwrap().states().to_vec()).collect()
    };
    let logit = |p: &crate::analysis::equilibrium::Populations| (p.samples[1] / p.samples[0]).ln();
    let counted = |ensemble: &Ensemble, states: &[Vec<State>]| -> Counted {
        let question = ensemble.ask(&[0], &all);
        let series: Vec<StateSeries<'_>> =
            ph.iter().zip(states).map(|(&ph, states)| StateSeries { ph, states }).collect();
        Counted::new(&series, 2, Some(&question))
    };
    assert!(question.response.is_some());
    let whole = counted(&ensemble, &of(&runs));
    let draws = 150;
    let resampling = Resampling { draws, seed: 4 };
    let quick = std::cell::RefCell::new(Vec::new());
    let _ = whole.draws(resampling, |points| {
        quick.borrow_mut().push(points.iter().map(logit).collect::<Vec<f64>>());
        Vec::new()
    });
    let (quick, centre) = (quick.into_inner(), whole.populations().iter().map(logit).collect::<Vec<f64>>());
    let (mut squares, mut differences) = (vec![0.0; 3], vec![0.0; 3]);
    for number in 0..draws {
        // The frames of the same draw, by rings that count every frame on its own.
        let mut rng = bootstrap::random(resampling.seed, u64::from(number));
        let drawn: Vec<RunFrames> = (0..3)
            .map(|run| {
                let (chunk, block) = whole.blocking(run);
                let ring = RingSums::new(frames, chunk, frames, |frame, sums| sums[frame] += 1.0);
                let times = ring.draw(block, &mut rng);
                let list: Vec<usize> =
                    (0..frames).flat_map(|frame| std::iter::repeat_n(frame, times[frame] as usize)).collect();
                let site = |site: &Option<SiteFrames>| {
                    let site = site.as_ref().unwrap();
                    let shares = site.shares.iter().map(|all| list.iter().map(|&k| all[k]).collect()).collect();
                    let states = list.iter().map(|&k| site.states[k]).collect();
                    Some(SiteFrames { potential: site.potential.clone(), shares, states, perturbations: Vec::new() })
                };
                RunFrames { ph: ph[run], frames: list.len(), sites: runs[run].sites.iter().map(site).collect() }
            })
            .collect();
        let solved = counted(&Ensemble::connected(drawn.clone()).unwrap(), &of(&drawn));
        for (k, point) in solved.populations().iter().enumerate() {
            squares[k] += (logit(point) - centre[k]).powi(2) / f64::from(draws);
            differences[k] += (logit(point) - quick[number as usize][k]).powi(2) / f64::from(draws);
        }
    }
    // 400 frames are 20 samples at each pH: the second order of their noise, 0.3 in ln P, is left over.
    assert!(differences.iter().zip(&squares).all(|(d, s)| d < &(0.04 * s)), "{differences:?} {squares:?}");
}

#[test]
fn populations_at_any_ph_are_exact_and_those_of_the_runs_at_theirs() {
    let model = Model::two([3.6, 5.0], 0.8, 2.0, true);
    let ensemble = Ensemble::connected(model.experiment(&PH, 40_000, 8)).unwrap();
    let found = titrated(&ensemble, 0, &model.protons, 0);
    for point in &found.points {
        let here = ensemble.populations(point.ph);
        let same = here[0].as_ref().unwrap().iter().zip(point.populations.as_ref().unwrap());
        assert!(same.into_iter().all(|(a, b)| (a - b).abs() < 1e-9), "{point:?}");
    }
    // Between the pH values of the runs: the site asked about is pure, the other one feels V_pH.
    for ph in [3.0, 4.0, 5.0, 6.0] {
        let (u, g) = (model.energies(ph), model.potentials[0].reduced(ph));
        let mut sums = [0.0; 2];
        for ((weights, base), u) in model.weights.iter().zip(&model.base).zip(u) {
            if let Some(form) = weights[0].iter().position(|w| *w > OCCUPIED) {
                let own: f64 = g.iter().zip(&weights[0]).map(|(g, w)| g * model.potentials[0].share(*w)).sum();
                sums[form] += (-base - u + own - g[form]).exp();
            }
        }
        let populations = ensemble.populations(ph)[0].clone().unwrap();
        let (found, exact) = ((populations[1] / populations[0]).ln(), (sums[1] / sums[0]).ln());
        // 10 000 samples, of which a fifth counts at each pH: 0.05.
        assert!((found - exact).abs() < 0.15, "{ph}: {found} {exact}");
    }
}

/// A pH without a frame near a form has its populations from the frames of the others, and no interval of its own.
#[test]
fn a_ph_of_mixed_frames_has_the_populations_that_the_others_know() {
    let model = Model::one(&[(0, 0.0), (1, 4.25)], 2.0, false, 0.01);
    let mut runs = model.experiment(&PH, 20_000, 78);
    runs[2].sites[0].as_mut().unwrap().states.fill(None);
    let ensemble = Ensemble::connected(runs).unwrap();
    let point = &titrated(&ensemble, 0, &model.protons, 0).points[2];
    assert_eq!((point.samples, &point.weighted, &point.intervals, point.interval), (0.0, &None, &None, None));
    let (found, pure) = (point.populations.as_ref().unwrap(), model.pure());
    let exact = pure[1] - pure[0] + std::f64::consts::LN_10 * (4.5 - 4.25);
    // 4000 samples in all.
    assert!(((found[1] / found[0]).ln() - exact).abs() < 0.15, "{found:?}");
    assert_eq!(point.deprotonated, Some(found[1]));
}

/// Separate runs are the weighted count of each pH, and their curve has slope one within its noise.
#[test]
fn separate_runs_count_at_their_own_ph_only() {
    let model = Model::one(&[(0, 0.0), (1, 4.25)], 2.0, false, 0.01);
    let runs = model.experiment(&PH, 20_000, 77);
    let ensemble = Ensemble::separate(runs);
    let found = titrated(&ensemble, 0, &model.protons, 50);
    assert!(found.points.iter().all(|point| point.populations == point.weighted && point.populations.is_some()));
    let slope = found.macroscopic[0].slope.unwrap();
    assert!(pull(slope, 1.0).abs() < 3.5 && slope.error().unwrap() < 0.08, "{slope:?}");
    assert_eq!(ensemble.populations(4.0), [None]);
}

/// A state that one set of frames never saw is a bound, although MBAR has a number for every pH.
#[test]
fn what_was_never_seen_is_a_bound_and_no_number() {
    let model = Model::one(&[(0, 0.0), (1, 14.0)], 5.0, false, 0.01);
    let ensemble = Ensemble::connected(model.experiment(&PH, 3000, 3)).unwrap();
    let found = titrated(&ensemble, 0, &model.protons, 20);
    assert!(matches!(found.macroscopic[0].pka, Determined::AtLeast(bound) if bound <= 6.5), "{:?}", found.macroscopic);
    assert_eq!(found.microscopic[0].pk, Determined::Unknown);
}

/// A site of two transitions beside one of hundreds: the error of both together is not that of the many.
#[test]
fn a_pair_with_a_site_that_hardly_changes_is_as_uncertain_as_that_site() {
    let model = Model::two([4.0, 4.6], 0.0, 5.0, false);
    let mut runs = model.experiment(&PH, 3000, 17);
    for run in &mut runs {
        // The second site stays in its first form, and from the middle of each run in the other one.
        let second = run.sites[1].as_mut().unwrap();
        let halves = |frame: usize| usize::from(frame >= 1500);
        for frame in 0..3000 {
            second.states[frame] = Some(halves(frame) as u8);
            (0..2).for_each(|form| second.shares[form][frame] = f64::from(u8::from(halves(frame) == form)));
        }
    }
    let ensemble = Ensemble::connected(runs).unwrap();
    let titrations = [0, 1].map(|site| titrated(&ensemble, site, &model.protons, 50));
    let of = |run: &RunFrames, site: usize| classes(run.sites[site].as_ref().unwrap().states(), &[0, 1]);
    let states: Vec<[Vec<State>; 2]> = ensemble.runs().iter().map(|run| [0, 1].map(|site| of(run, site))).collect();
    let series: Vec<PairSeries<'_>> =
        PH.iter().zip(&states).map(|(&ph, [first, second])| PairSeries { ph, first, second }).collect();
    let question = ensemble.ask(&[0, 1], &[0, 1, 2, 3, 4]);
    let g = [&titrations[0].inefficiencies[..], &titrations[1].inefficiencies[..]];
    let pair = pairs::evaluate(&series, g, Some(&question), Resampling { draws: 50, seed: 1 });
    // Two samples in each of five runs leave ln 10 σ = 1/√(10 · ¼).
    assert!(pair.interaction.error().unwrap() > 0.27, "{pair:?}");
}

mod measures;
