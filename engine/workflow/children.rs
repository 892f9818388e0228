//! Many runs of one job: each in a folder of its own, as a child process of this same program.
//!
//! A child holds a pipe from its parent as standard input and leaves with a checkpoint when it ends. Closing the pipe is
//! how the parent stops its children, and a parent that is killed stops them all the same. Finished runs are not started
//! again; the others continue from their checkpoints, or start.

use crate::checkpoint::Checkpoint;
use crate::config::{Config, Jobs};
use crate::error::{Error, InputError, Result};
use crate::output::files;
use crate::output::progress::{Log, duration};
use crate::signals::Stop;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Job file of a child, in its folder.
pub const JOB: &str = "run.toml";
/// What a child said on standard error.
const COMPLAINTS: &str = "errors.txt";

/// One run of many.
#[derive(Debug)]
pub struct Child {
    /// Name in messages, `pH 4.00, replica 2`.
    pub name: String,
    /// Its job; `config.folder()` is its own folder.
    pub config: Config,
}

impl Child {
    /// Whether all its steps are done and its results are complete.
    ///
    /// # Errors
    /// If it has checkpoints and none of them is good.
    pub fn finished(&self) -> Result<bool> {
        let folder = self.config.folder();
        let done = Checkpoint::load(folder)?.is_some_and(|(found, _)| found.state.step >= self.config.steps());
        Ok(done && folder.join(files::FINAL).exists())
    }

    /// Writes its folder and its job file.
    fn write(&self) -> Result<PathBuf> {
        let folder = self.config.folder();
        std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of a run", e))?;
        let job = folder.join(JOB);
        self.config.save(&job)?;
        Ok(job)
    }

    /// Time simulated so far (ps), from the last whole line of its `lambda.csv`.
    fn time(&self) -> f64 {
        last_time(&self.config.result(files::LAMBDA)).unwrap_or(0.0)
    }

    fn length(&self) -> f64 {
        self.config.steps() as f64 * self.config.dynamics.time_step.get()
    }
}

/// First column of the last whole line of a table.
fn last_time(path: &Path) -> Option<f64> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(4096))).ok()?;
    let mut tail = String::new();
    file.read_to_string(&mut tail).ok()?;
    let (whole, _) = tail.rsplit_once('\n')?;
    whole.lines().last()?.split(',').next()?.parse().ok()
}

/// How many children run at once, and with how many threads each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Children at once.
    pub jobs: usize,
    /// Threads of each.
    pub threads: usize,
}

impl Share {
    /// All cores (or the threads asked for on the command line) for this many runs: one run per core while there are
    /// enough, else several cores per run.
    pub fn new(jobs: Jobs, runs: usize) -> Share {
        let cores = rayon::current_num_threads();
        let jobs = match jobs {
            Jobs::Auto => cores,
            Jobs::Count(count) => count as usize,
        };
        let jobs = jobs.min(runs).max(1);
        Share { jobs, threads: (cores / jobs).max(1) }
    }
}

/// A child that runs; dropping it closes its pipe and waits for its checkpoint.
struct Running<'a> {
    child: &'a Child,
    process: std::process::Child,
    first: f64,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        // The child leaves by itself; its status was asked for before where it matters.
        let _ = self.process.wait();
    }
}

/// Runs all children that are not finished, at most `share.jobs` at once.
///
/// True if all are finished; false if asked to stop, then every child has written its checkpoint.
///
/// # Errors
/// The first child that fails: its own message, and the others are stopped with checkpoints.
pub fn run_all(executable: &Path, children: &[Child], share: Share, log: &mut Log, stop: &Stop) -> Result<bool> {
    let mut waiting = Vec::new();
    for child in children {
        if !child.finished()? {
            waiting.push(child);
        }
    }
    let done = children.len() - waiting.len();
    if done > 0 && !waiting.is_empty() {
        log.line(&format!("{done} of {} runs were finished before", children.len()))?;
    }
    waiting.reverse();
    let mut running: Vec<Running> = Vec::new();
    let mut watch = Watch { started: Instant::now(), shown: None, simulated: 0.0 };
    while !(waiting.is_empty() && running.is_empty()) {
        if stop.requested() {
            log.settle();
            log.line(&format!("{}: {} runs write their checkpoints", stop.reason(), running.len()))?;
            running.iter_mut().for_each(|run| drop(run.process.stdin.take()));
            return Ok(false);
        }
        while running.len() < share.jobs
            && let Some(child) = waiting.pop()
        {
            running.push(start(executable, child, share.threads)?);
        }
        let mut index = 0;
        while index < running.len() {
            let run = &mut running[index];
            let status = run.process.try_wait().map_err(|e| Error::file(executable, "wait for a run", e))?;
            match status {
                None => index += 1,
                Some(status) => {
                    watch.simulated += run.child.length() - run.first;
                    let ended = running.swap_remove(index);
                    judge(ended.child, status)?;
                }
            }
        }
        watch.show(log, children, &running, waiting.len());
        std::thread::sleep(Duration::from_millis(50));
    }
    log.settle();
    Ok(true)
}

fn start<'a>(executable: &Path, child: &'a Child, threads: usize) -> Result<Running<'a>> {
    let job = child.write()?;
    let complaints = child.config.result(COMPLAINTS);
    let file = File::create(&complaints).map_err(|e| Error::file(&complaints, "create", e))?;
    let mut command = Command::new(executable);
    command.args(["run", "--quiet", "--leash", "--threads", &threads.to_string()]).arg(&job);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(file);
    own_group(&mut command);
    let first = child.time();
    let process = command.spawn().map_err(|e| Error::file(executable, "start a run", e))?;
    Ok(Running { child, process, first })
}

