//! The solver on a device (emulated) against the one on the CPU and against exact sums, in cells of every shape.

use std::path::Path;

use crate::accuracy::{errors_of, water};
use crate::common::systems::{DODECAHEDRON, PERIODIC, TRICLINIC, exact, filled, force_error};
use crate::common::{difference, relative_l2};
use crate::members::{Molecules, N, evaluated, of_members, only_members_feel};
use fmm::accuracy::{Tolerance, TuneError};
use fmm::device::{DeviceCoulomb, DeviceFmm, tune_on};
use fmm::{Boundary, Coulomb, Exclusions, Fmm, FmmError, Members, Potentials, Settings, TreeShape, ewald};
use kernels::device::Device;

fn settings(order: usize, root: [usize; 3], separation: f64) -> Settings {
    Settings { order, tree: TreeShape { root, depth: 0 }, separation }
}

fn run(method: &mut dyn Coulomb, x: &[[f64; 3]], q: &[f64], exclusions: &Exclusions) -> (f64, Potentials) {
    let mut out = Potentials::default();
    method.assign(x, exclusions).unwrap();
    let energy = method.evaluate(x, q, &mut out).unwrap();
    (energy, out)
}

/// Every third particle and the two after it exclude each other, if they lie close enough for any tree here.
fn exclusions(boundary: &Boundary, x: &[[f64; 3]]) -> Exclusions {
    let close = |p: &[u32; 2]| crate::common::systems::distance(boundary, x[p[0] as usize], x[p[1] as usize]) < 0.4;
    let pairs = (0..x.len() as u32 - 2).step_by(3).flat_map(|i| [[i, i + 1], [i, i + 2], [i + 1, i + 2]]);
    Exclusions::from_pairs(x.len(), pairs.filter(close)).unwrap()
}

#[test]
fn device_and_cpu_agree_to_rounding() {
    let device = Device::emulator().unwrap();
    let cases = [
        (Boundary::rectangular([2.0; 3]), [4; 3], 1.2, 0.0, 6),
        (Boundary::rectangular([2.0, 3.0, 1.5]), [3, 5, 2], 1.12, 4.0, 5),
        (Boundary::Periodic { cell: TRICLINIC }, [3, 3, 4], 1.2, -2.0, 5),
        (Boundary::Periodic { cell: DODECAHEDRON }, [4, 4, 5], 1.12, 0.0, 6),
        (Boundary::Open, [3; 3], 1.2, 3.0, 7),
    ];
    for (number, (boundary, root, separation, charge, order)) in cases.into_iter().enumerate() {
        let (mut x, q) = filled(&boundary, 400, charge, 5 + number as u64);
        for i in (0..398).step_by(3) {
            (0..3).for_each(|a| (x[i + 1][a], x[i + 2][a]) = (x[i][a] + 0.05, x[i][a] - 0.03 * a as f64 - 0.02));
        }
        let exclusions = exclusions(&boundary, &x);
        assert!(exclusions.n_pairs() > 380);
        let settings = settings(order, root, separation);
        let (energy, cpu) = run(&mut Fmm::<f64>::new(boundary, settings).unwrap(), &x, &q, &exclusions);
        let (e, out) = run(&mut DeviceCoulomb::<f64>::new(&device, boundary, settings).unwrap(), &x, &q, &exclusions);
        let d = difference(&out, &cpu);
        eprintln!("{number}: {d:e}, energy {:e}", e / energy - 1.0);
        // The same operations in another order; excluded pairs, a hundred times larger, are added and subtracted again.
        assert!(d < 1e-11 && (e - energy).abs() < 1e-11 * energy.abs().max(1.0), "case {number}: {d:e} {e} {energy}");
        if number % 4 > 0 {
            continue;
        }
        let (e, out) = run(&mut DeviceCoulomb::<f32>::new(&device, boundary, settings).unwrap(), &x, &q, &exclusions);
        let d = difference(&out, &cpu);
        eprintln!("{number}: {d:e}, energy {:e}", e / energy - 1.0);
        // Rounding of coordinates, 6e-8 of a box; excluded pairs at a tenth of it leave 6e-8 of 1/r², a hundred times the rest.
        assert!(
            d < 3e-5 && (e - energy).abs() < 1e-5 * energy.abs().max(1.0),
            "case {number} in f32: {d:e} {e} {energy}"
        );
    }
}

