//! Jobs as commands read them, and signals.

use octitrate::config::Config;
use octitrate::error::{Error, Result};
use octitrate::signals::Stop;
use octitrate::workflow::calibrate::CalibrationPlan;
use octitrate::workflow::many::Many;
use octitrate::workflow::titrate::TitrationPlan;
use std::path::Path;

/// Reads a job; its results go to `output` if given.
///
/// # Errors
/// [`Error::File`] if the job cannot be read or the folder cannot be used, [`Error::Input`] if the job is not valid.
pub fn job(path: &Path, output: Option<&Path>) -> Result<Config> {
    let mut config = Config::load(path)?;
    if let Some(folder) = output {
        config.output.folder = std::path::absolute(folder).map_err(|e| Error::file(folder, "use the folder", e))?;
    }
    Ok(config)
}

/// The job itself, or the first run of a titration or calibration.
///
/// # Errors
/// [`Error::Input`] if the job names nothing that can be calibrated.
pub fn one_run(config: &Config) -> Result<Config> {
    Ok(match (&config.titrate, &config.calibrate) {
        (Some(_), _) => TitrationPlan::new(config.clone(), None)?.batch().first().clone(),
        (_, Some(_)) => CalibrationPlan::new(config.clone(), None)?.batch().first().clone(),
        _ => config.clone(),
    })
}

/// Listens to signals from now on.
///
/// # Errors
/// [`Error::Input`] if the system does not allow it.
pub fn signals() -> Result<Stop> {
    Stop::on_signals().map_err(|e| Error::input(format!("signals cannot be handled: {e}"), ""))
}

/// Shows a warning to the person at the terminal; it is not part of the results.
pub fn warn(line: &str) {
    eprintln!("warning: {line}");
}
