//! What the runs of a titration say: by site, and by pair of sites.

use crate::evaluation::comparison::Comparison;
use crate::evaluation::finite_box::Solution;
use crate::evaluation::runs::Run;
use crate::record::{Labels, SiteRecord};
use lambda::analysis::counted::Resampling;
use lambda::analysis::hill::Determined;
use lambda::analysis::occupancy::{OCCUPIED, State};
use lambda::analysis::pairs::Pair;
use lambda::analysis::titration::{Convergence, Macroscopic, Titration};
use lambda::library::macroscopic_pk;

pub use super::diagnostics::Diagnostics;

use super::diagnostics::{self, LARGEST_ERROR};
use super::neighbours::Neighbours;

/// Number of bins in the histograms of λ.
pub const BINS: usize = 60;
/// Number of its errors beyond which a correlation is taken for an interaction.
pub const SIGNIFICANT: f64 = 3.0;
/// pH units beyond the pH values up to which a pKa may be extrapolated with a Hill coefficient of one.
const EXTRAPOLATED: f64 = 1.0;

/// How runs are evaluated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Start of each run that is left out at least (ps), the frame at its end included; so the first frame always is. More is left out where the
    /// beginning of a run differs from the rest of it.
    pub equilibration: f64,
    /// Weight above which a form is occupied.
    pub threshold: f64,
    /// Error of a pKa from which on it has not converged.
    pub largest_error: f64,
    /// Whether what a report shows and no verdict needs is computed, too: pairs of sites, of which there are many, and curves between the pH values.
    pub for_report: bool,
    /// Draws and seed of the bootstrap.
    pub resampling: Resampling,
    /// Whether every run gets its tables as Parquet files, too.
    pub parquet: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            equilibration: 0.0,
            threshold: OCCUPIED,
            largest_error: LARGEST_ERROR,
            for_report: true,
            resampling: Resampling::default(),
            parquet: true,
        }
    }
}

/// Everything the runs say.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// The runs, without their start.
    pub runs: Vec<Run>,
    /// Start of each run that was left out (ps).
    pub left_out: Vec<f64>,
    /// pH values, rising.
    pub ph: Vec<f64>,
    /// pH values of the smooth curves.
    pub grid: Vec<f64>,
    /// Overlap of each two neighbouring pH values, the smaller of both directions; empty where they are not connected.
    pub overlap: Vec<f64>,
    /// Round trips between the lowest and the highest pH of all walkers together; none without an exchange.
    pub round_trips: Option<usize>,
    /// Sites that titrate.
    pub sites: Vec<SiteResult>,
    /// Pairs of sites with two states of protonation, in the order of the sites.
    pub pairs: Vec<PairResult>,
    /// How they were evaluated.
    pub options: Options,
    /// What a reader should know before trusting the numbers, one sentence each.
    pub warnings: Vec<String>,
    /// From pKa values in the box to those in solution, if that was asked for.
    pub solution: Option<Solution>,
    /// The pKa values beside measured ones, if there are any.
    pub comparison: Option<Comparison>,
}

impl Evaluation {
    /// A pKa without what the size of the box does to it; none if that was not asked for.
    pub fn in_solution(&self, pka: Determined) -> Option<Determined> {
        self.solution.as_ref().map(|solution| solution.of(pka))
    }
}

/// What the runs say about one site.
#[derive(Debug, Clone)]
pub struct SiteResult {
    /// The site.
    pub record: SiteRecord,
    /// Indices of the runs that have it.
    pub runs: Vec<usize>,
    /// Whether its forms are the pure ones, to which frames are taken by ∂V/∂λ, and not parts of λ.
    pub pure: bool,
    /// Its titration, from one series for each run.
    pub titration: Titration,
    /// pKa against the time used.
    pub convergence: Convergence,
    /// Mean weight of each form at each pH: `[pH of titration.points][form]`.
    pub means: Vec<Vec<f64>>,
    /// Histogram of each weight at each pH: `[pH of titration.points][form][bin]`; see [`lambda::analysis::histogram::RANGE`].
    pub histograms: Vec<Vec<Vec<f64>>>,
    /// Protonation in each frame of each run: 0 protonated, …
    pub(super) protonation: Vec<Vec<State>>,
    /// Whether its numbers have converged.
    pub diagnostics: Diagnostics,
    /// What stands beside it, by the trajectories.
    pub neighbours: Neighbours,
    /// Populations of its pure forms by MBAR at each pH of [`Evaluation::grid`]; empty where the pH values are not connected, and without a report.
    pub curve: Vec<Vec<f64>>,
}

