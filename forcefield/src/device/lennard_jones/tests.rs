//! The device against [`LennardJones`] on the CPU and against brute force, on the emulator.

mod far_hydrogens;

use super::source::sources;
use super::*;
use crate::TermEnergy;
use crate::device::{ENERGY_SLOTS, EnergyTerm, FORCE_ONE};
use crate::lennard_jones::kinds::FAINT_DISTANCE;
use crate::lennard_jones::tests::{boxed, system, triclinic, uniform};
use crate::lennard_jones::{LennardJones, LennardJonesError};
use far_hydrogens::kinds_of_tests;
use kernels::device::{check_layouts, compiles};
use nalgebra::Vector3;

const SIDES: [usize; 3] = [7, 8, 9];
const SETTINGS: Settings = Settings {
    cutoff: 0.85,
    modifier: Modifier::PotentialShift,
    buffer: 0.1,
    dispersion_correction: false,
    precision: Precision::Double,
    axes: true,
};

impl ListStatus {
    /// Whether every list since the status was reset holds every pair.
    fn is_complete(&self) -> bool {
        self.neighbours <= self.capacity && !self.unfit
    }
}

impl DeviceLennardJones {
    /// All pairs of the list as atom numbers, each in both directions.
    fn read_list(&self, stream: &Stream) -> Vec<[u32; 2]> {
        let [atoms, entries, list] =
            [&self.atoms, &self.entries, &self.list].map(|buffer| buffer.read(stream).unwrap());
        let row = |i: usize| &list[i * self.capacity..][..entries[i] as usize];
        let pairs = |i: usize| row(i).iter().filter(move |&&j| j as usize != i).map(move |&j| (i, j as usize));
        (0..self.n).flat_map(pairs).map(|(i, j)| [atoms[i], atoms[j]]).collect()
    }
}

fn flat(x: &[Vector3<f64>]) -> Vec<f64> {
    x.iter().flat_map(|r| [r.x, r.y, r.z]).collect()
}

/// A term on the emulator with its positions and edges.
struct Case {
    stream: Stream,
    x: Buffer<f64>,
    edges: Buffer<f64>,
    lj: DeviceLennardJones,
}

impl Case {
    fn new(top: &Topology, x: &[Vector3<f64>], settings: Settings, cell: Cell) -> Self {
        let device = Device::of_tests().unwrap();
        let stream = device.stream().unwrap();
        let edges = device.upload(&cell.packed()).unwrap();
        let x = device.upload(&flat(x)).unwrap();
        let mut lj = DeviceLennardJones::new(&device, top, settings, cell).unwrap();
        lj.rebuild(&stream, &x, &edges).unwrap();
        Self { stream, x, edges, lj }
    }

    fn put(&self, x: &[Vector3<f64>], cell: Cell) {
        self.x.write(&self.stream, &flat(x)).unwrap();
        self.edges.write(&self.stream, &cell.packed()).unwrap();
    }

    /// Energies, forces with energy, fixed-point forces without.
    fn evaluate(&self) -> (Vec<i64>, Vec<Vector3<f64>>) {
        let zeros = |n| self.lj.device.zeros::<i64>(n).unwrap();
        let run = |with_energy| {
            let (forces, energies) = (zeros(self.x.len()), zeros(ENERGY_SLOTS));
            let sums = Sums { forces: &forces, energies: &energies, with_energy };
            self.lj.enqueue_forces(&self.stream, &self.x, &self.edges, sums).unwrap();
            (energies.read(&self.stream).unwrap(), forces.read(&self.stream).unwrap())
        };
        let (energies, forces) = run(true);
        assert_eq!(run(false), (vec![0; ENERGY_SLOTS], forces.clone()), "forces without energy");
        (energies, forces.chunks(3).map(|f| Vector3::from_fn(|d, _| f[d] as f64 / FORCE_ONE)).collect())
    }

    fn status(&self) -> ListStatus {
        self.lj.status(&self.stream).unwrap()
    }
}

