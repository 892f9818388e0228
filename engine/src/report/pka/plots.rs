//! Plots of an evaluation: titration curves, populations, correlations, convergence and histograms of λ; λ against time is in `series.rs`.
//!
//! Charts of one kind share their axes and one legend, so that sites compare. What holds nothing is left out.

use super::Measured;
use crate::evaluation::pka::{BINS, Evaluation, HillFit, SiteResult};
use crate::record::Labels;
use crate::report::plot::{self, Chart, Colour, Curve, Entry, FEW, Figure, MEASURED, Point, Scale, Style};
use lambda::analysis::hill::{Determined, deprotonated_fraction};
use lambda::analysis::histogram;
use lambda::analysis::titration::PhPoint;

/// A figure with what is said about it.
#[derive(Debug, Clone)]
pub struct Plot {
    /// Name of its file; empty if it stands in the report only.
    pub file: &'static str,
    /// Heading.
    pub heading: String,
    /// Caption; of a figure that is missing the reason.
    pub caption: String,
    /// The figure; none if it would hold nothing.
    pub figure: Option<Figure>,
    /// Whether it is folded until it is clicked.
    pub folded: bool,
}

impl Plot {
    /// A figure in the report and in a file; `why` it may be missing.
    fn new(file: &'static str, heading: &str, figure: Option<Figure>, caption: &str, why: &str) -> Self {
        let caption = if figure.is_some() { caption } else { why };
        Self { file, heading: heading.into(), caption: caption.into(), figure, folded: false }
    }
}

/// Names of the files of plots.
pub const TITRATION: &str = "titration.svg";
/// Populations of sites with more than two forms.
pub const POPULATIONS: &str = "populations.svg";
/// Correlations of pairs of sites.
pub const CORRELATION: &str = "correlation.svg";
/// pKa against the time used.
pub const CONVERGENCE: &str = "convergence.svg";
/// Distribution of λ.
pub const LAMBDA: &str = "lambda.svg";
/// All of them; which ones there are depends on the sites.
pub const FILES: [&str; 5] = [TITRATION, POPULATIONS, CORRELATION, CONVERGENCE, LAMBDA];

/// Largest number of sites in one chart; more have a chart each.
const SITES_IN_ONE: usize = 6;
/// Largest number of sites in the matrix of correlations.
const SITES_IN_MATRIX: usize = 12;
/// Largest number of curves in a small chart of a histogram.
const CURVES_IN_SMALL: usize = 5;
/// Number of points of a fitted line.
const LINE: usize = 60;

/// All plots but λ against time; the titration curves first, with what was measured.
pub fn all(evaluation: &Evaluation, labels: &Labels, measured: &[Measured]) -> Vec<Plot> {
    let mut plots = vec![titration(evaluation, labels, measured)];
    if evaluation.sites.iter().any(|site| site.record.forms.len() > 2) {
        plots.push(populations(evaluation, labels));
    }
    if evaluation.pairs.len() > 1 {
        plots.push(correlation(evaluation, labels));
    }
    plots.push(convergence(evaluation, labels));
    plots.push(histograms(evaluation, labels));
    plots
}

/// pH from a little below the lowest to a little above the highest.
fn range(evaluation: &Evaluation) -> [f64; 2] {
    let ends = evaluation.ph.first().zip(evaluation.ph.last());
    ends.map_or([0.0, 14.0], |(low, high)| [low - 0.4, high + 0.4])
}

fn grid([low, high]: [f64; 2]) -> impl Iterator<Item = f64> {
    (0..=LINE).map(move |k| low + (high - low) * k as f64 / LINE as f64)
}

fn share(name: &str) -> Scale {
    Scale::new(name, [-0.04, 1.04])
}

/// Whether curves are more than a point: a single pH makes no curve.
fn is_curve(curves: &[Curve]) -> bool {
    curves.iter().any(|curve| curve.points.len() > 1 || !curve.line.is_empty())
}

/// `pKa 4.25 ± 0.10`, of all steps.
fn pka_of(site: &SiteResult) -> String {
    let values: Vec<String> = site.pkas().map(|pka| pka.to_string()).collect();
    format!("pKa {}", values.join(", "))
}

