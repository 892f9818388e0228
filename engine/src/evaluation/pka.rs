//! From the runs of a titration to pKa values, whoever made the runs.
//!
//! All runs are grouped by the names of their sites. Each site is evaluated by [`lambda::analysis::titration`], each pair of
//! sites that occurs in the same runs by [`lambda::analysis::pairs`], both with the weights of [`lambda::analysis::reweighting`].

mod atoms;
mod connected;
mod diagnostics;
mod doubts;
mod equilibrated;
mod independent_units;
mod neighbours;
mod results;
mod rotamers;
mod shown;
mod trails;
mod walks;

pub use diagnostics::{END, FEW, LARGEST_ERROR, ROTAMERS, SECOND, TRIPS};
pub use doubts::grouped;
pub use independent_units::Independent;
pub use neighbours::{FEW_FRAMES, NEAR, Neighbour, Neighbours, RARE};
pub use results::{BINS, Diagnostics, Evaluation, HillFit, Options, PairResult, SIGNIFICANT, SiteResult};
pub use rotamers::{Held, Torsions};

use super::runs::{Run, names_of_runs};
use crate::error::{Error, Result};
use crate::record::{Labels, SiteRecord};
use connected::Connected;
use lambda::analysis::determined::Determined;
use lambda::analysis::histogram;
use lambda::analysis::occupancy::{classes, exchanges};
use lambda::analysis::pairs::{self, PairSeries};
use lambda::analysis::reweighting::Question;
use lambda::analysis::titration::{self, Titration, TitrationError, TitrationSeries, protonation};
use rayon::prelude::*;
use shown::Shown;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::Path;
use walks::Walks;

/// Parts of the runs for which the pKa is found to show its convergence.
const PARTS: u32 = 20;
/// Parts of a smooth curve.
const LINE: u32 = 60;
/// How far a curve goes beyond the pH values (pH units).
const BESIDE: f64 = 0.4;
/// Free energies of two corrections that count as one (kJ/mol): 0.018 units of pKa, a third of what corrections are known to at best.
const ALIKE: f64 = 0.1;

