//! What must not change results: translation, images, order of the particles, rotation, choice of the cell vectors, tree.

use crate::common::lattices::{rotation, turn};
use crate::common::systems::{
    BOUNDARIES, PERIODIC, SLAB, TRICLINIC, WIRE, close_pairs, dot, filled, force_error, frame, norm, plus, scattered,
    separated,
};
use crate::common::{Random, difference, relative_l2, run, solver};
use fmm::{Boundary, Exclusions, Potentials};

const N: usize = 80;
const TREES: [([usize; 3], usize); 3] = [([4, 3, 3], 0), ([1; 3], 2), ([2, 1, 2], 1)];

/// Truncation of the expansions at `ORDER`: about 2^-order for particles anywhere.
const ORDER: usize = 14;
const TRUNCATION: f64 = 2e-4;

/// Edges of root boxes along the periods: nearest-plane reduction of the cell (see `grid.rs`).
fn root_edges(boundary: &Boundary, root: [usize; 3]) -> Vec<[f64; 3]> {
    let over = |v: [f64; 3], n: usize| v.map(|x| x / n as f64);
    let along = |v: [f64; 3], e: [f64; 3]| (dot(v, e) / dot(e, e)).round();
    match *boundary {
        Boundary::Open => vec![],
        Boundary::Wire { period } => vec![over(period, root[0])],
        Boundary::Slab { periods: [a, b] } => {
            let e1 = over(b, root[1]);
            vec![over(plus(a, -along(a, e1), e1), root[0]), e1]
        }
        Boundary::Periodic { cell: [a, b, c] } => {
            let e2 = over(c, root[2]);
            let e1 = over(plus(b, -along(b, e2), e2), root[1]);
            let upright = plus(e1, -dot(e1, e2) / dot(e2, e2), e2);
            let a = plus(a, -along(a, upright), e1);
            vec![over(plus(a, -along(a, e2), e2), root[0]), e1, e2]
        }
    }
}

#[test]
fn translation() {
    for boundary in BOUNDARIES {
        let (x, q) = filled(&boundary, N, 0.0, 23);
        let none = Exclusions::none(N);
        for (root, depth) in TREES {
            let mut fmm = solver(boundary, ORDER, root, depth);
            let (energy, out) = run(&mut fmm, &x, &q, &none);
            let mut moved = |shift: [f64; 3]| {
                let y: Vec<[f64; 3]> = x.iter().map(|r| plus(*r, 1.0, shift)).collect();
                let (e, o) = run(&mut fmm, &y, &q, &none);
                ((e / energy - 1.0).abs()).max(difference(&o, &out))
            };
            for edge in root_edges(&boundary, root) {
                // By one root box, and by several: the same boxes, and only the coordinates round. Without refinement these are the leaves;
                // by one box of a refined level another tree lies over the particles.
                for times in [1.0, -5.0] {
                    let error = moved(edge.map(|x| x * times));
                    assert!(error < 1e-13, "{boundary:?} {root:?} {depth}: {error:.1e} after {times} {edge:?}");
                }
            }
            // Along open directions boxes follow the particles.
            let open =
                frame(&boundary, 0.731)[boundary.periods().len()..].iter().fold([0.0; 3], |s, v| plus(s, 1.0, *v));
            assert!(moved(open) < 1e-13, "{boundary:?} {root:?} {depth}: {:.1e}", moved(open));
            let error = moved([0.377, -0.211, 0.593]);
            assert!(error < TRUNCATION, "{boundary:?} {root:?} {depth}: {error:.1e}");
            // It is the truncation that differs, where boxes do not follow.
            assert!(boundary == Boundary::Open || error > 1e-13, "{boundary:?} {root:?} {depth}: {error:.1e}");
        }
    }
}

