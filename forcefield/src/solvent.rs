//! What a system is dissolved in: the water model by its parameters, whatever a topology calls it.
//!
//! The solvent is the most numerous kind of neutral molecules of one residue. Three atoms, one of more than 10 u and two of less than 5 u, and
//! up to two virtual sites are water, whose model follows from the number of virtual sites, the charge (e) of a hydrogen, the Lennard-Jones
//! σ (nm), ε (kJ/mol) of the oxygen, and from whether the hydrogens have a Lennard-Jones interaction:
//!
//! | model | virtual sites | q_H | σ_O | ε_O | hydrogens | source |
//! |---|---|---|---|---|---|---|
//! | TIP3P | 0 | 0.417 | 0.315061 | 0.6364 | none | Jorgensen et al. 1983, doi:10.1063/1.445869 |
//! | CHARMM TIP3P | 0 | 0.417 | 0.315057 | 0.6364 | yes | MacKerell et al. 1998, doi:10.1021/jp973084f |
//! | SPC | 0 | 0.41 | 0.316557 | 0.6502 | none | Berendsen et al. 1981, doi:10.1007/978-94-015-7658-1_21 |
//! | SPC/E | 0 | 0.4238 | 0.316557 | 0.6502 | none | Berendsen et al. 1987, doi:10.1021/j100308a038 |
//! | OPC3 | 0 | 0.447585 | 0.317427 | 0.6837 | none | Izadi & Onufriev 2016, doi:10.1063/1.4960175 |
//! | TIP3P-FB | 0 | 0.424224 | 0.317796 | 0.6521 | none | Wang et al. 2014, doi:10.1021/jz500737m |
//! | TIP4P | 1 | 0.52 | 0.315365 | 0.6485 | none | Jorgensen et al. 1983, doi:10.1063/1.445869 |
//! | TIP4P-Ew | 1 | 0.52422 | 0.316435 | 0.680946 | none | Horn et al. 2004, doi:10.1063/1.1683075 |
//! | TIP4P/2005 | 1 | 0.5564 | 0.31589 | 0.7749 | none | Abascal & Vega 2005, doi:10.1063/1.2121687 |
//! | TIP4P-FB | 1 | 0.52587 | 0.316555 | 0.749279 | none | Wang et al. 2014, doi:10.1021/jz500737m |
//! | OPC | 1 | 0.679142 | 0.316655 | 0.890359 | none | Izadi et al. 2014, doi:10.1021/jz501780a |
//! | TIP5P | 2 | 0.241 | 0.312 | 0.66944 | none | Mahoney & Jorgensen 2000, doi:10.1063/1.481505 |
//! | TIP5P-Ew | 2 | 0.241 | 0.3097 | 0.744752 | none | Rick 2004, doi:10.1063/1.1652434 |
//!
//! Where the sites of a model lie is not looked at. Any other solvent is known by a hash of the charges and Lennard-Jones coefficients of its
//! atoms, which does not depend on names or on the order of atoms.

use std::collections::BTreeMap;

use crate::Topology;
use crate::fnv::Fnv1a;
use crate::topology::Atom;

/// Name, number of virtual sites, charge of H (e), σ (nm) and ε (kJ/mol) of O, and whether H have Lennard-Jones interactions.
const WATERS: [(&str, usize, f64, f64, f64, bool); 13] = [
    ("TIP3P", 0, 0.417, 0.315_061, 0.6364, false),
    ("CHARMM TIP3P", 0, 0.417, 0.315_057, 0.6364, true),
    ("SPC", 0, 0.41, 0.316_557, 0.6502, false),
    ("SPC/E", 0, 0.4238, 0.316_557, 0.6502, false),
    ("OPC3", 0, 0.447_585, 0.317_427, 0.6837, false),
    ("TIP3P-FB", 0, 0.424_224, 0.317_796, 0.6521, false),
    ("TIP4P", 1, 0.52, 0.315_365, 0.6485, false),
    ("TIP4P-Ew", 1, 0.524_22, 0.316_435, 0.680_946, false),
    ("TIP4P/2005", 1, 0.5564, 0.315_89, 0.7749, false),
    ("TIP4P-FB", 1, 0.525_87, 0.316_555, 0.749_279, false),
    ("OPC", 1, 0.679_142, 0.316_655, 0.890_359, false),
    ("TIP5P", 2, 0.241, 0.312, 0.669_44, false),
    ("TIP5P-Ew", 2, 0.241, 0.3097, 0.744_752, false),
];
/// Charges (e) of hydrogens of two models with equal σ differ by 4e-4 at least; files round to 1e-4.
const CHARGE: f64 = 1e-4;
/// σ (nm) of two models of equal charge differ by more; conversions from c6 and c12 of few digits by less.
const SIGMA: f64 = 2e-4;
/// ε (kJ/mol) as files with three digits of kcal/mol round it.
const EPSILON: f64 = 3e-3;

