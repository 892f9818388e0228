//! Structure and topology of a job, read and checked against each other.

use crate::config::{Boundary, Config};
use crate::error::{Error, Result};
use forcefield::Topology;
use forcefield::gromacs::{self, Structure};
use nalgebra::Vector3;

/// Reads structure and topology of a job.
///
/// # Errors
/// [`Error::Input`] with file and line; structure and topology that do not belong together.
pub fn read(config: &Config) -> Result<(Topology, Structure)> {
    let system = &config.system;
    let defines: Vec<(String, Option<String>)> = system
        .define
        .iter()
        .map(|define| match define.split_once('=') {
            Some((name, value)) => (name.trim().to_string(), Some(value.trim().to_string())),
            None => (define.trim().to_string(), None),
        })
        .collect();
    let types = crate::titration::lj_types(config)?;
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let topology = gromacs::read_topology_keeping(&system.topology, &system.include, &defines, &types)
        .map_err(|e| Error::input(e.to_string(), ""))?;
    let structure = gromacs::read_gro(&system.structure).map_err(|e| Error::input(e.to_string(), ""))?;
    let mismatches = structure.check_against(&topology).map_err(|e| config.error_at("system", e.to_string(), ""))?;
    if let Some(first) = mismatches.first() {
        let message = format!("{} atom names differ between structure and topology; first: {first}", mismatches.len());
        return Err(config.error_at(
            "system",
            message,
            "structure and topology must list the same atoms in the same order",
        ));
    }
    Ok((topology, structure))
}

/// Edges of the periodic box (nm); `None` for open boundaries.
///
/// # Errors
/// Periodic boundaries without a box in the structure.
pub fn edges(config: &Config, structure: &Structure) -> Result<Option<Vector3<f64>>> {
    match (config.electrostatics.boundary, structure.edges) {
        (Boundary::Open, _) => Ok(None),
        (Boundary::Periodic, Some(edges)) => {
            config.check_box(edges)?;
            Ok(Some(edges))
        }
        (Boundary::Periodic, None) => {
            let message = format!("{} has no box", config.system.structure.display());
            Err(config.error_at("electrostatics.boundary", message, "give a box, or boundary = \"open\""))
        }
    }
}