#[test]
fn order_of_the_particles() {
    for boundary in BOUNDARIES {
        let (x, q) = filled(&boundary, N, 0.0, 24);
        let exclusions = close_pairs(&boundary, &x, 0.2);
        assert!(exclusions.n_pairs() > 2);
        // 37 and 80 have no common divisor.
        let from: Vec<usize> = (0..N).map(|i| (37 * i + 11) % N).collect();
        let mut to = vec![0u32; N];
        from.iter().enumerate().for_each(|(k, i)| to[*i] = k as u32);
        let y: Vec<[f64; 3]> = from.iter().map(|i| x[*i]).collect();
        let charges: Vec<f64> = from.iter().map(|i| q[*i]).collect();
        let pairs = (0..N).flat_map(|i| exclusions.partners(i).iter().map(move |j| [i as u32, *j]));
        let renamed = Exclusions::from_pairs(N, pairs.map(|p| p.map(|i| to[i as usize]))).unwrap();
        for (root, depth) in TREES {
            let mut fmm = solver(boundary, 6, root, depth);
            let (energy, out) = run(&mut fmm, &x, &q, &exclusions);
            let (e, o) = run(&mut fmm, &y, &charges, &renamed);
            let back = Potentials {
                potential: to.iter().map(|k| o.potential[*k as usize]).collect(),
                field: to.iter().map(|k| o.field[*k as usize]).collect(),
            };
            // Sums over the particles of a box run in another order.
            let error = difference(&back, &out).max((e / energy - 1.0).abs());
            assert!(error < 1e-14, "{boundary:?} {root:?} {depth}: {error:.1e}");
        }
    }
}

#[test]
fn images_of_molecules_and_of_atoms() {
    for boundary in [WIRE, SLAB, PERIODIC] {
        let (mut x, q) = filled(&boundary, N, 0.0, 25);
        // Molecules of four.
        for i in (0..N).filter(|i| i % 4 != 0) {
            x[i] = plus(x[i - i % 4], 0.1, plus(x[i], -1.0, x[i - i % 4]));
        }
        let bonds = (0..N as u32).filter(|i| i % 4 != 0).flat_map(|i| (i - i % 4..i).map(move |j| [i, j]));
        let exclusions = Exclusions::from_pairs(N, bonds).unwrap();
        let mut random = Random(99);
        let firsts: Vec<[f64; 3]> = x.iter().step_by(4).copied().collect();
        let moved = scattered(&boundary, &firsts, 3.0, &mut random);
        let molecules: Vec<[f64; 3]> =
            (0..N).map(|i| plus(x[i], 1.0, plus(moved[i / 4], -1.0, firsts[i / 4]))).collect();
        let atoms = scattered(&boundary, &x, 3.0, &mut random);
        let far = scattered(&boundary, &x, 1000.0, &mut random);
        for (root, depth) in TREES {
            let mut fmm = solver(boundary, 6, root, depth);
            let (energy, out) = run(&mut fmm, &x, &q, &exclusions);
            for (y, tolerance) in [(&molecules, 1e-12), (&atoms, 1e-12), (&far, 1e-10)] {
                let (e, o) = run(&mut fmm, y, &q, &exclusions);
                let error = difference(&o, &out).max((e / energy - 1.0).abs());
                assert!(error < tolerance, "{boundary:?} {root:?} {depth}: {error:.1e}");
            }
        }
    }
}

#[test]
fn rotation_with_the_cell() {
    let turned = rotation([0.3, 0.8, -0.4, 0.5]);
    for boundary in BOUNDARIES {
        let spin = |v: [f64; 3]| turn(&turned, v);
        let other = match boundary {
            Boundary::Open => Boundary::Open,
            Boundary::Wire { period } => Boundary::Wire { period: spin(period) },
            Boundary::Slab { periods } => Boundary::Slab { periods: periods.map(spin) },
            Boundary::Periodic { cell } => Boundary::Periodic { cell: cell.map(spin) },
        };
        let (x, q) = filled(&boundary, N, 0.0, 26);
        let y: Vec<[f64; 3]> = x.iter().map(|r| spin(*r)).collect();
        // Boxes turn with the periods; in open space and around wires they do not.
        let tolerance = if boundary.periods().len() > 1 { 1e-12 } else { TRUNCATION };
        for (root, depth) in TREES {
            let none = Exclusions::none(N);
            let (energy, out) = run(&mut solver(boundary, ORDER, root, depth), &x, &q, &none);
            let (e, o) = run(&mut solver(other, ORDER, root, depth), &y, &q, &none);
            let expected =
                Potentials { potential: out.potential.clone(), field: out.field.iter().map(|f| spin(*f)).collect() };
            let error = difference(&o, &expected).max((e / energy - 1.0).abs());
            assert!(error < tolerance, "{boundary:?} {root:?} {depth}: {error:.1e}");
        }
    }
}

