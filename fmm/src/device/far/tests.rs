//! Every step against plain sums in f64, the whole against the convolution of the CPU.

use std::f64::consts::PI;

use kernels::device::{check_layouts, compiles};
use num_complex::Complex64;

use super::*;
use crate::geometry::boundary::Boundary;
use crate::lattice::waves::{far_field, torus, unique};
use crate::operators::gradient::gradient;
use crate::operators::harmonics::{count, parities, regular};
use crate::operators::lattice::tests::grid;
use crate::operators::m2l::convolution::Convolution;
use crate::operators::m2l::fourier::wave_vector;
use crate::operators::m2l::matrix::{Domain, m2l};
use crate::workspace::{LANES, ScratchPool};

/// Operator and mirror image of wave vector `k`.
fn home(cycle: [usize; 3], unique: [usize; 3], k: [usize; 3]) -> (usize, usize) {
    let (mut u, mut image) = (k, 0);
    for a in 0..2 {
        if k[a] >= unique[a] {
            u[a] = cycle[a] - k[a];
            image |= 1 << a;
        }
    }
    ((u[0] * unique[1] + u[1]) * unique[2] + u[2], image)
}

const I: Complex64 = Complex64::new(0.0, 1.0);

/// Uniform in [−½, ½), reproducible.
fn numbers() -> impl FnMut() -> f64 {
    let mut state = 88_172_645_463_325_252_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 * 2.0_f64.powi(-53) - 0.5
    }
}

/// Particles of a grid by place, and the results of every step.
struct Reference {
    grid: BoxGrid,
    order: usize,
    starts: Vec<u32>,
    particles: Vec<[f64; 4]>,
}

/// Numbers by [κ₂], row, and coefficient.
type Waves = Vec<Vec<Vec<Complex64>>>;

impl Reference {
    /// Some boxes and, if there are several, one column empty, one box with 200 particles; neutral.
    fn new(grid: BoxGrid, order: usize) -> Self {
        let (mut random, n) = (numbers(), grid.topology.len());
        let (mut starts, mut particles) = (vec![0], Vec::new());
        for leaf in 0..n {
            let c = grid.topology.coordinates(leaf);
            let members = match leaf {
                _ if leaf == n / 2 => 200,
                _ if c[0] == 1 && c[1] == 1 => 0,
                _ => ((random() + 0.5) * 20.0) as usize,
            };
            for _ in 0..members {
                let u = grid.vector([random(), random(), random()]);
                particles.push([u[0], u[1], u[2], random()]);
            }
            starts.push(particles.len() as u32);
        }
        let mean = particles.iter().map(|p| p[3]).sum::<f64>() / particles.len() as f64;
        particles.iter_mut().for_each(|p| p[3] -= mean);
        Self { grid, order, starts, particles }
    }

    fn members(&self, leaf: usize) -> std::ops::Range<usize> {
        self.starts[leaf] as usize..self.starts[leaf + 1] as usize
    }

    /// By box and coefficient.
    fn multipoles(&self) -> Vec<Vec<f64>> {
        let one = |leaf| {
            let mut sum = vec![0.0; count(self.order)];
            for p in &self.particles[self.members(leaf)] {
                let values = regular(self.order, [p[0], p[1], p[2]]);
                sum.iter_mut().zip(values).for_each(|(s, v)| *s += p[3] * v);
            }
            sum
        };
        (0..self.grid.topology.len()).map(one).collect()
    }

    fn half(&self) -> usize {
        self.grid.cycle()[2] / 2 + 1
    }

    /// Transform along z by [κ₂], column.
    fn columns(&self, boxes: &[Vec<f64>]) -> Waves {
        let ([mx, my, mz], nz) = (self.grid.topology.shape, self.grid.cycle()[2]);
        let sum = |kz: usize, column: usize| {
            let mut out = vec![Complex64::ZERO; count(self.order)];
            for z in 0..mz {
                let phase = (-2.0 * PI * I * (kz * z) as f64 / nz as f64).exp();
                out.iter_mut().zip(&boxes[column * mz + z]).for_each(|(o, v)| *o += phase * v);
            }
            out
        };
        (0..self.half()).map(|kz| (0..mx * my).map(|column| sum(kz, column)).collect()).collect()
    }

