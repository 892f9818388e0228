//! Dihedral angle with its derivatives, and the periodic dihedral V = k (1 + cos(n φ − φ₀)).
//!
//! IUPAC sign: φ = 0 is cis, positive clockwise along the central bond. With F = r_i − r_j, G = r_j − r_k, H = r_l − r_k,
//! A = F × G, B = H × G (Blondel & Karplus 1996, DOI 10.1002/(SICI)1096-987X(19960715)17:9<1132::AID-JCC5>3.0.CO;2-T):
//! φ = atan2((B × A)·G/|G|, A·B), ∂φ/∂r_i = −|G| A/A², ∂φ/∂r_l = |G| B/B², no division by sin φ.
//! Where three consecutive atoms are collinear φ does not exist (its gradient diverges beside the axis): there, below
//! sin² = 1e-24 where rounding decides the plane, φ = 0 is taken and the gradient is zero, so that nothing is NaN.
//! Dihedrals do not change under uniform scaling: their virial is zero. Units: rad, nm, kJ/mol. GROMACS types 1, 4, 9.

use nalgebra::Vector3;

use crate::energy::TermEnergy;
use crate::topology::PeriodicDihedral;

/// Below this squared sine of the angle between two consecutive bonds the dihedral angle is only rounding noise.
const COLLINEAR: f64 = 1e-24;

/// A dihedral angle and its gradient with respect to the four atoms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DihedralAngle {
    /// Angle φ in (−π, π].
    pub phi: f64,
    /// ∂φ/∂r of atoms i, j, k, l (rad/nm); zero for collinear atoms.
    pub gradient: [Vector3<f64>; 4],
}

impl DihedralAngle {
    /// Angle and gradient of atoms i, j, k, l at `x`.
    #[inline]
    pub fn new([i, j, k, l]: [u32; 4], x: &[Vector3<f64>]) -> Self {
        let (ri, rj, rk, rl) = (x[i as usize], x[j as usize], x[k as usize], x[l as usize]);
        let (f, g, h) = (ri - rj, rj - rk, rl - rk);
        let (a, b) = (f.cross(&g), h.cross(&g));
        let (a2, b2, g2) = (a.norm_squared(), b.norm_squared(), g.norm_squared());
        let defined = a2 > COLLINEAR * f.norm_squared() * g2 && b2 > COLLINEAR * h.norm_squared() * g2;
        if !defined {
            return Self { phi: 0.0, gradient: [Vector3::zeros(); 4] };
        }
        let length = g2.sqrt();
        let phi = (b.cross(&a).dot(&g) / length).atan2(a.dot(&b));
        let to_i = a * (-length / a2);
        let to_l = b * (length / b2);
        let shared = to_i * (f.dot(&g) / g2) + to_l * (h.dot(&g) / g2);
        Self { phi, gradient: [to_i, -to_i - shared, shared - to_l, to_l] }
    }

    /// Add the forces −dV/dφ ∂φ/∂r of a potential of slope `slope` = dV/dφ (kJ/mol/rad).
    #[inline]
    pub fn add_forces(&self, slope: f64, [i, j, k, l]: [u32; 4], f: &mut [Vector3<f64>]) {
        for (atom, gradient) in [i, j, k, l].into_iter().zip(self.gradient) {
            f[atom as usize] -= gradient * slope;
        }
    }
}

