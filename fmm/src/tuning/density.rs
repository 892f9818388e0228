//! How unevenly particles fill the space, at every size of boxes: how many boxes are occupied, how many of their neighbours are, and how many other particles
//! a particle has in its own box and those that touch it.
//!
//! Where the density is the same all over, all of this follows from the number of particles and the part of space that they fill. A Plummer sphere of 10⁵ masses
//! has boxes with 15 of them on average, whose masses have some 15 000 others near by in place of 400.

use rayon::prelude::*;

use crate::geometry::assignment::Geometry;
use crate::geometry::boundary::Boundary;
use crate::geometry::grid::Topology;
use crate::geometry::tree::{MAX_LEAVES, TreeShape, gathered};

/// Most refinements of a tree, and one.
const SIZES: usize = 14;

/// Mean number of particles in the boxes that tell whether the density is uneven.
const CROWD: f64 = 16.0;

/// How many times as many others there must be in the own box as there would be at even density. Droplets make up to
/// 1.5 by their surface, Gaussian clouds of a thousand particles and more 4 to 6.
const UNEVEN: f64 = 2.0;

/// Particles, and boxes, whose neighbours are looked at: means are known within some percent.
const SAMPLES: usize = 1000;

/// Boxes that touch a box, itself included.
const TOUCHING: f64 = 27.0;

/// How particles that are crowded in some places fill near-cubic boxes of every size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Density {
    /// Cube root of the volume of the largest boxes; those of each next size have half of it as edge.
    largest: f64,
    sizes: usize,
    occupied: [f64; SIZES],
    /// Part of the boxes around an occupied box, itself included, that are occupied.
    around: [f64; SIZES],
    /// Other particles in the box of a particle and those around it.
    others: [f64; SIZES],
}

impl Density {
    /// The density of particles in the region with these `edges`, if it is uneven. Those too far from a periodic cell are left out.
    pub(crate) fn uneven(boundary: &Boundary, edges: [f64; 3], positions: &[[f64; 3]]) -> Option<Self> {
        let root = TreeShape::near_cubic(edges, 0).root;
        let longest = root.into_iter().max().unwrap_or(1);
        let depth = (MAX_LEAVES / longest).ilog2().min(SIZES as u32 - 1) as usize;
        let tree = TreeShape { root, depth };
        let geometry = Geometry::new(boundary, tree, positions);
        let (topology, finite) = (geometry.root(), |p: &&[f64; 3]| p.iter().all(|x| x.is_finite()));
        let key = |p: &[f64; 3]| geometry.home(*p).map(|(c, _)| tree.key(&topology, c));
        let mut keys: Vec<u64> = positions.par_iter().filter(finite).filter_map(key).collect();
        keys.par_sort_unstable();
        let largest = geometry.scale() * f64::from(1 << depth);
        let boxes = |size| Boxes { keys: &keys, root: topology, size, depth };
        let mean = |size: &usize| keys.len() as f64 / boxes(*size).starts().count() as f64;
        let crowded = (0..=depth).rev().find(|size| mean(size) >= CROWD)?;
        if boxes(crowded).company() <= UNEVEN * mean(&crowded) {
            return None;
        }
        let none = [0.0; SIZES];
        let mut out = Self { largest, sizes: depth + 1, occupied: none, around: none, others: none };
        let some = sample(0..keys.len());
        for size in 0..out.sizes {
            let boxes = boxes(size);
            let starts: Vec<usize> = boxes.starts().collect();
            out.occupied[size] = starts.len() as f64;
            let around = boxes.mean(&sample(starts.iter().copied()), |k| boxes.around(k).filter(|n| *n > 0).count());
            out.around[size] = around / TOUCHING;
            out.others[size] = boxes.mean(&some, |k| boxes.around(k).sum::<usize>()) - 1.0;
        }
        Some(out)
    }

    /// Occupied boxes whose volume is that of a cube with this edge.
    pub(crate) fn occupied(&self, edge: f64) -> f64 {
        self.between(edge, &self.occupied)
    }

    /// Part of the boxes around an occupied box of this size that are occupied.
    pub(crate) fn around(&self, edge: f64) -> f64 {
        self.between(edge, &self.around)
    }

    /// Mean number of other particles in the `near` boxes of this size around the one of a particle.
    pub(crate) fn others(&self, edge: f64, near: f64) -> f64 {
        self.between(edge * (near / TOUCHING).cbrt(), &self.others)
    }

    /// A power law between the sizes on both sides; the last value beyond them.
    fn between(&self, edge: f64, values: &[f64; SIZES]) -> f64 {
        let size = (self.largest / edge).log2().clamp(0.0, self.sizes as f64 - 1.0);
        let below = (size as usize).min(self.sizes.saturating_sub(2));
        let above = (below + 1).min(self.sizes - 1);
        let [a, b] = [below, above].map(|size| values[size].max(1e-9).ln());
        (a + (size - below as f64) * (b - a)).exp()
    }
}

/// Boxes of one size.
struct Boxes<'a> {
    /// Keys of the boxes of the smallest size that the particles are in, ascending.
    keys: &'a [u64],
    root: Topology,
    size: usize,
    depth: usize,
}