/// Energy and virial, forces, and what Σ x_a F_a misses of the virial along each axis.
type OnCpu = (TermEnergy, Vec<Vector3<f64>>, Vector3<f64>);

fn on_cpu(top: &Topology, x: &[Vector3<f64>], settings: Settings, cell: Cell) -> OnCpu {
    let mut lj = LennardJones::new(top, settings.cutoff, settings.modifier, settings.buffer).unwrap();
    lj.rebuild(x, cell).unwrap();
    let mut f = vec![Vector3::zeros(); x.len()];
    let v = lj.evaluate(x, cell, &mut f);
    let images = lj.virial_of_images(x, cell);
    (v, f, images)
}

/// Energy and virial within `tolerance` of the virial, forces of the largest. What Σ x F misses is a difference of the virial and of that sum, in which atoms lie in any image.
fn assert_same((energies, f): (Vec<i64>, Vec<Vector3<f64>>), (v, expected, images): OnCpu, tolerance: f64, what: &str) {
    // Energies are added per block of 16 sites in units of 2^-24.
    let quanta = (1 + f.len() / 16) as f64 / crate::device::ENERGY_ONE;
    for (term, expected) in [(EnergyTerm::LennardJones, v.energy), (EnergyTerm::Virial, v.virial)] {
        let error = (term.of(&energies) - expected).abs();
        assert!(error < tolerance * v.virial.abs() + quanta, "{what}: {term:?} off by {error} of {expected}");
    }
    let apart: f64 = expected.iter().map(Vector3::norm).sum();
    for (axis, term) in [EnergyTerm::ImagesX, EnergyTerm::ImagesY, EnergyTerm::ImagesZ].into_iter().enumerate() {
        let error = (term.of(&energies) - images[axis]).abs();
        assert!(error < 10.0 * tolerance * apart + quanta, "{what}: {term:?} off by {error} of {images:?}");
    }
    let largest = expected.iter().map(Vector3::norm).fold(0.0, f64::max);
    let worst = f.iter().zip(&expected).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(largest > 0.0 && worst < tolerance * largest + 1e-8, "{what}: forces differ by {worst} of {largest}");
}

/// r² to five roundings of 6e-8, in its seventh power; sums are dominated by the closest pair.
const SINGLE: f64 = 2e-6;

const MODIFIERS: [Modifier; 3] = [Modifier::None, Modifier::PotentialShift, Modifier::ForceSwitch { r_switch: 0.6 }];

#[test]
fn double_precision_equals_the_cpu() {
    for (top, x, cell) in cells() {
        for modifier in MODIFIERS {
            let settings = Settings { modifier, ..SETTINGS };
            let case = Case::new(&top, &x, settings, cell);
            // Fractional coordinates are rounded to 1e-16 of the frame, some nm; r·F ~ 13 r δ/r, forces of 1e4.
            let what = format!("{modifier:?} {cell:?}");
            assert_same(case.evaluate(), on_cpu(&top, &x, settings, cell), 2e-13, &what);
            assert!(case.status().is_complete() && !case.status().saturated);
        }
    }
}

#[test]
fn single_precision_has_the_accuracy_of_f32() {
    // A plain cut-off jumps: there a pair on its edge may fall on the other side.
    for (top, x, cell) in cells() {
        for modifier in &MODIFIERS[1..] {
            let settings = Settings { modifier: *modifier, precision: Precision::Single, ..SETTINGS };
            let case = Case::new(&top, &x, settings, cell);
            assert_same(case.evaluate(), on_cpu(&top, &x, settings, cell), SINGLE, &format!("{modifier:?} {cell:?}"));
        }
    }
}

