//! Lattice sums of the irregular harmonics: what all images of a box, but the near ones, do to another box.
//!
//! The tin-foil interaction of a periodic cell, G(r) = Σ_n 1/|r+n| with the uniform background, is around every box-to-box vector t
//!
//!   G(t+w) − Σ_near 1/|t+n+w| = Σ_lm a_lm(t) (−1)^l R̂_lm(w) + (2π/3V) |w|²
//!
//! where the last, not harmonic, term is added apart (see `passes.rs`). The coefficients follow from Hobson's theorem,
//! R_lm(∇) f(r) = R_lm(r) (1/r d/dr)^l f, applied to both halves of an Ewald split of any width α:
//!
//!   a_lm = Σ_far Î_lm(r_n) Q_l − Σ_near Î_lm(r_n) P_l + (4π/V) Σ_{k≠0} e^{−k²/4α²}/k² R̂_lm(k)/(2l−1)!! cos(k·t − lπ/2) − δ_l0 π/(α²V),
//!   P_l = γ(l+½, α²r²)/Γ(l+½) = 1 − Q_l,  r_n = t + n.
//!
//! Lengths in units of the scale of the root grid's boxes, f64 throughout. Every rectangular cell and every l converge.
//! Theory: C. G. Lambert, T. A. Darden, J. A. Board, J. Comput. Phys. 126, 274 (1996), doi:10.1006/jcph.1996.0137 (lattice sums of
//! multipoles); M. Challacombe, C. White, M. Head-Gordon, J. Chem. Phys. 107, 10131 (1997), doi:10.1063/1.474150 (Ewald-type split).

use std::f64::consts::PI;

use rayon::prelude::*;

use crate::harmonics::{count, irregular, regular};

/// Radius of both sums in units of V^(1/3) and of its reciprocal: the terms left out are below 1e-16 of the largest coefficient of their
/// order l, for every l, where α = √π / V^(1/3).
const REACH: f64 = 5.0;

/// A grid of boxes: `shape` boxes per axis with edges `edges`; one periodic cell, or an open region.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BoxGrid {
    /// Boxes per axis.
    pub shape: [usize; 3],
    /// Edges of one box, in units of the scale of the expansions.
    pub edges: [f64; 3],
    /// Whether the grid repeats.
    pub periodic: bool,
}

impl BoxGrid {
    /// Length of the cyclic convolution per axis: the grid itself where it repeats, else padded so that nothing wraps.
    pub fn cycle(&self) -> [usize; 3] {
        self.shape.map(|m| if self.periodic { m } else { 2 * m - 1 })
    }

    /// Coefficients a_lm of the far field between two boxes `offset` boxes apart (target − source), up to order `order`.
    pub fn coefficients(&self, order: usize, offset: [i32; 3]) -> Vec<f64> {
        if self.periodic {
            let volume: f64 = (0..3).map(|a| self.shape[a] as f64 * self.edges[a]).product();
            return lattice_sum(order, self, offset, PI.sqrt() / volume.cbrt());
        }
        if is_near(offset) {
            return vec![0.0; count(order)];
        }
        irregular(order, [0, 1, 2].map(|a| f64::from(offset[a]) * self.edges[a]))
    }

    /// [`coefficients`](Self::coefficients) of all offsets 0..=cycle/2 per axis; z runs fastest. The others follow by reflection.
    pub fn octant(&self, order: usize) -> Vec<Vec<f64>> {
        let [a, b, c] = self.cycle().map(|n| n / 2 + 1);
        (0..a * b * c)
            .into_par_iter()
            .map(|i| self.coefficients(order, [(i / (b * c)) as i32, (i / c % b) as i32, (i % c) as i32]))
            .collect()
    }
}

/// Whether two boxes `offset` boxes apart touch: then the far field leaves their interaction out.
pub fn is_near(offset: [i32; 3]) -> bool {
    offset.iter().all(|u| u.abs() <= 1)
}

/// The lattice sum for a periodic grid with Ewald width `alpha` (on which the result must not depend).
fn lattice_sum(order: usize, grid: &BoxGrid, offset: [i32; 3], alpha: f64) -> Vec<f64> {
    let cell = [0, 1, 2].map(|a| grid.shape[a] as f64 * grid.edges[a]);
    let volume: f64 = cell.iter().product();
    let t = [0, 1, 2].map(|a| f64::from(offset[a]) * grid.edges[a]);
    let mut sum = vec![0.0; count(order)];
    let radius = REACH * PI.sqrt() / alpha;
    let reach = [0, 1, 2].map(|a| (radius / cell[a]).ceil() as i32 + 1);
    for n in cube(reach) {
        let r = [0, 1, 2].map(|a| t[a] + f64::from(n[a]) * cell[a]);
        let near = is_near([0, 1, 2].map(|a| offset[a] + n[a] * grid.shape[a] as i32));
        let r2: f64 = r.iter().map(|x| x * x).sum();
        if near || r2 <= radius * radius {
            add_image(&mut sum, order, r, alpha, near);
        }
    }
    let cut = REACH * 2.0 * PI.sqrt() * alpha;
    let reach = cell.map(|l| (cut * l / (2.0 * PI)).ceil() as i32);
    for n in cube(reach) {
        let half = n[0] > 0 || (n[0] == 0 && (n[1] > 0 || (n[1] == 0 && n[2] > 0)));
        let k = [0, 1, 2].map(|a| 2.0 * PI * f64::from(n[a]) / cell[a]);
        let k2: f64 = k.iter().map(|x| x * x).sum();
        if half && k2 <= cut * cut {
            let phase: f64 = (0..3).map(|a| k[a] * t[a]).sum();
            let weight = 8.0 * PI / volume * (-k2 / (4.0 * alpha * alpha)).exp() / k2;
            add_wave(&mut sum, order, k, weight, phase);
        }
    }
    sum[0] -= PI / (alpha * alpha * volume);
    sum
}

