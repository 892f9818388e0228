//! The sparse tree of a group: the boxes of the global tree that hold a small group of particles, their ancestors, and the pairs among them.
//!
//! A group may lie in several distant pieces. Which pairs are near and which are far is decided by the boxes of the whole tree, images
//! included, so that a group feels exactly its own part of the whole evaluation.

use crate::geometry::assignment::Assignment;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::NearSet;
use crate::geometry::tree::cousins;

/// Where two boxes of one level lie, which decides their M2L operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BoxOffset {
    /// Source − target, on a refined level.
    Refined([i32; 3]),
    /// Target − source in the canonical image, on the root grid: all images together.
    Root([i32; 3]),
}

/// M2L between two boxes of one level, by their places among the group's boxes.
#[derive(Clone, Copy, Debug)]
pub struct BoxPair {
    /// The box that receives.
    pub target: u32,
    /// The box that gives.
    pub source: u32,
    /// Decides the operator.
    pub offset: BoxOffset,
}

/// A group's boxes on one level.
#[derive(Debug, Default)]
pub struct GroupLevel {
    /// Places in the global level, ascending.
    pub boxes: Vec<u32>,
    /// Parent of each box, as a place among the group's boxes one level up; empty on the root level.
    pub parents: Vec<u32>,
    /// Octant of each box in its parent.
    pub octants: Vec<u8>,
    /// Sorted by offset.
    pub pairs: Vec<BoxPair>,
}

/// Two members that interact directly.
#[derive(Clone, Copy, Debug)]
pub struct NearPair {
    /// Members, by ascending place.
    pub target: u32,
    /// See `target`.
    pub source: u32,
    /// Displacement target → source in boxes.
    pub offset: [i32; 3],
}

/// A group of particles in the present assignment.
pub struct Group {
    /// Sorted places of the members, ascending.
    pub places: Vec<u32>,
    /// Where each member stands in the caller's list.
    pub slots: Vec<u32>,
    /// First member of each leaf box, and the end.
    pub starts: Vec<u32>,
    /// Root first.
    pub levels: Vec<GroupLevel>,
    /// All near pairs, images included, without excluded ones.
    pub near: Vec<NearPair>,
}

impl Group {
    /// Boxes and pairs of the group `particles`.
    pub fn new(
        particles: &[u32],
        to: &Assignment,
        near: &NearSet,
        positions: &[[f64; 3]],
        exclusions: &Exclusions,
    ) -> Self {
        let mut slots: Vec<u32> = (0..particles.len() as u32).collect();
        slots.sort_by_key(|s| to.place[particles[*s as usize] as usize]);
        let places: Vec<u32> = slots.iter().map(|s| to.place[particles[*s as usize] as usize]).collect();
        let leaf = |n: usize| to.leaf_of[places[n] as usize];
        let firsts = (0..places.len()).filter(|n| *n == 0 || leaf(*n) != leaf(n - 1));
        let mut starts: Vec<u32> = firsts.map(|n| n as u32).collect();
        let leaves = starts.iter().map(|n| leaf(*n as usize)).collect();
        starts.push(places.len() as u32);
        let mut out = Self { places, slots, starts, levels: group_levels(to, near, leaves), near: Vec::new() };
        out.find_near(to, near, positions, exclusions);
        out
    }

    /// Number of particles.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Leaf boxes.
    pub fn leaves(&self) -> &[u32] {
        self.levels.last().map_or(&[], |level| &level.boxes)
    }

    /// Members in the group's leaf `i`.
    pub fn members(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    fn find_near(&mut self, to: &Assignment, near: &NearSet, positions: &[[f64; 3]], exclusions: &Exclusions) {
        let mut pairs = Vec::new();
        let particle = |member: usize| to.order[self.places[member] as usize] as usize;
        for (slot, leaf) in self.leaves().iter().enumerate() {
            for n in to.leaves().near(*leaf as usize) {
                let Ok(other) = self.leaves().binary_search(&n.source) else { continue };
                let offset = near.offsets()[n.slot as usize];
                for i in self.members(slot) {
                    for j in self.members(other) {
                        let (a, b) = (particle(i), particle(j));
                        let itself = i == j && offset == [0; 3];
                        let excluded = || exclusions.contains(a, b) && to.displacement(a, b, positions) == offset;
                        if !(itself || excluded()) {
                            pairs.push(NearPair { target: i as u32, source: j as u32, offset });
                        }
                    }
                }
            }
        }
        self.near = pairs;
    }
}

/// The boxes above `leaves`, root first, and the pairs of each level.
fn group_levels(to: &Assignment, near: &NearSet, leaves: Vec<u32>) -> Vec<GroupLevel> {
    let depth = to.geometry.tree.depth;
    let mut boxes = vec![leaves];
    for d in (1..=depth).rev() {
        let mut parents: Vec<u32> = boxes[depth - d].iter().map(|b| to.levels[d].parents[*b as usize]).collect();
        parents.sort_unstable();
        parents.dedup();
        boxes.push(parents);
    }
    boxes.reverse();
    let level = |d: usize| {
        if d == 0 {
            let pairs = root_pairs(to, near, &boxes[0]);
            return GroupLevel { boxes: boxes[0].clone(), pairs, ..GroupLevel::default() };
        }
        let level = &to.levels[d];
        let parent = |b: &u32| boxes[d - 1].binary_search(&level.parents[*b as usize]).map_or(0, |p| p as u32);
        GroupLevel {
            boxes: boxes[d].clone(),
            parents: boxes[d].iter().map(parent).collect(),
            octants: boxes[d].iter().map(|b| level.octant(*b as usize) as u8).collect(),
            pairs: refined_pairs(to, near, d, &boxes[d]),
        }
    };
    (0..=depth).map(level).collect()
}

/// Pairs of root boxes: each one once, all images together.
fn root_pairs(to: &Assignment, near: &NearSet, boxes: &[u32]) -> Vec<BoxPair> {
    let level = &to.levels[0];
    let images = level.topology.periodic.contains(&true);
    let mut out = Vec::new();
    for (target, a) in boxes.iter().enumerate() {
        for (source, b) in boxes.iter().enumerate() {
            let (a, b) = (level.coordinates[*a as usize], level.coordinates[*b as usize]);
            let offset = level.topology.reduced([0, 1, 2].map(|x| a[x] as i32 - b[x] as i32));
            if images || !near.contains(offset) {
                out.push(BoxPair { target: target as u32, source: source as u32, offset: BoxOffset::Root(offset) });
            }
        }
    }
    out.sort_by_key(|p| p.offset);
    out
}

/// Pairs of boxes on refined level d whose parents are near but which are not.
fn refined_pairs(to: &Assignment, near: &NearSet, d: usize, boxes: &[u32]) -> Vec<BoxPair> {
    let mut out = Vec::new();
    for (target, b) in boxes.iter().enumerate() {
        cousins(&to.levels[d - 1], &to.levels[d], near, *b as usize, |source, u| {
            if let (Ok(source), false) = (boxes.binary_search(&source), near.contains(u)) {
                out.push(BoxPair { target: target as u32, source: source as u32, offset: BoxOffset::Refined(u) });
            }
        });
    }
    out.sort_by_key(|p| p.offset);
    out
}
