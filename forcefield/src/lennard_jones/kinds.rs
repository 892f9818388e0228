//! Kinds of atoms as lists and kernels of a device tell them apart, so that hydrogens of CHARMM, whose σ is 0.04 nm, cost little.
//!
//! Hydrogens that have Lennard-Jones at all are two of three atoms of water: with them eight of nine pairs within the cut-off have a hydrogen. Two
//! things keep their number down.
//!
//! **Faint pairs.** The c6 of two such hydrogens is a millionth of that of two oxygens: in a liquid all partners beyond [`FAINT_DISTANCE`] together give an
//! atom less than [`FAINT_ENERGY`], and each of them a force below the rounding of any other. Lists leave these pairs out.
//!
//! **Far hydrogens of water.** The c6 of hydrogen and oxygen is a sixtieth of that of two oxygens, and the hydrogens of a rigid molecule are 0.1 nm from
//! their oxygen. So the oxygen takes over what they do at a distance: with S(r) from 0 at [`FAR_FROM`] to 1 at [`FAR_TO`], a smooth step in r²,
//!
//! ```text
//! hydrogen of water and any t       V = (1 − S) V_Ht
//! oxygen of water and any t         V = V_Ot + 2 S V_Ht
//! oxygens of two molecules          V = V_OO + 4 S V_OH + 4 S V_HH
//! ```
//!
//! where each V is modified at the cut-off as it would be. These are potentials of pairs like any others, so that energy, forces and virial belong together;
//! hydrogens have no partners beyond [`FAR_TO`]. Against all pairs, in protein G in 4 708 molecules of CHARMM's TIP3P, forces differ by 0.015 kJ/mol/nm, 1.5e-5 of
//! what atoms feel (root mean squares), and the energy by 0.06 of 20 190 kJ/mol.
//! Units: nm, kJ/mol.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use kernels::lennard_jones::Modified;

use super::Classes;

/// Distance beyond which faint atoms do not feel each other, nm.
pub(crate) const FAINT_DISTANCE: f64 = 0.45;

/// Most energy that an atom has with all faint partners beyond that, kJ/mol: some 1e-6 of what it has with others.
const FAINT_ENERGY: f64 = 1e-5;

/// Atoms of a liquid, 1/nm³: water has 100.
const DENSITY: f64 = 110.0;

/// Where the oxygen of a water molecule begins to take over what its hydrogens do, nm.
pub(crate) const FAR_FROM: f64 = 0.75;

/// From where it has taken over everything, nm.
pub(crate) const FAR_TO: f64 = 0.85;

/// By how much the cut-off must be longer for that to be worth its arithmetic, nm.
const FAR_GAIN: f64 = 0.1;

/// Coefficients of two kinds, kJ/mol nm⁶ and kJ/mol nm¹².
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Coefficients {
    /// Attraction.
    pub c6: f64,
    /// Repulsion.
    pub c12: f64,
    /// What S adds to the attraction.
    pub far_c6: f64,
    /// What S adds to the repulsion.
    pub far_c12: f64,
}

/// Kinds of the atoms of a system.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kinds {
    /// Kind of each atom.
    pub of_atoms: Vec<u32>,
    /// Number of kinds.
    pub n: usize,
    /// How many of them are faint with each other; these come first.
    pub n_faint: usize,
    /// \[a n + b\]: coefficients of two kinds.
    pub table: Vec<Coefficients>,
    /// Whether oxygens of water take over what their hydrogens do far away; the faint kinds are then those hydrogens, and no others.
    pub oxygens_take_over: bool,
}

/// What an atom is to the water molecule that it belongs to, if its oxygen takes over from hydrogens of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    Hydrogen,
    Oxygen { hydrogens: u32 },
    None,
}

/// The largest c6 (kJ/mol nm⁶) of faint pairs: ½ ρ 4π ∫ c6/r⁴ dr = [`FAINT_ENERGY`].
fn largest_c6() -> f64 {
    FAINT_ENERGY * 6.0 * FAINT_DISTANCE.powi(3) / (4.0 * PI * DENSITY)
}

