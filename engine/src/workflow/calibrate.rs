//! `calibrate`: the free energy of a model compound over the weights of its forms, whose negative is V_MM.
//!
//! First windows of fixed weights along the edges of the simplex and inside it, each a run of its own in `lambda_0.50`
//! ([`super::children`]): ⟨∂V/∂λ_α⟩ with errors, least squares. Each is run again, in `start_2/lambda_0.50`, from another structure: the end of a run
//! at other weights, one that the job names, or one of those where the runs before all windows ended that look for conformations. Then rounds of free runs with that V_MM, no barrier and every form equally
//! likely (pH = pK), in `round_1/run_1`, …: where they are not flat the free energy is corrected, until they are flat and the free energy is known, both within
//! `calibrate.tolerance`. Which runs follow is worked out from the finished ones alone, so that the same command continues at any point.
//!
//! The buffer (`calibrate.site = "buffer"`) is a site of two forms; what is stored belongs to one of its molecules.
//!
//! The result is an entry of the library, the present one with its correction replaced: name it in `titration.library` of a job to use it.

mod runs;
mod target;

use super::children::Child;
use super::folder::Kind;
use super::many::{Batch, Many, Stage, all_finished};
use crate::atomic::write_atomic;
use crate::config::{Config, Jobs};
use crate::error::{Error, InputError, Result};
use crate::evaluation::calibration::{Estimate, Inputs, RoundRuns, WindowRuns};
use crate::output::series::LambdaSeries;
use crate::output::{files, parquet, sites};
use crate::report;
use lambda::analysis::simplex_fit;
use lambda::analysis::symmetry::Symmetry;
use runs::Round;
use std::ops::Range;
use target::Target;

/// A calibration as planned.
#[derive(Debug)]
pub struct CalibrationPlan {
    target: Target,
    /// Forms that are the same chemically.
    symmetry: Symmetry,
    windows: Vec<Vec<f64>>,
    /// Runs of the windows, by start and window.
    runs: Vec<Vec<Child>>,
    /// Starts of the windows that are run after the first runs of the job, one range after the other.
    later: Vec<Range<usize>>,
    batch: Batch,
}

impl Many for CalibrationPlan {
    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn title(&self) -> String {
        let said = if self.conformers() == 0 { self.said_of(self.first_starts()) } else { self.said() };
        format!("calibration: {said}")
    }

    fn stage(&self, number: usize) -> Result<Option<Stage>> {
        if let Some(starts) = self.later.get(number - 1) {
            let children = self.runs[starts.clone()].iter().flatten().cloned().collect();
            let said = self.said_of(starts.clone());
            let title = if starts.len() == 1 { format!("start {} of {said}", starts.end) } else { said };
            return Ok(Some(Stage { title, children }));
        }
        let number = number - self.later.len();
        let inputs = self.inputs(number - 1);
        let estimate = Estimate::new(&inputs)?;
        let before = estimate.unsettled(&inputs);
        if before.is_none() || number > self.max_rounds() {
            return Ok(None);
        }
        let round = self.round(number);
        let path = round.library();
        if !path.exists() {
            let (text, _) = estimate.entry(&inputs)?;
            let folder = round.folder();
            std::fs::create_dir_all(&folder).map_err(|e| Error::file(&folder, "make the folder of a round", e))?;
            write_atomic(&path, "write", text.as_bytes())?;
        }
        let children = round.children();
        let state = before.filter(|_| number > 1).map_or(String::new(), |why| format!("{why}; "));
        let title = format!("{state}round {number}: {} free runs of {} ps", children.len(), round.length());
        Ok(Some(Stage { title, children }))
    }

    fn conclude(&self) -> Result<String> {
        let mut done = 0;
        while done < self.max_rounds() && self.is_done(done + 1)? {
            done += 1;
        }
        let (inputs, config) = (self.inputs(done), &self.batch.config);
        let estimate = Estimate::new(&inputs)?;
        self.write_parquet(&inputs, &estimate)?;
        let calibration = estimate.conclude(&inputs)?;
        report::calibration::write(&calibration, config)
    }
}

impl CalibrationPlan {
    /// Plans the windows of a job; `jobs`, if given, is how many go on at once instead of what the job says.
    ///
    /// # Errors
    /// [`Error::Input`] if the job has no section `[calibrate]`, names no single site, or the library does not know it.
    pub fn new(config: Config, jobs: Option<u32>) -> Result<Self> {
        let Some(calibrate) = &config.calibrate else {
            let start = if config.titrate.is_some() { "titrate" } else { "run" };
            let help = format!(
                "octitrate {start} {} starts it as it is; or add a section, for example [calibrate] windows = {{ min = -0.1, max = 1.1, step = 0.1 }}",
                config.path().display()
            );
            return Err(InputError::new("the job has no section [calibrate]", help).in_file(config.path()).into());
        };
        let jobs = jobs.map_or(calibrate.jobs, Jobs::Number);
        let target = Target::find(&config)?;
        Ok(Self::of(config, target, jobs))
    }

