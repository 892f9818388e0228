//! Sparse groups against a whole evaluation in which only the group's charges are not zero.

use crate::common::systems::{DODECAHEDRON, PERIODIC, SLAB, WIRE, filled, separated};
use crate::common::{cloud, solver};
use fmm::{Boundary, Exclusions, Fmm, GroupPotentials, Potentials};

const EDGES: [f64; 3] = [2.0, 2.0, 2.1];
const N: usize = 120;

/// Groups: a molecule, a group in distant pieces, an empty one, a single particle, the molecule with others.
fn groups() -> Vec<Vec<u32>> {
    let both = (0..5).chain([44, 101, 73]).collect();
    vec![(0..12).rev().collect(), vec![40, 3, 77, 60, 110, 9], vec![], vec![50], both]
}

fn exclusions() -> Exclusions {
    Exclusions::from_pairs(N, [[0, 1], [1, 2], [0, 2], [5, 9], [3, 9]]).unwrap()
}

/// Charge vectors; neutral in slabs and wires, which have no energy else.
fn vectors(members: usize, neutral: bool) -> Vec<Vec<f64>> {
    let vector = |v: usize| {
        let mut q: Vec<f64> = (0..members).map(|k| ((v * 5 + k * 3 + 1) % 7) as f64 / 3.0 - 0.8).collect();
        let mean = q.iter().sum::<f64>() / members.max(1) as f64;
        q.iter_mut().for_each(|q| *q -= if neutral { mean } else { 0.0 });
        q
    };
    (0..3).map(vector).collect()
}

/// Every group of the assignment of `fmm` feels its own part of the whole, one at a time and all at once.
fn check(fmm: &mut Fmm<f64>, x: &[[f64; 3]], groups: &[Vec<u32>], what: &str) {
    let neutral = matches!(fmm.boundary().periods().len(), 1 | 2);
    let charges: Vec<Vec<Vec<f64>>> = groups.iter().map(|g| vectors(g.len(), neutral)).collect();
    let mut all = Vec::new();
    fmm.evaluate_groups(x, &charges, &mut all).unwrap();
    assert_eq!(all.len(), groups.len());
    for (g, members) in groups.iter().enumerate() {
        let mut part = GroupPotentials::default();
        fmm.evaluate_group(x, g, &charges[g], &mut part).unwrap();
        assert_eq!(part, all[g], "{what} group {g}");
        assert_eq!((part.potential.len(), part.field.len()), (3, 3));
        for (v, charges) in charges[g].iter().enumerate() {
            let mut q = vec![0.0; x.len()];
            members.iter().zip(charges).for_each(|(i, c)| q[*i as usize] = *c);
            let mut whole = Potentials::default();
            let energy = fmm.evaluate(x, &q, &mut whole).unwrap();
            let phi: Vec<f64> = members.iter().map(|i| whole.potential[*i as usize]).collect();
            let field: Vec<[f64; 3]> = members.iter().map(|i| whole.field[*i as usize]).collect();
            assert_eq!(part.potential[v].len(), phi.len());
            // Potentials are of order one; in an open system a lone particle has none, to rounding.
            let scale = phi.iter().fold(1e-3f64, |m, p| m.max(p.abs()));
            for (a, b) in part.potential[v].iter().zip(&phi) {
                assert!((a - b).abs() < 1e-12 * scale, "{what} group {g}: {a} {b}");
            }
            for (a, b) in part.field[v].iter().flatten().zip(field.iter().flatten()) {
                assert!((a - b).abs() < 1e-12 * scale.max(b.abs()), "{what} group {g}: {a} {b}");
            }
            let own: f64 = part.potential[v].iter().zip(charges).map(|(phi, q)| 0.5 * phi * q).sum();
            assert!(
                (own - energy).abs() < 1e-12 * scale * members.len().max(1) as f64,
                "{what} group {g}: {own} {energy}"
            );
        }
    }
}

#[test]
fn a_group_feels_exactly_its_own_part_of_the_whole() {
    let (mut x, _) = cloud(N, EDGES, 0.0, 77);
    // A molecule across the corner of the cell.
    for r in &mut x[..12] {
        *r = r.map(|c| c * 0.2 - 0.2);
    }
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
        fmm.assign(&x, &exclusions(), &groups()).unwrap();
        check(&mut fmm, &x, &groups(), &format!("{boundary:?} {root:?} {depth}"));
    }
}

#[test]
fn every_boundary_and_separation() {
    let dodecahedron = Boundary::Periodic { cell: DODECAHEDRON };
    let trees = [
        (PERIODIC, ([3, 4, 3], 0)),
        (PERIODIC, ([1; 3], 2)),
        (PERIODIC, ([1, 2, 1], 1)),
        (dodecahedron, ([5, 5, 6], 0)),
        (dodecahedron, ([3; 3], 1)),
        (SLAB, ([4, 4, 3], 0)),
        (SLAB, ([1; 3], 2)),
        (SLAB, ([2, 1, 3], 1)),
        (WIRE, ([5, 2, 3], 0)),
        (WIRE, ([1; 3], 2)),
        (WIRE, ([3, 1, 2], 1)),
        (Boundary::Open, ([3, 2, 3], 1)),
    ];
    for (boundary, tree) in trees {
        let (mut x, _) = filled(&boundary, N, 0.0, 78);
        let corner = x[0];
        for r in &mut x[..12] {
            *r = [0, 1, 2].map(|a| corner[a] + 0.2 * (r[a] - corner[a]));
        }
        for separation in [1.12, 1.7] {
            let mut fmm = separated(boundary, 5, tree, separation);
            fmm.assign(&x, &exclusions(), &groups()).unwrap();
            check(&mut fmm, &x, &groups(), &format!("{boundary:?} {tree:?} {separation}"));
        }
    }
}

#[test]
fn refined_trees_with_empty_boxes() {
    // Four small clusters in a cell of which they leave most boxes empty: 1 of 64 root boxes and fewer below.
    for boundary in [Boundary::Open, PERIODIC, SLAB, WIRE] {
        let (inner, _) = cloud(N, [0.15; 3], 0.0, 5);
        let (centres, _) = filled(&boundary, 4, 0.0, 6);
        let x: Vec<[f64; 3]> =
            inner.iter().enumerate().map(|(i, r)| [0, 1, 2].map(|a| centres[i % 4][a] + r[a])).collect();
        // Within a cluster, over all four, one particle of each of two.
        let groups = vec![(0..10).map(|k| 4 * k).collect(), (0..16).collect(), vec![17, 18]];
        let exclusions = Exclusions::from_pairs(N, [[0, 4], [17, 21]]).unwrap();
        for (tree, separation) in [(([4; 3], 1), 1.12), (([2; 3], 3), 1.12), (([1; 3], 4), 1.3), (([3; 3], 2), 1.7)] {
            let mut fmm = separated(boundary, 4, tree, separation);
            fmm.assign(&x, &exclusions, &groups).unwrap();
            check(&mut fmm, &x, &groups, &format!("{boundary:?} {tree:?} {separation}"));
        }
    }
}
