//! Structure and topology of a job, read and checked against each other.

use crate::config::{Boundary, Config};
use crate::error::{Error, Result};
use forcefield::gromacs::{self, Structure, Symbols};
use forcefield::{Cell, Topology};

/// What the files of a job say.
#[derive(Debug)]
pub struct Input {
    /// Atoms and interactions.
    pub topology: Topology,
    /// Positions, box, velocities.
    pub structure: Structure,
    /// What a person should know of them, one sentence each.
    pub warnings: Vec<String>,
}

/// Reads structure and topology of a job.
///
/// # Errors
/// [`Error::Input`] with file and line; structure and topology that do not belong together.
pub fn read(config: &Config) -> Result<Input> {
    let system = &config.system;
    let defines: Vec<(String, Option<String>)> = system
        .define
        .iter()
        .map(|define| match define.split_once('=') {
            Some((name, value)) => (name.to_string(), Some(value.to_string())),
            None => (define.to_string(), None),
        })
        .collect();
    let types = crate::titration::lj_types(config)?;
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let (topology, symbols) = gromacs::read_topology_keeping(&system.topology, &system.include, &defines, &types)
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
    Ok(Input { topology, structure, warnings: unused(&symbols).into_iter().collect() })
}

/// Warns of names for the preprocessor that change nothing.
fn unused(symbols: &Symbols) -> Option<String> {
    let asked = match &symbols.asked[..] {
        [] => "it asks for none".to_string(),
        names => format!("it asks for {}", names.join(", ")),
    };
    let unused = symbols.unused.join(", ");
    (!unused.is_empty()).then(|| format!("system.define: nothing in the topology asks for {unused} ({asked})"))
}

/// Open space, or the periodic box of the structure.
///
/// # Errors
/// Periodic boundaries without a box in the structure, a box too small for the cut-off, or one without right angles.
pub fn cell(config: &Config, structure: &Structure) -> Result<Cell> {
    let refused = |message: String, help: &str| Err(config.error_at("electrostatics.boundary", message, help));
    let file = config.system.structure.display();
    match (config.electrostatics.boundary, structure.cell) {
        (Boundary::Open, _) => Ok(Cell::Open),
        (Boundary::Periodic, Cell::Open) => refused(format!("{file} has no box"), "give a box, or boundary = \"open\""),
        (Boundary::Periodic, Cell::Periodic(periodic)) if !periodic.is_rectangular() => {
            refused(format!("the box of {file} is triclinic"), "molecular dynamics is for rectangular boxes")
        }
        (Boundary::Periodic, Cell::Periodic(periodic)) => {
            config.check_box(periodic.diagonal())?;
            Ok(structure.cell)
        }
    }
}
