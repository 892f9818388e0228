//! The structure with its sites coloured by their mean protonation at the pH of a slider, and the same in a table.

use crate::evaluation::background::Background;
use crate::evaluation::pka::{Evaluation, SiteResult};
use crate::record::Labels;
use crate::report::page::{Page, escape};
use crate::report::plot::ramps;
use serde_json::{Value, json};
use std::fmt::Write;

const VIEWER: &str = include_str!("../assets/3Dmol-min.js");
const LICENCE: &str = include_str!("../assets/3Dmol-LICENSE.txt");
const SCRIPT: &str = include_str!("../assets/report.js");

/// Populations of the forms of a site against pH: `(pH, [form][pH])`, by MBAR, or of each pH alone where that is not known.
pub(super) fn populations(evaluation: &Evaluation, site: &SiteResult) -> (Vec<f64>, Vec<Vec<f64>>) {
    let forms = site.record.forms.len();
    if !site.curve.is_empty() {
        let of_form = |form: usize| site.curve.iter().map(|at| at[form]).collect();
        return (evaluation.grid.clone(), (0..forms).map(of_form).collect());
    }
    let points = site.titration.points.iter();
    let known: Vec<(f64, &Vec<f64>)> = points.filter_map(|point| Some((point.ph, point.weighted.as_ref()?))).collect();
    let of_form = |form: usize| known.iter().map(|(_, weighted)| weighted[form]).collect();
    (known.iter().map(|(ph, _)| *ph).collect(), (0..forms).map(of_form).collect())
}

/// A value between those of a table, at its ends that of the end; none without values.
fn between(x: &[f64], y: &[f64], at: f64) -> Option<f64> {
    let next = x.iter().position(|x| *x >= at).unwrap_or(x.len().checked_sub(1)?);
    if next == 0 || x[next] < at {
        return y.get(next).copied();
    }
    let t = (at - x[next - 1]) / (x[next] - x[next - 1]);
    Some(y[next - 1] + t * (y[next] - y[next - 1]))
}

/// Share of the protons that a site can lose that it still has, of its populations at a pH.
fn protonated(site: &SiteResult, populations: &[f64]) -> f64 {
    let lost: Vec<f64> = site.record.forms.iter().map(|form| f64::from(form.protons_lost)).collect();
    let (least, most) = lost.iter().fold((f64::INFINITY, 0f64), |(low, high), x| (low.min(*x), high.max(*x)));
    1.0 - populations.iter().zip(&lost).map(|(p, lost)| p * (lost - least)).sum::<f64>() / (most - least).max(1.0)
}

/// Numbers with four digits, as they go into the page.
fn short(values: &[f64]) -> Vec<f64> {
    values.iter().map(|value| (value * 1e4).round() / 1e4).collect()
}

/// What the script needs.
fn data(evaluation: &Evaluation, background: &Background, labels: &Labels, [low, high]: [f64; 2]) -> Value {
    let sites = evaluation.sites.iter().enumerate().map(|(index, site)| {
        let (ph, populations) = populations(evaluation, site);
        let place = background.solute.as_ref().ok().and_then(|solute| solute.sites.get(index)?.as_ref());
        let forms: Vec<Value> = site
            .record
            .forms
            .iter()
            .enumerate()
            .map(|(k, form)| json!({"lost": form.protons_lost, "charge": site.record.formal_charge(k)}))
            .collect();
        json!({
            "name": site.record.name,
            "label": labels.of(&site.record.name),
            "ph": short(&ph),
            "populations": populations.iter().map(|of_form| short(of_form)).collect::<Vec<_>>(),
            "forms": forms,
            "atoms": place.map(|place| [place.atoms.start, place.atoms.end]),
            "hydrogens": place.map(|place| place.hydrogens.clone()).unwrap_or_default(),
        })
    });
    json!({ "low": low, "high": high, "colours": ramps(), "sites": sites.collect::<Vec<_>>() })
}

