//! 1-4 pairs: Lennard-Jones with its own coefficients, and Coulomb as extra potential and field.
//!
//! V_LJ = c12/r¹² − c6/r⁶ and V_C = s k_e q_i q_j / r, plain, without cut-off, whole molecules (no periodic wrapping).
//! The Coulomb part is not returned as an energy: it adds φ_i += s q_j / r and E_i += s q_j r_ij / r³ (k_e = 1, e/nm and
//! e/nm²) to the potentials of the long-range solver, so that energy ½ Σ q φ, forces q E and ∂V/∂λ all contain it.
//! Units: nm, e, kJ/mol nm⁶, kJ/mol nm¹².

use nalgebra::Vector3;

use crate::energy::TermEnergy;
use crate::topology::{Pair14, Topology};

/// Lennard-Jones energy and virial of all 1-4 pairs of `top`; forces are added to `f` (kJ/mol/nm).
///
/// ```
/// use forcefield::{pairs, topology::{Pair14, Topology}};
/// use nalgebra::Vector3;
/// // σ = 0.3 nm, ε = 0.5 kJ/mol: V(2^(1/6) σ) = −ε, no force.
/// let (c6, c12) = (2.0 * 0.3f64.powi(6), 2.0 * 0.3f64.powi(12));
/// let top = Topology { pairs: vec![Pair14 { atoms: [0, 1], c6, c12, coulomb_scale: 0.5 }], ..Default::default() };
/// let x = [Vector3::zeros(), Vector3::new(2f64.powf(1.0 / 6.0) * 0.3, 0.0, 0.0)];
/// let mut f = [Vector3::zeros(); 2];
/// let v = pairs::lennard_jones_14(&top, &x, &mut f);
/// assert!((v.energy + 0.5).abs() < 1e-14 && v.virial.abs() < 1e-12);
/// assert!(f[0].norm() < 1e-12);
/// ```
pub fn lennard_jones_14(top: &Topology, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> TermEnergy {
    top.pairs.iter().map(|pair| lennard_jones_pair(pair, x, f)).sum()
}

#[inline]
fn lennard_jones_pair(pair: &Pair14, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> TermEnergy {
    let [i, j] = pair.atoms.map(|a| a as usize);
    let d = x[i] - x[j];
    let inverse = 1.0 / d.norm_squared();
    let r6 = inverse * inverse * inverse;
    let attraction = pair.c6 * r6;
    let repulsion = pair.c12 * r6 * r6;
    let virial = 12.0 * repulsion - 6.0 * attraction;
    let force = d * (virial * inverse);
    f[i] += force;
    f[j] -= force;
    TermEnergy { energy: repulsion - attraction, virial }
}

/// Add the Coulomb potential (e/nm) and field (e/nm²) of the 1-4 partners to `phi` and `field`, for charges `q` (e);
/// all slices have one entry per atom. Multiply by k_e for kJ/mol.
///
/// ```
/// use forcefield::{pairs, topology::Pair14};
/// use nalgebra::Vector3;
/// let pair = Pair14 { atoms: [0, 1], c6: 0.0, c12: 0.0, coulomb_scale: 0.5 };
/// let x = [Vector3::zeros(), Vector3::new(0.0, 0.0, 0.25)];
/// let (mut phi, mut field) = ([0.0; 2], [Vector3::zeros(); 2]);
/// pairs::coulomb_14_potential(&[pair], &x, &[1.0, -0.4], &mut phi, &mut field);
/// assert_eq!(phi, [0.5 * -0.4 / 0.25, 0.5 / 0.25]);
/// assert!((field[1].z - 0.5 / 0.0625).abs() < 1e-12);      // a positive charge pushes away
/// ```
pub fn coulomb_14_potential(
    pairs: &[Pair14],
    x: &[Vector3<f64>],
    q: &[f64],
    phi: &mut [f64],
    field: &mut [Vector3<f64>],
) {
    for pair in pairs {
        let [i, j] = pair.atoms.map(|a| a as usize);
        let d = x[i] - x[j];
        let inverse = 1.0 / d.norm();
        let scaled = pair.coulomb_scale * inverse;
        phi[i] += scaled * q[j];
        phi[j] += scaled * q[i];
        let d = d * (scaled * inverse * inverse);
        field[i] += d * q[j];
        field[j] -= d * q[i];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bonded::finite_difference::check_forces_and_virial;

    const X: [[f64; 3]; 3] = [[0.0, 0.1, -0.2], [0.2, 0.25, 0.0], [-0.1, 0.3, 0.15]];

    fn three_pairs() -> Topology {
        let pair = |i, j, scale| Pair14 { atoms: [i, j], c6: 2e-3, c12: 3e-6, coulomb_scale: scale };
        Topology { pairs: vec![pair(0, 1, 0.5), pair(1, 2, 0.8333), pair(2, 0, 1.0)], ..Default::default() }
    }

    #[test]
    fn lennard_jones_forces_and_virial_are_derivatives() {
        let top = three_pairs();
        check_forces_and_virial(&X.map(Vector3::from), |x, f| lennard_jones_14(&top, x, f));
    }

    #[test]
    fn coulomb_field_is_minus_the_gradient_of_its_energy() {
        let (top, q) = (three_pairs(), [0.4, -0.7, 0.3]);
        check_forces_and_virial(&X.map(Vector3::from), |x, f| {
            let (mut phi, mut field) = ([0.0; 3], [Vector3::zeros(); 3]);
            coulomb_14_potential(&top.pairs, x, &q, &mut phi, &mut field);
            let energy = 0.5 * (0..3).map(|i| q[i] * phi[i]).sum::<f64>();
            for i in 0..3 {
                f[i] += q[i] * field[i];
            }
            TermEnergy { energy, virial: energy } // Coulomb: W = V
        });
    }
}
