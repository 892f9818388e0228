//! Particles sorted into leaf boxes, the image of the cell each one is taken from, and the pairs to skip.
//!
//! All of it stays as it is until the next `assign`, so that the energy is a smooth function of the positions while particles move a little
//! out of their boxes. Coordinates are kept relative to the centre of the own leaf box, in units of the leaf scale: small in f32.

use kernels::ExceptionTable;

use crate::exclusions::Exclusions;
use crate::tree::{Level, TreeShape};
use crate::{Boundary, FmmError};

/// Where the boxes lie.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Root grid and depth.
    pub tree: TreeShape,
    /// Whether the cell repeats.
    pub periodic: bool,
    /// Lowest corner of the grid.
    pub corner: [f64; 3],
    /// Edges of a leaf box.
    pub leaf: [f64; 3],
}

impl Geometry {
    /// The cell cut into boxes; for an open boundary cubes around `positions`.
    pub fn new(boundary: &Boundary, tree: TreeShape, positions: &[[f64; 3]]) -> Self {
        let n = tree.leaves();
        if let Boundary::Periodic { edges } = boundary {
            return Self { tree, periodic: true, corner: [0.0; 3], leaf: [0, 1, 2].map(|a| edges[a] / n[a] as f64) };
        }
        let low = [0, 1, 2].map(|a| positions.iter().map(|p| p[a]).fold(f64::INFINITY, f64::min));
        let high = [0, 1, 2].map(|a| positions.iter().map(|p| p[a]).fold(f64::NEG_INFINITY, f64::max));
        let widest = (0..3).map(|a| (high[a] - low[a]) / n[a] as f64).fold(0.0, f64::max);
        let edge = if widest > 0.0 { widest } else { 1.0 };
        let corner = [0, 1, 2].map(|a| {
            let centre = if positions.is_empty() { 0.0 } else { 0.5 * (low[a] + high[a]) };
            centre - 0.5 * n[a] as f64 * edge
        });
        Self { tree, periodic: false, corner, leaf: [edge; 3] }
    }

    /// Length that the expansions of leaf boxes are scaled by.
    pub fn scale(&self) -> f64 {
        self.leaf.iter().product::<f64>().cbrt()
    }

    /// Level `depth` (0: root grid).
    pub fn level(&self, depth: usize) -> Level {
        Level { shape: self.tree.root.map(|m| m << depth), periodic: self.periodic }
    }

    /// Grid of leaf boxes.
    pub fn leaves(&self) -> Level {
        self.level(self.tree.depth)
    }

    /// Centre of leaf box `c`, and of the root box around it.
    pub fn centres(&self, c: [usize; 3]) -> ([f64; 3], [f64; 3]) {
        let depth = self.tree.depth;
        let leaf = [0, 1, 2].map(|a| self.corner[a] + (c[a] as f64 + 0.5) * self.leaf[a]);
        let root =
            [0, 1, 2].map(|a| self.corner[a] + ((c[a] >> depth) as f64 + 0.5) * self.leaf[a] * (1 << depth) as f64);
        (leaf, root)
    }

    /// Cell edges.
    pub fn edges(&self) -> [f64; 3] {
        let n = self.tree.leaves();
        [0, 1, 2].map(|a| n[a] as f64 * self.leaf[a])
    }
}

/// Sorted particles.
pub struct Assignment {
    /// Boxes.
    pub geometry: Geometry,
    /// Particle at each sorted place.
    pub order: Vec<u32>,
    /// First sorted place of each leaf, and the end.
    pub starts: Vec<u32>,
    /// Image, in cell edges, subtracted from each particle's position; by sorted place.
    pub images: Vec<[i32; 3]>,
    /// Sorted place of each particle.
    pub place: Vec<u32>,
    /// Leaf of each sorted place.
    pub leaf_of: Vec<u32>,
    /// What the near field skips.
    pub exceptions: ExceptionTable,
    /// For each level, the number of particles in each box.
    pub counts: Vec<Vec<u32>>,
}

impl Assignment {
    /// Sort `positions` (wrapped into a periodic cell) and find the pairs to skip.
    pub fn new(
        boundary: &Boundary,
        tree: TreeShape,
        positions: &[[f64; 3]],
        exclusions: &Exclusions,
    ) -> Result<Self, FmmError> {
        if let Some(particle) = positions.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
            return Err(FmmError::NotFinite { particle, what: "position" });
        }
        let geometry = Geometry::new(boundary, tree, positions);
        let grid = geometry.leaves();
        let homes: Vec<(u32, [i32; 3])> = positions.iter().map(|p| home(&geometry, &grid, p)).collect();
        let mut starts = vec![0u32; grid.len() + 1];
        homes.iter().for_each(|h| starts[h.0 as usize + 1] += 1);
        for i in 0..grid.len() {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut order = vec![0u32; positions.len()];
        let mut place = vec![0u32; positions.len()];
        for (i, h) in homes.iter().enumerate() {
            let at = &mut next[h.0 as usize];
            order[*at as usize] = i as u32;
            place[i] = *at;
            *at += 1;
        }
        let images = order.iter().map(|i| homes[*i as usize].1).collect();
        let leaf_of = order.iter().map(|i| homes[*i as usize].0).collect();
        let mut out = Self {
            geometry,
            order,
            starts,
            images,
            place,
            leaf_of,
            exceptions: ExceptionTable::new(),
            counts: Vec::new(),
        };
        out.counts = out.count();
        out.find_exceptions(positions, exclusions)?;
        Ok(out)
    }

