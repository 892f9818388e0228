//! What the numbers of a titration give reason to doubt, in sentences.

use super::diagnostics::{FEW, few_transitions, of_a_single_site};
use super::results::{Evaluation, SiteResult};
use crate::evaluation::runs::{Run, names_of_runs, names_of_titrations};
use crate::record::Labels;
use lambda::analysis::hill::Determined;
use lambda::analysis::mbar::CONNECTED;
use lambda::analysis::titration::PhPoint;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// With a larger share of mixed frames than this, λ is too seldom at its ends. With a barrier of 5 kJ/mol, which `octitrate prepare` writes, model compounds
/// have up to 0.53 and most groups of lysozyme and nuclease up to 0.74 (`validation/`); those above it have a well between their forms.
const MANY_MIXED: f64 = 0.75;

/// Warnings of the runs, and those the numbers give rise to; each once.
pub(super) fn warnings(evaluation: &Evaluation) -> Vec<String> {
    let mut warnings = of_runs(&evaluation.runs);
    for (pair, overlap) in evaluation.ph.windows(2).zip(&evaluation.overlap).filter(|(_, o)| **o < CONNECTED) {
        warnings.push(format!(
            "pH {} and {} hardly overlap: {:.1} % of the frames of one could be of the other, {:.0} % are needed; populations between them and differences across them are \
             uncertain: put a pH between them",
            pair[0],
            pair[1],
            100.0 * overlap,
            100.0 * CONNECTED
        ));
    }
    let doubts = evaluation.sites.iter().flat_map(|site| doubts(site, evaluation.options.largest_error));
    warnings.extend(together(doubts, &evaluation.labels()));
    let mut seen = BTreeSet::new();
    warnings.retain(|warning| seen.insert(warning.clone()));
    warnings
}

/// Warnings of the runs; what is said of several of them is one sentence.
pub(super) fn of_runs(runs: &[Run]) -> Vec<String> {
    let names = names_of_runs(runs.iter());
    // What is said of a run itself, and what its log says of all that its job describes.
    let own = |run: &Run, warning: &str| {
        warning.strip_prefix(&run.short_name()).and_then(|rest| rest.strip_prefix(": ")).map(str::to_string)
    };
    let each = || runs.iter().zip(&names).flat_map(|(run, name)| run.warnings.iter().map(move |one| (run, name, one)));
    let all = each().filter_map(|(run, name, warning)| Some((name.clone(), own(run, warning)?)));
    let mut titrations: Vec<PathBuf> = Vec::new();
    for run in runs {
        if !titrations.iter().any(|known| known == run.titration()) {
            titrations.push(run.titration().to_path_buf());
        }
    }
    let whose = names_of_titrations(&titrations);
    let name = |run: &Run| {
        titrations.iter().position(|known| known == run.titration()).map_or(String::new(), |k| whose[k].clone())
    };
    let general = each().filter(|(run, _, warning)| own(run, warning).is_none());
    let general = grouped(general.map(|(run, _, warning)| (name(run), warning.clone())));
    let of_jobs = |(mut said, warning): (Vec<String>, String)| {
        said.dedup();
        // Runs by themselves are no titrations, and many.
        match said.len() {
            few if few == titrations.len() || said.iter().any(String::is_empty) => warning,
            few if few > 3 => format!("{} and {} more: {warning}", said[..2].join(", "), few - 2),
            _ => format!("{}: {warning}", said.join(", ")),
        }
    };
    // Where there are several titrations: the name of the one that a run belongs to, and the names of all its runs.
    let of_titration = |name: &str| {
        let (run, _) = runs.iter().zip(&names).find(|(_, one)| *one == name)?;
        let titration = name.strip_suffix(&run.short_name())?.strip_suffix('/')?;
        let own = runs.iter().zip(&names).filter(|(other, _)| other.titration() == run.titration());
        Some((titration.to_string(), own.map(|(_, name)| name).collect::<Vec<_>>()))
    };
    let told = |(said, warning): (Vec<String>, String)| match &said[..] {
        _ if said.len() == runs.len() && runs.len() > 1 => format!("every run: {warning}"),
        [first, _, ..] if of_titration(first).is_some_and(|(_, own)| said.iter().eq(own)) => {
            let (titration, _) = of_titration(first).unwrap_or_default();
            format!("every run of {titration}: {warning}")
        }
        [first, second, third, .., last] => {
            format!("{first}, {second}, {third} … {last} ({} runs): {warning}", said.len())
        }
        _ => format!("{}: {warning}", said.join(", ")),
    };
    general.into_iter().map(of_jobs).chain(grouped(all).into_iter().map(told)).collect()
}

/// Makes one sentence of doubts that hold for several sites, in the order in which they first occur.
fn together(doubts: impl Iterator<Item = (String, String)>, labels: &Labels) -> Vec<String> {
    grouped(doubts).into_iter().map(|(names, doubt)| format!("{}: {doubt}", labels.list(names))).collect()
}

