//! The most that one core can do: fused multiply-adds in registers, as many in flight as hide the latency.

use std::hint::black_box;
use std::marker::PhantomData;
use std::time::{Duration, Instant};

use crate::dispatch::{InstructionSet, RegisterKernel, dispatch_registers_on};
use crate::simd::Lanes;
use crate::{Isa, Real};

/// Steps of one timed loop: some 10 µs.
const STEPS: usize = 2_000;

/// Measured floating-point operations per second of one core in `T` with an instruction set: a multiply-add counts as two. Takes about 10 ms; the
/// best of many short loops, so that interruptions and a clock that has yet to rise do not count. Without fused multiply-add
/// (portable on x86-64), the two are separate instructions.
///
/// # Panics
/// If the instruction set is not available.
#[must_use]
pub fn peak_flops<T: Real>(isa: Isa) -> f64 {
    let (begin, mut best) = (Instant::now(), 0.0_f64);
    while begin.elapsed() < Duration::from_millis(10) {
        let start = Instant::now();
        let operations = dispatch_registers_on(isa, MultiplyAdds::<T>(PhantomData));
        best = best.max(operations as f64 / start.elapsed().as_secs_f64());
    }
    best
}

struct MultiplyAdds<T>(PhantomData<T>);

impl<T: Real> RegisterKernel for MultiplyAdds<T> {
    type Output = usize;
    /// There are 32 registers, on AVX2 and x86-64 without it 16, and the constants take some of them.
    #[inline(always)]
    fn run<S: InstructionSet>(self, _: S) -> usize {
        // SAFETY: `S` is available.
        unsafe {
            match S::ISA {
                Isa::Avx512 => multiply_add::<S::Register<T>, 20>(),
                Isa::Neon => multiply_add::<S::Register<T>, 24>(),
                Isa::Avx2 | Isa::Portable => multiply_add::<S::Register<T>, 12>(),
            }
        }
    }
}

/// x ← a x + b for `N` vectors, which tend to b / (1 − a); the number of operations. Two FMA units of four cycles need N ≥ 8,
/// four units (large NEON cores) N ≥ 16.
///
/// # Safety
/// `L`'s instruction set.
#[inline(always)]
unsafe fn multiply_add<L: Lanes, const N: usize>() -> usize {
    // SAFETY: the caller's promise; the sums of four vectors are in range for N a multiple of 4.
    unsafe {
        let number = |x: f64| L::splat(black_box(L::Elem::of(x)));
        let (a, b) = (number(0.5), number(0.75));
        // All different, or the compiler would keep only one.
        let mut x: [L; N] = std::array::from_fn(|i| number(i as f64));
        for _ in 0..STEPS {
            for x in &mut x {
                *x = x.mul_add(a, b);
            }
        }
        for four in x.as_chunks::<4>().0 {
            black_box(L::sum_each(*four));
        }
    }
    2 * STEPS * N * L::LANES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plausible_and_twice_as_much_in_single_precision() {
        // NEON is left out because an emulator may run it.
        for isa in [Isa::Avx512, Isa::Avx2].into_iter().filter(|isa| isa.is_available()) {
            let (single, double) = (peak_flops::<f32>(isa), peak_flops::<f64>(isa));
            // Between one vector multiply-add per cycle at 1 GHz and four at 6 GHz; a busy machine may slow down either.
            let lanes = if isa == Isa::Avx512 { 16.0 } else { 8.0 };
            assert!(single > 0.2e9 * lanes && single < 48e9 * lanes, "{isa:?}: {single:e}");
            assert!((1.2..3.5).contains(&(single / double)), "{isa:?}: {single:e} and {double:e}");
        }
    }
}
