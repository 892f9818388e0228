//! The floating-point type of the kernels: `f32` or `f64`.

use std::fmt::{Debug, Display};
use std::iter::Sum;

use bytemuck::Pod;
use num_traits::{Float, NumAssign};

/// `f32` or `f64`. Sealed: the kernels exist for these two only.
pub trait Real:
    Float
    + NumAssign
    + Sum
    + Debug
    + Display
    + Default
    + Send
    + Sync
    + Pod
    + 'static
    + sealed::Vectors
    + sealed::Compiled
    + sealed::OnDevices
{
    /// The value of this type nearest to `x`.
    fn of(x: f64) -> Self;
    /// The same value as `f64` (exact).
    fn widen(self) -> f64;
}

impl Real for f32 {
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // rounding to f32 is the purpose
    fn of(x: f64) -> Self {
        x as Self
    }
    #[inline]
    fn widen(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    #[inline]
    fn of(x: f64) -> Self {
        x
    }
    #[inline]
    fn widen(self) -> f64 {
        self
    }
}

pub(crate) mod sealed {
    use crate::Isa;
    use crate::dispatch::dispatch_registers_on;
    use crate::p2p::NearField;
    use crate::product::Product;
    use crate::sources::CopyRuns;

    /// The kernels of a floating-point type, compiled in this crate once and for all: generic code is compiled anew in every crate that calls it, and these are
    /// unrolled for each instruction set.
    pub trait Compiled: Sized {
        /// See [`crate::p2p_on`].
        fn near_field(isa: Isa, kernel: NearField<'_, Self>);
        /// See [`crate::rows_times_matrix`].
        fn add_product(isa: Isa, kernel: Product<'_, Self, true>);
        /// See [`crate::set_rows_times_matrix`].
        fn set_product(isa: Isa, kernel: Product<'_, Self, false>);
        /// See [`crate::SourceBlock::gather`].
        fn copy_runs(isa: Isa, kernel: CopyRuns<'_, Self>);
    }

    macro_rules! compiled {
        ($($real:ty),*) => {$(
            impl Compiled for $real {
                #[inline(never)]
                fn near_field(isa: Isa, kernel: NearField<'_, Self>) {
                    dispatch_registers_on(isa, kernel);
                }
                #[inline(never)]
                fn add_product(isa: Isa, kernel: Product<'_, Self, true>) {
                    dispatch_registers_on(isa, kernel);
                }
                #[inline(never)]
                fn set_product(isa: Isa, kernel: Product<'_, Self, false>) {
                    dispatch_registers_on(isa, kernel);
                }
                #[inline(never)]
                fn copy_runs(isa: Isa, kernel: CopyRuns<'_, Self>) {
                    dispatch_registers_on(isa, kernel);
                }
            }
        )*};
    }
    compiled!(f32, f64);

    /// What devices need of a floating-point type: with the feature `cuda` a name in CUDA C++.
    #[cfg(feature = "cuda")]
    pub use crate::device::Shared as OnDevices;

    /// What devices need of a floating-point type: with the feature `cuda` a name in CUDA C++.
    #[cfg(not(feature = "cuda"))]
    pub trait OnDevices {}

    #[cfg(not(feature = "cuda"))]
    impl<T> OnDevices for T {}

    /// The vector types of a floating-point type, one for each instruction set.
    pub trait Vectors: Sized {
        /// A cache line of numbers, see [`crate::Vector`].
        type Line: crate::Line<Self>;
        /// A plain array.
        type Portable: crate::simd::Lanes<Elem = Self>;
        /// AVX-512 vector.
        #[cfg(target_arch = "x86_64")]
        type Avx512: crate::simd::Lanes<Elem = Self>;
        /// AVX2 vector.
        #[cfg(target_arch = "x86_64")]
        type Avx2: crate::simd::Lanes<Elem = Self>;
        /// NEON vector.
        #[cfg(target_arch = "aarch64")]
        type Neon: crate::simd::Lanes<Elem = Self>;
    }

    impl Vectors for f32 {
        type Line = crate::CacheLine<Self, 16>;
        type Portable = crate::simd::plain::Plain<Self, 4>;
        #[cfg(target_arch = "x86_64")]
        type Avx512 = crate::simd::avx512::F32x16;
        #[cfg(target_arch = "x86_64")]
        type Avx2 = crate::simd::avx2::F32x8;
        #[cfg(target_arch = "aarch64")]
        type Neon = crate::simd::neon::F32x4;
    }

    impl Vectors for f64 {
        type Line = crate::CacheLine<Self, 8>;
        type Portable = crate::simd::plain::Plain<Self, 2>;
        #[cfg(target_arch = "x86_64")]
        type Avx512 = crate::simd::avx512::F64x8;
        #[cfg(target_arch = "x86_64")]
        type Avx2 = crate::simd::avx2::F64x4;
        #[cfg(target_arch = "aarch64")]
        type Neon = crate::simd::neon::F64x2;
    }
}