/// The deprotonated fraction of a site, with the curve that is fitted to it.
fn curve(evaluation: &Evaluation, site: &SiteResult) -> Curve {
    let point = |point: &PhPoint| {
        // Each point is of its own pH, and the line of all of them, so that a reader sees whether they agree.
        let y = point.deprotonated_weighted?;
        let shift = y - point.deprotonated?;
        let interval = point.interval.map_or([y, y], |ends| ends.map(|end| (end + shift).clamp(0.0, 1.0)));
        Some(Point { x: point.ph, y, interval })
    };
    let points = site.titration.points.iter().filter_map(point).collect();
    let steps = &site.titration.macroscopic;
    let lost = |form: usize| f64::from(site.record.forms[form].protons_lost - steps[0].from);
    let all = f64::from(steps[steps.len() - 1].to - steps[0].from);
    let mean = |populations: &[f64]| populations.iter().enumerate().map(|(form, p)| p * lost(form)).sum::<f64>() / all;
    // Without a slope of its own the curve is that of a single site.
    let hill =
        |pka: f64, slope: f64| grid(range(evaluation)).map(|x| (x, deprotonated_fraction(x, pka, slope))).collect();
    let line = match (&steps[..], &site.titration.equilibrium) {
        _ if !site.curve.is_empty() && site.fit(0).pka.value().is_some() => {
            evaluation.grid.iter().zip(&site.curve).map(|(x, populations)| (*x, mean(populations))).collect()
        }
        ([_], _) => {
            let HillFit { pka, slope } = site.fit(0);
            pka.value().map(|pka| hill(pka, slope.value().unwrap_or(steps[0].alone()))).unwrap_or_default()
        }
        (_, Some(fitted)) => grid(range(evaluation)).map(|x| (x, mean(&fitted.populations(x)))).collect(),
        _ => Vec::new(),
    };
    let mark = if steps.len() == 1 { site.fit(0).pka.value() } else { None };
    Curve { points, line, mark, ..Curve::default() }
}

/// Shares of a plain count of the frames at each pH: open marks beside the full ones.
fn counts(site: &SiteResult, style: Style) -> Curve {
    let point = |point: &PhPoint| Some(Point { x: point.ph, y: point.deprotonated_counted?, interval: [0.0; 2] });
    let points = site.titration.points.iter().filter_map(point).collect();
    Curve { points, style: Style { open: true, ..style }, ..Curve::default() }
}

/// A measured pKa of a site: a dotted line, and a star at one half.
fn experiment(site: &SiteResult, measured: &[Measured], colour: Colour) -> Option<Curve> {
    let steps = (0..site.titration.macroscopic.len()).map(|step| site.step_name(step)).collect::<Vec<_>>();
    let value = measured.iter().filter(|one| steps.contains(&one.site)).find_map(|one| one.value)?;
    let points = vec![Point { x: value, y: 0.5, interval: [0.0; 2] }];
    Some(Curve {
        points,
        mark: Some(value),
        style: Style { colour, dash: 2, mark: MEASURED, open: true },
        ..Curve::default()
    })
}

fn titration(evaluation: &Evaluation, labels: &Labels, measured: &[Measured]) -> Plot {
    let sites = evaluation.sites.iter().map(|site| (site, curve(evaluation, site)));
    let sites: Vec<(&SiteResult, Curve)> = sites.filter(|(_, one)| is_curve(std::slice::from_ref(one))).collect();
    let (x, y) = (Scale::new("pH", range(evaluation)), share("deprotonated fraction"));
    let figure = if sites.len() <= SITES_IN_ONE {
        let curves = sites.into_iter().enumerate().flat_map(|(k, (site, curve))| {
            let style = Style::marked(k);
            let named = Curve { name: format!("{}: {}", labels.of(&site.record.name), pka_of(site)), style, ..curve };
            [Some(counts(site, style)), Some(named), experiment(site, measured, style.colour)].into_iter().flatten()
        });
        Figure::chart(
            "Titration curves",
            &Chart { title: String::new(), note: String::new(), curves: curves.collect(), x, y },
        )
    } else {
        let mut key = vec![
            Entry::mark("weighted fraction at this pH", Style::default()),
            Entry::mark("plain count", Style { open: true, ..Style::default() }),
            Entry::line(if evaluation.overlap.is_empty() { "Hill fit" } else { "MBAR" }, Style::default()),
            Entry::line("pKa", Style { dash: 1, ..Style::default() }),
        ];
        if !measured.is_empty() {
            let style = Style { colour: Colour::Number(1), dash: 2, mark: MEASURED, open: true };
            key.push(Entry { line: true, ..Entry::mark("measured pKa", style) });
        }
        let chart = |(site, curve): (&SiteResult, Curve)| {
            let (title, note) = (labels.of(&site.record.name), pka_of(site));
            let experiment = experiment(site, measured, Colour::Number(1));
            let curves = [Some(counts(site, Style::default())), Some(curve), experiment];
            Chart { title, note, curves: curves.into_iter().flatten().collect(), x: x.clone(), y: y.clone() }
        };
        Figure::charts("Titration curve", &sites.into_iter().map(chart).collect::<Vec<_>>(), key)
    };
    let caption = format!(
        "Full marks: deprotonated fraction from the frames of each pH alone (with a form above a weight of {}, weighted to pure forms), with standard errors \
         from independent samples; open marks: the plain count of these frames. Lines: {}; dashed: pKa{}{}.",
        evaluation.options.threshold,
        if evaluation.overlap.is_empty() {
            "Hill fits, for several protons the binding polynomial"
        } else {
            "MBAR, from the frames of all pH values"
        },
        if evaluation.solution.is_some() { " in the box" } else { "" },
        if measured.is_empty() { "" } else { "; dotted, with an open star: measured pKa" }
    );
    let why = "There is no curve to draw: no site has fractions at two pH values or more, nor a pKa.";
    Plot::new(TITRATION, "Titration curves", figure, &caption, why)
}

