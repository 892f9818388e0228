//! Inner loops of the fast multipole method on the CPU, chosen at run time.
//!
//! Two kernels, each in `f32` and `f64`:
//!
//! - [`p2p`]: potential φ_i = Σ_j q_j / r_ij and field E_i = Σ_j q_j r_ij / r_ij³ of the particles of one box,
//!   made by the particles of its near boxes, for one or several charge vectors;
//! - [`rows_times_matrix`]: c_t += b_s M for many pairs (t, s) of expansions, the M2L translation.
//!
//! Each has an AVX-512, an AVX2 + FMA, a NEON and a portable path ([`Isa`]), all tested against plain loops in `f64`.
//! [`dispatch`] compiles other plain Rust for the machine's instruction set; [`dispatch_vectors`] runs loops written over
//! [`Vector`] registers. The crate knows points, charges and
//! matrices, nothing of trees. Dimensionless, k_e = 1.
//!
//! All `unsafe` of the FMM lives here.

pub mod device;
mod dispatch;
mod exceptions;
mod isa;
mod p2p;
mod peak;
mod product;
mod real;
mod simd;
mod sources;
#[cfg(test)]
mod test_numbers;
mod vector;

pub use dispatch::{Kernel, VectorKernel, dispatch, dispatch_on, dispatch_vectors, dispatch_vectors_on, fma};
pub use exceptions::{ExceptionTable, LeafExceptions, TARGET_BLOCK};
pub use isa::Isa;
pub use p2p::{FieldMut, p2p, p2p_on};
pub use peak::peak_flops;
pub use product::{Operator, RowPair, rows_times_matrix, set_rows_times_matrix};
pub use real::Real;
pub use sources::{CHUNK, Points, Run, SourceBlock};
pub use vector::{CacheLine, Line, Vector};