#[test]
fn choice_of_the_cell_vectors() {
    let [a, b, c] = TRICLINIC;
    let cells =
        [[b, c, a], [b, a, c], [c, b, a], [plus(a, 1.0, b), b, plus(c, -2.0, a)], [a, plus(b, 3.0, c), c.map(|x| -x)]];
    let (x, q) = filled(&PERIODIC, N, 1.5, 27);
    let none = Exclusions::none(N);
    let mut reference = solver(PERIODIC, ORDER, [3; 3], 0);
    let (energy, out) = run(&mut reference, &x, &q, &none);
    for cell in cells {
        for (root, depth) in [([3; 3], 0), ([1; 3], 2)] {
            let (e, o) = run(&mut solver(Boundary::Periodic { cell }, ORDER, root, depth), &x, &q, &none);
            let error = difference(&o, &out).max((e / energy - 1.0).abs());
            assert!(error < TRUNCATION, "{cell:?} {root:?} {depth}: {error:.1e}");
        }
    }
    let (x, q) = filled(&SLAB, N, 0.0, 28);
    let (energy, out) = run(&mut solver(SLAB, ORDER, [3; 3], 0), &x, &q, &none);
    for periods in [[b, a], [plus(a, 2.0, b), b], [a, plus(a, -1.0, b)]] {
        let (e, o) = run(&mut solver(Boundary::Slab { periods }, ORDER, [3; 3], 0), &x, &q, &none);
        let error = difference(&o, &out).max((e / energy - 1.0).abs());
        assert!(error < TRUNCATION, "{periods:?}: {error:.1e}");
    }
    let (x, q) = filled(&WIRE, N, 0.0, 29);
    let (energy, out) = run(&mut solver(WIRE, ORDER, [3; 3], 0), &x, &q, &none);
    let (e, o) = run(&mut solver(Boundary::Wire { period: b.map(|x| -x) }, ORDER, [3; 3], 0), &x, &q, &none);
    assert!(difference(&o, &out).max((e / energy - 1.0).abs()) < TRUNCATION);
}

#[test]
fn charged_cell_energy_does_not_depend_on_the_tree() {
    let trees = [([1; 3], 0), ([3; 3], 0), ([2, 4, 3], 0), ([1; 3], 2), ([3, 2, 1], 1)];
    for cell in [TRICLINIC, crate::common::systems::DODECAHEDRON] {
        let boundary = Boundary::Periodic { cell };
        let (x, q) = filled(&boundary, 50, 4.0, 31);
        let none = Exclusions::none(x.len());
        let (exact, reference) = crate::common::systems::exact(&boundary, &x, &q, &none);
        for tree in trees {
            let (e, out) = run(&mut separated(boundary, 15, tree, 1.5), &x, &q, &none);
            assert!((e / exact - 1.0).abs() < 1e-8, "{cell:?} {tree:?}: {e} {exact}");
            assert!(difference(&out, &reference) < 2e-6, "{cell:?} {tree:?}: {:.1e}", difference(&out, &reference));
        }
    }
}

