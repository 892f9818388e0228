//! Slab and wire: any orientation, the limit of three-dimensional cells, explicit images. Sums at a few particles.

use nalgebra::{Rotation3, Vector3};

use super::mean::ein;
use super::tests::{NAMES, Reference, chain, errors, reference, relative_l2};
use super::*;

#[test]
fn orientation_choice_of_periods_and_of_images_change_nothing() {
    let rotation = Rotation3::from_euler_angles(0.4, -1.1, 2.3);
    let turn = |x: [f64; 3]| <[f64; 3]>::from(rotation * Vector3::from(x));
    for name in ["dev_slab_2d", "dev_wire_1d"] {
        let r = reference(name);
        let some = chain(r.charges.len());
        let (energy, p) = evaluate(&r.boundary, &r.positions, &r.charges, &some, 1e-16).unwrap();
        let expected = (energy, Potentials { field: p.field.iter().map(|&e| turn(e)).collect(), ..p });
        let (boundary, period) = match r.boundary {
            Boundary::Slab { periods: [a, b] } => {
                let sheared = [0, 1, 2].map(|i| b[i] - 2.0 * a[i]);
                (Boundary::Slab { periods: [turn(sheared), turn(a)] }, turn(a))
            }
            Boundary::Wire { period } => (Boundary::Wire { period: turn(period).map(|x| -x) }, turn(period)),
            _ => unreachable!(),
        };
        let image = |(i, x): (usize, &[f64; 3])| {
            let x = turn(*x);
            [0, 1, 2].map(|a| x[a] + period[a] * (i as f64 % 5.0 - 2.0) + 7.0)
        };
        let positions: Vec<_> = r.positions.iter().enumerate().map(image).collect();
        let errors = errors(&evaluate(&boundary, &positions, &r.charges, &some, 1e-16).unwrap(), &expected);
        // Coordinates up to 10 round to 1e-15.
        assert!(errors.iter().all(|&e| e < 2e-13), "{name}: {errors:?}");
    }
}

/// A stack of slabs far apart, less what their dipoles D do to each other: φ_i + (4π/V) z_i D − (2π/V) Σ q z². What remains falls
/// off as e^{−2πh/L}. I.-C. Yeh, M. L. Berkowitz, J. Chem. Phys. 111 (1999) 3155, doi 10.1063/1.479595.
#[test]
fn slab_is_a_cell_with_much_vacuum_and_the_dipole_correction() {
    let pi = std::f64::consts::PI;
    // The thick one reaches beyond the first images of the trapezoidal rule, 2 · 37/2π = 12 apart, if they were not moved out.
    for stretch in [1.0, 12.0] {
        let mut r = reference("dev_slab_2d");
        let Boundary::Slab { periods: [a, b] } = r.boundary else { unreachable!() };
        r.positions.iter_mut().for_each(|x| x[2] *= stretch);
        // Edge 2, thickness 2 · stretch, vacuum 14: e^{−14π} = 1e-19.
        let height = 2.0 * stretch + 14.0;
        let volume = 4.0 * height;
        let cell = Boundary::Periodic { cell: [a, b, [0.0, 0.0, height]] };
        let some = chain(r.charges.len());
        let (_, mut p) = evaluate(&cell, &r.positions, &r.charges, &some, 1e-16).unwrap();
        let moment = |m: i32| r.positions.iter().zip(&r.charges).map(|(x, q)| q * x[2].powi(m)).sum::<f64>();
        for (i, x) in r.positions.iter().enumerate() {
            p.potential[i] += 4.0 * pi / volume * x[2] * moment(1) - 2.0 * pi / volume * moment(2);
            p.field[i][2] -= 4.0 * pi / volume * moment(1);
        }
        let slab = evaluate(&r.boundary, &r.positions, &r.charges, &some, 1e-16).unwrap();
        let errors = errors(&(p.energy(&r.charges), p), &slab);
        assert!(errors.iter().all(|&e| e < 2e-13), "{stretch}: {errors:?}");
    }
}