/// Evaluates runs that have been read; the start that `options` leave out is cut here. Runs of which nothing is left are left out, with a warning.
///
/// # Errors
/// [`Error::Input`] if nothing is left of any run, if no run has a site that titrates, if a site differs from run to run, or if two runs have the same frames.
pub fn evaluate(runs: Vec<Run>, options: &Options) -> Result<Evaluation> {
    // A run that began a moment ago, of a pH that was added for example, must not keep the others from being evaluated.
    let (mut short, mut runs): (Vec<Run>, Vec<Run>) =
        runs.into_iter().partition(|run| !run.lasts(options.equilibration));
    if runs.is_empty() {
        // They are refused by name below.
        std::mem::swap(&mut short, &mut runs);
    }
    refuse_copies(&runs)?;
    let settled = runs.into_par_iter().map(|run| equilibrated::run(run, options.equilibration));
    let (mut runs, left_out): (Vec<Run>, Vec<f64>) = settled.collect::<Result<Vec<_>>>()?.into_iter().unzip();
    let (records, left) = of_one_correction(titrating(&runs, options)?, &runs)?;
    // From all lines of λ: between those that are taken below a walker may have been elsewhere.
    let Shown { torsions, neighbours } = shown::read(&mut runs, &records, options.threshold)?;
    let walks = Walks::of(&runs);
    let round_trips = walks.as_ref().map(Walks::round_trips);
    // Frames count alike: those of all runs must stand for the same time.
    let interval = runs.iter().filter_map(|run| run.series.interval()).reduce(f64::max);
    let runs: Vec<Run> = match interval {
        Some(interval) => runs.into_iter().map(|run| run.evenly(interval)).collect(),
        None => runs,
    };
    let connected = Connected::new(&runs, options.threshold)?;
    let mut sites: Vec<SiteResult> =
        records.par_iter().map(|record| site(record, &runs, &connected, options)).collect::<Result<_>>()?;
    let is_in_pairs = |k: &usize| options.for_report && sites[*k].titration.macroscopic.len() == 1;
    let two: Vec<usize> = (0..sites.len()).filter(is_in_pairs).collect();
    let list: Vec<[usize; 2]> =
        two.iter().enumerate().flat_map(|(k, &a)| two[k + 1..].iter().map(move |&b| [a, b])).collect();
    let pairs = list.par_iter().filter_map(|&[a, b]| pair([a, b], &sites, &runs, &connected, options)).collect();
    let ph = connected.ensemble.ph().to_vec();
    let overlap = connected.ensemble.mbar().map_or_else(Vec::new, |mbar| {
        (1..ph.len()).map(|k| mbar.overlap[k - 1][k].min(mbar.overlap[k][k - 1])).collect()
    });
    let grid = grid(&ph);
    let curves: Vec<Vec<Option<Vec<f64>>>> = match options.for_report {
        true => grid.par_iter().map(|&ph| connected.ensemble.populations(ph)).collect(),
        false => Vec::new(),
    };
    let stuck = diagnostics::stuck(&runs, walks.as_ref());
    for ((site, torsions), neighbours) in sites.iter_mut().zip(torsions).zip(neighbours) {
        site.neighbours = neighbours;
        // An entry of the user's own may leave its hydrogens free.
        let held = torsions.held.filter(|_| rotamers::HELD.contains(&site.record.entry.as_str()));
        site.diagnostics.torsions = Torsions { held, ..torsions };
        let pka: Vec<f64> = site.pkas().filter_map(|pka| pka.value()).collect();
        site.diagnostics.round_trips = walks.as_ref().map(|walks| walks.round_trips_about(pka.iter().copied()));
        site.diagnostics.reasons = Diagnostics::judge(site, options.largest_error, &ph, &overlap);
        site.diagnostics.reasons.extend(stuck.clone().filter(|_| !site.diagnostics.from_replicas));
        let at = |all: &Vec<Option<Vec<f64>>>| all[connected.site(&site.record.name)?].clone();
        site.curve = curves.iter().map(at).collect::<Option<_>>().unwrap_or_default();
    }
    let (warnings, options) = (Vec::new(), *options);
    let (solution, comparison) = (None, None);
    let mut evaluation = Evaluation {
        runs,
        left_out,
        ph,
        grid,
        overlap,
        round_trips,
        sites,
        pairs,
        options,
        warnings,
        solution,
        comparison,
    };
    evaluation.warnings = doubts::warnings(&evaluation);
    evaluation.warnings.extend(connected.reason.into_iter().chain(left));
    evaluation.warnings.extend(of_one_system(&evaluation.runs));
    let names = names_of_runs(evaluation.runs.iter().chain(&short));
    evaluation.warnings.extend(short.iter().zip(&names[evaluation.runs.len()..]).map(|(run, name)| {
        let end = run.series.time.last().copied().unwrap_or(0.0);
        format!("{name}: left out, its {end} ps are all equilibration")
    }));
    Ok(evaluation)
}

/// Fewest frames that say that a run is a copy.
const COPIED: usize = 3;

/// Refuses two runs with the same frames, which would count twice and make errors too small: a copy, or two titrations of one system with one seed.
fn refuse_copies(runs: &[Run]) -> Result<()> {
    let same = |a: &Run, b: &Run| {
        let (a, b) = (&a.series, &b.series);
        let common = a.time.len().min(b.time.len());
        let columns = |c: &[Vec<f64>], d: &[Vec<f64>]| c.iter().zip(d).all(|(c, d)| c[..common] == d[..common]);
        let alike = a.sites == b.sites && a.time[..common] == b.time[..common];
        common >= COPIED && alike && columns(&a.dvdl, &b.dvdl) && columns(&a.lambda, &b.lambda)
    };
    for (k, run) in runs.iter().enumerate() {
        if let Some(copy) = runs[..k].iter().find(|other| other.ph == run.ph && same(other, run)) {
            let message = format!("{} and {} have the same frames", copy.folder.display(), run.folder.display());
            let help = "evaluate one of them: a copy, or a second run from the same start with the same dynamics.seed, is no further evidence";
            return Err(Error::input(message, help));
        }
    }
    Ok(())
}

/// Says of titrations that have hardly a group in common with the first, as those of two proteins have: sites of one name would be taken for one site.
fn of_one_system(runs: &[Run]) -> Vec<String> {
    let mut titrations: Vec<(&Path, BTreeSet<String>)> = Vec::new();
    for run in runs {
        if titrations.iter().all(|(known, _)| *known != run.titration()) {
            titrations.push((run.titration(), run.groups()));
        }
    }
    let [(first, own), others @ ..] = &titrations[..] else { return Vec::new() };
    let apart = |(folder, groups): &(&Path, BTreeSet<String>)| {
        let (shared, fewer) = (own.intersection(groups).count(), own.len().min(groups.len()));
        (2 * shared < fewer).then(|| {
            format!(
                "{} and {} have {shared} of {fewer} groups in common: if they are of two proteins, evaluate them apart, because sites of one name count as one site",
                first.display(),
                folder.display()
            )
        })
    };
    others.iter().filter_map(apart).collect()
}

