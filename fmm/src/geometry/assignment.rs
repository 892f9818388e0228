//! Particles sorted into leaf boxes, the image of the cell each one is taken from, and the pairs to skip.
//!
//! All of it stays as it is until the next `assign`, so that the energy is a smooth function of the positions while particles move a little
//! out of their boxes. Coordinates are kept relative to the centre of the own leaf box, in units of the leaf scale: small in f32.

use kernels::{ExceptionTable, LeafExceptions};
use nalgebra::{Matrix3, Vector3};
use rayon::prelude::*;

use crate::FmmError;
use crate::geometry::boundary::{Boundary, dot, norm};
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::{NearSet, Topology, box_vectors, sheared_box_vectors};
use crate::geometry::tree::{self, Level, TreeShape};

/// Leaves per table of exceptions.
const LEAVES_PER_TABLE: usize = 64;

/// Farthest image, in cells, that a position may lie in: beyond it coordinates in f64 hold less than single precision.
pub const FARTHEST_IMAGE: f64 = 1e8;

/// Along the open directions of slabs and wires boxes grow with the extent of the particles in steps of this factor, so that operators are
/// seldom made anew.
const STRETCH: f64 = 1.05;

/// Where the boxes lie.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    /// Root grid and depth.
    pub tree: TreeShape,
    /// Grid of leaf boxes.
    pub topology: Topology,
    /// Edge vectors of a leaf box, one in each row.
    pub basis: [[f64; 3]; 3],
    /// Volume of the cell, if it repeats in three directions.
    pub volume: Option<f64>,
    /// Corner of the grid.
    pub corner: [f64; 3],
    /// Coordinates in boxes from lengths.
    inverse: Matrix3<f64>,
    /// Image vectors; zero for open axes.
    pub periods: [[f64; 3]; 3],
    /// Lower bound of the length of lattice vectors; infinite if there are none.
    pub shortest: f64,
}

impl Geometry {
    /// The cell cut into boxes that hold all `positions`.
    pub fn new(boundary: &Boundary, tree: TreeShape, positions: &[[f64; 3]]) -> Self {
        let n = tree.leaves();
        let open = boundary.periods().len()..3;
        let (unit, _) = box_vectors(boundary, n, 1.0);
        let ranges: Vec<[f64; 2]> = open.clone().map(|a| range(positions, unit[a])).collect();
        let widest = open.clone().zip(&ranges).map(|(a, [low, high])| (high - low) / n[a] as f64).fold(0.0, f64::max);
        let edge = match unit.get(..open.start).unwrap_or_default() {
            [] if widest > 0.0 => widest,
            [] => 1.0,
            periodic => {
                let base = periodic.iter().map(|e| norm(*e)).product::<f64>().powf(1.0 / periodic.len() as f64);
                base * STRETCH.powf(((widest / base).max(1.0).ln() / STRETCH.ln()).ceil())
            }
        };
        let mut corner = [0.0; 3];
        for (a, [low, high]) in open.zip(ranges) {
            let lowest = 0.5 * (low + high) - 0.5 * n[a] as f64 * edge;
            (0..3).for_each(|x| corner[x] += lowest * unit[a][x]);
        }
        Self::at(boundary, tree, corner, edge, None)
    }

    fn at(boundary: &Boundary, tree: TreeShape, corner: [f64; 3], open_edge: f64, shear: Option<[i32; 3]>) -> Self {
        let shape = tree.leaves();
        // Shears are chosen for the root grid, so that boxes nest.
        let (root, shear) = sheared_box_vectors(boundary, tree.root, open_edge * f64::from(1 << tree.depth), shear);
        let fine = 0.5f64.powi(tree.depth as i32);
        let basis = root.map(|e| e.map(|x| x * fine));
        let topology = Topology { shape, periodic: boundary.periodic(), shear: shear.map(|s| s << tree.depth) };
        let columns = Matrix3::from_columns(&basis.map(Vector3::from));
        let mut periods = [[0.0; 3]; 3];
        periods[..boundary.periods().len()].copy_from_slice(boundary.periods());
        Self {
            tree,
            topology,
            basis,
            volume: boundary.volume(),
            corner,
            inverse: columns.try_inverse().unwrap_or_else(Matrix3::identity),
            periods,
            shortest: boundary.heights().iter().copied().fold(f64::INFINITY, f64::min),
        }
    }

    /// The same boxes, with the same neighbours, after the periods have changed.
    pub fn follow(&self, boundary: &Boundary) -> Self {
        Self::at(boundary, self.tree, self.corner, norm(self.basis[2]), Some(self.root().shear))
    }

