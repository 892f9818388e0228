//! How far the walkers of a replica exchange are, before it goes on.

use super::state::ExchangeState;
use crate::checkpoint::Checkpoint;
use crate::config::Config;
use crate::error::Result;

/// The walkers of the checkpoint that an exchange goes on with.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Joined {
    slots: Vec<String>,
    steps: Option<[u64; 2]>,
}

impl Joined {
    /// In the folder of a job; nobody where there is no checkpoint.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if there are checkpoints and none of them is good.
    pub fn find(config: &Config) -> Result<Self> {
        let folder = config.folder();
        // One that cannot be gone on with may be finished.
        let found = match Checkpoint::<ExchangeState>::load_to_continue(folder) {
            Ok(found) => found,
            Err(_) => Checkpoint::load(folder)?,
        };
        let Some(state) = found.map(|found| found.checkpoint.state) else { return Ok(Self::default()) };
        let steps = || state.walkers.iter().map(|walker| walker.step);
        let ends = steps().min().zip(steps().max()).map(|(low, high)| [low, high]);
        Ok(Self { slots: state.walker_at.into_keys().collect(), steps: ends })
    }

    /// Whether there is a walker at the slot of this name.
    pub fn has(&self, slot: &str) -> bool {
        self.slots.iter().any(|known| known == slot)
    }

    /// Whether there are walkers at more slots than so many.
    pub fn is_more_than(&self, slots: usize) -> bool {
        self.slots.len() > slots
    }

    /// Whether all walkers have made this step.
    pub fn has_reached(&self, step: u64) -> bool {
        self.steps.is_some_and(|[least, _]| least >= step)
    }

    /// Whether all walkers are at this step.
    pub fn is_at(&self, step: u64) -> bool {
        self.steps == Some([step; 2])
    }
}
