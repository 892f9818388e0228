//! Section `[system]`: structure and topology of what is simulated.

use super::check::{Check, exists, make_absolute, require};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// `[system]`: what is simulated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Structure, GROMACS `.gro`. Relative to the job file.
    pub structure: PathBuf,
    /// Topology, GROMACS `.top`. Relative to the job file.
    pub topology: PathBuf,
    /// Folders searched for `#include`. Relative to the job file.
    #[serde(default)]
    pub include: Vec<PathBuf>,
    /// Preprocessor names, `"POSRES"` or `"NAME=value"`; `"-DPOSRES"`, as GROMACS has them, is the same.
    #[serde(default)]
    pub define: Vec<String>,
}

impl System {
    /// Makes the paths absolute; they are relative to `folder`.
    pub(super) fn make_absolute(&mut self, folder: &Path) {
        let paths = [&mut self.structure, &mut self.topology];
        paths.into_iter().chain(&mut self.include).for_each(|path| make_absolute(folder, path));
    }

    /// Writes names for the preprocessor without `-D` and blanks, and refuses what is none.
    pub(super) fn resolve(&mut self) -> Check {
        for (index, define) in self.define.iter_mut().enumerate() {
            let text = define.trim();
            let text = text.strip_prefix("-D").unwrap_or(text).trim();
            let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
            let name = name.trim();
            let valid =
                "one name for the preprocessor, \"POSRES\" or \"NAME=value\"; several are several entries of the list";
            let holds = !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c == '-');
            require(holds, &format!("system.define.{index}"), format!("\"{define}\""), valid)?;
            *define = value.map_or(name.to_string(), |value| format!("{name}={}", value.trim()));
        }
        Ok(())
    }

    /// Checks that both files exist.
    pub(super) fn check(&self) -> Check {
        exists("system.structure", &self.structure, "a GROMACS structure, .gro")?;
        exists("system.topology", &self.topology, "a GROMACS topology, .top")
    }
}
