//! Fourier coefficients of the far field over a whole grid: T_lm(κ) = Σ_u a_lm(u) e^{−2πi f·u}, f the wave vector of κ (see `fourier`).
//!
//! a_lm(−u) = (−1)^l a_lm(u) makes T (−i)^(l mod 2) times a real number. That number is what is kept: for half of the wave vectors, or
//! for one octant if the grid has mirror symmetry.
//!
//! Of the Ewald sums only the terms over images are made box by box and transformed. The reciprocal term of k is added to its wave vector: all
//! k = 2π Σ_a (f_a + g_a) d_a with integer g (d: dual vectors of a box) have the same phases on the boxes. Each image and each k is
//! taken once for the whole grid. In a slab, f₂ runs over the waves of a higher cell of n' boxes, whose sum over the 2n − 1
//! distances of boxes is D(κ', κ₂) = Σ_{|u|<n} cos 2πu(κ'/n' − κ₂/(2n−1)).

use std::f64::consts::PI;

use kernels::Kernel;
use rayon::prelude::*;

use super::cell::{Cell, DIGITS, triples};
use super::open::add_one;
use super::slab;
use super::split::Ewald;
use super::wire::Wire;
use crate::geometry::boundary::{cross, dot, norm};
use crate::geometry::grid::{BoxGrid, Topology};
use crate::operators::harmonics::{Recursion, count, parities};
use crate::operators::m2l::fourier::{GridTransform, wave_vector};
use crate::workspace::{LANES, ScratchPool};

/// The cycle of the convolution as a grid that repeats along all axes.
pub fn torus(grid: &BoxGrid) -> Topology {
    Topology { shape: grid.cycle(), periodic: [true; 3], shear: grid.topology.shear }
}

/// Wave vectors per axis whose coefficients are kept, κ_a = 0, 1, …; the others follow by reflection.
pub fn unique(grid: &BoxGrid) -> [usize; 3] {
    let [nx, ny, nz] = grid.cycle();
    if grid.is_mirror_symmetric() { [nx, ny, nz].map(|n| n / 2 + 1) } else { [nx, ny, nz / 2 + 1] }
}

/// T_lm(κ) / (number of wave vectors of the cycle) up to order `order` for the [`unique`] wave vectors, κ₂ fastest.
pub fn far_field(grid: &BoxGrid, order: usize) -> Vec<f64> {
    let recursion = Recursion::new(order);
    let open = |u: [i32; 3], row: &mut [f64]| add_one(&mut row[..count(order)], grid, &recursion, u);
    match grid.topology.periodic {
        [true, true, _] => {}
        [true, false, _] => {
            let wire = Wire::new(grid, order);
            return transformed(grid, order, |u, row| wire.add(row, u));
        }
        _ => return transformed(grid, order, open),
    }
    let ewald = Ewald::for_grid(grid, order);
    let mut waves = transformed(grid, order, |u, row| {
        ewald.add_images(row, u);
        if ewald.cell.is_slab {
            slab::add_uniform(row, &ewald, grid.vector(u.map(f64::from)));
        }
    });
    ewald.add_folded(&mut waves);
    waves
}

/// Transform of a_lm(u), which `add` adds to zeros.
fn transformed(grid: &BoxGrid, order: usize, add: impl Fn([i32; 3], &mut [f64]) + Sync) -> Vec<f64> {
    if grid.is_mirror_symmetric() { mirrored(grid, order, add) } else { general(grid, order, add) }
}

/// For a grid with mirror symmetry: cosine or sine transforms, by the parity of the harmonic.
fn mirrored(grid: &BoxGrid, order: usize, add: impl Fn([i32; 3], &mut [f64]) + Sync) -> Vec<f64> {
    let (n, cycle) = (count(order), grid.cycle());
    let octant = Topology { shape: unique(grid), periodic: [false; 3], shear: [0; 3] };
    let mut table = vec![0.0; octant.len() * n];
    table.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
        add(octant.coordinates(i).map(|u| u as i32), row);
    });
    let parity = parities(order);
    let mut waves = mirror_transform(table, cycle, &parity);
    let total: usize = cycle.iter().product();
    let signs: Vec<f64> = mirror_signs(&parity).map(|s| s / total as f64).collect();
    waves.par_chunks_mut(n).for_each(|row| row.iter_mut().zip(&signs).for_each(|(v, s)| *v *= s));
    waves
}

/// (−i)² for two or three axes with a sine.
pub(super) fn mirror_signs(parity: &[[f64; 3]]) -> impl Iterator<Item = f64> {
    let sines = |p: &[f64; 3]| p.iter().filter(|s| **s < 0.0).count();
    parity.iter().map(move |p| if sines(p) >= 2 { -1.0 } else { 1.0 })
}

