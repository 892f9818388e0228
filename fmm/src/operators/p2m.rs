//! P2M: from the charges of a leaf box to its multipole expansion.
//!
//!   M_lm = Σ_i q_i R̂_lm(u_i),   u relative to the centre of the box in units of its scale

use kernels::{Line, Points, Real, Vector, VectorKernel};

use crate::operators::expansion::{ExpansionTable, Sink, fetch, fetch_points};
use crate::operators::harmonics::count;
use crate::workspace::Scratch;

/// Adds up each harmonic.
struct Moments<'a, V: Vector>(&'a mut [V::Line]);

impl<V: Vector> Sink<V> for Moments<'_, V> {
    #[inline(always)]
    fn take(&mut self, at: usize, _: usize, v: V) {
        let sum = &mut self.0[at];
        v.add(v.load(sum)).store(sum);
    }
}

/// Multipole expansion of one box.
pub struct P2m<'a, T: Real> {
    /// Constants.
    pub table: &'a ExpansionTable<T>,
    /// Particles of the box.
    pub points: Points<'a, T>,
    /// Their charges.
    pub charges: &'a [T],
    /// Coefficients, which are overwritten; the padding is set to zero.
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