/// The forms of these sites as a legend. Sites whose forms have different names share numbers; then their charts name the forms, too.
pub(super) fn forms(sites: &[&SiteResult]) -> (Vec<String>, bool) {
    let names = |site: &SiteResult| site.record.forms.iter().map(|form| form.name.clone()).collect::<Vec<_>>();
    let most = sites.iter().map(|site| site.record.forms.len()).max().unwrap_or(0);
    match sites.split_first() {
        Some((first, others)) if others.iter().all(|other| names(other) == names(first)) => (names(first), true),
        _ => ((1..=most).map(|k| format!("form {k}")).collect(), false),
    }
}

fn populations(evaluation: &Evaluation, labels: &Labels) -> Plot {
    let sites: Vec<&SiteResult> = evaluation.sites.iter().filter(|site| site.record.forms.len() > 2).collect();
    let (names, alike) = forms(&sites);
    let charts = sites.iter().map(|site| {
        let form = |k: usize| {
            let point = |point: &PhPoint| {
                let y = point.weighted.as_ref()?[k];
                let shift = y - point.populations.as_ref()?[k];
                let ends =
                    point.intervals.as_ref().map_or([y, y], |ends| ends[k].map(|end| (end + shift).clamp(0.0, 1.0)));
                Some(Point { x: point.ph, y, interval: ends })
            };
            let fitted = site.titration.equilibrium.as_ref();
            let line = match fitted {
                _ if !site.curve.is_empty() => {
                    Some(evaluation.grid.iter().zip(&site.curve).map(|(x, populations)| (*x, populations[k])).collect())
                }
                fitted => fitted.map(|fitted| grid(range(evaluation)).map(|x| (x, fitted.populations(x)[k])).collect()),
            };
            let points = site.titration.points.iter().filter_map(point).collect();
            let name = site.record.forms[k].name.clone();
            Curve { name, points, line: line.unwrap_or_default(), mark: None, style: Style::marked(k) }
        };
        let curves: Vec<Curve> = (0..site.record.forms.len()).map(form).collect();
        let names: Vec<&str> = curves.iter().map(|curve| curve.name.as_str()).collect();
        let note = if alike { String::new() } else { names.join(", ") };
        let (x, y) = (Scale::new("pH", range(evaluation)), share("population"));
        Chart { title: labels.of(&site.record.name), note, curves, x, y }
    });
    let charts: Vec<Chart> = charts.filter(|chart| is_curve(&chart.curves)).collect();
    let key = names.iter().enumerate().map(|(k, name)| Entry { line: true, ..Entry::mark(name, Style::marked(k)) });
    let figure = Figure::charts("Populations of the forms", &charts, key.collect());
    let caption = "Points: populations from the weighted frames of each pH alone, with standard errors. Lines: populations from the frames of all pH values by MBAR, \
         or the binding polynomial where those are not connected.";
    let why = "There are no populations to draw: no site with several forms has them at two pH values or more.";
    let folded = charts.len() > SITES_IN_ONE;
    Plot { folded, ..Plot::new(POPULATIONS, "Populations of the forms", figure, caption, why) }
}

