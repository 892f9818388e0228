//! Results of a run: what a step offers, and the files it goes to.

pub mod files;
pub mod parquet;
pub mod plot;
pub mod progress;
pub mod report;
pub mod sites;
pub mod tables;
pub mod trajectory;

use crate::error::{Error, Result};
use nalgebra::Vector3;
use std::io::Write;
use std::path::Path;

/// One number of a step, with its name and unit as they appear in files.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantity {
    /// Name, for example `Lennard-Jones` or `temperature`.
    pub name: &'static str,
    /// Unit, for example `kJ/mol`.
    pub unit: &'static str,
    /// Value in that unit.
    pub value: f64,
}

/// Parts of a [`Frame`] that cost something.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Energies.
    pub energies: bool,
    /// ∂V/∂λ.
    pub derivatives: bool,
    /// Positions and velocities.
    pub positions: bool,
}

impl Wanted {
    /// Everything.
    pub const ALL: Self = Self { energies: true, derivatives: true, positions: true };
}

/// State of one step as the outputs see it. What was not [`Wanted`] is empty. Names, units and their order are the same in every frame of a run.
#[derive(Debug, Clone)]
pub struct Frame<'a> {
    /// Number of the step; 0 is the start.
    pub step: u64,
    /// Time (ps).
    pub time: f64,
    /// Energies and other numbers of this step, in the order of the columns of `energy.csv`.
    pub energies: Vec<Quantity>,
    /// λ in the columns of `lambda.csv`: one for a site of two forms, one for each form of others.
    pub lambda: Vec<f64>,
    /// ∂V/∂λ in the same order, without bias (kJ/mol).
    pub dvdl: Vec<f64>,
    /// Whose coordinates these are, in a replica exchange.
    pub walker: Option<u32>,
    /// Positions (nm), one per atom.
    pub positions: &'a [Vector3<f64>],
    /// Velocities (nm/ps), one per atom.
    pub velocities: &'a [Vector3<f64>],
    /// Edges of the periodic box (nm); `None`: open.
    pub edges: Option<Vector3<f64>>,
}

/// Writes a whole file so that either the old or the new content is there, never a part: temporary file, sync, rename.
///
/// # Errors
/// [`Error::File`] that names `path`; the temporary file is removed.
pub fn write_atomic(path: &Path, action: &'static str, content: &[u8]) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".tmp");
    let temporary = path.with_file_name(name);
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        sync_folder(path)
    };
    write().map_err(|e| {
        // The error below is the one to report; a left-over temporary file harms nothing.
        let _ = std::fs::remove_file(&temporary);
        Error::file(path, action, e)
    })
}

/// Makes a rename in the folder of `path` permanent.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => std::fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_leaves_what_was_there_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("result");
        write_atomic(&path, "write", b"first").unwrap();
        write_atomic(&path, "write", b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        // A folder cannot be replaced by a file: the rename at the end fails.
        let taken = folder.path().join("taken");
        std::fs::create_dir_all(taken.join("inside")).unwrap();
        let message = write_atomic(&taken, "write the plot", b"x").unwrap_err().to_string();
        assert!(message.starts_with(&format!("{}: cannot write the plot: ", taken.display())), "{message}");
        let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["result", "taken"]);
    }
}
