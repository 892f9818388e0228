//! The wave that does not vary along the periods: background of a cell, charged planes of a slab, line charges of a wire.

use std::f64::consts::PI;

use nalgebra::Vector3;

use super::system::{PotentialAndField, System};

/// The part of the sum with k = 0 along the periods.
pub enum Mean {
    /// Background of a cell, φ = −πQ/(Vα²).
    Cell {
        /// The potential.
        background: f64,
    },
    /// Planes of charge of a slab.
    Slab {
        /// Unit vector.
        normal: Vector3<f64>,
        /// Area of the cell.
        area: f64,
    },
    /// Line charges of a wire.
    Wire {
        /// Unit vector.
        direction: Vector3<f64>,
        /// Length of the period.
        length: f64,
    },
}

impl Mean {
    pub fn new(system: &System) -> Self {
        let direct = &system.cell.direct;
        let [a, b] = [0, 1].map(|i| Vector3::from(direct.column(i)));
        match system.cell.repeats {
            1 => Self::Wire { direction: a.normalize(), length: a.norm() },
            2 => Self::Slab { normal: a.cross(&b).normalize(), area: a.cross(&b).norm() },
            _ => {
                let charge: f64 = system.charges.iter().sum();
                Self::Cell { background: -PI * charge / (system.cell.volume * system.alpha.powi(2)) }
            }
        }
    }

    /// Potential and field of this part at particle `i`.
    pub fn at(&self, system: &System, i: usize) -> PotentialAndField {
        let alpha = system.alpha;
        let (mut phi, mut field) = (0.0, Vector3::zeros());
        let pairs = system.positions.iter().zip(system.charges).map(|(y, q)| (system.positions[i] - y, q));
        match *self {
            Self::Cell { background } => phi = background,
            Self::Slab { normal, area } => {
                for (d, q) in pairs {
                    let z = normal.dot(&d);
                    let erf = libm::erf(alpha * z);
                    phi -= q * 2.0 * PI.sqrt() / area * ((-(alpha * z).powi(2)).exp() / alpha + PI.sqrt() * z * erf);
                    field += q * 2.0 * PI / area * erf * normal;
                }
            }
            Self::Wire { direction, length } => {
                for (d, q) in pairs {
                    let rho = d - direction.dot(&d) * direction;
                    let x = alpha * alpha * rho.norm_squared();
                    phi -= q / length * ein(x);
                    // 2(1 − e^{−x})/ρ², 2α² at ρ = 0.
                    let slope = if x == 0.0 { 1.0 } else { -(-x).exp_m1() / x };
                    field += q * 2.0 / length * alpha * alpha * slope * rho;
                }
            }
        }
        (phi, field)
    }
}

/// Ein(x) = γ + ln x + E₁(x) for x ≥ 0; 0 at x = 0.
///
/// Σ_{m≥1} −(−x)^m/(m·m!) up to x = 2; beyond, E₁ by its continued fraction e^{−x}/(x+1−1²/(x+3−2²/(x+5−…))), evaluated
/// from its end (M. Abramowitz, I. A. Stegun, Handbook of Mathematical Functions, 5.1.11 and 5.1.22).
pub fn ein(x: f64) -> f64 {
    const EULER_GAMMA: f64 = 0.577_215_664_901_532_9;
    if x <= 2.0 {
        // 2^26/(26·26!) < 1e-20.
        let (mut sum, mut term) = (0.0, -1.0);
        for m in 1..=26 {
            term *= -x / f64::from(m);
            sum += term / f64::from(m);
        }
        return sum;
    }
    // E₁(45) < e^{−45}/45 < 1e-21. The fraction converges as e^{−4√(mx)}: with m = 10 + 110/x terms e^{−44} at x = 2.
    if x > 45.0 {
        return EULER_GAMMA + x.ln();
    }
    let tail =
        (1..=10 + (110.0 / x) as u32).rev().map(f64::from).fold(0.0, |tail, m| m * m / (x + 2.0 * m + 1.0 - tail));
    EULER_GAMMA + x.ln() + (-x).exp() / (x + 1.0 - tail)
}