    /// Length that the expansions of leaf boxes are scaled by.
    pub fn scale(&self) -> f64 {
        self.basis_matrix().determinant().abs().cbrt()
    }

    /// Coordinates in boxes from lengths: rows of the matrix.
    pub fn inverse(&self) -> [[f64; 3]; 3] {
        [0, 1, 2].map(|a| [0, 1, 2].map(|b| self.inverse[(a, b)]))
    }

    /// Edge vectors of a box over the scale.
    pub fn unit_basis(&self) -> [[f64; 3]; 3] {
        let scale = self.scale();
        self.basis.map(|e| e.map(|x| x / scale))
    }

    /// Root grid.
    pub fn root(&self) -> Topology {
        let depth = self.tree.depth;
        Topology {
            shape: self.tree.root,
            periodic: self.topology.periodic,
            shear: self.topology.shear.map(|s| s >> depth),
        }
    }

    fn basis_matrix(&self) -> Matrix3<f64> {
        Matrix3::from_columns(&self.basis.map(Vector3::from))
    }

    /// Centre of leaf box `c`, and of the root box around it.
    pub fn centres(&self, c: [u32; 3]) -> ([f64; 3], [f64; 3]) {
        let depth = self.tree.depth;
        let at = |c: [f64; 3]| -> [f64; 3] {
            [0, 1, 2].map(|x| self.corner[x] + (0..3).map(|a| c[a] * self.basis[a][x]).sum::<f64>())
        };
        let root = c.map(|c| (f64::from(c >> depth) + 0.5) * f64::from(1 << depth));
        (at(c.map(|c| f64::from(c) + 0.5)), at(root))
    }

    /// The position less its image vectors.
    pub fn wrapped(&self, p: [f64; 3], image: [i32; 3]) -> [f64; 3] {
        let n = image.map(f64::from);
        [0, 1, 2].map(|x| p[x] - (0..3).map(|a| n[a] * self.periods[a][x]).sum::<f64>())
    }

    /// A position in leaf boxes along each axis, from the corner of the grid.
    pub fn in_boxes(&self, p: [f64; 3]) -> [f64; 3] {
        (self.inverse * Vector3::from([0, 1, 2].map(|x| p[x] - self.corner[x]))).into()
    }

    /// Vector over `u` leaf boxes.
    pub fn vector(&self, u: [f64; 3]) -> [f64; 3] {
        (self.basis_matrix() * Vector3::from(u)).into()
    }

    /// Gradient of a function from its derivatives along the edges of a box.
    pub fn gradient(&self, slopes: [f64; 3]) -> [f64; 3] {
        self.inverse.tr_mul(&Vector3::from(slopes)).into()
    }

    /// Leaf and image of a position; none if it is too far away.
    pub fn home(&self, p: [f64; 3]) -> Option<([usize; 3], [i32; 3])> {
        let mut u = Vector3::from(self.in_boxes(p));
        let shape = self.topology.shape;
        let mut image = [0; 3];
        for (a, row) in self.topology.lattice().into_iter().enumerate() {
            if !self.topology.periodic[a] {
                continue;
            }
            let n = (u[a] / shape[a] as f64).floor();
            if n.abs() > FARTHEST_IMAGE {
                return None;
            }
            image[a] = n as i32;
            u -= n * Vector3::from(row.map(f64::from));
        }
        Some(([0, 1, 2].map(|a| (u[a].floor().max(0.0) as usize).min(shape[a] - 1)), image))
    }

    /// The numbers n of periods L for which |d − Σ n L| is shortest: the image of a vector d that is nearest to zero.
    pub fn nearest_image(&self, d: [f64; 3]) -> [i32; 3] {
        let start = self.inverse * Vector3::from(d);
        // Nearest planes one axis after the other, `off` planes from the nearest one.
        let rounded = |off: [i32; 3]| {
            let (mut u, mut image) = (start, [0; 3]);
            for (a, row) in self.topology.lattice().into_iter().enumerate().filter(|(a, _)| self.topology.periodic[*a])
            {
                image[a] = (u[a] / self.topology.shape[a] as f64).round() as i32 + off[a];
                u -= f64::from(image[a]) * Vector3::from(row.map(f64::from));
            }
            let r = self.wrapped(d, image);
            (dot(r, r), image)
        };
        let first = rounded([0; 3]);
        // No lattice vector is shorter than `self.shortest`: any other image is farther.
        if 4.0 * first.0 < self.shortest * self.shortest {
            return first.1;
        }
        let reach = self.topology.periodic.map(i32::from);
        let around = |a: usize| -reach[a]..=reach[a];
        let all = around(0).flat_map(|x| around(1).flat_map(move |y| around(2).map(move |z| [x, y, z])));
        all.map(rounded).fold(first, |best, next| if next.0 < best.0 { next } else { best }).1
    }
}

