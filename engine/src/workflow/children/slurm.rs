//! Runs as the tasks of a Slurm array: one run for each task on the CPU, a bundle of runs side by side for each GPU.

use super::child::Child;
use super::concurrency::ON_A_GPU;
use crate::atomic::write_atomic;
use crate::backend::choice::{Choice, Gpus};
use crate::config::Jobs;
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
    /// Runs at once on a GPU.
    pub jobs: Jobs,
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
        let Queue { executable, again, device, threads, jobs: at_once } = self.queue;
        let runs = self.children.len();
        let list_file = quoted(&jobs.display().to_string());
        let (tasks, gpu, what, pick, device) = match device {
            Choice::Cuda(gpus) => {
                let tasks = bundles(runs, *at_once, *gpus);
                let what = format!(
                    "One task per GPU, each with a bundle of at most {} runs side by side.",
                    runs.div_ceil(tasks.max(1))
                );
                // Every run of the list whose number leaves the same remainder.
                let pick = format!(
                    "mapfile -t jobs < <(awk -v task=\"$SLURM_ARRAY_TASK_ID\" 'NR % {tasks} == task % {tasks}' {list_file})\n"
                );
                // A task sees its own GPU alone, with the number 0.
                (tasks, "#SBATCH --gres=gpu:1\n", what, pick, Choice::Cuda(Gpus::one(0)))
            }
            other => {
                let pick = format!("mapfile -t jobs < <(sed -n \"${{SLURM_ARRAY_TASK_ID}}p\" {list_file})\n");
                (runs, "", "One run per task.".to_string(), pick, *other)
            }
        };
        // B: the signal goes to the shell of the task, and exec puts the program in its place. Without it only steps that srun starts get it.
        Ok(format!(
            r#"#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=1-{tasks}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={threads}
{gpu}#SBATCH --time=24:00:00
#SBATCH --output={folder}/slurm-%a.out
#SBATCH --signal=B:TERM@{WARNING}
#SBATCH --requeue

# {what} A run that reaches the time limit writes its checkpoint: submit this script again to continue it.
# When all are done, evaluate them with:
#   {again}
{pick}exec {executable} run --quiet --device {device} --threads "$SLURM_CPUS_PER_TASK" "${{jobs[@]}}"
"#,
            name = self.name,
            folder = quoted(&self.folder.display().to_string()),
            executable = quoted(&executable.display().to_string()),
        ))
    }
}

/// Number of tasks for so many runs: one for each GPU that was named, and more if they would get more runs than go on at once on a GPU.
fn bundles(runs: usize, at_once: Jobs, gpus: Gpus) -> usize {
    let most = match at_once {
        Jobs::Auto => ON_A_GPU,
        Jobs::Number(number) => number as usize,
    };
    gpus.named().len().max(runs.div_ceil(most.max(1))).clamp(1, runs.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_bundled_by_gpu() {
        let tasks = |runs, at_once, gpus: &str| bundles(runs, at_once, gpus.parse().unwrap());
        assert_eq!([tasks(40, Jobs::Auto, "0"), tasks(32, Jobs::Auto, "0"), tasks(5, Jobs::Auto, "0")], [2, 1, 1]);
        assert_eq!(
            [tasks(40, Jobs::Auto, "0-7"), tasks(5, Jobs::Auto, "0-7"), tasks(400, Jobs::Auto, "0-7")],
            [8, 5, 13]
        );
        assert_eq!([tasks(40, Jobs::Number(8), "all"), tasks(40, Jobs::Number(1), "3")], [5, 40]);
        let folder = tempfile::tempdir().unwrap();
        let names: Vec<String> = (1..=5).map(|number| format!("run {number}")).collect();
        let children: Vec<Child> = names.iter().map(|name| Child::of_tests(folder.path(), name)).collect();
        let again = "octitrate titrate job --device cuda:0-1";
        let device = "cuda:0-1".parse().unwrap();
        let queue = Queue { executable: Path::new("/bin/echo"), again, device, threads: 2, jobs: Jobs::Auto };
        let children: Vec<&Child> = children.iter().collect();
        let array = SlurmArray { children: &children, folder: folder.path(), name: "titrate", queue: &queue };
        let script = array.script().unwrap();
        assert!(
            script.contains("#SBATCH --array=1-2\n") && script.contains("at most 3 runs side by side. A run"),
            "{script}"
        );
        // Both tasks together have every run once; echo in the place of the program says which.
        let path = folder.path().join("script.sh");
        std::fs::write(&path, &script).unwrap();
        let mut all = Vec::new();
        for task in ["1", "2"] {
            let mut command = std::process::Command::new("bash");
            command.arg(&path).env("SLURM_ARRAY_TASK_ID", task).env("SLURM_CPUS_PER_TASK", "2");
            let said = String::from_utf8(command.output().unwrap().stdout).unwrap();
            let (start, jobs) = said.trim().split_once("--threads 2 ").unwrap();
            assert_eq!(start, "run --quiet --device cuda:0 ");
            all.extend(
                jobs.split("run.toml")
                    .map(str::trim)
                    .filter(|job| !job.is_empty())
                    .map(|job| job.trim_end_matches('/').to_string()),
            );
        }
        all.sort();
        let expected: Vec<String> = names.iter().map(|name| folder.path().join(name).display().to_string()).collect();
        assert_eq!(all, expected);
    }

    #[test]
    fn a_gpu_is_asked_for_if_it_was_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let script = |device| {
            let again = "octitrate titrate job --device cuda:3";
            let executable = Path::new("/bin/octitrate");
            let queue = Queue { executable, again, device, threads: 4, jobs: Jobs::Auto };
            SlurmArray { children: &[], folder: folder.path(), name: "titrate", queue: &queue }.script().unwrap()
        };
        let plain = script(Choice::Cpu);
        assert!(plain.contains(" run --quiet --device cpu --threads ") && !plain.contains("gres"), "{plain}");
        assert!(plain.contains("#SBATCH --cpus-per-task=4\n") && plain.contains("#SBATCH --signal=B:TERM@120\n"));
        assert!(script(Choice::Auto).contains(" run --quiet --device auto --threads "));
        let gpu = script(Choice::Cuda(Gpus::one(3)));
        assert!(gpu.contains("\n#SBATCH --gres=gpu:1\n#SBATCH --time"), "{gpu}");
        assert!(gpu.contains(" run --quiet --device cuda:0 --threads "), "{gpu}");
    }
}
