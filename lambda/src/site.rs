//! Titratable sites and buffers of a system: groups of an unmodified topology that the library knows.
//!
//! A side chain is matched by the name of its residue, then atom by atom: the residue must hold every atom of the entry and
//! no other, with the charges of form 0 (protonated). That catches residues built without the proton and other force
//! fields. Residues at the end of a chain have somewhat different charges and a few other backbone atoms; there, and for
//! the termini themselves, the entry is applied as a difference:
//!
//!   q_i^α = q_i(topology) + q_i^α(entry) − q_i^0(entry),
//!
//! an atom whose charge vanishes in a form has none, and the rest goes to one named atom, so that losing a proton takes
//! away exactly one elementary charge.
//!
//! A site holds only atoms that differ between its forms: what is the same in all of them is environment, since V is linear
//! in the weights with or without it. So a side chain and the terminus of the same residue are two sites.

use thiserror::Error;

use crate::library::{Correction, Entry, SiteLibrary};

mod likeness;
mod links;
mod matching;
mod naming;
mod pair_terms;
mod parameters;
mod place;
mod request;
mod rotamers;
mod search;
mod torsions;
mod untitrated;
pub use likeness::{Difference, Likeness, known_terms, likeness};
pub use matching::{atom_names, is_chain_end, no_correction};
pub use pair_terms::pair_terms;
pub use parameters::{Parameters, Terms, parameters, terms};
pub use place::{ResiduePlace, residue_number};
pub use request::{ResidueNames, SiteRequest};
pub use rotamers::ease_rotamers;
pub use search::{buffer_site, find_sites};
pub use torsions::hold_torsions;
pub use untitrated::{Untitrated, untitrated};

/// Why a site cannot be set up.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SiteError {
    /// The residue lacks an atom.
    #[error("residue {residue} has no atom {atom}, which the titratable {entry} needs: build it protonated ({build})")]
    MissingAtom {
        /// Residue as "GLU 2".
        residue: String,
        /// Name of the atom.
        atom: String,
        /// Entry of the library.
        entry: String,
        /// How to build it.
        build: String,
    },
    /// The residue has an atom that the entry does not know.
    #[error("residue {residue} has an atom {atom} that the titratable {entry} does not have")]
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
        "atom {atom} of residue {residue} has charge {found} e in the topology, {entry} ({force_field}) expects \
         {expected} e: wrong force field, or the residue was built in another protonation state"
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
    #[error(
        "residue {residue} is not in the library, which knows: {known}; the end of a chain is requested as \"nterm ALA 1\""
    )]
    NotTitratable {
        /// Residue.
        residue: String,
        /// Residue names of the library.
        known: String,
    },
    /// A request fits several residues.
    #[error("{request} fits {count} residues; name one of them: {spellings}")]
    Ambiguous {
        /// The request.
        request: String,
        /// Number of residues that fit.
        count: usize,
        /// Requests that fit one of them each.
        spellings: String,
    },
    /// A request names an entry that the library does not have, or that is a buffer.
    #[error("{request}: the library has no titratable entry {entry}, it has: {known}")]
    UnknownEntry {
        /// The request.
        request: String,
        /// The entry asked for.
        entry: String,
        /// Entries that titrate.
        known: String,
    },
    /// Two requests give the same site.
    #[error("{0} is requested twice")]
    Repeated(String),
    /// Two sites share an atom.
    #[error("sites {first} and {second} share the atom {atom}: its charge cannot follow both")]
    Overlap {
        /// A site.
        first: String,
        /// Another.
        second: String,
        /// Name of the atom.
        atom: String,
    },
    /// The library has no buffer for these molecules.
    #[error("residue {residue} is no buffer of the library, which has: {known}")]
    NoBuffer {
        /// Residue name.
        residue: String,
        /// Residue names of buffers.
        known: String,
    },
    /// Molecules of a buffer are not those of its entry: another model of the same solvent.
    #[error("residue {residue} is not {entry} ({force_field}), which the library has a charge buffer for: {reason}")]
    OtherSolvent {
        /// Residue.
        residue: String,
        /// Entry of the library.
        entry: String,
        /// Model of the solvent that it is for.
        force_field: String,
        /// What does not fit, in a sentence that does not name the residue.
        reason: String,
    },
    /// The residue is built with another force field than the entry is for.
    #[error(
        "residue {residue} is of {of}, and the library has {entry} for {force_field} alone ({reason}): build the \
         topology with {force_field}, or write an entry of your own"
    )]
    ForeignForceField {
        /// Residue.
        residue: String,
        /// Force field of the topology, and what shows it.
        of: String,
        /// Entry of the library.
        entry: String,
        /// Its force field.
        force_field: String,
        /// What does not fit.
        reason: String,
    },
    /// All titratable residues are wanted and there are none.
    #[error("nothing in the topology titrates: {why}")]
    None {
        /// The group that comes nearest with its reason and the names of others, or which residues there are.
        why: String,
    },
    /// A request cannot be read.
    #[error(
        "\"{0}\" is not a residue: write \"GLU 2\", \"1:GLU 2\" with the number of the molecule, counted from 1, \
         \"nterm ALA 1\" with the entry of the library, or \"GLU 2#2\" for the second of several that fit"
    )]
    BadRequest(String),
    /// A place that cannot be read.
    #[error("\"{0}\" is no place of a residue: write \"A 35\", chain and number, or \"35\" where chains have no names")]
    BadPlace(String),
}