/// All integer vectors with |n_a| ≤ reach_a.
fn cube(reach: [i32; 3]) -> impl Iterator<Item = [i32; 3]> {
    let [a, b, c] = reach;
    (-a..=a).flat_map(move |x| (-b..=b).flat_map(move |y| (-c..=c).map(move |z| [x, y, z])))
}

/// Real-space term of one image: the screened part of a far one, minus the smooth part of a near one.
fn add_image(sum: &mut [f64], order: usize, r: [f64; 3], alpha: f64, near: bool) {
    let r2: f64 = r.iter().map(|x| x * x).sum();
    if r2 == 0.0 {
        sum[0] -= 2.0 * alpha / PI.sqrt();
        return;
    }
    let lower = lower_gamma(order, alpha * alpha * r2);
    let values = irregular(order, r);
    for (l, p) in lower.iter().enumerate() {
        let weight = if near { -p } else { 1.0 - p };
        for i in l * l..(l + 1) * (l + 1) {
            sum[i] += weight * values[i];
        }
    }
}

/// P_l(x) = γ(l+½, x)/Γ(l+½) for l = 0..=order, each to full relative precision: P_l = Σ_{k≥l} x^{k+½} e^{−x} / Γ(k+3/2).
fn lower_gamma(order: usize, x: f64) -> Vec<f64> {
    let mut terms = vec![2.0 * (x / PI).sqrt() * (-x).exp()];
    while terms.len() <= order + 1 || terms.len() as f64 <= x || terms[terms.len() - 1] > 1e-17 * terms[order] {
        let k = terms.len() as f64;
        terms.push(terms[terms.len() - 1] * x / (k + 0.5));
    }
    for k in (0..terms.len() - 1).rev() {
        terms[k] += terms[k + 1];
    }
    terms.truncate(order + 1);
    terms
}

/// Reciprocal-space term of ±k, both together.
fn add_wave(sum: &mut [f64], order: usize, k: [f64; 3], weight: f64, phase: f64) {
    let values = regular(order, k);
    let (sin, cos) = phase.sin_cos();
    let mut scale = weight;
    for l in 0..=order {
        if l > 0 {
            scale /= (2 * l - 1) as f64;
        }
        // cos(phase − lπ/2)
        let factor = scale * [cos, sin, -cos, -sin][l % 4];
        for i in l * l..(l + 1) * (l + 1) {
            sum[i] += factor * values[i];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harmonics::index;

    const CUBE: BoxGrid = BoxGrid { shape: [1, 1, 1], edges: [1.0; 3], periodic: true };

    #[test]
    fn coefficients_do_not_depend_on_the_ewald_width() {
        for (grid, offset) in [
            (CUBE, [0, 0, 0]),
            (BoxGrid { shape: [2, 3, 2], edges: [1.0, 0.9, 1.1], periodic: true }, [1, 1, 0]),
            (BoxGrid { shape: [4, 5, 4], edges: [1.0, 0.9, 1.1], periodic: true }, [2, 1, 0]),
        ] {
            let volume: f64 = (0..3).map(|a| grid.shape[a] as f64 * grid.edges[a]).product();
            let alpha = PI.sqrt() / volume.cbrt();
            let order = 24;
            let a = lattice_sum(order, &grid, offset, alpha);
            for factor in [0.85, 1.2] {
                let b = lattice_sum(order, &grid, offset, factor * alpha);
                for l in 0..=order {
                    // Far boxes are at least two boxes away: a_l is of order 2^-(l+1) in units of the box.
                    let scale = 0.5f64.powi(l as i32 + 1);
                    for i in l * l..(l + 1) * (l + 1) {
                        assert!((a[i] - b[i]).abs() < 3e-13 * scale.max(a[i].abs()), "l {l}: {} {}", a[i], b[i]);
                    }
                }
            }
        }
    }

    #[test]
    fn coefficients_match_explicit_images() {
        // From l = 4 on the sum over images converges absolutely: r^-(l+1) with 4πr² images leaves R^-(l-2); l = 8 and R = 40: 1e-10.
        let grid = BoxGrid { shape: [3, 2, 2], edges: [1.0, 1.2, 0.9], periodic: true };
        let offset = [1, 0, 1];
        let sum = grid.coefficients(10, offset);
        let mut direct = vec![0.0; count(10)];
        for n in cube([14, 17, 23]) {
            let u = [0, 1, 2].map(|a| offset[a] + n[a] * grid.shape[a] as i32);
            if !is_near(u) {
                let r = [0, 1, 2].map(|a| f64::from(u[a]) * grid.edges[a]);
                for (d, v) in direct.iter_mut().zip(irregular(10, r)) {
                    *d += v;
                }
            }
        }
        for i in index(8, -8)..count(10) {
            assert!((sum[i] - direct[i]).abs() < 1e-9, "{i}: {} {}", sum[i], direct[i]);
        }
    }

    #[test]
    fn monopole_is_the_wigner_constant() {
        // G(w) − 1/w at w = 0 is −2.837297479…/L: put back the 26 near images that the coefficient leaves out.
        let mut a = CUBE.coefficients(0, [0, 0, 0])[0];
        for n in cube([1, 1, 1]) {
            let r2: i32 = n.iter().map(|x| x * x).sum();
            if r2 > 0 {
                a += 1.0 / f64::from(r2).sqrt();
            }
        }
        assert!((a + 2.837_297_479_480_62).abs() < 1e-13, "{a}");
    }
}
