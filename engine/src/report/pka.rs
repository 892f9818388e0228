//! What an evaluation of pKa values leaves behind: tables (`tables.rs`), plots (`plots.rs`, `series.rs`), and all of it on one page,
//! `report.html`.

mod plots;
mod series;
mod tables;
#[cfg(test)]
mod tests;

use super::analysis;
use super::comparison;
use super::exchange;
use super::page::Page;
use crate::atomic::write_atomic;
use crate::error::{Error, Result};
use crate::evaluation::pka::{Evaluation, PairResult, SIGNIFICANT};
use crate::evaluation::runs::Run;
use lambda::analysis::hill::Determined;
use plots::Plot;
use std::collections::BTreeSet;
use std::path::Path;
use tables::optional;

pub(super) use tables::aligned;

/// Name of the page.
pub const REPORT: &str = "report.html";

/// Names of the page and of all tables.
pub const RESULTS: [&str; 10] = [
    REPORT,
    tables::PKA,
    tables::MICRO,
    tables::TITRATION,
    tables::POPULATIONS,
    tables::PAIRS,
    tables::CONVERGENCE,
    tables::DIAGNOSTICS,
    comparison::TABLE,
    comparison::JSON,
];

/// Writes tables, plots and the page into `folder`; `settings` is the text of the job, if there is one. The short table for the end of the
/// command.
///
/// # Errors
/// [`Error::File`] if a file cannot be written.
pub fn write(evaluation: &Evaluation, folder: &Path, settings: Option<&str>) -> Result<String> {
    std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of the results", e))?;
    tables::write(evaluation, folder)?;
    match &evaluation.comparison {
        Some(found) => comparison::write(found, folder)?,
        None => comparison::remove(folder)?,
    }
    let plots = plots::all(evaluation);
    for plot in &plots {
        let path = folder.join(plot.file);
        match &plot.figure {
            Some(figure) => {
                let svg = figure.standalone(&plot.heading, &plot.caption);
                write_atomic(&path, "write", svg.as_bytes())?;
            }
            // One of an evaluation before would contradict this one.
            None if path.exists() => std::fs::remove_file(&path).map_err(|e| Error::file(&path, "remove", e))?,
            None => {}
        }
    }
    let mixing = folder.join(exchange::PAGE).exists();
    write_atomic(&folder.join(REPORT), "write", report(evaluation, &plots, settings, mixing).as_bytes())?;
    Ok(format!("{}report: {}", tables::summary(evaluation), folder.join(REPORT).display()))
}

/// The page; `mixing`: whether there is one about the exchange of pH values.
fn report(evaluation: &Evaluation, plots: &[Plot], settings: Option<&str>, mixing: bool) -> String {
    let names: Vec<&str> = evaluation.sites.iter().map(|site| site.record.name.as_str()).collect();
    let title = match names.len() {
        0..=4 => names.join(", "),
        many => format!("{many} sites"),
    };
    let mut page = Page::new(&format!("Titration of {title}"), &subtitle(evaluation));
    if mixing {
        page.link(exchange::PAGE, "How well the replica exchange mixed");
    }
    let rows = tables::rows(evaluation);
    if rows.len() <= 4 {
        let headline = |row: &Vec<String>| {
            let model = if row[3].is_empty() { String::new() } else { format!(", model compound {}", row[3]) };
            [format!("pKa of {}", row[0]), row[1].clone(), format!("Hill coefficient {}{model}", row[2])]
        };
        // What is not known is no headline.
        let known = |row: &&Vec<String>| row[1] != Determined::Unknown.to_string();
        page.headline(&rows.iter().filter(known).map(headline).collect::<Vec<_>>());
    }
    page.warnings(&evaluation.warnings);
    page.table("pKa values", &tables::COLUMNS, &rows);
    page.table("Convergence of the sites", &["site", "verdict"], &verdicts(evaluation));
    let (first, others) = plots.split_at(plots.len().min(1));
    first.iter().for_each(|plot| show(&mut page, plot));
    microscopic(&mut page, evaluation);
    pairs(&mut page, evaluation);
    untitrated(&mut page, evaluation);
    others.iter().chain(&series::all(evaluation)).for_each(|plot| show(&mut page, plot));
    let columns = [
        "site",
        "pKa",
        "transitions",
        "exchanges of equal forms",
        "rotamer changes",
        "first half",
        "last half",
        "replicas",
        "spread of replicas",
    ];
    page.long_table("Diagnostics", &columns, &diagnostics(evaluation));
    page.long_table("Runs", &["run", "left out (ps)", "used (ps)", "frames"], &runs(evaluation));
    analysis::box_section(&mut page, evaluation.runs.iter().map(|run| run.folder.as_path()));
    let columns =
        ["site", "pH", "MBAR", "±", "weighted count", "plain count", "mixed", "transitions", "samples", "frames"];
    page.long_table("Deprotonated fractions", &columns, &fractions(evaluation));
    if let Some(settings) = settings {
        page.details("Settings", settings);
    }
    page.html()
}

