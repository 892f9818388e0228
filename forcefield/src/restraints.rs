//! Position restraints: V = ½ Σ_d s k_d (x_d − x⁰_d)², where s is the part that is left of a restraint that fades, and 1 of all others.
//!
//! In a periodic box the nearest image of the reference is taken. The virial is W = Σ (x − x⁰)·F = −2V, that of a
//! reference scaled together with the box: a barostat must scale the references too (refcoord_scaling = all in GROMACS). A restraint is then a
//! well that goes along with its atom: for an atom that nothing else acts on, W and the kinetic energy cancel on average, and what is held has no
//! pressure of its own. The price is that references are stretched with the box, by 20 pm at 2 nm from the middle of a box
//! that shrinks by 1 % in length, a quarter of the thermal amplitude √(3RT/k) at 1000 kJ/mol/nm². References that keep their
//! shape (refcoord_scaling = com) would need a body whose centre scales, which a membrane or a chain across the box does not have.
//! Units: nm, kJ/mol/nm², kJ/mol. GROMACS position_restraints type 1: of the 59 restraints of `tests/energies/amber.top`, displaced as its README says,
//! GROMACS 2022.5 finds 15.4875 kJ/mol, forces of k (x⁰ − x), and with refcoord_scaling = all a virial that is smaller by 30.975 kJ/mol.

use nalgebra::Vector3;

use crate::cell::Cell;
use crate::energy::TermEnergy;
use crate::topology::PositionRestraint;

/// Energy and virial of the restraints; forces are added to `f` (kJ/mol/nm).
///
/// `part`: what is left of the force constants of those that fade, from 1 to 0. `x`, `reference` and `f` have one entry per atom of the system (nm);
/// `cell` says where the nearest images are.
///
/// ```
/// use forcefield::{Cell, restraints, topology::PositionRestraint};
/// use nalgebra::Vector3;
/// let held = PositionRestraint { atom: 0, k: Vector3::new(1000.0, 0.0, 500.0), fades: false };
/// let mut f = [Vector3::zeros()];
/// let v = restraints::evaluate(&[held], 1.0, &[Vector3::new(0.1, 3.0, 2.9)], &[Vector3::zeros()],
///                              Cell::rectangular(Vector3::new(3.0, 3.0, 3.0))?, &mut f);
/// assert!((v.energy - (5.0 + 2.5)).abs() < 1e-12);           // z = 2.9 is −0.1 from the image of the reference
/// assert!((f[0] - Vector3::new(-100.0, 0.0, 50.0)).norm() < 1e-11);
/// # Ok::<(), forcefield::cell::CellError>(())
/// ```
pub fn evaluate(
    restraints: &[PositionRestraint],
    part: f64,
    x: &[Vector3<f64>],
    reference: &[Vector3<f64>],
    cell: Cell,
    f: &mut [Vector3<f64>],
) -> TermEnergy {
    let mut energy = 0.0;
    each(restraints, part, x, reference, cell, |i, d, force| {
        f[i] += force;
        energy -= 0.5 * d.dot(&force);
    });
    TermEnergy { energy, virial: -2.0 * energy }
}

/// The virial of [`evaluate`] along each axis, W_a = Σ (x_a − x⁰_a) F_a, less Σ x_a F_a over the atoms (kJ/mol).
pub fn virial_of_references(
    restraints: &[PositionRestraint],
    part: f64,
    x: &[Vector3<f64>],
    reference: &[Vector3<f64>],
    cell: Cell,
) -> Vector3<f64> {
    let mut sum = Vector3::zeros();
    each(restraints, part, x, reference, cell, |i, d, force| sum += (d - x[i]).component_mul(&force));
    sum
}

/// Hands every restraint to `take`: its atom, the nearest difference to the reference, the force.
fn each(
    restraints: &[PositionRestraint],
    part: f64,
    x: &[Vector3<f64>],
    reference: &[Vector3<f64>],
    cell: Cell,
    mut take: impl FnMut(usize, Vector3<f64>, Vector3<f64>),
) {
    for restraint in restraints {
        let i = restraint.atom as usize;
        let d = cell.minimum_image(x[i] - reference[i]);
        take(i, d, -restraint.stiffness(part).component_mul(&d));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bonded::finite_difference::five_point;

    /// Of a restraint that stays and of one of which a third is left.
    #[test]
    fn force_and_virial_are_derivatives() {
        let k = Vector3::new(1000.0, 300.0, 500.0);
        let (x, reference) = ([Vector3::new(0.3, 0.2, 0.7)], [Vector3::new(0.25, 0.28, 0.61)]);
        for (fades, part) in [(false, 1.0), (true, 1.0 / 3.0)] {
            let held = [PositionRestraint { atom: 0, k, fades }];
            let at = |x: Vector3<f64>, r: Vector3<f64>| {
                evaluate(&held, 1.0 / 3.0, &[x], &[r], Cell::Open, &mut [Vector3::zeros()]).energy
            };
            let mut f = [Vector3::zeros()];
            let v = evaluate(&held, 1.0 / 3.0, &x, &reference, Cell::Open, &mut f);
            // ½ (1000·0.05² + 300·0.08² + 500·0.09²)
            assert!((v.energy - part * 4.235).abs() < 1e-12, "{}", v.energy);
            for d in 0..3 {
                let slope = five_point(1e-4, |h| {
                    let mut moved = x[0];
                    moved[d] += h;
                    at(moved, reference[0])
                });
                assert!((f[0][d] + slope).abs() < 1e-8);
            }
            let slope = five_point(1e-4, |h| at(x[0] * (1.0 + h), reference[0] * (1.0 + h)));
            assert!((v.virial + slope).abs() < 1e-8);
            let by_references = virial_of_references(&held, 1.0 / 3.0, &x, &reference, Cell::Open);
            for axis in 0..3 {
                let slope = five_point(1e-4, |h| {
                    let stretched = |mut r: Vector3<f64>| {
                        r[axis] *= 1.0 + h;
                        r
                    };
                    at(stretched(x[0]), stretched(reference[0]))
                });
                assert!((by_references[axis] + x[0][axis] * f[0][axis] + slope).abs() < 1e-8);
            }
        }
    }
}
