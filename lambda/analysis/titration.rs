//! From λ(t) at several pH to a titration curve with errors.
//!
//! Every series is counted ([`super::fractions`]), its independent samples are estimated, the Hill curve is fitted
//! ([`super::hill`]), and the fit is repeated on series whose blocks are drawn anew ([`super::bootstrap`]; blocks of three
//! times the statistical inefficiency). The error given is the larger of bootstrap and likelihood: few transitions make the
//! bootstrap too sure of itself.
//!
//! A series without a transition has an unknown inefficiency: it is given the largest of the others, or counts as a single
//! sample if there is none. Several series of one pH (replicas) are independent.

use thiserror::Error;

use super::bootstrap::{Draws, RingSums, random};
use super::fractions::{self, FractionError, Fractions, State, Thresholds};
use super::hill::{self, Determined, HillError, HillFit, TitrationPoint};

/// Share of the draws that must determine a number for the bootstrap to count.
const NEEDED_SHARE: f64 = 0.9;
/// Length of the blocks in units of the statistical inefficiency.
const BLOCK_FACTOR: f64 = 3.0;

/// λ(t) of one run at one pH, frames at equal intervals that are the same for all series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TitrationSeries<'a> {
    /// pH.
    pub ph: f64,
    /// λ of each frame.
    pub lambda: &'a [f64],
}

/// How a titration is evaluated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TitrationSettings {
    /// Thresholds of the states.
    pub thresholds: Thresholds,
    /// Number of bootstrap draws.
    pub resamples: u32,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for TitrationSettings {
    fn default() -> Self {
        Self { thresholds: Thresholds::default(), resamples: 500, seed: 1 }
    }
}

/// Why a titration cannot be evaluated.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum TitrationError {
    /// A series cannot be counted.
    #[error("series {index} (counted from 0), pH {ph}: {source}")]
    Series {
        /// Index of the series.
        index: usize,
        /// Its pH.
        ph: f64,
        /// Reason.
        source: FractionError,
    },
    /// No curve.
    #[error(transparent)]
    Hill(#[from] HillError),
}

/// One series, counted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesSummary {
    /// pH.
    pub ph: f64,
    /// Counts.
    pub fractions: Fractions,
    /// Frames per independent sample.
    pub inefficiency: f64,
    /// Whether the inefficiency was borrowed because the state never changed.
    pub borrowed: bool,
    /// Independent samples among the pure frames.
    pub samples: f64,
    /// Interval of S of one standard error (Wilson 1927), inside 0…1 also where S is 0 or 1; `None` if all frames are mixed.
    pub interval: Option<[f64; 2]>,
}

/// A titration, evaluated.
#[derive(Clone, Debug, PartialEq)]
pub struct Titration {
    /// The series in the order given.
    pub series: Vec<SeriesSummary>,
    /// The curve; errors are the larger of likelihood and bootstrap.
    pub fit: HillFit,
    /// pKa of the draws that determine it.
    pub pka_draws: Draws,
    /// Slope of the draws that determine it.
    pub slope_draws: Draws,
    /// Number of draws.
    pub resamples: u32,
}

