//! Where results go: tables (CSV) and plots (SVG) in a folder.

use octitrate::atomic::write_atomic;
use octitrate::error::{Error, Result};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

/// A table as CSV.
pub struct Table(String);

impl Table {
    /// Only the names of the columns.
    pub fn new(header: &str) -> Self {
        Self(format!("{header}\n"))
    }

    /// One more line.
    pub fn line(&mut self, line: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.0, "{line}");
    }
}

/// A folder of results, and the time since it was opened.
pub struct Folder {
    path: PathBuf,
    started: Instant,
}

impl Folder {
    /// The folder, made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(path: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(&path).map_err(|e| Error::file(&path, "make the folder", e))?;
        Ok(Self { path, started: Instant::now() })
    }

    /// `name`.csv and `name`.svg.
    ///
    /// # Errors
    /// Files that cannot be written.
    pub fn write(&self, name: &str, table: &Table, plot: &str) -> Result<()> {
        write_atomic(&self.path.join(format!("{name}.csv")), "write the table", table.0.as_bytes())?;
        self.write_plot(name, plot)
    }

    /// `name`.svg.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write_plot(&self, name: &str, plot: &str) -> Result<()> {
        let path = self.path.join(format!("{name}.svg"));
        write_atomic(&path, "write the plot", plot.as_bytes())?;
        println!("{:>6.1} s  {}", self.started.elapsed().as_secs_f64(), path.display());
        Ok(())
    }
}
