//! Section `[neighbour_list]`: when lists of pairs are made anew, and what they hold.

use super::check::{Check, not_negative, positive, require};
use super::quantity::{Length, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[neighbour_list]`: lists of the pairs within the cut-off and a buffer, and with them the boxes of the atoms. On the CPU they are made anew when
/// an atom has moved by half the buffer. On a GPU they serve for a fixed number of steps each, and the buffer is so long that the pairs
/// which are missed change the energy by less than `tolerance`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NeighbourList {
    /// Length that is added to the cut-off (nm). A larger buffer makes lists that hold longer and contain more pairs; the result does not
    /// depend on it on the CPU, but for the truncation of the multipole expansions. On a GPU it follows from the tolerance; if it is given,
    /// lists serve for as many steps as it allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "0.1 nm on the CPU; on a GPU what the tolerance needs"))]
    pub buffer: Option<Length>,
    /// Largest drift of the energy (kJ/mol/ps per atom) that the pairs missed by the lists of a GPU may bring, by an upper estimate. A tenth of
    /// what the whole method is meant to keep, so that it does not show beside the electrostatics.
    pub tolerance: f64,
    /// Longest time that the lists of a GPU serve. It is shortened where the box has no room for the buffer, to 50 steps, and to a multiple of
    /// the time of the boxes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "40 fs"))]
    pub interval: Option<Time>,
}

impl Default for NeighbourList {
    fn default() -> Self {
        NeighbourList { buffer: None, tolerance: 1e-6, interval: None }
    }
}

impl NeighbourList {
    /// Buffer of the lists of the CPU, nm.
    pub fn buffer_on_cpu(&self) -> f64 {
        self.buffer.map_or(0.1, |buffer| buffer.get())
    }

    pub(super) fn check(&self) -> Check {
        self.buffer.map_or(Ok(()), |buffer| not_negative("neighbour_list.buffer", buffer))?;
        let valid = "a drift above zero in kJ/mol/ps per atom, such as 1e-6";
        require(self.tolerance > 0.0 && self.tolerance.is_finite(), "neighbour_list.tolerance", self.tolerance, valid)?;
        self.interval.map_or(Ok(()), |interval| positive("neighbour_list.interval", interval))
    }
}
