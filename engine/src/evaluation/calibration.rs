//! From the finished runs of a calibration to its result: windows, rounds of free runs, and the entry of the library.
//!
//! Windows give ⟨∂V/∂λ⟩ and by least squares a first free energy. Each round of free runs has the V_MM of all before it. Where its histograms
//! of λ are not flat the estimate is corrected; the windows remain in it as a prior. Of a buffer all molecules are estimated together, and
//! what is stored belongs to one of them.
//!
//! No MBAR over windows and free runs: it is possible, as V is a straight line in the weights up to the images' part, so that ∂V/∂λ of a frame gives its
//! energy in every window; but V_MM has to be a polynomial, which would be fitted to the result again, and free runs have the last word.

mod degree;
mod inputs;
mod measured;
mod provenance;
mod systematic;
mod verdict;

pub use inputs::{Inputs, RoundRuns, WindowRuns};
pub use measured::{Measured, Run};
pub use systematic::Systematic;
pub use verdict::{Windows, probability};

use crate::error::{Error, InputError, Result};
use crate::record::Kind;
use lambda::analysis::agreement::Difference;
use lambda::analysis::flatness::{Flatness, FlatnessError, Prior, Round, estimate, halves};
use lambda::analysis::simplex_fit::{SimplexFit, Surface, Uncertain, Window};
use lambda::library::{Calibration as Coefficients, Correction, Entry, entry_with_calibration};
use std::path::Path;

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
    /// How far first and second halves of the runs are apart; `None` if they are too short, or all forms are the same.
    pub halves: Option<Difference>,
    /// Weights of the runs, `[run][form][frame]`.
    pub runs: Vec<Vec<Vec<f64>>>,
}