/// pH values of the smooth curves, from a little below the lowest to a little above the highest.
fn grid(ph: &[f64]) -> Vec<f64> {
    let (low, high) = (ph[0] - BESIDE, ph[ph.len() - 1] + BESIDE);
    (0..=LINE).map(|k| low + (high - low) * f64::from(k) / f64::from(LINE)).collect()
}

/// The sites that titrate in any of the runs.
fn titrating(runs: &[Run], options: &Options) -> Result<Vec<SiteRecord>> {
    let mut records: Vec<SiteRecord> = Vec::new();
    for run in runs {
        for site in run.titrating() {
            match records.iter_mut().find(|known| known.name == site.name) {
                None => records.push(site.clone()),
                Some(known) if !known.has_the_forms_of(site) => {
                    let name = Labels::of_sites([site]).of(&site.name);
                    let message = format!("{name} has other forms in {} than before", run.folder.display());
                    return Err(Error::input(message, "evaluate runs that had the same library together"));
                }
                // Jobs of before did not say where sites stand in the entry.
                Some(known) => known.place = known.place.take().or_else(|| site.place.clone()),
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

/// The sites that have the same pK, one correction and one `offset` in all runs, and sentences about the others: frames of both would be taken for frames
/// of one free energy.
fn of_one_correction(records: Vec<SiteRecord>, runs: &[Run]) -> Result<(Vec<SiteRecord>, Vec<String>)> {
    let labels = Labels::of_sites(&records);
    let (mut kept, mut others) = (Vec::new(), Vec::<(Vec<String>, String)>::new());
    let mut nearly: Vec<(String, f64)> = Vec::new();
    for record in records {
        let name = &record.name;
        let having: Vec<&Run> = runs.iter().filter(|run| run.weights(name).is_some()).collect();
        let said = having.iter().find(|run| run.free_energies(name).is_some());
        let Some(first) = said.or(having.first()) else { continue };
        let Some((what, other)) = having.iter().find_map(|run| Some((other_correction(first, run, name)?, run))) else {
            let apart = having.iter().filter_map(|run| apart(first, run, name)).fold(0.0, f64::max);
            if apart > 0.0 {
                nearly.push((name.clone(), apart));
            }
            kept.push(record);
            continue;
        };
        let reason = format!("{what} in {} and in {}", first.folder.display(), other.folder.display());
        match others.iter_mut().find(|(_, known)| *known == reason) {
            Some((names, _)) => names.push(name.clone()),
            None => others.push((vec![name.clone()], reason)),
        }
    }
    let told = |(names, reason): &(Vec<String>, String)| {
        let (be, which, them) = if names.len() == 1 { ("is", "its", "it") } else { ("are", "their", "them") };
        let names = labels.list(names);
        format!(
            "{names} {be} left out: {which} {reason}; evaluate these runs apart for {them}. What this changes of the others comes by their coupling to {them} alone"
        )
    };
    let mut left: Vec<String> = others.iter().map(told).collect();
    if kept.is_empty() {
        let message = "every site that titrates has another pK, correction or offset in some of the runs";
        return Err(Error::input(message, format!("evaluate runs of the same job together: {}", left.join("; "))));
    }
    if let Some(most) = nearly.iter().map(|(_, apart)| *apart).reduce(f64::max) {
        let names = labels.list(nearly.iter().map(|(name, _)| name));
        left.push(format!(
            "{names}: free energies of corrections V_MM differ by {most:.2} kJ/mol at most between runs, which count as runs with one"
        ));
    }
    // Versions before did not record free energies.
    let records = || runs.iter().flat_map(|run| run.titrating().map(move |site| (run, site)));
    let unknown = records().find(|(_, site)| site.free_energies.is_none());
    if let Some((run, _)) = unknown.filter(|_| records().any(|(_, site)| site.free_energies.is_some())) {
        let folder = run.folder.display();
        left.push(format!(
            "{folder} does not say which corrections V_MM it had, as other runs do: see to it that they are the same"
        ));
    }
    Ok((kept, left))
}

/// What the free energies that a site was given differ in between two runs, in words that follow "its".
fn other_correction(one: &Run, other: &Run, name: &str) -> Option<String> {
    let (a, b) = (one.pk(name), other.pk(name));
    if a != b {
        let words = |all: Vec<f64>| all.iter().map(|pk| format!("{pk:.2}")).collect::<Vec<_>>().join(", ");
        return Some(format!("pK as a model compound is {} and {}", words(a), words(b)));
    }
    let (a, b) = (one.offset(name), other.offset(name));
    if a != b {
        return Some(format!("offset is {a} and {b} kJ/mol"));
    }
    let (a, b) = one.free_energies(name).zip(other.free_energies(name))?;
    let words = |all: &[f64]| all[1..].iter().map(|f| format!("{f:.2}")).collect::<Vec<_>>().join(", ");
    (apart(one, other, name)? > ALIKE)
        .then(|| format!("correction V_MM has free energies of {} and {} kJ/mol", words(a), words(b)))
}

/// Largest difference of the free energies that a site was given in two runs (kJ/mol); `None` where one of them does not say.
fn apart(one: &Run, other: &Run, name: &str) -> Option<f64> {
    let (a, b) = one.free_energies(name).zip(other.free_energies(name))?;
    Some(a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max))
}

/// Evaluates one site.
fn site(record: &SiteRecord, runs: &[Run], connected: &Connected, options: &Options) -> Result<SiteResult> {
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
    let series: Vec<TitrationSeries> =
        mine.iter().zip(&states).map(|(&run, states)| TitrationSeries { ph: runs[run].ph, states }).collect();
    let question = connected.site(&record.name).map(|site| connected.ensemble.ask(&[site], &mine));
    let question = question.as_ref();
    let refused = |e: TitrationError| Error::input(format!("{}: {e}", Labels::of_sites([record]).of(&record.name)), "");
    let mut titration = titration::evaluate(&protons, &series, question, options.resampling).map_err(refused)?;
    let (_, class) = protonation(&protons);
    let protonations: Vec<_> = states.iter().map(|states| classes(states, &class)).collect();
    let own: Vec<&Run> = mine.iter().map(|&run| &runs[run]).collect();
    let of_draws: Vec<Determined> = titration.macroscopic.iter().map(|step| step.pka_slope_one).collect();
    let independent = independent_units::widen(&mut titration, &own, &protonations);
    let inefficiencies = &titration.inefficiencies;
    let convergence = titration::convergence(&protons, &series, question, inefficiencies, PARTS).map_err(refused)?;
    let Replicas { pkas: replicas, drifts, frames } =
        Replicas::new(&own, &series, &protons, question, &titration).map_err(refused)?;
    let starts: BTreeSet<&str> = own.iter().filter_map(|run| run.structure.as_deref()).collect();
    let from_replicas = diagnostics::from_replicas(&replicas, &frames, &starts);
    for (number, (step, all)) in titration.macroscopic.iter_mut().zip(&replicas).enumerate() {
        let between = diagnostics::error_between(all, &frames, from_replicas);
        let halves = convergence.halves(number).filter(|_| from_replicas);
        let of_halves = halves.and_then(diagnostics::error_between_halves);
        between.into_iter().chain(of_halves).for_each(|error| independent_units::at_least(step, error));
    }
    independent_units::widen_forms(&mut titration, &of_draws, &class);
    // Occupancies of a pH count what its files show; what counts as a transition is what walkers have done.
    let trails = trails::along(&own, &states);
    let exchanges = trails.iter().map(|trail| exchanges(&trail.states, &class)).sum();
    let transitions = trails::transitions(&trails, &class, own.len());
    for point in &mut titration.points {
        let here = own.iter().zip(&transitions).filter(|(run, _)| run.ph == point.ph);
        point.occupancy.transitions = here.map(|(_, count)| count).sum();
    }
    let diagnostics =
        Diagnostics { exchanges, replicas, drifts, frames, from_replicas, independent, ..Diagnostics::default() };
    // Weights of each form at a pH, in the frames of all runs.
    let together = |ph: f64| -> Vec<Vec<f64>> {
        let at =
            |form: usize| own.iter().zip(&weights).filter(|(run, _)| run.ph == ph).flat_map(move |(_, w)| &w[form]);
        (0..protons.len()).map(|form| at(form).copied().collect()).collect()
    };
    let by_ph: Vec<Vec<Vec<f64>>> = titration.points.iter().map(|point| together(point.ph)).collect();
    let mean = |weights: &Vec<f64>| weights.iter().sum::<f64>() / weights.len() as f64;
    let density = |weights: &Vec<f64>| histogram::density(weights, histogram::RANGE, BINS);
    let means = by_ph.iter().map(|forms| forms.iter().map(mean).collect()).collect();
    let histograms = by_ph.iter().map(|forms| forms.iter().map(density).collect()).collect();
    Ok(SiteResult {
        record: record.clone(),
        runs: mine,
        pure: connected.pure.contains(&record.name),
        protonation: protonations,
        diagnostics,
        neighbours: Neighbours::default(),
        curve: Vec::new(),
        titration,
        convergence,
        means,
        histograms,
    })
}

/// What each replica says by itself, `[step][replica]`: its pKa values, and by how much they differ between the halves of its runs.
struct Replicas {
    pkas: Vec<Vec<Determined>>,
    drifts: Vec<Vec<Determined>>,
    /// How many frames each has.
    frames: Vec<f64>,
}

impl Replicas {
    /// Of a site with its runs and their series; `all` is what they say together.
    fn new(
        runs: &[&Run],
        series: &[TitrationSeries],
        protons: &[u32],
        question: Option<&Question>,
        all: &Titration,
    ) -> std::result::Result<Self, TitrationError> {
        let steps = vec![Vec::new(); all.macroscopic.len()];
        let mut each = Self { pkas: steps.clone(), drifts: steps, frames: Vec::new() };
        for chosen in of_replicas(runs) {
            each.frames.push(chosen.iter().map(|&k| runs[k].series.time.len() as f64).sum());
            let some: Vec<TitrationSeries> = chosen.iter().map(|&k| series[k]).collect();
            let g: Vec<_> = chosen.iter().map(|&k| all.inefficiencies[k]).collect();
            let part = question.map(|question| question.part(&chosen));
            let found = titration::convergence(protons, &some, part.as_ref(), &g, 2)?;
            for (step, (first, last)) in found.forward.iter().zip(&found.reverse).enumerate() {
                each.pkas[step].push(first[1]);
                each.drifts[step].push(diagnostics::drift(first[0], last[0]));
            }
        }
        Ok(each)
    }
}

/// The runs of every replica of every titration, each of which began apart from the others; of runs by themselves the first, the second, … of each pH, if every pH has as
/// many. Nothing where there is only one.
fn of_replicas(runs: &[&Run]) -> Vec<Vec<usize>> {
    let mut all: BTreeMap<(&Path, Option<&OsStr>, usize), Vec<usize>> = BTreeMap::new();
    let by_themselves = runs.iter().any(|run| run.titration() == run.folder);
    for (index, run) in runs.iter().enumerate() {
        let before = || runs[..index].iter().filter(|other| other.ph == run.ph).count();
        let replica =
            if by_themselves { (Path::new(""), None, before()) } else { (run.titration(), run.folder.file_name(), 0) };
        all.entry(replica).or_default().push(index);
    }
    let all: Vec<Vec<usize>> = all.into_values().collect();
    let alike = !by_themselves || all.windows(2).all(|pair| pair[0].len() == pair[1].len());
    if all.len() > 1 && alike { all } else { Vec::new() }
}

/// Two sites in the runs that have both; `None` if there are none.
fn pair(
    [a, b]: [usize; 2],
    sites: &[SiteResult],
    runs: &[Run],
    connected: &Connected,
    options: &Options,
) -> Option<PairResult> {
    let (mut series, mut both) = (Vec::new(), Vec::new());
    let mut inefficiencies = [Vec::new(), Vec::new()];
    for (first, run) in sites[a].runs.iter().enumerate() {
        if let Some(second) = sites[b].runs.iter().position(|other| other == run) {
            let (ph, protonation) = (runs[*run].ph, &sites[b].protonation[second]);
            series.push(PairSeries { ph, first: &sites[a].protonation[first], second: protonation });
            inefficiencies[0].push(sites[a].titration.inefficiencies[first]);
            inefficiencies[1].push(sites[b].titration.inefficiencies[second]);
            both.push(*run);
        }
    }
    (!series.is_empty()).then(|| {
        let known = [a, b].map(|site| connected.site(&sites[site].record.name));
        let question = known[0].zip(known[1]).map(|(a, b)| connected.ensemble.ask(&[a, b], &both));
        let g = [&inefficiencies[0][..], &inefficiencies[1][..]];
        PairResult { sites: [a, b], pair: pairs::evaluate(&series, g, question.as_ref(), options.resampling) }
    })
}

#[cfg(test)]
mod tests;
