//! Whether runs have gone on for long enough: every site asked for has its pKa within an error, by everything that could tell that it has not.
//!
//! A check holds for a site if its pKa is determined with an error below the limit (MBAR and block bootstrap, widened by walkers or whole runs), the two halves of the
//! runs agree within their errors and differ by no more than twice the limit, replicas agree, transitions are frequent where the site is partly protonated, neighbouring pH
//! values overlap; and if no run is still settling and walkers have gone between the lowest and the highest pH and back often enough, unless every site has replicas whose scatter
//! measures what they keep. An error that is small by chance would end the runs
//! too soon, and the more looks there are, the sooner: so a site is *settled* when checks have held for it from one time on until 25 % more data were there ([`GROWTH`]), two of them at least.
//!
//! The runs end when every site is settled. Each of the tests that a check consists of fails by chance in one case of twenty, so that of twenty sites that are known well enough one or
//! another would always be held up: a site that is settled stays so, unless its error is no longer below the limit or its pKa has moved by more than that ([`Settled`]).
//!
//! A side chain that never turned speaks neither for nor against a pKa: it may be held, or the runs may be too short. One that turned a few times has been seen to be slow, and counts.
//!
//! A check also says where another pH would tell more ([`Place`]); one at which a pH was added does not hold, because the sites have more to say.

mod advice;
mod places;

pub use places::Place;

use super::pka::{END, Evaluation, ROTAMERS, SECOND, SiteResult, TRIPS};
use crate::record::{Labels, are, counted};
use lambda::analysis::determined::Determined;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// File in the folder of a titration with what was found at every look.
pub const LOOKS: &str = "until.json";

/// Factor between the times of checks, and between the data of the first and the last check that hold.
pub const GROWTH: f64 = 1.25;
/// Share of a run beyond which its settling has no end in it.
const SETTLING: f64 = 0.45;
/// Errors by which a pKa may lie outside the pH values and still be asked for.
const BESIDE: f64 = 2.0;

/// What is asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Target {
    /// Largest error of a pKa.
    pub error: f64,
    /// Sites by their names in the job or by their labels; all whose pKa lies within the pH values if empty.
    pub sites: Vec<String>,
    /// Fewest round trips between the lowest and the highest pH, all walkers together, where there is an exchange.
    pub round_trips: usize,
}

/// The looks at a titration, as its folder has them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Looks {
    /// What was asked for.
    pub target: Target,
    /// What they found, in the order of time.
    pub checks: Vec<Check>,
}

impl Looks {
    /// Those of the titration in this folder; none where there was no look, or where they cannot be read.
    pub fn read(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join(LOOKS)).ok()?;
        serde_json::from_str(&text).ok().filter(|looks: &Self| !looks.checks.is_empty())
    }
}

/// What one look at the runs says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// Length of each run (ps).
    pub time: f64,
    /// Sites that are asked for.
    pub sites: Vec<SiteCheck>,
    /// Sites whose pKa lies outside the pH values and that were not asked for by name, as people call them.
    pub outside: Vec<String>,
    /// What holds up all sites.
    pub reasons: Vec<String>,
    /// pH values that tell nothing, and side chains that never turned.
    pub advice: Vec<String>,
    /// pH values that would tell more, the most urgent first.
    #[serde(default)]
    pub places: Vec<Place>,
}

/// One site at a check.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SiteCheck {
    /// Name.
    pub site: String,
    /// What people call it; empty in files of versions before.
    #[serde(default)]
    pub label: String,
    /// pKa of its first step in words.
    pub pka: String,
    /// Values of its steps; empty if one is not determined.
    #[serde(default)]
    pub values: Vec<f64>,
    /// Largest error of its pKa values; none if one is not determined.
    pub error: Option<f64>,
    /// What holds it up.
    pub reasons: Vec<String>,
}

