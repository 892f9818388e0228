//! Populations at every pH from sums over drawn frames of all pH values: one step of Newton's method from the solution of MBAR.

use nalgebra::{DMatrix, DVector};

use super::StateSeries;
use super::frame_sums::FrameSums;
use crate::analysis::reweighting::Question;

/// How populations follow from sums over frames of all pH values.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// How f answers to a gradient.
    response: DMatrix<f64>,
    /// −∂ ln Σ x / ∂f, `[(state · pH + pH) · pH + f]`.
    answers: Vec<f64>,
}

impl Link {
    /// Of series of states below `count`, the runs of this question; `None` without MBAR.
    pub(super) fn new(question: &Question<'_>, series: &[StateSeries<'_>], count: usize) -> Option<Self> {
        let size = question.ph.len();
        let (mut answers, mut sums) = (vec![0.0; count * size * size], vec![0.0; count * size]);
        for (series, run) in series.iter().zip(&question.runs) {
            let rows = run.everywhere.chunks_exact(size).zip(run.chances.chunks_exact(size));
            for (state, (all, chances)) in series.states.iter().zip(rows) {
                let Some(state) = state.map(usize::from).filter(|state| *state < count) else { continue };
                for (target, x) in all.iter().enumerate().filter(|(_, x)| **x > 0.0) {
                    sums[state * size + target] += x;
                    let own = &mut answers[(state * size + target) * size..][..size];
                    own.iter_mut().zip(chances).for_each(|(sum, p)| *sum += x * p);
                }
            }
        }
        let each = answers.chunks_exact_mut(size).zip(&sums).filter(|(_, sum)| **sum > 0.0);
        each.for_each(|(own, sum)| own.iter_mut().for_each(|p| *p /= sum));
        Some(Self { response: question.response?.clone(), answers })
    }

    /// ln P of every state at every pH but for a constant, `[pH][state]`, for rows of [`FrameSums`], one for each series.
    pub(super) fn logarithms(&self, rows: &[Vec<f64>], places: &[usize], size: usize, count: usize) -> Vec<Vec<f64>> {
        let (mut gradient, mut all) = (DVector::zeros(size), vec![0.0; count * size]);
        for (row, &place) in rows.iter().zip(places) {
            let sums = FrameSums::of_row(row, size);
            gradient[place] += sums.frames;
            gradient.iter_mut().zip(sums.chances).for_each(|(g, p)| *g -= p);
            all.iter_mut().zip(sums.everywhere).for_each(|(all, x)| *all += x);
        }
        let change = &self.response * gradient;
        let of = |target: usize, state: usize| {
            let answers = &self.answers[(state * size + target) * size..][..size];
            all[state * size + target].ln() - answers.iter().zip(&change).map(|(p, f)| p * f).sum::<f64>()
        };
        (0..size).map(|target| (0..count).map(|state| of(target, state)).collect()).collect()
    }
}
