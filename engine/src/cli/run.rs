//! `run`: one run, from the job or from its checkpoint; several, one after the other; or a bundle of runs of a titration or calibration.

use super::arguments::RunArguments;
use super::job::{check_is_one_run, executable, job, make_room, signals, warn};
use octitrate::backend::choice::Choice;
use octitrate::config::Config;
use octitrate::error::{Error, Result};
use octitrate::output::progress::Log;
use octitrate::output::screen;
use octitrate::signals::Stop;
use octitrate::simulation::Simulation;
use octitrate::workflow::many::{bundle, is_made_by_many};
use octitrate::workflow::run::{Outcome, run as run_simulation};
use std::process::ExitCode;

/// Runs a job to its last step, or until a signal asks it to stop.
///
/// # Errors
/// A job that is not valid or is made of many runs; as [`run_simulation`].
pub fn run(arguments: &RunArguments, device: Choice) -> Result<ExitCode> {
    let [job_file] = &arguments.jobs[..] else { return several(arguments, device) };
    let config = job(job_file, arguments.output.as_deref())?;
    let stop = signals(arguments.limits.max_hours, arguments.leash)?;
    if arguments.leash {
        stop.also_when_stdin_ends();
    }
    one(&config, device, &stop, arguments.quiet, arguments.limits.force)
}

/// Runs one job on one device until `stop` is asked for; with `force` it starts anew.
///
/// # Errors
/// As [`run`].
pub fn one(config: &Config, device: Choice, stop: &Stop, quiet: bool, force: bool) -> Result<ExitCode> {
    check_is_one_run(config)?;
    let mut say = |line: &str| {
        if !quiet {
            warn(line);
        }
    };
    let mut simulation = Simulation::chosen(config, &mut device.open()?, &mut say)?;
    make_room(config, config.folder(), force)?;
    match run_simulation(config, &mut simulation, stop, quiet)? {
        Outcome::Finished | Outcome::AlreadyFinished => Ok(ExitCode::SUCCESS),
        Outcome::Stopped(_) => Ok(ExitCode::from(stop.exit_status())),
    }
}

/// Runs several jobs: those that a titration or calibration has made side by side, others one after the other.
fn several(arguments: &RunArguments, device: Choice) -> Result<ExitCode> {
    if arguments.output.is_some() || arguments.limits.force {
        let help = "several keep the folders that they name";
        return Err(Error::input("--output and --force are for one job, and several are named", help));
    }
    let jobs = arguments.jobs.iter().map(|path| job(path, None)).collect::<Result<Vec<Config>>>()?;
    jobs.iter().try_for_each(check_is_one_run)?;
    let stop = signals(arguments.limits.max_hours, arguments.leash)?;
    if !jobs.iter().any(is_made_by_many) {
        let mut last = ExitCode::SUCCESS;
        for (number, config) in jobs.iter().enumerate() {
            if stop.requested() {
                return Ok(ExitCode::from(stop.exit_status()));
            }
            if !arguments.quiet {
                screen::show(&format!("{} ({} of {})\n", config.path().display(), number + 1, jobs.len()));
            }
            last = one(config, device, &stop, arguments.quiet, false)?;
        }
        return Ok(last);
    }
    let mut log = Log::on_screen(arguments.quiet);
    let finished = bundle(jobs, &executable()?, &device.open_all()?, &mut log, &stop)?;
    Ok(if finished { ExitCode::SUCCESS } else { ExitCode::from(stop.exit_status()) })
}
