//! Whether the numbers of a site have converged, with what speaks against it.
//!
//! A site is *converged* if each of its pKa values is determined with an error below [`LARGEST_ERROR`], and together with its Hill coefficient where the fractions of
//! two states are fitted by one; the pKa of the two halves of the runs agree within two errors or differ by little ([`is_small`]), and so do those of the replicas (their χ² lies less than two standard deviations above its mean); there are
//! [`FEW`] transitions at every pH where the site is partly protonated, or on both sides of the pKa if there is none; as many exchanges between forms of equal protonation, if it has those,
//! and as many changes of the rotamers of the side chain (χ1, χ2) or of the torsion at the end of a chain, if trajectories show them; no hydrogen of a carboxyl group that
//! is held syn was seen anti;
//! neighbouring pH values overlap; two independent walkers of a replica exchange tell of the pKa, and three walkers or runs where most of what is known comes from those that
//! began with the states of others; and the walkers of a
//! replica exchange went from the lowest pH to the highest and back, once each on average: those that stay where they began keep the
//! conformation that they began with. Everything else is a list of reasons.
//!
//! Where [`LADDERS`] replicas or more began from several structures, their scatter measures what each of them keeps, however slowly that is forgotten: the error is
//! then no smaller than that of their mean ([`error_of_mean`]), times √(ν/(ν − 2)) with ν one less than their number (Student's t), and neither their scatter nor missing round trips speak against a site.
//! Replicas count by their frames, as they do in the pKa.
//! By how much the halves of the runs differ is then the mean over the replicas, with an error of the same kind; a difference beyond the errors of the halves, which know of
//! motions within them only, counts where it is larger than the error that is asked for.

use super::independent_units::Independent;
use super::results::SiteResult;
use super::rotamers::Torsions;
use super::walks::Walks;
use crate::evaluation::runs::{Run, Walker};
use lambda::analysis::hill::Determined;
use lambda::analysis::mbar::CONNECTED;
use lambda::analysis::titration::{Macroscopic, PhPoint};
use std::collections::BTreeSet;

/// Largest error of a pKa that has converged, unless [`super::Options`] say otherwise.
pub const LARGEST_ERROR: f64 = 0.2;
/// Fewer transitions at a pH where a site is partly protonated, or fewer exchanges, leave populations to chance.
pub const FEW: u64 = 10;
/// The fractions determine a pKa alone, with the Hill coefficient of a single site.
pub(super) fn of_a_single_site(step: &Macroscopic) -> String {
    format!(
        "the fractions do not determine pKa and Hill coefficient together and the pKa is that of a coefficient of {}",
        step.alone()
    )
}
/// The reason against a site that kept its form.
pub const NEVER: &str = "the protonation never changed: the pKa is that of the forms in which the runs began";
/// How the reason begins that the side chain turned too seldom.
pub const ROTAMERS: &str = "the side chain changed its rotamer";
/// The same of χ2.
pub const SECOND: &str = "the outer part of the side chain (χ2) changed its rotamer";
/// The same of the torsion beside the end of a chain.
pub const END: &str = "the residue at the end of the chain (φ or ψ) turned";
/// How the reason begins that walkers went to and fro too seldom.
pub const TRIPS: &str = "the walkers made";
/// How the reason begins that too few walkers or runs tell of the pKa.
pub const PASTS: &str = "what is known of the pKa comes from";
/// pH units by which a pKa may lie outside of the pH values. Beyond them it is that of a Hill coefficient of one; groups of proteins have 0.8 to 1.2, with which a pKa at this
/// distance is another by 0.1, half of [`LARGEST_ERROR`].
const BEYOND: f64 = 0.5;
/// Errors by which two results may differ.
const ERRORS: f64 = 2.0;
/// Replicas whose scatter is an error by itself: fewer would all hold the same one of two conformations too often, five do in 6 % where both are as likely.
const LADDERS: usize = 5;
/// Fewest of them that they count as by their frames: of replicas of equal length, as many as there are.
const EFFECTIVE: f64 = 4.0;

