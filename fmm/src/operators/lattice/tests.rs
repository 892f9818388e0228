use super::cell::{Cell, triples};
use super::*;
use crate::geometry::boundary::Boundary;
use crate::geometry::boundary::{cross, dot, norm};
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::{NearSet, Topology, box_vectors};
use crate::operators::harmonics::{irregular, regular};

/// Grid of boxes of volume 1 that cuts `boundary`.
pub fn grid(boundary: &Boundary, shape: [usize; 3], separation: f64) -> BoxGrid {
    let (basis, shear) = box_vectors(boundary, shape, 1.0);
    let scale = dot(basis[0], cross(basis[1], basis[2])).abs().cbrt();
    let basis = basis.map(|e| e.map(|x| x / scale));
    let near = NearSet::new(&basis, separation);
    BoxGrid { topology: Topology { shape, periodic: boundary.periodic(), shear }, basis, near }
}

const TRICLINIC: Boundary = Boundary::Periodic { cell: [[4.1, 0.3, -0.8], [1.9, 3.2, 0.4], [-1.5, 1.2, 2.9]] };
const HEXAGONAL: Boundary = Boundary::Slab { periods: [[3.0, 0.0, 0.0], [1.5, 2.598, 0.0]] };
/// Not along any axis.
const TILTED: Boundary = Boundary::Slab { periods: [[2.0, 0.3, -0.5], [0.6, 2.4, 1.1]] };
const WIRE: Boundary = Boundary::Wire { period: [1.1, -0.4, 2.2] };

/// The grids under test, with offsets: 3-D, slab, wire.
fn cases() -> Vec<(BoxGrid, [i32; 3])> {
    vec![
        (grid(&Boundary::rectangular([1.0; 3]), [1; 3], 1.0), [0; 3]),
        (grid(&Boundary::rectangular([2.0, 2.7, 2.2]), [2, 3, 2], 1.0), [1, 1, 0]),
        (grid(&Boundary::rectangular([4.0, 4.5, 4.4]), [4, 5, 4], 1.2), [2, 1, 0]),
        (grid(&TRICLINIC, [4, 4, 3], 1.08), [-1, 2, 1]),
        (grid(&TRICLINIC, [1, 1, 1], 1.08), [0; 3]),
        (grid(&HEXAGONAL, [3, 3, 2], 1.08), [1, 1, -1]),
        (grid(&HEXAGONAL, [3, 3, 5], 1.08), [1, 2, 4]),
        (grid(&TILTED, [2, 3, 4], 1.08), [0, 1, 0]),
        (grid(&TILTED, [1, 1, 4], 1.08), [0, 0, 2]),
        (grid(&WIRE, [3, 2, 2], 1.08), [1, -1, 0]),
        (grid(&WIRE, [1, 6, 2], 1.08), [0, 5, 1]),
    ]
}

/// Far boxes are at least two boxes away: a_l is of order 2^-(l+1) in units of the box.
fn scale(l: usize) -> f64 {
    0.5f64.powi(l as i32 + 1)
}

/// Σ 1/|t+n+w| over the near images of t.
fn near_part(grid: &BoxGrid, offset: [i32; 3], w: [f64; 3]) -> f64 {
    let rows = grid.topology.lattice();
    let mut sum = 0.0;
    for n in triples(-9..=9, -9..=9, -9..=9) {
        let mut u = offset;
        for a in 0..3 {
            u = [0, 1, 2].map(|x| u[x] + n[a] * rows[a][x]);
        }
        if grid.near.contains(u) && (0..3).all(|a| n[a] == 0 || grid.topology.periodic[a]) {
            let r = grid.vector(u.map(f64::from));
            sum += 1.0 / norm([0, 1, 2].map(|x| r[x] + w[x]));
        }
    }
    sum
}

/// Σ a_lm (−1)^l R̂_lm(w).
fn far_part(values: &[f64], order: usize, w: [f64; 3]) -> f64 {
    values.iter().zip(regular(order, w.map(|x| -x))).map(|(a, r)| a * r).sum()
}

