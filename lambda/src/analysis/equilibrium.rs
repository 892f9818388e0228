//! Populations of states that differ in the number of their protons, over pH: the binding polynomial.
//!
//!   p_α(pH) = 10^{d_α pH − κ_α} / Σ_β 10^{d_β pH − κ_β},     ln L = Σ_i Σ_α N_iα ln p_α(pH_i)
//!
//! α: the forms of a site, the classes of equal protonation, or the joint states of two sites; d_α protons are lost, κ_α is a
//! cumulative constant in units of pK; only differences of κ along a reaction mean something. N_iα are independent samples. ln L
//! is concave in κ and has its maximum where every state has been seen; states never seen are left out. With B_d = Σ_{d_α = d} 10^{−κ_α}:
//!
//!   microscopic   pK(α→β) = κ_β − κ_α           macroscopic   pK(d→d+1) = lg B_d − lg B_{d+1}
//!
//! Errors follow from the curvature of ln L, widened by the deviance per degree of freedom where that exceeds one. Wyman & Gill,
//! Binding and Linkage, 1990; Bombarda & Ullmann 2010, doi:10.1021/jp908926w.

use nalgebra::{DMatrix, DVector};

use super::ascent::{Concave, Maximum, maximise};
use super::determined::Determined;

/// Independent samples of every state at one pH.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Populations {
    /// pH.
    pub ph: f64,
    /// Samples.
    pub samples: Vec<f64>,
}

/// Fitted constants.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    protons: Vec<u32>,
    /// κ of each state; `None` where it was never seen.
    constants: Vec<Option<f64>>,
    /// Covariance of κ; zero for the state that the others are counted from.
    covariance: DMatrix<f64>,
    /// Deviance per degree of freedom, if there are any.
    pub dispersion: Option<f64>,
}

/// Fits the constants of states that have lost `protons`; `None` without samples or where the maximum is not found.
pub fn fit(points: &[Populations], protons: &[u32]) -> Option<Equilibrium> {
    let points = merge(points, protons.len());
    let centre = points.iter().map(|p| p.ph).sum::<f64>() / points.len().max(1) as f64;
    let total = |state: usize| points.iter().map(|p| p.samples[state]).sum::<f64>();
    let seen: Vec<usize> = (0..protons.len()).filter(|&state| total(state) > 0.0).collect();
    // κ are counted from the state that was seen most.
    let gauge = seen.iter().copied().max_by(|&a, &b| total(a).total_cmp(&total(b)))?;
    let free: Vec<usize> = seen.iter().copied().filter(|&state| state != gauge).collect();
    let model = Model { points: &points, protons, free: &free, gauge, centre };
    let Maximum { parameters: theta, point: sums } = maximise(&model, vec![0.0; free.len()])?;
    let degrees = (points.len() * free.len()).saturating_sub(free.len());
    let dispersion = (degrees > 0).then(|| sums.deviance / degrees as f64);
    let ln10 = std::f64::consts::LN_10;
    let widening = dispersion.unwrap_or(1.0).max(1.0) / (ln10 * ln10);
    let inverse = if free.is_empty() { DMatrix::zeros(0, 0) } else { sums.curvature.cholesky()?.inverse() };
    let mut constants = vec![None; protons.len()];
    constants[gauge] = Some(f64::from(protons[gauge]) * centre);
    let mut covariance = DMatrix::zeros(protons.len(), protons.len());
    for (row, &state) in free.iter().enumerate() {
        constants[state] = Some(f64::from(protons[state]) * centre - theta[row] / ln10);
        for (column, &other) in free.iter().enumerate() {
            covariance[(state, other)] = widening * inverse[(row, column)];
        }
    }
    Some(Equilibrium { protons: protons.to_vec(), constants, covariance, dispersion })
}

impl Equilibrium {
    /// Populations at a pH; zero for states never seen.
    pub fn populations(&self, ph: f64) -> Vec<f64> {
        let exponent = |(d, constant): (&u32, &Option<f64>)| constant.map(|k| f64::from(*d) * ph - k);
        let exponents: Vec<Option<f64>> = self.protons.iter().zip(&self.constants).map(exponent).collect();
        let most = exponents.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = exponents.iter().map(|e| e.map_or(0.0, |e| 10f64.powf(e - most))).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    }

    /// Σ_α c_α κ_α, where Σ_α c_α = 0.
    pub fn combination(&self, coefficients: &[f64]) -> Determined {
        let mut value = 0.0;
        for (c, constant) in coefficients.iter().zip(&self.constants) {
            match constant {
                Some(constant) => value += c * constant,
                None if *c != 0.0 => return Determined::Unknown,
                None => {}
            }
        }
        Determined::Value { value, error: self.error(coefficients) }
    }

    /// Microscopic pK of the reaction from one state to another, per proton lost; unknown where none is.
    pub fn microscopic(&self, from: usize, to: usize) -> Determined {
        let lost = f64::from(self.protons[to]) - f64::from(self.protons[from]);
        if lost == 0.0 {
            return Determined::Unknown;
        }
        let mut coefficients = vec![0.0; self.protons.len()];
        coefficients[to] += 1.0 / lost;
        coefficients[from] -= 1.0 / lost;
        self.combination(&coefficients)
    }