/// The names of the water models that [`solvent`] recognises.
pub fn known_waters() -> impl Iterator<Item = &'static str> {
    WATERS.iter().map(|water| water.0)
}

/// What the system is dissolved in: the name of a water model, "fingerprint " with 16 hexadecimal digits for anything else, `None` if no
/// neutral molecule of one residue is left when those are passed over for which `is_solute` (index of the molecule) holds.
pub fn solvent(topology: &Topology, is_solute: impl Fn(u32) -> bool) -> Option<String> {
    Some(model(topology, solvent_molecule(topology, is_solute)?))
}

/// The first molecule (index) of the kind that [`solvent`] names.
pub fn solvent_molecule(topology: &Topology, is_solute: impl Fn(u32) -> bool) -> Option<u32> {
    let mut kinds: BTreeMap<&str, (usize, u32)> = BTreeMap::new();
    for (index, molecule) in (0..).zip(&topology.molecules) {
        let atoms = &topology.atoms[molecule.atoms.start as usize..molecule.atoms.end as usize];
        let one_residue = atoms.first().is_some_and(|first| atoms.iter().all(|atom| atom.residue == first.residue));
        let charge: f64 = atoms.iter().map(|atom| atom.charge).sum();
        if one_residue && charge.abs() < crate::topology::CHARGE_TOLERANCE && !is_solute(index) {
            kinds.entry(&molecule.name).or_insert((0, index)).0 += 1;
        }
    }
    // The first of equally numerous kinds, by their names.
    kinds.values().rev().max_by_key(|(count, _)| *count).map(|(_, molecule)| *molecule)
}

