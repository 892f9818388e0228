//! The device against the CPU code, on the emulator: peptides of three force fields, and all kinds at odd geometries.

use super::*;
use crate::device::{ENERGY_ONE, ENERGY_SLOTS, FORCE_ONE};
use crate::gromacs::{read_gro, read_topology};
use crate::topology::*;
use crate::{Cell, TermEnergy, bonded, pairs, restraints};
use kernels::device::{check_layouts, compiles};
use std::path::Path;

/// What is left of restraints that fade.
const PART: f64 = 0.4;

/// What the device and the CPU make of the same system.
struct Outcome {
    energies: Vec<f64>,
    forces: Vec<Vector3<f64>>,
    potential: Vec<f64>,
}

fn on_device(top: &Topology, x: &[Vector3<f64>], reference: &[Vector3<f64>], cell: Cell) -> Outcome {
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let terms = DeviceBonded::new(&device, top, reference, cell).unwrap();
    terms.set_part(&stream, PART).unwrap();
    let flat: Vec<f64> = x.iter().flat_map(|r| [r.x, r.y, r.z]).collect();
    let (x, q) = (device.upload(&flat).unwrap(), device.upload(&top.charges()).unwrap());
    let cell = device.upload(&cell.packed()).unwrap();
    let run = |with_energy| {
        let zeros = |n| device.zeros::<i64>(n).unwrap();
        let (forces, potential, energies) = (zeros(x.len()), zeros(q.len()), zeros(ENERGY_SLOTS));
        let sums = Sums { forces: &forces, energies: &energies, with_energy };
        terms.enqueue_forces(&stream, &x, &q, &cell, &potential, sums).unwrap();
        [energies, forces, potential].map(|b| b.read(&stream).unwrap())
    };
    let [energies, forces, potential] = run(true);
    assert_eq!(run(false), [vec![0; ENERGY_SLOTS], forces.clone(), potential.clone()], "forces without energy");
    assert!(!terms.saturated(&stream).unwrap());
    Outcome {
        energies: energies.iter().map(|e| *e as f64 / ENERGY_ONE).collect(),
        forces: forces.chunks(3).map(|f| Vector3::from_fn(|d, _| f[d] as f64 / FORCE_ONE)).collect(),
        potential: potential.iter().map(|p| *p as f64 / FORCE_ONE).collect(),
    }
}

fn on_cpu(top: &Topology, x: &[Vector3<f64>], reference: &[Vector3<f64>], cell: Cell) -> Outcome {
    let zero = vec![Vector3::zeros(); x.len()];
    let mut forces = zero.clone();
    let b = bonded::evaluate(top, x, &mut forces);
    let pairs14 = pairs::lennard_jones_14(top, x, &mut forces);
    let held = restraints::evaluate(&top.position_restraints, PART, x, reference, cell, &mut forces);
    let (q, mut phi, mut field) = (top.charges(), vec![0.0; x.len()], zero);
    pairs::coulomb_14_potential(&top.pairs, x, &q, &mut phi, &mut field);
    for i in 0..x.len() {
        forces[i] += COULOMB * q[i] * field[i];
    }
    let coulomb = 0.5 * COULOMB * q.iter().zip(&phi).map(|(q, phi)| q * phi).sum::<f64>();
    let mut energies = vec![0.0; ENERGY_SLOTS];
    for (term, v) in [
        (EnergyTerm::Bonds, b.bonds),
        (EnergyTerm::Angles, b.angles),
        (EnergyTerm::UreyBradley, b.urey_bradley),
        (EnergyTerm::ProperDihedrals, b.proper_dihedrals),
        (EnergyTerm::ImproperDihedrals, b.improper_dihedrals),
        (EnergyTerm::RyckaertBellemans, b.ryckaert_bellemans),
        (EnergyTerm::Cmap, b.cmap),
        (EnergyTerm::LennardJones14, pairs14),
        (EnergyTerm::Coulomb14, TermEnergy { energy: coulomb, virial: coulomb }),
        (EnergyTerm::Restraints, held),
    ] {
        energies[term as usize] = v.energy;
        energies[EnergyTerm::Virial as usize] += v.virial;
    }
    let images = restraints::virial_of_references(&top.position_restraints, PART, x, reference, cell);
    for (axis, term) in [EnergyTerm::ImagesX, EnergyTerm::ImagesY, EnergyTerm::ImagesZ].into_iter().enumerate() {
        energies[term as usize] = images[axis];
    }
    Outcome { energies, forces, potential: phi.iter().map(|p| COULOMB * p).collect() }
}

