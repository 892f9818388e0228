//! Ranges, contradictions and derived values of a job.

use super::check_sites::sites;
use super::check_titration::workflows;
use super::{Config, Depth, Modifier, Precision, Velocities};
use crate::error::InputError;
use std::path::Path;

/// Nothing, or the mistake with its key.
pub(super) type Check = Result<(), Box<InputError>>;

/// Checks every value and fills in those that follow from others.
pub(super) fn resolve(config: &mut Config, path: &Path) -> Check {
    ranges(config)?;
    electrostatics(config)?;
    length(config)?;
    van_der_waals(config)?;
    temperatures(config)?;
    workflows(config)?;
    sites(config)?;
    intervals(config)?;
    paths(config, path)
}

pub(super) fn wrong(key: &str, message: impl Into<String>, help: impl Into<String>) -> Box<InputError> {
    Box::new(InputError::new(message, help).at_key(key))
}

pub(super) fn require(holds: bool, key: &str, found: impl std::fmt::Display, valid: &str) -> Check {
    if holds { Ok(()) } else { Err(wrong(key, format!("found {found}"), format!("valid is {valid}"))) }
}

pub(super) fn positive<D: super::quantity::Dimension>(key: &str, value: super::Quantity<D>) -> Check {
    require(value.get() > 0.0, key, value, &format!("{} above zero, such as \"{}\"", D::NAME, D::EXAMPLE))
}

pub(super) fn not_negative<D: super::quantity::Dimension>(key: &str, value: super::Quantity<D>) -> Check {
    require(value.get() >= 0.0, key, value, &format!("{}, zero or more, such as \"{}\"", D::NAME, D::EXAMPLE))
}

fn ranges(config: &Config) -> Check {
    positive("van_der_waals.cutoff", config.van_der_waals.cutoff)?;
    not_negative("neighbour_list.buffer", config.neighbour_list.buffer)?;
    positive("dynamics.time_step", config.dynamics.time_step)?;
    if let Some(temperature) = config.dynamics.velocity_temperature {
        not_negative("dynamics.velocity_temperature", temperature)?;
    }
    if let Some(thermostat) = &config.thermostat {
        positive("thermostat.temperature", thermostat.temperature)?;
        positive("thermostat.coupling_time", thermostat.coupling_time)?;
    }
    if let Some(barostat) = &config.barostat {
        positive("barostat.coupling_time", barostat.coupling_time)?;
        positive("barostat.compressibility", barostat.compressibility)?;
        require(barostat.interval > 0, "barostat.interval", barostat.interval, "a whole number of steps, 1 or more")?;
    }
    if let Some(minimise) = &config.minimise {
        positive("minimise.force_tolerance", minimise.force_tolerance)?;
        positive("minimise.initial_step", minimise.initial_step)?;
    }
    Ok(())
}

/// `tolerance`, or `order` with its expert keys; afterwards either the tolerance or all of them are set.
fn electrostatics(config: &mut Config) -> Check {
    let fmm = &mut config.electrostatics;
    let Some(tolerance) = fmm.tolerance else {
        let order = *fmm.order.get_or_insert(super::Electrostatics::DEFAULT_ORDER);
        let valid = format!("a whole number from 0 to {}", fmm::MAX_ORDER);
        require(order as usize <= fmm::MAX_ORDER, "electrostatics.order", order, &valid)?;
        let separation = *fmm.separation.get_or_insert(super::Electrostatics::DEFAULT_SEPARATION);
        let valid = "a number from 1 to 4 box diameters; 1.12: boxes that touch, 1.7: up to two boxes apart";
        return require((1.0..=4.0).contains(&separation), "electrostatics.separation", separation, valid);
    };
    let given =
        [("order", fmm.order.is_some()), ("separation", fmm.separation.is_some()), ("depth", fmm.depth != Depth::Auto)];
    if let Some((key, _)) = given.into_iter().find(|(_, given)| *given) {
        let message = format!("both `tolerance` and `{key}` are given");
        let help = format!("remove `{key}`, which the tolerance chooses, or remove `tolerance`");
        return Err(wrong(&format!("electrostatics.{key}"), message, help));
    }
    let (least, precision, hint) = match fmm.precision {
        Precision::Single => (1e-6, "single", ", smaller ones with precision = \"double\""),
        Precision::Double => (1e-12, "double", ""),
    };
    let valid = format!("a relative force error from {least:e} to 0.1 in {precision} precision{hint}");
    require((least..=0.1).contains(&tolerance), "electrostatics.tolerance", format!("{tolerance:e}"), &valid)
}

/// `duration` or `steps`, not both; afterwards `steps` is set.
fn length(config: &mut Config) -> Check {
    let dynamics = &mut config.dynamics;
    let Some(duration) = dynamics.duration else {
        dynamics.steps.get_or_insert(0);
        return Ok(());
    };
    not_negative("dynamics.duration", duration)?;
    if dynamics.steps.is_some() {
        let help = "give one of the two";
        return Err(wrong("dynamics.steps", "both `duration` and `steps` are given", help));
    }
    dynamics.steps = Some(whole_steps("dynamics.duration", duration, dynamics.time_step)?);
    dynamics.duration = None;
    Ok(())
}