impl SiteError {
    /// What is wrong with a residue, in a sentence that does not name it again.
    pub fn reason(&self) -> String {
        match self {
            Self::MissingAtom { residue, .. }
            | Self::UnknownAtom { residue, .. }
            | Self::RepeatedAtom { residue, .. }
            | Self::ForeignForceField { residue, .. } => {
                let text = self.to_string();
                text.strip_prefix(&format!("residue {residue} ")).map_or(text.clone(), |rest| format!("it {rest}"))
            }
            Self::ChargeMismatch { residue, .. } => {
                self.to_string().replacen("atom ", "its atom ", 1).replacen(&format!(" of residue {residue}"), "", 1)
            }
            other => other.to_string(),
        }
    }
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
    /// Cumulative pK_α of the model compound; 0 for form 0 and for buffers.
    pub pk: f64,
    /// Net charge (e) of the group as chemistry counts it, scaled as its entry says; of all molecules of a buffer. [`Site::net_charge`] sums charges.
    pub nominal_charge: f64,
}

/// What a site is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteKind {
    /// A group that takes up and loses protons.
    Titratable,
    /// Molecules with one common λ that compensate the charge of others.
    Buffer {
        /// Their number.
        molecules: u32,
    },
}

/// A titratable site, or the buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Name for people, such as "GLU 2", "nterm ALA 1" or "buffer"; the molecule is in it, "2:GLU 2", where chains are numbered alike. No
    /// other site of the topology has it, and as a [`SiteRequest`] it finds this site.
    pub name: String,
    /// Entry of the library, such as "glu".
    pub entry: String,
    /// Force field of that entry: a library may have entries of one name for several.
    pub force_field: String,
    /// Indices of its residues in the topology: one; of a buffer one per molecule.
    pub residues: Vec<u32>,
    /// Atoms in the topology that differ between forms, ascending.
    pub atoms: Vec<u32>,
    /// Its forms; form 0 is the most protonated one.
    pub forms: Vec<Form>,
    /// Macroscopic reference pKa of the model compound; none for a buffer.
    pub pka: Option<f64>,
    /// Correction V_MM of the model compound, or of one buffer molecule.
    pub correction: Correction,
    /// What it is for.
    pub kind: SiteKind,
}

impl Site {
    /// Whether it is a charge buffer. Its charges are always interpolated, not its energies: V need not be linear in λ_b, at λ_b = ½ its
    /// molecules are exactly what they look like, and a step does not need what dozens of distant molecules do to each other.
    pub fn is_buffer(&self) -> bool {
        matches!(self.kind, SiteKind::Buffer { .. })
    }

    /// The entry of a library that it was made from.
    pub fn entry_in<'a>(&self, library: &'a SiteLibrary) -> Option<&'a Entry> {
        library.entries.iter().find(|entry| entry.name == self.entry && entry.force_field == self.force_field)
    }

    /// Sum of the charges (e) of [`Site::atoms`] in a form. Atoms that are the same in all forms are not among them, so
    /// that it need not be a whole number; differences between forms are.
    pub fn net_charge(&self, form: usize) -> f64 {
        self.forms[form].charges.iter().sum()
    }

    /// Coefficients of V_MM for the whole site, all molecules of a buffer; none without a calibration.
    pub fn coefficients(&self) -> Option<Vec<f64>> {
        let factor = match self.kind {
            SiteKind::Titratable => 1.0,
            SiteKind::Buffer { molecules } => f64::from(molecules),
        };
        self.correction.calibration().map(|calibration| calibration.coefficients.iter().map(|c| factor * c).collect())
    }
}

/// Which groups titrate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection<'a> {
    /// Every side chain whose residue is in the library, and every terminus that has all its protons; at the ends of chains only where the
    /// correction is known.
    All,
    /// These and no others.
    Residues(&'a [SiteRequest]),
}

#[cfg(test)]
mod tests;