fn assert_same(top: &Topology, x: &[Vector3<f64>], reference: &[Vector3<f64>], cell: Cell) -> Outcome {
    let (got, expected) = (on_device(top, x, reference, cell), on_cpu(top, x, reference, cell));
    let virial = expected.energies[EnergyTerm::Virial as usize].abs();
    for (slot, (a, b)) in got.energies.iter().zip(&expected.energies).enumerate() {
        // Rounding of f64 sums, and half a quantum of 2^-24 for each of some twenty blocks.
        assert!((a - b).abs() < 1e-12 * b.abs().max(virial) + 1e-6, "slot {slot}: {a} and {b}");
    }
    let largest = expected.forces.iter().map(Vector3::norm).fold(1.0, f64::max);
    for (i, (a, b)) in got.forces.iter().zip(&expected.forces).enumerate() {
        // Some hundred additions in units of 2^-32.
        assert!((a - b).norm() < 1e-12 * largest + 2e-8, "force on {i}: {a} and {b}");
    }
    for (a, b) in got.potential.iter().zip(&expected.potential) {
        assert!((a - b).abs() < 1e-8, "potential {a} and {b}");
    }
    expected
}

fn check(name: &str, present: &[EnergyTerm]) {
    let file = |end: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/energies/{name}.{end}"));
    let structure = read_gro(&file("gro")).unwrap();
    let top = read_topology(&file("top"), &[], &[]).unwrap();
    let (x, cell) = (structure.positions, structure.cell);
    // References lie two edges away: the nearest image counts.
    let away = cell.edges().unwrap().component_mul(&Vector3::new(2.0, 0.0, -1.0));
    let reference: Vec<_> = x.iter().map(|r| r + Vector3::new(0.01, -0.02, 0.005) + away).collect();
    let expected = assert_same(&top, &x, &reference, cell);
    for term in present {
        assert!(expected.energies[*term as usize].abs() > 0.1, "{name} has no {term:?}");
    }
}

#[test]
fn amber_peptide() {
    use EnergyTerm as E;
    check("amber", &[E::Bonds, E::Angles, E::ProperDihedrals, E::ImproperDihedrals, E::LennardJones14, E::Coulomb14]);
}

#[test]
fn charmm_peptide() {
    use EnergyTerm as E;
    check("charmm", &[E::UreyBradley, E::ImproperDihedrals, E::Cmap, E::Restraints]);
}

#[test]
fn opls_peptide() {
    check("opls", &[EnergyTerm::RyckaertBellemans, EnergyTerm::Coulomb14, EnergyTerm::Restraints]);
}

/// One term of every kind on five atoms, with 1-4 charges.
fn every_kind() -> Topology {
    let atom = |charge| Atom { name: "X".into(), type_index: 0, residue: 0, molecule: 0, charge, mass: 1.0 };
    let values = (0..24 * 24).map(|k| f64::from((k * k * 7 + k * 13) % 101) * 0.1).collect();
    Topology {
        atoms: [0.4, -0.7, 0.3, 0.2, -0.5].map(atom).to_vec(),
        bonds: vec![Bond { atoms: [1, 0], r0: 0.14, k: 3e3 }],
        distances: vec![Bond { atoms: [4, 0], r0: 0.3, k: 8e2 }],
        angles: vec![Angle { atoms: [0, 1, 2], theta0: 1.9, k: 500.0 }],
        urey_bradley: vec![UreyBradley { atoms: [2, 3, 4], theta0: 1.8, k: 300.0, r13: 0.2, k13: 5e3 }],
        propers: vec![
            PeriodicDihedral { atoms: [0, 1, 2, 3], phi0: 0.6, k: 7.0, multiplicity: 2, improper: false },
            PeriodicDihedral { atoms: [1, 2, 3, 4], phi0: 3.1, k: 4.0, multiplicity: 3, improper: true },
        ],
        harmonic_impropers: vec![HarmonicImproper { atoms: [0, 1, 2, 3], xi0: 2.9, k: 300.0 }],
        ryckaert_bellemans: vec![RyckaertBellemans {
            atoms: [1, 2, 3, 4],
            c: [9.28, 12.16, -13.12, -3.06, 26.24, -31.5],
        }],
        cmaps: vec![Cmap { atoms: [0, 1, 2, 3, 4], grid: 1 }],
        cmap_grids: vec![CmapGrid { size: 2, values: vec![1.0; 4] }, CmapGrid { size: 24, values }],
        pairs: vec![Pair14 { atoms: [0, 3], c6: 2e-3, c12: 3e-6, coulomb_scale: 0.8333 }],
        position_restraints: vec![
            PositionRestraint { atom: 3, k: Vector3::new(1e3, 0.0, 500.0), fades: false },
            PositionRestraint { atom: 1, k: Vector3::new(300.0, 200.0, 100.0), fades: true },
        ],
        ..Topology::default()
    }
}

