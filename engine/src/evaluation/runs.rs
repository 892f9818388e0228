//! Runs of a titration as they lie on the disk: folders with `lambda.csv` and `sites.toml`.

use crate::config::RESOLVED;
use crate::config::quantity::{Energy, Time};
use crate::error::{Error, InputError, Result};
use crate::evaluation::job::Job;
use crate::output::begun::Begun;
use crate::output::files;
use crate::output::series::LambdaSeries;
use crate::output::sites::{self, SitesFile};
use crate::record::{Kind, SiteRecord, are, counted, usual_name};
use lambda::analysis::occupancy::{self, State};
use lambda::site::SiteRequest;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

mod folders;
mod names;

use folders::{lost_file, ph_of_folder, titration_of, without};

pub use folders::{
    equilibration, find, finite_box, has_lines, holding, lost, of_prepared, others, ph_label, run_folder,
    without_frames,
};
pub use names::{names_of_runs, names_of_titrations};

/// One run, as its files tell of it.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Folder of its files.
    pub folder: PathBuf,
    /// pH that it had.
    pub ph: f64,
    /// What its sites are.
    pub sites: SitesFile,
    /// λ and ∂V/∂λ of all frames.
    pub series: LambdaSeries,
    /// Time (ps) up to which its files are read, if it is evaluated as it was then: what it has written since is not there.
    pub upto: Option<f64>,
    /// Warnings in its log.
    pub warnings: Vec<String>,
    /// From which state it began; none if at its first step.
    pub begun: Option<Begun>,
    /// `offset` (kJ/mol) of the sites that have one, by the residue as the job names it.
    pub offsets: Vec<(String, f64)>,
    /// Name of the file with the structure that it began with, of a `final.gro` with its folder, if it says so.
    pub structure: Option<String>,
}

/// A walker of a replica exchange: the folder of its titration, and its number there.
pub type Walker<'a> = (&'a Path, u32);

/// The sites to which the job of a run gives an `offset`, with it (kJ/mol).
fn offsets(job: &Job) -> Vec<(String, f64)> {
    let read = |[residue, offset]: [&str; 2]| Some((residue.to_string(), Energy::parse(offset).ok()?.get()));
    job.sites_with("offset").into_iter().filter_map(read).collect()
}

/// Name of a file with a structure; with its folder where it is the end of a run, because all of these have one name.
fn name_of(path: &Path) -> Option<String> {
    let name = path.file_name()?;
    let folder = path.parent().and_then(Path::file_name).filter(|_| name == files::FINAL);
    let named = folder.map_or_else(|| PathBuf::from(name), |folder| Path::new(folder).join(name));
    Some(named.to_string_lossy().into_owned())
}

/// How long a run is meant to be.
struct Plan {
    /// Length, ps.
    length: f64,
    /// Time between lines of `lambda.csv`, ps.
    interval: f64,
}

impl Plan {
    /// Of the run in this folder; `None` if it does not say.
    fn read(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join(RESOLVED)).ok()?;
        let job: toml::Table = text.parse().ok()?;
        let time = |section: &str, key: &str| Some(Time::parse(job.get(section)?.get(key)?.as_str()?).ok()?.get());
        let steps = job.get("dynamics")?.get("steps")?.as_integer()? as f64;
        let interval = time("output", "lambda").filter(|interval| *interval > 0.0)?;
        Some(Self { length: steps * time("dynamics", "time_step")?, interval })
    }
}

/// The last two parts of a path, `pH_4.00/replica_1`.
fn short_name(folder: &Path) -> String {
    let parts: Vec<_> = folder.iter().map(|part| part.to_string_lossy()).collect();
    parts[parts.len().saturating_sub(2)..].join("/")
}

/// What else can be done about a table that is there and not as it should be, as the end of a sentence.
fn or_without(run: &Path) -> String {
    without(run).map_or(String::new(), |words| format!("; or move it elsewhere, and {words}"))
}

