//! What a calibration leaves behind: `calibration.csv`, `rounds.csv`, `calibration.svg`, `report.html`, the entry of the library, and the
//! table at the end.

use super::page::{Page, REPORT};
use super::plot::{Chart, Curve, Entry, Figure, Point, Scale, Style};
use crate::atomic::write_atomic;
use crate::config::Config;
use crate::error::Result;
use crate::evaluation::calibration::{Calibration, FinishedRound, Measured, Windows, probability};
use crate::output::tables::cell;
use crate::record::counted;
use lambda::analysis::agreement::{Agreement, Difference};
use lambda::analysis::simplex_fit::{Uncertain, Window, edges, on_edge};
use std::fmt::Write;
use std::path::Path;

/// Table of the averages by window.
pub const TABLE: &str = "calibration.csv";
/// Table of deviation, transitions and populations by round.
pub const ROUNDS: &str = "rounds.csv";
/// Plot of the averages and the fit.
const PLOT: &str = "calibration.svg";

/// Writes all files of a calibration into the folder of its job. The table that ends the log.
///
/// # Errors
/// [`crate::error::Error::File`] if a file cannot be written.
pub fn write(calibration: &Calibration, config: &Config) -> Result<String> {
    let folder = config.folder();
    write_atomic(&folder.join(TABLE), "write", csv(calibration).as_bytes())?;
    if let Some(figure) = slopes(calibration) {
        let title = format!("Calibration of {}", calibration.estimate.site);
        write_atomic(&folder.join(PLOT), "write", figure.standalone(&title, SLOPES).as_bytes())?;
    }
    if !calibration.estimate.rounds.is_empty() {
        write_atomic(&folder.join(ROUNDS), "write", rounds_csv(calibration).as_bytes())?;
    }
    write_atomic(&folder.join(&calibration.file), "write", calibration.entry.as_bytes())?;
    write_atomic(&folder.join(REPORT), "write", report(calibration, config)?.as_bytes())?;
    Ok(table(calibration, folder))
}

impl Calibration {
    fn n_forms(&self) -> usize {
        self.forms.len()
    }

    /// `HSP → HSD`, or nothing for two forms.
    fn edge_name(&self, [a, b]: [usize; 2]) -> String {
        if self.n_forms() == 2 { String::new() } else { format!("{} → {}", self.forms[a], self.forms[b]) }
    }

    /// ⟨∂V/∂λ_to − ∂V/∂λ_from⟩ of the windows' fit.
    fn fitted(&self, window: &Window, to: usize) -> f64 {
        self.estimate.fit.surface.slope(&window.weights, 0, to).value
    }
}

fn csv(calibration: &Calibration) -> String {
    let n = calibration.n_forms();
    let (mut names, mut text) = (Vec::new(), String::new());
    if n == 2 {
        names.extend(["lambda", "dV/dlambda (kJ/mol)", "error (kJ/mol)", "fit (kJ/mol)"].map(String::from));
    } else {
        names.extend(calibration.forms.iter().map(|form| format!("weight {form}")));
        for form in &calibration.forms[1..] {
            let name = format!("dV/dlambda {form} - {}", calibration.forms[0]);
            names.extend([format!("{name} (kJ/mol)"), "error (kJ/mol)".into(), "fit (kJ/mol)".into()]);
        }
    }
    let names: Vec<_> = names.iter().map(|name| cell(name)).collect();
    let _ = writeln!(text, "{},frames,independent samples,{HALVES},{STARTS}", names.join(","));
    for measured in &calibration.estimate.windows {
        let window = &measured.average;
        let weights = if n == 2 { &window.weights[1..] } else { &window.weights[..] };
        let mut cells: Vec<String> = weights.iter().map(f64::to_string).collect();
        for form in 1..n {
            let slope = window.slope(0, form);
            cells.extend([slope.value, slope.error, calibration.fitted(window, form)].map(|x| format!("{x:.5}")));
        }
        let (cells, [halves, starts]) = (cells.join(","), differences(measured));
        let _ = writeln!(text, "{cells},{},{:.1},{halves},{starts}", window.frames, window.samples);
    }
    text
}

/// Columns of the largest differences.
const HALVES: &str = "halves apart (standard errors)";
const STARTS: &str = "starts apart (standard errors)";

