//! Sequences of changes of the cell, as a barostat makes them, must give what a new solver gives after each of them.

use crate::common::systems::{DODECAHEDRON, PERIODIC, SLAB, TRICLINIC, WIRE, exact, filled, separated};
use crate::common::{Random, difference, run};
use fmm::{Boundary, Exclusions, Potentials};

/// Rows of (1 + strain).
type Strain = [[f64; 3]; 3];

fn apply(s: &Strain, v: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|x| v[x] + (0..3).map(|a| v[a] * s[a][x]).sum::<f64>())
}

fn strained(boundary: &Boundary, s: &Strain) -> Boundary {
    match *boundary {
        Boundary::Open => Boundary::Open,
        Boundary::Wire { period } => Boundary::Wire { period: apply(s, period) },
        Boundary::Slab { periods } => Boundary::Slab { periods: periods.map(|p| apply(s, p)) },
        Boundary::Periodic { cell } => Boundary::Periodic { cell: cell.map(|p| apply(s, p)) },
    }
}

/// Strains of at most `size`: isotropic, along each axis for itself, or with shear.
fn random_strain(kind: usize, size: f64, random: &mut Random) -> Strain {
    let mut small = || size * (2.0 * random.uniform() - 1.0);
    let same = small();
    let mut s = [[0.0; 3]; 3];
    for (a, row) in s.iter_mut().enumerate() {
        for (x, s) in row.iter_mut().enumerate() {
            *s = match kind {
                0 if a == x => same,
                1 if a == x => small(),
                2 => small(),
                _ => 0.0,
            };
        }
    }
    s
}

#[test]
fn any_sequence_of_changes_equals_a_new_solver() {
    let dodecahedron = Boundary::Periodic { cell: DODECAHEDRON };
    for (k, start) in
        [PERIODIC, dodecahedron, SLAB, WIRE, Boundary::rectangular([2.0, 2.1, 1.9])].into_iter().enumerate()
    {
        for tree in [([3; 3], 0), ([2, 1, 2], 1)] {
            let mut random = Random(100 + k as u64);
            let (mut boundary, none) = (start, Exclusions::none(60));
            let (mut x, q) = filled(&boundary, 60, 0.0, 61);
            let mut fmm = separated(boundary, 10, tree, 1.3);
            fmm.assign(&x, &none).unwrap();
            for step in 0..7 {
                let s = random_strain(step % 3, 0.06, &mut random);
                boundary = strained(&boundary, &s);
                x.iter_mut().for_each(|r| *r = apply(&s, *r));
                fmm.set_boundary(boundary).unwrap();
                assert_eq!(fmm.boundary(), boundary);
                // Frozen boxes that follow the cell: right to truncation, 1.3^-11 at the corners, 3e-5 for most.
                let mut frozen = Potentials::default();
                let energy = fmm.evaluate(&x, &q, &mut frozen).unwrap();
                let (sum, reference) = exact(&boundary, &x, &q, &none);
                let error = difference(&frozen, &reference);
                assert!(error < 1e-3, "{boundary:?} {tree:?} step {step}: {error:.1e}");
                assert!((energy - sum).abs() < 1e-3 * sum.abs(), "{boundary:?} {tree:?} step {step}: {energy} {sum}");
                if step % 2 == 1 {
                    // Assigned anew, all history is forgotten.
                    let (e, out) = run(&mut fmm, &x, &q, &none);
                    let (fresh, expected) = run(&mut separated(boundary, 10, tree, 1.3), &x, &q, &none);
                    assert!(difference(&out, &expected) < 1e-11, "{:.1e}", difference(&out, &expected));
                    assert!((e / fresh - 1.0).abs() < 1e-11, "{e} {fresh}");
                }
            }
        }
    }
}

#[test]
fn cells_with_shears_of_half_a_box_keep_their_assignment() {
    // b and c of a dodecahedron meet at half a box of an odd grid: rounding must not decide to which side.
    let none = Exclusions::none(30);
    for root in [[3; 3], [5, 5, 5], [1; 3]] {
        let boundary = Boundary::Periodic { cell: DODECAHEDRON };
        let (x, q) = filled(&boundary, 30, 0.0, 62);
        let mut fmm = separated(boundary, 6, (root, 0), 1.12);
        let (energy, _) = run(&mut fmm, &x, &q, &none);
        let mut random = Random(63);
        for _ in 0..40 {
            let scale = 0.9 + 0.2 * random.uniform();
            fmm.set_boundary(Boundary::Periodic { cell: DODECAHEDRON.map(|v| v.map(|x| x * scale)) }).unwrap();
            let y: Vec<[f64; 3]> = x.iter().map(|r| r.map(|x| x * scale)).collect();
            let mut out = Potentials::default();
            let e = fmm.evaluate(&y, &q, &mut out).unwrap();
            assert!((e * scale / energy - 1.0).abs() < 1e-12, "{root:?} {scale}: {e} {energy}");
            let (e, _) = run(&mut fmm, &y, &q, &none);
            assert!((e * scale / energy - 1.0).abs() < 1e-12, "{root:?} {scale}: {e} {energy}");
        }
    }
}

