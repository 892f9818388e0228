//! Computed against measured pKa values: `comparison.csv`, `comparison.json`, and a table for the terminal.

use super::text::aligned;
use crate::atomic::write_atomic;
use crate::error::{Error, Result};
use crate::evaluation::comparison::{Averages, Compared, Comparison, Statistics, Verdict};
use crate::evaluation::measured::Constant;
use crate::output::tables::cell;
use crate::record::Labels;
use lambda::analysis::determined::Determined;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// The table of sites.
pub const TABLE: &str = "comparison.csv";
/// Everything.
pub const JSON: &str = "comparison.json";

/// Writes both files into `folder`.
///
/// # Errors
/// [`Error::File`] if one cannot be written.
pub fn write(comparison: &Comparison, folder: &Path) -> Result<()> {
    write_atomic(&folder.join(TABLE), "write", csv(comparison).as_bytes())?;
    write_atomic(&folder.join(JSON), "write", format!("{:#}\n", json(comparison)).as_bytes())
}

/// Removes both files of an evaluation before, which would contradict this one.
///
/// # Errors
/// [`Error::File`] if one cannot be removed.
pub fn remove(folder: &Path) -> Result<()> {
    for path in [TABLE, JSON].map(|name| folder.join(name)) {
        if path.exists() {
            std::fs::remove_file(&path).map_err(|e| Error::file(&path, "remove", e))?;
        }
    }
    Ok(())
}

/// A word for what two values say of each other.
fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Difference(_) => "difference",
        Verdict::Step(_) => "step",
        Verdict::Met => "met",
        Verdict::Missed => "missed",
        Verdict::Open => "open",
    }
}

fn difference(row: &Compared) -> Option<f64> {
    match row.verdict {
        Verdict::Difference(difference) | Verdict::Step(difference) => Some(difference),
        _ => None,
    }
}

/// What the null model is off, if it has a difference.
fn model_difference(row: &Compared) -> Option<f64> {
    match row.measured {
        Constant::Value { value, .. } => row.model.map(|model| model - value),
        _ => None,
    }
}

/// Low, value, high, error: what is known of a computed number.
fn parts(computed: Determined) -> [Option<f64>; 3] {
    match computed {
        Determined::Value { value, .. } => [None, Some(value), None],
        Determined::Between(low, high) => [Some(low), None, Some(high)],
        Determined::AtLeast(low) => [Some(low), None, None],
        Determined::AtMost(high) => [None, None, Some(high)],
        Determined::Unknown => [None; 3],
    }
}

/// The same of a measured one, with its error.
fn measured_parts(measured: &Constant) -> ([Option<f64>; 3], Option<f64>) {
    match *measured {
        Constant::Value { value, error } => ([None, Some(value), None], error),
        Constant::Below(high) => ([None, None, Some(high)], None),
        Constant::Above(low) => ([Some(low), None, None], None),
        Constant::Steps(_) => ([None; 3], None),
    }
}

fn csv(comparison: &Comparison) -> String {
    let mut text = String::from(
        "site,group,computed,its error,computed at least,at most,measured,its error,measured above,below,computed − measured,model compound,model compound − measured,verdict,converged,extrapolated\n",
    );
    let number = |value: Option<f64>| value.map(|value| format!("{value:.4}")).unwrap_or_default();
    for row in &comparison.rows {
        let ([low, value, high], error) = (parts(row.computed), row.computed.error());
        let ([above, measured, below], its_error) = measured_parts(&row.measured);
        let cells = [
            value,
            error,
            low,
            high,
            measured,
            its_error,
            above,
            below,
            difference(row),
            row.model,
            model_difference(row),
        ];
        let cells = cells.map(number).join(",");
        let [converged, extrapolated] =
            [row.is_converged, row.is_extrapolated].map(|is_so| if is_so { "yes" } else { "no" });
        let word = word(row.verdict);
        // Names of steps have a comma.
        let (site, group) = (row.site.replace('"', "\"\""), cell(&row.group));
        let _ = writeln!(text, "\"{site}\",{group},{cells},{word},{converged},{extrapolated}");
    }
    text
}

