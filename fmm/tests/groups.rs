//! Sparse groups against a whole evaluation in which only the group's charges are not zero.

mod common;

use common::{cloud, solver};
use fmm::{Boundary, Exclusions, GroupPotentials, Potentials};

const EDGES: [f64; 3] = [2.0, 2.0, 2.1];

#[test]
fn a_group_feels_exactly_its_own_part_of_the_whole() {
    let (mut x, _) = cloud(120, EDGES, 0.0, 77);
    // A molecule across the corner of the cell, and a group in distant pieces.
    for r in &mut x[..12] {
        *r = r.map(|c| c * 0.2 - 0.2);
    }
    let groups = vec![(0..12).rev().collect::<Vec<u32>>(), vec![40, 3, 77, 60, 110, 9], vec![], vec![50]];
    let exclusions = Exclusions::from_pairs(120, [[0, 1], [1, 2], [0, 2], [5, 9], [3, 9]]).unwrap();
    let periodic = Boundary::rectangular(EDGES);
    let trees = [
        (periodic, [1; 3], 0),
        (periodic, [4; 3], 0),
        (periodic, [5; 3], 0),
        (periodic, [1; 3], 2),
        (periodic, [3; 3], 1),
        (Boundary::Open, [4; 3], 0),
        (Boundary::Open, [1; 3], 2),
    ];
    for (boundary, root, depth) in trees {
        let mut fmm = solver(boundary, 6, root, depth);
        fmm.assign(&x, &exclusions, &groups).unwrap();
        for (g, members) in groups.iter().enumerate() {
            let vectors: Vec<Vec<f64>> = (0..3)
                .map(|v| (0..members.len()).map(|k| ((v * 5 + k * 3 + 1) % 7) as f64 / 3.0 - 0.8).collect())
                .collect();
            let mut part = GroupPotentials::default();
            fmm.evaluate_group(&x, g, &vectors, &mut part).unwrap();
            for (v, charges) in vectors.iter().enumerate() {
                let mut q = vec![0.0; x.len()];
                members.iter().zip(charges).for_each(|(i, c)| q[*i as usize] = *c);
                let mut whole = Potentials::default();
                fmm.evaluate(&x, &q, &mut whole).unwrap();
                let phi: Vec<f64> = members.iter().map(|i| whole.potential[*i as usize]).collect();
                let field: Vec<[f64; 3]> = members.iter().map(|i| whole.field[*i as usize]).collect();
                // Potentials are of order one; in an open system a lone particle has none, to rounding.
                let scale = phi.iter().fold(1e-3f64, |m, p| m.max(p.abs()));
                for (a, b) in part.potential[v].iter().zip(&phi) {
                    assert!((a - b).abs() < 1e-12 * scale, "{boundary:?} {root:?} {depth} group {g}: {a} {b}");
                }
                for (a, b) in part.field[v].iter().flatten().zip(field.iter().flatten()) {
                    assert!((a - b).abs() < 1e-12 * scale.max(b.abs()), "{root:?} {depth} group {g}: {a} {b}");
                }
            }
        }
    }
}
