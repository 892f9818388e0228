//! Whose names a topology has: CHARMM and OPLS-AA are recognised, so that a message can say that the library is for another force field.
//!
//! A residue of another force field lacks atoms or has other charges, and advice to build it protonated would be wrong. Evidence are names
//! of atom types ("opls_238"), Urey–Bradley terms and the amide hydrogen HN (CHARMM), and names of residues that only CHARMM has.
//! Names as in GROMACS 2022.5: charmm27.ff and oplsaa.ff, aminoacids.rtp and aminoacids.r2b; charmm36.ff of July 2022.

use forcefield::Topology;

use super::{ResidueNames, SiteError};
use crate::library::Entry;

/// Residue names that only CHARMM has.
const CHARMM: [&str; 7] = ["HSP", "HSD", "HSE", "GLUP", "ASPP", "LSN", "CYSD"];

/// The error as it is, or that the residue is of another force field than the entry, with the error as its reason.
pub(super) fn foreign(names: &ResidueNames<'_>, entry: &Entry, residue: u32, error: SiteError) -> SiteError {
    let Some((name, evidence)) = force_field(names.topology(), residue) else { return error };
    if entry.force_field.to_ascii_lowercase().contains(&name.to_ascii_lowercase()[..4]) {
        return error;
    }
    SiteError::ForeignForceField {
        residue: names.of(residue).to_string(),
        of: format!("{name}, as {evidence} shows"),
        entry: entry.name.clone(),
        force_field: entry.force_field.clone(),
        reason: error.reason(),
    }
}

/// The force field that the names of a residue are of, and what shows it; `None` for AMBER and for what is not known.
fn force_field(topology: &Topology, residue: u32) -> Option<(&'static str, String)> {
    let residue = &topology.residues[residue as usize];
    let mut atoms = topology.atoms[residue.atoms.start as usize..residue.atoms.end as usize].iter();
    let type_name = |atom: &forcefield::topology::Atom| topology.atom_types.get(atom.type_index as usize);
    if let Some(found) = atoms.clone().filter_map(type_name).find(|found| found.name.starts_with("opls_")) {
        return Some(("OPLS-AA", format!("its atom type {}", found.name)));
    }
    if CHARMM.contains(&residue.name.as_str()) {
        return Some(("CHARMM", format!("its residue name {}", residue.name)));
    }
    if atoms.any(|atom| atom.name == "HN") {
        return Some(("CHARMM", "its atom HN".into()));
    }
    (!topology.urey_bradley.is_empty()).then(|| ("CHARMM", "an angle of Urey and Bradley".into()))
}