#[test]
fn errors_against_exact_sums_are_those_of_the_cpu() {
    let device = Device::emulator().unwrap();
    for (boundary, root) in [(Boundary::Periodic { cell: TRICLINIC }, [3, 3, 3]), (Boundary::Open, [4; 3])] {
        let (x, q) = filled(&boundary, 400, 1.0, 9);
        let none = Exclusions::none(400);
        let (_, truth) = exact(&boundary, &x, &q, &none);
        let settings = settings(12, root, 1.2);
        let (_, out) = run(&mut DeviceCoulomb::<f64>::new(&device, boundary, settings).unwrap(), &x, &q, &none);
        let (_, cpu) = run(&mut Fmm::<f64>::new(boundary, settings).unwrap(), &x, &q, &none);
        let [device, cpu] = [&out, &cpu].map(|p| force_error(&q, p, &truth));
        assert!((device / cpu - 1.0).abs() < 1e-3 && device < 1e-5, "{device:e} {cpu:e}");
    }
}

#[derive(serde::Deserialize)]
struct Reference {
    cell: [[f64; 3]; 3],
    positions: Vec<[f64; 3]>,
    charges: Vec<f64>,
    energy: f64,
    potentials: Vec<f64>,
    forces: Vec<[f64; 3]>,
}

#[test]
fn reference_cells_are_met() {
    let device = Device::emulator().unwrap();
    let files = [
        ("dev_cubic_3d.json", [3; 3]),
        ("dev_cubic_3d_charged.json", [3; 3]),
        ("dev_rectangular_3d.json", [2, 3, 2]),
        ("dev_triclinic_3d.json", [2; 3]),
    ];
    for (name, root) in files {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference").join(name);
        let r: Reference = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let boundary = Boundary::Periodic { cell: r.cell };
        let none = Exclusions::none(r.positions.len());
        let mut method = DeviceCoulomb::<f64>::new(&device, boundary, settings(12, root, 1.7)).unwrap();
        let (energy, out) = run(&mut method, &r.positions, &r.charges, &none);
        let forces: Vec<f64> = out.field.iter().zip(&r.charges).flat_map(|(e, q)| e.map(|e| q * e)).collect();
        let errors = [
            ((energy - r.energy) / r.energy).abs(),
            relative_l2(&out.potential, &r.potentials),
            relative_l2(&forces, r.forces.as_flattened()),
        ];
        // Boxes three apart gain a factor of 3.5 with each order where particles are: 3.5^-12 = 3e-7.
        assert!(errors.iter().all(|e| *e < 1e-6), "{name}: {errors:?}");
    }
}

#[test]
fn errors_are_those_of_the_other_methods() {
    let device = Device::emulator().unwrap();
    let boundary = Boundary::rectangular([2.0; 3]);
    let mut method = DeviceCoulomb::<f32>::new(&device, boundary, settings(4, [4; 3], 1.12)).unwrap();
    let (mut x, mut q) = filled(&boundary, 300, 0.0, 2);
    let mut out = Potentials::default();
    assert_eq!(method.evaluate(&x, &q, &mut out), Err(FmmError::NotAssigned));
    let wrong = FmmError::Length { what: "exclusions", expected: 300, found: 299 };
    let none = Exclusions::none(300);
    method.assign(&x, &none).unwrap();
    assert_eq!(method.assign(&x, &Exclusions::none(299)), Err(wrong));
    assert_eq!(method.evaluate(&x, &q, &mut out), Err(FmmError::NotAssigned));
    method.assign(&x, &none).unwrap();
    let wrong = FmmError::Length { what: "charges", expected: 300, found: 299 };
    assert_eq!(method.evaluate(&x, &q[1..], &mut out), Err(wrong));
    let keep = std::mem::replace(&mut q[3], f64::INFINITY);
    assert_eq!(method.evaluate(&x, &q, &mut out), Err(FmmError::NotFinite { particle: 3, what: "charge" }));
    q[3] = keep;
    let (keep, other) = (x[11], x[290]);
    x[11] = other;
    method.assign(&x, &none).unwrap();
    assert_eq!(method.evaluate(&x, &q, &mut out), Err(FmmError::Coincident { particle: 11, other: Some(290) }));
    x[11] = [f64::NAN; 3];
    assert_eq!(method.assign(&x, &none), Err(FmmError::NotFinite { particle: 11, what: "position" }));
    x[11] = keep;
    method.assign(&x, &none).unwrap();
    method.evaluate(&x, &q, &mut out).unwrap();
    let open = settings(4, [4; 3], 0.5);
    assert!(matches!(DeviceCoulomb::<f32>::new(&device, boundary, open).err(), Some(FmmError::Separation { .. })));
}