fn correlation(evaluation: &Evaluation, labels: &Labels) -> Plot {
    // Of many sites those with the strongest correlations.
    let count = evaluation.sites.len();
    let mut strongest: Vec<(f64, usize)> = (0..count).map(|site| (0.0, site)).collect();
    for result in &evaluation.pairs {
        let strength = result.pair.correlation.value().unwrap_or(0.0).abs();
        for site in result.sites {
            strongest[site].0 = strength.max(strongest[site].0);
        }
    }
    strongest.retain(|(_, site)| evaluation.pairs.iter().any(|result| result.sites.contains(site)));
    strongest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all = strongest.len();
    strongest.truncate(SITES_IN_MATRIX);
    let mut shown: Vec<usize> = strongest.into_iter().map(|(_, site)| site).collect();
    shown.sort_unstable();
    let names: Vec<String> = shown.iter().map(|&site| labels.of(&evaluation.sites[site].record.name)).collect();
    let mut values = vec![vec![None; names.len()]; names.len()];
    for result in &evaluation.pairs {
        let places = result.sites.map(|site| shown.iter().position(|&one| one == site));
        if let [Some(a), Some(b)] = places {
            values[b][a] = result.pair.correlation.value();
        }
    }
    let figure = plot::matrix("Correlation between sites", &names, &values);
    let which = if all > shown.len() {
        format!(" Shown are the {} of {all} sites with the strongest correlations.", shown.len())
    } else {
        String::new()
    };
    let caption = format!(
        "Correlation φ of being deprotonated at the same pH, from −1 to 1.{which} All pairs, with errors, are in pairs.csv."
    );
    let why = "No pair of sites has frames enough in all states to determine a correlation.";
    Plot::new(CORRELATION, "Correlation between sites", figure, &caption, why)
}

/// Parts of the runs from which on every fifth has an error bar, so that bars can be told apart.
const BARS: usize = 4;

/// The pKa that a chart of convergence has in its middle, and how far from it values and error bars go, but for the first part, which is
/// often far off; none if none is determined.
fn spread(values: &[&[Determined]]) -> Option<(f64, f64)> {
    let last = values.iter().find_map(|values| values.iter().rev().find_map(Determined::value))?;
    let far = |(k, found): (usize, &Determined)| {
        let error = found.error().filter(|_| k >= BARS).unwrap_or(0.0);
        found.value().map_or(0.0, |value| (value - last).abs() + error)
    };
    let all = values.iter().flat_map(|values| values.iter().enumerate().skip(1));
    Some((last, all.map(far).filter(|far| far.is_finite()).fold(0.0, f64::max)))
}

fn convergence(evaluation: &Evaluation, labels: &Labels) -> Plot {
    let length = |site: &SiteResult| site.runs.iter().map(|&run| evaluation.runs[run].length()).sum::<f64>();
    let longest = evaluation.sites.iter().map(length).fold(0.0, f64::max);
    let (unit, name) = if longest < 1e4 { (1.0, "time used (ps)") } else { (1e-3, "time used (ns)") };
    let steps = evaluation.sites.iter().flat_map(|site| (0..site.titration.macroscopic.len()).map(move |k| (site, k)));
    let steps = steps.filter_map(|(site, k)| {
        let both = [&site.convergence.forward[k][..], &site.convergence.reverse[k][..]];
        Some((site, k, both, spread(&both)?))
    });
    let steps: Vec<_> = steps.collect();
    // All charts span the same number of pK units, so that they compare; a start far off does not flatten the others.
    let half = 1.15 * steps.iter().map(|(.., (_, far))| *far).fold(0.0, f64::max).clamp(0.15, 1.2);
    let styles = [Style::default(), Style { mark: 1, ..Style::dashed(1) }];
    let chart = |&(site, index, both, (middle, _)): &(&SiteResult, usize, [&[Determined]; 2], (f64, f64))| {
        let at = |k: usize| site.convergence.shares[k] * length(site) * unit;
        // Bars of the second curve stand between those of the first.
        let curve = |(first_bar, (values, style)): (usize, (&[Determined], Style))| {
            let line = values.iter().enumerate().map(|(k, d)| (at(k), d.value().unwrap_or(f64::NAN))).collect();
            let points = values.iter().enumerate().skip(first_bar).step_by(5).filter_map(|(k, d)| {
                let (y, error) = (d.value()?, d.error()?);
                Some(Point { x: at(k), y, interval: [y - error, y + error] })
            });
            Curve { points: points.collect(), line, style, ..Curve::default() }
        };
        Chart {
            title: labels.of(&site.step_name(index)),
            note: String::new(),
            curves: [BARS, BARS + 2].into_iter().zip(both.into_iter().zip(styles)).map(curve).collect(),
            x: Scale::new(name, [0.0, 1.04 * (longest * unit).max(1e-9)]),
            y: Scale::new("pKa", [middle - half, middle + half]),
        }
    };
    let key = ["from the beginning of the runs", "from their end"].into_iter().zip(styles);
    let key = key.map(|(name, style)| Entry { mark: true, ..Entry::line(name, style) });
    let figure = Figure::charts("Convergence of the pKa", &steps.iter().map(chart).collect::<Vec<_>>(), key.collect());
    let caption = "pKa against the time used, all runs together, with standard errors; all charts span the same number of pK units. Each is from a fit of slope one \
                   to the fractions of each pH alone, and where those differ from MBAR the lines do not end at the pKa of the table. \
                   A start that should have been left out shows as a line from the beginning that does not settle.";
    let why = "No part of the runs determines a pKa.";
    Plot::new(CONVERGENCE, "Convergence", figure, caption, why)
}

