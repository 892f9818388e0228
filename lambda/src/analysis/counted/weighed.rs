//! Independent samples of every state from weighted frames, by pH.

use super::{Inefficiency, StateSeries};
use crate::analysis::equilibrium::Populations;
use crate::analysis::occupancy::State;
use crate::analysis::reweighting::Question;

/// Σ w and Σ w² of every state of a series.
#[derive(Clone, Debug)]
struct Weighed {
    sums: Vec<f64>,
    squares: Vec<f64>,
}

impl Weighed {
    /// Of these frames; without weights all are 1.
    fn new(states: &[State], weights: Option<&[f64]>, count: usize) -> Self {
        let mut weighed = Self { sums: vec![0.0; count], squares: vec![0.0; count] };
        for (frame, state) in states.iter().enumerate() {
            if let Some(state) = state.map(usize::from).filter(|state| *state < count) {
                let weight = weights.map_or(1.0, |weights| weights[frame]);
                weighed.sums[state] += weight;
                weighed.squares[state] += weight * weight;
            }
        }
        weighed
    }
}

/// Samples of every state, from the series of one pH and their inefficiencies.
fn samples<'a>(series: impl Iterator<Item = (&'a Weighed, f64)> + Clone, count: usize) -> Vec<f64> {
    let sum = |of: &dyn Fn(&Weighed, f64) -> f64| series.clone().map(|(weighed, g)| of(weighed, g)).sum::<f64>();
    let sums: Vec<f64> = (0..count).map(|k| sum(&|weighed, _| weighed.sums[k])).collect();
    let independent = |k: usize| {
        sum(&|weighed, g| match weighed.squares[k] {
            squares if squares > 0.0 => weighed.sums[k].powi(2) / squares / g,
            _ => 0.0,
        })
    };
    let independent: Vec<f64> = (0..count).map(independent).collect();
    let (total, seen) = (sums.iter().sum::<f64>(), sums.iter().filter(|sum| **sum > 0.0).count());
    if seen < 2 {
        return independent;
    }
    let share = |k: usize| sums[k] / total;
    let spread = |k: usize| share(k) * (1.0 - share(k)) / independent[k];
    let worth = (seen - 1) as f64 / (0..count).filter(|&k| sums[k] > 0.0).map(spread).sum::<f64>();
    // Of a state whose one frame hardly weighs the share is next to nothing, for which any number of samples would do.
    let worth = worth.min(independent.iter().sum());
    (0..count).map(|k| worth * share(k)).collect()
}

/// Weighted samples by pH, from `part` of every series of states below `count`.
pub(in crate::analysis) fn samples_of_parts(
    series: &[StateSeries<'_>],
    inefficiencies: &[Inefficiency],
    question: Option<&Question<'_>>,
    count: usize,
    part: impl Fn(usize) -> std::ops::Range<usize>,
) -> Vec<Populations> {
    let weigh = |(index, series): (usize, &StateSeries<'_>)| {
        let range = part(series.states.len());
        let weights = question.map(|question| &question.runs[index].alone[range.clone()]);
        Weighed::new(&series.states[range], weights, count)
    };
    let weighed: Vec<Weighed> = series.iter().enumerate().map(weigh).collect();
    by_ph(series, &weighed, inefficiencies, count)
}

fn by_ph(
    series: &[StateSeries<'_>],
    weighed: &[Weighed],
    inefficiencies: &[Inefficiency],
    count: usize,
) -> Vec<Populations> {
    let of = |ph: f64| {
        let here = series.iter().zip(weighed).zip(inefficiencies).filter(move |((s, _), _)| s.ph == ph);
        samples(here.map(|((_, weighed), g)| (weighed, g.frames)), count)
    };
    ph_values(series).into_iter().map(|ph| Populations { ph, samples: of(ph) }).collect()
}

pub(super) fn ph_values(series: &[StateSeries<'_>]) -> Vec<f64> {
    let mut ph: Vec<f64> = series.iter().map(|s| s.ph).collect();
    ph.sort_by(f64::total_cmp);
    ph.dedup();
    ph
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One frame near the edge of a form hardly weighs: its form has a share of next to nothing, and this pH no more samples than it has frames.
    #[test]
    fn a_frame_that_hardly_weighs_makes_no_samples() {
        let mut states = vec![Some(1); 600];
        states[77] = Some(0);
        let mut weights = vec![1.0; 600];
        weights[77] = 1e-4;
        let weighed = Weighed::new(&states, Some(&weights), 2);
        let found = samples([(&weighed, 5.0)].into_iter(), 2);
        assert!((found.iter().sum::<f64>() - 120.0).abs() < 1e-9, "{found:?}");
        assert!((found[0] / found[1] * 599.0 / 1e-4 - 1.0).abs() < 1e-9);
        // Frames that weigh alike are as many samples as they are.
        weights[77] = 1.0;
        let found = samples([(&Weighed::new(&states, Some(&weights), 2), 5.0)].into_iter(), 2);
        assert!((found[0] - 0.2).abs() < 1e-9 && (found[1] - 119.8).abs() < 1e-9, "{found:?}");
    }
}
