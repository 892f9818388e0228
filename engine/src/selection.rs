//! Atoms named by a text: what an [`Expression`] selects of a system. The language is described in [`settings::selection`].

mod index;

pub use index::IndexGroups;
pub use settings::selection::{Expression, SelectionError};

use forcefield::Topology;
use lambda::site::Site;
use settings::selection::{Key, Node, Value, Word};
use std::ops::Range;

/// Names of residues that are water, in files of AMBER, CHARMM, GROMACS and OpenMM.
pub(crate) const WATER: [&str; 11] =
    ["SOL", "WAT", "HOH", "H2O", "SPC", "TIP3", "TIP3P", "TIP4", "TIP4P", "TIP5", "OPC"];

/// What can be selected from.
#[derive(Clone, Copy, Debug)]
pub struct Atoms<'a> {
    /// Names, residues, molecules.
    pub topology: &'a Topology,
    /// Titratable sites and the buffer; empty without titration.
    pub sites: &'a [Site],
    /// Groups of an index file.
    pub groups: &'a IndexGroups,
}

impl Atoms<'_> {
    /// The atoms (0-based, rising) that an expression selects, one at least.
    ///
    /// # Errors
    /// [`SelectionError::Empty`] if there is none, [`SelectionError::Group`].
    pub fn select(&self, expression: &Expression) -> Result<Vec<u32>, SelectionError> {
        let chosen = self.evaluate(&expression.root)?;
        let atoms: Vec<u32> = (0..).zip(&chosen).filter(|(_, chosen)| **chosen).map(|(atom, _)| atom).collect();
        if atoms.is_empty() {
            return Err(SelectionError::Empty { text: expression.text.clone(), valid: self.examples() });
        }
        Ok(atoms)
    }

    fn evaluate(&self, node: &Node) -> Result<Vec<bool>, SelectionError> {
        let both = |a: &Node, b: &Node, with: fn(bool, bool) -> bool| -> Result<Vec<bool>, SelectionError> {
            let (a, b) = (self.evaluate(a)?, self.evaluate(b)?);
            Ok(a.into_iter().zip(b).map(|(a, b)| with(a, b)).collect())
        };
        match node {
            Node::Or(a, b) => both(a, b, |a, b| a | b),
            Node::And(a, b) => both(a, b, |a, b| a & b),
            Node::Not(a) => Ok(self.evaluate(a)?.into_iter().map(|chosen| !chosen).collect()),
            Node::Word(word) => Ok(self.word(*word)),
            Node::Key(Key::Group, values) => self.groups(values),
            Node::Key(key, values) => Ok(self.by_atom(|atom| values.iter().any(|value| self.has(atom, *key, value)))),
        }
    }

    fn by_atom(&self, chosen: impl Fn(usize) -> bool) -> Vec<bool> {
        (0..self.topology.atoms.len()).map(chosen).collect()
    }

    /// The atoms of whole ranges, such as residues.
    fn of_ranges<'r>(&self, ranges: impl Iterator<Item = &'r Range<u32>>) -> Vec<bool> {
        let mut chosen = vec![false; self.topology.atoms.len()];
        ranges.for_each(|range| chosen[range.start as usize..range.end as usize].fill(true));
        chosen
    }

    fn word(&self, word: Word) -> Vec<bool> {
        let topology = self.topology;
        let of_sites = |buffer: bool| {
            let mut chosen = vec![false; topology.atoms.len()];
            let sites = self.sites.iter().filter(|site| site.is_buffer() == buffer);
            sites.flat_map(|site| &site.atoms).for_each(|&atom| chosen[atom as usize] = true);
            chosen
        };
        match word {
            Word::All => vec![true; topology.atoms.len()],
            Word::Protein => self.protein(),
            Word::Backbone => {
                let names = ["N", "CA", "C", "O"];
                let protein = self.protein();
                self.by_atom(|atom| protein[atom] && names.contains(&topology.atoms[atom].name.as_str()))
            }
            Word::Water => self.water(),
            Word::Ions => self.of_ranges(topology.molecules.iter().map(|m| &m.atoms).filter(|atoms| atoms.len() == 1)),
            Word::Solute => {
                let (water, ions) = (self.water(), self.word(Word::Ions));
                self.by_atom(|atom| !water[atom] && !ions[atom])
            }
            Word::Hydrogen => self.by_atom(|atom| topology.is_hydrogen(atom as u32)),
            Word::Site => of_sites(false),
            Word::Buffer => of_sites(true),
        }
    }

    fn protein(&self) -> Vec<bool> {
        const CAPS: [&str; 6] = ["ACE", "NME", "NMA", "NAC", "NH2", "FOR"];
        let atoms = &self.topology.atoms;
        let amino_acid = |range: &Range<u32>| {
            let of = &atoms[range.start as usize..range.end as usize];
            ["N", "CA", "C"].iter().all(|name| of.iter().any(|atom| atom.name == *name))
        };
        let residues = self.topology.residues.iter();
        self.of_ranges(residues.filter(|r| CAPS.contains(&r.name.as_str()) || amino_acid(&r.atoms)).map(|r| &r.atoms))
    }

    fn water(&self) -> Vec<bool> {
        let topology = self.topology;
        let residues = topology.residues.iter();
        let mut chosen =
            self.of_ranges(residues.filter(|residue| WATER.contains(&residue.name.as_str())).map(|r| &r.atoms));
        for settle in &topology.settles {
            let molecule = &topology.molecules[topology.atoms[settle.oxygen as usize].molecule as usize];
            chosen[molecule.atoms.start as usize..molecule.atoms.end as usize].fill(true);
        }
        chosen
    }

    /// Whether an atom has this value of a key.
    fn has(&self, atom: usize, key: Key, value: &Value) -> bool {
        let topology = self.topology;
        let atom = &topology.atoms[atom];
        let residue = &topology.residues[atom.residue as usize];
        let named = |name: &str| matches!(value, Value::Name(pattern) if matches_pattern(pattern, name));
        let numbered = |number: i64| matches!(value, Value::Numbers(range) if range.contains(&number));
        match key {
            Key::ResidueName => named(&residue.name),
            Key::ResidueNumber => numbered(i64::from(residue.number)),
            Key::Name => named(&atom.name),
            Key::Molecule => {
                let molecule = &topology.molecules[atom.molecule as usize];
                named(&molecule.name) || numbered(i64::from(atom.molecule) + 1)
            }
            Key::Group => false,
        }
    }

    fn groups(&self, names: &[Value]) -> Result<Vec<bool>, SelectionError> {
        let mut chosen = vec![false; self.topology.atoms.len()];
        for name in names {
            if let Value::Name(name) = name {
                self.groups.get(name)?.iter().for_each(|&atom| chosen[atom as usize] = true);
            }
        }
        Ok(chosen)
    }

    /// Names that select something here.
    fn examples(&self) -> String {
        let first = |names: &mut dyn Iterator<Item = &str>| -> String {
            let mut seen: Vec<&str> = Vec::new();
            for name in names {
                if !seen.contains(&name) {
                    seen.push(name);
                }
            }
            let rest = if seen.len() > 12 { ", …" } else { "" };
            format!("{}{rest}", seen[..seen.len().min(12)].join(" "))
        };
        let residues = first(&mut self.topology.residues.iter().map(|residue| residue.name.as_str()));
        let molecules = first(&mut self.topology.molecules.iter().map(|molecule| molecule.name.as_str()));
        format!("the residues are {residues}; the molecules are {molecules}")
    }
}

/// Whether a name is of a pattern with `*` and `?`.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    fn from(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, None) => true,
            (Some(('*', rest)), _) => (0..=name.len()).any(|skip| from(rest, &name[skip..])),
            (Some(('?', pattern)), Some((_, name))) => from(pattern, name),
            (Some((a, pattern)), Some((b, name))) => a == b && from(pattern, name),
            _ => false,
        }
    }
    let characters = |text: &str| text.chars().collect::<Vec<char>>();
    if !pattern.contains(['*', '?']) {
        return pattern == name;
    }
    from(&characters(pattern), &characters(name))
}

#[cfg(test)]
mod tests;