#[test]
fn a_large_shear_keeps_the_boxes_until_the_next_assignment() {
    // Cells that are the same lattice: c + t b for t = 0 … 1, evaluated with the boxes of t = 0.
    let (x, q) = filled(&PERIODIC, 60, 0.0, 64);
    let none = Exclusions::none(60);
    let mut fmm = separated(PERIODIC, 12, ([3; 3], 0), 1.5);
    let (energy, out) = run(&mut fmm, &x, &q, &none);
    let [a, b, c] = TRICLINIC;
    let sum = [0, 1, 2].map(|x| c[x] + b[x]);
    fmm.set_boundary(Boundary::Periodic { cell: [a, b, sum] }).unwrap();
    let (e, o) = run(&mut fmm, &x, &q, &none);
    assert!((e / energy - 1.0).abs() < 1e-5 && difference(&o, &out) < 1e-4, "{e} {energy}");
}

/// Differences of the energy when one axis is stretched with all that is in the cell and the boxes keep their particles: of low orders too, whose
/// truncation is part of the energy. Charged cells, excluded pairs, boxes with and without right angles.
#[test]
fn the_virial_along_an_axis_is_the_derivative_by_its_length() {
    let dodecahedron = Boundary::Periodic { cell: DODECAHEDRON };
    let brick = Boundary::rectangular([2.0, 2.3, 1.9]);
    for (boundary, order, root, charge) in [
        (brick, 4, [3, 4, 3], 0.0),
        (brick, 10, [3, 3, 2], 1.5),
        (brick, 6, [1; 3], 0.0),
        (dodecahedron, 5, [3; 3], 0.0),
    ] {
        let (x, q) = filled(&boundary, 60, charge, 65);
        let exclusions = Exclusions::from_pairs(60, [[0, 1]]).unwrap();
        let mut x = x;
        x[1] = x[0].map(|c| c + 0.04);
        let mut fmm = separated(boundary, order, (root, 0), 1.3);
        let (energy, _) = run(&mut fmm, &x, &q, &exclusions);
        let virial = fmm.virial().unwrap();
        assert!((virial.iter().sum::<f64>() / energy - 1.0).abs() < 1e-12, "{virial:?} {energy}");
        let mut out = Potentials::default();
        for axis in 0..3 {
            let h = 1e-4;
            let slope = {
                let mut at = |d: f64| {
                    let mut s = Strain::default();
                    s[axis][axis] = d;
                    fmm.set_boundary(strained(&boundary, &s)).unwrap();
                    let y: Vec<[f64; 3]> = x.iter().map(|r| apply(&s, *r)).collect();
                    fmm.evaluate(&y, &q, &mut out).unwrap()
                };
                (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h)
            };
            // Lattice sums of 1e-14 over the step, and of the step of the operators itself: 1e-8 for low degrees.
            let error = (virial[axis] + slope).abs();
            println!("order {order}, axis {axis}: {} {}", virial[axis], -slope);
            assert!(error < 1e-6 * energy.abs(), "order {order}, axis {axis}: {} {}", virial[axis], -slope);
        }
        fmm.set_boundary(boundary).unwrap();
        assert_eq!(fmm.virial(), Err(fmm::FmmError::NotEvaluated));
    }
}

/// In open space it is Σ r_a F_a, but for the truncation of the expansions.
#[test]
fn the_virial_in_open_space_is_that_of_the_forces() {
    let (x, q) = filled(&Boundary::rectangular([2.0, 2.3, 1.9]), 60, 0.5, 66);
    let mut fmm = separated(Boundary::Open, 24, ([3; 3], 0), 1.3);
    let (energy, out) = run(&mut fmm, &x, &q, &Exclusions::none(60));
    let virial = fmm.virial().unwrap();
    for axis in 0..3 {
        let forces: f64 = (0..60).map(|i| q[i] * x[i][axis] * out.field[i][axis]).sum();
        assert!((virial[axis] - forces).abs() < 1e-4 * energy.abs(), "{} {forces}", virial[axis]);
    }
    let mut refined = separated(Boundary::Open, 6, ([2; 3], 1), 1.3);
    run(&mut refined, &x, &q, &Exclusions::none(60));
    assert_eq!(refined.virial(), Err(fmm::FmmError::RefinedVirial { depth: 1 }));
}
