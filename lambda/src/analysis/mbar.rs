//! Free energies of all states from the frames of all runs: the multistate Bennett acceptance ratio (Shirts & Chodera 2008,
//! doi:10.1063/1.2978177).
//!
//!   f_k = −ln Σ_n e^{−u_k(n)} / D_n,     D_n = Σ_k N_k e^{f_k − u_k(n)},     p_nk = N_k e^{f_k − u_k(n)} / D_n
//!
//! u_k(n): reduced energy that frame n has in state k; N_k: frames that were made in state k; p_nk: chance that frame n is one of state k;
//! p_nk/N_k is the weight of the frame in averages of that state. f is where the concave function Σ_k N_k f_k − Σ_n ln D_n has its maximum
//! (f_0 = 0). Newton's method with halved steps (`ascent.rs`) finds it from the trapezoid f_{k+1} − f_k = ½ (⟨Δu⟩_k + ⟨Δu⟩_{k+1}) and
//! some iterations of the first equation; it ends when no f changes by more than 1e-11. One step costs N K exponentials and N K²/2 products:
//! ten states and a million frames need about two seconds in all and 80 MB, which the p_nk stay in.
//!
//! Overlap O_kl is the share of the frames of state k that could as well be of state l: below 0.03 two neighbours are
//! hardly connected (Klimovich, Shirts & Mobley 2015, doi:10.1007/s10822-015-9840-9). Theirs, Σ_n p_nk p_nl / N_k, falls with the number of frames of state l,
//! so that a state with few frames would look as if it were far away. Here it is what they would find if all states had equally many frames,
//!
//!   O_kl = Σ_n r_nk r_nl / Σ_m r_nm,     r_nk = p_nk / N_k
//!
//! A state without any overlap keeps its f of the start; it matters to no average of a state with frames of its own.
//!
//! Energies are in units of RT, without unit.

use nalgebra::{DMatrix, DVector};
use thiserror::Error;

use super::ascent::{Concave, Maximum, maximise};

/// Below this overlap two states are hardly connected.
pub const CONNECTED: f64 = 0.03;
/// Iterations of the self-consistent equation before Newton's method.
const ITERATIONS: usize = 5;
/// Longest step of an f in one Newton step.
const LONGEST: f64 = 5.0;
/// Change of f that no longer counts.
const NEGLIGIBLE: f64 = 1e-11;
/// Part of the number of frames that a gradient has from rounding alone.
const ROUNDING: f64 = 1e-12;
/// Frames that are summed by themselves before their sums are added: rounding grows with the number of additions, and frames that are all alike, as those
/// of λ at 0 or 1, round all to the same side.
const TOGETHER: usize = 1024;
/// Part of the number of frames that the curvature gets on its diagonal: states without overlap have none of their own.
const RIDGE: f64 = 1e-12;

/// Why there are no free energies.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum MbarError {
    /// There is nothing to be solved.
    #[error("state {0} (counted from 0) has no frames")]
    Empty(usize),
    /// An energy is not a number, or their number is not right.
    #[error(
        "run {run} (counted from 0) has {found} reduced energies, not all of them finite perhaps; expected finite ones, {states} for each frame"
    )]
    Energies {
        /// Run.
        run: usize,
        /// Energies that it has.
        found: usize,
        /// States.
        states: usize,
    },
    /// The maximum was not found.
    #[error("the equations of MBAR did not converge")]
    Diverged,
}

/// The frames of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Sampled {
    /// State in which they were made.
    pub state: usize,
    /// Reduced energies u, `[frame · states + state]`.
    pub energies: Vec<f64>,
}

/// Solved equations.
#[derive(Clone, Debug, PartialEq)]
pub struct Mbar {
    /// f of each state; that of the first is zero.
    pub free_energies: Vec<f64>,
    /// N of each state.
    pub frames: Vec<f64>,
    /// p of each run, `[frame · states + state]`.
    pub chances: Vec<Vec<f64>>,
    /// O, `[state][state]`: symmetric, and each row adds up to 1.
    pub overlap: Vec<Vec<f64>>,
    /// Inverse of the curvature for all f but the first, bordered with zeros: how f answers to another gradient.
    pub response: DMatrix<f64>,
}

