//! Sum over the waves of the reciprocal cell.

use std::f64::consts::PI;

use kernels::{Kernel, dispatch, fma};
use nalgebra::Vector3;
use num_complex::Complex64;
use rayon::prelude::*;

use super::cell::Cell;
use super::system::{PotentialAndField, System};

/// Particles side by side.
const CHUNK: usize = 64;
/// Lanes of a partial sum.
const LANES: usize = 8;
/// Structure factors are summed over this many parts of the particles, whatever the number of threads.
const PARTS: usize = 16;

/// Waves with indices (h₀, h₁, `first`), (h₀, h₁, `first` + 1), …
struct Row {
    h: [i32; 2],
    first: i32,
    /// Place of the first one in the list of amplitudes.
    start: usize,
    len: usize,
}

/// One of k and −k of all waves, with amplitudes.
pub struct Waves {
    rows: Vec<Row>,
    /// Largest index along each axis.
    largest: [i32; 3],
    /// 2 · (4π/V) e^{−k²/4α²}/k² Σ_j q_j e^{−ik·x_j}; 2 for −k.
    amplitudes: Vec<Complex64>,
    /// k of each amplitude.
    vectors: Vec<Vector3<f64>>,
    /// For fractional coordinates.
    dual: nalgebra::Matrix3<f64>,
}

impl Waves {
    pub fn new(system: &System) -> Self {
        let cell = &system.cell;
        // k·a_i/2π is the index: |h_i| ≤ |a_i| k/2π.
        let largest = [0, 1, 2].map(|i| (cell.direct.column(i).norm() * system.largest / (2.0 * PI)).floor() as i32);
        let (rows, vectors) = list(cell, largest, system.largest);
        let mut waves = Self { rows, largest, amplitudes: Vec::new(), vectors, dual: cell.dual };
        let particles: Vec<_> =
            system.positions.iter().zip(system.charges).map(|(x, &q)| (waves.fractional(x), q)).collect();
        let part = particles.len().div_ceil(PARTS).max(1).next_multiple_of(CHUNK);
        let sums: Vec<_> = particles
            .par_chunks(part)
            .map(|particles| dispatch(StructureFactors { waves: &waves, particles }))
            .collect();
        let weight = |k: &Vector3<f64>| {
            let k2 = k.norm_squared();
            8.0 * PI / cell.volume * (-k2 / (4.0 * system.alpha * system.alpha)).exp() / k2
        };
        let amplitude = |(i, k)| weight(k) * sums.iter().map(|sum: &Vec<Complex64>| sum[i]).sum::<Complex64>().conj();
        waves.amplitudes = waves.vectors.iter().enumerate().map(amplitude).collect();
        waves
    }

    /// Fractional coordinates in [−½, ½].
    fn fractional(&self, x: &Vector3<f64>) -> Vector3<f64> {
        (self.dual * x).map(|s| s - s.round())
    }

    /// Potential and field at `x`.
    pub fn at(&self, x: &Vector3<f64>) -> PotentialAndField {
        let s = self.fractional(x);
        let powers = [0, 1, 2].map(|axis| powers::<false, 1>(&[s[axis]], self.largest[axis]));
        let power = |axis: usize, h: i32| {
            let [re, im] = powers[axis][(h + self.largest[axis]) as usize];
            Complex64::new(re[0], im[0])
        };
        let (mut phi, mut field) = (0.0, Vector3::zeros());
        // Row by row: fewer additions to a large sum, less rounding.
        for row in &self.rows {
            let both = power(0, row.h[0]) * power(1, row.h[1]);
            let places = row.start..row.start + row.len;
            let waves = (row.first..).zip(&self.amplitudes[places.clone()]).zip(&self.vectors[places]);
            let sum = waves.fold((0.0, Vector3::zeros()), |(phi, field), ((h, a), k)| {
                let wave = both * power(2, h) * a;
                (phi + wave.re, field + wave.im * k)
            });
            phi += sum.0;
            field += sum.1;
        }
        (phi, field)
    }
}

/// One of k and −k with |k| ≤ `end`, but none with zero along all periods.
fn list(cell: &Cell, largest: [i32; 3], end: f64) -> (Vec<Row>, Vec<Vector3<f64>>) {
    let [m0, m1, m2] = largest;
    let k = |h: [i32; 3]| 2.0 * PI * cell.dual.tr_mul(&Vector3::from(h.map(f64::from)));
    let (mut rows, mut vectors) = (Vec::new(), Vec::new());
    for h0 in 0..=m0 {
        for h1 in -m1..=m1 {
            let start = vectors.len();
            let wanted = |h2: &i32| {
                let h = [h0, h1, *h2];
                h > [0; 3] && h[..cell.repeats] != [0; 3][..cell.repeats] && k(h).norm() <= end
            };
            // |k|² is convex along the row: what is found has no gaps.
            let found: Vec<i32> = (-m2..=m2).filter(wanted).collect();
            vectors.extend(found.iter().map(|&h2| k([h0, h1, h2])));
            if let Some(&first) = found.first() {
                rows.push(Row { h: [h0, h1], first, start, len: found.len() });
            }
        }
    }
    (rows, vectors)
}

