//! Runs as the tasks of an array in somebody else's queue: one run for each task on the CPU, a bundle of runs side by side for each GPU.
//!
//! What a queue wants to be told is in [`super::slurm`] and [`super::hyperqueue`].

use super::child::Child;
use super::concurrency::ON_A_GPU;
use crate::atomic::write_atomic;
use crate::backend::choice::{Choice, Gpus};
use crate::config::Jobs;
use crate::error::Result;
use std::path::{Path, PathBuf};

/// Atoms, of all runs together, that a GPU has enough to do with; more runs make each other slower.
///
/// Atoms × ns/day in all, in millions, at 4 fs on an H200: 121 for one system of 39 464 atoms, 148 for 8 of 14 513, 204 for 12 of 27 477 (330 000 in all),
/// 243 for 12 of 39 464 (474 000); one of 985 527 makes 218 with the time of its steps of 2 fs.
const FULL: usize = 400_000;

/// Which queue the tasks are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// An array of Slurm.
    Slurm,
    /// An array of HyperQueue.
    HyperQueue,
}

/// How the tasks of an array are started, and what is to be done when they are over.
#[derive(Debug)]
pub struct Queue<'a> {
    /// Whose script is wanted.
    pub scheduler: Scheduler,
    /// This program.
    pub executable: &'a Path,
    /// The command that evaluates the runs when all are done, with every option that it was given.
    pub again: &'a str,
    /// The same on the device that a task has.
    pub within: &'a str,
    /// What computes in each task.
    pub device: Choice,
    /// Threads of each task.
    pub threads: u32,
    /// Runs at once on a GPU.
    pub jobs: Jobs,
    /// Hours after which a task writes its checkpoint and leaves, where they are limited.
    pub max_hours: Option<f64>,
}

/// Runs that are to be the tasks of an array.
#[derive(Debug)]
pub struct TaskArray<'a> {
    /// The runs.
    pub children: &'a [&'a Child],
    /// Folder of the job, for the list of runs and what they print.
    pub folder: &'a Path,
    /// Name of the array in the queue.
    pub name: &'a str,
    /// Length of each run (ps).
    pub length: f64,
    /// Whether other runs may come after these.
    pub staged: bool,
    /// Atoms of a run.
    pub atoms: usize,
    /// How they are started.
    pub queue: &'a Queue<'a>,
}

/// The runs as they are dealt out.
pub(super) struct Tasks {
    /// File with the jobs of all runs, one a line: task i has the lines whose number leaves the same remainder by `count` as i.
    pub(super) list: PathBuf,
    /// Number of tasks, from 1.
    pub(super) count: usize,
    /// Whether each has a GPU.
    pub(super) on_gpu: bool,
    /// What they are, in a sentence.
    pub(super) what: String,
}

impl TaskArray<'_> {
    /// Writes the folders and jobs of all runs; the script that starts them.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a folder, a job or the list of jobs cannot be written.
    pub fn script(&self) -> Result<String> {
        let tasks = self.write()?;
        Ok(match self.queue.scheduler {
            Scheduler::Slurm => self.slurm(&tasks),
            Scheduler::HyperQueue => self.hyperqueue(&tasks),
        })
    }

    fn write(&self) -> Result<Tasks> {
        let mut lines = String::new();
        for child in self.children {
            child.keep_start()?;
            let job = child.write()?;
            lines.push_str(&format!("{}\n", job.display()));
        }
        let list = self.folder.join("jobs.txt");
        write_atomic(&list, "write the list of jobs", lines.as_bytes())?;
        let runs = self.children.len();
        Ok(match self.queue.device {
            Choice::Cuda(gpus) => {
                let count = bundles(runs, self.queue.jobs, gpus, self.atoms);
                let most = runs.div_ceil(count.max(1));
                let what = match most {
                    1 => "One task per GPU, each with one run.".to_string(),
                    _ => format!("One task per GPU, each with a bundle of at most {most} runs side by side."),
                };
                Tasks { list, count, on_gpu: true, what }
            }
            _ => Tasks { list, count: runs, on_gpu: false, what: "One run per task.".to_string() },
        })
    }

    /// The device as a task names it, which sees its own GPU alone, with the number 0.
    pub(super) fn device(&self) -> Choice {
        match self.queue.device {
            Choice::Cuda(_) => Choice::Cuda(Gpus::one(0)),
            other => other,
        }
    }
}

/// Number of tasks for so many runs of so many atoms: one for each GPU that was named, and more if they would get more runs than a GPU has enough to do with.
fn bundles(runs: usize, at_once: Jobs, gpus: Gpus, atoms: usize) -> usize {
    let most = match at_once {
        Jobs::Auto => (FULL / atoms.max(1)).clamp(1, ON_A_GPU),
        Jobs::Number(number) => number as usize,
    };
    gpus.named().len().max(runs.div_ceil(most.max(1))).clamp(1, runs.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_bundled_by_gpu_and_size() {
        let tasks = |runs, at_once, gpus: &str| bundles(runs, at_once, gpus.parse().unwrap(), 3500);
        assert_eq!([tasks(40, Jobs::Auto, "0"), tasks(32, Jobs::Auto, "0"), tasks(5, Jobs::Auto, "0")], [2, 1, 1]);
        assert_eq!(
            [tasks(40, Jobs::Auto, "0-7"), tasks(5, Jobs::Auto, "0-7"), tasks(400, Jobs::Auto, "0-7")],
            [8, 5, 13]
        );
        assert_eq!([tasks(40, Jobs::Number(8), "all"), tasks(40, Jobs::Number(1), "3")], [5, 40]);
        // Fewer of a larger system: 400 000 atoms on a GPU, one run at least.
        let sized = |atoms, at_once| bundles(28, at_once, "0".parse().unwrap(), atoms);
        assert_eq!(
            [12_500, 12_501, 27_477, 400_001, 1_000_000].map(|atoms| sized(atoms, Jobs::Auto)),
            [1, 1, 2, 28, 28]
        );
        assert_eq!(sized(1_000_000, Jobs::Number(14)), 2, "what is asked for is done");
    }
}