impl Run {
    /// Reads a run.
    ///
    /// # Errors
    /// [`Error::File`] if a file is missing; [`Error::Input`] if one is damaged, if the columns are not those of the sites, or if there is no pH.
    pub fn read(folder: &Path) -> Result<Run> {
        let mut run = Self::read_as_it_is(folder)?;
        run.check_length()?;
        run.check_start();
        Ok(run)
    }

    /// Reads a run, however long it is.
    fn read_as_it_is(folder: &Path) -> Result<Run> {
        if let Some(file) = lost_file(folder) {
            let what = if folder.join(file).exists() { "the file is empty" } else { "the file is missing" };
            let help = without(folder).map_or("put it back".to_string(), |words| format!("put it back; {words}"));
            return Err(InputError::new(what, help).in_file(&folder.join(file)).into());
        }
        let path = folder.join(files::LAMBDA);
        let series = LambdaSeries::read(&path).map_err(|error| match error {
            Error::Input(mut wrong) => {
                wrong.help += &or_without(folder);
                Error::Input(wrong)
            }
            other => other,
        })?;
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
        if let Some(named) = ph_of_folder(folder).filter(|named| (named - ph).abs() > 1e-9) {
            let message = format!("the run has pH {ph}, and lies in a folder of pH {named}");
            let help = "put back the folders as octitrate wrote them: sites.toml is that of another run";
            return Err(InputError::new(message, help).in_file(&folder.join(files::SITES)).into());
        }
        let log = std::fs::read_to_string(folder.join(files::LOG)).unwrap_or_default();
        let warnings = log.lines().filter_map(|line| line.strip_prefix("warning: ")).map(str::to_string).collect();
        let (begun, job) = (Begun::read(folder)?, Job::read(&folder.join(RESOLVED)));
        let of_job = job.value("titration", "ph").and_then(|ph| ph.parse::<f64>().ok());
        if let Some(other) = of_job.filter(|other| (other - ph).abs() > 1e-9) {
            let message = format!("the run has pH {ph}, and its job, {RESOLVED}, pH {other}");
            let help = "put back the files as octitrate wrote them: one of them is that of another run";
            return Err(InputError::new(message, help).in_file(&folder.join(files::SITES)).into());
        }
        let (offsets, structure) = (offsets(&job), job.path("system", "structure").as_deref().and_then(name_of));
        let folder = folder.to_path_buf();
        let run = Run { folder, ph, sites, series, upto: None, warnings, begun, offsets, structure };
        run.check_weights()?;
        Ok(run)
    }

    /// Reads a run up to a time (ps), whatever has been written since.
    ///
    /// # Errors
    /// As [`Self::read`]; [`Error::Input`] if it is shorter.
    pub fn read_until(folder: &Path, time: f64) -> Result<Run> {
        let mut run = Self::read_as_it_is(folder)?;
        let interval = run.series.interval().unwrap_or(0.0);
        let end = run.series.time.last().copied().unwrap_or(0.0);
        if end < time - interval - 1e-6 {
            let message = format!("the table ends at {end} ps, and {time} ps are wanted");
            let path = run.folder.join(files::LAMBDA);
            return Err(InputError::new(message, "put the whole table back").in_file(&path).into());
        }
        run.series = run.series.until(time);
        run.upto = Some(time);
        Ok(run)
    }

    /// Refuses frames in which the weights of a site do not add up to one.
    fn check_weights(&self) -> Result<()> {
        for site in self.sites.sites.iter().filter(|site| site.forms.len() > 2) {
            let weights = self.weights(&site.name).unwrap_or_default();
            // Six decimals are written of each weight, half a unit of the last may be lost in each, and as much again in the sum.
            let off = |&frame: &usize| {
                (weights.iter().map(|w| w[frame]).sum::<f64>() - 1.0).abs() > 1e-6 * weights.len() as f64
            };
            if let Some(frame) = (0..self.series.time.len()).find(off) {
                let message =
                    format!("the weights of {} at {} ps do not add up to 1", site.name, self.series.time[frame]);
                let path = self.folder.join(files::LAMBDA);
                return Err(InputError::new(message, "valid is a lambda.csv as octitrate writes it")
                    .in_file(&path)
                    .into());
            }
        }
        Ok(())
    }

