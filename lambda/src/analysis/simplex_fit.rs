//! The free energy of a model compound over the weights of its forms, from averages at fixed weights.
//!
//!   F(λ) = Σ_k c_k b_k(λ)   ([`SimplexBasis`]),   y_α = ⟨∂V/∂λ_α − ∂V/∂λ_0⟩ = Σ_k c_k (∂_α − ∂_0) b_k,   α ≥ 1
//!
//! Least squares with the covariance S_w of the n − 1 averages of each window w, which come from the same frames:
//!
//!   minimise χ² = Σ_w (y − A c)ᵀ S_w⁻¹ (y − A c),   covariance of c: (Σ_w Aᵀ S_w⁻¹ A)⁻¹
//!
//! solved by QR of the whitened rows L⁻¹A, S = L Lᵀ, never by AᵀA. Where χ² per degree of freedom exceeds one the covariance is
//! multiplied by it. The degree is chosen by the corrected Akaike criterion, χ² + 2p + 2p(p+1)/(N−p−1) with p coefficients and
//! N averages (Hurvich & Tsai 1989, doi:10.1093/biomet/76.2.297).
//!
//! Where forms are the same chemically c = E s ([`Space`]): s is fitted, and c and its covariance follow.
//!
//! Units: kJ/mol.

use std::ops::RangeInclusive;

use nalgebra::{DMatrix, DVector};
use thiserror::Error;

use super::blocks::{SeriesError, mean};
use super::symmetry::{Space, Symmetry};
use crate::bias::simplex::{LARGEST_INTERIOR, SimplexBasis};

/// Correlations of the averages of a window are taken as no stronger than this: from few frames they are uncertain themselves.
const STRONGEST: f64 = 0.98;
/// Smallest ratio of diagonal elements of R: coefficients beyond it cannot be told apart in double precision.
const SINGULAR: f64 = 1e-11;
/// Weights closer than this are the same.
const SAME: f64 = 1e-9;

/// Why no free energy can be fitted.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum FitError {
    /// There are fewer averages than coefficients.
    #[error("{found} averages for {needed} coefficients")]
    TooFew {
        /// Averages.
        found: usize,
        /// Coefficients.
        needed: usize,
    },
    /// A window has values that are not finite, no errors, or another number of forms than the first.
    #[error(
        "window {index} (counted from 0), weights {weights:?}: expected finite averages of {expected} forms with a positive definite covariance"
    )]
    Window {
        /// Index.
        index: usize,
        /// Its weights.
        weights: Vec<f64>,
        /// Forms of the first window.
        expected: usize,
    },
    /// The windows do not tell the coefficients apart.
    #[error("the windows do not determine a polynomial of degree {0}")]
    Singular(usize),
    /// The windows leave out a form.
    #[error("no window has weight 1 of form {0} (counted from 0)")]
    NoVertex(usize),
}

/// A number with its standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Uncertain {
    /// Value.
    pub value: f64,
    /// Standard error.
    pub error: f64,
}

/// Averages at fixed weights.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Weight of each form.
    pub weights: Vec<f64>,
    /// ⟨∂V/∂λ_α − ∂V/∂λ_0⟩ for α = 1, 2, …, kJ/mol.
    pub slopes: Vec<f64>,
    /// Their covariance.
    pub covariance: DMatrix<f64>,
    /// Frames.
    pub frames: usize,
    /// Independent samples, of the average that has the fewest.
    pub samples: f64,
}

