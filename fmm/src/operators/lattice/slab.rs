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

use super::split::Ewald;
use crate::geometry::boundary::dot;

/// Terms of k∥ ≠ 0.
pub fn add_waves(sum: &mut [f64], ewald: &Ewald<'_>, t: [f64; 3]) {
    let z = dot(ewald.cell.vectors[2], t);
    ewald.add_waves(sum, &ewald.cell.with_height(ewald.cell.separation(z)), t);
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
