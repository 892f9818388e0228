//! Section `[output]`: where results go and how often they are written.

use super::check::{Check, exists, make_absolute, not_negative, positive, require, whole_steps, wrong};
use super::electrostatics::Precision;
use super::quantity::{Length, Time, WallTime};
use crate::selection::Expression;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Finest and coarsest precision of `trajectory.xtc` (nm): numbers of 32 bits, and what still shows an atom.
const PRECISION: [f64; 2] = [1e-6, 0.1];

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
    /// Time between two frames of `trajectory.xtc` (ps): positions of the atoms that `trajectory_atoms` names, compressed.
    pub trajectory: Time,
    /// Atoms of `trajectory.xtc`: `"all"`, `"solute"` (neither water nor ions), `"protein"`, `"resname GLH and not hydrogen"`, …; all
    /// unless given. The language is in [Output](output.md#selections). If not all atoms are chosen, `trajectory.gro` beside the trajectory has their
    /// names, for MDAnalysis or VMD.
    pub trajectory_atoms: String,
    /// Precision of the positions in `trajectory.xtc` (nm), 1e-6 to 0.1 nm; 0.001 nm unless given, as GROMACS does. A tenth of it costs
    /// about ten bits per atom. Systems of fewer than ten atoms are kept in single precision.
    pub trajectory_precision: Length,
    /// Time between positions of all atoms in `trajectory.trr` (ps), in full precision: to continue from with `system.frame`, or for
    /// `octitrate rerun`. Never unless given, since such frames are three times as large.
    pub positions: Time,
    /// Time between velocities of all atoms in `trajectory.trr` (ps), half a step before the positions of the frame, as the leap-frog
    /// integrators of this program and of GROMACS have them. Never unless given.
    pub velocities: Time,
    /// Time between forces on all atoms in `trajectory.trr` (ps), those of the force field at the positions of the frame, without constraints. Never
    /// unless given.
    pub forces: Time,
    /// Numbers in `trajectory.trr`: `"single"` (4 bytes, as GROMACS writes them), or `"double"` (8 bytes, twice as large, exact).
    pub full_precision: Precision,
    /// GROMACS index file whose groups selections may name, `"group Backbone"`. The path is relative to the job file.
    #[schemars(extend("x-absent" = "no groups"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<PathBuf>,
    /// Time between two lines of numbers in `log.txt` (ps).
    pub log: Time,
    /// Time between two checkpoints, on the clock (s), above zero. That much work can be lost at most if the machine fails.
    pub checkpoint: WallTime,
}

impl Default for Output {
    fn default() -> Self {
        let never = Time::new(0.0);
        Output {
            folder: PathBuf::new(),
            energy: Time::new(1.0),
            lambda: Time::new(0.1),
            trajectory: Time::new(10.0),
            trajectory_atoms: "all".into(),
            trajectory_precision: Length::new(0.001),
            positions: never,
            velocities: never,
            forces: never,
            full_precision: Precision::Single,
            index: None,
            log: Time::new(1.0),
            checkpoint: WallTime::new(300.0),
        }
    }
}

impl Output {
    /// Checks the intervals against the time step; `needs_lambda`: the job is evaluated from `lambda.csv`.
    pub(super) fn check(&self, step: Time, needs_lambda: bool) -> Check {
        let intervals = [
            ("energy", self.energy),
            ("lambda", self.lambda),
            ("trajectory", self.trajectory),
            ("positions", self.positions),
            ("velocities", self.velocities),
            ("forces", self.forces),
            ("log", self.log),
        ];
        for (name, time) in intervals {
            let key = format!("output.{name}");
            not_negative(&key, time)?;
            whole_steps(&key, time, step)?;
        }
        positive("output.checkpoint", self.checkpoint)?;
        let [finest, coarsest] = PRECISION;
        let precision = self.trajectory_precision;
        let valid = format!("a length from {finest} nm to {coarsest} nm, such as \"0.001 nm\"");
        let in_range = (finest..=coarsest).contains(&precision.get());
        require(in_range, "output.trajectory_precision", precision, &valid)?;
        let read = Expression::parse(&self.trajectory_atoms);
        read.map_err(|e| wrong("output.trajectory_atoms", e.to_string(), e.valid()))?;
        let written = !needs_lambda || self.lambda.get() > 0.0;
        require(written, "output.lambda", self.lambda, "a time above zero: the workflow reads lambda.csv")
    }

    /// Makes paths absolute; the folder unless given is the job `file` without its ending.
    pub(super) fn resolve_paths(&mut self, file: &Path, folder: &Path) -> Check {
        if self.folder.as_os_str().is_empty() {
            self.folder = file.with_extension("");
            let valid = "a name for the folder of the results";
            require(self.folder != file, "output.folder", "a job file without the ending .toml", valid)?;
        }
        make_absolute(folder, &mut self.folder);
        if let Some(index) = &mut self.index {
            make_absolute(folder, index);
            exists("output.index", index, "a GROMACS index file, .ndx")?;
        }
        let file = self.folder.ancestors().find(|part| part.is_file());
        let found = || format!("{}, which is a file", file.unwrap_or(&self.folder).display());
        require(file.is_none(), "output.folder", found(), "the name of a folder")
    }
}

/// The job that writes its results to this folder: that of the same name beside it, `equilibrate.toml` of `equilibrate`, unless it says that it writes to another folder. One that
/// cannot be read counts: running it says what is wrong with it.
pub fn job_that_writes(folder: &Path) -> Option<PathBuf> {
    let job = folder.with_extension("toml");
    if !job.is_file() {
        return None;
    }
    let text = std::fs::read_to_string(&job).unwrap_or_default();
    let read: toml::Table = text.parse().unwrap_or_default();
    let writes_to = read.get("output").and_then(|section| section.get("folder")).and_then(toml::Value::as_str);
    writes_to.is_none_or(|named| folder.with_file_name(named) == folder).then_some(job)
}
