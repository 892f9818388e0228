//! M2L on the root grid as one cyclic convolution: L(c) = Σ_c' T(c − c') M(c') over all boxes and all their images.
//!
//! A discrete Fourier transform over the grid makes it one small product per wave vector, L(k) = T(k) M(k), instead of one per pair of
//! boxes. Because a_lm(−t) = (−1)^l a_lm(t), T(k) is real once expansions are multiplied by (−i)^(l mod 2); because the grid is
//! rectangular, wave vectors that differ by the sign of a component share one operator up to the parities of the harmonics. So each of the
//! (n/2+1)³ operators serves up to 8 rows (re and im of 4 mirror images; ±k are conjugate). Near pairs have T = 0. Open grids are padded to 2m − 1.
//!
//! The same sums as pair by pair, to rounding. Reference for the idea: E. T. Ong, K. M. Lim, K. H. Lee, H. P. Lee, J. Comput. Phys. 192,
//! 244 (2003), doi:10.1016/S0021-9991(03)00356-7 (there for Cartesian multipoles, one scalar convolution per pair of coefficients).

use kernels::{Operator, Real, RowPair, rows_times_matrix};
use rayon::prelude::*;

use crate::fourier::{Line, LineKernel, RealLine};
use crate::grid::BoxGrid;
use crate::harmonics::{Domain, count, m2l, parities};
use crate::grid::BoxGrid;
use crate::scratch::ScratchPool;

/// Operators beyond this many bytes are built when needed instead of kept.
pub const OPERATOR_MEMORY: usize = 1 << 30;

/// Rows per operator: re, im of 4 mirror images.
const ROWS: usize = 8;

/// The convolution of one grid, with its operators and work space.
pub struct Convolution<T> {
    order: usize,
    stride: usize,
    shape: [usize; 3],
    cycle: [usize; 3],
    lines: [Line<T>; 3],
    /// Fourier coefficients of the far field, one table for each wave vector of the positive octant.
    waves: Vec<Vec<f64>>,
    operators: Vec<Operator<T>>,
    /// For each mirror image: sign of even, of odd coefficients (0 where the coefficient has the other parity).
    signs: [[Vec<T>; 2]; 4],
    slabs: Vec<T>,
    columns: Vec<T>,
    lattice: Vec<T>,
    products: Vec<T>,
    back: Vec<T>,
}

impl<T: Real> Convolution<T> {
    /// Operators for expansions of order `order` stored with `stride` elements per box.
    pub fn new(grid: &BoxGrid, order: usize, stride: usize) -> Self {
        let cycle = grid.cycle();
        let half = cycle.map(|n| n / 2 + 1);
        let waves = fourier_coefficients(grid, order);
        let bytes = waves.len() * count(order) * stride * size_of::<T>();
        let build = |w: &Vec<f64>| Operator::new(count(order), count(order), &m2l(order, w, Domain::Fourier));
        let operators = if bytes > OPERATOR_MEMORY { Vec::new() } else { waves.par_iter().map(build).collect() };
        let [mx, my, _] = grid.topology.shape;
        let [nx, ny, _] = cycle;
        let row = 2 * stride;
        Self {
            order,
            stride,
            shape: grid.topology.shape,
            cycle,
            lines: cycle.map(Line::new),
            signs: mirror_signs(order, stride),
            slabs: vec![T::zero(); mx * my * half[2] * row],
            columns: vec![T::zero(); mx * ny * half[2] * row],
            lattice: vec![T::zero(); ny * half[2] * nx * row],
            products: vec![T::zero(); waves.len() * 2 * ROWS * stride],
            back: vec![T::zero(); ny * half[2] * mx * row],
            waves,
            operators,
        }
    }