    /// Plans the windows of a target.
    fn of(config: Config, target: Target, jobs: Jobs) -> Self {
        let n_forms = target.entry.forms.len();
        let calibrate = config.calibrate.as_ref();
        let symmetric = calibrate.is_none_or(|calibrate| calibrate.symmetric);
        let pairs = if symmetric { target.entry.equivalent_forms() } else { Vec::new() };
        let symmetry = Symmetry::new(n_forms, &pairs);
        let windows = calibrate.map_or(Vec::new(), |calibrate| {
            simplex_fit::windows(n_forms, &calibrate.windows.to_vec(), calibrate.interior as usize)
        });
        let windows = symmetry.distinct(windows);
        let runs = runs::windows(&config, &target, &windows);
        let conformers = runs::conformers(&config, &target);
        // Runs that begin at structures of the job, or where those end that look for conformations, wait for no other windows.
        let named = calibrate.is_some_and(|calibrate| !calibrate.structures.is_empty());
        let at_once = |first: usize| (first..runs.len()).map(|start| start..start + 1).collect::<Vec<_>>();
        let (children, later) = match (conformers.is_empty(), named) {
            (false, _) => (conformers, std::iter::once(0..runs.len()).collect()),
            (true, true) => (runs.concat(), Vec::new()),
            (true, false) => (runs[0].clone(), at_once(1)),
        };
        let kind = Kind::Calibration;
        let batch = Batch { config, children, jobs, noun: "windows", command: "calibrate", kind, staged: true };
        Self { target, symmetry, windows, runs, later, batch }
    }

    /// The runs of a window, by start.
    fn runs(&self, window: usize) -> impl Iterator<Item = &Child> {
        self.runs.iter().map(move |all| &all[window])
    }

    fn conformers(&self) -> usize {
        self.batch.config.calibrate.as_ref().map_or(0, |calibrate| calibrate.conformers as usize)
    }

    /// Starts of the windows that are among the first runs of the job.
    fn first_starts(&self) -> Range<usize> {
        0..self.later.first().map_or(self.runs.len(), |later| later.start)
    }

    /// The runs of these starts in words.
    fn said_of(&self, starts: Range<usize>) -> String {
        let (windows, length) = (self.windows.len(), self.batch.config.length());
        match starts.len() {
            1 => format!("{windows} windows of {length} ps"),
            count => format!("{windows} windows of {length} ps, {} runs", count * windows),
        }
    }

    /// All runs but free ones, in words.
    pub fn said(&self) -> String {
        let (windows, time) = (self.said_of(0..self.runs.len()), runs::conformer_time(&self.batch.config));
        match self.conformers() {
            0 => windows,
            1 => format!("a run of {time} ps that looks for conformations, then {windows}"),
            count => format!("{count} runs of {time} ps that look for conformations, then {windows}"),
        }
    }

    /// Steps of all runs but free ones, of each kind: how many runs, and how long each.
    pub fn steps(&self) -> Vec<(usize, u64)> {
        let config = &self.batch.config;
        let windows = |starts: Range<usize>| (starts.len() * self.windows.len(), config.steps());
        let first = self.batch.children.first().map_or(0, |child| child.config.steps());
        let later = self.later.iter().cloned().map(windows);
        [(self.batch.children.len(), first)].into_iter().chain(later).collect()
    }

    /// The results of the windows and of the first `rounds` rounds.
    fn inputs(&self, rounds: usize) -> Inputs<'_> {
        let folders = |window: usize| self.runs(window).map(|child| child.config.folder()).collect();
        let windows = self.windows.iter().enumerate();
        let rounds = (1..=rounds).map(|number| self.round(number)).map(|round| RoundRuns {
            library: round.library(),
            folders: round.children().iter().map(|child| child.config.folder().to_path_buf()).collect(),
        });
        Inputs {
            config: &self.batch.config,
            site: self.target.site_name(),
            entry: &self.target.entry,
            elsewhere: self.target.elsewhere.as_deref(),
            symmetry: &self.symmetry,
            windows: windows.map(|(k, weights)| WindowRuns { weights, folders: folders(k) }).collect(),
            rounds: rounds.collect(),
        }
    }

    /// Writes ∂V/∂λ of the windows for alchemlyb: each beside its `lambda.csv`, and all of them together in the folder of the calibration;
    /// equilibration is left out, as in the fit.
    fn write_parquet(&self, inputs: &Inputs, estimate: &Estimate) -> Result<()> {
        let mut windows = Vec::new();
        let folders = inputs.windows.iter().flat_map(|window| &window.folders);
        for (folder, run) in folders.zip(estimate.windows.iter().flat_map(|window| &window.runs)) {
            let start = inputs.equilibration() + run.settling;
            let series = LambdaSeries::read(&folder.join(files::LAMBDA))?.after(start);
            parquet::write(folder, &series, &sites::read(&folder.join(files::SITES))?)?;
            windows.push(series);
        }
        parquet::write_windows(self.batch.config.folder(), &windows, inputs.temperature())
    }

    fn max_rounds(&self) -> usize {
        self.batch.config.calibrate.as_ref().map_or(0, |calibrate| calibrate.max_rounds as usize)
    }

    fn round(&self, number: usize) -> Round<'_> {
        Round { config: &self.batch.config, target: &self.target, number }
    }

    /// Whether all runs of a round are finished.
    fn is_done(&self, number: usize) -> Result<bool> {
        let round = self.round(number);
        Ok(round.library().exists() && all_finished(&round.children())?)
    }
}

#[cfg(test)]
mod tests;
