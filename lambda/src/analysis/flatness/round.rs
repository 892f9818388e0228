//! What free runs with one V_MM show: averages, histograms along the edges, transitions, and whether their halves agree.
//!
//! Units: kJ/mol, K.

use forcefield::units::GAS_CONSTANT;

use super::{FlatnessError, JUDGED, LOWEST};
use crate::analysis::blocks::{SeriesError, statistical_inefficiency};
use crate::analysis::simplex_fit::{Uncertain, Window, edges};
use crate::analysis::symmetry::{Space, Symmetry};

/// Bins of a histogram along an edge.
pub(super) const BINS: usize = 9;
/// Frames with at least this much weight on two forms belong to the edge between them.
const NEAR_EDGE: f64 = 0.8;
/// A form is left below and reached above these weights.
const STATES: [f64; 2] = [0.2, 0.8];

/// The weights of one round: averages that decide, and the number of independent samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// Coefficients of the free energy in V_MM.
    pub coefficients: Vec<f64>,
    /// ⟨b_k⟩ over the frames that count.
    pub means: Vec<f64>,
    /// Frames that count.
    pub frames: usize,
    /// Independent samples among them.
    pub samples: f64,
    /// Changes from one form to another that is not the same chemically, frames between forms passed over.
    pub transitions: usize,
    /// Histograms along the edges, each with what its images hold.
    pub edges: Vec<EdgeHistogram>,
    /// Share of the frames of the round with each form above 0.8; forms that are the same have the same share.
    pub populations: Vec<f64>,
}

/// Frames near an edge by their place on it.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeHistogram {
    /// The two forms.
    pub forms: [usize; 2],
    /// Centres of the bins, λ_b/(λ_a + λ_b).
    pub centres: Vec<f64>,
    /// Frames per bin and in all its images.
    pub counts: Vec<usize>,
    /// How many different bins those are.
    pub images: Vec<usize>,
}

impl Round {
    /// The round with V_MM of `coefficients`; `runs` are `[run][form][frame]` weights.
    ///
    /// # Errors
    /// [`FlatnessError`] for weights that do not fit, runs of less than 8 frames, or none inside.
    pub fn new(space: &Space, coefficients: &[f64], runs: &[Vec<Vec<f64>>]) -> Result<Self, FlatnessError> {
        let (basis, n) = (space.basis, space.basis.n_forms());
        let classes = space.symmetry.classes();
        let class = |form: usize| classes.iter().position(|class| class.contains(&form));
        let length = |what, found, expected| FlatnessError::Length { what, found, expected };
        if coefficients.len() != basis.len() {
            return Err(length("coefficients", coefficients.len(), basis.len()));
        }
        let mut round = Self {
            coefficients: coefficients.to_vec(),
            means: vec![0.0; basis.len()],
            frames: 0,
            samples: 0.0,
            transitions: 0,
            edges: edges(n).into_iter().map(EdgeHistogram::new).collect(),
            populations: vec![0.0; n],
        };
        let mut all = 0;
        for run in runs {
            if run.len() != n {
                return Err(length("forms", run.len(), n));
            }
            let mut slowest = 1.0_f64;
            for series in space.symmetry.observables(run) {
                slowest = slowest.max(statistical_inefficiency(&series)?);
            }
            let (before, mut state) = (round.frames, None);
            for frame in 0..run[0].len() {
                let weights: Vec<f64> = run.iter().map(|form| form[frame]).collect();
                all += 1;
                if let Some(form) = weights.iter().position(|&w| w > STATES[1]) {
                    round.populations[form] += 1.0;
                    // Where all forms are the same every change counts.
                    let now = if classes.len() == 1 { Some(form) } else { class(form) };
                    round.transitions += usize::from(state.replace(now).is_some_and(|last| last != now));
                }
                if weights.iter().all(|&w| w >= LOWEST) {
                    round.frames += 1;
                    round.means.iter_mut().zip(basis.values(&weights)).for_each(|(sum, b)| *sum += b);
                    round.edges.iter_mut().for_each(|edge| edge.add(&weights));
                }
            }
            round.samples += (round.frames - before) as f64 / slowest;
        }
        if round.frames == 0 {
            return Err(FlatnessError::Outside);
        }
        round.means.iter_mut().for_each(|sum| *sum /= round.frames as f64);
        round.populations.iter_mut().for_each(|sum| *sum /= f64::from(all));
        for class in &classes {
            let mean = class.iter().map(|&form| round.populations[form]).sum::<f64>() / class.len() as f64;
            class.iter().for_each(|&form| round.populations[form] = mean);
        }
        round.edges = EdgeHistogram::with_images(&round.edges, &space.symmetry);
        Ok(round)
    }
}

