//! AVX-512 vectors: 16 × `f32`, 8 × `f64`.
//!
//! 1/√x starts from `vrsqrt14` (relative error below 2⁻¹⁴) and is refined with e = 1 − x y²:
//! `f32` one Newton step, 2/√x = y (3 − x y²), error (3/2)·2⁻²⁸; `f64` y + y e (1/2 + e (3/8 + e 5/16)), error
//! (35/128)·2⁻⁵². Both end at about one unit in the last place.

use std::arch::x86_64::*;

use super::Lanes;

/// 16 × `f32`.
#[derive(Clone, Copy)]
pub struct F32x16(__m512);

/// 8 × `f64`.
#[derive(Clone, Copy)]
pub struct F64x8(__m512d);

#[inline]
#[target_feature(enable = "avx512f")]
fn twice_inverse_root_f32(x: __m512, y: __m512) -> __m512 {
    let e = _mm512_fnmadd_ps(_mm512_mul_ps(x, y), y, _mm512_set1_ps(3.0));
    _mm512_mul_ps(y, e)
}

#[inline]
#[target_feature(enable = "avx512f")]
fn series_f64(x: __m512d, y: __m512d) -> __m512d {
    let e = _mm512_fnmadd_pd(_mm512_mul_pd(x, y), y, _mm512_set1_pd(1.0));
    let p = _mm512_fmadd_pd(e, _mm512_set1_pd(0.3125), _mm512_set1_pd(0.375));
    let p = _mm512_fmadd_pd(e, p, _mm512_set1_pd(0.5));
    _mm512_fmadd_pd(_mm512_mul_pd(y, e), p, y)
}

/// y + (y/2)(1 − x y²): twice as many correct bits of 1/√x.
#[inline]
#[target_feature(enable = "avx512f")]
fn newton_step_f32(x: __m512, y: __m512) -> __m512 {
    let e = _mm512_fnmadd_ps(_mm512_mul_ps(x, y), y, _mm512_set1_ps(1.0));
    _mm512_fmadd_ps(_mm512_mul_ps(_mm512_set1_ps(0.5), y), e, y)
}

/// y + (y/2)(1 − x y²): twice as many correct bits of 1/√x.
#[inline]
#[target_feature(enable = "avx512f")]
fn newton_step_f64(x: __m512d, y: __m512d) -> __m512d {
    let e = _mm512_fnmadd_pd(_mm512_mul_pd(x, y), y, _mm512_set1_pd(1.0));
    _mm512_fmadd_pd(_mm512_mul_pd(_mm512_set1_pd(0.5), y), e, y)
}