/// When the cell shrinks and the particles with it, the solver gives what a new one gives.
#[test]
fn barostats_scale_the_cell() {
    let device = Device::emulator().unwrap();
    let cell = |s: f64| Boundary::Periodic { cell: TRICLINIC.map(|v| v.map(|x| s * x)) };
    let (mut x, q) = filled(&cell(1.0), 300, 0.0, 4);
    let none = Exclusions::none(300);
    let mut method = DeviceCoulomb::<f64>::new(&device, cell(1.0), settings(6, [3; 3], 1.12)).unwrap();
    let (energy, first) = run(&mut method, &x, &q, &none);
    x.as_flattened_mut().iter_mut().for_each(|x| *x *= 0.8);
    method.set_boundary(cell(0.8)).unwrap();
    let mut out = Potentials::default();
    let e = method.evaluate(&x, &q, &mut out).unwrap();
    out.potential.iter_mut().for_each(|phi| *phi *= 0.8);
    out.field.as_flattened_mut().iter_mut().for_each(|e| *e *= 0.64);
    assert!((0.8 * e / energy - 1.0).abs() < 1e-12 && difference(&out, &first) < 1e-12);
}

/// Cells so large or so small that no f32 holds their volume or their moments, with a net charge and a dipole.
#[test]
fn errors_do_not_depend_on_the_unit_of_length() {
    let device = Device::of_tests().unwrap();
    let (at_one, q) = filled(&PERIODIC, 200, 3.0, 4);
    let none = Exclusions::none(200);
    for (root, depth) in [([3, 3, 4], 0), ([2; 3], 1)] {
        let settings = Settings { tree: TreeShape { root, depth }, ..settings(5, root, 1.2) };
        let error = |unit: f64| {
            let boundary = Boundary::Periodic { cell: TRICLINIC.map(|v| v.map(|x| unit * x)) };
            let x: Vec<_> = at_one.iter().map(|r| r.map(|x| unit * x)).collect();
            let (energy, cpu) = run(&mut Fmm::<f64>::new(boundary, settings).unwrap(), &x, &q, &none);
            let mut method = DeviceCoulomb::<f32>::new(&device, boundary, settings).unwrap();
            let (e, out) = run(&mut method, &x, &q, &none);
            difference(&out, &cpu).max((e / energy - 1.0).abs())
        };
        let usual = error(1.0);
        // Rounding of coordinates, 6e-8 of a box, which is another one in each unit.
        assert!(usual < 1e-5, "{depth}: {usual:e}");
        for unit in [1e13, 1e-16, 1e25, 1e-28] {
            let found = error(unit);
            assert!(found < 2.0 * usual, "{depth}: {found:e} for {unit:e}, {usual:e} for 1");
        }
    }
}

