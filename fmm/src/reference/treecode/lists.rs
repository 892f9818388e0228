//! Lists of the treecode: which boxes a leaf sees through their expansions, and which directly.

use kernels::{ExceptionTable, LeafExceptions};
use rayon::prelude::*;

use crate::FmmError;
use crate::geometry::assignment::Assignment;
use crate::geometry::exclusions::Exclusions;
use crate::operators::harmonics::count;
use crate::workspace::LANES;

/// Leaves per list.
const GRAIN: usize = 64;

/// Pairs that cost as much as one expansion of (p+2)² harmonics at one particle, per harmonic.
const PAIRS_PER_HARMONIC: f64 = 0.5;

/// Gathering one source costs as much as this number of pairs.
const GATHER: usize = 2;

/// When an expansion is taken.
#[derive(Clone, Debug)]
pub struct Criterion {
    /// For boxes 0, 1, 2, … refinements coarser than leaves: squared distance of the centres in half leaf edges above which they are
    /// accepted.
    accepted: Vec<f64>,
    /// Pairs that cost as much as one expansion at one particle.
    pairs: usize,
}

impl Criterion {
    /// A box is accepted if D < θ (d − δ/2), with D = √3 2^h and δ = √3 in leaf edges.
    pub fn new(order: usize, opening: f64, depth: usize) -> Self {
        let square = |h: usize| 3.0 * (1.0 + 2.0 * f64::from(1u32 << h) / opening).powi(2);
        let pairs = (count(order + 1) as f64 * PAIRS_PER_HARMONIC) as usize;
        Self { accepted: (0..=depth).map(square).collect(), pairs }
    }

    /// Whether the box at `source` on the level `h` refinements coarser than the leaves is far enough from the leaf at `leaf`.
    fn accepts(&self, leaf: [u32; 3], source: [u32; 3], h: usize) -> bool {
        let d = [0, 1, 2].map(|a| i64::from(2 * leaf[a] + 1) - (i64::from(2 * source[a] + 1) << h));
        (d.iter().map(|d| d * d).sum::<i64>() as f64) > self.accepted[h]
    }

    /// Whether `sources` particles cost less one by one than through an expansion, at `targets` particles.
    fn few(&self, sources: usize, targets: usize) -> bool {
        sources * (targets + GATHER) < self.pairs * targets.next_multiple_of(LANES)
    }
}

/// The lists of all leaves.
pub struct Lists {
    levels: usize,
    parts: Vec<Part>,
}

/// The lists of [`GRAIN`] leaves.
#[derive(Default)]
struct Part {
    /// Accepted boxes: leaf by leaf, level by level.
    far: Vec<u32>,
    /// Their end for each leaf and level.
    far_ends: Vec<u32>,
    /// Leaves seen directly: leaf by leaf.
    near: Vec<u32>,
    near_ends: Vec<u32>,
    exceptions: ExceptionTable,
}

impl Lists {
    /// The lists of the leaves of `to`.
    pub fn new(to: &Assignment, criterion: &Criterion, exclusions: &Exclusions) -> Result<Self, FmmError> {
        let part = |i: usize| {
            let mut part = Part::default();
            let mut first = vec![u32::MAX; to.leaves().len()];
            let (mut boxes, mut pairs) = ([Vec::new(), Vec::new()], Vec::new());
            for leaf in i * GRAIN..to.leaves().len().min((i + 1) * GRAIN) {
                part.descend(to, criterion, leaf, &mut boxes);
                part.except(to, exclusions, leaf, &mut first, &mut pairs)?;
            }
            Ok(part)
        };
        let parts = (0..to.leaves().len().div_ceil(GRAIN)).into_par_iter().map(part);
        Ok(Self { levels: to.levels.len(), parts: parts.collect::<Result<_, FmmError>>()? })
    }

    /// Boxes of `level` whose expansions leaf `leaf` takes.
    pub fn far(&self, leaf: usize, level: usize) -> &[u32] {
        let part = &self.parts[leaf / GRAIN];
        entry(&part.far, &part.far_ends, leaf % GRAIN * self.levels + level)
    }

    /// Leaves that leaf `leaf` sees directly.
    pub fn near(&self, leaf: usize) -> &[u32] {
        let part = &self.parts[leaf / GRAIN];
        entry(&part.near, &part.near_ends, leaf % GRAIN)
    }

    /// Which pairs of them are skipped.
    pub fn exceptions(&self, leaf: usize) -> LeafExceptions<'_> {
        self.parts[leaf / GRAIN].exceptions.leaf(leaf % GRAIN)
    }
}

fn entry<'a>(list: &'a [u32], ends: &[u32], i: usize) -> &'a [u32] {
    &list[i.checked_sub(1).map_or(0, |before| ends[before] as usize)..ends[i] as usize]
}

impl Part {
    /// Level by level from the root boxes down: accepted, seen directly, or opened.
    fn descend(&mut self, to: &Assignment, criterion: &Criterion, leaf: usize, [boxes, next]: &mut [Vec<u32>; 2]) {
        let depth = to.geometry.tree.depth;
        let (own, targets) = (to.leaves().coordinates[leaf], to.leaves().particles(leaf).len());
        boxes.clear();
        if targets > 0 {
            boxes.extend((0..to.levels[0].len() as u32).filter(|i| !to.levels[0].is_vacant(*i as usize)));
        }
        for (d, level) in to.levels.iter().enumerate() {
            next.clear();
            for &source in &*boxes {
                let i = source as usize;
                let particles = level.particles(i);
                if criterion.accepts(own, level.coordinates[i], depth - d) {
                    if criterion.few(particles.len(), targets) {
                        self.near.extend(to.leaf_of[particles.start]..=to.leaf_of[particles.end - 1]);
                    } else {
                        self.far.push(source);
                    }
                } else if d == depth {
                    self.near.push(source);
                } else {
                    next.extend(level.children(i).map(|child| child as u32));
                }
            }
            self.far_ends.push(self.far.len() as u32);
            std::mem::swap(boxes, next);
        }
        self.near_ends.push(self.near.len() as u32);
    }

    /// Where among the sources of the leaf last added the particles themselves and their excluded partners stand. `first`: u32::MAX for
    /// every leaf.
    fn except(
        &mut self,
        to: &Assignment,
        exclusions: &Exclusions,
        leaf: usize,
        first: &mut [u32],
        pairs: &mut Vec<(u32, u32)>,
    ) -> Result<(), FmmError> {
        let leaves = to.leaves();
        let near = entry(&self.near, &self.near_ends, self.near_ends.len() - 1);
        let mut total = 0;
        for &source in near {
            first[source as usize] = total;
            total += leaves.particles(source as usize).len() as u32;
        }
        pairs.clear();
        let targets = leaves.particles(leaf);
        for (n, k) in targets.clone().enumerate() {
            let i = to.order[k];
            for &j in exclusions.partners(i as usize).iter().chain([&i]) {
                let place = to.place[j as usize];
                let source = to.leaf_of[place as usize] as usize;
                if first[source] == u32::MAX {
                    return Err(FmmError::ExclusionTooFar { i: i.min(j) as usize, j: i.max(j) as usize });
                }
                pairs.push((n as u32, first[source] + place - leaves.starts[source]));
            }
        }
        self.exceptions.push_leaf(targets.len(), total as usize, pairs);
        near.iter().for_each(|source| first[*source as usize] = u32::MAX);
        Ok(())
    }
}
