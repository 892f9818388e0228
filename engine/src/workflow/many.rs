//! Jobs of many runs: what titrations and calibrations have in common.

use super::children::{self, Child, Concurrency, Processes, Queue, Runner, TaskArray, Threads};
use super::folder::{Folder, JOB, Kind};
use crate::backend::choice::Chosen;
use crate::checkpoint::Identity;
use crate::config::{Config, Jobs, RESOLVED};
use crate::error::{Error, InputError, Result};
use crate::evaluation::job::Job;
use crate::output::progress::{Log, duration};
use crate::record::Description;
use crate::signals::Stop;
use std::path::Path;
use std::time::Instant;

/// The runs of a job.
#[derive(Debug)]
pub struct Batch {
    /// The job.
    pub config: Config,
    /// Its first runs, one at least.
    pub children: Vec<Child>,
    /// How many of them go on at once.
    pub jobs: Jobs,
    /// What messages call them: `runs`, `windows`.
    pub noun: &'static str,
    /// The command of the program that makes them: `titrate`.
    pub command: &'static str,
    /// What its folder is marked as.
    pub kind: Kind,
    /// Whether other runs may come after these.
    pub staged: bool,
}

/// Runs that follow others and are planned from their results.
#[derive(Debug)]
pub struct Stage {
    /// What they are, for the log.
    pub title: String,
    /// The runs, one at least.
    pub children: Vec<Child>,
}

/// A job of many runs.
pub trait Many {
    /// The job and its first runs.
    fn batch(&self) -> &Batch;

    /// What it is, how many runs it has and how long they are, `calibration: 13 windows of 400 ps`.
    fn title(&self) -> String;

    /// Refuses what the job says of sites that its system, as described, does not have.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] at the key.
    fn check_sites(&self, system: &Description) -> Result<()> {
        let _ = system;
        Ok(())
    }

    /// The runs of stage `number`, from 1, planned from the results of all before; `None`: nothing more is to be run.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if results are missing or damaged, [`crate::error::Error::File`] if a file cannot be written.
    fn stage(&self, number: usize) -> Result<Option<Stage>> {
        let _ = number;
        Ok(None)
    }

    /// Evaluates the finished runs, writes the results, and gives the table that ends the log.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if tables of the runs are missing or damaged, [`crate::error::Error::File`] if a result cannot be written.
    fn conclude(&self) -> Result<String>;
}

impl Batch {
    /// Refuses results of another job in the folders of the first runs. `identity` is that of the first of them.
    ///
    /// # Errors
    /// [`Error::Input`] that names a difference.
    pub fn check_first_runs(&self, identity: &Identity) -> Result<()> {
        self.check(&self.children, identity)
    }

    /// The same of these runs.
    fn check(&self, children: &[Child], identity: &Identity) -> Result<()> {
        let first = &self.first().system;
        let checked = children.iter().try_for_each(|child| {
            let another_start = child.config.system != *first;
            child.check(identity, self.kind == Kind::Calibration, another_start)
        });
        // Seeds of runs follow from that of the job and say nothing to anybody.
        checked.map_err(|refused| self.another_seed().unwrap_or(refused))
    }

    /// That the results in the folder are of another seed, if they are.
    fn another_seed(&self) -> Option<Error> {
        let before = Job::read(&self.config.result(RESOLVED)).value("dynamics", "seed")?;
        let (now, folder) = (self.config.dynamics.seed.to_string(), self.config.folder().display());
        let help = format!(
            "seed = {before} goes on with them; to begin others with seed {now} choose another output.folder, or --force to move this one aside"
        );
        let message = format!("the {} in {folder} have seed {before}, the job has {now}", self.noun);
        (before != now).then(|| self.config.error_at("dynamics.seed", message, help))
    }

    /// The job of the first run.
    pub fn first(&self) -> &Config {
        &self.children[0].config
    }
}

/// Where runs are computed.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// This program, which starts itself for every run on the CPU.
    pub executable: &'a Path,
    /// The device, or the CPU.
    pub place: &'a Chosen,
    /// What a checkpoint says of the first run of the job.
    pub identity: &'a Identity,
    /// The system of the first run, for the log.
    pub description: &'a Description,
    /// Whether nothing but errors is shown on the screen.
    pub quiet: bool,
}

/// Writes folders and jobs, and a script that runs them as tasks of a queue: those of the first stage that is not finished.
///
/// # Errors
/// [`crate::error::Error::Input`] if the folder is not the job's own, if another program is at work there, or if nothing is left to run;
/// [`crate::error::Error::File`] if it cannot be written; as [`Many::stage`].
pub fn queued(job: &dyn Many, queue: &Queue, identity: &Identity) -> Result<String> {
    let batch = job.batch();
    let folder = batch.config.folder();
    let _held = Folder::claim(folder, batch.kind)?;
    batch.check_first_runs(identity)?;
    let mut last: Option<Stage> = None;
    for number in 1.. {
        let children = last.as_ref().map_or(&batch.children[..], |stage| &stage.children);
        if !all_finished(children)? {
            break;
        }
        let Some(next) = job.stage(number)? else {
            let help = format!("evaluate them with: {}", queue.again);
            return Err(InputError::new("all runs are finished: nothing is left to be submitted", help)
                .in_file(folder)
                .into());
        };
        batch.check(&next.children, identity)?;
        last = Some(next);
    }
    batch.config.save(&folder.join(RESOLVED))?;
    let children = last.as_ref().map_or(&batch.children[..], |stage| &stage.children);
    let mut unfinished = Vec::new();
    for child in children {
        if !child.finished()? {
            unfinished.push(child);
        }
    }
    let atoms = identity.charges.len();
    let length = unfinished.iter().map(|child| child.config.length()).fold(0.0, f64::max);
    TaskArray { children: &unfinished, folder, name: batch.command, length, staged: batch.staged, atoms, queue }
        .script()
}

