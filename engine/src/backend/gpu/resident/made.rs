//! What lists and boxes were made from, kept on the device so that a checkpoint can name it.

use super::ResidentError;
use crate::state::ListState;
use forcefield::Cell;
use kernels::device::{Buffer, Device, DeviceError, Stream};
use nalgebra::Vector3;

/// Positions and edges at the last time that something was made.
pub struct Made {
    x: Buffer<f64>,
    edges: Buffer<f64>,
}

impl Made {
    /// For `n` atoms.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(device: &Device, n: usize) -> Result<Self, DeviceError> {
        Ok(Self { x: device.zeros(3 * n)?, edges: device.zeros(6)? })
    }

    /// Keeps the positions `x` `[3N]` and the `edges` `[6]` of the cell ([`Cell::packed`]).
    ///
    /// # Errors
    /// What the driver says against a copy.
    pub fn enqueue(&self, stream: &Stream, x: &Buffer<f64>, edges: &Buffer<f64>) -> Result<(), ResidentError> {
        stream.copy(x, &self.x)?;
        Ok(stream.copy(edges, &self.edges)?)
    }

    /// What is kept.
    ///
    /// # Errors
    /// A lost device; a box that is none.
    pub fn read(&self, stream: &Stream) -> Result<ListState, ResidentError> {
        Ok(ListState {
            positions: self.x.read(stream)?.as_chunks::<3>().0.iter().map(|&x| Vector3::from(x)).collect(),
            cell: Cell::from_packed(self.edges.read(stream)?.as_chunks::<6>().0.first().copied().unwrap_or_default())?,
        })
    }
}
