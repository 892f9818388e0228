//! Where another pH would tell more of the sites that hold up a titration.
//!
//! - *Beyond the pH values*: a pKa lies outside them, or within its error of their end. The new pH is that of the pKa, but no farther than [`LEAP`] from the last one, and no nearer than
//!   [`OUTSIDE`] if its error is [`WIDE`] or more: what lies far outside is known badly. A site that is not asked for because its pKa lies outside counts if that of its model compound lies within, where it was
//!   expected, or if there is no site to ask for at all.
//! - *Between neighbours that hardly overlap*, or whose walkers would swap in less than [`RARE`] of the attempts: the middle.
//! - *In a wide gap*: a pKa with no pH nearer than [`FAR`] to it, between two that are more than [`WIDE`] apart.
//!
//! A site is asked only once its frames say something: after a time of each run that the job gives, or once it has changed its protonation [`FEW`] times. Before that its populations are
//! those that the runs began with, by which any pKa lies outside and any two neighbours are strangers.

use super::{SiteCheck, Target};
use crate::evaluation::pka::{Evaluation, FEW, SiteResult};
use crate::evaluation::runs::Run;
use lambda::analysis::determined::Determined;
use lambda::analysis::mbar::CONNECTED;
use serde::{Deserialize, Serialize};

/// Share of accepted swaps below which neighbours are too far apart.
const RARE: f64 = 0.1;
/// pH values farther apart than this want one between them (pH units), where a pKa is.
const WIDE: f64 = 1.0;
/// Distance of a pKa from the next pH from which on one nearer to it is worth a run (pH units).
const FAR: f64 = 0.4;
/// Steps of the pH values that are added.
const GRID: f64 = 0.25;
/// Farthest that a new pH lies beyond the others (pH units).
const LEAP: f64 = 2.0;
/// Where a pKa is only known to lie outside: distance of the new pH.
const OUTSIDE: f64 = 1.5;
/// How far beyond a pKa near the end of the pH values the new one lies: there p (1 − p) is half of its largest.
const PAST: f64 = 0.75;
/// pH values that mean anything.
const ALL: std::ops::RangeInclusive<f64> = 0.0..=14.0;
/// Frames of each pH from which swaps are foreseen.
const FRAMES: usize = 300;

/// A pH that would tell more, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Place {
    /// The pH.
    pub ph: f64,
    /// Why, in words.
    pub why: String,
    /// Whether runs at it have begun at this look.
    #[serde(default)]
    pub added: bool,
}

/// pH values that would tell more, the most urgent first, and a sentence if it is too early to say where. `asked` are the sites that are asked for, with `checks`; `others` are those whose
/// pKa lies outside. Sites that hardly changed count from runs of `least` (ps) on, without their start.
pub(super) fn of(
    asked: &[&SiteResult],
    checks: &[SiteCheck],
    others: &[&SiteResult],
    evaluation: &Evaluation,
    target: &Target,
    least: f64,
) -> (Vec<Place>, Option<String>) {
    let ph = &evaluation.ph;
    let held: Vec<&SiteResult> =
        asked.iter().zip(checks).filter(|(_, check)| !check.reasons.is_empty()).map(|(site, _)| *site).collect();
    let chased = others.iter().copied().filter(|site| is_chased(site, asked.is_empty(), ph, target));
    let length = evaluation.runs.iter().map(Run::length).fold(0.0, f64::max);
    let (sites, silent): (Vec<&SiteResult>, Vec<&SiteResult>) =
        held.iter().copied().chain(chased).partition(|site| says_something(length, least, site.transitions()));
    let labels = evaluation.labels();
    let steps = || sites.iter().flat_map(|site| site.pkas().map(|pka| (labels.of(&site.record.name), pka)));
    let mut found: Vec<Place> = Vec::new();
    let mut add = |new: Option<f64>, why: String| {
        // Whole multiples of the grid, as far as others are not nearer.
        let Some(new) = new.filter(|new| ALL.contains(new)) else { return };
        let near = |other: f64| (other - new).abs() < 0.5 * GRID;
        if !ph.iter().copied().any(near) && !found.iter().any(|place| near(place.ph)) {
            found.push(Place { ph: new, why, added: false });
        }
    };
    for (name, pka) in steps() {
        let what = match pka {
            Determined::Value { value, .. } => format!("the pKa {value:.1} of {name} lies"),
            other => format!("the pKa of {name} is {other} and may lie"),
        };
        if let Some((new, words)) = beyond(pka, ph) {
            add(Some(new), format!("{what} {words}"));
        }
    }
    // Neighbours overlap by the protons of all sites.
    if !held.is_empty() && silent.is_empty() {
        for (index, why) in strangers(evaluation) {
            add(middle(ph[index], ph[index + 1]), why);
        }
    }
    for (name, pka) in steps() {
        let known = match pka {
            Determined::Value { value, error } if error < WIDE => {
                Some((value, format!("the pKa {value:.1} of {name}")))
            }
            Determined::Between(low, high) => Some((0.5 * (low + high), format!("the pKa of {name}"))),
            _ => None,
        };
        if let Some((value, what)) = known
            && let Some((new, [below, above])) = in_gap(value, ph)
        {
            add(Some(new), format!("{what} lies between {below} and {above}"));
        }
    }
    let early = (!silent.is_empty()).then(|| {
        format!(
            "too early to say which pH values would tell more of {}: fewer than {FEW} changes of the protonation in {} ps of each run, where {least} ps are asked for",
            labels.list(silent.iter().map(|site| &site.record.name)),
            (length * 1e3).round() / 1e3
        )
    });
    (found, early)
}

