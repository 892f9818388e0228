//! M2P: from the multipole expansion of a box to potential and field at particles outside of it. Only the treecode needs it.
//!
//!   φ(u) = Σ_lm M_lm Î_lm(u),   E = −∇φ, harmonics of order p + 1,   Î_lm(u) = R̂_lm(u/u²) / |u|
//!
//! R. Yokota, L. A. Barba, Int. J. High Perform. Comput. Appl. 26, 337 (2012), doi:10.1177/1094342011429952.

use kernels::{Line, Points, Real, Vector, VectorKernel};

use crate::operators::expansion::{Fields, Recurrences, fetch_points};
use crate::operators::field_table::{FieldTable, Fill};

/// Constants of M2P for one order.
pub struct M2pTable<T: Real> {
    recurrences: Recurrences<T>,
    fields: FieldTable<T>,
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

    /// The coefficients that [`M2p`] needs of a multipole expansion; they are made once for any number of uses.
    pub fn field_coefficients(&self, multipole: &[T], out: &mut Vec<T>) {
        kernels::dispatch_vectors(Fill { table: &self.fields, expansion: multipole, out });
    }
}

/// Potential and field of one box's multipole expansion at particles outside of it.
pub struct M2p<'a, T: Real> {
    /// Constants.
    pub table: &'a M2pTable<T>,
    /// The particles, in units of the scale of the multipole's box.
    pub points: Points<'a, T>,
    /// This is added to their coordinates, so that they are relative to the centre of that box. None may lie there.
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
            // Unused lanes repeat the first particle, so that they do not lie at the centre.
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
