//! `drift`: the job at constant energy, and how much its energy drifts.

use super::arguments::DriftArguments;
use super::job::{job, make_room, one_run, signals, warn};
use octitrate::backend::choice::Choice;
use octitrate::error::{Error, Result};
use octitrate::evaluation::energies::RunEnergies;
use octitrate::report::analysis;
use octitrate::simulation::Simulation;
use octitrate::workflow::drift::{Drift, Verdict, at_constant_energy};
use octitrate::workflow::run::{Outcome, run};
use std::path::absolute;
use std::process::ExitCode;

/// Exit status of a drift that is not within its limit.
const BEYOND: u8 = 5;

/// Runs the job at constant energy and prints its drift.
///
/// # Errors
/// A job that is not valid or too short; as [`run`].
pub fn drift(arguments: &DriftArguments, device: Choice) -> Result<ExitCode> {
    let whole = job(&arguments.job, None)?;
    let mut config = at_constant_energy(&one_run(&whole)?, arguments.duration)?;
    if arguments.equilibration >= config.length() {
        let message = format!(
            "--equilibration leaves out {} ps, and the run has {} ps",
            arguments.equilibration,
            config.length()
        );
        return Err(Error::input(message, "leave out less, or give a longer --duration"));
    }
    config.output.folder = match &arguments.output {
        Some(folder) => absolute(folder).map_err(|e| Error::file(folder, "use the folder", e))?,
        None => whole.folder().with_file_name(format!(
            "{}-drift",
            whole.folder().file_name().map_or("job".into(), |name| name.to_string_lossy().into_owned())
        )),
    };
    let stop = signals(arguments.limits.max_hours, false)?;
    let mut say = |line: &str| {
        if !arguments.quiet {
            warn(line);
        }
    };
    let mut simulation = Simulation::chosen(&config, &mut device.open()?, &mut say)?;
    make_room(&config, config.folder(), arguments.limits.force)?;
    if let Outcome::Stopped(_) = run(&config, &mut simulation, &stop, arguments.quiet)? {
        return Ok(ExitCode::from(stop.exit_status()));
    }
    let energies = RunEnergies::read(config.folder(), Some(arguments.equilibration))?;
    let found = Drift::new(&config, &energies, arguments.limit)?;
    analysis::write(std::slice::from_ref(&energies), None, config.folder())?;
    if arguments.json {
        line!("{:#}", found.json());
    } else {
        part!("{}", found.text());
        line!("plot: {}", config.folder().join(analysis::PLOTS[0]).display());
    }
    Ok(match found.verdict {
        Some((_, Verdict::Beyond | Verdict::Unknown)) => ExitCode::from(BEYOND),
        _ => ExitCode::SUCCESS,
    })
}
