//! Bonds, angles and torsions, and what of them is a chemical bond.
//!
//! OpenMM keeps Urey–Bradley distances among the harmonic bonds. A distance is one of these if it joins the ends of an angle and no angle or
//! torsion has it as a bond; it is put together with its angle, as CHARMM has it. So rigid bonds to hydrogen never become rigid 1-3 distances.

use std::collections::{HashMap, HashSet};

use super::element::Element;
use super::error::SystemXmlError;
use crate::topology::{
    Angle, Bond, Cmap, CmapGrid, Constraint, HarmonicImproper, PeriodicDihedral, RyckaertBellemans, Topology,
    UreyBradley,
};
use crate::virtual_sites::VirtualSite;

const FOUR: [&str; 4] = ["p1", "p2", "p3", "p4"];

/// Terms as the forces give them.
#[derive(Debug, Default)]
pub(super) struct Terms {
    n_atoms: usize,
    pub constraints: Vec<Constraint>,
    pub bonds: Vec<Bond>,
    angles: Vec<Angle>,
    periodic: Vec<PeriodicDihedral>,
    ryckaert_bellemans: Vec<RyckaertBellemans>,
    pub harmonic_impropers: Vec<HarmonicImproper>,
    pub cmaps: Vec<Cmap>,
    pub cmap_grids: Vec<CmapGrid>,
}

/// The same pair in either order.
pub(super) fn sorted([i, j]: [u32; 2]) -> [u32; 2] {
    [i.min(j), i.max(j)]
}

impl Terms {
    pub fn new(n_atoms: usize) -> Self {
        Self { n_atoms, ..Self::default() }
    }

    pub fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    pub fn read_bonds(&mut self, force: &Element<'_>) -> Result<(), SystemXmlError> {
        for bond in force.children("Bonds") {
            let atoms = bond.atoms(["p1", "p2"], self.n_atoms)?;
            self.bonds.push(Bond { atoms, r0: bond.real("d")?, k: bond.real("k")? });
        }
        Ok(())
    }

    pub fn read_angles(&mut self, force: &Element<'_>) -> Result<(), SystemXmlError> {
        for angle in force.children("Angles") {
            let atoms = angle.atoms(["p1", "p2", "p3"], self.n_atoms)?;
            self.angles.push(Angle { atoms, theta0: angle.real("a")?, k: angle.real("k")? });
        }
        Ok(())
    }

    pub fn read_periodic(&mut self, force: &Element<'_>) -> Result<(), SystemXmlError> {
        for torsion in force.children("Torsions") {
            let atoms = torsion.atoms(FOUR, self.n_atoms)?;
            let (phi0, k, multiplicity) = (torsion.real("phase")?, torsion.real("k")?, torsion.whole("periodicity")?);
            self.periodic.push(PeriodicDihedral { atoms, phi0, k, multiplicity, improper: false });
        }
        Ok(())
    }

    pub fn read_ryckaert_bellemans(&mut self, force: &Element<'_>) -> Result<(), SystemXmlError> {
        for torsion in force.children("Torsions") {
            let atoms = torsion.atoms(FOUR, self.n_atoms)?;
            let mut c = [0.0; 6];
            for (c, name) in c.iter_mut().zip(["c0", "c1", "c2", "c3", "c4", "c5"]) {
                *c = torsion.real(name)?;
            }
            self.ryckaert_bellemans.push(RyckaertBellemans { atoms, c });
        }
        Ok(())
    }

    /// Pairs of atoms that hold a molecule together: harmonic distances and constraints.
    pub fn links(&self) -> Vec<[u32; 2]> {
        self.bonds.iter().map(|bond| bond.atoms).chain(self.constraints.iter().map(|one| one.atoms)).collect()
    }

