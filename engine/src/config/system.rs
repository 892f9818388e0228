//! Section `[system]`: structure and topology of what is simulated.

use super::check::{Check, exists, make_absolute};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// `[system]`: what is simulated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Structure, GROMACS `.gro`. Relative to the job file.
    pub structure: PathBuf,
    /// Topology, GROMACS `.top`. Relative to the job file.
    pub topology: PathBuf,
    /// Folders searched for `#include`. Relative to the job file.
    #[serde(default)]
    pub include: Vec<PathBuf>,
    /// Preprocessor names, `"POSRES"` or `"NAME=value"`.
    #[serde(default)]
    pub define: Vec<String>,
}

impl System {
    /// Makes the paths absolute; they are relative to `folder`.
    pub(super) fn make_absolute(&mut self, folder: &Path) {
        let paths = [&mut self.structure, &mut self.topology];
        paths.into_iter().chain(&mut self.include).for_each(|path| make_absolute(folder, path));
    }

    /// Checks that both files exist.
    pub(super) fn check(&self) -> Check {
        exists("system.structure", &self.structure, "a GROMACS structure, .gro")?;
        exists("system.topology", &self.topology, "a GROMACS topology, .top")
    }
}
