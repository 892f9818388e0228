//! Series of states are counted here: how many independent samples of every state they hold for a fit, and the same from blocks drawn anew
//! for the bootstrap.
//!
//! Frames count with the weights of a [`Question`], those of the pure states ([`super::reweighting`]); without one all count alike. At each pH there
//! are two answers: *weighted* populations from the frames of this pH alone, and those of MBAR from the frames of all pH values. Samples are
//!
//!   n_α = Σ_series (Σ w)² / Σ w² / g      N = (S − 1) / Σ_α P_α (1 − P_α) / n_α      N_α = N P_α
//!
//! with S states seen, the inefficiency g of a series (frames per independent sample), and N such that ln P_α/P_β has on average the variance
//! 1/n_α + 1/n_β that it would have of counts n, and Σ_α n_α at most. N is that of the frames of this pH for both answers.
//!
//! In a draw the equations of MBAR are solved again to the first order: f changes by H⁻¹ (N − Σ p), one step of Newton's method from
//! the solution, and ln P_α by its derivative. It costs the number of blocks instead of the number of frames, and errors are those of whole solutions
//! (`tests/`). Keeping f would not do: where pH values are far apart most of the error of a pKa is that of f.
//!
//! Blocks of the length that the correlation of the states asks for miss what is slower: a side chain that turns, an ion that comes. Draws of longer
//! blocks and of whole series see it and count where they are larger (`drawing`).
//!
//! The inefficiency of a series without a transition is unknown: it is taken to be the largest of the others, and if there is none, the series
//! counts as a single sample. One short visit says little about how long visits are, so that series of few transitions have at least the
//! median inefficiency of those with many. Several series of one pH (replicas) are independent. A series shorter than two blocks cannot be drawn
//! anew: the error is at least that of its samples, too.

mod drawing;
mod frame_sums;
mod link;
mod weighed;

pub(super) use weighed::samples_of_parts;

use frame_sums::FrameSums;
use link::Link;
use weighed::ph_values;

use super::bootstrap::{Draws, RingSums};
use super::determined::Determined;
use super::equilibrium::Populations;
use super::occupancy::{self, Occupancy, State};
use super::reweighting::Question;

/// Share of the draws that must determine a number for the bootstrap to count.
const NEEDED_SHARE: f64 = 0.9;
/// A series of fewer transitions determines its inefficiency badly.
const FEW_TRANSITIONS: u64 = 10;
/// Changes from or to every state from which on the bootstrap shows the error alone: the error of an error from 50 events is 10 %.
const MANY_TRANSITIONS: usize = 50;
/// Below this share of the most frequent state a series should have transitions.
const SHARED: f64 = 0.9;
/// A series of fewer blocks hardly differs from draw to draw: of one block all draws are the series itself.
const FEWEST_BLOCKS: f64 = 2.0;
/// Length of the blocks in units of the statistical inefficiency.
const BLOCK_FACTOR: f64 = 5.0;
/// Chunks in a block, at least, unless they are frames.
const CHUNKS_PER_BLOCK: f64 = 8.0;
/// Chunks in a series, at most: a thousand blocks give an error to 2 %.
const MOST_CHUNKS: usize = 1000;

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
    /// Weighted samples by pH.
    weighted: Vec<Populations>,
    count: usize,
    /// Place of the pH of each series.
    places: Vec<usize>,
    /// Frames per chunk and chunks per block of each series.
    blocks: Vec<(usize, usize)>,
    /// Sums of w of each state; with MBAR [`FrameSums`].
    rings: Vec<RingSums>,
    link: Option<Link>,
    /// Whether draws show the whole error.
    is_sure: bool,
}