/// Lowest and highest coordinate along `axis`; [0, 0] for no positions.
fn range(positions: &[[f64; 3]], axis: [f64; 3]) -> [f64; 2] {
    let bounds = |p: &[f64; 3]| {
        let x = dot(*p, axis);
        [x, x]
    };
    let join = |a: [f64; 2], b: [f64; 2]| [a[0].min(b[0]), a[1].max(b[1])];
    positions.par_iter().map(bounds).reduce_with(join).unwrap_or_default()
}

/// Particles by ascending key below `end`, then by number.
fn sorted_order(homes: &[(u64, [i32; 3])], end: u64) -> Vec<u32> {
    let n = homes.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    if end > 4 * n as u64 + 64 {
        order.par_sort_unstable_by_key(|i| (homes[*i as usize].0, *i));
        return order;
    }
    // With few boxes it is faster to count the particles of each and then to place them.
    let mut next = vec![0u32; end as usize + 1];
    homes.iter().for_each(|h| next[h.0 as usize + 1] += 1);
    for i in 0..end as usize {
        next[i + 1] += next[i];
    }
    for (i, h) in homes.iter().enumerate() {
        let at = &mut next[h.0 as usize];
        order[*at as usize] = i as u32;
        *at += 1;
    }
    order
}

/// Sorted particles.
pub struct Assignment {
    /// Boxes.
    pub geometry: Geometry,
    /// Boxes of each level, root first.
    pub levels: Vec<Level>,
    /// Particle at each sorted place.
    pub order: Vec<u32>,
    /// Image subtracted from each particle's position, in periods; by sorted place.
    pub images: Vec<[i32; 3]>,
    /// Sorted place of each particle.
    pub place: Vec<u32>,
    /// Leaf of each sorted place.
    pub leaf_of: Vec<u32>,
    /// The first so many particles are sources, and all others targets only; in each leaf sources come first.
    pub n_sources: usize,
    /// For each leaf the end of the places of its sources.
    source_ends: Vec<u32>,
    exceptions: Vec<ExceptionTable>,
}

impl Assignment {
    /// Sort `positions` (wrapped into a periodic cell) and find the pairs to skip. Positions are finite; the particles that `exclusions` count come first and are the
    /// sources.
    pub fn new(
        geometry: Geometry,
        near: &NearSet,
        positions: &[[f64; 3]],
        exclusions: &Exclusions,
    ) -> Result<Self, FmmError> {
        Self::with_homes(geometry, near, (positions, positions), exclusions)
    }

    /// The same for particles at `positions` that belong to the boxes in which their `homes` lie. The image of an excluded pair that is skipped is the nearest one of the
    /// positions, whatever the homes.
    pub fn with_homes(
        geometry: Geometry,
        near: &NearSet,
        (homes, positions): (&[[f64; 3]], &[[f64; 3]]),
        exclusions: &Exclusions,
    ) -> Result<Self, FmmError> {
        let mut out = Self::sorted(geometry, Some(near), homes)?;
        out.n_sources = exclusions.n_particles();
        for (leaf, end) in out.source_ends.iter_mut().enumerate() {
            let places = out.levels[geometry.tree.depth].particles(leaf);
            let sources = out.order[places.clone()].partition_point(|i| (*i as usize) < out.n_sources);
            *end = (places.start + sources) as u32;
        }
        let tables = 0..out.leaves().len().div_ceil(LEAVES_PER_TABLE);
        let find = |table| out.find_exceptions(table, near, positions, exclusions);
        out.exceptions = tables.into_par_iter().map(find).collect::<Result<_, FmmError>>()?;
        Ok(out)
    }

