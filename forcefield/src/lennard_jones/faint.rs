//! Classes of atoms that hardly feel each other: hydrogens of CHARMM, whose σ is 0.04 nm.
//!
//! Hydrogens that have Lennard-Jones at all are two of three atoms of water, so that four of nine pairs within the cut-off are pairs of them. Their c6 is a
//! millionth of that of two oxygens: in a liquid all partners beyond [`FAINT_DISTANCE`] together give an atom less than [`FAINT_ENERGY`], and each of
//! them a force below the rounding of any other. Lists on a device leave these pairs out; beside other classes such atoms are like any others.
//! Units: nm, kJ/mol.

use std::f64::consts::PI;

use super::Classes;

/// Distance beyond which faint atoms do not feel each other, nm.
pub(crate) const FAINT_DISTANCE: f64 = 0.45;

/// Most energy that an atom has with all faint partners beyond that, kJ/mol: some 1e-6 of what it has with others.
const FAINT_ENERGY: f64 = 1e-5;

/// Atoms of a liquid, 1/nm³: water has 100.
const DENSITY: f64 = 110.0;

/// The largest c6 (kJ/mol nm⁶) of faint pairs: ½ ρ 4π ∫ c6/r⁴ dr = [`FAINT_ENERGY`].
fn largest_c6() -> f64 {
    FAINT_ENERGY * 6.0 * FAINT_DISTANCE.powi(3) / (4.0 * PI * DENSITY)
}

/// The same classes, those that are faint with each other first, and how many these are. What has no interaction at all is not among them.
pub(crate) fn faint_first(classes: Classes) -> (Classes, usize) {
    let Classes { of_atoms, mut table } = classes;
    let n = table.n_types as u32;
    let is_faint = |a: u32, b: u32| {
        let (c6, c12) = table.get(a, b);
        // Repulsion falls off so fast that it counts at the distance alone.
        c6.abs() <= largest_c6() && c12.abs() / FAINT_DISTANCE.powi(6) <= largest_c6()
    };
    let mut faint: Vec<u32> = Vec::new();
    for class in (0..n).filter(|&a| !table.is_inert(a)) {
        if is_faint(class, class) && faint.iter().all(|&other| is_faint(class, other)) {
            faint.push(class);
        }
    }
    let order: Vec<u32> = faint.iter().copied().chain((0..n).filter(|class| !faint.contains(class))).collect();
    let mut new_number = vec![0; n as usize];
    for (new, &old) in (0..).zip(&order) {
        new_number[old as usize] = new;
    }
    let all = || order.iter().flat_map(|&a| order.iter().map(move |&b| (a, b)));
    let (c6, c12) = all().map(|(a, b)| table.get(a, b)).unzip();
    (table.c6, table.c12) = (c6, c12);
    (Classes { of_atoms: of_atoms.iter().map(|&class| new_number[class as usize]).collect(), table }, faint.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::LennardJonesTable;

    /// c6 and c12 of σ (nm) and ε (kJ/mol), by the rules of Lorentz and Berthelot.
    fn classes(kinds: &[(f64, f64)], of_atoms: Vec<u32>) -> Classes {
        let pairs = || kinds.iter().flat_map(|a| kinds.iter().map(move |b| (0.5 * (a.0 + b.0), (a.1 * b.1).sqrt())));
        let c6 = pairs().map(|(sigma, epsilon)| 4.0 * epsilon * sigma.powi(6)).collect();
        let c12 = pairs().map(|(sigma, epsilon)| 4.0 * epsilon * sigma.powi(12)).collect();
        Classes { of_atoms, table: LennardJonesTable { n_types: kinds.len(), c6, c12 } }
    }

    #[test]
    fn hydrogens_of_charmm_are_faint_and_others_are_not() {
        // Oxygen and hydrogen of CHARMM's TIP3P, HA1 of an aliphatic carbon, and something without interaction.
        let (oxygen, hydrogen, aliphatic, none) =
            ((0.315057, 0.636386), (0.040001, 0.192464), (0.238761, 0.188280), (0.0, 0.0));
        let before = classes(&[oxygen, none, hydrogen, aliphatic], vec![0, 2, 2, 1, 3]);
        let (after, faint) = faint_first(before.clone());
        assert_eq!((faint, after.of_atoms.clone()), (1, vec![1, 0, 0, 2, 3]));
        for (i, (a, new_a)) in before.of_atoms.iter().zip(&after.of_atoms).enumerate() {
            for (b, new_b) in before.of_atoms.iter().zip(&after.of_atoms) {
                assert_eq!(before.table.get(*a, *b), after.table.get(*new_a, *new_b), "atom {i}");
            }
        }
        // All beyond the distance at the density of hydrogens in water, by a sum over shells.
        let (c6, _) = after.table.get(0, 0);
        let shells = (0..100_000).map(|k| FAINT_DISTANCE + 1e-5 * (f64::from(k) + 0.5));
        let energy: f64 = shells.map(|r| 0.5 * 66.7 * 4.0 * PI * r * r * 1e-5 * c6 / r.powi(6)).sum();
        assert!(energy < 0.6 * FAINT_ENERGY && energy > 0.1 * FAINT_ENERGY, "{energy}");
        // AMBER's water: hydrogens have none.
        assert_eq!(faint_first(classes(&[oxygen, none], vec![0, 1])).1, 0);
    }
}
