//! The list and its kernels against the double loop over all pairs, and their invariances.

use super::*;
use crate::bonded::finite_difference::check_forces_and_virial;
use crate::topology::{Atom, AtomType, LennardJonesTable};

const MODIFIERS: [Modifier; 3] = [Modifier::None, Modifier::PotentialShift, Modifier::ForceSwitch { r_switch: 0.6 }];

/// Numbers in [0, 1) from a fixed sequence (SplitMix64).
pub(crate) fn uniform(mut seed: u64) -> impl FnMut() -> f64 {
    move || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (seed ^ (seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// `n` atoms of 4 types on a jittered lattice of `spacing`: type 1 equals type 0, type 3 is inert, the pair 0–2 breaks
/// every combination rule. Every third atom excludes the two that follow.
pub(crate) fn system(n_side: [usize; 3], spacing: f64) -> (Topology, Vec<Vector3<f64>>, Vector3<f64>) {
    let mut random = uniform(7);
    let mut x = Vec::new();
    for i in 0..n_side[0] * n_side[1] * n_side[2] {
        let site = [i / (n_side[1] * n_side[2]), i / n_side[2] % n_side[1], i % n_side[2]];
        // Some molecules lie outside the box.
        let outside = if i % 7 == 0 { (n_side[0] as f64) * spacing } else { 0.0 };
        x.push(
            Vector3::from_fn(|d, _| (site[d] as f64 + 0.4 * random()) * spacing)
                - Vector3::new(outside, 0.0, 2.0 * outside / n_side[0] as f64 * n_side[2] as f64),
        );
    }
    let n = x.len();
    let atoms = (0..n)
        .map(|i| Atom {
            name: "X".into(),
            type_index: [0, 1, 2, 3, 2][i % 5],
            residue: 0,
            molecule: 0,
            charge: 0.0,
            mass: 1.0,
        })
        .collect();
    let c6 = [[2e-3, 1e-3, 0.0], [1e-3, 4e-3, 0.0], [0.0; 3]];
    let c12 = [[2e-6, 3e-6, 0.0], [3e-6, 5e-6, 0.0], [0.0; 3]];
    let class = [0, 0, 1, 2];
    let table = |c: [[f64; 3]; 3]| (0..16).map(|k| c[class[k / 4]][class[k % 4]]).collect();
    let excluded = (0..n as u32 - 2).step_by(3).flat_map(|i| [[i, i + 1], [i, i + 2]]);
    let top = Topology {
        atoms,
        atom_types: vec![AtomType { name: "X".into(), atomic_number: None }; 4],
        lj: LennardJonesTable { n_types: 4, c6: table(c6), c12: table(c12) },
        exclusions: ExcludedPairs::from_pairs(n, excluded),
        ..Default::default()
    };
    (top, x, Vector3::from(n_side.map(|n| n as f64 * spacing)))
}

/// A rectangular box with these edges.
pub(crate) fn boxed(edges: Vector3<f64>) -> Cell {
    Cell::rectangular(edges).unwrap()
}

/// Systems of 0.28 nm between atoms in boxes without right angles: a skewed one, and one like a dodecahedron, whose faces are nearer than its images.
pub(crate) fn triclinic() -> [(Topology, Vec<Vector3<f64>>, Cell); 2] {
    let skewed = ([7, 8, 9], [[7, 0, 0], [3, 8, 0], [-2, 4, 9]]);
    let flat = ([8, 8, 6], [[8, 0, 0], [0, 8, 0], [4, 4, 6]]);
    [skewed, flat].map(|(sides, rows)| {
        let (top, x, _) = system(sides, 0.28);
        let rows = rows.map(|row: [i32; 3]| row.map(|n| 0.28 * f64::from(n)));
        (top, x, Cell::Periodic(PeriodicBox::triclinic(rows).unwrap()))
    })
}

/// The definition: all pairs, nearest image, no list.
fn double_loop(top: &Topology, m: &Modified, x: &[Vector3<f64>], cell: Cell, f: &mut [Vector3<f64>]) -> TermEnergy {
    let mut sum = TermEnergy::default();
    for i in 0..x.len() {
        for j in 0..i {
            let d = cell.minimum_image(x[i] - x[j]);
            if d.norm() < m.cutoff && !top.exclusions.contains(i as u32, j as u32) {
                let (c6, c12) = top.lj.get(top.atoms[i].type_index, top.atoms[j].type_index);
                let pair = modifier::pair(m, c6, c12, d.norm());
                let force = d * (pair.virial / d.norm_squared());
                f[i] += force;
                f[j] -= force;
                sum += pair;
            }
        }
    }
    sum
}

fn assert_same(a: (TermEnergy, &[Vector3<f64>]), b: (TermEnergy, &[Vector3<f64>]), what: &str) {
    // Rounding of sums over ~100 partners whose terms are up to the largest force.
    let tolerance = 1e-12;
    let scale = b.0.virial.abs().max(1.0);
    assert!((a.0.energy - b.0.energy).abs() < tolerance * scale, "{what}: {} {}", a.0.energy, b.0.energy);
    assert!((a.0.virial - b.0.virial).abs() < tolerance * scale, "{what}: {} {}", a.0.virial, b.0.virial);
    let largest = b.1.iter().map(Vector3::norm).fold(0.0, f64::max);
    let worst = a.1.iter().zip(b.1).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(worst < tolerance * largest, "{what}: forces differ by {worst} of {largest}");
}

#[test]
fn every_kernel_equals_the_double_loop() {
    let (top, x, edges) = system([7, 8, 9], 0.28);
    let right = [boxed(edges), Cell::Open].map(|cell| (top.clone(), x.clone(), cell));
    for (top, x, cell) in right.into_iter().chain(triclinic()) {
        for modifier in MODIFIERS {
            let mut expected = vec![Vector3::zeros(); x.len()];
            let mut lj = LennardJones::new(&top, 0.85, modifier, 0.1).unwrap();
            let v = double_loop(&top, &lj.modified, &x, cell, &mut expected);
            assert!(v.energy.abs() > 100.0);
            for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
                lj.isa = isa;
                lj.rebuild(&x, cell).unwrap();
                let mut f = vec![Vector3::zeros(); x.len()];
                let got = lj.evaluate(&x, cell, &mut f);
                assert_same((got, &f), (v, &expected), &format!("{isa:?} {modifier:?} {cell:?}"));
            }
        }
    }
}

/// One lattice in three boxes: a cube, its reduced and its unreduced triclinic supercells of the same volume.
#[test]
fn the_box_of_a_lattice_does_not_matter() {
    let (top, x, edges) = system([7, 8, 9], 0.28);
    let cube = boxed(edges);
    let [a, b, c] = cube.periodic().unwrap().rows().map(Vector3::from);
    let run = |cell: Cell| {
        let mut lj = LennardJones::new(&top, 0.85, Modifier::PotentialShift, 0.1).unwrap();
        lj.rebuild(&x, cell).unwrap();
        let mut f = vec![Vector3::zeros(); x.len()];
        (lj.evaluate(&x, cell, &mut f), f)
    };
    let expected = run(cube);
    for rows in [[a, b + a, c - b], [a, b - 2.0 * a, c + 3.0 * b + a]] {
        let cell = Cell::Periodic(PeriodicBox::triclinic(rows.map(<[f64; 3]>::from)).unwrap());
        let found = run(cell);
        assert_same((found.0, &found.1), (expected.0, &expected.1), &format!("{cell:?}"));
    }
}

#[test]
fn a_list_serves_until_it_is_stale() {
    let (top, x, edges) = system([7, 8, 9], 0.28);
    let mut lj = LennardJones::new(&top, 0.75, Modifier::PotentialShift, 0.2).unwrap();
    assert!(lj.is_stale(&x, boxed(edges)));
    lj.rebuild(&x, boxed(edges)).unwrap();
    // Every active atom moves by just less than half the buffer, and the box shrinks by what that leaves.
    let mut random = uniform(3);
    let moved: Vec<_> = x.iter().map(|r| r + 0.0999 * Vector3::from_fn(|_, _| random() - 0.5).normalize()).collect();
    assert!(!lj.is_stale(&moved, boxed(edges)));
    let mut f = vec![Vector3::zeros(); x.len()];
    let mut expected = f.clone();
    let got = lj.evaluate(&moved, boxed(edges), &mut f);
    let v = double_loop(&top, &lj.modified, &moved, boxed(edges), &mut expected);
    assert_same((got, &f), (v, &expected), "moved");
    let mut one = x.clone();
    one[10].x += 0.1001;
    assert!(lj.is_stale(&one, boxed(edges)));
    assert!(lj.is_stale(&x, Cell::Open));
    one[10].x = f64::NAN;
    assert!(lj.is_stale(&one, boxed(edges)));
}

#[test]
fn scaling_of_the_box_is_not_movement_but_uses_up_the_buffer() {
    let (top, x, edges) = system([7, 8, 9], 0.28);
    for (top, x, cell) in triclinic().into_iter().chain([(top, x, boxed(edges))]) {
        let mut lj = LennardJones::new(&top, 0.8, Modifier::PotentialShift, 0.1).unwrap();
        lj.rebuild(&x, cell).unwrap();
        let scaled = |s: f64| (x.iter().map(|r| r * s).collect::<Vec<_>>(), cell.scaled(s).unwrap());
        let (y, box_) = scaled(0.9);
        assert!(!lj.is_stale(&y, box_));
        let (mut f, mut expected) = (vec![Vector3::zeros(); x.len()], vec![Vector3::zeros(); x.len()]);
        let got = lj.evaluate(&y, box_, &mut f);
        let v = double_loop(&top, &lj.modified, &y, box_, &mut expected);
        assert_same((got, &f), (v, &expected), "scaled");
        let (y, box_) = scaled(0.88);
        assert!(lj.is_stale(&y, box_));
    }
    // Another shape is no scaling.
    let [(top, x, skewed), (.., flat)] = triclinic();
    let mut lj = LennardJones::new(&top, 0.8, Modifier::PotentialShift, 0.1).unwrap();
    lj.rebuild(&x, skewed).unwrap();
    assert!(!lj.is_stale(&x, skewed) && lj.is_stale(&x, flat));
}

#[test]
fn forces_and_virial_are_derivatives() {
    let (top, x, _) = system([3, 3, 4], 0.33);
    // A plain cut-off is not continuous: no pair may cross it, so it lies beyond all of them.
    for (modifier, cutoff) in [(MODIFIERS[0], 9.0), (MODIFIERS[1], 0.9), (MODIFIERS[2], 0.9)] {
        check_forces_and_virial(&x, |x, f| {
            let mut lj = LennardJones::new(&top, cutoff, modifier, 0.1).unwrap();
            lj.rebuild(x, Cell::Open).unwrap();
            lj.evaluate(x, Cell::Open, f)
        });
    }
}

#[test]
fn periodic_virial_is_the_derivative_by_the_box() {
    let (top, x, edges) = system([7, 8, 9], 0.28);
    for (top, x, cell) in triclinic().into_iter().chain([(top, x, boxed(edges))]) {
        let modifier = Modifier::ForceSwitch { r_switch: 0.6 };
        let mut lj = LennardJones::new(&top, 0.85, modifier, 0.1).unwrap();
        lj.rebuild(&x, cell).unwrap();
        let mut at = |s: f64| {
            let y: Vec<_> = x.iter().map(|r| r * s).collect();
            lj.evaluate(&y, cell.scaled(s).unwrap(), &mut vec![Vector3::zeros(); y.len()])
        };
        let h = 1e-5;
        let slope = (8.0 * (at(1.0 + h).energy - at(1.0 - h).energy)
            - (at(1.0 + 2.0 * h).energy - at(1.0 - 2.0 * h).energy))
            / (12.0 * h);
        let virial = at(1.0).virial;
        assert!((virial + slope).abs() < 1e-8 * virial.abs(), "{virial} {slope}");
    }
}

/// Of atoms in whatever image, in boxes with and without right angles.
#[test]
fn the_virial_along_an_axis_is_the_derivative_by_its_length() {
    let (top, x, edges) = system([7, 8, 9], 0.28);
    for (top, mut x, cell) in triclinic().into_iter().chain([(top, x, boxed(edges))]) {
        let vector = |turns| cell.periodic().unwrap().vector(turns);
        x.iter_mut().enumerate().for_each(|(i, r)| *r += vector([(i % 3) as f64, -1.0, (i % 2) as f64]));
        let modifier = Modifier::ForceSwitch { r_switch: 0.6 };
        let mut lj = LennardJones::new(&top, 0.85, modifier, 0.1).unwrap();
        lj.rebuild(&x, cell).unwrap();
        let mut f = vec![Vector3::zeros(); x.len()];
        let trace = lj.evaluate(&x, cell, &mut f).virial;
        let of_atoms: Vector3<f64> = x.iter().zip(&f).map(|(x, f)| x.component_mul(f)).sum();
        let virial = of_atoms + lj.virial_of_images(&x, cell);
        assert!((virial.sum() / trace - 1.0).abs() < 1e-10, "{virial} {trace}");
        for axis in 0..3 {
            let slope = crate::bonded::finite_difference::five_point(1e-5, |h| {
                let mut factors = Vector3::repeat(1.0);
                factors[axis] += h;
                let y: Vec<_> = x.iter().map(|r| r.component_mul(&factors)).collect();
                let cell = cell.stretched(factors).unwrap();
                lj.clone().evaluate(&y, cell, &mut vec![Vector3::zeros(); y.len()]).energy
            });
            assert!((virial[axis] + slope).abs() < 1e-8 * trace.abs(), "axis {axis}: {} {slope}", virial[axis]);
        }
    }
}

#[test]
fn threads_and_images_change_nothing() {
    let (top, x, edges) = system([7, 8, 9], 0.28);
    let run = |threads: usize, x: &[Vector3<f64>]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut lj = LennardJones::new(&top, 0.85, Modifier::PotentialShift, 0.1).unwrap();
            lj.rebuild(x, boxed(edges)).unwrap();
            let mut f = vec![Vector3::zeros(); x.len()];
            (lj.evaluate(x, boxed(edges), &mut f), f)
        })
    };
    let one = run(1, &x);
    assert_eq!(one, run(2, &x));
    assert_eq!(one, run(5, &x));
    let elsewhere: Vec<_> =
        x.iter().enumerate().map(|(i, r)| r + edges.component_mul(&Vector3::new((i % 3) as f64, -2.0, 0.0))).collect();
    let two = run(2, &elsewhere);
    assert_same((one.0, &one.1), (two.0, &two.1), "images");
}

