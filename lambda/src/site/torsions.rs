//! Torsions that an entry holds whatever λ is: those of hydrogens that lose their charge.
//!
//! A hydrogen without charge feels nothing but its torsion. Of a carboxyl group the force field's own torsion favours the side away from
//! the other oxygen (anti) by 15.9 kJ/mol, behind a barrier of 31 kJ/mol that is crossed once in nanoseconds: a run would leave the state that
//! its correction V_MM belongs to, and not come back. So the terms of the topology about this bond that hold the hydrogen are replaced by
//!
//!   V = k (1 + cos(n φ − φ0))
//!
//! with one minimum and a barrier 2 k that is never crossed. The term does not depend on λ, and is the same in model compound and protein.

use forcefield::Topology;
use forcefield::topology::PeriodicDihedral;

use super::Site;
use super::matching::indices;
use crate::library::SiteLibrary;

/// Replaces the torsions of `topology` that the entries of `sites` hold; returns how many bonds they are about.
pub fn hold_torsions(topology: &mut Topology, library: &SiteLibrary, sites: &[Site]) -> usize {
    let mut held = Vec::new();
    for site in sites {
        let Some(entry) = site.entry_in(library).filter(|entry| !entry.torsions.is_empty()) else { continue };
        for &residue in &site.residues {
            let indices = indices(topology, entry, residue);
            for torsion in &entry.torsions {
                let Some(atoms) = torsion.indices(&indices) else { continue };
                held.push(PeriodicDihedral {
                    atoms,
                    phi0: torsion.phase.to_radians(),
                    k: torsion.force_constant,
                    multiplicity: torsion.multiplicity,
                    improper: false,
                });
            }
        }
    }
    let replaced = |atoms: [u32; 4]| held.iter().any(|term| is_about(term.atoms, atoms));
    topology.propers.retain(|term| term.improper || !replaced(term.atoms));
    topology.ryckaert_bellemans.retain(|term| !replaced(term.atoms));
    topology.propers.extend(&held);
    held.len()
}

/// Whether `other` turns the last atom of `held` about the same bond.
fn is_about([_, b, c, d]: [u32; 4], other: [u32; 4]) -> bool {
    let [i, j, k, l] = other;
    [j, k, l] == [b, c, d] || [k, j, i] == [b, c, d]
}
