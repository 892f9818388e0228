//! Plain arrays of 16 bytes: 4 × `f32`, 2 × `f64`, for any machine.
//!
//! `mul_add` rounds twice here: without the instruction, a fused one would be a call into the C library.

use super::Lanes;
use crate::Real;

/// `K` numbers.
#[derive(Clone, Copy)]
pub struct Plain<T, const K: usize>([T; K]);

impl<T: Real, const K: usize> Plain<T, K> {
    #[inline(always)]
    fn zip(self, b: Self, f: impl Fn(T, T) -> T) -> Self {
        let mut out = self;
        for i in 0..K {
            out.0[i] = f(self.0[i], b.0[i]);
        }
        out
    }
}

// SAFETY: no instruction set is needed; pointers are used as the contract of `Lanes` allows.
unsafe impl<T: Real, const K: usize> Lanes for Plain<T, K> {
    type Elem = T;
    type Mask = Self;
    const LANES: usize = K;
    const ROOT_SCALE: f64 = 1.0;

    #[inline(always)]
    unsafe fn zero() -> Self {
        Self([T::zero(); K])
    }
    #[inline(always)]
    unsafe fn splat(x: T) -> Self {
        Self([x; K])
    }
    #[inline(always)]
    unsafe fn load(p: *const T) -> Self {
        // SAFETY: K elements are readable at `p` (contract of `Lanes`).
        Self(unsafe { p.cast::<[T; K]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut T) {
        // SAFETY: K elements are writable at `p` (contract of `Lanes`).
        unsafe { p.cast::<[T; K]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn write_first<const ADD: bool>(self, p: *mut T, n: usize) {
        for (i, lane) in self.0.into_iter().enumerate().take(n) {
            // SAFETY: the first n elements are readable and writable at `p`.
            unsafe { *p.add(i) = if ADD { *p.add(i) + lane } else { lane } }
        }
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        self.zip(b, |a, b| a + b)
    }
    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        self.zip(b, |a, b| a - b)
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        self.zip(b, |a, b| a * b)
    }
    #[inline(always)]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        self.zip(b, |a, b| a * b).zip(c, |a, c| a + c)
    }
    #[inline(always)]
    unsafe fn negative_mul_add(self, b: Self, c: Self) -> Self {
        self.zip(b, |a, b| a * b).zip(c, |a, c| c - a)
    }
    #[inline(always)]
    unsafe fn max(self, b: Self) -> Self {
        self.zip(b, |a, b| a.max(b))
    }
    #[inline(always)]
    unsafe fn inverse_root(self) -> Self {
        Self(self.0.map(|x| x.sqrt().recip()))
    }
    #[inline(always)]
    unsafe fn sum_each(four: [Self; 4]) -> [T; 4] {
        four.map(|v| v.0.into_iter().sum())
    }
    #[inline(always)]
    unsafe fn interleave(self, b: Self) -> (Self, Self) {
        let (mut low, mut high) = (self, self);
        for i in 0..K {
            let pick = |at: usize| if at.is_multiple_of(2) { self.0[at / 2] } else { b.0[at / 2] };
            (low.0[i], high.0[i]) = (pick(i), pick(K + i));
        }
        (low, high)
    }
    #[inline(always)]
    unsafe fn mask(bits: u16) -> Self {
        Self(std::array::from_fn(|i| if bits & (1 << i) != 0 { T::one() } else { T::zero() }))
    }
    #[inline(always)]
    unsafe fn less(self, b: Self, within: Self) -> Self {
        Self(std::array::from_fn(|i| if self.0[i] < b.0[i] { within.0[i] } else { T::zero() }))
    }
    #[inline(always)]
    unsafe fn any(mask: Self) -> bool {
        mask.0.iter().any(|m| *m != T::zero())
    }
    #[inline(always)]
    unsafe fn keep(self, mask: Self) -> Self {
        Self(std::array::from_fn(|i| if mask.0[i] != T::zero() { self.0[i] } else { T::zero() }))
    }
    #[inline(always)]
    unsafe fn reciprocal_where(self, mask: Self) -> Self {
        Self(std::array::from_fn(|i| if mask.0[i] != T::zero() { self.0[i].recip() } else { T::zero() }))
    }
    #[inline(always)]
    unsafe fn inverse_root_where(self, mask: Self) -> Self {
        Self(std::array::from_fn(|i| if mask.0[i] != T::zero() { self.0[i].sqrt().recip() } else { T::zero() }))
    }
}