/// The difference that is largest for its error; nothing if none is known.
fn largest(differences: impl IntoIterator<Item = Option<Difference>>) -> String {
    let z = differences.into_iter().flatten().map(|one| one.z);
    z.max_by(|a, b| a.abs().total_cmp(&b.abs())).map_or(String::new(), |z| format!("{z:+.1}"))
}

/// How far halves and starts of a window are apart.
fn differences(window: &Measured) -> [String; 2] {
    [largest(window.halves()), largest([window.starts()])]
}

fn rounds_csv(calibration: &Calibration) -> String {
    let populations: Vec<String> =
        calibration.forms.iter().map(|form| cell(&format!("population {form}")).into_owned()).collect();
    let mut text = format!(
        "round,deviation (kJ/mol),error (kJ/mol),transitions,frames,independent samples,{HALVES},{}\n",
        populations.join(",")
    );
    for (index, FinishedRound { round, deviation, halves, .. }) in calibration.estimate.rounds.iter().enumerate() {
        let populations: Vec<String> = round.populations.iter().map(|p| format!("{p:.5}")).collect();
        let _ = writeln!(
            text,
            "{},{:.5},{:.5},{},{},{:.1},{},{}",
            index + 1,
            deviation.value,
            deviation.error,
            round.transitions,
            round.frames,
            round.samples,
            largest([*halves]),
            populations.join(",")
        );
    }
    text
}

/// A point at `x` with the error of the value as its bar.
fn point(x: f64, u: Uncertain) -> Point {
    Point { x, y: u.value, interval: [u.value - u.error, u.value + u.error] }
}

/// Place of a window on an edge; `None` if it lies elsewhere.
fn place(weights: &[f64], [a, b]: [usize; 2]) -> Option<f64> {
    let elsewhere = weights.iter().enumerate().any(|(form, w)| form != a && form != b && w.abs() > 1e-9);
    (!elsewhere).then(|| weights[b])
}

/// Places along an edge, as far as the windows go.
fn grid(calibration: &Calibration) -> impl Iterator<Item = f64> {
    let [low, high] = calibration.coefficients.range;
    (0..=120).map(move |k| low + (high - low) * f64::from(k) / 120.0)
}

/// What λ is along an edge.
const ALONG: &str = "λ (weight of the second form)";

/// The ordinate that holds all points, error bars and lines of curves; `None` if there are none.
fn ordinate<'a>(name: &str, curves: impl Iterator<Item = &'a Curve> + Clone) -> Option<Scale> {
    let points = curves.clone().flat_map(|curve| &curve.points).flat_map(|p| [p.y, p.interval[0], p.interval[1]]);
    Scale::around(name, points.chain(curves.flat_map(|curve| &curve.line).map(|p| p.1)), 0.05)
}

/// Curves along the edges in one chart; `None` if they hold nothing.
fn figure(kind: &str, name: &str, calibration: &Calibration, curve: impl Fn([usize; 2]) -> Curve) -> Option<Figure> {
    let edges = edges(calibration.n_forms()).into_iter().enumerate();
    let curves: Vec<Curve> = edges.map(|(k, edge)| Curve { style: Style::marked(k), ..curve(edge) }).collect();
    let across = curves.iter().flat_map(|c| c.points.iter().map(|p| p.x).chain(c.line.iter().map(|p| p.0)));
    let (x, y) = (Scale::around(ALONG, across, 0.04)?, ordinate(name, curves.iter())?);
    Figure::chart(kind, &Chart { title: String::new(), note: String::new(), curves, x, y })
}

/// ⟨∂V/∂λ⟩ along every edge.
fn slopes(calibration: &Calibration) -> Option<Figure> {
    let (n, estimate) = (calibration.n_forms(), &calibration.estimate);
    let curve = |edge: [usize; 2]| {
        let averages = estimate.windows.iter().map(|window| &window.average);
        let on = averages.filter_map(|window| Some((place(&window.weights, edge)?, window)));
        let points = on.map(|(x, window)| point(x, window.slope(edge[0], edge[1]))).collect();
        let slope = |x: f64| estimate.fit.surface.slope(&on_edge(n, edge, x), edge[0], edge[1]).value;
        let line = grid(calibration).map(|x| (x, slope(x))).collect();
        Curve { name: calibration.edge_name(edge), points, line, ..Curve::default() }
    };
    figure("Slope of the potential energy", "mean slope ⟨∂V/∂λ⟩ (kJ/mol)", calibration, curve)
}

