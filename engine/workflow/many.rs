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

/// A job of many runs.
pub trait Many {
    /// Its runs.
    fn batch(&self) -> &Batch;

    /// What it is and how many runs it has, `calibration: 13 windows`.
    fn title(&self) -> String;

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

    /// Folders, jobs and a Slurm array script that runs them.
    ///
    /// # Errors
    /// [`crate::error::Error::File`].
    pub fn slurm(&self, executable: &Path, device: Choice) -> Result<String> {
        let folder = self.config.folder();
        let _lock = lock(folder)?;
        self.config.save(&folder.join(RESOLVED))?;
        let again = format!("{} {} {}", executable.display(), self.command, self.config.path().display());
        children::slurm(executable, &self.children, folder, self.command, &again, device)
    }
}

/// Runs what is not finished, then evaluates and writes the results; false if asked to stop before the end.
///
/// # Errors
/// Those of the runs and of the files.
pub fn run(job: &dyn Many, executable: &Path, place: &Chosen, stop: &Stop) -> Result<bool> {
    let batch = job.batch();
    let (config, runs) = (&batch.config, batch.children.len());
    let folder = config.folder();
    let _lock = lock(folder)?;
    config.save(&folder.join(RESOLVED))?;
    let mut log = Log::open(&folder.join(files::LOG), false)?;
    let (share, runner, host): (_, Box<dyn Runner>, _) = match &place.device {
        Some(device) => {
            let share = Share::of_gpu(batch.jobs, runs);
            (share, Box::new(Threads::new(device, share.jobs)), String::new())
        }
        None => {
            let share = Share::of_cores(batch.jobs, runs);
            let threads = share.threads;
            let processes = Processes { executable: executable.to_path_buf(), threads };
            (share, Box::new(processes), format!(", threads of each: {threads}"))
        }
    };
    let length = config.steps() as f64 * config.dynamics.time_step.get();
    log.line(&format!("device: {place}"))?;
    log.line(&format!("{} of {length} ps, {} at once{host}", job.title(), share.jobs))?;
    let started = Instant::now();
    if !children::run_all(&*runner, &batch.children, share.jobs, &mut log, stop)? {
        log.line("the same command continues")?;
        return Ok(false);
    }
    let table = job.conclude()?;
    let time = duration(started.elapsed().as_secs_f64());
    log.line(&format!("all {} are finished ({time} in this call)", batch.noun))?;
    log.line(&format!("\n{table}"))?;
    Ok(true)
}
