//! The states of all walkers of a replica exchange, so that one checkpoint holds a consistent set, and who is where.
//!
//! A job that is continued may have more pH values or replicas than before. Every slot that is new gets a walker of its own, which first goes
//! alone through the steps that the others have done: then all runs have the same length, and all swap from there on.

use crate::checkpoint::Stored;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::invocation::quoted;
use crate::state::State;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// All walkers, each at its own step, and who has which pH. Slots go by the name of their folder, `pH_4.00/replica_1`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExchangeState {
    /// State of each walker.
    pub walkers: Vec<State>,
    /// Slot in which each walker started.
    pub origins: Vec<String>,
    /// Walker at each slot.
    pub walker_at: BTreeMap<String, usize>,
    /// Step of the last swaps.
    pub swapped: u64,
}

/// Who is where, by the slots of the job as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Slot in which each walker started. Walkers that have a state come first.
    pub origins: Vec<usize>,
    /// Walker at each slot.
    pub at: Vec<usize>,
}

impl Stored for ExchangeState {
    fn toggle_differences(&mut self) {
        self.walkers.iter_mut().for_each(State::toggle_differences);
    }

    fn anew(folder: &Path) -> String {
        let folder = quoted(&folder.display().to_string());
        format!(
            "evaluate the lines that are there (octitrate pka {folder}); --force begins anew, and moves the folder aside"
        )
    }
}

impl ExchangeState {
    /// The step that all walkers have reached.
    pub fn step(&self) -> u64 {
        self.walkers.iter().map(|state| state.step).min().unwrap_or(0)
    }

    /// Who is where among the `slots` of the job, with a new walker at each slot that the checkpoint does not know.
    ///
    /// # Errors
    /// [`Error::Input`] if a slot of the checkpoint is not among them, or if slots are not held by different walkers.
    pub fn places(&self, slots: &[String]) -> Result<Places> {
        let known = self.walkers.len();
        let mut sorted: Vec<usize> = self.walker_at.values().copied().collect();
        sorted.sort_unstable();
        if self.origins.len() != known || !sorted.into_iter().eq(0..known) {
            return Err(Error::input("the checkpoint lacks a part of the walkers", "start again with --force"));
        }
        let index = |label: &String| slots.iter().position(|slot| slot == label);
        if let Some(gone) = self.walker_at.keys().find(|label| index(label).is_none()) {
            let help = "pH values and replicas may be added to a replica exchange, but none taken away: choose another output.folder";
            return Err(Error::input(format!("{gone} is not among the runs of the job any more"), help));
        }
        let mut origins: Vec<usize> = self.origins.iter().filter_map(index).collect();
        let new = |slot: &usize| !self.walker_at.contains_key(&slots[*slot]);
        origins.extend((0..slots.len()).filter(new));
        let mut fresh = known..;
        let at = slots.iter().map(|slot| self.walker_at.get(slot).copied().or_else(|| fresh.next()).unwrap_or(0));
        Ok(Places { at: at.collect(), origins })
    }
}

impl Places {
    /// Each walker at the slot in which it starts.
    pub fn at_start(slots: usize) -> Self {
        Self { origins: (0..slots).collect(), at: (0..slots).collect() }
    }
}

/// The settings that shape the trajectories of all walkers. The pH values and the number of replicas are not among them: more may come.
///
/// # Errors
/// As [`Config::to_toml`].
pub fn settings(config: &Config) -> Result<String> {
    let every = config.titrate.as_ref().and_then(|titrate| titrate.exchange);
    let every = every.map_or(String::new(), |every| format!("\n[titrate]\nexchange = \"{every}\"\n"));
    Ok(config.trajectory_settings()? + &every)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|name| name.to_string()).collect()
    }

    fn set(at: [usize; 2]) -> ExchangeState {
        let walkers = [7, 5].map(|step| State { step, ..State::default() }).to_vec();
        let walker_at = names(&["a", "c"]).into_iter().zip(at).collect();
        ExchangeState { walkers, origins: names(&["a", "c"]), walker_at, swapped: 0 }
    }

    #[test]
    fn incomplete_sets_are_refused() {
        assert_eq!(set([1, 0]).step(), 5);
        let places = |at, slots: &[&str]| set(at).places(&names(slots));
        assert_eq!(places([1, 0], &["a", "c"]).unwrap(), Places { origins: vec![0, 1], at: vec![1, 0] });
        for at in [[1, 1], [0, 2]] {
            assert!(places(at, &["a", "c"]).unwrap_err().to_string().contains("lacks a part"));
        }
        let gone = places([1, 0], &["a", "b"]).unwrap_err().to_string();
        assert!(gone.contains("c is not among the runs"), "{gone}");
    }

    #[test]
    fn new_slots_get_new_walkers_and_the_others_stay_where_they_are() {
        let places = set([1, 0]).places(&names(&["0", "a", "b", "c"])).unwrap();
        assert_eq!(places.origins, [1, 3, 0, 2]);
        assert_eq!(places.at, [2, 1, 3, 0]);
    }
}
