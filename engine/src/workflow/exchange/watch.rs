//! The clock of an exchange: when progress is shown, and when a checkpoint is due.

use super::books::Books;
use crate::config::Config;
use crate::error::Result;
use crate::output::progress::{Log, Progress};
use std::time::{Duration, Instant};

/// The clock, with the log.
pub struct Watch<'a> {
    /// The log.
    pub log: &'a mut Log,
    /// How fast the walkers are.
    pub progress: Progress,
    first: u64,
    pause: Duration,
    saved: Instant,
}

impl<'a> Watch<'a> {
    /// Of walkers that are at step `first`, with a checkpoint.
    pub fn new(config: &Config, first: u64, log: &'a mut Log) -> Self {
        let progress = Progress::new(config.dynamics.time_step.get(), first, config.steps());
        let pause = Duration::from_secs_f64(config.output.checkpoint.get());
        Self { log, progress, first, pause, saved: Instant::now() }
    }

    /// Writes a line into the log, and ends what is shown in place.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if the log cannot be written.
    pub fn line(&mut self, text: &str) -> Result<()> {
        self.log.settle();
        self.log.line(text)
    }

    /// Shows how far the walkers are if it is time to. Whether a checkpoint is due.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a table cannot be written.
    pub fn look(&mut self, books: &mut Books) -> Result<bool> {
        if self.progress.due(self.log) {
            self.progress.show(self.log, books.reached().max(self.first), &[]);
            books.flush()?;
        }
        Ok(self.saved.elapsed() >= self.pause)
    }

    /// There is a new checkpoint.
    pub fn saved(&mut self) {
        self.saved = Instant::now();
    }
}