/// Sums over a whole cycle of an octant of rows, along each axis with cosines for even and sines for odd coefficients. Its own inverse but
/// for a factor, the length of the cycle.
pub(super) fn mirror_transform(mut table: Vec<f64>, cycle: [usize; 3], parity: &[[f64; 3]]) -> Vec<f64> {
    let n = parity.len();
    // Each pass transforms the first axis and makes it the last.
    let mut shape = cycle.map(|n| n / 2 + 1);
    for axis in 0..3 {
        let factors = line_factors(cycle[axis]);
        let even: Vec<f64> = parity.iter().map(|p| if p[axis] > 0.0 { 1.0 } else { 0.0 }).collect();
        let [a, b, c] = shape;
        let mut out = vec![0.0; table.len()];
        out.par_chunks_mut(c * a * n).enumerate().for_each(|(y, out)| {
            for z in 0..c {
                let input = |t: usize| &table[((t * b + y) * c + z) * n..][..n];
                let output = &mut out[z * a * n..][..a * n];
                kernels::dispatch(MirrorLine { factors: &factors, even: &even, input, output });
            }
        });
        (table, shape) = (out, [b, c, a]);
    }
    table
}

/// (cos, sin) of 2πkt/n for t, k = 0..=n/2, `[k][t]`, twice where −t is another box than t.
fn line_factors(n: usize) -> Vec<(f64, f64)> {
    let half = n / 2;
    let factor = |k: usize, t: usize| {
        let times = if t == 0 || 2 * t == n { 1.0 } else { 2.0 };
        let (sin, cos) = (2.0 * PI * ((k * t) % n) as f64 / n as f64).sin_cos();
        (times * cos, times * sin)
    };
    (0..=half).flat_map(|k| (0..=half).map(move |t| factor(k, t))).collect()
}

/// Cosine transform of even, sine transform of odd coefficients along one line.
struct MirrorLine<'a, I> {
    factors: &'a [(f64, f64)],
    even: &'a [f64],
    input: I,
    output: &'a mut [f64],
}

impl<'a, I: Fn(usize) -> &'a [f64]> Kernel for MirrorLine<'a, I> {
    type Output = ();

    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let Self { factors, even, input, output } = self;
        let n = even.len();
        let half = output.len() / n;
        for (row, factors) in output.chunks_exact_mut(n).zip(factors.chunks_exact(half)) {
            row.fill(0.0);
            for (t, &(cos, sin)) in factors.iter().enumerate() {
                for ((o, v), even) in row.iter_mut().zip(input(t)).zip(even) {
                    *o = kernels::fma::<FMA, f64>(kernels::fma::<FMA, f64>(*even, cos - sin, sin), *v, *o);
                }
            }
        }
    }
}

/// For any grid.
fn general(grid: &BoxGrid, order: usize, add: impl Fn([i32; 3], &mut [f64]) + Sync) -> Vec<f64> {
    let (n, torus) = (count(order), torus(grid));
    let stride = n.next_multiple_of(LANES);
    let offset = |i: usize| {
        let c = torus.coordinates(i);
        [0, 1, 2].map(|a| {
            let beyond = !grid.topology.periodic[a] && 2 * c[a] > torus.shape[a];
            c[a] as i32 - if beyond { torus.shape[a] as i32 } else { 0 }
        })
    };
    let reversed = |i: usize| torus.wrap(offset(i).map(|u| -u)).map_or(i, |c| torus.index(c));
    let mut table = vec![0.0; torus.len() * stride];
    table.par_chunks_mut(stride).enumerate().for_each(|(i, row)| {
        if i <= reversed(i) {
            add(offset(i), &mut row[..n]);
        }
    });
    for i in 0..torus.len() {
        let from = reversed(i);
        if from < i {
            let (done, rest) = table.split_at_mut(i * stride);
            for (j, (to, v)) in rest[..n].iter_mut().zip(&done[from * stride..]).enumerate() {
                *to = if j.isqrt() % 2 == 0 { *v } else { -v };
            }
        }
    }
    let mut transform = GridTransform::new(torus.shape, &torus, stride);
    let mut complex = vec![0.0; transform.len()];
    transform.forward(&table, &mut complex, &ScratchPool::new());
    let [nx, ny, _] = torus.shape;
    let hz = torus.shape[2] / 2 + 1;
    let mut waves = vec![0.0; nx * ny * hz * n];
    let total = torus.len() as f64;
    waves.par_chunks_mut(n).enumerate().for_each(|(i, row)| {
        let [kx, ky, kz] = [i / (ny * hz), i / hz % ny, i % hz];
        let (re, im) = complex[((ky * hz + kz) * nx + kx) * 2 * stride..][..2 * stride].split_at(stride);
        for (j, v) in row.iter_mut().enumerate() {
            *v = if j.isqrt() % 2 == 0 { re[j] } else { -im[j] } / total;
        }
    });
    waves
}

