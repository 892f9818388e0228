//! An open grid has no images: the coefficients of two boxes are the irregular harmonics themselves.

use crate::geometry::grid::BoxGrid;
use crate::operators::harmonics::Recursion;

/// Î_lm of one pair of boxes, if it is not near.
pub fn add_one(sum: &mut [f64], grid: &BoxGrid, recursion: &Recursion, offset: [i32; 3]) {
    if !grid.near.contains(offset) {
        let order = sum.len().isqrt() - 1;
        recursion.irregular(order, grid.vector(offset.map(f64::from)), sum);
    }
}
