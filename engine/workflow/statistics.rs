//! From λ of several runs to the numbers of a titration, by `lambda::analysis`.

use crate::config::Config;
use crate::error::{Error, Result};
use crate::titration::library;
use lambda::analysis::fractions::{Fractions, Thresholds, count, states};
use lambda::analysis::hill::HillFit;
use lambda::analysis::titration::{SeriesSummary, TitrationError, TitrationSeries, TitrationSettings, evaluate};

/// Protonation of a site at one pH, all replicas together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Fraction {
    /// Deprotonated fraction; `None` if every frame is mixed.
    pub deprotonated: Option<f64>,
    /// Interval of one standard error of the fraction.
    pub interval: Option<[f64; 2]>,
    /// Share of frames between the thresholds.
    pub mixed: f64,
    /// Mean of λ over all frames.
    pub mean: f64,
    /// Changes between the two states, mixed frames passed over.
    pub transitions: usize,
    /// Frames.
    pub frames: usize,
}

impl Fraction {
    /// Half the interval: the standard error as one number.
    pub fn error(&self) -> Option<f64> {
        self.interval.map(|[low, high]| 0.5 * (high - low))
    }
}

/// Fractions of a site at each pH, and the Hill curve through them; `None` if every frame of every run is mixed.
///
/// `lambda` is `[pH][replica][frame]`.
///
/// # Errors
/// [`Error::Input`] if a series is empty or not finite.
pub fn titration(ph: &[f64], lambda: &[Vec<&[f64]>], seed: u64) -> Result<(Vec<Fraction>, Option<HillFit>)> {
    let mut series = Vec::new();
    for (&ph, runs) in ph.iter().zip(lambda) {
        series.extend(runs.iter().map(|&lambda| TitrationSeries { ph, lambda }));
    }
    let settings = TitrationSettings { seed, ..TitrationSettings::default() };
    let result = match evaluate(&series, &settings) {
        Ok(result) => Some(result),
        Err(TitrationError::Hill(_)) => None,
        Err(error) => return Err(Error::input(error.to_string(), "run longer, or shorten titrate.equilibration")),
    };
    let summaries = result.as_ref().map(|result| result.series.as_slice()).unwrap_or_default();
    let mut fractions = Vec::new();
    for (index, runs) in lambda.iter().enumerate() {
        let first: usize = lambda[..index].iter().map(Vec::len).sum();
        fractions.push(together(runs, summaries.get(first..first + runs.len()).unwrap_or_default())?);
    }
    Ok((fractions, result.map(|result| result.fit)))
}

/// Replicas of one pH as one: counts and independent samples add up.
fn together(runs: &[&[f64]], summaries: &[SeriesSummary]) -> Result<Fraction> {
    let mut sum = Fractions::default();
    for lambda in runs {
        let states = states(lambda, Thresholds::default()).map_err(|e| Error::input(e.to_string(), "run longer"))?;
        let one = count(&states);
        sum.protonated += one.protonated;
        sum.mixed += one.mixed;
        sum.deprotonated += one.deprotonated;
        sum.transitions += one.transitions;
    }
    let samples: f64 = summaries.iter().map(|summary| summary.samples).sum();
    let deprotonated = sum.deprotonated_fraction();
    let frames = sum.frames();
    Ok(Fraction {
        deprotonated,
        interval: deprotonated.filter(|_| samples > 0.0).map(|s| wilson(s, samples)),
        mixed: sum.mixed_fraction().unwrap_or_default(),
        mean: runs.iter().flat_map(|lambda| lambda.iter()).sum::<f64>() / frames as f64,
        transitions: sum.transitions,
        frames,
    })
}

/// Interval of one standard error for a fraction `s` of `n` independent samples (Wilson 1927, 10.1080/01621459.1927.10502953).
fn wilson(s: f64, n: f64) -> [f64; 2] {
    let centre = (s + 0.5 / n) / (1.0 + 1.0 / n);
    let half = (s * (1.0 - s) / n + 0.25 / (n * n)).sqrt() / (1.0 + 1.0 / n);
    [(centre - half).max(0.0), (centre + half).min(1.0)]
}

/// pKa of the model compound of a site such as `GLU 2`, if the library has its residue.
///
/// # Errors
/// If the library cannot be read.
pub fn reference_pka(config: &Config, site: &str) -> Result<Option<f64>> {
    let name = site.split_whitespace().next().unwrap_or_default();
    let library = library(config)?;
    let entry = library.entries.iter().find(|entry| entry.residues.iter().any(|residue| residue == name));
    Ok(entry.map(|entry| entry.pka))
}