impl Check {
    /// What an evaluation says, whose largest error is that of the target; `time` is the length of each run. Sites that hardly changed ask for no pH before `least` (ps) of each run.
    pub fn new(evaluation: &Evaluation, target: &Target, time: f64, least: f64) -> Self {
        let labels = evaluation.labels();
        let (asked, others): (Vec<&SiteResult>, Vec<&SiteResult>) =
            evaluation.sites.iter().partition(|site| is_asked_for(site, &evaluation.ph, target, &labels));
        let sites: Vec<SiteCheck> = asked.iter().map(|site| SiteCheck::new(site, target, &labels)).collect();
        let mut reasons = Vec::new();
        if sites.is_empty() {
            reasons.push("no pKa lies within the pH values".to_string());
        }
        // Scatter of replicas from several structures says what round trips would, and what they share of their settling is a drift of all of them.
        let by_walkers = asked.iter().any(|site| !site.diagnostics.from_replicas);
        let trips = evaluation.round_trips.filter(|trips| by_walkers && *trips < target.round_trips);
        if let Some(trips) = trips {
            let trips = if trips == 1 { "1 round trip".to_string() } else { format!("{trips} round trips") };
            reasons.push(format!("walkers made {trips} and should make {}", target.round_trips));
        }
        let settling: Vec<String> = evaluation
            .runs
            .iter()
            .zip(&evaluation.left_out)
            .filter(|(run, left_out)| by_walkers && **left_out > SETTLING * (time - run.start()))
            .map(|(run, _)| run.short_name())
            .collect();
        if !settling.is_empty() {
            reasons.push(format!("still settling: {}", settling.join(", ")));
        }
        let outside = others.iter().map(|site| labels.of(&site.record.name)).collect();
        let (places, early) = places::of(&asked, &sites, &others, evaluation, target, least);
        // What says nothing of where a pH is missing says nothing of where one is idle.
        let mut advice = early.map_or_else(|| advice::of(&asked, &evaluation.ph), |early| vec![early]);
        let rigid = asked.iter().filter(|site| site.diagnostics.torsions.first == Some(0));
        let rigid = labels.list(rigid.map(|site| &site.record.name));
        if !rigid.is_empty() {
            advice.push(format!("the side chain never turned, and the pKa is that of one rotamer: {rigid}"));
        }
        Self { time, sites, outside, reasons, advice, places }
    }

    /// Whether nothing speaks against any site, and no pH was added.
    pub fn holds(&self) -> bool {
        self.is_clear() && self.sites.iter().all(|site| site.reasons.is_empty())
    }

    /// Whether nothing speaks against all sites, and no pH was added.
    fn is_clear(&self) -> bool {
        self.reasons.is_empty() && self.added().next().is_none()
    }

    /// The pH values that were added at it.
    pub fn added(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.added)
    }

    /// What is to be known of pH values: those added, those worth adding, those that tell nothing.
    pub fn remarks(&self) -> Vec<String> {
        let word = |place: &Place| match place.added {
            true => format!("pH {} is added: {}", place.ph, place.why),
            false => format!("add pH {}: {}", place.ph, place.why),
        };
        self.places.iter().map(word).chain(self.advice.iter().cloned()).collect()
    }

    /// Length of each run (ps) at which the largest error would have come down to the limit, if errors fall with the root of the time; none if one is not known.
    pub fn estimate(&self, target: &Target) -> Option<f64> {
        let errors: Option<Vec<f64>> = self.sites.iter().map(|site| site.error).collect();
        let most = errors?.into_iter().reduce(f64::max)?;
        Some(self.time * (most / target.error).powi(2).max(1.0))
    }

    /// One sentence for the log; so many sites are `settled`.
    pub fn summary(&self, target: &Target, settled: usize) -> String {
        let good = self.sites.iter().filter(|site| site.reasons.is_empty()).count();
        let text = format!(
            "{good} of {} {} within {} at {} ps, {settled} {} settled",
            counted(self.sites.len(), "site"),
            are(self.sites.len()),
            target.error,
            self.time,
            are(settled)
        );
        match self.stopping().first() {
            None if self.reasons.is_empty() => text,
            None => format!("{text}; {}", self.reasons.join("; ")),
            Some(first) => format!("{text}; {first}"),
        }
    }

    /// The sites that hold it up, each with why; what holds up all comes last.
    pub fn stopping(&self) -> Vec<String> {
        let held = self.sites.iter().filter(|site| !site.reasons.is_empty());
        let mut held: Vec<&SiteCheck> = held.collect();
        let error = |site: &SiteCheck| site.error.unwrap_or(f64::INFINITY);
        held.sort_by(|a, b| error(b).total_cmp(&error(a)));
        let sites = held.iter().map(|site| format!("{} ({}): {}", site.label(), site.pka, site.reasons.join("; ")));
        let added = self.added().map(|place| format!("pH {} has only been added", place.ph));
        sites.chain(self.reasons.iter().cloned()).chain(added).collect()
    }
}

