//! Tasks of a Slurm array, and the one job of runs that swap their pH.

use super::array::{TaskArray, Tasks};
use crate::backend::choice::{Choice, Gpus};
use crate::invocation::quoted;

/// Seconds before its end at which a task gets the signal to write its checkpoint.
const WARNING: u32 = 120;

/// Hours of a job where no limit is given.
const DAY: f64 = 24.0;

/// Said where nobody chose a device: the machine on which the script is printed mostly has no GPU.
const NO_GPU: &str = "# No GPU is asked for: octitrate asks for one with --device cuda:0 beside --slurm.\n";

/// A time as `sbatch` takes it, to whole seconds.
fn time(hours: Option<f64>) -> String {
    let seconds = (hours.unwrap_or(DAY) * 3600.0).round().max(60.0) as u64;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The script for `sbatch` of a command that computes by itself: runs that swap their pH go on in one process, on all GPUs that its job is given.
/// `command`: its words without a device and a number of threads.
pub fn alone(name: &str, command: &str, device: Choice, threads: u32, max_hours: Option<f64>) -> String {
    let (gpu, device) = match device {
        Choice::Cuda(gpus) => (format!("#SBATCH --gres=gpu:{}\n", gpus.named().len().max(1)), Choice::Cuda(Gpus::ALL)),
        other => (String::new(), other),
    };
    format!(
        r#"#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task={threads}
{gpu}#SBATCH --time={time}
#SBATCH --signal=B:TERM@{WARNING}
#SBATCH --requeue
#SBATCH --open-mode=append

{hint}# All runs go on in one process, because they swap their pH. At the time limit it writes its checkpoint: submit this script again to continue it,
# until the table of pKa values stands at the end of what it says.
exec {command} --device {device} --threads "${{SLURM_CPUS_PER_TASK:-{threads}}}"
"#,
        time = time(max_hours),
        hint = if device == Choice::Auto { NO_GPU } else { "" },
    )
}

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
{gpu}#SBATCH --time={time}
#SBATCH --output={folder}/slurm-%a.out
#SBATCH --signal=B:TERM@{WARNING}
#SBATCH --requeue
#SBATCH --open-mode=append

{hint}# {what} A run that reaches the time limit writes its checkpoint: submit this script again to continue it.
# When all are done, evaluate them with:
#   {again}
{pick}exec {executable} run --quiet --device {device} --threads "${{SLURM_CPUS_PER_TASK:-1}}" "${{jobs[@]}}"
"#,
            name = self.name,
            threads = self.queue.threads,
            time = time(self.queue.max_hours),
            hint = if self.queue.device == Choice::Auto { NO_GPU } else { "" },
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
    use crate::workflow::children::{Child, Queue, Scheduler, TaskArray, alone};
    use std::path::Path;

    fn queue(device: Choice, threads: u32) -> Queue<'static> {
        let again = "octitrate titrate job";
        let (scheduler, executable) = (Scheduler::Slurm, Path::new("/bin/echo"));
        Queue { scheduler, executable, again, within: again, device, threads, jobs: Jobs::Auto, max_hours: None }
    }

    fn array<'a>(folder: &'a Path, children: &'a [&'a Child], queue: &'a Queue) -> TaskArray<'a> {
        TaskArray { children, folder, name: "titrate", length: 0.2, staged: false, atoms: 3500, queue }
    }

    #[test]
    fn every_run_has_a_task() {
        let folder = temp_dir::TempDir::new().unwrap();
        let names: Vec<String> = (1..=5).map(|number| format!("run {number}")).collect();
        let children: Vec<Child> = names.iter().map(|name| Child::of_tests(folder.path(), name)).collect();
        let queue = queue("cuda:0-1".parse().unwrap(), 2);
        let children: Vec<&Child> = children.iter().collect();
        let script = array(folder.path(), &children, &queue).script().unwrap();
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
            array(folder.path(), &[], &queue).script().unwrap()
        };
        let plain = script(Choice::Cpu);
        assert!(plain.contains(" run --quiet --device cpu --threads ") && !plain.contains("gres"), "{plain}");
        // What an earlier try said is not written over.
        assert!(plain.contains("#SBATCH --open-mode=append\n"));
        assert!(plain.contains("#SBATCH --cpus-per-task=4\n") && plain.contains("#SBATCH --signal=B:TERM@120\n"));
        let auto = script(Choice::Auto);
        assert!(
            auto.contains(" run --quiet --device auto --threads ") && auto.contains("\n# No GPU is asked for: "),
            "{auto}"
        );
        assert!(!plain.contains("No GPU"), "{plain}");
        let gpu = script(Choice::Cuda(Gpus::one(3)));
        assert!(gpu.contains("\n#SBATCH --gres=gpu:1\n#SBATCH --time"), "{gpu}");
        assert!(gpu.contains(" run --quiet --device cuda:0 --threads "), "{gpu}");
    }

    #[test]
    fn a_limit_of_time_is_that_of_the_task() {
        let folder = temp_dir::TempDir::new().unwrap();
        let script = |max_hours| {
            let queue = Queue { max_hours, ..queue(Choice::Cpu, 1) };
            array(folder.path(), &[], &queue).script().unwrap()
        };
        for (hours, time) in
            [(None, "24:00:00"), (Some(2.5), "02:30:00"), (Some(100.0), "100:00:00"), (Some(0.001), "00:01:00")]
        {
            let script = script(hours);
            assert!(script.contains(&format!("\n#SBATCH --time={time}\n")), "{script}");
        }
    }

    #[test]
    fn runs_that_swap_their_ph_are_one_job_on_all_its_gpus() {
        let script = |device: &str| alone("titrate", "octitrate titrate job", device.parse().unwrap(), 8, Some(12.0));
        let two = script("cuda:0-1");
        assert!(two.contains("\n#SBATCH --gres=gpu:2\n#SBATCH --time=12:00:00\n"), "{two}");
        assert!(
            two.ends_with("exec octitrate titrate job --device cuda:all --threads \"${SLURM_CPUS_PER_TASK:-8}\"\n"),
            "{two}"
        );
        assert!(script("cuda:all").contains("--gres=gpu:1\n"));
        assert!(script("auto").contains("\n# No GPU is asked for: ") && !two.contains("No GPU"));
        let cpu = script("cpu");
        assert!(!cpu.contains("gres") && !cpu.contains("array") && cpu.contains(" --device cpu --threads "), "{cpu}");
    }
}
