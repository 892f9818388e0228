//! Bonds from residue to residue: bridges of side chains, and where chains end.

use std::collections::HashMap;

use forcefield::Topology;

use crate::library::Terminus;

/// The bonds of a topology, rigid ones included, by atom.
pub(super) struct Links<'a> {
    topology: &'a Topology,
    neighbours: HashMap<u32, Vec<u32>>,
}

impl<'a> Links<'a> {
    pub fn new(topology: &'a Topology) -> Self {
        let mut neighbours: HashMap<u32, Vec<u32>> = HashMap::new();
        let rigid = topology.constraints.iter().map(|constraint| constraint.atoms);
        for [i, j] in topology.bonds.iter().map(|bond| bond.atoms).chain(rigid) {
            neighbours.entry(i).or_default().push(j);
            neighbours.entry(j).or_default().push(i);
        }
        Self { topology, neighbours }
    }

    fn of(&self, atom: u32) -> &[u32] {
        self.neighbours.get(&atom).map_or(&[], Vec::as_slice)
    }

    fn name(&self, atom: u32) -> &str {
        &self.topology.atoms[atom as usize].name
    }

    /// The first bond of a side chain to another residue: its atom, and that of the other.
    pub fn bridge(&self, residue: u32) -> Option<[u32; 2]> {
        let outside = |atom: u32| {
            let other = self.of(atom).iter().find(|&&n| self.topology.atoms[n as usize].residue != residue);
            other.map(|&other| [atom, other])
        };
        let mut atoms = self.topology.residues[residue as usize].atoms.clone();
        atoms.find_map(|atom| outside(atom).filter(|_| !["N", "C"].contains(&self.name(atom))))
    }

    /// Whether a chain of amino acids ends with this residue: it has the backbone N, CA and C, and its N has but hydrogens, or its C but
    /// oxygens, besides. A cap (ACE, NME, NH2), within the residue or as one of its own, is no end.
    pub fn is_end(&self, residue: u32, end: Terminus) -> bool {
        let find = |name: &str| self.topology.residues[residue as usize].atoms.clone().find(|&a| self.name(a) == name);
        let (Some(n), Some(ca), Some(c)) = (find("N"), find("CA"), find("C")) else { return false };
        let (atom, letter) = match end {
            Terminus::N => (n, 'H'),
            Terminus::C => (c, 'O'),
        };
        let ring = find("CD").filter(|_| end == Terminus::N);
        let others = || self.of(atom).iter().filter(|&&other| other != ca && Some(other) != ring);
        let fits = |&&other: &&u32| {
            self.topology.atoms[other as usize].residue == residue && self.name(other).starts_with(letter)
        };
        self.of(atom).contains(&ca) && others().count() > 1 && others().all(|other| fits(&other))
    }
}
