//! Fingerprint of the interactions of a topology, by which a checkpoint recognises the system that it belongs to.
//!
//! Each kind of interaction is one [`Section`] with a 64-bit FNV-1a hash ([`Fnv1a`]) of its values, over the little-endian bytes of atom
//! indices (4 bytes) and of the bit patterns of parameters (8 bytes), in the order of the entries. Only numbers enter: a fingerprint stays the
//! same when a field of this crate, a residue, an atom type or the system gets another name. Charges and masses do not enter because
//! checkpoints store them in full. Units are those of [`Topology`].

use crate::fnv::Fnv1a;
use crate::virtual_sites::{VirtualSite, VirtualSiteKind};

use super::{
    Angle, Bond, Cmap, CmapGrid, Constraint, HarmonicImproper, Pair14, PeriodicDihedral, PositionRestraint,
    RyckaertBellemans, Settle, Topology, UreyBradley,
};

/// Number and hash of the interactions of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// Name of the kind for messages, in the plural, such as "bonds".
    pub name: &'static str,
    /// Number of interactions of this kind.
    pub count: usize,
    /// FNV-1a hash of their atoms and parameters.
    pub hash: u64,
}

impl Topology {
    /// One section for each kind of interaction, also for those that do not occur, always in the same order. Virtual sites, wells in 1-4
    /// pairs and harmonic distances have one only where there are any, as checkpoints of earlier versions have none.
    ///
    /// ```
    /// use forcefield::{Topology, topology::Bond};
    /// let bond = Bond { atoms: [0, 1], r0: 0.1, k: 1000.0 };
    /// let softer = Bond { k: 999.0, ..bond };
    /// let [a, b] = [bond, softer].map(|bond| Topology { bonds: vec![bond], ..Default::default() }.fingerprint());
    /// let different: Vec<_> = a.iter().zip(&b).filter(|(a, b)| a != b).map(|(a, _)| a.name).collect();
    /// assert_eq!(different, ["bonds"]);
    /// ```
    pub fn fingerprint(&self) -> Vec<Section> {
        let mut sections = vec![
            section("Lennard-Jones types of atoms", &self.atoms, |hash, atom| hash.index(atom.type_index)),
            self.lennard_jones_section(),
        ];
        sections.extend(self.bonded_sections());
        sections.extend([
            section("1-4 pairs", &self.pairs, |hash, &Pair14 { atoms, c6, c12, coulomb_scale }| {
                hash.entry(&atoms, &[c6, c12, coulomb_scale]);
            }),
            section("exclusions", &self.exclusions.pairs().collect::<Vec<_>>(), |hash, pair| hash.entry(pair, &[])),
            section("constraints", &self.constraints, |hash, &Constraint { atoms, length }| {
                hash.entry(&atoms, &[length]);
            }),
            section("rigid waters", &self.settles, |hash, &Settle { oxygen, hydrogens: [h1, h2], d_oh, d_hh }| {
                hash.entry(&[oxygen, h1, h2], &[d_oh, d_hh]);
            }),
            section("position restraints", &self.position_restraints, |hash, &PositionRestraint { atom, k, fades }| {
                hash.entry(&[atom], &[k.x, k.y, k.z]);
                // Those that stay have the hash that they had when all did.
                if fades {
                    hash.index(1);
                }
            }),
        ]);
        if !self.wells_14.is_empty() {
            let wells: Vec<_> = self.wells_14.iter().collect();
            sections.push(section("Lennard-Jones wells in 1-4 pairs", &wells, |hash, (kind, well)| {
                hash.entry(&[**kind], &[well.sigma, well.epsilon]);
            }));
        }
        if !self.distances.is_empty() {
            sections.push(section("harmonic distances", &self.distances, |hash, &Bond { atoms, r0, k }| {
                hash.entry(&atoms, &[r0, k]);
            }));
        }
        if !self.virtual_sites.is_empty() {
            sections.push(section("virtual sites", &self.virtual_sites, virtual_site));
        }
        sections
    }

    fn lennard_jones_section(&self) -> Section {
        let pairs: Vec<_> = self.lj.c6.iter().zip(&self.lj.c12).collect();
        section("Lennard-Jones coefficients", &pairs, |hash, &(&c6, &c12)| hash.entry(&[], &[c6, c12]))
    }

    // Each pattern names all fields of its struct: a field that is added later does not compile until it enters here.
    fn bonded_sections(&self) -> [Section; 8] {
        [
            section("bonds", &self.bonds, |hash, &Bond { atoms, r0, k }| hash.entry(&atoms, &[r0, k])),
            section("angles", &self.angles, |hash, &Angle { atoms, theta0, k }| hash.entry(&atoms, &[theta0, k])),
            section("Urey-Bradley angles", &self.urey_bradley, |hash, &UreyBradley { atoms, theta0, k, r13, k13 }| {
                hash.entry(&atoms, &[theta0, k, r13, k13]);
            }),
            section("periodic dihedrals", &self.propers, |hash, term| {
                let &PeriodicDihedral { atoms, phi0, k, multiplicity, improper } = term;
                hash.entry(&atoms, &[phi0, k]);
                hash.entry(&[multiplicity, u32::from(improper)], &[]);
            }),
            section("harmonic impropers", &self.harmonic_impropers, |hash, &HarmonicImproper { atoms, xi0, k }| {
                hash.entry(&atoms, &[xi0, k]);
            }),
            section(
                "Ryckaert-Bellemans dihedrals",
                &self.ryckaert_bellemans,
                |hash, &RyckaertBellemans { atoms, c }| {
                    hash.entry(&atoms, &c);
                },
            ),
            section("correction maps", &self.cmaps, |hash, &Cmap { atoms, grid }| {
                hash.entry(&atoms, &[]);
                hash.index(grid);
            }),
            section("correction map grids", &self.cmap_grids, |hash, CmapGrid { size, values }| {
                hash.bytes(&(*size as u64).to_le_bytes());
                hash.entry(&[], values);
            }),
        ]
    }
}

fn virtual_site(hash: &mut Fnv1a, VirtualSite { site, parents, kind }: &VirtualSite) {
    hash.index(*site);
    hash.entry(parents, &[]);
    match kind {
        VirtualSiteKind::Average { weights } => {
            hash.index(0);
            hash.entry(&[], weights);
        }
        VirtualSiteKind::OutOfPlane { a, b, c } => hash.entry(&[1], &[*a, *b, *c]),
        VirtualSiteKind::LocalCoordinates { origin, x, y, position } => {
            hash.index(2);
            [origin, x, y].into_iter().for_each(|weights| hash.entry(&[], weights));
            hash.entry(&[], position);
        }
    }
}

fn section<T>(name: &'static str, entries: &[T], mut add: impl FnMut(&mut Fnv1a, &T)) -> Section {
    let mut hash = Fnv1a::default();
    entries.iter().for_each(|entry| add(&mut hash, entry));
    Section { name, count: entries.len(), hash: hash.value() }
}

#[cfg(test)]
mod tests;
