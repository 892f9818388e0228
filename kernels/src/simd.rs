//! Registers of `f32` or `f64`: the operations that the kernels need, with one implementation for each instruction set.
//!
//! A kernel is written once over [`Lanes`], marked `#[inline(always)]`, and instantiated inside a function that
//! carries `#[target_feature]` ([`crate::dispatch()`]), so that every operation becomes one instruction or a few.

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
    /// One truth value for each lane.
    type Mask: Copy;
    /// Elements in a vector; divides [`crate::CHUNK`].
    const LANES: usize;
    /// c in [`Lanes::inverse_root`].
    const ROOT_SCALE: f64;

    /// All lanes are zero.
    unsafe fn zero() -> Self;
    /// All lanes are `x`.
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
    /// self · b + c, rounded once (twice by `plain`).
    unsafe fn mul_add(self, b: Self, c: Self) -> Self;
    /// c − self · b, rounded once (twice by `plain`).
    unsafe fn negative_mul_add(self, b: Self, c: Self) -> Self;
    /// The larger of self and b; neither may be NaN.
    unsafe fn max(self, b: Self) -> Self;
    /// c / √self with c = `ROOT_SCALE`, to the precision of the type (about one unit in the last place).
    unsafe fn inverse_root(self) -> Self;
    /// Sum over the lanes of each of four vectors.
    unsafe fn sum_each(four: [Self; 4]) -> [Self::Elem; 4];
    /// The elements of self and b in turn, self\[0\], b\[0\], self\[1\], … : first and second half.
    unsafe fn interleave(self, b: Self) -> (Self, Self);
    /// True in the lanes whose bit is set; bits beyond the lanes are ignored.
    unsafe fn mask(bits: u16) -> Self::Mask;
    /// self < b in the lanes of `within`, false in the others and where an operand is NaN.
    unsafe fn less(self, b: Self, within: Self::Mask) -> Self::Mask;
    /// Whether the mask is true anywhere.
    unsafe fn any(mask: Self::Mask) -> bool;
    /// self where the mask is true, +0 elsewhere whatever the value.
    unsafe fn keep(self, mask: Self::Mask) -> Self;
    /// 1 / self where the mask is true, to about one unit in the last place; +0 elsewhere.
    unsafe fn reciprocal_where(self, mask: Self::Mask) -> Self;
    /// 1 / √self where the mask is true, to about one unit in the last place; +0 elsewhere. By Newton steps alone where `inverse_root` takes
    /// a series: the last bits may differ.
    unsafe fn inverse_root_where(self, mask: Self::Mask) -> Self;
}