    /// Leaves out harmonic bonds on distances that are constrained, and angles of which all three distances are: their energy is constant. So is that of a
    /// bond from a virtual site to an atom, such as O-EP of AMBER's waters of four and five sites, where constraints hold the atom and all parents of the site.
    pub fn leave_out_constants(&mut self, sites: &[VirtualSite], notes: &mut Vec<String>) {
        let fixed: HashSet<[u32; 2]> = self.constraints.iter().map(|one| sorted(one.atoms)).collect();
        let parents: HashMap<u32, &[u32]> = sites.iter().map(|one| (one.site, one.parents.as_slice())).collect();
        let is_held = |i: u32, j: u32| i == j || fixed.contains(&sorted([i, j]));
        let follows = |site: u32, atom: u32| {
            parents.get(&site).is_some_and(|parents| {
                let mut pairs =
                    parents.iter().enumerate().flat_map(|(k, &i)| parents[k + 1..].iter().map(move |&j| (i, j)));
                parents.iter().all(|&parent| is_held(parent, atom)) && pairs.all(|(i, j)| is_held(i, j))
            })
        };
        let is_fixed = |i: u32, j: u32| fixed.contains(&sorted([i, j])) || follows(i, j) || follows(j, i);
        let before = [self.bonds.len(), self.angles.len()];
        self.bonds.retain(|bond| !is_fixed(bond.atoms[0], bond.atoms[1]));
        self.angles.retain(|&Angle { atoms: [i, j, k], .. }| !(is_fixed(i, j) && is_fixed(j, k) && is_fixed(i, k)));
        let [bonds, angles] = [before[0] - self.bonds.len(), before[1] - self.angles.len()];
        if bonds + angles > 0 {
            notes.push(format!(
                "{bonds} harmonic bonds and {angles} angles are left out: the constraints of the system fix them, so that their energy is constant"
            ));
        }
    }

    /// Puts the terms into `top`; the result are the chemical bonds, rigid ones included.
    pub fn sort_into(self, top: &mut Topology) -> Vec<[u32; 2]> {
        // Pairs that angles and torsions have as bonds, and angles by their ends.
        let mut along: HashSet<[u32; 2]> = HashSet::new();
        let mut across: HashMap<[u32; 2], Vec<usize>> = HashMap::new();
        for (index, &Angle { atoms: [i, j, k], .. }) in self.angles.iter().enumerate() {
            along.extend([sorted([i, j]), sorted([j, k])]);
            across.entry(sorted([i, k])).or_default().push(index);
        }
        let is_distance = |pair: [u32; 2]| across.contains_key(&sorted(pair)) && !along.contains(&sorted(pair));
        let mut distance: HashMap<usize, Bond> = HashMap::new();
        for bond in self.bonds {
            let free = || across[&sorted(bond.atoms)].iter().find(|index| !distance.contains_key(index));
            match is_distance(bond.atoms).then(free).flatten() {
                Some(&index) => drop(distance.insert(index, bond)),
                None => top.bonds.push(bond),
            }
        }
        for (index, angle) in self.angles.into_iter().enumerate() {
            let Angle { atoms, theta0, k } = angle;
            match distance.get(&index) {
                Some(bond) => top.urey_bradley.push(UreyBradley { atoms, theta0, k, r13: bond.r0, k13: bond.k }),
                None => top.angles.push(angle),
            }
        }
        let rigid = self.constraints.iter().map(|one| one.atoms).filter(|&atoms| !is_distance(atoms));
        let bonds: Vec<[u32; 2]> = top.bonds.iter().map(|bond| bond.atoms).chain(rigid).collect();
        let known: HashSet<[u32; 2]> = bonds.iter().map(|&pair| sorted(pair)).collect();
        let is_chain = |atoms: [u32; 4]| atoms.windows(2).all(|pair| known.contains(&sorted([pair[0], pair[1]])));
        let named = self.periodic.into_iter();
        top.propers = named.map(|term| PeriodicDihedral { improper: !is_chain(term.atoms), ..term }).collect();
        top.ryckaert_bellemans = self.ryckaert_bellemans;
        top.harmonic_impropers = self.harmonic_impropers;
        (top.cmaps, top.cmap_grids, top.constraints) = (self.cmaps, self.cmap_grids, self.constraints);
        bonds
    }
}