/// Points in a box.
const INSIDE: [[f64; 3]; 3] = [[0.21, 0.05, -0.13], [0.0, -0.28, 0.11], [-0.16, 0.2, 0.14]];

#[test]
fn coefficients_do_not_depend_on_the_ewald_width() {
    for (grid, offset) in cases().into_iter().filter(|(g, _)| g.topology.periodic[1]) {
        let order = 24;
        let a = coefficients(&grid, order, offset);
        for factor in [0.85, 1.2] {
            let b = split_sum(&Ewald::with_width(&grid, order, factor), offset);
            for l in 0..=order {
                for i in l * l..(l + 1) * (l + 1) {
                    let allowed = 1e-12 * scale(l).max(a[i].abs());
                    assert!((a[i] - b[i]).abs() < allowed, "{:?} l {l}: {} {}", grid.topology, a[i], b[i]);
                }
            }
        }
    }
}

#[test]
fn coefficients_match_explicit_images() {
    // Orders from which the sum converges absolutely, and fast: r^-(l+1) with 4πr², 2πr or 2 images leaves R^-(l-2), R^-(l-1), R^-l.
    for (grid, offset) in cases() {
        let (from, radius) = match grid.topology.periodic {
            [_, _, true] => (8, 40.0),
            [_, true, _] => (6, 100.0),
            _ => (4, 2000.0),
        };
        let order = 12;
        let sum = coefficients(&grid, order, offset);
        let mut direct = vec![0.0; count(order)];
        let rows = grid.topology.lattice();
        // Images per axis: enough for cells sheared by at most their size.
        let reach = [0, 1, 2].map(|a| {
            if !grid.topology.periodic[a] {
                return 0..=0;
            }
            let n = (1.6 * radius / grid.topology.shape[a] as f64) as i32;
            -n..=n
        });
        let [x, y, z] = reach;
        for n in triples(x, y, z) {
            let mut u = offset;
            for a in 0..3 {
                u = [0, 1, 2].map(|x| u[x] + n[a] * rows[a][x]);
            }
            let r = grid.vector(u.map(f64::from));
            if !grid.near.contains(u) && norm(r) < radius {
                for (d, v) in direct.iter_mut().zip(irregular(order, r)) {
                    *d += v;
                }
            }
        }
        for l in from..=order {
            for i in l * l..(l + 1) * (l + 1) {
                let allowed = 2e-9f64.min(1e-5 * scale(l));
                let d = (sum[i] - direct[i]).abs();
                assert!(d < allowed, "{:?} {l} {i}: {} {}", grid.topology, sum[i], direct[i]);
            }
        }
    }
}

#[test]
fn triclinic_coefficients_make_the_ewald_potential() {
    let Boundary::Periodic { cell } = TRICLINIC else { unreachable!() };
    for (shape, offset) in [([4, 4, 3], [-1, 2, 1]), ([3, 4, 2], [0, 0, 0])] {
        let grid = grid(&TRICLINIC, shape, 1.08);
        let volume = grid.topology.len() as f64;
        let scale = norm(cell[0]) / norm(grid.vector(grid.topology.lattice()[0].map(f64::from)));
        let order = 40;
        let values = coefficients(&grid, order, offset);
        for w in INSIDE {
            let t = grid.vector(offset.map(f64::from));
            let r = [0, 1, 2].map(|x| (t[x] + w[x]) * scale);
            let positions = [[0.0; 3], r];
            let (_, exact) =
                crate::reference::ewald::evaluate(&TRICLINIC, &positions, &[1.0, 0.0], &Exclusions::none(2), 1e-16)
                    .unwrap();
            let near = near_part(&grid, offset, w);
            let trace = 2.0 * PI / (3.0 * volume) * dot(w, w);
            let g = far_part(&values, order, w) + near + trace;
            // Rounding of terms of order 10.
            assert!((g - exact.potential[1] * scale).abs() < 1e-13, "{g} {}", exact.potential[1] * scale);
        }
    }
}