/// What speaks for and against the numbers of a site.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnostics {
    /// Changes between forms of equal protonation, such as the hydrogen of a carboxyl going to the other oxygen; none without such forms.
    pub exchanges: Option<u64>,
    /// What trajectories show of its torsions.
    pub torsions: Torsions,
    /// Round trips of walkers between pH values where the site has its protons and where it has not; none without walkers.
    pub round_trips: Option<usize>,
    /// pKa of slope one of every replica, `[step][replica]`; empty without replicas.
    pub replicas: Vec<Vec<Determined>>,
    /// By how much the pKa of the last half of every replica is above that of the first, with the errors of both together, `[step][replica]`.
    pub drifts: Vec<Vec<Determined>>,
    /// Frames of every replica.
    pub frames: Vec<f64>,
    /// Whether the scatter of the replicas measures what runs do not forget: five at least, from more than one structure, all with a pKa.
    pub from_replicas: bool,
    /// Number of independent walkers that tell of the pKa; without walkers that of runs, where most of what is known comes from those that began with the
    /// states of others.
    pub independent: Option<Independent>,
    /// Why it has not converged, in words without commas, which end the cells of tables; empty if it has.
    pub reasons: Vec<String>,
}

impl Diagnostics {
    /// `converged`, or `not converged: …`.
    pub fn verdict(&self) -> String {
        if self.reasons.is_empty() { "converged".into() } else { format!("not converged: {}", self.reasons.join("; ")) }
    }

    /// Standard deviation of the pKa of the replicas in a step; none without two of them that have one.
    pub fn spread(&self, step: usize) -> Option<f64> {
        let values: Vec<f64> = self.replicas.get(step)?.iter().filter_map(Determined::value).collect();
        spread(&values)
    }

    /// Finds the reasons against a site, whose error should be below `largest`; `overlap` is that of neighbouring pH values.
    pub(super) fn judge(site: &SiteResult, largest: f64, ph: &[f64], overlap: &[f64]) -> Vec<String> {
        let mut reasons = Vec::new();
        for (index, step) in site.titration.macroscopic.iter().enumerate() {
            let name =
                if site.titration.macroscopic.len() > 1 { format!("proton {}: ", index + 1) } else { String::new() };
            let mut add = |reason: String| reasons.push(format!("{name}{reason}"));
            let pka = site.fit(index).pka;
            if step.pka == Determined::Unknown && pka.value().is_some() {
                add(of_a_single_site(step));
            }
            match pka {
                Determined::Value { error, .. } if error < largest => {}
                Determined::Value { error, .. } => {
                    add(format!("the error of the pKa is {error:.2} and should be below {largest}"))
                }
                _ => add("the pKa is not determined".into()),
            }
            if let Some((distance, side)) = pka.value().and_then(|pka| outside(pka, ph)).filter(|(d, _)| *d > BEYOND) {
                add(format!("the pKa lies {distance:.1} {side} the pH values and is that of a coefficient of 1"));
            }
            if let Some(([first, last], drift)) = site.halves(index).zip(site.significant_drift(index, ERRORS, largest))
            {
                let by = if site.diagnostics.from_replicas {
                    format!(": the replicas drift by {drift} on average")
                } else {
                    String::new()
                };
                add(format!("the first half of the runs gives {first} and the last {last}{by}"));
            }
            let replicas = site.diagnostics.replicas.get(index).filter(|_| !site.diagnostics.from_replicas);
            if let Some(all) = replicas.filter(|all| scatter(all)) {
                let all: Vec<String> = all.iter().map(Determined::to_string).collect();
                add(format!("the replicas give {}", all.join(" and ")));
            }
        }
        let few = few_transitions(site);
        if never_changed(site) {
            reasons.push(NEVER.to_string());
        } else if !few.is_empty() {
            reasons.push(format!("fewer than {FEW} transitions at pH {}", few.join(", ")));
        }
        if let Some(Independent { number, needed }) =
            site.diagnostics.independent.filter(|found| found.number < found.needed - 1e-9)
        {
            reasons.push(format!(
                "{PASTS} {number:.1} independent walkers or runs and should come from {needed}: give more pH values or replicas"
            ));
        }
        if let Some(exchanges) = site.diagnostics.exchanges.filter(|exchanges| *exchanges < FEW) {
            reasons.push(format!("forms of equal protonation exchanged {} and should {FEW} times", times(exchanges)));
        }
        reasons.extend(turned(&site.diagnostics.torsions));
        if let Some(pair) = ph.windows(2).zip(overlap).find(|(_, overlap)| **overlap < CONNECTED) {
            reasons.push(format!("pH {} and {} hardly overlap", pair.0[0], pair.0[1]));
        }
        reasons
    }
}