/// Particles that never have a charge.
#[test]
fn uncharged_particles_are_left_out() {
    let device = Device::of_tests().unwrap();
    for (boundary, root, depth) in [
        (PERIODIC, [3, 3, 4], 0),
        (PERIODIC, [2; 3], 1),
        (Boundary::rectangular([2.0; 3]), [4; 3], 0),
        (Boundary::Open, [4; 3], 0),
    ] {
        let system = Molecules::new(&boundary, 1.0);
        let settings = Settings { tree: TreeShape { root, depth }, ..settings(8, root, 1.2) };
        let (energy, cpu) = evaluated(&mut of_members(boundary, settings, &system), &system);
        let stream = device.stream().unwrap();
        let (x, q) = (device.upload(system.x.as_flattened()).unwrap(), device.upload(&system.q).unwrap());
        let on_device = |members: &Members| {
            let particles = (&system.exclusions, members);
            let fmm = DeviceFmm::<f64>::of_members(&device, boundary, settings, &system.x, particles).unwrap();
            fmm.enqueue_assign(&stream, &x).unwrap();
            fmm.check(&stream).unwrap();
            fmm.enqueue_evaluate(&stream, &stream, &x, &q).unwrap();
            fmm
        };
        let fmm = on_device(&system.members);
        let potential = fmm.potential().read(&stream).unwrap();
        let field = fmm.field().read(&stream).unwrap().as_chunks::<3>().0.to_vec();
        let out = Potentials { potential, field };
        assert!(only_members_feel(&out), "{boundary:?}");
        let (apart, e) = (difference(&out, &cpu), out.energy(&system.q));
        // As of all particles above.
        assert!(apart < 1e-11 && (e - energy).abs() < 1e-11 * energy.abs(), "{boundary:?}: {apart:e} {e} {energy}");
        let everybody = on_device(&Members::all(N));
        assert_eq!([fmm.n_members(), everybody.n_members(), fmm.n_particles()], [2 * N / 3, N, N]);
        let [few, many] = [&fmm, &everybody].map(|fmm| fmm.near_pairs(&stream).unwrap() as f64);
        assert!((0.4..0.5).contains(&(few / many)), "{few} of {many} pairs");
    }
}

#[test]
fn without_any_charge_nothing_is_felt() {
    let (x, _) = filled(&PERIODIC, N, 0.0, 3);
    let (none, members) = (Exclusions::none(N), Members::of(&[false; N]));
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let fmm = DeviceFmm::<f64>::of_members(&device, PERIODIC, settings(6, [3; 3], 1.2), &x, (&none, &members)).unwrap();
    let (x, q) = (device.upload(x.as_flattened()).unwrap(), device.upload(&[0.0; N]).unwrap());
    fmm.enqueue_assign(&stream, &x).unwrap();
    fmm.check(&stream).unwrap();
    fmm.enqueue_evaluate(&stream, &stream, &x, &q).unwrap();
    assert_eq!(fmm.potential().read(&stream).unwrap(), [0.0; N]);
}

#[test]
fn tuned_settings_keep_their_tolerance() {
    let device = Device::of_tests().unwrap();
    let (x, q, exclusions) = water(5);
    let boundary = Boundary::rectangular([1.0; 3]);
    let exact = ewald::evaluate(&boundary, &x, &q, &exclusions, 1e-16).unwrap();
    for (tolerance, which) in [(Tolerance::Force(2e-3), 0), (Tolerance::Energy(1e-4), 1)] {
        let tuned = tune_on::<f32>(&device, &boundary, &x, &q, &exclusions, 0.08, tolerance).unwrap();
        let mut fmm = DeviceCoulomb::<f32>::new(&device, boundary, tuned.settings).unwrap();
        let found = errors_of(&mut fmm, &x, &q, &exclusions, &exact)[which];
        eprintln!("{tolerance:?}: {found:.1e} with {:?}, {} trials", tuned.settings, tuned.trials.len());
        assert!(found < tolerance.value(), "{found:e} {tuned:?}");
        assert!(tuned.settings.tree.depth == 0 && tuned.settings.tree.root[0] > 1, "{tuned:?}");
    }
}

/// The forces that are compared with exact ones are those of every second particle, 7 and 299 not among them.
#[test]
fn settings_are_not_found_where_a_close_pair_makes_them_wrong() {
    let device = Device::of_tests().unwrap();
    let (mut x, mut q) = filled(&PERIODIC, 400, 0.0, 3);
    x[299] = [x[7][0] + 1e-8, x[7][1], x[7][2]];
    let tune = |q: &[f64]| {
        let (none, tolerance) = (Exclusions::none(400), Tolerance::Force(1e-2));
        tune_on::<f32>(&device, &PERIODIC, &x, q, &none, 0.0, tolerance).map(|_| ())
    };
    let refused = tune(&q).unwrap_err();
    assert!(matches!(refused, TuneError::Fmm(FmmError::ClosePair { i: 7, j: 299, single: true, .. })), "{refused}");
    (q[7], q[299]) = (0.0, 0.0);
    assert_eq!(tune(&q), Ok(()));
}
