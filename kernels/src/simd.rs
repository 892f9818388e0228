//! Vectors of `f32` or `f64`: the few operations the kernels need, with one implementation for each instruction set.
//!
//! A kernel is written once over [`Lanes`], marked `#[inline(always)]`, and instantiated inside a function that
//! carries `#[target_feature]`, so that every operation becomes one instruction.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(target_arch = "aarch64")]
pub mod neon;
pub mod plain;

use crate::Real;

/// A vector register of `LANES` numbers.
///
/// # Safety
/// Every method needs the instruction set of the implementing type (see [`crate::Isa::is_available`]); those with
/// pointers need `LANES` (or `n`) readable or writable elements there, at any alignment.
pub unsafe trait Lanes: Copy {
    /// The element.
    type Elem: Real;
    /// Elements in a vector; divides [`crate::CHUNK`].
    const LANES: usize;
    /// c in [`Lanes::inverse_root`].
    const ROOT_SCALE: f64;

    /// All lanes zero.
    unsafe fn zero() -> Self;
    /// All lanes `x`.
    unsafe fn splat(x: Self::Elem) -> Self;
    /// `LANES` elements from memory.
    unsafe fn load(p: *const Self::Elem) -> Self;
    /// `LANES` elements to memory.
    unsafe fn store(self, p: *mut Self::Elem);
    /// `p[i] = self[i]`, with `ADD` `p[i] += self[i]`, for the first `n` < `LANES` lanes only.
    unsafe fn write_first<const ADD: bool>(self, p: *mut Self::Elem, n: usize);
    /// self + b.
    unsafe fn add(self, b: Self) -> Self;
    /// self − b.
    unsafe fn sub(self, b: Self) -> Self;
    /// self · b.
    unsafe fn mul(self, b: Self) -> Self;
    /// self · b + c, rounded once (except `plain`).
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    /// c / √self with c = `ROOT_SCALE`, to the precision of the type (about one unit in the last place).
    unsafe fn inverse_root(self) -> Self;
    /// As `inverse_root`, but exactly zero, whatever the value, in each lane whose bit in `skip` is set.
    unsafe fn inverse_root_except(self, skip: u16) -> Self;
    /// Sum over the lanes of each of four vectors.
    unsafe fn sum_each(four: [Self; 4]) -> [Self::Elem; 4];
    /// The elements of self and b in turn, self[0], b[0], self[1], … : first and second half.
    unsafe fn interleave(self, b: Self) -> (Self, Self);
}