/// How far a pKa lies outside of rising pH values, and on which side of them.
fn outside(pka: f64, ph: &[f64]) -> Option<(f64, &'static str)> {
    let (low, high) = (ph.first()?, ph.last()?);
    let below = (pka < *low).then(|| (low - pka, "below"));
    below.or((pka > *high).then(|| (pka - high, "above")))
}

/// What torsions say against a site.
fn turned(found: &Torsions) -> Vec<String> {
    let mut reasons = Vec::new();
    for (what, count) in [(ROTAMERS, found.first), (SECOND, found.second), (END, found.end)] {
        if let Some(count) = count.filter(|count| *count < FEW) {
            let times = times(count);
            reasons.push(format!(
                "{what} {times} in all runs and should {FEW} times: the pKa is that of the rotamers visited"
            ));
        }
    }
    if let Some(held) = found.held.filter(|held| held.farthest > 90.0) {
        let (angle, changes) = (held.farthest, times(held.changes));
        reasons.push(format!(
            "a hydrogen of its carboxyl group that should be held syn was seen {angle:.0} degrees from it and changed sides {changes}: its correction is of another state"
        ));
    }
    reasons
}

fn times(number: u64) -> String {
    if number == 1 { "once".into() } else { format!("{number} times") }
}

/// By how much the second of two results is larger, with the error of that.
pub(super) fn drift(first: Determined, last: Determined) -> Determined {
    match (first, last) {
        (Determined::Value { value: a, error: e }, Determined::Value { value: b, error: f }) => {
            Determined::Value { value: b - a, error: e.hypot(f) }
        }
        _ => Determined::Unknown,
    }
}

/// The mean of the drifts of replicas whose scatter measures what they keep: what they keep cancels in the drift of each, and what they share stays.
pub(super) fn mean_drift(drifts: &[Determined], frames: &[f64]) -> Determined {
    let known: Option<Vec<[f64; 2]>> =
        drifts.iter().zip(frames).map(|(drift, frames)| Some([drift.value()?, *frames])).collect();
    match known.map(|known| weighted_mean(&known)).zip(error_between(drifts, frames, true)) {
        Some((value, error)) => Determined::Value { value, error },
        None => Determined::Unknown,
    }
}

/// Whether a drift is more than so many of its errors.
pub(super) fn is_more_than(drift: Determined, errors: f64) -> bool {
    matches!(drift, Determined::Value { value, error } if value.abs() > errors * error)
}

/// Whether a drift is, with two of its errors, less than half of `largest`, the error that is asked for: long runs show drifts that nobody asks about.
pub(super) fn is_small(drift: Determined, largest: f64) -> bool {
    matches!(drift, Determined::Value { value, error } if value.abs() + ERRORS * error < 0.5 * largest)
}

/// The pH values at which a site is partly protonated and seldom changes. Where it is so at none, because they lie far from each other, they are the two on either side of
/// its pKa.
pub(super) fn few_transitions(site: &SiteResult) -> Vec<String> {
    let between = |point: &&PhPoint| point.deprotonated.is_some_and(|s| (0.1..=0.9).contains(&s));
    let points = &site.titration.points;
    let mut partly: Vec<&PhPoint> = points.iter().filter(between).collect();
    if partly.is_empty() {
        let sides = |pka: f64| {
            let above = points.iter().position(|point| point.ph >= pka)?;
            Some([&points[above.checked_sub(1)?], &points[above]])
        };
        partly.extend(site.pkas().filter_map(|pka| sides(pka.value()?)).flatten());
    }
    partly.iter().filter(|point| point.occupancy.transitions < FEW).map(|point| point.ph.to_string()).collect()
}

