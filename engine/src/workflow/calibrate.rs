//! `calibrate`: the free energy of a model compound over the weights of its forms, whose negative is V_MM.
//!
//! First windows of fixed weights along the edges of the simplex and inside it, each a run of its own in `lambda_0.50`
//! ([`super::children`]): ⟨∂V/∂λ_α⟩ with errors, least squares. Then rounds of free runs with that V_MM, no barrier and every form equally
//! likely (pH = pK), in `round_1/run_1`, …: where they are not flat the free energy is corrected, until they are flat within
//! `calibrate.tolerance`. Which runs follow is worked out from the finished ones alone, so that the same command continues at any point.
//!
//! The buffer (`calibrate.site = "buffer"`) is a site of two forms; what is stored belongs to one of its molecules.
//!
//! The result is an entry of the library, the present one with its correction replaced: name it in `titration.library` of a job to use it.

use super::calibrate_report;
use super::calibrate_result::{Progress, Source};
use super::children::{self, Child};
use super::many::{Batch, Many, Stage};
use crate::atomic::write_atomic;
use crate::config::{Barrier, Config, Coordinate, Coupling, Jobs, PhTerm, SiteRequest, Start, quantity::Energy};
use crate::error::{Error, InputError, Result};
use lambda::analysis::simplex_fit::windows;
use lambda::library::{Entry, EntryKind};
use lambda::site::{Selection, Site};
use std::path::PathBuf;

/// Buffer molecules unless the job says how many: 2N + 1 for one site.
const BUFFERS: u32 = 3;

/// What is calibrated.
#[derive(Debug, Clone)]
pub enum Target {
    /// A titratable site: its request and its name.
    Site(Box<SiteRequest>, String),
    /// The buffer.
    Buffer,
}

/// A calibration as planned.
#[derive(Debug)]
pub struct Plan {
    target: Target,
    forms: Vec<String>,
    entry: Entry,
    windows: Vec<Vec<f64>>,
    batch: Batch,
}

impl Many for Plan {
    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn title(&self) -> String {
        format!("calibration: {} windows", self.windows.len())
    }

    fn stage(&self, number: usize) -> Result<Option<Stage>> {
        let progress = Progress::new(&self.source(), number - 1)?;
        if progress.is_flat() || number > self.max_rounds() {
            return Ok(None);
        }
        let path = self.library_of(number);
        if !path.exists() {
            let (text, _) = progress.entry(&self.source())?;
            let folder = self.folder_of(number);
            std::fs::create_dir_all(&folder).map_err(|e| Error::file(&folder, "make the folder of a round", e))?;
            write_atomic(&path, "write", text.as_bytes())?;
        }
        let state = progress.rounds.last().map_or(String::new(), |round| {
            format!("not yet flat, {:.2} ± {:.2} kJ/mol; ", round.deviation.value, round.deviation.error)
        });
        let children = self.round(number);
        let title = format!("{state}round {number}: {} free runs of {} ps", children.len(), self.round_length());
        Ok(Some(Stage { title, children }))
    }

    fn conclude(&self) -> Result<String> {
        let mut done = 0;
        while done < self.max_rounds() && self.is_done(done + 1)? {
            done += 1;
        }
        let (source, config) = (self.source(), &self.batch.config);
        let calibration = Progress::new(&source, done)?.conclude(&source)?;
        calibrate_report::write(&calibration, config)?;
        Ok(calibrate_report::table(&calibration, config.folder()))
    }
}

impl Plan {
    /// Plans the windows of a job; `jobs` overrides those of the job.
    ///
    /// # Errors
    /// [`Error::Input`] if the job has no section `[calibrate]`, names no single site, or the library does not know it.
    pub fn new(config: Config, jobs: Option<u32>) -> Result<Plan> {
        let Some(calibrate) = &config.calibrate else {
            let help = "add one, for example [calibrate] windows = { min = -0.1, max = 1.1, step = 0.1 }";
            return Err(InputError::new("the job has no section [calibrate]", help).in_file(config.path()).into());
        };
        let (target, entry) = target(&config)?;
        let forms: Vec<String> = entry.forms.iter().map(|form| form.name.clone()).collect();
        let windows = windows(forms.len(), &calibrate.windows.to_vec(), calibrate.interior as usize);
        let one = |(index, weights): (usize, &Vec<f64>)| window(&config, &target, weights, index as u64);
        let children: Vec<Child> = windows.iter().enumerate().map(one).collect();
        let jobs = jobs.map_or(calibrate.jobs, Jobs::Count);
        let batch = Batch { config, children, jobs, noun: "windows", command: "calibrate" };
        Ok(Plan { target, forms, entry, windows, batch })
    }

