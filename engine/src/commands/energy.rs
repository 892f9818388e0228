//! `energy` and `check`: one look at a job, nothing moves.

use super::{job, warn};
use crate::cli::{Energy, Job};
use octitrate::atomic::write_atomic;
use octitrate::config::Config;
use octitrate::device::Choice;
use octitrate::error::Result;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::workflow::many::Many;
use octitrate::workflow::{calibrate, titrate};
use serde_json::json;
use std::fmt::Write;
use std::process::ExitCode;

/// Computes and prints every term at the positions of the structure and the λ of the job.
///
/// # Errors
/// Those of the job and of the computation.
pub fn energy(arguments: &Energy, device: Choice) -> Result<ExitCode> {
    let config = job(&arguments.job, None)?;
    let mut simulation = Simulation::chosen(&one_run(&config)?, &mut device.open()?, &mut warn)?;
    let point = simulation.single_point()?;
    let description = simulation.describe();
    let sites = description.lambdas();
    let method = description.facts.into_iter().find(|(name, _)| name == "Coulomb").map(|(_, method)| method);
    if let Some(path) = &arguments.forces {
        let mut text = String::from("atom,x (kJ/mol/nm),y (kJ/mol/nm),z (kJ/mol/nm)\n");
        for (index, force) in point.forces.iter().enumerate() {
            // 17 digits give back the same number.
            let _ = writeln!(text, "{},{:.16e},{:.16e},{:.16e}", index + 1, force.x, force.y, force.z);
        }
        write_atomic(path, "write the forces", text.as_bytes())?;
    }
    if arguments.json {
        let energies: serde_json::Map<String, serde_json::Value> =
            point.energies.iter().map(|q| (q.name.to_string(), json!({ "value": q.value, "unit": q.unit }))).collect();
        let dvdl: serde_json::Map<String, serde_json::Value> =
            sites.iter().zip(&point.dvdl).map(|(site, dvdl)| (site.clone(), json!(dvdl))).collect();
        println!("{:#}", json!({ "coulomb": method, "energies": energies, "dvdl (kJ/mol)": dvdl }));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(method) = method {
        println!("{method}");
    }
    for quantity in &point.energies {
        println!("{:<28} {:>20.6} {}", quantity.name, quantity.value, quantity.unit);
    }
    for (site, dvdl) in sites.iter().zip(&point.dvdl) {
        println!("{:<28} {dvdl:>20.6} kJ/mol", format!("∂V/∂λ of {site}"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The job itself, or the first run of a titration or calibration.
pub fn one_run(config: &Config) -> Result<Config> {
    Ok(match (&config.titrate, &config.calibrate) {
        (Some(_), _) => titrate::Plan::new(config.clone(), None)?.batch().first().clone(),
        (_, Some(_)) => calibrate::Plan::new(config.clone(), None)?.batch().first().clone(),
        _ => config.clone(),
    })
}

/// Reads a job with all its files and says what it is.
///
/// # Errors
/// Those of the job.
pub fn check(arguments: &Job, device: Choice) -> Result<ExitCode> {
    let config = job(&arguments.job, None)?;
    let description = Simulation::chosen(&one_run(&config)?, &mut device.open()?, &mut warn)?.describe();
    for (name, value) in &description.facts {
        println!("{name:<20} {value}");
    }
    if !description.sites.is_empty() {
        println!("{:<20} {}", "titratable sites", description.site_names().join(", "));
    }
    let length = config.steps() as f64 * config.dynamics.time_step.get();
    let runs = |count: usize, what: &str| format!("{count} {what}, each {length} ps");
    let length = match (&config.titrate, &config.calibrate) {
        (Some(titrate), _) => runs(titrate.ph.to_vec().len() * titrate.replicas as usize, "runs"),
        (_, Some(_)) => runs(calibrate::Plan::new(config.clone(), None)?.batch().children.len(), "windows"),
        _ => format!("{length} ps"),
    };
    println!("{:<20} {length}, time step {}", "length", config.dynamics.time_step);
    println!("{:<20} {}", "results", config.folder().display());
    for warning in &description.warnings {
        println!("warning: {warning}");
    }
    println!("the job can be run");
    Ok(ExitCode::SUCCESS)
}
