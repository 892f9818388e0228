//! `begun.toml`: from which state a run began that was added to a titration on its way. Runs that began at their first step have none.

use crate::atomic::{read_toml, write_atomic};
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the file, in the folder of the run.
pub const FILE: &str = "begun.toml";
const HEADING: &str = "# This run was added to a titration on its way, and began with the last state of another one.\n";

/// How a run began.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Begun {
    /// Time at which it began (ps); that of its first frame comes after it.
    pub time: f64,
    /// The run whose state it was, `pH_4.00/replica_1`.
    pub from: String,
    /// Why the pH was added.
    pub why: String,
    /// Number of the walker of a replica exchange that began with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub walker: Option<u32>,
    /// Number of the walker whose state it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_walker: Option<u32>,
}

impl Begun {
    /// Reads how the run in this folder began; `None` if at its first step.
    ///
    /// # Errors
    /// [`Error::Input`] if the file is not as this program writes it, [`Error::File`] if it cannot be read.
    pub fn read(folder: &Path) -> Result<Option<Self>> {
        read_toml(&folder.join(FILE), "put the file back")
    }

    /// Writes the file into the folder of the run.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = toml::to_string(self).map_err(|e| Error::input(e.to_string(), ""))?;
        write_atomic(&folder.join(FILE), "write", (HEADING.to_string() + &text).as_bytes())
    }

    /// Start of the run that is left out if `at_least` ps are of every run: as much after it began, but no more than half of a run that ends at `end`, so
    /// that one that has just begun counts. The time (ps) at which it ends.
    pub fn left_out(&self, at_least: f64, end: f64) -> f64 {
        self.time + at_least.min(0.5 * (end - self.time)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_and_damage_is_told() {
        let folder = temp_dir::TempDir::new().unwrap();
        assert_eq!(Begun::read(folder.path()).unwrap(), None);
        let begun = Begun {
            time: 120.0,
            from: "pH_4.00/replica_1".into(),
            why: "the pKa 2.1 of ASP 3 lies below 3, the lowest".into(),
            walker: Some(9),
            from_walker: Some(4),
        };
        begun.write(folder.path()).unwrap();
        assert_eq!(Begun::read(folder.path()).unwrap(), Some(begun.clone()));
        std::fs::write(folder.path().join(FILE), "time = 1").unwrap();
        assert!(Begun::read(folder.path()).unwrap_err().to_string().contains("not as this program writes it"));
        // 20 ps after the start, or half of what is there.
        assert_eq!([begun.left_out(20.0, 200.0), begun.left_out(20.0, 140.0)], [140.0, 130.0]);
    }
}
