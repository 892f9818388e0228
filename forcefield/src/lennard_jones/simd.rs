//! Eight `f64` at a time: AVX-512, AVX2 with FMA, or plain arithmetic, chosen at run time.
//!
//! A value of [`Avx512`] or [`Avx2`] exists only where the processor has the instructions, which is what makes their
//! methods safe. Kernels are generic over [`Simd`], inlined into one function per instruction set.

/// Eight numbers, aligned to a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C, align(64))]
pub(super) struct Lane(pub [f64; 8]);

/// Arithmetic on eight lanes. Masks come from a comparison restricted to the lanes whose bit is set.
pub(super) trait Simd: Copy {
    /// Eight numbers.
    type V: Copy;
    /// Eight truth values.
    type M: Copy;
    fn splat(self, a: f64) -> Self::V;
    fn load(self, a: &Lane) -> Self::V;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a b + c.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// c − a b.
    fn fnma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    fn max(self, a: Self::V, b: Self::V) -> Self::V;
    /// a < b in the lanes of `bits`, false elsewhere.
    fn less(self, a: Self::V, b: Self::V, bits: u8) -> Self::M;
    fn any(self, m: Self::M) -> bool;
    /// a where m, 0 elsewhere.
    fn keep(self, m: Self::M, a: Self::V) -> Self::V;
    /// 1/a where m, 0 elsewhere.
    fn recip(self, m: Self::M, a: Self::V) -> Self::V;
    /// 1/√a where m, 0 elsewhere.
    fn rsqrt(self, m: Self::M, a: Self::V) -> Self::V;
    fn sum(self, a: Self::V) -> f64;
}

/// Sum of eight numbers in the order every implementation uses.
fn ordered_sum(a: [f64; 8]) -> f64 {
    ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
}

/// Any processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar;

fn lanes(f: impl Fn(usize) -> f64) -> [f64; 8] {
    std::array::from_fn(f)
}

impl Simd for Scalar {
    type V = [f64; 8];
    type M = [bool; 8];
    #[inline(always)]
    fn splat(self, a: f64) -> [f64; 8] {
        [a; 8]
    }
    #[inline(always)]
    fn load(self, a: &Lane) -> [f64; 8] {
        a.0
    }
    #[inline(always)]
    fn add(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        lanes(|k| a[k] + b[k])
    }
    #[inline(always)]
    fn sub(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        lanes(|k| a[k] - b[k])
    }
    #[inline(always)]
    fn mul(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        lanes(|k| a[k] * b[k])
    }
    #[inline(always)]
    fn fma(self, a: [f64; 8], b: [f64; 8], c: [f64; 8]) -> [f64; 8] {
        lanes(|k| a[k] * b[k] + c[k])
    }
    #[inline(always)]
    fn fnma(self, a: [f64; 8], b: [f64; 8], c: [f64; 8]) -> [f64; 8] {
        lanes(|k| c[k] - a[k] * b[k])
    }
    #[inline(always)]
    fn max(self, a: [f64; 8], b: [f64; 8]) -> [f64; 8] {
        lanes(|k| a[k].max(b[k]))
    }
    #[inline(always)]
    fn less(self, a: [f64; 8], b: [f64; 8], bits: u8) -> [bool; 8] {
        std::array::from_fn(|k| a[k] < b[k] && bits >> k & 1 == 1)
    }
    #[inline(always)]
    fn any(self, m: [bool; 8]) -> bool {
        m.contains(&true)
    }
    #[inline(always)]
    fn keep(self, m: [bool; 8], a: [f64; 8]) -> [f64; 8] {
        lanes(|k| if m[k] { a[k] } else { 0.0 })
    }
    #[inline(always)]
    fn recip(self, m: [bool; 8], a: [f64; 8]) -> [f64; 8] {
        lanes(|k| if m[k] { 1.0 / a[k] } else { 0.0 })
    }
    #[inline(always)]
    fn rsqrt(self, m: [bool; 8], a: [f64; 8]) -> [f64; 8] {
        lanes(|k| if m[k] { 1.0 / a[k].sqrt() } else { 0.0 })
    }
    #[inline(always)]
    fn sum(self, a: [f64; 8]) -> f64 {
        ordered_sum(a)
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Lane, Simd, ordered_sum};
    use std::arch::x86_64::*;

