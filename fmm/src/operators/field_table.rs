//! ∇ of expansions, in the layout of the vector loops: which coefficients of potential and field belong to each harmonic.
//!
//! ∂ lowers the degree of regular harmonics and raises that of irregular ones by one. For both, ∂_x and ∂_y lead from m ± 1 to m (for ∂_y
//! with cosines and sines exchanged, to −m) and ∂_z from m to m, so that a row of coefficients of one degree is made from neighbours in the row of
//! the other degree, a vector at a time.

use kernels::{Line, Real, Vector, VectorKernel};

use crate::operators::gradient::{Gradient, gradient, gradient_irregular};
use crate::operators::harmonics::{count, index};

/// Weights that make −∇ of an expansion from neighbouring coefficients, a vector at a time.
pub struct FieldTable<T: Real> {
    /// Order of the harmonics.
    order: usize,
    /// Whether ∇ raises the degree.
    raises: bool,
    /// Weights for each vector of each degree that has a field: x from m + 1 and m − 1; y at −m from m + 1 and m − 1; z.
    weights: Vec<[T::Line; 5]>,
}

/// Zeros before the potential's coefficients, read with weight zero.
const FRONT: usize = 2;
/// Room behind each row for the rest of a vector.
const BACK: usize = 16;

/// Coefficients of φ, E_x, E_y and E_z for each harmonic; those of E_y are at −m.
#[derive(Clone, Copy)]
pub struct FieldCoefficients<'a, T>([&'a [T]; 4]);

impl<T: Real> FieldCoefficients<'_, T> {
    /// [φ, E_x, E_y, E_z] per unit of harmonic (l, m), with `at` = (l, m) and `mirrored` = (l, −m).
    #[inline(always)]
    pub fn of(&self, at: usize, mirrored: usize) -> [T; 4] {
        [self.0[0][at], self.0[1][at], self.0[2][mirrored], self.0[3][at]]
    }
}

/// Degrees of a field made of harmonics up to `order`.
fn field_degrees(order: usize, raises: bool) -> std::ops::Range<usize> {
    if raises { 1..order + 1 } else { 0..order }
}

/// Degree of the coefficients that make the field of degree `l`.
fn source_degree(l: usize, raises: bool) -> usize {
    if raises { l - 1 } else { l + 1 }
}

impl<T: Real> FieldTable<T> {
    /// For local expansions of order `order` ≥ 1: regular harmonics of the same order.
    pub fn regular(order: usize) -> Self {
        Self::new(order, false, &gradient(order))
    }

    /// For multipole expansions of order `order`: irregular harmonics of order `order` + 1.
    pub fn irregular(order: usize) -> Self {
        Self::new(order + 1, true, &gradient_irregular(order))
    }

    fn new(order: usize, raises: bool, gradient: &Gradient) -> Self {
        let mut weights = Vec::new();
        for l in field_degrees(order, raises) {
            let start = weights.len();
            weights.resize(start + (2 * l + 1).div_ceil(T::Line::LANES), [T::Line::ZERO; 5]);
            for m in -(l as isize)..=l as isize {
                let (sources, w) = &gradient[index(l, m)];
                for e in (0..5).filter(|e| w[*e] != 0.0) {
                    let k = sources[e] as isize - index(source_degree(l, raises), 0) as isize;
                    let at = if e / 2 == 1 { -m } else { m };
                    let slot = if e == 4 { 4 } else { e / 2 * 2 + usize::from(k < at) };
                    let lane = (l as isize + at) as usize;
                    weights[start + lane / T::Line::LANES][slot].get_mut()[lane % T::Line::LANES] = T::of(-w[e]);
                }
            }
        }
        Self { order, raises, weights }
    }

    /// Elements of one of the four lists of coefficients.
    pub fn width(&self) -> usize {
        FRONT + count(self.order) + BACK
    }

    /// Coefficients of potential and field of an expansion, to be read with [`FieldTable::view`].
    #[inline(always)]
    pub fn fill<V: Vector<Elem = T, Line = T::Line>>(&self, zero: V, expansion: &[T], out: &mut Vec<T>) {
        let n = count(if self.raises { self.order - 1 } else { self.order });
        out.resize(4 * self.width(), T::zero());
        let (phi, fields) = out.split_at_mut(self.width());
        phi[..FRONT].fill(T::zero());
        phi[FRONT..][..n].copy_from_slice(&expansion[..n]);
        phi[FRONT + n..].fill(T::zero());
        let (ex, fields) = fields.split_at_mut(self.width());
        let (ey, ez) = fields.split_at_mut(self.width());
        let mut weights = self.weights.iter();
        let degrees = field_degrees(self.order, self.raises);
        for l in degrees.clone() {
            let source = source_degree(l, self.raises);
            for k in (0..2 * l + 1).step_by(V::LANES) {
                let Some(w) = weights.next() else { break };
                let at = FRONT + l * l + k;
                let m = FRONT + source * source + source + k - l;
                let (down, up) = (zero.load_from(&phi[m - 1..]), zero.load_from(&phi[m + 1..]));
                zero.load(&w[0]).mul_add(up, zero.load(&w[1]).mul(down)).store_to(&mut ex[at..]);
                zero.load(&w[2]).mul_add(up, zero.load(&w[3]).mul(down)).store_to(&mut ey[at..]);
                zero.load(&w[4]).mul(zero.load_from(&phi[m..])).store_to(&mut ez[at..]);
            }
        }
        // Degrees without a field are set to zero, and so is what the last vectors of the others wrote beyond them.
        for field in [ex, ey, ez] {
            field[..FRONT + degrees.start * degrees.start].fill(T::zero());
            field[FRONT + degrees.end * degrees.end..].fill(T::zero());
        }
    }

    /// Coefficients made by [`FieldTable::fill`].
    #[inline(always)]
    pub fn view<'a>(&self, filled: &'a [T]) -> FieldCoefficients<'a, T> {
        FieldCoefficients([0, 1, 2, 3].map(|row| &filled[row * self.width() + FRONT..][..count(self.order)]))
    }
}

/// [`FieldTable::fill`] with the fastest instruction set.
pub struct Fill<'a, T: Real> {
    /// Weights.
    pub table: &'a FieldTable<T>,
    /// Expansion.
    pub expansion: &'a [T],
    /// Coefficients, overwritten.
    pub out: &'a mut Vec<T>,
}

impl<T: Real> VectorKernel<T> for Fill<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Elem = T, Line = T::Line>>(self, zero: V) {
        self.table.fill(zero, self.expansion, self.out);
    }
}
