//! The device against [`Variants`] on the CPU, on the emulator: forms of two sites that touch, in every box, with every modifier.

use super::*;
use crate::bonded::Bonded;
use crate::device::{ENERGY_ONE, ENERGY_SLOTS, EnergyTerm, FORCE_ONE, Precision, Sums};
use crate::lennard_jones::tests::{boxed, triclinic};
use crate::lennard_jones::{DispersionCorrection, LennardJones, Modifier};
use crate::variants::SiteVariants;
use crate::variants::tests::{BUFFER, CUTOFF, FORMS, FRACTIONAL, MODIFIERS, sites, topology};
use crate::{TermEnergy, pairs};
use kernels::device::{check_layouts, compiles};
use nalgebra::Vector3;

const SETTINGS: Settings = Settings {
    cutoff: CUTOFF,
    modifier: Modifier::PotentialShift,
    buffer: BUFFER,
    dispersion_correction: false,
    precision: Precision::Double,
    axes: true,
};

/// Energies by slot, forces, ∂V/∂λ_α.
struct Outcome {
    energies: Vec<f64>,
    forces: Vec<Vector3<f64>>,
    by_weight: Vec<f64>,
}

/// All terms but Coulomb on a device, with what changes between forms.
struct Case {
    device: Device,
    stream: Stream,
    x: Buffer<f64>,
    edges: Buffer<f64>,
    weights: Buffer<f64>,
    lennard_jones: DeviceLennardJones,
    bonded: DeviceBonded,
    variants: DeviceVariants,
}

fn flat(x: &[Vector3<f64>]) -> Vec<f64> {
    x.iter().flat_map(|r| [r.x, r.y, r.z]).collect()
}

impl Case {
    fn new(sites: &[SiteVariants], x: &[Vector3<f64>], cell: Cell, settings: Settings, weights: &[f64]) -> Self {
        let device = Device::of_tests().unwrap();
        let stream = device.stream().unwrap();
        let (whole, ..) = topology();
        let mut top = whole.clone();
        let variants =
            Variants::new(&mut top, sites, &FORMS, settings.cutoff, settings.modifier, settings.buffer).unwrap();
        let split = (&variants, &whole);
        let (edges, x) = (device.upload(&cell.packed()).unwrap(), device.upload(&flat(x)).unwrap());
        let mut lennard_jones = DeviceLennardJones::with_variants(&device, &top, split, settings, cell).unwrap();
        lennard_jones.rebuild(&stream, &x, &edges).unwrap();
        let bonded = DeviceBonded::new(&device, &top, &[], cell).unwrap();
        let on_device = DeviceVariants::new(&device, &variants, settings, cell).unwrap();
        on_device.enqueue_rebuild(&stream, &lennard_jones).unwrap();
        let weights = device.upload(weights).unwrap();
        Self { device, stream, x, edges, weights, lennard_jones, bonded, variants: on_device }
    }

    fn run(&self, with_energy: bool) -> [Vec<i64>; 3] {
        let zeros = |n| self.device.zeros::<i64>(n).unwrap();
        let (forces, energies, stream) = (zeros(self.x.len()), zeros(ENERGY_SLOTS), &self.stream);
        let (x, edges) = (&self.x, &self.edges);
        stream.zero(self.variants.by_weight()).unwrap();
        let sums = Sums { forces: &forces, energies: &energies, with_energy };
        self.lennard_jones.enqueue_forces(stream, x, edges, sums).unwrap();
        let (q, potential) = (self.device.zeros(x.len() / 3).unwrap(), zeros(x.len() / 3));
        self.bonded.enqueue_forces(stream, x, &q, edges, &potential, sums).unwrap();
        self.variants.enqueue_forces(stream, &self.lennard_jones, x, edges, &self.weights, sums).unwrap();
        [&energies, &forces, self.variants.by_weight()].map(|buffer| buffer.read(stream).unwrap())
    }

    fn evaluate(&self) -> Outcome {
        let [energies, forces, by_weight] = self.run(true);
        assert_eq!(self.run(false), [vec![0; ENERGY_SLOTS], forces.clone(), by_weight.clone()], "without energies");
        assert!(!self.variants.saturated(&self.stream).unwrap());
        Outcome {
            energies: energies.iter().map(|e| *e as f64 / ENERGY_ONE).collect(),
            forces: forces.chunks(3).map(|f| Vector3::from_fn(|d, _| f[d] as f64 / FORCE_ONE)).collect(),
            by_weight: by_weight.iter().map(|v| *v as f64 / FORCE_ONE).collect(),
        }
    }
}

