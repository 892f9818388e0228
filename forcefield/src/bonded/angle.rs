//! Harmonic angle: V = ½ k (θ − θ₀)², θ at the middle atom.
//!
//! With a = r_i − r_j, b = r_k − r_j, n = a × b: θ = atan2(|n|, a·b) (accurate at every angle, also near 0 and π), and
//! ∂θ/∂r_i = (a × n̂)/a², ∂θ/∂r_k = (n̂ × b)/b², ∂θ/∂r_j = minus their sum. No sin θ is divided by, so forces stay
//! finite up to θ = π. Exactly collinear atoms leave n̂ undefined: the force, whose average over directions vanishes, is zero.
//! An angle does not change under uniform scaling: its virial is zero.
//! Units: rad, nm, kJ/mol. GROMACS angle type 1.

use nalgebra::Vector3;

use crate::energy::TermEnergy;
use crate::topology::Angle;

/// Energy of one angle; forces are added to `f` (kJ/mol/nm).
///
/// ```
/// use forcefield::{bonded::angle, topology::Angle};
/// use nalgebra::Vector3;
/// let bent = Angle { atoms: [0, 1, 2], theta0: 100f64.to_radians(), k: 400.0 };
/// let x = [Vector3::new(0.1, 0.0, 0.0), Vector3::zeros(), Vector3::new(0.0, 0.2, 0.0)];
/// let mut f = [Vector3::zeros(); 3];
/// let v = angle::evaluate(&bent, &x, &mut f);
/// let ten = 10f64.to_radians();
/// assert!((v.energy - 0.5 * 400.0 * ten * ten).abs() < 1e-12);
/// assert!((f[0].y - (-400.0 * ten / 0.1)).abs() < 1e-9);   // 90° is too narrow: atom 0 is pushed away from atom 2
/// ```
#[inline]
pub fn evaluate(angle: &Angle, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> TermEnergy {
    harmonic_angle(angle.atoms, angle.theta0, angle.k, x, f)
}

/// Harmonic potential ½ k (θ − θ₀)² of atoms i, j (vertex), k; Urey–Bradley angles use it too.
#[inline]
pub(super) fn harmonic_angle(
    [i, j, k]: [u32; 3],
    theta0: f64,
    force_constant: f64,
    x: &[Vector3<f64>],
    f: &mut [Vector3<f64>],
) -> TermEnergy {
    let (i, j, k) = (i as usize, j as usize, k as usize);
    let a = x[i] - x[j];
    let b = x[k] - x[j];
    let n = a.cross(&b);
    let sine = n.norm();
    let bend = sine.atan2(a.dot(&b)) - theta0;
    if sine > 0.0 {
        let torque = n * (-force_constant * bend / sine);
        let force_i = a.cross(&torque) / a.norm_squared();
        let force_k = torque.cross(&b) / b.norm_squared();
        f[i] += force_i;
        f[k] += force_k;
        f[j] -= force_i + force_k;
    }
    TermEnergy { energy: 0.5 * force_constant * bend * bend, virial: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bonded::finite_difference::check_forces_and_virial;
    use std::f64::consts::PI;

    fn bent(degrees: f64) -> [Vector3<f64>; 3] {
        let t = degrees.to_radians();
        let along = Vector3::new(0.2, 0.3, -0.6).normalize();
        let side = along.cross(&Vector3::x()).normalize();
        let middle = Vector3::new(0.4, 0.1, 0.2);
        [middle + 0.11 * along, middle, middle + 0.15 * (t.cos() * along + t.sin() * side)]
    }

    #[test]
    fn forces_and_virial_are_derivatives_at_every_angle() {
        let angle = Angle { atoms: [0, 1, 2], theta0: 1.9, k: 500.0 };
        for degrees in [3.0, 40.0, 109.0, 170.0, 179.0] {
            check_forces_and_virial(&bent(degrees), |x, f| evaluate(&angle, x, f));
        }
    }

    #[test]
    fn a_nearly_straight_angle_has_the_right_force() {
        // |F_i| = k |θ − θ₀| / r_ij whatever the angle.
        let angle = Angle { atoms: [0, 1, 2], theta0: 1.9, k: 500.0 };
        for off in [1e-3, 1e-6, 1e-9] {
            let mut f = [Vector3::zeros(); 3];
            evaluate(&angle, &bent(180.0 - off), &mut f);
            let expected = 500.0 * (PI - off.to_radians() - 1.9) / 0.11;
            // The direction n̂ loses ε/sin θ ≈ 1e-5 at 1e-9 degrees, the length nothing.
            assert!((f[0].norm() / expected - 1.0).abs() < 1e-9, "{off}: {}", f[0].norm() / expected);
        }
    }

    #[test]
    fn collinear_atoms_feel_a_finite_force() {
        let straight = [Vector3::new(-0.1, 0.0, 0.0), Vector3::zeros(), Vector3::new(0.1, 0.0, 0.0)];
        for theta0 in [PI, 1.9] {
            let angle = Angle { atoms: [0, 1, 2], theta0, k: 500.0 };
            let mut f = [Vector3::zeros(); 3];
            let v = evaluate(&angle, &straight, &mut f);
            assert!((v.energy - 250.0 * (PI - theta0).powi(2)).abs() < 1e-12);
            assert_eq!(f, [Vector3::zeros(); 3]);
        }
    }
}
