//! Forms of two sites that touch, across a periodic boundary, against the plain force field with the topology of each form.

use super::*;
use crate::bonded::finite_difference::check_forces_and_virial;
use crate::lennard_jones::LennardJones;
use crate::lennard_jones::tests::{boxed, system, triclinic, uniform};
use crate::topology::{Atom, AtomType, Constraint, LennardJonesTable, Pair14, Residue, Well};
use crate::{ExcludedPairs, bonded, pairs};

pub(crate) const CUTOFF: f64 = 0.85;
pub(crate) const BUFFER: f64 = 0.1;
const FUDGE: f64 = 0.5;
pub(crate) const FORMS: [usize; 2] = [3, 2];
/// Edges of the box over the spacing.
const SIDE: [usize; 3] = [7, 8, 9];

/// Energy, forces and virial.
type Outcome = (TermEnergy, Vec<Vector3<f64>>);

/// Atom 0 lies in a corner: neighbours of both sites are beyond three faces. Atoms 0, 1, 2 and 72 are of site 0, 9 and 73 of site 1.
pub(crate) fn topology() -> (Topology, Vec<Vector3<f64>>, Vector3<f64>) {
    let (mut top, x, edges) = system(SIDE, 0.28);
    top.residues =
        vec![Residue { name: "RES".into(), number: 1, insertion: None, molecule: 0, atoms: 0..x.len() as u32 }];
    let pair = |i: u32, j: u32| {
        let [t, u] = [i, j].map(|a| top.atoms[a as usize].type_index);
        let (c6, c12) = top.lj.get(t, u);
        Pair14 { atoms: [i, j], c6: FUDGE * c6, c12: FUDGE * c12, coulomb_scale: 0.8 }
    };
    top.pairs = vec![pair(0, 1), pair(0, 9), pair(9, 10), pair(11, 12), pair(2, 73)];
    top.bonds = vec![
        Bond { atoms: [0, 1], r0: 0.2, k: 900.0 },
        Bond { atoms: [9, 10], r0: 0.21, k: 800.0 },
        Bond { atoms: [11, 12], r0: 0.2, k: 900.0 },
    ];
    top.angles = vec![Angle { atoms: [0, 1, 2], theta0: 1.9, k: 300.0 }];
    top.propers = [1, 2, 3]
        .map(|multiplicity| PeriodicDihedral {
            atoms: [0, 1, 2, 11],
            phi0: 0.3,
            k: 4.0,
            multiplicity,
            improper: multiplicity == 3,
        })
        .to_vec();
    (top, x, edges)
}

pub(crate) fn sites() -> Vec<SiteVariants> {
    let types = |atom: u32, types: &[u32]| TypeVariant { atom, types: types.to_vec() };
    let bond = |r0: f64, k: f64| BondedTerm::Bond(Bond { atoms: [1, 0], r0, k });
    let dihedral = |k: f64, multiplicity: u32| {
        BondedTerm::Periodic(PeriodicDihedral { atoms: [11, 2, 1, 0], phi0: 1.0, k, multiplicity, improper: false })
    };
    let other = |k: f64| BondedTerm::HarmonicImproper(HarmonicImproper { atoms: [72, 73, 9, 10], xi0: 0.2, k });
    vec![
        SiteVariants {
            types: vec![types(0, &[0, 2, 3]), types(1, &[1, 0, 2]), types(2, &[2, 2, 0]), types(72, &[2, 3, 0])],
            terms: vec![vec![bond(0.2, 900.0)], vec![bond(0.23, 700.0), dihedral(3.0, 2)], vec![dihedral(5.0, 1)]],
            pair_scale: None,
        },
        SiteVariants {
            types: vec![types(9, &[2, 0]), types(73, &[3, 2])],
            terms: vec![vec![], vec![other(50.0)]],
            pair_scale: None,
        },
    ]
}

