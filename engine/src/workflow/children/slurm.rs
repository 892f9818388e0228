//! Runs as the tasks of a Slurm array.

use super::child::Child;
use crate::atomic::write_atomic;
use crate::backend::choice::Choice;
use crate::error::Result;
use crate::origin::quoted;
use std::path::Path;

/// Seconds before its end at which a task gets the signal to write its checkpoint.
const WARNING: u32 = 120;

/// How the tasks of an array are started, and what is to be done when they are over.
#[derive(Debug)]
pub struct Queue<'a> {
    /// This program.
    pub executable: &'a Path,
    /// The command that evaluates the runs when all are done, with every option that it was given.
    pub again: &'a str,
    /// What computes in each task.
    pub device: Choice,
    /// Threads of each task.
    pub threads: u32,
}

/// Runs that are to be the tasks of a Slurm array.
#[derive(Debug)]
pub struct SlurmArray<'a> {
    /// The runs.
    pub children: &'a [&'a Child],
    /// Folder of the job, for the list of runs and what they print.
    pub folder: &'a Path,
    /// Name of the array in the queue.
    pub name: &'a str,
    /// How they are started.
    pub queue: &'a Queue<'a>,
}

impl SlurmArray<'_> {
    /// Writes the folders and jobs of all runs; the script that starts them.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a folder, a job or the list of jobs cannot be written.
    pub fn script(&self) -> Result<String> {
        let mut list = String::new();
        for child in self.children {
            let job = child.write()?;
            list.push_str(&format!("{}\n", job.display()));
        }
        let jobs = self.folder.join("jobs.txt");
        write_atomic(&jobs, "write the list of jobs", list.as_bytes())?;
        // A task sees its own GPU alone, with the number 0.
        let Queue { executable, again, device, threads } = self.queue;
        let (gpu, device) = match device {
            Choice::Cuda(_) => ("#SBATCH --gres=gpu:1\n", Choice::Cuda(0)),
            other => ("", *other),
        };
        let one_job = match device {
            Choice::Cuda(_) => format!("# Small systems share a GPU better in one job, side by side:\n#   {again}\n"),
            _ => String::new(),
        };
        // B: the signal goes to the shell of the task, and exec puts the program in its place. Without it only steps that srun starts get it.
        Ok(format!(
            r#"#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=1-{count}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={threads}
{gpu}#SBATCH --time=24:00:00
#SBATCH --output={folder}/slurm-%a.out
#SBATCH --signal=B:TERM@{WARNING}
#SBATCH --requeue

# One run per task. A run that reaches the time limit writes its checkpoint: submit this script again to continue it.
# When all are done, evaluate them with:
#   {again}
{one_job}job=$(sed -n "${{SLURM_ARRAY_TASK_ID}}p" {list})
exec {executable} run --quiet --device {device} --threads "$SLURM_CPUS_PER_TASK" "$job"
"#,
            name = self.name,
            count = self.children.len(),
            folder = quoted(&self.folder.display().to_string()),
            list = quoted(&jobs.display().to_string()),
            executable = quoted(&executable.display().to_string()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_asked_for_if_it_was_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let script = |device| {
            let again = "octitrate titrate job --device cuda:3";
            let queue = Queue { executable: Path::new("/bin/octitrate"), again, device, threads: 4 };
            SlurmArray { children: &[], folder: folder.path(), name: "titrate", queue: &queue }.script().unwrap()
        };
        let plain = script(Choice::Cpu);
        assert!(plain.contains(" run --quiet --device cpu --threads ") && !plain.contains("gres"), "{plain}");
        assert!(plain.contains("#SBATCH --cpus-per-task=4\n") && plain.contains("#SBATCH --signal=B:TERM@120\n"));
        assert!(script(Choice::Auto).contains(" run --quiet --device auto --threads "));
        let gpu = script(Choice::Cuda(3));
        assert!(gpu.contains("\n#SBATCH --gres=gpu:1\n#SBATCH --time"), "{gpu}");
        assert!(gpu.contains(" run --quiet --device cuda:0 --threads "), "{gpu}");
        assert!(gpu.contains("side by side:\n#   octitrate titrate job --device cuda:3\njob="), "{gpu}");
    }
}