impl Counted {
    /// Counts series of states below `count`, with the weights of `question`, whose runs are these series.
    pub fn new(series: &[StateSeries<'_>], count: usize, question: Option<&Question<'_>>) -> Self {
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
        Self::with_inefficiencies(series, count, &inefficiencies, question)
    }

    /// Counts series of states below `count` whose inefficiencies are known, one for each series.
    pub fn with_inefficiencies(
        series: &[StateSeries<'_>],
        count: usize,
        inefficiencies: &[Inefficiency],
        question: Option<&Question<'_>>,
    ) -> Self {
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
        let ph = ph_values(series);
        let linked = question.filter(|question| question.response.is_some() && question.ph == ph);
        let width = linked.map_or(count, |_| frame_sums::width(ph.len(), count));
        let (mut blocks, mut rings) = (Vec::new(), Vec::new());
        for (index, (series, inefficiency)) in series.iter().zip(inefficiencies).enumerate() {
            let frames = series.states.len();
            let block = (BLOCK_FACTOR * inefficiency.frames).ceil();
            let chunk = ((block / CHUNKS_PER_BLOCK) as usize).max(frames.div_ceil(MOST_CHUNKS)).max(1);
            blocks.push((chunk, (block / chunk as f64).ceil() as usize));
            let run = question.map(|question| &question.runs[index]);
            let state = |frame: usize| series.states[frame].map(usize::from).filter(|state| *state < count);
            rings.push(RingSums::new(frames, chunk, width, |frame, sums| match (linked, run) {
                (Some(_), Some(run)) => {
                    let here = frame * ph.len()..(frame + 1) * ph.len();
                    let sums = FrameSums::of_row_mut(sums, ph.len());
                    *sums.frames += 1.0;
                    sums.chances.iter_mut().zip(&run.chances[here.clone()]).for_each(|(sum, p)| *sum += p);
                    if let Some(state) = state(frame) {
                        let own = &mut sums.everywhere[state * ph.len()..][..ph.len()];
                        own.iter_mut().zip(&run.everywhere[here]).for_each(|(sum, x)| *sum += x);
                    }
                }
                _ => {
                    if let Some(state) = state(frame) {
                        sums[state] += run.map_or(1.0, |run| run.alone[frame]);
                    }
                }
            }));
        }
        let weighted = samples_of_parts(series, inefficiencies, question, count, |frames| 0..frames);
        let link = linked.and_then(|question| Link::new(question, series, count));
        let summaries: Vec<SeriesSummary> = series.iter().zip(inefficiencies).map(summary).collect();
        Self {
            is_sure: link.is_some() && is_frequent(series, count) && have_blocks(series, count, inefficiencies),
            series: summaries,
            weighted,
            count,
            places: series.iter().filter_map(|s| ph.iter().position(|ph| *ph == s.ph)).collect(),
            blocks,
            rings,
            link,
        }
    }

    /// Inefficiency of each series.
    pub fn inefficiencies(&self) -> Vec<Inefficiency> {
        self.series.iter().map(|s| Inefficiency { frames: s.inefficiency, is_borrowed: s.borrowed }).collect()
    }

    /// Trusts draws alone only if `others`, of which these states are made, have transitions enough, too: a site that changes often makes many
    /// transitions of the joint state with one that hardly does.
    #[must_use]
    pub(super) fn made_of(mut self, others: &[Vec<StateSeries<'_>>]) -> Self {
        self.is_sure &= others.iter().all(|series| is_frequent(series, 2));
        self
    }

    /// Whether the frames of all pH values count at each of them.
    pub fn is_connected(&self) -> bool {
        self.link.is_some()
    }

    /// Samples of every state by rising pH, from the frames of each pH alone.
    pub fn weighted(&self) -> &[Populations] {
        &self.weighted
    }

    /// Samples of every state by rising pH, from the frames of all pH values if they are connected; else those of each pH alone.
    pub fn populations(&self) -> Vec<Populations> {
        match &self.link {
            None => self.weighted.clone(),
            Some(_) => self.of_sums(self.totals()),
        }
    }

    /// Share of every state by rising pH, from the frames of all pH values if they are connected, so that it is known, too, where no frame of a pH is near a form;
    /// `None` where nothing is.
    pub fn shares(&self) -> Vec<Option<Vec<f64>>> {
        let of = |shares: Vec<f64>| {
            let sum: f64 = shares.iter().sum();
            (sum > 0.0).then(|| shares.into_iter().map(|share| share / sum).collect())
        };
        match &self.link {
            None => self.weighted.iter().map(|point| of(point.samples.clone())).collect(),
            Some(_) => self.shares_of(self.totals()).into_iter().map(of).collect(),
        }
    }

    fn totals(&self) -> Vec<Vec<f64>> {
        self.rings.iter().map(|ring| ring.total().to_vec()).collect()
    }

    /// Populations of these sums over the series, with the number of samples there are at each pH.
    fn of_sums(&self, sums: Vec<Vec<f64>>) -> Vec<Populations> {
        let scaled = |(point, shares): (&Populations, Vec<f64>)| {
            let scale = point.samples.iter().sum::<f64>() / shares.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            Populations { ph: point.ph, samples: shares.iter().map(|share| share * scale).collect() }
        };
        self.weighted.iter().zip(self.shares_of(sums)).map(scaled).collect()
    }

    /// Shares of the states at each pH but for a factor, from these sums over the series.
    fn shares_of(&self, sums: Vec<Vec<f64>>) -> Vec<Vec<f64>> {
        let size = self.weighted.len();
        let logarithms: Vec<Vec<f64>> = match &self.link {
            Some(link) => link.logarithms(&sums, &self.places, size, self.count),
            None => {
                let mut all = vec![vec![0.0; self.count]; size];
                for (sums, &place) in sums.iter().zip(&self.places) {
                    all[place].iter_mut().zip(sums).for_each(|(a, b)| *a += b);
                }
                all.into_iter().map(|one| one.into_iter().map(f64::ln).collect()).collect()
            }
        };
        let shares = |logarithms: Vec<f64>| {
            let most = logarithms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            logarithms.iter().map(|l| if *l > f64::NEG_INFINITY { (l - most).exp() } else { 0.0 }).collect()
        };
        logarithms.into_iter().map(shares).collect()
    }

    /// Frames per chunk and chunks per block of a series.
    #[cfg(test)]
    pub(super) fn blocking(&self, series: usize) -> (usize, usize) {
        self.blocks[series]
    }

    /// The number that the weighted populations determine as far as they do, with the value that those of MBAR give. Its error is that of the draws;
    /// where transitions are few, draws are too sure of themselves, and it is at least that of the number of samples.
    pub fn number(&self, weighted: Determined, mbar: Determined, draws: Option<&Draws>) -> Determined {
        let enough = |draws: &&Draws| draws.share() >= NEEDED_SHARE;
        let Determined::Value { value, error } = weighted else { return weighted };
        let value = mbar.value().unwrap_or(value);
        let error = match draws.filter(enough).and_then(Draws::error) {
            Some(bootstrap) if self.is_sure => bootstrap,
            Some(bootstrap) => bootstrap.max(error),
            None => error,
        };
        Determined::Value { value, error }
    }
}

/// Whether there are transitions enough for draws to show the error: many from and to every state that was seen, and some in every series where two
/// states share the frames.
pub(super) fn is_frequent(series: &[StateSeries<'_>], count: usize) -> bool {
    let counts: Vec<Occupancy> = series.iter().map(|s| occupancy::count(s.states, count)).collect();
    let seen = |form: usize| counts.iter().any(|counts| counts.forms[form] > 0);
    let changes = |form: usize| series.iter().map(|s| occupancy::changes(s.states, form)).sum::<usize>();
    (0..count).filter(|&form| seen(form)).all(|form| changes(form) >= MANY_TRANSITIONS)
        && counts.iter().all(|counts| counts.transitions >= FEW_TRANSITIONS || !is_shared(counts))
}

/// Whether two states share the frames.
fn is_shared(counts: &Occupancy) -> bool {
    let most = (0..counts.forms.len()).filter_map(|form| counts.population(form)).fold(0.0, f64::max);
    (f64::MIN_POSITIVE..SHARED).contains(&most)
}

/// Whether every series of which two states share the frames has blocks enough to be drawn from.
fn have_blocks(series: &[StateSeries<'_>], count: usize, inefficiencies: &[Inefficiency]) -> bool {
    series.iter().zip(inefficiencies).all(|(series, inefficiency)| {
        let blocks = series.states.len() as f64 / (BLOCK_FACTOR * inefficiency.frames);
        blocks >= FEWEST_BLOCKS || !is_shared(&occupancy::count(series.states, count))
    })
}

/// The value of a number for [`Counted::draws`], which leaves out what is not a number: NaN where nothing is determined.
pub fn value_or_nan(number: Determined) -> f64 {
    number.value().unwrap_or(f64::NAN)
}
