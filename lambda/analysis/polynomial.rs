//! Polynomials through measured means: ⟨∂V/∂λ⟩ against λ, with errors of everything that follows from them.
//!
//!   minimise χ² = Σ_i [(y_i − Σ_k c_k x_i^k)/σ_i]²,   covariance C = (AᵀA)⁻¹,  A_ik = x_i^k/σ_i
//!
//! solved by QR of A, never by AᵀA. Where χ² per degree of freedom exceeds one the covariance is multiplied by it. The
//! degree is chosen by the corrected Akaike criterion, χ² + 2p + 2p(p+1)/(n−p−1) with p coefficients and n points (Hurvich &
//! Tsai 1989, doi:10.1093/biomet/76.2.297).
//!
//! Units: those of y; x has none.

use nalgebra::{DMatrix, DVector};
use thiserror::Error;

use crate::library::{Calibration, Provenance};

/// A measured mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DataPoint {
    /// Where.
    pub x: f64,
    /// Mean.
    pub y: f64,
    /// Its standard error, above 0.
    pub error: f64,
}

/// Why no polynomial can be fitted.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PolynomialError {
    /// Fewer different x than coefficients.
    #[error("{found} different x for {needed} coefficients")]
    TooFewPoints {
        /// Different x.
        found: usize,
        /// Coefficients.
        needed: usize,
    },
    /// A point that is not finite or has no error.
    #[error("point {index} (counted from 0): x = {}, y = {}, error = {}; expected finite numbers and an error above 0", point.x, point.y, point.error)]
    BadPoint {
        /// Index.
        index: usize,
        /// The point.
        point: DataPoint,
    },
    /// The coefficients cannot be told apart in double precision.
    #[error("the points do not determine a polynomial of degree {0}")]
    Singular(usize),
    /// The windows leave out a form.
    #[error("windows from {0} to {1} do not reach from λ = 0 to λ = 1")]
    Range(f64, f64),
}

/// A fitted polynomial Σ_k c_k x^k.
#[derive(Clone, Debug, PartialEq)]
pub struct PolynomialFit {
    /// Coefficients c_k.
    pub coefficients: Vec<f64>,
    /// Covariance of the coefficients, multiplied by χ² per degree of freedom where that exceeds one.
    pub covariance: DMatrix<f64>,
    /// χ² of the fit.
    pub chi_squared: f64,
    /// Points minus coefficients.
    pub degrees_of_freedom: usize,
    /// Smallest and largest x.
    pub range: [f64; 2],
}

/// A number with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Uncertain {
    /// Value.
    pub value: f64,
    /// Standard error.
    pub error: f64,
}

impl PolynomialFit {
    /// χ² per degree of freedom; 1 where there is none left.
    pub fn reduced_chi_squared(&self) -> f64 {
        if self.degrees_of_freedom == 0 { 1.0 } else { self.chi_squared / self.degrees_of_freedom as f64 }
    }

    /// Standard errors of the coefficients.
    pub fn errors(&self) -> Vec<f64> {
        self.covariance.diagonal().iter().map(|v| v.sqrt()).collect()
    }

    /// Value at `x`.
    pub fn value(&self, x: f64) -> Uncertain {
        self.combination(|k| x.powi(k as i32))
    }

    /// Integral from `a` to `b`.
    pub fn integral(&self, a: f64, b: f64) -> Uncertain {
        self.combination(|k| (b.powi(k as i32 + 1) - a.powi(k as i32 + 1)) / (k as f64 + 1.0))
    }

    fn combination(&self, factor: impl Fn(usize) -> f64) -> Uncertain {
        let factors = DVector::from_fn(self.coefficients.len(), |k, _| factor(k));
        let value = factors.iter().zip(&self.coefficients).map(|(f, c)| f * c).sum();
        Uncertain { value, error: (factors.transpose() * &self.covariance * &factors)[(0, 0)].max(0.0).sqrt() }
    }

    /// Corrected Akaike criterion; infinite where points are too few for it.
    fn criterion(&self) -> f64 {
        let p = self.coefficients.len() as f64;
        let left = self.degrees_of_freedom as f64 - 1.0;
        if left > 0.0 { self.chi_squared + 2.0 * p + 2.0 * p * (p + 1.0) / left } else { f64::INFINITY }
    }

