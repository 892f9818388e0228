//! The library of titratable residues: which atoms, which charges in which form, which reference pKa, which correction.
//!
//! One TOML file per residue and force field (`lambda/library/*.toml`). Checked on reading: every form sums to its
//! net charge, a form that lost d protons carries d elementary charges less, the backbone charges are the same in all
//! forms (otherwise reference energies would depend on the sequence, openmm issue 1278), and the macroscopic pKa belongs to
//! the pK_α of the forms,
//!
//!   10^−pKa = Σ_{d_α = 1} 10^−pK_α / Σ_{d_α = 0} 10^−pK_α,
//!
//! where d_α is the number of protons lost and pK_α = −log10 of the equilibrium constant that leads from form 0 to α.
//!
//! Three kinds of entries: side chains, found by the name of their residue; termini (`terminus = "n"` or `"c"`), found by
//! their atoms at any residue; buffers (`kind = "buffer"`), whose charges in the topology are the mean of their two forms.
//!
//! The correction V_MM is calibrated for one force field and setting ([`Calibration`]), and at the ends of chains for one residue ([`Elsewhere`]);
//! [`entry_with_calibration`] writes it into an entry.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

mod conditions;
mod correction;
mod elsewhere;
mod equivalent;
mod other_atoms;
mod torsion;
mod written;
pub use conditions::Conditions;
pub use correction::{Calibration, Correction, Provenance, Transfer};
pub use elsewhere::Elsewhere;
pub use other_atoms::OtherAtoms;
pub use torsion::TorsionEntry;
pub use written::entry_with_calibration;

/// Largest deviation (e) of a sum of charges from its net charge.
const CHARGE_TOLERANCE: f64 = 1e-9;
/// Largest difference between the pKa of an entry and the one that follows from its forms: two decimals are given.
const PKA_TOLERANCE: f64 = 0.005;

const BUILTIN: [(&str, &str); 13] = [
    ("glu.toml", include_str!("../library/glu.toml")),
    ("asp.toml", include_str!("../library/asp.toml")),
    ("his.toml", include_str!("../library/his.toml")),
    ("lys.toml", include_str!("../library/lys.toml")),
    ("arg.toml", include_str!("../library/arg.toml")),
    ("tyr.toml", include_str!("../library/tyr.toml")),
    ("cys.toml", include_str!("../library/cys.toml")),
    ("glu3.toml", include_str!("../library/glu3.toml")),
    ("asp3.toml", include_str!("../library/asp3.toml")),
    ("nterm.toml", include_str!("../library/nterm.toml")),
    ("cterm.toml", include_str!("../library/cterm.toml")),
    ("water.toml", include_str!("../library/water.toml")),
    ("buf.toml", include_str!("../library/buf.toml")),
];

/// Why an entry of the library cannot be used.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// The file cannot be read or the folder not listed.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Reason given by the system.
        source: std::io::Error,
    },
    /// The file is not TOML, has an unknown or lacks a needed key, or has a value of the wrong kind.
    #[error("{file}: {source}")]
    Parse {
        /// File.
        file: String,
        /// Reason with line and column.
        source: Box<toml::de::Error>,
    },
    /// The file can be read, but what it says is physically wrong.
    #[error("{file}: {reason}")]
    Inconsistent {
        /// File.
        file: String,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// The folder has no entry.
    #[error("{}: no *.toml file in this folder", .0.display())]
    Empty(PathBuf),
}

/// What an entry describes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A group that takes up and loses protons.
    #[default]
    Titratable,
    /// A molecule that compensates the charge of others.
    Buffer,
}

/// End of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Terminus {
    /// Amino end.
    N,
    /// Carboxyl end.
    C,
}

/// One form of a residue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormEntry {
    /// Name such as "deprotonated".
    pub name: String,
    /// Protons lost relative to form 0.
    pub protons_lost: u32,
    /// Net charge of the residue as chemistry counts it, e; of a terminus: of the end group. Charges sum to [`Entry::charge_scale`] times that.
    pub net_charge: f64,
    /// Cumulative pK_α; 0 for form 0.
    #[serde(default)]
    pub pk: f64,
}

/// A bonded term that differs between forms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BondedEntry {
    /// Names of its atoms; "-C" and "+N" are those of the residues before and after.
    pub atoms: Vec<String>,
    /// Function number of GROMACS.
    pub function: u32,
    /// Parameters in each form, in the order and units of a topology.
    pub parameters: Vec<Vec<f64>>,
    /// Names of the residues that have it; all of the entry where none is named. Ends of chains may have no such form in the force field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residues: Vec<String>,
}

impl BondedEntry {
    /// Whether a residue of this name has the term.
    pub fn is_in(&self, residue: &str) -> bool {
        is_named(&self.residues, residue)
    }
}

