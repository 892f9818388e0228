//! Tests of the charge algebra against explicit pair sums: brute force, finite differences in λ and in positions.
//!
//! The system: 13 atoms, two sites of four and three atoms (the second in two distant pieces), exclusions and scaled
//! 1-4 pairs inside and between sites. With images a softened kernel stands for them, so that G_ii ≠ 0; without them space is open.

use super::*;
use crate::library::Correction;
use crate::site::{Form, SiteKind};
use forcefield::ExcludedPairs;
use forcefield::topology::Pair14;

const N: usize = 13;

fn site(name: &str, atoms: &[u32], forms: &[&[f64]]) -> Site {
    let form = |charges: &&[f64]| Form {
        name: "form".into(),
        charges: charges.to_vec(),
        protons_lost: 0,
        pk: 0.0,
        nominal_charge: 0.0,
    };
    Site {
        name: name.into(),
        entry: "test".into(),
        force_field: "none".into(),
        residues: vec![0],
        atoms: atoms.to_vec(),
        forms: forms.iter().map(form).collect(),
        pka: Some(4.0),
        correction: Correction::Uncalibrated,
        kind: SiteKind::Titratable,
    }
}

fn sites() -> [Site; 2] {
    [
        // An atom without charge in the second form, one without in the first.
        site("A", &[1, 2, 3, 4], &[&[-0.4, 0.5, 0.3, 0.0], &[-0.7, -0.5, 0.0, 0.2]]),
        // Three forms, atoms far apart.
        site("B", &[6, 7, 12], &[&[0.1, 0.2, -0.3], &[-0.6, 0.1, -0.5], &[0.9, -0.4, 0.3]]),
    ]
}

fn weights() -> [Vec<f64>; 2] {
    [vec![0.37, 0.63], vec![-0.04, 0.79, 0.25]]
}

fn positions() -> Vec<Vector3<f64>> {
    // Points of a cubic grid of 0.6 nm, displaced by up to 0.1 nm.
    let grid = |i: usize, d: usize| [i % 3, (i / 3) % 3, i / 9][d] as f64;
    let shift = |i: usize, d: usize| 0.2 * (((i * i * 37 + d * 53 + i * d * 17 + 11) % 101) as f64 / 101.0 - 0.5);
    (0..N).map(|i| Vector3::from_fn(|d, _| 0.6 * grid(i, d) + shift(i, d))).collect()
}

/// Factor of the direct interaction: 0 for excluded pairs, 0.8333 for 1-4 pairs.
fn scale(i: usize, j: usize) -> f64 {
    match (i.min(j), i.max(j)) {
        (1, 2) | (2, 3) | (4, 5) | (6, 7) => 0.0,
        (1, 4) | (4, 6) | (0, 3) => 0.8333,
        _ if i == j => 0.0,
        _ => 1.0,
    }
}

/// The same as a topology says it.
fn topology() -> Topology {
    let all = || (0..N as u32).flat_map(|j| (0..j).map(move |i| [i, j]));
    let of = |[i, j]: [u32; 2]| scale(i as usize, j as usize);
    let pair = |atoms: [u32; 2]| Pair14 { atoms, c6: 0.0, c12: 0.0, coulomb_scale: of(atoms) };
    Topology {
        exclusions: ExcludedPairs::from_pairs(N, all().filter(|atoms| of(*atoms) < 1.0)),
        pairs: all().filter(|atoms| of(*atoms) > 0.0 && of(*atoms) < 1.0).map(pair).collect(),
        ..Topology::default()
    }
}

/// What stands for the images: a smooth kernel that also acts for i = j; and its gradient with respect to r_i − r_j.
fn image(d: Vector3<f64>) -> (f64, Vector3<f64>) {
    let smooth = 1.0 / (d.norm_squared() + 1.5).sqrt();
    (0.3 * smooth, -0.3 * smooth.powi(3) * d)
}

/// G_ij and its gradient with respect to r_i − r_j: direct part, and the images if there are some.
fn pair(i: usize, j: usize, x: &[Vector3<f64>], images: bool) -> (f64, Vector3<f64>) {
    let d = x[i] - x[j];
    let (mut g, mut gradient) = if images { image(d) } else { (0.0, Vector3::zeros()) };
    if i != j {
        let r = d.norm();
        g += scale(i, j) / r;
        gradient -= scale(i, j) / r.powi(3) * d;
    }
    (g, gradient)
}

/// Potential (kJ/mol/e) and field (kJ/mol/nm/e) of all charges at every atom.
fn potentials(charges: &[f64], x: &[Vector3<f64>], images: bool) -> (Vec<f64>, Vec<Vector3<f64>>) {
    let mut phi = vec![0.0; N];
    let mut field = vec![Vector3::zeros(); N];
    for i in 0..N {
        for (j, q) in charges.iter().enumerate() {
            let (g, gradient) = pair(i, j, x, images);
            phi[i] += COULOMB * q * g;
            field[i] -= COULOMB * q * gradient;
        }
    }
    (phi, field)
}

