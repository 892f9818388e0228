//! M2L along a rotated axis: (p + 1)³ operations instead of (p + 1)⁴.
//!
//! The frame is turned so that the vector t from source to target lies along z, with Q = R_y(−θ) R_z(−φ):
//!
//!   M' = D M,   L'_lm = Σ_j (−1)^{l+m} √[ C(l+j, l−m) C(l+j, l+m) ] / |t|^{l+j+1} · M'_jm,   L = Dᵀ L',   R̂_l(Q r) = D^l R̂_l(r).
//!
//! D is orthogonal since the harmonics are normalised (`harmonics.rs`). About z it multiplies the pair (cos mφ', sin mφ') by a phase; about y it
//! leaves cosines and sines apart, one block each for every l. Reference: C. A. White, M. Head-Gordon, J. Chem. Phys. 105, 5061 (1996),
//! doi:10.1063/1.472369.
//!
//! The blocks of each degree are made from those of the degree before. ∇ takes the irregular harmonics of degree l, times the three axes, to those of degree l + 1
//! by a matrix G with G Gᵀ = (l + 1)(2l + 1) (Schur's lemma), so
//!
//!   D^{l+1} = G (Q ⊗ D^l) Gᵀ / [(l + 1)(2l + 1)].
//!
//! G / √[(l + 1)(2l + 1)] has orthonormal rows: an error of D^l is not amplified, at any order. (The recursion of J. Ivanic, K. Ruedenberg,
//! J. Phys. Chem. 100, 6342 (1996), doi:10.1021/jp953350u, uses one of the nine terms of G or another.)

use kernels::{Line, Real, RowPair, Vector, VectorKernel};

use crate::operators::gradient::gradient_irregular;
use crate::operators::harmonics::{count, sqrt_factorials};

/// Outputs that share one load of an input: their sums, the input and one broadcast fit 16 registers of half a cache line.
const TILE: usize = 6;

/// Blocks D^l, l = 0..=p, row-major `[m][m']` with m from −l: R̂_lm(Q r) = Σ_m' D^l_mm' R̂_lm'(r) for a proper rotation Q, `q[row][column]`.
pub fn rotation_blocks(p: usize, q: [[f64; 3]; 3]) -> Vec<Vec<f64>> {
    const AXIS: [usize; 5] = [0, 0, 1, 1, 2];
    let gradient = gradient_irregular(p);
    let mut out = vec![vec![1.0]];
    for l in 0..p {
        let (n, below) = (2 * l + 3, 2 * l + 1);
        let rows = &gradient[count(l)..count(l + 1)];
        let norm = 1.0 / ((l + 1) * (2 * l + 1)) as f64;
        let mut block = vec![0.0; n * n];
        for (row, (s, w)) in block.chunks_exact_mut(n).zip(rows) {
            for e in (0..5).filter(|e| w[*e] != 0.0) {
                let before = &out[l][(s[e] as usize - l * l) * below..][..below];
                let weights = q[AXIS[e]].map(|q| norm * q * w[e]);
                if weights == [0.0; 3] {
                    continue;
                }
                for (value, (t, v)) in row.iter_mut().zip(rows) {
                    for f in 0..5 {
                        *value += weights[AXIS[f]] * v[f] * before[(t[f] as usize).saturating_sub(l * l)];
                    }
                }
            }
        }
        out.push(block);
    }
    out
}

/// M2L operator for one vector between box centres, applied to a cache line of box pairs at a time.
pub struct RotationM2l<T> {
    order: usize,
    /// cos mφ, sin mφ for m = 0..=p.
    phases: Vec<[T; 2]>,
    /// Blocks of D about y in the order of use: for each l cosines, then sines.
    turn: Vec<T>,
    /// For each m the matrix `[l][j]` along z.
    shift: Vec<T>,
    /// As `turn`, transposed.
    turn_back: Vec<T>,
}

