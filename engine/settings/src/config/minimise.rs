//! Section `[minimise]`: steepest descent before the dynamics.

use super::check::{Check, positive};
use super::quantity::{Force, Length};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[minimise]`: steepest descent before the first step. Without the section nothing is minimised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Minimise {
    /// Largest number of steps of the descent.
    pub steps: u64,
    /// The descent stops when the largest force on an atom is below this (kJ/mol/nm), above zero.
    pub force_tolerance: Force,
    /// Displacement of the atom with the largest force in the first step (nm), above zero; later steps grow and shrink with success.
    pub initial_step: Length,
}

impl Default for Minimise {
    fn default() -> Self {
        Minimise { steps: 500, force_tolerance: Force::new(1000.0), initial_step: Length::new(0.01) }
    }
}

impl Minimise {
    pub(super) fn check(&self) -> Check {
        positive("minimise.force_tolerance", self.force_tolerance)?;
        positive("minimise.initial_step", self.initial_step)
    }
}