    /// `locals` = T ∗ `multipoles`; both one row of `stride` elements per box, z fastest.
    pub fn apply(&mut self, multipoles: &[T], locals: &mut [T], pool: &ScratchPool<T>) {
        let [mx, my, mz] = self.shape;
        let [nx, ny, _] = self.cycle;
        let hz = self.cycle[2] / 2 + 1;
        let (stride, row) = (self.stride, 2 * self.stride);
        let [line_x, line_y, line_z] = &self.lines;
        // z: real boxes to half-complex, slab by slab.
        self.slabs.par_chunks_mut(my * hz * row).enumerate().for_each(|(x, slab)| {
            let scratch = &mut *pool.get();
            for y in 0..my {
                let input = &multipoles[(x * my + y) * mz * stride..][..mz * stride];
                let output = &mut slab[y * hz * row..][..hz * row];
                kernels::dispatch(RealLine { line: line_z, stride, n: mz, input, output, scratch, forward: true });
            }
        });
        let slabs = &self.slabs;
        self.columns.par_chunks_mut(ny * hz * row).enumerate().for_each(|(x, out)| {
            let scratch = &mut *pool.get();
            for kz in 0..hz {
                let read = |y: usize| (x * my + y) * hz * row + kz * row;
                let write = |ky: usize| (ky * hz + kz) * row;
                kernels::dispatch(LineKernel {
                    line: line_y,
                    stride,
                    n_in: my,
                    n_out: ny,
                    forward: true,
                    input: slabs,
                    read,
                    output: out,
                    write,
                    scratch,
                });
            }
        });
        let columns = &self.columns;
        self.lattice.par_chunks_mut(hz * nx * row).enumerate().for_each(|(ky, out)| {
            let scratch = &mut *pool.get();
            for kz in 0..hz {
                let read = |x: usize| ((x * ny + ky) * hz + kz) * row;
                let write = |kx: usize| (kz * nx + kx) * row;
                kernels::dispatch(LineKernel {
                    line: line_x,
                    stride,
                    n_in: mx,
                    n_out: nx,
                    forward: true,
                    input: columns,
                    read,
                    output: out,
                    write,
                    scratch,
                });
            }
        });
        self.multiply();
        let [line_x, line_y, line_z] = &self.lines;
        let (products, cycle) = (&self.products, self.cycle);
        self.back.par_chunks_mut(hz * mx * row).enumerate().for_each(|(ky, out)| {
            let scratch = &mut *pool.get();
            for kz in 0..hz {
                let read = |kx: usize| {
                    let (operator, image) = home(cycle, [kx, ky, kz]);
                    (operator * 2 * ROWS + 2 * image) * stride
                };
                let write = |x: usize| (kz * mx + x) * row;
                kernels::dispatch(LineKernel {
                    line: line_x,
                    stride,
                    n_in: nx,
                    n_out: mx,
                    forward: false,
                    input: products,
                    read,
                    output: out,
                    write,
                    scratch,
                });
            }
        });
        let back = &self.back;
        self.slabs.par_chunks_mut(my * hz * row).enumerate().for_each(|(x, out)| {
            let scratch = &mut *pool.get();
            for kz in 0..hz {
                let read = |ky: usize| ((ky * hz + kz) * mx + x) * row;
                let write = |y: usize| (y * hz + kz) * row;
                kernels::dispatch(LineKernel {
                    line: line_y,
                    stride,
                    n_in: ny,
                    n_out: my,
                    forward: false,
                    input: back,
                    read,
                    output: out,
                    write,
                    scratch,
                });
            }
        });
        let slabs = &self.slabs;
        locals.par_chunks_mut(my * mz * stride).enumerate().for_each(|(x, out)| {
            let scratch = &mut *pool.get();
            for y in 0..my {
                let input = &slabs[(x * my + y) * hz * row..][..hz * row];
                let output = &mut out[y * mz * stride..][..mz * stride];
                kernels::dispatch(RealLine { line: line_z, stride, n: mz, input, output, scratch, forward: false });
            }
        });
    }

    /// T(k) M(k) for all wave vectors: rows 0–7 of each operator's part of `products` receive the results, rows 8–15 hold the gathered input.
    fn multiply(&mut self) {
        let (stride, cycle, order) = (self.stride, self.cycle, self.order);
        let half = cycle.map(|n| n / 2 + 1);
        let (lattice, signs, operators, waves) = (&self.lattice, &self.signs, &self.operators, &self.waves);
        self.products.par_chunks_mut(2 * ROWS * stride).enumerate().for_each(|(i, rows)| {
            let u = [i / (half[1] * half[2]), i / half[2] % half[1], i % half[2]];
            let (results, gathered) = rows.split_at_mut(ROWS * stride);
            let mut pairs = [RowPair { target: 0, source: 0 }; ROWS];
            let mut n = 0;
            for (image, signs) in signs.iter().enumerate() {
                let Some(k) = mirrored(cycle, u, image) else { continue };
                let from = ((k[1] * half[2] + k[2]) * cycle[0] + k[0]) * 2 * stride;
                let to = &mut gathered[2 * image * stride..][..2 * stride];
                rotate(&lattice[from..from + 2 * stride], to, signs, stride);
                for part in 0..2 {
                    let row = (2 * image + part) as u32;
                    pairs[n] = RowPair { target: row, source: row };
                    n += 1;
                }
            }
            results.fill(T::zero());
            if let Some(operator) = operators.get(i) {
                rows_times_matrix(operator, &pairs[..n], gathered, stride, results, stride);
            } else {
                let operator = Operator::new(count(order), count(order), &m2l(order, &waves[i], Domain::Fourier));
                rows_times_matrix(&operator, &pairs[..n], gathered, stride, results, stride);
            }
            for (image, signs) in signs.iter().enumerate() {
                let part = 2 * image * stride..2 * (image + 1) * stride;
                gathered[part.clone()].copy_from_slice(&results[part.clone()]);
                rotate(&gathered[part.clone()], &mut results[part], signs, stride);
            }
        });
    }
}

