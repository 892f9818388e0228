//! Titratable sites of a system: residues of an unmodified topology that the library knows.
//!
//! A residue is matched by its name, then atom by atom: it must hold every atom of the entry and no other, with the charges
//! of form 0 (protonated). That catches residues built without the proton, terminal residues, and other force fields.

use std::collections::BTreeMap;
use std::str::FromStr;

use forcefield::Topology;
use thiserror::Error;

use crate::library::{Correction, Entry, SiteLibrary};

/// Largest deviation (e) of a topology's charge from the library's: files carry four or more decimals.
const CHARGE_TOLERANCE: f64 = 5e-5;

/// Why a site cannot be set up.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SiteError {
    /// The residue lacks an atom.
    #[error(
        "residue {residue} has no atom {atom}, which the titratable {entry} needs: build it protonated \
         (gmx pdb2gmx -{entry}, or name it {protonated} in the input)"
    )]
    MissingAtom {
        /// Residue as "GLU 2".
        residue: String,
        /// Name of the atom.
        atom: String,
        /// Entry of the library.
        entry: String,
        /// Name of the protonated residue.
        protonated: String,
    },
    /// The residue has an atom that the entry does not know.
    #[error(
        "residue {residue} has an atom {atom} that the titratable {entry} does not have \
         (terminal residues are not in the library)"
    )]
    UnknownAtom {
        /// Residue.
        residue: String,
        /// Name of the atom.
        atom: String,
        /// Entry of the library.
        entry: String,
    },
    /// Two atoms of the residue have one name.
    #[error("residue {residue} has two atoms named {atom}")]
    RepeatedAtom {
        /// Residue.
        residue: String,
        /// Name of the atom.
        atom: String,
    },
    /// The topology's charge is not that of the protonated form.
    #[error(
        "atom {atom} of residue {residue} has charge {found} e in the topology, the protonated form of {entry} \
         ({force_field}) has {expected} e: wrong force field, or the residue was built deprotonated"
    )]
    ChargeMismatch {
        /// Residue.
        residue: String,
        /// Name of the atom.
        atom: String,
        /// Charge in the topology, e.
        found: f64,
        /// Charge in the library, e.
        expected: f64,
        /// Entry of the library.
        entry: String,
        /// Its force field.
        force_field: String,
    },
    /// A request names a residue that does not exist.
    #[error("no residue {request} in the topology; titratable residues are: {titratable}")]
    NotFound {
        /// The request.
        request: String,
        /// Residues that could be meant.
        titratable: String,
    },
    /// A request names a residue that the library does not know.
    #[error("residue {residue} is not in the library, which knows: {known}")]
    NotTitratable {
        /// Residue.
        residue: String,
        /// Residue names of the library.
        known: String,
    },
    /// A request fits several residues.
    #[error("{request} fits {count} residues; put the number of the molecule in front, such as 1:{request}")]
    Ambiguous {
        /// The request.
        request: String,
        /// Number of residues that fit.
        count: usize,
    },
    /// Two requests give the same residue.
    #[error("residue {0} is requested twice")]
    Repeated(String),
    /// All titratable residues are wanted and there are none.
    #[error("no titratable residue in the topology; the library knows: {0}")]
    None(String),
    /// A request cannot be read.
    #[error(
        "\"{0}\" is not a residue: write \"GLU 2\", or \"1:GLU 2\" with the number of the molecule, counted from 1"
    )]
    BadRequest(String),
}

/// One form of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// Name such as "deprotonated".
    pub name: String,
    /// Charge (e) of each atom of the site, in the order of [`Site::atoms`].
    pub charges: Vec<f64>,
    /// Protons lost relative to form 0.
    pub protons_lost: u32,
}

/// A titratable site.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Name for people, such as "GLU 2".
    pub name: String,
    /// Entry of the library, such as "glu".
    pub entry: String,
    /// Index of the residue in the topology.
    pub residue: u32,
    /// Its atoms in the topology, ascending.
    pub atoms: Vec<u32>,
    /// Its forms; form 0 is protonated, form 1 deprotonated.
    pub forms: Vec<Form>,
    /// Reference pKa of the model compound.
    pub pka: f64,
    /// Correction V_MM of the model compound.
    pub correction: Correction,
}

/// A residue that the user names: "GLU 2", or "1:GLU 2" where molecule 1 is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteRequest {
    /// Number of the molecule, counted from 1, where it matters.
    pub molecule: Option<u32>,
    /// Residue name.
    pub name: String,
    /// Residue number as in the topology.
    pub number: i32,
}

impl FromStr for SiteRequest {
    type Err = SiteError;

    fn from_str(text: &str) -> Result<Self, SiteError> {
        let bad = || SiteError::BadRequest(text.to_string());
        let (molecule, rest) = match text.split_once(':') {
            Some((m, rest)) => (Some(m.trim().parse().ok().filter(|&m| m > 0).ok_or_else(bad)?), rest),
            None => (None, text),
        };
        let (name, number) = rest.trim().rsplit_once(char::is_whitespace).ok_or_else(bad)?;
        let name = name.trim();
        if name.is_empty() || name.contains(char::is_whitespace) {
            return Err(bad());
        }
        Ok(Self { molecule, name: name.to_string(), number: number.parse().map_err(|_| bad())? })
    }
}

impl std::fmt::Display for SiteRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.molecule {
            Some(molecule) => write!(f, "{molecule}:{} {}", self.name, self.number),
            None => write!(f, "{} {}", self.name, self.number),
        }
    }
}