/// The free energy along every edge, with its error at every tenth.
fn free_energies(calibration: &Calibration) -> Option<Figure> {
    let (n, surface) = (calibration.n_forms(), &calibration.estimate.surface);
    let curve = |edge: [usize; 2]| {
        let from = on_edge(n, edge, 0.0);
        let at = |x: f64| surface.between(&from, &on_edge(n, edge, x));
        let points = (1..=10).map(|k| 0.1 * f64::from(k)).map(|x| point(x, at(x))).collect();
        let line = grid(calibration).map(|x| (x, at(x).value)).collect();
        Curve { name: calibration.edge_name(edge), points, line, ..Curve::default() }
    };
    figure("Free energy", "free energy (kJ/mol)", calibration, curve)
}

/// The line through a profile, with gaps at bins without a frame: their centres are missing in it.
fn interrupted(centres: &[f64], profile: &[(f64, Uncertain)]) -> Vec<(f64, f64)> {
    let at = |x: f64| profile.iter().find(|(place, _)| *place == x).map_or(f64::NAN, |(_, u)| u.value);
    centres.iter().map(|&x| (x, at(x))).collect()
}

/// −RT ln p, a chart for each edge and in it a curve for each round; `None` if no round has two bins with frames.
fn profiles(calibration: &Calibration) -> Option<Figure> {
    let rounds = &calibration.estimate.rounds;
    let curve = |edge: usize, (number, FinishedRound { round, .. }): (usize, &FinishedRound)| {
        let histogram = &round.edges[edge];
        let profile = histogram.profile(round, calibration.temperature);
        let line = interrupted(&histogram.centres, &profile);
        let points = profile.iter().map(|&(x, u)| point(x, u)).collect();
        Curve { points, line, style: Style::marked(number), ..Curve::default() }
    };
    let edges = edges(calibration.n_forms()).into_iter().enumerate();
    let edges = edges.map(|(index, edge)| -> (String, Vec<Curve>) {
        (calibration.edge_name(edge), rounds.iter().enumerate().map(|round| curve(index, round)).collect())
    });
    let edges: Vec<(String, Vec<Curve>)> =
        edges.filter(|(_, curves)| curves.iter().any(|curve| curve.points.len() > 1)).collect();
    let y = ordinate("free energy −RT ln p (kJ/mol)", edges.iter().flat_map(|(_, curves)| curves))?;
    let charts = edges.into_iter().map(|(title, curves)| {
        let x = Scale::new(ALONG, [0.0, 1.0]);
        Chart { title, note: String::new(), curves, x, y: y.clone() }
    });
    let round = |k: usize| Entry { line: true, ..Entry::mark(&format!("round {}", k + 1), Style::marked(k)) };
    Figure::charts("Free runs", &charts.collect::<Vec<_>>(), (0..rounds.len()).map(round).collect())
}

/// `-345.67 ± 0.12 kJ/mol`.
fn energy(u: Uncertain) -> String {
    format!("{:.2} ± {:.2} kJ/mol", u.value, u.error)
}

/// `calibrated`, or `preliminary`.
fn status(calibration: &Calibration) -> &'static str {
    if calibration.coefficients.reason.is_some() { "preliminary" } else { "calibrated" }
}

fn rows(calibration: &Calibration) -> Vec<Vec<String>> {
    let n = calibration.n_forms();
    let row = |measured: &Measured| {
        let window = &measured.average;
        let label = |weights: &[f64]| weights.iter().map(|w| format!("{w:.2}")).collect::<Vec<_>>().join(" ");
        let mut cells = vec![label(if n == 2 { &window.weights[1..] } else { &window.weights })];
        let slopes: Vec<Uncertain> = (1..n).map(|form| window.slope(0, form)).collect();
        let list = |f: &dyn Fn(usize) -> String| (0..n - 1).map(f).collect::<Vec<_>>().join(" ");
        cells.push(list(&|k| format!("{:.2}", slopes[k].value)));
        cells.push(list(&|k| format!("{:.2}", slopes[k].error)));
        cells.push(list(&|k| {
            format!("{:+.1}", (slopes[k].value - calibration.fitted(window, k + 1)) / slopes[k].error)
        }));
        cells.extend(differences(measured));
        cells.extend([format!("{:.0}", window.samples), window.frames.to_string()]);
        cells
    };
    calibration.estimate.windows.iter().map(row).collect()
}

