//! The periods of a grid and their reciprocal lattice, for sums over images and waves.

use std::f64::consts::PI;

use crate::geometry::boundary::{cross, dot, norm};
use crate::geometry::grid::BoxGrid;

/// −ln of what is left out of sums over images and waves, relative to 2^-(l+1), the size of the largest coefficient of order l. What is left
/// out is below rounding.
pub const DIGITS: f64 = 40.0;

/// Two or three periods of a grid. A slab has a third vector along its normal, the period of the trapezoid rule for the integral over k.
pub struct Cell {
    /// The shortest simple periods in boxes; 0 along the normal of a slab.
    pub boxes: [[i32; 3]; 3],
    /// The same as vectors.
    pub vectors: [[f64; 3]; 3],
    /// d_i · v_j = δ_ij.
    pub dual: [[f64; 3]; 3],
    /// Volume that they span.
    pub volume: f64,
    /// Whether the third vector is no period.
    pub is_slab: bool,
}

impl Cell {
    /// The cell of a grid that repeats along two or three axes.
    pub fn new(grid: &BoxGrid) -> Self {
        let [mut a, mut b, c] = grid.topology.lattice();
        let is_slab = !grid.topology.periodic[2];
        let less = |v: &mut [i32; 3], axis: usize, w: [i32; 3]| {
            let times = (f64::from(v[axis]) / f64::from(w[axis])).round() as i32;
            *v = [0, 1, 2].map(|x| v[x] - times * w[x]);
        };
        if !is_slab {
            less(&mut b, 2, c);
        }
        less(&mut a, 1, b);
        if !is_slab {
            less(&mut a, 2, c);
        }
        let boxes = [a, b, if is_slab { [0; 3] } else { c }];
        let vectors = boxes.map(|u| grid.vector(u.map(f64::from)));
        if is_slab { Self::of_slab(boxes, vectors) } else { Self::spanned(boxes, vectors, false) }
    }

    /// The cell that these vectors span.
    pub fn spanned(boxes: [[i32; 3]; 3], vectors: [[f64; 3]; 3], is_slab: bool) -> Self {
        let [a, b, c] = vectors;
        let determinant = dot(a, cross(b, c));
        let dual = [cross(b, c), cross(c, a), cross(a, b)].map(|d| d.map(|x| x / determinant));
        Self { boxes, vectors, dual, volume: determinant.abs(), is_slab }
    }

    /// V^(1/3), for a slab the square root of the area.
    pub fn size(&self) -> f64 {
        if self.is_slab { self.area().sqrt() } else { self.volume.cbrt() }
    }

    /// Area of the base.
    pub fn area(&self) -> f64 {
        self.volume * norm(self.dual[2])
    }

    /// All integer vectors n with |t + Σ n_a v_a| ≤ `radius`, and some beyond it.
    pub fn images(&self, t: [f64; 3], radius: f64) -> impl Iterator<Item = [i32; 3]> + use<> {
        let [x, y, z] = [0, 1, 2].map(|a| {
            if a == 2 && self.is_slab {
                return 0..=0;
            }
            let (middle, reach) = (-dot(self.dual[a], t), norm(self.dual[a]) * radius);
            (middle - reach).ceil() as i32..=(middle + reach).floor() as i32
        });
        triples(x, y, z)
    }

    /// One of each ±k ≠ 0 of the reciprocal lattice with |k| ≤ `cut`; of a slab those along the normal are left out.
    pub fn waves(&self, cut: f64) -> impl Iterator<Item = [f64; 3]> {
        let [x, y, z] = self.vectors.map(|v| {
            let reach = (cut * norm(v) / (2.0 * PI)).floor() as i32;
            -reach..=reach
        });
        triples(0..=*x.end(), y, z)
            .filter(|h| h[0] > 0 || h[1] > 0 || (!self.is_slab && h[1] == 0 && h[2] > 0))
            .map(|h| {
                let h = h.map(|h| 2.0 * PI * f64::from(h));
                [0, 1, 2].map(|x| (0..3).map(|a| h[a] * self.dual[a][x]).sum())
            })
            .filter(move |k| dot(*k, *k) <= cut * cut)
    }

    /// The cell of a slab, with a unit vector along the normal.
    fn of_slab(boxes: [[i32; 3]; 3], vectors: [[f64; 3]; 3]) -> Self {
        let [a, b, _] = vectors;
        let normal = cross(a, b);
        let area = norm(normal);
        Self::spanned(boxes, [a, b, normal.map(|x| x / area)], true)
    }

    /// Smallest |k∥| ≠ 0 of a slab.
    fn smallest_wave(&self) -> f64 {
        let shortest = norm(self.dual[0]).min(norm(self.dual[1]));
        let within = 2.0 * PI * shortest * (1.0 + 1e-9);
        let in_plane = |k: &[f64; 3]| dot(*k, self.vectors[2]).abs() < 1e-9 * within;
        self.waves(within).filter(in_plane).map(norm).fold(f64::INFINITY, f64::min)
    }

    /// Distance at which two copies of a slab do not see each other, if its boxes lie up to `z` apart. High orders need two boxes more.
    pub fn separation(&self, z: f64) -> f64 {
        z.abs() + DIGITS / self.smallest_wave() + 2.0
    }

    /// The cell of a slab with this height.
    pub fn with_height(&self, height: f64) -> Self {
        let [a, b, normal] = self.vectors;
        Self::spanned(self.boxes, [a, b, normal.map(|x| x * height)], true)
    }
}

type Range = std::ops::RangeInclusive<i32>;

/// All integer vectors of a block.
pub fn triples(x: Range, y: Range, z: Range) -> impl Iterator<Item = [i32; 3]> + use<> {
    x.flat_map(move |i| {
        let z = z.clone();
        y.clone().flat_map(move |j| z.clone().map(move |k| [i, j, k]))
    })
}
