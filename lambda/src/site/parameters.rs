//! Fingerprint of what a force field says of a group besides its charges, by which a calibration recognises the force field that it was made with.
//!
//! Two force fields may give a residue equal charges and other torsions (ff99SB and ff99SB-ILDN do); their free energies along λ differ by
//! what the torsions change of the populations of conformers. A fingerprint is a 64-bit FNV-1a hash of sorted lines of text, one for each
//! parameter: kind, names of atoms as the entry has them, numbers to six digits. So it does not depend on the order of atoms, of terms, or of
//! atoms within a term, nor on other residues. There are two of them:
//!
//! - [`Parameters::own`]: Lennard-Jones coefficients of the atoms of the side chain, and bonds (their lengths), angles, dihedrals and 1-4 pairs
//!   between them and the backbone atom that they are bonded to, and how their virtual sites are placed. They are the same wherever the residue stands.
//!   Terms of the entry that differ between forms are among them, in residues that have them.
//! - [`Parameters::attached`]: terms between the side chain and more of its own backbone, such as the χ₁ torsion. The ends of a chain have other
//!   types of backbone atoms, so that there is none at an end.
//!
//! Of a terminus, of a buffer, and of an entry without a backbone all atoms of the entry are the side chain. Masses do not change averages.
//! Force constants of bonds do not enter because a run may hold bonds fixed.
//!
//! [`likeness`](mod@super::likeness) compares the lines themselves where two fingerprints differ.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use forcefield::Topology;
use forcefield::fnv::Fnv1a;
use forcefield::virtual_sites::{VirtualSite, VirtualSiteKind};

use super::matching::{END_ATOMS, atoms};
use crate::library::{BondedEntry, Entry, TypesEntry};

/// Fingerprints of the parameters of a group, as 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Of the side chain, or of all atoms of an entry without backbone.
    pub own: String,
    /// Of the terms that join it to its backbone; `None` at the ends of chains and without backbone.
    pub attached: Option<String>,
}

/// The lines that fingerprints are made of, sorted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Of [`Parameters::own`].
    pub own: Vec<String>,
    /// Of [`Parameters::attached`].
    pub attached: Option<Vec<String>>,
}

impl Terms {
    /// Their fingerprints.
    pub fn fingerprints(&self) -> Parameters {
        Parameters { own: hash(self.own.clone()), attached: self.attached.clone().map(hash) }
    }
}

/// Fingerprints of what the force field of `topology` says of residue `residue` in the part that `entry` describes.
pub fn parameters(topology: &Topology, entry: &Entry, residue: u32) -> Parameters {
    terms(topology, entry, residue).fingerprints()
}

/// What the force field of `topology` says of residue `residue` in the part that `entry` describes.
pub fn terms(topology: &Topology, entry: &Entry, residue: u32) -> Terms {
    let by_name = atoms(topology, entry, residue).unwrap_or_default();
    let is_end = entry.terminus.is_none() && END_ATOMS.iter().any(|atom| by_name.contains_key(atom));
    let whole = entry.backbone.iter().all(|atom| by_name.contains_key(atom.as_str()));
    let name = topology.residues[residue as usize].name.as_str();
    let charges = entry.charges_at(name);
    let members: BTreeMap<u32, &str> =
        by_name.iter().filter(|(name, _)| charges.contains_key(**name)).map(|(name, index)| (*index, *name)).collect();
    let group = Group::new(topology, entry, name, members);
    let sorted = |mut lines: Vec<String>| {
        lines.sort_unstable();
        lines
    };
    let attached = (!is_end && whole && !entry.backbone.is_empty()).then(|| sorted(group.terms(Part::Attached)));
    let mut own = group.terms(Part::Own);
    own.extend(group.lennard_jones());
    own.extend(of_forms(entry, name));
    Terms { own: sorted(own), attached }
}

