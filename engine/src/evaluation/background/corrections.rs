//! Where the corrections V_MM of the sites come from: their entries in the libraries of the job.

use super::Job;
use crate::evaluation::pka::Evaluation;
use lambda::library::{Correction, Entry, SiteLibrary};
use std::f64::consts::LN_10;

/// The correction of an entry, for people.
#[derive(Debug, Clone, PartialEq)]
pub struct CorrectionRecord {
    /// Entry of the library.
    pub entry: String,
    /// Force field of the entry.
    pub force_field: String,
    /// Factor of the charges of ionised groups and ions: 1 if they are whole.
    pub charge_scale: f64,
    /// `calibrated`, `preliminary` or `uncalibrated`.
    pub status: &'static str,
    /// Why it is only preliminary.
    pub reason: Option<String>,
    /// pKa of the model compound, with its source.
    pub pka: Option<(f64, String)>,
    /// Statistical and, where it is known, systematic error of the free energies, the largest of all forms (pK units).
    pub errors: Option<(f64, Option<f64>)>,
    /// Program and day of the calibration, and what was calibrated.
    pub made: Option<String>,
}

impl CorrectionRecord {
    fn of(entry: &Entry, correction: &Correction) -> Self {
        let calibration = correction.calibration();
        let errors = calibration.map(|calibration| {
            let pk = forcefield::units::GAS_CONSTANT * calibration.provenance.temperature * LN_10;
            let largest = |errors: &Vec<f64>| errors.iter().copied().fold(0.0, f64::max) / pk;
            (largest(&calibration.free_energy_errors), calibration.systematic_errors.as_ref().map(largest))
        });
        let made = calibration.map(|calibration| {
            let made = &calibration.provenance;
            let compound = entry.model_compound.as_ref().map_or(String::new(), |name| format!(" of {name}"));
            format!(
                "{}, {}: {} windows{compound} of {:.2} ns, {} atoms, {} K, {}",
                made.program,
                made.date,
                made.windows,
                made.time_per_window,
                made.atoms,
                made.temperature,
                made.water_model
            )
        });
        Self {
            entry: entry.name.clone(),
            force_field: entry.force_field.clone(),
            charge_scale: entry.charge_scale,
            status: correction.status(),
            reason: calibration.and_then(|calibration| calibration.reason.clone()),
            pka: entry.pka.map(|pka| (pka, entry.pka_source.clone().unwrap_or_default())),
            errors,
            made,
        }
    }
}

/// The corrections of the entries in use, in the order of the sites, those of ends of chains apart; and the library of the job. Files that are gone are
/// left out.
pub(super) fn of(evaluation: &Evaluation, job: &Job) -> (Vec<CorrectionRecord>, SiteLibrary) {
    let mut library = SiteLibrary::default();
    for path in job.paths("titration", "library") {
        if let Ok(found) = SiteLibrary::from_path(&path) {
            library.extend(found);
        }
    }
    if let Ok(builtin) = SiteLibrary::builtin() {
        library.extend(builtin);
    }
    let mut records: Vec<CorrectionRecord> = Vec::new();
    for site in evaluation.runs.iter().flat_map(|run| &run.sites.sites) {
        let Some(entry) = library.entries.iter().find(|entry| entry.name == site.entry) else { continue };
        let residue = site.name.split_whitespace().rev().nth(1).unwrap_or_default();
        let correction = entry.correction_at(residue, false).unwrap_or(&entry.correction);
        let record = CorrectionRecord::of(entry, correction);
        if !records.contains(&record) {
            records.push(record);
        }
    }
    (records, library)
}
