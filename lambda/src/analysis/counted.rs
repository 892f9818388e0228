//! Series of states are counted here: how many independent samples of every state they hold for a fit, and the same from blocks drawn anew
//! for the bootstrap. Where mean weights are given, frames near a state become samples of the pure state ([`super::ends`]).
//!
//! The inefficiency of a series without a transition is unknown: it is taken to be the largest of the others, and if there is none, the series
//! counts as a single sample. One short visit says little about how long visits are, so that series of few transitions have at least the
//! median inefficiency of those with many. Several series of one pH (replicas) are independent.

use super::bootstrap::{Draws, RingCounts, random};
use super::determined::Determined;
use super::ends::Ends;
use super::equilibrium::Populations;
use super::occupancy::{self, Occupancy, State};

/// Share of the draws that must determine a number for the bootstrap to count.
const NEEDED_SHARE: f64 = 0.9;
/// A series of fewer transitions determines its inefficiency badly.
const FEW_TRANSITIONS: u64 = 10;
/// Length of the blocks in units of the statistical inefficiency.
const BLOCK_FACTOR: f64 = 3.0;

/// How the bootstrap draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resampling {
    /// Number of draws.
    pub draws: u32,
    /// Seed of the draws.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self { draws: 500, seed: 1 }
    }
}

/// Frames for each independent sample of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inefficiency {
    /// Frames per independent sample, at least 1.
    pub frames: f64,
    /// Whether it was taken from other series, because the state of this one changed never or rarely.
    pub is_borrowed: bool,
}

/// States of one series at one pH.
#[derive(Clone, Copy, Debug)]
pub struct StateSeries<'a> {
    /// pH.
    pub ph: f64,
    /// State of each frame.
    pub states: &'a [State],
}

/// One series, counted.
#[derive(Clone, Debug, PartialEq)]
pub struct SeriesSummary {
    /// pH.
    pub ph: f64,
    /// Counts.
    pub occupancy: Occupancy,
    /// Frames per independent sample.
    pub inefficiency: f64,
    /// Whether the inefficiency was borrowed because the state changed never or rarely.
    pub borrowed: bool,
    /// Independent samples among the pure frames.
    pub samples: f64,
}

/// Series of one site, or of several together.
#[derive(Clone, Debug)]
pub struct Counted {
    /// The series in the order given.
    pub series: Vec<SeriesSummary>,
    rings: Vec<RingCounts>,
    ends: Ends,
}

impl Counted {
    /// Counts series of states below `count`.
    pub fn new(series: &[StateSeries<'_>], count: usize) -> Self {
        let known: Vec<Option<f64>> = series.iter().map(|s| occupancy::inefficiency(s.states, count)).collect();
        let largest = known.iter().flatten().copied().reduce(f64::max);
        let few: Vec<bool> =
            series.iter().map(|s| occupancy::count(s.states, count).transitions < FEW_TRANSITIONS).collect();
        let mut sure: Vec<f64> = known.iter().zip(&few).filter(|(_, few)| !**few).filter_map(|(g, _)| *g).collect();
        sure.sort_by(f64::total_cmp);
        let median = sure.get(sure.len() / 2).copied().unwrap_or(1.0);
        let given = |k: usize| {
            let frames = series[k].states.len().max(1) as f64;
            let found = match known[k] {
                Some(own) if few[k] => own.max(median),
                Some(own) => own,
                None => largest.unwrap_or(frames),
            };
            Inefficiency { frames: found.clamp(1.0, frames), is_borrowed: known[k] != Some(found) }
        };
        let inefficiencies: Vec<Inefficiency> = (0..series.len()).map(given).collect();
        Self::with_inefficiencies(series, count, &inefficiencies)
    }

    /// Counts series of states below `count` whose inefficiencies are known, one for each series.
    pub fn with_inefficiencies(series: &[StateSeries<'_>], count: usize, inefficiencies: &[Inefficiency]) -> Self {
        let summary = |(series, inefficiency): (&StateSeries<'_>, &Inefficiency)| {
            let occupancy = occupancy::count(series.states, count);
            let samples = occupancy.pure() as f64 / inefficiency.frames;
            SeriesSummary {
                ph: series.ph,
                occupancy,
                inefficiency: inefficiency.frames,
                borrowed: inefficiency.is_borrowed,
                samples,
            }
        };
        Self {
            series: series.iter().zip(inefficiencies).map(summary).collect(),
            rings: series.iter().map(|s| RingCounts::new(s.states, count)).collect(),
            ends: Ends::default(),
        }
    }

    /// Counts samples of the pure states from now on, by means of these mean weights.
    #[must_use]
    pub fn at_ends(mut self, ends: Ends) -> Self {
        self.ends = ends;
        self
    }

    /// Inefficiency of each series.
    pub fn inefficiencies(&self) -> Vec<Inefficiency> {
        self.series.iter().map(|s| Inefficiency { frames: s.inefficiency, is_borrowed: s.borrowed }).collect()
    }

    /// Samples of every state, for each series.
    pub fn populations(&self) -> Vec<Populations> {
        let mut all = self.series.iter().map(|s| populations(s, &s.occupancy.forms)).collect::<Vec<_>>();
        self.ends.apply(&mut all);
        all
    }

    /// Results of the draws, one entry for each number that `results` gives; what is not finite is left out.
    pub fn draws(&self, resampling: Resampling, results: impl Fn(&[Populations]) -> Vec<f64>) -> Vec<Draws> {
        let mut all: Vec<Vec<f64>> = Vec::new();
        for number in 0..resampling.draws {
            let mut rng = random(resampling.seed, u64::from(number));
            let draw = |(summary, ring): (&SeriesSummary, &RingCounts)| {
                let length = (BLOCK_FACTOR * summary.inefficiency).ceil() as usize;
                populations(summary, &ring.draw(length, &mut rng))
            };
            let mut drawn: Vec<Populations> = self.series.iter().zip(&self.rings).map(draw).collect();
            self.ends.apply(&mut drawn);
            let found = results(&drawn);
            all.resize(found.len().max(all.len()), Vec::new());
            all.iter_mut().zip(found).for_each(|(list, value)| list.push(value));
        }
        all.into_iter().map(Draws::new).collect()
    }
}

fn populations(summary: &SeriesSummary, counts: &[u64]) -> Populations {
    Populations { ph: summary.ph, samples: counts.iter().map(|&n| n as f64 / summary.inefficiency).collect() }
}

/// A number with the larger of its own error and that of the bootstrap: few transitions make the bootstrap too sure of itself.
pub fn widen(number: Determined, draws: Option<&Draws>, resampling: Resampling) -> Determined {
    let enough = |draws: &&Draws| draws.len() as f64 >= NEEDED_SHARE * f64::from(resampling.draws);
    match (number, draws.filter(enough).and_then(Draws::error)) {
        (Determined::Value { value, error }, Some(bootstrap)) => {
            Determined::Value { value, error: error.max(bootstrap) }
        }
        _ => number,
    }
}

/// The value of a number for [`Counted::draws`], which leaves out what is not a number: NaN where nothing is determined.
pub fn value_or_nan(number: Determined) -> f64 {
    number.value().unwrap_or(f64::NAN)
}
