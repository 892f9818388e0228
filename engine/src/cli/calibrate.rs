//! `calibrate`: of a job; or, with `--residue`, of model compounds from their building to the entry in a library.
//!
//! The Python package says which folders there are to calibrate, the charge buffer before those that need it, and builds those that are not there yet
//! (`octitrate.calibrating`). Each is equilibrated and calibrated here, as its two jobs would be by themselves, and the package adds the
//! entry to the library. All of these find what is done already.

use super::arguments::{CalibrateArguments, WorkflowArguments};
use super::job::{job, signals};
use super::{many, prepare, run};
use octitrate::backend::choice::Choice;
use octitrate::error::Result;
use octitrate::output::screen;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Calibrates a job, or builds, equilibrates and calibrates model compounds.
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
    let stop = signals(arguments.how.limits.max_hours, false)?;
    let quiet = arguments.how.quiet;
    for folder in folders.lines().map(PathBuf::from) {
        if !quiet {
            screen::show(&format!("== {}\n", folder.display()));
        }
        let equilibrate = job(&folder.join("equilibrate.toml"), None)?;
        let code = run::one(&equilibrate, device.first()?, &stop, quiet, false)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
        let work = WorkflowArguments { job: folder.join("calibrate.toml"), output: None, how: arguments.how };
        let code = many::calibrate(&work, device, threads, &stop)?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
        if let Err(status) = add(&folder, arguments)? {
            return Ok(status);
        }
    }
    Ok(ExitCode::SUCCESS)
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
