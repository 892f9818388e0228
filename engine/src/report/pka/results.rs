//! The table of pKa values: what a reader came for, with a verdict on each.

use super::tables::{hill, shift};
use super::{Measured, evidence};
use crate::evaluation::background::Background;
use crate::evaluation::pka::{Evaluation, LARGEST_ERROR, SiteResult};
use crate::record::Labels;
use crate::report::page::escape;
use crate::report::plot::{Bar, Forest};
use lambda::analysis::determined::Determined;
use std::fmt::Write;

/// Names with more letters break into lines.
const LONG: usize = 26;

/// What a reader may do with a pKa.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It is determined, and nothing speaks against it.
    Converged,
    /// It is determined, and something speaks against it.
    Doubtful,
    /// It is a bound, or not known.
    Open,
}

impl Verdict {
    /// On a step of the titration of a site.
    pub fn of(site: &SiteResult, pka: Determined) -> Self {
        match pka {
            Determined::Value { .. } if site.diagnostics.reasons.is_empty() => Self::Converged,
            Determined::Value { .. } => Self::Doubtful,
            _ => Self::Open,
        }
    }

    /// Class, sign and words: the sign and the words say it without colour.
    fn shown(self) -> [&'static str; 3] {
        match self {
            Self::Converged => ["yes", "✓", "converged"],
            Self::Doubtful => ["no", "✗", "not converged"],
            Self::Open => ["open", "○", "not determined"],
        }
    }
}

/// A row of the table.
struct Row<'a> {
    site: usize,
    name: String,
    label: String,
    pka: Determined,
    in_solution: Option<Determined>,
    slope: Option<Determined>,
    model: Option<f64>,
    verdict: Verdict,
    reasons: &'a [String],
    measured: Option<&'a Measured>,
}

impl Row<'_> {
    fn bar(&self) -> Bar {
        let measured = self.measured.and_then(|measured| Some((measured.value?, measured.error.unwrap_or(0.0))));
        Bar { value: Some(self.compared()), sure: self.verdict == Verdict::Converged, reference: self.model, measured }
    }

    /// What stands beside a measured value.
    fn compared(&self) -> Determined {
        self.in_solution.unwrap_or(self.pka)
    }

    /// Computed minus measured.
    fn difference(&self) -> Option<f64> {
        Some(self.compared().value()? - self.measured?.value?)
    }
}

fn rows<'a>(evaluation: &'a Evaluation, labels: &Labels, measured: &'a [Measured]) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    for (index, site) in evaluation.sites.iter().enumerate() {
        for (k, step) in site.titration.macroscopic.iter().enumerate() {
            let name = site.step_name(k);
            let pka = site.fit(k).pka;
            rows.push(Row {
                site: index,
                label: labels.of(&name),
                pka,
                in_solution: evaluation.in_solution(pka),
                slope: step.slope.map(|_| site.fit(k).slope),
                model: site.reference(step.from, step.to),
                verdict: Verdict::of(site, pka),
                reasons: &site.diagnostics.reasons,
                measured: measured.iter().find(|measured| measured.site == name),
                name,
            });
        }
    }
    rows
}

/// How many values there are of each verdict, and what that means.
fn lead(rows: &[Row]) -> String {
    let count = |verdict: Verdict| rows.iter().filter(|row| row.verdict == verdict).count();
    let [yes, no, open] = [Verdict::Converged, Verdict::Doubtful, Verdict::Open].map(count);
    let tally = |[class, sign, words]: [&str; 3], count: usize| {
        format!("<span class=\"tally {class}\"><b>{count}</b> <i aria-hidden=\"true\">{sign}</i> {words}</span>")
    };
    let tallies = [(Verdict::Converged, yes), (Verdict::Doubtful, no), (Verdict::Open, open)]
        .map(|(verdict, count)| if count > 0 { tally(verdict.shown(), count) } else { String::new() });
    format!(
        "<p class=\"tallies\">{}</p><p class=\"lead\">A pKa has converged if its error is below {LARGEST_ERROR} and the halves of the runs and the replicas \
         agree; if the site changed its form, its tautomer and its rotamer often enough; if neighbouring pH values overlap; and if walkers went to and fro, or five replicas began with several structures, \
         so that their scatter is in the error. Of all others the table says what is missing: \
         use those as a hint and not as a result. Errors are one standard error of the sampling; the errors of the correction and of the force field are not in them.</p>",
        tallies.concat()
    )
}