impl<T: Real> RotationM2l<T> {
    /// Operator of order `order` for targets at `t` ≠ 0 from the source, in units of the scale of both boxes.
    pub fn new(order: usize, t: [f64; 3]) -> Self {
        let distance = (t[0] * t[0] + t[1] * t[1] + t[2] * t[2]).sqrt();
        let (cos, sin) = (t[2] / distance, t[0].hypot(t[1]) / distance);
        let azimuth = t[1].atan2(t[0]);
        let blocks = rotation_blocks(order, [[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]]);
        let (mut turn, mut turn_back, mut shift) = (Vec::new(), Vec::new(), Vec::new());
        for (l, d) in blocks.iter().enumerate() {
            let (n, cosine) = (2 * l + 1, |i: usize, k: usize| d[(l + i) * (2 * l + 1) + l + k]);
            let sine = |i: usize, k: usize| d[(l - 1 - i) * n + l - 1 - k];
            pack(&mut turn, l + 1, l + 1, cosine);
            pack(&mut turn, l, l, sine);
            pack(&mut turn_back, l + 1, l + 1, |i, k| cosine(k, i));
            pack(&mut turn_back, l, l, |i, k| sine(k, i));
        }
        let root = sqrt_factorials(2 * order);
        for m in 0..=order {
            pack(&mut shift, order + 1 - m, order + 1 - m, |i, k| {
                let (l, j) = (m + i, m + k);
                let binomials = root[l + j] / (root[l - m] * root[j + m]) * (root[l + j] / (root[l + m] * root[j - m]));
                let sign = if i.is_multiple_of(2) { 1.0 } else { -1.0 };
                sign * binomials / distance.powi((l + j + 1) as i32)
            });
        }
        let phase = |m: usize| [(m as f64 * azimuth).cos(), (m as f64 * azimuth).sin()].map(T::of);
        Self { order, phases: (0..=order).map(phase).collect(), turn, shift, turn_back }
    }

    /// targets[pair.target] += M2L(sources[pair.source]) for each pair; row r starts at r · stride.
    ///
    /// # Panics
    /// If a row of a pair lies outside.
    pub fn apply(
        &self,
        pairs: &[RowPair],
        (sources, source_stride): (&[T], usize),
        (targets, target_stride): (&mut [T], usize),
        scratch: &mut Vec<T::Line>,
    ) {
        kernels::dispatch_vectors(Apply {
            operator: self,
            pairs,
            sources,
            source_stride,
            targets,
            target_stride,
            scratch,
        });
    }
}

/// Heights of the tiles of `n` outputs: as few as possible, as even as possible.
fn tiles(n: usize) -> impl Iterator<Item = usize> {
    let count = n.div_ceil(TILE);
    (0..count).map(move |i| (n + i) / count)
}

/// Append a matrix, tile after tile of outputs, the elements of one input side by side.
fn pack<T: Real>(to: &mut Vec<T>, n_out: usize, n_in: usize, element: impl Fn(usize, usize) -> f64) {
    let mut first = 0;
    for height in tiles(n_out) {
        to.extend(
            (0..n_in).flat_map(|k| (first..first + height).map(move |i| (i, k))).map(|(i, k)| T::of(element(i, k))),
        );
        first += height;
    }
}

struct Apply<'a, T: Real> {
    operator: &'a RotationM2l<T>,
    pairs: &'a [RowPair],
    sources: &'a [T],
    source_stride: usize,
    targets: &'a mut [T],
    target_stride: usize,
    scratch: &'a mut Vec<T::Line>,
}

impl<T: Real> VectorKernel<T> for Apply<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = T, Line = T::Line>>(self, zero: V) {
        let n = count(self.operator.order);
        self.scratch.resize(2 * n, T::Line::ZERO);
        let (natural, turned) = self.scratch.split_at_mut(n);
        for pairs in self.pairs.chunks(V::LANES) {
            let mut rows = [[].as_slice(); 16];
            let mut starts = [0; 16];
            // Lanes without a pair repeat the last one and are dropped in the end.
            for i in 0..V::LANES {
                let pair = pairs[i.min(pairs.len() - 1)];
                rows[i] = &self.sources[pair.source as usize * self.source_stride..][..n];
                starts[i] = pair.target as usize * self.target_stride;
            }
            zero.gather(&rows[..V::LANES], natural);
            self.operator.translate(zero, natural, turned);
            zero.scatter_add(natural, self.targets, &starts[..pairs.len()]);
        }
    }
}

