//! Discrete Fourier transforms over the boxes of a root grid, all coefficients of their expansions at once.

pub mod grid;
mod line;

pub use grid::{GridTransform, wave_vector};