#[test]
fn close_pairs_far_from_the_origin_keep_their_accuracy() {
    // Two pairs 0.25 nm apart, one of them across the boundary of a box of 60 nm, where f32 positions are off by 4e-6 nm.
    let (mut top, _, _) = system([1, 1, 4], 0.3);
    top.atoms.iter_mut().for_each(|a| a.type_index = 0);
    top.exclusions = crate::ExcludedPairs::from_pairs(4, []);
    let edges = Vector3::new(60.0, 61.0, 59.0);
    let x = [[59.9, 30.0, 3.0], [0.12, 30.08, 2.95], [41.234567, 47.1, 58.3], [41.1, 47.3123456, 58.29]]
        .map(Vector3::from)
        .to_vec();
    let settings = Settings { precision: Precision::Single, ..SETTINGS };
    let case = Case::new(&top, &x, settings, boxed(edges));
    assert_same(case.evaluate(), on_cpu(&top, &x, settings, boxed(edges)), SINGLE, "two pairs");
}

/// A box with right angles, open space, and boxes without right angles, whose faces are only just far enough apart.
fn cells() -> Vec<(Topology, Vec<Vector3<f64>>, Cell)> {
    let (top, x, edges) = system(SIDES, 0.28);
    let right = [boxed(edges), Cell::Open].map(|cell| (top.clone(), x.clone(), cell));
    let slanted = triclinic().map(|(top, x, cell)| {
        let larger = 1.01 * 1.9 / cell.periodic().unwrap().heights().min();
        (top, x.iter().map(|r| r * larger).collect(), cell.scaled(larger).unwrap())
    });
    right.into_iter().chain(slanted).collect()
}

fn brute_force(top: &Topology, x: &[Vector3<f64>], reach: f64, cell: Cell) -> Vec<[u32; 2]> {
    let mut pairs = Vec::new();
    let inert = |i: u32| top.lj.is_inert(top.atoms[i as usize].type_index);
    for i in 0..x.len() as u32 {
        for j in 0..x.len() as u32 {
            let d = cell.minimum_image(x[i as usize] - x[j as usize]);
            if i != j && d.norm() < reach && !inert(i) && !inert(j) && !top.exclusions.contains(i, j) {
                pairs.push([i, j]);
            }
        }
    }
    pairs
}

#[test]
fn the_list_is_that_of_brute_force() {
    let (mut slanting, mut groups) = (0, Vec::new());
    for (sides, spacing, cutoff) in [
        (SIDES, 0.28, 0.85),
        ([6, 7, 20], 0.35, 0.6),
        ([9, 3, 3], 0.7, 0.94),
        ([13, 12, 11], 0.3, 0.5),
        ([14, 15, 14], 0.14, 0.85),
    ] {
        let (top, x, edges) = system(sides, spacing);
        // The same lattice in other edges, which are much longer than the distances of its faces.
        let [a, b, c] = boxed(edges).periodic().unwrap().rows().map(Vector3::from);
        let [slanted, steep] = [[a, b + a, c + 0.5 * b], [a, b - a, c - b + a]].map(|rows| {
            let rows = rows.map(<[f64; 3]>::from);
            Cell::Periodic(crate::cell::PeriodicBox::triclinic(rows).unwrap())
        });
        let fits = |cell: &Cell| cell.periodic().is_none_or(|found| found.heights().min() >= 2.0 * (cutoff + 0.1));
        for cell in [boxed(edges), Cell::Open, slanted, steep].into_iter().filter(fits) {
            let settings = Settings { cutoff, ..SETTINGS };
            slanting += usize::from(cell.is_triclinic());
            let case = Case::new(&top, &x, settings, cell);
            groups.push(case.lj.sharing.group);
            let mut found = case.lj.read_list(&case.stream);
            found.sort_unstable();
            let expected = brute_force(&top, &x, cutoff + 0.1, cell);
            assert!(expected.len() > x.len());
            assert_eq!(found, expected, "{sides:?} {cell:?}");
            let mut counts = vec![0; x.len()];
            expected.iter().for_each(|[i, _]| counts[*i as usize] += 1);
            assert_eq!(case.status().neighbours, *counts.iter().max().unwrap());
        }
    }
    assert!(slanting >= 3, "{slanting}");
    assert!(groups.contains(&2) && groups.contains(&4));
}

