//! Tables of the far field, made on the host in f64.

use std::f64::consts::{E, FRAC_1_SQRT_2, PI};

use kernels::Real;

use super::operators::{Channel, Origin};
use super::plan::Plan;
use crate::geometry::grid::BoxGrid;
use crate::lattice::waves::{far_field, torus};
use crate::operators::gradient::gradient;
use crate::operators::harmonics::{count, index, parity, sqrt_factorials};
use crate::operators::m2l::fourier::grid::turns as grid_turns;

/// (l, m) of the channels: m = 0 with l = 0..=p, then for m = 1, 2, …, p the pairs (l, m), (l, −m).
pub fn channels(order: usize) -> Vec<(usize, isize)> {
    let zonal = (0..=order).map(|l| (l, 0));
    let others = (1..=order).flat_map(|m| (m..=order).flat_map(move |l| [(l, m as isize), (l, -(m as isize))]));
    zonal.chain(others).collect()
}

/// Channel of each coefficient, by its index.
pub fn places(order: usize) -> Vec<usize> {
    let mut places = vec![0; count(order)];
    for (channel, (l, m)) in channels(order).into_iter().enumerate() {
        places[index(l, m)] = channel;
    }
    places
}

/// (cos, sin) of 2πjk/n, rows j = 1..=(n−1)/2 of k = 0..=n/2 filled with zeros to a multiple of `waves`.
pub fn line<T: Real>(n: usize, waves: usize) -> Vec<T> {
    let (half, width) = (n / 2 + 1, (n / 2 + 1).next_multiple_of(waves));
    let pair = |j: usize, k: usize| {
        let (sin, cos) = (2.0 * PI * ((j * k) % n) as f64 / n as f64).sin_cos();
        if k < half { [T::of(cos), T::of(sin)] } else { [T::zero(); 2] }
    };
    (1..=(n - 1) / 2).flat_map(|j| (0..width).flat_map(move |k| pair(j, k))).collect()
}

/// Phases of the shears along axes 0 and 1; one unused number each without shears.
pub fn turns<T: Real>(grid: &BoxGrid) -> [Vec<T>; 2] {
    grid_turns::<T>(grid.topology.shape, &torus(grid)).map(|turns| {
        let turns: Vec<T> = turns.into_iter().flat_map(|(cos, sin)| [cos, sin]).collect();
        if turns.is_empty() { vec![T::zero(); 2] } else { turns }
    })
}

/// Sources (channels) and weights of the field of each channel, five lists: x 0–1, y 2–3, z 4.
pub fn fields<T: Real>(order: usize) -> (Vec<i32>, Vec<T>) {
    let (table, places, n) = (gradient(order), places(order), count(order));
    let (mut sources, mut weights) = (vec![0; 5 * n], vec![T::zero(); 5 * n]);
    for (channel, (l, m)) in channels(order).into_iter().enumerate().filter(|(_, (l, _))| *l < order) {
        let (from, weight) = &table[index(l, m)];
        for e in (0..5).filter(|e| weight[*e] != 0.0) {
            sources[e * n + channel] = places[from[e] as usize] as i32;
            weights[e * n + channel] = T::of(-weight[e]);
        }
    }
    (sources, weights)
}

/// s of `operators.cu`: a power of two near e/2p, so that (2p)! s^2p is of order one.
fn base(order: usize) -> f64 {
    if order < 2 { 1.0 } else { (E / (2 * order) as f64).log2().round().exp2() }
}

/// V_LM s^L of every operator, M ≥ 0, re and im.
pub fn coefficients<T: Real>(grid: &BoxGrid, order: usize) -> Vec<T> {
    let n = 2 * order;
    let (waves, root, s) = (far_field(grid, n), sqrt_factorials(2 * n), base(order));
    let one = |wave: &[f64], l: usize, m: usize| {
        let sign = if (l / 2).is_multiple_of(2) { 1.0 } else { -1.0 };
        let norm = sign * root[l - m] * root[l + m] * s.powi(l as i32);
        let [a, b] = [m as isize, -(m as isize)].map(|m| wave[index(l, m)]);
        if m == 0 { [norm * a, 0.0] } else { [FRAC_1_SQRT_2 * norm * a, FRAC_1_SQRT_2 * norm * b] }
    };
    let all = waves
        .chunks_exact(count(n))
        .flat_map(|wave| (0..=n).flat_map(move |l| (0..=l).flat_map(move |m| one(wave, l, m))));
    all.map(T::of).collect()
}

/// Where V_LM (low half) and V_{L,−M} (high half of the bits) go in the square of all.
pub fn squares(order: usize) -> Vec<i32> {
    let place = |l: usize, m: usize| (l * l + l + m) | (l * l + l - m) << 16;
    (0..=2 * order).flat_map(|l| (0..=l).map(move |m| place(l, m) as i32)).collect()
}

/// Sources (j, k): places of V_{j,±k}, 2j, whether k is odd.
pub fn origins(order: usize) -> Vec<Origin> {
    let origin = |j: i32, k: i32| Origin { plus: j * j + j + k, minus: j * j + j - k, twice: 2 * j, is_odd: k % 2 };
    (0..=order as i32).flat_map(|k| (k..=order as i32).map(move |j| origin(j, k))).collect()
}

/// For each channel its place among the sources, degree, and whether it changes sign with x and with y; n_lm s^−l.
pub fn scales<T: Real>(plan: &Plan) -> (Vec<Channel>, Vec<T>) {
    let (p, s) = (plan.order, base(plan.order));
    let root = sqrt_factorials(2 * p);
    let one = |(l, m): (usize, isize)| {
        let k = m.unsigned_abs();
        let source = k * (p + 1) - k * k.saturating_sub(1) / 2 + l - k;
        let at = source * plan.row() + if m < 0 { 2 * plan.images } else { 0 };
        let [is_odd_x, is_odd_y, ..] = parity(l, m).map(|p| i32::from(p < 0.0));
        let channel = Channel { at: at as i32, degree: l as i32, is_odd_x, is_odd_y };
        let norm = if m == 0 { FRAC_1_SQRT_2 } else { 1.0 } / (root[l - k] * root[l + k]);
        (channel, T::of(norm * s.powi(-(l as i32))))
    };
    channels(p).into_iter().map(one).unzip()
}
