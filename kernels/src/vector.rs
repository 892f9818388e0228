//! Vectors for safe code: a cache line of numbers at a time, in registers of the instruction set found at run time.
//!
//! Compilers keep loops over arrays scalar as soon as sums live across iterations ([`crate::dispatch()`] is for simpler loops). A
//! [`VectorKernel`](crate::VectorKernel) is written once over [`Vector`], whose operations are the instructions themselves. All vectors
//! descend from the one that [`dispatch_vectors`](crate::dispatch_vectors) hands to the kernel: a value is the proof that the instruction
//! set is available, so that no operation is unsafe.

mod transpose;

use crate::Real;
use crate::simd::Lanes;

/// One cache line of numbers: 16 × `f32`, 8 × `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct CacheLine<T, const K: usize>(pub [T; K]);

/// Numbers in memory for one [`Vector`]: [`Real::Line`](crate::Real).
pub trait Line<T>: Copy + Send + Sync + std::fmt::Debug + sealed::Line + 'static {
    /// Numbers in a line.
    const LANES: usize;
    /// All zero.
    const ZERO: Self;
    /// The numbers.
    fn get(&self) -> &[T];
    /// The numbers.
    fn get_mut(&mut self) -> &mut [T];
}

macro_rules! line {
    ($t:ty, $k:literal) => {
        impl Line<$t> for CacheLine<$t, $k> {
            const LANES: usize = $k;
            const ZERO: Self = Self([0.0; $k]);
            #[inline(always)]
            fn get(&self) -> &[$t] {
                &self.0
            }
            #[inline(always)]
            fn get_mut(&mut self) -> &mut [$t] {
                &mut self.0
            }
        }
        impl sealed::Line for CacheLine<$t, $k> {}
    };
}
line!(f32, 16);
line!(f64, 8);

/// A cache line of numbers in registers.
pub trait Vector: Copy + sealed::Vector {
    /// The element.
    type Elem: Real<Line = Self::Line>;
    /// The same numbers in memory.
    type Line: Line<Self::Elem>;
    /// One truth value for each element.
    type Mask: Copy;
    /// Number of elements: 16 for `f32`, 8 for `f64`.
    const LANES: usize = <Self::Line as Line<Self::Elem>>::LANES;

    /// All elements `x`, whatever `self` is.
    fn splat(self, x: Self::Elem) -> Self;
    /// The numbers of a line, whatever `self` is.
    fn load(self, from: &Self::Line) -> Self;
    /// The numbers to a line.
    fn store(self, to: &mut Self::Line);
    /// The first `LANES` numbers, whatever `self` is.
    ///
    /// # Panics
    /// If there are fewer.
    fn load_from(self, from: &[Self::Elem]) -> Self;
    /// To the first `LANES` places.
    ///
    /// # Panics
    /// If there are fewer.
    fn store_to(self, to: &mut [Self::Elem]);
    /// self + b.
    #[must_use]
    fn add(self, b: Self) -> Self;
    /// self − b.
    #[must_use]
    fn sub(self, b: Self) -> Self;
    /// self · b.
    #[must_use]
    fn mul(self, b: Self) -> Self;
    /// self · b + c, rounded once except on the portable path.
    #[must_use]
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// c − self · b, rounded once except on the portable path.
    #[must_use]
    fn negative_mul_add(self, b: Self, c: Self) -> Self;
    /// The larger of self and b; neither may be NaN.
    #[must_use]
    fn max(self, b: Self) -> Self;
    /// 1 / √self, to about one unit in the last place.
    #[must_use]
    fn inverse_root(self) -> Self;
    /// Sum over the elements of each of four vectors.
    fn sum_each(four: [Self; 4]) -> [Self::Elem; 4];
    /// self < b in the elements whose bit in `within` is set, false in the others and where an operand is NaN.
    #[must_use]
    fn less(self, b: Self, within: u16) -> Self::Mask;
    /// Whether `mask` is true anywhere, whatever `self` is.
    #[must_use]
    fn any(self, mask: Self::Mask) -> bool;
    /// self where `mask` is true, +0 elsewhere whatever the value.
    #[must_use]
    fn keep(self, mask: Self::Mask) -> Self;
    /// 1 / self where `mask` is true, to about one unit in the last place; +0 elsewhere.
    #[must_use]
    fn reciprocal_where(self, mask: Self::Mask) -> Self;
    /// 1 / √self where `mask` is true, to about one unit in the last place; +0 elsewhere. By Newton steps alone where `inverse_root` takes a
    /// series: the last bits may differ.
    #[must_use]
    fn inverse_root_where(self, mask: Self::Mask) -> Self;

    /// Rows side by side: element r of line c becomes element c of row r, whatever `self` is. One row for each lane.
    ///
    /// # Panics
    /// If there are not `LANES` rows, or one is shorter than `lines`.
    fn gather(self, rows: &[&[Self::Elem]], lines: &mut [Self::Line]);
    /// Add element r of line c to element c of row r, for the rows that begin in `all` at `starts`, one after the other.
    ///
    /// # Panics
    /// If there are more than `LANES` rows, or one leaves `all`.
    fn scatter_add(self, lines: &[Self::Line], all: &mut [Self::Elem], starts: &[usize]);
}