/// Two of five atoms are faint, as hydrogens of CHARMM are.
#[test]
fn faint_pairs_are_left_out_where_they_are_nothing() {
    for (mut top, x, cell) in cells() {
        top.lj.c6[2 * 4 + 2] = 3.15e-9;
        top.lj.c12[2 * 4 + 2] = 1.29e-17;
        let case = Case::new(&top, &x, SETTINGS, cell);
        let is_faint = |i: u32| top.atoms[i as usize].type_index == 2;
        let mut found = case.lj.read_list(&case.stream);
        found.sort_unstable();
        let all = brute_force(&top, &x, 0.95, cell);
        let near = |&[i, j]: &[u32; 2]| cell.minimum_image(x[i as usize] - x[j as usize]).norm() < FAINT_DISTANCE + 0.1;
        let expected: Vec<[u32; 2]> =
            all.iter().filter(|pair| !(is_faint(pair[0]) && is_faint(pair[1])) || near(pair)).copied().collect();
        assert!(expected.len() < all.len());
        assert_eq!(found, expected, "{cell:?}");
        // What is left out gives an atom less than 1e-5 kJ/mol; no pair has a force above 1e-5 kJ/mol/nm, and few are beyond the distance.
        let (v, forces, _) = on_cpu(&top, &x, SETTINGS, cell);
        let (energies, found) = case.evaluate();
        let error = (EnergyTerm::LennardJones.of(&energies) - v.energy).abs() / x.len() as f64;
        assert!(error < 1e-5, "{error} {cell:?}");
        let worst = found.iter().zip(&forces).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(worst < 1e-4, "{worst} {cell:?}");
    }
}

#[test]
fn a_list_that_overflows_says_so_and_grows() {
    let (top, x, edges) = system(SIDES, 0.28);
    let mut case = Case::new(&top, &x, SETTINGS, boxed(edges));
    let expected = case.evaluate();
    let needed = case.status().neighbours;
    let chunk = case.lj.sharing.chunk();
    assert!(needed > chunk);
    case.lj.set_capacity(chunk).unwrap();
    case.lj.reset_status(&case.stream).unwrap();
    case.lj.enqueue_rebuild(&case.stream, &case.x, &case.edges).unwrap();
    let status = case.status();
    assert_eq!((status.neighbours, status.capacity), (needed, chunk));
    assert!(!status.is_complete());
    assert_ne!(case.evaluate(), expected, "a list that is too short still meets all pairs");
    assert!(case.lj.rebuild(&case.stream, &case.x, &case.edges).unwrap());
    assert!(case.status().is_complete());
    assert_eq!(case.evaluate(), expected);
    assert!(!case.lj.rebuild(&case.stream, &case.x, &case.edges).unwrap());
}

#[test]
fn a_list_serves_while_atoms_move_by_half_its_buffer() {
    let (top, x, edges) = system(SIDES, 0.28);
    let settings = Settings { buffer: 0.06, ..SETTINGS };
    let case = Case::new(&top, &x, settings, boxed(edges));
    let mut random = uniform(3);
    let moved: Vec<_> = x.iter().map(|r| r + 0.02997 * Vector3::from_fn(|_, _| random() - 0.5).normalize()).collect();
    case.put(&moved, boxed(edges));
    assert_same(case.evaluate(), on_cpu(&top, &moved, settings, boxed(edges)), 2e-13, "moved");
    assert!(case.status().is_complete());
}

#[test]
fn positions_and_cells_that_make_no_list_are_told() {
    let (top, x, edges) = system(SIDES, 0.28);
    let case = Case::new(&top, &x, Settings { cutoff: 0.8, ..SETTINGS }, boxed(edges));
    let unfit = |x: &[Vector3<f64>], edges| {
        case.lj.reset_status(&case.stream).unwrap();
        case.put(x, boxed(edges));
        case.lj.enqueue_rebuild(&case.stream, &case.x, &case.edges).unwrap();
        case.status().unfit
    };
    assert!(!unfit(&x, edges));
    let mut one = x.clone();
    one[10].x = f64::NAN;
    assert!(unfit(&one, edges));
    // Lists are not made for cells with less than twice the reach along an axis.
    assert!(unfit(&x, edges * 0.8));
    assert!(!unfit(&x, edges));
}