/// The topology of two forms.
fn of_forms(forms: [usize; 2]) -> Topology {
    let (mut top, ..) = topology();
    let sites = sites();
    let replaced = |atoms: &[u32]| {
        let all = sites.iter().flat_map(|s| s.terms.iter().flatten());
        all.into_iter().any(|t| t.atoms() == atoms || t.atoms().iter().rev().eq(atoms))
    };
    top.bonds.retain(|t| !replaced(&t.atoms));
    top.propers.retain(|t| t.improper || !replaced(&t.atoms));
    for (site, form) in sites.iter().zip(forms) {
        site.types.iter().for_each(|t| top.atoms[t.atom as usize].type_index = t.types[form]);
        for term in &site.terms[form] {
            match *term {
                BondedTerm::Bond(t) => top.bonds.push(t),
                BondedTerm::Periodic(t) => top.propers.push(t),
                BondedTerm::HarmonicImproper(t) => top.harmonic_impropers.push(t),
                _ => unreachable!(),
            }
        }
    }
    for pair in &mut top.pairs {
        let [i, j] = pair.atoms.map(|a| top.atoms[a as usize].type_index);
        let (c6, c12) = top.lj.get(i, j);
        (pair.c6, pair.c12) = (FUDGE * c6, FUDGE * c12);
    }
    top
}

fn plain(top: &Topology, x: &[Vector3<f64>], cell: Cell, modifier: Modifier) -> Outcome {
    let mut f = vec![Vector3::zeros(); x.len()];
    let mut lj = LennardJones::new(top, CUTOFF, modifier, BUFFER).unwrap();
    lj.rebuild(x, cell).unwrap();
    let v = lj.evaluate(x, cell, &mut f)
        + pairs::lennard_jones_14(top, x, &mut f)
        + bonded::evaluate(top, x, &mut f).total();
    (v, f)
}

/// The same with weights, and ∂V/∂λ.
fn weighted(x: &[Vector3<f64>], cell: Cell, modifier: Modifier, weights: &[f64]) -> (Outcome, Vec<f64>) {
    let (mut top, ..) = topology();
    let mut variants = Variants::new(&mut top, &sites(), &FORMS, CUTOFF, modifier, BUFFER).unwrap();
    let (rest, mut f) = plain(&top, x, cell, modifier);
    variants.rebuild(x, cell).unwrap();
    let mut dv = vec![0.0; weights.len()];
    let v = variants.evaluate(x, cell, weights, &mut f, &mut dv);
    ((rest + v.lennard_jones + v.lennard_jones_14 + v.bonded.total(), f), dv)
}

/// Rounding of sums of some 10⁴ pairs whose terms are up to `scale`.
fn assert_same(a: &Outcome, b: &Outcome, what: &str) {
    let scale = b.0.virial.abs();
    assert!((a.0.energy - b.0.energy).abs() < 1e-12 * scale, "{what}: {} {}", a.0.energy, b.0.energy);
    assert!((a.0.virial - b.0.virial).abs() < 1e-12 * scale, "{what}: {} {}", a.0.virial, b.0.virial);
    let largest = b.1.iter().map(Vector3::norm).fold(0.0, f64::max);
    let worst = a.1.iter().zip(&b.1).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(worst < 1e-12 * largest, "{what}: forces differ by {worst} of {largest}");
}

pub(crate) const MODIFIERS: [Modifier; 3] =
    [Modifier::None, Modifier::PotentialShift, Modifier::ForceSwitch { r_switch: 0.6 }];
pub(crate) const FRACTIONAL: [f64; 5] = [0.2, 0.5, 0.3, 1.1, -0.1];

#[test]
fn vertices_are_the_plain_force_field_of_each_form() {
    let (_, x, edges) = topology();
    for modifier in MODIFIERS {
        for (i, j) in (0..3).flat_map(|i| (0..2).map(move |j| (i, j))) {
            let mut weights = [0.0; 5];
            (weights[i], weights[3 + j]) = (1.0, 1.0);
            let expected = plain(&of_forms([i, j]), &x, boxed(edges), modifier);
            let (got, _) = weighted(&x, boxed(edges), modifier, &weights);
            assert_same(&got, &expected, &format!("{modifier:?} {i} {j}"));
        }
    }
}