fn on_cpu(sites: &[SiteVariants], x: &[Vector3<f64>], cell: Cell, settings: Settings, weights: &[f64]) -> Outcome {
    let (mut top, ..) = topology();
    let mut variants =
        Variants::new(&mut top, sites, &FORMS, settings.cutoff, settings.modifier, settings.buffer).unwrap();
    let mut forces = vec![Vector3::zeros(); x.len()];
    let mut ordinary = LennardJones::new(&top, settings.cutoff, settings.modifier, settings.buffer).unwrap();
    ordinary.rebuild(x, cell).unwrap();
    variants.rebuild(x, cell).unwrap();
    let lennard_jones = ordinary.evaluate(x, cell, &mut forces);
    let mut bonded = Bonded::new(&top).evaluate(&top, x, &mut forces);
    let pairs_14 = pairs::lennard_jones_14(&top, x, &mut forces);
    let mut by_weight = vec![0.0; weights.len()];
    let more = variants.evaluate(x, cell, weights, &mut forces, &mut by_weight);
    bonded.bonds += more.bonded.bonds;
    bonded.angles += more.bonded.angles;
    bonded.proper_dihedrals += more.bonded.proper_dihedrals;
    bonded.improper_dihedrals += more.bonded.improper_dihedrals;
    let mut energies = vec![0.0; ENERGY_SLOTS];
    let mut put = |term: EnergyTerm, v: TermEnergy| {
        energies[term as usize] = v.energy;
        energies[EnergyTerm::Virial as usize] += v.virial;
    };
    put(EnergyTerm::LennardJones, lennard_jones + more.lennard_jones);
    put(EnergyTerm::LennardJones14, pairs_14 + more.lennard_jones_14);
    put(EnergyTerm::Bonds, bonded.bonds);
    put(EnergyTerm::Angles, bonded.angles);
    put(EnergyTerm::ProperDihedrals, bonded.proper_dihedrals);
    put(EnergyTerm::ImproperDihedrals, bonded.improper_dihedrals);
    let images = ordinary.virial_of_images(x, cell) + variants.virial_of_images(x, cell, weights);
    for (axis, term) in [EnergyTerm::ImagesX, EnergyTerm::ImagesY, EnergyTerm::ImagesZ].into_iter().enumerate() {
        energies[term as usize] = images[axis];
    }
    Outcome { energies, forces, by_weight }
}

/// All numbers within `tolerance` of the virial or the largest force.
fn assert_same(got: &Outcome, expected: &Outcome, tolerance: f64, what: &str) {
    let virial = expected.energies[EnergyTerm::Virial as usize].abs();
    // Some forty blocks add energies in units of 2^-24, as many threads forces in units of 2^-32.
    for (slot, (a, b)) in got.energies.iter().zip(&expected.energies).enumerate() {
        assert!((a - b).abs() < tolerance * virial + 2e-6, "{what}, slot {slot}: {a} and {b}");
    }
    let largest = expected.forces.iter().map(Vector3::norm).fold(0.0, f64::max);
    let worst = got.forces.iter().zip(&expected.forces).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(largest > 0.0 && worst < tolerance * largest + 2e-8, "{what}: forces differ by {worst} of {largest}");
    assert_eq!(got.by_weight.len(), expected.by_weight.len());
    for (a, b) in got.by_weight.iter().zip(&expected.by_weight) {
        assert!((a - b).abs() < tolerance * virial + 1e-7, "{what}: ∂V/∂λ {a} and {b}");
    }
}

/// A box with right angles, open space, and a box without right angles whose faces are just far enough apart.
fn cells() -> Vec<(Vec<Vector3<f64>>, Cell)> {
    let (_, x, edges) = topology();
    let [(_, _, skewed), _] = triclinic();
    let larger = 1.01 * 2.0 * (CUTOFF + BUFFER) / skewed.periodic().unwrap().heights().min();
    let slanted = (x.iter().map(|r| r * larger).collect(), skewed.scaled(larger).unwrap());
    vec![(x.clone(), boxed(edges)), (x, Cell::Open), slanted]
}

/// Coordinates are rounded to 1e-16 of the frame, as those of the ordinary pairs (`lennard_jones/tests.rs`).
const DOUBLE: f64 = 2e-13;

#[test]
fn energies_forces_and_derivatives_are_those_of_the_cpu() {
    for (x, cell) in cells() {
        for modifier in MODIFIERS {
            let settings = Settings { modifier, ..SETTINGS };
            let expected = on_cpu(&sites(), &x, cell, settings, &FRACTIONAL);
            assert!(expected.by_weight.iter().all(|v| v.abs() > 0.1), "{:?}", expected.by_weight);
            let got = Case::new(&sites(), &x, cell, settings, &FRACTIONAL).evaluate();
            assert_same(&got, &expected, DOUBLE, &format!("{modifier:?} {cell:?}"));
        }
    }
}

/// Pairs of ordinary atoms have the accuracy of f32 (2e-6, `lennard_jones/tests.rs`), those of changing atoms that of coordinates in quanta of
/// 2⁻³² of the box, 5e-10 nm: r·F off by 13 δ/r ~ 3e-8 of the largest terms.
#[test]
fn in_single_precision_the_changing_atoms_are_still_exact() {
    for (x, cell) in cells() {
        let settings = Settings { precision: Precision::Single, ..SETTINGS };
        let expected = on_cpu(&sites(), &x, cell, settings, &FRACTIONAL);
        let got = Case::new(&sites(), &x, cell, settings, &FRACTIONAL).evaluate();
        assert_same(&got, &expected, 2e-6, "single");
        let scale = expected.energies[EnergyTerm::Virial as usize].abs();
        for (a, b) in got.by_weight.iter().zip(&expected.by_weight) {
            assert!((a - b).abs() < 1e-7 * scale, "∂V/∂λ {a} and {b} of {scale}");
        }
    }
}

