//! The job file: one TOML, read into one typed tree with every default filled in.
//!
//! [`Config::load`] parses, refuses unknown keys, wrong units, values out of range and contradictions, makes paths
//! absolute and derives what follows from other keys (steps from the duration, temperatures from the thermostat).
//! [`Config::save`] writes the whole tree as `resolved.toml`, which is itself a valid job and gives the same run.
//! Any later stage that finds a mistake (a residue that is not there, a box too small) names the key and passes its
//! error through [`Config::locate`], which adds the place in the file.

mod check;
mod check_sites;
mod check_titration;
pub mod quantity;
pub mod sections;
pub mod sites;
mod source;
pub mod titration;

pub use quantity::Quantity;
pub use sections::{
    Barostat, Boundary, Constraints, Depth, Dynamics, Electrostatics, Minimise, Modifier, NeighbourList, Output,
    Precision, System, Thermostat, VanDerWaals, Velocities,
};
pub use sites::{
    AdaptingBarrier, Barrier, Buffer, Coordinate, Coupling, Interpolation, PhTerm, SiteRequest, Start, Titration,
};
pub use titration::{Calibrate, Jobs, Titrate, Values};

use crate::error::{Error, InputError, Result};
use serde::{Deserialize, Serialize};
use source::Source;
use std::path::{Path, PathBuf};

/// Name of the file with every default, written beside the results.
pub const RESOLVED: &str = "resolved.toml";

/// A whole job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Structure and topology.
    pub system: System,
    /// Coulomb interactions.
    #[serde(default)]
    pub electrostatics: Electrostatics,
    /// Lennard-Jones interactions.
    #[serde(default)]
    pub van_der_waals: VanDerWaals,
    /// Verlet lists.
    #[serde(default)]
    pub neighbour_list: NeighbourList,
    /// Integration.
    #[serde(default)]
    pub dynamics: Dynamics,
    /// Constant temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thermostat: Option<Thermostat>,
    /// Constant pressure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barostat: Option<Barostat>,
    /// Steepest descent before the dynamics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimise: Option<Minimise>,
    /// λ-dynamics.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub titration: Option<Titration>,
    /// Many pH values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub titrate: Option<Titrate>,
    /// Fixed-λ windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calibrate: Option<Calibrate>,
    /// Results.
    #[serde(default)]
    pub output: Output,
    /// The text this was read from, for messages.
    #[serde(skip)]
    source: Source,
}

impl Config {
    /// Reads, checks and resolves a job file.
    ///
    /// # Errors
    /// [`Error::Input`] with the place in the file, or [`Error::File`] if it cannot be read.
    pub fn load(path: &Path) -> Result<Config> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, "read the job file", e))?;
        Config::parse(&text, path)
    }

    /// Like [`Config::load`], from text; `path` gives the folder of relative paths and the name in messages.
    ///
    /// # Errors
    /// [`Error::Input`] with the place in the text.
    pub fn parse(text: &str, path: &Path) -> Result<Config> {
        let source = Source::new(text, path);
        let mut config: Config = toml::from_str(text).map_err(|e| source.explain(&e))?;
        config.source = source;
        check::resolve(&mut config, path).map_err(|e| config.locate(*e))?;
        Ok(config)
    }

    /// Adds file, line and column to an error that names a key of the job file and has no file of its own.
    pub fn locate(&self, error: InputError) -> Error {
        self.source.locate(error).into()
    }

    /// Error for a key, located.
    pub fn error_at(&self, key: &str, message: impl Into<String>, help: impl Into<String>) -> Error {
        self.locate(InputError::new(message, help).at_key(key))
    }

    /// Number of steps of a run.
    pub fn steps(&self) -> u64 {
        self.dynamics.steps.unwrap_or(0)
    }

    /// The interval in steps; `None` for `"0 ps"` (never).
    pub fn interval(&self, time: quantity::Time) -> Option<u64> {
        let steps = (time.get() / self.dynamics.time_step.get()).round() as u64;
        (steps > 0).then_some(steps)
    }

    /// The job file this was read from.
    pub fn path(&self) -> &Path {
        self.source.path()
    }

    /// Folder of the results.
    pub fn folder(&self) -> &Path {
        &self.output.folder
    }

    /// Path of a result file.
    pub fn result(&self, name: &str) -> PathBuf {
        self.output.folder.join(name)
    }

    /// Whether the cut-off fits into a periodic box with these edges (nm): a particle must not meet two images of another.
    ///
    /// # Errors
    /// [`Error::Input`] at the cut-off, with the largest that fits.
    pub fn check_box(&self, edges: nalgebra::Vector3<f64>) -> Result<()> {
        let reach = self.van_der_waals.cutoff.get() + self.neighbour_list.buffer.get();
        let shortest = edges.min();
        if 2.0 * reach <= shortest {
            return Ok(());
        }
        let message = format!(
            "the box has an edge of {shortest} nm, shorter than twice the cut-off of {} and the buffer of {}",
            self.van_der_waals.cutoff, self.neighbour_list.buffer
        );
        let largest = 0.5 * shortest - self.neighbour_list.buffer.get();
        let help = format!("take a larger box, or van_der_waals.cutoff at most {largest:.3} nm");
        Err(self.error_at("van_der_waals.cutoff", message, help))
    }

    /// The whole tree as TOML, every default written out.
    ///
    /// # Errors
    /// [`Error::Input`] if a path is not Unicode.
    pub fn to_toml(&self) -> Result<String> {
        let body =
            toml::to_string(self).map_err(|e| Error::input(format!("the job cannot be written as TOML: {e}"), ""))?;
        Ok(format!("# octitrate {}: every setting of this job, defaults included\n\n{body}", env!("CARGO_PKG_VERSION")))
    }

    /// The settings that shape a trajectory, as TOML: neither how long it is, nor what is written of it, nor which runs it is one of.
    ///
    /// # Errors
    /// As [`Self::to_toml`].
    pub fn trajectory_settings(&self) -> Result<String> {
        let mut config = self.clone();
        config.dynamics.steps = None;
        config.output = Default::default();
        config.titrate = None;
        config.calibrate = None;
        config.to_toml()
    }

    /// Writes the whole tree to `path` in one piece (never half of it).
    ///
    /// # Errors
    /// [`Error::File`].
    pub fn save(&self, path: &Path) -> Result<()> {
        crate::atomic::write_atomic(path, "write the resolved job", self.to_toml()?.as_bytes())
    }
}
