//! `calibrate`: of a job; or, with `--residue`, of model compounds from their building to the entry in a library.
//!
//! The Python package says which folders there are to calibrate, the charge buffer before those that need it, and builds those that are not there yet
//! (`octitrate.calibrating`). Each is equilibrated and calibrated here, as its two jobs would be by themselves, and the package adds the
//! entry to the library. All of these find what is done already.

use super::arguments::{CalibrateArguments, WorkflowArguments};
use super::job::{job, signals};
use super::{many, prepare, run, show};
use octitrate::backend::choice::Choice;
use octitrate::error::{Error, Result};
use octitrate::output::screen;
use octitrate::signals::Stop;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Calibrates a job, or builds, equilibrates and calibrates model compounds. If the runs of one of several cannot go on, the others are calibrated all the same,
/// and the status is that of the failure.
///
/// # Errors
/// As [`many::calibrate`] and [`run::one`]; an input error if there is no Python package to build model compounds.
pub fn calibrate(arguments: &CalibrateArguments, device: Choice, threads: Option<u32>) -> Result<ExitCode> {
    if let Some(job) = &arguments.job {
        let work = WorkflowArguments { job: job.clone(), output: arguments.output.clone(), how: arguments.how };
        let stop = signals(arguments.how.limits.max_hours, false)?;
        return many::calibrate(&work, device, threads, &stop);
    }
    let folders = match python("plan", arguments.words())? {
        Ok(lines) => lines,
        Err(status) => return Ok(status),
    };
    let folders: Vec<PathBuf> = folders.lines().map(PathBuf::from).collect();
    let stop = signals(arguments.how.limits.max_hours, false)?;
    let mut failed = Vec::new();
    for folder in &folders {
        match compound(folder, arguments, device, threads, &stop) {
            Ok(ExitCode::SUCCESS) => {}
            // The runs of another one may well be sound.
            Err(error @ Error::Physics(_)) if folders.len() > 1 => {
                show::error(&error);
                failed.push((folder.display().to_string(), error.exit_status()));
            }
            stopped_or_refused => return stopped_or_refused,
        }
    }
    let Some(&(_, status)) = failed.first() else { return Ok(ExitCode::SUCCESS) };
    let names: Vec<&str> = failed.iter().map(|(name, _)| name.as_str()).collect();
    let (of, all, names) = (failed.len(), folders.len(), names.join(", "));
    screen::show(&format!("{of} of {all} model compounds failed: {names}; the same command tries them again\n"));
    Ok(ExitCode::from(status))
}

/// Equilibrates and calibrates the model compound of a folder, and adds its entry to the library; whether all of it is done is in the status.
fn compound(
    folder: &Path,
    arguments: &CalibrateArguments,
    device: Choice,
    threads: Option<u32>,
    stop: &Stop,
) -> Result<ExitCode> {
    let quiet = arguments.how.quiet;
    if !quiet {
        screen::show(&format!("== {}\n", folder.display()));
    }
    let equilibrate = job(&folder.join("equilibrate.toml"), None)?;
    let code = run::one(&equilibrate, device.first()?, stop, quiet, false)?;
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    let work = WorkflowArguments { job: folder.join("calibrate.toml"), output: None, how: arguments.how };
    let code = many::calibrate(&work, device, threads, stop)?;
    if code != ExitCode::SUCCESS {
        return Ok(code);
    }
    Ok(add(folder, arguments)?.err().unwrap_or(ExitCode::SUCCESS))
}

/// Adds the entry of a folder to the library, and says where it is.
fn add(folder: &Path, arguments: &CalibrateArguments) -> Result<std::result::Result<(), ExitCode>> {
    let mut words = vec![folder.into()];
    if let Some(library) = &arguments.compounds.library {
        words.extend([OsString::from("--library"), library.into()]);
    }
    let said = python("add", words)?;
    if let (Ok(text), false) = (&said, arguments.how.quiet) {
        screen::show(text);
    }
    Ok(said.map(|_| ()))
}

/// What a command of `octitrate.calibrating` writes to standard output; or the status with which it ended after it has said why.
fn python(command: &str, mut words: Vec<OsString>) -> Result<std::result::Result<String, ExitCode>> {
    words.insert(0, command.into());
    prepare::ask("calibrate --residue", "octitrate.calibrating", &words)
}