/// An atom whose Lennard-Jones type differs between forms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TypesEntry {
    /// Its name.
    pub atom: String,
    /// Its type in each form.
    pub types: Vec<String>,
    /// Names of the residues in which it has them; all of the entry where none is named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residues: Vec<String>,
}

impl TypesEntry {
    /// Whether the atom has these types in a residue of this name.
    pub fn is_in(&self, residue: &str) -> bool {
        is_named(&self.residues, residue)
    }
}

/// Charges as they are, where nothing is said of their scale.
fn whole() -> f64 {
    1.0
}

fn is_whole(scale: &f64) -> bool {
    *scale == whole()
}

/// Whether a list of residues means this one: an empty list means all.
fn is_named(residues: &[String], residue: &str) -> bool {
    residues.is_empty() || residues.iter().any(|one| one == residue)
}

/// One titratable residue of one force field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Short name, such as "glu".
    pub name: String,
    /// What it describes.
    #[serde(default)]
    pub kind: EntryKind,
    /// The end of a chain, if that is what titrates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminus: Option<Terminus>,
    /// Residue names in topologies; none for a terminus.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub residues: Vec<String>,
    /// Names of residues that are this group without a proton, and so cannot titrate, each with what it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub unprotonated: BTreeMap<String, String>,
    /// Other names of atoms: where a residue has all atoms on the left of one of these, they are those on the right.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<BTreeMap<String, String>>,
    /// How to get a topology that holds every proton, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Force field of the charges.
    pub force_field: String,
    /// Source of the figures.
    pub source: String,
    /// What charges of ionised groups are multiplied by in the force field: 1, or less where scaled charges stand for the electronic screening that it lacks
    /// (Leontyev, Stuchebrukhov, arXiv:1505.04576).
    #[serde(default = "whole", skip_serializing_if = "is_whole")]
    pub charge_scale: f64,
    /// Model compound that has the reference pKa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_compound: Option<String>,
    /// Macroscopic reference pKa of losing the first proton; none for a buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pka: Option<f64>,
    /// Source of the reference pKa.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pka_source: Option<String>,
    /// Atoms whose charge is the same in all forms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub backbone: Vec<String>,
    /// Atom that takes the charge left over; none for a buffer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balanced_at: Option<String>,
    /// Forms; form 0 is the fully protonated one.
    pub forms: Vec<FormEntry>,
    /// Atom name → charge in each form, e.
    pub charges: BTreeMap<String, Vec<f64>>,
    /// Residues at which an end of a chain has other atoms than those of `charges`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_atoms: Vec<OtherAtoms>,
    /// Atoms whose Lennard-Jones type differs between forms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lj_types: Vec<TypesEntry>,
    /// Bonded terms that differ between forms.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bonded: Vec<BondedEntry>,
    /// Torsions that hold hydrogens, whatever λ is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub torsions: Vec<TorsionEntry>,
    /// Corrections at residues whose charges are not those of the model compound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
    /// Correction V_MM.
    pub correction: Correction,
    /// The file it was read from, comments included.
    #[serde(skip)]
    pub text: String,
}

/// pK of losing each of the protons from `from` to `to`, by the pK of forms and the protons that they have lost: (lg B_from − lg B_to)/(to − from), B_d = Σ 10^−pK over the
/// forms that have lost d. None without forms of both numbers.
pub fn macroscopic_pk(forms: impl Iterator<Item = (u32, f64)> + Clone, from: u32, to: u32) -> Option<f64> {
    let binding =
        |lost: u32| forms.clone().filter(|form| form.0 == lost).map(|(_, pk)| 10_f64.powf(-pk)).sum::<f64>().log10();
    Some((binding(from) - binding(to)) / (f64::from(to) - f64::from(from))).filter(|pk| pk.is_finite())
}

impl Entry {
    /// Reads and checks one entry; `file` names it in errors.
    ///
    /// # Errors
    /// [`LibraryError::Parse`] if the text cannot be read, [`LibraryError::Inconsistent`] if it is physically wrong.
    pub fn from_toml(text: &str, file: &str) -> Result<Self, LibraryError> {
        let mut entry: Self = toml::from_str(text)
            .map_err(|source| LibraryError::Parse { file: file.to_string(), source: Box::new(source) })?;
        entry.text = text.to_string();
        entry.check().map_err(|reason| LibraryError::Inconsistent { file: file.to_string(), reason })?;
        Ok(entry)
    }

    /// Macroscopic pKa of losing the first proton, from the pK_α of the forms; none without a form that lost one proton.
    pub fn macroscopic_pka(&self) -> Option<f64> {
        macroscopic_pk(self.forms.iter().map(|form| (form.protons_lost, form.pk)), 0, 1)
    }

