use super::*;
use crate::geometry::boundary::Boundary;
use crate::operators::lattice::coefficients;
use crate::operators::lattice::tests::grid;
use crate::workspace::LANES;

/// Σ over all pairs of boxes, one operator each.
fn plain(grid: &BoxGrid, order: usize, stride: usize, multipoles: &[f64]) -> Vec<f64> {
    let (n, topology) = (count(order), grid.topology);
    let mut locals = vec![0.0; multipoles.len()];
    for target in 0..topology.len() {
        for source in 0..topology.len() {
            let (t, s) = (topology.coordinates(target), topology.coordinates(source));
            let offset = [0, 1, 2].map(|a| t[a] as i32 - s[a] as i32);
            let matrix = m2l(order, &coefficients(grid, 2 * order, offset), Domain::Space);
            for j in 0..n {
                for i in 0..n {
                    locals[target * stride + i] += multipoles[source * stride + j] * matrix[j * n + i];
                }
            }
        }
    }
    locals
}

#[test]
fn convolution_is_the_sum_over_all_pairs_of_boxes() {
    let triclinic = Boundary::Periodic { cell: [[4.1, 0.3, -0.8], [1.9, 3.2, 0.4], [1.6, 1.2, 2.9]] };
    let dodecahedron = Boundary::Periodic { cell: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 0.5f64.sqrt()]] };
    let hexagonal = Boundary::Slab { periods: [[3.0, 0.0, 0.0], [1.5, 2.598, 0.0]] };
    let tilted = Boundary::Slab { periods: [[2.0, 0.3, -0.5], [0.6, 2.4, 1.1]] };
    let cases = [
        (Boundary::rectangular([4.0, 3.3, 2.2]), [4, 3, 2], false),
        (Boundary::rectangular([1.0; 3]), [1; 3], false),
        (triclinic, [4, 3, 2], true),
        (triclinic, [5, 2, 4], true),
        (triclinic, [1; 3], true),
        (dodecahedron, [3; 3], true),
        (Boundary::Slab { periods: [[3.0, 0.0, 0.0], [0.0, 2.0, 0.0]] }, [3, 2, 2], false),
        (hexagonal, [3, 4, 2], true),
        (tilted, [2, 3, 3], true),
        (tilted, [1; 3], false),
        (Boundary::Wire { period: [3.0, 0.0, 0.0] }, [3, 2, 2], false),
        (Boundary::Wire { period: [0.7, 0.3, 2.0] }, [3, 2, 3], false),
        (Boundary::Wire { period: [0.7, 0.3, 2.0] }, [1, 3, 1], false),
        (Boundary::Open, [4, 3, 2], false),
        (Boundary::Open, [1; 3], false),
    ];
    let order = 4;
    let stride = count(order).next_multiple_of(LANES);
    for (boundary, shape, sheared) in cases {
        let grid = grid(&boundary, shape, 1.08);
        assert_eq!(grid.topology.shear != [0; 3], sheared, "{:?}", grid.topology);
        if shape == [5, 2, 4] {
            assert!(grid.topology.shear.iter().all(|s| *s != 0), "{:?}", grid.topology);
        }
        let len = grid.topology.len() * stride;
        let multipoles: Vec<f64> = (0..len)
            .map(|i| if i % stride < count(order) { ((i * 7919) % 101) as f64 / 50.0 - 1.0 } else { 0.0 })
            .collect();
        let mut locals = vec![0.0; len];
        Convolution::new(&grid, order, stride).apply(&multipoles, &mut locals, 1, &ScratchPool::new());
        for (i, (a, b)) in locals.iter().zip(plain(&grid, order, stride, &multipoles)).enumerate() {
            // Operators have elements of order one, slabs and wires larger ones for the monopole.
            assert!((a - b).abs() < 1e-12 * b.abs().max(1.0), "{boundary:?} {shape:?} {i}: {a} {b}");
        }
    }
}

#[test]
fn operators_have_zeros_where_rounding_leaves_residues() {
    // The sines of half turns along even axes leave 1e-16 for each axis in place of zeros.
    let order = 8;
    for boundary in [Boundary::rectangular([1.0; 3]), Boundary::Open] {
        let grid = grid(&boundary, [6; 3], 1.12);
        let waves = far_field(&grid, 2 * order);
        let (mut least, mut zeros, mut residues) = (f64::INFINITY, 0, 0);
        for wave in waves.chunks_exact(count(2 * order)) {
            let raw = m2l(order, wave, Domain::Fourier);
            let single = elements::<f32>(order, wave);
            let largest = raw.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
            for ((raw, single), double) in raw.iter().zip(&single).zip(elements::<f64>(order, wave)) {
                // What is left out is far below the rounding of the largest element.
                assert!((raw - single).abs() < 2e-14 * largest && (raw - double).abs() < 1e-31 * largest);
                residues += usize::from(*raw != 0.0 && *single == 0.0);
                zeros += usize::from(*single == 0.0);
                if *single != 0.0 {
                    least = least.min(single.abs());
                }
            }
        }
        println!("{boundary:?}: smallest {least:.1e}, {residues} of {zeros} zeros were residues");
        // An expansion in f32 has seven digits: its products with such elements are normal numbers down to 1e-38.
        assert!(least > 1e-20 && residues > 0, "{boundary:?}: {least:e} {residues}");
    }
}
