//! The finished runs of a calibration, read from their folders: averages of windows, weights of free runs.

use super::measured::{self, Measured};
use crate::config::{Config, Thermostat};
use crate::error::{Error, InputError, Result};
use crate::output::files;
use crate::output::series::LambdaSeries;
use crate::output::sites;
use crate::record::{Kind, SiteRecord};
use lambda::analysis::symmetry::Symmetry;
use lambda::library::Entry;
use std::path::{Path, PathBuf};

/// What a calibration is evaluated from: its job, and where its finished runs are.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// The job.
    pub config: &'a Config,
    /// Name of the site that is calibrated; `None`: the buffer.
    pub site: Option<&'a str>,
    /// Its entry of the library.
    pub entry: &'a Entry,
    /// Name of the residue, if the entry has a correction of its own for it or gets one.
    pub elsewhere: Option<&'a str>,
    /// Forms that are the same chemically.
    pub symmetry: &'a Symmetry,
    /// The windows, one at least.
    pub windows: Vec<WindowRuns<'a>>,
    /// The rounds of free runs that are finished.
    pub rounds: Vec<RoundRuns>,
}

/// The runs of a window.
#[derive(Debug)]
pub struct WindowRuns<'a> {
    /// Weights of the forms, which are held.
    pub weights: &'a [f64],
    /// Folders of their results, one at least, by start.
    pub folders: Vec<&'a Path>,
}

/// The runs of a round.
#[derive(Debug)]
pub struct RoundRuns {
    /// File with the entry whose V_MM the runs had.
    pub library: PathBuf,
    /// Folders of the runs.
    pub folders: Vec<PathBuf>,
}

/// Columns of a site in `lambda.csv`: one for two forms, else one for each form.
struct Columns {
    /// λ, or the weight of each form: `[column][frame]`.
    lambda: Vec<Vec<f64>>,
    /// ∂V/∂λ in the same columns (kJ/mol).
    dvdl: Vec<Vec<f64>>,
    /// Time between frames (ps); zero if there are not two.
    interval: f64,
}

impl Inputs<'_> {
    /// Temperature of the runs (K).
    pub fn temperature(&self) -> f64 {
        let own = self.config.titration.as_ref().and_then(|titration| titration.temperature);
        let bath = self.config.thermostat.as_ref().map(|thermostat| thermostat.temperature);
        own.or(bath).unwrap_or_else(|| Thermostat::default().temperature).get()
    }

    /// Start of each run that is left out (ps).
    pub fn equilibration(&self) -> f64 {
        self.config.calibrate.as_ref().map_or(0.0, |calibrate| calibrate.equilibration.get())
    }

    /// How flat free runs must be (kJ/mol).
    pub fn tolerance(&self) -> f64 {
        self.config.calibrate.as_ref().map_or(1.0, |calibrate| calibrate.tolerance.get())
    }

    /// An error that longer runs would mend.
    pub fn too_short(&self, message: String) -> Error {
        self.config.error_at("calibrate", message, "run longer")
    }

    /// The record of what is calibrated in the `sites.toml` of a run.
    ///
    /// # Errors
    /// [`Error::File`] if there is no such file, [`Error::Input`] if what is calibrated is not in it.
    pub fn record(&self, folder: &Path) -> Result<SiteRecord> {
        let path = folder.join(files::SITES);
        let mine = |record: &SiteRecord| match self.site {
            Some(name) => record.name == *name,
            None => record.kind == Kind::Buffer,
        };
        let found = sites::read(&path)?.sites.into_iter().find(mine);
        found.ok_or_else(|| InputError::new("the site that is calibrated is not in it", "").in_file(&path).into())
    }

    /// What a run says of the site after equilibration.
    fn columns(&self, folder: &Path) -> Result<Columns> {
        let record = self.record(folder)?;
        let path = folder.join(files::LAMBDA);
        let series = LambdaSeries::read(&path)?.after(self.equilibration());
        let interval = series.interval();
        let series = interval.map_or(series.clone(), |interval| series.evenly(interval).0);
        let mut columns = Columns { lambda: Vec::new(), dvdl: Vec::new(), interval: interval.unwrap_or(0.0) };
        for name in record.columns() {
            let Some(column) = series.sites.iter().position(|site| *site == name) else {
                return Err(InputError::new(format!("there is no column lambda {name}"), "").in_file(&path).into());
            };
            columns.lambda.push(series.lambda[column].clone());
            columns.dvdl.push(series.dvdl[column].clone());
        }
        Ok(columns)
    }

    /// What the runs of a window say.
    ///
    /// # Errors
    /// [`Error::File`] if a file is missing, [`Error::Input`] if one is damaged or has too few frames for an average.
    pub fn window(&self, runs: &WindowRuns) -> Result<Measured> {
        let one = |folder: &&Path| {
            let Columns { dvdl, interval, .. } = self.columns(folder)?;
            let slopes = match &dvdl[..] {
                [one] => vec![one.clone()],
                [first, others @ ..] => {
                    let less = |series: &Vec<f64>| series.iter().zip(first).map(|(a, b)| a - b).collect();
                    others.iter().map(less).collect()
                }
                [] => Vec::new(),
            };
            let help = "make dynamics.duration longer, or output.lambda shorter";
            let wrong = |e| -> Error {
                InputError::new(format!("∂V/∂λ: {e}"), help).in_file(&folder.join(files::LAMBDA)).into()
            };
            measured::Run::new(runs.weights, &slopes, interval).map_err(wrong)
        };
        let found = runs.folders.iter().map(one).collect::<Result<Vec<_>>>()?;
        Measured::new(found).ok_or_else(|| self.too_short(format!("the window {:?} has no runs", runs.weights)))
    }

    /// Weights of every form in a free run, `[form][frame]`.
    ///
    /// # Errors
    /// [`Error::File`] if a file is missing, [`Error::Input`] if one is damaged.
    pub fn weights(&self, folder: &Path) -> Result<Vec<Vec<f64>>> {
        Ok(match <[Vec<f64>; 1]>::try_from(self.columns(folder)?.lambda) {
            Ok([one]) => vec![one.iter().map(|lambda| 1.0 - lambda).collect(), one],
            Err(weights) => weights,
        })
    }
}