/// The list serves while atoms move by half its buffer, the box shrinks and grows, and λ goes outside; new lists find the atoms again.
#[test]
fn lists_serve_and_places_follow_them() {
    let (_, x, edges) = topology();
    let settings = Settings { cutoff: 0.8, ..SETTINGS };
    let mut case = Case::new(&sites(), &x, boxed(edges), settings, &FRACTIONAL);
    let mut random = crate::lennard_jones::tests::uniform(9);
    let moved: Vec<_> =
        x.iter().map(|r| 0.999 * (r + 0.04 * Vector3::from_fn(|_, _| random() - 0.5).normalize())).collect();
    let cell = boxed(0.999 * edges);
    case.x.write(&case.stream, &flat(&moved)).unwrap();
    case.edges.write(&case.stream, &cell.packed()).unwrap();
    let expected = on_cpu(&sites(), &moved, cell, settings, &FRACTIONAL);
    assert_same(&case.evaluate(), &expected, DOUBLE, "old list");
    // Atoms change places: every second one comes to where it was along x before.
    let far: Vec<_> = moved.iter().map(|r| r + Vector3::new(0.9, -0.4, 1.3)).collect();
    case.x.write(&case.stream, &flat(&far)).unwrap();
    case.lennard_jones.rebuild(&case.stream, &case.x, &case.edges).unwrap();
    let before = case.evaluate();
    case.variants.enqueue_rebuild(&case.stream, &case.lennard_jones).unwrap();
    let after = case.evaluate();
    assert_same(&after, &on_cpu(&sites(), &far, cell, settings, &FRACTIONAL), DOUBLE, "new list");
    assert!((before.by_weight[0] - after.by_weight[0]).abs() > 1e-3, "places of an old list serve a new one");
}

/// Sites that change bonded terms alone, or types alone, or nothing.
#[test]
fn what_does_not_change_launches_nothing() {
    let (_, x, edges) = topology();
    let without = |types: bool, terms: bool| -> Vec<SiteVariants> {
        let left = |mut site: SiteVariants| {
            site.types.retain(|_| types);
            site.terms.retain(|_| terms);
            site
        };
        sites().into_iter().map(left).collect()
    };
    for (types, terms) in [(true, false), (false, true), (false, false)] {
        let sites = without(types, terms);
        let case = Case::new(&sites, &x, boxed(edges), SETTINGS, &FRACTIONAL);
        assert_eq!((case.variants.pairs.is_some(), case.variants.bonded.is_some()), (types, types || terms));
        let expected = on_cpu(&sites, &x, boxed(edges), SETTINGS, &FRACTIONAL);
        assert_same(&case.evaluate(), &expected, DOUBLE, &format!("types {types}, terms {terms}"));
    }
}

#[test]
fn dispersion_is_that_of_the_topology_as_it_was() {
    let (whole, x, edges) = topology();
    let settings = Settings { dispersion_correction: true, ..SETTINGS };
    let got = Case::new(&sites(), &x, boxed(edges), settings, &FRACTIONAL).evaluate();
    let expected = DispersionCorrection::new(&whole, CUTOFF, SETTINGS.modifier).at_volume(edges.product());
    let found = got.energies[EnergyTerm::Dispersion as usize];
    // Half a quantum of 2^-24.
    assert!(expected.energy < -1.0 && (found - expected.energy).abs() < 1e-7, "{found} {}", expected.energy);
}

/// Atoms of a form that overlap are told, not passed on as forces.
#[test]
fn forces_beyond_the_range_are_reported() {
    let (_, mut x, edges) = topology();
    x[0] = x[20] + Vector3::new(1e-3, 0.0, 0.0);
    let case = Case::new(&sites(), &x, boxed(edges), SETTINGS, &FRACTIONAL);
    case.run(false);
    assert!(case.variants.saturated(&case.stream).unwrap());
    case.variants.forget_saturation(&case.stream).unwrap();
    assert!(!case.variants.saturated(&case.stream).unwrap());
}

#[test]
fn layouts_are_those_of_the_device() {
    let device = Device::of_tests().unwrap();
    for precision in [Precision::Single, Precision::Double] {
        check_layouts(&device, &source(Settings { precision, ..SETTINGS }, 3, false)).unwrap();
    }
    check_layouts(&device, &super::super::bonded::source(Cell::Open, true)).unwrap();
}

/// Needs libnvrtc, no GPU. What compiles for the oldest architecture compiles for later ones: nothing here asks which it is.
#[test]
fn kernels_compile_for_gpus() {
    for (modifier, precision) in MODIFIERS.into_iter().zip([Precision::Single, Precision::Double, Precision::Single]) {
        for triclinic in [false, true] {
            let source = source(Settings { modifier, precision, ..SETTINGS }, 3, triclinic);
            compiles(&source, "sm_75").unwrap();
        }
    }
    compiles(&super::super::bonded::source(Cell::Open, true), "sm_90").unwrap();
}