struct Whole {
    energy: f64,
    forces: Vec<Vector3<f64>>,
    derivatives: Vec<Vec<f64>>,
}

fn charges() -> Vec<f64> {
    (0..N).map(|i| 0.1 * (i as f64 - 5.5)).collect()
}

/// Energy of charges that are what they are.
fn plain(charges: &[f64], x: &[Vector3<f64>], images: bool) -> f64 {
    let (phi, _) = potentials(charges, x, images);
    0.5 * phi.iter().zip(charges).map(|(p, q)| p * q).sum::<f64>()
}

fn system(weights: &[Vec<f64>; 2], x: &[Vector3<f64>], images: bool) -> Whole {
    system_of(&sites(), weights, x, images)
}

fn system_of(sites: &[Site; 2], weights: &[Vec<f64>; 2], x: &[Vector3<f64>], images: bool) -> Whole {
    let mut q = charges();
    for (site, w) in sites.iter().zip(weights) {
        set_effective_charges(site, w, &mut q).unwrap();
    }
    let (phi, field) = potentials(&q, x, images);
    let mut energy = plain(&q, x, images);
    let mut forces: Vec<Vector3<f64>> = field.iter().zip(&q).map(|(e, &q)| q * e).collect();
    let mut derivatives = Vec::new();
    for (site, w) in sites.iter().zip(weights) {
        let terms = interpolate(site, w, &own_pairs(site, &topology()), x, &phi, &mut forces).unwrap();
        energy += terms.energy;
        derivatives.push(terms.derivatives);
    }
    Whole { energy, forces, derivatives }
}

/// The energy with site `s` in form `alpha` and the other as it is.
fn pure_form_energy(s: usize, alpha: usize, weights: &[Vec<f64>; 2], x: &[Vector3<f64>], images: bool) -> f64 {
    let mut pure = weights.clone();
    pure[s] = (0..pure[s].len()).map(|k| if k == alpha { 1.0 } else { 0.0 }).collect();
    system(&pure, x, images).energy
}

#[test]
fn energies_of_pure_forms_give_the_derivatives() {
    // In open space V is linear in the weights of a site: V = Σ_α λ_α V(e_α) where Σ λ_α = 1, and differences of ∂V/∂λ are those of V(e_α).
    let (w, x) = (weights(), positions());
    let whole = system(&w, &x, false);
    for s in 0..2 {
        let pure: Vec<f64> = (0..w[s].len()).map(|alpha| pure_form_energy(s, alpha, &w, &x, false)).collect();
        let mixed: f64 = pure.iter().zip(&w[s]).map(|(v, w)| v * w).sum();
        assert!((mixed - whole.energy).abs() < 1e-11 * whole.energy.abs());
        for alpha in 1..pure.len() {
            let brute = pure[alpha] - pure[0];
            let ours = whole.derivatives[s][alpha] - whole.derivatives[s][0];
            assert!(brute.abs() > 1.0, "the test would not see a derivative of zero");
            assert!((ours - brute).abs() < 1e-11 * brute.abs().max(100.0), "site {s} form {alpha}: {ours} {brute}");
        }
    }
}

/// Along an edge V is a parabola, whose second difference V(0) − 2 V(½) + V(1) is ¼ Σ_ij Δq_i Δq_j G_ij of the images G alone.
#[test]
fn the_curvature_is_that_of_the_images() {
    let x = positions();
    for (s, site) in sites().iter().enumerate() {
        for alpha in 1..site.forms.len() {
            let at = |lambda: f64| {
                let mut w = weights();
                w[s].fill(0.0);
                (w[s][0], w[s][alpha]) = (1.0 - lambda, lambda);
                system(&w, &x, true).energy
            };
            let found = at(0.0) - 2.0 * at(0.5) + at(1.0);
            let change = |k: usize| site.forms[alpha].charges[k] - site.forms[0].charges[k];
            let n = site.atoms.len();
            let pairs = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
            let own = |(i, j): (usize, usize)| {
                let d = x[site.atoms[i] as usize] - x[site.atoms[j] as usize];
                change(i) * change(j) * image(d).0
            };
            let expected = 0.25 * COULOMB * pairs.map(own).sum::<f64>();
            assert!(expected.abs() > 0.1, "the test would not see a curvature of zero");
            assert!((found - expected).abs() < 1e-10, "{found} {expected}");
        }
    }
}

#[test]
fn a_pure_form_has_no_correction() {
    let x = positions();
    let forms = sites().map(|site| site.forms[1].charges.clone());
    let whole = system(&[vec![0.0, 1.0], vec![0.0, 1.0, 0.0]], &x, true);
    let mut q = charges();
    for (site, charges) in sites().iter().zip(&forms) {
        site.atoms.iter().zip(charges).for_each(|(&atom, &charge)| q[atom as usize] = charge);
    }
    let plain = plain(&q, &x, true);
    assert!((whole.energy - plain).abs() < 1e-12 * plain.abs());
}