/// Which residues titrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection<'a> {
    /// Every residue whose name is in the library.
    All,
    /// These and no others.
    Residues(&'a [SiteRequest]),
}

/// Finds the sites of `topology` in the order of the topology ([`Selection::All`]) or of the requests.
///
/// # Errors
/// [`SiteError`], naming residue and atom, with what to do about it.
pub fn find_sites(
    topology: &Topology,
    library: &SiteLibrary,
    selection: Selection<'_>,
) -> Result<Vec<Site>, SiteError> {
    let chosen: Vec<u32> = match selection {
        Selection::All => titratable_residues(topology, library),
        Selection::Residues(requests) => {
            requests.iter().map(|request| resolve(topology, library, request)).collect::<Result<_, _>>()?
        }
    };
    if chosen.is_empty() {
        return Err(SiteError::None(known_names(library)));
    }
    for (k, &residue) in chosen.iter().enumerate() {
        if chosen[..k].contains(&residue) {
            return Err(SiteError::Repeated(label(topology, residue)));
        }
    }
    chosen.into_iter().map(|residue| site_of(topology, library, residue)).collect()
}

fn titratable_residues(topology: &Topology, library: &SiteLibrary) -> Vec<u32> {
    let known = |name: &String| library.entries.iter().any(|entry| entry.residues.contains(name));
    (0..topology.residues.len() as u32).filter(|&r| known(&topology.residues[r as usize].name)).collect()
}

fn known_names(library: &SiteLibrary) -> String {
    let names: Vec<&str> = library.entries.iter().flat_map(|entry| &entry.residues).map(String::as_str).collect();
    names.join(", ")
}

fn label(topology: &Topology, residue: u32) -> String {
    let residue = &topology.residues[residue as usize];
    format!("{} {}", residue.name, residue.number)
}

fn resolve(topology: &Topology, library: &SiteLibrary, request: &SiteRequest) -> Result<u32, SiteError> {
    let fits = |r: &u32| {
        let residue = &topology.residues[*r as usize];
        residue.name == request.name
            && residue.number == request.number
            && request.molecule.is_none_or(|molecule| residue.molecule + 1 == molecule)
    };
    let found: Vec<u32> = (0..topology.residues.len() as u32).filter(fits).collect();
    match found[..] {
        [residue] => Ok(residue),
        [] => {
            let titratable: Vec<String> =
                titratable_residues(topology, library).into_iter().map(|r| label(topology, r)).collect();
            let titratable = if titratable.is_empty() { "none".to_string() } else { titratable.join(", ") };
            Err(SiteError::NotFound { request: request.to_string(), titratable })
        }
        _ => Err(SiteError::Ambiguous { request: request.to_string(), count: found.len() }),
    }
}

/// The site of one residue: the first entry that fits, or the reason why the first that has its name does not.
fn site_of(topology: &Topology, library: &SiteLibrary, residue: u32) -> Result<Site, SiteError> {
    let name = &topology.residues[residue as usize].name;
    let mut reason = None;
    for entry in library.entries.iter().filter(|entry| entry.residues.contains(name)) {
        match match_entry(topology, entry, residue) {
            Ok(site) => return Ok(site),
            Err(error) => reason = reason.or(Some(error)),
        }
    }
    Err(reason
        .unwrap_or_else(|| SiteError::NotTitratable { residue: label(topology, residue), known: known_names(library) }))
}

fn match_entry(topology: &Topology, entry: &Entry, residue: u32) -> Result<Site, SiteError> {
    let name = label(topology, residue);
    let atoms: Vec<u32> = topology.residues[residue as usize].atoms.clone().collect();
    let mut by_name: BTreeMap<&str, u32> = BTreeMap::new();
    for &atom in &atoms {
        let atom_name = topology.atoms[atom as usize].name.as_str();
        if by_name.insert(atom_name, atom).is_some() {
            return Err(SiteError::RepeatedAtom { residue: name, atom: atom_name.to_string() });
        }
    }
    if let Some(atom) = entry.charges.keys().find(|atom| !by_name.contains_key(atom.as_str())) {
        return Err(SiteError::MissingAtom {
            residue: name,
            atom: atom.clone(),
            entry: entry.name.clone(),
            protonated: entry.residues.iter().find(|r| r.ends_with('H')).unwrap_or(&entry.residues[0]).clone(),
        });
    }
    let mut forms: Vec<Form> = entry
        .forms
        .iter()
        .map(|form| Form { name: form.name.clone(), charges: Vec::new(), protons_lost: form.protons_lost })
        .collect();
    for &index in &atoms {
        let atom = &topology.atoms[index as usize];
        let Some(charges) = entry.charges.get(&atom.name) else {
            return Err(SiteError::UnknownAtom { residue: name, atom: atom.name.clone(), entry: entry.name.clone() });
        };
        if (atom.charge - charges[0]).abs() > CHARGE_TOLERANCE {
            return Err(SiteError::ChargeMismatch {
                residue: name,
                atom: atom.name.clone(),
                found: atom.charge,
                expected: charges[0],
                entry: entry.name.clone(),
                force_field: entry.force_field.clone(),
            });
        }
        for (form, &charge) in forms.iter_mut().zip(charges) {
            form.charges.push(charge);
        }
    }
    let correction = entry.correction.clone();
    Ok(Site { name, entry: entry.name.clone(), residue, atoms, forms, pka: entry.pka, correction })
}

#[cfg(test)]
#[path = "site_tests.rs"]
mod tests;