    /// Refuses a table that ends before its run did, and tells of a run that goes on or was stopped.
    fn check_length(&mut self) -> Result<()> {
        let (Some(plan), Some(&end)) = (Plan::read(&self.folder), self.series.time.last()) else { return Ok(()) };
        let name = short_name(&self.folder);
        if self.series.cut {
            self.warnings.push(format!("{name}: an incomplete line at the end of {} is left out", files::LAMBDA));
        }
        // The last line is due at the last multiple of the interval.
        let short_of = |length: f64| end < ((length / plan.interval + 1e-6).floor() - 0.5) * plan.interval;
        if !short_of(plan.length) {
            return Ok(());
        }
        if let Some(finished) = files::finished_at(&self.folder, plan.length).filter(|&finished| short_of(finished)) {
            let message = format!("the table ends at {end} ps, and its run was finished at {finished} ps");
            let path = self.folder.join(files::LAMBDA);
            let help = format!("put the whole table back{}", or_without(&self.folder));
            return Err(InputError::new(message, help).in_file(&path).into());
        }
        self.warnings.push(format!("{name}: not finished: {end} of {} ps", plan.length));
        Ok(())
    }

    /// Tells of a table that begins later than its run: that it was emptied on the way is the one way in which it can be so.
    fn check_start(&mut self) {
        let Some((&first, interval)) = self.series.time.first().zip(self.series.interval()) else { return };
        if first > self.start() + 1.5 * interval {
            let (name, table) = (short_name(&self.folder), files::LAMBDA);
            self.warnings
                .push(format!("{name}: {table} begins at {first} ps: the lines before are lost, and do not count"));
        }
    }

    /// The groups that titrate or could, by the usual names and the numbers of their residues.
    pub fn groups(&self) -> BTreeSet<String> {
        let sites = self.sites.sites.iter().filter(|site| site.kind == Kind::Titratable).map(|site| &site.name);
        let names = sites.chain(self.sites.untitrated.iter().map(|group| &group.name));
        let plain = |name: &String| {
            let SiteRequest { entry, name, number, insertion, .. } = name.parse().ok()?;
            let end = entry.filter(|entry| ["nterm", "cterm"].contains(&entry.as_str())).unwrap_or_default();
            Some(format!("{end} {} {number}{}", usual_name(&name), insertion.map_or(String::new(), String::from)))
        };
        names.filter_map(plain).collect()
    }

    /// The folder of its titration, which holds `pH_4.00/replica_1`; its own folder if it is a run by itself.
    pub fn titration(&self) -> &Path {
        titration_of(&self.folder)
    }

