//! `calibrate`: ⟨∂V/∂λ⟩ of a model compound in windows of fixed λ, and the polynomial that makes its V_MM.
//!
//! Each window is a run of its own in `lambda_0.50` ([`super::children`]). Errors of the means come from the correlation of
//! their series, the polynomial from weighted least squares (`lambda::analysis`). The result is an entry of the library,
//! the built-in one with its correction replaced: name it in `titration.library` of a job to use it.

use super::calibrate_report;
use super::children::{self, Child};
use super::many::{Batch, Many};
use crate::checkpoint::Checkpoint;
use crate::config::{Config, Jobs, Modifier, Precision, SiteRequest};
use crate::error::{Error, InputError, Result};
use crate::output::files;
use crate::output::tables::LambdaSeries;
use lambda::analysis::blocks::{Mean, mean};
use lambda::analysis::polynomial::{DataPoint, PolynomialFit, fit};
use lambda::library::{Calibration as Coefficients, Entry, Provenance, entry_with_calibration};

/// A calibration as planned.
#[derive(Debug)]
pub struct Plan {
    windows: Vec<f64>,
    entry: Entry,
    batch: Batch,
}

/// Everything a calibration found.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// Name of the site, `GLU 2`.
    pub site: String,
    /// λ of each window.
    pub windows: Vec<f64>,
    /// ⟨∂V/∂λ⟩ of each window (kJ/mol).
    pub means: Vec<Mean>,
    /// Frames of each window.
    pub frames: Vec<usize>,
    /// The polynomial.
    pub fit: PolynomialFit,
    /// The entry of the library.
    pub coefficients: Coefficients,
    /// The entry as a file.
    pub entry: String,
    /// Name of that file.
    pub file: String,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

impl Many for Plan {
    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn title(&self) -> String {
        format!("calibration: {} windows", self.windows.len())
    }

    fn conclude(&self) -> Result<String> {
        let (calibration, config) = (self.evaluate()?, &self.batch.config);
        calibrate_report::write(&calibration, config)?;
        Ok(calibrate_report::table(&calibration, config.folder()))
    }
}

impl Plan {
    /// Plans the windows of a job; `jobs` overrides those of the job.
    ///
    /// # Errors
    /// [`Error::Input`] if the job has no section `[calibrate]`, names no single site, or the library does not know it.
    pub fn new(config: Config, jobs: Option<u32>) -> Result<Plan> {
        let Some(calibrate) = &config.calibrate else {
            let help = "add one, for example [calibrate] windows = { min = -0.1, max = 1.1, step = 0.1 }";
            return Err(InputError::new("the job has no section [calibrate]", help).in_file(config.path()).into());
        };
        let site = site(&config)?;
        let entry = entry(&config, &site)?;
        let windows = calibrate.windows.to_vec();
        let children: Vec<Child> =
            windows.iter().enumerate().map(|(index, &lambda)| child(&config, &site, lambda, index as u64)).collect();
        let jobs = jobs.map_or(calibrate.jobs, Jobs::Count);
        Ok(Plan { windows, entry, batch: Batch { config, children, jobs, noun: "windows", command: "calibrate" } })
    }

    /// Averages the finished windows and fits the polynomial.
    ///
    /// # Errors
    /// If a window has too few frames, or the windows do not determine the polynomial.
    pub fn evaluate(&self) -> Result<Calibration> {
        let settings = self.batch.config.calibrate.as_ref();
        let start = settings.map_or(0.0, |calibrate| calibrate.equilibration.get());
        let degree = settings.map_or(1, |calibrate| calibrate.degree as usize);
        let (mut means, mut frames, mut site) = (Vec::new(), Vec::new(), String::new());
        for child in &self.batch.children {
            let path = child.config.result(files::LAMBDA);
            let series = LambdaSeries::read(&path)?.after(start);
            let wrong = |message: String| -> Error { InputError::new(message, "").in_file(&path).into() };
            let ([name], [dvdl]) = (&series.sites[..], &series.dvdl[..]) else {
                return Err(wrong(format!("found {} sites, a calibration has one", series.sites.len())));
            };
            let help = "make dynamics.duration longer, or output.lambda shorter";
            let average = mean(dvdl).map_err(|e| InputError::new(format!("∂V/∂λ: {e}"), help).in_file(&path))?;
            (site, frames) = (name.clone(), [frames, vec![dvdl.len()]].concat());
            means.push(average);
        }
        let point = |(&x, mean): (&f64, &Mean)| DataPoint { x, y: mean.value, error: mean.error };
        let points: Vec<DataPoint> = self.windows.iter().zip(&means).map(point).collect();
        let refused = |message: String| self.batch.config.error_at("calibrate.windows", message, "");
        let fit = fit(&points, degree).map_err(|e| refused(e.to_string()))?;
        let coefficients = fit.calibration(self.provenance(start)?).map_err(|e| refused(e.to_string()))?;
        let text =
            toml::to_string(&self.entry).map_err(|e| Error::input(format!("the entry cannot be written: {e}"), ""))?;
        let file = format!("{}.toml", self.entry.name);
        let entry = entry_with_calibration(&text, &file, &coefficients).map_err(|e| Error::input(e.to_string(), ""))?;
        let windows = self.windows.clone();
        let mut result =
            Calibration { site, windows, means, frames, fit, coefficients, entry, file, warnings: Vec::new() };
        result.warnings = doubts(&result);
        Ok(result)
    }

