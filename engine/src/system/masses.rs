//! Heavy hydrogens: mass moves from an atom to the hydrogens bonded to it, so that the fastest motions are slower and a step may be longer.
//!
//! Averages over positions do not depend on masses, and so neither do free energies and pKa values; rates do. Molecules whose rigid geometry
//! the topology gives (`[ settles ]`) keep their masses: their fastest motion is not the vibration of a bond.
//! Feenstra, Hess, Berendsen 1999, doi:10.1002/(SICI)1096-987X(199906)20:8<786::AID-JCC5>3.0.CO;2-B; Hopkins et al. 2015, doi:10.1021/ct5010406.
//!
//! Units: u.

use forcefield::Topology;

/// Heaviest atom that is a hydrogen, u: deuterium has 2.014, and nothing else lies below helium.
const HYDROGEN: f64 = 2.1;

/// Gives every hydrogen that is bonded to a heavier atom the mass `target`, and takes what it gains from that atom.
///
/// # Errors
/// The label of an atom that would be left lighter than its hydrogens, and its mass.
pub(super) fn move_to_hydrogens(topology: &mut Topology, target: f64) -> Result<(), (String, f64)> {
    let is_hydrogen: Vec<bool> = topology.atoms.iter().map(|atom| atom.mass > 0.0 && atom.mass < HYDROGEN).collect();
    let mut rigid = vec![false; topology.atoms.len()];
    topology
        .settles
        .iter()
        .flat_map(|one| [one.oxygen, one.hydrogens[0], one.hydrogens[1]])
        .for_each(|atom| rigid[atom as usize] = true);
    let bonds = topology.bonds.iter().map(|bond| bond.atoms);
    let pairs: Vec<[u32; 2]> = bonds.chain(topology.constraints.iter().map(|one| one.atoms)).collect();
    let mut touched = Vec::new();
    for atoms in pairs {
        let [a, b] = atoms.map(|atom| atom as usize);
        let (hydrogen, heavy) = match (is_hydrogen[a], is_hydrogen[b]) {
            (true, false) => (a, b),
            (false, true) => (b, a),
            _ => continue,
        };
        // A bond may be listed again as a constraint.
        if rigid[hydrogen] || topology.atoms[hydrogen].mass == target {
            continue;
        }
        topology.atoms[heavy].mass -= target - topology.atoms[hydrogen].mass;
        topology.atoms[hydrogen].mass = target;
        touched.push(heavy);
    }
    match touched.into_iter().find(|heavy| topology.atoms[*heavy].mass < target) {
        Some(heavy) => Err((topology.label(heavy as u32), topology.atoms[heavy].mass)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forcefield::gromacs::read_topology;
    use std::path::PathBuf;

    fn glu() -> Topology {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu/glu.top");
        read_topology(&path, &[], &[]).unwrap()
    }

    #[test]
    fn mass_moves_from_an_atom_to_its_hydrogens_and_water_keeps_its_own() {
        let (before, mut after) = (glu(), glu());
        move_to_hydrogens(&mut after, 3.0).unwrap();
        let total = |topology: &Topology| topology.masses().iter().sum::<f64>();
        assert!((total(&after) - total(&before)).abs() < 1e-9);
        let mass = |topology: &Topology, name: &str| topology.atoms.iter().find(|atom| atom.name == name).unwrap().mass;
        // CH3 of the cap: 12.01 − 3 · (3 − 1.008).
        assert!((mass(&after, "CH3") - 6.034).abs() < 1e-9 && mass(&after, "HE2") == 3.0);
        assert_eq!(mass(&after, "CD"), mass(&before, "CD"));
        assert_eq!((mass(&after, "OW"), mass(&after, "HW1")), (mass(&before, "OW"), mass(&before, "HW1")));
        // Once more changes nothing.
        let again = after.masses();
        move_to_hydrogens(&mut after, 3.0).unwrap();
        assert_eq!(after.masses(), again);
    }

    #[test]
    fn an_atom_must_stay_heavier_than_its_hydrogens() {
        let (label, mass) = move_to_hydrogens(&mut glu(), 4.5).unwrap_err();
        assert!(label.contains("CH3") && mass < 4.5, "{label} {mass}");
    }
}
