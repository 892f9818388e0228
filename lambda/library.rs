//! The library of titratable residues: which atoms, which charges in which form, which reference pKa, which correction.
//!
//! One TOML file per residue and force field (`forcefield/titratable/*.toml`). Checked on reading: every form sums to its
//! net charge, a form that lost d protons carries d elementary charges less, and the backbone charges are the same in all
//! forms (otherwise reference energies would depend on the sequence, openmm issue 1278).
//!
//! The correction V_MM is calibrated for one force field and setting; [`Calibration`] keeps the coefficients of
//! ⟨∂V/∂λ⟩ = Σ_k c_k λ^k (kJ/mol) with their errors and where they come from. [`entry_with_calibration`] writes it into an
//! entry.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Largest deviation (e) of a sum of charges from its whole number.
const CHARGE_TOLERANCE: f64 = 1e-9;

const BUILTIN: [(&str, &str); 2] = [
    ("glu.toml", include_str!("../forcefield/titratable/glu.toml")),
    ("asp.toml", include_str!("../forcefield/titratable/asp.toml")),
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
    /// Not TOML, an unknown or a missing key, or a value of the wrong kind.
    #[error("{file}: {source}")]
    Parse {
        /// File.
        file: String,
        /// Reason with line and column.
        source: Box<toml::de::Error>,
    },
    /// Understood, but physically wrong.
    #[error("{file}: {reason}")]
    Inconsistent {
        /// File.
        file: String,
        /// What is wrong and what is expected.
        reason: String,
    },
    /// A folder without a single entry.
    #[error("{}: no *.toml file in this folder", .0.display())]
    Empty(PathBuf),
}

/// One form of a residue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FormEntry {
    /// Name such as "deprotonated".
    pub name: String,
    /// Protons lost relative to form 0.
    pub protons_lost: u32,
    /// Net charge, e.
    pub net_charge: i32,
}

/// Where a calibration comes from: enough to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// Program and version, such as "octitrate 0.1.0".
    pub program: String,
    /// Day of the run, ISO 8601.
    pub date: String,
    /// Temperature, K.
    pub temperature: f64,
    /// Edges of the box, nm.
    pub box_edges: [f64; 3],
    /// Number of atoms of the model system.
    pub atoms: usize,
    /// Water model, such as "TIP3P".
    pub water_model: String,
    /// Electrostatics: method, order, precision, boundary, what compensates the net charge.
    pub electrostatics: String,
    /// Lennard-Jones: cut-off and modifier.
    pub lennard_jones: String,
    /// Number of windows of fixed λ.
    pub windows: usize,
    /// Time per window that entered the averages, ns.
    pub time_per_window: f64,
    /// Time per window discarded before it, ns.
    pub equilibration_per_window: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// χ² per degree of freedom of the fit.
    pub reduced_chi_squared: f64,
}

/// A calibrated correction: ⟨∂V/∂λ⟩ of the model compound as a polynomial in λ.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Coefficients c_k of ⟨∂V/∂λ⟩ = Σ_k c_k λ^k, kJ/mol.
    pub dvdl: Vec<f64>,
    /// Standard error of each coefficient, kJ/mol.
    pub errors: Vec<f64>,
    /// Standard error of the free energy between the forms, ∫₀¹ ⟨∂V/∂λ⟩ dλ, kJ/mol (coefficients are correlated).
    pub free_energy_error: f64,
    /// Range of λ of the windows.
    pub range: [f64; 2],
    /// Where it comes from.
    pub provenance: Provenance,
}

/// Correction V_MM of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Correction {
    /// No calibration run yet: a titration is refused.
    Uncalibrated,
    /// Coefficients of a calibration run.
    Calibrated(Box<Calibration>),
}

/// One titratable residue of one force field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Short name, such as "glu".
    pub name: String,
    /// Residue names in topologies; all of them hold every proton of form 0.
    pub residues: Vec<String>,
    /// Force field of the charges.
    pub force_field: String,
    /// Source of the figures.
    pub source: String,
    /// Model compound that has the reference pKa.
    pub model_compound: String,
    /// Reference pKa.
    pub pka: f64,
    /// Source of the reference pKa.
    pub pka_source: String,
    /// Atoms whose charge is the same in all forms.
    pub backbone: Vec<String>,
    /// Atom that takes the charge left over.
    pub balanced_at: String,
    /// Forms; form 0 is the fully protonated one.
    pub forms: Vec<FormEntry>,
    /// Atom name → charge in each form, e.
    pub charges: BTreeMap<String, Vec<f64>>,
    /// Correction V_MM.
    pub correction: Correction,
}

impl Entry {
    /// Reads and checks one entry; `file` names it in errors.
    ///
    /// # Errors
    /// [`LibraryError::Parse`] and [`LibraryError::Inconsistent`].
    pub fn from_toml(text: &str, file: &str) -> Result<Self, LibraryError> {
        let entry: Self = toml::from_str(text)
            .map_err(|source| LibraryError::Parse { file: file.to_string(), source: Box::new(source) })?;
        entry.check().map_err(|reason| LibraryError::Inconsistent { file: file.to_string(), reason })?;
        Ok(entry)
    }

