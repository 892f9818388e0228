//! Lennard-Jones potential of one pair, and what is done to it at the cut-off.
//!
//! Plain: V = c12/r¹² − c6/r⁶ for r < r_c. Each power 1/r^α (α = 6, 12) is modified by itself:
//! - potential shift: 1/r^α − 1/r_c^α;
//! - force switch: −d/dr becomes α/r^(α+1) + A x² + B x³ with x = max(r − r₁, 0), so that force and its slope vanish at r_c:
//!   Φ = 1/r^α − A x³/3 − B x⁴/4 − C, A = −α((α+4) r_c − (α+1) r₁)/(r_c^(α+2) D²), B = α((α+3) r_c − (α+1) r₁)/(r_c^(α+2) D³),
//!   C = 1/r_c^α − A D³/3 − B D⁴/4, D = r_c − r₁.
//!
//! Units: nm, kJ/mol. Equations: GROMACS reference manual 2022, "Modified non-bonded interactions", DOI 10.5281/zenodo.6451567.

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

/// Constants of the modified power 1/r^α.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Power {
    /// A of x² in the force.
    pub a: f64,
    /// B of x³ in the force.
    pub b: f64,
    /// Constant C taken off the potential.
    pub shift: f64,
}

/// Both powers modified for one cut-off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Modified {
    /// Cut-off r_c, nm.
    pub cutoff: f64,
    /// Start of the switch r₁, nm (= r_c without a switch).
    pub r_switch: f64,
    /// 1/r⁶.
    pub six: Power,
    /// 1/r¹².
    pub twelve: Power,
}

impl Modified {
    pub fn new(cutoff: f64, modifier: Modifier) -> Self {
        let (r_switch, power): (f64, Box<dyn Fn(i32) -> Power>) = match modifier {
            Modifier::None => (cutoff, Box::new(|_| Power::default())),
            Modifier::PotentialShift => {
                (cutoff, Box::new(|alpha| Power { shift: cutoff.powi(-alpha), ..Power::default() }))
            }
            Modifier::ForceSwitch { r_switch } => (r_switch, Box::new(move |alpha| switched(alpha, cutoff, r_switch))),
        };
        Self { cutoff, r_switch, six: power(6), twelve: power(12) }
    }

    /// Energy and r·F (kJ/mol) of a pair at distance `r` < cut-off: the formula in its plainest form.
    #[cfg(test)]
    pub fn pair(&self, c6: f64, c12: f64, r: f64) -> (f64, f64) {
        let x = (r - self.r_switch).max(0.0);
        let power = |p: &Power, alpha: i32| {
            let plain = r.powi(-alpha);
            (
                plain - p.a / 3.0 * x.powi(3) - p.b / 4.0 * x.powi(4) - p.shift,
                f64::from(alpha) * plain + r * (p.a * x * x + p.b * x.powi(3)),
            )
        };
        let (v6, w6) = power(&self.six, 6);
        let (v12, w12) = power(&self.twelve, 12);
        (c12 * v12 - c6 * v6, c12 * w12 - c6 * w6)
    }
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
        let m = Modified::new(0.9, Modifier::None);
        let (v, w) = m.pair(C6, C12, (2.0 * C12 / C6).powf(1.0 / 6.0));
        assert!((v + C6 * C6 / (4.0 * C12)).abs() < 1e-12 && w.abs() < 1e-12);
    }

    #[test]
    fn shift_is_the_plain_value_at_the_cutoff() {
        let (plain, shifted) = (Modified::new(0.9, Modifier::None), Modified::new(0.9, Modifier::PotentialShift));
        let at_cutoff = plain.pair(C6, C12, 0.9).0;
        assert!((plain.pair(C6, C12, 0.4).0 - shifted.pair(C6, C12, 0.4).0 - at_cutoff).abs() < 1e-15);
        assert!(shifted.pair(C6, C12, 0.9).0.abs() < 1e-15);
    }

    #[test]
    fn switched_energy_force_and_slope_vanish_at_the_cutoff() {
        let m = Modified::new(0.9, Modifier::ForceSwitch { r_switch: 0.7 });
        let (v, w) = m.pair(C6, C12, 0.9);
        assert!(v.abs() < 1e-14 && w.abs() < 1e-14);
        assert!((m.pair(C6, C12, 0.9 - 1e-5).1 / 1e-5).abs() < 1e-4);
        // Below r₁ the force is the plain one.
        let plain = Modified::new(0.9, Modifier::None);
        assert_eq!(m.pair(C6, C12, 0.69).1, plain.pair(C6, C12, 0.69).1);
    }

    #[test]
    fn force_is_the_derivative_of_the_energy() {
        for modifier in [Modifier::None, Modifier::PotentialShift, Modifier::ForceSwitch { r_switch: 0.7 }] {
            let m = Modified::new(0.9, modifier);
            for r in [0.3, 0.5, 0.75, 0.88] {
                let slope = five_point(1e-4, |h| m.pair(C6, C12, r + h).0);
                assert!((m.pair(C6, C12, r).1 + r * slope).abs() < 1e-7 * (1.0 + (r * slope).abs()));
            }
        }
    }
}
