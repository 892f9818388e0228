//! The one place where a kernel meets the instruction set found at run time.
//!
//! A kernel is a closure in struct form. Its `run` is inlined into a function that may use AVX-512 or AVX2 + FMA (NEON may be used
//! everywhere), so that it is compiled once for each instruction set. There are three kinds, by what a kernel is written in:
//!
//! - [`Kernel`]: plain loops, which the compiler vectorises;
//! - [`VectorKernel`]: whole cache lines of numbers in registers ([`Vector`]), in safe code;
//! - `RegisterKernel`: single registers (`Lanes`), for the kernels of this crate.
//!
//! Everything that `run` calls must be inlined too (`#[inline(always)]`), or it is compiled for the base instruction set.

use std::marker::PhantomData;

use crate::simd::Lanes;
use crate::vector::{Registers, Vector};
use crate::{Isa, Real};

/// Plain loops to be compiled for each instruction set.
pub trait Kernel {
    /// What the computation returns.
    type Output;
    /// Computes; mark the implementation `#[inline(always)]`. `FMA` says that fused multiply-add is one instruction, see [`fma`].
    fn run<const FMA: bool>(self) -> Self::Output;
}

/// A computation on vectors.
pub trait VectorKernel<T: Real> {
    /// What the computation returns.
    type Output;
    /// Computes; mark the implementation and all it calls with vectors `#[inline(always)]`. All vectors come from `zero`.
    fn run<V: Vector<Elem = T, Line = T::Line>>(self, zero: V) -> Self::Output;
}

/// A computation on registers.
pub(crate) trait RegisterKernel {
    /// What the computation returns.
    type Output;
    /// Computes; mark the implementation and all it calls with registers `#[inline(always)]`. `S` is available.
    fn run<S: InstructionSet>(self, set: S) -> Self::Output;
}

/// An instruction set that this machine has: a value is the proof, and only this module makes one.
pub(crate) trait InstructionSet: Copy {
    /// Which one it is.
    const ISA: Isa;
    /// Whether fused multiply-add is one instruction.
    const FMA: bool;
    /// Its register of `T`.
    type Register<T: Real>: Lanes<Elem = T>;
    /// As many registers as hold a cache line.
    type Vector<T: Real>: Vector<Elem = T, Line = T::Line>;
    /// A vector of zeros.
    fn zero<T: Real>(self) -> Self::Vector<T>;
}

macro_rules! instruction_set {
    ($(#[$arch:meta])? $name:ident: $registers:literal registers, FMA = $fma:literal) => {
        $(#[$arch])?
        #[derive(Clone, Copy)]
        struct $name(());

        $(#[$arch])?
        impl InstructionSet for $name {
            const ISA: Isa = Isa::$name;
            const FMA: bool = $fma;
            type Register<T: Real> = T::$name;
            type Vector<T: Real> = Registers<T::$name, $registers>;
            #[inline(always)]
            fn zero<T: Real>(self) -> Self::Vector<T> {
                // SAFETY: `self` is the proof that the instruction set is available.
                unsafe { Registers::zero() }
            }
        }
    };
}
instruction_set!(#[cfg(target_arch = "x86_64")] Avx512: 1 registers, FMA = true);
instruction_set!(#[cfg(target_arch = "x86_64")] Avx2: 2 registers, FMA = true);
instruction_set!(#[cfg(target_arch = "aarch64")] Neon: 4 registers, FMA = true);
instruction_set!(Portable: 4 registers, FMA = false);

/// Runs `kernel` with a given instruction set.
///
/// # Panics
/// If the instruction set is not available.
#[inline]
pub(crate) fn dispatch_registers_on<K: RegisterKernel>(isa: Isa, kernel: K) -> K::Output {
    assert!(isa.is_available(), "{isa:?} is not available on this machine");
    match isa {
        // SAFETY: the instruction set is available (checked above).
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { run_avx512(kernel) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { run_avx2(kernel) },
        // NEON is part of the base instruction set.
        #[cfg(target_arch = "aarch64")]
        Isa::Neon => kernel.run(Neon(())),
        _ => kernel.run(Portable(())),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
fn run_avx512<K: RegisterKernel>(kernel: K) -> K::Output {
    kernel.run(Avx512(()))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn run_avx2<K: RegisterKernel>(kernel: K) -> K::Output {
    kernel.run(Avx2(()))
}

/// Runs `kernel` with the fastest instruction set of this machine.
#[inline]
pub fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    dispatch_on(Isa::best(), kernel)
}

/// Runs `kernel` with a given instruction set.
///
/// # Panics
/// If the instruction set is not available.
#[inline]
pub fn dispatch_on<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    dispatch_registers_on(isa, Loops(kernel))
}

/// Runs `kernel` with the fastest instruction set of this machine.
#[inline]
pub fn dispatch_vectors<T: Real, K: VectorKernel<T>>(kernel: K) -> K::Output {
    dispatch_vectors_on(Isa::best(), kernel)
}

/// Runs `kernel` with a given instruction set.
///
/// # Panics
/// If the instruction set is not available.
#[inline]
pub fn dispatch_vectors_on<T: Real, K: VectorKernel<T>>(isa: Isa, kernel: K) -> K::Output {
    dispatch_registers_on(isa, Vectors(kernel, PhantomData))
}

struct Loops<K>(K);

impl<K: Kernel> RegisterKernel for Loops<K> {
    type Output = K::Output;
    #[inline(always)]
    fn run<S: InstructionSet>(self, _: S) -> K::Output {
        if S::FMA { self.0.run::<true>() } else { self.0.run::<false>() }
    }
}

struct Vectors<T, K>(K, PhantomData<T>);

impl<T: Real, K: VectorKernel<T>> RegisterKernel for Vectors<T, K> {
    type Output = K::Output;
    #[inline(always)]
    fn run<S: InstructionSet>(self, set: S) -> K::Output {
        self.0.run(set.zero::<T>())
    }
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
