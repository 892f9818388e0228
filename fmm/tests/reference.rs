//! Periodic cells against plain Ewald sums kept as files (energy, potentials, forces), at several root grids and depths.

use std::path::Path;

use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape};

#[derive(serde::Deserialize)]
struct Reference {
    cell: [[f64; 3]; 3],
    periodic: String,
    positions: Vec<[f64; 3]>,
    charges: Vec<f64>,
    energy: f64,
    potentials: Vec<f64>,
    forces: Vec<[f64; 3]>,
}

fn read(name: &str) -> Reference {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(name);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn relative_l2(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
    let (mut difference, mut norm) = (0.0, 0.0);
    for (a, b) in a.zip(b) {
        difference += (a - b) * (a - b);
        norm += b * b;
    }
    (difference / norm).sqrt()
}

/// What surrounds the charges of a file: the axes that repeat, in their order.
fn boundary(r: &Reference) -> Boundary {
    let [a, b, c] = r.cell;
    match r.periodic.as_str() {
        "xyz" => Boundary::Periodic { cell: r.cell },
        "xy" => Boundary::Slab { periods: [a, b] },
        "x" => Boundary::Wire { period: a },
        other => panic!("{other} {c:?}"),
    }
}

/// Relative errors of energy, potentials, forces.
fn errors(name: &str, order: usize, root: [usize; 3], depth: usize) -> [f64; 3] {
    separated_errors(name, order, (root, depth), Settings::TOUCHING)
}

fn separated_errors(name: &str, order: usize, (root, depth): ([usize; 3], usize), separation: f64) -> [f64; 3] {
    let r = read(name);
    let settings = Settings { order, tree: TreeShape { root, depth }, separation };
    let mut fmm = Fmm::<f64>::new(boundary(&r), settings).unwrap();
    fmm.assign(&r.positions, &Exclusions::none(r.positions.len())).unwrap();
    let mut out = Potentials::default();
    let energy = fmm.evaluate(&r.positions, &r.charges, &mut out).unwrap();
    let forces = out.field.iter().zip(&r.charges).flat_map(|(e, q)| e.map(|e| q * e));
    // The potential of a wire has no natural zero: a constant that neutral charges do not feel is left out.
    let mean = |phi: &[f64]| phi.iter().sum::<f64>() / phi.len() as f64;
    let shift = if r.periodic.len() == 3 { 0.0 } else { mean(&r.potentials) - mean(&out.potential) };
    [
        ((energy - r.energy) / r.energy).abs(),
        relative_l2(out.potential.iter().map(|phi| phi + shift), r.potentials.iter().copied()),
        relative_l2(forces, r.forces.iter().flatten().copied()),
    ]
}

#[test]
fn order_30_reaches_1e_9_on_every_cell() {
    let cube: &[([usize; 3], usize)] = &[([1; 3], 0), ([3; 3], 0)];
    let brick: &[([usize; 3], usize)] = &[([2, 3, 2], 0)];
    let wide: &[([usize; 3], usize)] = &[([2; 3], 0)];
    let files = [
        ("dev_cubic_3d.json", cube),
        ("dev_cubic_3d_charged.json", cube),
        ("dev_rectangular_3d.json", brick),
        ("dev_triclinic_3d.json", wide),
        ("dev_slab_2d.json", wide),
        ("dev_wire_1d.json", wide),
    ];
    for (name, trees) in files {
        for &(root, depth) in trees {
            let e = errors(name, 30, root, depth);
            eprintln!("{name} {root:?} {depth}: {e:?}");
            // Boxes two apart lose a factor √3/2 per order at worst, about 2 where particles really are: 2^-30 = 1e-9.
            assert!(e.iter().all(|e| *e < 1e-9), "{name}, root grid {root:?}, depth {depth}: {e:?}");
        }
    }
}

#[test]
fn order_40_reaches_1e_11_on_every_cell() {
    for (name, root) in [
        ("dev_cubic_3d.json", [2; 3]),
        ("dev_cubic_3d_charged.json", [2; 3]),
        ("dev_rectangular_3d.json", [1, 2, 2]),
        ("dev_triclinic_3d.json", [1, 2, 1]),
        ("dev_slab_2d.json", [2, 1, 1]),
        ("dev_wire_1d.json", [2, 1, 1]),
    ] {
        let e = errors(name, 40, root, 0);
        eprintln!("{name} {root:?}: {e:?}");
        assert!(e.iter().all(|e| *e < 1e-11), "{name}, root grid {root:?}: {e:?}");
    }
}

#[test]
fn refined_trees_reach_1e_8_with_two_boxes_between() {
    for name in ["dev_rectangular_3d.json", "dev_triclinic_3d.json", "dev_slab_2d.json", "dev_wire_1d.json"] {
        for (root, depth) in [([2; 3], 1), ([1; 3], 2)] {
            let e = separated_errors(name, 16, (root, depth), Settings::TWO_APART);
            eprintln!("{name} {root:?} {depth}: {e:?}");
            // 3.5^-16 = 2e-9 where particles are.
            assert!(e.iter().all(|e| *e < 1e-8), "{name}, root grid {root:?}, depth {depth}: {e:?}");
        }
    }
}