    /// Where the results of its runs are.
    pub(super) fn source(&self) -> Source<'_> {
        Source {
            config: &self.batch.config,
            target: &self.target,
            entry: &self.entry,
            windows: &self.windows,
            children: &self.batch.children,
            library_of: Box::new(|number| self.library_of(number)),
            round: Box::new(|number| self.round(number)),
        }
    }

    fn max_rounds(&self) -> usize {
        self.batch.config.calibrate.as_ref().map_or(0, |calibrate| calibrate.max_rounds as usize)
    }

    fn folder_of(&self, round: usize) -> PathBuf {
        self.batch.config.folder().join(format!("round_{round}"))
    }

    /// The entry whose V_MM a round has.
    fn library_of(&self, round: usize) -> PathBuf {
        self.folder_of(round).join(format!("{}.toml", self.entry.name))
    }

    /// Length of a free run (ps).
    fn round_length(&self) -> f64 {
        let config = &self.batch.config;
        let window = config.steps() as f64 * config.dynamics.time_step.get();
        config.calibrate.as_ref().and_then(|calibrate| calibrate.round).map_or(10.0 * window, |round| round.get())
    }

    fn is_done(&self, round: usize) -> Result<bool> {
        if !self.library_of(round).exists() {
            return Ok(false);
        }
        self.round(round).iter().try_fold(true, |all, child| Ok(all && child.finished()?))
    }

    /// The free runs of a round.
    fn round(&self, number: usize) -> Vec<Child> {
        let runs = self.batch.config.calibrate.as_ref().map_or(0, |calibrate| calibrate.runs);
        (0..runs as usize).map(|run| self.free_run(number, run)).collect()
    }

    fn free_run(&self, round: usize, run: usize) -> Child {
        let config = &self.batch.config;
        let mut job = base(config);
        job.dynamics.steps = Some((self.round_length() / config.dynamics.time_step.get()).round() as u64);
        if let Some(titration) = &mut job.titration {
            titration.coordinate = Coordinate::Linear;
            titration.coupling = Coupling::Auto;
            titration.barrier = Barrier::Height(Energy::new(0.0));
            titration.ph_term = PhTerm::None;
            titration.library.insert(0, self.library_of(round));
            titration.sites = match &self.target {
                Target::Site(request, _) => {
                    let start = start(self.forms.len(), run);
                    let free = SiteRequest { coordinate: None, barrier: None, fixed: None, ..(**request).clone() };
                    vec![SiteRequest { initial: Some(start), ..free }]
                }
                Target::Buffer => Vec::new(),
            };
            if let (Target::Buffer, Some(buffer)) = (&self.target, &mut titration.buffer) {
                (buffer.fixed, buffer.neutral) = (None, false);
            }
        }
        // Behind the numbers of all windows.
        let index = (1 << 32) + ((round as u64) << 16) + run as u64;
        job.dynamics.seed = children::seed(config.dynamics.seed, index);
        job.output.folder = self.folder_of(round).join(format!("run_{}", run + 1));
        Child { name: format!("round {round}, run {}", run + 1), config: job }
    }
}

