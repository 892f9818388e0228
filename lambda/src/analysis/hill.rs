//! pKa and Hill slope from deprotonated fractions at several pH.
//!
//!   S(pH) = 1 / (1 + 10^{n (pKa − pH)}),    ln L = Σ_i N_i [S_i ln S(pH_i) + (1 − S_i) ln(1 − S(pH_i))]
//!
//! S_i counts as N_i independent samples of a binomial variable (N_i: effective samples), so that points at 0 and 1 enter with
//! the weight they have. ln L is concave in n and n·pKa: Newton's method finds its only maximum, if there is one. Whether there
//! is one shows beforehand (Albert & Anderson 1984, doi:10.1093/biomet/71.1.1): when no pH lies above a deprotonated and below
//! a protonated sample, the slope has no upper bound, and the pKa is known to lie between two pH only. That is then the result, as far as the
//! number of samples supports it, with the pKa for n = 1 beside it. Errors follow from the curvature of ln L, widened by the deviance per degree of freedom where that
//! exceeds one. [`crate::analysis::titration`] adds the block bootstrap.

use thiserror::Error;

use super::ascent::{Concave, Maximum, maximise};
pub use super::determined::Determined;

/// Difference of ln L at which a pKa is ruled out: ln 20, so that a form which a pKa would show is missed by chance in one of 20 cases.
const DOUBT: f64 = 2.995_732_273_553_991;
/// pH units beyond the data within which bounds are looked for.
const FAR: f64 = 20.0;

/// A fraction at one pH.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TitrationPoint {
    /// pH.
    pub ph: f64,
    /// Deprotonated fraction S, 0…1.
    pub deprotonated: f64,
    /// Independent samples behind it; a point of 0 samples is ignored.
    pub samples: f64,
}

/// Why no curve can be fitted at all.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum HillError {
    /// No point has samples.
    #[error("no titration point with samples")]
    NoPoints,
    /// A point is out of range.
    #[error("titration point {index} (counted from 0): pH {}, S {}, samples {}; expected a finite pH, S in 0…1, samples ≥ 0", point.ph, point.deprotonated, point.samples)]
    BadPoint {
        /// Index.
        index: usize,
        /// The point.
        point: TitrationPoint,
    },
}

/// A fitted titration curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HillFit {
    /// pKa.
    pub pka: Determined,
    /// Hill slope n.
    pub slope: Determined,
    /// pKa if n = 1, as for a single site.
    pub pka_slope_one: Determined,
    /// Deviance 2 Σ N [S ln(S/S_fit) + (1 − S) ln((1 − S)/(1 − S_fit))] of the curve with free slope, a χ² that single samples far
    /// from the pKa do not dominate; `None` where the curve has no maximum.
    pub deviance: Option<f64>,
    /// Number of different pH values minus the two parameters.
    pub degrees_of_freedom: usize,
}

/// S(pH) of the curve.
pub fn deprotonated_fraction(ph: f64, pka: f64, slope: f64) -> f64 {
    logistic(slope * std::f64::consts::LN_10 * (ph - pka))
}

/// Fits pKa and slope to `points`; several points of one pH are one point with the samples of all.
///
/// # Errors
/// [`HillError`] for points out of range or none. Data that do not determine pKa or slope are no error: [`HillFit`] says so.
pub fn fit(points: &[TitrationPoint]) -> Result<HillFit, HillError> {
    let merged = merge(points)?;
    let degrees_of_freedom = merged.len().saturating_sub(2);
    let undetermined = |pka, pka_slope_one| HillFit {
        pka,
        slope: Determined::Unknown,
        pka_slope_one,
        deviance: None,
        degrees_of_freedom,
    };
    let with = |outcome: fn(&TitrationPoint) -> bool| {
        let at: Vec<f64> = merged.iter().filter(|p| outcome(p)).map(|p| p.ph).collect();
        at.first().copied().zip(at.last().copied())
    };
    let (first, last) = (merged[0].ph, merged[merged.len() - 1].ph);
    let Some((lowest_deprotonated, highest_deprotonated)) = with(|p| p.deprotonated > 0.0) else {
        let bound = supported(&merged, Determined::AtLeast(last));
        return Ok(undetermined(bound, bound));
    };
    let Some((lowest_protonated, highest_protonated)) = with(|p| p.deprotonated < 1.0) else {
        let bound = supported(&merged, Determined::AtMost(first));
        return Ok(undetermined(bound, bound));
    };
    if merged.len() == 1 {
        return Ok(undetermined(Determined::Unknown, slope_one(&merged)));
    }
    if highest_protonated <= lowest_deprotonated {
        let pka = supported(&merged, bracket(&merged, highest_protonated, lowest_deprotonated));
        return Ok(undetermined(pka, slope_one(&merged)));
    }
    if highest_deprotonated <= lowest_protonated {
        return Ok(undetermined(Determined::Unknown, Determined::Unknown));
    }
    Ok(free_slope(&merged, degrees_of_freedom).unwrap_or(undetermined(Determined::Unknown, Determined::Unknown)))
}

