//! How freely each atom moves under its constraints, for the buffers of neighbour lists.

use forcefield::Topology;
use forcefield::lennard_jones::Mobility;
use forcefield::virtual_sites::{VirtualSite, VirtualSiteKind};

/// How much farther than its parents a virtual site goes that lies beside them: lone pairs are no farther from their atom than its
/// neighbours are, and then turn by as much as these, with the atom's own way on top; half as much again is room.
const LEVER: f64 = 3.0;

/// One for each atom; `masses` in u.
///
/// An atom that is held by a heavier one turns about their centre: hydrogens, those of water included. Any other is taken as free, because
/// what its constraints take from it is little: constraints only ever slow an atom down.
pub fn mobilities(topology: &Topology, masses: &[f64]) -> Vec<Mobility> {
    let mut out: Vec<Mobility> = masses.iter().map(|&mass| Mobility::free(mass)).collect();
    let mut heaviest = vec![0.0; masses.len()];
    let mut bind = |atom: u32, partner: u32, length: f64| {
        let (atom, partner) = (atom as usize, masses[partner as usize]);
        if partner > masses[atom] && partner > heaviest[atom] {
            heaviest[atom] = partner;
            out[atom] = Mobility::bound(masses[atom], partner, length);
        }
    };
    for constraint in &topology.constraints {
        let [a, b] = constraint.atoms;
        bind(a, b, constraint.length);
        bind(b, a, constraint.length);
    }
    for water in &topology.settles {
        water.hydrogens.into_iter().for_each(|hydrogen| bind(hydrogen, water.oxygen, water.d_oh));
    }
    for site in &topology.virtual_sites {
        out[site.site as usize] = follower(site, &out);
    }
    out
}

/// A virtual site goes as far as the parent that goes farthest, times how much farther than its parents it lies.
///
/// For an average that is Σ |w|, by the triangle inequality. Other kinds lie beside their parents and turn with them.
fn follower(VirtualSite { parents, kind, .. }: &VirtualSite, of_atoms: &[Mobility]) -> Mobility {
    let lever: f64 = match kind {
        VirtualSiteKind::Average { weights } => weights.iter().map(|w| w.abs()).sum(),
        VirtualSiteKind::OutOfPlane { .. } | VirtualSiteKind::LocalCoordinates { .. } => LEVER,
    };
    let most = |of: fn(&Mobility) -> f64| parents.iter().map(|&atom| of(&of_atoms[atom as usize])).fold(0.0, f64::max);
    Mobility {
        flight: lever * lever * most(|m| m.flight),
        turn: lever * lever * most(|m| m.turn),
        arm: lever * most(|m| m.arm),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forcefield::topology::{Constraint, Settle};

    #[test]
    fn hydrogens_turn_about_what_holds_them() {
        let constraint = |atoms| Constraint { atoms, length: 0.1 };
        let topology = Topology {
            // A methyl group on a chain of fixed bonds, a water, a free atom.
            constraints: vec![constraint([0, 1]), constraint([2, 0]), constraint([0, 3]), constraint([3, 4])],
            settles: vec![Settle { oxygen: 5, hydrogens: [6, 7], d_oh: 0.09572, d_hh: 0.15139 }],
            ..Topology::default()
        };
        let masses = [12.0, 1.0, 3.0, 14.0, 1.0, 16.0, 1.0, 1.0, 23.0];
        let found = mobilities(&topology, &masses);
        assert_eq!(found[1], Mobility::bound(1.0, 12.0, 0.1));
        assert_eq!(found[2], Mobility::bound(3.0, 12.0, 0.1));
        assert_eq!(found[4], Mobility::bound(1.0, 14.0, 0.1));
        assert_eq!(found[7], Mobility::bound(1.0, 16.0, 0.09572));
        for free in [3, 5, 8] {
            assert_eq!(found[free], Mobility::free(masses[free]));
        }
        let masses = [masses.as_slice(), &[0.0]].concat();
        let site = VirtualSite::average3(9, [5, 6, 7], [1.5, -0.25, -0.25]);
        let water = mobilities(&Topology { virtual_sites: vec![site], ..topology }, &masses)[9];
        let hydrogen = Mobility::bound(1.0, 16.0, 0.09572);
        // The oxygen flies freely, as far as is known here; hydrogens turn.
        let expected = Mobility { flight: 4.0 / 16.0, turn: 4.0 * hydrogen.turn, arm: 2.0 * hydrogen.arm };
        assert_eq!(water, expected);
        // The lighter carbon of a fixed bond of two heavy atoms counts as bound to the other one.
        assert_eq!(found[0], Mobility::bound(12.0, 14.0, 0.1));
    }
}