#[test]
fn between_vertices_bonded_terms_and_1_4_pairs_are_bilinear() {
    let (mut top, x, _) = topology();
    let mut variants = Variants::new(&mut top, &sites(), &FORMS, CUTOFF, MODIFIERS[1], BUFFER).unwrap();
    variants.rebuild(&x, Cell::Open).unwrap();
    let at = |weights: &[f64]| {
        let v = variants.evaluate(&x, Cell::Open, weights, &mut vec![Vector3::zeros(); x.len()], &mut [0.0; 5]);
        [v.lennard_jones_14, v.bonded.total()]
    };
    let (w, mut expected) = (FRACTIONAL, [TermEnergy::default(); 2]);
    for (i, j) in (0..3).flat_map(|i| (0..2).map(move |j| (i, j))) {
        let mut vertex = [0.0; 5];
        (vertex[i], vertex[3 + j]) = (1.0, 1.0);
        let weight = w[i] * w[3 + j];
        for (sum, v) in expected.iter_mut().zip(at(&vertex)) {
            *sum += TermEnergy { energy: weight * v.energy, virial: weight * v.virial };
        }
    }
    for (got, expected) in at(&w).into_iter().zip(expected) {
        assert!((got.energy - expected.energy).abs() < 1e-12 * expected.virial.abs(), "{got:?} {expected:?}");
        assert!((got.virial - expected.virial).abs() < 1e-12 * expected.virial.abs(), "{got:?} {expected:?}");
        assert!(expected.energy.abs() > 1.0, "{expected:?}");
    }
}

/// Two atoms, each of a site with two forms of one ε and different σ: the pair has the mean σ, also where a weight is negative, and repels at short distance
/// where energies that are mixed would attract.
#[test]
fn pairs_within_the_cutoff_have_the_mean_size_of_the_forms() {
    const EPSILON: f64 = 0.2;
    let sigma = [0.16, 0.26, 0.30];
    let coefficients = |sigma: f64| (4.0 * EPSILON * sigma.powi(6), 4.0 * EPSILON * sigma.powi(12));
    let mut top = Topology::default();
    let table = (0..9).map(|k| coefficients(0.5 * (sigma[k / 3] + sigma[k % 3])));
    let (c6, c12) = table.unzip();
    top.lj = LennardJonesTable { n_types: 3, c6, c12 };
    top.atom_types = vec![AtomType { name: "X".into(), atomic_number: None }; 3];
    let atom = |name: &str| Atom { name: name.into(), type_index: 0, residue: 0, molecule: 0, charge: 0.0, mass: 1.0 };
    top.atoms = vec![atom("A"), atom("B")];
    top.residues = vec![Residue { name: "RES".into(), number: 1, insertion: None, molecule: 0, atoms: 0..2 }];
    top.exclusions = ExcludedPairs::from_pairs(2, []);
    let of = |atom: u32, types: [u32; 2]| SiteVariants {
        types: vec![TypeVariant { atom, types: types.into() }],
        ..SiteVariants::default()
    };
    let both = [of(0, [0, 1]), of(1, [1, 2])];
    let alone = [of(0, [0, 1])];
    let energy = |sites: &[SiteVariants], r: f64, weights: &[f64]| {
        let x = [Vector3::zeros(), Vector3::new(r, 0.0, 0.0)];
        let mut top = top.clone();
        let mut variants = Variants::new(&mut top, sites, &vec![2; sites.len()], 1.0, Modifier::None, BUFFER).unwrap();
        variants.rebuild(&x, Cell::Open).unwrap();
        let mut f = vec![Vector3::zeros(); 2];
        let v = variants.evaluate(&x, Cell::Open, weights, &mut f, &mut vec![0.0; weights.len()]);
        (v.lennard_jones.energy, f[1].x)
    };
    for (r, a, b) in [(0.12, 1.06, 0.3), (0.2, 0.4, -0.05), (0.3, -0.1, 1.1)] {
        let first = a * sigma[0] + (1.0 - a) * sigma[1];
        let second = b * sigma[1] + (1.0 - b) * sigma[2];
        for (found, sigma) in [
            (energy(&alone, r, &[a, 1.0 - a]), 0.5 * (first + sigma[0])),
            (energy(&both, r, &[a, 1.0 - a, b, 1.0 - b]), 0.5 * (first + second)),
        ] {
            let (c6, c12) = coefficients(sigma);
            let expected = (c12 / r.powi(12) - c6 / r.powi(6), (12.0 * c12 / r.powi(12) - 6.0 * c6 / r.powi(6)) / r);
            assert!((found.0 - expected.0).abs() < 1e-12 * expected.1.abs() * r, "{found:?} {expected:?}");
            assert!((found.1 - expected.1).abs() < 1e-12 * expected.1.abs(), "{found:?} {expected:?}");
        }
    }
    let mixed = |weight: f64| {
        let of = |own: f64| coefficients(0.5 * (own + sigma[0])).1 / 0.08_f64.powi(12);
        weight * of(sigma[0]) + (1.0 - weight) * of(sigma[1])
    };
    assert!(mixed(1.06) < 0.0 && energy(&alone, 0.08, &[1.06, -0.06]).1 > 0.0);
}