/// Whether the frames of runs of this length (ps), in which a site changed its protonation so often, say more of it than how the runs began.
fn says_something(length: f64, least: f64, transitions: u64) -> bool {
    length >= least * (1.0 - 1e-6) || transitions >= FEW
}

/// Whether a site that is not asked for is worth another pH.
fn is_chased(site: &SiteResult, alone: bool, ph: &[f64], target: &Target) -> bool {
    let (low, high) = (ph[0], ph[ph.len() - 1]);
    let model = |step: &lambda::analysis::titration::Macroscopic| site.reference(step.from, step.to);
    let expected = site.titration.macroscopic.iter().filter_map(model).any(|model| (low..=high).contains(&model));
    target.sites.is_empty() && (alone || expected)
}

fn grid(ph: f64) -> f64 {
    // No minus before a zero.
    (ph / GRID).round() * GRID + 0.0
}

/// A pH beyond the others for a pKa that lies there or at their end, with the words where it lies.
fn beyond(pka: Determined, ph: &[f64]) -> Option<(f64, String)> {
    let (low, high) = (*ph.first()?, *ph.last()?);
    let below = |aim: f64| grid(aim.clamp(low - LEAP, low - GRID));
    let above = |aim: f64| grid(aim.clamp(high + GRID, high + LEAP));
    // A value whose error is as large as this says hardly more than the side on which it lies; one step after the other towards it would creep.
    let leap = |error: f64| if error < WIDE { GRID } else { OUTSIDE };
    match pka {
        Determined::Value { value, error } if value < low => {
            Some((below(value.min(low - leap(error))), format!("below {low}, the lowest")))
        }
        Determined::Value { value, error } if value > high => {
            Some((above(value.max(high + leap(error))), format!("above {high}, the highest")))
        }
        Determined::Value { value, error } if value - error < low && low < high => {
            Some((below(value - PAST), format!("within its error of {low}, the lowest")))
        }
        Determined::Value { value, error } if value + error > high && low < high => {
            Some((above(value + PAST), format!("within its error of {high}, the highest")))
        }
        // A bound farther inside than that comes from too few frames.
        Determined::AtMost(bound) if bound <= low + WIDE => {
            Some((below(low - OUTSIDE), format!("below {low}, the lowest")))
        }
        Determined::AtLeast(bound) if bound >= high - WIDE => {
            Some((above(high + OUTSIDE), format!("above {high}, the highest")))
        }
        _ => None,
    }
}

/// The middle of two pH values, on the grid where that is not next to one of them.
fn middle(low: f64, high: f64) -> Option<f64> {
    let fits = |ph: f64| ph - low > 0.4 * (high - low) && high - ph > 0.4 * (high - low);
    let exact = (0.5 * (low + high) * 100.0).round() / 100.0;
    (high - low > GRID).then(|| Some(grid(exact)).filter(|ph| fits(*ph)).unwrap_or(exact))
}

/// A pH near a pKa between two that are far apart, with these two.
fn in_gap(pka: f64, ph: &[f64]) -> Option<(f64, [f64; 2])> {
    let nearest = ph.iter().map(|ph| (ph - pka).abs()).fold(f64::INFINITY, f64::min);
    let [below, above] = ph.windows(2).find(|pair| (pair[0]..pair[1]).contains(&pka)).map(|pair| [pair[0], pair[1]])?;
    (nearest >= FAR && above - below > WIDE).then(|| (grid(pka), [below, above]))
}

/// Neighbours that hardly overlap, or whose walkers would seldom swap: the index of the lower one, and why.
fn strangers(evaluation: &Evaluation) -> Vec<(usize, String)> {
    let ph = &evaluation.ph;
    let swaps = evaluation.round_trips.is_some();
    let lost: Vec<Vec<f64>> =
        if swaps { ph.iter().map(|ph| lost(&evaluation.runs, *ph)).collect() } else { Vec::new() };
    let of = |index: usize| {
        let [low, high] = [ph[index], ph[index + 1]];
        if evaluation.overlap.get(index).is_some_and(|overlap| *overlap < CONNECTED) {
            return Some((index, format!("pH {low} and {high} hardly overlap")));
        }
        let share = swaps.then(|| acceptance([low, high], [&lost[index], &lost[index + 1]])).flatten()?;
        (share < RARE)
            .then(|| (index, format!("pH {low} and {high} would swap in {:.0} % of the attempts", 100.0 * share)))
    };
    (0..ph.len().saturating_sub(1)).filter_map(of).collect()
}