    /// Transform along x and y, sign −1 or +1; rows [κ₀][κ₁] from [x][y] or back.
    fn planes(&self, from: &Waves, sign: f64) -> Waves {
        let (torus, [mx, my, _], [nx, ny, _]) = (torus(&self.grid), self.grid.topology.shape, self.grid.cycle());
        let forward = sign < 0.0;
        let rows = if forward { [nx, ny] } else { [mx, my] };
        let sum = |kz: usize, row: usize| {
            let mut out = vec![Complex64::ZERO; count(self.order)];
            for (term, values) in from[kz].iter().enumerate() {
                let (kappa, place) = if forward { (row, term) } else { (term, row) };
                let f = wave_vector(&torus, [kappa / ny, kappa % ny, kz]);
                let phase = f[0] * (place / my) as f64 + f[1] * (place % my) as f64;
                let phase = (sign * 2.0 * PI * I * phase).exp();
                out.iter_mut().zip(values).for_each(|(o, v)| *o += phase * v);
            }
            out
        };
        (0..self.half()).map(|kz| (0..rows[0] * rows[1]).map(|row| sum(kz, row)).collect()).collect()
    }

    /// T(κ) M(κ) with whole matrices.
    fn products(&self, multipoles: &Waves) -> Waves {
        let (n, cycle, unique) = (count(self.order), self.grid.cycle(), unique(&self.grid));
        let (waves, parity) = (far_field(&self.grid, 2 * self.order), parities(2 * self.order));
        let turn = |i: usize| if i.isqrt().is_multiple_of(2) { Complex64::ONE } else { -I };
        let one = |kz: usize, row: usize| {
            let (operator, image) = home(cycle, unique, [row / cycle[1], row % cycle[1], kz]);
            let sign = |p: &[f64; 3]| (0..2).map(|a| if image >> a & 1 == 1 { p[a] } else { 1.0 }).product::<f64>();
            let wave = &waves[operator * parity.len()..][..parity.len()];
            let wave: Vec<f64> = wave.iter().zip(&parity).map(|(w, p)| w * sign(p)).collect();
            let (matrix, from) = (m2l(self.order, &wave, Domain::Fourier), &multipoles[kz][row]);
            let target = |i: usize| (0..n).map(|j| turn(i) * matrix[j * n + i] * turn(j) * from[j]).sum();
            (0..n).map(target).collect()
        };
        (0..self.half()).map(|kz| (0..cycle[0] * cycle[1]).map(|row| one(kz, row)).collect()).collect()
    }

    /// Local expansions by box from columns.
    fn locals(&self, columns: &Waves) -> Vec<Vec<f64>> {
        let (mz, nz) = (self.grid.topology.shape[2], self.grid.cycle()[2]);
        let one = |leaf: usize| {
            let mut out = vec![0.0; count(self.order)];
            for kz in 0..nz {
                let conjugate = 2 * kz > nz;
                let row = &columns[if conjugate { nz - kz } else { kz }][leaf / mz];
                let phase = (2.0 * PI * I * (kz * (leaf % mz)) as f64 / nz as f64).exp();
                let value = |v: &Complex64| if conjugate { v.conj() } else { *v };
                out.iter_mut().zip(row).for_each(|(o, v)| *o += (phase * value(v)).re);
            }
            out
        };
        (0..self.grid.topology.len()).map(one).collect()
    }

    /// φ, E by place.
    fn potentials(&self, locals: &[Vec<f64>]) -> Vec<[f64; 4]> {
        let table = gradient(self.order);
        let mut out = Vec::new();
        for (leaf, local) in locals.iter().enumerate() {
            for p in &self.particles[self.members(leaf)] {
                let r = regular(self.order, [p[0], p[1], p[2]]);
                let mut sum = [local.iter().zip(&r).map(|(l, r)| l * r).sum(), 0.0, 0.0, 0.0];
                for ((from, weights), r) in table.iter().zip(&r) {
                    for e in 0..5 {
                        sum[1 + e / 2] -= weights[e] * local[from[e] as usize] * r;
                    }
                }
                out.push(sum);
            }
        }
        out
    }

    /// By the convolution of the CPU.
    fn locals_on_cpu(&self, multipoles: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let stride = count(self.order).next_multiple_of(LANES);
        let padded =
            |m: &Vec<f64>| m.iter().copied().chain(std::iter::repeat_n(0.0, stride - m.len())).collect::<Vec<_>>();
        let rows: Vec<f64> = multipoles.iter().flat_map(padded).collect();
        let mut locals = vec![0.0; rows.len()];
        Convolution::new(&self.grid, self.order, stride).apply(&rows, &mut locals, 1, &ScratchPool::new());
        locals.chunks(stride).map(|row| row[..count(self.order)].to_vec()).collect()
    }
}

