//! `check`: a job with all its files is read, and nothing but the forces of its start is computed.

use super::arguments::JobArguments;
use super::job::{job, one_run, warn};
use octitrate::backend::choice::Choice;
use octitrate::error::Result;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::workflow::calibrate::CalibrationPlan;
use octitrate::workflow::many::Many;
use std::process::ExitCode;

/// Reads a job with all its files and says what it is.
///
/// # Errors
/// The first thing that is wrong with the job or one of its files.
pub fn check(arguments: &JobArguments, device: Choice) -> Result<ExitCode> {
    let config = job(&arguments.job, None)?;
    let mut simulation = Simulation::chosen(&one_run(&config)?, &mut device.open()?, &mut warn)?;
    let description = simulation.describe();
    for (name, value) in &description.facts {
        line!("{name:<20} {value}");
    }
    if !description.sites.is_empty() {
        line!("{:<20} {}", "titratable sites", description.site_names().join(", "));
    }
    for group in &description.untitrated {
        line!("{:<20} {}: {}", "does not titrate", group.name, group.reason);
    }
    let length = config.length();
    let runs = |count: usize, what: &str| format!("{count} {what}, each {length} ps");
    let length = match (&config.titrate, &config.calibrate) {
        (Some(titrate), _) => {
            let count = titrate.ph.to_vec().len() * titrate.replicas as usize;
            format!("{}, of which the first {} ps are left out", runs(count, "runs"), titrate.equilibration())
        }
        (_, Some(_)) => runs(CalibrationPlan::new(config.clone(), None)?.batch().children.len(), "windows"),
        _ => format!("{length} ps"),
    };
    line!("{:<20} {length}, time step {}", "length", config.dynamics.time_step);
    for (number, stage) in (1..).zip(config.stages()) {
        line!("{:<20} {number}. {stage}", if number == 1 { "stages of a run" } else { "" });
    }
    line!("{:<20} {}", "results", config.folder().display());
    for warning in &description.warnings {
        line!("warning: {warning}");
    }
    // The forces of the first step tell what no file does: atoms that lie on each other.
    if let Some(hint) = simulation.check_first_forces(false)? {
        line!("warning: {hint}");
    }
    line!("the job can be run");
    Ok(ExitCode::SUCCESS)
}