#[test]
fn few_atoms_flat_systems_and_empty_ones() {
    let (mut top, x, _) = system([1, 5, 1], 0.35);
    let mut lj = LennardJones::new(&top, 0.9, Modifier::None, 0.0).unwrap();
    lj.rebuild(&x, Cell::Open).unwrap();
    let (mut f, mut expected) = (vec![Vector3::zeros(); 5], vec![Vector3::zeros(); 5]);
    let got = lj.evaluate(&x, Cell::Open, &mut f);
    let v = double_loop(&top, &lj.modified, &x, Cell::Open, &mut expected);
    assert_same((got, &f), (v, &expected), "few");
    assert_eq!(lj.n_active(), 4);
    for atom in &mut top.atoms {
        atom.type_index = 3;
    }
    let mut lj = LennardJones::new(&top, 0.9, Modifier::None, 0.1).unwrap();
    for cell in [Cell::Open, boxed(Vector3::repeat(2.0))] {
        lj.rebuild(&x, cell).unwrap();
        assert_eq!(lj.evaluate(&x, cell, &mut f), TermEnergy::default());
        assert!(!lj.is_stale(&x, cell));
    }
}

#[test]
fn bad_input_is_named() {
    let (top, mut x, edges) = system([7, 8, 9], 0.28);
    let new = |cutoff, modifier, buffer| LennardJones::new(&top, cutoff, modifier, buffer).map(|_| ()).unwrap_err();
    assert_eq!(new(-1.0, Modifier::None, 0.1), LennardJonesError::Cutoff(-1.0));
    assert!(matches!(new(f64::NAN, Modifier::None, 0.1), LennardJonesError::Cutoff(_)));
    assert_eq!(new(1.0, Modifier::None, -0.1), LennardJonesError::Buffer(-0.1));
    assert_eq!(
        new(1.0, Modifier::ForceSwitch { r_switch: 1.0 }, 0.1),
        LennardJonesError::Switch { r_switch: 1.0, cutoff: 1.0 }
    );
    let mut lj = LennardJones::new(&top, 0.9, Modifier::None, 0.1).unwrap();
    let error = lj.rebuild(&x, boxed(edges)).unwrap_err();
    assert_eq!(error, LennardJonesError::BoxTooSmall { axis: 0, edge: edges.x, needed: 2.0 });
    assert!(error.to_string().contains("along x"));
    let [_, (_, _, flat)] = triclinic();
    let error = lj.rebuild(&x, flat.scaled(0.89).unwrap()).unwrap_err();
    assert!(matches!(error, LennardJonesError::ImagesTooNear { needed: 2.0, .. }), "{error}");
    x[3].y = f64::INFINITY;
    // Atom 3 is inert: only atoms with Lennard-Jones are looked at.
    assert!(lj.rebuild(&x, Cell::Open).is_ok());
    x[2].y = f64::INFINITY;
    assert_eq!(lj.rebuild(&x, Cell::Open), Err(LennardJonesError::NotFinite { atom: 2 }));
}

/// Without a list there would be no pair, and an energy of zero.
#[test]
#[should_panic(expected = "the list is to be rebuilt before")]
fn a_list_is_needed() {
    let (top, x, _) = system([7, 8, 9], 0.28);
    let mut lj = LennardJones::new(&top, 0.9, Modifier::None, 0.1).unwrap();
    lj.evaluate(&x, Cell::Open, &mut vec![Vector3::zeros(); x.len()]);
}
