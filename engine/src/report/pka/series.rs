//! λ against time: a drawing for each site with a strip for each pH.

use super::plots::{Plot, forms};
use crate::evaluation::pka::{Evaluation, SiteResult};
use crate::record::Labels;
use crate::report::plot::{Entry, Strip, Strips, Style, strips};
use lambda::analysis::titration::PhPoint;

/// More sites than this are folded until they are clicked.
const SITES_SHOWN: usize = 6;

/// λ against time of the sites with two forms, and of those with more.
pub fn all(evaluation: &Evaluation, labels: &Labels) -> Vec<Plot> {
    let (two, more): (Vec<&SiteResult>, Vec<&SiteResult>) =
        evaluation.sites.iter().partition(|site| site.record.forms.len() == 2);
    let shown = |site: &SiteResult| if site.record.forms.len() == 2 { 1 } else { site.record.forms.len() };
    let count = evaluation.sites.iter().map(|site| site.runs.len() * shown(site)).sum();
    let (names, alike) = forms(&more);
    let replicas =
        two.iter().flat_map(|site| &site.titration.points).map(|point| runs(evaluation, point).count()).max();
    let of_runs = (1..=replicas.unwrap_or(0)).map(|k| format!("run {k}")).filter(|_| replicas > Some(1)).collect();
    let caption = "Each strip goes from 0, protonated, to 1, deprotonated.";
    let mut plots = vec![plot(evaluation, labels, &two, of_runs, caption, count)];
    let caption = if alike { "" } else { " The forms are numbered in the order of the tables." };
    let caption =
        format!("Weights of the forms, from 0 to 1; the lines of all runs at a pH are drawn over each other.{caption}");
    plots.push(plot(evaluation, labels, &more, names, &caption, count));
    plots.retain(|plot| plot.figure.is_some());
    plots
}

/// The runs of an evaluation at the pH of a point.
fn runs<'a>(evaluation: &'a Evaluation, point: &PhPoint) -> impl Iterator<Item = usize> + use<'a> {
    let ph = point.ph;
    evaluation.runs.iter().enumerate().filter(move |(_, run)| run.ph == ph).map(|(index, _)| index)
}

fn plot(
    evaluation: &Evaluation,
    labels: &Labels,
    sites: &[&SiteResult],
    names: Vec<String>,
    caption: &str,
    count: usize,
) -> Plot {
    let drawn: Vec<Strips> = sites.iter().map(|site| strips_of(evaluation, labels, site)).collect();
    let key = names.iter().enumerate().map(|(k, name)| Entry::line(name, Style::marked(k))).collect();
    let figure = strips(&drawn, key, count);
    let folded = evaluation.sites.len() > SITES_SHOWN;
    let heading = match (sites.len(), folded) {
        (count, true) => format!("λ against time: {count} sites"),
        _ => "λ against time".into(),
    };
    Plot { file: "", heading, caption: caption.into(), figure, folded }
}

/// λ of one site at each pH.
fn strips_of(evaluation: &Evaluation, labels: &Labels, site: &SiteResult) -> Strips {
    let strip = |point: &PhPoint| {
        let here = runs(evaluation, point).filter(|run| site.runs.contains(run)).enumerate();
        let series = here.flat_map(|(replica, run)| {
            let run = &evaluation.runs[run];
            let weights = run.weights(&site.record.name).unwrap_or_default();
            let two = weights.len() == 2;
            // Of two forms, the second is λ: a colour for each run. Of more, a colour for each form.
            let shown = weights.into_iter().enumerate().skip(usize::from(two));
            let colour = move |form: usize| if two { replica } else { form };
            shown.map(|(form, weights)| (run.series.time.clone(), weights, colour(form))).collect::<Vec<_>>()
        });
        Strip { name: format!("pH {:.2}", point.ph), series: series.collect() }
    };
    Strips { title: labels.of(&site.record.name), strips: site.titration.points.iter().map(strip).collect() }
}
