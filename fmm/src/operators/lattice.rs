//! Lattice sums of the irregular harmonics: what all images of a box, but the near ones, do to another box.
//!
//! The interaction G(r) = Σ_n 1/|r+n| over all images is around every box-to-box vector t
//!
//!   G(t+w) − Σ_near 1/|t+n+w| = Σ_lm a_lm(t) (−1)^l R̂_lm(w)   [+ (2π/3V) |w|² in three dimensions]
//!
//! In three dimensions G is the tin-foil interaction with the uniform background, and its last, not harmonic, term is added apart (see
//! `solver/trace.rs`). The coefficients follow from Hobson's theorem, R_lm(∇) f(r) = R_lm(r) (1/r d/dr)^l f, applied to both halves of an Ewald
//! split of any width α:
//!
//!   a_lm = Σ_far Î_lm(r_n) Q_l − Σ_near Î_lm(r_n) P_l + (4π/V) Σ_{k≠0} e^{−k²/4α²}/k² R̂_lm(k)/(2l−1)!! cos(k·t − lπ/2) − δ_l0 π/(α²V),
//!   P_l = γ(l+½, α²r²)/Γ(l+½) = 1 − Q_l,  r_n = t + n.
//!
//! Any cell and every l converge. In a slab (two periods, `slab`) the sum over k goes over the in-plane waves and an integral normal to
//! them; in a wire (one period, `wire`) the images are summed as they are, the far ones as Riemann ζ values. Without a net charge
//! a constant that is the same for all t drops out: slab and wire are only defined up to it. An open grid has no images.
//!
//! `waves` makes the discrete Fourier transform of the coefficients over a whole grid.
//!
//! Lengths in units of the scale of the root grid's boxes, f64 throughout.
//! Theory: C. G. Lambert, T. A. Darden, J. A. Board, J. Comput. Phys. 126, 274 (1996), doi:10.1006/jcph.1996.0137 (lattice sums of
//! multipoles); M. Challacombe, C. White, M. Head-Gordon, J. Chem. Phys. 107, 10131 (1997), doi:10.1063/1.474150 (Ewald-type split).

mod cell;
mod open;
mod slab;
mod split;
pub mod waves;
mod wire;

use std::f64::consts::PI;

use crate::geometry::grid::BoxGrid;
use crate::operators::harmonics::{Recursion, count};
use open::add_one;
use split::Ewald;
use wire::Wire;

/// Coefficients a_lm of the far field between two boxes `offset` boxes apart (target − source), up to order `order`.
pub fn coefficients(grid: &BoxGrid, order: usize, offset: [i32; 3]) -> Vec<f64> {
    let mut sum = vec![0.0; count(order)];
    match grid.topology.periodic {
        [true, true, _] => return split_sum(&Ewald::with_width(grid, order, 1.0), offset),
        [true, false, _] => Wire::new(grid, order).add(&mut sum, offset),
        _ => add_one(&mut sum, grid, &Recursion::new(order), offset),
    }
    sum
}

/// Both sums of a split for one offset.
fn split_sum(ewald: &Ewald<'_>, offset: [i32; 3]) -> Vec<f64> {
    let mut sum = vec![0.0; count(ewald.order)];
    ewald.add_images(&mut sum, offset);
    let t = ewald.grid.vector(offset.map(f64::from));
    if ewald.cell.is_slab {
        slab::add_waves(&mut sum, ewald, t);
        slab::add_uniform(&mut sum, ewald, t);
    } else {
        ewald.add_waves(&mut sum, &ewald.cell, t);
        sum[0] -= PI / (ewald.alpha * ewald.alpha * ewald.cell.volume);
    }
    sum
}

#[cfg(test)]
pub(crate) mod tests;
