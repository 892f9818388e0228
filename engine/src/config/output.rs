//! Section `[output]`: where results go and how often they are written.

use super::check::{Check, make_absolute, not_negative, positive, require, whole_steps};
use super::quantity::{Time, WallTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// `[output]`: where results go and how often. Intervals of simulated time must be whole numbers of steps; `"0 ps"`: never.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Output {
    /// Folder of the results, relative to the job file. `--output` on the command line stands in place of it.
    #[schemars(extend("x-absent" = "the name of the job file without `.toml`"))]
    pub folder: PathBuf,
    /// Time between two lines of `energy.csv` (ps).
    pub energy: Time,
    /// Time between two lines of `lambda.csv` (ps), from which everything is evaluated: a titration and a calibration need it.
    pub lambda: Time,
    /// Time between two frames of `trajectory.xtc` (ps).
    pub trajectory: Time,
    /// Time between two lines of numbers in `log.txt` (ps).
    pub log: Time,
    /// Time between two checkpoints, on the clock (s), above zero. That much work can be lost at most if the machine fails.
    pub checkpoint: WallTime,
}

impl Default for Output {
    fn default() -> Self {
        Output {
            folder: PathBuf::new(),
            energy: Time::new(1.0),
            lambda: Time::new(0.1),
            trajectory: Time::new(10.0),
            log: Time::new(1.0),
            checkpoint: WallTime::new(300.0),
        }
    }
}

impl Output {
    /// Checks the intervals against the time step; `needs_lambda`: the job is evaluated from `lambda.csv`.
    pub(super) fn check(&self, step: Time, needs_lambda: bool) -> Check {
        let intervals =
            [("energy", self.energy), ("lambda", self.lambda), ("trajectory", self.trajectory), ("log", self.log)];
        for (name, time) in intervals {
            let key = format!("output.{name}");
            not_negative(&key, time)?;
            whole_steps(&key, time, step)?;
        }
        positive("output.checkpoint", self.checkpoint)?;
        let written = !needs_lambda || self.lambda.get() > 0.0;
        require(written, "output.lambda", self.lambda, "a time above zero: the workflow reads lambda.csv")
    }

    /// Makes the folder absolute; unless given it is the job `file` without its ending.
    pub(super) fn resolve_folder(&mut self, file: &Path, folder: &Path) -> Check {
        if self.folder.as_os_str().is_empty() {
            self.folder = file.with_extension("");
            let valid = "a name for the folder of the results";
            require(self.folder != file, "output.folder", "a job file without the ending .toml", valid)?;
        }
        make_absolute(folder, &mut self.folder);
        let file = self.folder.ancestors().find(|part| part.is_file());
        let found = || format!("{}, which is a file", file.unwrap_or(&self.folder).display());
        require(file.is_none(), "output.folder", found(), "the name of a folder")
    }
}
