//! Whether the Coulomb energy of the 1-4 pairs of titratable sites follows their charges.
//!
//! A pair has s k_e q_i q_j / r with a constant factor s. A system of OpenMM has products instead, from which the reader divides the charges out;
//! where the products were made by another rule there is no factor, and what a form of other charges would have is not known.

use crate::config::Config;
use crate::error::Result;
use forcefield::Topology;
use lambda::site::Site;
use std::collections::HashSet;

/// Factors closer than this (relative) are the same: tools that write products round them to eight digits or more.
const SAME: f64 = 1e-6;

/// Refuses sites with pairs of several factors, or of none that is known.
///
/// # Errors
/// [`crate::error::Error::Input`] that names the site and the pairs.
pub(crate) fn check(config: &Config, topology: &Topology, unknown: &[[u32; 2]], sites: &[Site]) -> Result<()> {
    let label = |[i, j]: [u32; 2]| format!("{} and {}", topology.label(i), topology.label(j));
    for site in sites {
        let atoms: HashSet<u32> = site.atoms.iter().copied().collect();
        let touches = |pair: &[u32; 2]| pair.iter().any(|atom| atoms.contains(atom));
        if let Some(pair) = unknown.iter().find(|pair| touches(pair)) {
            let message = format!(
                "{}: a charge of the 1-4 pair {} is zero, and other pairs nearby have several factors or none, so that the Coulomb energy of \
                 this one in other forms is not known",
                site.name,
                label(*pair)
            );
            return Err(config.error_at(
                "titration",
                message,
                "leave the site out, or build the system with one factor for 1-4 pairs",
            ));
        }
        let mut pairs = topology.pairs.iter().filter(|pair| touches(&pair.atoms));
        let Some(first) = pairs.next() else { continue };
        let scale = first.coulomb_scale;
        if let Some(other) = pairs.find(|pair| (pair.coulomb_scale - scale).abs() > SAME * scale.abs()) {
            let message = format!(
                "{}: the Coulomb energies of its 1-4 pairs are not one factor times the charges, {scale:.6} for {} and {:.6} for {}: with other \
                 charges of its forms they are not known",
                site.name,
                label(first.atoms),
                other.coulomb_scale,
                label(other.atoms)
            );
            return Err(config.error_at(
                "titration",
                message,
                "leave the site out, or build the system with one factor for 1-4 pairs",
            ));
        }
    }
    Ok(())
}
