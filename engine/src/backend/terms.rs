//! What both backends make of the settings and the errors of the terms.

use crate::config;
use crate::error::{Error, PhysicsError};
use fmm::FmmError;
use forcefield::Topology;
use forcefield::lennard_jones::Modifier;

/// What is done to Lennard-Jones at the cut-off.
pub fn modifier(settings: &config::VanDerWaals) -> Modifier {
    match settings.modifier {
        config::Modifier::None => Modifier::None,
        config::Modifier::PotentialShift => Modifier::PotentialShift,
        config::Modifier::ForceSwitch => {
            let start = settings.switch_start.map_or(settings.cutoff.get() - 0.2, |start| start.get());
            Modifier::ForceSwitch { r_switch: start }
        }
    }
}

/// What the FMM refused, with the atom behind its particle number.
pub fn coulomb_error(error: &FmmError, topology: &Topology) -> Error {
    let (message, particle) = match error {
        FmmError::NotFinite { particle, what } => (format!("the {what} of an atom is not finite"), Some(*particle)),
        FmmError::Coincident { particle } => ("another atom sits at the same position".into(), Some(*particle)),
        other => (other.to_string(), None),
    };
    PhysicsError {
        message,
        term: "Coulomb".into(),
        atom: particle.map(|particle| topology.label(particle as u32)),
        help: "atoms that overlap: minimise first, or use a shorter time step".into(),
        ..PhysicsError::default()
    }
    .into()
}
