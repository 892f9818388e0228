//! Oxygens of CHARMM's water that take over from far hydrogens: the list and its sums against the formulas of `lennard_jones/kinds.rs`, and those against all
//! pairs.

use super::*;
use crate::ExcludedPairs;
use crate::cell::PeriodicBox;
use crate::lennard_jones::kinds::FAR_TO;
use crate::lennard_jones::kinds::tests::{HYDROGEN, OXYGEN, mixed};
use crate::topology::{Atom, AtomType, Bond, Settle};
use crate::variants::{BondedTerm, SiteVariants, TypeVariant};

/// Molecules of CHARMM's water and atoms of carbon on a lattice, in boxes and in open space. Each ninth molecule has fixed distances of other kinds, so that
/// its oxygen does not take over from its hydrogens.
fn water() -> Vec<(Topology, Vec<Vector3<f64>>, Cell)> {
    let [a, b, c] = [[7, 0, 0], [0, 7, 0], [0, 0, 8]].map(|row: [i32; 3]| 0.32 * Vector3::from(row.map(f64::from)));
    let rows = [a, b, c + 0.5 * (a + b)].map(<[f64; 3]>::from);
    let dodecahedron = Cell::Periodic(PeriodicBox::triclinic(rows.map(|row| row.map(|r| 1.25 * r))).unwrap());
    let mut random = uniform(11);
    let (mut atoms, mut x, mut settles, mut excluded) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut put = |type_index: u32, at: Vector3<f64>, x: &mut Vec<Vector3<f64>>| {
        atoms.push(Atom { name: "X".into(), type_index, residue: 0, molecule: 0, charge: 0.0, mass: 1.0 });
        x.push(at);
        x.len() as u32 - 1
    };
    for place in 0..7 * 7 * 8 {
        let cell = [place % 7, place / 7 % 7, place / 49].map(f64::from);
        let at = Vector3::from_fn(|d, _| 0.32 * cell[d] + 0.05 * random());
        if place % 10 == 3 {
            put(2, at, &mut x);
            continue;
        }
        let [along, side] = [(); 2].map(|()| Vector3::from_fn(|_, _| random() - 0.5).normalize());
        let across = (side - along * along.dot(&side)).normalize();
        let [first, second] = [1.0, -1.0].map(|sign| at + 0.0586 * along + 0.0757 * sign * across);
        let [oxygen, first, second] = [(0, at), (1, first), (1, second)].map(|(kind, at)| put(kind, at, &mut x));
        excluded.extend([[oxygen, first], [oxygen, second], [first, second]]);
        if place % 9 > 0 {
            settles.push(Settle { oxygen, hydrogens: [first, second], d_oh: 0.09572, d_hh: 0.15139 });
        }
    }
    let top = Topology {
        exclusions: ExcludedPairs::from_pairs(x.len(), excluded),
        atom_types: vec![AtomType { name: "X".into(), atomic_number: None }; 3],
        lj: mixed(&[OXYGEN, HYDROGEN, (0.36, 0.3)]),
        atoms,
        settles,
        ..Default::default()
    };
    let wide: Vec<_> = x.iter().map(|r| r * 1.25).collect();
    let right = boxed(Vector3::new(2.24, 2.24, 2.56));
    vec![(top.clone(), x.clone(), right), (top.clone(), x, Cell::Open), (top, wide, dodecahedron)]
}

/// Cut-off and buffer for [`water`].
const OF_WATER: Settings = Settings { cutoff: 1.0, modifier: Modifier::ForceSwitch { r_switch: 0.9 }, ..SETTINGS };

/// Kinds of [`water`] with what oxygens take over, and without.
pub(super) fn kinds_of_tests() -> [Kinds; 2] {
    let (top, ..) = &water()[0];
    let active: Vec<u32> = (0..top.atoms.len() as u32).collect();
    let types: Vec<u32> = top.atoms.iter().map(|atom| atom.type_index).collect();
    let classes = Classes::new(&types, &top.lj);
    let modified = OF_WATER.modifier.at_cutoff(OF_WATER.cutoff);
    [waters(top, &active), Vec::new()].map(|waters| Kinds::new(&classes, &waters, &modified))
}

