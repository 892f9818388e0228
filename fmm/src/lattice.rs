//! Lattice sums of the irregular harmonics: what all images of a box, but the near ones, do to another box.
//!
//! The interaction G(r) = Σ_n 1/|r+n| over all images is around every box-to-box vector t
//!
//!   G(t+w) − Σ_near 1/|t+n+w| = Σ_lm a_lm(t) (−1)^l R̂_lm(w)   [+ (2π/3V) |w|² in three dimensions]
//!
//! In three dimensions G is the tin-foil interaction with the uniform background, and its last, not harmonic, term is added apart (see
//! `passes.rs`). The coefficients follow from Hobson's theorem, R_lm(∇) f(r) = R_lm(r) (1/r d/dr)^l f, applied to both halves of an Ewald
//! split of any width α:
//!
//!   a_lm = Σ_far Î_lm(r_n) Q_l − Σ_near Î_lm(r_n) P_l + (4π/V) Σ_{k≠0} e^{−k²/4α²}/k² R̂_lm(k)/(2l−1)!! cos(k·t − lπ/2) − δ_l0 π/(α²V),
//!   P_l = γ(l+½, α²r²)/Γ(l+½) = 1 − Q_l,  r_n = t + n.
//!
//! Any cell and every l converge. In a slab (two periods, `slab`) the sum over k goes over the in-plane waves and an integral normal to
//! them; in a wire (one period, `wire`) the images are summed as they are, the far ones as Riemann ζ values. Without a net charge
//! a constant that is the same for all t drops out: slab and wire are only defined up to it. An open grid has no images.
//!
//! `waves` makes the discrete Fourier transform of the coefficients over a whole grid, `offsets` from it those of all offsets.
//!
//! Lengths in units of the scale of the root grid's boxes, f64 throughout.
//! Theory: C. G. Lambert, T. A. Darden, J. A. Board, J. Comput. Phys. 126, 274 (1996), doi:10.1006/jcph.1996.0137 (lattice sums of
//! multipoles); M. Challacombe, C. White, M. Head-Gordon, J. Chem. Phys. 107, 10131 (1997), doi:10.1063/1.474150 (Ewald-type split).

pub mod offsets;
mod slab;
pub mod waves;
mod wire;

use std::f64::consts::PI;

use wire::Wire;

use crate::boundary::{cross, dot, norm};
use crate::grid::BoxGrid;
use crate::harmonics::{Recursion, count};

/// Radius of both sums for one offset in units of the size of the cell, V^(1/3) or A^(1/2), and of its reciprocal.
const REACH: f64 = 5.0;

/// −ln of what is left out of both sums, relative to 2^-(l+1), the size of the largest coefficient of order l: rounding.
const DIGITS: f64 = 40.0;

/// Coefficients a_lm of the far field between two boxes `offset` boxes apart (target − source), up to order `order`.
pub fn coefficients(grid: &BoxGrid, order: usize, offset: [i32; 3]) -> Vec<f64> {
    let mut sum = vec![0.0; count(order)];
    match grid.topology.periodic {
        [true, true, _] => return Ewald::with_width(grid, order, 1.0).sum(offset),
        [true, false, _] => Wire::new(grid, order).add(&mut sum, offset),
        _ => add_one(&mut sum, grid, &Recursion::new(order), offset),
    }
    sum
}

/// Î_lm of one pair of boxes, if it is not near.
fn add_one(sum: &mut [f64], grid: &BoxGrid, recursion: &Recursion, offset: [i32; 3]) {
    if !grid.near.contains(offset) {
        let order = sum.len().isqrt() - 1;
        recursion.irregular(order, grid.vector(offset.map(f64::from)), sum);
    }
}

/// Two or three periods of a grid. A slab has a third vector along its normal, the period of the trapezoid rule for the integral over k.
struct Cell {
    /// The shortest simple periods in boxes; 0 along the normal of a slab.
    boxes: [[i32; 3]; 3],
    vectors: [[f64; 3]; 3],
    /// d_i · v_j = δ_ij.
    dual: [[f64; 3]; 3],
    volume: f64,
    is_slab: bool,
}

impl Cell {
    fn new(grid: &BoxGrid) -> Self {
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
        if is_slab { slab::cell(boxes, vectors) } else { Self::spanned(boxes, vectors, false) }
    }

    fn spanned(boxes: [[i32; 3]; 3], vectors: [[f64; 3]; 3], is_slab: bool) -> Self {
        let [a, b, c] = vectors;
        let determinant = dot(a, cross(b, c));
        let dual = [cross(b, c), cross(c, a), cross(a, b)].map(|d| d.map(|x| x / determinant));
        Self { boxes, vectors, dual, volume: determinant.abs(), is_slab }
    }

    /// V^(1/3), for a slab the square root of the area.
    fn size(&self) -> f64 {
        if self.is_slab { self.area().sqrt() } else { self.volume.cbrt() }
    }

    /// Area of the base.
    fn area(&self) -> f64 {
        self.volume * norm(self.dual[2])
    }