fn round_rows(calibration: &Calibration) -> Vec<Vec<String>> {
    let row = |(index, FinishedRound { round, deviation, is_flat, halves, .. }): (usize, &FinishedRound)| {
        let populations: Vec<String> = round.populations.iter().map(|p| format!("{:.1} %", 100.0 * p)).collect();
        vec![
            (index + 1).to_string(),
            format!("{:.2} ± {:.2}", deviation.value, deviation.error),
            if *is_flat { "yes".into() } else { "no".into() },
            round.transitions.to_string(),
            format!("{:.0}", round.samples),
            largest([*halves]),
            populations.join(", "),
        ]
    };
    calibration.estimate.rounds.iter().enumerate().map(row).collect()
}

/// What the plot of the averages shows.
const SLOPES: &str =
    "Points: averages at fixed weights with standard errors. Lines: weighted least squares of the windows.";

const ROUND_COLUMNS: [&str; 7] = [
    "round",
    "deviation (kJ/mol)",
    "flat",
    "transitions",
    "independent samples",
    "halves apart (σ)",
    "time in each form",
];

/// What had to hold of the windows: χ² per degree of freedom and its probability.
fn checks(calibration: &Calibration) -> Vec<Vec<String>> {
    let found = Windows::of(&calibration.estimate);
    let row = |(name, agreement): (&str, Option<Agreement>)| {
        let said = agreement.map(|a| [format!("{:.2}", a.reduced()), probability(a.probability)]);
        let [chi, p] = said.unwrap_or_else(|| ["not known", ""].map(String::from));
        vec![name.to_string(), chi, p]
    };
    [("first and second halves", found.halves), ("starts", found.starts)].into_iter().map(row).collect()
}

/// Factor by which errors of the windows are larger than single runs say, because starts differ; `None` where they do not.
fn widened(calibration: &Calibration) -> Option<String> {
    let scatter = calibration.estimate.scatter;
    (scatter > 1.0).then(|| format!("{:.2}", scatter.sqrt()))
}

/// Error of the free energy of each form and its parts (kJ/mol), all molecules of a buffer together.
fn errors(calibration: &Calibration) -> Vec<Vec<String>> {
    let (estimate, systematic) = (&calibration.estimate, &calibration.estimate.systematic);
    let statistical: Vec<f64> = estimate.free_energies().iter().map(|form| form.error).collect();
    let parts = [&statistical, &systematic.starts, &systematic.halves, &systematic.degree, &systematic.total()];
    let row = |form: usize| {
        let cells = parts.iter().map(|part| part.get(form).map_or(String::new(), |error| format!("{error:.3}")));
        [calibration.forms[form].clone()].into_iter().chain(cells).collect()
    };
    (1..calibration.n_forms()).map(row).collect()
}

