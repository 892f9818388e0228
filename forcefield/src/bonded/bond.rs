//! Harmonic bond: V = ½ k (r − r₀)².
//!
//! F_i = −k (r − r₀) r_ij / r with r_ij = r_i − r_j; virial r_ij · F_i = −k (r − r₀) r.
//! Units: nm, kJ/mol, kJ/mol/nm². GROMACS bond type 1.
//! At r = 0 the direction is undefined and the force is taken as zero (V has a cusp there).

use nalgebra::Vector3;

use crate::energy::TermEnergy;
use crate::topology::Bond;

/// Energy and virial of one bond; forces are added to `f` (kJ/mol/nm).
///
/// ```
/// use forcefield::{bonded::bond, topology::Bond};
/// use nalgebra::Vector3;
/// let ch = Bond { atoms: [0, 1], r0: 0.109, k: 284_512.0 };
/// let x = [Vector3::zeros(), Vector3::new(0.110, 0.0, 0.0)];
/// let mut f = [Vector3::zeros(); 2];
/// let v = bond::evaluate(&ch, &x, &mut f);
/// assert!((v.energy - 0.142_256).abs() < 1e-12);     // ½ · 284512 · 0.001²
/// assert!((f[0].x - 284.512).abs() < 1e-9);          // pulled towards the other atom
/// ```
#[inline]
pub fn evaluate(bond: &Bond, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> TermEnergy {
    harmonic_distance(bond.atoms, bond.r0, bond.k, x, f)
}

/// Harmonic potential ½ k (|x_i − x_j| − r₀)² of any pair of atoms; Urey–Bradley angles use it too.
#[inline]
pub(super) fn harmonic_distance(
    [i, j]: [u32; 2],
    r0: f64,
    k: f64,
    x: &[Vector3<f64>],
    f: &mut [Vector3<f64>],
) -> TermEnergy {
    let (i, j) = (i as usize, j as usize);
    let d = x[i] - x[j];
    let r = d.norm();
    let stretch = r - r0;
    if r > 0.0 {
        let force = d * (-k * stretch / r);
        f[i] += force;
        f[j] -= force;
    }
    TermEnergy { energy: 0.5 * k * stretch * stretch, virial: -k * stretch * r }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bonded::finite_difference::check_forces_and_virial;

    #[test]
    fn forces_and_virial_are_derivatives() {
        let bond = Bond { atoms: [1, 0], r0: 0.14, k: 3e5 };
        let x = [Vector3::new(0.1, -0.2, 0.3), Vector3::new(0.17, -0.11, 0.38)];
        check_forces_and_virial(&x, |x, f| evaluate(&bond, x, f));
    }

    #[test]
    fn coincident_atoms_feel_no_nan() {
        let bond = Bond { atoms: [0, 1], r0: 0.1, k: 1000.0 };
        let mut f = [Vector3::zeros(); 2];
        let v = evaluate(&bond, &[Vector3::zeros(); 2], &mut f);
        assert_eq!(v.energy, 5.0);
        assert_eq!(f, [Vector3::zeros(); 2]);
    }
}
