//! Runs of a titration as they lie on the disk: folders with `lambda.csv` and `sites.toml`.

use crate::config::{RESOLVED, quantity::Time};
use crate::error::{Error, InputError, Result};
use crate::output::files;
use crate::output::sites::{self, SitesFile};
use crate::output::tables::LambdaSeries;
use crate::record::{Kind, SiteRecord};
use lambda::analysis::occupancy::{self, State};
use std::path::{Path, PathBuf};

/// One run, as its files tell of it.
#[derive(Debug, Clone)]
pub struct Run {
    /// Folder of its files.
    pub folder: PathBuf,
    /// pH that it had.
    pub ph: f64,
    /// What its sites are.
    pub sites: SitesFile,
    /// λ and ∂V/∂λ of all frames.
    pub series: LambdaSeries,
    /// Warnings in its log.
    pub warnings: Vec<String>,
}

/// Levels of folders below a titration that are searched for runs: `pH_4.00/replica_1`.
const DEPTH: usize = 2;

/// Folders of runs among these folders and below them, in the order of their names; each once.
///
/// # Errors
/// [`Error::File`] if a folder cannot be read, [`Error::Input`] if it holds no run.
pub fn find(folders: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let mut here = Vec::new();
        descend(folder, DEPTH, &mut here)?;
        if here.is_empty() {
            let help = "name the folder of a run, or of a titration with its runs in pH_*/replica_*";
            let message = format!("there is no {}, neither in the folder nor below it", files::LAMBDA);
            return Err(InputError::new(message, help).in_file(folder).into());
        }
        for run in here {
            if !found.contains(&run) {
                found.push(run);
            }
        }
    }
    Ok(found)
}

fn descend(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable = |e| Error::file(folder, "look into the folder", e);
    let folder = std::fs::canonicalize(folder).map_err(unreadable)?;
    if folder.join(files::LAMBDA).is_file() {
        found.push(folder);
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            inside.push(path);
        }
    }
    inside.sort();
    inside.iter().try_for_each(|folder| descend(folder, depth - 1, found))
}

/// The equilibration (ps) that the job of a titration leaves out, if this is the folder of one.
pub fn equilibration(folder: &Path) -> Option<f64> {
    let text = std::fs::read_to_string(folder.join(RESOLVED)).ok()?;
    let job: toml::Table = text.parse().ok()?;
    let time = job.get("titrate")?.get("equilibration")?.as_str()?;
    Time::parse(time).ok().map(|time| time.get())
}

impl Run {
    /// Reads a run.
    ///
    /// # Errors
    /// [`Error::File`] if a file is missing; [`Error::Input`] if one is damaged, if the columns are not those of the sites, or if there is no pH.
    pub fn read(folder: &Path) -> Result<Run> {
        let path = folder.join(files::LAMBDA);
        let series = LambdaSeries::read(&path)?;
        let sites = sites::read(&folder.join(files::SITES))?;
        let expected: Vec<String> = sites.sites.iter().flat_map(SiteRecord::columns).collect();
        if expected != series.sites {
            let message =
                format!("the columns are {}, those of the sites {}", series.sites.join(", "), expected.join(", "));
            return Err(InputError::new(message, "lambda.csv and sites.toml are of different runs")
                .in_file(&path)
                .into());
        }
        let Some(ph) = sites.ph.filter(|ph| ph.is_finite()) else {
            let path = folder.join(files::SITES);
            return Err(InputError::new("the run has no pH", "leave out runs without one").in_file(&path).into());
        };
        let log = std::fs::read_to_string(folder.join(files::LOG)).unwrap_or_default();
        let warnings = log.lines().filter_map(|line| line.strip_prefix("warning: ")).map(str::to_string).collect();
        Ok(Run { folder: folder.to_path_buf(), ph, sites, series, warnings })
    }

    /// The run without its first `equilibration` ps.
    ///
    /// # Errors
    /// [`Error::Input`] if nothing is left.
    pub fn after(mut self, equilibration: f64) -> Result<Run> {
        self.series = self.series.after(equilibration);
        if self.series.time.is_empty() {
            let message = format!("no frames after {equilibration} ps");
            let path = self.folder.join(files::LAMBDA);
            return Err(InputError::new(message, "run longer, or shorten the equilibration").in_file(&path).into());
        }
        Ok(self)
    }

    /// The sites that titrate: those that are neither buffers nor fixed, with forms of different protonation.
    pub fn titrating(&self) -> impl Iterator<Item = &SiteRecord> {
        let differ = |site: &SiteRecord| site.forms.iter().any(|form| form.protons_lost != site.forms[0].protons_lost);
        self.sites.sites.iter().filter(move |s| s.kind == Kind::Titratable && s.coordinate != "fixed" && differ(s))
    }

    /// Weights of the forms of a site, `[form][frame]`; `None` if the run does not have it.
    pub fn weights(&self, name: &str) -> Option<Vec<Vec<f64>>> {
        let index = self.sites.sites.iter().position(|site| site.name == name)?;
        let first: usize = self.sites.sites[..index].iter().map(|site| site.columns().len()).sum();
        let columns = &self.series.lambda[first..first + self.sites.sites[index].columns().len()];
        Some(match columns {
            [lambda] => vec![lambda.iter().map(|lambda| 1.0 - lambda).collect(), lambda.clone()],
            more => more.to_vec(),
        })
    }

    /// The form of a site in every frame.
    ///
    /// # Errors
    /// [`Error::Input`] if λ is not finite or the threshold is out of range.
    pub fn states(&self, weights: &[Vec<f64>], threshold: f64) -> Result<Vec<State>> {
        let weights: Vec<&[f64]> = weights.iter().map(Vec::as_slice).collect();
        let path = self.folder.join(files::LAMBDA);
        occupancy::states(&weights, threshold).map_err(|e| InputError::new(e.to_string(), "").in_file(&path).into())
    }

    /// Length of the run (ps): its number of frames times the time between two.
    pub fn length(&self) -> f64 {
        let (first, last) = (self.series.time[0], self.series.time[self.series.time.len() - 1]);
        let frames = self.series.time.len() as f64;
        if frames > 1.0 { (last - first) * frames / (frames - 1.0) } else { 0.0 }
    }
}
