//! AVX2 + FMA vectors: 8 × `f32`, 4 × `f64`.
//!
//! 1/√x: `f32` from `vrsqrtps` (relative error below 1.5·2⁻¹²) with the third-order step y + y e (1/2 + 3e/8),
//! e = 1 − x y², error (5/16) e³ < 2·10⁻¹⁰; `f64` by square root and division.

use std::arch::x86_64::*;

use super::Lanes;

/// 8 × `f32`.
#[derive(Clone, Copy)]
pub struct F32x8(__m256);

/// 4 × `f64`.
#[derive(Clone, Copy)]
pub struct F64x4(__m256d);

/// All bits set in the 32-bit lanes whose bit is set.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn lane_mask_32(bits: u16) -> __m256i {
    let lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(i32::from(bits)), lanes), lanes)
}

/// All bits set in the 64-bit lanes whose bit is set.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn lane_mask_64(bits: u16) -> __m256i {
    let lanes = _mm256_setr_epi64x(1, 2, 4, 8);
    _mm256_cmpeq_epi64(_mm256_and_si256(_mm256_set1_epi64x(i64::from(bits)), lanes), lanes)
}

// SAFETY: each method needs AVX2 and FMA only, which the contract of `Lanes` demands of the caller.
unsafe impl Lanes for F32x8 {
    type Elem = f32;
    type Mask = __m256;
    const LANES: usize = 8;
    const ROOT_SCALE: f64 = 1.0;

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn zero() -> Self {
        Self(_mm256_setzero_ps())
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn splat(x: f32) -> Self {
        Self(_mm256_set1_ps(x))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: 8 elements are readable at `p` (contract of `Lanes`).
        Self(unsafe { _mm256_loadu_ps(p) })
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: 8 elements are writable at `p` (contract of `Lanes`).
        unsafe { _mm256_storeu_ps(p, self.0) }
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn write_first<const ADD: bool>(self, p: *mut f32, n: usize) {
        let mut lanes = [0.0; 8];
        // SAFETY: the array holds 8 elements; the first n are readable and writable at `p`.
        unsafe {
            _mm256_storeu_ps(lanes.as_mut_ptr(), self.0);
            for (i, lane) in lanes.iter().enumerate().take(n) {
                let old = if ADD { *p.add(i) } else { 0.0 };
                *p.add(i) = old + lane;
            }
        }
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn add(self, b: Self) -> Self {
        Self(_mm256_add_ps(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sub(self, b: Self) -> Self {
        Self(_mm256_sub_ps(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn mul(self, b: Self) -> Self {
        Self(_mm256_mul_ps(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        Self(_mm256_fmadd_ps(self.0, b.0, c.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn negative_mul_add(self, b: Self, c: Self) -> Self {
        Self(_mm256_fnmadd_ps(self.0, b.0, c.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn max(self, b: Self) -> Self {
        Self(_mm256_max_ps(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn inverse_root(self) -> Self {
        let y = _mm256_rsqrt_ps(self.0);
        let e = _mm256_fnmadd_ps(_mm256_mul_ps(self.0, y), y, _mm256_set1_ps(1.0));
        let p = _mm256_fmadd_ps(e, _mm256_set1_ps(0.375), _mm256_set1_ps(0.5));
        Self(_mm256_fmadd_ps(_mm256_mul_ps(y, e), p, y))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sum_each([a, b, c, d]: [Self; 4]) -> [f32; 4] {
        // Each half: one partial sum of each vector.
        let halves = _mm256_hadd_ps(_mm256_hadd_ps(a.0, b.0), _mm256_hadd_ps(c.0, d.0));
        let sums = _mm_add_ps(_mm256_castps256_ps128(halves), _mm256_extractf128_ps::<1>(halves));
        let mut out = [0.0; 4];
        // SAFETY: the array holds 4 elements.
        unsafe { _mm_storeu_ps(out.as_mut_ptr(), sums) };
        out
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn interleave(self, b: Self) -> (Self, Self) {
        let (low, high) = (_mm256_unpacklo_ps(self.0, b.0), _mm256_unpackhi_ps(self.0, b.0));
        (Self(_mm256_permute2f128_ps::<0x20>(low, high)), Self(_mm256_permute2f128_ps::<0x31>(low, high)))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn mask(bits: u16) -> __m256 {
        _mm256_castsi256_ps(lane_mask_32(bits))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn less(self, b: Self, within: __m256) -> __m256 {
        _mm256_and_ps(_mm256_cmp_ps::<_CMP_LT_OQ>(self.0, b.0), within)
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn any(mask: __m256) -> bool {
        _mm256_movemask_ps(mask) != 0
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn keep(self, mask: __m256) -> Self {
        Self(_mm256_and_ps(mask, self.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn reciprocal_where(self, mask: __m256) -> Self {
        // SAFETY: same instruction set.
        unsafe { Self(_mm256_div_ps(_mm256_set1_ps(1.0), self.0)).keep(mask) }
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn inverse_root_where(self, mask: __m256) -> Self {
        // SAFETY: same instruction set.
        unsafe { self.inverse_root().keep(mask) }
    }
}

// SAFETY: each method needs AVX2 and FMA only, which the contract of `Lanes` demands of the caller.
unsafe impl Lanes for F64x4 {
    type Elem = f64;
    type Mask = __m256d;
    const LANES: usize = 4;
    const ROOT_SCALE: f64 = 1.0;

    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn zero() -> Self {
        Self(_mm256_setzero_pd())
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn splat(x: f64) -> Self {
        Self(_mm256_set1_pd(x))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn load(p: *const f64) -> Self {
        // SAFETY: 4 elements are readable at `p` (contract of `Lanes`).
        Self(unsafe { _mm256_loadu_pd(p) })
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn store(self, p: *mut f64) {
        // SAFETY: 4 elements are writable at `p` (contract of `Lanes`).
        unsafe { _mm256_storeu_pd(p, self.0) }
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn write_first<const ADD: bool>(self, p: *mut f64, n: usize) {
        let mut lanes = [0.0; 4];
        // SAFETY: the array holds 4 elements; the first n are readable and writable at `p`.
        unsafe {
            _mm256_storeu_pd(lanes.as_mut_ptr(), self.0);
            for (i, lane) in lanes.iter().enumerate().take(n) {
                let old = if ADD { *p.add(i) } else { 0.0 };
                *p.add(i) = old + lane;
            }
        }
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn add(self, b: Self) -> Self {
        Self(_mm256_add_pd(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sub(self, b: Self) -> Self {
        Self(_mm256_sub_pd(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn mul(self, b: Self) -> Self {
        Self(_mm256_mul_pd(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        Self(_mm256_fmadd_pd(self.0, b.0, c.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn negative_mul_add(self, b: Self, c: Self) -> Self {
        Self(_mm256_fnmadd_pd(self.0, b.0, c.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn max(self, b: Self) -> Self {
        Self(_mm256_max_pd(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn inverse_root(self) -> Self {
        Self(_mm256_div_pd(_mm256_set1_pd(1.0), _mm256_sqrt_pd(self.0)))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn sum_each([a, b, c, d]: [Self; 4]) -> [f64; 4] {
        // Each half: one partial sum of either vector.
        let (ab, cd) = (_mm256_hadd_pd(a.0, b.0), _mm256_hadd_pd(c.0, d.0));
        let (low, high) = (_mm256_permute2f128_pd::<0x20>(ab, cd), _mm256_permute2f128_pd::<0x31>(ab, cd));
        let mut out = [0.0; 4];
        // SAFETY: the array holds 4 elements.
        unsafe { _mm256_storeu_pd(out.as_mut_ptr(), _mm256_add_pd(low, high)) };
        out
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn interleave(self, b: Self) -> (Self, Self) {
        let (low, high) = (_mm256_unpacklo_pd(self.0, b.0), _mm256_unpackhi_pd(self.0, b.0));
        (Self(_mm256_permute2f128_pd::<0x20>(low, high)), Self(_mm256_permute2f128_pd::<0x31>(low, high)))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn mask(bits: u16) -> __m256d {
        _mm256_castsi256_pd(lane_mask_64(bits))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn less(self, b: Self, within: __m256d) -> __m256d {
        _mm256_and_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, b.0), within)
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn any(mask: __m256d) -> bool {
        _mm256_movemask_pd(mask) != 0
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn keep(self, mask: __m256d) -> Self {
        Self(_mm256_and_pd(mask, self.0))
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn reciprocal_where(self, mask: __m256d) -> Self {
        // SAFETY: same instruction set.
        unsafe { Self(_mm256_div_pd(_mm256_set1_pd(1.0), self.0)).keep(mask) }
    }
    #[inline]
    #[target_feature(enable = "avx2,fma")]
    unsafe fn inverse_root_where(self, mask: __m256d) -> Self {
        // SAFETY: same instruction set.
        unsafe { self.inverse_root().keep(mask) }
    }
}
