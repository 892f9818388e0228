//! What an evaluation of pKa values leaves behind: tables (`tables.rs`), plots (`plots.rs`, `series.rs`), and all of it on one page,
//! `report.html`: what a reader came for first (`results.rs`), then curves, the structure (`structure.rs`), the evidence (`evidence.rs`), how the
//! protein was prepared (`preparation.rs`), a paragraph for a paper (`method.rs`) and where everything comes from (`origin.rs`). The numbers of the page are
//! in `report.json`, too.

mod evidence;
mod json;
mod method;
mod origin;
mod plots;
mod preparation;
mod results;
mod series;
mod structure;
mod tables;
#[cfg(test)]
mod tests;

use super::analysis;
use super::comparison;
use super::exchange;
use super::page::{Page, REPORT};
use crate::atomic::write_atomic;
use crate::error::{Error, Result};
use crate::evaluation::background::{Background, sentence};
use crate::evaluation::comparison::Compared;
use crate::evaluation::measured::Constant;
use crate::evaluation::pka::Evaluation;
use crate::evaluation::runs::Run;
use crate::record::Labels;
use evidence::trimmed;
use plots::Plot;
use std::path::Path;

/// Name of its numbers.
const DATA: &str = "report.json";

/// Differences of titrations that the terminal and the paragraph about the method name; the page has all.
const SAID: usize = 6;

/// Names of the page, its numbers, all tables and plots.
pub const RESULTS: [&str; 17] = [
    REPORT,
    DATA,
    tables::PKA,
    tables::MICRO,
    tables::TITRATION,
    tables::POPULATIONS,
    tables::PAIRS,
    tables::CONVERGENCE,
    tables::DIAGNOSTICS,
    tables::NEIGHBOURS,
    comparison::TABLE,
    comparison::JSON,
    plots::TITRATION,
    plots::POPULATIONS,
    plots::CORRELATION,
    plots::CONVERGENCE,
    plots::LAMBDA,
];

/// A measured pKa that stands beside a computed one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// Name of the site, or of the step of its titration ([`crate::evaluation::pka::SiteResult::step_name`]).
    pub site: String,
    /// Its value; none for a bound.
    pub value: Option<f64>,
    /// Its error.
    pub error: Option<f64>,
    /// As people read it: `4.40 ± 0.10`, `> 11`.
    pub text: String,
}

/// What a report shows beside the evaluation.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Beside<'a> {
    /// Text of the job, if there is one.
    pub settings: Option<&'a str>,
    /// Measured pKa values; where none are given, those that the evaluation is compared with.
    pub measured: &'a [Measured],
}

/// The measured values that an evaluation is compared with.
fn measured(evaluation: &Evaluation) -> Vec<Measured> {
    let rows = evaluation.comparison.iter().flat_map(|comparison| &comparison.rows);
    let one = |row: &Compared| {
        let (value, error) = match row.measured {
            Constant::Value { value, error } => (Some(value), error),
            _ => (None, None),
        };
        Measured { site: row.site.clone(), value, error, text: row.measured.to_string() }
    };
    rows.map(one).collect()
}

/// Writes tables, plots and the page into `folder`; `beside` is what the page shows besides. The short table for the end of the
/// command.
///
/// # Errors
/// [`Error::File`] if a file cannot be written.
pub fn write(evaluation: &Evaluation, folder: &Path, beside: Beside) -> Result<String> {
    std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of the results", e))?;
    tables::write(evaluation, folder)?;
    match &evaluation.comparison {
        Some(found) => comparison::write(found, folder)?,
        None => comparison::remove(folder)?,
    }
    let compared = measured(evaluation);
    let beside = if beside.measured.is_empty() { Beside { measured: &compared, ..beside } } else { beside };
    let background = Background::of(evaluation);
    let labels = evaluation.labels();
    let plots = plots::all(evaluation, &labels, beside.measured);
    for file in plots::FILES {
        let path = folder.join(file);
        let plot = plots.iter().find(|plot| plot.file == file);
        match plot.and_then(|plot| Some((plot, plot.figure.as_ref()?))) {
            Some((plot, figure)) => {
                let svg = figure.standalone(&plot.heading, &plot.caption);
                write_atomic(&path, "write", svg.as_bytes())?;
            }
            // One of an evaluation before would contradict this one.
            None if path.exists() => std::fs::remove_file(&path).map_err(|e| Error::file(&path, "remove", e))?,
            None => {}
        }
    }
    let mixing = folder.join(exchange::PAGE).exists();
    write_atomic(
        &folder.join(REPORT),
        "write",
        report(evaluation, &background, &labels, &plots, beside, mixing).as_bytes(),
    )?;
    let method = method::method(evaluation, &background);
    let numbers = json::text(evaluation, &background, &labels, beside.measured, &method);
    write_atomic(&folder.join(DATA), "write", numbers.as_bytes())?;
    let differ = match &background.differences[..] {
        [] => String::new(),
        some => format!("the titrations differ: {}\n", sentence(some, &background.names(), SAID)),
    };
    Ok(format!("{}{differ}report: {}", tables::summary(evaluation), folder.join(REPORT).display()))
}

