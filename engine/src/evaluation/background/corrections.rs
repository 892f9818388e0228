//! Where the corrections V_MM of the sites come from: their entries in the libraries of the job.

use crate::evaluation::job::Job;
use crate::evaluation::runs::Run;
use crate::record::{Kind, SiteRecord};
use lambda::library::{Correction, Entry, SiteLibrary};
use std::f64::consts::LN_10;

/// Coefficients that are the same but for what a file leaves of them (kJ/mol).
const ROUNDING: f64 = 1e-6;
/// Largest `offset` of a site: beside its neighbours, and then some (kJ/mol).
const LARGEST_OFFSET: f64 = 30.0;

/// The correction of an entry, for people.
#[derive(Debug, Clone, PartialEq)]
pub struct CorrectionRecord {
    /// Entry of the library.
    pub entry: String,
    /// Force field of the entry.
    pub force_field: String,
    /// Factor of the charges of ionised groups and ions: 1 if they are whole.
    pub charge_scale: f64,
    /// `calibrated`, `transferred`, `preliminary` or `uncalibrated`.
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
    fn of(entry: &Entry, correction: &Correction, residue: &str) -> Self {
        let calibration = correction.calibration();
        let errors = calibration.map(|calibration| {
            let pk = forcefield::units::GAS_CONSTANT * calibration.provenance.temperature * LN_10;
            let largest = |errors: &Vec<f64>| errors.iter().copied().fold(0.0, f64::max) / pk;
            (largest(&calibration.free_energy_errors), calibration.systematic_errors.as_ref().map(largest))
        });
        let made = calibration.map(|calibration| {
            let made = &calibration.provenance;
            // The model compound of an entry is that of its own correction.
            let compound = match &entry.model_compound {
                Some(name) if *correction == entry.correction => format!(" of {name}"),
                Some(_) => format!(" at {residue}"),
                None => String::new(),
            };
            let transferred = calibration.transfer.as_ref().map_or(String::new(), |transfer| {
                let conditions = made.conditions.as_ref();
                let water = conditions.map_or(String::new(), |conditions| format!(" to {}", conditions.water));
                let residues = transfer.residues.join(", ");
                format!("; transferred from {}{water} by what {residues} differ by in both", transfer.from)
            });
            format!(
                "{}, {}: {} windows{compound} of {:.2} ns, {} atoms, {} K, {}{transferred}",
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

/// Whether a site had this correction, as far as its files say which one it had: the libraries of the job may be gone, and entries of other force fields have the
/// same names.
fn is_of(site: &SiteRecord, correction: &Correction) -> bool {
    let Some(calibration) = correction.calibration() else { return true };
    let recorded = match (&site.correction, &site.free_energies) {
        (Some(had), _) => &had.coefficients,
        (None, Some(had)) => had,
        (None, None) => return true,
    };
    // The first ones are free energies, which hold the `offset` of the site, too.
    let linear = site.forms.len().saturating_sub(1);
    // The polynomial of a buffer is that of all its molecules, and has no offset.
    let (scale, linear) = match site.kind {
        Kind::Titratable => (1.0, linear),
        Kind::Buffer => (site.molecules.len() as f64, 0),
    };
    let alike = |(a, b): (&f64, &f64)| (a - scale * b).abs() < scale * ROUNDING;
    match &site.correction {
        Some(_) => {
            let others = recorded.iter().skip(linear).zip(calibration.coefficients.iter().skip(linear));
            recorded.len() == calibration.coefficients.len() && others.into_iter().all(alike)
        }
        None => recorded.iter().skip(1).zip(&calibration.coefficients).all(|(a, b)| (a - b).abs() < LARGEST_OFFSET),
    }
}

/// The corrections of the entries that the sites of `runs` have, in the order of the sites, those of ends of chains apart; and the library of the job. Files that are gone are
/// left out, and entries with other corrections than the sites had.
pub(super) fn of<'a>(runs: impl IntoIterator<Item = &'a Run>, job: &Job) -> (Vec<CorrectionRecord>, SiteLibrary) {
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
    for site in runs.into_iter().flat_map(|run| &run.sites.sites) {
        let Some(entry) = library.entries.iter().find(|entry| entry.name == site.entry) else { continue };
        let residue = site.name.split_whitespace().rev().nth(1).unwrap_or_default();
        let correction = entry.correction_at(residue, false).unwrap_or(&entry.correction);
        if !is_of(site, correction) {
            continue;
        }
        let record = CorrectionRecord::of(entry, correction, residue);
        if !records.contains(&record) {
            records.push(record);
        }
    }
    (records, library)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{FormRecord, PolynomialRecord};
    use std::path::Path;

    /// An end of a chain has the correction of its residue, which another model compound was made for than the one of the entry.
    #[test]
    fn a_correction_is_said_to_be_of_the_compound_that_it_was_made_with() {
        let library = SiteLibrary::builtin().unwrap();
        let entry = library.entries.iter().find(|entry| entry.name == "cterm").unwrap();
        let made = |residue: &str| {
            let correction = entry.correction_at(residue, true).unwrap();
            CorrectionRecord::of(entry, correction, residue).made.unwrap()
        };
        assert!(made("ALA").contains(" windows of ACE-ALA-COOH of "), "{}", made("ALA"));
        assert!(made("LEU").contains(" windows at LEU of "), "{}", made("LEU"));
        // One that was transferred says from where, to what and by which residues.
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/octitrate/corrections/ff19SB-opc/nterm.toml");
        let entry = &SiteLibrary::from_path(&file).unwrap().entries[0];
        let record = CorrectionRecord::of(entry, entry.correction_at("GLY", true).unwrap(), "GLY");
        let made = record.made.unwrap();
        assert_eq!(record.status, "transferred");
        let said = ", TIP3P; transferred from ff14SB, TIP3P to OPC by what ARG, HIP, LYS, PHE, PRO, THR, TYR differ by in both";
        assert!(made.contains(" windows at GLY of ") && made.ends_with(said), "{made}");
    }

    /// The correction of Glu that comes with the program, and sites that had it, or another.
    #[test]
    fn a_correction_is_that_of_a_site_only_if_the_site_had_it() {
        let library = SiteLibrary::builtin().unwrap();
        let entry = library.entries.iter().find(|entry| entry.name == "glu").unwrap();
        let calibration = entry.correction.calibration().unwrap();
        let forms = vec![FormRecord { name: "form".into(), protons_lost: 0, charge: 0.0, pk: 0.0 }; entry.forms.len()];
        let site = |coefficients: Vec<f64>| SiteRecord {
            forms: forms.clone(),
            correction: Some(PolynomialRecord { coefficients, ..PolynomialRecord::default() }),
            ..SiteRecord::default()
        };
        let had = calibration.coefficients.clone();
        let with_offset = [&[had[0] + 5.7], &had[1..]].concat();
        let other: Vec<f64> = had.iter().map(|c| 0.75 * c).collect();
        assert!(is_of(&site(had.clone()), &entry.correction) && is_of(&site(with_offset), &entry.correction));
        assert!(!is_of(&site(other), &entry.correction) && !is_of(&site(had[1..].to_vec()), &entry.correction));
        let older =
            |free_energy: f64| SiteRecord { free_energies: Some(vec![0.0, free_energy]), ..SiteRecord::default() };
        assert!(is_of(&older(had[0] + 5.7), &entry.correction) && !is_of(&older(had[0] + 80.0), &entry.correction));
        assert!(is_of(&SiteRecord::default(), &entry.correction));
        let buffer = |factor: f64| SiteRecord {
            kind: Kind::Buffer,
            molecules: vec![4, 5, 6],
            ..site(had.iter().map(|c| factor * c).collect())
        };
        assert!(is_of(&buffer(3.0), &entry.correction) && !is_of(&buffer(2.9), &entry.correction));
    }
}
