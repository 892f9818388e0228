//! Choice of the instruction set at run time.

use std::sync::OnceLock;

/// The instruction sets a kernel exists for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Isa {
    /// AVX-512 F, DQ, BW and VL: 16 `f32` or 8 `f64` lanes.
    Avx512,
    /// AVX2 with FMA: 8 `f32` or 4 `f64` lanes.
    Avx2,
    /// NEON, part of every AArch64 processor: 4 `f32` or 2 `f64` lanes.
    Neon,
    /// Plain Rust, any machine.
    Portable,
}

impl Isa {
    /// All instruction sets, fastest first.
    pub const ALL: [Self; 4] = [Self::Avx512, Self::Avx2, Self::Neon, Self::Portable];

    /// The fastest instruction set of this machine.
    #[must_use]
    pub fn best() -> Self {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| Self::ALL.into_iter().find(|isa| isa.is_available()).unwrap_or(Self::Portable))
    }

    /// Whether this machine can execute it (looked up once, because kernels ask at every call).
    #[must_use]
    pub fn is_available(self) -> bool {
        static AVAILABLE: OnceLock<[bool; 4]> = OnceLock::new();
        AVAILABLE.get_or_init(|| Self::ALL.map(Self::detect))[self as usize]
    }

    fn detect(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(not(target_arch = "x86_64"))]
            Self::Avx512 | Self::Avx2 => false,
            Self::Neon => cfg!(target_arch = "aarch64"),
            Self::Portable => true,
        }
    }
}
