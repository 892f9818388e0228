//! Plots of an evaluation: titration curves, populations, correlations, convergence, histograms and series of λ.

use crate::error::Result;
use crate::evaluation::pka::{BINS, Evaluation, HillFit, SiteResult};
use crate::report::plot::{self, Chart, Colours, Curve, Panel, Point};
use lambda::analysis::hill::{Determined, deprotonated_fraction};
use lambda::analysis::histogram;

/// A plot with what is said about it.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Name of its file; empty if it stands in the report only.
    pub file: &'static str,
    /// Heading.
    pub heading: &'static str,
    /// Caption.
    pub caption: String,
    /// The plot as SVG.
    pub svg: String,
}

/// Largest number of sites in one chart; more have a chart each.
const SITES_IN_ONE: usize = 6;
/// Number of points of a fitted line.
const LINE: usize = 200;

/// All plots; the titration curves first.
///
/// # Errors
/// [`crate::error::Error::Input`] if numbers cannot be drawn.
pub fn all(evaluation: &Evaluation) -> Result<Vec<Plot>> {
    let mut plots = vec![titration(evaluation)?];
    if evaluation.sites.iter().any(|site| site.record.forms.len() > 2) {
        plots.push(populations(evaluation)?);
    }
    if evaluation.pairs.len() > 1 {
        plots.push(correlation(evaluation)?);
    }
    plots.push(convergence(evaluation)?);
    plots.push(histograms(evaluation)?);
    for site in &evaluation.sites {
        plots.push(series(evaluation, site)?);
    }
    Ok(plots)
}

/// pH from a little below the lowest to a little above the highest.
fn range(evaluation: &Evaluation) -> (f64, f64) {
    let ends = evaluation.ph.first().zip(evaluation.ph.last());
    ends.map_or((0.0, 14.0), |(low, high)| (low - 0.4, high + 0.4))
}

fn grid((low, high): (f64, f64)) -> impl Iterator<Item = f64> {
    (0..=LINE).map(move |k| low + (high - low) * k as f64 / LINE as f64)
}

/// The deprotonated fraction of a site, with the curve that is fitted to it.
fn curve(evaluation: &Evaluation, site: &SiteResult) -> Curve {
    let point = |point: &lambda::analysis::titration::PhPoint| {
        let y = point.deprotonated?;
        Some(Point { x: point.ph, y, interval: point.interval.unwrap_or([y, y]) })
    };
    let points = site.titration.points.iter().filter_map(point).collect();
    let steps = &site.titration.macroscopic;
    // Without a slope of its own the curve is that of a single site.
    let hill =
        |pka: f64, slope: f64| grid(range(evaluation)).map(|x| (x, deprotonated_fraction(x, pka, slope))).collect();
    let line = match (&steps[..], &site.titration.equilibrium) {
        ([step], _) => {
            let HillFit { pka, slope } = HillFit::of(step);
            pka.value().map(|pka| hill(pka, slope.value().unwrap_or(1.0))).unwrap_or_default()
        }
        (_, Some(fitted)) => {
            let lost = |form: usize| f64::from(site.record.forms[form].protons_lost - steps[0].from);
            let all = f64::from(steps[steps.len() - 1].to - steps[0].from);
            let mean = |x: f64| {
                let populations = fitted.populations(x);
                populations.iter().enumerate().map(|(form, p)| p * lost(form)).sum::<f64>() / all
            };
            grid(range(evaluation)).map(|x| (x, mean(x))).collect()
        }
        _ => Vec::new(),
    };
    let values: Vec<String> = steps.iter().map(|step| HillFit::of(step).pka.to_string()).collect();
    let mark = if steps.len() == 1 { HillFit::of(&steps[0]).pka.value() } else { None };
    Curve { name: format!("{}: pKa {}", site.record.name, values.join(", ")), points, line, mark }
}

