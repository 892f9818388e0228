//! Two sites that feel each other have a correlation of their protonation, and a titration of both together.
//!
//!   φ = Σ_pH N (p₁₁ − p₁· p·₁) / Σ_pH N √(p₁·(1−p₁·) p·₁(1−p·₁))
//!
//! is the correlation of being deprotonated at the same pH (a pooled φ would show the pH, not the interaction). Its error is the
//! larger of the block bootstrap and that of independent sites. The joint states follow
//!
//!   Z = 1 + 10^{pH−pK₁} + 10^{pH−pK₂} + 10^{2pH−pK₁−pK₂−w}
//!
//! (Bashford & Karplus 1991, doi:10.1021/j100175a091): pK₁ and pK₂ are those of each site while the other is protonated, w (units
//! of pK) is positive if the second proton goes harder. The macroscopic pKa values of the pair follow from Z. All populations are those of the pure
//! forms of both sites, by MBAR where the runs are connected ([`super::reweighting`]); the error of φ counts the samples of each pH alone.

use super::counted::{Counted, Inefficiency, Resampling, StateSeries, value_or_nan};
use super::determined::Determined;
use super::equilibrium::{self, Equilibrium, Populations};
use super::occupancy::{State, joint};
use super::reweighting::Question;

/// Protonation classes of two sites in one run: 0 protonated, 1 deprotonated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairSeries<'a> {
    /// pH.
    pub ph: f64,
    /// First site.
    pub first: &'a [State],
    /// Second site, at the same times.
    pub second: &'a [State],
}

/// Protons lost by the joint states 00, 01, 10, 11.
const PROTONS: [u32; 4] = [0, 1, 1, 2];
/// κ of the joint states: pK₁, pK₂, w.
const CONSTANTS: [[f64; 4]; 3] = [[-1.0, 0.0, 1.0, 0.0], [-1.0, 1.0, 0.0, 0.0], [1.0, -1.0, -1.0, 1.0]];

/// How two sites act on each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Pair {
    /// Correlation φ of their protonation.
    pub correlation: Determined,
    /// pKa of each while the other is protonated.
    pub pka: [Determined; 2],
    /// Interaction w, in units of pK.
    pub interaction: Determined,
    /// Macroscopic pKa values of the two together.
    pub macroscopic: [Determined; 2],
    /// The joint fit, if there was one.
    pub equilibrium: Option<Equilibrium>,
}

impl Pair {
    /// Whether the correlation exceeds `factor` of its errors, and the frames tell something of the interaction: sites that never share a pH at which both
    /// are partly protonated have correlations that are small numbers with smaller errors.
    pub fn significant(&self, factor: f64) -> bool {
        let is_known = self.interaction != Determined::Unknown;
        is_known && matches!(self.correlation, Determined::Value { value, error } if value.abs() > factor * error)
    }
}

/// Evaluates two sites of two protonation states each, with the inefficiencies of both ([`super::titration::Titration`]); `question` is what the same
/// runs say about both together, and without it frames count as they are.
pub fn evaluate(
    series: &[PairSeries<'_>],
    inefficiencies: [&[Inefficiency]; 2],
    question: Option<&Question<'_>>,
    resampling: Resampling,
) -> Pair {
    // The joint state forgets as slowly as the slower one of the two sites, or, if they do not feel each other, up to twice as fast: errors are too large by √2 at most. Its own inefficiency
    // would be exact for sites that change often, and unknown for one that hardly does, whose frames look like those of the other.
    let [first, second] = inefficiencies;
    let slower = |(a, b): (&Inefficiency, &Inefficiency)| Inefficiency {
        frames: a.frames.max(b.frames),
        is_borrowed: a.is_borrowed || b.is_borrowed,
    };
    let slower: Vec<Inefficiency> = first.iter().zip(second).map(slower).collect();
    let states: Vec<Vec<State>> = series.iter().map(|s| joint(s.first, s.second, 2)).collect();
    let list: Vec<StateSeries<'_>> =
        series.iter().zip(&states).map(|(s, states)| StateSeries { ph: s.ph, states }).collect();
    let of_first = series.iter().map(|s| StateSeries { ph: s.ph, states: s.first }).collect();
    let of_second = series.iter().map(|s| StateSeries { ph: s.ph, states: s.second }).collect();
    let counted = Counted::with_inefficiencies(&list, 4, &slower, question).made_of(&[of_first, of_second]);
    let numbers = |points: &[Populations], fitted: Option<&Equilibrium>| -> [Determined; 6] {
        let unknown = Determined::Unknown;
        let [first, second, interaction] = CONSTANTS.map(|c| fitted.map_or(unknown, |fitted| fitted.combination(&c)));
        let [upper, lower] =
            [(0, 1), (1, 2)].map(|(from, to)| fitted.map_or(unknown, |fitted| fitted.macroscopic(from, to)));
        [phi(points), first, second, interaction, upper, lower]
    };
    let draws = counted.draws(resampling, |points| {
        numbers(points, equilibrium::fit(points, &PROTONS).as_ref()).map(value_or_nan).to_vec()
    });
    let populations = counted.populations();
    let equilibrium = equilibrium::fit(&populations, &PROTONS);
    let weighted = numbers(counted.weighted(), equilibrium::fit(counted.weighted(), &PROTONS).as_ref());
    let mbar = numbers(&populations, equilibrium.as_ref());
    let [correlation, first, second, interaction, upper, lower] =
        std::array::from_fn(|k| counted.number(weighted[k], mbar[k], draws.get(k)));
    Pair { correlation, pka: [first, second], interaction, macroscopic: [upper, lower], equilibrium }
}

/// φ with the error of independent sites; unknown where one of them never changes.
fn phi(points: &[Populations]) -> Determined {
    let mut ph: Vec<f64> = points.iter().map(|p| p.ph).collect();
    ph.sort_by(f64::total_cmp);
    ph.dedup();
    let (mut covariance, mut scale, mut square) = (0.0, 0.0, 0.0);
    for ph in ph {
        let sum = |k: usize| points.iter().filter(|p| p.ph == ph).map(|p| p.samples[k]).sum::<f64>();
        let samples: [f64; 4] = std::array::from_fn(sum);
        let total: f64 = samples.iter().sum();
        if total <= 0.0 {
            continue;
        }
        let (first, second) = ((samples[2] + samples[3]) / total, (samples[1] + samples[3]) / total);
        let variance = first * (1.0 - first) * second * (1.0 - second);
        covariance += total * (samples[3] / total - first * second);
        scale += total * variance.sqrt();
        square += total * variance;
    }
    if scale > 0.0 {
        Determined::Value { value: covariance / scale, error: square.sqrt() / scale }
    } else {
        Determined::Unknown
    }
}

#[cfg(test)]
mod tests;
