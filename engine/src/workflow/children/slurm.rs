//! Runs as the tasks of a Slurm array.

use super::child::Child;
use crate::atomic::write_atomic;
use crate::backend::choice::Choice;
use crate::error::Result;
use std::path::Path;

/// Runs that are to be the tasks of a Slurm array.
#[derive(Debug)]
pub struct SlurmArray<'a> {
    /// The runs.
    pub children: &'a [Child],
    /// This program.
    pub executable: &'a Path,
    /// Folder of the job, for the list of runs and what they print.
    pub folder: &'a Path,
    /// Name of the array in the queue.
    pub name: &'a str,
    /// The command that evaluates the runs when all are done.
    pub again: &'a str,
    /// What computes in each task.
    pub device: Choice,
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
        let (gpu, device) = match self.device {
            Choice::Cuda(_) => ("#SBATCH --gres=gpu:1\n", Choice::Cuda(0)),
            other => ("", other),
        };
        let again = self.again;
        let one_job = match device {
            Choice::Cuda(_) => {
                format!("# Small systems share a GPU better in one job, side by side:  {again} --device {device}\n")
            }
            _ => String::new(),
        };
        Ok(format!(
            r#"#!/bin/bash
#SBATCH --job-name={name}
#SBATCH --array=1-{count}
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=1
{gpu}#SBATCH --time=24:00:00
#SBATCH --output={folder}/slurm-%a.out
#SBATCH --signal=TERM@120
#SBATCH --requeue

# One run per task. A run that reaches the time limit writes its checkpoint: submit this script again to continue it.
# When all are done, evaluate them with:  {again}
{one_job}job=$(sed -n "${{SLURM_ARRAY_TASK_ID}}p" {list})
exec {executable} run --quiet --device {device} --threads "$SLURM_CPUS_PER_TASK" "$job"
"#,
            name = self.name,
            count = self.children.len(),
            folder = quoted(self.folder),
            list = quoted(&jobs),
            executable = quoted(self.executable),
        ))
    }
}

/// A path as one word of the shell.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=".contains(c);
    if text.chars().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_the_shell() {
        assert_eq!(quoted(Path::new("/a/b-1.toml")), "/a/b-1.toml");
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }

    #[test]
    fn a_gpu_is_asked_for_if_it_was_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let script = |device| {
            let (executable, again) = (Path::new("/bin/octitrate"), "octitrate titrate job");
            let (children, folder) = (&[][..], folder.path());
            SlurmArray { children, executable, folder, name: "titrate", again, device }.script().unwrap()
        };
        let plain = script(Choice::Cpu);
        assert!(plain.contains(" run --quiet --device cpu --threads ") && !plain.contains("gres"), "{plain}");
        assert!(script(Choice::Auto).contains(" run --quiet --device auto --threads "));
        let gpu = script(Choice::Cuda(3));
        assert!(gpu.contains("\n#SBATCH --gres=gpu:1\n#SBATCH --time"), "{gpu}");
        assert!(gpu.contains(" run --quiet --device cuda:0 --threads "), "{gpu}");
        assert!(gpu.contains("octitrate titrate job --device cuda:0\njob="), "{gpu}");
    }
}
