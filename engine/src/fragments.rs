//! Molecules stay whole in a periodic box.
//!
//! Neighbours in the graph of bonds, constraints, rigid waters and virtual sites are placed next to each other, so that bonded terms and constraints need no
//! periodic image. Output moves whole fragments, so that their geometric centres lie in the box.
//!
//! Units: nm.

use forcefield::cell::PeriodicBox;
use forcefield::topology::Topology;
use nalgebra::Vector3;

/// What is wrong with molecules in a periodic box.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum FragmentError {
    /// A chain of bonds comes back to its start in another periodic image, or a bond is longer than half the cell.
    #[error(
        "the bond between atoms {} and {} is {length:.3} nm long after the molecule was made whole, although its periodic \
         images are {image:.3} nm apart: molecules that are bonded to their own periodic image are not supported",
        atoms[0] + 1, atoms[1] + 1
    )]
    Endless {
        /// Bonded atoms (0-based).
        atoms: [u32; 2],
        /// Distance in the molecule made whole, nm.
        length: f64,
        /// Distance of the nearest images, nm.
        image: f64,
    },
}

/// The bonded fragments of a system: spanning trees and ring closures of the graph of bonds, constraints and rigid waters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fragments {
    /// Atoms in the order of a breadth-first walk, each with the atom it hangs on (itself for the first of a fragment).
    walk: Vec<[u32; 2]>,
    /// Where fragments begin in `walk`, and its length.
    starts: Vec<u32>,
    /// Bonds that the walk did not use: they close rings.
    closures: Vec<[u32; 2]>,
}

impl Fragments {
    /// Fragments of a topology: harmonic bonds and distances, constraints, rigid waters, virtual sites with their parents.
    pub fn new(topology: &Topology) -> Self {
        let bonds = topology.bonds.iter().chain(&topology.distances).map(|b| b.atoms);
        let constraints = topology.constraints.iter().map(|c| c.atoms);
        let waters = topology.settles.iter().flat_map(|s| s.hydrogens.map(|h| [s.oxygen, h]));
        // All hang on the first parent: where the structure has a site is of no matter.
        let sites = topology.virtual_sites.iter().flat_map(|one| {
            let first = one.parents[0];
            one.parents[1..].iter().chain([&one.site]).map(move |&atom| [first, atom])
        });
        Self::from_bonds(topology.n_atoms(), bonds.chain(constraints).chain(waters).chain(sites))
    }

    /// Fragments of `n_atoms` atoms connected by `bonds` (indices below `n_atoms`).
    pub fn from_bonds(n_atoms: usize, bonds: impl IntoIterator<Item = [u32; 2]>) -> Self {
        let mut neighbours = vec![Vec::new(); n_atoms];
        for [i, j] in bonds {
            neighbours[i as usize].push(j);
            neighbours[j as usize].push(i);
        }
        let mut fragments = Self { starts: vec![0], ..Self::default() };
        let mut parent = vec![u32::MAX; n_atoms];
        for first in 0..n_atoms as u32 {
            if parent[first as usize] != u32::MAX {
                continue;
            }
            parent[first as usize] = first;
            let mut next = fragments.walk.len();
            fragments.walk.push([first, first]);
            while let Some(&[atom, from]) = fragments.walk.get(next) {
                next += 1;
                for &neighbour in &neighbours[atom as usize] {
                    if parent[neighbour as usize] == u32::MAX {
                        parent[neighbour as usize] = atom;
                        fragments.walk.push([neighbour, atom]);
                    } else if neighbour != from && atom < neighbour && parent[neighbour as usize] != atom {
                        fragments.closures.push([atom, neighbour]);
                    }
                }
            }
            fragments.starts.push(fragments.walk.len() as u32);
        }
        fragments
    }

    /// Number of fragments.
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there are no atoms at all.
    pub fn is_empty(&self) -> bool {
        self.walk.is_empty()
    }

    /// Atoms of each fragment, in the order of the walk.
    pub fn iter(&self) -> impl Iterator<Item = impl Iterator<Item = u32> + '_> + '_ {
        self.starts.windows(2).map(|w| self.walk[w[0] as usize..w[1] as usize].iter().map(|&[atom, _]| atom))
    }

    /// Moves atoms by whole edges of the box so that each fragment is in one piece; its first atom stays.
    ///
    /// # Errors
    /// [`FragmentError::Endless`] if a ring of bonds leads to another image of itself.
    pub fn make_whole(&self, cell: &PeriodicBox, x: &mut [Vector3<f64>]) -> Result<(), FragmentError> {
        for &[atom, from] in &self.walk {
            let anchor = x[from as usize];
            let d = x[atom as usize] - anchor;
            let image = cell.minimum_image(d);
            // Atoms that are already in place keep their bits.
            if (d - image).norm_squared() > 1e-20 * cell.diagonal().norm_squared() {
                x[atom as usize] = anchor + image;
            }
        }
        for &atoms in &self.closures {
            let d = x[atoms[1] as usize] - x[atoms[0] as usize];
            let image = cell.minimum_image(d);
            if (d - image).norm() > 1e-6 * cell.diagonal().min() {
                return Err(FragmentError::Endless { atoms, length: d.norm(), image: image.norm() });
            }
        }
        Ok(())
    }