/// `N` registers that together hold one line. A value exists only where `L`'s instruction set is available.
#[derive(Clone, Copy)]
pub(crate) struct Registers<L, const N: usize>([L; N]);

impl<L: Lanes, const N: usize> Registers<L, N> {
    /// # Safety
    /// `L`'s instruction set.
    #[inline(always)]
    pub(crate) unsafe fn zero() -> Self {
        const { assert!(N * L::LANES * size_of::<L::Elem>() == 64) }
        // SAFETY: the caller's promise.
        Self([unsafe { L::zero() }; N])
    }
}

impl<L: Lanes, const N: usize> sealed::Vector for Registers<L, N> {}

/// Operations of [`Vector`] that are those of [`Lanes`] on each register with those of other vectors.
macro_rules! register_by_register {
    ($($name:ident($($operand:ident),*);)*) => {$(
        #[inline(always)]
        fn $name(mut self, $($operand: Self),*) -> Self {
            for i in 0..N {
                // SAFETY: a value of this type exists, so the instruction set is available.
                self.0[i] = unsafe { self.0[i].$name($($operand.0[i]),*) };
            }
            self
        }
    )*};
}

/// Operations of [`Vector`] that are those of [`Lanes`] on each register with its part of a mask.
macro_rules! register_by_register_where {
    ($($name:ident;)*) => {$(
        #[inline(always)]
        fn $name(mut self, mask: Self::Mask) -> Self {
            for i in 0..N {
                // SAFETY: a value of this type exists, so the instruction set is available.
                self.0[i] = unsafe { self.0[i].$name(mask[i]) };
            }
            self
        }
    )*};
}

// SAFETY of the blocks inside: a value of this type exists, so the instruction set is available (`Registers`).
impl<L: Lanes, const N: usize> Vector for Registers<L, N> {
    type Elem = L::Elem;
    type Mask = [L::Mask; N];
    type Line = <L::Elem as crate::real::sealed::Vectors>::Line;

    #[inline(always)]
    fn splat(self, x: L::Elem) -> Self {
        // SAFETY: see above.
        Self([unsafe { L::splat(x) }; N])
    }
    #[inline(always)]
    fn load(self, from: &Self::Line) -> Self {
        self.load_from(from.get())
    }
    #[inline(always)]
    fn store(self, to: &mut Self::Line) {
        self.store_to(to.get_mut());
    }
    #[inline(always)]
    fn load_from(mut self, from: &[L::Elem]) -> Self {
        let from = &from[..Self::LANES];
        for (i, v) in self.0.iter_mut().enumerate() {
            // SAFETY: see above; N · L::LANES = LANES elements (`zero`).
            *v = unsafe { L::load(from.as_ptr().add(i * L::LANES)) };
        }
        self
    }
    #[inline(always)]
    fn store_to(self, to: &mut [L::Elem]) {
        let to = &mut to[..Self::LANES];
        for (i, v) in self.0.into_iter().enumerate() {
            // SAFETY: as in `load_from`.
            unsafe { v.store(to.as_mut_ptr().add(i * L::LANES)) };
        }
    }
    register_by_register! {
        add(b);
        sub(b);
        mul(b);
        mul_add(b, c);
        negative_mul_add(b, c);
        max(b);
    }
    register_by_register_where! {
        keep;
        reciprocal_where;
        inverse_root_where;
    }
    #[inline(always)]
    fn inverse_root(mut self) -> Self {
        for v in &mut self.0 {
            // SAFETY: see above.
            *v = unsafe { v.inverse_root().mul(L::splat(L::Elem::of(L::ROOT_SCALE.recip()))) };
        }
        self
    }
    #[inline(always)]
    fn sum_each(four: [Self; 4]) -> [L::Elem; 4] {
        let mut parts = [four[0].0[0], four[1].0[0], four[2].0[0], four[3].0[0]];
        for (part, v) in parts.iter_mut().zip(&four) {
            for v in &v.0[1..] {
                // SAFETY: see above.
                *part = unsafe { part.add(*v) };
            }
        }
        // SAFETY: see above.
        unsafe { L::sum_each(parts) }
    }
    #[inline(always)]
    fn less(self, b: Self, within: u16) -> Self::Mask {
        // SAFETY: see above.
        std::array::from_fn(|i| unsafe { self.0[i].less(b.0[i], L::mask(within >> (i * L::LANES))) })
    }
    #[inline(always)]
    fn any(self, mask: Self::Mask) -> bool {
        // SAFETY: see above.
        mask.into_iter().fold(false, |any, mask| any | unsafe { L::any(mask) })
    }

    #[inline(always)]
    fn gather(self, rows: &[&[L::Elem]], lines: &mut [Self::Line]) {
        // SAFETY: see above.
        unsafe { transpose::gather::<L, N>(rows, lines) }
    }
    #[inline(always)]
    fn scatter_add(self, lines: &[Self::Line], all: &mut [L::Elem], starts: &[usize]) {
        // SAFETY: see above.
        unsafe { transpose::scatter_add::<L, N>(lines, all, starts) }
    }
}

mod sealed {
    /// Only lines of this module.
    pub trait Line {}
    /// Only vectors of this module.
    pub trait Vector {}
}

#[cfg(test)]
mod tests;
