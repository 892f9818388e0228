//! Differences between a job and the calibration of its corrections that a person allows by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something that may differ between a job and the calibration of a correction V_MM that it uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mismatch {
    /// What is linear in the weights between two forms.
    Interpolation,
    /// Whether the site's own periodic images are in the bracket of Hamiltonian interpolation.
    Images,
    /// Temperature of λ, by more than 2 K.
    Temperature,
    /// Cut-off of Lennard-Jones interactions.
    Cutoff,
    /// What happens to Lennard-Jones interactions at the cut-off.
    Modifier,
    /// Water model, or another solvent.
    Water,
    /// Periodic or open boundaries.
    Boundary,
    /// Parameters of the force field for the group besides charges: Lennard-Jones, angles, torsions.
    Parameters,
    /// Lennard-Jones interactions of the group beside the combination rule (CUFIX, NBFIX), with atoms of its own residue and of the solvent.
    Pairs,
}

impl Mismatch {
    /// The word in a job file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interpolation => "interpolation",
            Self::Images => "images",
            Self::Temperature => "temperature",
            Self::Cutoff => "cutoff",
            Self::Modifier => "modifier",
            Self::Water => "water",
            Self::Boundary => "boundary",
            Self::Parameters => "parameters",
            Self::Pairs => "pairs",
        }
    }
}