/// Adds the section, its data and its scripts. Without curves there is nothing to show.
pub(super) fn section(page: &mut Page, evaluation: &Evaluation, background: &Background, labels: &Labels) {
    const HEADING: &str = "Protonation in the structure";
    page.anchor("structure", "Structure");
    let [low, high] = match (evaluation.grid.first(), evaluation.grid.last()) {
        (Some(low), Some(high)) => [(10.0 * low).ceil() / 10.0, (10.0 * high).floor() / 10.0],
        _ => return page.missing(HEADING, "There are no pH values to show."),
    };
    let start = if (low..=high).contains(&7.0) { 7.0 } else { (10.0 * 0.5 * (low + high)).round() / 10.0 };
    let is_shown = background.solute.is_ok();
    let (mut rows, mut charge) = (String::new(), 0.0);
    for (index, site) in evaluation.sites.iter().enumerate() {
        let (ph, populations) = populations(evaluation, site);
        let now: Option<Vec<f64>> = populations.iter().map(|of_form| between(&ph, of_form, start)).collect();
        let share = now.as_ref().map(|now| protonated(site, now));
        charge += now.iter().flatten().enumerate().map(|(k, p)| p * site.record.formal_charge(k)).sum::<f64>();
        let label = escape(&labels.of(&site.record.name));
        // Without a structure there is no place that a site could lead to.
        let site = if is_shown { format!("<button type=\"button\" class=\"site\">{label}</button>") } else { label };
        let percent = share.map_or("–".into(), |share| format!("{:.0} %", 100.0 * share));
        let width = 100.0 * share.unwrap_or(0.0);
        let _ = write!(
            rows,
            "<tr data-site=\"{index}\"><th scope=\"row\">{site}</th>\
             <td class=\"bar\" aria-hidden=\"true\"><span style=\"width:{width:.0}%\"></span></td><td class=\"percent\">{percent}</td></tr>"
        );
    }
    let side = format!(
        "<div class=\"side\"><label for=\"ph\">pH <output id=\"ph-now\" for=\"ph\">{start:.1}</output></label>\
         <input type=\"range\" id=\"ph\" class=\"script\" min=\"{low}\" max=\"{high}\" step=\"0.1\" value=\"{start}\">\
         <p>Charge of the sites: <b id=\"charge\">{}</b> e</p>\
         <div class=\"list\" role=\"region\" aria-label=\"Protonation of the sites at this pH\" tabindex=\"0\"><table class=\"protonation\">\
         <thead><tr><th scope=\"col\">site</th><th colspan=\"2\" scope=\"col\">protonated</th></tr></thead><tbody>{rows}</tbody></table></div></div>",
        format!("{charge:+.1}").replace('-', "−")
    );
    let class = if is_shown { "structure" } else { "structure bare" };
    let html = format!("<div class=\"{class}\">{}{side}</div>{}", view(background), caption(background));
    page.section("", HEADING, &html);
    page.data("data", &data(evaluation, background, labels, [low, high]).to_string());
    if let Ok(solute) = &background.solute {
        page.data("solute", &Value::from(solute.pdb.as_str()).to_string());
        page.script(VIEWER);
    }
    page.script(SCRIPT);
}

/// The viewer with its tools, or why there is none.
fn view(background: &Background) -> String {
    if let Err(why) = &background.solute {
        return format!(
            "<div class=\"view\"><p class=\"missing\">The structure is not shown: {}.</p></div>",
            escape(why)
        );
    }
    let options = [("partly", "of sites that are partly protonated"), ("all", "of all sites"), ("none", "none")];
    let options = options.map(|(value, words)| format!("<option value=\"{value}\">{words}</option>")).concat();
    let help = "Structure in three dimensions. Arrow keys turn it, plus and minus come nearer and go farther, zero shows all of it.";
    format!(
        "<div class=\"view\"><div id=\"viewer\" tabindex=\"0\" role=\"group\" aria-label=\"{help}\"></div>\
         <img id=\"printed\" alt=\"The structure, its sites coloured by protonation\" hidden>\
         <p id=\"no-viewer\" class=\"missing\">The structure needs a browser with JavaScript and WebGL; the numbers beside it do not need WebGL.</p>\
         <p class=\"tools\" id=\"tools\" hidden><button type=\"button\" id=\"whole\">Show all of it</button> <label>Labels <select id=\"labels\">{options}</select></label></p>\
         <p class=\"ramp\"><span>deprotonated</span><i aria-hidden=\"true\"></i><span>protonated</span></p></div>"
    )
}

fn caption(background: &Background) -> String {
    let Ok(solute) = &background.solute else { return String::new() };
    let lost = solute.sites.iter().filter(|place| place.is_none()).count();
    let lost = if lost > 0 { format!(" {lost} of the sites are not found in it.") } else { String::new() };
    format!(
        "<p class=\"caption\">Mean protonation at the pH of the slider, interpolated on the curve of each site; hydrogens are those of its most likely form. The structure is {}, without water and ions.{lost} \
         Drag to turn, pinch or hold Ctrl and scroll to come nearer; a site in a table leads to its place.</p>",
        escape(&solute.source)
    )
}

/// The licence of the viewer, where it is in the page.
pub(super) fn licence(page: &mut Page, background: &Background) {
    if background.solute.is_ok() {
        page.details("3Dmol.js 2.5.5, which draws the structure, and its licence", LICENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_between_are_on_the_line_and_end_with_the_table() {
        let (x, y) = ([2.0, 4.0], [1.0, 0.0]);
        assert_eq!([1.0, 2.0, 3.0, 4.0, 9.0].map(|at| between(&x, &y, at)), [1.0, 1.0, 0.5, 0.0, 0.0].map(Some));
        assert_eq!(between(&[], &[], 1.0), None);
    }

    /// Protects readers: the library has no address of its own to call home, and cannot end its element.
    #[test]
    fn the_viewer_can_be_part_of_a_page() {
        assert!(!VIEWER.contains("</script") && !SCRIPT.contains("</script") && LICENCE.contains("BSD-3-Clause"));
        assert!(VIEWER.len() < 600_000, "{}", VIEWER.len());
    }
}