#[test]
fn forces_add_up_to_nothing() {
    for boundary in BOUNDARIES {
        let charge = if boundary == PERIODIC { 3.0 } else { 0.0 };
        let (x, q) = filled(&boundary, N, charge, 32);
        let none = Exclusions::none(N);
        let (_, exact) = crate::common::systems::exact(&boundary, &x, &q, &none);
        for (root, depth) in TREES {
            for order in [4, 16] {
                let (_, out) = run(&mut solver(boundary, order, root, depth), &x, &q, &none);
                let forces: Vec<[f64; 3]> = out.field.iter().zip(&q).map(|(e, q)| e.map(|e| q * e)).collect();
                let total = forces.iter().fold([0.0; 3], |s, f| plus(s, 1.0, *f));
                let size = forces.iter().flatten().map(|f| f * f).sum::<f64>().sqrt();
                // Errors of the N forces add up like random numbers, or less.
                let error = force_error(&q, &out, &exact);
                assert!(
                    norm(total) < 3.0 * error * size,
                    "{boundary:?} {root:?} {depth}: {total:?} {error:.1e} {size}"
                );
                assert!(error < if order == 4 { 0.1 } else { 1e-4 }, "{boundary:?} {root:?} {depth}: {error:.1e}");
            }
        }
    }
}

#[test]
fn force_is_minus_the_gradient_of_the_energy_while_boxes_are_frozen() {
    for boundary in BOUNDARIES {
        let charge = if boundary == PERIODIC { 2.0 } else { 0.0 };
        let (mut x, q) = filled(&boundary, 40, charge, 9);
        x[1] = x[0].map(|x| x + 0.05);
        let exclusions = Exclusions::from_pairs(40, [[0, 1]]).unwrap();
        for (root, depth) in TREES {
            // Low order: the derivative must be that of the truncated expansions.
            let mut fmm = solver(boundary, 4, root, depth);
            let (_, out) = run(&mut fmm, &x, &q, &exclusions);
            let mut scratch = Potentials::default();
            let h = 1e-5;
            for i in [0, 7, 21] {
                let slopes = [0, 1, 2].map(|a| {
                    let mut energy = |d: f64| {
                        let mut y = x.clone();
                        y[i][a] += d;
                        fmm.evaluate(&y, &q, &mut scratch).unwrap()
                    };
                    (energy(h) - energy(-h)) / (2.0 * h)
                });
                let force = out.field[i].map(|e| q[i] * e);
                // Central difference: h² E''' and rounding 1e-15 E / h.
                let error = relative_l2(&slopes, &force.map(|f| -f));
                assert!(error < 1e-6, "{boundary:?} {root:?} {depth} {i}: {slopes:?} {force:?}");
            }
        }
    }
}

#[test]
fn whole_lattice_of_images_is_one_cell() {
    // Twice the cell along one vector: twice the energy, the same potentials.
    for boundary in [WIRE, SLAB, PERIODIC] {
        let (x, q) = filled(&boundary, 40, 0.0, 33);
        let first = boundary.periods()[0];
        let twice = first.map(|x| 2.0 * x);
        let long = match boundary {
            Boundary::Wire { .. } => Boundary::Wire { period: twice },
            Boundary::Slab { periods: [_, b] } => Boundary::Slab { periods: [twice, b] },
            _ => Boundary::Periodic { cell: [twice, TRICLINIC[1], TRICLINIC[2]] },
        };
        let y: Vec<[f64; 3]> = x.iter().copied().chain(x.iter().map(|r| plus(*r, 1.0, first))).collect();
        let both: Vec<f64> = q.iter().chain(&q).copied().collect();
        let (energy, out) = run(&mut solver(boundary, ORDER, [3; 3], 0), &x, &q, &Exclusions::none(40));
        let (e, o) = run(&mut solver(long, ORDER, [6, 3, 3], 0), &y, &both, &Exclusions::none(80));
        let repeated = Potentials {
            potential: out.potential.iter().chain(&out.potential).copied().collect(),
            field: out.field.iter().chain(&out.field).copied().collect(),
        };
        // Shears are those of another cell, the boxes may differ.
        let error = difference(&o, &repeated).max((0.5 * e / energy - 1.0).abs());
        assert!(error < TRUNCATION, "{boundary:?}: {error:.1e}");
    }
}
