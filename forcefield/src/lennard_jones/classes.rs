//! Classes of atoms with equal Lennard-Jones coefficients, and the coefficients as the kernel reads them.
//!
//! Types that have equal c6 and c12 with every other type are one class, which keeps tables small: force fields name many more types than
//! differ. Units: kJ/mol nm⁶, kJ/mol nm¹².

use kernels::CacheLine;
use kernels::lennard_jones::{CLUSTER, Eight};

use super::clusters::{Clusters, NO_ATOM};
use crate::topology::LennardJonesTable;

/// Which atoms have equal coefficients.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Classes {
    /// Class of each atom.
    pub of_atoms: Vec<u32>,
    /// Coefficients between classes.
    pub table: LennardJonesTable,
}

impl Classes {
    /// Classes of atoms with these `types` of `table`.
    pub fn new(types: &[u32], table: &LennardJonesTable) -> Self {
        let mut used: Vec<u32> = types.to_vec();
        used.sort_unstable();
        used.dedup();
        let same = |a: u32, b: u32| used.iter().all(|&c| table.get(a, c) == table.get(b, c));
        let mut representatives: Vec<u32> = Vec::new();
        let mut class_of_type = vec![0; table.n_types];
        for &t in &used {
            let class = representatives.iter().position(|&r| same(r, t)).unwrap_or(representatives.len());
            if class == representatives.len() {
                representatives.push(t);
            }
            class_of_type[t as usize] = class as u32;
        }
        let all = || representatives.iter().flat_map(|&a| representatives.iter().map(move |&b| table.get(a, b)));
        let classes = LennardJonesTable {
            n_types: representatives.len(),
            c6: all().map(|c| c.0).collect(),
            c12: all().map(|c| c.1).collect(),
        };
        Self { of_atoms: types.iter().map(|&t| class_of_type[t as usize]).collect(), table: classes }
    }
}

/// c6 and c12 of every cluster with every class.
#[derive(Clone, Debug, Default)]
pub(super) struct Coefficients {
    /// \[class · clusters + cluster\]: c6 and c12 of its eight atoms, 0 where there is no atom.
    pub pairs: Vec<[Eight; 2]>,
    /// Class of the atom of each slot.
    pub classes: Vec<u32>,
}

impl Coefficients {
    /// Fills both tables for `clusters` of the atoms `active`, which have the given classes.
    pub fn fill(&mut self, classes: &Classes, active: &[u32], clusters: &Clusters) {
        let mut class_of = vec![0; clusters.slots.len()];
        for (&atom, &class) in active.iter().zip(&classes.of_atoms) {
            class_of[atom as usize] = class;
        }
        let atoms = &clusters.atoms;
        self.classes.clear();
        self.classes.extend(atoms.iter().map(|&a| if a == NO_ATOM { 0 } else { class_of[a as usize] }));
        let n = clusters.filled.len();
        self.pairs.clear();
        self.pairs.resize(classes.table.n_types * n, [CacheLine([0.0; CLUSTER]); 2]);
        for (row, pairs) in self.pairs.chunks_exact_mut(n.max(1)).enumerate() {
            for (slot, &class) in self.classes.iter().enumerate() {
                if atoms[slot] != NO_ATOM {
                    let (c6, c12) = classes.table.get(row as u32, class);
                    pairs[slot / CLUSTER][0].0[slot % CLUSTER] = c6;
                    pairs[slot / CLUSTER][1].0[slot % CLUSTER] = c12;
                }
            }
        }
    }
}