/// What the runs say about two sites together.
#[derive(Debug, Clone)]
pub struct PairResult {
    /// Indices of the sites.
    pub sites: [usize; 2],
    /// Correlation and interaction.
    pub pair: Pair,
}

impl Evaluation {
    /// What people call the sites.
    pub fn labels(&self) -> Labels {
        Labels::of_sites(self.sites.iter().map(|site| &site.record))
    }
}

impl SiteResult {
    /// `GLU 2`, or `LYS 7, 2nd proton`: the name of step `index` of the titration.
    pub fn step_name(&self, index: usize) -> String {
        let name = &self.record.name;
        match (self.titration.macroscopic.len(), index) {
            (1, _) => name.clone(),
            (_, 0) => format!("{name}, 1st proton"),
            (_, 1) => format!("{name}, 2nd proton"),
            (_, 2) => format!("{name}, 3rd proton"),
            (_, k) => format!("{name}, {}th proton", k + 1),
        }
    }

    /// `HSP → HSD`: the names of two forms.
    pub fn link_name(&self, from: usize, to: usize) -> String {
        format!("{} → {}", self.record.forms[from].name, self.record.forms[to].name)
    }

    /// pKa of the model compound between two numbers of protons lost, from the pK of the library.
    pub fn reference(&self, from: u32, to: u32) -> Option<f64> {
        if self.titration.macroscopic.len() == 1 && self.record.pka.is_some() {
            return self.record.pka;
        }
        macroscopic_pk(self.record.forms.iter().map(|form| (form.protons_lost, form.pk)), from, to)
    }

    /// pK of the model compound between two forms.
    pub fn microscopic_reference(&self, from: usize, to: usize) -> f64 {
        let [from, to] = [from, to].map(|form| &self.record.forms[form]);
        (to.pk - from.pk) / (f64::from(to.protons_lost) - f64::from(from.protons_lost))
    }

    /// pKa and Hill coefficient of a step.
    pub fn fit(&self, step: usize) -> HillFit {
        let points = &self.titration.points;
        HillFit::of(&self.titration.macroscopic[step], points.first().zip(points.last()).map(|(a, b)| [a.ph, b.ph]))
    }

    /// pKa values of all steps.
    pub fn pkas(&self) -> impl Iterator<Item = Determined> {
        (0..self.titration.macroscopic.len()).map(|step| self.fit(step).pka)
    }

    /// pKa of a step from the first and the last half of the runs.
    pub fn halves(&self, step: usize) -> Option<[Determined; 2]> {
        self.convergence.halves(step)
    }

    /// By how much the pKa of a step is larger in the last half of the runs than in the first, with its error, if that is more than so many `errors` and may matter where `largest` is the error that is asked for. Errors of the halves know of motions within them alone. Where the scatter of replicas is the error of what they keep, so is that of their drifts:
    /// a change is then one that they share, or one beyond the errors of the halves that is larger than `largest`.
    pub(super) fn significant_drift(&self, step: usize, errors: f64, largest: f64) -> Option<Determined> {
        let [first, last] = self.halves(step)?;
        let counts =
            |drift: &Determined| diagnostics::is_more_than(*drift, errors) && !diagnostics::is_small(*drift, largest);
        let whole = Some(diagnostics::drift(first, last)).filter(counts);
        let drifts = self.diagnostics.drifts.get(step).filter(|_| self.diagnostics.from_replicas);
        let Some(shared) = drifts
            .map(|drifts| diagnostics::mean_drift(drifts, &self.diagnostics.frames))
            .filter(|drift| drift.value().is_some())
        else {
            return whole;
        };
        let is_large = |drift: &Determined| drift.value().is_some_and(|drift| drift.abs() > largest);
        Some(shared).filter(counts).or(whole.filter(is_large))
    }

    /// How often the protonation changed along walkers, all runs together.
    pub fn transitions(&self) -> u64 {
        self.titration.points.iter().map(|point| point.occupancy.transitions).sum()
    }

