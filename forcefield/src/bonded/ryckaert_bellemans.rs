//! Ryckaert–Bellemans dihedral: V = Σ_{n=0}^{5} c_n (cos ψ)ⁿ with ψ = φ − π (ψ = 0 is trans).
//!
//! dV/dφ = −sin ψ Σ n c_n (cos ψ)ⁿ⁻¹. Zero virial. Units: kJ/mol. GROMACS dihedral type 3; OPLS.

use nalgebra::Vector3;

use super::dihedral::DihedralAngle;
use crate::energy::TermEnergy;
use crate::topology::RyckaertBellemans;

/// Energy of one Ryckaert–Bellemans dihedral; forces are added to `f` (kJ/mol/nm).
///
/// ```
/// use forcefield::{bonded::ryckaert_bellemans, topology::RyckaertBellemans};
/// use nalgebra::Vector3;
/// let term = RyckaertBellemans { atoms: [0, 1, 2, 3], c: [9.28, 12.16, -13.12, -3.06, 26.24, -31.5] };
/// let cis = [[0.1, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.15], [0.1, 0.0, 0.15]].map(Vector3::from);
/// let v = ryckaert_bellemans::evaluate(&term, &cis, &mut [Vector3::zeros(); 4]);
/// assert!((v.energy - (9.28 - 12.16 - 13.12 + 3.06 + 26.24 + 31.5)).abs() < 1e-12);   // cos ψ = −1
/// ```
#[inline]
pub fn evaluate(term: &RyckaertBellemans, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> TermEnergy {
    let angle = DihedralAngle::new(term.atoms, x);
    let (sin, cos) = angle.phi.sin_cos();
    let (sin, cos) = (-sin, -cos); // of ψ = φ − π
    let (mut energy, mut slope) = (0.0, 0.0);
    for c in term.c.iter().rev() {
        slope = slope * cos + energy;
        energy = energy * cos + c;
    }
    angle.add_forces(-sin * slope, term.atoms, f);
    TermEnergy { energy, virial: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bonded::dihedral::tests::twisted;
    use crate::bonded::finite_difference::check_forces_and_virial;

    #[test]
    fn forces_and_virial_are_derivatives() {
        let term = RyckaertBellemans { atoms: [0, 1, 2, 3], c: [9.28, 12.16, -13.12, -3.06, 26.24, -31.5] };
        for degrees in [-170.0, -60.0, 0.0, 45.0, 120.0, 180.0] {
            check_forces_and_virial(&twisted(degrees), |x, f| evaluate(&term, x, f));
        }
    }

    #[test]
    fn a_cosine_series_is_the_same_potential() {
        // k (1 + cos φ) = k (1 − cos ψ): c0 = k, c1 = −k.
        let term = RyckaertBellemans { atoms: [0, 1, 2, 3], c: [4.0, -4.0, 0.0, 0.0, 0.0, 0.0] };
        let v = evaluate(&term, &twisted(70.0), &mut [Vector3::zeros(); 4]);
        assert!((v.energy - 4.0 * (1.0 + 70f64.to_radians().cos())).abs() < 1e-12);
    }
}
