//! Side chains that turn more easily: barriers between rotamers that are lowered.
//!
//! A pKa is that of the rotamers visited, and in a protein a side chain changes its rotamer once in nanoseconds: most of what a titration waits for. To the
//! dihedral χ of every bond of a side chain between two saturated carbons is added
//!
//!   V = −B ((1 + cos 3χ)/2)² = −(B/2)(1 + cos 3χ) − (B/8)(1 + cos 6χ) + B/4
//!
//! which is −B at 0°, 120° and 240°, where substituents are eclipsed, and 4th order in the distance from 60°, 180° and 300°, where they are staggered: rotamers
//! keep their energy and their curvature, and barriers of some 17 kJ/mol (1/ns) become lower by B. The term does not depend on λ, so that what it
//! changes of the free energy between forms is the difference of what both have near the barriers.

use forcefield::Topology;
use forcefield::topology::PeriodicDihedral;

/// Bonds of a ring of no more atoms than this do not turn.
const RING: usize = 8;

/// Lowers the barriers about the bonds of all side chains of the molecules that these atoms are in, by `lowered` (kJ/mol); returns how many bonds these are.
pub fn ease_rotamers(topology: &mut Topology, atoms: &[u32], lowered: f64) -> usize {
    let bonded = neighbours(topology);
    let mut inside = vec![false; bonded.len()];
    let mut open: Vec<usize> = atoms.iter().map(|&atom| atom as usize).collect();
    while let Some(atom) = open.pop() {
        if !std::mem::replace(&mut inside[atom], true) {
            open.extend(&bonded[atom]);
        }
    }
    // A hydrogen has one neighbour, a saturated carbon four.
    let beyond = |b: usize, c: usize| bonded[b].iter().copied().find(|&a| a != c && bonded[a].len() > 1);
    let mut turned = 0;
    for b in (0..bonded.len()).filter(|&b| inside[b] && bonded[b].len() == 4) {
        for &c in bonded[b].iter().filter(|&&c| b < c && bonded[c].len() == 4) {
            let Some((a, d)) = beyond(b, c).zip(beyond(c, b)) else { continue };
            if is_in_ring(&bonded, b, c) {
                continue;
            }
            let atoms = [a, b, c, d].map(|atom| atom as u32);
            let term =
                |multiplicity: u32, k: f64| PeriodicDihedral { atoms, phi0: 0.0, k, multiplicity, improper: false };
            topology.propers.extend([term(3, -lowered / 2.0), term(6, -lowered / 8.0)]);
            turned += 1;
        }
    }
    turned
}

/// The atoms that each atom is bonded to, rigid bonds as well.
fn neighbours(topology: &Topology) -> Vec<Vec<usize>> {
    let mut bonded = vec![Vec::new(); topology.atoms.len()];
    let bonds = topology.bonds.iter().map(|bond| bond.atoms);
    for [i, j] in bonds.chain(topology.constraints.iter().map(|one| one.atoms)) {
        let (i, j) = (i as usize, j as usize);
        if !bonded[i].contains(&j) {
            bonded[i].push(j);
            bonded[j].push(i);
        }
    }
    bonded
}

