//! What must hold for a calibration to be called one, and what does not.
//!
//! - halves: the free energy from the first halves of all runs and that from the second agree;
//! - windows: ⟨∂V/∂λ⟩ of both halves of every window agree, and of its starts, and the polynomial follows the windows;
//! - free runs: flat within the tolerance, with transitions enough to know, and their halves agree;
//! - errors: statistical and systematic together within the tolerance.
//!
//! Differences count as such below a probability of [`SIGNIFICANT`]. Windows hold up to χ² = 4 for each degree of freedom, since runs of
//! hundreds of picoseconds do not see the slow part of their own error. Errors of the free energy are then widened by the root of the largest of
//! the three χ², as the Particle Data Group does with averages that scatter (doi:10.1103/PhysRevD.110.030001, section 5.2.2), and it is the widened errors that must be
//! within the tolerance. Beyond, errors are off by more than a factor of two, and something else is wrong.
//!
//! χ² of starts widens the errors of the windows before anything is fitted to them. From [`STARTS`] starts on it may be any: how much conformations that last
//! longer than a run change an average is then measured by enough of them to be an error like others.
//!
//! Halves of windows that scatter a little more than they should are covered by wider errors. Runs that still relax are not: all of them change in one direction,
//! each by about its own error, which a drift makes larger, so that χ² hardly tells. Their free energies differ by many errors, because they add up.

use super::{ENOUGH, Estimate, Inputs, Measured};
use crate::record::counted;
use lambda::analysis::agreement::{Agreement, Difference, SIGNIFICANT};
use lambda::analysis::simplex_fit::SimplexFit;
use lambda::analysis::tails;

/// Largest χ² of halves, of starts and of the fit for each degree of freedom with which errors, widened by its root, still say what they cover.
const LARGEST_CHI: f64 = 4.0;

/// Runs of each window from which on their scatter is the error of the windows, however large it is.
const STARTS: usize = 4;

/// χ² per degree of freedom by which starts differ, if that is no accident and errors must be widened for it; else 1.
pub fn scatter(windows: &[Measured]) -> f64 {
    let starts: Vec<Option<Difference>> = windows.iter().map(Measured::starts).collect();
    Agreement::of(&starts).filter(|starts| !starts.holds()).map_or(1.0, |starts| starts.reduced().max(1.0))
}

/// Whether two parts of runs differ beyond chance.
fn differ(difference: &Difference) -> bool {
    difference.probability() < SIGNIFICANT
}

/// Whether a polynomial follows the windows that it was fitted to.
pub(super) fn follows(fit: &SimplexFit) -> bool {
    fit.reduced_chi_squared() <= LARGEST_CHI
        || tails::chi_squared(fit.chi_squared, fit.degrees_of_freedom) >= SIGNIFICANT
}

/// Whether the windows agree.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Windows {
    /// Halves of each run; `None` if they are too short.
    pub halves: Option<Agreement>,
    /// Runs of each window; `None` for single ones.
    pub starts: Option<Agreement>,
    /// Runs of a window.
    count: usize,
}

impl Windows {
    /// Of the windows of an estimate.
    pub fn of(found: &Estimate) -> Self {
        let halves: Vec<Option<Difference>> = found.windows.iter().flat_map(|window| window.halves()).collect();
        let starts: Vec<Option<Difference>> = found.windows.iter().map(|window| window.starts()).collect();
        let count = found.windows.iter().map(|window| window.runs.len()).min().unwrap_or(1);
        Self { halves: Agreement::of(&halves), starts: Agreement::of(&starts), count }
    }

    /// The window that is farthest off, of `found`.
    fn worst(found: &Estimate, agreement: &Agreement, runs: usize) -> String {
        let worst = agreement.worst.and_then(|(index, p)| Some((found.windows.get(index / runs)?, p)));
        worst.map_or(String::new(), |(window, p)| {
            format!(", most at the weights {:?} (p = {})", window.average.weights, probability(p))
        })
    }
}

/// A probability in few digits.
pub fn probability(p: f64) -> String {
    if p < 1e-3 { format!("{p:.0e}") } else { format!("{p:.3}") }
}