/// Images −M … M of a neutral wire: the rest is a series in (M + ½)⁻², extrapolated to 0.
fn extrapolated_images(r: &Reference, period: [f64; 3], counts: [i32; 6], i: usize) -> [f64; 4] {
    let partial = |images: i32| {
        let mut sum = [0.0; 4];
        for (j, (y, q)) in r.positions.iter().zip(&r.charges).enumerate() {
            for n in (-images..=images).filter(|n| i != j || *n != 0) {
                let d = [0, 1, 2].map(|a| r.positions[i][a] - y[a] + period[a] * f64::from(n));
                let distance = d.iter().map(|d| d * d).sum::<f64>().sqrt();
                sum[0] += q / distance;
                (0..3).for_each(|a| sum[a + 1] += q * d[a] / distance.powi(3));
            }
        }
        sum
    };
    let x = counts.map(|m| (f64::from(m) + 0.5).powi(-2));
    let mut values = counts.map(partial);
    // Neville's scheme.
    for order in 1..counts.len() {
        for at in 0..counts.len() - order {
            let [low, high] = [x[at], x[at + order]];
            values[at] = [0, 1, 2, 3].map(|c| (low * values[at + 1][c] - high * values[at][c]) / (low - high));
        }
    }
    values[0]
}

#[test]
fn wire_is_the_limit_of_its_images() {
    // The thick one as in the slab.
    for (stretch, counts) in [(1.0, [8, 16, 32, 64, 128, 256]), (12.0, [64, 96, 144, 216, 324, 486])] {
        let mut r = reference("dev_wire_1d");
        let Boundary::Wire { period } = r.boundary else { unreachable!() };
        r.positions.iter_mut().for_each(|x| (1..3).for_each(|a| x[a] *= stretch));
        let none = Exclusions::none(r.charges.len());
        let (_, p) = evaluate(&r.boundary, &r.positions, &r.charges, &none, 1e-16).unwrap();
        for (i, (phi, e)) in p.potential.iter().zip(&p.field).enumerate() {
            let exact = extrapolated_images(&r, period, counts, i);
            // Sums of 6000 terms up to 20, the differences of extrapolation: some 1e-13.
            for (value, exact) in [phi].into_iter().chain(e).zip(exact) {
                let error = (value - exact).abs() / exact.abs().max(1.0);
                assert!(error < 1e-12, "{stretch}, particle {i}: {value} for {exact}, {error:e}");
            }
        }
    }
}

/// Distances along open axes are never wrapped.
#[test]
fn an_excluded_pair_far_apart_across_the_wire() {
    let wire = Boundary::Wire { period: [2.0, 0.0, 0.0] };
    let positions = [[0.0; 3], [0.0, 100.0, 0.0]];
    let phi =
        |exclusions: &Exclusions| evaluate(&wire, &positions, &[1.0, -1.0], exclusions, 1e-16).unwrap().1.potential;
    let [all, none] = [Exclusions::none(2), Exclusions::from_pairs(2, [[0, 1]]).unwrap()].map(|e| phi(&e));
    // −1/100 less: rounding of the potential ln(100).
    assert!((all[0] - none[0] + 0.01).abs() < 1e-13, "{all:?} {none:?}");
}

#[test]
fn at_some_particles_as_at_all() {
    for name in NAMES.into_iter().chain(["open"]) {
        let mut r = reference(if name == "open" { "dev_wire_1d" } else { name });
        if name == "open" {
            r.boundary = Boundary::Open;
        }
        let some = chain(r.charges.len());
        let targets = [5, 0, 7, 11, 7];
        let (_, all) = evaluate(&r.boundary, &r.positions, &r.charges, &some, 1e-15).unwrap();
        let p = at(&r.boundary, &r.positions, &r.charges, &some, &targets, 1e-15).unwrap();
        let chosen = targets.map(|t| t as usize);
        // Another α: the two agree to the tolerance and rounding.
        let error = relative_l2(p.potential, chosen.map(|t| all.potential[t]));
        let field_error = relative_l2(p.field.concat(), chosen.map(|t| all.field[t]).concat());
        assert!(error < 1e-13 && field_error < 1e-13, "{name}: {error:e} {field_error:e}");
    }
}

/// Abramowitz and Stegun, table 5.1, with later digits; and both branches where they meet.
#[test]
fn exponential_integral() {
    let gamma = 0.577_215_664_901_532_9;
    let tabulated = [(0.5, 0.559_773_594_776_160_8), (1.0, 0.219_383_934_395_520_27), (2.0, 0.048_900_510_708_061_12)];
    let larger = [(3.0, 0.013_048_381_094_197_037), (10.0, 4.156_968_929_685_324e-6)];
    for (x, e1) in tabulated.into_iter().chain(larger) {
        let exact = gamma + f64::ln(x) + e1;
        assert!((ein(x) - exact).abs() < 1e-15 * exact, "{x}: {} for {exact}", ein(x));
    }
    let (below, above) = (ein(2.0), ein(2.0_f64.next_up()));
    assert!((above - below).abs() < 1e-15, "{below} {above}");
    assert_eq!(ein(0.0), 0.0);
}
