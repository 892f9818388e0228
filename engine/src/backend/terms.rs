//! What both backends make of the settings and the errors of the terms.

use crate::config::{self, Config};
use crate::error::{Error, PhysicsError, Result};
use fmm::FmmError;
use forcefield::Topology;
use forcefield::lennard_jones::Modifier;
use forcefield::variants::{SiteVariants, Variants};
use lambda::Site;
use std::sync::Arc;

/// What is done to Lennard-Jones at the cut-off.
pub fn modifier(settings: &config::VanDerWaals) -> Modifier {
    match settings.modifier {
        config::Modifier::None => Modifier::None,
        config::Modifier::PotentialShift => Modifier::PotentialShift,
        config::Modifier::ForceSwitch => Modifier::ForceSwitch { r_switch: settings.start_of_switch().get() },
    }
}

/// What all forms of the `sites` share, and what differs between them besides charges; none if nothing does. Whoever shares the topology keeps it
/// as it was. `buffer`: that of the list of the CPU (nm), which a device does not read.
///
/// # Errors
/// Variants that do not fit the topology, by the key of the job.
pub fn split(
    config: &Config,
    topology: &Arc<Topology>,
    sites: &[Site],
    variants: &[SiteVariants],
    buffer: f64,
) -> Result<(Arc<Topology>, Option<Variants>)> {
    let mut topology = topology.clone();
    if variants.iter().all(SiteVariants::is_empty) {
        return Ok((topology, None));
    }
    let settings = &config.van_der_waals;
    let forms: Vec<usize> = sites.iter().map(|site| site.forms.len()).collect();
    let (cutoff, modifier) = (settings.cutoff.get(), modifier(settings));
    let variants = Variants::new(Arc::make_mut(&mut topology), variants, &forms, cutoff, modifier, buffer)
        .map_err(|e| config.error_at("titration.site", e.to_string(), ""))?;
    Ok((topology, Some(variants)))
}

/// What the FMM refused, with the atoms behind its particle numbers.
pub fn coulomb_error(error: &FmmError, topology: &Topology) -> Error {
    let mut help = "atoms that overlap: minimise first, or use a shorter time step";
    let (message, particle) = match error {
        FmmError::ExclusionTooFar { i, j } => {
            help = "choose a smaller electrostatics.depth, or leave it out";
            (format!("the excluded {} is farther away than two near boxes", topology.label(*j as u32)), Some(*i))
        }
        FmmError::NotFinite { particle, what } => (format!("the {what} of an atom is not finite"), Some(*particle)),
        FmmError::Coincident { particle, other } => {
            let other = other.map_or("another atom".into(), |other| topology.label(other as u32));
            (format!("{other} sits at the same position"), Some(*particle))
        }
        FmmError::Overflow { particle } => ("its potential is not finite".into(), Some(*particle)),
        FmmError::Strayed { particle, boxes } => {
            (format!("moved {boxes:.1} edges of a box of the FMM since atoms were assigned to boxes"), Some(*particle))
        }
        other => (other.to_string(), None),
    };
    PhysicsError {
        message,
        term: "Coulomb".into(),
        atom: particle.map(|particle| topology.label(particle as u32)),
        help: help.into(),
        ..PhysicsError::default()
    }
    .into()
}