/// Whether there is a short way from `b` to `c` besides their bond.
fn is_in_ring(bonded: &[Vec<usize>], b: usize, c: usize) -> bool {
    let mut seen = vec![b];
    let mut edge = vec![b];
    for _ in 1..RING {
        let mut next = Vec::new();
        for &atom in &edge {
            for &other in &bonded[atom] {
                if other == c && atom != b {
                    return true;
                }
                if other != c && !seen.contains(&other) {
                    seen.push(other);
                    next.push(other);
                }
            }
        }
        edge = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use forcefield::bonded::dihedral::evaluate;
    use forcefield::topology::{Atom, Bond};
    use nalgebra::Vector3;

    fn atom(_: u32) -> Atom {
        Atom { name: String::new(), type_index: 0, residue: 0, molecule: 0, charge: 0.0, mass: 12.0 }
    }

    /// Of bonds between these atoms; hydrogens fill the carbons `full` up to four.
    fn topology(carbons: usize, bonds: &[[u32; 2]], full: &[u32]) -> Topology {
        let mut bonds = bonds.to_vec();
        let mut atoms = carbons as u32;
        for &carbon in full {
            while bonds.iter().flatten().filter(|&&atom| atom == carbon).count() < 4 {
                bonds.push([carbon, atoms]);
                atoms += 1;
            }
        }
        Topology {
            atoms: (0..atoms).map(atom).collect(),
            bonds: bonds.into_iter().map(|atoms| Bond { atoms, r0: 0.15, k: 1e5 }).collect(),
            ..Topology::default()
        }
    }

    fn bonds(topology: &Topology) -> Vec<[u32; 2]> {
        topology
            .propers
            .iter()
            .filter(|term| term.multiplicity == 3)
            .map(|term| [term.atoms[1], term.atoms[2]])
            .collect()
    }

    /// N0–CA1(–C2–O3)–CB4–CG5–CD6(–O7)–O8 as in Glu, and a molecule without a site: χ1 and χ2 turn, bonds at planar atoms do not, nor do methyl groups.
    #[test]
    fn bonds_between_saturated_carbons_of_side_chains_turn() {
        let glu = [
            [0, 1],
            [1, 2],
            [2, 3],
            [1, 4],
            [4, 5],
            [5, 6],
            [6, 7],
            [6, 8],
            [9, 10],
            [10, 11],
            [11, 12],
            [0, 13],
            [2, 14],
        ];
        let mut all = topology(15, &glu, &[1, 4, 5, 9, 10, 11, 12]);
        assert_eq!(ease_rotamers(&mut all, &[6, 7, 8], 8.0), 2);
        assert_eq!(bonds(&all), [[1, 4], [4, 5]]);
        // Butane beside it has one such bond, if it is a site.
        let mut butane = topology(15, &glu, &[1, 4, 5, 9, 10, 11, 12]);
        ease_rotamers(&mut butane, &[9], 8.0);
        assert_eq!(bonds(&butane), [[10, 11]]);
    }

    #[test]
    fn rings_do_not_turn() {
        let ring = [[0, 1], [1, 2], [2, 3], [3, 4], [4, 0], [0, 5]];
        let mut all = topology(6, &ring, &[0, 1, 2, 3, 4, 5]);
        assert_eq!(ease_rotamers(&mut all, &[1], 8.0), 0);
        // The same atoms in a chain.
        let mut open = topology(6, &[[0, 1], [1, 2], [2, 3], [3, 4], [0, 5]], &[0, 1, 2, 3, 4, 5]);
        assert_eq!(ease_rotamers(&mut open, &[1], 8.0), 3);
    }

    /// −B where substituents are eclipsed; where they are staggered neither the energy nor its first two derivatives change.
    #[test]
    fn barriers_become_lower_and_wells_stay() {
        let mut all = topology(4, &[[0, 1], [1, 2], [2, 3]], &[0, 1, 2, 3]);
        ease_rotamers(&mut all, &[0], 8.0);
        let energy = |degrees: f64| -> f64 {
            let x = [Vector3::x(), Vector3::zeros(), Vector3::z(), {
                let (sine, cosine) = degrees.to_radians().sin_cos();
                Vector3::new(cosine, sine, 1.0)
            }];
            let mut f = [Vector3::zeros(); 4];
            let terms = all.propers.iter().filter(|term| [term.atoms[1], term.atoms[2]] == [1, 2]);
            terms.map(|term| evaluate(&PeriodicDihedral { atoms: [0, 1, 2, 3], ..*term }, &x, &mut f).energy).sum()
        };
        for well in [60.0, 180.0, 300.0] {
            assert!((energy(well - 60.0) - energy(well) + 8.0).abs() < 1e-9);
            // 4th order: at 5° (B/4)·(3·5°)⁴/4 = 0.002 kJ/mol, of a harmonic term of the same barrier it would be 0.14.
            assert!((energy(well + 5.0) - energy(well)).abs() < 0.003, "{}", energy(well + 5.0) - energy(well));
        }
    }
}
