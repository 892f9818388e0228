//! Shape of the tree: a root grid of boxes, each refined a number of times.
//!
//! The octree of a cell with m_x × m_y × m_z root boxes and depth d has m·2^d leaf boxes per axis, so any number such as 6, 7 or 12 can be
//! had, and boxes of a rectangular cell can be near-cubic. All levels are dense grids with z fastest; empty boxes are skipped.
//! Reference for intermediate depths: C. A. White, M. Head-Gordon, Chem. Phys. Lett. 257, 647 (1996), doi:10.1016/0009-2614(96)00574-X.

use crate::FmmError;

/// Most leaf boxes per axis.
pub const MAX_LEAVES: usize = 256;

/// Root grid and number of refinements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TreeShape {
    /// Boxes of the root grid per axis.
    pub root: [usize; 3],
    /// How often each root box is cut into eight.
    pub depth: usize,
}

impl TreeShape {
    /// The smallest root grid whose boxes are near-cubic in a cell with `edges`, refined `depth` times.
    ///
    /// A cube gets one root box. Edges must be positive and finite (checked by [`Fmm::new`](crate::Fmm::new)).
    pub fn near_cubic(edges: [f64; 3], depth: usize) -> Self {
        let shortest = edges.iter().copied().fold(f64::INFINITY, f64::min);
        let mut best = ([1; 3], f64::INFINITY);
        for cut in 1..=6 {
            let root = edges.map(|e| ((e / shortest * f64::from(cut)).round() as usize).clamp(1, MAX_LEAVES));
            let ratio = elongation([0, 1, 2].map(|a| edges[a] / root[a] as f64));
            if ratio < best.1 - 0.02 {
                best = (root, ratio);
            }
            if best.1 < 0.92 {
                break;
            }
        }
        Self { root: best.0, depth }
    }

    /// Leaf boxes per axis.
    pub fn leaves(&self) -> [usize; 3] {
        self.root.map(|m| m << self.depth)
    }

    pub(crate) fn check(&self) -> Result<(), FmmError> {
        let fits = |m: &usize| *m >= 1 && self.depth < 9 && (m << self.depth) <= MAX_LEAVES;
        if self.root.iter().all(fits) {
            return Ok(());
        }
        Err(FmmError::Tree { root: self.root, depth: self.depth, max: MAX_LEAVES })
    }
}

/// Diagonal of a box over twice its shortest edge: √3/2 for a cube; expansions of boxes two apart converge everywhere below 1.
pub fn elongation(edges: [f64; 3]) -> f64 {
    let diagonal = edges.iter().map(|e| e * e).sum::<f64>().sqrt();
    diagonal / (2.0 * edges.iter().copied().fold(f64::INFINITY, f64::min))
}

/// One level: a dense grid of boxes.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// Boxes per axis.
    pub shape: [usize; 3],
    /// Whether the grid repeats.
    pub periodic: bool,
}

impl Level {
    /// Number of boxes.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Coordinates of box `i`.
    pub fn coordinates(&self, i: usize) -> [usize; 3] {
        let [_, b, c] = self.shape;
        [i / (b * c), i / c % b, i % c]
    }

    /// Index of the box at `c`.
    pub fn index(&self, c: [usize; 3]) -> usize {
        (c[0] * self.shape[1] + c[1]) * self.shape[2] + c[2]
    }

    /// The box `u` boxes from the one at `c`; none outside an open grid.
    pub fn displaced(&self, c: [usize; 3], u: [i32; 3]) -> Option<usize> {
        let mut at = [0; 3];
        for a in 0..3 {
            let n = self.shape[a] as i32;
            let x = c[a] as i32 + u[a];
            if self.periodic {
                at[a] = x.rem_euclid(n) as usize;
            } else if x < 0 || x >= n {
                return None;
            } else {
                at[a] = x as usize;
            }
        }
        Some(self.index(at))
    }

    /// The boxes that touch the one at `c`, itself included, in fixed order, with their displacement. In a small periodic grid a box
    /// occurs once for each of its images.
    pub fn near(&self, c: [usize; 3]) -> impl Iterator<Item = (usize, [i32; 3])> + use<> {
        let level = *self;
        (0..27).filter_map(move |n| {
            let u = [n / 9 - 1, n / 3 % 3 - 1, n % 3 - 1];
            level.displaced(c, u).map(|i| (i, u))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_cubic_root_grids() {
        assert_eq!(TreeShape::near_cubic([3.0; 3], 2), TreeShape { root: [1; 3], depth: 2 });
        assert_eq!(TreeShape::near_cubic([2.0, 2.0, 6.0], 0).root, [1, 1, 3]);
        let shape = TreeShape::near_cubic([2.0, 2.6, 1.7], 1);
        assert!(
            elongation([2.0 / shape.root[0] as f64, 2.6 / shape.root[1] as f64, 1.7 / shape.root[2] as f64]) < 0.95
        );
    }

    #[test]
    fn small_periodic_grids_see_all_27_images() {
        for shape in [[1, 1, 1], [2, 1, 3]] {
            let level = Level { shape, periodic: true };
            assert_eq!(level.near([0; 3]).count(), 27);
        }
        let open = Level { shape: [2, 1, 3], periodic: false };
        assert_eq!(open.near([0; 3]).count(), 4);
        assert_eq!(open.near([0, 0, 1]).count(), 6);
    }
}