    /// Particles of leaf `i`, as sorted places.
    pub fn leaf(&self, i: usize) -> std::ops::Range<usize> {
        self.starts[i] as usize..self.starts[i + 1] as usize
    }

    /// Position of the particle at sorted place `k` in its frozen image.
    pub fn wrapped(&self, k: usize, positions: &[[f64; 3]]) -> [f64; 3] {
        let (p, edges) = (positions[self.order[k] as usize], self.geometry.edges());
        [0, 1, 2].map(|a| p[a] - f64::from(self.images[k][a]) * edges[a])
    }

    /// In boxes, the displacement from the leaf of `i` to that of the nearest image of `j`.
    pub fn displacement(&self, i: usize, j: usize, positions: &[[f64; 3]]) -> [i32; 3] {
        let grid = self.geometry.leaves();
        let (ki, kj) = (self.place[i] as usize, self.place[j] as usize);
        let (a, b) = (self.wrapped(ki, positions), self.wrapped(kj, positions));
        let (ci, cj) = (grid.coordinates(self.leaf_of[ki] as usize), grid.coordinates(self.leaf_of[kj] as usize));
        let edges = self.geometry.edges();
        [0, 1, 2].map(|x| {
            let images = if grid.periodic { ((b[x] - a[x]) / edges[x]).round() as i32 } else { 0 };
            cj[x] as i32 - ci[x] as i32 - images * grid.shape[x] as i32
        })
    }

    fn count(&self) -> Vec<Vec<u32>> {
        let depth = self.geometry.tree.depth;
        let mut counts = vec![self.starts.windows(2).map(|w| w[1] - w[0]).collect::<Vec<u32>>()];
        for d in (0..depth).rev() {
            let (fine, coarse) = (self.geometry.level(d + 1), self.geometry.level(d));
            let mut sums = vec![0; coarse.len()];
            for (i, n) in counts[counts.len() - 1].iter().enumerate() {
                sums[coarse.index(fine.coordinates(i).map(|x| x / 2))] += n;
            }
            counts.push(sums);
        }
        counts.reverse();
        counts
    }

    /// Where in the gathered near sources of each leaf the excluded ones and the particle itself stand.
    fn find_exceptions(&mut self, positions: &[[f64; 3]], exclusions: &Exclusions) -> Result<(), FmmError> {
        let grid = self.geometry.leaves();
        let mut pairs = Vec::new();
        for leaf in 0..grid.len() {
            let targets = self.leaf(leaf);
            pairs.clear();
            if targets.is_empty() {
                self.exceptions.push_leaf(0, 0, &mut pairs);
                continue;
            }
            let mut offsets = [0u32; 27];
            let mut total = 0;
            for (source, u) in grid.near(grid.coordinates(leaf)) {
                offsets[slot(u)] = total;
                total += self.starts[source + 1] - self.starts[source];
            }
            for (n, k) in targets.clone().enumerate() {
                let i = self.order[k] as usize;
                pairs.push((n as u32, offsets[slot([0; 3])] + n as u32));
                for &j in exclusions.partners(i) {
                    let j = j as usize;
                    let u = self.displacement(i, j, positions);
                    if !crate::lattice::is_near(u) {
                        return Err(FmmError::ExclusionTooFar { i: i.min(j), j: i.max(j) });
                    }
                    let kj = self.place[j];
                    pairs.push((n as u32, offsets[slot(u)] + kj - self.starts[self.leaf_of[kj as usize] as usize]));
                }
            }
            self.exceptions.push_leaf(targets.len(), total as usize, &mut pairs);
        }
        Ok(())
    }
}

/// Number of displacement `u` in the order of [`Level::near`].
fn slot(u: [i32; 3]) -> usize {
    ((u[0] + 1) * 9 + (u[1] + 1) * 3 + u[2] + 1) as usize
}

/// Leaf and image of a position.
fn home(geometry: &Geometry, grid: &Level, p: &[f64; 3]) -> (u32, [i32; 3]) {
    let edges = geometry.edges();
    let mut image = [0; 3];
    let c = [0, 1, 2].map(|a| {
        let mut x = p[a] - geometry.corner[a];
        if geometry.periodic {
            image[a] = (x / edges[a]).floor() as i32;
            x -= f64::from(image[a]) * edges[a];
        }
        ((x / geometry.leaf[a]).floor().max(0.0) as usize).min(grid.shape[a] - 1)
    });
    (grid.index(c) as u32, image)
}