    /// Proof that the processor has AVX-512 F and DQ.
    #[derive(Clone, Copy, Debug)]
    pub(in super::super) struct Avx512(());

    impl Avx512 {
        /// Where the processor has AVX-512 F and DQ (and AVX2, FMA).
        pub fn detect() -> Option<Self> {
            (is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("fma"))
            .then_some(Self(()))
        }
    }

    // SAFETY of every block below: `self` was made by `detect`, so the instructions exist; loads are from whole `Lane`s.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Simd for Avx512 {
        type V = __m512d;
        type M = __mmask8;
        #[inline(always)]
        fn splat(self, a: f64) -> __m512d {
            unsafe { _mm512_set1_pd(a) }
        }
        #[inline(always)]
        fn load(self, a: &Lane) -> __m512d {
            unsafe { _mm512_load_pd(a.0.as_ptr()) }
        }
        #[inline(always)]
        fn add(self, a: __m512d, b: __m512d) -> __m512d {
            unsafe { _mm512_add_pd(a, b) }
        }
        #[inline(always)]
        fn sub(self, a: __m512d, b: __m512d) -> __m512d {
            unsafe { _mm512_sub_pd(a, b) }
        }
        #[inline(always)]
        fn mul(self, a: __m512d, b: __m512d) -> __m512d {
            unsafe { _mm512_mul_pd(a, b) }
        }
        #[inline(always)]
        fn fma(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
            unsafe { _mm512_fmadd_pd(a, b, c) }
        }
        #[inline(always)]
        fn fnma(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
            unsafe { _mm512_fnmadd_pd(a, b, c) }
        }
        #[inline(always)]
        fn max(self, a: __m512d, b: __m512d) -> __m512d {
            unsafe { _mm512_max_pd(a, b) }
        }
        #[inline(always)]
        fn less(self, a: __m512d, b: __m512d, bits: u8) -> __mmask8 {
            unsafe { _mm512_mask_cmp_pd_mask::<_CMP_LT_OQ>(bits, a, b) }
        }
        #[inline(always)]
        fn any(self, m: __mmask8) -> bool {
            m != 0
        }
        #[inline(always)]
        fn keep(self, m: __mmask8, a: __m512d) -> __m512d {
            unsafe { _mm512_maskz_mov_pd(m, a) }
        }
        /// Two Newton steps from 14 bits: relative error 2⁻⁵² or so.
        #[inline(always)]
        fn recip(self, m: __mmask8, a: __m512d) -> __m512d {
            unsafe {
                let one = _mm512_set1_pd(1.0);
                let y = _mm512_rcp14_pd(a);
                let y = _mm512_fmadd_pd(y, _mm512_fnmadd_pd(a, y, one), y);
                _mm512_maskz_fmadd_pd(m, y, _mm512_fnmadd_pd(a, y, one), y)
            }
        }
        /// Two Newton steps from 14 bits: relative error 2⁻⁵² or so.
        #[inline(always)]
        fn rsqrt(self, m: __mmask8, a: __m512d) -> __m512d {
            unsafe {
                let (one, half) = (_mm512_set1_pd(1.0), _mm512_set1_pd(0.5));
                let y = _mm512_rsqrt14_pd(a);
                let step = |y| _mm512_fnmadd_pd(_mm512_mul_pd(a, y), y, one);
                let y = _mm512_fmadd_pd(_mm512_mul_pd(half, y), step(y), y);
                _mm512_maskz_fmadd_pd(m, _mm512_mul_pd(half, y), step(y), y)
            }
        }
        #[inline(always)]
        fn sum(self, a: __m512d) -> f64 {
            let mut out = Lane::default();
            unsafe { _mm512_store_pd(out.0.as_mut_ptr(), a) };
            ordered_sum(out.0)
        }
    }

    /// Proof that the processor has AVX2 and FMA.
    #[derive(Clone, Copy, Debug)]
    pub(in super::super) struct Avx2(());

    impl Avx2 {
        /// Where the processor has AVX2 and FMA.
        pub fn detect() -> Option<Self> {
            (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Self(()))
        }
    }

    type Two = [__m256d; 2];

    // SAFETY of every block below: `self` was made by `detect`, so the instructions exist; loads are from whole `Lane`s.
    #[allow(clippy::undocumented_unsafe_blocks)]
    impl Simd for Avx2 {
        type V = Two;
        type M = Two;
        #[inline(always)]
        fn splat(self, a: f64) -> Two {
            unsafe { [_mm256_set1_pd(a); 2] }
        }
        #[inline(always)]
        fn load(self, a: &Lane) -> Two {
            let p = a.0.as_ptr();
            unsafe { [_mm256_load_pd(p), _mm256_load_pd(p.add(4))] }
        }
        #[inline(always)]
        fn add(self, a: Two, b: Two) -> Two {
            unsafe { [_mm256_add_pd(a[0], b[0]), _mm256_add_pd(a[1], b[1])] }
        }
        #[inline(always)]
        fn sub(self, a: Two, b: Two) -> Two {
            unsafe { [_mm256_sub_pd(a[0], b[0]), _mm256_sub_pd(a[1], b[1])] }
        }
        #[inline(always)]
        fn mul(self, a: Two, b: Two) -> Two {
            unsafe { [_mm256_mul_pd(a[0], b[0]), _mm256_mul_pd(a[1], b[1])] }
        }
        #[inline(always)]
        fn fma(self, a: Two, b: Two, c: Two) -> Two {
            unsafe { [_mm256_fmadd_pd(a[0], b[0], c[0]), _mm256_fmadd_pd(a[1], b[1], c[1])] }
        }
        #[inline(always)]
        fn fnma(self, a: Two, b: Two, c: Two) -> Two {
            unsafe { [_mm256_fnmadd_pd(a[0], b[0], c[0]), _mm256_fnmadd_pd(a[1], b[1], c[1])] }
        }
        #[inline(always)]
        fn max(self, a: Two, b: Two) -> Two {
            unsafe { [_mm256_max_pd(a[0], b[0]), _mm256_max_pd(a[1], b[1])] }
        }
        #[inline(always)]
        fn less(self, a: Two, b: Two, bits: u8) -> Two {
            unsafe {
                let set = _mm256_set1_epi64x(i64::from(bits));
                let lanes = [_mm256_set_epi64x(8, 4, 2, 1), _mm256_set_epi64x(128, 64, 32, 16)];
                let within = |k: usize| {
                    let allowed = _mm256_cmpeq_epi64(_mm256_and_si256(set, lanes[k]), lanes[k]);
                    _mm256_and_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(a[k], b[k]), _mm256_castsi256_pd(allowed))
                };
                [within(0), within(1)]
            }
        }
        #[inline(always)]
        fn any(self, m: Two) -> bool {
            unsafe { _mm256_movemask_pd(_mm256_or_pd(m[0], m[1])) != 0 }
        }
        #[inline(always)]
        fn keep(self, m: Two, a: Two) -> Two {
            unsafe { [_mm256_and_pd(m[0], a[0]), _mm256_and_pd(m[1], a[1])] }
        }
        #[inline(always)]
        fn recip(self, m: Two, a: Two) -> Two {
            unsafe {
                let one = _mm256_set1_pd(1.0);
                self.keep(m, [_mm256_div_pd(one, a[0]), _mm256_div_pd(one, a[1])])
            }
        }
        #[inline(always)]
        fn rsqrt(self, m: Two, a: Two) -> Two {
            unsafe { self.recip(m, [_mm256_sqrt_pd(a[0]), _mm256_sqrt_pd(a[1])]) }
        }
        #[inline(always)]
        fn sum(self, a: Two) -> f64 {
            let mut out = Lane::default();
            unsafe {
                _mm256_store_pd(out.0.as_mut_ptr(), a[0]);
                _mm256_store_pd(out.0.as_mut_ptr().add(4), a[1]);
            }
            ordered_sum(out.0)
        }
    }
}

/// Instruction set in use.
#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    #[cfg(target_arch = "x86_64")]
    Avx512(Avx512),
    #[cfg(target_arch = "x86_64")]
    Avx2(Avx2),
    Scalar(Scalar),
}

impl Level {
    /// All that this processor has, fastest first.
    pub fn available() -> Vec<Level> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            levels.extend(Avx512::detect().map(Level::Avx512));
            levels.extend(Avx2::detect().map(Level::Avx2));
        }
        levels.push(Level::Scalar(Scalar));
        levels
    }

    /// The fastest.
    pub fn best() -> Level {
        Self::available()[0]
    }
}
