//! What a titration leaves behind: `titration.csv`, `pka.csv`, `titration.svg`, `report.html`, and the table at the end.

use super::statistics::Fraction;
use super::titrate::{SiteCurve, Titration};
use crate::config::Config;
use crate::error::Result;
use crate::output::plot::{self, Curve, Panel, Point};
use crate::output::report::Report;
use crate::output::write_atomic;
use lambda::analysis::hill::{Determined, deprotonated_fraction};
use std::fmt::Write;
use std::path::Path;

/// Fractions by pH and site.
pub const TABLE: &str = "titration.csv";
/// Fitted pKa by site.
pub const PKA: &str = "pka.csv";
/// The curve.
pub const PLOT: &str = "titration.svg";
/// Everything on one page.
pub const REPORT: &str = "report.html";

/// Writes all files of a titration.
///
/// # Errors
/// [`crate::error::Error::File`].
pub fn write(titration: &Titration, config: &Config) -> Result<()> {
    let folder = config.folder();
    let curve = plot::titration(&curves(titration), [titration.ph[0], titration.ph[titration.ph.len() - 1]])?;
    write_atomic(&folder.join(TABLE), "write", csv(titration).as_bytes())?;
    write_atomic(&folder.join(PKA), "write", pka_csv(titration).as_bytes())?;
    write_atomic(&folder.join(PLOT), "write", curve.as_bytes())?;
    write_atomic(&folder.join(REPORT), "write", report(titration, config, &curve)?.as_bytes())
}

/// A number of `digits` decimals, or nothing.
fn optional(value: Option<f64>, digits: usize) -> String {
    value.filter(|value| value.is_finite()).map(|value| format!("{value:.digits$}")).unwrap_or_default()
}

fn csv(titration: &Titration) -> String {
    let mut text = String::from("pH,site,deprotonated,low,high,mixed,mean lambda,transitions,frames\n");
    for site in &titration.sites {
        for (ph, f) in titration.ph.iter().zip(&site.fractions) {
            let ends = f.interval.map_or([None; 2], |ends| ends.map(Some)).map(|end| optional(end, 5)).join(",");
            let (s, mixed, mean) = (optional(f.deprotonated, 5), f.mixed, f.mean);
            let _ = writeln!(text, "{ph},{},{s},{ends},{mixed:.5},{mean:.5},{},{}", site.name, f.transitions, f.frames);
        }
    }
    text
}

fn pka_csv(titration: &Titration) -> String {
    let mut text =
        String::from("site,pKa,pKa error,Hill coefficient,Hill error,pKa of slope 1,its error,model compound\n");
    for site in &titration.sites {
        let results = site.hill.as_ref().map_or([Determined::Unknown; 3], |h| [h.pka, h.slope, h.pka_slope_one]);
        let numbers = results.map(|number| [number.value(), number.error()].map(|value| optional(value, 4)).join(","));
        let _ = writeln!(text, "{},{},{}", site.name, numbers.join(","), optional(site.reference, 2));
    }
    text
}

fn curves(titration: &Titration) -> Vec<Curve> {
    let (low, high) = (titration.ph[0] - 0.4, titration.ph[titration.ph.len() - 1] + 0.4);
    let grid: Vec<f64> = (0..=200).map(|k| low + (high - low) * f64::from(k) / 200.0).collect();
    let curve = |site: &SiteCurve| {
        let point = |(&x, f): (&f64, &Fraction)| {
            let y = f.deprotonated?;
            Some(Point { x, y, interval: f.interval.unwrap_or([y, y]) })
        };
        let points = titration.ph.iter().zip(&site.fractions).filter_map(point).collect();
        // Without a slope of its own the curve is that of a single site.
        let fitted = site.hill.as_ref().and_then(|h| Some((h.pka.value()?, h.slope.value().unwrap_or(1.0))));
        let line = fitted.map(|(pka, n)| grid.iter().map(|&x| (x, deprotonated_fraction(x, pka, n))).collect());
        let name = format!("{}: pKa {}", site.name, pka(site));
        Curve { name, points, line: line.unwrap_or_default(), mark: fitted.map(|(pka, _)| pka) }
    };
    titration.sites.iter().map(curve).collect()
}

