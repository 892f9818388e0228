//! The files of one run: they are opened together, written as they are due, and cut together when a run continues.

use super::calendar::{Calendar, Due};
use super::tables::Table;
use super::trajectory::{Contents, Xtc};
use super::trr::Trr;
use crate::config::Config;
use crate::error::Result;
use crate::frame::{Frame, LineIntervals};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Table of energies.
pub const ENERGY: &str = "energy.csv";
/// Table of λ and ∂V/∂λ.
pub const LAMBDA: &str = "lambda.csv";
/// Description of the sites, which are the columns of [`LAMBDA`].
pub const SITES: &str = "sites.toml";
/// Positions of all atoms, or of those that are selected.
pub const TRAJECTORY: &str = "trajectory.xtc";
/// Names of the atoms of [`TRAJECTORY`], where they are not all.
pub const TRAJECTORY_STRUCTURE: &str = "trajectory.gro";
/// Positions, velocities and forces of all atoms in full precision.
pub const FULL: &str = "trajectory.trr";
/// Messages of the run.
pub const LOG: &str = "log.txt";
/// Positions and velocities at the last step.
pub const FINAL: &str = "final.gro";
/// Where a run of a calibration begins that begins where another one ended: a copy, because that one may become longer.
pub const START: &str = "start.gro";
/// Who had which pH after each exchange, in the folder of a titration with replica exchange.
pub const EXCHANGE: &str = "exchange.csv";
/// Positions at the step that failed.
pub const FAILED: &str = "failed.gro";
/// What is known of the cause.
pub const FAILURE: &str = "failed.txt";

/// Half a unit of the last digit that the title of [`FINAL`] has of its time (ps), and a rounding of the length of a run.
pub const SAME: f64 = 1e-5;

/// When the run in this folder was finished, ps: the time of its last structure, which is earlier than the end of the `plan` where a run that was finished is made longer.
/// Versions before wrote no time: theirs were finished at the end of the plan. `None` of a run that was never finished.
pub fn finished_at(folder: &Path, plan: f64) -> Option<f64> {
    let mut title = String::new();
    BufReader::new(File::open(folder.join(FINAL)).ok()?).read_line(&mut title).ok()?;
    Some(title.rsplit_once("t= ").and_then(|(_, time)| time.trim().parse().ok()).unwrap_or(plan))
}

/// Whether the run in this folder has written its last structure at `length` (ps) or later, and not at an earlier end alone.
pub fn is_finished(folder: &Path, length: f64) -> bool {
    finished_at(folder, length).is_some_and(|time| time > length - SAME)
}

/// What a checkpoint knows of an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Its length.
    pub bytes: u64,
    /// Hash of the atoms that its frames hold; none: all, or it has no frames.
    pub atoms: Option<u64>,
}

impl From<u64> for Written {
    fn from(bytes: u64) -> Self {
        Self { bytes, atoms: None }
    }
}

/// Output files of a run. A file whose interval is `"0 ps"` does not exist.
pub struct Files {
    calendar: Calendar,
    energy: Option<Table>,
    lambda: Option<Table>,
    trajectory: Option<Xtc>,
    atoms: Option<u64>,
    full: Option<Trr>,
    lambdas: Vec<String>,
    /// Files that an earlier part of the run has written and this one does not: a later part may go on with them.
    at_rest: BTreeMap<String, Written>,
}

impl Files {
    /// Opens the files: new ones, or cut to what a checkpoint knows as `written`. A file that the checkpoint does not know is new. `lambdas` are the
    /// names of the columns of [`LAMBDA`], `atoms` those of [`TRAJECTORY`] unless they are all.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if one cannot be opened, [`crate::error::Error::Input`] if one is shorter than the checkpoint says or holds other atoms.
    pub fn open(
        config: &Config,
        lambdas: &[String],
        atoms: Option<&[u32]>,
        written: &BTreeMap<String, Written>,
    ) -> Result<Files> {
        let length = |name: &str| written.get(name).map(|written| written.bytes);
        let before = written.get(TRAJECTORY).and_then(|written| written.atoms);
        let table = |name: &str| Table::open(&config.result(name), length(name));
        let output = &config.output;
        let contents = Contents { atoms: atoms.map(<[u32]>::to_vec), precision: output.trajectory_precision.get() };
        let calendar = Calendar::new(config, !lambdas.is_empty());
        let lines = calendar.lines();
        let trajectory = |_| Xtc::open(&config.result(TRAJECTORY), contents.clone(), length(TRAJECTORY), before);
        Ok(Files {
            energy: lines.energies.map(|_| table(ENERGY)).transpose()?,
            lambda: lines.lambda.map(|_| table(LAMBDA)).transpose()?,
            trajectory: calendar.trajectory.map(trajectory).transpose()?,
            atoms: contents.fingerprint(),
            full: Trr::open(config, &config.result(FULL), length(FULL))?,
            lambdas: lambdas.to_vec(),
            calendar,
            at_rest: written.clone(),
        })
    }

    /// When there are entries.
    pub fn calendar(&self) -> Calendar {
        self.calendar
    }

    /// These lines come by themselves from now on ([`Files::line`]): they are not due any more.
    pub fn expect(&mut self, kept: LineIntervals) {
        self.calendar.expect(kept);
    }

    /// Writes a line that has come by itself: energies if it has any, and λ with ∂V/∂λ if it has those.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a table cannot be written.
    pub fn line(&mut self, frame: &Frame) -> Result<()> {
        if let (false, Some(table)) = (frame.energies.is_empty(), &mut self.energy) {
            table.energies(frame)?;
        }
        if let (false, Some(table)) = (frame.dvdl.is_empty(), &mut self.lambda) {
            table.lambdas(frame, &self.lambdas)?;
        }
        Ok(())
    }

    /// Writes what is due.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a file cannot be written.
    pub fn write(&mut self, frame: &Frame, due: Due) -> Result<()> {
        if let (true, Some(table)) = (due.energy, &mut self.energy) {
            table.energies(frame)?;
        }
        if let (true, Some(table)) = (due.lambda, &mut self.lambda) {
            table.lambdas(frame, &self.lambdas)?;
        }
        if let (true, Some(xtc)) = (due.trajectory, &mut self.trajectory) {
            xtc.write(frame)?;
        }
        if let (true, Some(trr)) = (due.full.any(), &mut self.full) {
            trr.write(frame, due.full)?;
        }
        Ok(())
    }

    /// Hands the lines of the tables to the system, so that others can follow the run.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a table cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        let tables = [&mut self.energy, &mut self.lambda];
        tables.into_iter().flatten().try_for_each(Table::flush)
    }

    /// Brings everything to the disk, and says what is in each file for the checkpoint.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a file cannot be written, or the trajectory has lost frames.
    pub fn sync(&mut self) -> Result<BTreeMap<String, Written>> {
        let mut written = self.at_rest.clone();
        for (name, table) in [(ENERGY, &mut self.energy), (LAMBDA, &mut self.lambda)] {
            if let Some(table) = table {
                written.insert(name.to_string(), table.sync()?.into());
            }
        }
        if let Some(xtc) = &mut self.trajectory {
            written.insert(TRAJECTORY.to_string(), Written { bytes: xtc.sync()?, atoms: self.atoms });
        }
        if let Some(trr) = &mut self.full {
            written.insert(FULL.to_string(), trr.sync()?.into());
        }
        Ok(written)
    }
}
