//! `energy`: every term at the positions of the structure; nothing moves.

use super::arguments::EnergyArguments;
use super::job::{job, make_room_for_file, one_run, warn};
use octitrate::atomic::write_atomic;
use octitrate::backend::choice::Choice;
use octitrate::error::Result;
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use serde_json::json;
use std::fmt::Write;
use std::process::ExitCode;

/// First line of the table of forces.
const FORCES: &str = "atom,x (kJ/mol/nm),y (kJ/mol/nm),z (kJ/mol/nm)";

/// Computes and prints every term at the positions of the structure and the λ of the job.
///
/// # Errors
/// A job that is not valid, energies that are not finite, a file of forces that cannot be written.
pub fn energy(arguments: &EnergyArguments, device: Choice) -> Result<ExitCode> {
    let config = job(&arguments.job, None)?;
    if let Some(path) = &arguments.forces {
        make_room_for_file(&config, path, FORCES, arguments.force)?;
    }
    let mut simulation = Simulation::chosen(&one_run(&config)?, &mut device.open()?, &mut warn)?;
    let point = simulation.single_point()?;
    if let Some(hint) = simulation.large_force(&point.forces) {
        warn(&hint);
    }
    let description = simulation.describe();
    description.warnings.iter().for_each(|line| warn(line));
    let sites = description.lambdas();
    let lambda = simulation.frame(Wanted::default())?.lambda;
    let method = description.facts.into_iter().find(|(name, _)| name == "Coulomb").map(|(_, method)| method);
    if let Some(path) = &arguments.forces {
        let mut text = format!("{FORCES}\n");
        for (index, force) in point.forces.iter().enumerate() {
            // 17 digits give back the same number.
            let _ = writeln!(text, "{},{:.16e},{:.16e},{:.16e}", index + 1, force.x, force.y, force.z);
        }
        write_atomic(path, "write the forces", text.as_bytes())?;
    }
    if arguments.json {
        let energies: serde_json::Map<String, serde_json::Value> =
            point.energies.iter().map(|q| (q.name.to_string(), json!({ "value": q.value, "unit": q.unit }))).collect();
        let of_sites = |values: &[f64]| -> serde_json::Map<String, serde_json::Value> {
            sites.iter().zip(values).map(|(site, value)| (site.clone(), json!(value))).collect()
        };
        let (lambda, dvdl) = (of_sites(&lambda), of_sites(&point.dvdl));
        line!("{:#}", json!({ "coulomb": method, "energies": energies, "lambda": lambda, "dvdl (kJ/mol)": dvdl }));
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(method) = method {
        line!("{method}");
    }
    for quantity in &point.energies {
        line!("{:<28} {:>20.6} {}", quantity.name, quantity.value, quantity.unit);
    }
    for (site, lambda) in sites.iter().zip(&lambda) {
        line!("{:<28} {lambda:>20.6}", format!("λ of {site}"));
    }
    for (site, dvdl) in sites.iter().zip(&point.dvdl) {
        line!("{:<28} {dvdl:>20.6} kJ/mol", format!("∂V/∂λ of {site}"));
    }
    Ok(ExitCode::SUCCESS)
}