fn report(calibration: &Calibration, config: &Config) -> Result<String> {
    let estimate = &calibration.estimate;
    let provenance = &calibration.coefficients.provenance;
    let conformers = match config.calibrate.as_ref().map_or(0, |calibrate| calibrate.conformers) {
        0 => String::new(),
        count => format!(", which begin in {count} conformations"),
    };
    let subtitle = format!(
        "{}; {} windows of {:.1} ps each, all its runs together{conformers}, after {:.1} ps of equilibration, {} atoms, {} K",
        status(calibration),
        provenance.windows,
        1e3 * provenance.time_per_window,
        1e3 * provenance.equilibration_per_window,
        provenance.atoms,
        provenance.temperature
    );
    let mut page = Page::new(&format!("Calibration of {}", estimate.site), &subtitle);
    let chi = format!("χ² per degree of freedom {:.2}", estimate.fit.reduced_chi_squared());
    let forms = estimate.free_energies();
    let headline = |form: usize| {
        let name = format!("Free energy of the force field, {} to {}", calibration.forms[0], calibration.forms[form]);
        [name, energy(forms[form]), chi.clone()]
    };
    page.headline(&(1..forms.len()).map(headline).collect::<Vec<_>>());
    page.warnings(&calibration.warnings);
    if let Some(figure) = slopes(calibration) {
        page.figure("Slope of the potential energy along λ", &figure, SLOPES);
    }
    if let Some(figure) = free_energies(calibration) {
        let caption = "From the windows and all rounds; bars: standard errors against the first form.";
        page.figure("Free energy", &figure, caption);
    }
    if let Some(figure) = profiles(calibration) {
        let caption = "Histograms of the free runs without barrier at pH = pK: flat if V_MM is right. Where no frame was, there is no line.";
        page.figure("Free runs", &figure, caption);
    }
    if !estimate.rounds.is_empty() {
        page.table("Rounds", &ROUND_COLUMNS, &round_rows(calibration));
    }
    let mut agreement = checks(calibration);
    agreement.extend(
        widened(calibration).map(|factor| {
            vec!["errors of the windows, widened for starts".into(), format!("× {factor}"), String::new()]
        }),
    );
    page.table("Agreement of the windows", &["of", "χ² per degree of freedom", "probability"], &agreement);
    let columns = ["form", "statistical", "starts", "halves", "polynomial", "systematic"];
    page.table("Errors of the free energy (kJ/mol)", &columns, &errors(calibration));
    let pairs = calibration.coefficients.coefficients.iter().zip(&calibration.coefficients.errors).enumerate();
    let coefficients: Vec<Vec<String>> =
        pairs.map(|(k, (c, e))| vec![format!("{}", k + 1), format!("{c:.4}"), format!("{e:.4}")]).collect();
    page.table("Coefficients of the free energy (kJ/mol)", &["term", "value", "±"], &coefficients);
    let columns = [
        "λ",
        "⟨∂V/∂λ⟩ (kJ/mol)",
        "±",
        "off the fit (σ)",
        "halves apart (σ)",
        "starts apart (σ)",
        "independent samples",
        "frames",
    ];
    page.table("Windows", &columns, &rows(calibration));
    page.details(&format!("Library entry {}", calibration.file), &calibration.entry);
    page.details("Settings", &config.to_toml()?);
    Ok(page.html())
}

/// The short table at the end of the command.
fn table(calibration: &Calibration, folder: &Path) -> String {
    let estimate = &calibration.estimate;
    let wide = 7 * calibration.n_forms() - 7;
    let mut text = format!(
        "{:>wide$} {:>18} {:>8} {:>16} {:>7} {:>7} {:>8}\n",
        "λ", "dV/dλ (kJ/mol)", "±", "off the fit (σ)", "halves", "starts", "samples"
    );
    for row in rows(calibration) {
        let [halves, starts] = [4, 5].map(|k| if row[k].is_empty() { "–" } else { &row[k] });
        let _ = writeln!(
            text,
            "{:>wide$} {:>18} {:>8} {:>16} {halves:>7} {starts:>7} {:>8}",
            row[0], row[1], row[2], row[3], row[6]
        );
    }
    text.push('\n');
    for row in round_rows(calibration) {
        let _ = writeln!(
            text,
            "round {}: deviation {} kJ/mol, flat: {}, {}, {}",
            row[0],
            row[1],
            row[2],
            counted(&row[3], "transition"),
            counted(&row[4], "independent sample")
        );
    }
    for check in checks(calibration) {
        let _ =
            writeln!(text, "windows, {}: χ² per degree of freedom {}, probability {}", check[0], check[1], check[2]);
    }
    if let Some(factor) = widened(calibration) {
        let _ = writeln!(text, "windows: errors are {factor} times those of single runs, because starts differ");
    }
    for warning in &calibration.warnings {
        let _ = writeln!(text, "warning: {warning}");
    }
    for (form, u) in estimate.free_energies().into_iter().enumerate().skip(1) {
        let (site, from, to) = (&estimate.site, &calibration.forms[0], &calibration.forms[form]);
        let systematic = estimate.systematic.total().get(form).copied().unwrap_or(0.0);
        let _ = writeln!(
            text,
            "{site}: free energy from {from} to {to}: {} (statistical), ± {systematic:.2} kJ/mol (systematic)",
            energy(u)
        );
    }
    let _ = writeln!(text, "library entry ({}): {}", status(calibration), folder.join(&calibration.file).display());
    let _ = write!(text, "report: {}", folder.join(REPORT).display());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects from a line across bins that hold nothing.
    #[test]
    fn a_bin_without_frames_interrupts_the_profile() {
        let profile = [0.1, 0.5].map(|x| (x, Uncertain { value: 2.0 * x, error: 0.1 }));
        let line = interrupted(&[0.1, 0.3, 0.5], &profile);
        assert_eq!((line[0], line[2]), ((0.1, 0.2), (0.5, 1.0)));
        assert!(line[1].0 == 0.3 && line[1].1.is_nan());
    }
}
