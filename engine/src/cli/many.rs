//! `titrate` and `calibrate`: jobs that are made of many runs.

use super::arguments::WorkflowArguments;
use super::job::{job, signals, warn};
use octitrate::backend::choice::{Choice, Chosen};
use octitrate::error::{Error, Result};
use octitrate::signals::Stop;
use octitrate::simulation::Simulation;
use octitrate::workflow::calibrate::CalibrationPlan;
use octitrate::workflow::exchange;
use octitrate::workflow::many::{self, Host, Many};
use octitrate::workflow::titrate::TitrationPlan;
use std::path::PathBuf;
use std::process::ExitCode;

/// Titrates: independent runs, or runs that swap their pH in this process.
///
/// # Errors
/// A job that is not valid or has no section `[titrate]`; as [`many::run`] and [`exchange::titrate`].
pub fn titrate(arguments: &WorkflowArguments, device: Choice) -> Result<ExitCode> {
    let plan = TitrationPlan::new(job(&arguments.job, arguments.output.as_deref())?, arguments.jobs)?;
    let config = &plan.batch().config;
    if config.titrate.as_ref().is_none_or(|titrate| titrate.exchange.is_none()) {
        return independent(&plan, arguments, device);
    }
    if arguments.slurm {
        let help = "submit the command itself as one job, without --slurm";
        return Err(config.error_at("titrate.exchange", "runs that swap their pH go on in one process", help));
    }
    compute(&plan, device, |place, stop| exchange::titrate(&plan, place, stop))
}

/// Calibrates: windows, then rounds of free runs.
///
/// # Errors
/// A job that is not valid or has no section `[calibrate]`; as [`many::run`].
pub fn calibrate(arguments: &WorkflowArguments, device: Choice) -> Result<ExitCode> {
    let config = job(&arguments.job, arguments.output.as_deref())?;
    independent(&CalibrationPlan::new(config, arguments.jobs)?, arguments, device)
}

/// Runs that know nothing of each other, or the script of a Slurm array for them.
fn independent(plan: &dyn Many, arguments: &WorkflowArguments, device: Choice) -> Result<ExitCode> {
    let executable = executable()?;
    if arguments.slurm {
        Simulation::new(plan.batch().first())?;
        print!("{}", many::slurm(plan, &executable, device)?);
        return Ok(ExitCode::SUCCESS);
    }
    compute(plan, device, |place, stop| many::run(plan, &Host { executable: &executable, place }, stop))
}

/// Opens the device, tries the first run on it, and does the work until it is finished or a signal asks it to stop.
///
/// What the first run would refuse is better said before any is started, and in terms of this job.
fn compute(plan: &dyn Many, device: Choice, work: impl FnOnce(&Chosen, &Stop) -> Result<bool>) -> Result<ExitCode> {
    let mut place = device.open()?;
    Simulation::chosen(plan.batch().first(), &mut place, &mut warn)?;
    let stop = signals()?;
    let finished = work(&place, &stop)?;
    Ok(if finished { ExitCode::SUCCESS } else { ExitCode::from(stop.exit_status()) })
}

fn executable() -> Result<PathBuf> {
    std::env::current_exe().map_err(|e| Error::input(format!("this program cannot find itself: {e}"), ""))
}