    /// Moves whole fragments by edges of the box so that their geometric centres lie in it, for output.
    pub fn wrap(&self, cell: &PeriodicBox, x: &mut [Vector3<f64>]) {
        for w in self.starts.windows(2) {
            let atoms = &self.walk[w[0] as usize..w[1] as usize];
            let sum: Vector3<f64> = atoms.iter().map(|&[atom, _]| x[atom as usize]).sum();
            let centre = sum / atoms.len() as f64;
            let shift = cell.shift_into(centre);
            if shift != Vector3::zeros() {
                for &[atom, _] in atoms {
                    x[atom as usize] += shift;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell() -> PeriodicBox {
        PeriodicBox::rectangular(Vector3::new(2.0, 3.0, 2.5)).unwrap()
    }

    /// A five-ring with a tail, an ion and a pair, broken into pieces by wrapping every atom.
    #[test]
    fn molecules_become_whole_across_boundaries() {
        let cell = cell();
        let ring = |k: u32| {
            let angle = 2.0 * std::f64::consts::PI * f64::from(k) / 5.0;
            Vector3::new(0.15 * angle.cos(), 0.15 * angle.sin(), 0.0)
        };
        let mut whole: Vec<_> = (0..5).map(|k| ring(k) + Vector3::new(0.05, 2.95, 0.0)).collect();
        let root = whole[0];
        whole.extend((1..=6).map(|k| root + Vector3::new(0.3, 0.1, -0.4) * f64::from(k)));
        whole.push(Vector3::new(1.0, 1.0, 1.0));
        whole.extend([Vector3::new(0.06, 0.0, 0.0), Vector3::new(-0.1, 0.0, 0.0)]);
        let mut bonds: Vec<[u32; 2]> = (0..5).map(|k| [k, (k + 1) % 5]).collect();
        bonds.extend([[0, 5], [6, 5], [6, 7], [8, 7], [8, 9], [9, 10], [13, 12]]);
        let fragments = Fragments::from_bonds(whole.len(), bonds.iter().copied());
        assert_eq!(fragments.len(), 3);
        assert_eq!(fragments.iter().map(Iterator::count).collect::<Vec<_>>(), [11, 1, 2]);

        let broken: Vec<_> = whole.iter().map(|x| cell.wrap(*x)).collect();
        let mut x = broken.clone();
        fragments.make_whole(&cell, &mut x).unwrap();
        for [i, j] in bonds.iter().map(|b| b.map(|a| a as usize)) {
            assert!(((x[i] - x[j]) - (whole[i] - whole[j])).norm() < 1e-12, "bond {i}-{j}");
        }
        // A system that is whole already keeps its bits.
        let again = x.clone();
        fragments.make_whole(&cell, &mut x).unwrap();
        assert_eq!(x, again);

        fragments.wrap(&cell, &mut x);
        for atoms in fragments.iter() {
            let atoms: Vec<_> = atoms.map(|a| a as usize).collect();
            let centre = atoms.iter().map(|&a| x[a]).sum::<Vector3<f64>>() / atoms.len() as f64;
            assert!((cell.wrap(centre) - centre).norm() < 1e-12, "{centre}");
        }
        for [i, j] in bonds.iter().map(|b| b.map(|a| a as usize)) {
            assert!(((x[i] - x[j]) - (whole[i] - whole[j])).norm() < 1e-12, "bond {i}-{j}");
        }
    }

    #[test]
    fn a_chain_bonded_to_its_own_image_is_refused() {
        let mut x: Vec<_> = (0..4).map(|k| Vector3::new(0.5 * f64::from(k), 0.0, 0.0)).collect();
        let fragments = Fragments::from_bonds(4, [[0, 1], [1, 2], [2, 3], [3, 0]]);
        let error = fragments.make_whole(&cell(), &mut x).unwrap_err();
        assert!(matches!(error, FragmentError::Endless { .. }), "{error}");
    }

    #[test]
    fn fragments_of_a_topology_follow_bonds_constraints_and_waters() {
        use forcefield::topology::{Atom, Bond, Constraint, Settle};
        let atom = Atom { name: "X".into(), type_index: 0, residue: 0, molecule: 0, charge: 0.0, mass: 1.0 };
        let topology = Topology {
            atoms: vec![atom; 8],
            bonds: vec![Bond { atoms: [0, 1], r0: 0.1, k: 1.0 }],
            constraints: vec![Constraint { atoms: [1, 2], length: 0.1 }],
            settles: vec![Settle { oxygen: 4, hydrogens: [5, 6], d_oh: 0.1, d_hh: 0.16 }],
            ..Topology::default()
        };
        let sizes = |topology: &Topology| Fragments::new(topology).iter().map(Iterator::count).collect::<Vec<_>>();
        assert_eq!(sizes(&topology), [3, 1, 3, 1]);
        let site = forcefield::VirtualSite::average3(7, [4, 5, 6], [0.7, 0.15, 0.15]);
        assert_eq!(sizes(&Topology { virtual_sites: vec![site], ..topology }), [3, 1, 4]);
    }
}