#[test]
fn every_kind_at_every_angle() {
    let top = every_kind();
    for step in 0..40 {
        let t = f64::from(step) * 0.17 - 3.1;
        let x = [
            Vector3::new(0.1, 0.02, -0.05),
            Vector3::zeros(),
            Vector3::new(0.01, 0.0, 0.15),
            Vector3::new(0.1 * t.cos(), 0.1 * t.sin(), 0.2),
            Vector3::new(0.1 * t.cos() + 0.1, 0.1 * t.sin() + 0.08 * (2.0 * t).sin(), 0.24),
        ];
        assert_same(&top, &x, &[Vector3::repeat(0.05); 4], Cell::Open);
    }
}

/// Open space, a box with right angles, and one without.
fn boxes() -> [Cell; 3] {
    let octahedron = [[3.0, 0.0, 0.0], [1.0, 8f64.sqrt(), 0.0], [-1.0, 2f64.sqrt(), 6f64.sqrt()]];
    let octahedron = crate::cell::PeriodicBox::triclinic(octahedron).unwrap();
    [Cell::Open, Cell::rectangular(Vector3::repeat(3.0)).unwrap(), Cell::Periodic(octahedron)]
}

/// Restraints act on the nearest image, wherever the atom has gone.
#[test]
fn restraints_hold_the_nearest_image_in_every_box() {
    let top = Topology {
        position_restraints: every_kind().position_restraints,
        atoms: every_kind().atoms,
        ..Topology::default()
    };
    for cell in boxes() {
        for step in 0..60 {
            let x = [Vector3::new(0.37, -0.53, 0.71) * f64::from(step) * 0.2 - Vector3::new(4.0, 3.0, 2.0); 5];
            assert_same(&top, &x, &[Vector3::repeat(0.05); 4], cell);
        }
    }
}

#[test]
fn collinear_and_coincident_atoms_feel_no_nan() {
    let mut top = every_kind();
    top.pairs.clear();
    let line = [-0.1, 0.0, 0.15, 0.25, 0.3].map(|z| Vector3::new(0.0, 0.0, z));
    assert_same(&top, &line, &line, Cell::Open);
    let mut one_place = line;
    one_place[0] = one_place[1];
    assert_same(&top, &one_place, &line, Cell::Open);
}

/// Overlapping 1-4 partners, a bond across the world, a position that is not a number: told, not passed on as forces or as none.
#[test]
fn forces_beyond_the_range_are_reported() {
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let top = every_kind();
    let good = [0.0, 0.1, 0.25, 0.3, 0.45].map(|z| Vector3::new(0.02 * f64::sin(10.0 * z), 0.1 * z, z));
    for case in 0..4 {
        let mut x = good;
        match case {
            1 => x[3] = x[0] + Vector3::new(1e-4, 0.0, 0.0),
            2 => x[0].z = -1e6,
            3 => x[2].y = f64::NAN,
            _ => (),
        }
        let terms = DeviceBonded::new(&device, &top, &good, Cell::Open).unwrap();
        let (flat, q) = (x.iter().flat_map(|r| [r.x, r.y, r.z]).collect::<Vec<_>>(), vec![0.5; 5]);
        let (x, q, cell) = (device.upload(&flat).unwrap(), device.upload(&q).unwrap(), device.zeros(6).unwrap());
        let [forces, potential, energies] = [15, 5, ENERGY_SLOTS].map(|n| device.zeros(n).unwrap());
        let sums = Sums { forces: &forces, energies: &energies, with_energy: true };
        terms.enqueue_forces(&stream, &x, &q, &cell, &potential, sums).unwrap();
        assert_eq!(terms.saturated(&stream).unwrap(), case > 0, "case {case}");
        terms.forget_saturation(&stream).unwrap();
        assert!(!terms.saturated(&stream).unwrap(), "case {case}");
    }
}

