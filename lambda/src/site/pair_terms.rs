//! Fingerprint of Lennard-Jones interactions that a force field has beside its combination rule, as CUFIX and NBFIX do, as far as the free energy of a
//! group in its model compound feels them.
//!
//! A model compound holds the residue, caps, water and its charge buffer. Pairs between the group and atoms of its own residue, and between the group
//! and the solvent, are in the calibration; those with other residues and with ions are not, and are the business of the protein alone: a lysine inside of a chain has the
//! same correction with CUFIX and without it, an amino end of glutamate has not.
//!
//! A pair is a term of its own if its coefficients follow from those of its two types neither by the geometric rule, c = √(c_i c_j), nor by the rule of Lorentz and Berthelot,
//! σ = (σ_i + σ_j)/2, ε = √(ε_i ε_j), within [`SAME`]. There are none in AMBER's force fields, whose entries have no fingerprint then: a correction that says nothing of
//! such terms was made without them.

use forcefield::Topology;
use forcefield::topology::LennardJonesTable;
use std::collections::BTreeSet;
use std::ops::Range;

use super::matching::atoms;
use super::parameters::{digits, hash};
use crate::library::Entry;

/// Relative difference of coefficients that is rounding. Files have five digits, and c12 twelve times the error of σ; the smallest change that CUFIX makes, 0.4 % of σ,
/// is 2.6 % of c6.
const SAME: f64 = 1e-3;

/// The fingerprint, as 16 hexadecimal digits, of the part of residue `residue` that `entry` describes, in this solvent (atoms of one of its molecules); `None` if all its
/// pairs follow from the combination rule.
pub fn pair_terms(topology: &Topology, entry: &Entry, residue: u32, solvent: Option<Range<u32>>) -> Option<String> {
    let by_name = atoms(topology, entry, residue).unwrap_or_default();
    let charges = entry.charges_at(&topology.residues[residue as usize].name);
    let group: Vec<(&str, u32)> = by_name
        .iter()
        .filter(|(name, _)| charges.contains_key(**name) && !entry.backbone.iter().any(|other| other == *name))
        .map(|(name, atom)| (*name, topology.atoms[*atom as usize].type_index))
        .collect();
    let others = |atoms: Range<u32>, what: &str| -> Vec<(String, u32)> {
        let of = |atom: u32| {
            let atom = &topology.atoms[atom as usize];
            (format!("{what}{}", atom.name), atom.type_index)
        };
        atoms.map(of).collect()
    };
    let own = topology.residues[residue as usize].atoms.clone();
    let partners = [others(own, ""), solvent.map_or_else(Vec::new, |atoms| others(atoms, "solvent "))].concat();
    let mut lines = BTreeSet::new();
    for (name, i) in &group {
        for (partner, j) in &partners {
            if is_own_term(&topology.lj, *i, *j) {
                let (c6, c12) = topology.lj.get(*i, *j);
                lines.insert(format!("{name} {partner} {} {}", digits(c6), digits(c12)));
            }
        }
    }
    (!lines.is_empty()).then(|| hash(lines.into_iter().collect()))
}

/// Whether a pair of types has coefficients that no combination rule gives.
fn is_own_term(table: &LennardJonesTable, i: u32, j: u32) -> bool {
    let [(a6, a12), (b6, b12), (c6, c12)] = [table.get(i, i), table.get(j, j), table.get(i, j)];
    let near = |value: f64, other: f64| (value - other).abs() <= SAME * value.abs().max(other.abs());
    let geometric = near(c6, (a6 * b6).sqrt()) && near(c12, (a12 * b12).sqrt());
    let parts =
        |c6: f64, c12: f64| if c6 > 0.0 { ((c12 / c6).powf(1.0 / 6.0), c6 * c6 / (4.0 * c12)) } else { (0.0, 0.0) };
    let ((s, e), (t, f)) = (parts(a6, a12), parts(b6, b12));
    let (sigma, epsilon) = (0.5 * (s + t), (e * f).sqrt());
    let mixed = near(c6, 4.0 * epsilon * sigma.powi(6)) && near(c12, 4.0 * epsilon * sigma.powi(12));
    !(geometric || mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of two types by σ and ε of each, and a pair's own σ.
    fn table(types: [(f64, f64); 2], own: Option<f64>, geometric: bool) -> LennardJonesTable {
        let both = |(s, e): (f64, f64), (t, f): (f64, f64), i: usize, j: usize| {
            let mean = if geometric { (s * t).sqrt() } else { 0.5 * (s + t) };
            let sigma = own.filter(|_| i != j).unwrap_or(mean);
            let c6 = 4.0 * (e * f).sqrt() * sigma.powi(6);
            (c6, c6 * sigma.powi(6))
        };
        let pairs: Vec<(f64, f64)> = (0..4).map(|k| both(types[k / 2], types[k % 2], k / 2, k % 2)).collect();
        let (c6, c12) = pairs.into_iter().unzip();
        LennardJonesTable { n_types: 2, c6, c12 }
    }

    /// Nitrogen and oxygen of a salt bridge (AMBER), sodium and chloride (Joung and Cheatham), with the changes of CUFIX: 0.08 and 0.015 Å.
    #[test]
    fn what_follows_from_a_rule_is_no_term_of_its_own_and_the_least_change_is_one() {
        for geometric in [false, true] {
            for (types, change) in
                [([(0.325, 0.711), (0.296, 0.879)], 0.008), ([(0.2439, 0.366), (0.4478, 0.149)], 0.0015)]
            {
                let plain = table(types, None, geometric);
                assert!(!is_own_term(&plain, 0, 1) && !is_own_term(&plain, 0, 0));
                let mean = if geometric { (types[0].0 * types[1].0).sqrt() } else { 0.5 * (types[0].0 + types[1].0) };
                assert!(is_own_term(&table(types, Some(mean + change), geometric), 0, 1), "{types:?}");
                // The fifth digit of a file.
                assert!(!is_own_term(&table(types, Some(mean + 0.5e-5), geometric), 0, 1), "{types:?}");
            }
        }
        // A hydrogen without any has none with others.
        assert!(!is_own_term(&table([(0.325, 0.711), (0.0, 0.0)], None, false), 0, 1));
    }
}