#[test]
fn scaling_of_the_box_is_not_movement() {
    let (top, x, edges) = system(SIDES, 0.28);
    let settings = Settings { cutoff: 0.8, ..SETTINGS };
    let case = Case::new(&top, &x, settings, boxed(edges));
    let y: Vec<_> = x.iter().map(|r| r * 0.9).collect();
    case.put(&y, boxed(edges * 0.9));
    let expected = on_cpu(&top, &y, Settings { buffer: 0.05, ..settings }, boxed(edges * 0.9));
    assert_same(case.evaluate(), expected, 2e-13, "scaled");
}

#[test]
fn images_change_nothing_and_overlaps_are_reported() {
    let (top, mut x, edges) = system(SIDES, 0.28);
    let settings = Settings { precision: Precision::Single, ..SETTINGS };
    let (v, forces, _) = on_cpu(&top, &x, settings, boxed(edges));
    for (i, r) in x.iter_mut().enumerate() {
        *r += edges.component_mul(&Vector3::new((i % 3) as f64, -2.0, 0.0));
    }
    let case = Case::new(&top, &x, settings, boxed(edges));
    let (.., images) = on_cpu(&top, &x, settings, boxed(edges));
    assert_same(case.evaluate(), (v, forces, images), SINGLE, "images");
    assert!(!case.status().saturated);
    x[40] = x[25];
    case.put(&x, boxed(edges));
    case.lj.enqueue_rebuild(&case.stream, &case.x, &case.edges).unwrap();
    case.evaluate();
    assert!(case.status().saturated);
}

#[test]
fn dispersion_follows_the_volume() {
    let (top, x, edges) = system(SIDES, 0.28);
    let settings = Settings { dispersion_correction: true, ..SETTINGS };
    let case = Case::new(&top, &x, settings, boxed(edges));
    let plain = Case::new(&top, &x, SETTINGS, boxed(edges));
    let correction = DispersionCorrection::new(&top, settings.cutoff, settings.modifier);
    for scale in [1.0, 0.97] {
        let y: Vec<_> = x.iter().map(|r| r * scale).collect();
        case.put(&y, boxed(edges * scale));
        plain.put(&y, boxed(edges * scale));
        let ((a, forces), (b, plain_forces)) = (case.evaluate(), plain.evaluate());
        assert_eq!(forces, plain_forces);
        let v = correction.at_volume((edges * scale).product());
        assert!((EnergyTerm::Dispersion.of(&a) - v.energy).abs() < 1e-7 && v.energy.abs() > 1.0);
        assert!((EnergyTerm::Virial.of(&a) - EnergyTerm::Virial.of(&b) - v.virial).abs() < 2e-7);
        assert_eq!(EnergyTerm::LennardJones.of(&a), EnergyTerm::LennardJones.of(&b));
    }
}

#[test]
fn few_atoms_and_none() {
    let (mut top, x, _) = system([1, 5, 1], 0.35);
    let settings = Settings { modifier: Modifier::None, buffer: 0.0, ..SETTINGS };
    let case = Case::new(&top, &x, settings, Cell::Open);
    assert_eq!(case.lj.n_active(), 4);
    assert_same(case.evaluate(), on_cpu(&top, &x, settings, Cell::Open), 2e-13, "few");
    for atom in &mut top.atoms {
        atom.type_index = 3;
    }
    for cell in [Cell::Open, boxed(Vector3::repeat(2.0))] {
        let case = Case::new(&top, &x, settings, cell);
        let (energies, forces) = case.evaluate();
        assert!(energies.iter().all(|e| *e == 0) && forces.iter().all(|f| f.norm() == 0.0));
        assert!(case.status().is_complete());
    }
}

