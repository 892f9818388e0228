//! temp
use super::coefficients;
use crate::grid::BoxGrid;
use rayon::prelude::*;
/// temp
pub fn octant(grid: &BoxGrid, order: usize) -> Vec<Vec<f64>> {
    let [a, b, c] = grid.cycle().map(|n| n / 2 + 1);
    (0..a * b * c)
        .into_par_iter()
        .map(|i| coefficients(grid, order, [(i / (b * c)) as i32, (i / c % b) as i32, (i % c) as i32]))
        .collect()
}