    /// The integer vectors n with |t + Σ n_a v_a| ≤ `radius`, and some more.
    fn images(&self, t: [f64; 3], radius: f64) -> impl Iterator<Item = [i32; 3]> + use<> {
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
    fn waves(&self, cut: f64) -> impl Iterator<Item = [f64; 3]> {
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
}

type Range = std::ops::RangeInclusive<i32>;

/// All integer vectors of a block.
fn triples(x: Range, y: Range, z: Range) -> impl Iterator<Item = [i32; 3]> + use<> {
    x.flat_map(move |i| {
        let z = z.clone();
        y.clone().flat_map(move |j| z.clone().map(move |k| [i, j, k]))
    })
}

/// An Ewald split of the sums of one grid.
struct Ewald<'a> {
    grid: &'a BoxGrid,
    order: usize,
    cell: Cell,
    alpha: f64,
    /// End of the sum over images.
    radius: f64,
    /// End of the sum over k.
    cut: f64,
    /// Farthest near box.
    near: f64,
    recursion: Recursion,
}

impl<'a> Ewald<'a> {
    fn new(grid: &'a BoxGrid, order: usize, cell: Cell, alpha: f64, radius: f64) -> Self {
        // e^{−c²} ends the sum over images at αr = c and the one over k at k/2α = c.
        let cut = 2.0 * alpha * alpha * radius;
        let near = grid.near.offsets().iter().map(|u| norm(grid.vector(u.map(f64::from)))).fold(0.0, f64::max);
        Self { grid, order, cell, alpha, radius, cut, near, recursion: Recursion::new(order) }
    }

    /// For one offset: both sums equally long with α = √π / size of the cell, times `width`, on which the result does not depend.
    fn with_width(grid: &'a BoxGrid, order: usize, width: f64) -> Self {
        let cell = Cell::new(grid);
        let size = cell.size() / width;
        Self::new(grid, order, cell, PI.sqrt() / size, REACH * size)
    }

    fn sum(&self, offset: [i32; 3]) -> Vec<f64> {
        let mut sum = vec![0.0; count(self.order)];
        self.add_images(&mut sum, offset);
        let t = self.grid.vector(offset.map(f64::from));
        if self.cell.is_slab {
            slab::add_waves(&mut sum, self, t);
            slab::add_uniform(&mut sum, self, t);
        } else {
            self.add_waves(&mut sum, &self.cell, t);
            sum[0] -= PI / (self.alpha * self.alpha * self.cell.volume);
        }
        sum
    }

    /// Real-space terms: the screened part of the far images, minus the smooth part of the near ones.
    fn add_images(&self, sum: &mut [f64], offset: [i32; 3]) {
        let mut values = vec![0.0; count(self.order)];
        let mut lower = Vec::new();
        let t = self.grid.vector(offset.map(f64::from));
        for n in self.cell.images(t, self.radius.max(self.near) * (1.0 + 1e-9)) {
            let mut u = offset;
            for (times, row) in n.iter().zip(self.cell.boxes) {
                u = [0, 1, 2].map(|a| u[a] + times * row[a]);
            }
            let near = self.grid.near.contains(u);
            let r = self.grid.vector(u.map(f64::from));
            let r2 = dot(r, r);
            if u == [0; 3] {
                sum[0] -= 2.0 * self.alpha / PI.sqrt();
            } else if near || r2 <= self.radius * self.radius {
                lower_gamma(self.order, self.alpha * self.alpha * r2, &mut lower);
                self.recursion.irregular(self.order, r, &mut values);
                for (l, p) in lower.iter().take(self.order + 1).enumerate() {
                    let weight = if near { -p } else { 1.0 - p };
                    for i in l * l..(l + 1) * (l + 1) {
                        sum[i] += weight * values[i];
                    }
                }
            }
        }
    }

    /// Reciprocal-space terms, those of ±k together.
    fn add_waves(&self, sum: &mut [f64], cell: &Cell, t: [f64; 3]) {
        let mut values = vec![0.0; count(self.order)];
        for k in cell.waves(self.cut) {
            let (sin, cos) = dot(k, t).sin_cos();
            let mut scale = 2.0 * self.weight(cell, k);
            self.recursion.regular(self.order, k, &mut values);
            for l in 0..=self.order {
                if l > 0 {
                    scale /= (2 * l - 1) as f64;
                }
                // cos(k·t − lπ/2)
                let factor = scale * [cos, sin, -cos, -sin][l % 4];
                for i in l * l..(l + 1) * (l + 1) {
                    sum[i] += factor * values[i];
                }
            }
        }
    }

    /// (4π/V) e^{−k²/4α²}/k².
    fn weight(&self, cell: &Cell, k: [f64; 3]) -> f64 {
        let k2 = dot(k, k);
        4.0 * PI / cell.volume * (-k2 / (4.0 * self.alpha * self.alpha)).exp() / k2
    }
}

/// P_l(x) = γ(l+½, x)/Γ(l+½) for l = 0..=order, and more, each to full relative precision: P_l = Σ_{k≥l} x^{k+½} e^{−x} / Γ(k+3/2).
fn lower_gamma(order: usize, x: f64, terms: &mut Vec<f64>) {
    terms.clear();
    terms.push(2.0 * (x / PI).sqrt() * (-x).exp());
    while terms.len() <= order + 1 || terms.len() as f64 <= x || terms[terms.len() - 1] > 1e-17 * terms[order] {
        let k = terms.len() as f64;
        terms.push(terms[terms.len() - 1] * x / (k + 0.5));
    }
    for k in (0..terms.len() - 1).rev() {
        terms[k] += terms[k + 1];
    }
}

#[cfg(test)]
pub(crate) mod tests;
