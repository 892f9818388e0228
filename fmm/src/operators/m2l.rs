//! M2L: from multipole expansions to local expansions of boxes that are not near.
//!
//! - `matrix`: the dense matrix of one vector, lattice sum or wave vector;
//! - `rotation`: the same along a rotated axis, cheaper from medium orders on; `translation` chooses between both;
//! - `convolution`: all pairs of boxes of the root grid and all their images at once, in Fourier space (`fourier`);
//! - `refined`: refined levels, pair by pair.

pub(crate) mod convolution;
pub(crate) mod fourier;
pub mod matrix;
pub(crate) mod refined;
pub mod rotation;
pub(crate) mod translation;