// SAFETY: each method needs AVX-512 F and DQ only, which the contract of `Lanes` demands of the caller.
unsafe impl Lanes for F32x16 {
    type Elem = f32;
    type Mask = __mmask16;
    const LANES: usize = 16;
    const ROOT_SCALE: f64 = 2.0;

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn zero() -> Self {
        Self(_mm512_setzero_ps())
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn splat(x: f32) -> Self {
        Self(_mm512_set1_ps(x))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load(p: *const f32) -> Self {
        // SAFETY: 16 elements are readable at `p` (contract of `Lanes`).
        Self(unsafe { _mm512_loadu_ps(p) })
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store(self, p: *mut f32) {
        // SAFETY: 16 elements are writable at `p` (contract of `Lanes`).
        unsafe { _mm512_storeu_ps(p, self.0) }
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn write_first<const ADD: bool>(self, p: *mut f32, n: usize) {
        let mask: __mmask16 = (1 << n) - 1;
        // SAFETY: the first n elements are readable and writable at `p`; the others are masked out.
        unsafe {
            let new = if ADD { _mm512_add_ps(_mm512_maskz_loadu_ps(mask, p), self.0) } else { self.0 };
            _mm512_mask_storeu_ps(p, mask, new);
        }
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn add(self, b: Self) -> Self {
        Self(_mm512_add_ps(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn sub(self, b: Self) -> Self {
        Self(_mm512_sub_ps(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn mul(self, b: Self) -> Self {
        Self(_mm512_mul_ps(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        Self(_mm512_fmadd_ps(self.0, b.0, c.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn negative_mul_add(self, b: Self, c: Self) -> Self {
        Self(_mm512_fnmadd_ps(self.0, b.0, c.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn max(self, b: Self) -> Self {
        Self(_mm512_max_ps(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn inverse_root(self) -> Self {
        Self(twice_inverse_root_f32(self.0, _mm512_rsqrt14_ps(self.0)))
    }
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    unsafe fn sum_each([a, b, c, d]: [Self; 4]) -> [f32; 4] {
        let ab = _mm512_add_ps(_mm512_unpacklo_ps(a.0, b.0), _mm512_unpackhi_ps(a.0, b.0));
        let cd = _mm512_add_ps(_mm512_unpacklo_ps(c.0, d.0), _mm512_unpackhi_ps(c.0, d.0));
        // Each quarter of `abcd`: one partial sum of each vector.
        let (ab, cd) = (_mm512_castps_pd(ab), _mm512_castps_pd(cd));
        let (low, high) = (_mm512_unpacklo_pd(ab, cd), _mm512_unpackhi_pd(ab, cd));
        let abcd = _mm512_add_ps(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
        let half = _mm256_add_ps(_mm512_castps512_ps256(abcd), _mm512_extractf32x8_ps::<1>(abcd));
        let sums = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps::<1>(half));
        let mut out = [0.0; 4];
        // SAFETY: the array holds 4 elements.
        unsafe { _mm_storeu_ps(out.as_mut_ptr(), sums) };
        out
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn interleave(self, b: Self) -> (Self, Self) {
        let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
        let high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
        (Self(_mm512_permutex2var_ps(self.0, low, b.0)), Self(_mm512_permutex2var_ps(self.0, high, b.0)))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn mask(bits: u16) -> __mmask16 {
        bits
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn less(self, b: Self, within: __mmask16) -> __mmask16 {
        _mm512_mask_cmp_ps_mask::<_CMP_LT_OQ>(within, self.0, b.0)
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn any(mask: __mmask16) -> bool {
        mask != 0
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn keep(self, mask: __mmask16) -> Self {
        Self(_mm512_maskz_mov_ps(mask, self.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn reciprocal_where(self, mask: __mmask16) -> Self {
        let y = _mm512_rcp14_ps(self.0);
        // SAFETY: same instruction set.
        unsafe { Self(_mm512_fmadd_ps(y, _mm512_fnmadd_ps(self.0, y, _mm512_set1_ps(1.0)), y)).keep(mask) }
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn inverse_root_where(self, mask: __mmask16) -> Self {
        let y = _mm512_rsqrt14_ps(self.0);
        // SAFETY: same instruction set.
        unsafe { Self(newton_step_f32(self.0, y)).keep(mask) }
    }
}

// SAFETY: each method needs AVX-512 F and DQ only, which the contract of `Lanes` demands of the caller.
unsafe impl Lanes for F64x8 {
    type Elem = f64;
    type Mask = __mmask8;
    const LANES: usize = 8;
    const ROOT_SCALE: f64 = 1.0;

    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn zero() -> Self {
        Self(_mm512_setzero_pd())
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn splat(x: f64) -> Self {
        Self(_mm512_set1_pd(x))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load(p: *const f64) -> Self {
        // SAFETY: 8 elements are readable at `p` (contract of `Lanes`).
        Self(unsafe { _mm512_loadu_pd(p) })
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store(self, p: *mut f64) {
        // SAFETY: 8 elements are writable at `p` (contract of `Lanes`).
        unsafe { _mm512_storeu_pd(p, self.0) }
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn write_first<const ADD: bool>(self, p: *mut f64, n: usize) {
        let mask: __mmask8 = (1 << n) - 1;
        // SAFETY: the first n elements are readable and writable at `p`; the others are masked out.
        unsafe {
            let new = if ADD { _mm512_add_pd(_mm512_maskz_loadu_pd(mask, p), self.0) } else { self.0 };
            _mm512_mask_storeu_pd(p, mask, new);
        }
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn add(self, b: Self) -> Self {
        Self(_mm512_add_pd(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn sub(self, b: Self) -> Self {
        Self(_mm512_sub_pd(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn mul(self, b: Self) -> Self {
        Self(_mm512_mul_pd(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn mul_add(self, b: Self, c: Self) -> Self {
        Self(_mm512_fmadd_pd(self.0, b.0, c.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn negative_mul_add(self, b: Self, c: Self) -> Self {
        Self(_mm512_fnmadd_pd(self.0, b.0, c.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn max(self, b: Self) -> Self {
        Self(_mm512_max_pd(self.0, b.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn inverse_root(self) -> Self {
        Self(series_f64(self.0, _mm512_rsqrt14_pd(self.0)))
    }
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq")]
    unsafe fn sum_each([a, b, c, d]: [Self; 4]) -> [f64; 4] {
        // Each quarter: one partial sum of either vector.
        let ab = _mm512_add_pd(_mm512_unpacklo_pd(a.0, b.0), _mm512_unpackhi_pd(a.0, b.0));
        let cd = _mm512_add_pd(_mm512_unpacklo_pd(c.0, d.0), _mm512_unpackhi_pd(c.0, d.0));
        let ab = _mm256_add_pd(_mm512_castpd512_pd256(ab), _mm512_extractf64x4_pd::<1>(ab));
        let cd = _mm256_add_pd(_mm512_castpd512_pd256(cd), _mm512_extractf64x4_pd::<1>(cd));
        let (low, high) = (_mm256_permute2f128_pd::<0x20>(ab, cd), _mm256_permute2f128_pd::<0x31>(ab, cd));
        let mut out = [0.0; 4];
        // SAFETY: the array holds 4 elements.
        unsafe { _mm256_storeu_pd(out.as_mut_ptr(), _mm256_add_pd(low, high)) };
        out
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn interleave(self, b: Self) -> (Self, Self) {
        let low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
        let high = _mm512_add_epi64(low, _mm512_set1_epi64(4));
        (Self(_mm512_permutex2var_pd(self.0, low, b.0)), Self(_mm512_permutex2var_pd(self.0, high, b.0)))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn mask(bits: u16) -> __mmask8 {
        bits as __mmask8
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn less(self, b: Self, within: __mmask8) -> __mmask8 {
        _mm512_mask_cmp_pd_mask::<_CMP_LT_OQ>(within, self.0, b.0)
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn any(mask: __mmask8) -> bool {
        mask != 0
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn keep(self, mask: __mmask8) -> Self {
        Self(_mm512_maskz_mov_pd(mask, self.0))
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn reciprocal_where(self, mask: __mmask8) -> Self {
        let one = _mm512_set1_pd(1.0);
        let y = _mm512_rcp14_pd(self.0);
        let y = _mm512_fmadd_pd(y, _mm512_fnmadd_pd(self.0, y, one), y);
        // SAFETY: same instruction set.
        unsafe { Self(_mm512_fmadd_pd(y, _mm512_fnmadd_pd(self.0, y, one), y)).keep(mask) }
    }
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn inverse_root_where(self, mask: __mmask8) -> Self {
        let y = newton_step_f64(self.0, _mm512_rsqrt14_pd(self.0));
        // SAFETY: same instruction set.
        unsafe { Self(newton_step_f64(self.0, y)).keep(mask) }
    }
}
