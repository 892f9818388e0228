//! Vectors for safe code: loops over a cache line of numbers at a time, in registers of the instruction set found at run time.
//!
//! Compilers keep loops over arrays scalar as soon as sums live across iterations ([`crate::dispatch`] is for simpler loops). A
//! [`VectorKernel`] is written once over [`Vector`], whose operations are the instructions themselves. All vectors descend from the one that
//! [`dispatch_vectors`] hands to the kernel: a value is the proof that the instruction set is available, so that no operation is unsafe.

use crate::simd::Lanes;
use crate::{Isa, Real};

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
    /// 1 / √self, to about one unit in the last place.
    #[must_use]
    fn inverse_root(self) -> Self;
    /// Sum over the elements of each of four vectors.
    fn sum_each(four: [Self; 4]) -> [Self::Elem; 4];

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

/// A computation on vectors.
pub trait VectorKernel<T: Real> {
    /// What it returns.
    type Output;
    /// Compute; mark the implementation and all it calls with vectors `#[inline(always)]`. All vectors come from `zero`.
    fn run<V: Vector<Elem = T, Line = T::Line>>(self, zero: V) -> Self::Output;
}

/// Run `kernel` with the fastest instruction set of this machine.
#[inline]
pub fn dispatch_vectors<T: Real, K: VectorKernel<T>>(kernel: K) -> K::Output {
    dispatch_vectors_on(Isa::best(), kernel)
}

/// Run `kernel` with a given instruction set.
///
/// # Panics
/// If the instruction set is not available.
#[inline]
pub fn dispatch_vectors_on<T: Real, K: VectorKernel<T>>(isa: Isa, kernel: K) -> K::Output {
    assert!(isa.is_available(), "{isa:?} is not available on this machine");
    match isa {
        // SAFETY: the instruction set is available (checked above).
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { run_avx512::<T, K>(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { run_avx2::<T, K>(kernel) },
        // SAFETY: as above; NEON is part of the base instruction set.
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => kernel.run(unsafe { Registers::<T::Neon, 4>::zero() }),
        // SAFETY: plain arrays need no instruction set.
        _ => kernel.run(unsafe { Registers::<T::Plain, 4>::zero() }),
    }
}

/// # Safety
/// AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
unsafe fn run_avx512<T: Real, K: VectorKernel<T>>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    kernel.run(unsafe { Registers::<T::Avx512, 1>::zero() })
}

/// # Safety
/// AVX2 and FMA.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn run_avx2<T: Real, K: VectorKernel<T>>(kernel: K) -> K::Output {
    // SAFETY: the caller's promise.
    kernel.run(unsafe { Registers::<T::Avx2, 2>::zero() })
}

/// `N` registers that together hold one line. Exists only where `L`'s instruction set is available.
#[derive(Clone, Copy)]
struct Registers<L, const N: usize>([L; N]);

impl<L: Lanes, const N: usize> Registers<L, N> {
    /// # Safety
    /// `L`'s instruction set.
    #[inline(always)]
    unsafe fn zero() -> Self {
        const { assert!(N * L::LANES * size_of::<L::Elem>() == 64) }
        // SAFETY: the caller's promise.
        Self([unsafe { L::zero() }; N])
    }
}

/// Transpose the first `L::LANES` vectors: perfect shuffles of the upper with the lower half turn row bits into column bits one by one.
///
/// # Safety
/// `L`'s instruction set.
#[inline(always)]
unsafe fn transpose<L: Lanes>(block: &mut [L; 16]) {
    const { assert!(L::LANES.is_power_of_two() && L::LANES <= 16) }
    let half = L::LANES / 2;
    for _ in 0..L::LANES.trailing_zeros() {
        let before = *block;
        for i in 0..half {
            // SAFETY: the caller's promise.
            (block[2 * i], block[2 * i + 1]) = unsafe { before[i].interleave(before[i + half]) };
        }
    }
}

impl<L: Lanes, const N: usize> sealed::Vector for Registers<L, N> {}

// SAFETY of the blocks inside: a value of this type exists, so the instruction set is available (`Registers`).
impl<L: Lanes, const N: usize> Vector for Registers<L, N> {
    type Elem = L::Elem;
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
    #[inline(always)]
    fn add(mut self, b: Self) -> Self {
        for i in 0..N {
            // SAFETY: see above.
            self.0[i] = unsafe { self.0[i].add(b.0[i]) };
        }
        self
    }
    #[inline(always)]
    fn sub(mut self, b: Self) -> Self {
        for i in 0..N {
            // SAFETY: see above.
            self.0[i] = unsafe { self.0[i].sub(b.0[i]) };
        }
        self
    }
    #[inline(always)]
    fn mul(mut self, b: Self) -> Self {
        for i in 0..N {
            // SAFETY: see above.
            self.0[i] = unsafe { self.0[i].mul(b.0[i]) };
        }
        self
    }
    #[inline(always)]
    fn mul_add(mut self, b: Self, c: Self) -> Self {
        for i in 0..N {
            // SAFETY: see above.
            self.0[i] = unsafe { self.0[i].mul_add(b.0[i], c.0[i]) };
        }
        self
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
    fn gather(self, rows: &[&[L::Elem]], lines: &mut [Self::Line]) {
        let n = lines.len();
        assert!(rows.len() == Self::LANES && rows.iter().all(|r| r.len() >= n), "{} rows of {n}", Self::LANES);
        if n < L::LANES {
            for (c, line) in lines.iter_mut().enumerate() {
                for (to, row) in line.get_mut().iter_mut().zip(rows) {
                    *to = row[c];
                }
            }
            return;
        }
        for first in (0..n).step_by(L::LANES) {
            // The last block overlaps with the one before.
            let first = first.min(n - L::LANES);
            for part in 0..N {
                // SAFETY: see above; rows have `n` elements, lines N · L::LANES.
                unsafe {
                    let mut block = [L::zero(); 16];
                    for (i, v) in block.iter_mut().enumerate().take(L::LANES) {
                        *v = L::load(rows.get_unchecked(part * L::LANES + i).as_ptr().add(first));
                    }
                    transpose(&mut block);
                    for (i, v) in block.iter().enumerate().take(L::LANES) {
                        let line = lines.get_unchecked_mut(first + i).get_mut().as_mut_ptr();
                        v.store(line.add(part * L::LANES));
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn scatter_add(self, lines: &[Self::Line], all: &mut [L::Elem], starts: &[usize]) {
        let n = lines.len();
        assert!(starts.len() <= Self::LANES, "at most {} rows", Self::LANES);
        assert!(starts.iter().all(|s| s.checked_add(n).is_some_and(|end| end <= all.len())), "rows leave the array");
        for first in (0..n).step_by(L::LANES) {
            let width = L::LANES.min(n - first);
            for (part, starts) in starts.chunks(L::LANES).enumerate() {
                // SAFETY: see above; lines have N · L::LANES elements, rows `n` from their start.
                unsafe {
                    let mut block = [L::zero(); 16];
                    for (i, v) in block.iter_mut().enumerate().take(width) {
                        let line = lines.get_unchecked(first + i).get().as_ptr();
                        *v = L::load(line.add(part * L::LANES));
                    }
                    transpose(&mut block);
                    for (v, start) in block.into_iter().zip(starts) {
                        let to = all.as_mut_ptr().add(start + first);
                        if width == L::LANES {
                            v.add(L::load(to)).store(to);
                        } else {
                            v.write_first::<true>(to, width);
                        }
                    }
                }
            }
        }
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