/// The points, checked, by ascending pH, each pH once; points without samples are left out.
fn merge(points: &[TitrationPoint]) -> Result<Vec<TitrationPoint>, HillError> {
    let valid = |p: &TitrationPoint| {
        p.ph.is_finite() && (0.0..=1.0).contains(&p.deprotonated) && p.samples.is_finite() && p.samples >= 0.0
    };
    if let Some(index) = points.iter().position(|p| !valid(p)) {
        return Err(HillError::BadPoint { index, point: points[index] });
    }
    let mut sorted: Vec<TitrationPoint> = points.iter().copied().filter(|p| p.samples > 0.0).collect();
    sorted.sort_by(|a, b| a.ph.total_cmp(&b.ph));
    let mut merged: Vec<TitrationPoint> = Vec::new();
    for point in sorted {
        match merged.last_mut() {
            Some(last) if last.ph == point.ph => {
                let samples = last.samples + point.samples;
                last.deprotonated = (last.deprotonated * last.samples + point.deprotonated * point.samples) / samples;
                last.samples = samples;
            }
            _ => merged.push(point),
        }
    }
    if merged.is_empty() { Err(HillError::NoPoints) } else { Ok(merged) }
}

/// What is known of the pKa when S jumps: between the last protonated and the first deprotonated pH, or, where both are one pH
/// with a fraction between, between its neighbours.
fn bracket(points: &[TitrationPoint], highest_protonated: f64, lowest_deprotonated: f64) -> Determined {
    if highest_protonated < lowest_deprotonated {
        return Determined::Between(highest_protonated, lowest_deprotonated);
    }
    let below = points.iter().rev().find(|p| p.ph < highest_protonated).map(|p| p.ph);
    let above = points.iter().find(|p| p.ph > lowest_deprotonated).map(|p| p.ph);
    match (below, above) {
        (Some(low), Some(high)) => Determined::Between(low, high),
        (Some(low), None) => Determined::AtLeast(low),
        (None, Some(high)) => Determined::AtMost(high),
        (None, None) => Determined::Unknown,
    }
}

/// What is left of bounds when as many samples as there are may miss a form by chance: a pKa that is ruled out makes the data less likely than
/// e^−[`DOUBT`] of the best one of slope one. A bound that says nothing about the pH values there are is none.
fn supported(points: &[TitrationPoint], bounds: Determined) -> Determined {
    let (first, last) = (points[0].ph, points[points.len() - 1].ph);
    let (curve, ln10) = (Curve::new(points, false), std::f64::consts::LN_10);
    let log_likelihood = |pka: f64| curve.at(&[ln10 * (curve.centre - pka), ln10]).log_likelihood;
    // ln L is concave in the pKa: what is allowed is an interval around its maximum.
    let (low_end, high_end) = (first - FAR, last + FAR);
    let best = (0..=1000).map(|k| low_end + (high_end - low_end) * f64::from(k) / 1000.0);
    let best = best.reduce(|a, b| if log_likelihood(b) > log_likelihood(a) { b } else { a }).unwrap_or(first);
    let allowed = |pka: f64| log_likelihood(pka) > log_likelihood(best) - DOUBT;
    let edge = |mut inside: f64, mut outside: f64| {
        (!allowed(outside)).then(|| {
            for _ in 0..60 {
                let middle = 0.5 * (inside + outside);
                if allowed(middle) { inside = middle } else { outside = middle }
            }
            // Two decimals, on the safe side.
            if outside < inside { (100.0 * outside).floor() / 100.0 } else { (100.0 * outside).ceil() / 100.0 }
        })
    };
    let low = |bound: f64| edge(best, low_end).map(|edge| edge.min(bound)).filter(|edge| *edge >= first);
    let high = |bound: f64| edge(best, high_end).map(|edge| edge.max(bound)).filter(|edge| *edge <= last);
    let (low, high) = match bounds {
        Determined::AtLeast(bound) => (low(bound), None),
        Determined::AtMost(bound) => (None, high(bound)),
        Determined::Between(below, above) => (low(below), high(above)),
        other => return other,
    };
    match (low, high) {
        (Some(low), Some(high)) => Determined::Between(low, high),
        (Some(low), None) => Determined::AtLeast(low),
        (None, Some(high)) => Determined::AtMost(high),
        (None, None) => Determined::Unknown,
    }
}

/// ln L and its derivatives for S = logistic(a + b x), x = pH − centre.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    log_likelihood: f64,
    gradient: [f64; 2],
    /// Elements aa, ab, bb of minus the second derivatives.
    curvature: [f64; 3],
    deviance: f64,
}

/// ln L as a function of a and b, or of a alone.
struct Curve<'a> {
    points: &'a [TitrationPoint],
    centre: f64,
    slope_is_free: bool,
}

