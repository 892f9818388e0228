//! Harmonic improper dihedral: V = ½ k (ξ − ξ₀)², the difference taken in (−π, π].
//!
//! ξ is the [dihedral angle](super::dihedral) of atoms i, j, k, l. Zero virial. Units: rad, kJ/mol. GROMACS type 2.

use std::f64::consts::PI;

use nalgebra::Vector3;

use super::dihedral::DihedralAngle;
use crate::energy::TermEnergy;
use crate::topology::HarmonicImproper;

/// Energy of one harmonic improper; forces are added to `f` (kJ/mol/nm).
///
/// ```
/// use forcefield::{bonded::improper, topology::HarmonicImproper};
/// use nalgebra::Vector3;
/// let term = HarmonicImproper { atoms: [0, 1, 2, 3], xi0: 80f64.to_radians(), k: 100.0 };
/// let x = [[0.1, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.15], [0.0, 0.1, 0.15]].map(Vector3::from);   // ξ = 90°
/// let mut f = [Vector3::zeros(); 4];
/// let v = improper::evaluate(&term, &x, &mut f);
/// assert!((v.energy - 50.0 * 10f64.to_radians().powi(2)).abs() < 1e-12);
/// ```
#[inline]
pub fn evaluate(term: &HarmonicImproper, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> TermEnergy {
    let angle = DihedralAngle::new(term.atoms, x);
    let difference = angle.phi - term.xi0;
    let deviation = difference - 2.0 * PI * (difference / (2.0 * PI)).round();
    angle.add_forces(term.k * deviation, term.atoms, f);
    TermEnergy { energy: 0.5 * term.k * deviation * deviation, virial: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bonded::dihedral::tests::twisted;
    use crate::bonded::finite_difference::check_forces_and_virial;

    #[test]
    fn forces_and_virial_are_derivatives() {
        let term = HarmonicImproper { atoms: [0, 1, 2, 3], xi0: 2.9, k: 300.0 };
        for degrees in [-150.0, -20.0, 0.0, 10.0, 179.0] {
            check_forces_and_virial(&twisted(degrees), |x, f| evaluate(&term, x, f));
        }
    }

    #[test]
    fn the_difference_is_the_short_way_round() {
        // ξ = −175° and ξ₀ = 175° are 10° apart.
        let term = HarmonicImproper { atoms: [0, 1, 2, 3], xi0: 175f64.to_radians(), k: 2.0 };
        let v = evaluate(&term, &twisted(-175.0), &mut [Vector3::zeros(); 4]);
        assert!((v.energy - 10f64.to_radians().powi(2)).abs() < 1e-12);
    }
}
