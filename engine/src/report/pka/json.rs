//! `report.json`: all that the page shows, for programs.

use super::Measured;
use super::method::Method;
use super::structure::populations;
use crate::evaluation::background::Background;
use crate::evaluation::mixing::Mixing;
use crate::evaluation::pka::{Evaluation, HillFit, PairResult, SIGNIFICANT, SiteResult};
use crate::evaluation::runs::names_of_runs;
use crate::record::Labels;
use lambda::analysis::determined::Determined;
use serde_json::{Value, json};

/// A number as far as it is determined: one of `value` with `error`, `at_least`, `at_most`, `between`, or null.
fn determined(number: Determined) -> Value {
    match number {
        Determined::Value { value, error } => json!({"value": value, "error": error}),
        Determined::Between(low, high) => json!({"between": [low, high]}),
        Determined::AtLeast(low) => json!({"at_least": low}),
        Determined::AtMost(high) => json!({"at_most": high}),
        Determined::Unknown => Value::Null,
    }
}

/// The whole page as JSON.
pub(super) fn text(
    evaluation: &Evaluation,
    background: &Background,
    labels: &Labels,
    measured: &[Measured],
    method: &Method,
) -> String {
    let names = names_of_runs(evaluation.runs.iter());
    let runs = evaluation.runs.iter().zip(&evaluation.left_out).zip(names).map(|((run, left_out), name)| {
        let begun = run.begun.as_ref().map(|begun| json!({"time": begun.time, "from": begun.from, "why": begun.why}));
        json!({"name": name, "pH": run.ph, "temperature": run.sites.temperature, "left_out": left_out, "used": run.length(), "frames": run.series.time.len(), "begun": begun})
    });
    let pairs = evaluation.pairs.iter().map(|PairResult { sites, pair }| {
        json!({
            "sites": sites.map(|site| &evaluation.sites[site].record.name),
            "correlation": determined(pair.correlation),
            "significant": pair.significant(SIGNIFICANT),
            "pKa": pair.pka.map(determined),
            "interaction": determined(pair.interaction),
            "pKa_of_both": pair.macroscopic.map(determined),
        })
    });
    let mixing = |mixing: &Mixing| {
        let pairs =
            mixing.pairs.iter().map(|pair| json!({"pH": pair.ph, "tried": pair.tried, "accepted": pair.accepted}));
        json!({"exchanges": mixing.exchanges, "whole": mixing.is_whole, "swaps": pairs.collect::<Vec<_>>(), "round_trips": mixing.round_trips})
    };
    let titrations = background
        .titrations
        .iter()
        .map(|titration| json!({"name": titration.name, "exchange": titration.mixing.as_ref().map(mixing)}));
    let corrections = background.corrections.iter().map(|one| {
        json!({"entry": one.entry, "force_field": one.force_field, "status": one.status, "reason": one.reason, "made": one.made,
               "pKa": one.pka.as_ref().map(|(pka, _)| pka), "source": one.pka.as_ref().map(|(_, source)| source),
               "error": one.errors.map(|(statistical, _)| statistical), "systematic_error": one.errors.and_then(|(_, systematic)| systematic)})
    });
    let works = method.works.iter().map(|work| json!({"work": work.words, "doi": work.doi}));
    let sites = (0..evaluation.sites.len()).map(|index| site(evaluation, labels, measured, index));
    let all = json!({
        "program": format!("octitrate {}", env!("CARGO_PKG_VERSION")),
        "units": {"time": "ps", "temperature": "K", "errors": "one standard error"},
        "pH": evaluation.ph,
        "overlap": evaluation.overlap,
        "round_trips": evaluation.round_trips,
        "sites": sites.collect::<Vec<_>>(),
        "pairs": pairs.collect::<Vec<_>>(),
        "titrations": titrations.collect::<Vec<_>>(),
        "differences": background.differences.iter().map(|one| json!({"what": one.what, "values": one.values})).collect::<Vec<_>>(),
        "runs": runs.collect::<Vec<_>>(),
        "warnings": evaluation.warnings,
        "corrections": corrections.collect::<Vec<_>>(),
        "made": {"programs": background.log.programs, "days": background.log.days, "devices": background.log.devices, "commands": background.log.commands},
        "preparation": background.preparation.as_ref().map(|preparation| &preparation.record),
        "method": {"text": method.text, "references": works.collect::<Vec<_>>()},
    });
    format!("{all:#}\n")
}

fn site(evaluation: &Evaluation, labels: &Labels, measured: &[Measured], index: usize) -> Value {
    let site: &SiteResult = &evaluation.sites[index];
    let steps = site.titration.macroscopic.iter().enumerate().map(|(k, step)| {
        let (name, HillFit { pka, slope }) = (site.step_name(k), site.fit(k));
        let of_step = measured.iter().find(|measured| measured.site == name);
        json!({
            "name": name,
            "protons_lost": step.to,
            "pKa": determined(pka),
            "pKa_in_solution": evaluation.in_solution(pka).map(determined),
            "Hill": determined(slope),
            "model_compound": site.reference(step.from, step.to),
            "measured": of_step.map(|one| json!({"text": one.text, "value": one.value, "error": one.error})),
            "from_the_beginning": site.convergence.forward[k].iter().copied().map(determined).collect::<Vec<_>>(),
            "from_the_end": site.convergence.reverse[k].iter().copied().map(determined).collect::<Vec<_>>(),
        })
    });
    let points = site.titration.points.iter().map(|point| {
        json!({"pH": point.ph, "deprotonated": point.deprotonated, "interval": point.interval, "weighted": point.deprotonated_weighted,
               "counted": point.deprotonated_counted, "mixed": point.occupancy.mixed_fraction(), "transitions": point.occupancy.transitions,
               "independent_samples": point.samples})
    });
    let (ph, populations) = populations(evaluation, site);
    let found = &site.diagnostics;
    let neighbours = site.neighbours.atoms.iter();
    let neighbours = neighbours.map(|one| json!({"residue": one.residue, "atom": one.atom, "shares": one.shares}));
    json!({
        "name": site.record.name,
        "label": labels.of(&site.record.name),
        "entry": site.record.entry,
        "forms": site.record.forms.iter().map(|form| json!({"name": form.name, "protons_lost": form.protons_lost, "charge": form.charge})).collect::<Vec<_>>(),
        "converged": found.reasons.is_empty(),
        "reasons": found.reasons,
        "transitions": site.transitions(),
        "exchanges": found.exchanges,
        "rotamer_changes": found.torsions.first,
        "chi2_changes": found.torsions.second,
        "end_torsion_changes": found.torsions.end,
        "farthest_from_syn": found.torsions.held.map(|held| held.farthest),
        "syn_changes": found.torsions.held.map(|held| held.changes),
        "round_trips": found.round_trips,
        "neighbours": {"frames": site.neighbours.frames, "atoms": neighbours.collect::<Vec<_>>()},
        "steps": steps.collect::<Vec<_>>(),
        "points": points.collect::<Vec<_>>(),
        "populations": {"pH": ph, "forms": populations},
        "convergence_shares": site.convergence.shares,
    })
}
