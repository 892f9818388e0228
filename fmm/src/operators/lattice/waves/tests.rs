use super::*;
use crate::geometry::boundary::Boundary;
use crate::operators::lattice::coefficients;
use crate::operators::lattice::tests::grid;

/// T_lm(κ) by the plain sum over [`coefficients`].
fn plain(grid: &BoxGrid, order: usize, table: &[([i32; 3], Vec<f64>)], kappa: [usize; 3]) -> Vec<f64> {
    let f = wave_vector(&torus(grid), kappa);
    let mut sum = vec![0.0; count(order)];
    for (u, values) in table {
        let phase: f64 = 2.0 * PI * (0..3).map(|a| f[a] * f64::from(u[a])).sum::<f64>();
        for (i, (s, v)) in sum.iter_mut().zip(values).enumerate() {
            // e^{−iφ} = cos φ − i sin φ.
            *s += v * if i.isqrt() % 2 == 0 { phase.cos() } else { phase.sin() };
        }
    }
    sum
}

#[test]
fn sums_for_the_whole_grid_are_those_of_single_offsets() {
    let triclinic = Boundary::Periodic { cell: [[4.1, 0.3, -0.8], [1.9, 3.2, 0.4], [-1.5, 1.2, 2.9]] };
    let hexagonal = Boundary::Slab { periods: [[3.0, 0.0, 0.0], [1.5, 2.598, 0.0]] };
    let straight = Boundary::Slab { periods: [[3.0, 0.0, 0.0], [0.0, 2.7, 0.0]] };
    let cases = [
        (Boundary::rectangular([4.0, 3.3, 5.2]), [4, 3, 5]),
        (Boundary::rectangular([1.0; 3]), [1; 3]),
        (triclinic, [4, 3, 5]),
        (hexagonal, [3, 3, 4]),
        (hexagonal, [1, 1, 3]),
        (straight, [3, 3, 4]),
        (Boundary::Wire { period: [3.0, 0.0, 0.0] }, [3, 2, 3]),
        (Boundary::Wire { period: [0.7, 0.3, 2.0] }, [2, 3, 2]),
        (Boundary::Open, [4, 2, 3]),
    ];
    for (boundary, shape) in cases {
        // Of the smallest grids the highest order there is.
        let order = if shape[0] == 1 { 2 * crate::solver::settings::MAX_ORDER } else { 16 };
        let grid = grid(&boundary, shape, 1.08);
        let cycle = grid.cycle();
        let [x, y, z] = [0, 1, 2].map(|a| {
            let n = shape[a] as i32;
            if grid.topology.periodic[a] { 0..=n - 1 } else { 1 - n..=n - 1 }
        });
        let table: Vec<_> = triples(x, y, z).map(|u| (u, coefficients(&grid, order, u))).collect();
        let total = cycle.iter().product::<usize>() as f64;
        let waves = far_field(&grid, order);
        let [_, uy, uz] = unique(&grid);
        for (i, wave) in waves.chunks(count(order)).enumerate() {
            let kappa = [i / (uy * uz), i / uz % uy, i % uz];
            for (j, (a, b)) in wave.iter().zip(plain(&grid, order, &table, kappa)).enumerate() {
                // Sums of as many terms as there are offsets, far boxes two boxes away.
                let scale = 0.5f64.powi(j.isqrt() as i32 + 1) * total.sqrt();
                let error = (a * total - b).abs();
                assert!(error < 1e-12 * scale.max(b.abs()), "{boundary:?} {kappa:?} {j}: {} {b}", a * total);
            }
        }
    }
}
