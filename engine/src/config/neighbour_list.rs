//! Section `[neighbour_list]`: how far atoms may move before lists are made anew.

use super::check::{Check, not_negative};
use super::quantity::Length;
use serde::{Deserialize, Serialize};

/// `[neighbour_list]`: lists are rebuilt, and atoms assigned to the boxes of the tree, when an atom has moved by half the buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NeighbourList {
    /// Length that is added to the cut-off (nm).
    pub buffer: Length,
}

impl Default for NeighbourList {
    fn default() -> Self {
        NeighbourList { buffer: Length::new(0.1) }
    }
}

impl NeighbourList {
    pub(super) fn check(&self) -> Check {
        not_negative("neighbour_list.buffer", self.buffer)
    }
}