#[test]
fn atoms_that_are_the_same_in_all_forms_may_be_inside_or_outside() {
    // Atoms 0, 5 and 8, with their charges 0.1 (i − 5.5), as members of the sites: one touches 1-4 pairs and exclusions.
    let (w, x) = (weights(), positions());
    let constant = |i: usize| 0.1 * (i as f64 - 5.5);
    let mut larger = sites();
    for (site, atoms) in larger.iter_mut().zip([&[0, 5][..], &[8]]) {
        for &atom in atoms {
            let place = site.atoms.partition_point(|&a| a < atom);
            site.atoms.insert(place, atom);
            site.forms.iter_mut().for_each(|form| form.charges.insert(place, constant(atom as usize)));
        }
    }
    let (without, with) = (system(&w, &x, true), system_of(&larger, &w, &x, true));
    assert!((without.energy - with.energy).abs() < 1e-12 * with.energy.abs());
    for (a, b) in without.derivatives.iter().zip(&with.derivatives) {
        for alpha in 1..a.len() {
            // A constant, the same for all forms, is free: differences count.
            let difference = (a[alpha] - a[0]) - (b[alpha] - b[0]);
            assert!(difference.abs() < 1e-11 * 1000.0 && (a[alpha] - a[0]).abs() > 1.0, "{difference}");
        }
    }
    let apart = without.forces.iter().zip(&with.forces).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    assert!(apart < 1e-10, "{apart}");
}

#[test]
fn derivatives_equal_finite_differences_in_the_weights() {
    // Quadratic in each weight: a central difference is exact up to rounding (1e-13 of V ≈ 500 kJ/mol over 2h = 0.2).
    let (w, x) = (weights(), positions());
    let whole = system(&w, &x, true);
    for s in 0..2 {
        for (alpha, beta) in [(0, 1), (1, 0)] {
            let along = |h: f64| {
                let mut moved = w.clone();
                moved[s][alpha] += h;
                moved[s][beta] -= h;
                system(&moved, &x, true).energy
            };
            let numerical = (along(0.1) - along(-0.1)) / 0.2;
            let ours = whole.derivatives[s][alpha] - whole.derivatives[s][beta];
            assert!((ours - numerical).abs() < 1e-9, "site {s}: {ours} {numerical}");
        }
    }
}

#[test]
fn forces_equal_finite_differences_in_the_positions() {
    let (w, x) = (weights(), positions());
    let whole = system(&w, &x, true);
    let h = 1e-5;
    for i in 0..N {
        for d in 0..3 {
            let along = |h: f64| {
                let mut moved = x.clone();
                moved[i][d] += h;
                system(&w, &moved, true).energy
            };
            let numerical = -(along(h) - along(-h)) / (2.0 * h);
            // Truncation h² V'''/6 ≈ 1e-11 · 1e5 and rounding 1e-16 · 1000 / h ≈ 1e-8: 1e-5 leaves a margin.
            assert!((whole.forces[i][d] - numerical).abs() < 1e-5, "atom {i}: {} {numerical}", whole.forces[i][d]);
        }
    }
}

#[test]
fn pairs_are_those_that_interact() {
    let [a, b] = sites();
    let pair = |i, j, scale| OwnPair { atoms: [i, j], scale };
    // Atoms 1 2 3 4: 1-2 and 2-3 are excluded, 1-4 is scaled.
    assert_eq!(own_pairs(&a, &topology()), [pair(0, 2, 1.0), pair(0, 3, 0.8333), pair(1, 3, 1.0), pair(2, 3, 1.0)]);
    assert_eq!(own_pairs(&b, &topology()), [pair(0, 2, 1.0), pair(1, 2, 1.0)]);
    assert_eq!(own_pairs(&Site { kind: SiteKind::Buffer { molecules: 2 }, ..b }, &topology()), []);
}

#[test]
fn sizes_are_checked() {
    let [a, _] = sites();
    let (x, phi, mut forces) = (positions(), vec![0.0; N], vec![Vector3::zeros(); N]);
    let pairs = own_pairs(&a, &topology());
    assert!(interpolate(&a, &[0.5, 0.5], &pairs, &x, &phi, &mut forces).is_ok());
    let error = interpolate(&a, &[1.0], &pairs, &x, &phi, &mut forces).unwrap_err();
    assert_eq!(error.to_string(), "site A: weights has 1 entries, expected 2");
    assert!(interpolate(&a, &[0.5, 0.5], &pairs, &x, &phi[..3], &mut forces).is_err());
    assert!(interpolate(&a, &[0.5, 0.5], &pairs, &x[..3], &phi, &mut forces).is_err());
    let error = set_effective_charges(&a, &[0.5, 0.5], &mut [0.0; 4]).unwrap_err();
    assert_eq!(error, InterpolationError::AtomOutOfRange { site: "A".into(), atom: 4, n_atoms: 4 });
}
