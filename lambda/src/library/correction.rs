//! The correction V_MM of an entry: coefficients of a calibration, with errors and where they come from.
//!
//!   V_MM(λ) = −F(λ),   F = Σ_k c_k b_k(λ)      free energy of the force field for the model compound, kJ/mol
//!
//! The terms b_k on the simplex of n forms, in this order (degree D):
//!
//!   λ_α                              α = 1 … n−1
//!   λ_α λ_β (λ_β − λ_α)^k            each pair α < β, k = 0 … D−2
//!   λ_α λ_β λ_γ · (1; λ_β, λ_γ; λ_βλ_γ, λ_αλ_β, λ_αλ_γ)      each triple α < β < γ, from D = 3, up to the interior degree
//!
//! so that c_1 … c_{n−1} are the free energies of the pure forms relative to form 0, and two forms make a polynomial of
//! degree D in λ with F(0) = 0. Coefficients of a buffer are those of one molecule.

use serde::{Deserialize, Serialize};

use super::Conditions;
use crate::bias::{LARGEST_INTERIOR, SimplexBasis};

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
    /// Lengths of the edges of the box, nm.
    pub box_edges: [f64; 3],
    /// Number of atoms of the model system.
    pub atoms: usize,
    /// Water model, such as "TIP3P".
    pub water_model: String,
    /// Buffer molecules that kept the box neutral; 0: the uniform background did.
    #[serde(default)]
    pub buffers: u32,
    /// Electrostatics: method, order, precision, boundary, what compensates the net charge.
    pub electrostatics: String,
    /// Lennard-Jones: cut-off and modifier.
    pub lennard_jones: String,
    /// Number of windows of fixed weights.
    pub windows: usize,
    /// Time per window that entered the averages, ns.
    pub time_per_window: f64,
    /// Time per window discarded before it, ns.
    pub equilibration_per_window: f64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// χ² per degree of freedom of the fit.
    pub reduced_chi_squared: f64,
    /// What a job that uses the correction must have in common with the calibration; absent in calibrations of versions that did not
    /// record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Conditions>,
}

/// How a correction of one solvent was made from that of another: the same solute was calibrated there, and other residues in both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transfer {
    /// Force field and water of the calibration, such as "ff14SB, TIP3P".
    pub from: String,
    /// What was added to the free energy of each form relative to form 0, kJ/mol.
    pub shifts: Vec<f64>,
    /// Standard error of these, kJ/mol.
    pub shift_errors: Vec<f64>,
    /// Standard deviation of the shifts of single residues, kJ/mol.
    pub scatter: Vec<f64>,
    /// Residues that were calibrated in both solvents.
    pub residues: Vec<String>,
}

/// The free energy F of the model compound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// Why it is only preliminary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Degree of the polynomial along the edges.
    pub degree: usize,
    /// Degree of the factor in the terms of three forms.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub interior_degree: usize,
    /// Coefficients c_k, kJ/mol.
    pub coefficients: Vec<f64>,
    /// Standard error of each coefficient, kJ/mol.
    pub errors: Vec<f64>,
    /// Standard error of the free energy of each form relative to form 0, kJ/mol (coefficients are correlated).
    pub free_energy_errors: Vec<f64>,
    /// Error of the free energy of each form that the statistics of the runs do not show, kJ/mol; absent if nothing is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub systematic_errors: Option<Vec<f64>>,
    /// What `free_energy_errors` and `systematic_errors` cover, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_covers: Option<String>,
    /// Largest deviation from a flat profile that the refinement reached, kJ/mol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flatness: Option<f64>,
    /// Range of the weights in the windows.
    pub range: [f64; 2],
    /// Where it comes from; of a correction that was transferred, the calibration in the other solvent, but for `conditions`.
    pub provenance: Provenance,
    /// How it was made from a calibration in another solvent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
}

/// Correction V_MM of an entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "lowercase")]
pub enum Correction {
    /// No calibration run yet.
    Uncalibrated,
    /// From a calibration that is too short, not shown to be flat, or of another setting.
    Preliminary(Box<Calibration>),
    /// Flat within its tolerance.
    Calibrated(Box<Calibration>),
    /// A calibration in another solvent, and what other residues say that the solvents differ by.
    Transferred(Box<Calibration>),
}

impl Correction {
    /// The calibration, preliminary or not.
    pub fn calibration(&self) -> Option<&Calibration> {
        match self {
            Self::Uncalibrated => None,
            Self::Preliminary(calibration) | Self::Calibrated(calibration) | Self::Transferred(calibration) => {
                Some(calibration)
            }
        }
    }

    /// "uncalibrated", "preliminary", "calibrated" or "transferred".
    pub fn status(&self) -> &'static str {
        match self {
            Self::Uncalibrated => "uncalibrated",
            Self::Preliminary(_) => "preliminary",
            Self::Calibrated(_) => "calibrated",
            Self::Transferred(_) => "transferred",
        }
    }
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Transfer {
    fn check(&self, n_forms: usize) -> Result<(), String> {
        for (key, numbers, lowest) in [
            ("shifts", &self.shifts, f64::NEG_INFINITY),
            ("shift_errors", &self.shift_errors, 0.0),
            ("scatter", &self.scatter, 0.0),
        ] {
            if numbers.len() != n_forms || numbers.iter().any(|&number| !(number.is_finite() && number >= lowest)) {
                let of_errors = if lowest == 0.0 { " ≥ 0" } else { "" };
                return Err(format!(
                    "correction.transfer.{key}: expected {n_forms} numbers{of_errors}, one for each form"
                ));
            }
        }
        Ok(())
    }
}

impl Calibration {
    /// The terms that the coefficients belong to, for a site with `n_forms` forms.
    pub fn basis(&self, n_forms: usize) -> SimplexBasis {
        SimplexBasis::new(n_forms, self.degree).with_interior(self.interior_degree)
    }

    pub(super) fn check(&self, n_forms: usize) -> Result<(), String> {
        let expected = self.basis(n_forms).len();
        let (found, errors) = (self.coefficients.len(), self.errors.len());
        let finite = self.coefficients.iter().chain(&self.range).all(|c| c.is_finite());
        if self.interior_degree > LARGEST_INTERIOR {
            return Err(format!(
                "correction.interior_degree: {}, expected 0 to {LARGEST_INTERIOR}",
                self.interior_degree
            ));
        }
        if self.degree == 0 || found != expected || errors != expected || !finite {
            return Err(format!(
                "correction: {found} coefficients and {errors} errors, expected {expected} finite numbers of each for \
                 {n_forms} forms and degree {}",
                self.degree
            ));
        }
        if self.free_energy_errors.len() != n_forms {
            return Err(format!("correction.free_energy_errors: expected {n_forms} numbers, one for each form"));
        }
        let systematic = self.systematic_errors.as_deref().unwrap_or_default();
        if self.systematic_errors.is_some() && systematic.len() != n_forms {
            return Err(format!("correction.systematic_errors: expected {n_forms} numbers, one for each form"));
        }
        if self.errors.iter().chain(&self.free_energy_errors).chain(systematic).any(|&e| !(e.is_finite() && e >= 0.0)) {
            return Err("correction: errors must be numbers ≥ 0".into());
        }
        if self.range[0] > 0.0 || self.range[1] < 1.0 {
            return Err(format!("correction.range: {:?} must contain 0 and 1", self.range));
        }
        self.transfer.as_ref().map_or(Ok(()), |transfer| transfer.check(n_forms))
    }
}