/// Wave vector of mirror image `image` (bit 0: −k_x, bit 1: −k_y) of `u`; none where it is no other one.
fn mirrored(cycle: [usize; 3], u: [usize; 3], image: usize) -> Option<[usize; 3]> {
    let mut k = u;
    for a in 0..2 {
        if image >> a & 1 == 1 {
            if u[a] == 0 || 2 * u[a] == cycle[a] {
                return None;
            }
            k[a] = cycle[a] - u[a];
        }
    }
    Some(k)
}

/// Operator and mirror image of wave vector `k`.
fn home(cycle: [usize; 3], k: [usize; 3]) -> (usize, usize) {
    let (mut u, mut image) = (k, 0);
    for a in 0..2 {
        if 2 * k[a] > cycle[a] {
            u[a] = cycle[a] - k[a];
            image |= 1 << a;
        }
    }
    ((u[0] * (cycle[1] / 2 + 1) + u[1]) * (cycle[2] / 2 + 1) + u[2], image)
}

/// Multiply by (−i)^(l mod 2) and the parities of a mirror image; re in the first, im in the second `stride` elements.
fn rotate<T: Real>(from: &[T], to: &mut [T], signs: &[Vec<T>; 2], stride: usize) {
    let (re, im) = from.split_at(stride);
    let (to_re, to_im) = to.split_at_mut(stride);
    let [even, odd] = signs;
    for i in 0..stride {
        to_re[i] = even[i] * re[i] + odd[i] * im[i];
        to_im[i] = even[i] * im[i] - odd[i] * re[i];
    }
}

fn mirror_signs<T: Real>(order: usize, stride: usize) -> [[Vec<T>; 2]; 4] {
    let parity = parities(order);
    [0, 1, 2, 3].map(|image| {
        [0, 1].map(|odd| {
            let mut signs = vec![T::zero(); stride];
            for (i, p) in parity.iter().enumerate() {
                if i.isqrt() % 2 == odd {
                    signs[i] = T::of((0..2).map(|a| if image >> a & 1 == 1 { p[a] } else { 1.0 }).product());
                }
            }
            signs
        })
    })
}

/// Fourier coefficients of the far field over the cycle, without their phase (−i)^(l mod 2) and divided by the number of wave vectors
/// (for the transform back), for the wave vectors 0..=n/2 per axis. Each axis is a cosine or a sine transform, by the harmonic's parity.
fn fourier_coefficients(grid: &BoxGrid, order: usize) -> Vec<Vec<f64>> {
    let cycle = grid.cycle();
    let half = cycle.map(|n| n / 2 + 1);
    let parity = parities(2 * order);
    let mut table = crate::lattice::waves::octant(grid, 2 * order);
    let total: usize = cycle.iter().product();
    for axis in 0..3 {
        let n = cycle[axis];
        let step = [half[1] * half[2], half[2], 1][axis];
        let starts: Vec<usize> = (0..table.len()).filter(|i| i / step % half[axis] == 0).collect();
        for start in starts {
            let line: Vec<Vec<f64>> = (0..half[axis]).map(|t| std::mem::take(&mut table[start + t * step])).collect();
            for k in 0..half[axis] {
                let mut out = vec![0.0; parity.len()];
                for (t, values) in line.iter().enumerate() {
                    let times = if t == 0 || 2 * t == n { 1.0 } else { 2.0 };
                    let angle = 2.0 * std::f64::consts::PI * ((k * t) % n) as f64 / n as f64;
                    let (sin, cos) = angle.sin_cos();
                    for ((o, v), p) in out.iter_mut().zip(values).zip(&parity) {
                        *o += times * v * if p[axis] > 0.0 { cos } else { sin };
                    }
                }
                table[start + k * step] = out;
            }
        }
    }
    for values in &mut table {
        for (v, p) in values.iter_mut().zip(&parity) {
            // (−i)² for two axes with a sine.
            let sines = p.iter().filter(|s| **s < 0.0).count();
            *v *= if sines >= 2 { -1.0 } else { 1.0 } / total as f64;
        }
    }
    table
}