impl SiteCheck {
    fn new(site: &SiteResult, target: &Target, labels: &Labels) -> Self {
        let found = &site.diagnostics.torsions;
        let never_turned = [(ROTAMERS, found.first), (SECOND, found.second), (END, found.end)];
        let never_turned = never_turned.map(|(reason, count)| (reason, count == Some(0)));
        let mut reasons = site.diagnostics.reasons.clone();
        reasons.retain(|reason| !never_turned.iter().any(|(what, never)| *never && reason.starts_with(what)));
        // The target has its own number of them.
        reasons.retain(|reason| !reason.starts_with(TRIPS));
        for step in 0..site.titration.macroscopic.len() {
            let halves = site.halves(step).and_then(|[first, last]| Some((first.value()? - last.value()?).abs()));
            if let Some(apart) = halves.filter(|apart| *apart > 2.0 * target.error) {
                reasons.push(format!("the halves of the runs differ by {apart:.2}"));
            }
        }
        let errors: Option<Vec<f64>> = site.pkas().map(|pka| pka.error()).collect();
        let error = errors.and_then(|errors| errors.into_iter().reduce(f64::max));
        let pka = site.pkas().next().unwrap_or(Determined::Unknown).to_string();
        let values: Option<Vec<f64>> = site.pkas().map(|pka| pka.value()).collect();
        let (site, label) = (site.record.name.clone(), labels.of(&site.record.name));
        Self { site, label, pka, values: values.unwrap_or_default(), error, reasons }
    }

    /// What people call it.
    pub fn label(&self) -> &str {
        if self.label.is_empty() { &self.site } else { &self.label }
    }
}

/// Whether a site is named; or where none is, whether any of its pKa values may lie within the pH values: by its value, or by that of the model compound if
/// it is not known.
fn is_asked_for(site: &SiteResult, ph: &[f64], target: &Target, labels: &Labels) -> bool {
    if !target.sites.is_empty() {
        return target.sites.iter().any(|asked| labels.name_of(asked) == Some(&site.record.name));
    }
    let (low, high) = (ph[0], ph[ph.len() - 1]);
    site.titration.macroscopic.iter().zip(site.pkas()).any(|(step, pka)| match pka {
        Determined::Value { value, error } => value + BESIDE * error >= low && value - BESIDE * error <= high,
        // A site that never changed may be one that has no pKa there, or one that is stuck: its model compound tells which to expect.
        Determined::AtLeast(_) | Determined::AtMost(_) => {
            site.reference(step.from, step.to).is_none_or(|model| (low..=high).contains(&model))
        }
        Determined::Between(..) | Determined::Unknown => true,
    })
}

/// A site for which checks have held until [`GROWTH`] times the data were there.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// Name.
    pub site: String,
    /// Index of the check from which on they held.
    pub first: usize,
}

impl Settled {
    /// The sites of the last of `checks` (in the order of time) that are settled. One that was before stays so, whatever a test says by chance, while its error is below that of the
    /// target and its pKa within this of where it was then.
    pub fn all(checks: &[Check], target: &Target) -> Vec<Self> {
        let asked = checks.last().map(|last| last.sites.as_slice()).unwrap_or_default();
        asked.iter().filter_map(|site| Self::of(&site.site, checks, target)).collect()
    }

    fn of(name: &str, checks: &[Check], target: &Target) -> Option<Self> {
        let stays = |then: &SiteCheck, now: &SiteCheck| {
            let moved = then.values.iter().zip(&now.values).any(|(then, now)| (now - then).abs() > target.error);
            now.values.len() == then.values.len() && !moved && now.error.is_some_and(|error| error < target.error)
        };
        // Where checks began to hold, and where they had for long enough.
        let (mut first, mut settled): (Option<usize>, Option<(usize, &SiteCheck)>) = (None, None);
        for (index, check) in checks.iter().enumerate() {
            let now = check.sites.iter().find(|site| site.site == name);
            if settled.is_some_and(|(_, then)| !now.is_some_and(|now| stays(then, now))) {
                (first, settled) = (None, None);
            }
            let holds = check.is_clear() && now.is_some_and(|now| now.reasons.is_empty());
            first = first.or(Some(index)).filter(|_| holds);
            // Times are whole numbers of steps: a ratio of exactly 1.25 may miss it by rounding.
            let lasted = first.filter(|&first| check.time >= GROWTH * (1.0 - 1e-6) * checks[first].time);
            settled = settled.or(lasted.zip(now));
        }
        settled.map(|(first, _)| Self { site: name.to_string(), first })
    }
}

/// The check from which on they held for the last of all sites to settle; none if the runs shall go on, or if something speaks against all sites at the last of `checks` (in the order
/// of time).
pub fn reached(checks: &[Check], target: &Target) -> Option<usize> {
    let last = checks.last().filter(|last| last.is_clear())?;
    let settled = Settled::all(checks, target);
    settled.iter().map(|site| site.first).max().filter(|_| settled.len() == last.sites.len())
}

#[cfg(test)]
mod tests;