/// Protons that all sites together have lost in some frames at a pH.
fn lost(runs: &[Run], ph: f64) -> Vec<f64> {
    let mine: Vec<&Run> = runs.iter().filter(|run| run.ph == ph).collect();
    let mut all = Vec::new();
    for run in &mine {
        let frames = run.series.time.len();
        let every = (frames * mine.len()).div_ceil(FRAMES).max(1);
        let mut sums = vec![0.0; frames.div_ceil(every)];
        for site in run.titrating() {
            let weights = run.weights(&site.name).unwrap_or_default();
            for (form, weights) in site.forms.iter().zip(&weights) {
                let some = weights.iter().step_by(every);
                sums.iter_mut().zip(some).for_each(|(sum, weight)| *sum += f64::from(form.protons_lost) * weight);
            }
        }
        all.extend(sums);
    }
    all
}

/// Share of the attempts at which walkers with these protons lost would swap; none without frames.
fn acceptance([low, high]: [f64; 2], [a, b]: [&[f64]; 2]) -> Option<f64> {
    let chance = |i: f64, j: f64| 10f64.powf(-(low - high) * (i - j)).min(1.0);
    let sum: f64 = a.iter().map(|&i| b.iter().map(|&j| chance(i, j)).sum::<f64>()).sum();
    let pairs = a.len() * b.len();
    (pairs > 0).then(|| sum / pairs as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: f64, error: f64) -> Determined {
        Determined::Value { value, error }
    }

    /// Two picoseconds in which λ has hardly moved say nothing of where a pKa lies.
    #[test]
    fn frames_say_something_after_a_time_or_after_some_changes() {
        assert!(!says_something(2.0, 100.0, 0) && !says_something(99.0, 100.0, FEW - 1));
        assert!(says_something(100.0, 100.0, 0) && says_something(2.0, 100.0, FEW) && says_something(0.02, 0.0, 0));
    }

    #[test]
    fn a_ph_is_wanted_where_a_pka_has_none() {
        let ph = [3.0, 4.0, 6.0, 7.0];
        assert_eq!(in_gap(4.6, &ph), Some((4.5, [4.0, 6.0])));
        // Near to one, or between two that are near to each other.
        assert_eq!([in_gap(4.3, &ph), in_gap(3.5, &ph), in_gap(5.9, &ph), in_gap(8.0, &ph)], [None; 4]);
        let at = |pka| beyond(pka, &ph);
        assert_eq!(at(value(2.1, 0.3)), Some((2.0, "below 3, the lowest".into())));
        assert_eq!(at(value(7.6, 0.1)), Some((7.5, "above 7, the highest".into())));
        assert_eq!(at(value(11.0, 2.0)), Some((9.0, "above 7, the highest".into())));
        assert_eq!(at(value(2.8, 1.4)), Some((1.5, "below 3, the lowest".into())));
        assert_eq!(at(value(7.2, 1.0)), Some((8.5, "above 7, the highest".into())));
        assert_eq!(at(value(6.9, 0.2)), Some((7.75, "within its error of 7, the highest".into())));
        assert_eq!((at(value(6.7, 0.2)), at(Determined::Unknown), at(Determined::AtLeast(5.0))), (None, None, None));
        assert_eq!(at(Determined::AtLeast(7.0)), Some((8.5, "above 7, the highest".into())));
        assert_eq!(at(Determined::AtMost(3.0)), Some((1.5, "below 3, the lowest".into())));
    }

    #[test]
    fn the_middle_is_on_the_grid_where_it_can_be() {
        assert_eq!([middle(4.0, 5.5), middle(4.0, 4.5), middle(4.0, 4.25)], [Some(4.75), Some(4.25), None]);
        assert_eq!(middle(4.1, 4.5), Some(4.3));
    }

    #[test]
    fn swaps_are_foreseen_from_the_protons_that_were_lost() {
        // A walker with three protons more lost at the lower pH, two units apart: 10^6 times against it, never for it.
        assert_eq!(acceptance([4.0, 6.0], [&[0.0], &[3.0]]), Some(10f64.powf(-6.0)));
        assert_eq!(acceptance([4.0, 6.0], [&[3.0], &[0.0]]), Some(1.0));
        assert_eq!(acceptance([4.0, 6.0], [&[0.0, 1.0], &[1.0]]), Some(0.505));
        assert_eq!(acceptance([4.0, 6.0], [&[], &[1.0]]), None);
    }
}