    /// The entry of the library that this fit of ⟨∂V/∂λ⟩ (kJ/mol) gives; χ² of `provenance` is set to that of the fit.
    ///
    /// # Errors
    /// [`PolynomialError::Range`] if the windows do not reach from 0 to 1.
    pub fn calibration(&self, provenance: Provenance) -> Result<Calibration, PolynomialError> {
        if self.range[0] > 0.0 || self.range[1] < 1.0 {
            return Err(PolynomialError::Range(self.range[0], self.range[1]));
        }
        Ok(Calibration {
            dvdl: self.coefficients.clone(),
            errors: self.errors(),
            free_energy_error: self.integral(0.0, 1.0).error,
            range: self.range,
            provenance: Provenance { reduced_chi_squared: self.reduced_chi_squared(), ..provenance },
        })
    }
}

/// Weighted least squares with a polynomial of `degree`.
///
/// # Errors
/// [`PolynomialError`] for bad points, or fewer different x than coefficients.
pub fn fit(points: &[DataPoint], degree: usize) -> Result<PolynomialFit, PolynomialError> {
    let valid = |p: &DataPoint| p.x.is_finite() && p.y.is_finite() && p.error.is_finite() && p.error > 0.0;
    if let Some(index) = points.iter().position(|p| !valid(p)) {
        return Err(PolynomialError::BadPoint { index, point: points[index] });
    }
    let needed = degree + 1;
    let found = different_x(points);
    if found < needed {
        return Err(PolynomialError::TooFewPoints { found, needed });
    }
    let design = DMatrix::from_fn(points.len(), needed, |i, k| points[i].x.powi(k as i32) / points[i].error);
    let values = DVector::from_fn(points.len(), |i, _| points[i].y / points[i].error);
    let qr = design.clone().qr();
    let inverse = qr.r().try_inverse().ok_or(PolynomialError::Singular(degree))?;
    let coefficients = &inverse * (qr.q().transpose() * &values);
    if coefficients.iter().any(|c| !c.is_finite()) {
        return Err(PolynomialError::Singular(degree));
    }
    let chi_squared = (values - design * &coefficients).norm_squared();
    let degrees_of_freedom = points.len() - needed;
    let scale = if degrees_of_freedom == 0 { 1.0 } else { (chi_squared / degrees_of_freedom as f64).max(1.0) };
    let fold = |start: f64, pick: fn(f64, f64) -> f64| points.iter().map(|p| p.x).fold(start, pick);
    Ok(PolynomialFit {
        coefficients: coefficients.iter().copied().collect(),
        covariance: scale * &inverse * inverse.transpose(),
        chi_squared,
        degrees_of_freedom,
        range: [fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max)],
    })
}

/// The fit of the degree, at most `max_degree`, that the corrected Akaike criterion prefers.
///
/// # Errors
/// As [`fit`]; degrees that the points cannot determine are not tried.
pub fn fit_best(points: &[DataPoint], max_degree: usize) -> Result<PolynomialFit, PolynomialError> {
    let mut best = fit(points, 0)?;
    for degree in 1..=max_degree.min(different_x(points) - 1) {
        let candidate = fit(points, degree)?;
        if candidate.criterion() < best.criterion() {
            best = candidate;
        }
    }
    Ok(best)
}

fn different_x(points: &[DataPoint]) -> usize {
    let mut x: Vec<f64> = points.iter().map(|p| p.x).collect();
    x.sort_by(f64::total_cmp);
    x.dedup();
    x.len()
}

#[cfg(test)]
mod tests {
    use rand_distr::{Distribution, StandardNormal};

    use super::*;
    use crate::analysis::synthetic::random;

    const EXACT: [f64; 4] = [-310.0, 540.0, -35.0, 12.0];

    fn exact(x: f64) -> f64 {
        EXACT.iter().rev().fold(0.0, |sum, c| sum * x + c)
    }