impl<'a> Curve<'a> {
    fn new(points: &'a [TitrationPoint], slope_is_free: bool) -> Self {
        Self { points, centre: points.iter().map(|p| p.ph).sum::<f64>() / points.len() as f64, slope_is_free }
    }
}

impl Concave for Curve<'_> {
    type Point = Sums;

    fn at(&self, parameters: &[f64]) -> Sums {
        let (a, b) = (parameters[0], parameters[1]);
        let mut sums = Sums::default();
        for point in self.points {
            let x = point.ph - self.centre;
            let eta = a + b * x;
            let (model, weight) = (logistic(eta), point.samples * logistic(eta) * logistic(-eta));
            let residual = point.samples * (point.deprotonated - model);
            // ln S = −softplus(−η) and ln(1 − S) = −softplus(η), finite for any η.
            let log = point.deprotonated * softplus(-eta) + (1.0 - point.deprotonated) * softplus(eta);
            sums.log_likelihood -= point.samples * log;
            sums.gradient[0] += residual;
            sums.gradient[1] += residual * x;
            sums.curvature[0] += weight;
            sums.curvature[1] += weight * x;
            sums.curvature[2] += weight * x * x;
            sums.deviance += (2.0 * point.samples * (log - entropy(point.deprotonated))).max(0.0);
        }
        sums
    }

    fn value(sums: &Sums) -> f64 {
        sums.log_likelihood
    }

    /// The step is cut to two units of η.
    fn step(&self, sums: &Sums) -> Option<Vec<f64>> {
        let ([ga, gb], [aa, ab, bb]) = (sums.gradient, sums.curvature);
        if !self.slope_is_free {
            return (aa > 0.0).then(|| vec![(ga / aa).clamp(-2.0, 2.0), 0.0]);
        }
        let determinant = aa * bb - ab * ab;
        (determinant > 0.0).then(|| {
            let (da, db) = ((bb * ga - ab * gb) / determinant, (aa * gb - ab * ga) / determinant);
            let shrink = 2.0 / (da.abs() + db.abs()).max(2.0);
            vec![shrink * da, shrink * db]
        })
    }

    fn is_negligible(step: &[f64], at: &[f64]) -> bool {
        step[0].abs() + step[1].abs() < 1e-11 * (1.0 + at[0].abs() + at[1].abs())
    }
}

/// −S ln S − (1 − S) ln(1 − S).
fn entropy(s: f64) -> f64 {
    [s, 1.0 - s].iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum()
}

fn logistic(eta: f64) -> f64 {
    1.0 / (1.0 + (-eta).exp())
}

fn softplus(eta: f64) -> f64 {
    eta.max(0.0) + (-eta.abs()).exp().ln_1p()
}

/// pKa for n = 1.
fn slope_one(points: &[TitrationPoint]) -> Determined {
    let (curve, slope) = (Curve::new(points, false), std::f64::consts::LN_10);
    let Some(Maximum { parameters, point: sums }) = maximise(&curve, vec![0.0, slope]) else {
        return Determined::Unknown;
    };
    let spare = points.len().saturating_sub(1);
    let widening = if spare > 0 { (sums.deviance / spare as f64).max(1.0) } else { 1.0 };
    Determined::Value {
        value: curve.centre - parameters[0] / slope,
        error: (widening / sums.curvature[0]).sqrt() / slope,
    }
}

/// pKa and slope; `None` if the maximum is not found.
fn free_slope(points: &[TitrationPoint], degrees_of_freedom: usize) -> Option<HillFit> {
    let curve = Curve::new(points, true);
    let Maximum { parameters, point: sums } = maximise(&curve, vec![0.0, std::f64::consts::LN_10])?;
    let (a, b) = (parameters[0], parameters[1]);
    let [aa, ab, bb] = sums.curvature;
    let determinant = aa * bb - ab * ab;
    let widening = if degrees_of_freedom > 0 { (sums.deviance / degrees_of_freedom as f64).max(1.0) } else { 1.0 };
    let covariance = [bb, -ab, aa].map(|element| widening * element / determinant);
    let slope_error = covariance[2].sqrt();
    // pKa = centre − a/b has a meaning only where b is not compatible with zero.
    let pka = if b > 2.0 * slope_error {
        let (by_a, by_b) = (-1.0 / b, a / (b * b));
        let variance = by_a * by_a * covariance[0] + 2.0 * by_a * by_b * covariance[1] + by_b * by_b * covariance[2];
        Determined::Value { value: curve.centre - a / b, error: variance.max(0.0).sqrt() }
    } else {
        Determined::Unknown
    };
    let ln10 = std::f64::consts::LN_10;
    let falling = b <= 0.0;
    Some(HillFit {
        pka,
        slope: Determined::Value { value: b / ln10, error: slope_error / ln10 },
        pka_slope_one: if falling { Determined::Unknown } else { slope_one(points) },
        deviance: Some(sums.deviance),
        degrees_of_freedom,
    })
}

#[cfg(test)]
mod tests;
