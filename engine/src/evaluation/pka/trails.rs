//! States of a site along the way of each walker.
//!
//! In a replica exchange the frames of one pH come from one walker after the other. Where two walkers swap, one with the proton and one without, the files
//! of both pH values show a change that no molecule has made: capped glutamic acid with a barrier of 10 kJ/mol had 5740 of them in 20 ns and gained or lost
//! its proton 160 times. So changes are counted along walkers; a run whose walkers are not known, or that does not swap, is a path of its own.

use crate::evaluation::runs::{Run, Walker};
use lambda::analysis::occupancy::State;
use std::collections::BTreeMap;

/// What a walker, or a run that does not swap, has been through, in the order of time.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Trail {
    /// State of each frame.
    pub states: Vec<State>,
    /// In which run each frame is, counted from zero.
    runs: Vec<usize>,
}

/// The states of all frames, `states[run][frame]`, along the walkers.
pub(super) fn along(runs: &[&Run], states: &[Vec<State>]) -> Vec<Trail> {
    let mut alone = Vec::new();
    let mut walkers: BTreeMap<Walker, Vec<(f64, usize, State)>> = BTreeMap::new();
    for (index, (run, states)) in runs.iter().zip(states).enumerate() {
        let series = &run.series;
        if series.walker.len() != states.len() || series.time.len() != states.len() {
            alone.push(Trail { states: states.clone(), runs: vec![index; states.len()] });
            continue;
        }
        for ((walker, time), state) in series.walker.iter().zip(&series.time).zip(states) {
            walkers.entry((run.titration(), *walker)).or_default().push((*time, index, *state));
        }
    }
    let of_walker = |mut frames: Vec<(f64, usize, State)>| {
        frames.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (runs, states) = frames.into_iter().map(|(_, run, state)| (run, state)).unzip();
        Trail { states, runs }
    };
    alone.into_iter().chain(walkers.into_values().map(of_walker)).collect()
}

/// How often the protonation changed in each of `count` runs; `class[form]` is the protonation of a form. A change counts where it is first seen, and
/// mixed frames between are passed over.
pub(super) fn transitions(trails: &[Trail], class: &[u8], count: usize) -> Vec<u64> {
    let mut changes = vec![0; count];
    for trail in trails {
        let mut last = None;
        for (run, state) in trail.runs.iter().zip(&trail.states) {
            let Some(now) = state.and_then(|form| class.get(usize::from(form)).copied()) else { continue };
            changes[*run] += u64::from(last.replace(now).is_some_and(|before| before != now));
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::series::LambdaSeries;

    fn run(folder: &str, walker: &[u32], frames: usize) -> Run {
        let time = (0..frames).map(|k| k as f64).collect();
        Run {
            folder: folder.into(),
            ph: 4.0,
            series: LambdaSeries { time, walker: walker.to_vec(), ..LambdaSeries::default() },
            ..Run::default()
        }
    }

    /// Two walkers, one always with its proton and one without, that swap each frame: no change, where each file shows three.
    #[test]
    fn a_swap_of_walkers_is_no_transition() {
        let runs = [run("a/pH_4.00/replica_1", &[1, 2, 1, 2], 4), run("a/pH_5.00/replica_1", &[2, 1, 2, 1], 4)];
        let runs: Vec<&Run> = runs.iter().collect();
        let [with, without] = [Some(0), Some(1)];
        let states = [vec![with, without, with, without], vec![without, with, without, with]];
        assert_eq!(transitions(&along(&runs, &states), &[0, 1], 2), [0, 0]);
        // Without walkers they are three in each file; walkers of another titration are others.
        let apart = [run("a/pH_4.00/replica_1", &[], 4), run("a/pH_5.00/replica_1", &[], 4)];
        assert_eq!(transitions(&along(&apart.iter().collect::<Vec<_>>(), &states), &[0, 1], 2), [3, 3]);
        let other = [run("a/pH_4.00/replica_1", &[1; 4], 4), run("b/pH_4.00/replica_1", &[1; 4], 4)];
        assert_eq!(transitions(&along(&other.iter().collect::<Vec<_>>(), &states), &[0, 1], 2), [3, 3]);
    }

    /// Walker 1 goes from one form with the proton to another and loses it in the second run, after a mixed frame; walker 2 never has it.
    #[test]
    fn a_transition_counts_where_it_is_seen() {
        let runs = [run("a/pH_4.00/replica_1", &[1, 1, 2, 2], 4), run("a/pH_5.00/replica_1", &[2, 2, 1, 1], 4)];
        let runs: Vec<&Run> = runs.iter().collect();
        let states = [vec![Some(0), Some(1), Some(2), Some(2)], vec![Some(2), Some(2), None, Some(2)]];
        let trails = along(&runs, &states);
        assert_eq!(trails.iter().map(|trail| trail.states.len()).collect::<Vec<_>>(), [4, 4]);
        assert_eq!(transitions(&trails, &[0, 0, 1], 2), [0, 1]);
    }
}