impl Window {
    /// Averages of the series ∂V/∂λ_α − ∂V/∂λ_0, α = 1, 2, …: errors from their correlation in time, correlations among them from their frames.
    ///
    /// # Errors
    /// As [`mean`].
    pub fn from_series(weights: &[f64], series: &[Vec<f64>]) -> Result<Self, SeriesError> {
        let means = series.iter().map(|one| mean(one)).collect::<Result<Vec<_>, _>>()?;
        let frames = series.iter().map(Vec::len).min().unwrap_or(0);
        let moment = |a: usize, b: usize| -> f64 {
            let pairs = series[a].iter().zip(&series[b]);
            pairs.map(|(x, y)| (x - means[a].value) * (y - means[b].value)).sum()
        };
        let covariance = DMatrix::from_fn(means.len(), means.len(), |a, b| {
            let square = means[a].error * means[b].error;
            if a == b {
                return square;
            }
            square * (moment(a, b) / (moment(a, a) * moment(b, b)).sqrt()).clamp(-STRONGEST, STRONGEST)
        });
        Ok(Self {
            weights: weights.to_vec(),
            slopes: means.iter().map(|mean| mean.value).collect(),
            covariance,
            frames,
            samples: means.iter().map(|mean| mean.effective_samples).fold(f64::INFINITY, f64::min),
        })
    }

    /// Several runs at the same weights as one: the mean, each by its frames; `None` for none.
    pub fn pool(runs: &[Self]) -> Option<Self> {
        let first = runs.first()?;
        let frames: usize = runs.iter().map(|run| run.frames).sum();
        let (mut slopes, mut covariance) = (vec![0.0; first.slopes.len()], 0.0 * &first.covariance);
        for run in runs {
            let share = run.frames as f64 / frames as f64;
            slopes.iter_mut().zip(&run.slopes).for_each(|(sum, slope)| *sum += share * slope);
            covariance += share * share * &run.covariance;
        }
        let samples = runs.iter().map(|run| run.samples).sum();
        Some(Self { weights: first.weights.clone(), slopes, covariance, frames, samples })
    }

    /// ⟨∂V/∂λ_to − ∂V/∂λ_from⟩, kJ/mol.
    pub fn slope(&self, from: usize, to: usize) -> Uncertain {
        let n = self.slopes.len();
        let factor = DVector::from_fn(n, |k, _| f64::from(u8::from(k + 1 == to)) - f64::from(u8::from(k + 1 == from)));
        let value = factor.iter().zip(&self.slopes).map(|(f, y)| f * y).sum();
        Uncertain { value, error: (factor.transpose() * &self.covariance * &factor)[(0, 0)].max(0.0).sqrt() }
    }
}

/// A free energy over the weights with the uncertainty of its coefficients.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    /// Terms.
    pub basis: SimplexBasis,
    /// Coefficients, kJ/mol.
    pub coefficients: Vec<f64>,
    /// Their covariance.
    pub covariance: DMatrix<f64>,
}

impl Surface {
    /// Standard errors of the coefficients.
    pub fn errors(&self) -> Vec<f64> {
        self.covariance.diagonal().iter().map(|v| v.max(0.0).sqrt()).collect()
    }

    /// F(to) − F(from).
    pub fn between(&self, from: &[f64], to: &[f64]) -> Uncertain {
        let (a, b) = (self.basis.values(from), self.basis.values(to));
        self.combination(|k| b[k] - a[k])
    }

    /// ∂F/∂λ_to − ∂F/∂λ_from at `weights`.
    pub fn slope(&self, weights: &[f64], from: usize, to: usize) -> Uncertain {
        let (n, gradients) = (self.basis.n_forms(), self.basis.gradients(weights));
        self.combination(|k| gradients[k * n + to] - gradients[k * n + from])
    }

    /// Free energy of each form relative to form 0.
    pub fn forms(&self) -> Vec<Uncertain> {
        let n = self.basis.n_forms();
        (0..n).map(|form| self.between(&vertex(n, 0), &vertex(n, form))).collect()
    }

    /// Standard error of F(to) − F(from) where it is largest over pairs of forms.
    pub fn largest_error(&self) -> f64 {
        let n = self.basis.n_forms();
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (a, b)));
        pairs.map(|(a, b)| self.between(&vertex(n, a), &vertex(n, b)).error).fold(0.0, f64::max)
    }

    fn combination(&self, factor: impl Fn(usize) -> f64) -> Uncertain {
        let factors = DVector::from_fn(self.coefficients.len(), |k, _| factor(k));
        let value = factors.iter().zip(&self.coefficients).map(|(f, c)| f * c).sum();
        Uncertain { value, error: (factors.transpose() * &self.covariance * &factors)[(0, 0)].max(0.0).sqrt() }
    }
}