fn model(topology: &Topology, molecule: u32) -> String {
    let range = topology.molecules[molecule as usize].atoms.clone();
    let atoms = &topology.atoms[range.start as usize..range.end as usize];
    let lennard_jones = |type_index: u32| topology.lj.get(type_index, type_index);
    let (virtual_sites, real): (Vec<&Atom>, Vec<&Atom>) = atoms.iter().partition(|atom| atom.mass == 0.0);
    let (heavy, light): (Vec<&Atom>, Vec<&Atom>) = real.into_iter().partition(|atom| atom.mass > 10.0);
    let inert = virtual_sites.iter().all(|atom| topology.lj.is_inert(atom.type_index));
    if let ([oxygen], [hydrogen, _]) = (&heavy[..], &light[..])
        && inert
        && light.iter().all(|atom| atom.mass < 5.0)
    {
        let well = topology.lj.well(oxygen.type_index);
        let with_hydrogens = light.iter().any(|atom| lennard_jones(atom.type_index).0 > 0.0);
        let known = WATERS.iter().find(|(_, n, q, s, e, h)| {
            virtual_sites.len() == *n
                && (hydrogen.charge - q).abs() < CHARGE
                && well.is_some_and(|own| (own.sigma - s).abs() < SIGMA && (own.epsilon - e).abs() < EPSILON)
                && with_hydrogens == *h
        });
        if let Some((name, ..)) = known {
            return (*name).to_string();
        }
    }
    let mut lines: Vec<String> = atoms
        .iter()
        .map(|atom| {
            let (c6, c12) = lennard_jones(atom.type_index);
            format!("{:.4} {c6:.4e} {c12:.4e}", atom.charge)
        })
        .collect();
    lines.sort_unstable();
    let mut hash = Fnv1a::default();
    lines.iter().for_each(|line| hash.line(line));
    format!("fingerprint {:016x}", hash.value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::{LennardJonesTable, Molecule, Residue};

    /// `n` molecules of O, H, H and virtual sites with these charges (e), σ (nm), ε (kJ/mol) of the first, and of the hydrogens.
    fn waters<const N: usize>(n: u32, charges: [f64; N], lj: [(f64, f64); 2]) -> Topology {
        let mut topology = Topology::default();
        let coefficients = lj.map(|(s, e)| (4.0 * e * s.powi(6), 4.0 * e * s.powi(12)));
        let table = |part: fn((f64, f64)) -> f64| {
            let mut all = vec![0.0; 9];
            (all[0], all[4]) = (part(coefficients[0]), part(coefficients[1]));
            all
        };
        topology.lj = LennardJonesTable { n_types: 3, c6: table(|c| c.0), c12: table(|c| c.1) };
        for k in 0..n {
            let atoms = N as u32 * k..N as u32 * (k + 1);
            for (place, charge) in charges.into_iter().enumerate() {
                let (type_index, mass) = [(0, 15.9994), (1, 1.008), (1, 1.008), (2, 0.0), (2, 0.0)][place];
                let name = ["OW", "HW1", "HW2", "MW", "LP"][place].to_string();
                topology.atoms.push(Atom { name, type_index, residue: k, molecule: k, charge, mass });
            }
            let residue = Residue { name: "SOL".into(), number: 1, insertion: None, molecule: k, atoms: atoms.clone() };
            topology.residues.push(residue);
            topology.molecules.push(Molecule { name: "SOL".into(), atoms });
        }
        topology
    }

    #[test]
    fn water_models_are_known_by_their_parameters() {
        let none = (0.0, 0.0);
        for (name, sites, q, sigma, epsilon, hydrogens) in WATERS {
            let h = if hydrogens { (0.040_001_4, 0.192_464) } else { none };
            let lj = [(sigma, epsilon), h];
            let topology = match sites {
                0 => waters(4, [-2.0 * q, q, q], lj),
                1 => waters(4, [0.0, q, q, -2.0 * q], lj),
                _ => waters(4, [0.0, q, q, -q, -q], lj),
            };
            assert_eq!(solvent(&topology, |_| false).as_deref(), Some(name));
        }
    }

    #[test]
    fn another_model_has_a_fingerprint_that_names_and_order_do_not_change() {
        let odd = waters(4, [-0.8, 0.4, 0.4], [(0.315, 0.6364), (0.0, 0.0)]);
        let of = |topology: &Topology| solvent(topology, |_| false).unwrap();
        let first = of(&odd);
        assert!(first.starts_with("fingerprint "), "{first}");
        let mut turned = odd.clone();
        turned.atoms.chunks_mut(3).for_each(|water| water.swap(0, 2));
        turned.atoms.iter_mut().for_each(|atom| atom.name = "X".into());
        assert_eq!(of(&turned), first);
        let other = waters(4, [-0.8, 0.4, 0.4], [(0.316, 0.6364), (0.0, 0.0)]);
        assert_ne!(of(&other), first);
        assert_eq!(solvent(&odd, |_| true), None);
    }

    #[test]
    fn the_most_numerous_neutral_molecule_is_the_solvent() {
        let mut topology = waters(5, [-0.834, 0.417, 0.417], [(0.315_061, 0.6364), (0.0, 0.0)]);
        // Three of the five molecules are something else, but not neutral.
        for atom in &mut topology.atoms[..9] {
            atom.charge = 1.0;
        }
        topology.molecules[..3].iter_mut().for_each(|molecule| molecule.name = "ION".into());
        assert_eq!(solvent(&topology, |_| false).as_deref(), Some("TIP3P"));
    }
}