#[test]
fn derivatives_by_weights_are_those_of_the_energy() {
    let (_, x, edges) = topology();
    // The lattice of atoms fits the skewed box as well.
    let [(_, _, skewed), _] = triclinic();
    for cell in [boxed(edges), Cell::Open, skewed] {
        let (_, dv) = weighted(&x, cell, Modifier::PotentialShift, &FRACTIONAL);
        for k in 0..5 {
            let at = |h: f64| {
                let mut w = FRACTIONAL;
                w[k] += h;
                weighted(&x, cell, Modifier::PotentialShift, &w).0.0
            };
            let slope = |h: f64| (at(h).energy - at(-h).energy) / (2.0 * h);
            // Differences of two steps without their error of second order: what is left is of fourth, and rounding over the step.
            let slope = (4.0 * slope(1e-3) - slope(2e-3)) / 3.0;
            let scale = at(0.0).virial.abs();
            assert!((dv[k] - slope).abs() < 1e-9 * scale && slope.abs() > 0.1, "{k}: {} {slope}", dv[k]);
        }
    }
}

#[test]
fn forces_and_virial_are_derivatives() {
    let (_, x, _) = topology();
    // The first two layers hold both sites; a continuous potential, because atoms cross the cut-off.
    let modifier = MODIFIERS[2];
    let (mut top, ..) = topology();
    let mut variants = Variants::new(&mut top, &sites(), &FORMS, CUTOFF, modifier, BUFFER).unwrap();
    variants.rebuild(&x, Cell::Open).unwrap();
    let touched = [0, 1, 2, 9, 10, 11, 72, 73, 74];
    let near: Vec<_> = touched.iter().map(|&a: &usize| x[a]).collect();
    check_forces_and_virial(&near, |near, f| {
        // All others go along with the scaling that tests the virial only if they are far away: leave them out.
        let mut all = vec![Vector3::repeat(1e3); x.len()];
        touched.iter().zip(near).for_each(|(&a, r)| all[a] = *r);
        let mut forces = vec![Vector3::zeros(); x.len()];
        let v = variants.evaluate(&all, Cell::Open, &FRACTIONAL, &mut forces, &mut [0.0; 5]);
        f.iter_mut().zip(touched).for_each(|(f, a)| *f += forces[a]);
        v.lennard_jones + v.lennard_jones_14 + v.bonded.total()
    });
}

#[test]
fn a_list_serves_until_an_atom_that_changes_has_moved() {
    let (mut top, x, edges) = topology();
    let mut variants = Variants::new(&mut top, &sites(), &FORMS, CUTOFF, MODIFIERS[1], BUFFER).unwrap();
    assert!(variants.is_stale(&x, boxed(edges)));
    variants.rebuild(&x, boxed(edges)).unwrap();
    let mut random = uniform(5);
    let moved: Vec<_> = x.iter().map(|r| r + 0.0499 * Vector3::from_fn(|_, _| random() - 0.5).normalize()).collect();
    assert!(!variants.is_stale(&moved, boxed(edges)));
    let evaluate = |variants: &Variants| {
        let (mut f, mut dv) = (vec![Vector3::zeros(); x.len()], vec![0.0; 5]);
        (variants.evaluate(&moved, boxed(edges), &FRACTIONAL, &mut f, &mut dv), f, dv)
    };
    let before = evaluate(&variants);
    variants.rebuild(&moved, boxed(edges)).unwrap();
    assert_eq!(before, evaluate(&variants));
    let mut far = moved.clone();
    far[72].z += 0.0501;
    assert!(variants.is_stale(&far, boxed(edges)));
    far[72].z = f64::NAN;
    assert!(variants.is_stale(&far, boxed(edges)) && variants.rebuild(&far, boxed(edges)).is_err());
}

