//! Frames of trajectories: `.trr` (`trr.rs`), `.xtc` (`xtc.rs` and chemfiles). Both are read from this program, GROMACS and others.
//!
//! A file is scanned when it is opened: where its frames are, their times, and whether it ends with a whole frame.
//! Units: nm, ps, kJ/mol/nm.

pub(crate) mod trr;
pub(crate) mod xtc;

use crate::error::{Error, InputError, Result};
use forcefield::Cell;
use forcefield::cell::PeriodicBox;
use nalgebra::Vector3;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A frame of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoredFrame {
    /// Step.
    pub step: u64,
    /// Time, ps.
    pub time: f64,
    /// The box, or open space.
    pub cell: Cell,
    /// Positions, nm; empty if the frame has none.
    pub positions: Vec<Vector3<f64>>,
    /// Velocities, nm/ps; empty if the frame has none.
    pub velocities: Vec<Vector3<f64>>,
    /// Forces, kJ/mol/nm; empty if the frame has none.
    pub forces: Vec<Vector3<f64>>,
}

/// What a scan knows of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    /// First byte.
    pub at: u64,
    /// Time, ps.
    pub time: f64,
    /// Number of atoms.
    pub atoms: u64,
    /// Whether it has positions.
    pub positions: bool,
}

/// What a scan of a file found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scan {
    /// Its whole frames.
    pub entries: Vec<Entry>,
    /// Where they end.
    pub end: u64,
    /// Whether what comes after them is the beginning of one more.
    pub cut: bool,
    /// Bytes of the file.
    pub size: u64,
}

enum Source {
    Trr(File),
    Xtc(chemfiles::Trajectory, chemfiles::Frame),
}

/// The frames of a file.
pub struct Frames {
    path: PathBuf,
    entries: Vec<Entry>,
    cut: bool,
    source: Source,
}

impl Frames {
    /// Opens a `.trr` or `.xtc` file.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, [`Error::Input`] if it is of another format, has no frames, or is damaged.
    pub fn open(path: &Path) -> Result<Self> {
        Self::opened(path, false)
    }

