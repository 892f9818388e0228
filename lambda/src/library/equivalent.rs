//! Forms that are the same chemically: a proton on one oxygen of a carboxyl group, or on the other.
//!
//! Two forms are the same if the molecule with its atoms renamed shows one as the other: they lost as many protons, have the same pK and the same net charge, and
//! some exchange of atoms of the same element turns the charges of each into those of the other while those of all other forms stay, and does the same to
//! the bonded terms of the entry. Bonded terms that all forms share are not part of an entry: atoms that charges exchange are taken to be bonded alike, as both
//! oxygens of a carboxyl group are.

use std::collections::BTreeMap;

use super::Entry;

impl Entry {
    /// Pairs of forms that are the same chemically.
    pub fn equivalent_forms(&self) -> Vec<[usize; 2]> {
        let n = self.forms.len();
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| [a, b]));
        pairs.filter(|&pair| self.are_equivalent(pair)).collect()
    }

    fn are_equivalent(&self, [a, b]: [usize; 2]) -> bool {
        let (one, other) = (&self.forms[a], &self.forms[b]);
        let alike = one.protons_lost == other.protons_lost && one.pk == other.pk && one.net_charge == other.net_charge;
        let exchange = |form: usize| match form {
            _ if form == a => b,
            _ if form == b => a,
            _ => form,
        };
        alike
            && self.atoms(|form| form) == self.atoms(exchange)
            && (self.bonded.is_empty()
                || self.partners(exchange).is_some_and(|names| self.same_terms(exchange, &names)))
    }

    /// The atom that each becomes: itself where its charges stay, else the only one of its element that has its charges with the forms exchanged.
    fn partners(&self, exchange: impl Fn(usize) -> usize) -> Option<BTreeMap<&str, &str>> {
        let mut partners = BTreeMap::new();
        for (name, charges) in &self.charges {
            let wanted: Vec<f64> = (0..charges.len()).map(|form| charges[exchange(form)]).collect();
            let mut alike =
                self.charges.iter().filter(|(other, its)| element(other) == element(name) && **its == wanted);
            let partner = if wanted == *charges { name } else { alike.next().filter(|_| alike.next().is_none())?.0 };
            partners.insert(name.as_str(), partner.as_str());
        }
        Some(partners)
    }

    /// Whether the bonded terms are the same with forms exchanged and atoms renamed.
    fn same_terms(&self, exchange: impl Fn(usize) -> usize, names: &BTreeMap<&str, &str>) -> bool {
        let terms = |renamed: bool| {
            let mut all: Vec<_> = self
                .bonded
                .iter()
                .map(|term| {
                    let name = |atom: &String| {
                        names.get(atom.as_str()).filter(|_| renamed).map_or(atom.clone(), ToString::to_string)
                    };
                    let atoms: Vec<String> = term.atoms.iter().map(name).collect();
                    let backward = atoms.iter().rev().cloned().collect();
                    let form = |form| &term.parameters[if renamed { exchange(form) } else { form }];
                    let parameters: Vec<String> = (0..self.forms.len()).map(|one| format!("{:?}", form(one))).collect();
                    (term.function, atoms.min(backward), parameters, &term.residues)
                })
                .collect();
            all.sort_unstable();
            all
        };
        terms(false) == terms(true)
    }

    /// Element, charges and Lennard-Jones types of every atom by form, and the residues that have these types, in the order of their values; forms are exchanged as told.
    fn atoms(&self, exchange: impl Fn(usize) -> usize) -> Vec<(char, Vec<u64>, Vec<&str>)> {
        let forms = 0..self.forms.len();
        let one = |(name, charges): (&String, &Vec<f64>)| {
            // Adding zero makes −0 and 0 the same number.
            let charges = forms.clone().map(|form| (charges[exchange(form)] + 0.0).to_bits()).collect();
            let of_atom = self.lj_types.iter().filter(|one| one.atom == *name);
            let types =
                of_atom.flat_map(|one| forms.clone().map(|form| &one.types[exchange(form)]).chain(&one.residues));
            let types = types.map(String::as_str).collect();
            (element(name), charges, types)
        };
        let mut atoms: Vec<_> = self.charges.iter().map(one).collect();
        atoms.sort_unstable();
        atoms
    }
}

fn element(name: &str) -> char {
    name.chars().find(char::is_ascii_alphabetic).unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use crate::library::{Entry, SiteLibrary};

    #[test]
    fn the_two_oxygens_of_a_carboxyl_group_are_the_same_and_nothing_else_is() {
        for entry in SiteLibrary::builtin().unwrap().entries {
            let three = entry.forms.len() == 3 && entry.name != "his";
            let expected = if three { vec![[0, 1]] } else { Vec::new() };
            assert_eq!(entry.equivalent_forms(), expected, "{}", entry.name);
        }
    }

    #[test]
    fn any_difference_counts() {
        let text = SiteLibrary::builtin().unwrap().entries.into_iter().find(|entry| entry.name == "glu3").unwrap().text;
        let entry = |from: &str, to: &str| {
            assert!(text.contains(from));
            Entry::from_toml(&text.replace(from, to), "glu3").unwrap().equivalent_forms()
        };
        assert_eq!(entry("glu3", "glu3"), [[0, 1]]);
        // Another pK of one form, with the pKa that follows; charges of another oxygen; charges that an oxygen and a hydrogen exchange.
        let sum: f64 = -(10_f64.powf(-3.949) / (1.0 + 10_f64.powf(-0.1))).log10();
        let pk = text
            .replacen("net_charge = 0\npk = 0.0", "net_charge = 0\npk = 0.1", 2)
            .replacen("pk = 0.1", "pk = 0.0", 1);
        let pk = pk.replace("pka = 4.25", &format!("pka = {sum:.2}"));
        assert!(Entry::from_toml(&pk, "glu3").unwrap().equivalent_forms().is_empty());
        let charges = "HE1 = [0.0, 0.4541, 0.0]";
        let moved = text.replace("HE1 = [0.0, 0.4641, 0.0]", charges).replace("[0.6801, 0.6801, ", "[0.6801, 0.6901, ");
        assert!(Entry::from_toml(&moved, "glu3").unwrap().equivalent_forms().is_empty());
        let renamed = text.replace("HE1", "XE1");
        assert!(Entry::from_toml(&renamed, "glu3").unwrap().equivalent_forms().is_empty());
    }
}