    /// Share of frames in which no form is occupied, all runs together; `None` without frames.
    pub fn mixed(&self) -> Option<f64> {
        let frames: u64 = self.titration.points.iter().map(|point| point.occupancy.frames()).sum();
        let mixed: u64 = self.titration.points.iter().map(|point| point.occupancy.mixed).sum();
        (frames > 0).then(|| mixed as f64 / frames as f64)
    }
}

/// pKa and Hill coefficient of one step of a titration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HillFit {
    /// pKa; where the fractions do not determine both numbers, and outside of the pH values, that of a coefficient of one.
    pub pka: Determined,
    /// Hill coefficient, if it is determined.
    pub slope: Determined,
}

impl HillFit {
    /// What the fractions determine of a step between these pH values. One flank of a curve does not say how steep it is: with the coefficient of its far end, where
    /// groups are seldom and sampled badly, a pKa outside of the pH values would be anywhere.
    fn of(step: &Macroscopic, ph: Option<[f64; 2]>) -> Self {
        let is_outside = step.pka.value().zip(ph).is_some_and(|(pka, [low, high])| !(low..=high).contains(&pka));
        if step.pka == Determined::Unknown || (is_outside && step.pka_slope_one.value().is_some()) {
            return Self { pka: near_enough(step.pka_slope_one, ph), slope: Determined::Unknown };
        }
        Self { pka: step.pka, slope: step.slope.unwrap_or(Determined::Unknown) }
    }
}

/// A pKa of slope one; where it lies farther than [`EXTRAPOLATED`] outside of the pH values by more than two errors, the bound that they are: some
/// frames in which a group that never changes stands between its forms would else become a number with an error.
fn near_enough(pka: Determined, ph: Option<[f64; 2]>) -> Determined {
    let (Some([low, high]), Determined::Value { value, error }) = (ph, pka) else { return pka };
    if value + 2.0 * error < low - EXTRAPOLATED {
        Determined::AtMost(low)
    } else if value - 2.0 * error > high + EXTRAPOLATED {
        Determined::AtLeast(high)
    } else {
        pka
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As many samples with 0.1 % at pH 5.5 and with 4 % at 8 have a Hill coefficient of 0.65, with which the pKa would be 10.1; with one of 1 it is 9.4.
    #[test]
    fn a_pka_outside_of_the_ph_values_has_a_coefficient_of_one() {
        let value = |value: f64| Determined::Value { value, error: 0.2 };
        let step = |pka, one| Macroscopic {
            from: 0,
            to: 1,
            pka,
            slope: Some(value(0.6)),
            pka_slope_one: one,
            from_microscopic: Determined::Unknown,
            counted: [Determined::Unknown; 2],
        };
        let of = |pka, one| HillFit::of(&step(pka, one), Some([0.5, 8.0]));
        assert_eq!(of(value(8.6), value(8.4)), HillFit { pka: value(8.4), slope: Determined::Unknown });
        assert_eq!(of(value(10.2), value(9.5)).pka, Determined::AtLeast(8.0));
        assert_eq!(of(value(7.9), value(7.7)), HillFit { pka: value(7.9), slope: value(0.6) });
        assert_eq!(of(value(8.6), Determined::Unknown).pka, value(8.6));
    }

    /// Fractions of 0.999 at every pH from 1.25 on give a pKa of −1.45 ± 0.53 with a slope of one: that is the bound 1.25 and no number.
    #[test]
    fn a_pka_far_outside_of_the_ph_values_is_a_bound() {
        let of = |value: f64, error: f64| near_enough(Determined::Value { value, error }, Some([1.25, 7.0]));
        assert_eq!(of(-1.45, 0.53), Determined::AtMost(1.25));
        assert_eq!(of(10.0, 0.5), Determined::AtLeast(7.0));
        // Near the ends, or too uncertain to say that it is not near, it stays what it is.
        for [value, error] in [[0.5, 0.2], [7.9, 0.1], [-1.45, 1.0], [4.0, 0.1]] {
            assert_eq!(of(value, error), Determined::Value { value, error });
        }
        assert_eq!(near_enough(Determined::AtLeast(3.0), Some([1.25, 7.0])), Determined::AtLeast(3.0));
    }
}