/// `4.23 ± 0.05`, or what is known.
fn pka(site: &SiteCurve) -> Determined {
    site.hill.as_ref().map_or(Determined::Unknown, |hill| hill.pka)
}

/// `Hill coefficient 0.98 ± 0.07, model compound 4.25`.
fn remark(site: &SiteCurve) -> String {
    let slope = site.hill.as_ref().map_or(Determined::Unknown, |hill| hill.slope);
    let reference = site.reference.map(|pka| format!(", model compound {pka:.2}")).unwrap_or_default();
    format!("Hill coefficient {slope}{reference}")
}

fn report(titration: &Titration, config: &Config, curve: &str) -> Result<String> {
    let length = config.steps() as f64 * config.dynamics.time_step.get();
    let equilibration = config.titrate.as_ref().map_or(0.0, |titrate| titrate.equilibration.get());
    let replicas = titration.series[0].len();
    let runs = if replicas == 1 { "run" } else { "runs" };
    let left_out = if equilibration > 0.0 { format!(", the first {equilibration} ps left out") } else { String::new() };
    let subtitle = format!("{} pH values, {replicas} {runs} of {length} ps each{left_out}", titration.ph.len());
    let mut report = Report::new(&format!("Titration of {}", titration.title), &subtitle);
    let headline = |site: &SiteCurve| [format!("pKa of {}", site.name), pka(site).to_string(), remark(site)];
    report.headline(&titration.sites.iter().map(headline).collect::<Vec<_>>());
    report.warnings(&titration.warnings);
    report.figure("Titration curve", curve, "Points: deprotonated fraction (frames with λ above 0.8, of those below 0.2 or above 0.8) with standard errors from blocks. Lines: Hill fits; dashed: pKa. Errors of the fit by block bootstrap.");
    let columns = ["pH", "site", "deprotonated", "±", "mixed", "mean λ", "transitions", "frames"];
    report.table("Fractions", &columns, &rows(titration));
    report.figure(
        "λ against time",
        &plot::lambda_series(&panels(titration))?,
        "One panel for each pH; a colour for each site and replica. 0 is protonated, 1 deprotonated.",
    );
    report.details("Settings", &config.to_toml()?);
    Ok(report.html())
}

fn rows(titration: &Titration) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for site in &titration.sites {
        for (ph, f) in titration.ph.iter().zip(&site.fractions) {
            let mixed = format!("{:.1} %", 100.0 * f.mixed);
            let s = [optional(f.deprotonated, 3), optional(f.error(), 3)];
            let [s, error] = s.map(|text| if text.is_empty() { "–".into() } else { text });
            rows.push(vec![
                format!("{ph:.2}"),
                site.name.clone(),
                s,
                error,
                mixed,
                format!("{:.3}", f.mean),
                f.transitions.to_string(),
                f.frames.to_string(),
            ]);
        }
    }
    rows
}

fn panels(titration: &Titration) -> Vec<Panel> {
    let panel = |(ph, runs): (&f64, &Vec<crate::output::tables::LambdaSeries>)| {
        let series = runs.iter().flat_map(|run| run.lambda.iter().map(|lambda| (run.time.clone(), lambda.clone())));
        Panel { title: format!("pH {ph:.2}"), series: series.collect() }
    };
    titration.ph.iter().zip(&titration.series).map(panel).collect()
}

/// The short table at the end of the command.
pub fn table(titration: &Titration, folder: &Path) -> String {
    let mut text =
        format!("{:>7}  {:<10} {:>13} {:>8} {:>8} {:>12}\n", "pH", "site", "deprotonated", "±", "mixed", "transitions");
    for row in rows(titration) {
        let _ =
            writeln!(text, "{:>7}  {:<10} {:>13} {:>8} {:>8} {:>12}", row[0], row[1], row[2], row[3], row[4], row[6]);
    }
    text.push('\n');
    for warning in &titration.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    for site in &titration.sites {
        let _ = writeln!(text, "{}: pKa {}, {}", site.name, pka(site), remark(site));
    }
    let _ = write!(text, "report: {}", folder.join(REPORT).display());
    text
}
