//! What an evaluation shows: `titration.svg`, `convergence.svg`, `lambda.svg`, `populations.svg`, `correlation.svg`, and all of it in `report.html`.

use super::pka::{Evaluation, PairResult, SIGNIFICANT, SiteResult};
use super::pka_plots::{self as plots, Plot};
use super::pka_tables::{self as tables, optional};
use crate::atomic::write_atomic;
use crate::error::Result;
use crate::output::report::Report;
use lambda::analysis::hill::Determined;
use lambda::analysis::titration::PhPoint;
use std::collections::BTreeSet;
use std::path::Path;

/// Everything on one page.
pub const REPORT: &str = "report.html";

/// Writes the plots and the report; `settings`: the job, if there is one.
///
/// # Errors
/// [`crate::error::Error::File`].
pub fn write(evaluation: &Evaluation, folder: &Path, settings: Option<&str>) -> Result<()> {
    let plots = plots::all(evaluation)?;
    for plot in plots.iter().filter(|plot| !plot.file.is_empty()) {
        write_atomic(&folder.join(plot.file), "write", plot.svg.as_bytes())?;
    }
    write_atomic(&folder.join(REPORT), "write", report(evaluation, &plots, settings).as_bytes())
}

fn report(evaluation: &Evaluation, plots: &[Plot], settings: Option<&str>) -> String {
    let names: Vec<&str> = evaluation.sites.iter().map(|site| site.record.name.as_str()).collect();
    let title = match names.len() {
        0..=4 => names.join(", "),
        many => format!("{many} sites"),
    };
    let mut report = Report::new(&format!("Titration of {title}"), &subtitle(evaluation));
    let rows = tables::rows(evaluation);
    if rows.len() <= 4 {
        let headline = |row: &Vec<String>| {
            let model = if row[3].is_empty() { String::new() } else { format!(", model compound {}", row[3]) };
            [format!("pKa of {}", row[0]), row[1].clone(), format!("Hill coefficient {}{model}", row[2])]
        };
        report.headline(&rows.iter().map(headline).collect::<Vec<_>>());
    }
    report.warnings(&evaluation.warnings);
    report.table("pKa values", &tables::COLUMNS, &rows);
    let mut plots = plots.iter();
    if let Some(first) = plots.next() {
        report.figure(first.heading, &first.svg, &first.caption);
    }
    microscopic(&mut report, evaluation);
    pairs(&mut report, evaluation);
    for plot in plots {
        report.figure(plot.heading, &plot.svg, &plot.caption);
    }
    let columns = ["pH", "site", "deprotonated", "±", "mixed", "transitions", "samples", "frames"];
    report.table("Fractions", &columns, &fractions(evaluation));
    if let Some(settings) = settings {
        report.details("Settings", settings);
    }
    report.html()
}

/// `5 pH values, 10 runs, 12.5 ns in all, the first 100 ps of each left out; …`.
fn subtitle(evaluation: &Evaluation) -> String {
    let time: f64 = evaluation.runs.iter().map(super::pka_runs::Run::length).sum();
    let time = if time < 1e4 { format!("{time:.6} ps") } else { format!("{:.6} ns", time / 1e3) };
    let time = trimmed(&time);
    let count = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    let left_out = match evaluation.options.equilibration {
        start if start > 0.0 => format!(", the first {start} ps of each left out"),
        _ => String::new(),
    };
    format!(
        "{}, {}, {time} in all{left_out}; a form is occupied above a weight of {}, populations are those of the pure forms",
        count(evaluation.ph.len(), "pH value", "pH values"),
        count(evaluation.runs.len(), "run", "runs"),
        evaluation.options.threshold
    )
}

/// A number without trailing zeros, before its unit.
fn trimmed(text: &str) -> String {
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text.to_string(),
    }
}

