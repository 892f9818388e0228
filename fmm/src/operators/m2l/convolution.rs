//! M2L on the root grid as one cyclic convolution: L(c) = Σ_c' T(c − c') M(c') over all boxes and all their images.
//!
//! A discrete Fourier transform over the grid makes it one small product per wave vector, L(κ) = T(κ) M(κ), instead of one per pair of
//! boxes. Because a_lm(−t) = (−1)^l a_lm(t), T(κ) is real once expansions are multiplied by (−i)^(l mod 2), and each operator serves the
//! rows re and im; ±κ are conjugate. If the grid has mirror symmetry, wave vectors that differ by the sign of a component share one
//! operator up to the parities of the harmonics, so that each of the (n/2+1)³ operators serves up to 8 rows. Near pairs have T = 0. Open
//! axes are padded to 2m − 1. Shears of the cell turn the lines of boxes (see `fourier`).
//!
//! The sums are those of pair by pair, to rounding. Reference for the idea: E. T. Ong, K. M. Lim, K. H. Lee, H. P. Lee, J. Comput. Phys. 192,
//! 244 (2003), doi:10.1016/S0021-9991(03)00356-7 (there for Cartesian multipoles, one scalar convolution per pair of coefficients).

use kernels::{Operator, Real, RowPair, rows_times_matrix};
use rayon::prelude::*;

use crate::geometry::grid::BoxGrid;
use crate::lattice::waves::{far_field, torus, unique};
use crate::operators::harmonics::{count, parities};
use crate::operators::m2l::fourier::GridTransform;
use crate::operators::m2l::matrix::{Domain, m2l};
use crate::workspace::ScratchPool;

/// Operators beyond this many bytes are built when needed instead of kept.
pub const OPERATOR_MEMORY: usize = 1 << 30;

/// Mirror images that share an operator, if any do.
const IMAGES: usize = 4;

/// The convolution of one grid, with its operators and work space.
pub struct Convolution<T> {
    order: usize,
    stride: usize,
    cycle: [usize; 3],
    /// Wave vectors per axis that have their own operator.
    unique: [usize; 3],
    transform: GridTransform<T>,
    /// Fourier coefficients of the far field for these wave vectors, kept if the operators are not.
    waves: Vec<f64>,
    operators: Vec<Operator<T>>,
    /// For each mirror image: sign of even, of odd coefficients (0 where the coefficient has the other parity).
    signs: Vec<[Vec<T>; 2]>,
    lattice: Vec<T>,
    products: Vec<T>,
}

impl<T: Real> Convolution<T> {
    /// Operators for expansions of order `order` stored with `stride` elements per box.
    pub fn new(grid: &BoxGrid, order: usize, stride: usize) -> Self {
        Self::from_waves(grid, order, stride, far_field(grid, 2 * order))
    }

    /// The same with other coefficients in the place of those of [`far_field`].
    pub fn from_waves(grid: &BoxGrid, order: usize, stride: usize, mut waves: Vec<f64>) -> Self {
        let (torus, unique) = (torus(grid), unique(grid));
        let n_waves: usize = unique.iter().product();
        let bytes = n_waves * count(order) * stride * size_of::<T>();
        let mut operators = Vec::new();
        if bytes <= OPERATOR_MEMORY {
            waves.par_chunks(count(2 * order)).map(|w| operator(order, w)).collect_into_vec(&mut operators);
            waves = Vec::new();
        }
        let transform = GridTransform::new(grid.topology.shape, &torus, stride);
        let images = images(grid);
        Self {
            order,
            stride,
            cycle: torus.shape,
            unique,
            signs: (0..images).map(|image| mirror_signs(order, stride, image)).collect(),
            lattice: vec![T::zero(); transform.len()],
            products: vec![T::zero(); n_waves * 4 * images * stride],
            transform,
            waves,
            operators,
        }
    }

    /// `locals` = T ∗ `multipoles`; both one row of `stride` elements per box, z fastest.
    pub fn apply(&mut self, multipoles: &[T], locals: &mut [T], pool: &ScratchPool<T>) {
        self.transform.forward(multipoles, &mut self.lattice, pool);
        self.multiply();
        let (cycle, unique, images, stride) = (self.cycle, self.unique, self.signs.len(), self.stride);
        let place = |k: [usize; 3]| {
            let (operator, image) = home(cycle, unique, k);
            (operator * 4 * images + 2 * image) * stride
        };
        self.transform.back(&self.products, place, locals, pool);
    }

    /// T(κ) M(κ) for all wave vectors: the first half of the rows of each operator's part of `products` receives the results, the second
    /// half holds the gathered input.
    fn multiply(&mut self) {
        let (stride, cycle, order, unique) = (self.stride, self.cycle, self.order, self.unique);
        let (lattice, signs, operators, waves) = (&self.lattice, &self.signs, &self.operators, &self.waves);
        let [_, uy, uz] = unique;
        let rows = 2 * signs.len();
        self.products.par_chunks_mut(2 * rows * stride).enumerate().for_each(|(i, part)| {
            let u = [i / (uy * uz), i / uz % uy, i % uz];
            let (results, gathered) = part.split_at_mut(rows * stride);
            let mut pairs = [RowPair { target: 0, source: 0 }; 2 * IMAGES];
            let mut n = 0;
            for (image, signs) in signs.iter().enumerate() {
                let Some(k) = mirrored(cycle, u, image) else { continue };
                let from = ((k[1] * uz + k[2]) * cycle[0] + k[0]) * 2 * stride;
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
                let coefficients = count(2 * order);
                let operator = operator(order, &waves[i * coefficients..][..coefficients]);
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

/// Most wave vectors that one operator serves; their conjugates come on top.
pub fn images(grid: &BoxGrid) -> usize {
    if grid.is_mirror_symmetric() { IMAGES } else { 1 }
}

/// Operator of one wave vector.
fn operator<T: Real>(order: usize, wave: &[f64]) -> Operator<T> {
    Operator::new(count(order), count(order), &m2l(order, wave, Domain::Fourier))
}

/// Wave vector of mirror image `image` (bit 0: −κ₀, bit 1: −κ₁) of `u`; none where it is `u` itself or an image that another bit names.
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
pub fn home(cycle: [usize; 3], unique: [usize; 3], k: [usize; 3]) -> (usize, usize) {
    let (mut u, mut image) = (k, 0);
    for a in 0..2 {
        if k[a] >= unique[a] {
            u[a] = cycle[a] - k[a];
            image |= 1 << a;
        }
    }
    ((u[0] * unique[1] + u[1]) * unique[2] + u[2], image)
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

fn mirror_signs<T: Real>(order: usize, stride: usize, image: usize) -> [Vec<T>; 2] {
    let parity = parities(order);
    [0, 1].map(|odd| {
        let mut signs = vec![T::zero(); stride];
        for (i, p) in parity.iter().enumerate() {
            if i.isqrt() % 2 == odd {
                signs[i] = T::of((0..2).map(|a| if image >> a & 1 == 1 { p[a] } else { 1.0 }).product());
            }
        }
        signs
    })
}

#[cfg(test)]
mod tests;
