//! From the finished runs of a calibration to its result: windows, rounds, and the entry of the library.

use super::calibrate::Target;
use super::children::Child;
use crate::checkpoint::{Checkpoint, Found};
use crate::config::{Config, Jobs, Modifier, Precision, Thermostat};
use crate::error::{Error, InputError, Result};
use crate::output::files;
use crate::output::sites;
use crate::output::tables::LambdaSeries;
use crate::record::{Kind, SiteRecord};
use lambda::analysis::flatness::{Flatness, FlatnessError, Prior, Round, estimate};
use lambda::analysis::simplex_fit::{SimplexFit, Surface, Uncertain, Window, fit_best};
use lambda::library::{Calibration as Coefficients, Correction, Entry, Provenance, entry_with_calibration};
use std::path::{Path, PathBuf};

/// Highest degree that is chosen without being asked for.
const MAX_DEGREE: usize = 8;
/// What errors of the windows may hide (kJ/mol), motions slower than a window: free runs correct that much.
const SYSTEMATIC: f64 = 1.0;
/// Transitions in the last round that show that the runs go everywhere.
const ENOUGH: usize = 10;

/// Where the results of the runs are.
pub struct Source<'a> {
    /// The job.
    pub config: &'a Config,
    /// What is calibrated.
    pub target: &'a Target,
    /// Its entry of the library.
    pub entry: &'a Entry,
    /// Weights of the windows.
    pub windows: &'a [Vec<f64>],
    /// Runs of the windows.
    pub children: &'a [Child],
    /// Library file of a round, from 1.
    pub library_of: Box<dyn Fn(usize) -> PathBuf + 'a>,
    /// Runs of a round.
    pub round: Box<dyn Fn(usize) -> Vec<Child> + 'a>,
}

/// A finished round.
#[derive(Debug, Clone)]
pub struct Finished {
    /// What the free runs say.
    pub round: Round,
    /// Largest deviation from a flat free energy (kJ/mol).
    pub deviation: Uncertain,
    /// Whether it is within the tolerance, with transitions enough to know.
    pub is_flat: bool,
}

/// What is known after the windows and some rounds. Of a buffer: all its molecules together.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Averages of the windows.
    pub windows: Vec<Window>,
    /// Their fit.
    pub fit: SimplexFit,
    /// The rounds.
    pub rounds: Vec<Finished>,
    /// The free energy from everything.
    pub surface: Surface,
    /// Molecules of a buffer that is calibrated; one for a site.
    pub molecules: f64,
    /// Name of the site.
    pub site: String,
}

/// Everything a calibration found.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// What is known.
    pub progress: Progress,
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
    /// What a reader should know.
    pub warnings: Vec<String>,
}

impl Source<'_> {
    fn temperature(&self) -> f64 {
        let own = self.config.titration.as_ref().and_then(|titration| titration.temperature);
        let bath = self.config.thermostat.as_ref().map(|thermostat| thermostat.temperature);
        own.or(bath).unwrap_or_else(|| Thermostat::default().temperature).get()
    }

    fn equilibration(&self) -> f64 {
        self.config.calibrate.as_ref().map_or(0.0, |calibrate| calibrate.equilibration.get())
    }

    fn refused(&self, message: String) -> Error {
        self.config.error_at("calibrate", message, "run longer")
    }

    /// The record of what is calibrated in the `sites.toml` of a run.
    fn record(&self, child: &Child) -> Result<SiteRecord> {
        let path = child.config.result(files::SITES);
        let mine = |record: &SiteRecord| match self.target {
            Target::Site(_, name) => record.name == *name,
            Target::Buffer => record.kind == Kind::Buffer,
        };
        let found = sites::read(&path)?.sites.into_iter().find(mine);
        found.ok_or_else(|| InputError::new("the site that is calibrated is not in it", "").in_file(&path).into())
    }

    /// Columns of the site after equilibration: λ, or the weight of each form, and ∂V/∂λ likewise.
    fn columns(&self, child: &Child) -> Result<[Vec<Vec<f64>>; 2]> {
        let record = self.record(child)?;
        let path = child.config.result(files::LAMBDA);
        let series = LambdaSeries::read(&path)?.after(self.equilibration());
        let (mut lambda, mut dvdl) = (Vec::new(), Vec::new());
        for name in record.columns() {
            let Some(column) = series.sites.iter().position(|site| *site == name) else {
                return Err(InputError::new(format!("there is no column lambda {name}"), "").in_file(&path).into());
            };
            lambda.push(series.lambda[column].clone());
            dvdl.push(series.dvdl[column].clone());
        }
        Ok([lambda, dvdl])
    }

    fn window(&self, weights: &[f64], child: &Child) -> Result<Window> {
        let [_, dvdl] = self.columns(child)?;
        let slopes = match &dvdl[..] {
            [one] => vec![one.clone()],
            [first, others @ ..] => {
                let less = |series: &Vec<f64>| series.iter().zip(first).map(|(a, b)| a - b).collect();
                others.iter().map(less).collect()
            }
            [] => Vec::new(),
        };
        let help = "make dynamics.duration longer, or output.lambda shorter";
        let path = child.config.result(files::LAMBDA);
        let wrong = |e| InputError::new(format!("∂V/∂λ: {e}"), help).in_file(&path).into();
        Window::from_series(weights, &slopes).map_err(wrong)
    }

    /// Weights of every form of the runs of a round.
    fn weights(&self, child: &Child) -> Result<Vec<Vec<f64>>> {
        let [lambda, _] = self.columns(child)?;
        Ok(match <[Vec<f64>; 1]>::try_from(lambda) {
            Ok([one]) => vec![one.iter().map(|lambda| 1.0 - lambda).collect(), one],
            Err(weights) => weights,
        })
    }
}

