//! L2P: from the local expansion of a leaf box to potential and field at its particles.
//!
//!   φ(u) = Σ_lm L_lm R̂_lm(u),   E = −∇φ, harmonics of order p − 1

use kernels::{Line, Points, Real, Vector, VectorKernel};

use crate::operators::expansion::{ExpansionTable, Fields, fetch_points};
use crate::workspace::Scratch;

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
