//! From where a Verlet list was made, and whether it still serves.

use crate::cell::Cell;
use nalgebra::Vector3;

/// Positions of the atoms that a list is for, and the cell, when it was made.
#[derive(Clone, Debug, Default)]
pub struct ListOrigin {
    at: Vec<Vector3<f64>>,
    cell: Cell,
}

impl ListOrigin {
    /// The list has been made for atoms at these positions (nm).
    pub fn note(&mut self, at: impl Iterator<Item = Vector3<f64>>, cell: Cell) {
        self.at.clear();
        self.at.extend(at);
        self.cell = cell;
    }

    /// Whether the list was made for so many atoms.
    pub fn is_for(&self, n: usize) -> bool {
        self.at.len() == n
    }

    /// The cell for which it was made.
    pub fn cell(&self) -> Cell {
        self.cell
    }

    /// Whether the list may miss a pair within the `cutoff` (nm) with the same atoms at `x`: it was made for others, or never, the kind of boundary changed, or an atom
    /// has moved by more than half of what is left of the `buffer` (nm). Uniform scaling with the box is not counted as movement: from edges L to sL the buffer that is
    /// left is s (cut-off + buffer) − cut-off, s the smallest of the axes.
    pub fn is_stale(
        &self,
        mut x: impl ExactSizeIterator<Item = Vector3<f64>>,
        cell: Cell,
        (cutoff, buffer): (f64, f64),
    ) -> bool {
        let Some(scale) = cell.stretch_since(&self.cell) else { return true };
        let limit = 0.5 * (scale.min() * (cutoff + buffer) - cutoff);
        if limit < 0.0 || !self.is_for(x.len()) {
            return true;
        }
        let mut then = self.at.iter();
        // A comparison that is false for NaN: such positions make the list stale.
        !x.all(|x| then.next().is_some_and(|at| (x - at.component_mul(&scale)).norm_squared() <= limit * limit))
    }
}