#[test]
fn slab_coefficients_make_the_sum_over_plane_waves() {
    // Off the plane of the charges G = −2π|z|/A + Σ (2π/Ak) e^{−k|z|} cos k·r.
    for (boundary, offset) in [(HEXAGONAL, [1, 2, 4]), (HEXAGONAL, [0, 1, -2]), (TILTED, [-1, 0, 3])] {
        let grid = grid(&boundary, [3, 3, 5], 1.08);
        let cell = Cell::new(&grid);
        let order = 40;
        let values = coefficients(&grid, order, offset);
        for w in INSIDE {
            let t = grid.vector(offset.map(f64::from));
            let r = [0, 1, 2].map(|x| t[x] + w[x]);
            let z = dot(r, cell.vectors[2]).abs();
            let mut exact = -2.0 * PI * z / cell.area();
            for n in triples(-30..=30, -30..=30, 0..=0) {
                let k = [0, 1, 2].map(|x| 2.0 * PI * (0..2).map(|a| f64::from(n[a]) * cell.dual[a][x]).sum::<f64>());
                if n != [0; 3] {
                    exact += 2.0 * PI / (cell.area() * norm(k)) * (-norm(k) * z).exp() * dot(k, r).cos();
                }
            }
            let g = far_part(&values, order, w) + near_part(&grid, offset, w);
            assert!((g - exact).abs() < 1e-13 * z.max(1.0), "{g} {exact}");
        }
    }
}

#[test]
fn wire_coefficients_make_the_sum_over_images() {
    for (grid, offset) in cases().into_iter().filter(|(g, _)| !g.topology.periodic[1]) {
        let order = 40;
        let values = coefficients(&grid, order, offset);
        let period = grid.vector(grid.topology.lattice()[0].map(f64::from));
        for w in INSIDE {
            let t = grid.vector(offset.map(f64::from));
            let r = [0, 1, 2].map(|x| t[x] + w[x]);
            // The terms fall as (3 cos² − 1) r² / (np)³: the integral over the rest has a relative error of 1/N².
            let n_max = 20_000;
            let mut exact = 1.0 / norm(r);
            for n in 1..=n_max {
                let p = period.map(|x| f64::from(n) * x);
                let pair = [1.0, -1.0].map(|s| 1.0 / norm([0, 1, 2].map(|x| r[x] + s * p[x])));
                exact += pair[0] + pair[1] - 2.0 / norm(p);
            }
            let (along, length) = (dot(r, period).powi(2) / dot(period, period), norm(period));
            exact += (3.0 * along - dot(r, r)) / (2.0 * length.powi(3) * (f64::from(n_max) + 0.5).powi(2));
            let g = far_part(&values, order, w) + near_part(&grid, offset, w);
            assert!((g - exact).abs() < 1e-13, "{:?}: {g} {exact} {:e}", grid.topology, g - exact);
        }
        // Any image of the same box will do.
        let image = [offset[0] - 2 * grid.topology.shape[0] as i32, offset[1], offset[2]];
        assert_eq!(values, coefficients(&grid, order, image));
    }
}

#[test]
fn monopole_is_the_wigner_constant() {
    // G(w) − 1/w at w = 0 is −2.837297479…/L: put back the 26 near images that the coefficient leaves out.
    let mut a = coefficients(&grid(&Boundary::rectangular([1.0; 3]), [1; 3], 1.0), 0, [0, 0, 0])[0];
    for n in triples(-1..=1, -1..=1, -1..=1) {
        let r2: i32 = n.iter().map(|x| x * x).sum();
        if r2 > 0 {
            a += 1.0 / f64::from(r2).sqrt();
        }
    }
    assert!((a + 2.837_297_479_480_62).abs() < 1e-13, "{a}");
}

#[test]
fn reversed_offsets_change_the_sign_of_odd_orders() {
    for (grid, offset) in cases() {
        let a = coefficients(&grid, 9, offset);
        let b = coefficients(&grid, 9, offset.map(|x| -x));
        for i in 0..count(9) {
            let sign = if i.isqrt() % 2 == 0 { 1.0 } else { -1.0 };
            assert!((a[i] - sign * b[i]).abs() < 1e-12 * scale(i.isqrt()).max(a[i].abs()), "{i}: {} {}", a[i], b[i]);
        }
    }
}