/// Energy of one periodic dihedral; forces are added to `f` (kJ/mol/nm).
///
/// ```
/// use forcefield::{bonded::dihedral, topology::PeriodicDihedral};
/// use nalgebra::Vector3;
/// let term = PeriodicDihedral { atoms: [0, 1, 2, 3], phi0: 0.0, k: 5.0, multiplicity: 3, improper: false };
/// // φ = 90°: n φ = 270°, cos = 0, V = k; dV/dφ = −k n sin(n φ) = 15.
/// let x = [[0.1, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.15], [0.0, 0.1, 0.15]].map(Vector3::from);
/// assert!((dihedral::DihedralAngle::new(term.atoms, &x).phi - 90f64.to_radians()).abs() < 1e-12);
/// let mut f = [Vector3::zeros(); 4];
/// let v = dihedral::evaluate(&term, &x, &mut f);
/// assert!((v.energy - 5.0).abs() < 1e-12);
/// assert!((f[3].norm() - 15.0 / 0.1).abs() < 1e-9);
/// ```
#[inline]
pub fn evaluate(term: &PeriodicDihedral, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> TermEnergy {
    let angle = DihedralAngle::new(term.atoms, x);
    let n = f64::from(term.multiplicity);
    let (sin, cos) = (n * angle.phi - term.phi0).sin_cos();
    angle.add_forces(-term.k * n * sin, term.atoms, f);
    TermEnergy { energy: term.k * (1.0 + cos), virial: 0.0 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::bonded::finite_difference::check_forces_and_virial;

    /// Four atoms with dihedral angle `degrees` and unequal bonds and angles, in general position.
    pub(crate) fn twisted(degrees: f64) -> [Vector3<f64>; 4] {
        let t = degrees.to_radians();
        let rotation = nalgebra::Rotation3::from_euler_angles(0.3, -1.1, 0.7);
        [
            Vector3::new(0.09, 0.0, -0.04),
            Vector3::zeros(),
            Vector3::new(0.0, 0.0, 0.15),
            Vector3::new(0.1 * t.cos(), 0.1 * t.sin(), 0.19),
        ]
        .map(|r| rotation * r + Vector3::new(0.5, 0.2, -0.1))
    }

    #[test]
    fn angle_has_the_iupac_sign() {
        for degrees in [-179.0, -120.0, -60.0, -1e-3, 0.0, 30.0, 90.0, 150.0, 180.0] {
            let phi = DihedralAngle::new([0, 1, 2, 3], &twisted(degrees)).phi.to_degrees();
            assert!((phi - degrees).abs() < 1e-10 || (phi + 360.0 - degrees).abs() < 1e-10, "{phi} {degrees}");
            let reversed = DihedralAngle::new([3, 2, 1, 0], &twisted(degrees)).phi.to_degrees();
            assert!((reversed - phi).abs() < 1e-10 || degrees == 180.0);
        }
    }

    #[test]
    fn forces_and_virial_are_derivatives_at_every_angle() {
        let term = PeriodicDihedral { atoms: [0, 1, 2, 3], phi0: 0.6, k: 7.0, multiplicity: 2, improper: false };
        for degrees in [-179.9, -90.0, -10.0, 0.0, 55.0, 120.0, 180.0] {
            check_forces_and_virial(&twisted(degrees), |x, f| evaluate(&term, x, f));
        }
    }

    #[test]
    fn nearly_collinear_atoms_feel_the_right_force() {
        // Atom i at distance h from the axis: |F_i| = |dV/dφ| / h, also for tiny h.
        let term = PeriodicDihedral { atoms: [0, 1, 2, 3], phi0: 0.0, k: 5.0, multiplicity: 3, improper: false };
        for h in [1e-4, 1e-7, 1e-10] {
            let x = [[h, 0.0, -0.1], [0.0, 0.0, 0.0], [0.0, 0.0, 0.15], [0.0, 0.1, 0.15]].map(Vector3::from);
            let mut f = [Vector3::zeros(); 4];
            evaluate(&term, &x, &mut f);
            assert!((f[0].norm() * h / 15.0 - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn collinear_atoms_give_finite_energy_and_no_force() {
        let term = PeriodicDihedral { atoms: [0, 1, 2, 3], phi0: 0.0, k: 5.0, multiplicity: 3, improper: false };
        let x = [[0.0, 0.0, -0.1], [0.0, 0.0, 0.0], [0.0, 0.0, 0.15], [0.0, 0.1, 0.15]].map(Vector3::from);
        for x in [x, [Vector3::zeros(); 4]] {
            let mut f = [Vector3::zeros(); 4];
            assert_eq!(evaluate(&term, &x, &mut f).energy, 10.0);
            assert_eq!(f, [Vector3::zeros(); 4]);
        }
    }
}