impl Progress {
    /// Reads the windows and the first `rounds` rounds.
    ///
    /// # Errors
    /// Results that are missing, damaged or too short.
    pub fn new(source: &Source, rounds: usize) -> Result<Self> {
        let pairs = source.windows.iter().zip(source.children);
        let windows = pairs.map(|(weights, child)| source.window(weights, child)).collect::<Result<Vec<_>>>()?;
        let fitted = match source.config.calibrate.as_ref().map(|calibrate| calibrate.degree) {
            Some(Jobs::Count(degree)) => fit_best(&windows, degree as usize..=degree as usize),
            _ => fit_best(&windows, 1..=MAX_DEGREE),
        };
        let fit = fitted.map_err(|e| source.config.error_at("calibrate.windows", e.to_string(), ""))?;
        let record = source.record(&source.children[0])?;
        let molecules = if record.kind == Kind::Buffer { record.molecules.len() as f64 } else { 1.0 };
        let surface = fit.surface.clone();
        let mut progress = Self { windows, fit, rounds: Vec::new(), surface, molecules, site: record.name };
        for number in 1..=rounds {
            progress.add(source, number)?;
        }
        Ok(progress)
    }

    fn add(&mut self, source: &Source, number: usize) -> Result<()> {
        let refused = |e: FlatnessError| source.refused(format!("round {number}: {e}"));
        let (basis, temperature) = (self.surface.basis, source.temperature());
        let used = self.used(&(source.library_of)(number))?;
        let runs = (source.round)(number).iter().map(|child| source.weights(child)).collect::<Result<Vec<_>>>()?;
        let round = Round::new(basis, &used, &runs).map_err(refused)?;
        let rounds: Vec<Round> = self.rounds.iter().map(|done| done.round.clone()).chain([round.clone()]).collect();
        let flatness = Flatness::new(basis, &rounds, temperature).map_err(refused)?;
        let tolerance = source.config.calibrate.as_ref().map_or(1.0, |calibrate| calibrate.tolerance.get());
        let is_flat = flatness.within(tolerance) && round.transitions >= ENOUGH;
        let prior = Prior::from_surface(&self.fit.surface, SYSTEMATIC);
        let prior = prior.ok_or_else(|| source.refused("the windows do not determine all coefficients".into()))?;
        self.surface = estimate(basis, &rounds, &prior, temperature).map_err(refused)?;
        self.rounds.push(Finished { round, deviation: flatness.deviation, is_flat });
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

    /// Why the result is preliminary; `None`: it is not.
    fn reason(&self, source: &Source) -> Option<String> {
        let tolerance = source.config.calibrate.as_ref().map_or(1.0, |calibrate| calibrate.tolerance.get());
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

    /// The correction as the library has it, of one molecule of a buffer.
    fn coefficients(&self, source: &Source) -> Result<Coefficients> {
        let all = self.windows.iter().flat_map(|window| &window.weights);
        let range = all.fold([0.0_f64, 1.0_f64], |[low, high], &w| [low.min(w), high.max(w)]);
        let scaled = |values: &[f64]| values.iter().map(|c| c / self.molecules).collect::<Vec<f64>>();
        let errors: Vec<f64> = self.surface.forms().iter().map(|form| form.error).collect();
        Ok(Coefficients {
            reason: self.reason(source),
            degree: self.surface.basis.degree(),
            interior_degree: self.surface.basis.interior(),
            coefficients: scaled(&self.surface.coefficients),
            errors: scaled(&self.surface.errors()),
            free_energy_errors: scaled(&errors),
            flatness: self.rounds.last().map(|round| round.deviation.value),
            range,
            provenance: self.provenance(source)?,
        })
    }

    /// The entry of the library as text, and its correction.
    ///
    /// # Errors
    /// If the first window has no checkpoint.
    pub fn entry(&self, source: &Source) -> Result<(String, Coefficients)> {
        let coefficients = self.coefficients(source)?;
        let unwritten = |e: String| Error::input(format!("the entry cannot be written: {e}"), "");
        let boxed = Box::new(coefficients.clone());
        let correction = match coefficients.reason {
            Some(_) => Correction::Preliminary(boxed),
            None => Correction::Calibrated(boxed),
        };
        let file = format!("{}.toml", source.entry.name);
        // As it was read, with its comments; an entry whose correction is not its last table loses them.
        let text = entry_with_calibration(&source.entry.text, &file, &correction).or_else(|_| {
            let plain = toml::to_string(source.entry).map_err(|e| unwritten(e.to_string()))?;
            entry_with_calibration(&plain, &file, &correction).map_err(|e| unwritten(e.to_string()))
        })?;
        Ok((text, coefficients))
    }

    /// The result.
    ///
    /// # Errors
    /// As [`Self::entry`].
    pub fn conclude(self, source: &Source) -> Result<Calibration> {
        let (entry, coefficients) = self.entry(source)?;
        Ok(Calibration {
            forms: source.entry.forms.iter().map(|form| form.name.clone()).collect(),
            temperature: source.temperature(),
            warnings: self.doubts(&coefficients),
            file: format!("{}.toml", source.entry.name),
            coefficients,
            entry,
            progress: self,
        })
    }

    /// Where the coefficients come from.
    fn provenance(&self, source: &Source) -> Result<Provenance> {
        let (config, child) = (source.config, &source.children[0]);
        let folder = child.config.folder();
        let Some(Found { checkpoint, .. }) = <Checkpoint>::load(folder)? else {
            return Err(InputError::new("the window has no checkpoint", "remove its folder").in_file(folder).into());
        };
        let records = sites::read(&child.config.result(files::SITES))?.sites;
        let buffers =
            records.iter().find(|record| record.kind == Kind::Buffer).map_or(0, |buffer| buffer.molecules.len());
        let start = source.equilibration();
        let length = config.steps() as f64 * config.dynamics.time_step.get();
        let precision = if config.electrostatics.precision == Precision::Single { "f32" } else { "f64" };
        let modifier = match config.van_der_waals.modifier {
            Modifier::None => "plain",
            Modifier::PotentialShift => "potential shift",
            Modifier::ForceSwitch => "force switch",
        };
        let by = if buffers > 0 && matches!(source.target, Target::Site(..)) { "buffers" } else { "the background" };
        let boundary = format!("{:?}", config.electrostatics.boundary).to_lowercase();
        let accuracy = config.electrostatics.accuracy();
        Ok(Provenance {
            program: format!("octitrate {}", env!("CARGO_PKG_VERSION")),
            date: today(),
            temperature: source.temperature(),
            box_edges: checkpoint.state.cell.edges().map_or([0.0; 3], Into::into),
            atoms: checkpoint.state.positions.len(),
            water_model: config.calibrate.as_ref().map(|calibrate| calibrate.water_model.clone()).unwrap_or_default(),
            buffers: buffers as u32,
            electrostatics: format!("FMM, {accuracy}, {precision}, {boundary}; net charge compensated by {by}"),
            lennard_jones: format!("cut-off {}, {modifier}", config.van_der_waals.cutoff),
            windows: self.windows.len(),
            time_per_window: (length - start) * 1e-3,
            equilibration_per_window: start * 1e-3,
            seed: config.dynamics.seed,
            reduced_chi_squared: self.fit.reduced_chi_squared(),
        })
    }

    /// What the numbers give reason to doubt.
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

/// The day, ISO 8601, UTC (days since 1970 to a date of the Gregorian calendar by eras of 400 years).
fn today() -> String {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.as_secs());
    date(seconds / 86_400)
}

/// The date `days` after 1970-01-01. Years start in March here, so that the leap day is the last.
fn date(days: u64) -> String {
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(11_016), "2000-02-29");
        assert_eq!(date(11_017), "2000-03-01");
        assert_eq!(date(19_782), "2024-02-29");
        assert_eq!(date(20_453), "2025-12-31");
        assert_eq!(date(20_454), "2026-01-01");
    }
}
