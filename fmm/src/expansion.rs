//! P2M, L2P and M2P: from charges to the multipole expansion of their leaf box, and from an expansion to potential and field.
//!
//!   M_lm = Σ_i q_i R̂_lm(u_i)
//!   L2P:  φ(u) = Σ_lm L_lm R̂_lm(u),   E = −∇φ, harmonics of order p − 1
//!   M2P:  φ(u) = Σ_lm M_lm Î_lm(u),   E = −∇φ, harmonics of order p + 1,   Î_lm(u) = R̂_lm(u/u²) / |u|
//!
//! with u relative to the box centre in units of the box's scale. A vector of particles at a time runs through the recurrences of the
//! harmonics (see `harmonics.rs`), which are never stored. ∇ is applied to the coefficients, once for each box.
//!
//! M2P is the step of a treecode that goes from a box to the particles themselves: R. Yokota, L. A. Barba,
//! Int. J. High Perform. Comput. Appl. 26, 337 (2012), doi:10.1177/1094342011429952.

use kernels::{Line, Points, Real, Vector, VectorKernel};

use crate::harmonics::{count, recurrence, sectoral_factor};
use crate::scratch::Scratch;
use gradient::{FieldCoefficients, FieldTable, Fill};

pub use gradient::gradient_irregular;

mod gradient;

/// Constants of the recurrences of the regular harmonics for one order.
struct Recurrences<T> {
    order: usize,
    /// f_m of the sectoral step to m = 1..=p.
    sectoral: Vec<T>,
    /// For m = 0..=p, l = m..p: coefficients a, −b of the step l → l + 1.
    steps: Vec<(T, T)>,
}

/// Constants of P2M and L2P for one order.
pub struct ExpansionTable<T: Real> {
    recurrences: Recurrences<T>,
    fields: FieldTable<T>,
}

/// Constants of M2P for one order.
pub struct M2pTable<T: Real> {
    recurrences: Recurrences<T>,
    fields: FieldTable<T>,
}

impl<T: Real> ExpansionTable<T> {
    /// Constants for order `order` ≥ 1.
    pub fn new(order: usize) -> Self {
        Self { recurrences: Recurrences::new(order), fields: FieldTable::regular(order) }
    }
}

impl<T: Real> M2pTable<T> {
    /// Constants for multipole expansions of order `order`.
    pub fn new(order: usize) -> Self {
        Self { recurrences: Recurrences::new(order + 1), fields: FieldTable::irregular(order) }
    }

    /// Elements of [`field_coefficients`](Self::field_coefficients).
    pub fn width(&self) -> usize {
        4 * self.fields.width()
    }

    /// What [`M2p`] needs of a multipole expansion, for any number of uses.
    pub fn field_coefficients(&self, multipole: &[T], out: &mut Vec<T>) {
        kernels::dispatch_vectors(Fill { table: &self.fields, expansion: multipole, out });
    }
}

impl<T: Real> Recurrences<T> {
    fn new(order: usize) -> Self {
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
    fn harmonics<V: Vector<Elem = T>>(&self, [x, y, z]: [V; 3], start: V, sink: &mut impl Sink<V>) {
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
trait Sink<V> {
    /// Harmonic (l, m) of a vector of particles, with `at` = (l, m) and `mirrored` = (l, −m).
    fn take(&mut self, at: usize, mirrored: usize, v: V);
}

/// Adds up each harmonic.
struct Moments<'a, V: Vector>(&'a mut [V::Line]);

impl<V: Vector> Sink<V> for Moments<'_, V> {
    #[inline(always)]
    fn take(&mut self, at: usize, _: usize, v: V) {
        let sum = &mut self.0[at];
        v.add(v.load(sum)).store(sum);
    }
}

/// Adds up coefficient times harmonic for potential and field.
struct Fields<'a, V: Vector> {
    coefficients: FieldCoefficients<'a, V::Elem>,
    sums: [V; 4],
}

impl<V: Vector> Sink<V> for Fields<'_, V> {
    #[inline(always)]
    fn take(&mut self, at: usize, mirrored: usize, v: V) {
        for (sum, c) in self.sums.iter_mut().zip(self.coefficients.of(at, mirrored)) {
            *sum = v.splat(c).mul_add(v, *sum);
        }
    }
}

