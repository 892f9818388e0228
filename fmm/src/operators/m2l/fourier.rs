//! Discrete Fourier transforms over the boxes of a root grid, all coefficients of their expansions at once.

mod grid;
mod line;

pub use grid::{GridTransform, turns, wave_vector};