fn microscopic(report: &mut Report, evaluation: &Evaluation) {
    let mut rows = Vec::new();
    for site in evaluation.sites.iter().filter(|site| site.record.forms.len() > 2) {
        for link in &site.titration.microscopic {
            let [from, to] = [link.from, link.to].map(|form| &site.record.forms[form]);
            let reference = (to.pk - from.pk) / (f64::from(to.protons_lost) - f64::from(from.protons_lost));
            let share = |form: usize| site.titration.shares[form].to_string();
            let (name, step) = (site.record.name.clone(), tables::link(site, link.from, link.to));
            let model = optional(Some(reference), 2);
            rows.push(vec![name, step, link.pk.to_string(), model, share(link.from), share(link.to)]);
        }
        for step in &site.titration.macroscopic {
            let words = format!("macroscopic from these: {}", step.from_microscopic);
            rows.push(vec![
                site.record.name.clone(),
                words,
                String::new(),
                String::new(),
                String::new(),
                String::new(),
            ]);
        }
    }
    if !rows.is_empty() {
        let columns = ["site", "forms", "pK", "model", "share of first", "share of second"];
        report.table("Microscopic pK values and tautomers", &columns, &rows);
    }
}

fn pairs(report: &mut Report, evaluation: &Evaluation) {
    let signed = |number: Determined| number.to_string().replace('-', "−");
    let row = |PairResult { sites, pair }: &PairResult| {
        let [first, second] = sites.map(|site| evaluation.sites[site].record.name.clone());
        let mut row = vec![format!("{first}, {second}"), signed(pair.correlation)];
        row.extend([pair.pka[0], pair.pka[1], pair.interaction, pair.macroscopic[0], pair.macroscopic[1]].map(signed));
        row
    };
    let rows: Vec<Vec<String>> =
        evaluation.pairs.iter().filter(|result| result.pair.significant(SIGNIFICANT)).map(row).collect();
    if !rows.is_empty() {
        let columns =
            ["sites", "correlation", "pKa of first", "of second", "interaction", "first pKa of both", "second"];
        report.table("Sites that feel each other", &columns, &rows);
    }
}

fn fractions(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for site in &evaluation.sites {
        for point in &site.titration.points {
            let error = point.interval.map(|[low, high]| 0.5 * (high - low));
            let [s, error] = [point.deprotonated, error].map(|x| optional(x, 3));
            let [s, error] = [s, error].map(|text| if text.is_empty() { "–".into() } else { text });
            rows.push(vec![
                format!("{:.2}", point.ph),
                site.record.name.clone(),
                s,
                error,
                format!("{:.1} %", 100.0 * point.occupancy.mixed_fraction().unwrap_or(0.0)),
                point.occupancy.transitions.to_string(),
                format!("{:.0}", point.samples),
                point.occupancy.frames().to_string(),
            ]);
        }
    }
    rows
}

/// Fewer transitions than this at a pH near the pKa leave its fraction to chance.
const FEW_TRANSITIONS: u64 = 10;
/// More mixed frames than this say that λ is not at its two ends.
const MANY_MIXED: f64 = 0.25;

/// Warnings of the runs, and those the numbers give rise to; each once.
pub(super) fn warnings(evaluation: &Evaluation) -> Vec<String> {
    let mut warnings: Vec<String> = evaluation.runs.iter().flat_map(|run| run.warnings.clone()).collect();
    warnings.extend(together(evaluation.sites.iter().flat_map(doubts)));
    let mut seen = BTreeSet::new();
    warnings.retain(|warning| seen.insert(warning.clone()));
    warnings
}

/// One sentence for all sites that it holds for, in the order of the first.
fn together(doubts: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut all: Vec<(Vec<String>, String)> = Vec::new();
    for (name, doubt) in doubts {
        match all.iter_mut().find(|(_, known)| *known == doubt) {
            Some((names, _)) => names.push(name),
            None => all.push((vec![name], doubt)),
        }
    }
    all.into_iter().map(|(names, doubt)| format!("{}: {doubt}", names.join(", "))).collect()
}

