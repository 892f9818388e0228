//! Verlet list: which clusters of eight atoms each atom may meet before the list is made again.
//!
//! An entry of the list is one atom against one cluster: every pair stands in the list of both its atoms (no third law), so that an atom's
//! force is summed in one place and in one order. A cluster is kept if any of its atoms lies within cut-off + buffer; the kernel tests the
//! cut-off itself. A run of entries belongs to one periodic image of the atom. With images ≥ 2 (cut-off + buffer) apart each pair is met once.

use kernels::Isa;
use kernels::lennard_jones::{CLUSTER, Entry, Run, Seekers, select_near_on};
use rayon::prelude::*;

use super::clusters::{Clusters, NO_ATOM};
use crate::ExcludedPairs;
use crate::cell::Cell;

/// Clusters per independent piece of work. Fixed, so that sums do not depend on the number of threads.
const CLUSTERS_PER_CHUNK: usize = 16;

/// The list of [`CLUSTERS_PER_CHUNK`] consecutive clusters.
#[derive(Clone, Debug, Default)]
pub struct Chunk {
    /// Its first slot.
    pub first_slot: usize,
    /// The atoms that meet anything.
    pub runs: Vec<Run>,
    /// Their entries.
    pub entries: Vec<Entry>,
    /// Forces on its slots, kJ/mol/nm; written by the kernel.
    pub forces: Vec<[f64; 3]>,
    candidates: Vec<u32>,
}

/// A periodic image.
#[derive(Clone, Copy, Debug)]
struct Image {
    /// Whole edges a, b, c.
    edges: [i8; 3],
    /// The displacement in nm.
    shift: [f64; 3],
}

impl Image {
    const HOME: Self = Self { edges: [0; 3], shift: [0.0; 3] };

    /// The atoms themselves and, in a box, all images of it that may have an atom within `reach` (nm).
    fn all(cell: Cell, reach: f64) -> Vec<Self> {
        let Some(periodic) = cell.periodic() else { return vec![Self::HOME] };
        let image = |edges: [i8; 3]| Self { edges, shift: periodic.vector(edges.map(f64::from)).into() };
        periodic.images_within(reach).into_iter().map(image).collect()
    }

    fn is_home(&self) -> bool {
        self.edges == Self::HOME.edges
    }
}

/// Everything that a list is made from.
#[derive(Clone, Copy, Debug)]
pub struct Builder<'a> {
    /// The atoms.
    pub clusters: &'a Clusters,
    /// Pairs that the list leaves out.
    pub exclusions: &'a ExcludedPairs,
    /// Boundary of the positions.
    pub cell: Cell,
    /// Cut-off + buffer, nm.
    pub reach: f64,
    /// Instruction set of the search.
    pub isa: Isa,
}

impl Builder<'_> {
    /// Make the list of all clusters anew; memory of `chunks` is used again.
    pub fn build(&self, chunks: &mut Vec<Chunk>) {
        let n = self.clusters.filled.len();
        let images = Image::all(self.cell, self.reach);
        chunks.resize_with(n.div_ceil(CLUSTERS_PER_CHUNK), Chunk::default);
        chunks.par_iter_mut().enumerate().for_each(|(number, chunk)| {
            let range = number * CLUSTERS_PER_CHUNK..n.min((number + 1) * CLUSTERS_PER_CHUNK);
            chunk.first_slot = CLUSTER * range.start;
            chunk.forces.clear();
            chunk.forces.resize(CLUSTER * range.len(), [0.0; 3]);
            chunk.runs.clear();
            chunk.entries.clear();
            for cluster in range {
                for image in &images {
                    let bounds = self.clusters.bounds[cluster].shifted(image.shift);
                    if !self.clusters.touches(&bounds, self.reach) {
                        continue;
                    }
                    self.clusters.near(&bounds, self.reach, &mut chunk.candidates);
                    if !chunk.candidates.is_empty() {
                        self.list_cluster(cluster, image, chunk);
                    }
                }
            }
        });
    }

    /// Entries of the atoms of `cluster` in `image`, from the candidates of the chunk.
    fn list_cluster(&self, cluster: usize, image: &Image, chunk: &mut Chunk) {
        let mut start = chunk.entries.len();
        let seekers = Seekers { cluster: cluster as u32, shift: image.shift, limit: self.reach * self.reach };
        let ends = select_near_on(self.isa, self.clusters.view(), &chunk.candidates, seekers, &mut chunk.entries);
        for (slot, end) in (CLUSTER * cluster..).zip(ends) {
            if end > start {
                self.leave_out(slot, self.clusters.atoms[slot], image, &mut chunk.entries[start..end]);
                let run = Run { slot: slot as u32, image: image.edges, start: start as u32, end: end as u32 };
                chunk.runs.push(run);
            }
            start = end;
        }
    }

    /// Takes the atom itself and its excluded partners out of its entries.
    fn leave_out(&self, slot: usize, atom: u32, image: &Image, entries: &mut [Entry]) {
        if image.is_home() {
            remove(entries, slot);
        }
        for &partner in self.exclusions.of(atom) {
            let slot = self.clusters.slots[partner as usize];
            if slot != NO_ATOM {
                remove(entries, slot as usize);
            }
        }
    }
}

/// Takes the atom of `slot` out of its entry, if there is one.
fn remove(entries: &mut [Entry], slot: usize) {
    if let Ok(k) = entries.binary_search_by_key(&((slot / CLUSTER) as u32), |e| e.cluster()) {
        entries[k].remove(slot % CLUSTER);
    }
}