#[test]
fn bad_settings_are_named() {
    let (top, _, edges) = system(SIDES, 0.28);
    let device = Device::of_tests().unwrap();
    let new = |settings| DeviceLennardJones::new(&device, &top, settings, boxed(edges)).map(|_| ()).unwrap_err();
    let error = new(Settings { cutoff: -1.0, ..SETTINGS });
    assert_eq!(error, DeviceTermError::LennardJones(LennardJonesError::Cutoff(-1.0)));
    let error = new(Settings { cutoff: 0.9, ..SETTINGS });
    assert!(error.to_string().contains("along x"), "{error}");
    let [_, (top, _, flat)] = triclinic();
    assert!(
        LennardJones::new(&top, 0.85, Modifier::None, 0.1).unwrap().rebuild(&[Vector3::zeros(); 384], flat).is_ok()
    );
    let error = DeviceLennardJones::new(&device, &top, SETTINGS, flat).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("opposite faces") && error.contains("1.9 nm"), "{error}");
}

#[test]
fn layouts_are_those_of_the_device() {
    let device = Device::of_tests().unwrap();
    for precision in [Precision::Single, Precision::Double] {
        for (triclinic, neighbours) in [(false, 100.0), (true, 1000.0)] {
            for kinds in kinds_of_tests() {
                for source in sources(Settings { precision, ..SETTINGS }, &kinds, Sharing::new(neighbours), triclinic) {
                    check_layouts(&device, &source).unwrap();
                }
            }
        }
    }
}

/// Needs libnvrtc, no GPU. What compiles for the oldest architecture compiles for later ones: nothing here asks which it is.
#[test]
fn kernels_compile_for_gpus() {
    for (modifier, precision) in MODIFIERS.into_iter().zip([Precision::Single, Precision::Double, Precision::Single]) {
        for (triclinic, neighbours) in [(false, 100.0), (true, 1000.0)] {
            let settings = Settings { modifier, precision, ..SETTINGS };
            for kinds in kinds_of_tests() {
                for source in sources(settings, &kinds, Sharing::new(neighbours), triclinic) {
                    compiles(&source, "sm_75").unwrap();
                }
            }
        }
    }
}

/// Kernels would read and write what does not belong to them.
#[test]
fn short_buffers_are_refused() {
    let (top, x, cell) = cells().into_iter().find(|(.., cell)| cell.is_periodic()).unwrap();
    let case = Case::new(&top, &x, SETTINGS, cell);
    let (lj, stream, n) = (&case.lj, &case.stream, top.n_atoms());
    let reals = |n| lj.device.zeros::<f64>(n).unwrap();
    let sums = |n| lj.device.zeros::<i64>(n).unwrap();
    let short = |n: usize| Err(DeviceError::Length { expected: n, found: n - 1 });
    assert_eq!(lj.enqueue_rebuild(stream, &reals(3 * n - 1), &case.edges), short(3 * n));
    assert_eq!(lj.enqueue_rebuild(stream, &case.x, &reals(5)), short(6));
    let forces = |x: &Buffer<f64>, edges: &Buffer<f64>, forces: usize, energies: usize| {
        let (forces, energies) = (sums(forces), sums(energies));
        lj.enqueue_forces(stream, x, edges, Sums { forces: &forces, energies: &energies, with_energy: true })
    };
    assert_eq!(forces(&reals(3 * n - 1), &case.edges, 3 * n, ENERGY_SLOTS), short(3 * n));
    assert_eq!(forces(&case.x, &reals(5), 3 * n, ENERGY_SLOTS), short(6));
    assert_eq!(forces(&case.x, &case.edges, 3 * n - 1, ENERGY_SLOTS), short(3 * n));
    assert_eq!(forces(&case.x, &case.edges, 3 * n, ENERGY_SLOTS - 1), short(ENERGY_SLOTS));
}