/// Lines of the bonded terms that differ between the forms, which stand in the entry and not in the topology.
fn of_forms(entry: &Entry, residue: &str) -> Vec<String> {
    let terms = entry.bonded.iter().filter(|term| term.is_in(residue));
    let line = |term: &BondedEntry| {
        let forward = term.atoms.join(" ");
        let backward = term.atoms.iter().rev().cloned().collect::<Vec<_>>().join(" ");
        let forms = term.parameters.iter().map(|form| form.iter().map(|&number| digits(number)).collect::<Vec<_>>());
        let forms: Vec<String> = forms.map(|form| form.join(" ")).collect();
        format!("of forms {} {} {}", term.function, forward.min(backward), forms.join(", "))
    };
    terms.map(line).collect()
}

pub(super) fn hash(mut lines: Vec<String>) -> String {
    lines.sort_unstable();
    let mut hash = Fnv1a::default();
    lines.iter().for_each(|line| hash.line(line));
    format!("{:016x}", hash.value())
}

/// Which terms.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Within the side chain and the backbone atom that it is bonded to.
    Own,
    /// The others that join side chain and backbone.
    Attached,
}

struct Group<'a> {
    topology: &'a Topology,
    entry: &'a Entry,
    /// Name of the residue.
    residue: &'a str,
    /// Names by index.
    members: BTreeMap<u32, &'a str>,
    /// From the first to the last of them.
    range: RangeInclusive<u32>,
    /// Backbone atoms that are bonded to the side chain.
    anchors: Vec<u32>,
}

impl<'a> Group<'a> {
    fn new(topology: &'a Topology, entry: &'a Entry, residue: &'a str, members: BTreeMap<u32, &'a str>) -> Self {
        let [first, last] =
            [members.first_key_value(), members.last_key_value()].map(|end| end.map_or(0, |(atom, _)| *atom));
        let mut group = Self { topology, entry, residue, members, range: first..=last, anchors: Vec::new() };
        let bonds = topology.bonds.iter().map(|bond| bond.atoms);
        let all = bonds.chain(topology.constraints.iter().map(|one| one.atoms));
        for [i, j] in all.filter(|atoms| atoms.iter().all(|atom| group.range.contains(atom))).collect::<Vec<_>>() {
            for [a, b] in [[i, j], [j, i]] {
                if group.is_side(a) && group.members.contains_key(&b) && !group.is_side(b) {
                    group.anchors.push(b);
                }
            }
        }
        group
    }

    /// Whether an atom is one of the entry's that is not in the backbone.
    fn is_side(&self, atom: u32) -> bool {
        self.members.get(&atom).is_some_and(|name| !self.entry.backbone.iter().any(|backbone| backbone == name))
    }

    /// Whether a term of these atoms belongs to a part. Most terms are of other residues, and are told by their first atom.
    fn is_of(&self, part: Part, atoms: &[u32]) -> bool {
        let near = |&atom: &u32| self.is_side(atom) || self.anchors.contains(&atom);
        atoms.iter().all(|atom| self.range.contains(atom) && self.members.contains_key(atom))
            && atoms.iter().any(|&atom| self.is_side(atom))
            && atoms.iter().all(near) == (part == Part::Own)
    }

    /// Names of the atoms of a term in the one of both directions that comes first.
    fn names(&self, atoms: &[u32]) -> String {
        let forward: Vec<&str> = atoms.iter().map(|atom| self.members[atom]).collect();
        let backward: Vec<&str> = forward.iter().rev().copied().collect();
        forward.min(backward).join(" ")
    }