/// Whether a site has the form in which each of its runs began from the start to the end.
fn never_changed(site: &SiteResult) -> bool {
    site.titration.points.iter().all(|point| point.occupancy.transitions == 0)
}

/// Whether values scatter by more than their errors: χ² > n − 1 + 2 √(2(n − 1)) about the weighted mean.
fn scatter(values: &[Determined]) -> bool {
    let known: Vec<[f64; 2]> = values.iter().filter_map(|d| Some([d.value()?, d.error()?])).collect();
    let weight = |error: f64| 1.0 / (error * error).max(f64::MIN_POSITIVE);
    let total: f64 = known.iter().map(|[_, error]| weight(*error)).sum();
    let mean = known.iter().map(|[value, error]| value * weight(*error)).sum::<f64>() / total;
    let square: f64 = known.iter().map(|[value, error]| (value - mean).powi(2) * weight(*error)).sum();
    let free = known.len().saturating_sub(1) as f64;
    square > free + ERRORS * (2.0 * free).sqrt()
}

/// Standard error of the mean of replicas that scatter by more than their errors, none where they do not: each of them holds what it was slow to change, of which its
/// own error does not know. Where they measure that (`from_replicas`), it is theirs in any case, with the factor of Student's t.
pub(super) fn error_between(values: &[Determined], frames: &[f64], from_replicas: bool) -> Option<f64> {
    let known: Vec<[f64; 2]> =
        values.iter().zip(frames).filter_map(|(pka, frames)| Some([pka.value()?, *frames])).collect();
    let free = effective(known.iter().map(|[_, frames]| *frames)) - 1.0;
    let factor = if from_replicas { (free / (free - 2.0)).sqrt() } else { 1.0 };
    error_of_mean(&known).map(|error| factor * error).filter(|_| from_replicas || scatter(values))
}

/// Mean of values that count by weights, `[value, weight]`.
fn weighted_mean(values: &[[f64; 2]]) -> f64 {
    let sum: f64 = values.iter().map(|[value, weight]| value * weight).sum();
    sum / values.iter().map(|[_, weight]| weight).sum::<f64>()
}

/// Standard error of the mean of values that count by weights w, `[value, weight]`: √(n/(n − 1) Σ w² (x − x̄)²)/Σ w with n = (Σ w)²/Σ w². None of fewer than two.
fn error_of_mean(values: &[[f64; 2]]) -> Option<f64> {
    let total: f64 = values.iter().map(|[_, weight]| weight).sum();
    let mean = weighted_mean(values);
    let squares: f64 = values.iter().map(|[value, weight]| (weight * (value - mean)).powi(2)).sum();
    let number = effective(values.iter().map(|[_, weight]| *weight));
    (values.len() > 1).then(|| (number / (number - 1.0) * squares).sqrt() / total)
}

/// As how many values of equal weight these count.
fn effective(weights: impl Iterator<Item = f64>) -> f64 {
    let [sum, squares] = weights.fold([0.0; 2], |[sum, squares], weight| [sum + weight, squares + weight * weight]);
    sum * sum / squares
}

/// Half of the difference of two halves that differ by more than two of their errors, the standard error of the mean of two values; none of others.
pub(super) fn error_between_halves([first, last]: [Determined; 2]) -> Option<f64> {
    let drift = drift(first, last);
    drift.value().filter(|_| is_more_than(drift, ERRORS)).map(|drift| 0.5 * drift.abs())
}

/// Whether the scatter of these replicas, `[step][replica]`, measures what runs do not forget; `starts`: the structures that the runs began with.
pub(super) fn from_replicas(replicas: &[Vec<Determined>], frames: &[f64], starts: &BTreeSet<&str>) -> bool {
    let enough = |all: &Vec<Determined>| all.len() >= LADDERS && all.iter().all(|pka| pka.value().is_some());
    let count = effective(frames.iter().copied()) >= EFFECTIVE;
    starts.len() > 1 && count && !replicas.is_empty() && replicas.iter().all(enough)
}