/// A group of its own: Ctrl-C reaches the parent alone, which stops its children in order.
fn own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// A finished child, or its error in its own words.
fn judge(child: &Child, status: ExitStatus) -> Result<()> {
    let complaints = child.config.result(COMPLAINTS);
    if status.success() {
        // An empty file that stays is only untidy.
        let _ = std::fs::remove_file(&complaints);
        return Ok(());
    }
    let text = std::fs::read_to_string(&complaints).unwrap_or_default();
    let said = if text.trim().is_empty() { format!("it ended with {status}") } else { text.trim().to_string() };
    let message = format!("the run {} failed; the others keep their checkpoints\n\n  {said}", child.name);
    let help = "the same command continues when the cause is removed";
    if status.code() == Some(3) {
        let physics = crate::error::PhysicsError {
            term: child.name.clone(),
            message: format!("failed; the others keep their checkpoints\n\n  {said}"),
            ..Default::default()
        };
        return Err(physics.into());
    }
    Err(InputError::new(message, help).in_file(child.config.folder()).into())
}

/// Progress of all children together.
struct Watch {
    started: Instant,
    shown: Option<Instant>,
    /// Time simulated by children that ended since the start (ps).
    simulated: f64,
}

impl Watch {
    fn show(&mut self, log: &mut Log, children: &[Child], running: &[Running], waiting: usize) {
        let pause = if log.is_terminal() { Duration::from_millis(500) } else { Duration::from_secs(15) };
        if self.shown.get_or_insert(self.started).elapsed() < pause {
            return;
        }
        self.shown = Some(Instant::now());
        let total: f64 = children.iter().map(Child::length).sum();
        let now: Vec<f64> = running.iter().map(|run| run.child.time()).collect();
        let fresh: f64 = running.iter().zip(&now).map(|(run, time)| time - run.first).sum();
        let left: f64 = running.iter().zip(&now).map(|(run, time)| run.child.length() - time).sum::<f64>()
            + waiting as f64 * children.first().map_or(0.0, Child::length);
        let seconds = self.started.elapsed().as_secs_f64();
        let speed = (self.simulated + fresh) / seconds;
        let mut text = format!(
            "{:>5.1} %   {} of {} runs done, {} running",
            100.0 * (1.0 - left / total),
            children.len() - running.len() - waiting,
            children.len(),
            running.len()
        );
        if speed > 0.0 {
            text.push_str(&format!("   {:.2} ns/day in all   {} left", speed * 86.4, duration(left / speed)));
        }
        log.replace(&text);
    }
}

/// A Slurm array script that runs every child; writes their folders and jobs.
///
/// # Errors
/// [`Error::File`].
pub fn slurm(executable: &Path, children: &[Child], folder: &Path, name: &str, again: &str) -> Result<String> {
    let mut list = String::new();
    for child in children {
        let job = child.write()?;
        list.push_str(&format!("{}\n", job.display()));
    }
    let jobs = folder.join("jobs.txt");
    crate::output::write_atomic(&jobs, "write the list of jobs", list.as_bytes())?;
    Ok(format!(
        r#"#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=1-{count}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
#SBATCH --time=24:00:00
#SBATCH --output={folder}/slurm-%a.out
#SBATCH --signal=TERM@120
#SBATCH --requeue

# One run per task. A run that reaches the time limit writes its checkpoint: submit this script again to continue it.
# When all are done, evaluate them with:  {again}
job=$(sed -n "${{SLURM_ARRAY_TASK_ID}}p" {list})
exec {executable} run --quiet --threads "$SLURM_CPUS_PER_TASK" "$job"
"#,
        count = children.len(),
        folder = quoted(folder),
        list = quoted(&jobs),
        executable = quoted(executable),
    ))
}

/// A path as one word of the shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// A seed for run `index`, far from those of other runs and other jobs (SplitMix64; Steele 2014, 10.1145/2660193.2660195).
pub fn seed(base: u64, index: u64) -> u64 {
    let mut z = base
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // TOML has signed integers; 32 bits are enough to keep streams apart and short enough to read.
    (z ^ (z >> 31)) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ() {
        let mut seeds: Vec<u64> = (0..20).flat_map(|base| (0..50).map(move |index| seed(base, index))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1000);
    }

    #[test]
    fn time_of_a_growing_table_is_that_of_its_last_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lambda.csv");
        assert_eq!(last_time(&path), None);
        std::fs::write(&path, "time (ps),lambda A\n").unwrap();
        assert_eq!(last_time(&path), None);
        std::fs::write(&path, "time (ps),lambda A\n0.5,0.1\n1.5,0.2\n2.").unwrap();
        assert_eq!(last_time(&path), Some(1.5));
    }

    #[test]
    fn all_cores_are_shared() {
        let cores = rayon::current_num_threads();
        assert_eq!(Share::new(Jobs::Auto, 1), Share { jobs: 1, threads: cores });
        assert_eq!(Share::new(Jobs::Auto, 10 * cores), Share { jobs: cores, threads: 1 });
        assert_eq!(Share::new(Jobs::Count(3), 2).jobs, 2);
    }

    #[test]
    fn paths_are_quoted_for_the_shell() {
        assert_eq!(quoted(Path::new("/a/b-1.toml")), "/a/b-1.toml");
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
