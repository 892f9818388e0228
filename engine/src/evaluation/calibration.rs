//! From the finished runs of a calibration to its result: windows, rounds of free runs, and the entry of the library.
//!
//! Windows give ⟨∂V/∂λ⟩ and by least squares a first free energy. Each round of free runs has the V_MM of all before it. Where its histograms
//! of λ are not flat the estimate is corrected; the windows remain in it as a prior. Of a buffer all molecules are estimated together, and
//! what is stored belongs to one of them.

mod inputs;
mod provenance;

pub use inputs::{Inputs, RoundRuns, WindowRun};

use crate::error::{Error, InputError, Result};
use crate::record::Kind;
use lambda::analysis::flatness::{Flatness, FlatnessError, Prior, Round, estimate};
use lambda::analysis::simplex_fit::{SimplexFit, Surface, Uncertain, Window, fit_best};
use lambda::library::{Calibration as Coefficients, Correction, Entry, entry_with_calibration};
use std::path::Path;

/// Highest degree that is chosen unless the job names one.
const MAX_DEGREE: usize = 8;
/// Error of the windows that their statistics do not show (kJ/mol), from motions slower than a window. Free runs may correct the windows by
/// about as much.
const SYSTEMATIC: f64 = 1.0;
/// Transitions in the last round from which on its runs are taken to go everywhere.
const ENOUGH: usize = 10;

/// A finished round.
#[derive(Debug, Clone)]
pub struct FinishedRound {
    /// What the free runs say.
    pub round: Round,
    /// Largest deviation from a flat free energy (kJ/mol).
    pub deviation: Uncertain,
    /// Whether it is within the tolerance, with transitions enough to know.
    pub is_flat: bool,
}

/// The free energy as it is known after the windows and some rounds.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// Averages of the windows.
    pub windows: Vec<Window>,
    /// Fit of the windows alone.
    pub fit: SimplexFit,
    /// The rounds.
    pub rounds: Vec<FinishedRound>,
    /// Free energy from windows and rounds.
    pub surface: Surface,
    /// Number of molecules of a buffer; one for a site.
    pub molecules: f64,
    /// Name of the site.
    pub site: String,
}

/// Everything a calibration found.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// What the runs say.
    pub estimate: Estimate,
    /// Names of the forms.
    pub forms: Vec<String>,
    /// Temperature (K).
    pub temperature: f64,
    /// The correction of the library.
    pub coefficients: Coefficients,
    /// The entry as a file.
    pub entry: String,
    /// Name of that file.
    pub file: String,
    /// What a reader should know before using the result, one sentence each.
    pub warnings: Vec<String>,
}

impl Estimate {
    /// Reads the windows and the rounds, and estimates the free energy from them.
    ///
    /// # Errors
    /// [`Error::File`] if results are missing, [`Error::Input`] if they are damaged or too short.
    pub fn new(inputs: &Inputs) -> Result<Self> {
        let windows = inputs.windows.iter().map(|run| inputs.window(run)).collect::<Result<Vec<_>>>()?;
        let fitted = match inputs.config.calibrate.as_ref().and_then(|calibrate| calibrate.degree.number()) {
            Some(degree) => fit_best(&windows, degree as usize..=degree as usize),
            None => fit_best(&windows, 1..=MAX_DEGREE),
        };
        let fit = fitted.map_err(|e| inputs.config.error_at("calibrate.windows", e.to_string(), ""))?;
        let record = inputs.record(inputs.windows[0].folder)?;
        let molecules = if record.kind == Kind::Buffer { record.molecules.len() as f64 } else { 1.0 };
        let surface = fit.surface.clone();
        let mut found = Self { windows, fit, rounds: Vec::new(), surface, molecules, site: record.name };
        for (index, round) in inputs.rounds.iter().enumerate() {
            found.add(inputs, index + 1, round)?;
        }
        Ok(found)
    }

    /// Adds round number `number`, from 1.
    fn add(&mut self, inputs: &Inputs, number: usize, files: &RoundRuns) -> Result<()> {
        let refused = |e: FlatnessError| inputs.too_short(format!("round {number}: {e}"));
        let (basis, temperature) = (self.surface.basis, inputs.temperature());
        let used = self.used(&files.library)?;
        let runs = files.folders.iter().map(|folder| inputs.weights(folder)).collect::<Result<Vec<_>>>()?;
        let round = Round::new(basis, &used, &runs).map_err(refused)?;
        let rounds: Vec<Round> = self.rounds.iter().map(|done| done.round.clone()).chain([round.clone()]).collect();
        let flatness = Flatness::new(basis, &rounds, temperature).map_err(refused)?;
        let is_flat = flatness.within(inputs.tolerance()) && round.transitions >= ENOUGH;
        let prior = Prior::from_surface(&self.fit.surface, SYSTEMATIC);
        let prior = prior.ok_or_else(|| inputs.too_short("the windows do not determine all coefficients".into()))?;
        self.surface = estimate(basis, &rounds, &prior, temperature).map_err(refused)?;
        self.rounds.push(FinishedRound { round, deviation: flatness.deviation, is_flat });
        Ok(())
    }