/// Sentences with the names of what they are said of, in the order in which they first occur.
pub fn grouped(doubts: impl Iterator<Item = (String, String)>) -> Vec<(Vec<String>, String)> {
    let mut all: Vec<(Vec<String>, String)> = Vec::new();
    for (name, doubt) in doubts {
        match all.iter_mut().find(|(_, known)| *known == doubt) {
            Some((names, _)) => names.push(name),
            None => all.push((vec![name], doubt)),
        }
    }
    all
}

/// Reasons to doubt the numbers of a site: its name, or that of a step, and a sentence.
fn doubts(site: &SiteResult, largest: f64) -> Vec<(String, String)> {
    let mut doubts = Vec::new();
    let points = &site.titration.points;
    let name = &site.record.name;
    let list = |choose: &dyn Fn(&PhPoint) -> bool| -> Vec<String> {
        points.iter().filter(|point| choose(point)).map(|point| format!("{}", point.ph)).collect()
    };
    let at = |list: &[String]| {
        if list.len() == points.len() { "every pH".to_string() } else { format!("pH {}", list.join(", ")) }
    };
    let few = few_transitions(site);
    let mixed = list(&|point| point.occupancy.mixed_fraction().is_some_and(|mixed| mixed > MANY_MIXED));
    let where_any = |list: &[String]| (!list.is_empty()).then(|| at(list));
    doubts.extend(of_changes(where_any(&few), where_any(&mixed)).map(|doubt| (name.clone(), doubt)));
    let steps = (0..site.titration.macroscopic.len()).flat_map(|index| doubts_of_step(site, index, largest));
    doubts.extend(steps);
    doubts
}

/// What transitions that are few and frames that are mixed, each with the pH values where that is so, say of the barrier: a high one makes the first,
/// a low one the second, and a well between the forms both.
fn of_changes(few: Option<String>, mixed: Option<String>) -> Option<String> {
    let seldom = few.map(|at| format!("fewer than {FEW} transitions at {at}"));
    let between = mixed.map(|at| format!("more than {:.0} % of the frames are mixed at {at}", 100.0 * MANY_MIXED));
    Some(match (seldom, between) {
        (Some(seldom), None) => format!("{seldom}; run longer, or lower titration.barrier"),
        (None, Some(between)) => format!("{between}; raise titration.site.barrier"),
        (Some(seldom), Some(between)) => {
            format!("{seldom} and {between}: λ stays between the forms; raise titration.site.barrier and run longer")
        }
        (None, None) => return None,
    })
}

/// Reasons to doubt the pKa and Hill coefficient of a step: its name, and a sentence.
fn doubts_of_step(site: &SiteResult, index: usize, largest: f64) -> Vec<(String, String)> {
    let (step, points) = (&site.titration.macroscopic[index], &site.titration.points);
    let ends = points.first().map(|p| p.ph).zip(points.last().map(|p| p.ph));
    let mut sentences = Vec::new();
    let fit = site.fit(index);
    let is_of_slope_one = step.slope.is_some() && fit.slope == Determined::Unknown;
    match (fit.pka.value(), ends) {
        (None, _) => sentences.push(
            "the fractions do not determine the pKa; run longer, or add pH values where the site is partly deprotonated"
                .into(),
        ),
        (Some(pka), Some((low, high))) if !(low..=high).contains(&pka) => {
            let alone = format!(", and is that of a Hill coefficient of {}", step.alone());
            let one = if is_of_slope_one { alone } else { String::new() };
            let outside = if low < high { format!("outside the pH values, {low} to {high}") } else { format!("away from the only pH, {low}") };
            sentences.push(format!("the pKa of {pka:.2} lies {outside}{one}; add pH values there"));
        }
        (Some(_), _) if is_of_slope_one => sentences.push(format!("{}; run longer", of_a_single_site(step))),
        _ => {}
    }
    if let Determined::Value { value, error } = fit.slope
        && (value - step.alone()).abs() > (3.0 * error).max(0.3)
    {
        sentences.push(format!(
            "the Hill coefficient is {value:.2} ± {error:.2}; a single site has {}: the runs may be too short, or it feels another site",
            step.alone()
        ));
    }
    sentences.extend(drift(site, index, largest));
    sentences.into_iter().map(|sentence| (site.step_name(index), sentence)).collect()
}

