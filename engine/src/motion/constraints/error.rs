//! Errors of constraints; they name the atoms, the caller adds the step.

use crate::error::{Error, PhysicsError};
use forcefield::Topology;

/// What can go wrong with constraints.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ConstraintError {
    /// A rigid water cannot be put back into its shape: its atoms moved too far in one step.
    #[error(
        "SETTLE found no solution for the water of atoms {}, {}, {}: it moved too far in one step",
        atoms[0] + 1, atoms[1] + 1, atoms[2] + 1
    )]
    Settle {
        /// Oxygen and hydrogens (0-based).
        atoms: [u32; 3],
    },
    /// A fixed bond cannot be restored.
    #[error(
        "SHAKE did not converge: the bond between atoms {} and {} is {found:.6} nm long and should be {wanted:.6} nm",
        atoms[0] + 1, atoms[1] + 1
    )]
    Shake {
        /// Bonded atoms (0-based).
        atoms: [u32; 2],
        /// Length when the iteration stopped, nm.
        found: f64,
        /// Length wanted, nm.
        wanted: f64,
    },
    /// Velocities along bonds cannot be removed: atoms coincide, lie on a line in a water, or are not finite.
    #[error("velocities along the bond between atoms {} and {} cannot be removed", atoms[0] + 1, atoms[1] + 1)]
    Velocity {
        /// Bonded atoms (0-based).
        atoms: [u32; 2],
    },
    /// The constraints as given make no sense.
    #[error("constraint between atoms {} and {}: {reason}", atoms[0] + 1, atoms[1] + 1)]
    Input {
        /// Atoms (0-based).
        atoms: [u32; 2],
        /// What is wrong, and what is valid.
        reason: &'static str,
    },
}

impl ConstraintError {
    /// The atom to name first in a message (0-based).
    pub fn atom(&self) -> u32 {
        match self {
            Self::Settle { atoms } => atoms[0],
            Self::Shake { atoms, .. } | Self::Velocity { atoms } | Self::Input { atoms, .. } => atoms[0],
        }
    }

    /// Name of the algorithm, for messages.
    pub fn term(&self) -> &'static str {
        match self {
            Self::Settle { .. } => "SETTLE",
            Self::Shake { .. } => "SHAKE",
            Self::Velocity { .. } | Self::Input { .. } => "constraints",
        }
    }

    /// The same as an error of a simulation, with the name that the atom has in `topology`.
    pub fn of(&self, topology: &Topology) -> Error {
        PhysicsError {
            message: self.to_string(),
            term: self.term().into(),
            atom: Some(topology.label(self.atom())),
            help: "minimise first, or use a shorter time step".into(),
            ..PhysicsError::default()
        }
        .into()
    }
}