/// Solves the equations for `states` states, neighbours next to each other; the energies become the chances.
///
/// # Errors
/// [`MbarError`] for no states or one without frames, energies that are not finite, and equations that do not converge.
pub fn solve(runs: Vec<Sampled>, states: usize) -> Result<Mbar, MbarError> {
    if states == 0 {
        return Err(MbarError::Empty(0));
    }
    let mut frames = vec![0.0; states];
    for (run, sampled) in runs.iter().enumerate() {
        let found = sampled.energies.len();
        if sampled.state >= states || found % states != 0 || sampled.energies.iter().any(|u| !u.is_finite()) {
            return Err(MbarError::Energies { run, found, states });
        }
        frames[sampled.state] += (found / states) as f64;
    }
    if let Some(empty) = frames.iter().position(|n| *n == 0.0) {
        return Err(MbarError::Empty(empty));
    }
    let equations = Equations { runs: &runs, frames: &frames };
    let mut start = equations.trapezoid();
    for _ in 0..ITERATIONS {
        start = equations.iterate(&start);
    }
    let Maximum { parameters, point } = maximise(&equations, start[1..].to_vec()).ok_or(MbarError::Diverged)?;
    let free_energies: Vec<f64> = std::iter::once(0.0).chain(parameters).collect();
    let mut response = DMatrix::zeros(states, states);
    if states > 1 {
        let inverse = equations.factor(&point).ok_or(MbarError::Diverged)?.inverse();
        response.view_mut((1, 1), (states - 1, states - 1)).copy_from(&inverse);
    }
    let offsets: Vec<f64> = equations.offsets(&free_energies);
    let chances = runs.into_iter().map(|mut run| {
        run.energies.chunks_exact_mut(states).for_each(|row| {
            to_chances(row, &offsets);
        });
        run.energies
    });
    let chances: Vec<Vec<f64>> = chances.collect();
    let overlap = overlap(&chances, &frames);
    Ok(Mbar { free_energies, chances, overlap, response, frames })
}

/// O: Σ_n r_nk r_nl / Σ_m r_nm with r_nk = p_nk / N_k.
fn overlap(chances: &[Vec<f64>], frames: &[f64]) -> Vec<Vec<f64>> {
    let states = frames.len();
    let mut overlap = vec![vec![0.0; states]; states];
    for row in chances.iter().flat_map(|run| run.chunks_exact(states)) {
        let densities: Vec<f64> = row.iter().zip(frames).map(|(p, n)| p / n).collect();
        let all: f64 = densities.iter().sum();
        for (a, sums) in densities.iter().zip(&mut overlap) {
            densities.iter().zip(sums).for_each(|(b, sum)| *sum += a * b / all);
        }
    }
    overlap
}

/// Makes p of the energies of a frame, with f_k + ln N_k; ln D.
fn to_chances(row: &mut [f64], offsets: &[f64]) -> f64 {
    let mut most = f64::NEG_INFINITY;
    for (u, offset) in row.iter_mut().zip(offsets) {
        *u = offset - *u;
        most = most.max(*u);
    }
    let mut sum = 0.0;
    for u in row.iter_mut() {
        *u = (*u - most).exp();
        sum += *u;
    }
    row.iter_mut().for_each(|u| *u /= sum);
    most + sum.ln()
}

struct Equations<'a> {
    runs: &'a [Sampled],
    frames: &'a [f64],
}

/// The concave function and its derivatives.
struct Sums {
    value: f64,
    /// N_k − Σ_n p_nk.
    gradient: Vec<f64>,
    /// Σ_n p_nk p_nl.
    products: DMatrix<f64>,
}