fn titration(evaluation: &Evaluation) -> Result<Plot> {
    let curves: Vec<Curve> = evaluation.sites.iter().map(|site| curve(evaluation, site)).collect();
    let svg = if curves.len() <= SITES_IN_ONE {
        let (low, high) = range(evaluation);
        plot::titration(&curves, [low + 0.4, high - 0.4])?
    } else {
        let chart = |curve: Curve| Chart {
            title: curve.name.clone(),
            curves: vec![Curve { name: String::new(), ..curve }],
            x: range(evaluation),
            y: (-0.04, 1.04),
            names: ["pH", "deprotonated"],
        };
        plot::panels(&curves.into_iter().map(chart).collect::<Vec<_>>(), Colours::Distinct)?
    };
    let caption = format!(
        "Points: deprotonated fraction (frames with a form above a weight of {}) with standard errors from independent samples. \
         Lines: Hill fits, for several protons the binding polynomial; dashed: pKa. Errors of the pKa: the larger of likelihood and block bootstrap.",
        evaluation.options.threshold
    );
    Ok(Plot { file: "titration.svg", heading: "Titration curves", caption, svg })
}

fn populations(evaluation: &Evaluation) -> Result<Plot> {
    let charts = evaluation.sites.iter().filter(|site| site.record.forms.len() > 2).map(|site| {
        let form = |k: usize| {
            let point = |point: &lambda::analysis::titration::PhPoint| {
                let y = point.populations.as_ref()?[k];
                Some(Point { x: point.ph, y, interval: point.intervals.as_ref().map_or([y, y], |ends| ends[k]) })
            };
            let line = site
                .titration
                .equilibrium
                .as_ref()
                .map(|fitted| grid(range(evaluation)).map(|x| (x, fitted.populations(x)[k])).collect());
            Curve {
                name: site.record.forms[k].name.clone(),
                points: site.titration.points.iter().filter_map(point).collect(),
                line: line.unwrap_or_default(),
                mark: None,
            }
        };
        Chart {
            title: site.record.name.clone(),
            curves: (0..site.record.forms.len()).map(form).collect(),
            x: range(evaluation),
            y: (-0.04, 1.04),
            names: ["pH", "population"],
        }
    });
    let svg = plot::panels(&charts.collect::<Vec<_>>(), Colours::Distinct)?;
    let caption = "Share of the frames in each form, and the binding polynomial of the forms.".into();
    Ok(Plot { file: "populations.svg", heading: "Populations of the forms", caption, svg })
}

fn correlation(evaluation: &Evaluation) -> Result<Plot> {
    let names: Vec<String> = evaluation.sites.iter().map(|site| site.record.name.clone()).collect();
    let mut values = vec![vec![None; names.len()]; names.len()];
    for result in &evaluation.pairs {
        let [a, b] = result.sites;
        values[b][a] = result.pair.correlation.value();
    }
    let svg = plot::matrix(&names, &values)?;
    let caption = "Correlation φ of being deprotonated at the same pH: blue, one keeps the other protonated; its errors are in pairs.csv.";
    Ok(Plot { file: "correlation.svg", heading: "Correlation between sites", caption: caption.into(), svg })
}

/// Ends of the axis that holds these values with their errors, near the last of them.
fn around(values: &[Determined]) -> (f64, f64) {
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values.iter().filter_map(Determined::value) {
        (low, high) = (low.min(value), high.max(value));
    }
    if !(low.is_finite() && high.is_finite()) {
        return (0.0, 14.0);
    }
    let margin = (0.25 * (high - low)).max(0.15);
    (low - margin, high + margin)
}