#[test]
fn sites_that_do_not_change_leave_the_topology_alone() {
    let (mut top, x, edges) = topology();
    let before = top.clone();
    let none = [SiteVariants::default(), SiteVariants::default()];
    let mut variants = Variants::new(&mut top, &none, &FORMS, CUTOFF, MODIFIERS[1], BUFFER).unwrap();
    assert_eq!(top, before);
    assert!(variants.is_empty() && !variants.is_stale(&x, boxed(edges)));
    variants.rebuild(&x, boxed(edges)).unwrap();
    let (mut f, mut dv) = (vec![Vector3::zeros(); x.len()], [0.0; 5]);
    let v = variants.evaluate(&x, boxed(edges), &FRACTIONAL, &mut f, &mut dv);
    assert_eq!((v, dv), (VariantEnergies::default(), [0.0; 5]));
}

#[test]
fn terms_that_all_forms_share_stay_where_forms_replace_others_on_their_atoms() {
    let term = |atoms: [u32; 4]| PeriodicDihedral { atoms, phi0: 0.0, k: -4.0, multiplicity: 3, improper: false };
    // On the atoms of the dihedrals of site 0, the same as an improper one, and on atoms that no form names.
    let shared =
        [term([0, 1, 2, 11]), PeriodicDihedral { improper: true, ..term([0, 1, 2, 11]) }, term([9, 10, 11, 12])];
    let (plain, x, _) = topology();
    let energy = |more: &[PeriodicDihedral]| {
        let (mut top, mut of_sites) = (plain.clone(), sites());
        top.propers.extend(more);
        of_sites.iter_mut().for_each(|site| site.share(more));
        assert_eq!(of_sites[1].terms, sites()[1].terms);
        let variants = Variants::new(&mut top, &of_sites, &FORMS, CUTOFF, Modifier::None, BUFFER).unwrap();
        let (mut f, mut dv) = (vec![Vector3::zeros(); x.len()], vec![0.0; FRACTIONAL.len()]);
        let ordinary = bonded::evaluate(&top, &x, &mut f).total().energy;
        let of_forms = variants.evaluate(&x, Cell::Open, &FRACTIONAL, &mut f, &mut dv).bonded.total().energy;
        (ordinary + of_forms, f)
    };
    let ((with, forces), (without, before)) = (energy(&shared), energy(&[]));
    let alone = Topology { propers: shared.to_vec(), ..Topology::default() };
    let mut expected = vec![Vector3::zeros(); x.len()];
    let alone = bonded::evaluate(&alone, &x, &mut expected).total().energy;
    assert!(alone.abs() > 0.1, "{alone}");
    assert!((with - without - alone).abs() < 1e-11 * alone.abs(), "{} {alone}", with - without);
    for (atom, expected) in expected.iter().enumerate() {
        assert!((forces[atom] - before[atom] - expected).norm() < 1e-9, "atom {atom}");
    }
}

#[test]
fn the_strongest_types_are_those_that_attract_most() {
    let (top, ..) = topology();
    let sites = sites();
    let found = strongest(&top, &sites);
    let c6 = |t: u32| top.lj.get(t, t).0;
    let mut changed = 0;
    for (i, (a, b)) in top.atoms.iter().zip(&found.atoms).enumerate() {
        let variant = sites.iter().flat_map(|s| &s.types).find(|v| v.atom as usize == i);
        let most = variant.map_or(c6(a.type_index), |v| v.types.iter().map(|&t| c6(t)).fold(0.0, f64::max));
        assert_eq!(c6(b.type_index), most);
        changed += usize::from(a.type_index != b.type_index);
    }
    assert!(changed > 0);
}