/// A fitted free energy.
#[derive(Clone, Debug, PartialEq)]
pub struct SimplexFit {
    /// The free energy; its covariance is multiplied by χ² per degree of freedom where that exceeds one.
    pub surface: Surface,
    /// What was fitted.
    pub space: Space,
    /// χ² of the fit.
    pub chi_squared: f64,
    /// Averages minus free parameters.
    pub degrees_of_freedom: usize,
}

impl SimplexFit {
    /// χ² per degree of freedom; 1 where there is none left.
    pub fn reduced_chi_squared(&self) -> f64 {
        if self.degrees_of_freedom == 0 { 1.0 } else { self.chi_squared / self.degrees_of_freedom as f64 }
    }

    /// Corrected Akaike criterion; infinite where averages are too few for it.
    fn criterion(&self) -> f64 {
        let p = self.space.dimension() as f64;
        let left = self.degrees_of_freedom as f64 - 1.0;
        if left > 0.0 { self.chi_squared + 2.0 * p + 2.0 * p * (p + 1.0) / left } else { f64::INFINITY }
    }
}

/// All weight on one form.
pub fn vertex(n_forms: usize, form: usize) -> Vec<f64> {
    (0..n_forms).map(|k| if k == form { 1.0 } else { 0.0 }).collect()
}

/// The point at `t` on the edge from form `a` to form `b`.
pub fn on_edge(n_forms: usize, [a, b]: [usize; 2], t: f64) -> Vec<f64> {
    let mut weights = vec![0.0; n_forms];
    (weights[a], weights[b]) = (clean(1.0 - t), clean(t));
    weights
}

/// The edges of the simplex, each once, from the form that comes first.
pub fn edges(n_forms: usize) -> Vec<[usize; 2]> {
    (0..n_forms).flat_map(|a| (a + 1..n_forms).map(move |b| [a, b])).collect()
}

/// Windows: the points `t` of every edge, each once, and inside (three forms or more) the multiples of 1/`parts` with no weight of zero.
pub fn windows(n_forms: usize, t: &[f64], parts: usize) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = Vec::new();
    for edge in edges(n_forms) {
        for &t in t {
            let weights = on_edge(n_forms, edge, t);
            if !all.iter().any(|known| known.iter().zip(&weights).all(|(a, b)| (a - b).abs() < SAME)) {
                all.push(weights);
            }
        }
    }
    if n_forms > 2 {
        for composition in compositions(n_forms, parts).into_iter().filter(|one| one.iter().all(|&k| k > 0)) {
            all.push(composition.iter().map(|&k| clean(k as f64 / parts as f64)).collect());
        }
    }
    all
}

/// Every way to write `total` as a sum of `parts` whole numbers, in order.
pub(crate) fn compositions(parts: usize, total: usize) -> Vec<Vec<usize>> {
    if parts <= 1 {
        return vec![vec![total; parts]];
    }
    let first = |k: usize| compositions(parts - 1, total - k).into_iter().map(move |rest| [vec![k], rest].concat());
    (0..=total).flat_map(first).collect()
}

/// The number without the noise of binary fractions.
fn clean(x: f64) -> f64 {
    (x * 1e9).round() / 1e9
}

