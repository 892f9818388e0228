//! What the checks of all sections share: a mistake with its key, ranges, and times that are whole numbers of steps.
//!
//! A check returns nothing, or the first mistake it finds. The mistake names its key; [`super::Config::locate`] adds the place in the file.

use super::output::job_that_writes;
use super::quantity::{Dimension, Quantity, Temperature, Time};
use crate::error::InputError;
use std::fmt::Display;
use std::path::{Component, Path, PathBuf};

/// Nothing, or the mistake with its key.
pub(super) type Check = Result<(), Box<InputError>>;

/// A mistake at this key; `help` says what to do about it.
pub(super) fn wrong(key: &str, message: impl Into<String>, help: impl Into<String>) -> Box<InputError> {
    Box::new(InputError::new(message, help).at_key(key))
}

/// A mistake unless the condition `holds`: what was `found`, and what would be `valid`.
pub(super) fn require(holds: bool, key: &str, found: impl Display, valid: &str) -> Check {
    if holds { Ok(()) } else { Err(wrong(key, format!("found {found}"), format!("valid is {valid}"))) }
}

/// A mistake unless the value is above zero.
pub(super) fn positive<D: Dimension>(key: &str, value: Quantity<D>) -> Check {
    require(value.get() > 0.0, key, value, &format!("{} above zero, such as \"{}\"", D::NAME, D::EXAMPLE))
}

/// Highest temperature (K) that any force field can be meant at: molecules have fallen apart long before.
const HOTTEST: f64 = 10_000.0;
/// pH values that are possible at all: concentrated acids reach about -3, lyes about 16.
const PH: std::ops::RangeInclusive<f64> = -5.0..=20.0;

/// A mistake unless the temperature is above zero and below that at which no molecule is left.
pub(super) fn temperature(key: &str, value: Temperature) -> Check {
    positive(key, value)?;
    let valid = format!("a temperature up to {HOTTEST} K; is a digit too many?");
    require(value.get() <= HOTTEST, key, value, &valid)
}

/// A mistake unless the pH is one that a solution can have.
pub(super) fn ph(key: &str, value: f64) -> Check {
    let valid = format!("a pH from {} to {}", PH.start(), PH.end());
    require(PH.contains(&value), key, value, &valid)
}

/// A mistake if the value is below zero.
pub(super) fn not_negative<D: Dimension>(key: &str, value: Quantity<D>) -> Check {
    require(value.get() >= 0.0, key, value, &format!("{}, zero or more, such as \"{}\"", D::NAME, D::EXAMPLE))
}

/// A time as a whole number of steps; a mistake with the nearest valid times if it is none.
pub(super) fn whole_steps(key: &str, time: Time, step: Time) -> Result<u64, Box<InputError>> {
    let steps = time.get() / step.get();
    let rounded = steps.round();
    // More than numbers of 53 bits count is centuries of work.
    require(rounded <= 9e15, key, time, "a time of less than 9e15 steps")?;
    // Times and steps are decimal texts: their ratio is whole to rounding or not at all.
    if (steps - rounded).abs() > 1e-6 * steps.max(1.0) {
        let near = |count: f64| Time::new((count * step.get() * 1e9).round() / 1e9);
        let message = format!("found {time}, which is not a whole number of time steps of {step}");
        return Err(wrong(key, message, format!("the nearest are {} and {}", near(steps.floor()), near(steps.ceil()))));
    }
    Ok(rounded as u64)
}

/// A mistake unless there is a file at this path.
pub(super) fn exists(key: &str, path: &Path, valid: &str) -> Check {
    if path.is_file() {
        return Ok(());
    }
    let message = if path.is_dir() {
        format!("{} is a folder", path.display())
    } else {
        format!("there is no file {}", path.display())
    };
    let made = made_by(path).map(|command| format!("; {command} makes it")).unwrap_or_default();
    Err(wrong(key, message, format!("valid is {valid}, relative to the job file{made}")))
}

/// The command that makes the last structure of a run in the folder of the results of a job, or in a folder below it: `equilibrate/final.gro` is that of `equilibrate.toml`.
fn made_by(path: &Path) -> Option<String> {
    path.file_name().filter(|name| *name == "final.gro")?;
    let job = path.ancestors().skip(1).take(2).find_map(job_that_writes)?;
    let sections: toml::Table = std::fs::read_to_string(&job).ok()?.parse().ok()?;
    let command = ["titrate", "calibrate"].into_iter().find(|name| sections.contains_key(*name)).unwrap_or("run");
    Some(format!("octitrate {command} {}", job.display()))
}

/// Makes a path that is relative to `folder` absolute, so that the resolved job can stand anywhere.
pub(super) fn make_absolute(folder: &Path, path: &mut PathBuf) {
    *path = tidy(&folder.join(&*path));
}

/// The path without `.` and `x/..`, so that messages read well.
fn tidy(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_of_a_job_beside_it_is_said_to_be_made_by_it() {
        let place = temp_dir::TempDir::new().unwrap();
        let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
        write("equilibrate.toml", "[dynamics]\nduration = \"1 ns\"");
        write("calibrate.toml", "[calibrate]\n");
        write("elsewhere.toml", "[output]\nfolder = \"results\"");
        let help = |name: &str| {
            let mistake = exists("system.structure", &place.path().join(name), "a .gro file").unwrap_err();
            mistake.help.replace(&format!("{}/", place.path().display()), "")
        };
        let valid = "valid is a .gro file, relative to the job file";
        assert_eq!(help("equilibrate/final.gro"), format!("{valid}; octitrate run equilibrate.toml makes it"));
        let calibrate = format!("{valid}; octitrate calibrate calibrate.toml makes it");
        assert_eq!(help("calibrate/conformer_1/final.gro"), calibrate);
        assert_eq!(help("equilibrate/system.gro"), valid);
        assert_eq!(help("other/final.gro"), valid);
        assert_eq!(help("elsewhere/final.gro"), valid);
    }
}