impl Boxes<'_> {
    /// The box of this size around one of the smallest.
    fn of(&self, key: u64) -> u64 {
        key >> (3 * (self.depth - self.size))
    }

    /// The first particle of every occupied box.
    fn starts(&self) -> impl ParallelIterator<Item = usize> {
        let first = |k: &usize| *k == 0 || self.of(self.keys[*k]) != self.of(self.keys[*k - 1]);
        (0..self.keys.len()).into_par_iter().filter(first)
    }

    /// Mean number of others in the box of a particle.
    fn company(&self) -> f64 {
        let boxes = self.keys.chunk_by(|a, b| self.of(*a) == self.of(*b));
        let pairs = boxes.map(|particles| particles.len() as f64 * (particles.len() as f64 - 1.0));
        pairs.sum::<f64>() / self.keys.len() as f64
    }

    /// Numbers of particles in the boxes around that of particle `k`, itself included.
    fn around(&self, k: usize) -> impl Iterator<Item = usize> {
        let (key, tree) = (self.of(self.keys[k]), TreeShape { root: self.root.shape, depth: self.size });
        let topology = self.root.refined(self.size);
        let within = [2, 1, 0].map(|axis| gathered(key >> axis));
        let corner = self.root.coordinates((key >> (3 * self.size)) as usize);
        let c = [0, 1, 2].map(|a| (corner[a] << self.size) | (within[a] & ((1 << self.size) - 1)));
        (0..27).map(move |n| {
            let displaced = topology.displaced(c, [n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1]);
            let end = |key: u64| self.keys.partition_point(|k| self.of(*k) < key);
            displaced.map_or(0, |c| {
                let key = tree.key(&self.root, c);
                end(key + 1) - end(key)
            })
        })
    }

    /// The mean of a number at these particles.
    fn mean(&self, particles: &[usize], number: impl Fn(usize) -> usize + Sync) -> f64 {
        particles.par_iter().map(|k| number(*k)).sum::<usize>() as f64 / particles.len() as f64
    }
}

/// Some of these particles, evenly spread over all of them.
fn sample(particles: impl ExactSizeIterator<Item = usize>) -> Vec<usize> {
    let step = particles.len().div_ceil(SAMPLES).max(1);
    particles.step_by(step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points in cubes of edge `inner` and 1 with the same centre, half of them in each.
    fn cubes(n: usize, inner: f64) -> Vec<[f64; 3]> {
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1_u64 << 31) as f64 - 0.5
        };
        (0..n).map(|i| [(); 3].map(|()| random() * if i % 2 == 0 { 1.0 } else { inner })).collect()
    }

    fn density(boundary: &Boundary, x: &[[f64; 3]]) -> Option<Density> {
        Density::uneven(boundary, [1.0; 3], x)
    }

    #[test]
    fn even_densities_and_few_particles_are_none() {
        let all = cubes(20_000, 1.0);
        let ball: Vec<[f64; 3]> = all.iter().copied().filter(|x| x.iter().map(|c| c * c).sum::<f64>() < 0.25).collect();
        for x in [&all[..], &all[..1000], &all[..50], &all[..1], &[], &ball, &ball[..1000], &[[0.5; 3]; 3]] {
            for boundary in [Boundary::Open, Boundary::rectangular([1.0; 3])] {
                assert_eq!(density(&boundary, x), None, "{}", x.len());
            }
        }
    }

    #[test]
    fn crowds_are_counted() {
        let x = cubes(4000, 0.1);
        for boundary in [Boundary::Open, Boundary::rectangular([1.0; 3])] {
            let density = density(&boundary, &x).unwrap();
            let origin = Geometry::new(&boundary, TreeShape { root: [1; 3], depth: 0 }, &x).corner;
            for boxes in [4_i64, 8, 16] {
                let edge = density.largest / boxes as f64;
                let of = |x: &[f64; 3]| [0, 1, 2].map(|a| ((x[a] - origin[a]) / edge).floor() as i64);
                let homes: Vec<[i64; 3]> = x.iter().map(|x| of(x).map(|c| c.rem_euclid(boxes))).collect();
                let occupied = homes.iter().collect::<std::collections::HashSet<_>>().len();
                assert_eq!(density.occupied(edge).round() as usize, occupied, "{boundary:?} {boxes}");
                let touch =
                    |a: i64, b: i64| (a - b).abs() <= 1 || (boundary != Boundary::Open && (a - b).abs() == boxes - 1);
                let near = |a: &[i64; 3], b: &[i64; 3]| (0..3).all(|k| touch(a[k], b[k]));
                let others: usize = homes.iter().map(|a| homes.iter().filter(|b| near(a, b)).count() - 1).sum();
                let exact = others as f64 / x.len() as f64;
                // A thousand particles, of which half have few others near by, are looked at: the mean is known to a thirtieth.
                assert!((density.others(edge, TOUCHING) / exact - 1.0).abs() < 0.1, "{boundary:?} {boxes}: {exact}");
                let distinct: std::collections::HashSet<_> = homes.iter().collect();
                let pairs: usize = distinct.iter().map(|a| distinct.iter().filter(|b| near(a, b)).count()).sum();
                let around = pairs as f64 / occupied as f64 / TOUCHING;
                assert!((density.around(edge) / around - 1.0).abs() < 0.1, "{boundary:?} {boxes}: {around}");
            }
        }
    }
}
