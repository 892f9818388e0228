//! Lennard-Jones potential of one pair, and what is done to it at the cut-off.
//!
//! Plain: V = c12/r¹² − c6/r⁶ for r < r_c. Each power 1/r^α (α = 6, 12) is modified by itself:
//! - potential shift: 1/r^α − 1/r_c^α;
//! - force switch: −d/dr becomes α/r^(α+1) + A x² + B x³ with x = max(r − r₁, 0), so that force and its slope vanish at r_c:
//!   Φ = 1/r^α − A x³/3 − B x⁴/4 − C, A = −α((α+4) r_c − (α+1) r₁)/(r_c^(α+2) D²), B = α((α+3) r_c − (α+1) r₁)/(r_c^(α+2) D³),
//!   C = 1/r_c^α − A D³/3 − B D⁴/4, D = r_c − r₁.
//!
//! Units: nm, kJ/mol. Equations: GROMACS reference manual 2022, "Modified non-bonded interactions", DOI 10.5281/zenodo.6451567.

use kernels::lennard_jones::{Modified, Power};

#[cfg(test)]
use crate::energy::TermEnergy;

/// What is done to the Lennard-Jones potential so that it ends at the cut-off.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Modifier {
    /// Cut off as it is.
    None,
    /// Shifted by a constant to zero at the cut-off; forces unchanged.
    #[default]
    PotentialShift,
    /// Force switched smoothly to zero between `r_switch` (nm) and the cut-off.
    ForceSwitch {
        /// Where the switch begins, nm.
        r_switch: f64,
    },
}

impl Modifier {
    /// Constants of both powers for `cutoff` (nm).
    pub(crate) fn at_cutoff(self, cutoff: f64) -> Modified {
        let r_switch = if let Self::ForceSwitch { r_switch } = self { r_switch } else { cutoff };
        let power = |alpha: i32| match self {
            Self::None => Power::default(),
            Self::PotentialShift => Power { shift: cutoff.powi(-alpha), ..Power::default() },
            Self::ForceSwitch { r_switch } => switched(alpha, cutoff, r_switch),
        };
        Modified { cutoff, r_switch, six: power(6), twelve: power(12) }
    }
}

/// Energy and r·F (kJ/mol) of a pair at distance `r` < cut-off: the formula in its plainest form.
#[cfg(test)]
pub(crate) fn pair(m: &Modified, c6: f64, c12: f64, r: f64) -> TermEnergy {
    let x = (r - m.r_switch).max(0.0);
    let power = |p: &Power, alpha: i32| {
        let plain = r.powi(-alpha);
        (
            plain - p.a / 3.0 * x.powi(3) - p.b / 4.0 * x.powi(4) - p.shift,
            f64::from(alpha) * plain + r * (p.a * x * x + p.b * x.powi(3)),
        )
    };
    let (v6, w6) = power(&m.six, 6);
    let (v12, w12) = power(&m.twelve, 12);
    TermEnergy { energy: c12 * v12 - c6 * v6, virial: c12 * w12 - c6 * w6 }
}

fn switched(alpha: i32, cutoff: f64, r_switch: f64) -> Power {
    let n = f64::from(alpha);
    let width = cutoff - r_switch;
    let scale = n / cutoff.powi(alpha + 2);
    let a = -scale * ((n + 4.0) * cutoff - (n + 1.0) * r_switch) / width.powi(2);
    let b = scale * ((n + 3.0) * cutoff - (n + 1.0) * r_switch) / width.powi(3);
    Power { a, b, shift: cutoff.powi(-alpha) - a / 3.0 * width.powi(3) - b / 4.0 * width.powi(4) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bonded::finite_difference::five_point;

    const C6: f64 = 2.489e-3; // TIP3P oxygen
    const C12: f64 = 2.435e-6;

    #[test]
    fn plain_minimum_is_minus_epsilon() {
        let m = Modifier::None.at_cutoff(0.9);
        let TermEnergy { energy: v, virial: w } = pair(&m, C6, C12, (2.0 * C12 / C6).powf(1.0 / 6.0));
        assert!((v + C6 * C6 / (4.0 * C12)).abs() < 1e-12 && w.abs() < 1e-12);
    }

    #[test]
    fn shift_is_the_plain_value_at_the_cutoff() {
        let (plain, shifted) = (Modifier::None.at_cutoff(0.9), Modifier::PotentialShift.at_cutoff(0.9));
        let at_cutoff = pair(&plain, C6, C12, 0.9).energy;
        assert!((pair(&plain, C6, C12, 0.4).energy - pair(&shifted, C6, C12, 0.4).energy - at_cutoff).abs() < 1e-15);
        assert!(pair(&shifted, C6, C12, 0.9).energy.abs() < 1e-15);
    }

    #[test]
    fn switched_energy_force_and_slope_vanish_at_the_cutoff() {
        let m = Modifier::ForceSwitch { r_switch: 0.7 }.at_cutoff(0.9);
        let TermEnergy { energy: v, virial: w } = pair(&m, C6, C12, 0.9);
        assert!(v.abs() < 1e-14 && w.abs() < 1e-14);
        assert!((pair(&m, C6, C12, 0.9 - 1e-5).virial / 1e-5).abs() < 1e-4);
        // Below r₁ the force is the plain one.
        let plain = Modifier::None.at_cutoff(0.9);
        assert_eq!(pair(&m, C6, C12, 0.69).virial, pair(&plain, C6, C12, 0.69).virial);
    }

    #[test]
    fn force_is_the_derivative_of_the_energy() {
        for modifier in [Modifier::None, Modifier::PotentialShift, Modifier::ForceSwitch { r_switch: 0.7 }] {
            let m = modifier.at_cutoff(0.9);
            for r in [0.3, 0.5, 0.75, 0.88] {
                let slope = five_point(1e-4, |h| pair(&m, C6, C12, r + h).energy);
                assert!((pair(&m, C6, C12, r).virial + r * slope).abs() < 1e-7 * (1.0 + (r * slope).abs()));
            }
        }
    }
}
