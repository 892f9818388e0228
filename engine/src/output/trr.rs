//! `trajectory.trr`: positions, velocities and forces of all atoms, each at its own interval, in full precision.
//!
//! The file knows its length in bytes. A checkpoint records it, and a continued run cuts the file back to it.

use super::tables::open_at;
use crate::config::{Config, Precision};
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::trajectory::trr::{Parts, Real, encode};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Which parts of a frame are due.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DueParts {
    /// Positions.
    pub positions: bool,
    /// Velocities.
    pub velocities: bool,
    /// Forces.
    pub forces: bool,
}

impl DueParts {
    /// Whether anything is due.
    pub fn any(self) -> bool {
        self.positions || self.velocities || self.forces
    }
}

/// A growing TRR file.
#[derive(Debug)]
pub struct Trr {
    path: PathBuf,
    file: BufWriter<File>,
    length: u64,
    real: Real,
}

impl Trr {
    /// Opens the file of a run if its job wants one: new and empty, or cut to `length` bytes to be continued.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be opened, [`Error::Input`] if it is shorter than the checkpoint says.
    pub fn open(config: &Config, path: &Path, length: Option<u64>) -> Result<Option<Trr>> {
        let output = &config.output;
        if [output.positions, output.velocities, output.forces].iter().all(|time| config.interval(*time).is_none()) {
            return Ok(None);
        }
        let real = match output.full_precision {
            Precision::Single => Real::Single,
            Precision::Double => Real::Double,
        };
        let file = BufWriter::new(open_at(path, length)?);
        Ok(Some(Trr { path: path.to_path_buf(), file, length: length.unwrap_or(0), real }))
    }

    /// Adds a frame with the parts that are due.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written.
    pub fn write(&mut self, frame: &Frame, due: DueParts) -> Result<()> {
        let atoms = frame.positions.len().max(frame.forces.len());
        let parts = Parts {
            step: frame.step,
            time: frame.time,
            cell: frame.cell,
            atoms,
            positions: if due.positions { frame.positions } else { &[] },
            velocities: if due.velocities { frame.velocities } else { &[] },
            forces: if due.forces { frame.forces } else { &[] },
        };
        let bytes = encode(&parts, self.real);
        self.file.write_all(&bytes).map_err(|e| Error::file(&self.path, "write the trajectory", e))?;
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Brings all frames to the disk, and gives the length of the file (bytes).
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written.
    pub fn sync(&mut self) -> Result<u64> {
        let written = self.file.flush().and_then(|()| self.file.get_ref().sync_data());
        written.map_err(|e| Error::file(&self.path, "write the trajectory", e))?;
        Ok(self.length)
    }
}