    /// Macroscopic pK between `from` and `to` protons lost, per proton; unknown where they are as many.
    pub fn macroscopic(&self, from: u32, to: u32) -> Determined {
        let lost = f64::from(to) - f64::from(from);
        if lost == 0.0 {
            return Determined::Unknown;
        }
        let (Some((upper, up)), Some((lower, low))) = (self.binding(from), self.binding(to)) else {
            return Determined::Unknown;
        };
        let coefficients: Vec<f64> = up.iter().zip(&low).map(|(a, b)| (b - a) / lost).collect();
        Determined::Value { value: (upper - lower) / lost, error: self.error(&coefficients) }
    }

    /// Share of a state among those of the same protonation.
    pub fn share(&self, state: usize) -> Determined {
        let (Some((logarithm, shares)), Some(constant)) = (self.binding(self.protons[state]), self.constants[state])
        else {
            return Determined::Unknown;
        };
        let value = 10f64.powf(-constant - logarithm);
        // d lg(share) = −dκ_α + Σ_β share_β dκ_β
        let coefficients: Vec<f64> =
            shares.iter().enumerate().map(|(k, s)| s - f64::from(u8::from(k == state))).collect();
        Determined::Value { value, error: value * std::f64::consts::LN_10 * self.error(&coefficients) }
    }

    /// lg B_d and the shares of the states in it; `None` if none was seen.
    fn binding(&self, protons: u32) -> Option<(f64, Vec<f64>)> {
        let of = |state: usize| self.constants[state].filter(|_| self.protons[state] == protons);
        let least = (0..self.protons.len()).filter_map(of).reduce(f64::min)?;
        let terms: Vec<f64> =
            (0..self.protons.len()).map(|state| of(state).map_or(0.0, |k| 10f64.powf(least - k))).collect();
        let sum: f64 = terms.iter().sum();
        Some((sum.log10() - least, terms.iter().map(|t| t / sum).collect()))
    }

    fn error(&self, coefficients: &[f64]) -> f64 {
        let c = DVector::from_column_slice(coefficients);
        c.dot(&(&self.covariance * &c)).max(0.0).sqrt()
    }
}

/// The points by ascending pH, each pH once; points without samples are left out.
fn merge(points: &[Populations], states: usize) -> Vec<Populations> {
    let mut sorted: Vec<&Populations> =
        points.iter().filter(|p| p.samples.len() == states && p.samples.iter().sum::<f64>() > 0.0).collect();
    sorted.sort_by(|a, b| a.ph.total_cmp(&b.ph));
    let mut merged: Vec<Populations> = Vec::new();
    for point in sorted {
        match merged.last_mut() {
            Some(last) if last.ph == point.ph => {
                last.samples.iter_mut().zip(&point.samples).for_each(|(a, b)| *a += b);
            }
            _ => merged.push(point.clone()),
        }
    }
    merged
}

/// ln p_α = θ_α + d_α ln 10 (pH − centre) − ln Z, θ = 0 for one state.
struct Model<'a> {
    points: &'a [Populations],
    protons: &'a [u32],
    free: &'a [usize],
    gauge: usize,
    centre: f64,
}

struct Sums {
    log_likelihood: f64,
    gradient: DVector<f64>,
    /// Minus the second derivatives.
    curvature: DMatrix<f64>,
    /// 2 Σ N ln(N/Np).
    deviance: f64,
}

impl Concave for Model<'_> {
    type Point = Sums;

    fn at(&self, theta: &[f64]) -> Sums {
        let size = self.free.len();
        let mut sums = Sums {
            log_likelihood: 0.0,
            gradient: DVector::zeros(size),
            curvature: DMatrix::zeros(size, size),
            deviance: 0.0,
        };
        let seen: Vec<usize> = self.free.iter().copied().chain([self.gauge]).collect();
        for point in self.points {
            let x = std::f64::consts::LN_10 * (point.ph - self.centre);
            let exponent = |k: usize| theta.get(k).copied().unwrap_or(0.0) + f64::from(self.protons[seen[k]]) * x;
            let most = (0..seen.len()).map(exponent).fold(f64::NEG_INFINITY, f64::max);
            let norm = most + (0..seen.len()).map(|k| (exponent(k) - most).exp()).sum::<f64>().ln();
            let total: f64 = point.samples.iter().sum();
            for (k, &state) in seen.iter().enumerate() {
                let (log, samples) = (exponent(k) - norm, point.samples[state]);
                if samples > 0.0 {
                    sums.log_likelihood += samples * log;
                    sums.deviance += 2.0 * samples * ((samples / total).ln() - log);
                }
                if k < size {
                    let p = log.exp();
                    sums.gradient[k] += samples - total * p;
                    sums.curvature[(k, k)] += total * p;
                    for other in 0..size {
                        sums.curvature[(k, other)] -= total * p * (exponent(other) - norm).exp();
                    }
                }
            }
        }
        sums
    }

    fn value(sums: &Sums) -> f64 {
        sums.log_likelihood
    }

    /// The step is cut to two units of θ.
    fn step(&self, sums: &Sums) -> Option<Vec<f64>> {
        if self.free.is_empty() {
            return Some(Vec::new());
        }
        let step = sums.curvature.clone().cholesky()?.solve(&sums.gradient);
        let part = (2.0 / step.amax()).min(1.0);
        Some(step.iter().map(|s| part * s).collect())
    }

    fn is_negligible(step: &[f64], theta: &[f64]) -> bool {
        let largest = |values: &[f64]| values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
        largest(step) < 1e-10 * (1.0 + largest(theta))
    }
}

#[cfg(test)]
mod tests;
