//! Inner loops on the CPU for the instruction set found at run time, and the layer between the other crates and GPUs.
//!
//! - [`p2p()`]: potential φ_i = Σ_j q_j / r_ij and field E_i = Σ_j q_j r_ij / r_ij³ of the particles of one box,
//!   made by the particles of its near boxes, for one or several charge vectors (`f32` and `f64`);
//! - [`rows_times_matrix`]: c_t += b_s M for many pairs (t, s) of expansions, the M2L translation (`f32` and `f64`);
//! - [`lennard_jones`]: energies, virials and forces of points against listed clusters of eight points (`f64`);
//! - [`dispatch()`] compiles other plain Rust for the machine's instruction set, [`dispatch_vectors`] runs loops written over [`Vector`]
//!   registers, in safe code;
//! - `device`, with the feature `cuda`, which is on by default: memory, kernels and graphs of a GPU or of the emulator in its place.
//!
//! Each loop has an AVX-512, an AVX2 + FMA, a NEON and a portable path ([`Isa`]), written once over registers, met by the instruction set in
//! one place, and tested against plain loops in `f64`. The crate knows points, charges, coefficients and matrices, nothing of trees, atoms or
//! files. It is dimensionless (k_e = 1) and holds all `unsafe` code of the program.
//!
//! ```
//! use kernels::{ExceptionTable, FieldMut, Points, Run, SourceBlock, p2p};
//! // Two charges at distance 2; each is a target and a source, and no target meets itself.
//! let (x, zero, charges) = ([0.0_f64, 2.0], [0.0; 2], [1.0, -3.0]);
//! let points = Points { x: &x, y: &zero, z: &zero };
//! let mut sources = SourceBlock::new();
//! sources.gather(points, &[&charges], &[Run { start: 0, len: 2, shift: [0.0; 3] }]);
//! let mut exceptions = ExceptionTable::new();
//! exceptions.push_leaf(2, 2, &mut [(0, 0), (1, 1)]);
//! let [mut phi, mut ex, mut ey, mut ez] = [[0.0; 2]; 4];
//! let out = FieldMut { phi: &mut phi, ex: &mut ex, ey: &mut ey, ez: &mut ez };
//! p2p(points, &sources, exceptions.leaf(0), out);
//! assert!((phi[0] + 1.5).abs() < 1e-14 && (phi[1] - 0.5).abs() < 1e-14);
//! assert!((ex[0] - 0.75).abs() < 1e-14); // towards the negative charge
//! ```

#[cfg(feature = "cuda")]
pub mod device;
mod dispatch;
mod exceptions;
mod isa;
pub mod lennard_jones;
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
