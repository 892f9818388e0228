//! Settings found for a tolerance keep it, over the whole range of double precision.

use crate::common::{Random, cloud};
use fmm::accuracy::{MEASURED_FRACTION, Tolerance, TuneError, Tuned, tolerances, tune};
use fmm::{Boundary, Coulomb, Exclusions, Fmm, Potentials, direct, ewald};

pub fn water(molecules_per_axis: usize) -> (Vec<[f64; 3]>, Vec<f64>, Exclusions) {
    water_of(molecules_per_axis, 99)
}

/// Molecules of three charges on a jittered lattice in a unit cube.
fn water_of(molecules_per_axis: usize, seed: u64) -> (Vec<[f64; 3]>, Vec<f64>, Exclusions) {
    let mut r = Random(seed);
    let spacing = 1.0 / molecules_per_axis as f64;
    let (mut x, mut q, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..molecules_per_axis.pow(3) {
        let cell = [i / molecules_per_axis.pow(2), i / molecules_per_axis % molecules_per_axis, i % molecules_per_axis];
        let oxygen = cell.map(|c| (c as f64 + 0.3 * r.uniform()) * spacing);
        let first = x.len() as u32;
        x.push(oxygen);
        for _ in 0..2 {
            let (z, phi) = (2.0 * r.uniform() - 1.0, std::f64::consts::TAU * r.uniform());
            let (s, bond) = ((1.0 - z * z).sqrt(), 0.32 * spacing);
            x.push([oxygen[0] + bond * s * phi.cos(), oxygen[1] + bond * s * phi.sin(), oxygen[2] + bond * z]);
        }
        q.extend([-0.834, 0.417, 0.417]);
        pairs.extend([[first, first + 1], [first, first + 2], [first + 1, first + 2]]);
    }
    let exclusions = Exclusions::from_pairs(x.len(), pairs).unwrap();
    (x, q, exclusions)
}

/// Relative error of all forces, and of the energy.
fn errors(
    tuned: &Tuned,
    boundary: Boundary,
    x: &[[f64; 3]],
    q: &[f64],
    none: &Exclusions,
    exact: &(f64, Potentials),
) -> [f64; 2] {
    errors_of(&mut Fmm::<f64>::new(boundary, tuned.settings).unwrap(), x, q, none, exact)
}

pub fn errors_of(
    fmm: &mut dyn Coulomb,
    x: &[[f64; 3]],
    q: &[f64],
    none: &Exclusions,
    exact: &(f64, Potentials),
) -> [f64; 2] {
    fmm.assign(x, none).unwrap();
    let mut out = Potentials::default();
    let energy = fmm.evaluate(x, q, &mut out).unwrap();
    let (mut difference, mut size) = (0.0, 0.0);
    for (q, (a, b)) in q.iter().zip(out.field.iter().zip(&exact.1.field)) {
        for (a, b) in a.iter().zip(b) {
            difference += (q * (a - b)).powi(2);
            size += (q * b).powi(2);
        }
    }
    [(difference / size).sqrt(), ((energy - exact.0) / exact.0).abs()]
}

#[test]
fn observed_force_errors_stay_below_the_requested_ones() {
    let (x, q, exclusions) = water(8);
    let boundary = Boundary::rectangular([1.0; 3]);
    let exact = ewald::evaluate(&boundary, &x, &q, &exclusions, 1e-16).unwrap();
    for exponent in (2..=12).step_by(2) {
        let wanted = 10f64.powi(-exponent);
        let tuned = tune::<f64>(&boundary, &x, &q, &exclusions, 0.05, Tolerance::Force(wanted)).unwrap();
        let [found, _] = errors(&tuned, boundary, &x, &q, &exclusions, &exact);
        eprintln!("{wanted:.0e}: {found:.1e} with {:?}, {} trials", tuned.settings, tuned.trials.len());
        assert!(found < wanted, "{wanted:e}: {found:e} {tuned:?}");
        // Not more accurate than it costs: two orders of magnitude are some four orders of expansion.
        assert!(found > 1e-3 * wanted || exponent == 12, "{wanted:e}: {found:e} {tuned:?}");
    }
}

/// By an estimate alone, without a look at the particles but for their number: the table of the README.
#[test]
fn the_builder_keeps_its_tolerances_in_water() {
    let boundary = Boundary::rectangular([1.0; 3]);
    for (size, seed) in [(6, 1), (6, 2), (8, 1), (8, 99)] {
        let (x, q, exclusions) = water_of(size, seed);
        let exact = ewald::evaluate(&boundary, &x, &q, &exclusions, 1e-16).unwrap();
        for wanted in [3e-2, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12] {
            let builder = Fmm::builder().boundary(boundary).tolerance(wanted).exclusions(exclusions.clone());
            let mut fmm = builder.build_for(&x).unwrap();
            let [found, _] = errors_of(&mut fmm, &x, &q, &exclusions, &exact);
            eprintln!("{size}³, seed {seed}, {wanted:.0e}: {found:.1e} with {:?}", fmm.settings());
            assert!(found < wanted, "{size}, seed {seed}, {wanted:e}: {found:e}");
        }
    }
}

/// The least tolerance of single precision leaves room for its rounding.
#[test]
fn the_builder_keeps_its_tolerances_in_single_precision() {
    let boundary = Boundary::rectangular([1.0; 3]);
    for (size, seed) in [(6, 1), (8, 99)] {
        let (x, q, exclusions) = water_of(size, seed);
        let exact = ewald::evaluate(&boundary, &x, &q, &exclusions, 1e-12).unwrap();
        for wanted in [1e-2, 1e-4, *tolerances::<f32>().start()] {
            let builder = Fmm::builder().boundary(boundary).tolerance(wanted).exclusions(exclusions.clone());
            let mut fmm = builder.single_precision().build_for(&x).unwrap();
            let [found, _] = errors_of(&mut fmm, &x, &q, &exclusions, &exact);
            eprintln!("{size}³, seed {seed}, {wanted:.0e}: {found:.1e} with {:?}", fmm.settings());
            assert!(found < wanted, "{size}, seed {seed}, {wanted:e}: {found:e}");
        }
    }
}

#[test]
fn observed_energy_errors_stay_below_the_requested_ones() {
    let (x, q) = cloud(1500, [1.0; 3], 0.0, 3);
    let none = Exclusions::none(x.len());
    let exact = direct::evaluate(&x, &q, &none).unwrap();
    for wanted in [1e-2, 1e-5, 1e-8, 1e-11] {
        let tuned = tune::<f64>(&Boundary::Open, &x, &q, &none, 0.0, Tolerance::Energy(wanted)).unwrap();
        let [_, found] = errors(&tuned, Boundary::Open, &x, &q, &none, &exact);
        eprintln!("{wanted:.0e}: {found:.1e} with {:?}", tuned.settings);
        assert!(found < wanted, "{wanted:e}: {found:e} {tuned:?}");
        let absolute = Tolerance::AbsoluteEnergy(wanted * exact.0.abs());
        let tuned = tune::<f64>(&Boundary::Open, &x, &q, &none, 0.0, absolute).unwrap();
        assert!(errors(&tuned, Boundary::Open, &x, &q, &none, &exact)[1] < wanted);
    }
}

/// Where pairs need a box as large as the cell, and where there is nothing to be accurate about.
#[test]
fn settings_are_found_where_there_is_no_choice() {
    let (x, q) = cloud(60, [1.0; 3], 0.0, 3);
    let (cube, none) = (Boundary::rectangular([1.0; 3]), Exclusions::none(x.len()));
    for tolerance in [Tolerance::Force(1e-4), Tolerance::Energy(1e-4)] {
        let tuned = tune::<f64>(&cube, &x, &q, &none, 5.0, tolerance).unwrap();
        assert!(tuned.settings.tree.leaves() == [1; 3] && tuned.error <= 1e-4, "{tuned:?}");
        let mut good = tuned.trials.iter().filter(|trial| trial.found <= MEASURED_FRACTION * 1e-4);
        assert!(good.all(|trial| trial.settings.order >= tuned.settings.order), "{tuned:?}");
        // A smallest leaf that is no number asks for none.
        let [nan, zero] = [f64::NAN, 0.0].map(|least| tune::<f64>(&cube, &x, &q, &none, least, tolerance).unwrap());
        assert_eq!(nan, zero);
        for (x, q) in [(&x[..], vec![0.0; 60]), (&[], Vec::new())] {
            let tuned = tune::<f64>(&cube, x, &q, &Exclusions::none(x.len()), 0.0, tolerance).unwrap();
            assert_eq!(tuned.error, 0.0);
        }
    }
}

#[test]
fn what_cannot_be_reached_is_said() {
    let (x, q) = cloud(300, [1.0; 3], 0.0, 3);
    let none = Exclusions::none(x.len());
    let refused = |tolerance| tune::<f32>(&Boundary::Open, &x, &q, &none, 0.0, tolerance).unwrap_err();
    assert!(matches!(refused(Tolerance::Force(1e-9)), TuneError::OutOfReach { single: true, .. }));
    assert!(matches!(refused(Tolerance::Force(0.0)), TuneError::Tolerance { .. }));
    assert!(matches!(refused(Tolerance::Energy(f64::NAN)), TuneError::Tolerance { .. }));
}
