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

use crate::grid::BoxGrid;
fn edges(g: &BoxGrid) -> [f64; 3] {
    [0, 1, 2].map(|a| g.basis[a][a])
}
pub fn coefficients(grid: &BoxGrid, order: usize, offset: [i32; 3]) -> Vec<f64> {
    if grid.topology.periodic[0] {
        let volume: f64 = (0..3).map(|a| grid.topology.shape[a] as f64 * edges(grid)[a]).product();
        return lattice_sum(order, grid, offset, PI.sqrt() / volume.cbrt());
    }
    if grid.near.contains(offset) {
        return vec![0.0; count(order)];
    }
    irregular(order, [0, 1, 2].map(|a| f64::from(offset[a]) * edges(grid)[a]))
}
pub fn octant(grid: &BoxGrid, order: usize) -> Vec<Vec<f64>> {
    let [a, b, c] = grid.cycle().map(|n| n / 2 + 1);
    (0..a * b * c)
        .into_par_iter()
        .map(|i| coefficients(grid, order, [(i / (b * c)) as i32, (i / c % b) as i32, (i % c) as i32]))
        .collect()
}

/// The lattice sum for a periodic grid with Ewald width `alpha` (on which the result must not depend).
fn lattice_sum(order: usize, grid: &BoxGrid, offset: [i32; 3], alpha: f64) -> Vec<f64> {
    let cell = [0, 1, 2].map(|a| grid.topology.shape[a] as f64 * edges(grid)[a]);
    let volume: f64 = cell.iter().product();
    let t = [0, 1, 2].map(|a| f64::from(offset[a]) * edges(grid)[a]);
    let mut sum = vec![0.0; count(order)];
    let radius = REACH * PI.sqrt() / alpha;
    let reach = [0, 1, 2].map(|a| (radius / cell[a]).ceil() as i32 + 1);
    for n in cube(reach) {
        let r = [0, 1, 2].map(|a| t[a] + f64::from(n[a]) * cell[a]);
        let near = grid.near.contains([0, 1, 2].map(|a| offset[a] + n[a] * grid.topology.shape[a] as i32));
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
