//! Plain Rust loops compiled for the instruction set found at run time.
//!
//! A [`Kernel`] is a closure in struct form. [`dispatch`] inlines its `run` into a function that may use AVX-512 or
//! AVX2 + FMA (NEON may be used everywhere), so that the compiler vectorises the loops inside for that instruction set. Everything `run` calls must
//! be inlined too (`#[inline(always)]`), or it is compiled for the base instruction set.

use crate::{Isa, Real};

/// A computation to be compiled for each instruction set.
pub trait Kernel {
    /// What it returns.
    type Output;
    /// Compute; mark the implementation `#[inline(always)]`. `FMA`: fused multiply-add is one instruction, see [`fma`].
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// Run `kernel` with the fastest instruction set of this machine.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    dispatch_on(Isa::best(), kernel)
}

/// Run `kernel` with a given instruction set.
///
/// # Panics
/// If the instruction set is not available.
#[inline]
pub fn dispatch_on<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    assert!(isa.is_available(), "{isa:?} is not available on this machine");
    match isa {
        // SAFETY: the instruction set is available (checked above).
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { run_avx512(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { run_avx2(kernel) },
        Isa::Neon => kernel.run::<true>(),
        _ => kernel.run::<false>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<true>()
}

/// a · b + c: rounded once with `FMA`, twice (and without a call into the C library) otherwise.
#[inline(always)]
pub fn fma<const FMA: bool, T: Real>(a: T, b: T, c: T) -> T {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Dot<'a>(&'a [f64], &'a [f64]);

    impl Kernel for Dot<'_> {
        type Output = f64;
        #[inline(always)]
        fn run<const FMA: bool>(self) -> f64 {
            self.0.iter().zip(self.1).fold(0.0, |sum, (&a, &b)| fma::<FMA, f64>(a, b, sum))
        }
    }

    #[test]
    fn every_instruction_set_runs_the_same_code() {
        let a: Vec<f64> = (0..37).map(f64::from).collect();
        let b: Vec<f64> = (0..37).map(|i| f64::from(i) - 18.0).collect();
        let sum: i64 = (0..37).map(|i: i64| i * (i - 18)).sum();
        for isa in Isa::ALL.into_iter().filter(|isa| isa.is_available()) {
            assert_eq!(dispatch_on(isa, Dot(&a, &b)), sum as f64, "{isa:?}");
        }
    }
}