    /// 25 windows from −0.1 to 1.1 with noise of their errors.
    fn windows(seed: u64) -> Vec<DataPoint> {
        let mut rng = random(seed);
        (0..25)
            .map(|i| {
                let (x, error) = (-0.1 + 0.05 * f64::from(i), 0.4 + 0.02 * f64::from(i % 5));
                let noise: f64 = StandardNormal.sample(&mut rng);
                DataPoint { x, y: exact(x) + error * noise, error }
            })
            .collect()
    }

    #[test]
    fn exact_data_give_the_polynomial_back() {
        let points: Vec<DataPoint> = windows(0).iter().map(|p| DataPoint { y: exact(p.x), ..*p }).collect();
        for degree in [3, 6] {
            let fitted = fit(&points, degree).unwrap();
            for (k, c) in fitted.coefficients.iter().enumerate() {
                // Condition of the design for degree 6 on 1.2: about 1e5.
                assert!((c - EXACT.get(k).unwrap_or(&0.0)).abs() < 1e-8, "degree {degree}, c_{k} = {c}");
            }
        }
    }

    #[test]
    fn errors_and_correlations_are_those_of_repeated_experiments() {
        let runs = 2000;
        let integral = -310.0 + 270.0 - 35.0 / 3.0 + 3.0;
        let (mut pull_c, mut pull_i, mut pull_v) = (0.0, 0.0, 0.0);
        for seed in 0..runs {
            let fitted = fit(&windows(seed), 3).unwrap();
            // χ² scaling would bias the pulls: undo it.
            let scale = fitted.reduced_chi_squared().max(1.0).sqrt();
            let pull = |u: Uncertain, exact: f64| ((u.value - exact) / u.error * scale).powi(2) / runs as f64;
            pull_c += pull(Uncertain { value: fitted.coefficients[2], error: fitted.errors()[2] }, EXACT[2]);
            pull_i += pull(fitted.integral(0.0, 1.0), integral);
            pull_v += pull(fitted.value(1.0), exact(1.0));
        }
        // Mean of χ² of one degree over 2000 runs: 1 ± 0.032; four times.
        for pull in [pull_c, pull_i, pull_v] {
            assert!((pull - 1.0).abs() < 0.13, "{pull_c} {pull_i} {pull_v}");
        }
    }

    #[test]
    fn the_degree_is_found() {
        let mut found = [0; 9];
        for seed in 0..200 {
            found[fit_best(&windows(seed), 8).unwrap().coefficients.len() - 1] += 1;
        }
        // The cubic term (12 λ³ against errors of 0.4) is seen always or nearly; one more term is accepted in about 8 %.
        assert!(found[..2].iter().all(|&n| n == 0), "{found:?}");
        assert!(found[3] >= 140, "{found:?}");
    }

    #[test]
    fn too_small_errors_are_widened() {
        let points: Vec<DataPoint> = windows(1).iter().map(|p| DataPoint { error: p.error / 10.0, ..*p }).collect();
        let (wide, honest) = (fit(&points, 3).unwrap(), fit(&windows(1), 3).unwrap());
        assert!(wide.reduced_chi_squared() > 30.0);
        assert!((wide.errors()[1] / honest.errors()[1] - 1.0).abs() < 0.5);
    }

    #[test]
    fn degenerate_points_are_refused() {
        let points = windows(2);
        assert_eq!(fit(&points[..3], 3), Err(PolynomialError::TooFewPoints { found: 3, needed: 4 }));
        assert_eq!(fit(&[points[0]; 9], 1), Err(PolynomialError::TooFewPoints { found: 1, needed: 2 }));
        assert_eq!(fit_best(&[], 4), Err(PolynomialError::TooFewPoints { found: 0, needed: 1 }));
        let mut bad = points.clone();
        bad[4].error = 0.0;
        assert!(matches!(fit(&bad, 2), Err(PolynomialError::BadPoint { index: 4, .. })));
        bad[4] = DataPoint { y: f64::NAN, ..points[4] };
        assert!(fit_best(&bad, 2).is_err());
        assert!(fit_best(&points[..2], 6).is_ok(), "degrees beyond the points are not tried");
        let provenance = crate::library::tests::calibration().provenance;
        assert_eq!(
            fit(&points[4..], 2).unwrap().calibration(provenance).unwrap_err(),
            PolynomialError::Range(points[4].x, points[24].x)
        );
    }
}