/// e^{2πi h s} as real and imaginary parts for h = −`largest`..=`largest`, from h/2 to h: the error stays near that of
/// the phase itself, h times the rounding of s.
#[inline(always)]
fn powers<const FMA: bool, const N: usize>(s: &[f64; N], largest: i32) -> Vec<[[f64; N]; 2]> {
    let m = largest as usize;
    let mut powers = vec![[[1.0; N], [0.0; N]]; 2 * m + 1];
    for h in 1..=m {
        let next = if h == 1 {
            let waves = s.map(|s| (2.0 * PI * s).sin_cos());
            [waves.map(|w| w.1), waves.map(|w| w.0)]
        } else {
            product::<FMA, N>(&powers[m + h / 2], &powers[m + h - h / 2])
        };
        powers[m + h] = next;
        powers[m - h] = [next[0], next[1].map(|im| -im)];
    }
    powers
}

#[inline(always)]
fn product<const FMA: bool, const N: usize>(a: &[[f64; N]; 2], b: &[[f64; N]; 2]) -> [[f64; N]; 2] {
    let re = std::array::from_fn(|i| fma::<FMA, f64>(a[0][i], b[0][i], -a[1][i] * b[1][i]));
    let im = std::array::from_fn(|i| fma::<FMA, f64>(a[0][i], b[1][i], a[1][i] * b[0][i]));
    [re, im]
}

/// Σ_j q_j e^{ik·x_j} for all waves.
struct StructureFactors<'a> {
    waves: &'a Waves,
    /// Fractional coordinates and charge.
    particles: &'a [(Vector3<f64>, f64)],
}

impl Kernel for StructureFactors<'_> {
    type Output = Vec<Complex64>;

    #[inline(always)]
    fn run<const FMA: bool>(self) -> Vec<Complex64> {
        let Self { waves, particles } = self;
        let mut sums = vec![Complex64::ZERO; waves.vectors.len()];
        for chunk in particles.chunks(CHUNK) {
            // Beyond the last particle: uncharged ones at the origin.
            let mut charges = [0.0; CHUNK];
            let mut coordinates = [[0.0; CHUNK]; 3];
            for (i, (s, q)) in chunk.iter().enumerate() {
                charges[i] = *q;
                (0..3).for_each(|axis| coordinates[axis][i] = s[axis]);
            }
            let [x, y, z] = [0, 1, 2].map(|axis| powers::<FMA, CHUNK>(&coordinates[axis], waves.largest[axis]));
            let [m0, m1, m2] = waves.largest;
            for row in &waves.rows {
                let both = product::<FMA, CHUNK>(&x[(row.h[0] + m0) as usize], &y[(row.h[1] + m1) as usize]);
                let both = both.map(|part| -> [f64; CHUNK] { std::array::from_fn(|i| part[i] * charges[i]) });
                let first = (row.first + m2) as usize;
                for (sum, z) in sums[row.start..][..row.len].iter_mut().zip(&z[first..]) {
                    *sum += dot::<FMA>(&both, z);
                }
            }
        }
        sums
    }
}

/// Σ_i a_i b_i of complex numbers.
#[inline(always)]
fn dot<const FMA: bool>(a: &[[f64; CHUNK]; 2], b: &[[f64; CHUNK]; 2]) -> Complex64 {
    let mut sums = [[0.0; LANES]; 4];
    for at in (0..CHUNK).step_by(LANES) {
        for i in 0..LANES {
            let [ar, ai, br, bi] = [a[0][at + i], a[1][at + i], b[0][at + i], b[1][at + i]];
            sums[0][i] = fma::<FMA, f64>(ar, br, sums[0][i]);
            sums[1][i] = fma::<FMA, f64>(ai, bi, sums[1][i]);
            sums[2][i] = fma::<FMA, f64>(ar, bi, sums[2][i]);
            sums[3][i] = fma::<FMA, f64>(ai, br, sums[3][i]);
        }
    }
    let re: [f64; LANES] = std::array::from_fn(|i| sums[0][i] - sums[1][i]);
    let im: [f64; LANES] = std::array::from_fn(|i| sums[2][i] + sums[3][i]);
    Complex64::new(total(re), total(im))
}

#[inline(always)]
fn total(lanes: [f64; LANES]) -> f64 {
    let four: [f64; 4] = std::array::from_fn(|i| lanes[i] + lanes[i + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}