/// Classes that are faint with themselves and each other. What has no interaction at all is not among them.
fn faint_classes(classes: &Classes) -> Vec<u32> {
    let table = &classes.table;
    let is_faint = |a: u32, b: u32| {
        let (c6, c12) = table.get(a, b);
        // Repulsion falls off so fast that it counts at the distance alone.
        c6.abs() <= largest_c6() && c12.abs() / FAINT_DISTANCE.powi(6) <= largest_c6()
    };
    let mut faint: Vec<u32> = Vec::new();
    for class in (0..table.n_types as u32).filter(|&a| !table.is_inert(a)) {
        if is_faint(class, class) && faint.iter().all(|&other| is_faint(class, other)) {
            faint.push(class);
        }
    }
    faint
}

impl Kinds {
    /// Kinds of atoms of these `classes`. `waters`: numbers of the oxygen and the hydrogens of each rigid molecule of water, all of which take part;
    /// without any, nothing is taken over, nor if the potential is `modified` where the hydrogens end.
    pub fn new(classes: &Classes, waters: &[[usize; 3]], modified: &Modified) -> Self {
        let faint = faint_classes(classes);
        let class = |atom: usize| classes.of_atoms[atom];
        let mut roles = vec![Role::None; classes.of_atoms.len()];
        if FAR_TO <= modified.r_switch && FAR_TO + FAR_GAIN <= modified.cutoff {
            for &[oxygen, first, second] in waters {
                let hydrogens = class(first);
                if class(second) == hydrogens && faint.contains(&hydrogens) && !faint.contains(&class(oxygen)) {
                    roles[oxygen] = Role::Oxygen { hydrogens };
                    roles[first] = Role::Hydrogen;
                    roles[second] = Role::Hydrogen;
                }
            }
        }
        let oxygens_take_over = roles.contains(&Role::Hydrogen);
        let is_faint =
            |role: Role, class: u32| if oxygens_take_over { role == Role::Hydrogen } else { faint.contains(&class) };
        let key = |atom: usize| (!is_faint(roles[atom], class(atom)), class(atom), roles[atom]);
        let mut numbers: BTreeMap<_, u32> = (0..roles.len()).map(|atom| (key(atom), 0)).collect();
        for (number, (_, kind)) in (0..).zip(&mut numbers) {
            *kind = number;
        }
        let kinds: Vec<(u32, Role)> = numbers.keys().map(|&(_, class, role)| (class, role)).collect();
        Self {
            of_atoms: (0..roles.len()).map(|atom| numbers[&key(atom)]).collect(),
            n: kinds.len(),
            n_faint: numbers.keys().filter(|(is_other, ..)| !is_other).count(),
            table: kinds
                .iter()
                .flat_map(|&a| kinds.iter().map(move |&b| (a, b)))
                .map(|(a, b)| coefficients(classes, a, b))
                .collect(),
            oxygens_take_over,
        }
    }

    /// Distance (nm) within which two faint atoms meet, with Lennard-Jones up to `cutoff`.
    pub fn reach_of_two_faint(&self, cutoff: f64) -> f64 {
        FAINT_DISTANCE.min(cutoff)
    }

    /// Distance (nm) within which faint atoms meet others, with Lennard-Jones up to `cutoff`.
    pub fn reach_of_faint(&self, cutoff: f64) -> f64 {
        if self.oxygens_take_over { FAR_TO } else { cutoff }
    }
}

