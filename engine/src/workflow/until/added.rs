//! pH values that a look has added to a titration.

use crate::error::Result;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A pH that was added.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Added {
    /// The pH.
    pub ph: f64,
    /// Steps that all other runs had done.
    pub steps: u64,
    /// Their length (ps).
    pub time: f64,
    /// The pH whose states its runs began with: replica 1 with that of replica 1.
    pub from: f64,
    /// Why, in words.
    pub why: String,
    /// Why no run began at it, if none could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<String>,
}

/// The pH values of those whose runs have begun.
pub fn running(added: &[Added]) -> Vec<f64> {
    added.iter().filter(|added| added.withdrawn.is_none()).map(|added| added.ph).collect()
}

/// A titration to which pH values can be added.
pub trait Grows {
    /// Folders of the runs of the job, and of those at these pH values that were added.
    fn folders(&self, added: &[f64]) -> Vec<PathBuf>;

    /// Lets runs begin at a new pH where all others are; false if these have gone on, or if there are runs at this pH which began otherwise: then
    /// nothing is changed.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if a folder or a checkpoint is not what it should be, [`crate::error::Error::File`] if one cannot be written.
    fn begin(&self, new: &Added) -> Result<bool>;
}