impl<T: Real> RotationM2l<T> {
    /// Multipoles to local expansions in `natural`; line l² + l + m holds coefficient (l, m).
    ///
    /// Inside, coefficients are ordered by l (line l² + m for cosines, l² + l + m for sines) or by m (`by_m`).
    #[inline(always)]
    fn translate<V: Vector<Elem = T, Line = T::Line>>(&self, zero: V, natural: &mut [T::Line], turned: &mut [T::Line]) {
        let p = self.order;
        for l in 0..=p {
            natural[l * l + l].clone_into(&mut turned[l * l]);
        }
        for (m, phase) in self.phases.iter().enumerate().skip(1) {
            let (cos, sin) = (zero.splat(phase[0]), zero.splat(phase[1]));
            for l in m..=p {
                let (c, s) = (zero.load(&natural[l * l + l + m]), zero.load(&natural[l * l + l - m]));
                cos.mul_add(c, sin.mul(s)).store(&mut turned[l * l + m]);
                cos.mul(s).sub(sin.mul(c)).store(&mut turned[l * l + l + m]);
            }
        }
        let mut matrix = &self.turn[..];
        for l in 0..=p {
            let (cosines, sines) = turned[l * l..][..2 * l + 1].split_at(l + 1);
            product(zero, &mut matrix, cosines, l + 1, natural, |m| by_m(p, m, false) + l - m);
            product(zero, &mut matrix, sines, l, natural, |i| by_m(p, i + 1, true) + l - (i + 1));
        }
        let mut matrix = &self.shift[..];
        for m in 0..=p {
            let n = p + 1 - m;
            let mut again = matrix;
            let cosines = &natural[by_m(p, m, false)..][..n];
            product(zero, &mut matrix, cosines, n, turned, |i| (m + i) * (m + i) + m);
            if m > 0 {
                let sines = &natural[by_m(p, m, true)..][..n];
                product(zero, &mut again, sines, n, turned, |i| (m + i) * (m + i + 1) + m);
            }
        }
        let mut matrix = &self.turn_back[..];
        for l in 0..=p {
            let (cosines, sines) = turned[l * l..][..2 * l + 1].split_at(l + 1);
            product(zero, &mut matrix, cosines, l + 1, natural, |m| l * l + l + m);
            product(zero, &mut matrix, sines, l, natural, |i| l * l + l - (i + 1));
        }
        for (m, phase) in self.phases.iter().enumerate().skip(1) {
            let (cos, sin) = (zero.splat(phase[0]), zero.splat(phase[1]));
            for l in m..=p {
                let (c, s) = (zero.load(&natural[l * l + l + m]), zero.load(&natural[l * l + l - m]));
                cos.mul(c).sub(sin.mul(s)).store(&mut natural[l * l + l + m]);
                cos.mul_add(s, sin.mul(c)).store(&mut natural[l * l + l - m]);
            }
        }
    }
}

/// First line of the cosines or sines of m, ordered by m, of length p + 1 − m.
#[inline(always)]
fn by_m(p: usize, m: usize, sines: bool) -> usize {
    match (m, sines) {
        (0, _) => 0,
        // p + 1, then 2 (p + 1 − k) for k = 1..m.
        _ => (p + 1) * (2 * m - 1) - m * (m - 1) + if sines { p + 1 - m } else { 0 },
    }
}

/// Lines of `out` at `place`(i) for i below `n_out`: matrix times the lines of `input`. Takes what it uses off the front of `matrix`.
#[inline(always)]
fn product<V: Vector>(
    zero: V,
    matrix: &mut &[V::Elem],
    input: &[V::Line],
    n_out: usize,
    out: &mut [V::Line],
    place: impl Fn(usize) -> usize,
) {
    let mut first = 0;
    for height in tiles(n_out) {
        let (tile, rest) = matrix.split_at(height * input.len());
        *matrix = rest;
        let place = |i: usize| place(first + i);
        match height {
            1 => tile_product::<V, 1>(zero, tile, input, out, place),
            2 => tile_product::<V, 2>(zero, tile, input, out, place),
            3 => tile_product::<V, 3>(zero, tile, input, out, place),
            4 => tile_product::<V, 4>(zero, tile, input, out, place),
            5 => tile_product::<V, 5>(zero, tile, input, out, place),
            _ => tile_product::<V, TILE>(zero, tile, input, out, place),
        }
        first += height;
    }
}

#[inline(always)]
fn tile_product<V: Vector, const M: usize>(
    zero: V,
    matrix: &[V::Elem],
    input: &[V::Line],
    out: &mut [V::Line],
    place: impl Fn(usize) -> usize,
) {
    let mut sums = [zero; M];
    for (line, column) in input.iter().zip(matrix.as_chunks::<M>().0) {
        let v = zero.load(line);
        for (sum, x) in sums.iter_mut().zip(column) {
            *sum = zero.splat(*x).mul_add(v, *sum);
        }
    }
    for (i, sum) in sums.into_iter().enumerate() {
        sum.store(&mut out[place(i)]);
    }
}

#[cfg(test)]
mod tests;
