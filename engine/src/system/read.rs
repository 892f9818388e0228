//! Structure and topology of a job, read and checked against each other.

use super::masses::move_to_hydrogens;
use crate::config::{Boundary, Config};
use crate::error::{Error, Result};
use crate::record::counted;
use crate::trajectory::{Frames, StoredFrame};
use forcefield::cell::PeriodicBox;
use forcefield::gromacs::{self, Symbols, TopologyProblem};
use forcefield::openmm::{self, SystemXml, SystemXmlProblem};
use forcefield::structure::{NameMismatch, Structure};
use forcefield::{Cell, Topology};
use std::path::Path;

/// What the files of a job say.
#[derive(Debug)]
pub struct Input {
    /// Atoms and interactions.
    pub topology: Topology,
    /// Positions, box, velocities.
    pub structure: Structure,
    /// What a person should know of them, one sentence each.
    pub warnings: Vec<String>,
    /// What the topology says and the job decides otherwise, for the log, one sentence each.
    pub notes: Vec<String>,
    /// 1-4 pairs of which one charge is zero and whose factor is not known ([`SystemXml::unknown_factors`]).
    pub unknown_factors: Vec<[u32; 2]>,
}

/// Reads structure and topology of a job; positions, velocities and box are those of its frame if it names one.
///
/// # Errors
/// [`Error::Input`] with file and line; structure and topology that do not belong together; a frame that is not there, or of other atoms.
pub fn read(config: &Config) -> Result<Input> {
    let system = &config.system;
    let types = crate::titration::lj_types(config)?;
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    let mut structure = gromacs::read_gro(&system.structure).map_err(Error::of_structure)?;
    let Found { mut topology, symbols, notes, unknown_factors } = if system.has_system_xml() {
        system_xml(config, &structure, &types)?
    } else {
        gromacs_topology(config, structure.positions.len(), &types)?
    };
    let mismatches = structure.check_against(&topology).map_err(|e| config.error_at("system", e.to_string(), ""))?;
    if let Some(first) = mismatches.first() {
        let message = format!("{} atom names differ between structure and topology; first: {first}", mismatches.len());
        let help = "structure and topology must list the same atoms in the same order";
        return Err(config.error_at("system", message, format!("{help}{}", naming(&mismatches))));
    }
    if let Some(target) = config.dynamics.hydrogen_mass {
        move_to_hydrogens(&mut topology, target.get()).map_err(|(atom, mass)| {
            let message = format!("{atom} would have {mass:.3} u, less than its hydrogens of {target}");
            config.error_at("dynamics.hydrogen_mass", message, "take a smaller mass, such as \"3 u\"")
        })?;
    }
    if let Some(path) = &system.frame {
        let frame = Frames::open(path)?.find(system.frame_time.map(|time| time.get()))?;
        start_from(config, path, frame, &mut structure)?;
    }
    Ok(Input { topology, structure, warnings: unused(&symbols).into_iter().collect(), notes, unknown_factors })
}

/// What one kind of topology says.
struct Found {
    topology: Topology,
    symbols: Symbols,
    notes: Vec<String>,
    unknown_factors: Vec<[u32; 2]>,
}

/// The names that the job defines, with their values.
fn defines(config: &Config) -> Vec<(String, Option<String>)> {
    let split = |define: &String| match define.split_once('=') {
        Some((name, value)) => (name.to_string(), Some(value.to_string())),
        None => (define.clone(), None),
    };
    config.system.define.iter().map(split).collect()
}

fn do_not_belong_together(config: &Config, structure: usize, topology: u128) -> Error {
    let text = format!(
        "the structure has {}, but the topology has {topology}: they do not belong together",
        counted(structure, "atom")
    );
    config.error_at("system", text, "")
}

fn gromacs_topology(config: &Config, n_atoms: usize, types: &[&str]) -> Result<Found> {
    let system = &config.system;
    let read =
        gromacs::read_topology_keeping(&system.topology, &system.include, &defines(config), types, Some(n_atoms));
    let (topology, symbols) = read.map_err(|e| match *e.problem {
        TopologyProblem::AtomCount { found, wanted } => do_not_belong_together(config, wanted, found),
        _ => Error::input(e.to_string(), ""),
    })?;
    Ok(Found { topology, symbols, notes: Vec::new(), unknown_factors: Vec::new() })
}

fn system_xml(config: &Config, structure: &Structure, types: &[&str]) -> Result<Found> {
    let SystemXml { topology, cell, mut notes, unknown_factors } =
        openmm::read_system(&config.system.topology, structure, types).map_err(|e| match *e.problem {
            SystemXmlProblem::AtomCount { found, wanted } => do_not_belong_together(config, wanted, found as u128),
            _ => Error::input(e.to_string(), ""),
        })?;
    if config.electrostatics.boundary == Boundary::Periodic {
        notes.extend(other_box(&cell, &structure.cell));
    }
    let unused = defines(config).into_iter().map(|(name, _)| name).collect();
    Ok(Found { topology, symbols: Symbols { unused, asked: Vec::new() }, notes, unknown_factors })
}

