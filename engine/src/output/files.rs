//! The files of one run: they are opened together, written as they are due, and cut together when a run continues.

use super::tables::Table;
use super::trajectory::{Contents, Xtc};
use super::trr::{DueParts, Trr};
use crate::config::Config;
use crate::error::Result;
use crate::frame::{Frame, LineIntervals, Wanted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

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
/// Who had which pH after each exchange, in the folder of a titration with replica exchange.
pub const EXCHANGE: &str = "exchange.csv";
/// Positions at the step that failed.
pub const FAILED: &str = "failed.gro";
/// What is known of the cause.
pub const FAILURE: &str = "failed.txt";

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

/// An output file and the steps between two of its entries.
type Every<T> = Option<(T, u64)>;

/// Output files of a run. A file whose interval is `"0 ps"` does not exist.
pub struct Files {
    energy: Every<Table>,
    lambda: Every<Table>,
    trajectory: Every<Xtc>,
    atoms: Option<u64>,
    full: Option<Trr>,
    lambdas: Vec<String>,
    /// Lines that come by themselves ([`Files::line`]) and are not due.
    kept: LineIntervals,
    last: u64,
    /// Files that an earlier part of the run has written and this one does not: a later part may go on with them.
    at_rest: BTreeMap<String, Written>,
}

/// Which files get an entry at a step.
#[derive(Debug, Clone, Copy)]
pub struct Due {
    energy: bool,
    lambda: bool,
    trajectory: bool,
    full: DueParts,
}

impl Due {
    /// The parts of a frame that these entries need.
    pub fn wanted(self) -> Wanted {
        let positions = self.trajectory || self.full.positions || self.full.velocities;
        Wanted { energies: self.energy, derivatives: self.lambda, positions, forces: self.full.forces }
    }

    /// Whether anything is due.
    pub fn any(self) -> bool {
        self.energy || self.lambda || self.trajectory || self.full.any()
    }
}

impl Files {
    /// Opens the files: new ones, or cut to what a checkpoint knows as `written`. A file that the checkpoint does not know is new. `lambdas` are the
    /// names of the columns of [`LAMBDA`], `atoms` those of [`TRAJECTORY`] unless they are all.
    ///
    /// # Errors
    /// As [`Table::open`], [`Xtc::open`] and [`Trr::open`].
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
        let mut files = Files {
            energy: None,
            lambda: None,
            trajectory: None,
            atoms: contents.fingerprint(),
            full: Trr::open(config, &config.result(FULL), length(FULL))?,
            lambdas: lambdas.to_vec(),
            kept: LineIntervals::default(),
            last: config.steps(),
            at_rest: written.clone(),
        };
        if let Some(every) = config.interval(output.energy) {
            files.energy = Some((table(ENERGY)?, every));
        }
        if let Some(every) = config.interval(output.lambda).filter(|_| !lambdas.is_empty()) {
            files.lambda = Some((table(LAMBDA)?, every));
        }
        if let Some(every) = config.interval(output.trajectory) {
            files.trajectory =
                Some((Xtc::open(&config.result(TRAJECTORY), contents, length(TRAJECTORY), before)?, every));
        }
        Ok(files)
    }

    /// The steps at which the tables get lines.
    pub fn intervals(&self) -> LineIntervals {
        let every = |file: &Every<Table>| file.as_ref().map(|(_, every)| *every);
        LineIntervals { energies: every(&self.energy), lambda: every(&self.lambda), last: self.last }
    }

    /// These lines come by themselves from now on: they are not due any more.
    pub fn expect(&mut self, kept: LineIntervals) {
        self.kept = kept;
    }

    /// Writes a line that has come by itself: energies if it has any, and λ with ∂V/∂λ if it has those.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a table cannot be written.
    pub fn line(&mut self, frame: &Frame) -> Result<()> {
        if let (false, Some((table, _))) = (frame.energies.is_empty(), &mut self.energy) {
            table.energies(frame)?;
        }
        if let (false, Some((table, _))) = (frame.dvdl.is_empty(), &mut self.lambda) {
            table.lambdas(frame, &self.lambdas)?;
        }
        Ok(())
    }

    /// What is due at this step; energies and positions of the last step always are.
    pub fn due(&self, step: u64) -> Due {
        fn at<T>(file: &Every<T>, step: u64) -> bool {
            file.as_ref().is_some_and(|(_, every)| step.is_multiple_of(*every))
        }
        let last = step == self.last;
        Due {
            energy: self.kept.energies.is_none() && (at(&self.energy, step) || (last && self.energy.is_some())),
            lambda: self.kept.lambda.is_none() && at(&self.lambda, step),
            trajectory: at(&self.trajectory, step) || (last && self.trajectory.is_some()),
            full: self.full.as_ref().map_or(DueParts::default(), |trr| trr.due(step, last)),
        }
    }

    /// The first step after `step` at which something is due.
    pub fn next(&self, step: u64) -> u64 {
        fn after<T>(file: &Every<T>, step: u64) -> Option<u64> {
            file.as_ref().map(|(_, every)| (step / every + 1) * every)
        }
        let full = self.full.as_ref().and_then(|trr| trr.next(step));
        let energy = after(&self.energy, step).filter(|_| self.kept.energies.is_none());
        let lambda = after(&self.lambda, step).filter(|_| self.kept.lambda.is_none());
        let files = [energy, lambda, after(&self.trajectory, step), full];
        files.into_iter().flatten().fold(self.last.max(step + 1), u64::min)
    }

    /// Writes what is due.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a file cannot be written.
    pub fn write(&mut self, frame: &Frame, due: Due) -> Result<()> {
        if let (true, Some((table, _))) = (due.energy, &mut self.energy) {
            table.energies(frame)?;
        }
        if let (true, Some((table, _))) = (due.lambda, &mut self.lambda) {
            table.lambdas(frame, &self.lambdas)?;
        }
        if let (true, Some((xtc, _))) = (due.trajectory, &mut self.trajectory) {
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
        tables.into_iter().flatten().try_for_each(|(table, _)| table.flush())
    }

    /// Brings everything to the disk, and says what is in each file for the checkpoint.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a file cannot be written, or the trajectory has lost frames.
    pub fn sync(&mut self) -> Result<BTreeMap<String, Written>> {
        let mut written = self.at_rest.clone();
        for (name, table) in [(ENERGY, &mut self.energy), (LAMBDA, &mut self.lambda)] {
            if let Some((table, _)) = table {
                written.insert(name.to_string(), table.sync()?.into());
            }
        }
        if let Some((xtc, _)) = &mut self.trajectory {
            written.insert(TRAJECTORY.to_string(), Written { bytes: xtc.sync()?, atoms: self.atoms });
        }
        if let Some(trr) = &mut self.full {
            written.insert(FULL.to_string(), trr.sync()?.into());
        }
        Ok(written)
    }
}
