//! M2L on the root grid as one cyclic convolution: L(c) = Σ_c' T(c − c') M(c') over all boxes and all their images.
//!
//! A discrete Fourier transform over the grid makes it one small product per wave vector, L(κ) = T(κ) M(κ), instead of one per pair of
//! boxes. Because a_lm(−t) = (−1)^l a_lm(t), T(κ) is real once expansions are multiplied by (−i)^(l mod 2), and each operator serves the
//! rows re and im; ±κ are conjugate. If the grid has mirror symmetry, wave vectors that differ by the sign of a component share one
//! operator up to the parities of the harmonics, so that each of the (n/2+1)³ operators serves up to 8 rows, and as many for each further charge
//! vector. Near pairs have T = 0. Open axes are padded to 2m − 1. Shears of the cell turn the lines of boxes (see `fourier`).
//!
//! The sums are those of pair by pair, to rounding. Reference for the idea: E. T. Ong, K. M. Lim, K. H. Lee, H. P. Lee, J. Comput. Phys. 192,
//! 244 (2003), doi:10.1016/S0021-9991(03)00356-7 (there for Cartesian multipoles, one scalar convolution per pair of coefficients).

use kernels::{Operator, Real, RowPair, set_rows_times_matrix};
use rayon::prelude::*;

use crate::geometry::grid::BoxGrid;
use crate::lattice::waves::{far_field, torus, unique};
use crate::operators::harmonics::{count, parities};
use crate::operators::m2l::fourier::GridTransform;
use crate::operators::m2l::matrix::{Domain, m2l};
use crate::workspace::{ScratchPool, VECTORS};

/// Operators beyond this many bytes are built when needed instead of kept.
pub const OPERATOR_MEMORY: usize = 1 << 30;

/// Mirror images that share an operator, if any do.
const IMAGES: usize = 4;

