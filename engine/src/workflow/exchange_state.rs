//! All walkers of a replica exchange as one state, so that one file holds a consistent set.

use crate::checkpoint::State;
use crate::config::{Config, Jobs, quantity::Time};
use crate::error::{Error, Result};
use nalgebra::Vector3;
use std::collections::BTreeMap;

/// Walker at each slot.
const AT: &str = "walker_at";

fn flat(vectors: &[Vector3<f64>]) -> Vec<f64> {
    vectors.iter().flatten().copied().collect()
}

/// The states of all walkers, and which walker is at each slot.
pub fn pack(states: &[State], at: &[usize]) -> State {
    let mut extra = BTreeMap::from([(AT.to_string(), at.iter().map(|&walker| walker as f64).collect())]);
    for (walker, state) in states.iter().enumerate() {
        let mut put = |name: &str, values: Vec<f64>| extra.insert(format!("{walker}.{name}"), values);
        put("step", vec![state.step as f64]);
        put("positions", flat(&state.positions));
        put("velocities", flat(&state.velocities));
        put("edges", state.edges.map_or(Vec::new(), |edges| flat(&[edges])));
        put("lambda", state.lambda.clone());
        put("lambda_velocities", state.lambda_velocities.clone());
        for (name, values) in &state.extra {
            put(&format!("extra.{name}"), values.clone());
        }
    }
    State { step: states.iter().map(|state| state.step).min().unwrap_or(0), extra, ..State::default() }
}

/// What [`pack`] made of `walkers` walkers.
///
/// # Errors
/// If a part is missing, or the slots are not held by different walkers.
pub fn unpack(state: &State, walkers: usize) -> Result<(Vec<State>, Vec<usize>)> {
    let lacks = || Error::input("the checkpoint lacks a part of the walkers", "remove the folder to start again");
    let mut at = Vec::new();
    for &walker in state.extra.get(AT).ok_or_else(lacks)? {
        at.push(walker as usize);
    }
    let mut sorted = at.clone();
    sorted.sort_unstable();
    if !sorted.into_iter().eq(0..walkers) {
        return Err(lacks());
    }
    let one = |walker: usize| -> Result<State> {
        let get = |name: &str| state.extra.get(&format!("{walker}.{name}")).cloned().ok_or_else(lacks);
        let vectors = |name: &str| -> Result<Vec<Vector3<f64>>> {
            Ok(get(name)?.as_chunks::<3>().0.iter().map(|&a| Vector3::from(a)).collect())
        };
        let prefix = format!("{walker}.extra.");
        let own = state.extra.range(prefix.clone()..).take_while(|(name, _)| name.starts_with(&prefix));
        Ok(State {
            step: *get("step")?.first().ok_or_else(lacks)? as u64,
            positions: vectors("positions")?,
            velocities: vectors("velocities")?,
            edges: vectors("edges")?.first().copied(),
            lambda: get("lambda")?,
            lambda_velocities: get("lambda_velocities")?,
            extra: own.map(|(name, values)| (name[prefix.len()..].to_string(), values.clone())).collect(),
        })
    };
    Ok(((0..walkers).map(one).collect::<Result<_>>()?, at))
}

/// The settings that shape the trajectories of all walkers.
///
/// # Errors
/// As [`Config::to_toml`].
pub fn settings(config: &Config) -> Result<String> {
    let mut config = config.clone();
    config.dynamics.steps = None;
    config.output = Default::default();
    if let Some(titrate) = &mut config.titrate {
        (titrate.equilibration, titrate.jobs) = (Time::new(0.0), Jobs::Auto);
    }
    config.to_toml()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(step: u64) -> State {
        State {
            step,
            positions: vec![Vector3::new(0.5, -0.0, step as f64); 2],
            velocities: vec![Vector3::new(1.0 / 3.0, 2.0, 3.0); 2],
            edges: step.is_multiple_of(2).then(|| Vector3::new(3.0, 4.0, 5.0)),
            lambda: vec![0.25, step as f64],
            lambda_velocities: vec![-1.5],
            extra: BTreeMap::from([("heat".to_string(), vec![1e-300]), ("empty".to_string(), vec![])]),
        }
    }

    #[test]
    fn every_walker_comes_back() {
        // Twelve, so that 1 and 11 must not be mixed up.
        let states: Vec<State> = (0..12).map(|k| state(100 + k)).collect();
        let at: Vec<usize> = (0..12).map(|k| (5 * k) % 12).collect();
        let packed = pack(&states, &at);
        assert_eq!(packed.step, 100);
        assert_eq!(unpack(&packed, 12).unwrap(), (states, at));
    }

    #[test]
    fn incomplete_sets_are_refused() {
        let packed = pack(&[state(1), state(2)], &[0, 1]);
        assert!(unpack(&packed, 3).is_err());
        assert!(unpack(&pack(&[state(1), state(2)], &[1, 1]), 2).is_err());
        let mut lacking = packed;
        lacking.extra.remove("1.lambda");
        assert!(unpack(&lacking, 2).is_err());
    }
}
