//! The Ewald split of the lattice sums of a grid: images that are screened, and waves.

use std::f64::consts::PI;

use super::cell::Cell;
use crate::geometry::boundary::{dot, norm};
use crate::geometry::grid::BoxGrid;
use crate::operators::harmonics::{Recursion, count};

/// Radius of both sums for one offset in units of the size of the cell, V^(1/3) or A^(1/2), and of its reciprocal.
const REACH: f64 = 5.0;

/// An Ewald split of the sums of one grid.
pub struct Ewald<'a> {
    /// The grid.
    pub grid: &'a BoxGrid,
    /// Highest order of the coefficients.
    pub order: usize,
    /// Its periods.
    pub cell: Cell,
    /// Width α of the split.
    pub alpha: f64,
    /// End of the sum over images.
    pub radius: f64,
    /// End of the sum over k.
    pub cut: f64,
    /// Farthest near box.
    pub near: f64,
    /// Constants of the harmonics.
    pub recursion: Recursion,
}

impl<'a> Ewald<'a> {
    /// The sum over images ends at `radius`, and the one over waves where its terms are as small.
    pub fn new(grid: &'a BoxGrid, order: usize, cell: Cell, alpha: f64, radius: f64) -> Self {
        // e^{−c²} ends the sum over images at αr = c and the one over k at k/2α = c.
        let cut = 2.0 * alpha * alpha * radius;
        let near = grid.near.offsets().iter().map(|u| norm(grid.vector(u.map(f64::from)))).fold(0.0, f64::max);
        Self { grid, order, cell, alpha, radius, cut, near, recursion: Recursion::new(order) }
    }

    /// For one offset. Both sums are equally long with α = √π / size of the cell; the result does not depend on `width`, a factor of α.
    pub fn with_width(grid: &'a BoxGrid, order: usize, width: f64) -> Self {
        let cell = Cell::new(grid);
        let size = cell.size() / width;
        Self::new(grid, order, cell, PI.sqrt() / size, REACH * size)
    }

    /// Real-space terms: the screened part of the far images, minus the smooth part of the near ones.
    pub fn add_images(&self, sum: &mut [f64], offset: [i32; 3]) {
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
    pub fn add_waves(&self, sum: &mut [f64], cell: &Cell, t: [f64; 3]) {
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
    pub fn weight(&self, cell: &Cell, k: [f64; 3]) -> f64 {
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