/// The page; `mixing`: whether there is one about the exchange of pH values.
fn report(
    evaluation: &Evaluation,
    background: &Background,
    labels: &Labels,
    plots: &[Plot],
    beside: Beside,
    mixing: bool,
) -> String {
    let names: Vec<String> = evaluation.sites.iter().map(|site| labels.of(&site.record.name)).collect();
    let title = match names.len() {
        0..=4 => names.join(", "),
        many => format!("{many} sites"),
    };
    // Titrations of several structures are of none of these.
    let is_of_one = background.differences.iter().all(|difference| difference.what != "preparation: input");
    let input = background.preparation.as_ref().filter(|_| is_of_one);
    let input = input.and_then(|preparation| Path::new(preparation.setting("input")?).file_name());
    let of = input.map_or(String::new(), |name| format!(" of {}", name.to_string_lossy()));
    let mut page = Page::new(&format!("Titration of {title}{of}"), &subtitle(evaluation));
    page.anchor("results", "pKa values");
    let results = results::html(evaluation, background, labels, beside.measured);
    page.section("", "pKa values", &results);
    page.warnings(&evaluation.warnings);
    let of_file = |wanted: &'static str| plots.iter().filter(move |plot| plot.file == wanted);
    page.anchor("curves", "Curves");
    of_file(plots::TITRATION).chain(of_file(plots::POPULATIONS)).for_each(|plot| show(&mut page, plot));
    evidence::microscopic(&mut page, evaluation, labels);
    structure::section(&mut page, evaluation, background, labels);
    if of_file(plots::CORRELATION).next().is_some() {
        page.anchor("coupling", "Coupled sites");
    }
    of_file(plots::CORRELATION).for_each(|plot| show(&mut page, plot));
    evidence::pairs(&mut page, evaluation, labels);
    evidence::neighbours(&mut page, evaluation, background, labels);
    page.anchor("convergence", "Convergence");
    of_file(plots::CONVERGENCE).for_each(|plot| show(&mut page, plot));
    evidence::diagnostics(&mut page, evaluation, labels);
    evidence::looks(&mut page, background, labels);
    evidence::added(&mut page, evaluation);
    evidence::exchange(&mut page, evaluation, background, mixing);
    page.anchor("lambda", "λ");
    of_file(plots::LAMBDA).chain(&series::all(evaluation, labels)).for_each(|plot| show(&mut page, plot));
    analysis::box_section(&mut page, evaluation.runs.iter().map(|run| run.folder.as_path()));
    page.anchor("preparation", "Preparation");
    prepared(&mut page, background);
    evidence::untitrated(&mut page, evaluation, labels);
    origin::method_section(&mut page, &method::method(evaluation, background));
    origin::differences(&mut page, background);
    origin::section(&mut page, evaluation, background);
    evidence::runs(&mut page, evaluation);
    evidence::fractions(&mut page, evaluation, labels);
    match (beside.settings, &background.titrations[..]) {
        (Some(settings), _) => page.details("Settings of the job", settings),
        (None, several) => several.iter().filter(|titration| !titration.job.text.is_empty()).for_each(|titration| {
            let of = if titration.name.is_empty() { String::new() } else { format!(", {}", titration.name) };
            page.details(&format!("Settings of the job{of}"), &titration.job.text);
        }),
    }
    structure::licence(&mut page, background);
    page.html()
}

/// The records of preparations: one for all titrations, or that of each.
fn prepared(page: &mut Page, background: &Background) {
    const HEADING: &str = "How the protein was prepared";
    let first = background.preparation.as_ref();
    let others = || background.titrations.iter().filter(|titration| titration.preparation.as_ref() != first);
    match first {
        Some(preparation) if others().next().is_none() => {
            page.section("record", HEADING, &preparation::html(&preparation.record));
        }
        None if others().next().is_none() => page.missing(
            HEADING,
            "There is no record of octitrate prepare beside the structure of the job: it was built in another way, or has been moved.",
        ),
        _ => {
            for titration in &background.titrations {
                let heading = format!("{HEADING}, {}", titration.name);
                match &titration.preparation {
                    Some(preparation) => page.section("record", &heading, &preparation::html(&preparation.record)),
                    None => page.missing(&heading, "There is no record of octitrate prepare beside the structure of its job."),
                }
            }
        }
    }
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
        Some(trips) => format!("; {} in pH", count(trips, "round trip", "round trips")),
        None => String::new(),
    };
    format!(
        "{}, {}, {time} in all{left_out}; a form is occupied above a weight of {}, populations are those of the pure forms, {how}{trips}",
        count(evaluation.ph.len(), "pH value", "pH values"),
        count(evaluation.runs.len(), "run", "runs"),
        evaluation.options.threshold
    )
}
