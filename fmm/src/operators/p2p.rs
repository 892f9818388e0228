//! P2P: which boxes interact directly. The sums over their particles are those of [`kernels::p2p`]:
//!
//!   φ_i = Σ_j q_j / r_ij,   E_i = Σ_j q_j r_ij / r_ij³   over the particles j of near boxes, excluded ones left out

use kernels::{Real, Run};

use crate::geometry::assignment::Assignment;
use crate::geometry::grid::BoxGrid;

/// The sources of the near boxes of a leaf as seen from it, appended.
pub fn near_runs<T: Real>(to: &Assignment, grid: &BoxGrid, leaf: usize, runs: &mut Vec<Run<T>>) {
    runs.extend(to.leaves().near(leaf).iter().map(|n| {
        let places = to.sources(n.source as usize);
        let shift = grid.vector(grid.near.offsets()[n.slot as usize].map(f64::from)).map(T::of);
        Run { start: places.start as u32, len: places.len() as u32, shift }
    }));
}