/// The convolution of one grid, with its operators and work space.
pub struct Convolution<T> {
    order: usize,
    stride: usize,
    /// Expansions of each box, one for each charge vector.
    vectors: usize,
    cycle: [usize; 3],
    /// Wave vectors per axis that have their own operator.
    unique: [usize; 3],
    transform: GridTransform<T>,
    /// Fourier coefficients of the far field for these wave vectors, kept if the operators are not.
    waves: Vec<f64>,
    operators: Vec<Operator<T>>,
    /// For each mirror image: sign of even, of odd coefficients (0 where the coefficient has the other parity).
    signs: Vec<[Vec<T>; 2]>,
    /// Boxes of all lines along x on the way back: for each `[κ₁][κ₂]` that has its own operators the line and, if there are mirror images, that of −κ₁.
    lines: Vec<T>,
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
        let mut out = Self {
            order,
            stride,
            vectors: 0,
            cycle: torus.shape,
            unique,
            signs: (0..images(grid)).map(|image| mirror_signs(order, stride, image)).collect(),
            lines: Vec::new(),
            transform: GridTransform::new(grid.topology.shape, &torus, stride),
            waves,
            operators,
        };
        out.fit(1);
        out
    }

    /// Work space for `vectors` expansions of each box.
    fn fit(&mut self, vectors: usize) {
        if self.vectors == vectors {
            return;
        }
        self.vectors = vectors;
        self.transform.fit(vectors * self.stride);
        let [_, uy, uz] = self.unique;
        self.lines.resize(uy * uz * self.sides() * self.transform.len_of_line(), T::zero());
    }

    /// Lines along x that share operators.
    fn sides(&self) -> usize {
        self.signs.len().div_ceil(2)
    }

    /// `locals` = T ∗ `multipoles`; both `vectors` rows of `stride` elements per box, z fastest.
    pub fn apply(&mut self, multipoles: &[T], locals: &mut [T], vectors: usize, pool: &ScratchPool<T>) {
        self.fit(vectors);
        self.transform.along_z_and_y(multipoles, pool);
        self.multiply(pool);
        let ([_, ny, _], [_, uy, uz], sides) = (self.cycle, self.unique, self.sides());
        let len = self.transform.len_of_line();
        let place = |ky: usize, kz: usize| {
            let (y, side) = if ky < uy { (ky, 0) } else { (ny - ky, 1) };
            ((y * uz + kz) * sides + side) * len
        };
        self.transform.back_along_y_and_z(&self.lines, place, locals, pool);
    }

    /// To the wave vectors, T(κ) M(κ), and back, along x: line by line with the mirror image of the line, so that all that one operator serves is at
    /// hand and in the cache.
    fn multiply(&mut self, pool: &ScratchPool<T>) {
        let (sides, [_, _, uz]) = (self.sides(), self.unique);
        let mut lines = std::mem::take(&mut self.lines);
        let (this, transform) = (&*self, &self.transform);
        let (len, waves_len) = (transform.len_of_line(), transform.len_of_waves());
        lines.par_chunks_mut(sides * len).enumerate().for_each(|(i, lines)| {
            let (y, z) = (i / uz, i % uz);
            let scratch = &mut *pool.get();
            let [mut waves, mut products] = scratch.waves.each_mut().map(std::mem::take);
            waves.resize(sides * waves_len, T::zero());
            products.resize(sides * waves_len, T::zero());
            // The second line is that of −κ₁, which may be the first one itself.
            let line = |side: usize| mirrored(this.cycle, [0, y, z], 2 * side).map(|k| [k[1], k[2]]);
            for (side, waves) in waves.chunks_exact_mut(waves_len).enumerate() {
                line(side).into_iter().for_each(|k| transform.along_x(k, waves, scratch));
            }
            for x in 0..this.unique[0] {
                this.multiply_images([x, y, z], &mut waves, &mut products);
            }
            let of_sides = products.chunks_exact(waves_len).zip(lines.chunks_exact_mut(len)).enumerate();
            for (side, (products, boxes)) in of_sides {
                line(side).into_iter().for_each(|k| transform.back_along_x(k, products, boxes, scratch));
            }
            scratch.waves = [waves, products];
        });
        self.lines = lines;
    }

    /// T(κ) M(κ) for one operator's wave vectors: `u` and its mirror images, of which `waves` and `products` have rows of the line and its mirror image.
    fn multiply_images(&self, u: [usize; 3], waves: &mut [T], products: &mut [T]) {
        let (stride, rows, [nx, ..], [_, uy, uz]) = (self.stride, 2 * self.vectors, self.cycle, self.unique);
        let first = |image: usize| mirrored(self.cycle, u, image).map(|k| (image / 2 * nx + k[0]) * rows);
        let images = || self.signs.iter().enumerate().filter_map(|(image, signs)| Some((first(image)?, signs)));
        let mut pairs = [RowPair { target: 0, source: 0 }; 2 * IMAGES * VECTORS];
        let mut n = 0;
        for (first, signs) in images() {
            rotate(&mut waves[first * stride..][..rows * stride], signs);
            for row in first as u32..(first + rows) as u32 {
                pairs[n] = RowPair { target: row, source: row };
                n += 1;
            }
        }
        let i = (u[0] * uy + u[1]) * uz + u[2];
        if let Some(operator) = self.operators.get(i) {
            set_rows_times_matrix(operator, &pairs[..n], waves, stride, products, stride);
        } else {
            let coefficients = count(2 * self.order);
            let operator = operator(self.order, &self.waves[i * coefficients..][..coefficients]);
            set_rows_times_matrix(&operator, &pairs[..n], waves, stride, products, stride);
        }
        for (first, signs) in images() {
            rotate(&mut products[first * stride..][..rows * stride], signs);
        }
    }
}

/// Most wave vectors that one operator serves; their conjugates come on top.
pub fn images(grid: &BoxGrid) -> usize {
    if grid.is_mirror_symmetric() { IMAGES } else { 1 }
}

/// Operator of one wave vector.
fn operator<T: Real>(order: usize, wave: &[f64]) -> Operator<T> {
    Operator::new(count(order), count(order), &elements::<T>(order, wave))
}

/// Its elements. Those below ε² of the largest, ε of `T`, are what rounding in f64 leaves of zeros, and are zeros here: their products with expansions
/// would be denormal numbers in f32, each of which takes some processors a hundred cycles.
fn elements<T: Real>(order: usize, wave: &[f64]) -> Vec<f64> {
    let mut elements = m2l(order, wave, Domain::Fourier);
    let largest = elements.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    let least = T::epsilon().widen().powi(2) * largest;
    elements.iter_mut().filter(|x| x.abs() < least).for_each(|x| *x = 0.0);
    elements
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

/// Multiply by (−i)^(l mod 2) and the parities of a mirror image; re of all charge vectors in the first half, im in the second.
fn rotate<T: Real>(rows: &mut [T], [even, odd]: &[Vec<T>; 2]) {
    let (re, im) = rows.split_at_mut(rows.len() / 2);
    for (re, im) in re.chunks_exact_mut(even.len()).zip(im.chunks_exact_mut(even.len())) {
        for (((re, im), even), odd) in re.iter_mut().zip(im).zip(even).zip(odd) {
            (*re, *im) = (*even * *re + *odd * *im, *even * *im - *odd * *re);
        }
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