/// The first, the last and some between of `count` things, `most` at most.
fn some(count: usize, most: usize) -> Vec<usize> {
    let kept = count.min(most);
    (0..kept).map(|k| if kept > 1 { k * (count - 1) / (kept - 1) } else { 0 }).collect()
}

fn histograms(evaluation: &Evaluation, labels: &Labels) -> Plot {
    let [low, high] = histogram::RANGE;
    let width = (high - low) / BINS as f64;
    let shown = |site: &SiteResult| if site.record.forms.len() == 2 { 1..2 } else { 0..site.record.forms.len() };
    let many = evaluation.sites.iter().map(|site| shown(site).len()).sum::<usize>() > FEW;
    let lines = some(evaluation.ph.len(), if many { CURVES_IN_SMALL } else { usize::MAX });
    let style = |ph: usize| Style {
        colour: Colour::Share(ph as f64 / (evaluation.ph.len() - 1).max(1) as f64),
        // A few lines differ by their dashes, too.
        dash: if lines.len() <= 4 { lines.iter().position(|&line| line == ph).unwrap_or(0) } else { 0 },
        ..Style::default()
    };
    let densities = evaluation.sites.iter().flat_map(|site| site.histograms.iter().flatten().flatten());
    let least = densities.copied().filter(|density| *density > 0.0).fold(1.0, f64::min);
    let y = Scale::logarithmic("density of λ", [least.log10().floor().clamp(-5.0, -2.0), 2.0]);
    let mut charts = Vec::new();
    for site in &evaluation.sites {
        for form in shown(site) {
            let of_ph = |point: &PhPoint| evaluation.ph.iter().position(|ph| *ph == point.ph);
            let curve = |(point, all): (&PhPoint, &Vec<Vec<f64>>)| {
                let ph = of_ph(point).filter(|ph| lines.contains(ph))?;
                // An empty bin has no logarithm: the line is interrupted there.
                let line = all[form].iter().enumerate().map(|(k, d)| (low + (k as f64 + 0.5) * width, d.log10()));
                Some(Curve { line: line.collect(), style: style(ph), ..Curve::default() })
            };
            let title = match site.record.forms.len() {
                2 => labels.of(&site.record.name),
                _ => format!("{}, {}", labels.of(&site.record.name), site.record.forms[form].name),
            };
            let curves = site.titration.points.iter().zip(&site.histograms).filter_map(curve).collect();
            let x = Scale::new(if many { "λ" } else { "λ (weight of the form)" }, [low, high]);
            charts.push(Chart { title, note: String::new(), curves, x, y: y.clone() });
        }
    }
    let key = lines.iter().map(|&ph| Entry::line(&format!("pH {:.2}", evaluation.ph[ph]), style(ph)));
    let figure = Figure::charts("Distribution of λ", &charts, key.collect());
    let which = if lines.len() < evaluation.ph.len() { " Shown are some of the pH values." } else { "" };
    let caption = format!(
        "Density of λ over all frames, from blue at the lowest pH over purple to orange at the highest; of two forms 0 is protonated and 1 deprotonated. \
         Where no frame was, there is no line.{which}"
    );
    let why = "No frame has λ in the range of the histograms.";
    Plot { folded: many, ..Plot::new(LAMBDA, "Distribution of λ", figure, &caption, why) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_of_many_keep_both_ends() {
        assert_eq!(
            (some(3, 5), some(11, 5), some(0, 5), some(9, 1)),
            (vec![0, 1, 2], vec![0, 2, 5, 7, 10], vec![], vec![0])
        );
    }

    #[test]
    fn a_pka_that_is_not_determined_has_no_spread() {
        let value = |value: f64| Determined::Value { value, error: 0.1 };
        assert_eq!(spread(&[&[Determined::Unknown, Determined::AtMost(3.0)], &[]]), None);
        // The first part of all, which is often far off, does not count.
        assert_eq!(spread(&[&[value(9.0), value(4.5), value(4.0)], &[value(4.25)]]), Some((4.0, 0.5)));
        let (middle, far) = spread(&[&[value(4.0); 6]]).unwrap();
        assert!(middle == 4.0 && (far - 0.1).abs() < 1e-12);
    }
}