#[test]
fn a_system_without_terms_launches_nothing() {
    let top = Topology { atoms: every_kind().atoms, ..Topology::default() };
    let x = [Vector3::zeros(); 5];
    let outcome = assert_same(&top, &x, &[], Cell::Open);
    assert!(outcome.forces.iter().all(|f| f.norm() == 0.0));
}

#[test]
fn references_are_those_of_restrained_atoms() {
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let top = every_kind();
    let error = DeviceBonded::new(&device, &top, &[], Cell::Open).map(|_| ()).unwrap_err();
    assert_eq!(error, DeviceTermError::References { expected: 4, found: 0 });
    let terms = DeviceBonded::new(&device, &top, &[Vector3::new(1.0, 2.0, 3.0); 5], Cell::Open).unwrap();
    assert_eq!(terms.restrained(), [3, 1]);
    assert_eq!(terms.references().read(&stream).unwrap(), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0]);
    terms.set_reference(&stream, &[Vector3::new(4.0, 5.0, 6.0); 5]).unwrap();
    assert_eq!(terms.references().read(&stream).unwrap(), [4.0, 5.0, 6.0, 4.0, 5.0, 6.0]);
}

/// The part belongs to restraints that fade, and to no others.
#[test]
fn restraints_that_fade_are_whole_until_told() {
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let terms = DeviceBonded::new(&device, &every_kind(), &[Vector3::zeros(); 5], Cell::Open).unwrap();
    assert_eq!(terms.stiffness.read(&stream).unwrap(), [1e3, 300.0, 0.0, 200.0, 500.0, 100.0]);
    terms.set_part(&stream, 0.5).unwrap();
    assert_eq!(terms.stiffness.read(&stream).unwrap(), [1e3, 150.0, 0.0, 100.0, 500.0, 50.0]);
    terms.set_part(&stream, 0.0).unwrap();
    assert_eq!(terms.stiffness.read(&stream).unwrap(), [1e3, 0.0, 0.0, 0.0, 500.0, 0.0]);
}

#[test]
fn layouts_are_those_of_the_device() {
    check_layouts(&Device::of_tests().unwrap(), &source(boxes()[1], false)).unwrap();
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    boxes().into_iter().for_each(|cell| compiles(&source(cell, false), "sm_90").unwrap());
}

/// Kernels would read and write what does not belong to them.
#[test]
fn short_buffers_are_refused() {
    let atom = Atom { name: "C".into(), type_index: 0, residue: 0, molecule: 0, charge: 0.0, mass: 12.0 };
    let top = Topology { atoms: vec![atom; 4], ..Topology::default() };
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let terms = DeviceBonded::new(&device, &top, &[], Cell::Open).unwrap();
    let lengths = [12, 4, 6, 12, 4, ENERGY_SLOTS];
    let enqueue = |lengths: [usize; 6]| {
        let [x, q, cell] = [0, 1, 2].map(|k| device.zeros::<f64>(lengths[k]).unwrap());
        let [forces, potential, energies] = [3, 4, 5].map(|k| device.zeros::<i64>(lengths[k]).unwrap());
        let sums = Sums { forces: &forces, energies: &energies, with_energy: true };
        terms.enqueue_forces(&stream, &x, &q, &cell, &potential, sums)
    };
    assert_eq!(enqueue(lengths), Ok(()));
    for k in 0..lengths.len() {
        let mut few = lengths;
        few[k] -= 1;
        assert_eq!(enqueue(few), Err(DeviceError::Length { expected: lengths[k], found: few[k] }), "buffer {k}");
    }
}
