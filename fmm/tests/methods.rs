//! The methods behind one interface: the same answers, the same errors; the fast direct sum in both precisions.

use crate::common::{cloud, difference};
use fmm::{
    Boundary, Coulomb, Direct, Exclusions, Fmm, FmmError, Potentials, Settings, TreeShape, Treecode, TreecodeSettings,
    direct,
};
use kernels::Real;

fn methods<T: Real>(order: usize) -> Vec<Box<dyn Coulomb>> {
    let tree = TreeShape { root: [1; 3], depth: 2 };
    vec![
        Box::new(Direct::<T>::new(Boundary::Open).unwrap()),
        Box::new(Treecode::<T>::new(Boundary::Open, TreecodeSettings::new(order, tree)).unwrap()),
        Box::new(Fmm::<T>::new(Boundary::Open, Settings::new(order, tree)).unwrap()),
    ]
}

fn run(method: &mut dyn Coulomb, x: &[[f64; 3]], q: &[f64], exclusions: &Exclusions) -> (f64, Potentials) {
    let mut out = Potentials::default();
    method.assign(x, exclusions).unwrap();
    let energy = method.evaluate(x, q, &mut out).unwrap();
    (energy, out)
}

#[test]
fn all_agree_with_the_sum_in_double_precision() {
    let (x, q) = cloud(2500, [1.0; 3], 3.0, 7);
    let pairs = (0..2499u32).filter(|i| (0..3).all(|a| (x[*i as usize][a] - x[*i as usize + 1][a]).abs() < 0.2));
    let exclusions = Exclusions::from_pairs(2500, pairs.map(|i| [i, i + 1])).unwrap();
    assert!(exclusions.n_pairs() > 50);
    let (energy, exact) = direct::evaluate(&x, &q, &exclusions).unwrap();
    // Expansions of order 16: better than 1e-6; f32: its rounding, in sums of 2500 terms.
    for (precision, all) in [("f64", methods::<f64>(16)), ("f32", methods::<f32>(16))] {
        for mut method in all {
            let (e, out) = run(&mut *method, &x, &q, &exclusions);
            let (d, most) = (difference(&out, &exact), if precision == "f64" { 1e-6 } else { 3e-6 });
            assert!(d < most, "{} {precision}: {d:e}", method.name());
            assert!((e - energy).abs() < most * energy.abs(), "{} {precision}: {e} {energy}", method.name());
            assert!(method.timings().total() > 0.0 && method.timings().p2p > 0.0);
        }
    }
}

/// Numbers of particles around the blocks of 128 targets and 2048 sources.
#[test]
fn direct_sum_of_any_number_of_particles_with_any_exclusions() {
    for n in [1, 2, 127, 128, 129, 2047, 2048, 2049, 4300] {
        let (x, q) = cloud(n, [3.0, 1.0, 0.2], 1.0, 3);
        // Partners anywhere: far ones are no difficulty here.
        let pairs = (0..n as u32).flat_map(|i| [[i, (i * 7 + 1) % n as u32], [i, (i * i) % n as u32]]);
        let exclusions = Exclusions::from_pairs(n, pairs.filter(|[i, j]| i != j)).unwrap();
        let (energy, exact) = direct::evaluate(&x, &q, &exclusions).unwrap();
        let (e, out) = run(&mut Direct::<f64>::new(Boundary::Open).unwrap(), &x, &q, &exclusions);
        if n > 2 {
            // Rounding of sums of up to 2048 terms of both signs.
            assert!(difference(&out, &exact) < 3e-14, "{n}: {:e}", difference(&out, &exact));
            assert!((e - energy).abs() < 1e-12 * energy.abs());
        } else {
            assert_eq!((e, out), (energy, exact));
        }
    }
}

#[test]
fn single_precision_does_not_suffer_from_distance() {
    // Two dense clusters, 1e6 times their size apart: coordinates from one origin would leave no digits in f32.
    let (mut x, q) = cloud(1000, [1e-3; 3], 5.0, 3);
    x[400..].iter_mut().for_each(|r| r[1] += 1e3);
    let exclusions = Exclusions::none(1000);
    let (_, exact) = direct::evaluate(&x, &q, &exclusions).unwrap();
    let out = run(&mut Direct::<f32>::new(Boundary::Open).unwrap(), &x, &q, &exclusions).1;
    let d = difference(&out, &exact);
    // Rounding of coordinates in units of a cluster.
    assert!(d < 3e-6, "{d:e}");
}

#[test]
fn direct_sum_does_not_depend_on_the_number_of_threads() {
    let (x, q) = cloud(3000, [2.0; 3], 0.0, 2);
    let result = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&mut Direct::<f32>::new(Boundary::Open).unwrap(), &x, &q, &Exclusions::none(3000)))
    };
    assert_eq!(result(1), result(2));
    assert_eq!(result(1), result(8));
}

#[test]
fn all_refuse_the_same() {
    let (mut x, mut q) = cloud(300, [1.0; 3], 0.0, 2);
    let mut out = Potentials::default();
    for mut method in methods::<f64>(4) {
        assert_eq!(method.evaluate(&x, &q, &mut out), Err(FmmError::NotAssigned));
        let wrong = FmmError::Length { what: "exclusions", expected: 300, found: 299 };
        let none = Exclusions::none(300);
        method.assign(&x, &none).unwrap();
        // What follows a failed assignment is not computed with the one before it.
        assert_eq!(method.assign(&x, &Exclusions::none(299)), Err(wrong));
        assert_eq!(method.evaluate(&x, &q, &mut out), Err(FmmError::NotAssigned), "{}", method.name());
        method.assign(&x, &none).unwrap();
        let wrong = FmmError::Length { what: "positions", expected: 300, found: 299 };
        assert_eq!(method.evaluate(&x[1..], &q, &mut out), Err(wrong));
        let keep = std::mem::replace(&mut q[3], f64::INFINITY);
        assert_eq!(method.evaluate(&x, &q, &mut out), Err(FmmError::NotFinite { particle: 3, what: "charge" }));
        q[3] = keep;
        let (keep, other) = (x[11], x[290]);
        x[11] = other;
        method.assign(&x, &none).unwrap();
        assert_eq!(
            method.evaluate(&x, &q, &mut out),
            Err(FmmError::Coincident { particle: 11, other: Some(290) }),
            "{}",
            method.name()
        );
        x[11] = [f64::NAN; 3];
        assert_eq!(method.assign(&x, &none), Err(FmmError::NotFinite { particle: 11, what: "position" }));
        x[11] = keep;
    }
    let cell = Boundary::rectangular([1.0; 3]);
    assert!(matches!(Direct::<f32>::new(cell).err(), Some(FmmError::OpenOnly { method: "direct sum", periods: 3 })));
}