impl<'a> Ewald<'a> {
    /// Both sums equally long for the whole grid.
    fn for_grid(grid: &'a BoxGrid, order: usize) -> Self {
        let cell = Cell::new(grid);
        let [nx, ny, nz] = grid.topology.shape;
        let boxes = nx * ny * if cell.is_slab { high_boxes(grid, &cell) } else { nz };
        // With c = αR: 4πR³/3 images, N k³/6π² wave vectors to k = 2αc; c⁶ ≈ 10⁵.
        let radius = (3.0e3 * boxes as f64).powf(1.0 / 6.0).max(5.0);
        // What is left out is e^{−c²} times the growth of the harmonics relative to 2^(l+1), at most e^{2c²/R} in both sums.
        let alpha = (DIGITS / (1.0 - 2.0 / radius)).sqrt() / radius;
        Self::new(grid, order, cell, alpha, radius)
    }

    /// Add the reciprocal terms to the [`unique`] Fourier coefficients.
    fn add_folded(&self, waves: &mut [f64]) {
        let n = count(self.order);
        let torus = torus(self.grid);
        let [_, uy, uz] = unique(self.grid);
        let [_, _, nz] = self.grid.topology.shape;
        let high = if self.cell.is_slab { high_boxes(self.grid, &self.cell) } else { nz };
        let [e0, e1, e2] = self.grid.basis;
        let boxes = Cell::spanned([[0; 3]; 3], [e0, e1, e2], false);
        let volume = self.grid.topology.shape[..2].iter().product::<usize>() as f64 * high as f64 * boxes.volume;
        let cell = Cell { volume, ..boxes };
        // (−1)^⌊l/2⌋/(2l−1)!!
        let mut factors = vec![1.0; self.order + 1];
        for l in 1..=self.order {
            factors[l] = factors[l - 1] / (2 * l - 1) as f64 * if l % 2 == 0 { -1.0 } else { 1.0 };
        }
        waves.par_chunks_mut(uz * n).enumerate().for_each(|(line, rows)| {
            let (mut sum, mut values) = (vec![0.0; n], vec![0.0; n]);
            for kz in 0..if self.cell.is_slab { high } else { uz } {
                let kappa = [line / uy, line % uy, kz];
                let mut f = wave_vector(&torus, kappa);
                if self.cell.is_slab {
                    f = wave_vector(&torus, [kappa[0], kappa[1], 0]);
                    f[2] = kz as f64 / high as f64;
                }
                sum.fill(0.0);
                self.fold(&cell, f, &factors, &mut sum, &mut values);
                if !self.cell.is_slab {
                    if kappa == [0; 3] {
                        sum[0] -= PI / (self.alpha * self.alpha * volume);
                    }
                    rows[kz * n..][..n].iter_mut().zip(&sum).for_each(|(r, s)| *r += s);
                    continue;
                }
                let distances = (2 * nz - 1) as f64;
                for (k2, row) in rows.chunks_exact_mut(n).enumerate() {
                    let beat = 2.0 * PI * (f[2] - k2 as f64 / distances);
                    let kernel = (1..nz).fold(1.0, |d, u| d + 2.0 * (beat * u as f64).cos()) / distances;
                    row.iter_mut().zip(&sum).for_each(|(r, s)| *r += kernel * s);
                }
            }
        });
    }

    /// Σ (4π/V) e^{−k²/4α²}/k² R̂_lm(k) · `factors`_l over the k ≠ 0, of a slab k∥ ≠ 0, with the phases of wave vector `f`.
    fn fold(&self, boxes: &Cell, f: [f64; 3], factors: &[f64], sum: &mut [f64], values: &mut [f64]) {
        let [x, y, z] = [0, 1, 2].map(|a| {
            let reach = self.cut * norm(boxes.vectors[a]) / (2.0 * PI);
            (-f[a] - reach).ceil() as i32..=(-f[a] + reach).floor() as i32
        });
        for g in triples(x, y, z) {
            let h = [0, 1, 2].map(|a| 2.0 * PI * (f[a] + f64::from(g[a])));
            let k = [0, 1, 2].map(|x| (0..3).map(|a| h[a] * boxes.dual[a][x]).sum());
            let nothing = h[0] == 0.0 && h[1] == 0.0 && (self.cell.is_slab || h[2] == 0.0);
            if nothing || dot(k, k) > self.cut * self.cut {
                continue;
            }
            let weight = self.weight(boxes, k);
            self.recursion.regular(self.order, k, values);
            for (l, factor) in factors.iter().enumerate() {
                let factor = weight * factor;
                for i in l * l..(l + 1) * (l + 1) {
                    sum[i] += factor * values[i];
                }
            }
        }
    }
}

/// Height in boxes of the cell that replaces the integral along the normal of a slab.
fn high_boxes(grid: &BoxGrid, cell: &Cell) -> usize {
    let [e0, e1, e2] = grid.basis;
    let normal = cross(e0, e1);
    let height = dot(normal, e2).abs() / norm(normal);
    let largest = (grid.topology.shape[2] - 1) as f64 * height;
    (cell.separation(largest) / height).ceil() as usize
}

#[cfg(test)]
mod tests;