/// Coefficient by coefficient, errors relative to its largest value.
fn compare<T: Real>(what: &str, found: &[T], expected: &Waves, stride: usize, tolerance: f64) {
    let n = expected[0][0].len();
    let places = tables::places(n.isqrt() - 1);
    let rows: Vec<&Vec<Complex64>> = expected.iter().flatten().collect();
    assert_eq!(found.len(), 2 * stride * rows.len(), "{what}");
    let value = |row: usize, i: usize| {
        let at = 2 * (row * stride + places[i]);
        Complex64::new(found[at].widen(), found[at + 1].widen())
    };
    // A coefficient may vanish by symmetry in few boxes: never compare with less than a thousandth of the largest.
    let largest = |i: usize| rows.iter().map(|r| r[i].norm()).fold(0.0, f64::max);
    let floor = 1e-3 * (0..n).map(largest).fold(0.0, f64::max);
    for i in 0..n {
        let scale = largest(i).max(floor);
        for (row, expected) in rows.iter().enumerate() {
            let (found, expected) = (value(row, i), expected[i]);
            assert!((found - expected).norm() <= tolerance * scale, "{what} {row} {i}: {found} {expected} of {scale}");
        }
    }
}

fn check<T: Real + Pod>(boundary: &Boundary, shape: [usize; 3], order: usize, tolerance: f64) {
    let reference = Reference::new(grid(boundary, shape, 1.08), order);
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    let far = FarField::<T>::new(&device, &reference.grid, order, reference.particles.len()).unwrap();
    let sorted: Vec<T> = reference.particles.iter().flatten().map(|x| T::of(*x)).collect();
    let (sorted, starts) = (device.upload(&sorted).unwrap(), device.upload(&reference.starts).unwrap());
    let out = device.zeros(sorted.len()).unwrap();
    let stride = far.plan.stride;
    let step = |step| far.enqueue_step(step, &stream, &sorted, &starts, &out).unwrap();
    let multipoles = reference.multipoles();

    step(Step::Multipoles);
    let expected = reference.columns(&multipoles);
    compare("multipoles", &far.columns.read(&stream).unwrap(), &expected, stride, tolerance);
    step(Step::Forward);
    let expected = reference.planes(&expected, -1.0);
    compare("waves", &far.waves.read(&stream).unwrap(), &expected, stride, tolerance);
    step(Step::Operators);
    let expected = reference.products(&expected);
    compare("products", &far.waves.read(&stream).unwrap(), &expected, stride, tolerance);
    step(Step::Back);
    let expected = reference.planes(&expected, 1.0);
    compare("columns", &far.columns.read(&stream).unwrap(), &expected, stride, tolerance);
    step(Step::Potentials);
    let expected = reference.potentials(&reference.locals(&expected));
    compare_potentials("potentials", &out.read(&stream).unwrap(), &expected, tolerance);
    far.enqueue(&stream, &sorted, &starts, &out).unwrap();
    let expected = reference.potentials(&reference.locals_on_cpu(&multipoles));
    compare_potentials("convolution", &out.read(&stream).unwrap(), &expected, tolerance);
}

fn compare_potentials<T: Real>(what: &str, found: &[T], expected: &[[f64; 4]], tolerance: f64) {
    let largest =
        |of: std::ops::Range<usize>| expected.iter().flat_map(|e| &e[of.clone()]).fold(0.0_f64, |a, v| a.max(v.abs()));
    let scales = [largest(0..1), largest(1..4), largest(1..4), largest(1..4)];
    for (place, (found, expected)) in found.chunks(4).zip(expected).enumerate() {
        for a in 0..4 {
            let difference = (found[a].widen() - expected[a]).abs();
            assert!(difference <= tolerance * scales[a], "{what} {place} {a}: {found:?} {expected:?}");
        }
    }
}

/// Rounding of sums of some thousand terms.
const F64: f64 = 1e-12;
/// The same in f32, and coordinates rounded to 6e-8 before the harmonics of order 10.
const F32: f64 = 1e-5;

fn cube(n: usize) -> (Boundary, [usize; 3]) {
    (Boundary::rectangular([n as f64; 3]), [n; 3])
}

const TRICLINIC: Boundary = Boundary::Periodic { cell: [[4.1, 0.3, -0.8], [1.9, 3.2, 0.4], [1.6, 1.2, 2.9]] };

#[test]
fn smallest_grids_and_orders() {
    for (n, order) in [(1, 0), (1, 7), (2, 1), (2, 20)] {
        let (boundary, shape) = cube(n);
        check::<f64>(&boundary, shape, order, F64);
    }
}

#[test]
fn boxes_of_three_edges() {
    let boundary = Boundary::rectangular([3.3, 4.0, 4.6]);
    check::<f64>(&boundary, [3, 4, 5], 2, F64);
    check::<f64>(&boundary, [3, 4, 5], 12, F64);
    check::<f32>(&boundary, [5, 3, 4], 10, F32);
}

