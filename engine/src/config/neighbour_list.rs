//! Section `[neighbour_list]`: how far atoms may move before lists are made anew.

use super::check::{Check, not_negative};
use super::quantity::Length;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[neighbour_list]`: lists are rebuilt, and atoms assigned to the boxes of the tree, when an atom has moved by half the buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NeighbourList {
    /// Length that is added to the cut-off (nm). A larger buffer makes lists that hold longer and contain more pairs; the result does not
    /// depend on it on the CPU, but for the truncation of the multipole expansions.
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
