//! Tests of the charge algebra against explicit pair sums: brute force, finite differences in λ and in positions.
//!
//! The system: 13 atoms, two sites of four and three atoms (the second in two distant pieces), exclusions and scaled
//! 1-4 pairs inside and between sites, a softened kernel standing for the images so that G_ii ≠ 0.

use super::*;
use crate::library::Correction;
use crate::site::{Form, SiteKind};

const COULOMB: f64 = forcefield::units::COULOMB;
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

/// G_ij and its gradient with respect to r_i − r_j: direct part and a smooth part that also acts for i = j.
fn pair(i: usize, j: usize, x: &[Vector3<f64>]) -> (f64, Vector3<f64>) {
    let d = x[i] - x[j];
    let smooth = 1.0 / (d.norm_squared() + 1.5).sqrt();
    let (mut g, mut gradient) = (0.3 * smooth, -0.3 * smooth.powi(3) * d);
    if i != j {
        let r = d.norm();
        g += scale(i, j) / r;
        gradient -= scale(i, j) / r.powi(3) * d;
    }
    (g, gradient)
}

/// Potential and field at the atoms `at`, made by `charges` on the atoms `from`.
fn potentials(at: &[usize], from: &[usize], charges: &[f64], x: &[Vector3<f64>]) -> (Vec<f64>, Vec<Vector3<f64>>) {
    let mut phi = vec![0.0; at.len()];
    let mut field = vec![Vector3::zeros(); at.len()];
    for (k, &i) in at.iter().enumerate() {
        for (&j, &q) in from.iter().zip(charges) {
            let (g, gradient) = pair(i, j, x);
            phi[k] += q * g;
            field[k] -= q * gradient;
        }
    }
    (phi, field)
}

struct Whole {
    energy: f64,
    forces: Vec<Vector3<f64>>,
    derivatives: Vec<Vec<f64>>,
}

fn system(weights: &[Vec<f64>; 2], x: &[Vector3<f64>]) -> Whole {
    system_of(&sites(), weights, x)
}

fn system_of(sites: &[Site; 2], weights: &[Vec<f64>; 2], x: &[Vector3<f64>]) -> Whole {
    let mut q: Vec<f64> = (0..N).map(|i| 0.1 * (i as f64 - 5.5)).collect();
    for (site, w) in sites.iter().zip(weights) {
        set_effective_charges(site, w, &mut q).unwrap();
    }
    let all: Vec<usize> = (0..N).collect();
    let (phi, field) = potentials(&all, &all, &q, x);
    let mut energy = 0.5 * COULOMB * phi.iter().zip(&q).map(|(p, q)| p * q).sum::<f64>();
    let mut forces: Vec<Vector3<f64>> = field.iter().zip(&q).map(|(e, &q)| COULOMB * q * e).collect();
    let mut derivatives = Vec::new();
    for (site, w) in sites.iter().zip(weights) {
        let atoms: Vec<usize> = site.atoms.iter().map(|&a| a as usize).collect();
        let own: Vec<_> = site.forms.iter().map(|form| potentials(&atoms, &atoms, &form.charges, x)).collect();
        let own: Vec<OwnForm> = own.iter().map(|(potential, field)| OwnForm { potential, field }).collect();
        let terms = interpolate(site, w, COULOMB, &phi, &own, &mut forces).unwrap();
        energy += terms.energy;
        derivatives.push(terms.derivatives);
    }
    Whole { energy, forces, derivatives }
}

/// Plain Coulomb energy with site `s` in form `alpha` alone and the correction of the other site kept.
fn pure_form_energy(s: usize, alpha: usize, weights: &[Vec<f64>; 2], x: &[Vector3<f64>]) -> f64 {
    let mut pure = weights.clone();
    pure[s] = (0..pure[s].len()).map(|k| if k == alpha { 1.0 } else { 0.0 }).collect();
    system(&pure, x).energy
}

