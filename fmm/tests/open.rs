//! Open boundary against the direct sum: convergence with the order, shapes of the tree, exclusions, single precision.

use crate::common::{cloud, difference, run, solver};
use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape, direct};

#[test]
fn error_falls_geometrically_with_the_order() {
    let (x, q) = cloud(400, [1.0, 1.0, 1.0], 0.3, 7);
    let none = Exclusions::none(x.len());
    let (_, exact) = direct::evaluate(&x, &q, &none).unwrap();
    for (root, depth) in [([4; 3], 0), ([1; 3], 2), ([3; 3], 1)] {
        let errors: Vec<f64> = [4, 8, 12, 16, 20]
            .iter()
            .map(|p| difference(&run(&mut solver(Boundary::Open, *p, root, depth), &x, &q, &none).1, &exact))
            .collect();
        // Worst ratio of boxes two apart √3/2 per order, typically about 1/2: each four orders gain at least a factor 4.
        assert!(errors.windows(2).all(|w| w[1] < w[0] / 4.0), "{root:?} {depth}: {errors:?}");
        assert!(errors[4] < 2e-8, "{root:?} {depth}: {errors:?}");
    }
}

#[test]
fn flat_and_long_systems_and_exclusions() {
    let (x, q) = cloud(150, [4.0, 1.0, 0.3], -2.0, 11);
    let root = [4, 1, 1];
    let close = |i: usize, j: usize| (0..3).map(|a| (x[i][a] - x[j][a]).powi(2)).sum::<f64>() < 0.04;
    let pairs =
        (0..x.len() as u32).flat_map(|i| (0..i).map(move |j| [i, j])).filter(|p| close(p[0] as usize, p[1] as usize));
    let exclusions = Exclusions::from_pairs(x.len(), pairs).unwrap();
    assert!(exclusions.n_pairs() > 20);
    let (energy, exact) = direct::evaluate(&x, &q, &exclusions).unwrap();
    for depth in 0..=2 {
        let (e, out) = run(&mut solver(Boundary::Open, 24, root, depth), &x, &q, &exclusions);
        assert!(difference(&out, &exact) < 1e-8, "depth {depth}: {:.1e}", difference(&out, &exact));
        assert!((e - energy).abs() < 1e-8 * energy.abs());
    }
}

#[test]
fn single_precision_saturates_at_its_rounding() {
    let (x, q) = cloud(600, [1.0; 3], 0.0, 5);
    let none = Exclusions::none(x.len());
    let (_, exact) = direct::evaluate(&x, &q, &none).unwrap();
    let mut fmm = Fmm::<f32>::new(Boundary::Open, Settings::new(16, TreeShape { root: [4; 3], depth: 0 })).unwrap();
    let shifted: Vec<[f64; 3]> = x.iter().map(|r| r.map(|c| c + 1e4)).collect();
    let mut out = Potentials::default();
    fmm.assign(&shifted, &none).unwrap();
    fmm.evaluate(&shifted, &q, &mut out).unwrap();
    // Far from the origin too: coordinates are relative to the boxes.
    assert!(difference(&out, &exact) < 3e-6, "{:.1e}", difference(&out, &exact));
}