/// Where `until` stands, and why its word and the verdicts are two things.
fn until(background: &Background) -> String {
    let Some((looks, state)) = background.looks.as_ref().and_then(|looks| Some((looks, evidence::state(looks)?)))
    else {
        return String::new();
    };
    format!(
        "<p class=\"lead\">The titration goes on until every pKa is known to {}: {} (<a href=\"#looks\">look by look</a>). The verdicts are those of all frames now: \
         against a site that is settled a test may speak by chance, or a change that is smaller than what was asked for.</p>",
        looks.target.error,
        escape(&lowered(&state)),
    )
}

/// A sentence without its full stop, as a part of another.
fn lowered(sentence: &str) -> String {
    let words = sentence.trim_end_matches('.');
    let mut letters = words.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

/// What speaks against every pKa, which is said once.
fn common<'a>(rows: &[Row<'a>]) -> Vec<&'a str> {
    let [first, rest @ ..] = rows else { return Vec::new() };
    if rest.is_empty() {
        return Vec::new();
    }
    let everywhere = |reason: &&String| rest.iter().all(|row| row.reasons.contains(*reason));
    first.reasons.iter().filter(everywhere).map(String::as_str).collect()
}

/// Averages against measured values, in words.
fn averages(rows: &[Row]) -> String {
    let all: Vec<[f64; 2]> =
        rows.iter().filter_map(|row| Some([row.difference()?, row.model? - row.measured?.value?])).collect();
    if all.is_empty() {
        return String::new();
    }
    let mean = |k: usize, power: i32| {
        (all.iter().map(|d| d[k].abs().powi(power)).sum::<f64>() / all.len() as f64).powf(1.0 / f64::from(power))
    };
    let largest = |k: usize| all.iter().map(|d| d[k].abs()).fold(0.0, f64::max);
    let of = |k: usize| {
        format!("mean absolute error {:.2}, root mean square {:.2}, largest {:.2}", mean(k, 1), mean(k, 2), largest(k))
    };
    format!(
        "<p class=\"lead\">Against the {}{}: {}. The pKa values of the model compounds, which know nothing of the protein: {}.</p>",
        if all.len() == 1 { "measured value".into() } else { format!("{} measured values", all.len()) },
        if rows.iter().any(|row| row.in_solution.is_some()) { ", in solution" } else { "" },
        of(0),
        of(1)
    )
}