/// Averages of the weights over the first and the second halves of free runs, which are equal in equilibrium: of every class of forms but the
/// first, ⟨Σ λ_α⟩. `runs` are `[run][form][frame]`; `None` if all forms are the same.
///
/// # Errors
/// [`SeriesError`] for runs of fewer than 16 frames.
pub fn halves(symmetry: &Symmetry, runs: &[Vec<Vec<f64>>]) -> Result<Option<[Window; 2]>, SeriesError> {
    let classes = symmetry.classes();
    if classes.len() == 1 {
        return Ok(None);
    }
    let mut parts: [Vec<Window>; 2] = Default::default();
    for run in runs {
        let sum = |class: &Vec<usize>, frames: std::ops::Range<usize>| -> Vec<f64> {
            frames.map(|frame| class.iter().map(|&form| run[form][frame]).sum()).collect()
        };
        let frames = run.first().map_or(0, Vec::len);
        for (part, range) in parts.iter_mut().zip([0..frames / 2, frames / 2..frames]) {
            let series: Vec<Vec<f64>> = classes[1..].iter().map(|class| sum(class, range.clone())).collect();
            part.push(Window::from_series(&[], &series)?);
        }
    }
    let [first, second] = parts.map(|part| Window::pool(&part));
    Ok(first.zip(second).map(|(first, second)| [first, second]))
}

impl EdgeHistogram {
    fn new(forms: [usize; 2]) -> Self {
        let width = (JUDGED[1] - JUDGED[0]) / BINS as f64;
        let centres = (0..BINS).map(|k| JUDGED[0] + (k as f64 + 0.5) * width).collect();
        Self { forms, centres, counts: vec![0; BINS], images: vec![1; BINS] }
    }

    /// The histograms with the frames of all images of each bin.
    fn with_images(edges: &[Self], symmetry: &Symmetry) -> Vec<Self> {
        let place = |[a, b]: [usize; 2], bin: usize| {
            let straight = edges.iter().position(|edge| edge.forms == [a, b]).map(|edge| (edge, bin));
            straight.or_else(|| Some((edges.iter().position(|edge| edge.forms == [b, a])?, BINS - 1 - bin)))
        };
        let one = |edge: &Self| {
            let mut with = edge.clone();
            for bin in 0..BINS {
                let images = symmetry.permutations().iter().filter_map(|p| place(edge.forms.map(|form| p[form]), bin));
                let mut images: Vec<(usize, usize)> = images.collect();
                images.sort_unstable();
                images.dedup();
                with.counts[bin] = images.iter().map(|&(edge, bin)| edges[edge].counts[bin]).sum();
                with.images[bin] = images.len();
            }
            with
        };
        edges.iter().map(one).collect()
    }

    fn add(&mut self, weights: &[f64]) {
        let [a, b] = self.forms.map(|form| weights[form]);
        let place = b / (a + b);
        if a + b >= NEAR_EDGE && (JUDGED[0]..JUDGED[1]).contains(&place) {
            let bin = ((place - JUDGED[0]) / (JUDGED[1] - JUDGED[0]) * BINS as f64) as usize;
            self.counts[bin.min(BINS - 1)] += 1;
        }
    }

    /// −RT ln p of each bin against their mean, with the error that `samples` independent samples in `frames` frames leave; bins without a frame
    /// are left out.
    pub fn profile(&self, round: &Round, temperature: f64) -> Vec<(f64, Uncertain)> {
        let (rt, inefficiency) = (GAS_CONSTANT * temperature, round.frames as f64 / round.samples);
        let bins = self.centres.iter().zip(&self.counts).zip(&self.images);
        let seen: Vec<(f64, f64, f64)> =
            bins.filter(|((_, n), _)| **n > 0).map(|((&x, &n), &images)| (x, n as f64, images as f64)).collect();
        let mean = seen.iter().map(|(_, n, images)| (n / images).ln()).sum::<f64>() / seen.len() as f64;
        let one = |&(x, n, images): &(f64, f64, f64)| {
            (x, Uncertain { value: -rt * ((n / images).ln() - mean), error: rt * (inefficiency / n).sqrt() })
        };
        seen.iter().map(one).collect()
    }
}