    fn check(&self) -> Result<(), String> {
        // Names stand in requests for sites, "2:glu GLU 7#1", and in the heads of tables.
        let is_bad = |name: &str| name.is_empty() || name.contains(|c: char| c.is_whitespace() || ":#,\"".contains(c));
        let forms = self.forms.iter().map(|form| &form.name);
        let names = [&self.name].into_iter().chain(&self.residues).chain(self.unprotonated.keys()).chain(forms);
        let names = names.chain(self.elsewhere.iter().flat_map(|one| &one.residues));
        let names = names.chain(self.other_atoms.iter().flat_map(|one| &one.residues));
        if let Some(name) = names.into_iter().find(|name| is_bad(name)) {
            return Err(format!(
                "\"{name}\" is no name: it must not be empty or hold blanks, commas, quotes, ':' or '#'"
            ));
        }
        if self.residues.is_empty() != self.terminus.is_some() {
            return Err("residues: give at least one name of a residue, or `terminus`, not both".into());
        }
        if self.forms.len() < 2 {
            return Err(format!("forms: {} given, at least two are needed", self.forms.len()));
        }
        for (atom, charges) in &self.charges {
            if charges.len() != self.forms.len() || charges.iter().any(|q| !q.is_finite()) {
                return Err(format!("charges.{atom}: {charges:?}, expected {} numbers", self.forms.len()));
            }
        }
        self.check_net_charges()?;
        self.check_pka()?;
        self.check_atoms()?;
        self.check_other_atoms()?;
        self.torsions.iter().try_for_each(|torsion| torsion.check(|atom| self.charges.contains_key(atom)))?;
        let corrections = self.elsewhere.iter().map(|one| &one.correction).chain([&self.correction]);
        let mut calibrations = corrections.filter_map(Correction::calibration);
        calibrations.try_for_each(|calibration| calibration.check(self.forms.len()))
    }

    fn check_net_charges(&self) -> Result<(), String> {
        let scale = self.charge_scale;
        if !(scale > 0.0 && scale <= 1.0) || (self.kind == EntryKind::Buffer && !is_whole(&scale)) {
            return Err(format!("charge_scale = {scale}: valid is a number above 0, 1 at most, and 1 for a buffer"));
        }
        if self.forms[0].protons_lost != 0 {
            return Err("forms: the first form must have protons_lost = 0".into());
        }
        let sum = |k: usize| -> f64 { self.charges.values().map(|q| q[k]).sum() };
        for (k, form) in self.forms.iter().enumerate() {
            // Only the atoms of the end group are listed for a terminus: their sum has a part of the rest of the residue.
            let apart =
                if self.terminus.is_some() { sum(0) - self.charge_scale * self.forms[0].net_charge } else { 0.0 };
            let found = sum(k) - apart;
            let whole = self.kind == EntryKind::Buffer || form.net_charge.fract() == 0.0;
            if (found - self.charge_scale * form.net_charge).abs() > CHARGE_TOLERANCE || !whole {
                let (name, net) = (&form.name, form.net_charge);
                let times =
                    if is_whole(&self.charge_scale) { String::new() } else { format!(" times {}", self.charge_scale) };
                return Err(format!("form {name}: charges sum to {found:.6} e, net_charge is {net}{times}"));
            }
            let expected = self.forms[0].net_charge - f64::from(form.protons_lost);
            if (form.net_charge - expected).abs() > CHARGE_TOLERANCE {
                return Err(format!(
                    "form {}: net_charge {} after losing {} proton(s), expected {expected}",
                    form.name, form.net_charge, form.protons_lost
                ));
            }
        }
        if self.kind == EntryKind::Buffer && (self.forms.len() != 2 || (sum(0) + sum(1)).abs() > CHARGE_TOLERANCE) {
            return Err("forms: a buffer has two forms of opposite net charge".into());
        }
        Ok(())
    }

    fn check_pka(&self) -> Result<(), String> {
        if let Some(form) = self.forms.iter().find(|form| !form.pk.is_finite()) {
            return Err(format!("form {}: pk = {} is not a number", form.name, form.pk));
        }
        if self.forms[0].pk != 0.0 {
            return Err(format!("form {}: pk = {}, the first form has 0", self.forms[0].name, self.forms[0].pk));
        }
        if self.kind == EntryKind::Buffer {
            return if self.pka.is_none() { Ok(()) } else { Err("pka: a buffer has none".into()) };
        }
        let Some(pka) = self.pka.filter(|pka| pka.is_finite()) else {
            return Err(format!("pka: {:?} is not a number", self.pka));
        };
        match self.macroscopic_pka() {
            Some(derived) if (derived - pka).abs() <= PKA_TOLERANCE => Ok(()),
            Some(derived) => Err(format!("pka: {pka}, but the pk of the forms give {derived:.3}")),
            None => Err("forms: none with protons_lost = 1".into()),
        }
    }