/// Weighted least squares in a space.
///
/// # Errors
/// [`FitError`] for fewer averages than coefficients, a window that cannot be used, windows that do not tell the coefficients apart, or a form
/// without a window of its own.
pub fn fit(windows: &[Window], space: &Space) -> Result<SimplexFit, FitError> {
    let (basis, n_forms) = (space.basis, space.basis.n_forms());
    let (rows, needed) = (windows.len() * (n_forms - 1), space.dimension());
    let has = |form: usize| windows.iter().any(|w| w.weights.get(form).is_some_and(|&x| x > 1.0 - SAME));
    if let Some(class) = space.symmetry.classes().iter().find(|class| !class.iter().any(|&form| has(form))) {
        return Err(FitError::NoVertex(class[0]));
    }
    if rows < needed {
        return Err(FitError::TooFew { found: rows, needed });
    }
    let (mut design, mut values) = (DMatrix::zeros(rows, needed), DVector::zeros(rows));
    for (index, window) in windows.iter().enumerate() {
        let (a, y) = whitened(basis, window).ok_or_else(|| FitError::Window {
            index,
            weights: window.weights.clone(),
            expected: n_forms,
        })?;
        design.rows_mut(index * (n_forms - 1), n_forms - 1).copy_from(&(a * &space.free));
        values.rows_mut(index * (n_forms - 1), n_forms - 1).copy_from(&y);
    }
    let qr = design.clone().qr();
    let r = qr.r();
    let diagonal = r.diagonal().map(f64::abs);
    let inverse = r
        .try_inverse()
        .filter(|_| diagonal.min() > SINGULAR * diagonal.max())
        .ok_or(FitError::Singular(basis.degree()))?;
    let coefficients = &inverse * (qr.q().transpose() * &values);
    let chi_squared = (values - design * &coefficients).norm_squared();
    let degrees_of_freedom = rows - needed;
    let scale = if degrees_of_freedom == 0 { 1.0 } else { (chi_squared / degrees_of_freedom as f64).max(1.0) };
    let coefficients: Vec<f64> = (&space.free * coefficients).iter().copied().collect();
    let spread = &space.free * inverse;
    let surface = Surface { basis, coefficients, covariance: scale * &spread * spread.transpose() };
    Ok(SimplexFit { surface, space: space.clone(), chi_squared, degrees_of_freedom })
}

/// Rows L⁻¹A and averages L⁻¹y of a window.
fn whitened(basis: SimplexBasis, window: &Window) -> Option<(DMatrix<f64>, DVector<f64>)> {
    let (n, m) = (basis.n_forms(), basis.n_forms() - 1);
    let finite = window.weights.iter().chain(&window.slopes).chain(window.covariance.iter()).all(|x| x.is_finite());
    let fits = window.weights.len() == n && window.slopes.len() == m && window.covariance.shape() == (m, m);
    if !(finite && fits) {
        return None;
    }
    let l = window.covariance.clone().cholesky()?.l();
    let gradients = basis.gradients(&window.weights);
    let a = DMatrix::from_fn(m, basis.len(), |row, k| gradients[k * n + row + 1] - gradients[k * n]);
    Some((l.solve_lower_triangular(&a)?, l.solve_lower_triangular(&DVector::from_column_slice(&window.slopes))?))
}

/// The fit of the degrees, along the edges and inside, that the corrected Akaike criterion prefers.
///
/// # Errors
/// As [`fit`] for the lowest degree; others that the windows cannot determine are not tried.
pub fn fit_best(
    windows: &[Window],
    degrees: RangeInclusive<usize>,
    symmetry: &Symmetry,
) -> Result<SimplexFit, FitError> {
    let n_forms = symmetry.n_forms();
    let mut best = fit(windows, &symmetry.space(SimplexBasis::new(n_forms, *degrees.start())))?;
    for degree in degrees {
        let inside = if n_forms > 2 && degree >= 3 { LARGEST_INTERIOR } else { 0 };
        for interior in 0..=inside {
            match fit(windows, &symmetry.space(SimplexBasis::new(n_forms, degree).with_interior(interior))) {
                Ok(candidate) if candidate.criterion() < best.criterion() => best = candidate,
                Ok(_) => {}
                Err(FitError::TooFew { .. } | FitError::Singular(_)) => break,
                Err(error) => return Err(error),
            }
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests;