/// Coefficients of two kinds: see the beginning.
fn coefficients(classes: &Classes, a: (u32, Role), b: (u32, Role)) -> Coefficients {
    let of = |a: u32, b: u32| classes.table.get(a, b);
    let (c6, c12) = of(a.0, b.0);
    let sum =
        |all: &[(f64, (f64, f64))]| all.iter().fold((0.0, 0.0), |s, (times, c)| (s.0 + times * c.0, s.1 + times * c.1));
    let (far_c6, far_c12) = match (a.1, b.1) {
        (Role::Hydrogen, _) | (_, Role::Hydrogen) => (-c6, -c12),
        (Role::Oxygen { hydrogens: h }, Role::Oxygen { hydrogens: g }) => {
            sum(&[(2.0, of(h, b.0)), (2.0, of(a.0, g)), (4.0, of(h, g))])
        }
        (Role::Oxygen { hydrogens }, Role::None) => sum(&[(2.0, of(hydrogens, b.0))]),
        (Role::None, Role::Oxygen { hydrogens }) => sum(&[(2.0, of(a.0, hydrogens))]),
        (Role::None, Role::None) => (0.0, 0.0),
    };
    Coefficients { c6, c12, far_c6, far_c12 }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::energy::TermEnergy;
    use crate::lennard_jones::Modifier;
    use crate::lennard_jones::modifier::pair;
    use crate::topology::LennardJonesTable;

    /// σ (nm) and ε (kJ/mol) of oxygen and hydrogen of CHARMM's TIP3P.
    pub(crate) const OXYGEN: (f64, f64) = (0.315057, 0.636386);
    pub(crate) const HYDROGEN: (f64, f64) = (0.040001, 0.192464);

    /// c6 and c12 of σ (nm) and ε (kJ/mol), by the rules of Lorentz and Berthelot.
    pub(crate) fn mixed(kinds: &[(f64, f64)]) -> LennardJonesTable {
        let pairs = || kinds.iter().flat_map(|a| kinds.iter().map(move |b| (0.5 * (a.0 + b.0), (a.1 * b.1).sqrt())));
        let c6 = pairs().map(|(sigma, epsilon)| 4.0 * epsilon * sigma.powi(6)).collect();
        let c12 = pairs().map(|(sigma, epsilon)| 4.0 * epsilon * sigma.powi(12)).collect();
        LennardJonesTable { n_types: kinds.len(), c6, c12 }
    }

    fn classes(kinds: &[(f64, f64)], of_atoms: Vec<u32>) -> Classes {
        Classes { of_atoms, table: mixed(kinds) }
    }

    impl Kinds {
        /// Energy and r·F (kJ/mol) of two atoms at the distance `r` < cut-off: the formulas of the beginning in their plainest form.
        pub(crate) fn pair(&self, m: &Modified, a: usize, b: usize, r: f64) -> TermEnergy {
            let c = self.table[self.of_atoms[a] as usize * self.n + self.of_atoms[b] as usize];
            let (near, far) = (pair(m, c.c6, c.c12, r), pair(m, c.far_c6, c.far_c12, r));
            let width = FAR_TO * FAR_TO - FAR_FROM * FAR_FROM;
            let t = ((r * r - FAR_FROM * FAR_FROM) / width).clamp(0.0, 1.0);
            let (s, slope) = (t * t * (3.0 - 2.0 * t), 6.0 * t * (1.0 - t) * 2.0 * r / width);
            TermEnergy {
                energy: near.energy + s * far.energy,
                virial: near.virial + s * far.virial - r * slope * far.energy,
            }
        }
    }

    #[test]
    fn hydrogens_of_charmm_are_faint_and_others_are_not() {
        // HA1 of an aliphatic carbon, and something without interaction.
        let (aliphatic, none) = ((0.238761, 0.188280), (0.0, 0.0));
        let modified = Modifier::None.at_cutoff(1.2);
        let before = classes(&[OXYGEN, none, HYDROGEN, aliphatic], vec![0, 2, 2, 1, 3]);
        let after = Kinds::new(&before, &[], &modified);
        assert_eq!((after.n_faint, after.oxygens_take_over, after.of_atoms.clone()), (1, false, vec![1, 0, 0, 2, 3]));
        assert_eq!(after.reach_of_faint(1.2), 1.2);
        for (a, new_a) in before.of_atoms.iter().zip(&after.of_atoms) {
            for (b, new_b) in before.of_atoms.iter().zip(&after.of_atoms) {
                let Coefficients { c6, c12, far_c6, far_c12 } = after.table[(new_a * 4 + new_b) as usize];
                assert_eq!(before.table.get(*a, *b), (c6, c12));
                assert_eq!((far_c6, far_c12), (0.0, 0.0));
            }
        }
        // All beyond the distance at the density of hydrogens in water, by a sum over shells.
        let c6 = after.table[0].c6;
        let shells = (0..100_000).map(|k| FAINT_DISTANCE + 1e-5 * (f64::from(k) + 0.5));
        let energy: f64 = shells.map(|r| 0.5 * 66.7 * 4.0 * PI * r * r * 1e-5 * c6 / r.powi(6)).sum();
        assert!(energy < 0.6 * FAINT_ENERGY && energy > 0.1 * FAINT_ENERGY, "{energy}");
        // AMBER's water: hydrogens have none.
        let amber = classes(&[OXYGEN, none], vec![0, 1, 1]);
        assert_eq!(Kinds::new(&amber, &[[0, 1, 2]], &modified).n_faint, 0);
    }

    /// Two molecules of water, an atom like their hydrogens and one like their oxygens that belong to none, and another.
    #[test]
    fn oxygens_take_over_from_hydrogens_of_their_molecule() {
        let carbon = (0.35, 0.4);
        let before = classes(&[OXYGEN, HYDROGEN, carbon], vec![0, 1, 1, 0, 1, 1, 1, 0, 2]);
        let waters = [[0, 1, 2], [3, 4, 5]];
        let modified = Modifier::ForceSwitch { r_switch: 1.0 }.at_cutoff(1.2);
        let kinds = Kinds::new(&before, &waters, &modified);
        assert!(kinds.oxygens_take_over && kinds.n_faint == 1 && kinds.n == 5);
        assert_eq!(
            kinds.of_atoms,
            [kinds.of_atoms[0], 0, 0, kinds.of_atoms[0], 0, 0, kinds.of_atoms[6], kinds.of_atoms[7], kinds.of_atoms[8]]
        );
        assert_eq!(kinds.reach_of_faint(1.2), FAR_TO);
        let plain = |a: usize, b: usize, r: f64| {
            let (c6, c12) = before.table.get(before.of_atoms[a], before.of_atoms[b]);
            pair(&modified, c6, c12, r)
        };
        for (a, b) in (0..9).flat_map(|a| (0..9).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            // Near: what it was. Energy and r·F go over into each other at the ends of the step.
            assert_eq!(kinds.pair(&modified, a, b, FAR_FROM), plain(a, b, FAR_FROM));
            // Far: the molecule as a whole does what its atoms did, for molecules whose atoms are in one place.
            let far = |pairs: &[(usize, usize)]| pairs.iter().map(|&(a, b)| plain(a, b, 1.1)).sum::<TermEnergy>();
            let atoms = |a: usize| waters.iter().find(|water| water[0] == a).map_or(vec![a], |water| water.to_vec());
            let is_hydrogen = |a: usize| [1, 2, 4, 5].contains(&a);
            let all: Vec<_> = atoms(a).into_iter().flat_map(|a| atoms(b).into_iter().map(move |b| (a, b))).collect();
            let (found, expected) = (kinds.pair(&modified, a, b, 1.1), far(&all));
            let expected = if is_hydrogen(a) || is_hydrogen(b) { TermEnergy::default() } else { expected };
            assert!(
                (found.energy - expected.energy).abs() < 1e-15 && (found.virial - expected.virial).abs() < 1e-15,
                "{a} {b}"
            );
            // In between r·F is the slope of the energy.
            for r in [0.76, 0.8, 0.84] {
                let h = 1e-5;
                let [low, high] = [r - h, r + h].map(|r| kinds.pair(&modified, a, b, r).energy);
                let error = kinds.pair(&modified, a, b, r).virial + r * (high - low) / (2.0 * h);
                assert!(error.abs() < 1e-8, "{a} {b} {r}: {error}");
            }
        }
        // Where the switch begins before the hydrogens end, or the cut-off is hardly longer, nothing is taken over.
        for (cutoff, modifier) in [(1.2, Modifier::ForceSwitch { r_switch: 0.8 }), (0.9, Modifier::PotentialShift)] {
            let kinds = Kinds::new(&before, &waters, &modifier.at_cutoff(cutoff));
            assert!(!kinds.oxygens_take_over && kinds.n_faint == 1 && kinds.n == 3);
        }
    }
}