    /// Lines of bonded terms and 1-4 pairs. A term of no strength is left out: files may give it or not.
    fn terms(&self, part: Part) -> Vec<String> {
        let topology = self.topology;
        let mut lines = Vec::new();
        let mut add = |kind: &str, atoms: &[u32], numbers: &[f64]| {
            if self.is_of(part, atoms) {
                let numbers: Vec<String> = numbers.iter().map(|&number| digits(number)).collect();
                lines.push(format!("{kind} {} {}", self.names(atoms), numbers.join(" ")));
            }
        };
        topology.bonds.iter().for_each(|bond| add("bond", &bond.atoms, &[bond.r0]));
        topology.distances.iter().for_each(|one| add("distance", &one.atoms, &[one.r0, one.k]));
        topology.constraints.iter().for_each(|one| add("bond", &one.atoms, &[one.length]));
        for water in topology.settles.iter().filter(|water| self.range.contains(&water.oxygen)) {
            let [first, second] = water.hydrogens;
            add("bond", &[water.oxygen, first], &[water.d_oh]);
            add("bond", &[water.oxygen, second], &[water.d_oh]);
            add("bond", &[first, second], &[water.d_hh]);
        }
        // Files may give an angle and the distance of its ends as one term or as two.
        let angles = topology.angles.iter().map(|angle| (angle.atoms, angle.theta0, angle.k));
        let with_distance = topology.urey_bradley.iter().map(|angle| (angle.atoms, angle.theta0, angle.k));
        for (atoms, theta0, k) in angles.chain(with_distance).filter(|(.., k)| *k != 0.0) {
            add("angle", &atoms, &[turn(theta0), k]);
        }
        for angle in topology.urey_bradley.iter().filter(|angle| angle.k13 != 0.0) {
            add("urey-bradley", &[angle.atoms[0], angle.atoms[2]], &[angle.r13, angle.k13]);
        }
        for dihedral in topology.propers.iter().filter(|dihedral| dihedral.k != 0.0) {
            add("dihedral", &dihedral.atoms, &[turn(dihedral.phi0), dihedral.k, f64::from(dihedral.multiplicity)]);
        }
        for dihedral in topology.harmonic_impropers.iter().filter(|dihedral| dihedral.k != 0.0) {
            add("improper", &dihedral.atoms, &[turn(dihedral.xi0), dihedral.k]);
        }
        for dihedral in topology.ryckaert_bellemans.iter().filter(|dihedral| dihedral.c.iter().any(|c| *c != 0.0)) {
            add("ryckaert-bellemans", &dihedral.atoms, &dihedral.c);
        }
        for pair in &topology.pairs {
            add("pair", &pair.atoms, &[pair.c6, pair.c12, pair.coulomb_scale]);
        }
        lines.extend(topology.virtual_sites.iter().filter_map(|one| self.virtual_site(part, one)));
        lines
    }

    /// The line of a virtual site, if it belongs to this part: the site, then its parents in their order.
    fn virtual_site(&self, part: Part, VirtualSite { site, parents, kind }: &VirtualSite) -> Option<String> {
        let atoms = [&[*site], &parents[..]].concat();
        let (kind, numbers) = match kind {
            VirtualSiteKind::Average { weights } => ("average", weights.clone()),
            VirtualSiteKind::OutOfPlane { a, b, c } => ("out of plane", vec![*a, *b, *c]),
            VirtualSiteKind::LocalCoordinates { origin, x, y, position } => {
                ("local coordinates", [&origin[..], x, y, position].concat())
            }
        };
        self.is_of(part, &atoms).then(|| {
            let names: Vec<&str> = atoms.iter().map(|atom| self.members[atom]).collect();
            let numbers: Vec<String> = numbers.into_iter().map(digits).collect();
            format!("virtual site {kind} {} {}", names.join(" "), numbers.join(" "))
        })
    }

    /// Lines of the Lennard-Jones coefficients of each atom with its own kind, and those of other forms.
    fn lennard_jones(&self) -> Vec<String> {
        let table = &self.topology.lj;
        let line = |kind: &str, name: &str, type_index: u32| {
            let (c6, c12) = table.get(type_index, type_index);
            format!("{kind} {name} {} {}", digits(c6), digits(c12))
        };
        let atoms = self.members.iter().filter(|(atom, _)| self.is_side(**atom));
        let mut lines: Vec<String> = atoms
            .map(|(&atom, name)| line("Lennard-Jones", name, self.topology.atoms[atom as usize].type_index))
            .collect();
        for TypesEntry { atom: name, types, .. } in self.entry.lj_types.iter().filter(|one| one.is_in(self.residue)) {
            for (form, wanted) in types.iter().enumerate() {
                let index = self.topology.atom_types.iter().position(|one| one.name == *wanted);
                lines.extend(index.map(|index| line(&format!("form {form}, roots mixed:"), name, index as u32)));
                let in_pairs = index.and_then(|index| self.topology.wells_14.get(&(index as u32)));
                lines.extend(in_pairs.map(|well| {
                    let (c6, c12) = well.coefficients();
                    format!("form {form} in 1-4 pairs {name} {} {}", digits(c6), digits(c12))
                }));
            }
        }
        lines
    }
}