/// Standard deviation; none of fewer than two values.
fn spread(values: &[f64]) -> Option<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// What speaks against every site where there were fewer round trips than walkers.
pub(super) fn stuck(runs: &[Run], walks: Option<&Walks>) -> Option<String> {
    let walkers: BTreeSet<Walker> = runs.iter().flat_map(Run::walkers).collect();
    let (trips, passages, wanted) = (walks?.round_trips(), walks?.passages(), walkers.len());
    let counted = |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    (trips < wanted).then(|| {
        format!(
            "{TRIPS} {} in pH ({} between its ends) and should make {wanted}: what they began with counts too much",
            counted(trips, "round trip"),
            counted(passages, "passage")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::rotamers::Held;
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_distr::StandardNormal;

    fn value(value: f64, error: f64) -> Determined {
        Determined::Value { value, error }
    }

    #[test]
    fn results_disagree_beyond_two_errors_and_unknown_ones_do_not() {
        let disagree = |first, last| is_more_than(drift(first, last), ERRORS);
        assert!(!disagree(value(4.0, 0.1), value(4.28, 0.1)) && disagree(value(4.0, 0.1), value(4.29, 0.1)));
        assert!(!disagree(value(4.0, 0.1), Determined::AtLeast(9.0)));
        // Five replicas that drift alike, and five of which each drifts its own way: the mean is the same, and tells something where they agree.
        let of = |drifts: [f64; 5]| mean_drift(&drifts.map(|drift| value(drift, 0.05)), &[3.0; 5]);
        let (alike, apart) = (of([0.12, 0.16, 0.14, 0.13, 0.15]), of([0.54, -0.26, 0.34, -0.16, 0.24]));
        assert!([alike, apart].iter().all(|drift| (drift.value().unwrap() - 0.14).abs() < 1e-12));
        // s = √(0.001/4) and √(0.46/4), times √(2/5).
        assert!((alike.error().unwrap() - (0.001_f64 / 10.0).sqrt()).abs() < 1e-12);
        assert!((apart.error().unwrap() - (0.46_f64 / 10.0).sqrt()).abs() < 1e-12);
        assert!(is_more_than(alike, ERRORS) && !is_more_than(apart, ERRORS));
        // 0.04 ± 0.02 is a drift and less than 0.1, half of 0.2; 0.07 ± 0.02 may be more.
        let [slight, more] = [value(-0.04, 0.019), value(0.07, 0.02)];
        assert!(is_more_than(slight, ERRORS) && is_small(slight, 0.2) && !is_small(slight, 0.1));
        assert!(!is_small(more, 0.2) && !is_small(Determined::Unknown, 0.2));
        assert_eq!(mean_drift(&[value(0.1, 0.1), Determined::Unknown], &[3.0; 2]), Determined::Unknown);
        // Two values: χ² = Δ²/2e², more than 1 + 2 √2 from Δ = 2.77 e on.
        assert!(!scatter(&[value(4.0, 0.1), value(4.27, 0.1)]) && scatter(&[value(4.0, 0.1), value(4.28, 0.1)]));
        assert!(!scatter(&[value(4.0, 0.1), Determined::Unknown]) && !scatter(&[]));
        // Half of their difference is the error of the mean of two.
        assert!(error_between(&[value(4.0, 0.1), value(4.27, 0.1)], &[9.0; 2], false).is_none());
        assert!((error_between(&[value(4.0, 0.1), value(4.3, 0.1)], &[9.0; 2], false).unwrap() - 0.15).abs() < 1e-12);
        assert!(error_between(&[value(4.0, 0.1), Determined::AtMost(1.0)], &[9.0; 2], false).is_none());
        // Five replicas, whether they scatter by more than their errors or not: s = √(0.1/4), times √(4/2) for four degrees of freedom.
        let five = [4.0, 4.1, 4.2, 4.3, 4.4].map(|pka| value(pka, 0.2));
        assert!(error_between(&five, &[9.0; 5], false).is_none());
        assert!((error_between(&five, &[9.0; 5], true).unwrap() - (0.1_f64 / 4.0 / 5.0 * 2.0).sqrt()).abs() < 1e-12);
        let (one, two) = (BTreeSet::from(["a.gro"]), BTreeSet::from(["a.gro", "b.gro"]));
        let all = [five.to_vec()];
        let of = |all: &[Vec<Determined>], starts| from_replicas(all, &[9.0; 5], starts);
        assert!(of(&all, &two) && !of(&all, &one) && !of(&[], &two));
        assert!(!of(&[five[..4].to_vec()], &two));
        assert!(!of(&[[&five[..4], &[Determined::AtMost(1.0)]].concat()], &two));
        // Four short ones beside a long one are not five: 3² / (1 + 4 · ¼) = 4.5, and 2² / (1 + 4/16) = 3.2.
        assert!(from_replicas(&all, &[4.0, 2.0, 2.0, 2.0, 2.0], &two));
        assert!(!from_replicas(&all, &[4.0, 1.0, 1.0, 1.0, 1.0], &two));
    }

    /// Replicas count by their frames, in their mean as in its error: that of five long ones and five short ones is as large as it says, on average over many draws.
    #[test]
    fn replicas_count_by_their_frames() {
        let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        let frames = [6.0, 6.0, 6.0, 6.0, 6.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let (mut truly, mut stated, trials) = (0.0, 0.0, 20_000);
        for _ in 0..trials {
            let drawn: Vec<[f64; 2]> =
                frames.iter().map(|&frames| [random.sample::<f64, _>(StandardNormal), frames]).collect();
            let drifts: Vec<Determined> = drawn.iter().map(|[value, _]| self::value(*value, 0.1)).collect();
            truly += mean_drift(&drifts, &frames).value().unwrap().powi(2);
            stated += error_of_mean(&drawn).unwrap().powi(2);
        }
        // Σ w²/(Σ w)² = 185/35².
        let [truly, stated] = [truly, stated].map(|sum| sum / f64::from(trials));
        assert!((truly - 185.0 / 1225.0).abs() < 0.005, "{truly}");
        assert!((stated / truly - 1.0).abs() < 0.05, "{stated} {truly}");
        // One of no frames is nothing.
        let two = [[4.0, 2.0], [4.3, 2.0]];
        let three = [two.as_slice(), &[[9.0, 0.0]]].concat();
        assert!((error_of_mean(&three).unwrap() - error_of_mean(&two).unwrap()).abs() < 1e-12);
        assert_eq!(error_of_mean(&[[4.0, 2.0]]), None);
    }

    /// Each torsion has its own count; what no trajectory shows is no reason; held hydrogens may swing and not change sides.
    #[test]
    fn torsions_that_hardly_turn_and_hydrogens_that_go_anti_are_reasons() {
        let held = |farthest, changes| Some(Held { farthest, changes });
        let said = |torsions: Torsions| turned(&torsions);
        assert_eq!(said(Torsions::default()), [""; 0]);
        let enough = Torsions { first: Some(FEW), second: Some(FEW), end: Some(FEW), held: held(89.0, 0) };
        assert_eq!(said(enough), [""; 0]);
        for (torsions, start) in [
            (Torsions { first: Some(FEW - 1), ..enough }, ROTAMERS),
            (Torsions { second: Some(1), ..enough }, SECOND),
            (Torsions { end: Some(0), ..enough }, END),
        ] {
            let said = said(torsions);
            assert!(said.len() == 1 && said[0].starts_with(start) && !said[0].contains(','), "{said:?}");
        }
        let anti = said(Torsions { held: held(171.3, 1), ..enough });
        assert!(anti.len() == 1 && anti[0].contains("171 degrees") && anti[0].contains("once"), "{anti:?}");
    }

    #[test]
    fn a_verdict_names_all_reasons() {
        let mut found =
            Diagnostics { replicas: vec![vec![value(4.0, 0.1), value(4.2, 0.1)]], ..Diagnostics::default() };
        assert_eq!(found.verdict(), "converged");
        found.reasons = vec!["one".into(), "two".into()];
        assert_eq!(found.verdict(), "not converged: one; two");
        // |4.2 − 4.0|/√2.
        assert!((found.spread(0).unwrap() - 0.2 / 2f64.sqrt()).abs() < 1e-12 && found.spread(1).is_none());
    }
}