/// Factor of the errors of the free energy, 1 or more. They are widened by the roots of χ² of starts and of the fit already; halves may ask for more.
pub fn widening(found: &Estimate) -> f64 {
    let asked = Windows::of(found).halves.filter(|halves| !halves.holds()).map_or(1.0, |halves| halves.reduced());
    (asked / (found.scatter * found.fit.reduced_chi_squared().max(1.0))).max(1.0).sqrt()
}

/// Why a result is preliminary, all of it; empty if it is not.
pub fn reasons(found: &Estimate, inputs: &Inputs) -> Vec<String> {
    let mut reasons = of_rounds(found, inputs);
    let windows = Windows::of(found);
    let chi = |agreement: &Agreement| {
        let (chi, p) = (agreement.reduced(), probability(agreement.probability));
        format!("χ² per degree of freedom {chi:.2}, p = {p}")
    };
    match &windows.halves {
        None => reasons.push("windows are too short to compare their halves".into()),
        Some(halves) if !halves.holds() && halves.reduced() > LARGEST_CHI => {
            let worst = Windows::worst(found, halves, windows.count);
            reasons.push(format!("first and second halves of windows differ ({}){worst}", chi(halves)));
        }
        Some(_) => reasons.extend(relaxing(found, inputs)),
    }
    match &windows.starts {
        None if windows.count < 2 => {
            reasons.push("every window was run once, so that starts cannot be compared".into())
        }
        None => reasons.push("windows are too short to compare their starts".into()),
        Some(starts) if windows.count < STARTS && !starts.holds() && starts.reduced() > LARGEST_CHI => {
            let worst = Windows::worst(found, starts, 1);
            reasons.push(format!("starts of windows differ ({}){worst}", chi(starts)));
        }
        Some(_) => {}
    }
    if !follows(&found.fit) {
        let reduced = found.fit.reduced_chi_squared();
        let p = probability(tails::chi_squared(found.fit.chi_squared, found.fit.degrees_of_freedom));
        reasons.push(format!(
            "the polynomial does not follow the windows (χ² per degree of freedom {reduced:.2}, p = {p})"
        ));
    }
    reasons
}

/// The form whose free energy differs most between the halves of all runs, if that is no accident.
pub(super) fn relaxing(found: &Estimate, inputs: &Inputs) -> Option<String> {
    let (apart, widening) = (&found.systematic.apart, widening(found));
    // Form 0 is what the others are compared with.
    let known = apart.iter().zip(&inputs.entry.forms).filter(|(apart, _)| apart.error > 0.0);
    let each = known.map(|(apart, form)| (apart.value, apart.value / (widening * apart.error), &form.name));
    let (value, z, name) = each.max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))?;
    // The largest of several is as improbable as any of them.
    let p = (tails::chi_squared(z * z, 1) * (apart.len() as f64 - 1.0)).min(1.0);
    (p < SIGNIFICANT).then(|| {
        let value = value / found.molecules;
        format!(
            "first and second halves of all runs differ in the free energy of {name} ({value:+.2} kJ/mol, {z:+.1} standard errors, p = {})",
            probability(p)
        )
    })
}

/// What free runs, those there are and more of them, can put right.
pub(super) fn of_rounds(found: &Estimate, inputs: &Inputs) -> Vec<String> {
    let (tolerance, mut reasons) = (inputs.tolerance(), Vec::new());
    let Some(last) = found.rounds.last() else {
        return vec!["windows only; no free runs have shown that they are flat".into()];
    };
    let (value, uncertainty) = (last.deviation.value, last.deviation.error);
    if last.round.transitions < ENOUGH {
        reasons
            .push(format!("{} in the last round, fewer than {ENOUGH}", counted(last.round.transitions, "transition")));
    }
    if value + uncertainty > tolerance {
        reasons.push(format!(
            "free runs deviate by {value:.2} ± {uncertainty:.2} kJ/mol, with the error more than {tolerance} kJ/mol"
        ));
    }
    if let Some(halves) = last.halves.filter(differ) {
        let (z, p) = (halves.z, probability(halves.probability()));
        reasons.push(format!("first and second halves of the free runs differ ({z:+.1} standard errors, p = {p})"));
    }
    let systematic = found.systematic.total().into_iter().fold(0.0, f64::max);
    let error = widening(found) * found.surface.largest_error();
    if error.hypot(systematic) > tolerance {
        reasons.push(format!(
            "the free energy between forms is known to {error:.2} (statistical) and {systematic:.2} kJ/mol (systematic) only"
        ));
    }
    reasons
}