/// Where atoms have other parameters in 1-4 pairs than elsewhere, as with CHARMM, a pair tells those of the atom that stays.
#[test]
fn the_other_atom_of_a_pair_keeps_what_it_has_in_such_pairs() {
    let (mut top, ..) = topology();
    let own = |kind: u32| top.lj.well(kind).unwrap();
    let other = Well { sigma: 0.25, epsilon: 0.5 };
    let pair = |j: u32, (c6, c12): (f64, f64)| Pair14 { atoms: [0, j], c6, c12, coulomb_scale: 1.0 };
    let (plain, with_other) = (top.lj.get(0, 1), own(0).with(other).coefficients());
    let expected = [0, 2].map(|kind| own(kind).with(other));
    top.pairs = vec![pair(11, with_other), pair(16, plain)];
    assert_eq!([0, 11, 16].map(|atom| top.atoms[atom].type_index), [0, 1, 1]);
    let sites =
        [SiteVariants { types: vec![TypeVariant { atom: 0, types: vec![0, 2, 3] }], ..SiteVariants::default() }];
    let range = super::pairs::Range { cutoff: CUTOFF, modifier: MODIFIERS[1], buffer: BUFFER };
    let new = |top: &Topology| super::pairs::Pairs::new(top, &sites, &[0, 3], range);
    let found = new(&top).unwrap().pairs.swap_remove(0).coefficients;
    // Type 3 has no interaction with others.
    assert_eq!((found[0], found[2]), (with_other, (0.0, 0.0)));
    assert!(Well::of(found[1]).unwrap().is_same(expected[1]), "{found:?}, {expected:?}");
    assert!(!expected[0].is_same(expected[1]));
    // A type that has others itself in such pairs.
    let in_pairs = Well { sigma: 0.2, epsilon: 0.3 };
    top.wells_14.insert(2, in_pairs);
    let found = new(&top).unwrap().pairs.swap_remove(0).coefficients;
    assert!(Well::of(found[1]).unwrap().is_same(in_pairs.with(other)) && found[0] == with_other, "{found:?}");
    top.wells_14.clear();
    // An atom that changes and has other parameters itself in all such pairs.
    top.pairs.truncate(1);
    assert!(new(&top).unwrap_err().to_string().contains("in the other form are not known"));
}

#[test]
fn bad_variants_are_named() {
    let new = |change: fn(&mut Topology, &mut Vec<SiteVariants>)| {
        let ((mut top, ..), mut sites) = (topology(), sites());
        change(&mut top, &mut sites);
        let before = top.clone();
        let error = Variants::new(&mut top, &sites, &FORMS, CUTOFF, MODIFIERS[1], BUFFER).unwrap_err();
        assert_eq!(top, before);
        error.to_string()
    };
    assert!(new(|_, s| s[0].types[0].types.truncate(2)).contains("for 2 forms, the site has 3"));
    assert!(new(|_, s| s[1].types[0].types[1] = 4).contains("type 4; there are 4"));
    assert!(new(|_, s| s[1].types[0].atom = 1).contains("twice"));
    assert!(new(|_, s| s[1].types[0].atom = 9999).contains("9999"));
    assert!(new(|_, s| s[0].terms.truncate(2)).contains("bonded terms of site 1"));
    let own = |top: &mut Topology, _: &mut Vec<SiteVariants>| top.pairs[3].c12 *= 1.5;
    assert!(new(own).contains("in the other form are not known"));
    let rigid = |top: &mut Topology, _: &mut Vec<SiteVariants>| {
        top.constraints.push(Constraint { atoms: [0, 1], length: 0.2 });
    };
    assert!(new(rigid).contains("held fixed"));
    // A factor that is given makes the pairs known.
    let ((mut top, ..), mut sites) = (topology(), sites());
    top.pairs[3].c12 *= 1.5;
    sites.iter_mut().for_each(|s| s.pair_scale = Some(FUDGE));
    Variants::new(&mut top, &sites, &FORMS, CUTOFF, MODIFIERS[1], BUFFER).unwrap();
}