/// A sentence if the two halves of the runs disagree about a pKa.
fn drift(site: &SiteResult, index: usize, largest: f64) -> Option<String> {
    let ([first, last], drift) = (site.halves(index)?, site.significant_drift(index, 3.0, largest)?);
    (drift.value()?.abs() > 0.1).then(|| {
        format!("the first half of the runs gives pKa {first}, the last {last}; leave out more of the beginning, or run longer")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A barrier that is too high is to be lowered, one that is too low or a well between the forms asks for a higher one.
    #[test]
    fn a_barrier_is_doubted_in_both_directions() {
        let said = |few: Option<&str>, mixed: Option<&str>| of_changes(few.map(String::from), mixed.map(String::from));
        assert_eq!(said(None, None), None);
        let high = said(Some("pH 4"), None).unwrap();
        assert_eq!(high, "fewer than 10 transitions at pH 4; run longer, or lower titration.barrier");
        let low = said(None, Some("every pH")).unwrap();
        assert_eq!(low, "more than 75 % of the frames are mixed at every pH; raise titration.site.barrier");
        let well = said(Some("pH 4"), Some("pH 4, 5")).unwrap();
        assert!(
            well.starts_with("fewer than 10 transitions at pH 4 and more than 75 %") && well.contains("raise"),
            "{well}"
        );
    }

    #[test]
    fn a_doubt_of_several_sites_is_one_sentence() {
        let doubt = |name: &str, text: &str| (name.to_string(), text.to_string());
        let doubts = [doubt("GL3 2", "run longer"), doubt("HIS 3", "few"), doubt("LYS 4, 2nd proton", "run longer")];
        let labels = Labels::new([("GL3 2", Some(&"12".parse().unwrap())), ("HIS 3", None), ("LYS 4", None)]);
        let said = ["Glu 12, Lys 4, 2nd proton: run longer", "His 3: few"];
        assert_eq!(together(doubts.into_iter(), &labels), said);
    }

    #[test]
    fn what_is_said_of_several_runs_is_one_sentence() {
        let said = |warnings: [&str; 5]| {
            let runs = warnings.iter().enumerate().map(|(k, warning)| {
                let folder = format!("titrate/pH_{k}.00/replica_1");
                let warnings = warning.split('|').filter(|one| !one.is_empty());
                let warnings = warnings.map(|one| one.replace('@', &format!("pH_{k}.00/replica_1"))).collect();
                Run { folder: folder.into(), ph: k as f64, warnings, ..Run::default() }
            });
            of_runs(&runs.collect::<Vec<_>>())
        };
        let every = said(["small box|@: half", "small box|@: half", "@: half", "@: half", "@: half"]);
        assert_eq!(every, ["small box", "every run: half"]);
        assert_eq!(said(["", "@: half", "", "", ""]), ["pH_1.00/replica_1: half"]);
        assert_eq!(
            said(["", "@: half", "@: late", "@: half", ""]),
            ["pH_1.00/replica_1, pH_3.00/replica_1: half", "pH_2.00/replica_1: late"]
        );
        // Two titrations whose runs have the same names.
        let both = |warnings: [[&str; 2]; 2]| {
            let run = |titration: &str, k: usize, warning: &str| Run {
                folder: format!("here/{titration}/titrate/pH_{k}.00/replica_1").into(),
                ph: k as f64,
                warnings: (!warning.is_empty())
                    .then(|| format!("pH_{k}.00/replica_1: {warning}"))
                    .into_iter()
                    .collect(),
                ..Run::default()
            };
            let [[a, b], [c, d]] = warnings;
            of_runs(&[run("one", 4, a), run("one", 5, b), run("two", 4, c), run("two", 5, d)])
        };
        assert_eq!(both([["half", ""], ["", ""]]), ["one/titrate/pH_4.00/replica_1: half"]);
        assert_eq!(both([["", ""], ["half", "half"]]), ["every run of two/titrate: half"]);
        assert_eq!(
            both([["half", ""], ["half", ""]]),
            ["one/titrate/pH_4.00/replica_1, two/titrate/pH_4.00/replica_1: half"]
        );
        assert_eq!(both([["half", "half"], ["half", "half"]]), ["every run: half"]);
        // What a log says of a job is that of the titration whose log it is.
        let of_job = |warnings: [&str; 2]| {
            let run = |k: usize, titration: &str, warning: &str| Run {
                folder: format!("here/{titration}/pH_{k}.00/replica_1").into(),
                warnings: (!warning.is_empty()).then(|| warning.to_string()).into_iter().collect(),
                ..Run::default()
            };
            of_runs(&[run(4, "one", warnings[0]), run(5, "one", warnings[0]), run(4, "two", warnings[1])])
        };
        assert_eq!(of_job(["", "small box"]), ["two: small box"]);
        assert_eq!(of_job(["small box", "dense"]), ["one: small box", "two: dense"]);
        assert_eq!(of_job(["small box", "small box"]), ["small box"]);
        let four = said(["@: half", "@: half", "@: half", "@: half", ""]);
        assert_eq!(
            four,
            ["pH_0.00/replica_1, pH_1.00/replica_1, pH_2.00/replica_1 … pH_3.00/replica_1 (4 runs): half"]
        );
    }
}
