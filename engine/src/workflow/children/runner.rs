//! What starts runs and watches them, whether as processes or as threads.

use super::child::Child;
use crate::error::Result;

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// All its results are complete.
    Finished,
    /// The device has no memory for it beside the others, in the words of the device.
    NoMemory(String),
    /// It cannot go on.
    Failed {
        /// Why, in its own words.
        said: String,
        /// Whether the physics failed.
        physics: bool,
    },
}

/// A run on its way; dropping it asks it to stop and waits for its checkpoint.
pub trait Working {
    /// Whether it holds all the memory of the device that it needs; the next run is started then.
    fn ready(&self) -> bool;

    /// How it ended, once it has.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if the system cannot say.
    fn ended(&mut self) -> Result<Option<End>>;

    /// Asks it to write its checkpoint and leave.
    fn stop(&mut self);
}

/// Starts runs, as processes or as threads.
pub trait Runner {
    /// Starts the run, or continues it.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if its folder cannot be written or it cannot be started.
    fn start(&self, child: &Child) -> Result<Box<dyn Working>>;

    /// Number of runs for which there is memory at once, as far as runs that found none have told; `None`: nothing is known.
    fn room(&self) -> Option<usize>;
}