/// Evaluates a titration.
///
/// # Errors
/// [`TitrationError`] for a series without frames or with λ that is not finite, bad thresholds or pH, and if every frame of
/// every series is mixed.
pub fn evaluate(series: &[TitrationSeries<'_>], settings: &TitrationSettings) -> Result<Titration, TitrationError> {
    let states = series
        .iter()
        .enumerate()
        .map(|(index, s)| {
            fractions::states(s.lambda, settings.thresholds).map_err(|source| TitrationError::Series {
                index,
                ph: s.ph,
                source,
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    let summaries = summarise(series, &states);
    let points: Vec<TitrationPoint> =
        summaries.iter().map(|s| point(s, s.fractions.protonated as f64, s.fractions.deprotonated as f64)).collect();
    let fit = hill::fit(&points)?;
    let rings: Vec<RingSums<2>> = states.iter().map(|s| RingSums::new(s.iter().map(outcome))).collect();
    let draws: Vec<HillFit> = (0..settings.resamples)
        .filter_map(|number| {
            let mut rng = random(settings.seed, u64::from(number));
            let draw = |(summary, ring): (&SeriesSummary, &RingSums<2>)| {
                let [protonated, deprotonated] =
                    ring.draw((BLOCK_FACTOR * summary.inefficiency).ceil() as usize, &mut rng);
                point(summary, protonated as f64, deprotonated as f64)
            };
            let points: Vec<TitrationPoint> = summaries.iter().zip(&rings).map(draw).collect();
            hill::fit(&points).ok()
        })
        .collect();
    let pick = |which: fn(&HillFit) -> Determined| Draws::new(draws.iter().filter_map(|fit| which(fit).value()));
    let (pka_draws, slope_draws) = (pick(|fit| fit.pka), pick(|fit| fit.slope));
    let widened = |number, draws: &Draws| widen(number, draws, settings.resamples);
    let fit = HillFit {
        pka: widened(fit.pka, &pka_draws),
        slope: widened(fit.slope, &slope_draws),
        pka_slope_one: widened(fit.pka_slope_one, &pick(|fit| fit.pka_slope_one)),
        ..fit
    };
    Ok(Titration { series: summaries, fit, pka_draws, slope_draws, resamples: settings.resamples })
}

fn summarise(series: &[TitrationSeries<'_>], states: &[Vec<State>]) -> Vec<SeriesSummary> {
    let known: Vec<Option<f64>> = states.iter().map(|s| fractions::inefficiency(s)).collect();
    let largest = known.iter().flatten().copied().fold(None, |most: Option<f64>, g| Some(most.map_or(g, |m| m.max(g))));
    series
        .iter()
        .zip(states)
        .zip(known)
        .map(|((series, states), known)| {
            let fractions = fractions::count(states);
            let frames = states.len() as f64;
            let inefficiency = known.or(largest).unwrap_or(frames).clamp(1.0, frames);
            let samples = (fractions.protonated + fractions.deprotonated) as f64 / inefficiency;
            let interval = fractions.deprotonated_fraction().map(|s| wilson(s, samples));
            SeriesSummary { ph: series.ph, fractions, inefficiency, borrowed: known.is_none(), samples, interval }
        })
        .collect()
}

fn outcome(state: &State) -> [u64; 2] {
    [u64::from(*state == State::Protonated), u64::from(*state == State::Deprotonated)]
}

fn point(summary: &SeriesSummary, protonated: f64, deprotonated: f64) -> TitrationPoint {
    let pure = protonated + deprotonated;
    let fraction = if pure > 0.0 { deprotonated / pure } else { 0.0 };
    TitrationPoint { ph: summary.ph, deprotonated: fraction, samples: pure / summary.inefficiency }
}

/// Interval of one standard error for a fraction `s` of `n` samples.
fn wilson(s: f64, n: f64) -> [f64; 2] {
    let centre = (s + 0.5 / n) / (1.0 + 1.0 / n);
    let half = (s * (1.0 - s) / n + 0.25 / (n * n)).sqrt() / (1.0 + 1.0 / n);
    [(centre - half).max(0.0), (centre + half).min(1.0)]
}

fn widen(number: Determined, draws: &Draws, resamples: u32) -> Determined {
    match (number, draws.error()) {
        (Determined::Value { value, error }, Some(bootstrap))
            if draws.len() as f64 >= NEEDED_SHARE * f64::from(resamples) =>
        {
            Determined::Value { value, error: error.max(bootstrap) }
        }
        _ => number,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::{random as test_random, two_state};

    const PH: [f64; 5] = [2.25, 3.25, 4.25, 5.25, 6.25];

    fn experiment(pka: f64, frames: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut rng = test_random(seed);
        PH.iter().map(|&ph| two_state(frames, hill::deprotonated_fraction(ph, pka, 1.0), 0.05, &mut rng)).collect()
    }

    fn evaluated(lambda: &[Vec<f64>], resamples: u32) -> Titration {
        let series: Vec<TitrationSeries> =
            PH.iter().zip(lambda).map(|(&ph, lambda)| TitrationSeries { ph, lambda }).collect();
        evaluate(&series, &TitrationSettings { resamples, ..TitrationSettings::default() }).unwrap()
    }

    #[test]
    fn pka_and_slope_of_correlated_series_lie_within_their_errors() {
        let runs = 100;
        let (mut pka, mut slope, mut error) = (0.0, 0.0, 0.0);
        for seed in 0..runs {
            let titration = evaluated(&experiment(4.0, 8000, seed), 100);
            let pull = |d: Determined, exact: f64| ((d.value().unwrap() - exact) / d.error().unwrap()).powi(2);
            pka += pull(titration.fit.pka, 4.0) / runs as f64;
            slope += pull(titration.fit.slope, 1.0) / runs as f64;
            error += titration.fit.pka.error().unwrap() / runs as f64;
        }
        // 1 ± 0.14 for 100 runs, less because the larger of two errors is taken; 8000/39 = 205 samples a point give 0.045.
        assert!((0.4..1.4).contains(&pka) && (0.4..1.4).contains(&slope), "{pka} {slope}");
        assert!((0.03..0.08).contains(&error), "{error}");
    }

    #[test]
    fn results_do_not_depend_on_anything_but_the_seed() {
        let lambda = experiment(4.5, 2000, 3);
        assert_eq!(evaluated(&lambda, 50), evaluated(&lambda, 50));
    }

    #[test]
    fn series_without_a_transition_borrow_their_correlation() {
        let mut lambda = experiment(4.0, 4000, 5);
        lambda[0] = vec![0.01; 4000];
        lambda[4] = vec![0.99; 4000];
        let titration = evaluated(&lambda, 100);
        let g = |k: usize| titration.series[k].inefficiency;
        assert!(titration.series[0].borrowed && !titration.series[2].borrowed);
        assert_eq!(g(0), g(1).max(g(2)).max(g(3)));
        let [low, high] = titration.series[4].interval.unwrap();
        assert!(low < 1.0 && low > 0.9 && high > 1.0 - 1e-12, "{low} {high}");
        assert!((titration.fit.pka.value().unwrap() - 4.0).abs() < 4.0 * titration.fit.pka.error().unwrap());
    }

    #[test]
    fn a_run_too_short_to_say_anything_says_so() {
        let stuck: Vec<Vec<f64>> = [0.0, 0.0, 0.0, 1.0, 1.0].map(|l| vec![l; 100]).to_vec();
        let titration = evaluated(&stuck, 20);
        assert_eq!(titration.fit.pka, Determined::Between(4.25, 5.25));
        assert_eq!(titration.fit.slope, Determined::Unknown);
        assert!(titration.series.iter().all(|s| s.samples == 1.0 && s.borrowed));
        assert!(titration.pka_draws.is_empty() && titration.slope_draws.is_empty());
    }

    #[test]
    fn replicas_of_one_ph_count_together() {
        let lambda = experiment(4.0, 4000, 8);
        let whole: Vec<TitrationSeries> =
            PH.iter().zip(&lambda).map(|(&ph, l)| TitrationSeries { ph, lambda: l }).collect();
        let halves: Vec<TitrationSeries> = whole
            .iter()
            .flat_map(|s| [&s.lambda[..2000], &s.lambda[2000..]].map(|lambda| TitrationSeries { ph: s.ph, lambda }))
            .collect();
        let settings = TitrationSettings { resamples: 100, ..TitrationSettings::default() };
        let (one, two) = (evaluate(&whole, &settings).unwrap(), evaluate(&halves, &settings).unwrap());
        let (a, b) = (one.fit.pka, two.fit.pka);
        assert!((a.value().unwrap() - b.value().unwrap()).abs() < a.error().unwrap());
        assert!((0.5..2.0).contains(&(b.error().unwrap() / a.error().unwrap())));
    }

    #[test]
    fn bad_series_are_refused() {
        let settings = TitrationSettings::default();
        let refused = |lambda: &[f64], ph: f64| evaluate(&[TitrationSeries { ph, lambda }], &settings).unwrap_err();
        assert!(matches!(refused(&[], 4.0), TitrationError::Series { source: FractionError::Empty, .. }));
        assert_eq!(
            refused(&[0.1, f64::NAN], 4.0).to_string(),
            "series 0 (counted from 0), pH 4: λ of frame 1 (counted from 0) is NaN"
        );
        assert!(matches!(refused(&[0.5; 20], 4.0), TitrationError::Hill(HillError::NoPoints)));
        assert!(matches!(refused(&[0.1; 20], f64::NAN), TitrationError::Hill(HillError::BadPoint { .. })));
        assert!(matches!(evaluate(&[], &settings), Err(TitrationError::Hill(HillError::NoPoints))));
    }
}
