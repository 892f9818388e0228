//! `pka`: from the runs of a titration to pKa values, whoever made the runs.
//!
//! All runs are grouped by the names of their sites. Each site is evaluated by [`lambda::analysis::titration`], each pair of
//! sites that occurs in the same runs by [`lambda::analysis::pairs`]; results are written by [`super::pka_tables`] and
//! [`super::pka_report`]. `titrate` ends with the same evaluation.

use super::pka_runs::Run;
use super::{pka_report, pka_tables};
use crate::error::{Error, Result};
use crate::output::parquet;
use crate::record::SiteRecord;
use lambda::analysis::counted::Resampling;
use lambda::analysis::ends::MeanWeights;
use lambda::analysis::histogram;
use lambda::analysis::occupancy::{OCCUPIED, State, classes};
use lambda::analysis::pairs::{self, Pair, PairSeries};
use lambda::analysis::titration::{self, Convergence, Titration, TitrationSeries, protonation};
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// Parts of the runs for which the pKa is found to show its convergence.
const PARTS: u32 = 20;
/// Bins of the histograms of λ.
pub const BINS: usize = 60;
/// A correlation beyond so many of its errors is taken for an interaction.
pub const SIGNIFICANT: f64 = 3.0;

/// How runs are evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Start of each run that is left out (ps); the frame at its end, which may be the start of the run, too.
    pub equilibration: f64,
    /// Weight above which a form is occupied.
    pub threshold: f64,
    /// Bootstrap.
    pub resampling: Resampling,
    /// Whether the runs get their tables as Parquet.
    pub parquet: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { equilibration: 0.0, threshold: OCCUPIED, resampling: Resampling::default(), parquet: true }
    }
}

/// Everything the runs say.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The runs.
    pub runs: Vec<Run>,
    /// pH values, rising.
    pub ph: Vec<f64>,
    /// Sites that titrate.
    pub sites: Vec<SiteResult>,
    /// Pairs of sites with two states of protonation, in the order of the sites.
    pub pairs: Vec<PairResult>,
    /// How they were evaluated.
    pub options: Options,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// One site.
#[derive(Debug, Clone)]
pub struct SiteResult {
    /// The site.
    pub record: SiteRecord,
    /// Runs that have it.
    pub runs: Vec<usize>,
    /// Its titration; one series for each run.
    pub titration: Titration,
    /// pKa against the time used.
    pub convergence: Convergence,
    /// Mean weight of each form at each pH: `[pH of titration.points][form]`.
    pub means: Vec<Vec<f64>>,
    /// Histogram of each weight at each pH: `[pH of titration.points][form][bin]`; see [`histogram::RANGE`].
    pub histograms: Vec<Vec<Vec<f64>>>,
    /// Protonation in each frame of each run: 0 protonated, …
    protonation: Vec<Vec<State>>,
    /// Mean weights of these classes in each run; none where V_pH is not linear.
    means_of_classes: Vec<Option<MeanWeights>>,
}

/// Two sites.
#[derive(Debug, Clone)]
pub struct PairResult {
    /// Indices of the sites.
    pub sites: [usize; 2],
    /// What they have to do with each other.
    pub pair: Pair,
}

/// Reads the runs in these folders and evaluates them.
///
/// # Errors
/// Files that are missing or damaged; runs without a site that titrates; a site that differs from run to run.
pub fn evaluate(folders: &[PathBuf], options: &Options) -> Result<Evaluation> {
    let mut runs: Vec<Run> = Vec::new();
    for folder in folders {
        let run = Run::read(folder)?;
        if options.parquet {
            parquet::write(folder, &run.series, &run.sites)?;
        }
        runs.push(run.after(options.equilibration)?);
    }
    let mut records: Vec<SiteRecord> = Vec::new();
    for run in &runs {
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
    evaluation.warnings = pka_report::warnings(&evaluation);
    Ok(evaluation)
}

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

/// Writes the tables, plots and the report; the short table for the end of the command.
///
/// # Errors
/// [`Error::File`].
pub fn write(evaluation: &Evaluation, folder: &Path, settings: Option<&str>) -> Result<String> {
    std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of the results", e))?;
    pka_tables::write(evaluation, folder)?;
    pka_report::write(evaluation, folder, settings)?;
    Ok(format!("{}report: {}", pka_tables::summary(evaluation), folder.join(pka_report::REPORT).display()))
}
