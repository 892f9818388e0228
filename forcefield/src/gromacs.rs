//! Reading GROMACS files: topologies (`.top`, `.itp`) and structures (`.gro`).
//!
//! A topology is read as `gmx grompp` reads it: preprocessor, parameters by type, molecule types, and the molecules of
//! the system. What this program cannot compute is refused with the file and line; nothing is left out silently.
//! Format: GROMACS reference manual 2022.5, chapters "Topologies" and "File formats"; program: DOI 10.1016/j.softx.2015.06.001.

mod dihedral_types;
mod error;
mod exclude;
mod fields;
mod forcefield;
mod gro;
mod molecule;
mod source;
mod system;
mod virtual_sites;

use std::path::{Path, PathBuf};

pub use error::{TopologyError, TopologyProblem};
pub use gro::{StructureError, format_gro, parse_gro, read_gro, write_gro};
pub use source::Symbols;

use crate::topology::Topology;

const BONDS: &str = "1 (harmonic) and 6 (harmonic, without exclusions)";
const CONSTRAINTS: &str = "1 (with exclusions), 2 (without)";
const SETTLES: &str = "1";
const ANGLES: &str = "1 (harmonic), 5 (Urey–Bradley)";
const DIHEDRALS: &str = "1 (periodic), 2 (harmonic improper), 3 (Ryckaert–Bellemans), 4 (periodic improper), \
                         5 (Fourier), 9 (periodic, several terms)";
const PAIRS: &str = "1 (Lennard-Jones and Coulomb)";
const CMAPS: &str = "1";
const POSITION_RESTRAINTS: &str = "1 (harmonic)";

/// Read a topology.
///
/// - `include_dirs`: searched for included files after the directory of the including file and before the directories
///   of the environment variables GMXLIB and GMXDATA and of an installed GROMACS;
/// - `defines`: macros set from outside, such as `("POSRES", None)` or `("FC", Some("1000"))`.
///
/// # Errors
/// [`TopologyError`] with file and line for anything that is wrong, unknown or unsupported.
pub fn read_topology(
    path: &Path,
    include_dirs: &[PathBuf],
    defines: &[(String, Option<String>)],
) -> Result<Topology, TopologyError> {
    Ok(read_topology_keeping(path, include_dirs, defines, &[], None)?.0)
}

/// Reads a topology as [`read_topology`] does and appends the Lennard-Jones types `keep` to its tables, where the force field has them. An
/// atom may get such a type in another form of its residue. The second result tells which of `defines` nothing asked for. With `n_atoms`
/// the system must have so many atoms, and is not made if it has others.
///
/// # Errors
/// The same as those of [`read_topology`]; [`TopologyProblem::AtomCount`]; a type of `keep` that the force field does not have is no error.
pub fn read_topology_keeping(
    path: &Path,
    include_dirs: &[PathBuf],
    defines: &[(String, Option<String>)],
    keep: &[&str],
    n_atoms: Option<usize>,
) -> Result<(Topology, Symbols), TopologyError> {
    let (lines, symbols) = source::read(path, source::search_path(include_dirs), defines)?;
    Ok((system::assemble(path, &lines, keep, n_atoms)?, symbols))
}
