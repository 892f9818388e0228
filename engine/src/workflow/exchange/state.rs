//! The states of all walkers of a replica exchange, so that one checkpoint holds a consistent set.

use crate::config::{Config, Jobs, quantity::Time};
use crate::error::{Error, Result};
use crate::state::State;
use serde::{Deserialize, Serialize};

/// All walkers, each at its own step, and who has which pH.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExchangeState {
    /// State of each walker.
    pub walkers: Vec<State>,
    /// Walker at each slot.
    pub walker_at: Vec<usize>,
}

impl ExchangeState {
    /// The step that all walkers have reached.
    pub fn step(&self) -> u64 {
        self.walkers.iter().map(|state| state.step).min().unwrap_or(0)
    }

    /// Refuses a set of other than `walkers` walkers, or slots that are not held by different ones.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn check(&self, walkers: usize) -> Result<()> {
        let mut sorted = self.walker_at.clone();
        sorted.sort_unstable();
        if self.walkers.len() == walkers && sorted.into_iter().eq(0..walkers) {
            return Ok(());
        }
        Err(Error::input("the checkpoint lacks a part of the walkers", "remove the folder to start again"))
    }
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

    #[test]
    fn incomplete_sets_are_refused() {
        let state = |step| State { step, ..State::default() };
        let set = |at: [usize; 2]| ExchangeState { walkers: vec![state(7), state(5)], walker_at: at.to_vec() };
        assert_eq!(set([1, 0]).step(), 5);
        assert!(set([1, 0]).check(2).is_ok());
        assert!(set([1, 0]).check(3).is_err() && set([1, 1]).check(2).is_err() && set([0, 2]).check(2).is_err());
    }
}