fn convergence(evaluation: &Evaluation) -> Result<Plot> {
    let mut charts = Vec::new();
    for site in &evaluation.sites {
        let length = site.runs.iter().map(|&run| evaluation.runs[run].length()).sum::<f64>();
        let (unit, name) = if length < 1e4 { (1.0, "time used (ps)") } else { (1e-3, "time used (ns)") };
        let found = &site.convergence;
        for index in 0..site.titration.macroscopic.len() {
            let both = [&found.forward[index], &found.reverse[index]];
            let curve = |values: &Vec<Determined>| {
                let at = |k: usize| found.shares[k] * length * unit;
                let line = values.iter().enumerate().filter_map(|(k, d)| Some((at(k), d.value()?))).collect();
                // Bars at every fifth part, so that they can be told apart.
                let bars = values.iter().enumerate().skip(4).step_by(5);
                let bars = bars.filter_map(|(k, d)| {
                    let (y, error) = (d.value()?, d.error()?);
                    Some(Point { x: at(k), y, interval: [y - error, y + error] })
                });
                Curve { points: bars.collect(), line, ..Curve::default() }
            };
            let all: Vec<Determined> = both.iter().flat_map(|values| values.iter().copied().skip(1)).collect();
            charts.push(Chart {
                title: site.step_name(index),
                curves: both.map(curve).to_vec(),
                x: (0.0, 1.04 * (length * unit).max(1e-9)),
                y: around(&all),
                names: [name, "pKa"],
            });
        }
    }
    let svg = plot::panels(&charts, Colours::Distinct)?;
    let caption = "pKa of slope one against the time used, all runs together: blue from the beginning, orange from the end. \
                   A start that should have been left out shows as a blue line that does not settle.";
    Ok(Plot { file: "convergence.svg", heading: "Convergence", caption: caption.into(), svg })
}

fn histograms(evaluation: &Evaluation) -> Result<Plot> {
    let [low, high] = histogram::RANGE;
    let width = (high - low) / BINS as f64;
    let mut charts = Vec::new();
    for site in &evaluation.sites {
        let forms = site.record.forms.len();
        for form in if forms == 2 { 1..2 } else { 0..forms } {
            // A density of zero has no logarithm: it lies below the axis.
            let height = |density: f64| density.max(1e-3).log10();
            let curve = |all: &Vec<Vec<f64>>| {
                let line = all[form].iter().enumerate().map(|(k, d)| (low + (k as f64 + 0.5) * width, height(*d)));
                Curve { line: line.collect(), ..Curve::default() }
            };
            let title = match forms {
                2 => site.record.name.clone(),
                _ => format!("{}, {}", site.record.name, site.record.forms[form].name),
            };
            let curves = site.histograms.iter().map(curve).collect();
            charts.push(Chart { title, curves, x: (low, high), y: (-3.0, 2.0), names: ["λ", "lg density"] });
        }
    }
    let svg = plot::panels(&charts, Colours::Scale)?;
    let caption =
        "Density of λ (the weight of the form) over all frames, blue at the lowest pH, red at the highest.".into();
    Ok(Plot { file: "lambda.svg", heading: "Distribution of λ", caption, svg })
}

/// λ against time of one site, a panel for each pH.
fn series(evaluation: &Evaluation, site: &SiteResult) -> Result<Plot> {
    let panel = |point: &lambda::analysis::titration::PhPoint| {
        let runs = site.runs.iter().map(|&run| &evaluation.runs[run]).filter(|run| run.ph == point.ph);
        let lines = runs.flat_map(|run| {
            let weights = run.weights(&site.record.name).unwrap_or_default();
            // Of two forms, the second is λ.
            let skip = usize::from(weights.len() == 2);
            weights.into_iter().skip(skip).map(|weights| (run.series.time.clone(), weights)).collect::<Vec<_>>()
        });
        Panel { title: format!("pH {:.2}", point.ph), series: lines.collect() }
    };
    let panels: Vec<Panel> = site.titration.points.iter().map(panel).collect();
    let name = &site.record.name;
    let caption = match site.record.forms.len() {
        2 => format!("{name}. A colour for each run. 0 is protonated, 1 deprotonated."),
        _ => {
            let forms: Vec<&str> = site.record.forms.iter().map(|form| form.name.as_str()).collect();
            format!(
                "{name}. Weights of {}, in the order of the colours; more runs follow in the same order.",
                forms.join(", ")
            )
        }
    };
    Ok(Plot { file: "", heading: "λ against time", caption, svg: plot::lambda_series(&panels)? })
}
