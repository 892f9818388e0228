//! The restraints of `[position_restraints]`, which end in the course of a run, and the references of all restraints.

use super::select;
use crate::config::Config;
use crate::error::Result;
use forcefield::Topology;
use forcefield::topology::PositionRestraint;
use lambda::Site;
use nalgebra::Vector3;
use std::collections::HashSet;

/// References `[N]` of the restraints of `topology` (nm): of atoms that are held their `positions` `[N]`, of all others zero, which takes no room in a checkpoint and stays what it is
/// when a box is stretched. Empty without restraints, or without positions.
pub(crate) fn references(topology: &Topology, positions: &[Vector3<f64>]) -> Vec<Vector3<f64>> {
    let held = &topology.position_restraints;
    if held.is_empty() || positions.is_empty() {
        return Vec::new();
    }
    let mut references = vec![Vector3::zeros(); positions.len()];
    held.iter().map(|held| held.atom as usize).for_each(|atom| references[atom] = positions[atom]);
    references
}

/// Adds those of `[position_restraints]` to `topology`, of which `sites` titrate: on the atoms that the job selects, but for virtual sites, which follow others, and for atoms
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