    /// Opens the file of a run that may be writing it, or that was killed while it did: of its last frame there may be the beginning alone, which does not count.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_growing(path: &Path) -> Result<Self> {
        Self::opened(path, true)
    }

    fn opened(path: &Path, may_be_cut: bool) -> Result<Self> {
        let unreadable = |e| Error::file(path, "read the trajectory", e);
        let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
        let mut file = File::open(path).map_err(unreadable)?;
        let scan = match ending.as_str() {
            "trr" => trr::scan(&mut file).map_err(unreadable)?,
            "xtc" => xtc::scan(&mut file).map_err(unreadable)?,
            _ => {
                let help = "valid are .trr and .xtc; a .gro file is named by system.structure";
                return Err(input(path, format!("\".{ending}\" is no trajectory that can be read"), help));
            }
        };
        if scan.end < scan.size && !(may_be_cut && scan.cut) {
            let (frames, end, size) = (scan.entries.len(), scan.end, scan.size);
            let message = format!(
                "the file is damaged: after {frames} whole frames, at byte {end} of {size}, there is no whole frame"
            );
            return Err(input(
                path,
                message,
                "cut it after the last whole frame (gmx trjcat does), or take another file",
            ));
        }
        if scan.entries.is_empty() {
            return Err(input(path, "the file has no frames".into(), "valid is a trajectory with one frame or more"));
        }
        let source = match ending.as_str() {
            "trr" => Source::Trr(file),
            _ => {
                // chemfiles prints warnings by itself; what matters comes back as an error.
                chemfiles::set_warning_callback(|_| {});
                let opened = chemfiles::Trajectory::open(path, 'r');
                Source::Xtc(opened.map_err(|e| input(path, e.message, ""))?, chemfiles::Frame::new())
            }
        };
        Ok(Self { path: path.to_path_buf(), entries: scan.entries, cut: scan.cut, source })
    }

    /// What is known of the frames without reading them.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Whether the file ends with the beginning of one more frame.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Reads frame number `index`, from 0.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be read, [`Error::Input`] with the frame that is damaged or has a box that is not rectangular.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn read(&mut self, index: usize) -> Result<StoredFrame> {
        let entry = self.entries[index];
        let wrong =
            |message: String| input(&self.path, format!("frame {} at {} ps: {message}", index + 1, entry.time), "");
        match &mut self.source {
            Source::Trr(file) => trr::read(file, entry.at).map_err(|e| match e {
                trr::TrrError::Io(e) => Error::file(&self.path, "read the trajectory", e),
                trr::TrrError::Content(message) => wrong(message),
            }),
            Source::Xtc(trajectory, frame) => {
                trajectory.read_step(index, frame).map_err(|e| wrong(e.message))?;
                xtc::converted(frame, entry.time).map_err(wrong)
            }
        }
    }

    /// The frame with positions at `time` (ps), or the last that has them. Files keep times in single precision, so that a time fits if it is equal to
    /// their seven digits, or to 10⁻⁴ ps.
    ///
    /// # Errors
    /// [`Error::Input`] with the times that there are; as [`Self::read`].
    pub fn find(&mut self, time: Option<f64>) -> Result<StoredFrame> {
        let candidates = || self.entries.iter().enumerate().filter(|(_, entry)| entry.positions);
        let (Some((_, first)), Some((_, last))) = (candidates().next(), candidates().next_back()) else {
            return Err(input(&self.path, "no frame has positions".into(), "valid is a trajectory with positions"));
        };
        let found = match time {
            None => candidates().next_back(),
            Some(time) => candidates().find(|(_, entry)| is_time(entry.time, time)),
        };
        match (found, time) {
            (Some((index, _)), _) => self.read(index),
            (None, time) => {
                let time = time.unwrap_or_default();
                let without = self.entries.iter().any(|entry| is_time(entry.time, time));
                let what =
                    if without { "the frame at this time has no positions" } else { "there is no frame at this time" };
                let nearest = candidates()
                    .map(|(_, entry)| entry.time)
                    .min_by(|a, b| (a - time).abs().total_cmp(&(b - time).abs()));
                let (count, nearest) = (candidates().count(), nearest.unwrap_or_default());
                let help = match count {
                    1 => format!("the one frame with positions is at {nearest} ps"),
                    _ => format!(
                        "{count} frames with positions go from {} to {} ps; the nearest is at {nearest} ps",
                        first.time, last.time
                    ),
                };
                Err(input(&self.path, format!("{what}, {time} ps"), &help))
            }
        }
    }
}

/// A time of single precision as the shortest decimal number that it stands for: 0.1, not 0.10000000149.
fn time_of(single: f32) -> f64 {
    single.to_string().parse().unwrap_or(f64::from(single))
}

/// Whether a time in a file, of single precision, is this one (ps).
pub fn is_time(stored: f64, time: f64) -> bool {
    (stored - time).abs() <= (f64::from(f32::EPSILON) * time.abs()).max(1e-4)
}

fn input(path: &Path, message: String, help: &str) -> Error {
    InputError::new(message.trim(), help).in_file(path).into()
}

/// The cell of three box vectors, nm, reduced ([`PeriodicBox::reduced`]); open space if all are zero.
fn cell_of(vectors: [Vector3<f64>; 3]) -> std::result::Result<Cell, String> {
    if vectors.iter().all(|vector| *vector == Vector3::zeros()) {
        return Ok(Cell::Open);
    }
    let found = PeriodicBox::reduced(vectors.map(<[f64; 3]>::from));
    found.map(Cell::Periodic).map_err(|e| format!("the box cannot be used: {e}"))
}

#[cfg(test)]
mod tests;