fn show(page: &mut Page, plot: &Plot) {
    match &plot.figure {
        None => page.missing(&plot.heading, &plot.caption),
        Some(figure) if plot.folded => page.folded_figure(&plot.heading, figure, &plot.caption),
        Some(figure) => page.figure(&plot.heading, figure, &plot.caption),
    }
}

/// `5 pH values, 10 runs, 12.5 ns in all, the first 100 ps of each left out; …`.
fn subtitle(evaluation: &Evaluation) -> String {
    let time: f64 = evaluation.runs.iter().map(Run::length).sum();
    let time = if time < 1e4 { format!("{time:.6} ps") } else { format!("{:.6} ns", time / 1e3) };
    let time = trimmed(&time);
    let count = |n: usize, one: &str, more: &str| format!("{n} {}", if n == 1 { one } else { more });
    let most = evaluation.left_out.iter().copied().fold(0.0, f64::max);
    let least = evaluation.left_out.iter().copied().fold(f64::INFINITY, f64::min);
    let left_out = match most {
        most if most <= 0.0 => String::new(),
        most if most == least => format!(", the first {most} ps of each left out"),
        most => format!(", the first {least} to {most} ps of each left out"),
    };
    let how = if evaluation.overlap.is_empty() { "from the frames of each pH" } else { "by MBAR from all frames" };
    let trips = match evaluation.round_trips {
        Some(trips) => format!("; {trips} round trips in pH"),
        None => String::new(),
    };
    format!(
        "{}, {}, {time} in all{left_out}; a form is occupied above a weight of {}, populations are those of the pure forms, {how}{trips}",
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

/// The groups that the library knows and that do not titrate, with the reason.
fn untitrated(page: &mut Page, evaluation: &Evaluation) {
    let all = evaluation.runs.iter().flat_map(|run| &run.sites.untitrated);
    let rows: BTreeSet<Vec<String>> = all.map(|group| vec![group.name.clone(), group.reason.clone()]).collect();
    if !rows.is_empty() {
        page.table("Groups that do not titrate", &["group", "reason"], &rows.into_iter().collect::<Vec<_>>());
    }
}

fn microscopic(page: &mut Page, evaluation: &Evaluation) {
    let mut rows = Vec::new();
    for site in evaluation.sites.iter().filter(|site| site.record.forms.len() > 2) {
        for link in &site.titration.microscopic {
            let reference = site.microscopic_reference(link.from, link.to);
            let share = |form: usize| site.titration.shares[form].to_string();
            let (name, step) = (site.record.name.clone(), site.link_name(link.from, link.to));
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
        page.table("Microscopic pK values and tautomers", &columns, &rows);
    }
}

fn pairs(page: &mut Page, evaluation: &Evaluation) {
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
        page.table("Sites that feel each other", &columns, &rows);
    }
}

/// A verdict on every site.
fn verdicts(evaluation: &Evaluation) -> Vec<Vec<String>> {
    evaluation.sites.iter().map(|site| vec![site.record.name.clone(), site.diagnostics.verdict()]).collect()
}

fn diagnostics(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for site in &evaluation.sites {
        let found = &site.diagnostics;
        for (index, step) in site.titration.macroscopic.iter().enumerate() {
            let halves = site.halves(index).unwrap_or([Determined::Unknown; 2]).map(|half| half.to_string());
            let replicas = found.replicas.get(index).into_iter().flatten().map(Determined::to_string);
            let mut row = vec![site.step_name(index), step.pka.to_string(), site.transitions().to_string()];
            row.extend(
                [found.exchanges, found.rotamers].map(|count| count.map_or("–".into(), |count| count.to_string())),
            );
            row.extend(halves);
            row.push(replicas.collect::<Vec<_>>().join(", "));
            row.push(found.spread(index).map_or("–".into(), |spread| format!("{spread:.2}")));
            rows.push(row);
        }
    }
    rows
}

/// What was left out of each run.
fn runs(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let row = |(run, left_out): (&Run, &f64)| {
        let used = trimmed(&format!("{:.3} ps", run.length())).replace(" ps", "");
        vec![run.short_name(), left_out.to_string(), used, run.series.time.len().to_string()]
    };
    evaluation.runs.iter().zip(&evaluation.left_out).map(row).collect()
}

fn fractions(evaluation: &Evaluation) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for site in &evaluation.sites {
        for point in &site.titration.points {
            let error = point.interval.map(|[low, high]| 0.5 * (high - low));
            let [s, error] = [point.deprotonated, error].map(|x| optional(x, 3));
            let [s, error] = [s, error].map(|text| if text.is_empty() { "–".into() } else { text });
            rows.push(vec![
                site.record.name.clone(),
                format!("{:.2}", point.ph),
                s,
                error,
                optional(point.deprotonated_weighted, 3),
                optional(point.deprotonated_counted, 3),
                format!("{:.1} %", 100.0 * point.occupancy.mixed_fraction().unwrap_or(0.0)),
                point.occupancy.transitions.to_string(),
                format!("{:.0}", point.samples),
                point.occupancy.frames().to_string(),
            ]);
        }
    }
    rows
}
