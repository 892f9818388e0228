//! The part of the error that the statistics of runs do not show.
//!
//! The whole estimate is made again from parts of the data, and once with polynomials of one degree more:
//!
//!   starts   the runs of each start by themselves, free runs dealt to them in turn
//!   halves   first and second halves of all runs
//!   degree   F of degree D + 1 against F
//!
//! Parts scatter by their statistical errors σ_i alone if nothing is wrong. What their variance s² has beyond that leaves an error of the mean of I parts
//!
//!   √max(0, (s² − Σ σ_i²/I)/I)
//!
//! and of the degree the difference counts beyond √(σ_{D+1}² − σ_D²), by which nested fits scatter. The error is the larger one of starts
//! and halves, which see the same slow motions, and that of the degree, added as squares. Units: kJ/mol.
//!
//! The verdict wants more of the halves: a free energy that was still changing differs between them in a direction, which an error cannot make good. So
//! their difference is kept by itself ([`Systematic::apart`]).

use super::{Estimate, FinishedRound, Inputs, SYSTEMATIC, Window};
use lambda::analysis::flatness::{Prior, Round, estimate};
use lambda::analysis::simplex_fit::{Surface, Uncertain, fit};
use lambda::analysis::symmetry::Space;

/// What the errors of an entry cover, in words.
pub const COVERS: &str = "free_energy_errors: statistics of windows and free runs; systematic_errors: differences between starts, between halves of \
    runs and between polynomials of this and one more degree, beyond statistics; neither covers motions slower than all runs";

/// What they cover where systematic ones were not estimated: in the entries that the rounds of a calibration start from, which is not finished.
pub const STATISTICS: &str = "free_energy_errors: statistics of windows and of the free runs so far, widened by what halves and starts differ by; \
    systematic errors were not estimated; motions slower than all runs are not covered";

/// Systematic errors of the free energy of each form against form 0 (kJ/mol).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Systematic {
    /// From differences between starts.
    pub starts: Vec<f64>,
    /// From differences between halves.
    pub halves: Vec<f64>,
    /// From the polynomial.
    pub degree: Vec<f64>,
    /// Free energy of the second halves minus that of the first, of each form against form 0, with the errors of both; empty if halves are too short.
    pub apart: Vec<Uncertain>,
}

impl Systematic {
    /// All together.
    pub fn total(&self) -> Vec<f64> {
        let slow = self.starts.iter().zip(&self.halves).map(|(a, b)| a.max(*b));
        slow.zip(&self.degree).map(|(slow, degree)| slow.hypot(*degree)).collect()
    }

    /// Of a finished estimate. A part that cannot be evaluated, because it is too short or says nothing of a form, counts as no difference.
    pub(super) fn of(found: &Estimate, inputs: &Inputs) -> Self {
        let (n_forms, space) = (inputs.entry.forms.len(), &found.fit.space);
        let temperature = inputs.temperature();
        let starts = found.windows.iter().map(|window| window.runs.len()).min().unwrap_or(0);
        let of_starts = (0..starts).filter_map(|start| {
            let windows = found.windows.iter().map(|window| window.of_start(start));
            let scattered = |window: Window| Window { covariance: found.scatter * &window.covariance, ..window };
            let windows: Option<Vec<Window>> = windows.map(|window| window.map(scattered)).collect();
            let dealt = |round: &FinishedRound| {
                let runs = round.runs.iter().enumerate().filter(|(run, _)| run % starts == start);
                part(space, round, runs.map(|(_, run)| run.clone()).collect())
            };
            again(space, &windows?, found.rounds.iter().filter_map(dealt).collect(), temperature)
        });
        let of_halves = (0..2).filter_map(|half| {
            let windows: Option<Vec<Window>> = found.windows.iter().map(|window| window.of_half(half)).collect();
            let cut = |round: &FinishedRound| {
                let run = |run: &Vec<Vec<f64>>| run.iter().map(|series| halved(series, half).to_vec()).collect();
                part(space, round, round.runs.iter().map(run).collect())
            };
            again(space, &windows?, found.rounds.iter().filter_map(cut).collect(), temperature)
        });
        let (of_starts, of_halves): (Vec<_>, Vec<_>) = (of_starts.collect(), of_halves.collect());
        let higher = Self::higher(found, temperature);
        let now = found.surface.forms();
        let degree = |form: usize| higher.as_ref().map_or(0.0, |higher| beyond(now[form], higher.forms()[form]));
        Self {
            starts: (0..n_forms).map(|form| spread(&of_starts, form)).collect(),
            halves: (0..n_forms).map(|form| spread(&of_halves, form)).collect(),
            degree: (0..n_forms).map(degree).collect(),
            apart: match &of_halves[..] {
                [first, second] => {
                    (0..n_forms).map(|form| difference(first.forms()[form], second.forms()[form])).collect()
                }
                _ => Vec::new(),
            },
        }
    }