/// What the numbers of a site give reason to doubt: name and sentence.
fn doubts(site: &SiteResult) -> Vec<(String, String)> {
    let mut doubts = Vec::new();
    let points = &site.titration.points;
    let name = &site.record.name;
    let list = |choose: &dyn Fn(&PhPoint) -> bool| -> Vec<String> {
        points.iter().filter(|point| choose(point)).map(|point| format!("{}", point.ph)).collect()
    };
    let at = |list: &[String]| {
        if list.len() == points.len() { "every pH".to_string() } else { format!("pH {}", list.join(", ")) }
    };
    let between = |point: &PhPoint| point.deprotonated.is_some_and(|s| (0.1..=0.9).contains(&s));
    let few = list(&|point| between(point) && point.occupancy.transitions < FEW_TRANSITIONS);
    let mixed = list(&|point| point.occupancy.mixed_fraction().is_some_and(|mixed| mixed > MANY_MIXED));
    if !few.is_empty() {
        // A lower barrier makes transitions, and more mixed frames.
        let lower = if mixed.is_empty() { ", or lower titration.barrier" } else { "" };
        let doubt = format!("fewer than {FEW_TRANSITIONS} transitions at {}; run longer{lower}", at(&few));
        doubts.push((name.clone(), doubt));
    } else if !mixed.is_empty() {
        let share = 100.0 * MANY_MIXED;
        let doubt =
            format!("more than {share:.0} % of the frames are mixed at {}; raise titration.barrier", at(&mixed));
        doubts.push((name.clone(), doubt));
    }
    let ends = points.first().map(|p| p.ph).zip(points.last().map(|p| p.ph));
    for (index, step) in site.titration.macroscopic.iter().enumerate() {
        let name = tables::step_name(site, index);
        let mut doubt = |text: String| doubts.push((name.clone(), text));
        match (step.pka.value(), ends) {
            (None, _) if step.pka_slope_one.value().is_some() && step.pka == Determined::Unknown => doubt(
                "the fractions do not determine pKa and Hill coefficient together; the pKa is that of a coefficient of 1; run longer"
                    .into(),
            ),
            (None, _) => doubt(
                "the fractions do not determine the pKa; run longer, or add pH values where the site is partly deprotonated"
                    .into(),
            ),
            (Some(pka), Some((low, high))) if !(low..=high).contains(&pka) => {
                doubt(format!("the fitted pKa of {pka:.2} lies outside the pH values, {low} to {high}"));
            }
            _ => {}
        }
        if let Some(Determined::Value { value, error }) = step.slope
            && (value - 1.0).abs() > (3.0 * error).max(0.3)
        {
            doubt(format!(
                "the Hill coefficient is {value:.2} ± {error:.2}; a single site has 1: the runs may be too short, or it feels another site"
            ));
        }
        if let Some(text) = drift(site, index) {
            doubt(text);
        }
    }
    doubts
}

/// Halves of the runs that disagree.
fn drift(site: &SiteResult, index: usize) -> Option<String> {
    let found = &site.convergence;
    let half = found.shares.iter().position(|share| (share - 0.5).abs() < 1e-9)?;
    let (first, last) = (found.forward[index][half], found.reverse[index][half]);
    let difference = first.value()? - last.value()?;
    let error = first.error()?.hypot(last.error()?);
    (difference.abs() > (3.0 * error).max(0.1)).then(|| {
        format!("the first half of the runs gives pKa {first}, the last {last}; leave out more of the beginning, or run longer")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubt_of_several_sites_is_one_sentence() {
        let doubt = |name: &str, text: &str| (name.to_string(), text.to_string());
        let doubts = [doubt("GLU 2", "run longer"), doubt("HIS 3", "few"), doubt("LYS 4", "run longer")];
        assert_eq!(together(doubts.into_iter()), ["GLU 2, LYS 4: run longer", "HIS 3: few"]);
    }
}
