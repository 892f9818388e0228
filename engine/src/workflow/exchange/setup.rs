//! The runs of a replica exchange, one for each slot of the ladders.

use crate::config::{Config, time_of};
use crate::evaluation::ladders::Ladders;
use crate::random::{RandomStream, indexed_generator};
use crate::workflow::children::Child;
use crate::workflow::until::Added;
use rand_distr::{Distribution, StandardUniform};

/// The runs of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Setup<'a> {
    /// The job.
    pub config: &'a Config,
    /// Its runs by slot: all replicas of the first pH, then of the next.
    pub slots: &'a [Child],
    /// Who may swap with whom.
    pub ladders: Ladders<'a>,
    /// Steps between exchanges.
    pub every: u64,
    /// pH values that were added on the way: their walkers begin with the states of others, all others at the first step.
    pub added: &'a [Added],
}

impl Setup<'_> {
    /// Time between exchanges (ps).
    pub fn interval(&self) -> f64 {
        time_of(self.every, self.config.dynamics.time_step.get())
    }

    /// Whether a pair swaps at an exchange that would cost both together `delta`: that depends on the seed, the exchange and the pair alone.
    pub fn swaps(&self, exchange: u64, pair: u64, delta: f64) -> bool {
        let seed = self.config.dynamics.seed;
        let chance: f64 = StandardUniform.sample(&mut indexed_generator(seed, RandomStream::Exchange, exchange, pair));
        chance < (-delta).exp()
    }

    /// The pH of this slot, if it was added, and the slot whose walker its own begins with.
    fn source(&self, slot: usize) -> Option<(&Added, usize)> {
        let ph = self.ladders.ph_of(slot);
        let added = self.added.iter().find(|added| added.ph == ph)?;
        let rung = self.ladders.ph.iter().position(|ph| *ph == added.from)?;
        Some((added, rung * self.ladders.replicas + slot % self.ladders.replicas))
    }

    /// The same if that slot has one of the `known` walkers of a checkpoint; `at` is the walker at each slot. A ladder that came later has no walker there, and its
    /// walkers all begin at the first step.
    pub fn source_among(&self, slot: usize, at: &[usize], known: usize) -> Option<(&Added, usize)> {
        self.source(slot).filter(|(_, source)| at[*source] < known)
    }

    /// Names of all slots, [`Self::label`].
    pub fn labels(&self) -> Vec<String> {
        (0..self.slots.len()).map(|slot| self.label(slot)).collect()
    }

    /// Folder of a run below that of the job: `pH_4.00/replica_1`.
    pub fn label(&self, slot: usize) -> String {
        let folder = self.slots[slot].config.folder();
        folder.strip_prefix(self.config.folder()).unwrap_or(folder).display().to_string()
    }
}

/// Number of a walker in files, from 1.
pub fn number_of(walker: usize) -> u32 {
    walker as u32 + 1
}