/// The free energy as it is known after the windows and some rounds.
#[derive(Debug, Clone)]
pub struct Estimate {
    /// Averages of the windows, whose covariances are `scatter` times what their runs say.
    pub windows: Vec<Measured>,
    /// χ² per degree of freedom by which the starts of all windows differ, if that is no accident; else 1.
    pub scatter: f64,
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
    /// Errors that statistics do not show, known of a finished calibration.
    pub systematic: Systematic,
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
        let mut windows = inputs.windows.iter().map(|run| inputs.window(run)).collect::<Result<Vec<_>>>()?;
        // What one run of a window does not see of its own error, because a conformation lasts longer, starts show.
        let scatter = verdict::scatter(&windows);
        windows.iter_mut().for_each(|window| window.average.covariance *= scatter);
        let averages: Vec<Window> = windows.iter().map(|window| window.average.clone()).collect();
        let named = inputs.config.calibrate.as_ref().and_then(|calibrate| calibrate.degree.number());
        let fit = degree::fitted(&averages, named, inputs.symmetry)
            .map_err(|e| inputs.config.error_at("calibrate.windows", e.to_string(), ""))?;
        let record = inputs.record(inputs.windows[0].folders[0])?;
        let molecules = if record.kind == Kind::Buffer { record.molecules.len() as f64 } else { 1.0 };
        let surface = fit.surface.clone();
        let systematic = Systematic::default();
        let site = record.name;
        let mut found = Self { windows, scatter, fit, rounds: Vec::new(), surface, molecules, site, systematic };
        for (index, round) in inputs.rounds.iter().enumerate() {
            found.add(inputs, index + 1, round)?;
        }
        Ok(found)
    }

    /// Adds round number `number`, from 1.
    fn add(&mut self, inputs: &Inputs, number: usize, files: &RoundRuns) -> Result<()> {
        let refused = |e: FlatnessError| inputs.too_short(format!("round {number}: {e}"));
        let (space, temperature) = (&self.fit.space, inputs.temperature());
        let used = self.used(&files.library, inputs.elsewhere)?;
        let runs = files.folders.iter().map(|folder| inputs.weights(folder)).collect::<Result<Vec<_>>>()?;
        let round = Round::new(space, &used, &runs).map_err(refused)?;
        let rounds: Vec<Round> = self.rounds.iter().map(|done| done.round.clone()).chain([round.clone()]).collect();
        let flatness = Flatness::new(space, &rounds, temperature).map_err(refused)?;
        let is_flat = flatness.within(inputs.tolerance()) && round.transitions >= ENOUGH;
        let prior = Prior::from_surface(&self.fit.surface, space, SYSTEMATIC);
        let prior = prior.ok_or_else(|| inputs.too_short("the windows do not determine all coefficients".into()))?;
        let halves = halves(&space.symmetry, &runs).ok().flatten().and_then(|halves| Difference::of(&halves));
        self.surface = estimate(space, &rounds, &prior, temperature).map_err(refused)?;
        self.rounds.push(FinishedRound { round, deviation: flatness.deviation, is_flat, halves, runs });
        Ok(())
    }

    /// Why another round of free runs is to follow, in words; none if it could mend nothing of what makes a result preliminary.
    pub fn unsettled(&self, inputs: &Inputs) -> Option<String> {
        let judged = Self { systematic: Systematic::of(self, inputs), ..self.clone() };
        verdict::of_rounds(&judged, inputs).into_iter().chain(verdict::relaxing(&judged, inputs)).next()
    }

    /// Coefficients that a round had, from its library file; `elsewhere`: the residue whose correction it is, if it is not that of the model compound.
    fn used(&self, path: &Path, elsewhere: Option<&str>) -> Result<Vec<f64>> {
        let wrong = |message: String| -> Error {
            InputError::new(message, "remove the folder of this round and those after it").in_file(path).into()
        };
        let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, "read", e))?;
        let entry = Entry::from_toml(&text, &path.display().to_string()).map_err(|e| wrong(e.to_string()))?;
        let calibration = entry.own_correction(elsewhere).and_then(Correction::calibration);
        let (basis, unknown) = (self.surface.basis, || wrong("the round had no correction".into()));
        let calibration = calibration.ok_or_else(unknown)?;
        // Rounds of before, with fewer windows or by another choice of the degree, had fewer terms of the same kind.
        let had = calibration.basis(basis.n_forms());
        if had.degree() > basis.degree() || had.triple_terms() > basis.triple_terms() {
            return Err(wrong(format!(
                "the round had a polynomial of degree {}, now it is {}",
                had.degree(),
                basis.degree()
            )));
        }
        Ok(had.raised(&calibration.coefficients, &basis).iter().map(|c| c * self.molecules).collect())
    }

    /// Free energies of the forms against the first (kJ/mol), all molecules of a buffer together, with the errors that the library gets.
    pub fn free_energies(&self) -> Vec<Uncertain> {
        let widening = verdict::widening(self);
        let forms = self.surface.forms().into_iter();
        forms.map(|form| Uncertain { error: widening * form.error, ..form }).collect()
    }

    /// The correction as the library has it, which is that of one molecule of a buffer.
    fn coefficients(&self, inputs: &Inputs) -> Result<Coefficients> {
        let images = self.windows.iter().flat_map(|window| inputs.symmetry.images(&window.average.weights));
        let all: Vec<f64> = images.flatten().collect();
        let range = all.into_iter().fold([0.0_f64, 1.0_f64], |[low, high], w| [low.min(w), high.max(w)]);
        let scaled = |values: &[f64]| values.iter().map(|c| c / self.molecules).collect::<Vec<f64>>();
        let widening = verdict::widening(self);
        let errors: Vec<f64> = self.free_energies().iter().map(|form| form.error).collect();
        let each: Vec<f64> = self.surface.errors().iter().map(|error| widening * error).collect();
        let reasons = verdict::reasons(self, inputs);
        let systematic = Some(scaled(&self.systematic.total())).filter(|errors| !errors.is_empty());
        Ok(Coefficients {
            reason: (!reasons.is_empty()).then(|| reasons.join("; ")),
            degree: self.surface.basis.degree(),
            interior_degree: self.surface.basis.interior(),
            coefficients: scaled(&self.surface.coefficients),
            errors: scaled(&each),
            free_energy_errors: scaled(&errors),
            error_covers: Some(if systematic.is_some() { systematic::COVERS } else { systematic::STATISTICS }.into()),
            systematic_errors: systematic,
            flatness: self.rounds.last().map(|round| round.deviation.value),
            range,
            provenance: provenance::provenance(inputs, self)?,
            transfer: None,
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
        let text = entry_with_calibration(&inputs.entry.text, &file, inputs.elsewhere, &correction).or_else(|_| {
            let plain = toml::to_string(inputs.entry).map_err(|e| unwritten(e.to_string()))?;
            entry_with_calibration(&plain, &file, inputs.elsewhere, &correction).map_err(|e| unwritten(e.to_string()))
        })?;
        Ok((text, coefficients))
    }

    /// Makes the result of the calibration.
    ///
    /// # Errors
    /// As [`Self::entry`].
    pub fn conclude(mut self, inputs: &Inputs) -> Result<Calibration> {
        self.systematic = Systematic::of(&self, inputs);
        let (entry, coefficients) = self.entry(inputs)?;
        Ok(Calibration {
            forms: inputs.entry.forms.iter().map(|form| form.name.clone()).collect(),
            temperature: inputs.temperature(),
            warnings: self.doubts(inputs),
            file: format!("{}.toml", inputs.entry.name),
            coefficients,
            entry,
            estimate: self,
        })
    }

    /// Reasons to doubt the result, one sentence each.
    fn doubts(&self, inputs: &Inputs) -> Vec<String> {
        let preliminary = verdict::reasons(self, inputs).into_iter().map(|reason| format!("preliminary: {reason}"));
        let mut doubts: Vec<String> = preliminary.collect();
        let averages = self.windows.iter().map(|window| &window.average);
        let few: Vec<String> =
            averages.filter(|window| window.samples < 20.0).map(|w| format!("{:?}", w.weights)).collect();
        if !few.is_empty() {
            doubts.push(format!(
                "fewer than 20 independent samples at the weights {}: their errors are uncertain; run longer",
                few.join(", ")
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
