//! Runs on the CPU: each a child process of this same program.
//!
//! A child holds a pipe from its parent as standard input and leaves with a checkpoint when it ends. Closing the pipe is
//! how the parent stops its children, and a parent that is killed stops them all the same.

use super::child::Child;
use super::runner::{End, Runner, Working};
use crate::error::{Error, Result};
use crate::workflow::folder::COMPLAINTS;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

/// Starts each run as a process.
#[derive(Debug, Clone)]
pub struct Processes {
    /// This program.
    pub executable: PathBuf,
    /// Number of threads of each.
    pub threads: usize,
}

impl Runner for Processes {
    fn start(&self, child: &Child) -> Result<Box<dyn Working>> {
        let job = child.write()?;
        let complaints = child.config.result(COMPLAINTS);
        let file = File::create(&complaints).map_err(|e| Error::file(&complaints, "create", e))?;
        let mut command = Command::new(&self.executable);
        command.args(["run", "--quiet", "--leash", "--device", "cpu", "--threads", &self.threads.to_string()]);
        command.arg(&job).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(file);
        own_group(&mut command);
        let process = command.spawn().map_err(|e| Error::file(&self.executable, "start a run", e))?;
        Ok(Box::new(Process { process, executable: self.executable.clone(), complaints }))
    }

    fn room(&self) -> Option<usize> {
        None
    }
}

/// Puts the child into a group of its own, so that Ctrl-C reaches the parent alone, which then stops its children in order.
fn own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

struct Process {
    process: std::process::Child,
    executable: PathBuf,
    complaints: PathBuf,
}

impl Process {
    /// How a child with this status ended, in its own words if it failed.
    fn judge(&self, status: ExitStatus) -> End {
        if status.success() {
            // If the empty file stays, it does no harm.
            let _ = std::fs::remove_file(&self.complaints);
            return End::Finished;
        }
        let text = std::fs::read_to_string(&self.complaints).unwrap_or_default();
        let said = if text.trim().is_empty() { self.wordless(status) } else { text.trim().to_string() };
        End::Failed { said, physics: status.code() == Some(3) }
    }

    /// What is said of a child that said nothing. On a full disk it could not, which a file that cannot be written shows.
    fn wordless(&self, status: ExitStatus) -> String {
        let ended = format!("it ended with {status}");
        match std::fs::write(&self.complaints, &ended) {
            Ok(()) => ended,
            Err(e) => format!("{ended}, and {}", Error::file(&self.complaints, "write", e)),
        }
    }
}

impl Working for Process {
    fn ready(&self) -> bool {
        true
    }

    fn ended(&mut self) -> Result<Option<End>> {
        let status = self.process.try_wait().map_err(|e| Error::file(&self.executable, "wait for a run", e))?;
        Ok(status.map(|status| self.judge(status)))
    }

    fn stop(&mut self) {
        drop(self.process.stdin.take());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
        // The child leaves by itself; where its status matters it was asked for before.
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_that_could_not_say_why_it_failed_is_told_of_with_what_its_file_says() {
        let folder = temp_dir::TempDir::new().unwrap();
        let said = |complaints: PathBuf| {
            let process = Command::new("false").stdin(Stdio::piped()).spawn().unwrap();
            let mut run = Process { process, executable: "false".into(), complaints };
            let status = run.process.wait().unwrap();
            match run.judge(status) {
                End::Failed { said, physics: false } => said,
                other => panic!("{other:?}"),
            }
        };
        let file = folder.path().join(COMPLAINTS);
        assert_eq!(said(file.clone()), "it ended with exit status: 1");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "it ended with exit status: 1");
        let nowhere = folder.path().join("none").join(COMPLAINTS);
        let expected =
            format!("it ended with exit status: 1, and {}: cannot write: no such file or folder", nowhere.display());
        assert_eq!(said(nowhere), expected);
    }
}
