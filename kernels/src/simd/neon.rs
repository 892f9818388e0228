//! NEON (AArch64) vectors: 4 × `f32`, 2 × `f64`.
//!
//! 1/√x starts from `frsqrte` (relative error below 2⁻⁸) and is refined by Newton steps y (3 − x y²)/2 (`frsqrts`), error (3/2) e²: one for
//! `f32`, two for `f64`. The last step is y + (y/2)(1 − x y²), the same with fewer roundings: errors below 2⁻³⁰ and 2⁻⁵⁹.

use std::arch::aarch64::*;

use super::Lanes;

/// 4 × `f32`.
#[derive(Clone, Copy)]
pub struct F32x4(float32x4_t);

/// 2 × `f64`.
#[derive(Clone, Copy)]
pub struct F64x2(float64x2_t);

// SAFETY: each method needs NEON only, which the contract of `Lanes` demands of the caller.
unsafe impl Lanes for F32x4 {
    type Elem = f32;
    type Mask = uint32x4_t;
    const LANES: usize = 4;
    const ROOT_SCALE: f64 = 1.0;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn zero() -> Self {
        Self(vdupq_n_f32(0.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn splat(x: f32) -> Self {
        Self(vdupq_n_f32(x))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: 4 elements are readable at `p` (contract of `Lanes`).
        Self(unsafe { vld1q_f32(p) })
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: 4 elements are writable at `p` (contract of `Lanes`).
        unsafe { vst1q_f32(p, self.0) }
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn write_first<const ADD: bool>(self, p: *mut f32, n: usize) {
        let mut lanes = [0.0; 4];
        // SAFETY: the array holds 4 elements; the first n are readable and writable at `p`.
        unsafe {
            vst1q_f32(lanes.as_mut_ptr(), self.0);
            for (i, lane) in lanes.iter().enumerate().take(n) {
                let old = if ADD { *p.add(i) } else { 0.0 };
                *p.add(i) = old + lane;
            }
        }
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn add(self, b: Self) -> Self {
        Self(vaddq_f32(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn sub(self, b: Self) -> Self {
        Self(vsubq_f32(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn mul(self, b: Self) -> Self {
        Self(vmulq_f32(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        Self(vfmaq_f32(c.0, self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn negative_mul_add(self, b: Self, c: Self) -> Self {
        Self(vfmsq_f32(c.0, self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn max(self, b: Self) -> Self {
        Self(vmaxq_f32(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn inverse_root(self) -> Self {
        let mut y = vrsqrteq_f32(self.0);
        y = vmulq_f32(y, vrsqrtsq_f32(vmulq_f32(self.0, y), y));
        let e = vfmsq_f32(vdupq_n_f32(1.0), vmulq_f32(self.0, y), y);
        Self(vfmaq_f32(y, vmulq_f32(y, vdupq_n_f32(0.5)), e))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn sum_each([a, b, c, d]: [Self; 4]) -> [f32; 4] {
        let sums = vpaddq_f32(vpaddq_f32(a.0, b.0), vpaddq_f32(c.0, d.0));
        let mut out = [0.0; 4];
        // SAFETY: the array holds 4 elements.
        unsafe { vst1q_f32(out.as_mut_ptr(), sums) };
        out
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn interleave(self, b: Self) -> (Self, Self) {
        (Self(vzip1q_f32(self.0, b.0)), Self(vzip2q_f32(self.0, b.0)))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn mask(bits: u16) -> uint32x4_t {
        let lanes: [u32; 4] = [1, 2, 4, 8];
        // SAFETY: the array holds 4 elements.
        vtstq_u32(vdupq_n_u32(u32::from(bits)), unsafe { vld1q_u32(lanes.as_ptr()) })
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn less(self, b: Self, within: uint32x4_t) -> uint32x4_t {
        vandq_u32(vcltq_f32(self.0, b.0), within)
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn any(mask: uint32x4_t) -> bool {
        vmaxvq_u32(mask) != 0
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn keep(self, mask: uint32x4_t) -> Self {
        Self(vreinterpretq_f32_u32(vandq_u32(vreinterpretq_u32_f32(self.0), mask)))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn reciprocal_where(self, mask: uint32x4_t) -> Self {
        // SAFETY: same instruction set.
        unsafe { Self(vdivq_f32(vdupq_n_f32(1.0), self.0)).keep(mask) }
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn inverse_root_where(self, mask: uint32x4_t) -> Self {
        // SAFETY: same instruction set.
        unsafe { self.inverse_root().keep(mask) }
    }
}

// SAFETY: each method needs NEON only, which the contract of `Lanes` demands of the caller.
unsafe impl Lanes for F64x2 {
    type Elem = f64;
    type Mask = uint64x2_t;
    const LANES: usize = 2;
    const ROOT_SCALE: f64 = 1.0;

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn zero() -> Self {
        Self(vdupq_n_f64(0.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn splat(x: f64) -> Self {
        Self(vdupq_n_f64(x))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(p: *const f64) -> Self {
        // SAFETY: 2 elements are readable at `p` (contract of `Lanes`).
        Self(unsafe { vld1q_f64(p) })
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(self, p: *mut f64) {
        // SAFETY: 2 elements are writable at `p` (contract of `Lanes`).
        unsafe { vst1q_f64(p, self.0) }
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn write_first<const ADD: bool>(self, p: *mut f64, n: usize) {
        if n == 1 {
            let first = vgetq_lane_f64::<0>(self.0);
            // SAFETY: the first element is readable and writable at `p`.
            unsafe { *p = if ADD { *p + first } else { first } };
        }
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn add(self, b: Self) -> Self {
        Self(vaddq_f64(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn sub(self, b: Self) -> Self {
        Self(vsubq_f64(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn mul(self, b: Self) -> Self {
        Self(vmulq_f64(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        Self(vfmaq_f64(c.0, self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn negative_mul_add(self, b: Self, c: Self) -> Self {
        Self(vfmsq_f64(c.0, self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn max(self, b: Self) -> Self {
        Self(vmaxq_f64(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn inverse_root(self) -> Self {
        let mut y = vrsqrteq_f64(self.0);
        for _ in 0..2 {
            y = vmulq_f64(y, vrsqrtsq_f64(vmulq_f64(self.0, y), y));
        }
        let e = vfmsq_f64(vdupq_n_f64(1.0), vmulq_f64(self.0, y), y);
        Self(vfmaq_f64(y, vmulq_f64(y, vdupq_n_f64(0.5)), e))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn sum_each([a, b, c, d]: [Self; 4]) -> [f64; 4] {
        let mut out = [0.0; 4];
        // SAFETY: the array holds 4 elements.
        unsafe {
            vst1q_f64(out.as_mut_ptr(), vpaddq_f64(a.0, b.0));
            vst1q_f64(out.as_mut_ptr().add(2), vpaddq_f64(c.0, d.0));
        }
        out
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn interleave(self, b: Self) -> (Self, Self) {
        (Self(vzip1q_f64(self.0, b.0)), Self(vzip2q_f64(self.0, b.0)))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn mask(bits: u16) -> uint64x2_t {
        let lanes: [u64; 2] = [1, 2];
        // SAFETY: the array holds 2 elements.
        vtstq_u64(vdupq_n_u64(u64::from(bits)), unsafe { vld1q_u64(lanes.as_ptr()) })
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn less(self, b: Self, within: uint64x2_t) -> uint64x2_t {
        vandq_u64(vcltq_f64(self.0, b.0), within)
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn any(mask: uint64x2_t) -> bool {
        vgetq_lane_u64::<0>(mask) | vgetq_lane_u64::<1>(mask) != 0
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn keep(self, mask: uint64x2_t) -> Self {
        Self(vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(self.0), mask)))
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn reciprocal_where(self, mask: uint64x2_t) -> Self {
        // SAFETY: same instruction set.
        unsafe { Self(vdivq_f64(vdupq_n_f64(1.0), self.0)).keep(mask) }
    }
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn inverse_root_where(self, mask: uint64x2_t) -> Self {
        // SAFETY: same instruction set.
        unsafe { self.inverse_root().keep(mask) }
    }
}
