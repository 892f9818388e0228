//! Jobs of many runs: what titrations and calibrations have in common.

use super::children::{self, Child, Processes, Runner, Share, Threads};
use super::run::lock;
use crate::config::{Config, Jobs, RESOLVED};
use crate::device::{Choice, Chosen};
use crate::error::Result;
use crate::output::files;
use crate::output::progress::{Log, duration};
use crate::signals::Stop;
use std::path::Path;
use std::time::Instant;

/// The runs of a job.
#[derive(Debug)]
pub struct Batch {
    /// The job.
    pub config: Config,
    /// Its runs, one at least.
    pub children: Vec<Child>,
    /// How many at once.
    pub jobs: Jobs,
    /// What they are called, `runs`.
    pub noun: &'static str,
    /// The command of the program, `titrate`.
    pub command: &'static str,
}

/// Runs that follow others.
#[derive(Debug)]
pub struct Stage {
    /// What they are, for the log.
    pub title: String,
    /// The runs, one at least.
    pub children: Vec<Child>,
}

/// A job of many runs.
pub trait Many {
    /// Its runs.
    fn batch(&self) -> &Batch;

    /// What it is and how many runs it has, `calibration: 13 windows`.
    fn title(&self) -> String;

    /// The runs of stage `number`, from 1, planned from the results of all before; `None`: nothing more is to be run.
    ///
    /// # Errors
    /// Results that are missing or damaged; those of the files.
    fn stage(&self, number: usize) -> Result<Option<Stage>> {
        let _ = number;
        Ok(None)
    }

    /// Evaluates the finished runs and writes the results; the table that ends the log.
    ///
    /// # Errors
    /// Tables of the runs that are missing or damaged; those of the files.
    fn conclude(&self) -> Result<String>;
}

impl Batch {
    /// The job of the first run.
    pub fn first(&self) -> &Config {
        &self.children[0].config
    }
}

/// Folders, jobs and a Slurm array script that runs them: those of the first stage that is not finished.
///
/// # Errors
/// [`crate::error::Error::File`].
pub fn slurm(job: &dyn Many, executable: &Path, device: Choice) -> Result<String> {
    let batch = job.batch();
    let folder = batch.config.folder();
    let _lock = lock(folder)?;
    batch.config.save(&folder.join(RESOLVED))?;
    let again = format!("{} {} {}", executable.display(), batch.command, batch.config.path().display());
    let script = |children: &[Child]| children::slurm(executable, children, folder, batch.command, &again, device);
    let finished = |children: &[Child]| -> Result<bool> {
        children.iter().try_fold(true, |all, child| Ok(all && child.finished()?))
    };
    let mut number = 0;
    let mut last = None;
    while finished(last.as_ref().map_or(&batch.children[..], |stage: &Stage| &stage.children))? {
        number += 1;
        match job.stage(number)? {
            Some(next) => last = Some(next),
            None => break,
        }
    }
    script(last.as_ref().map_or(&batch.children[..], |stage| &stage.children))
}

/// Runs these at once, each as the device wants it: false if asked to stop.
fn run_stage(
    batch: &Batch,
    children: &[Child],
    title: &str,
    (executable, place): (&Path, &Chosen),
    log: &mut Log,
    stop: &Stop,
) -> Result<bool> {
    let (share, runner, host): (_, Box<dyn Runner>, _) = match &place.device {
        Some(device) => {
            let share = Share::of_gpu(batch.jobs, children.len());
            (share, Box::new(Threads::new(device, share.jobs)), String::new())
        }
        None => {
            let share = Share::of_cores(batch.jobs, children.len());
            let threads = share.threads;
            let processes = Processes { executable: executable.to_path_buf(), threads };
            (share, Box::new(processes), format!(", threads of each: {threads}"))
        }
    };
    log.line(&format!("{title}, {} at once{host}", share.jobs))?;
    children::run_all(&*runner, children, share.jobs, log, stop)
}

/// Runs what is not finished, then evaluates and writes the results; false if asked to stop before the end.
///
/// # Errors
/// Those of the runs and of the files.
pub fn run(job: &dyn Many, executable: &Path, place: &Chosen, stop: &Stop) -> Result<bool> {
    let batch = job.batch();
    let config = &batch.config;
    let folder = config.folder();
    let _lock = lock(folder)?;
    config.save(&folder.join(RESOLVED))?;
    let mut log = Log::open(&folder.join(files::LOG), false)?;
    let length = config.steps() as f64 * config.dynamics.time_step.get();
    log.line(&format!("device: {place}"))?;
    let started = Instant::now();
    let title = format!("{} of {length} ps", job.title());
    let mut go = |children: &[Child], title: &str| -> Result<bool> {
        let done = run_stage(batch, children, title, (executable, place), &mut log, stop)?;
        if !done {
            log.line("the same command continues")?;
        }
        Ok(done)
    };
    if !go(&batch.children, &title)? {
        return Ok(false);
    }
    for number in 1.. {
        let Some(stage) = job.stage(number)? else { break };
        if !go(&stage.children, &stage.title)? {
            return Ok(false);
        }
    }
    let table = job.conclude()?;
    let time = duration(started.elapsed().as_secs_f64());
    log.line(&format!("all {} are finished ({time} in this call)", batch.noun))?;
    log.line(&format!("\n{table}"))?;
    Ok(true)
}
