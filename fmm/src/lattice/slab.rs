//! Lattice sums of a slab: two periods, open along the normal n̂. Area A of the cell, z = n̂·t.
//!
//! In-plane waves k∥ ≠ 0 take the three-dimensional form with an integral over k_z. The trapezoid rule turns it into the sum of a cell
//! of height H: copies of the slab, whose waves e^{−k∥|z|} have died out if H − |z| is several times the longest wavelength. What is left,
//! k∥ = 0, is the potential of uniformly charged planes with Gaussian profile,
//!
//!   f(z) = −(2√π/A) [e^{−α²z²}/α + √π z erf(αz)],   f' = −(2π/A) erf(αz),   f'' = −(4√π α/A) e^{−α²z²}, …
//!   a_lm = (−1)^l R̂_lm(n̂)/(2l−1)!! f^(l)(z).
//!
//! D. E. Parry, Surf. Sci. 49, 433 (1975), doi:10.1016/0039-6028(75)90362-3 (Ewald sums in two dimensions).

use std::f64::consts::PI;

use super::{Cell, DIGITS, Ewald};
use crate::boundary::{cross, dot, norm};

/// The cell with a unit vector along the normal.
pub fn cell(boxes: [[i32; 3]; 3], vectors: [[f64; 3]; 3]) -> Cell {
    let [a, b, _] = vectors;
    let normal = cross(a, b);
    let area = norm(normal);
    Cell::spanned(boxes, [a, b, normal.map(|x| x / area)], true)
}

/// Smallest |k∥| ≠ 0.
pub fn smallest_wave(cell: &Cell) -> f64 {
    let shortest = norm(cell.dual[0]).min(norm(cell.dual[1]));
    let within = 2.0 * PI * shortest * (1.0 + 1e-9);
    let in_plane = |k: &[f64; 3]| dot(*k, cell.vectors[2]).abs() < 1e-9 * within;
    cell.waves(within).filter(in_plane).map(norm).fold(f64::INFINITY, f64::min)
}

/// Distance of two copies of a slab that do not see each other, where boxes lie up to `z` apart; two boxes more for the high orders.
pub fn separation(cell: &Cell, z: f64) -> f64 {
    z.abs() + DIGITS / smallest_wave(cell) + 2.0
}

/// `cell` with a height of `height`.
pub fn with_height(cell: &Cell, height: f64) -> Cell {
    let [a, b, normal] = cell.vectors;
    Cell::spanned(cell.boxes, [a, b, normal.map(|x| x * height)], true)
}

/// Terms of k∥ ≠ 0.
pub fn add_waves(sum: &mut [f64], ewald: &Ewald<'_>, t: [f64; 3]) {
    let z = dot(ewald.cell.vectors[2], t);
    ewald.add_waves(sum, &with_height(&ewald.cell, separation(&ewald.cell, z)), t);
}

/// Terms of k∥ = 0.
pub fn add_uniform(sum: &mut [f64], ewald: &Ewald<'_>, t: [f64; 3]) {
    let normal = ewald.cell.vectors[2];
    let (alpha, area, z) = (ewald.alpha, ewald.cell.area(), dot(normal, t));
    let x = alpha * z;
    let gaussian = (-x * x).exp();
    let mut values = vec![0.0; sum.len()];
    ewald.recursion.regular(ewald.order, normal, &mut values);
    // f^(l)/(2l−1)!!; from l = 2 on d/dz e^{−x²} by the recursion of the Hermite polynomials.
    let zeroth = -2.0 * PI.sqrt() / area * (gaussian / alpha + PI.sqrt() * z * libm::erf(x));
    let (mut previous, mut present) = (0.0, -4.0 * PI.sqrt() * alpha / (3.0 * area) * gaussian);
    for l in 0..=ewald.order {
        let derivative = match l {
            0 => zeroth,
            1 => -2.0 * PI / area * libm::erf(x),
            _ => present,
        };
        let factor = if l % 2 == 0 { derivative } else { -derivative };
        for i in l * l..(l + 1) * (l + 1) {
            sum[i] += factor * values[i];
        }
        if l >= 2 {
            let (n, odd) = ((l - 2) as f64, (2 * l + 1) as f64);
            let next = (-2.0 * x * alpha * present - 2.0 * n * alpha * alpha * previous / (odd - 2.0)) / odd;
            (previous, present) = (present, next);
        }
    }
}
