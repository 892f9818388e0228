//! Urey–Bradley angle: V = ½ k (θ − θ₀)² + ½ k₁₃ (r₁₃ − r₁₃⁰)².
//!
//! A harmonic [`angle`] and a harmonic distance between its ends, counted together. Only the distance
//! contributes to the virial. Units: rad, nm, kJ/mol. GROMACS angle type 5; CHARMM.

use nalgebra::Vector3;

use super::{angle, bond};
use crate::energy::TermEnergy;
use crate::topology::UreyBradley;

/// Energy and virial of one Urey–Bradley angle; forces are added to `f` (kJ/mol/nm).
///
/// ```
/// use forcefield::{bonded::urey_bradley, topology::UreyBradley};
/// use nalgebra::Vector3;
/// let term = UreyBradley { atoms: [0, 1, 2], theta0: 100f64.to_radians(), k: 400.0, r13: 0.49, k13: 2000.0 };
/// let x = [Vector3::new(0.3, 0.0, 0.0), Vector3::zeros(), Vector3::new(0.0, 0.4, 0.0)];
/// let mut f = [Vector3::zeros(); 3];
/// let v = urey_bradley::evaluate(&term, &x, &mut f);
/// assert!((v.energy - (200.0 * 10f64.to_radians().powi(2) + 0.1)).abs() < 1e-12);   // ends are 0.5 nm apart
/// assert!((v.virial - (-2000.0 * 0.01 * 0.5)).abs() < 1e-12);
/// ```
#[inline]
pub fn evaluate(term: &UreyBradley, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> TermEnergy {
    let [i, _, k] = term.atoms;
    angle::harmonic_angle(term.atoms, term.theta0, term.k, x, f)
        + bond::harmonic_distance([i, k], term.r13, term.k13, x, f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bonded::finite_difference::check_forces_and_virial;

    #[test]
    fn forces_and_virial_are_derivatives() {
        let term = UreyBradley { atoms: [2, 0, 1], theta0: 1.8, k: 300.0, r13: 0.2, k13: 5000.0 };
        let x = [Vector3::new(0.0, 0.01, 0.02), Vector3::new(0.1, 0.0, 0.0), Vector3::new(-0.05, 0.12, 0.03)];
        check_forces_and_virial(&x, |x, f| evaluate(&term, x, f));
    }
}