/// A time as a whole number of steps.
pub(super) fn whole_steps(
    key: &str,
    time: super::quantity::Time,
    step: super::quantity::Time,
) -> Result<u64, Box<InputError>> {
    let steps = time.get() / step.get();
    let rounded = steps.round();
    // Times and steps are decimal texts: their ratio is whole to rounding or not at all.
    if (steps - rounded).abs() > 1e-6 * steps.max(1.0) {
        let near = |count: f64| super::quantity::Time::new((count * step.get() * 1e9).round() / 1e9);
        let message = format!("found {time}, which is not a whole number of time steps of {step}");
        return Err(wrong(key, message, format!("the nearest are {} and {}", near(steps.floor()), near(steps.ceil()))));
    }
    Ok(rounded as u64)
}

fn van_der_waals(config: &mut Config) -> Check {
    let vdw = &mut config.van_der_waals;
    let key = "van_der_waals.switch_start";
    match (vdw.modifier, vdw.switch_start) {
        (Modifier::ForceSwitch, start) => {
            let start = *vdw
                .switch_start
                .insert(start.unwrap_or(super::quantity::Length::new((vdw.cutoff.get() - 0.2).max(0.0))));
            let inside = start.get() >= 0.0 && start.get() < vdw.cutoff.get();
            require(inside, key, start, &format!("a length from zero to below the cut-off of {}", vdw.cutoff))
        }
        (_, Some(_)) => {
            let help = "remove it, or set modifier = \"force-switch\"";
            Err(wrong(key, "`switch_start` has no meaning without the force switch", help))
        }
        _ => Ok(()),
    }
}

fn temperatures(config: &mut Config) -> Check {
    let bath = config.thermostat.as_ref().map(|thermostat| thermostat.temperature);
    if config.barostat.is_some() && bath.is_none() {
        let help = "add [thermostat] temperature = \"300 K\"";
        return Err(wrong("barostat", "a barostat needs a thermostat, and the section [thermostat] is missing", help));
    }
    if config.barostat.is_some() && config.electrostatics.boundary == super::Boundary::Open {
        let help = "remove [barostat], or set electrostatics.boundary = \"periodic\"";
        return Err(wrong("barostat", "an open system has no volume to scale", help));
    }
    let dynamics = &mut config.dynamics;
    dynamics.velocity_temperature = dynamics.velocity_temperature.or(bath);
    if dynamics.velocities == Velocities::Generate && dynamics.velocity_temperature.is_none() {
        let message = "velocities are to be generated, but no temperature is given";
        return Err(wrong(
            "dynamics.velocities",
            message,
            "add [thermostat], or dynamics.velocity_temperature = \"300 K\"",
        ));
    }
    if let Some(titration) = &mut config.titration {
        titration.temperature = titration.temperature.or(bath);
        if titration.temperature.is_none() {
            let help = "add [thermostat], or titration.temperature = \"300 K\"";
            return Err(wrong("titration", "λ-dynamics needs a temperature", help));
        }
    }
    Ok(())
}

fn intervals(config: &Config) -> Check {
    let output = &config.output;
    let step = config.dynamics.time_step;
    let intervals =
        [("energy", output.energy), ("lambda", output.lambda), ("trajectory", output.trajectory), ("log", output.log)];
    for (name, time) in intervals {
        let key = format!("output.{name}");
        not_negative(&key, time)?;
        whole_steps(&key, time, step)?;
    }
    positive("output.checkpoint", output.checkpoint)?;
    let lambda_needed = config.titrate.is_some() || config.calibrate.is_some();
    require(
        !lambda_needed || output.lambda.get() > 0.0,
        "output.lambda",
        output.lambda,
        "a time above zero: the workflow reads lambda.csv",
    )
}

/// Makes paths absolute, so that the resolved job can stand anywhere.
fn paths(config: &mut Config, path: &Path) -> Check {
    let file = std::path::absolute(path)
        .map_err(|e| Box::new(InputError::new(format!("the working folder is not usable: {e}"), "")))?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    let absolute = |path: &mut std::path::PathBuf| *path = tidy(&folder.join(&*path));
    let system = &mut config.system;
    absolute(&mut system.structure);
    absolute(&mut system.topology);
    system.include.iter_mut().for_each(absolute);
    config.titration.iter_mut().flat_map(|titration| &mut titration.library).for_each(absolute);
    if config.output.folder.as_os_str().is_empty() {
        config.output.folder = file.with_extension("");
        require(
            config.output.folder != file,
            "output.folder",
            "a job file without the ending .toml",
            "a name for the folder of the results",
        )?;
    }
    absolute(&mut config.output.folder);
    exists("system.structure", &config.system.structure, "a GROMACS structure, .gro")?;
    exists("system.topology", &config.system.topology, "a GROMACS topology, .top")
}

fn exists(key: &str, path: &Path, valid: &str) -> Check {
    let message = if path.is_dir() {
        format!("{} is a folder", path.display())
    } else {
        format!("there is no file {}", path.display())
    };
    if path.is_file() {
        Ok(())
    } else {
        Err(wrong(key, message, format!("valid is {valid}, relative to the job file")))
    }
}

/// Without `.` and `x/..`, so that messages read well.
fn tidy(path: &Path) -> std::path::PathBuf {
    let mut out = std::path::PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}