    /// The walkers of a replica exchange that its frames belong to; of every titration its own, whatever their numbers. None without an exchange.
    pub fn walkers(&self) -> impl Iterator<Item = Walker<'_>> {
        self.series.walker.iter().map(|&walker| (self.titration(), walker))
    }

    /// The last two parts of its folder, `pH_4.00/replica_1`.
    pub fn short_name(&self) -> String {
        short_name(&self.folder)
    }

    /// The run with frames at intervals of `interval` (ps), so that all runs count by their time.
    #[must_use]
    pub fn evenly(mut self, interval: f64) -> Self {
        let name = short_name(&self.folder);
        let own = self.series.interval();
        let (even, missing) = self.series.evenly(interval);
        if even.time.len() < self.series.time.len() {
            // Differences of times have their rounding.
            let short = |interval: f64| (interval * 1e6).round() / 1e6;
            let why = match own.map(short).filter(|own| *own != short(interval)) {
                Some(own) => format!("lines are {own} ps apart"),
                None => "some lines are nearer to each other".to_string(),
            };
            let interval = short(interval);
            self.warnings
                .push(format!("{name}: frames are taken every {interval} ps, so that all count by their time: {why}"));
        }
        if missing > 0 {
            self.warnings.push(format!(
                "{name}: {} {} missing between the first and the last",
                counted(missing, "frame"),
                are(missing)
            ));
        }
        self.series = even;
        self
    }

    /// Time (ps) up to which a run is left out if its first `equilibration` ps are.
    pub fn cut(&self, equilibration: f64) -> f64 {
        let end = self.series.time.last().copied().unwrap_or(0.0);
        self.begun.as_ref().map_or(equilibration, |begun| begun.left_out(equilibration, end))
    }

    /// Whether what its files have of this time (ps) is read.
    pub fn knows(&self, time: f64) -> bool {
        self.upto.is_none_or(|end| time <= end + 1e-6)
    }

    /// Time (ps) at which it began.
    pub fn start(&self) -> f64 {
        self.begun.as_ref().map_or(0.0, |begun| begun.time)
    }

    /// Whether it has frames after its first `equilibration` ps.
    pub fn lasts(&self, equilibration: f64) -> bool {
        let from = self.cut(equilibration).max(self.sites.held);
        self.series.time.last().is_some_and(|end| *end > from)
    }

    /// The run without its frames up to `equilibration` (ps).
    ///
    /// # Errors
    /// [`Error::Input`] if nothing is left.
    pub fn after(mut self, equilibration: f64) -> Result<Run> {
        // λ that is held says nothing.
        self.series = self.series.after(equilibration.max(self.sites.held));
        if self.series.time.is_empty() {
            let message = format!("no frames after {equilibration} ps");
            let path = self.folder.join(files::LAMBDA);
            return Err(InputError::new(message, "run longer, or shorten the equilibration").in_file(&path).into());
        }
        Ok(self)
    }

    /// The `offset` (kJ/mol) of a site, 0 without one. A job may name all residues of a name, `GL3`, or one of them, `GL3 15`, without its molecule.
    pub fn offset(&self, site: &str) -> f64 {
        let alone = site.split_once(':').map_or(site, |(_, alone)| alone);
        let all = |name: &str| alone.strip_prefix(name).is_some_and(|rest| rest.starts_with(' '));
        let named = |wanted: &dyn Fn(&str) -> bool| self.offsets.iter().find(|(name, _)| wanted(name));
        let found = named(&|name| name == site).or_else(|| named(&|name| name == alone)).or_else(|| named(&all));
        found.map_or(0.0, |(_, offset)| *offset)
    }

    /// pK of the forms of a site that have lost protons; none of a site that the run does not have.
    pub fn pk(&self, site: &str) -> Vec<f64> {
        let forms = self.sites.sites.iter().filter(|one| one.name == site).flat_map(|one| &one.forms);
        forms.filter(|form| form.protons_lost > 0).map(|form| form.pk).collect()
    }

    /// Free energies of the forms of a site that its V_MM took away (kJ/mol); none if the run does not say.
    pub fn free_energies(&self, site: &str) -> Option<&[f64]> {
        self.sites.sites.iter().find(|one| one.name == site)?.free_energies.as_deref()
    }

    /// The sites that have a pKa.
    pub fn titrating(&self) -> impl Iterator<Item = &SiteRecord> {
        self.sites.sites.iter().filter(|site| site.titrates())
    }

    /// Weights of the forms of a site, `[form][frame]`; `None` if the run does not have it.
    pub fn weights(&self, name: &str) -> Option<Vec<Vec<f64>>> {
        Some(match &self.series.lambda[self.columns(name)?] {
            [lambda] => vec![lambda.iter().map(|lambda| 1.0 - lambda).collect(), lambda.clone()],
            more => more.to_vec(),
        })
    }

    /// ∂V/∂λ by the weight of each form of a site (kJ/mol), `[form][frame]`, of which differences between forms count; `None` if the run does not have it.
    pub fn slopes(&self, name: &str) -> Option<Vec<Vec<f64>>> {
        Some(match self.series.dvdl.get(self.columns(name)?)? {
            [slope] => vec![vec![0.0; slope.len()], slope.clone()],
            more => more.to_vec(),
        })
    }

    /// The columns of a site in `lambda.csv`.
    fn columns(&self, name: &str) -> Option<std::ops::Range<usize>> {
        let index = self.sites.sites.iter().position(|site| site.name == name)?;
        let first: usize = self.sites.sites[..index].iter().map(|site| site.columns().len()).sum();
        Some(first..first + self.sites.sites[index].columns().len())
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

#[cfg(test)]
mod tests;