/// Says that a system has another box than the structure, whose is taken. Files of structures round to 1e-5 nm, some to 1e-3.
fn other_box(of_system: &Cell, of_structure: &Cell) -> Option<String> {
    let (Cell::Periodic(theirs), Cell::Periodic(ours)) = (of_system, of_structure) else { return None };
    let differ = theirs.packed().iter().zip(ours.packed()).any(|(a, b)| (a - b).abs() > 1e-3);
    let edges = |one: &PeriodicBox| one.packed().map(|x| format!("{x:.4}")).join(" ");
    differ.then(|| {
        let (theirs, ours) = (edges(theirs), edges(ours));
        format!("its box (a_x b_y c_z b_x c_x c_y: {theirs} nm) is not that of the structure ({ours} nm), which counts")
    })
}

/// Names of AMBER and of the PDB with those of GROMACS for the same atoms.
const AMBER: [(&str, &str); 18] = [
    ("HB3", "HB2"),
    ("HB2", "HB1"),
    ("HG3", "HG2"),
    ("HG2", "HG1"),
    ("HD3", "HD2"),
    ("HD2", "HD1"),
    ("HE3", "HE2"),
    ("HE2", "HE1"),
    ("HA3", "HA2"),
    ("HA2", "HA1"),
    ("HG13", "HG12"),
    ("HG12", "HG11"),
    ("CD1", "CD"),
    ("HD11", "HD1"),
    ("HD12", "HD2"),
    ("HD13", "HD3"),
    ("O", "OC1"),
    ("OXT", "OC2"),
];
/// Names of CHARMM with those of AMBER force fields in GROMACS.
const CHARMM: [(&str, &str); 6] =
    [("HN", "H"), ("OT1", "OC1"), ("OT2", "OC2"), ("HT1", "H1"), ("HT2", "H2"), ("HT3", "H3")];

/// Whose names structure and topology have, if all that differ are other names of the same atoms.
fn naming(mismatches: &[NameMismatch]) -> &'static str {
    let all = |table: &[(&str, &str)], turned: bool| {
        mismatches.iter().all(|one| {
            let (a, b) = (one.structure.as_str(), one.topology_atom.as_str());
            table.contains(&if turned { (b, a) } else { (a, b) })
        })
    };
    match () {
        () if all(&AMBER, false) => {
            "; the structure has names of AMBER and the PDB (HB2 and HB3, CD1), the topology those of GROMACS (HB1 and HB2, CD)"
        }
        () if all(&AMBER, true) => {
            "; the topology has names of AMBER and the PDB (HB2 and HB3, CD1), the structure those of GROMACS (HB1 and HB2, CD)"
        }
        () if all(&CHARMM, false) => {
            "; the structure has names of CHARMM (HN, OT1), the topology those of AMBER (H, OC1)"
        }
        () if all(&CHARMM, true) => {
            "; the topology has names of CHARMM (HN, OT1), the structure those of AMBER (H, OC1)"
        }
        () => "",
    }
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

/// Puts positions, velocities and box of a frame in place of those of the structure.
fn start_from(config: &Config, path: &Path, frame: StoredFrame, structure: &mut Structure) -> Result<()> {
    let (found, needed) = (frame.positions.len(), structure.positions.len());
    if found != needed {
        let message = format!("the frames of {} have {found} atoms, the system has {needed}", path.display());
        let help = "a run starts from all its atoms: take trajectory.trr, or a trajectory of output.trajectory_atoms = \"all\"";
        return Err(config.error_at("system.frame", message, help));
    }
    structure.positions = frame.positions;
    structure.velocities = (!frame.velocities.is_empty()).then_some(frame.velocities);
    structure.cell = frame.cell;
    Ok(())
}

/// Open space, or the periodic box of the structure.
///
/// # Errors
/// As [`cell_of`].
pub fn cell(config: &Config, structure: &Structure) -> Result<Cell> {
    cell_of(config, structure.cell, config.system.frame.as_ref().unwrap_or(&config.system.structure))
}

/// Open space, or the periodic box that the file `path` gives.
///
/// # Errors
/// Periodic boundaries without a box in the file, or a box too small for the cut-off.
pub fn cell_of(config: &Config, found: Cell, path: &Path) -> Result<Cell> {
    let refused = |message: String, help: &str| Err(config.error_at("electrostatics.boundary", message, help));
    let file = path.display();
    match (config.electrostatics.boundary, found) {
        (Boundary::Open, _) => Ok(Cell::Open),
        (Boundary::Periodic, Cell::Open) => refused(format!("{file} has no box"), "give a box, or boundary = \"open\""),
        (Boundary::Periodic, Cell::Periodic(periodic)) => {
            config.check_box(&periodic)?;
            Ok(found)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_naming_of_a_structure_is_told() {
        let differ = |pairs: &[(&str, &str)]| -> Vec<NameMismatch> {
            let one = |&(structure, atom): &(&str, &str)| NameMismatch {
                atom: 0,
                structure: structure.into(),
                topology_atom: atom.into(),
                topology: String::new(),
            };
            pairs.iter().map(one).collect()
        };
        let amber = [("HB2", "HB1"), ("HB3", "HB2"), ("CD1", "CD")];
        assert!(naming(&differ(&amber)).contains("the structure has names of AMBER"));
        assert!(naming(&differ(&amber.map(|(a, b)| (b, a)))).contains("the topology has names of AMBER"));
        assert!(naming(&differ(&[("HN", "H")])).contains("the structure has names of CHARMM"));
        // One atom that is another one is no matter of names.
        assert_eq!(naming(&differ(&[("HB2", "HB1"), ("OG", "SG")])), "");
    }
}