/// A number to six digits; nothing is −0.
pub(super) fn digits(number: f64) -> String {
    format!("{:.5e}", number + 0.0)
}

/// An angle (rad) in degrees from 0 to 360, without the rounding of its conversions.
fn turn(angle: f64) -> f64 {
    ((angle.to_degrees() * 1e4).round() / 1e4).rem_euclid(360.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library::SiteLibrary;

    /// glu3 of the library with one term that differs between its forms inside of chains.
    fn entry(atoms: &str, amplitude: &str, residue: &str) -> Result<Entry, crate::library::LibraryError> {
        let text = SiteLibrary::builtin().unwrap().entries.into_iter().find(|entry| entry.name == "glu3").unwrap().text;
        let numbers = format!("[[180.0, {amplitude}, 1.0], [180.0, {amplitude}, 1.0], [180.0, 5.7, 1.0]]");
        let term = format!(
            "bonded = [{{ atoms = [{atoms}], function = 9, parameters = {numbers}, residues = [\"{residue}\"] }}]\n\n[[forms]]"
        );
        Entry::from_toml(&text.replacen("[[forms]]", &term, 1), "glu3")
    }

    #[test]
    fn terms_of_forms_count_where_they_are_and_in_either_direction() {
        let lines = |atoms: &str, amplitude: &str, of: &str| of_forms(&entry(atoms, amplitude, "GL3").unwrap(), of);
        let (forward, backward) = ("\"CA\", \"CB\", \"CG\", \"CD\"", "\"CD\", \"CG\", \"CB\", \"CA\"");
        let found = lines(forward, "0.8", "GL3");
        assert_eq!(found.len(), 1);
        assert_eq!(found, lines(backward, "0.8", "GL3"));
        assert_ne!(found, lines(forward, "0.9", "GL3"));
        assert!(lines(forward, "0.8", "ZGL3").is_empty());
        let unknown = entry(forward, "0.8", "ASP").unwrap_err().to_string();
        assert!(unknown.contains("bonded: residue ASP is not among those of the entry, GL3"), "{unknown}");
        let end = SiteLibrary::builtin().unwrap().entries.into_iter().find(|entry| entry.name == "cterm").unwrap().text;
        let term = "bonded = [{ atoms = [\"CA\", \"C\", \"OC1\"], function = 1, parameters = [[120.0, 1.0], [120.0, 1.0], [117.0, 1.0]], residues = [\"ALA\"] }]\n\n[[forms]]";
        let refused = Entry::from_toml(&end.replacen("[[forms]]", term, 1), "cterm").unwrap_err().to_string();
        let alone = "bonded: something of residue ALA alone, but the entry is of an end of a chain";
        assert!(refused.contains(alone), "{refused}");
    }

    #[test]
    fn wrong_types_of_forms_are_refused() {
        let text = SiteLibrary::builtin().unwrap().entries.into_iter().find(|entry| entry.name == "glu3").unwrap().text;
        let read = |types: &str| {
            let types = format!("lj_types = [{types}]\n\n[[forms]]");
            Entry::from_toml(&text.replacen("[[forms]]", &types, 1), "glu3").map_err(|e| e.to_string())
        };
        let one = "{ atom = \"OE1\", types = [\"O2\", \"OH\", \"O2\"], residues = [\"GL3\"] }";
        let found = read(one).unwrap();
        assert!(found.lj_types[0].is_in("GL3") && !found.lj_types[0].is_in("ZGL3"));
        for (types, reason) in [
            (one.replace("GL3", "ASP"), "lj_types: residue ASP is not among those of the entry, GL3"),
            (one.replace("OE1", "OE3"), "atom OE3"),
            (one.replace("\"O2\", \"OH\", ", ""), "lj_types of OE1: [\"O2\"], expected 3 names"),
            (format!("{one}, {one}"), "lj_types: atom OE1 is there twice"),
        ] {
            let refused = read(&types).unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
    }
}