    /// The estimate with polynomials of one degree more; `None` if the windows do not determine them.
    fn higher(found: &Estimate, temperature: f64) -> Option<Surface> {
        let basis = found.surface.basis;
        let more = lambda::bias::SimplexBasis::new(basis.n_forms(), basis.degree() + 1).with_interior(basis.interior());
        let space = found.fit.space.symmetry.space(more);
        let windows: Vec<Window> = found.windows.iter().map(|window| window.average.clone()).collect();
        let round =
            |done: &FinishedRound| Round::new(&space, &basis.raised(&done.round.coefficients, &more), &done.runs).ok();
        again(&space, &windows, found.rounds.iter().filter_map(round).collect(), temperature)
    }
}

/// A round made of other series; `None` if they are too short.
fn part(space: &Space, round: &FinishedRound, runs: Vec<Vec<Vec<f64>>>) -> Option<Round> {
    Round::new(space, &round.round.coefficients, &runs).ok()
}

fn halved(series: &[f64], half: usize) -> &[f64] {
    let (first, second) = series.split_at(series.len() / 2);
    if half == 0 { first } else { second }
}

/// The free energy from windows and rounds.
fn again(space: &Space, windows: &[Window], rounds: Vec<Round>, temperature: f64) -> Option<Surface> {
    let surface = fit(windows, space).ok()?.surface;
    if rounds.is_empty() {
        return Some(surface);
    }
    estimate(space, &rounds, &Prior::from_surface(&surface, space, SYSTEMATIC)?, temperature).ok()
}

/// Error of the mean of parts that scatter more than their errors say.
fn spread(parts: &[Surface], form: usize) -> f64 {
    let parts: Vec<Uncertain> = parts.iter().map(|surface| surface.forms()[form]).collect();
    let count = parts.len() as f64;
    if parts.len() < 2 {
        return 0.0;
    }
    let mean = parts.iter().map(|part| part.value).sum::<f64>() / count;
    let variance = parts.iter().map(|part| (part.value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let expected = parts.iter().map(|part| part.error.powi(2)).sum::<f64>() / count;
    ((variance - expected).max(0.0) / count).sqrt()
}

/// `second` minus `first`, which are independent.
fn difference(first: Uncertain, second: Uncertain) -> Uncertain {
    Uncertain { value: second.value - first.value, error: first.error.hypot(second.error) }
}

/// A difference beyond that by which nested fits scatter.
fn beyond(now: Uncertain, higher: Uncertain) -> f64 {
    let expected = (higher.error.powi(2) - now.error.powi(2)).max(0.0);
    ((higher.value - now.value).powi(2) - expected).max(0.0).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use lambda::bias::SimplexBasis;
    use nalgebra::DMatrix;

    fn surface(value: f64, error: f64) -> Surface {
        let covariance = DMatrix::from_element(1, 1, error * error);
        Surface { basis: SimplexBasis::new(2, 1), coefficients: vec![value], covariance }
    }

    /// ± 2 with errors of 1: s² = 8, and 7 of it beyond statistics, of which the mean has half.
    #[test]
    fn scatter_beyond_statistics_is_an_error() {
        let parts = [surface(-2.0, 1.0), surface(2.0, 1.0)];
        assert!((spread(&parts, 1) - 3.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!([spread(&parts, 0), spread(&parts[..1], 1)], [0.0, 0.0]);
        assert_eq!(spread(&[surface(-0.5, 1.0), surface(0.5, 1.0)], 1), 0.0);
        let u = |value, error| Uncertain { value, error };
        assert!((beyond(u(1.0, 3.0), u(7.0, 5.0)) - 20_f64.sqrt()).abs() < 1e-12);
        assert_eq!(beyond(u(1.0, 3.0), u(4.0, 5.0)), 0.0);
    }

    #[test]
    fn slow_motions_count_once_and_the_polynomial_beside_them() {
        let found = Systematic {
            starts: vec![0.0, 3.0],
            halves: vec![0.0, 1.0],
            degree: vec![0.0, 4.0],
            ..Systematic::default()
        };
        assert_eq!(found.total(), [0.0, 5.0]);
    }
}
