//! The restraints of `[position_restraints]`, which end in the course of a run.

use super::select;
use crate::config::Config;
use crate::error::Result;
use forcefield::Topology;
use forcefield::topology::PositionRestraint;
use lambda::Site;
use nalgebra::Vector3;
use std::collections::HashSet;

/// Adds them to `topology`, of which `sites` titrate: on the atoms that the job selects, but for virtual sites, which follow others, and for atoms
/// that are restrained already.
///
/// # Errors
/// [`crate::error::Error::Input`] for a text that selects nothing that could be held.
pub(super) fn hold(config: &Config, topology: &mut Topology, sites: &[Site]) -> Result<()> {
    let Some(settings) = &config.position_restraints else { return Ok(()) };
    const KEY: &str = "position_restraints.atoms";
    let selected = select(config, (KEY, &settings.atoms), topology, sites)?;
    let follow = topology.virtual_sites.iter().map(|one| one.site);
    let held = topology.position_restraints.iter().map(|held| held.atom);
    let taken: HashSet<u32> = follow.chain(held).collect();
    let k = Vector3::repeat(settings.force_constant.get());
    let before = topology.position_restraints.len();
    let free = selected.into_iter().filter(|atom| !taken.contains(atom));
    topology.position_restraints.extend(free.map(|atom| PositionRestraint { atom, k, fades: true }));
    if topology.position_restraints.len() == before {
        let message =
            format!("\"{}\" selects only virtual sites and atoms that are restrained already", settings.atoms);
        return Err(config.error_at(KEY, message, "select other atoms, or remove [position_restraints]"));
    }
    Ok(())
}