/// The numbers from `at` on, `fill` beyond the end.
#[inline(always)]
fn fetch<V: Vector>(zero: V, values: &[V::Elem], at: usize, fill: V::Elem) -> V {
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

#[inline(always)]
fn fetch_points<V: Vector>(zero: V, points: Points<'_, V::Elem>, at: usize, [x, y, z]: [V::Elem; 3]) -> [V; 3] {
    [fetch(zero, points.x, at, x), fetch(zero, points.y, at, y), fetch(zero, points.z, at, z)]
}

/// Multipole expansion of one box.
pub struct P2m<'a, T: Real> {
    /// Constants.
    pub table: &'a ExpansionTable<T>,
    /// Particles of the box.
    pub points: Points<'a, T>,
    /// Their charges.
    pub charges: &'a [T],
    /// Coefficients, overwritten; padding set to zero.
    pub out: &'a mut [T],
    /// Work space.
    pub scratch: &'a mut Scratch<T>,
}

impl<T: Real> VectorKernel<T> for P2m<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = T, Line = T::Line>>(self, zero: V) {
        let Self { table, points, charges, out, scratch } = self;
        let k = count(table.recurrences.order);
        let sums = &mut scratch.lines;
        sums.clear();
        sums.resize(k.next_multiple_of(4), T::Line::ZERO);
        for at in (0..charges.len()).step_by(V::LANES) {
            let r = fetch_points(zero, points, at, [T::zero(); 3]);
            table.recurrences.harmonics(r, fetch(zero, charges, at, T::zero()), &mut Moments::<V>(sums));
        }
        for (o, s) in out[..k].chunks_mut(4).zip(sums.as_chunks::<4>().0) {
            let four = V::sum_each([zero.load(&s[0]), zero.load(&s[1]), zero.load(&s[2]), zero.load(&s[3])]);
            o.copy_from_slice(&four[..o.len()]);
        }
        out[k..].fill(T::zero());
    }
}

/// Potential and field of one box's local expansion at its particles.
pub struct L2p<'a, T: Real> {
    /// Constants.
    pub table: &'a ExpansionTable<T>,
    /// Particles of the box.
    pub points: Points<'a, T>,
    /// Local expansion.
    pub local: &'a [T],
    /// φ, E_x, E_y, E_z, overwritten.
    pub out: [&'a mut [T]; 4],
    /// Work space.
    pub scratch: &'a mut Scratch<T>,
}

impl<T: Real> VectorKernel<T> for L2p<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = T, Line = T::Line>>(self, zero: V) {
        let Self { table, points, local, mut out, scratch } = self;
        table.fields.fill(zero, local, &mut scratch.coefficients);
        let coefficients = table.fields.view(&scratch.coefficients);
        let n = out[0].len();
        for at in (0..n).step_by(V::LANES) {
            let mut fields = Fields { coefficients, sums: [zero; 4] };
            let r = fetch_points(zero, points, at, [T::zero(); 3]);
            table.recurrences.harmonics(r, zero.splat(T::one()), &mut fields);
            let mut line = V::Line::ZERO;
            for (out, sum) in out.iter_mut().zip(fields.sums) {
                sum.store(&mut line);
                let to = &mut out[at..n.min(at + V::LANES)];
                to.copy_from_slice(&line.get()[..to.len()]);
            }
        }
    }
}

/// Potential and field of one box's multipole expansion at particles outside of it.
pub struct M2p<'a, T: Real> {
    /// Constants.
    pub table: &'a M2pTable<T>,
    /// The particles, in units of the scale of the multipole's box.
    pub points: Points<'a, T>,
    /// Added to their coordinates: then they are relative to the centre of that box, and none is there.
    pub shift: [T; 3],
    /// [`M2pTable::field_coefficients`] of the multipole expansion.
    pub coefficients: &'a [T],
    /// φ, E_x, E_y, E_z in the same units, added.
    pub out: [&'a mut [T]; 4],
}

impl<T: Real> VectorKernel<T> for M2p<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = T, Line = T::Line>>(self, zero: V) {
        let Self { table, points, shift, coefficients, mut out } = self;
        let shift = shift.map(|s| zero.splat(s));
        let coefficients = table.fields.view(coefficients);
        let n = out[0].len();
        for at in (0..n).step_by(V::LANES) {
            let mut fields = Fields { coefficients, sums: [zero; 4] };
            // Unused lanes: as the first particle, so not at the centre.
            let r = fetch_points(zero, points, at, [points.x[0], points.y[0], points.z[0]]);
            let [x, y, z] = [r[0].add(shift[0]), r[1].add(shift[1]), r[2].add(shift[2])];
            let inverse = z.mul_add(z, y.mul_add(y, x.mul(x))).inverse_root();
            let inverse2 = inverse.mul(inverse);
            let inverted = [x.mul(inverse2), y.mul(inverse2), z.mul(inverse2)];
            table.recurrences.harmonics(inverted, inverse, &mut fields);
            let mut line = V::Line::ZERO;
            for (out, sum) in out.iter_mut().zip(fields.sums) {
                sum.store(&mut line);
                for (o, s) in out[at..n.min(at + V::LANES)].iter_mut().zip(line.get()) {
                    *o += *s;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