    /// Sort `positions` only, without pairs to skip. Boxes get no list of near boxes if there is no `near`.
    pub fn sorted(geometry: Geometry, near: Option<&NearSet>, positions: &[[f64; 3]]) -> Result<Self, FmmError> {
        let root = geometry.root();
        let home = |(i, p): (usize, &[f64; 3])| {
            let (c, image) = geometry.home(*p).ok_or(FmmError::TooFar { particle: i })?;
            Ok((geometry.tree.key(&root, c), image))
        };
        let homes: Vec<(u64, [i32; 3])> =
            positions.par_iter().enumerate().map(home).collect::<Result<_, FmmError>>()?;
        let order = sorted_order(&homes, (root.len() as u64) << (3 * geometry.tree.depth));
        let keys: Vec<u64> = order.par_iter().map(|i| homes[*i as usize].0).collect();
        let images = order.par_iter().map(|i| homes[*i as usize].1).collect();
        let mut place = vec![0; positions.len()];
        order.iter().enumerate().for_each(|(k, i)| place[*i as usize] = k as u32);
        let levels = tree::levels(root, geometry.tree, near, &keys);
        let leaves = &levels[geometry.tree.depth];
        let mut leaf_of = vec![0; positions.len()];
        for leaf in 0..leaves.len() {
            leaf_of[leaves.particles(leaf)].fill(leaf as u32);
        }
        let source_ends = leaves.starts[1..].to_vec();
        let n_sources = positions.len();
        Ok(Self { geometry, levels, order, images, place, leaf_of, n_sources, source_ends, exceptions: Vec::new() })
    }

    /// The leaf level.
    pub fn leaves(&self) -> &Level {
        &self.levels[self.geometry.tree.depth]
    }

    /// Sorted places of the sources in leaf `i`.
    pub fn sources(&self, i: usize) -> std::ops::Range<usize> {
        self.leaves().starts[i] as usize..self.source_ends[i] as usize
    }

    /// What the near field of leaf `i` skips.
    pub fn exceptions(&self, i: usize) -> LeafExceptions<'_> {
        self.exceptions[i / LEAVES_PER_TABLE].leaf(i % LEAVES_PER_TABLE)
    }

    /// Position of the particle at sorted place `k` in its frozen image.
    pub fn wrapped(&self, k: usize, positions: &[[f64; 3]]) -> [f64; 3] {
        self.geometry.wrapped(positions[self.order[k] as usize], self.images[k])
    }

    /// In boxes, the displacement from the leaf of `i` to that of the nearest image of `j`. It is the same image for all particles at one place, in whichever boxes they are.
    pub fn displacement(&self, i: usize, j: usize, positions: &[[f64; 3]]) -> [i32; 3] {
        let (ki, kj) = (self.place[i] as usize, self.place[j] as usize);
        let leaves = self.leaves();
        let (ci, cj) = (leaves.coordinates[self.leaf_of[ki] as usize], leaves.coordinates[self.leaf_of[kj] as usize]);
        let nearest = self.geometry.nearest_image([0, 1, 2].map(|x| positions[j][x] - positions[i][x]));
        let image = [0, 1, 2].map(|a| nearest[a] + self.images[ki][a] - self.images[kj][a]);
        let lattice = self.geometry.topology.lattice();
        [0, 1, 2].map(|x| cj[x] as i32 - ci[x] as i32 - (0..3).map(|a| image[a] * lattice[a][x]).sum::<i32>())
    }

    /// For the leaves of one table: where in the gathered sources of near boxes each particle itself and its excluded partners stand.
    fn find_exceptions(
        &self,
        table: usize,
        near: &NearSet,
        positions: &[[f64; 3]],
        exclusions: &Exclusions,
    ) -> Result<ExceptionTable, FmmError> {
        let leaves = self.leaves();
        let mut out = ExceptionTable::new();
        let (mut pairs, mut first) = (Vec::new(), vec![u32::MAX; near.offsets().len()]);
        let itself = near.slot([0; 3]).unwrap_or_default();
        for leaf in table * LEAVES_PER_TABLE..leaves.len().min((table + 1) * LEAVES_PER_TABLE) {
            pairs.clear();
            let mut total = 0;
            for n in leaves.near(leaf) {
                first[n.slot as usize] = total;
                total += self.sources(n.source as usize).len() as u32;
            }
            let targets = leaves.particles(leaf);
            for (n, k) in self.sources(leaf).enumerate() {
                let i = self.order[k] as usize;
                pairs.push((n as u32, first[itself] + n as u32));
                for &j in exclusions.partners(i) {
                    let j = j as usize;
                    let Some(slot) = near.slot(self.displacement(i, j, positions)) else {
                        return Err(FmmError::ExclusionTooFar { i: i.min(j), j: i.max(j) });
                    };
                    let kj = self.place[j];
                    pairs.push((n as u32, first[slot] + kj - leaves.starts[self.leaf_of[kj as usize] as usize]));
                }
            }
            out.push_leaf(targets.len(), total as usize, &mut pairs);
        }
        Ok(out)
    }
}
