//! M2L between the boxes of one refined level on a device, by several schemes, ours and published ones.
//!
//! A level of n × n × n cubes, with or without periodic images; each box receives from the 189 children of its parent's neighbours that do
//! not touch it, with operators for 316 offsets:
//!
//!   L_t(b) = Σ_u Σ_j M(u)_jt ω_j(b + u),   lengths in units of the edge of a box
//!
//! in the real solid harmonics of [`fmm::harmonics`]. All schemes give the same sums up to rounding, each in a fixed order, so that they repeat
//! bit for bit. [`measure`](measure::measure) times them. The engine uses the products of matrices (`fmm::device::products`); all others are
//! here for comparison.
//! References: B. Kohnke et al., Int. J. High Perform. Comput. Appl. 35, 97 (2021), doi:10.1177/1094342020964857 (approaches 1 to 3);
//! T. Takahashi, C. Cecka, W. Fong, E. Darve, Int. J. Numer. Meth. Eng. 89, 105 (2012), doi:10.1002/nme.3240 (blockings).

mod arguments;
mod level;
pub mod measure;
mod operators;
#[cfg(test)]
mod tests;

use kernels::device::DeviceError;
use thiserror::Error;

/// Device functions of a level.
const LEVEL: &str = include_str!("m2l/level.cuh");

/// Highest order of the schemes.
pub const MAX_ORDER: usize = 20;

/// How M2L is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Loops, a thread for each target coefficient (Kohnke 1).
    Naive,
    /// Parents and children, grouped beforehand instead of launched from the device (Kohnke 2).
    Dynamic,
    /// Presorted lists, 34 operators, sign bitsets (Kohnke 3).
    Symmetric,
    /// A block for each box (Takahashi: basic, GPU1).
    Basic,
    /// Operators shared by pairs of siblings (Takahashi: GPU2).
    Siblings,
    /// Operators shared in clusters of 4 × 4 × 4 boxes (Takahashi: GPU3).
    Clusters,
    /// The same with both indices of the operator blocked (Takahashi: GPU4).
    Slices,
    /// Products of matrices by fused multiply-adds (ours, `fmm::device::products`).
    Gemm,
    /// Products of matrices on tensor cores, numbers split in two (ours); single precision only.
    Tensor,
}

impl Scheme {
    /// All schemes.
    pub const ALL: [Self; 9] = [
        Self::Naive,
        Self::Dynamic,
        Self::Symmetric,
        Self::Basic,
        Self::Siblings,
        Self::Clusters,
        Self::Slices,
        Self::Gemm,
        Self::Tensor,
    ];

    /// Name on command lines and in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Dynamic => "dynamic",
            Self::Symmetric => "symmetric",
            Self::Basic => "basic",
            Self::Siblings => "siblings",
            Self::Clusters => "clusters",
            Self::Slices => "slices",
            Self::Gemm => "gemm",
            Self::Tensor => "tensor",
        }
    }

    /// The scheme of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }
}

/// Why a level cannot be made.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum M2lError {
    /// The order is too high.
    #[error("order {order}; M2L on a device has orders 0 to {MAX_ORDER}")]
    Order {
        /// What was asked for.
        order: usize,
    },
    /// The number of boxes does not fit the schemes.
    #[error("{n} boxes per axis; a level has a multiple of 4, up to 128")]
    Size {
        /// What was asked for.
        n: usize,
    },
    /// Tensor cores were asked for double precision.
    #[error("tensor cores serve single precision only")]
    Precision,
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
