//! Madelung constants: three crystals, scaled and turned, on root grids and trees of leaf size L/2 … L/16.

use crate::common::lattices::{NO_ROTATION, Rotation, Structure, crystal, rotation};
use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape};
use kernels::Real;

/// Lattice constant 0.564 nm of rock salt; and something else.
const SCALES: [f64; 2] = [0.564, 3.1];

fn rotations() -> [Rotation; 3] {
    [NO_ROTATION, rotation([0.9, -0.3, 0.5, 0.2]), rotation([0.2, 0.7, 0.1, -0.6])]
}

/// Relative errors of energy and potentials, and the largest field in units of potential / lattice constant: it should be 0.
fn errors<T: Real>(
    structure: Structure,
    (constant, turned): (f64, &Rotation),
    order: usize,
    (root, depth): ([usize; 3], usize),
    separation: f64,
) -> [f64; 3] {
    // No ion on a face of a box.
    let c = crystal(structure, 2, constant, [0.13, 0.21, 0.08], turned);
    let settings = Settings { order, tree: TreeShape { root, depth }, separation };
    let mut fmm = Fmm::<T>::new(Boundary::Periodic { cell: c.cell }, settings).unwrap();
    fmm.assign(&c.positions, &Exclusions::none(c.charges.len())).unwrap();
    let mut out = Potentials::default();
    let energy = fmm.evaluate(&c.positions, &c.charges, &mut out).unwrap();
    let potentials = out.potential.iter().zip(&c.charges).map(|(phi, q)| (-phi * q / c.potential - 1.0).abs());
    let fields = out.field.iter().flatten().map(|e| e.abs() * constant / c.potential);
    [(energy / c.energy - 1.0).abs(), potentials.fold(0.0, f64::max), fields.fold(0.0, f64::max)]
}

#[test]
fn order_40_reaches_1e_13() {
    for (structure, turned) in Structure::ALL.iter().zip(&rotations()) {
        for (root, scale) in [([2; 3], 0.564), ([4; 3], 3.1)] {
            let e = errors::<f64>(*structure, (scale, turned), 40, (root, 0), Settings::TOUCHING);
            eprintln!("{structure:?} {root:?}: {e:?}");
            // Truncation is gone: rounding of some 10³ terms.
            assert!(e.iter().all(|e| *e < 1e-13), "{structure:?} {root:?}: {e:?}");
        }
    }
}

#[test]
fn every_depth_scale_and_rotation() {
    // Boxes 1.7 diameters apart: (1/1.7)^order at worst, 0.3^order where ions are.
    let trees = [([1; 3], 1, 23), ([1; 3], 2, 22), ([4; 3], 1, 18), ([8; 3], 0, 15), ([4; 3], 2, 17)];
    for ((root, depth, order), turned) in trees.into_iter().zip(rotations().iter().cycle()) {
        for (structure, scale) in Structure::ALL.into_iter().zip(SCALES.into_iter().cycle()) {
            let e = errors::<f64>(structure, (scale, turned), order, (root, depth), Settings::TWO_APART);
            eprintln!("{structure:?} {root:?} {depth} {order}: {e:?}");
            assert!(e[0] < 1e-13 && e[1] < 1e-12 && e[2] < 1e-11, "{structure:?} {root:?} {depth}: {e:?}");
        }
    }
}

#[test]
fn scale_and_rotation_do_not_matter() {
    for structure in Structure::ALL {
        for scale in SCALES {
            for turned in &rotations() {
                let e = errors::<f64>(structure, (scale, turned), 18, ([4; 3], 0), Settings::TWO_APART);
                assert!(e[0] < 1e-13 && e[1] < 1e-13 && e[2] < 2e-12, "{structure:?} {scale} {turned:?}: {e:?}");
            }
        }
    }
}

#[test]
fn error_falls_geometrically_with_the_order() {
    let turned = &rotations()[1];
    for structure in Structure::ALL {
        for (root, depth) in [([3; 3], 0), ([1; 3], 1), ([2; 3], 1)] {
            let at = |order| errors::<f64>(structure, (1.0, turned), order, (root, depth), Settings::TOUCHING);
            let e = [9, 14, 19].map(at);
            eprintln!("{structure:?} {root:?} {depth}: {e:?}");
            // Potentials and fields fall by 2 for each order, a factor 32; energies may cross zero on the way.
            for w in e.windows(2) {
                assert!(w[1][1] < w[0][1] / 8.0 && w[1][2] < w[0][2] / 8.0, "{structure:?} {root:?} {depth}: {e:?}");
            }
            assert!(e[2][0] < 1e-8, "{structure:?} {root:?} {depth}: {e:?}");
        }
    }
}

#[test]
fn single_precision_saturates_below_1e_6() {
    for structure in Structure::ALL {
        for (root, depth) in [([3; 3], 0), ([4; 3], 0), ([2; 3], 1)] {
            for order in [17, 20] {
                let at = (0.564, &rotations()[2]);
                let e = errors::<f32>(structure, at, order, (root, depth), Settings::TOUCHING);
                eprintln!("{structure:?} {root:?} {depth} {order}: {e:?}");
                // Expansions moved between levels round once more.
                let highest = if depth == 0 { [1e-6, 1.5e-6] } else { [2e-6; 2] };
                assert!(e[0] < highest[0] && e[1] < highest[1], "{structure:?} {root:?} {depth} {order}: {e:?}");
            }
        }
    }
}
