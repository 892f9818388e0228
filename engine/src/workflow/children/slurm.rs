//! Tasks of a Slurm array.

use super::array::{TaskArray, Tasks};
use crate::invocation::quoted;

/// Seconds before its end at which a task gets the signal to write its checkpoint.
const WARNING: u32 = 120;

impl TaskArray<'_> {
    /// The script for `sbatch`.
    pub(super) fn slurm(&self, tasks: &Tasks) -> String {
        let Tasks { list, count, on_gpu, what } = tasks;
        let list = quoted(&list.display().to_string());
        let (gpu, pick) = if *on_gpu {
            // Every run of the list whose number leaves the same remainder.
            let pick = format!("awk -v task=\"$SLURM_ARRAY_TASK_ID\" 'NR % {count} == task % {count}' {list}");
            ("#SBATCH --gres=gpu:1\n", pick)
        } else {
            ("", format!("sed -n \"${{SLURM_ARRAY_TASK_ID}}p\" {list}"))
        };
        let pick = format!("mapfile -t jobs < <({pick})\n");
        // B: the signal goes to the shell of the task, and exec puts the program in its place. Without it only steps that srun starts get it.
        format!(
            r#"#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=1-{count}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={threads}
{gpu}#SBATCH --time=24:00:00
#SBATCH --output={folder}/slurm-%a.out
#SBATCH --signal=B:TERM@{WARNING}
#SBATCH --requeue

# {what} A run that reaches the time limit writes its checkpoint: submit this script again to continue it.
# When all are done, evaluate them with:
#   {again}
{pick}exec {executable} run --quiet --device {device} --threads "${{SLURM_CPUS_PER_TASK:-1}}" "${{jobs[@]}}"
"#,
            name = self.name,
            threads = self.queue.threads,
            folder = quoted(&self.folder.display().to_string()),
            again = self.queue.again,
            executable = quoted(&self.queue.executable.display().to_string()),
            device = self.device(),
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::backend::choice::{Choice, Gpus};
    use crate::config::Jobs;
    use crate::workflow::children::{Child, Queue, Scheduler, TaskArray};
    use std::path::Path;

    fn queue(device: Choice, threads: u32) -> Queue<'static> {
        let again = "octitrate titrate job";
        let (scheduler, executable) = (Scheduler::Slurm, Path::new("/bin/echo"));
        Queue { scheduler, executable, again, within: again, device, threads, jobs: Jobs::Auto, max_hours: None }
    }

    #[test]
    fn every_run_has_a_task() {
        let folder = temp_dir::TempDir::new().unwrap();
        let names: Vec<String> = (1..=5).map(|number| format!("run {number}")).collect();
        let children: Vec<Child> = names.iter().map(|name| Child::of_tests(folder.path(), name)).collect();
        let queue = queue("cuda:0-1".parse().unwrap(), 2);
        let children: Vec<&Child> = children.iter().collect();
        let array =
            TaskArray { children: &children, folder: folder.path(), name: "titrate", atoms: 3500, queue: &queue };
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
        let folder = temp_dir::TempDir::new().unwrap();
        let script = |device| {
            let queue = queue(device, 4);
            TaskArray { children: &[], folder: folder.path(), name: "titrate", atoms: 1, queue: &queue }
                .script()
                .unwrap()
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