impl Equations<'_> {
    fn offsets(&self, f: &[f64]) -> Vec<f64> {
        f.iter().zip(self.frames).map(|(f, n)| f + n.ln()).collect()
    }

    fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.runs.iter().flat_map(|run| run.energies.chunks_exact(self.frames.len()))
    }

    /// The start: half the sum of the mean differences of two neighbours in both.
    fn trapezoid(&self) -> Vec<f64> {
        let states = self.frames.len();
        let mut f = vec![0.0; states];
        for k in 0..states - 1 {
            let mean = |state: usize| {
                let own = self.runs.iter().filter(|run| run.state == state);
                let rows = own.flat_map(|run| run.energies.chunks_exact(states));
                rows.map(|row| row[k + 1] - row[k]).sum::<f64>() / self.frames[state]
            };
            f[k + 1] = f[k] + 0.5 * (mean(k) + mean(k + 1));
        }
        f
    }

    /// f_k ← f_k + ln(N_k / Σ_n p_nk), with f_0 = 0.
    fn iterate(&self, f: &[f64]) -> Vec<f64> {
        let (offsets, mut sums, mut row) = (self.offsets(f), vec![0.0; f.len()], vec![0.0; f.len()]);
        for energies in self.rows() {
            row.copy_from_slice(energies);
            to_chances(&mut row, &offsets);
            sums.iter_mut().zip(&row).for_each(|(sum, p)| *sum += p);
        }
        let step = |k: usize| f[k] + if sums[k] > 0.0 { (self.frames[k] / sums[k]).ln() } else { 0.0 };
        (0..f.len()).map(|k| step(k) - step(0)).collect()
    }

    /// The curvature for all f but the first, factored.
    fn factor(&self, sums: &Sums) -> Option<nalgebra::Cholesky<f64, nalgebra::Dyn>> {
        let size = self.frames.len() - 1;
        let ridge = RIDGE * self.frames.iter().sum::<f64>();
        let element = |k: usize, l: usize| {
            let own = if k == l { self.frames[k + 1] - sums.gradient[k + 1] + ridge } else { 0.0 };
            own - sums.products[(k + 1, l + 1)]
        };
        DMatrix::from_fn(size, size, element).cholesky()
    }
}

impl Concave for Equations<'_> {
    type Point = Sums;

    fn at(&self, parameters: &[f64]) -> Sums {
        let states = self.frames.len();
        let f: Vec<f64> = std::iter::once(0.0).chain(parameters.iter().copied()).collect();
        let offsets = self.offsets(&f);
        let value = f.iter().zip(self.frames).map(|(f, n)| f * n).sum();
        let mut sums = Sums { value, gradient: self.frames.to_vec(), products: DMatrix::zeros(states, states) };
        let mut row = vec![0.0; states];
        for some in self.runs.iter().flat_map(|run| run.energies.chunks(TOGETHER * states)) {
            let (mut logarithms, mut chances, mut products) = (0.0, vec![0.0; states], DMatrix::zeros(states, states));
            for energies in some.chunks_exact(states) {
                row.copy_from_slice(energies);
                logarithms += to_chances(&mut row, &offsets);
                for (k, p) in row.iter().enumerate() {
                    chances[k] += p;
                    let column = products.column_mut(k);
                    column.into_iter().zip(&row).take(k + 1).for_each(|(sum, other)| *sum += p * other);
                }
            }
            sums.value -= logarithms;
            sums.gradient.iter_mut().zip(&chances).for_each(|(sum, p)| *sum -= p);
            sums.products += products;
        }
        sums.products.fill_lower_triangle_with_upper_triangle();
        sums
    }

    fn value(sums: &Sums) -> f64 {
        sums.value
    }

    fn step(&self, sums: &Sums) -> Option<Vec<f64>> {
        if self.frames.len() == 1 {
            return Some(Vec::new());
        }
        // Divided by next to no curvature, rounding would move states without overlap for ever.
        let least = ROUNDING * self.frames.iter().sum::<f64>();
        if sums.gradient.iter().all(|g| g.abs() < least) {
            return Some(vec![0.0; self.frames.len() - 1]);
        }
        let step = self.factor(sums)?.solve(&DVector::from_column_slice(&sums.gradient[1..]));
        let part = (LONGEST / step.amax()).min(1.0);
        Some(step.iter().map(|s| part * s).collect())
    }

    fn is_negligible(step: &[f64], _: &[f64]) -> bool {
        step.iter().all(|s| s.abs() < NEGLIGIBLE)
    }
}

#[cfg(test)]
mod tests;