    fn check_atoms(&self) -> Result<(), String> {
        let bonded = self.bonded.iter().flat_map(|term| &term.atoms).filter(|atom| !atom.starts_with(['-', '+']));
        for atom in
            self.backbone.iter().chain(&self.balanced_at).chain(self.lj_types.iter().map(|one| &one.atom)).chain(bonded)
        {
            if !self.charges.contains_key(atom) {
                return Err(format!("atom {atom} (backbone, balanced_at, lj_types, bonded) has no charges"));
            }
        }
        if let Some(atom) =
            self.aliases.iter().flat_map(BTreeMap::values).find(|atom| !self.charges.contains_key(*atom))
        {
            return Err(format!("aliases: atom {atom} has no charges"));
        }
        if self.kind == EntryKind::Titratable && self.balanced_at.is_none() {
            return Err("balanced_at: the atom that takes the charge left over is missing".into());
        }
        for atom in &self.backbone {
            let charges = &self.charges[atom];
            if charges.iter().any(|&q| q != charges[0]) {
                return Err(format!("charges.{atom}: {charges:?}, backbone charges must be the same in all forms"));
            }
        }
        let n = self.forms.len();
        if let Some(one) = self.lj_types.iter().find(|one| one.types.len() != n) {
            return Err(format!("lj_types of {}: {:?}, expected {n} names", one.atom, one.types));
        }
        let mut known = BTreeSet::new();
        if let Some(one) = self.lj_types.iter().find(|one| !known.insert(&one.atom)) {
            return Err(format!("lj_types: atom {} is there twice", one.atom));
        }
        if let Some(term) =
            self.bonded.iter().find(|term| term.parameters.len() != n || !(2..=4).contains(&term.atoms.len()))
        {
            return Err(format!("bonded {:?}: expected 2 to 4 atoms and parameters of {n} forms", term.atoms));
        }
        let of_bonded = self.bonded.iter().flat_map(|term| &term.residues).map(|name| ("bonded", name));
        let of_types = self.lj_types.iter().flat_map(|one| &one.residues).map(|name| ("lj_types", name));
        match of_bonded.chain(of_types).find(|(_, name)| !self.residues.contains(name)) {
            Some((key, name)) if self.terminus.is_some() => Err(format!(
                "{key}: something of residue {name} alone, but the entry is of an end of a chain, whatever its residue: leave out residues"
            )),
            Some((key, name)) => {
                Err(format!("{key}: residue {name} is not among those of the entry, {}", self.residues.join(", ")))
            }
            None => Ok(()),
        }
    }
}

/// Titratable residues of one or several force fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteLibrary {
    /// Entries; where several fit a residue the first counts.
    pub entries: Vec<Entry>,
}

impl SiteLibrary {
    /// The entries that come with the program.
    ///
    /// # Errors
    /// [`LibraryError`] if a shipped file is inconsistent; a test keeps that from happening.
    pub fn builtin() -> Result<Self, LibraryError> {
        let entries = BUILTIN.iter().map(|(file, text)| Entry::from_toml(text, file)).collect::<Result<_, _>>()?;
        Ok(Self { entries })
    }

    /// Reads one file, or every `*.toml` of a folder in the order of their names.
    ///
    /// # Errors
    /// [`LibraryError`] with the name of the file that cannot be read or is wrong, or of a folder without files.
    pub fn from_path(path: &Path) -> Result<Self, LibraryError> {
        let io = |source| LibraryError::Io { path: path.to_path_buf(), source };
        let mut files = Vec::new();
        if path.is_dir() {
            for item in std::fs::read_dir(path).map_err(io)? {
                let file = item.map_err(io)?.path();
                if file.extension().is_some_and(|extension| extension == "toml") {
                    files.push(file);
                }
            }
            files.sort();
            if files.is_empty() {
                return Err(LibraryError::Empty(path.to_path_buf()));
            }
        } else {
            files.push(path.to_path_buf());
        }
        let read = |file: PathBuf| {
            let text =
                std::fs::read_to_string(&file).map_err(|source| LibraryError::Io { path: file.clone(), source })?;
            Entry::from_toml(&text, &file.display().to_string())
        };
        Ok(Self { entries: files.into_iter().map(read).collect::<Result<_, _>>()? })
    }

    /// Adds the entries of `other` behind those here; an entry with the name and force field of one here is left out, so
    /// that what was added first counts.
    pub fn extend(&mut self, other: Self) {
        for entry in other.entries {
            if !self.entries.iter().any(|e| e.name == entry.name && e.force_field == entry.force_field) {
                self.entries.push(entry);
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