#[test]
fn energies_of_pure_forms_give_the_derivatives() {
    // V is linear in the weights of a site: V = Σ_α λ_α V(e_α) where Σ λ_α = 1, and differences of ∂V/∂λ are those of V(e_α).
    let (w, x) = (weights(), positions());
    let whole = system(&w, &x);
    for s in 0..2 {
        let pure: Vec<f64> = (0..w[s].len()).map(|alpha| pure_form_energy(s, alpha, &w, &x)).collect();
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

#[test]
fn a_pure_form_has_no_correction() {
    let x = positions();
    let charges = sites().map(|site| site.forms[1].charges.clone());
    let whole = system(&[vec![0.0, 1.0], vec![0.0, 1.0, 0.0]], &x);
    let mut q: Vec<f64> = (0..N).map(|i| 0.1 * (i as f64 - 5.5)).collect();
    for (site, charges) in sites().iter().zip(&charges) {
        site.atoms.iter().zip(charges).for_each(|(&atom, &charge)| q[atom as usize] = charge);
    }
    let all: Vec<usize> = (0..N).collect();
    let (phi, _) = potentials(&all, &all, &q, &x);
    let plain = 0.5 * COULOMB * phi.iter().zip(&q).map(|(p, q)| p * q).sum::<f64>();
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
    let (without, with) = (system(&w, &x), system_of(&larger, &w, &x));
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
    // Linear in each weight: a central difference is exact up to rounding (1e-13 of V ≈ 500 kJ/mol over 2h = 0.2).
    let (w, x) = (weights(), positions());
    let whole = system(&w, &x);
    for s in 0..2 {
        for (alpha, beta) in [(0, 1), (1, 0)] {
            let along = |h: f64| {
                let mut moved = w.clone();
                moved[s][alpha] += h;
                moved[s][beta] -= h;
                system(&moved, &x).energy
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
    let whole = system(&w, &x);
    let h = 1e-5;
    for i in 0..N {
        for d in 0..3 {
            let along = |h: f64| {
                let mut moved = x.clone();
                moved[i][d] += h;
                system(&w, &moved).energy
            };
            let numerical = -(along(h) - along(-h)) / (2.0 * h);
            // Truncation h² V'''/6 ≈ 1e-11 · 1e5 and rounding 1e-16 · 1000 / h ≈ 1e-8: 1e-5 leaves a margin.
            assert!((whole.forces[i][d] - numerical).abs() < 1e-5, "atom {i}: {} {numerical}", whole.forces[i][d]);
        }
    }
}

#[test]
fn sizes_are_checked() {
    let [a, _] = sites();
    let mut forces = vec![Vector3::zeros(); N];
    let phi = vec![0.0; N];
    let (own_phi, own_field) = (vec![0.0; 4], vec![Vector3::zeros(); 4]);
    let own = [OwnForm { potential: &own_phi, field: &own_field }; 2];
    assert!(interpolate(&a, &[0.5, 0.5], 1.0, &phi, &own, &mut forces).is_ok());
    let error = interpolate(&a, &[1.0], 1.0, &phi, &own, &mut forces).unwrap_err();
    assert_eq!(error.to_string(), "site A: weights has 1 entries, expected 2");
    assert!(interpolate(&a, &[0.5, 0.5], 1.0, &phi[..3], &own, &mut forces).is_err());
    assert!(interpolate(&a, &[0.5, 0.5], 1.0, &phi, &own[..1], &mut forces).is_err());
    let short = [OwnForm { potential: &own_phi[..3], field: &own_field }; 2];
    assert!(interpolate(&a, &[0.5, 0.5], 1.0, &phi, &short, &mut forces).is_err());
    let error = set_effective_charges(&a, &[0.5, 0.5], &mut [0.0; 4]).unwrap_err();
    assert_eq!(error, HamiltonianError::AtomOutOfRange { site: "A".into(), atom: 4, n_atoms: 4 });
}