#[test]
fn cubes() {
    let (boundary, shape) = cube(8);
    check::<f64>(&boundary, shape, 3, F64);
    check::<f32>(&boundary, shape, 7, F32);
    let (boundary, shape) = cube(15);
    check::<f32>(&boundary, shape, 6, F32);
}

/// Several rounds of lines in a plane; several parts of a column, of its particles and of its boxes.
#[test]
fn long_grids() {
    check::<f32>(&Boundary::rectangular([49.0, 3.0, 2.0]), [49, 3, 2], 2, F32);
    check::<f64>(&Boundary::rectangular([2.0, 2.0, 70.0]), [2, 2, 70], 8, F64);
}

#[test]
fn sheared_grids() {
    check::<f64>(&TRICLINIC, [5, 2, 4], 4, F64);
    check::<f32>(&TRICLINIC, [4, 3, 2], 8, F32);
}

#[test]
fn open_axes() {
    check::<f64>(&Boundary::Open, [4, 3, 2], 5, F64);
    check::<f64>(&Boundary::Slab { periods: [[3.0, 0.0, 0.0], [1.5, 2.598, 0.0]] }, [3, 4, 2], 6, F64);
    check::<f64>(&Boundary::Wire { period: [0.7, 0.3, 2.0] }, [3, 2, 3], 3, F64);
}

#[test]
fn planes_that_do_not_fit_are_refused() {
    let device = Device::emulator().unwrap();
    let far = FarField::<f64>::new(&device, &grid(&Boundary::rectangular([1.0; 3]), [150, 150, 1], 1.08), 0, 1);
    let Err(DeviceError::SharedMemory { what, asked, .. }) = far else { panic!("150² boxes in shared memory") };
    // 150 x 151 complex numbers and two tables of 74 x 76.
    assert!(
        what == "a plane of boxes" && (150 * 151 * 16..150 * 151 * 16 + 200_000).contains(&asked),
        "{what} {asked}"
    );
}

/// A row of one box more or less is memory of somebody else.
#[test]
fn expansions_that_do_not_hold_a_row_for_each_box_are_refused() {
    let device = Device::of_tests().unwrap();
    let (boundary, shape) = (Boundary::rectangular([2.0, 3.0, 2.0]), [2, 3, 2]);
    let root = RootField::<f32>::new(&device, &grid(&boundary, shape, 1.12), 3).unwrap();
    let (stream, row) = (device.stream().unwrap(), crate::device::products::row_length(3));
    let [all, short] = [12 * row, 12 * row - 1].map(|n| device.zeros::<f32>(n).unwrap());
    let refused = Err(DeviceError::Length { expected: 12 * row, found: 12 * row - 1 });
    assert_eq!(root.enqueue(&stream, &short, &all), refused);
    assert_eq!(root.enqueue(&stream, &all, &short), refused);
    assert_eq!(root.enqueue(&stream, &all, &all), Ok(()));
    assert_eq!(all.read(&stream).unwrap(), vec![0.0; 12 * row]);
}

/// Of particles and of a refined tree.
fn all_sources<T: Real>(plan: &Plan) -> Vec<Source> {
    sources::<T>(plan).into_iter().chain([root::source::<T>(plan)]).collect()
}

#[test]
fn layouts_are_those_of_the_device() {
    let (device, grid) = (Device::of_tests().unwrap(), grid(&cube(3).0, [3; 3], 1.2));
    let plan = |real| Plan::new(&grid, 4, 100, real, (4, 64 * 1024));
    for source in all_sources::<f32>(&plan(4)).into_iter().chain(all_sources::<f64>(&plan(8))) {
        check_layouts(&device, &source).unwrap();
    }
}

/// Needs libnvrtc, no GPU.
#[test]
fn kernels_compile_for_gpus() {
    for (boundary, n, order) in [(cube(15).0, 15, 7), (cube(43).0, 43, 10), (TRICLINIC, 20, 8), (Boundary::Open, 9, 20)]
    {
        let grid = grid(&boundary, [n; 3], 1.2);
        for real in [4, 8] {
            let plan = Plan::new(&grid, order, 12 * n * n * n, real, (132, 227 * 1024));
            let sources = if real == 4 { all_sources::<f32>(&plan) } else { all_sources::<f64>(&plan) };
            sources.iter().for_each(|source| compiles(source, "sm_90").unwrap());
        }
    }
    let plan = Plan::new(&grid(&cube(15).0, [15; 3], 1.2), 8, 40_000, 4, (40, 64 * 1024));
    sources::<f32>(&plan).iter().for_each(|source| compiles(source, "sm_75").unwrap());
}
