//! Periodic cells: Ewald sums, Madelung energy, invariances, derivatives.

use crate::common::{cloud, difference, run, solver};
use fmm::{Boundary, Exclusions, Potentials, ewald};

const EDGES: [f64; 3] = [2.0, 2.2, 1.9];

fn periodic(order: usize, root: [usize; 3], depth: usize) -> fmm::Fmm<f64> {
    solver(Boundary::rectangular(EDGES), order, root, depth)
}

#[test]
fn charged_cell_with_exclusions_matches_ewald_for_every_tree() {
    let (x, q) = cloud(90, EDGES, 1.5, 3);
    // Chains of neighbours, as in molecules; some of them across the faces of the cell.
    let near = |i: usize, j: usize| {
        (0..3)
            .map(|a| {
                let d = x[i][a] - x[j][a];
                (d - EDGES[a] * (d / EDGES[a]).round()).powi(2)
            })
            .sum::<f64>()
            < 0.09
    };
    let pairs =
        (0..x.len() as u32).flat_map(|i| (0..i).map(move |j| [i, j])).filter(|p| near(p[0] as usize, p[1] as usize));
    let exclusions = Exclusions::from_pairs(x.len(), pairs).unwrap();
    let (energy, exact) = ewald::evaluate(&Boundary::rectangular(EDGES), &x, &q, &exclusions, 1e-15).unwrap();
    for (root, depth) in [([1; 3], 0), ([2; 3], 0), ([3; 3], 0), ([4, 5, 4], 0), ([1; 3], 1), ([1; 3], 2), ([2; 3], 1)]
    {
        let (e, out) = run(&mut periodic(24, root, depth), &x, &q, &exclusions);
        assert!(difference(&out, &exact) < 1e-7, "{root:?} {depth}: {:.1e}", difference(&out, &exact));
        assert!((e - energy).abs() < 1e-8 * energy.abs(), "{root:?} {depth}: {e} {energy}");
    }
}

#[test]
fn madelung_constant_of_rock_salt() {
    // 8 ions per cubic cell of edge 2: M = 1.747564594633182 per ion pair at distance 1; two cells per axis.
    let n = 4;
    let mut x = Vec::new();
    let mut q = Vec::new();
    for i in 0..n * n * n {
        let c = [i / (n * n), i / n % n, i % n];
        x.push(c.map(|c| c as f64 + 0.13));
        q.push(if c.iter().sum::<usize>() % 2 == 0 { 1.0 } else { -1.0 });
    }
    let boundary = Boundary::rectangular([n as f64; 3]);
    for (root, depth) in [([1; 3], 0), ([2; 3], 0), ([1; 3], 1)] {
        let (energy, _) = run(&mut solver(boundary, 36, root, depth), &x, &q, &Exclusions::none(x.len()));
        let madelung = -2.0 * energy / x.len() as f64;
        assert!((madelung / 1.747_564_594_633_182 - 1.0).abs() < 3e-12, "{root:?} {depth}: {madelung}");
    }
}

#[test]
fn translation_and_wrapping_change_nothing() {
    let (x, q) = cloud(60, EDGES, -1.0, 23);
    let none = Exclusions::none(x.len());
    let mut fmm = periodic(20, [3; 3], 0);
    let (energy, out) = run(&mut fmm, &x, &q, &none);
    let wrapped: Vec<[f64; 3]> = x
        .iter()
        .enumerate()
        .map(|(i, r)| [0, 1, 2].map(|a| r[a] + EDGES[a] * (i % 5) as f64 - 2.0 * EDGES[a]))
        .collect();
    let (e, o) = run(&mut fmm, &wrapped, &q, &none);
    assert!((e - energy).abs() < 1e-12 * energy.abs() && difference(&o, &out) < 1e-12);
    // A shift moves particles between boxes: equal to the error of the expansions.
    let moved: Vec<[f64; 3]> = x.iter().map(|r| r.map(|c| c + 0.377)).collect();
    let (e, o) = run(&mut fmm, &moved, &q, &none);
    assert!((e - energy).abs() < 1e-7 * energy.abs() && difference(&o, &out) < 1e-7, "{e} {energy}");
}

#[test]
fn force_is_minus_the_gradient_of_the_energy_while_boxes_are_frozen() {
    let (mut x, q) = cloud(40, EDGES, 0.7, 9);
    let exclusions = Exclusions::from_pairs(40, [[0, 1]]).unwrap();
    x[1] = [0, 1, 2].map(|a| x[0][a] + 0.05);
    for (root, depth) in [([3; 3], 0), ([1; 3], 2)] {
        // Low order: the derivative must be that of the truncated expansions.
        let mut fmm = periodic(5, root, depth);
        let (_, out) = run(&mut fmm, &x, &q, &exclusions);
        let mut scratch = Potentials::default();
        for i in [0, 7, 21] {
            for a in 0..3 {
                let h = 1e-5;
                let mut energy = |d: f64| {
                    let mut y = x.clone();
                    y[i][a] += d;
                    fmm.evaluate(&y, &q, &mut scratch).unwrap()
                };
                let slope = (energy(h) - energy(-h)) / (2.0 * h);
                let force = q[i] * out.field[i][a];
                // Central difference: h² E''' and rounding 1e-15 E / h.
                assert!((slope + force).abs() < 1e-7 * force.abs().max(1.0), "{i} {a}: {slope} {force}");
            }
        }
    }
}

#[test]
fn charged_cell_energy_does_not_depend_on_the_tree() {
    let (x, q) = cloud(50, [1.7; 3], 4.0, 31);
    let boundary = Boundary::rectangular([1.7; 3]);
    let energies: Vec<f64> =
        [([1; 3], 0), ([2; 3], 0), ([3; 3], 0), ([5; 3], 0), ([1; 3], 1), ([1; 3], 2), ([3; 3], 1)]
            .iter()
            .map(|(root, depth)| run(&mut solver(boundary, 24, *root, *depth), &x, &q, &Exclusions::none(x.len())).0)
            .collect();
    assert!(energies.iter().all(|e| (e / energies[0] - 1.0).abs() < 1e-9), "{energies:?}");
}

#[test]
fn scaling_the_cell_scales_the_energy() {
    let (x, q) = cloud(50, EDGES, 1.0, 12);
    let none = Exclusions::none(x.len());
    let mut fmm = periodic(8, [3; 3], 0);
    let (energy, _) = run(&mut fmm, &x, &q, &none);
    let scale = 1.013;
    let scaled: Vec<[f64; 3]> = x.iter().map(|r| r.map(|c| c * scale)).collect();
    fmm.set_boundary(Boundary::rectangular(EDGES.map(|e| e * scale))).unwrap();
    let mut out = Potentials::default();
    let e = fmm.evaluate(&scaled, &q, &mut out).unwrap();
    // The virial of Coulomb's law: E ∝ 1/L, also of the truncated expansions.
    assert!((e * scale / energy - 1.0).abs() < 1e-13);
    // A change of shape: as a new solver.
    let edges = [2.1, 2.0, 2.0];
    fmm.set_boundary(Boundary::rectangular(edges)).unwrap();
    let (e, _) = run(&mut fmm, &x, &q, &none);
    let (fresh, _) = run(&mut solver(Boundary::rectangular(edges), 8, [3; 3], 0), &x, &q, &none);
    assert!((e / fresh - 1.0).abs() < 1e-14);
}
