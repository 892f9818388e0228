//! From the runs of a titration to pKa values, whoever made the runs.
//!
//! All runs are grouped by the names of their sites. Each site is evaluated by [`lambda::analysis::titration`], each pair of
//! sites that occurs in the same runs by [`lambda::analysis::pairs`].

mod doubts;
mod results;

pub use results::{BINS, Evaluation, HillFit, Options, PairResult, SIGNIFICANT, SiteResult};

use super::runs::Run;
use crate::error::{Error, Result};
use crate::record::SiteRecord;
use lambda::analysis::ends::MeanWeights;
use lambda::analysis::histogram;
use lambda::analysis::occupancy::{State, classes};
use lambda::analysis::pairs::{self, PairSeries};
use lambda::analysis::titration::{self, TitrationSeries, protonation};
use rayon::prelude::*;

/// Parts of the runs for which the pKa is found to show its convergence.
const PARTS: u32 = 20;

/// Evaluates runs that have been read; the start that `options` leave out is cut here.
///
/// # Errors
/// [`Error::Input`] if nothing is left of a run, if no run has a site that titrates, or if a site differs from run to run.
pub fn evaluate(runs: Vec<Run>, options: &Options) -> Result<Evaluation> {
    let runs = runs.into_iter().map(|run| run.after(options.equilibration)).collect::<Result<Vec<Run>>>()?;
    // Frames count alike: those of all runs must stand for the same time.
    let interval = runs.iter().filter_map(|run| run.series.interval()).reduce(f64::max);
    let runs: Vec<Run> = match interval {
        Some(interval) => runs.into_iter().map(|run| run.evenly(interval)).collect(),
        None => runs,
    };
    let records = titrating(&runs, options)?;
    let sites: Vec<SiteResult> =
        records.par_iter().map(|record| site(record, &runs, options)).collect::<Result<_>>()?;
    let two: Vec<usize> = (0..sites.len()).filter(|&k| sites[k].titration.macroscopic.len() == 1).collect();
    let list: Vec<[usize; 2]> =
        two.iter().enumerate().flat_map(|(k, &a)| two[k + 1..].iter().map(move |&b| [a, b])).collect();
    let pairs = list.par_iter().filter_map(|&[a, b]| pair([a, b], &sites, &runs, options)).collect();
    let mut ph: Vec<f64> = runs.iter().map(|run| run.ph).collect();
    ph.sort_by(f64::total_cmp);
    ph.dedup();
    let mut evaluation = Evaluation { runs, ph, sites, pairs, options: *options, warnings: Vec::new() };
    evaluation.warnings = doubts::warnings(&evaluation);
    Ok(evaluation)
}

/// The sites that titrate in any of the runs.
fn titrating(runs: &[Run], options: &Options) -> Result<Vec<SiteRecord>> {
    let mut records: Vec<SiteRecord> = Vec::new();
    for run in runs {
        for site in run.titrating() {
            match records.iter().find(|known| known.name == site.name) {
                None => records.push(site.clone()),
                Some(known) if known.forms != site.forms => {
                    let message = format!("{} has other forms in {} than before", site.name, run.folder.display());
                    return Err(Error::input(message, "evaluate runs of the same library together"));
                }
                Some(_) => {}
            }
        }
    }
    if records.is_empty() {
        let written = if options.parquet { "; their Parquet files are written" } else { "" };
        let help = format!("sites with a fixed λ have no pKa{written}");
        return Err(Error::input("none of the runs has a site that titrates", help));
    }
    Ok(records)
}

/// Evaluates one site.
fn site(record: &SiteRecord, runs: &[Run], options: &Options) -> Result<SiteResult> {
    let mut mine = Vec::new();
    let mut weights = Vec::new();
    let mut states = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        if let Some(found) = run.weights(&record.name) {
            states.push(run.states(&found, options.threshold)?);
            weights.push(found);
            mine.push(index);
        }
    }
    let protons: Vec<u32> = record.forms.iter().map(|form| form.protons_lost).collect();
    let near = |(run, (states, weights)): (&usize, (&Vec<State>, &Vec<Vec<f64>>))| {
        (!runs[*run].sites.smoothed).then(|| MeanWeights::new(states, weights))
    };
    let near: Vec<Option<MeanWeights>> = mine.iter().zip(states.iter().zip(&weights)).map(near).collect();
    let series: Vec<TitrationSeries> = mine
        .iter()
        .zip(&states)
        .zip(&near)
        .map(|((&run, states), means)| TitrationSeries { ph: runs[run].ph, states, means: means.as_ref() })
        .collect();
    let refused = |e: titration::TitrationError| Error::input(format!("{}: {e}", record.name), "");
    let titration = titration::evaluate(&protons, &series, options.resampling).map_err(refused)?;
    let convergence = titration::convergence(&protons, &series, &titration.inefficiencies, PARTS).map_err(refused)?;
    let (lost, class) = protonation(&protons);
    let together = |ph: f64, form: usize| -> Vec<f64> {
        let at = mine.iter().zip(&weights).filter(|(run, _)| runs[**run].ph == ph);
        at.flat_map(|(_, weights)| weights[form].iter().copied()).collect()
    };
    let (mut means, mut histograms) = (Vec::new(), Vec::new());
    for point in &titration.points {
        let all: Vec<Vec<f64>> = (0..protons.len()).map(|form| together(point.ph, form)).collect();
        means.push(all.iter().map(|weights| weights.iter().sum::<f64>() / weights.len() as f64).collect());
        histograms.push(all.iter().map(|weights| histogram::density(weights, histogram::RANGE, BINS)).collect());
    }
    Ok(SiteResult {
        record: record.clone(),
        runs: mine,
        protonation: states.iter().map(|states| classes(states, &class)).collect(),
        means_of_classes: near.iter().map(|near| near.as_ref().map(|near| near.classes(&class, lost.len()))).collect(),
        titration,
        convergence,
        means,
        histograms,
    })
}

/// Two sites in the runs that have both; `None` if there are none.
fn pair([a, b]: [usize; 2], sites: &[SiteResult], runs: &[Run], options: &Options) -> Option<PairResult> {
    let mut series = Vec::new();
    let mut inefficiencies = [Vec::new(), Vec::new()];
    for (first, run) in sites[a].runs.iter().enumerate() {
        if let Some(second) = sites[b].runs.iter().position(|other| other == run) {
            let (ph, protonation) = (runs[*run].ph, &sites[b].protonation[second]);
            let means = sites[a].means_of_classes[first].as_ref().zip(sites[b].means_of_classes[second].as_ref());
            let means = means.map(|(first, second)| [first, second]);
            series.push(PairSeries { ph, first: &sites[a].protonation[first], second: protonation, means });
            inefficiencies[0].push(sites[a].titration.inefficiencies[first]);
            inefficiencies[1].push(sites[b].titration.inefficiencies[second]);
        }
    }
    (!series.is_empty()).then(|| {
        let pair = pairs::evaluate(&series, [&inefficiencies[0], &inefficiencies[1]], options.resampling);
        PairResult { sites: [a, b], pair }
    })
}