    fn check(&self) -> Result<(), String> {
        if self.residues.is_empty() {
            return Err("residues: at least one residue name is needed".into());
        }
        if self.forms.len() != 2 {
            return Err(format!("forms: {} given, the linear coordinate has exactly two", self.forms.len()));
        }
        if !self.pka.is_finite() {
            return Err(format!("pka: {} is not a number", self.pka));
        }
        for (atom, charges) in &self.charges {
            if charges.len() != self.forms.len() || charges.iter().any(|q| !q.is_finite()) {
                return Err(format!("charges.{atom}: {charges:?}, expected {} numbers", self.forms.len()));
            }
        }
        self.check_net_charges()?;
        for atom in self.backbone.iter().chain([&self.balanced_at]) {
            if !self.charges.contains_key(atom) {
                return Err(format!("atom {atom} of the backbone or of balanced_at has no charges"));
            }
        }
        for atom in &self.backbone {
            let charges = &self.charges[atom];
            if charges.iter().any(|&q| q != charges[0]) {
                return Err(format!("charges.{atom}: {charges:?}, backbone charges must be the same in all forms"));
            }
        }
        match &self.correction {
            Correction::Uncalibrated => Ok(()),
            Correction::Calibrated(calibration) => calibration.check(),
        }
    }

    fn check_net_charges(&self) -> Result<(), String> {
        if self.forms[0].protons_lost != 0 {
            return Err("forms: the first form must have protons_lost = 0".into());
        }
        for (k, form) in self.forms.iter().enumerate() {
            let sum: f64 = self.charges.values().map(|q| q[k]).sum();
            if (sum - f64::from(form.net_charge)).abs() > CHARGE_TOLERANCE {
                return Err(format!(
                    "form {}: charges sum to {sum:.6} e, net_charge is {}",
                    form.name, form.net_charge
                ));
            }
            let expected = i64::from(self.forms[0].net_charge) - i64::from(form.protons_lost);
            if i64::from(form.net_charge) != expected {
                return Err(format!(
                    "form {}: net_charge {} after losing {} proton(s), expected {expected}",
                    form.name, form.net_charge, form.protons_lost
                ));
            }
        }
        if self.forms[1].protons_lost != 1 {
            return Err(format!("form {}: protons_lost must be 1", self.forms[1].name));
        }
        Ok(())
    }
}

impl Calibration {
    fn check(&self) -> Result<(), String> {
        let numbers = self.dvdl.iter().chain(&self.errors).chain(&self.range);
        if self.dvdl.is_empty() || self.dvdl.len() != self.errors.len() || numbers.clone().any(|c| !c.is_finite()) {
            return Err(format!(
                "correction: {} coefficients and {} errors, expected as many finite numbers of each, at least one",
                self.dvdl.len(),
                self.errors.len()
            ));
        }
        if self.errors.iter().chain([&self.free_energy_error]).any(|&e| !(e.is_finite() && e >= 0.0)) {
            return Err("correction: errors must be numbers ≥ 0".into());
        }
        if self.range[0] > 0.0 || self.range[1] < 1.0 {
            return Err(format!("correction.range: {:?} must contain 0 and 1", self.range));
        }
        Ok(())
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
    /// [`LibraryError`], naming the file.
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

/// Text of an entry with its correction replaced by `calibration`; everything before the table `[correction]`, comments
/// included, is kept as it is.
///
/// # Errors
/// [`LibraryError::Parse`] and [`LibraryError::Inconsistent`] for a bad entry, for a table after `[correction]`, and for
/// a calibration that the library would refuse to read.
pub fn entry_with_calibration(text: &str, file: &str, calibration: &Calibration) -> Result<String, LibraryError> {
    let inconsistent = |reason: String| LibraryError::Inconsistent { file: file.to_string(), reason };
    let mut entry = Entry::from_toml(text, file)?;
    let is_header = |line: &&str| line.trim_start().starts_with("[correction]");
    let head: Vec<&str> = text.lines().take_while(|line| !is_header(line)).collect();
    let later_tables = text.lines().skip(head.len() + 1).filter(|line| line.trim_start().starts_with('['));
    if later_tables.into_iter().any(|line| !line.trim_start().starts_with("[correction.")) {
        return Err(inconsistent("[correction] must be the last table".into()));
    }
    #[derive(Serialize)]
    struct Tail<'a> {
        correction: &'a Correction,
    }
    entry.correction = Correction::Calibrated(Box::new(calibration.clone()));
    let tail = toml::to_string(&Tail { correction: &entry.correction })
        .map_err(|error| inconsistent(format!("correction cannot be written: {error}")))?;
    let written = format!("{}\n{tail}", head.join("\n"));
    if Entry::from_toml(&written, file)? != entry {
        return Err(inconsistent("the entry written does not read back as it was".into()));
    }
    Ok(written)
}

#[cfg(test)]
#[path = "library_tests.rs"]
pub(crate) mod tests;