#[test]
fn oxygens_take_over_from_far_hydrogens() {
    let [kinds, _] = kinds_of_tests();
    assert!(kinds.oxygens_take_over);
    for (top, x, cell) in water() {
        let n_molecules = x.len() as f64 / 3.0;
        for modifier in [Modifier::ForceSwitch { r_switch: 0.9 }, Modifier::PotentialShift, Modifier::None] {
            let settings = Settings { modifier, ..OF_WATER };
            let case = Case::new(&top, &x, settings, cell);
            // The list: hydrogens that the oxygen takes over from are the kind 0.
            let is_faint = |atom: u32| kinds.of_atoms[atom as usize] == 0;
            let reach = |pair: &[u32; 2]| match pair.map(is_faint) {
                [true, true] => FAINT_DISTANCE,
                [false, false] => settings.cutoff,
                _ => FAR_TO,
            };
            let distance = |&[i, j]: &[u32; 2]| cell.minimum_image(x[i as usize] - x[j as usize]);
            let mut expected = brute_force(&top, &x, settings.cutoff + settings.buffer, cell);
            let all = expected.len();
            expected.retain(|pair| distance(pair).norm() < reach(pair) + settings.buffer);
            assert!(5 * expected.len() < 3 * all, "{} of {all}", expected.len());
            let mut found = case.lj.read_list(&case.stream);
            found.sort_unstable();
            assert_eq!(found, expected, "{cell:?}");
            // Its sums, by the formulas.
            let modified = modifier.at_cutoff(settings.cutoff);
            let (mut sum, mut forces) = (TermEnergy::default(), vec![Vector3::zeros(); x.len()]);
            let mut images = Vector3::zeros();
            for pair in expected.iter().filter(|pair| distance(pair).norm() < settings.cutoff) {
                let (d, [i, j]) = (distance(pair), pair.map(|a| a as usize));
                let term = kinds.pair(&modified, i, j, d.norm());
                sum += TermEnergy { energy: 0.5 * term.energy, virial: 0.5 * term.virial };
                let force = d * (term.virial / d.norm_squared());
                forces[i] += force;
                images += 0.5 * (d - (x[i] - x[j])).component_mul(&force);
            }
            let what = format!("{modifier:?} {cell:?}");
            assert_same(case.evaluate(), (sum, forces.clone(), images), 2e-13, &what);
            if modifier != Modifier::None {
                let single = Case::new(&top, &x, Settings { precision: Precision::Single, ..settings }, cell);
                assert_same(single.evaluate(), (sum, forces.clone(), images), SINGLE, &what);
            }
            // Against all pairs: much less than forces of water, 1000 kJ/mol/nm, and than the 6 kJ/mol that a molecule has.
            let (plain, all, _) = on_cpu(&top, &x, settings, cell);
            let error = (sum.energy - plain.energy).abs() / n_molecules;
            assert!(error > 1e-6 && error < 3e-3, "{what}: energy of a molecule off by {error}");
            let squares: f64 = forces.iter().zip(&all).map(|(a, b)| (a - b).norm_squared()).sum();
            let error = (squares / x.len() as f64).sqrt();
            assert!(error > 1e-4 && error < 0.03, "{what}: forces off by {error}");
        }
    }
}

/// Such an atom has no interaction here, but its row is what its own kernel reads.
#[test]
fn nothing_is_taken_over_beside_atoms_that_change_their_type() {
    let (whole, x, cell) = water().swap_remove(0);
    let is = |atom: u32, type_index: u32| whole.atoms[atom as usize].type_index == type_index;
    let carbons: Vec<u32> = (0..x.len() as u32).filter(|&atom| is(atom, 2)).collect();
    let types = vec![TypeVariant { atom: carbons[0], types: vec![2, 1] }];
    let bond = BondedTerm::Bond(Bond { atoms: [carbons[0], carbons[1]], r0: 0.3, k: 10.0 });
    let device = Device::of_tests().unwrap();
    let stream = device.stream().unwrap();
    for (site, oxygens_take_over) in [
        (SiteVariants { types, ..Default::default() }, false),
        (SiteVariants { terms: vec![vec![], vec![bond]], ..Default::default() }, true),
    ] {
        let Settings { cutoff, modifier, buffer, .. } = OF_WATER;
        let mut top = whole.clone();
        let variants = Variants::new(&mut top, &[site], &[2], cutoff, modifier, buffer).unwrap();
        let mut lj = DeviceLennardJones::with_variants(&device, &top, (&variants, &whole), OF_WATER, cell).unwrap();
        let [positions, edges] = [&flat(&x), &cell.packed().to_vec()].map(|numbers| device.upload(numbers).unwrap());
        lj.rebuild(&stream, &positions, &edges).unwrap();
        let far = |&[i, j]: &[u32; 2]| {
            let distance = cell.minimum_image(x[i as usize] - x[j as usize]).norm();
            i == carbons[0] && is(j, 1) && distance > FAR_TO + buffer && distance < cutoff
        };
        // Hydrogens of molecules that are not rigid are there in any case.
        let listed = lj.read_list(&stream).iter().filter(|pair| far(pair)).count();
        let all = (0..x.len() as u32).filter(|&j| far(&[carbons[0], j])).count();
        assert!(if oxygens_take_over { 2 * listed < all } else { listed == all }, "{listed} of {all}");
    }
}