    /// Coefficients that a round had, from its library file.
    fn used(&self, path: &Path) -> Result<Vec<f64>> {
        let wrong = |message: String| -> Error {
            InputError::new(message, "remove the folder of this round and those after it").in_file(path).into()
        };
        let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, "read", e))?;
        let entry = Entry::from_toml(&text, &path.display().to_string()).map_err(|e| wrong(e.to_string()))?;
        let calibration = entry.correction.calibration();
        let basis = self.surface.basis;
        let fits = calibration.filter(|c| c.basis(basis.n_forms()) == basis);
        let calibration = fits.ok_or_else(|| wrong("the round had a polynomial of another degree".into()))?;
        Ok(calibration.coefficients.iter().map(|c| c * self.molecules).collect())
    }

    /// Whether the last round was flat.
    pub fn is_flat(&self) -> bool {
        self.rounds.last().is_some_and(|round| round.is_flat)
    }

    /// Why the result is preliminary; `None` if it is not.
    fn reason(&self, inputs: &Inputs) -> Option<String> {
        let tolerance = inputs.tolerance();
        let Some(last) = self.rounds.last() else {
            return Some("windows only; no free runs have shown that they are flat".into());
        };
        let error = self.surface.largest_error();
        let Uncertain { value, error: uncertainty } = last.deviation;
        if last.round.transitions < ENOUGH {
            return Some(format!("{} transitions in the last round", last.round.transitions));
        }
        if !last.is_flat {
            return Some(format!("free runs deviate by {value:.2} ± {uncertainty:.2} kJ/mol, more than {tolerance}"));
        }
        (error > tolerance).then(|| format!("the free energy between forms is known to {error:.2} kJ/mol only"))
    }

    /// The correction as the library has it, which is that of one molecule of a buffer.
    fn coefficients(&self, inputs: &Inputs) -> Result<Coefficients> {
        let all = self.windows.iter().flat_map(|window| &window.weights);
        let range = all.fold([0.0_f64, 1.0_f64], |[low, high], &w| [low.min(w), high.max(w)]);
        let scaled = |values: &[f64]| values.iter().map(|c| c / self.molecules).collect::<Vec<f64>>();
        let errors: Vec<f64> = self.surface.forms().iter().map(|form| form.error).collect();
        Ok(Coefficients {
            reason: self.reason(inputs),
            degree: self.surface.basis.degree(),
            interior_degree: self.surface.basis.interior(),
            coefficients: scaled(&self.surface.coefficients),
            errors: scaled(&self.surface.errors()),
            free_energy_errors: scaled(&errors),
            systematic_errors: None,
            error_covers: None,
            flatness: self.rounds.last().map(|round| round.deviation.value),
            range,
            provenance: provenance::provenance(inputs, self.fit.reduced_chi_squared())?,
        })
    }

    /// The entry of the library as text, and its correction.
    ///
    /// # Errors
    /// [`Error::Input`] if the first window has no checkpoint, or the entry cannot be written as TOML.
    pub fn entry(&self, inputs: &Inputs) -> Result<(String, Coefficients)> {
        let coefficients = self.coefficients(inputs)?;
        let unwritten = |e: String| Error::input(format!("the entry cannot be written: {e}"), "");
        let boxed = Box::new(coefficients.clone());
        let correction = match coefficients.reason {
            Some(_) => Correction::Preliminary(boxed),
            None => Correction::Calibrated(boxed),
        };
        let file = format!("{}.toml", inputs.entry.name);
        // As it was read, with its comments; an entry whose correction is not its last table loses them.
        let text = entry_with_calibration(&inputs.entry.text, &file, &correction).or_else(|_| {
            let plain = toml::to_string(inputs.entry).map_err(|e| unwritten(e.to_string()))?;
            entry_with_calibration(&plain, &file, &correction).map_err(|e| unwritten(e.to_string()))
        })?;
        Ok((text, coefficients))
    }

    /// Makes the result of the calibration.
    ///
    /// # Errors
    /// As [`Self::entry`].
    pub fn conclude(self, inputs: &Inputs) -> Result<Calibration> {
        let (entry, coefficients) = self.entry(inputs)?;
        Ok(Calibration {
            forms: inputs.entry.forms.iter().map(|form| form.name.clone()).collect(),
            temperature: inputs.temperature(),
            warnings: self.doubts(&coefficients),
            file: format!("{}.toml", inputs.entry.name),
            coefficients,
            entry,
            estimate: self,
        })
    }

    /// Reasons to doubt the result, one sentence each.
    fn doubts(&self, coefficients: &Coefficients) -> Vec<String> {
        let mut doubts: Vec<String> =
            coefficients.reason.iter().map(|reason| format!("preliminary: {reason}")).collect();
        let few: Vec<String> =
            self.windows.iter().filter(|window| window.samples < 20.0).map(|w| format!("{:?}", w.weights)).collect();
        if !few.is_empty() {
            doubts.push(format!(
                "fewer than 20 independent samples at the weights {}: their errors are uncertain; run longer",
                few.join(", ")
            ));
        }
        let chi = self.fit.reduced_chi_squared();
        if chi > 2.0 && self.fit.degrees_of_freedom > 0 {
            doubts.push(format!(
                "χ² per degree of freedom is {chi:.1}: the polynomial does not follow the windows, or their errors are too small; \
                 raise calibrate.degree, or run longer"
            ));
        }
        let error = self.surface.largest_error() / self.molecules;
        if error > 0.6 {
            doubts.push(format!(
                "the free energy between two forms is known to {error:.2} kJ/mol only, which is {:.2} pK units",
                error / 5.71
            ));
        }
        doubts
    }
}