/// Everything as JSON.
pub fn json(comparison: &Comparison) -> Value {
    let row = |row: &Compared| {
        let [low, value, high] = parts(row.computed);
        let ([above, measured, below], error) = measured_parts(&row.measured);
        let steps = match &row.measured {
            Constant::Steps(steps) => json!(steps.iter().map(|(value, _)| *value).collect::<Vec<_>>()),
            _ => Value::Null,
        };
        json!({
            "site": row.site, "group": row.group, "converged": row.is_converged, "extrapolated": row.is_extrapolated,
            "computed": { "value": value, "error": row.computed.error(), "at_least": low, "at_most": high },
            "measured": { "value": measured, "error": error, "above": above, "below": below, "steps": steps },
            "difference": difference(row), "model": row.model, "model_difference": model_difference(row), "verdict": word(row.verdict),
        })
    };
    let averages = |found: &Averages| {
        let largest = json!({ "site": found.largest.site, "difference": found.largest.difference });
        json!({ "mean": found.mean, "mae": found.mae, "rmse": found.rmse, "largest": largest })
    };
    let statistics = |found: &Statistics| json!({ "of": found.of, "values": found.values, "computed": averages(&found.computed), "null_model": found.null.as_ref().map(averages), "rmse_of_stated_errors": found.stated });
    let [met, missed, open] = comparison.bounds();
    let without = comparison.without_site.iter().map(|(group, value)| json!({ "group": group, "measured": value }));
    json!({
        "file": comparison.file.display().to_string(),
        "sites": comparison.rows.iter().map(row).collect::<Vec<_>>(),
        "statistics": comparison.statistics.iter().map(statistics).collect::<Vec<_>>(),
        "bounds": { "met": met, "missed": missed, "open": open },
        "sites_without_measured_value": comparison.unmeasured,
        "measured_without_site": without.collect::<Vec<_>>(),
    })
}

/// Heads of the columns of [`rows`].
pub const COLUMNS: [&str; 7] = ["site", "computed", "measured", "difference", "model", "its difference", "converged"];

/// Cells of the table for people, who know the sites by their labels.
pub fn rows(comparison: &Comparison, labels: &Labels) -> Vec<Vec<String>> {
    let signed = |value: Option<f64>| value.map_or("–".into(), |value| format!("{value:+.2}").replace('-', "−"));
    let row = |row: &Compared| {
        let said = match row.verdict {
            Verdict::Difference(difference) => signed(Some(difference)),
            Verdict::Step(difference) => format!("({})", signed(Some(difference))),
            Verdict::Met => "agrees".into(),
            Verdict::Missed => "disagrees".into(),
            Verdict::Open => "open".into(),
        };
        let model = row.model.map_or("–".into(), |model| format!("{model:.2}"));
        let converged = if row.is_converged { "yes" } else { "no" };
        vec![
            labels.of(&row.site),
            row.computed.to_string(),
            row.measured.to_string(),
            said,
            model,
            signed(model_difference(row)),
            converged.into(),
        ]
    };
    comparison.rows.iter().map(row).collect()
}

/// The table for the terminal with the averages, and what has no counterpart.
pub fn summary(comparison: &Comparison, labels: &Labels) -> String {
    let mut text = format!("against {}\n", comparison.file.display());
    if comparison.rows.is_empty() {
        text += "no measured value belongs to a site of these runs\n";
    } else {
        text += &aligned(&COLUMNS, rows(comparison, labels));
    }
    let averages = |found: &Averages| {
        let largest = format!("{:+.2}", found.largest.difference).replace('-', "−");
        vec![
            format!("{:.2}", found.mae),
            format!("{:.2}", found.rmse),
            format!("{:+.2}", found.mean).replace('-', "−"),
            format!("{largest} ({})", labels.of(&found.largest.site)),
        ]
    };
    let mut table = Vec::new();
    for found in &comparison.statistics {
        let of = format!("{} ({})", found.of, found.values);
        table.push([vec![of.clone(), "computed".into()], averages(&found.computed)].concat());
        let null = found.null.as_ref().map(averages);
        table.extend(null.map(|null| [vec![of, "null model".into()], null].concat()));
    }
    if !table.is_empty() {
        text.push('\n');
        text += &aligned(&["differences of", "", "MAE", "RMSE", "mean", "largest"], table);
    }
    if let Some(all) = comparison.statistics.first() {
        let Statistics { stated, computed, .. } = all;
        let _ = writeln!(
            text,
            "the RMSE is {:.2}; the stated errors of sampling and measurement alone would make one of {stated:.2}",
            computed.rmse
        );
    }
    let is_counted = |row: &&Compared| row.is_extrapolated && matches!(row.verdict, Verdict::Difference(_));
    let outside: Vec<&str> = comparison.rows.iter().filter(is_counted).map(|row| row.site.as_str()).collect();
    if !outside.is_empty() {
        let (are, their) = if outside.len() == 1 { ("is", "its") } else { ("are", "their") };
        let _ = writeln!(
            text,
            "{} {are} in the averages, but {their} pKa lies outside the pH values",
            labels.list(outside)
        );
    }
    text.push('\n');
    let [met, missed, open] = comparison.bounds();
    if met + missed + open > 0 {
        let _ = writeln!(text, "bounds: {met} agree, {missed} disagree, {open} open");
    }
    if comparison.rows.iter().any(|row| matches!(row.verdict, Verdict::Step(_))) {
        text += "in parentheses: steps of two sites that titrate together, left out of the averages\n";
    }
    if !comparison.unmeasured.is_empty() {
        let _ = writeln!(text, "not measured: {}", labels.list(&comparison.unmeasured));
    }
    if !comparison.without_site.is_empty() {
        let list: Vec<String> =
            comparison.without_site.iter().map(|(group, value)| format!("{group} ({value})")).collect();
        let _ = writeln!(text, "measured, without a site: {}", list.join(", "));
    }
    text
}