/// Whether all these runs are finished.
///
/// # Errors
/// As [`Child::finished`].
pub fn all_finished(children: &[Child]) -> Result<bool> {
    children.iter().try_fold(true, |all, child| Ok(all && child.finished()?))
}

/// Runs what is not finished, then evaluates and writes the results; false if asked to stop before the end.
///
/// # Errors
/// [`crate::error::Error::Input`] if another program is at work in the folder; the error of the first run that fails; as [`Many::stage`] and
/// [`Many::conclude`].
pub fn run(job: &dyn Many, host: &Host, stop: &Stop) -> Result<bool> {
    let batch = job.batch();
    let held = Folder::claim(batch.config.folder(), batch.kind)?;
    batch.check_first_runs(host.identity)?;
    job.check_sites(host.description)?;
    let mut log = held.open_log(&batch.config, host.quiet)?;
    log.line(&format!("device: {}", host.place))?;
    log.describe(host.description)?;
    let started = Instant::now();
    if !run_stage(batch, &batch.children, &job.title(), host, &mut log, stop)? {
        return Ok(false);
    }
    for number in 1.. {
        let Some(stage) = job.stage(number)? else { break };
        batch.check(&stage.children, host.identity)?;
        if !run_stage(batch, &stage.children, &stage.title, host, &mut log, stop)? {
            return Ok(false);
        }
    }
    let table = job.conclude()?;
    let time = duration(started.elapsed().as_secs_f64());
    log.line(&format!("all {} are finished ({time} in this call)", batch.noun))?;
    log.line(&format!("\n{table}"))?;
    Ok(true)
}

/// Runs these, as many at once as the device wants; false if asked to stop.
fn run_stage(batch: &Batch, children: &[Child], title: &str, host: &Host, log: &mut Log, stop: &Stop) -> Result<bool> {
    let (share, runner) = crew(batch.jobs, children.len(), host.executable, host.place);
    let threads = match host.place.device {
        Some(_) => String::new(),
        None => format!(", threads of each: {}", share.threads),
    };
    log.line(&format!("{title}, {} at once{threads}", share.runs))?;
    children.iter().try_for_each(Child::keep_start)?;
    let done = children::run_all(&*runner, children, share.runs, log, stop)?;
    if !done {
        log.line("the same command continues")?;
    }
    Ok(done)
}

/// How many of so many runs go on at once, and what starts them: threads on the devices of `place`, processes on the CPU.
fn crew(jobs: Jobs, runs: usize, executable: &Path, place: &Chosen) -> (Concurrency, Box<dyn Runner>) {
    match &place.devices()[..] {
        [] => {
            let share = Concurrency::of_cores(jobs, runs);
            let processes = Processes { executable: executable.to_path_buf(), threads: share.threads };
            (share, Box::new(processes))
        }
        devices => {
            let share = Concurrency::of_gpus(jobs, runs, devices.len());
            (share, Box::new(Threads::new(devices, share.runs)))
        }
    }
}

/// Whether a titration or a calibration has made this job: `run.toml` in the folder of its results.
pub fn is_made_by_many(job: &Config) -> bool {
    job.path() == job.folder().join(JOB)
}

/// Runs several jobs that a titration or a calibration has made (`run.toml` in the folder of each), as many at once as the device wants; false if asked
/// to stop before the end. Nothing is evaluated.
///
/// # Errors
/// [`crate::error::Error::Input`] for a job that is none of these; the error of the first run that fails.
pub fn bundle(jobs: Vec<Config>, executable: &Path, place: &Chosen, log: &mut Log, stop: &Stop) -> Result<bool> {
    let child = |config: Config| {
        let folder = config.folder();
        if !is_made_by_many(&config) {
            let help = "call octitrate run for these, and again for others, which go one after the other";
            let message = "jobs that go side by side are those that titrate or calibrate --slurm (or --hyperqueue) has made, run.toml in the folder of its results";
            return Err(InputError::new(message, help).in_file(config.path()).into());
        }
        let name = folder.display().to_string();
        Ok(Child::new(name, config))
    };
    let children = jobs.into_iter().map(child).collect::<Result<Vec<Child>>>()?;
    side_by_side(&children, executable, place, log, stop)
}

/// Runs these, as many at once as the device wants; false if asked to stop before the end.
///
/// # Errors
/// The error of the first run that fails.
pub fn side_by_side(children: &[Child], executable: &Path, place: &Chosen, log: &mut Log, stop: &Stop) -> Result<bool> {
    let (share, runner) = crew(Jobs::Auto, children.len(), executable, place);
    children::run_all(&*runner, children, share.runs, log, stop)
}
