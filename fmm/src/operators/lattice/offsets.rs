//! Coefficients a_lm(u) of every offset u of a grid: the inverse of the discrete Fourier transform of `waves`.
//!
//! One lattice sum for each offset would cost as many sums as there are boxes. The transform of the whole grid is made once, and its inverse
//! costs a few operations per number. If the grid has mirror symmetry, only the octant of positive offsets is kept.

use rayon::prelude::*;

use super::waves::{far_field, mirror_signs, mirror_transform, torus, unique};
use crate::geometry::grid::BoxGrid;
use crate::operators::harmonics::{count, parities};
use crate::operators::m2l::fourier::GridTransform;
use crate::workspace::{LANES, ScratchPool};

/// Coefficients of all offsets of a grid.
pub struct OffsetTable {
    /// Order of the coefficients.
    pub order: usize,
    /// Offsets per axis, 0, 1, …; without mirror symmetry a whole cycle, whose second half are negative offsets along axes that do not repeat.
    pub shape: [usize; 3],
    /// (order+1)² coefficients for each offset, axis 2 fastest.
    pub values: Vec<f64>,
}

impl OffsetTable {
    /// Coefficients up to order `order`.
    pub fn new(grid: &BoxGrid, order: usize) -> Self {
        let waves = far_field(grid, order);
        if grid.is_mirror_symmetric() { Self::mirrored(grid, order, waves) } else { Self::general(grid, order, &waves) }
    }

    fn mirrored(grid: &BoxGrid, order: usize, mut waves: Vec<f64>) -> Self {
        let parity = parities(order);
        let signs: Vec<f64> = mirror_signs(&parity).collect();
        let rows = waves.par_chunks_mut(parity.len());
        rows.for_each(|row| row.iter_mut().zip(&signs).for_each(|(v, s)| *v *= s));
        Self { order, shape: unique(grid), values: mirror_transform(waves, grid.cycle(), &parity) }
    }

    fn general(grid: &BoxGrid, order: usize, waves: &[f64]) -> Self {
        let (n, torus) = (count(order), torus(grid));
        let stride = n.next_multiple_of(LANES);
        let mut complex = vec![0.0; waves.len() / n * 2 * stride];
        complex.par_chunks_mut(2 * stride).zip(waves.par_chunks(n)).for_each(|(to, from)| {
            let (re, im) = to.split_at_mut(stride);
            for (j, v) in from.iter().enumerate() {
                if j.isqrt() % 2 == 0 { re[j] = *v } else { im[j] = -v }
            }
        });
        let mut padded = vec![0.0; torus.len() * stride];
        let [_, ny, nz] = torus.shape;
        let place = |k: [usize; 3]| ((k[0] * ny + k[1]) * (nz / 2 + 1) + k[2]) * 2 * stride;
        GridTransform::new(torus.shape, &torus, stride).back(&complex, place, &mut padded, &ScratchPool::new());
        let values = padded.chunks_exact(stride).flat_map(|row| &row[..n]).copied().collect();
        Self { order, shape: torus.shape, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::boundary::Boundary;
    use crate::operators::lattice::coefficients;
    use crate::operators::lattice::tests::grid;

    #[test]
    fn offsets_of_the_whole_grid_are_those_of_single_sums() {
        let triclinic = Boundary::Periodic { cell: [[4.1, 0.3, -0.8], [1.9, 3.2, 0.4], [-1.5, 1.2, 2.9]] };
        let slab = Boundary::Slab { periods: [[3.0, 0.0, 0.0], [1.5, 2.598, 0.0]] };
        let cases = [
            (Boundary::rectangular([4.0, 3.3, 5.2]), [4, 3, 6]),
            (Boundary::rectangular([1.0; 3]), [1; 3]),
            (triclinic, [4, 3, 5]),
            (slab, [3, 3, 4]),
            (Boundary::Slab { periods: [[3.0, 0.0, 0.0], [0.0, 2.7, 0.0]] }, [3, 3, 4]),
            (Boundary::Wire { period: [3.0, 0.0, 0.0] }, [3, 2, 3]),
            (Boundary::Open, [4, 2, 3]),
        ];
        let order = 12;
        for (boundary, shape) in cases {
            let grid = grid(&boundary, shape, 1.08);
            let table = OffsetTable::new(&grid, order);
            let total = grid.cycle().iter().product::<usize>() as f64;
            for (i, row) in table.values.chunks(count(order)).enumerate() {
                let [_, b, c] = table.shape;
                let at = [i / (b * c), i / c % b, i % c];
                let u = [0, 1, 2].map(|a| {
                    let beyond = !grid.topology.periodic[a] && 2 * at[a] > grid.cycle()[a];
                    at[a] as i32 - if beyond { grid.cycle()[a] as i32 } else { 0 }
                });
                for (j, (a, b)) in row.iter().zip(coefficients(&grid, order, u)).enumerate() {
                    // As for the waves: rounding of sums of as many terms as there are offsets, far boxes two boxes away.
                    let scale = 0.5f64.powi(j.isqrt() as i32 + 1) * total.sqrt();
                    assert!((a - b).abs() < 1e-12 * scale.max(b.abs()), "{boundary:?} {u:?} {j}: {a} {b}");
                }
            }
        }
    }
}
