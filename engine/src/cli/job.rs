//! Jobs as commands read them, and signals.

use octitrate::config::Config;
use octitrate::error::{Error, InputError, Result};
use octitrate::output::screen;
use octitrate::signals::Stop;
use octitrate::workflow::calibrate::CalibrationPlan;
use octitrate::workflow::folder::move_aside;
use octitrate::workflow::many::Many;
use octitrate::workflow::titrate::TitrationPlan;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Reads a job; its results go to `output` if given.
///
/// # Errors
/// [`Error::File`] if the job cannot be read or the folder cannot be used, [`Error::Input`] if the job is not valid.
pub fn job(path: &Path, output: Option<&Path>) -> Result<Config> {
    with_results_in(output, Config::load(path)?)
}

/// The job with its results in `output`, if given.
///
/// # Errors
/// [`Error::File`] if the folder cannot be used.
pub fn with_results_in(output: Option<&Path>, mut config: Config) -> Result<Config> {
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

/// Refuses jobs that are made of many runs, and those in which nothing would happen.
///
/// # Errors
/// [`Error::Input`] at the section.
pub fn check_is_one_run(config: &Config) -> Result<()> {
    for (name, present) in [("titrate", config.titrate.is_some()), ("calibrate", config.calibrate.is_some())] {
        if present {
            let message = format!("this job is made of many runs: it has a section [{name}]");
            let help = format!("start it with: octitrate {name} {}", config.path().display());
            return Err(config.error_at(name, message, help));
        }
    }
    if config.steps() == 0 && config.minimise.is_none() {
        let help = "set dynamics.duration, for example \"10 ps\"";
        return Err(config.error_at("dynamics", "the run has no length", help));
    }
    Ok(())
}

/// This program, to be started again.
///
/// # Errors
/// [`Error::Input`] if the system does not say.
pub fn executable() -> Result<PathBuf> {
    std::env::current_exe().map_err(|e| Error::input(format!("this program cannot find itself: {e}"), ""))
}

/// Listens to signals from now on, and stops in time for the limit `max_hours` and for the end of the Slurm job, if there are any. A run `on_leash`
/// leaves the end of the job to the program that started it, which would take a run that stops by itself for one that failed.
///
/// # Errors
/// [`Error::Input`] if the system does not allow it.
pub fn signals(max_hours: Option<f64>, on_leash: bool) -> Result<Stop> {
    let mut stop = Stop::on_signals().map_err(|e| Error::input(format!("signals cannot be handled: {e}"), ""))?;
    let asked = max_hours.map(|hours| Duration::from_secs_f64(3600.0 * hours));
    let end = std::env::var("SLURM_JOB_END_TIME").ok().filter(|_| !on_leash);
    for limit in [asked, time_in_queue(end.as_deref())].into_iter().flatten() {
        stop = stop.within(limit);
    }
    Ok(stop)
}

/// Time until the end of a Slurm job, whose time Slurm gives in seconds since 1970.
fn time_in_queue(end: Option<&str>) -> Option<Duration> {
    let end = Duration::from_secs(end?.trim().parse().ok()?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(end.saturating_sub(now))
}

/// Refuses a file in the place of a folder of results, and names that folder if the file is a job.
///
/// # Errors
/// [`Error::Input`] for a file.
pub fn refuse_a_job(path: &Path) -> Result<()> {
    if !path.is_file() {
        return Ok(());
    }
    let help = match Config::load(path) {
        Ok(config) => format!("name the folder of its results, {}", config.folder().display()),
        Err(_) => "name the folder of a job, or those of its runs".to_string(),
    };
    Err(Error::input(format!("{} is a file, and folders are evaluated", path.display()), help))
}

/// With `force`, moves what is at the place of the results aside and says so.
///
/// # Errors
/// [`Error::Input`] if an input of the job lies there, [`Error::File`] if it cannot be moved.
pub fn make_room(config: &Config, path: &Path, force: bool) -> Result<()> {
    if force && let Some(aside) = move_aside(path, &config.inputs())? {
        screen::show(&format!("{} is {} now\n", path.display(), aside.display()));
    }
    Ok(())
}

/// Refuses to write a result over a file that is not an earlier one of its kind, which begins with `heading`; with `force` it is moved aside.
///
/// # Errors
/// [`Error::Input`] that names the file.
pub fn make_room_for_file(config: &Config, path: &Path, heading: &str, force: bool) -> Result<()> {
    make_room(config, path, force)?;
    let found = match std::fs::read(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(|e| Error::file(path, "write", e))?,
    };
    if found.is_empty() || found.starts_with(heading.as_bytes()) {
        return Ok(());
    }
    let help = "choose another file, or --force to move this one aside";
    Err(InputError::new("there is another file of this name, which would be lost", help).in_file(path).into())
}

/// Shows a warning to the person at the terminal; it is not part of the results.
pub fn warn(line: &str) {
    screen::show(&format!("warning: {line}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_queue_is_a_time_from_now() {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let left = time_in_queue(Some(&format!("{}", now + 3600))).unwrap().as_secs();
        assert!((3590..=3600).contains(&left), "{left}");
        assert_eq!(time_in_queue(Some("1")), Some(Duration::ZERO));
        assert_eq!((time_in_queue(Some("tomorrow")), time_in_queue(None)), (None, None));
    }
}
