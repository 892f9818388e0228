//! What a calibration leaves behind: `calibration.csv`, `calibration.svg`, `report.html`, the entry of the library, and the
//! table at the end.

use super::calibrate::Calibration;
use crate::config::Config;
use crate::error::Result;
use crate::output::plot::{self, Curve, Point};
use crate::output::report::Report;
use crate::output::write_atomic;
use std::fmt::Write;
use std::path::Path;

/// ⟨∂V/∂λ⟩ by window.
pub const TABLE: &str = "calibration.csv";
/// The means and the polynomial.
pub const PLOT: &str = "calibration.svg";
/// Everything on one page.
pub const REPORT: &str = "report.html";

/// Writes all files of a calibration.
///
/// # Errors
/// [`crate::error::Error::File`].
pub fn write(calibration: &Calibration, config: &Config) -> Result<()> {
    let folder = config.folder();
    let plot = plot::calibration(&curve(calibration))?;
    write_atomic(&folder.join(TABLE), "write", csv(calibration).as_bytes())?;
    write_atomic(&folder.join(PLOT), "write", plot.as_bytes())?;
    write_atomic(&folder.join(&calibration.file), "write", calibration.entry.as_bytes())?;
    write_atomic(&folder.join(REPORT), "write", report(calibration, config, &plot)?.as_bytes())
}

fn csv(calibration: &Calibration) -> String {
    let mut text = String::from("lambda,dV/dlambda (kJ/mol),error (kJ/mol),fit (kJ/mol),frames,independent samples\n");
    for ((lambda, mean), frames) in calibration.windows.iter().zip(&calibration.means).zip(&calibration.frames) {
        let fit = calibration.fit.value(*lambda).value;
        let _ = writeln!(
            text,
            "{lambda},{:.5},{:.5},{fit:.5},{frames},{:.1}",
            mean.value, mean.error, mean.effective_samples
        );
    }
    text
}

fn curve(calibration: &Calibration) -> Curve {
    let measured = calibration.windows.iter().zip(&calibration.means);
    let points = measured
        .map(|(&x, mean)| Point { x, y: mean.value, interval: [mean.value - mean.error, mean.value + mean.error] })
        .collect();
    let [low, high] = calibration.fit.range;
    let grid = (0..=200).map(|k| low + (high - low) * f64::from(k) / 200.0);
    let line = grid.map(|x| (x, calibration.fit.value(x).value)).collect();
    let name = format!("{}, polynomial of degree {}", calibration.site, calibration.fit.coefficients.len() - 1);
    Curve { name, points, line, mark: None }
}

/// `-345.67 ± 0.12 kJ/mol`.
fn free_energy(calibration: &Calibration) -> String {
    let integral = calibration.fit.integral(0.0, 1.0);
    format!("{:.2} ± {:.2} kJ/mol", integral.value, integral.error)
}

fn rows(calibration: &Calibration) -> Vec<Vec<String>> {
    let row = |((lambda, mean), frames): ((&f64, &lambda::analysis::blocks::Mean), &usize)| {
        let off = (mean.value - calibration.fit.value(*lambda).value) / mean.error;
        vec![
            format!("{lambda:.2}"),
            format!("{:.2}", mean.value),
            format!("{:.2}", mean.error),
            format!("{off:+.1}"),
            format!("{:.0}", mean.effective_samples),
            frames.to_string(),
        ]
    };
    calibration.windows.iter().zip(&calibration.means).zip(&calibration.frames).map(row).collect()
}

fn coefficients(calibration: &Calibration) -> Vec<Vec<String>> {
    let pairs = calibration.coefficients.dvdl.iter().zip(&calibration.coefficients.errors).enumerate();
    pairs.map(|(k, (value, error))| vec![format!("λ^{k}"), format!("{value:.4}"), format!("{error:.4}")]).collect()
}

fn report(calibration: &Calibration, config: &Config, plot: &str) -> Result<String> {
    let provenance = &calibration.coefficients.provenance;
    let subtitle = format!(
        "{} windows of {:.1} ps each after {:.1} ps of equilibration, {} atoms, {} K",
        provenance.windows,
        1e3 * provenance.time_per_window,
        1e3 * provenance.equilibration_per_window,
        provenance.atoms,
        provenance.temperature
    );
    let mut report = Report::new(&format!("Calibration of {}", calibration.site), &subtitle);
    let chi = format!("χ² per degree of freedom {:.2}", calibration.fit.reduced_chi_squared());
    report.headline(&[["Free energy of the force field, λ = 0 to 1".into(), free_energy(calibration), chi]]);
    report.warnings(&calibration.warnings);
    report.figure("⟨∂V/∂λ⟩", plot, "Points: averages at fixed λ with standard errors. Line: weighted least squares.");
    report.table("Coefficients of ⟨∂V/∂λ⟩ (kJ/mol)", &["power", "value", "±"], &coefficients(calibration));
    let columns = ["λ", "⟨∂V/∂λ⟩ (kJ/mol)", "±", "off the fit (σ)", "independent samples", "frames"];
    report.table("Windows", &columns, &rows(calibration));
    report.details(&format!("Library entry {}", calibration.file), &calibration.entry);
    report.details("Settings", &config.to_toml()?);
    Ok(report.html())
}

/// The short table at the end of the command.
pub fn table(calibration: &Calibration, folder: &Path) -> String {
    let mut text =
        format!("{:>7} {:>18} {:>8} {:>16} {:>8}\n", "λ", "dV/dλ (kJ/mol)", "±", "off the fit (σ)", "samples");
    for row in rows(calibration) {
        let _ = writeln!(text, "{:>7} {:>18} {:>8} {:>16} {:>8}", row[0], row[1], row[2], row[3], row[4]);
    }
    text.push('\n');
    for warning in &calibration.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    let _ = writeln!(text, "{}: free energy from λ = 0 to 1: {}", calibration.site, free_energy(calibration));
    let _ = writeln!(text, "library entry: {}", folder.join(&calibration.file).display());
    let _ = write!(text, "report: {}", folder.join(REPORT).display());
    text
}