    /// Where the coefficients come from.
    fn provenance(&self, start: f64) -> Result<Provenance> {
        let config = &self.batch.config;
        let folder = self.batch.children[0].config.folder();
        let Some((checkpoint, _)) = Checkpoint::load(folder)? else {
            return Err(InputError::new("the window has no checkpoint", "remove its folder").in_file(folder).into());
        };
        let edges = checkpoint.state.edges.map_or([0.0; 3], Into::into);
        let length = config.steps() as f64 * config.dynamics.time_step.get();
        let precision = if config.electrostatics.precision == Precision::Single { "f32" } else { "f64" };
        let modifier = match config.van_der_waals.modifier {
            Modifier::None => "plain",
            Modifier::PotentialShift => "potential shift",
            Modifier::ForceSwitch => "force switch",
        };
        Ok(Provenance {
            program: format!("octitrate {}", env!("CARGO_PKG_VERSION")),
            date: today(),
            temperature: config.titration.as_ref().and_then(|titration| titration.temperature).map_or(0.0, |t| t.get()),
            box_edges: edges,
            atoms: checkpoint.state.positions.len(),
            water_model: config.calibrate.as_ref().map(|calibrate| calibrate.water_model.clone()).unwrap_or_default(),
            electrostatics: format!(
                "FMM, {}, {precision}, {:?}; net charge compensated by the background",
                config.electrostatics.accuracy(),
                config.electrostatics.boundary
            )
            .to_lowercase()
            .replacen("fmm", "FMM", 1),
            lennard_jones: format!("cut-off {}, {modifier}", config.van_der_waals.cutoff),
            windows: self.windows.len(),
            time_per_window: (length - start) * 1e-3,
            equilibration_per_window: start * 1e-3,
            seed: config.dynamics.seed,
            reduced_chi_squared: 0.0,
        })
    }
}

/// The residue to calibrate: `calibrate.site`, or the only `[[titration.site]]`.
fn site(config: &Config) -> Result<String> {
    let asked = config.calibrate.as_ref().and_then(|calibrate| calibrate.site.clone());
    let sites = config.titration.as_ref().map(|titration| titration.sites.as_slice()).unwrap_or_default();
    match (asked, sites) {
        (Some(site), _) => Ok(site),
        (None, [only]) => Ok(only.residue.clone()),
        (None, _) => {
            let message = format!("the file has {} sites, and none is named for the calibration", sites.len());
            Err(config.error_at("calibrate", message, "set calibrate.site = \"GLU 2\""))
        }
    }
}

/// The entry of a residue such as `GLU 2`.
fn entry(config: &Config, site: &str) -> Result<Entry> {
    let name = site.split_whitespace().next().unwrap_or_default();
    let library = crate::titration::library(config)?;
    let known: Vec<String> = library.entries.iter().flat_map(|entry| entry.residues.clone()).collect();
    let found = library.entries.into_iter().find(|entry| entry.residues.iter().any(|residue| residue == name));
    let message = || format!("the library has no residue {name}");
    found.ok_or_else(|| config.error_at("calibrate.site", message(), format!("valid are {}", known.join(", "))))
}

/// The run of one window.
fn child(config: &Config, site: &str, lambda: f64, index: u64) -> Child {
    let mut job = config.clone();
    job.calibrate = None;
    if let Some(titration) = &mut job.titration {
        titration.sites = vec![SiteRequest { residue: site.to_string(), initial: None, fixed: Some(lambda) }];
    }
    job.dynamics.seed = children::seed(config.dynamics.seed, index);
    let short = (lambda * 100.0).round() / 100.0 == lambda;
    let label = if short { format!("{lambda:.2}") } else { format!("{lambda}") };
    job.output.folder = config.folder().join(format!("lambda_{label}"));
    Child { name: format!("λ = {label}"), config: job }
}

/// What the numbers give reason to doubt.
fn doubts(calibration: &Calibration) -> Vec<String> {
    let mut doubts = Vec::new();
    let few: Vec<String> = calibration
        .windows
        .iter()
        .zip(&calibration.means)
        .filter(|(_, mean)| mean.effective_samples < 20.0)
        .map(|(lambda, _)| format!("{lambda}"))
        .collect();
    if !few.is_empty() {
        doubts.push(format!(
            "fewer than 20 independent samples at λ = {}: their errors are uncertain; run longer",
            few.join(", ")
        ));
    }
    let chi = calibration.fit.reduced_chi_squared();
    if chi > 2.0 && calibration.fit.degrees_of_freedom > 0 {
        doubts.push(format!("χ² per degree of freedom is {chi:.1}: the polynomial does not follow the windows, or their errors are too small; raise calibrate.degree, or run longer"));
    }
    if calibration.coefficients.free_energy_error > 0.6 {
        doubts.push(format!(
            "the free energy between the forms is known to {:.2} kJ/mol only, which is {:.2} pK units",
            calibration.coefficients.free_energy_error,
            calibration.coefficients.free_energy_error / 5.71
        ));
    }
    doubts
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