/// The table, with what it says in a few words before it. Sites lead to the structure if it is shown.
pub(super) fn html(evaluation: &Evaluation, background: &Background, labels: &Labels, measured: &[Measured]) -> String {
    let is_shown = background.solute.is_ok();
    let rows = rows(evaluation, labels, measured);
    let bars: Vec<Bar> = rows.iter().map(Row::bar).collect();
    let forest = Forest::new("pKa", &bars);
    let compared = rows.iter().any(|row| row.measured.is_some());
    let in_solution = evaluation.solution.is_some();
    let common = common(&rows);
    let mut html = lead(&rows);
    if !common.is_empty() {
        let _ = write!(html, "<p class=\"lead common\">Against each of them: {}.</p>", escape(&common.join("; ")));
    }
    html += &until(background);
    html += &averages(&rows);
    let head = |class: &str, words: &str| format!("<th scope=\"col\" class=\"{class}\">{words}</th>");
    let mut heads = vec![head("", "site"), head("value", "pKa")];
    if in_solution {
        heads.push(head("", "in solution"));
    }
    if let Some(forest) = &forest {
        heads.push(format!("<th class=\"forest\" aria-hidden=\"true\">{}</th>", forest.axis()));
    }
    if compared {
        heads.extend([head("", "measured"), head("", "difference")]);
    }
    heads.extend([
        head("", "model compound"),
        head("minor", "shift"),
        head("minor", "Hill"),
        head("verdict", "verdict"),
    ]);
    let _ = write!(
        html,
        "<div class=\"scroll\" role=\"region\" aria-label=\"pKa values\" tabindex=\"0\"><table class=\"results{}\"><thead><tr>{}</tr></thead><tbody>",
        match (compared, in_solution) {
            (true, true) => " compared solution",
            (true, false) => " compared",
            (false, _) => "",
        },
        heads.concat()
    );
    for (row, bar) in rows.iter().zip(&bars) {
        html += &line(row, &common, forest.as_ref().map(|forest| forest.row(bar)), compared, is_shown);
    }
    let mut key = vec![
        "● pKa with one (thick) and two standard errors, ○ not converged",
        "│ model compound",
        "→ bound, or the error goes on",
    ];
    if in_solution {
        key[0] = "● pKa in solution with one (thick) and two standard errors, ○ not converged";
    }
    if compared {
        key.insert(1, "☆ measured");
    }
    let key = if forest.is_some() {
        format!("<p class=\"key\" aria-hidden=\"true\">{}</p>", key.join(" · "))
    } else {
        String::new()
    };
    html + "</tbody></table></div>" + &key
}

/// A row, without the reasons that all have in `common`; cells carry the names of their columns for narrow pages.
fn line(row: &Row, common: &[&str], drawing: Option<String>, compared: bool, is_shown: bool) -> String {
    let [class, sign, words] = row.verdict.shown();
    let (label, name) = (escape(&row.label), escape(&row.name));
    let site =
        if is_shown { format!("<a href=\"#structure\" data-site=\"{}\">{label}</a>", row.site) } else { label.clone() };
    let own = if name == label { String::new() } else { format!("<small>{name}</small>") };
    let named = format!("{site}{own}");
    // Usual names stay on one line, a long one breaks.
    let named = if row.label.chars().count() > LONG { format!("<span class=\"long\">{named}</span>") } else { named };
    let cell = |column: &str, text: &str| {
        let empty = if text.is_empty() { " class=\"empty\"" } else { "" };
        format!("<td data-column=\"{column}\"{empty}>{}</td>", escape(text))
    };
    let mut html = format!("<tr class=\"{class}\"><th scope=\"row\">{named}</th><td class=\"value\">{}</td>", row.pka);
    if let Some(in_solution) = row.in_solution {
        html += &cell("in solution", &in_solution.to_string());
    }
    if let Some(drawing) = drawing {
        let _ = write!(html, "<td class=\"forest\" aria-hidden=\"true\">{drawing}</td>");
    }
    if compared {
        html += &cell("measured", row.measured.map_or("", |measured| &measured.text));
        html += &cell("difference", &row.difference().map_or(String::new(), |d| format!("{d:+.2}").replace('-', "−")));
    }
    html += &cell("model compound", &row.model.map_or(String::new(), |model| format!("{model:.2}")));
    html += &cell("shift", &shift(row.pka, row.model));
    let slope = row.slope.filter(|slope| *slope != Determined::Unknown);
    html += &cell("Hill", &slope.map_or(String::new(), hill));
    let own = row.reasons.iter().filter(|reason| !common.contains(&reason.as_str()));
    let reasons = own.map(|reason| format!("<li>{}</li>", escape(reason))).collect::<String>();
    let reasons = if reasons.is_empty() { reasons } else { format!("<ul>{reasons}</ul>") };
    let _ =
        writeln!(html, "<td class=\"verdict\"><b><i aria-hidden=\"true\">{sign}</i> {words}</b>{reasons}</td></tr>");
    html
}