/// What the job calibrates: `calibrate.site`, or the only `[[titration.site]]`; and its entry of the library.
fn target(config: &Config) -> Result<(Target, Entry)> {
    let asked = config.calibrate.as_ref().and_then(|calibrate| calibrate.site.clone());
    let sites = config.titration.as_ref().map(|titration| titration.sites.as_slice()).unwrap_or_default();
    if asked.as_deref() == Some("buffer") {
        return buffer(config);
    }
    let request = match (asked, sites) {
        (Some(asked), sites) => sites.iter().find(|site| site.residue == asked).cloned().unwrap_or(SiteRequest {
            residue: asked,
            entry: None,
            initial: None,
            fixed: None,
            coordinate: None,
            barrier: None,
        }),
        (None, [only]) => only.clone(),
        (None, _) => {
            let message = format!("the file has {} sites, and none is named for the calibration", sites.len());
            return Err(config.error_at("calibrate", message, "set calibrate.site = \"GLU 2\""));
        }
    };
    let refused = |e: lambda::site::SiteError| config.error_at("calibrate.site", e.to_string(), "");
    let mut residue: lambda::site::SiteRequest = request.residue.parse().map_err(refused)?;
    residue.entry = request.entry.clone().or(residue.entry);
    let library = crate::titration::library(config)?;
    let (topology, _) = crate::system::read(config)?;
    let found = lambda::find_sites(&topology, &library, Selection::Residues(&[residue])).map_err(refused)?;
    let Site { name, entry, .. } = &found[0];
    let known = library.entries.into_iter().find(|known| known.name == *entry);
    let known = known.ok_or_else(|| config.error_at("calibrate.site", format!("the library has no {entry}"), ""))?;
    Ok((Target::Site(Box::new(request), name.clone()), known))
}

/// The buffer of the job, alone.
fn buffer(config: &Config) -> Result<(Target, Entry)> {
    let titration = config.titration.as_ref();
    let Some(buffer) = titration.and_then(|titration| titration.buffer.as_ref()) else {
        let help = "add a section [titration.buffer]";
        return Err(config.error_at("calibrate.site", "the job has no buffer", help));
    };
    if titration.is_some_and(|titration| !titration.sites.is_empty()) {
        let help = "remove [[titration.site]]";
        return Err(config.error_at("calibrate.site", "the buffer is calibrated alone, and the job has sites", help));
    }
    let library = crate::titration::library(config)?;
    let fits = |entry: &Entry| entry.kind == EntryKind::Buffer && entry.residues.contains(&buffer.residue);
    let found = library.entries.into_iter().find(fits);
    let missing = || format!("the library has no buffer made of {}", buffer.residue);
    found
        .map(|entry| (Target::Buffer, entry))
        .ok_or_else(|| config.error_at("titration.buffer.residue", missing(), "name another residue"))
}

/// What all runs have in common: as many buffer molecules, whatever their correction is worth.
fn base(config: &Config) -> Config {
    let mut job = config.clone();
    job.calibrate = None;
    if let Some(titration) = &mut job.titration {
        titration.allow_uncalibrated = true;
        if let Some(buffer) = &mut titration.buffer
            && buffer.molecules == Jobs::Auto
        {
            buffer.molecules = Jobs::Count(BUFFERS);
        }
    }
    job
}

/// Where free run `run` starts: half of the weight is that of one form, the rest is shared by all.
fn start(forms: usize, run: usize) -> Start {
    let share = 0.5 / forms as f64;
    let weight = |form: usize| if form == run % forms { share + 0.5 } else { share };
    if forms == 2 { Start::Lambda(weight(1)) } else { Start::Weights((0..forms).map(weight).collect()) }
}

/// The run of one window.
fn window(config: &Config, target: &Target, weights: &[f64], index: u64) -> Child {
    let mut job = base(config);
    if let Some(titration) = &mut job.titration {
        match target {
            Target::Site(request, _) => {
                let fixed =
                    if let [_, lambda] = weights { Start::Lambda(*lambda) } else { Start::Weights(weights.to_vec()) };
                let held = SiteRequest { initial: None, coordinate: None, barrier: None, ..(**request).clone() };
                titration.sites = vec![SiteRequest { fixed: Some(fixed), ..held }];
            }
            Target::Buffer => titration.buffer.iter_mut().for_each(|buffer| buffer.fixed = Some(weights[1])),
        }
    }
    job.dynamics.seed = children::seed(config.dynamics.seed, index);
    let label = label(weights);
    job.output.folder = config.folder().join(format!("lambda_{label}"));
    Child { name: format!("λ = {}", label.replace('_', " ")), config: job }
}

/// `0.50` for two forms, `0.25_0.50_0.25` for more.
fn label(weights: &[f64]) -> String {
    let number = |weight: f64| {
        let short = (weight * 100.0).round() / 100.0 == weight;
        if short { format!("{weight:.2}") } else { format!("{weight}") }
    };
    match weights {
        [_, lambda] => number(*lambda),
        _ => weights.iter().map(|&weight| number(weight)).collect::<Vec<_>>().join("_"),
    }
}

#[cfg(test)]
mod tests;
