//! What P2M, L2P and M2P have in common: regular harmonics at a vector of particles at a time, and sums over them.
//!
//! A vector of particles runs through the recurrences of the harmonics (see `harmonics.rs`), which are never stored: each harmonic is handed to
//! a [`Sink`] when it is known. Coordinates are relative to the centre of a box in units of its scale. ∇ is applied to the coefficients,
//! once for each box (`field_table.rs`).

use kernels::{Line, Points, Real, Vector};

use crate::operators::field_table::{FieldCoefficients, FieldTable};
use crate::operators::harmonics::{recurrence, sectoral_factor};

/// Constants of the recurrences of the regular harmonics for one order.
pub struct Recurrences<T> {
    /// Highest degree.
    pub order: usize,
    /// f_m of the sectoral step to m = 1..=p.
    sectoral: Vec<T>,
    /// For m = 0..=p, l = m..p: coefficients a, −b of the step l → l + 1.
    steps: Vec<(T, T)>,
}

/// Constants of P2M and L2P for one order.
pub struct ExpansionTable<T: Real> {
    /// Of the harmonics.
    pub recurrences: Recurrences<T>,
    /// Of ∇.
    pub fields: FieldTable<T>,
}

impl<T: Real> ExpansionTable<T> {
    /// Constants for order `order` ≥ 1.
    pub fn new(order: usize) -> Self {
        Self { recurrences: Recurrences::new(order), fields: FieldTable::regular(order) }
    }
}

impl<T: Real> Recurrences<T> {
    /// Constants up to degree `order`.
    pub fn new(order: usize) -> Self {
        let step = |(l, m)| {
            let (a, b) = recurrence(l, m);
            (T::of(a), T::of(-b))
        };
        Self {
            order,
            sectoral: (1..=order).map(|m| T::of(sectoral_factor(m))).collect(),
            steps: (0..=order).flat_map(|m| (m..order).map(move |l| (l, m))).map(step).collect(),
        }
    }

    /// Hand all harmonics at the points, each times `start`, to `sink`.
    #[inline(always)]
    pub fn harmonics<V: Vector<Elem = T>>(&self, [x, y, z]: [V; 3], start: V, sink: &mut impl Sink<V>) {
        let zero = start.splat(T::zero());
        let r2 = z.mul_add(z, y.mul_add(y, x.mul(x)));
        let p = self.order;
        let (mut c, mut s) = (start, zero);
        let mut step = self.steps.iter();
        for m in 0..=p {
            if m > 0 {
                let f = start.splat(self.sectoral[m - 1]);
                let (x, y) = (f.mul(x), f.mul(y));
                (c, s) = (x.mul(c).sub(y.mul(s)), x.mul_add(s, y.mul(c)));
            }
            let (mut c0, mut s0, mut c1, mut s1) = (zero, zero, c, s);
            for l in m..=p {
                let (cosine, sine) = (l * l + l + m, l * l + l - m);
                sink.take(cosine, sine, c1);
                if m > 0 {
                    sink.take(sine, cosine, s1);
                }
                if l == p {
                    break;
                }
                let Some(&(a, b)) = step.next() else { break };
                let (u, v) = (z.mul(start.splat(a)), r2.mul(start.splat(b)));
                (c0, c1) = (c1, u.mul_add(c1, v.mul(c0)));
                if m > 0 {
                    (s0, s1) = (s1, u.mul_add(s1, v.mul(s0)));
                }
            }
        }
    }
}

/// Takes the harmonics one by one.
pub trait Sink<V> {
    /// Harmonic (l, m) of a vector of particles, with `at` = (l, m) and `mirrored` = (l, −m).
    fn take(&mut self, at: usize, mirrored: usize, v: V);
}

/// The numbers from `at` on, `fill` beyond the end.
#[inline(always)]
pub fn fetch<V: Vector>(zero: V, values: &[V::Elem], at: usize, fill: V::Elem) -> V {
    let mut line = V::Line::ZERO;
    let rest = &values[at..];
    match rest.get(..V::LANES) {
        Some(whole) => line.get_mut().copy_from_slice(whole),
        None => {
            let (used, unused) = line.get_mut().split_at_mut(rest.len());
            used.copy_from_slice(rest);
            unused.fill(fill);
        }
    }
    zero.load(&line)
}

/// The points from `at` on, the given one beyond the end.
#[inline(always)]
pub fn fetch_points<V: Vector>(zero: V, points: Points<'_, V::Elem>, at: usize, [x, y, z]: [V::Elem; 3]) -> [V; 3] {
    [fetch(zero, points.x, at, x), fetch(zero, points.y, at, y), fetch(zero, points.z, at, z)]
}

/// Adds up coefficient times harmonic for potential and field.
pub struct Fields<'a, V: Vector> {
    /// Those of φ and E.
    pub coefficients: FieldCoefficients<'a, V::Elem>,
    /// φ, E_x, E_y, E_z.
    pub sums: [V; 4],
}

impl<V: Vector> Sink<V> for Fields<'_, V> {
    #[inline(always)]
    fn take(&mut self, at: usize, mirrored: usize, v: V) {
        for (sum, c) in self.sums.iter_mut().zip(self.coefficients.of(at, mirrored)) {
            *sum = v.splat(c).mul_add(v, *sum);
        }
    }
}
