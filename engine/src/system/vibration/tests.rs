//! Vibrations whose frequency is known: chains, a ring, a bend, a chain with a rigid bond; a molecule beside a dense solution of the same equations.

use super::*;
use crate::config::Config;
use crate::system::System;
use forcefield::topology::{Angle, Atom, Bond, BondConstraints, Molecule, Residue};
use std::path::Path;

const K: f64 = 3e5;
/// ω² is exact to the residual at which the iteration ends, and to rounding where it finds everything.
const EXACT: f64 = 1e-9;

/// Molecules of atoms of these masses, one of each number of atoms.
fn molecules(masses: &[&[f64]]) -> Topology {
    let mut topology = Topology::default();
    for (number, masses) in (0..).zip(masses) {
        let first = topology.atoms.len() as u32;
        let atoms = first..first + masses.len() as u32;
        for (k, &mass) in masses.iter().enumerate() {
            let (name, index) = (format!("C{k}"), number);
            topology.atoms.push(Atom { name, type_index: 0, residue: index, molecule: index, charge: 0.0, mass });
        }
        let name = format!("M{number}");
        let residue =
            Residue { name: name.clone(), number: 1, insertion: None, molecule: number, atoms: atoms.clone() };
        topology.residues.push(residue);
        topology.molecules.push(Molecule { name, atoms });
    }
    topology
}

fn bond(i: u32, j: u32) -> Bond {
    Bond { atoms: [i, j], r0: 0.1, k: K }
}

fn line(n: usize) -> Vec<Vector3<f64>> {
    (0..n).map(|k| Vector3::new(0.06, 0.08, 0.0) * k as f64).collect()
}

fn square(topology: &Topology, x: &[Vector3<f64>]) -> f64 {
    fastest(topology, x).unwrap().frequency.powi(2)
}

#[test]
fn a_chain_of_springs_has_the_frequency_of_its_shortest_wave() {
    let mut topology = molecules(&[&[12.0; 7]]);
    topology.bonds = (0..6).map(|k| bond(k, k + 1)).collect();
    // ω = 2 √(k/m) sin(π j/2n), j = n − 1.
    let expected = 4.0 * K / 12.0 * (std::f64::consts::PI * 6.0 / 14.0).sin().powi(2);
    assert!((square(&topology, &line(7)) / expected - 1.0).abs() < EXACT);
}

#[test]
fn two_atoms_vibrate_with_their_reduced_mass() {
    let mut topology = molecules(&[&[2.0, 6.0]]);
    topology.bonds = vec![bond(0, 1)];
    let found = fastest(&topology, &line(2)).unwrap();
    assert!((found.frequency.powi(2) / (K / 1.5) - 1.0).abs() < EXACT);
    assert_eq!(found.place, "M0 1 (C0, C1)");
    // What leap-frog does with it: 2/ω, and steps at which it turns by a third and a fourth of a circle.
    assert!((found.limit() * found.frequency - 2.0).abs() < 1e-12);
    for order in [3, 4] {
        let turn = 2.0 * (0.5 * found.frequency * found.resonance(order)).asin();
        assert!((turn * f64::from(order) / (2.0 * std::f64::consts::PI) - 1.0).abs() < 1e-12);
    }
    assert!((found.period() / found.limit() - std::f64::consts::PI).abs() < 1e-12);
}

/// A bond to a site without mass is no spring between an atom and a place in space.
#[test]
fn a_site_without_mass_changes_no_vibration() {
    let mut topology = molecules(&[&[2.0, 6.0, 0.0]]);
    topology.bonds = vec![bond(0, 1)];
    let without = square(&topology, &line(3));
    topology.bonds.push(bond(0, 2));
    assert_eq!(square(&topology, &line(3)), without);
}

/// Bonds of a hexagon share atoms at 120°: G_b,b±1 = 1/2m, and the fastest is that of alternating bonds, 3 k/m.
#[test]
fn a_ring_is_stiffer_than_its_bonds() {
    let mut topology = molecules(&[&[10.0; 6]]);
    topology.bonds = (0..6).map(|k| bond(k, (k + 1) % 6)).collect();
    let turn = |k: usize| (k as f64 * std::f64::consts::PI / 3.0).sin_cos();
    let x: Vec<Vector3<f64>> =
        (0..6).map(|k| Vector3::new(turn(k).1, 0.6 * turn(k).0, 0.8 * turn(k).0) * 0.14).collect();
    assert!((square(&topology, &x) / (3.0 * K / 10.0) - 1.0).abs() < EXACT);
    // All atoms take part alike, and no more of them are named than a line holds.
    assert!(fastest(&topology, &x).unwrap().place.matches(',').count() == NAMED - 1);
}

#[test]
fn a_bend_has_the_mass_of_wilsons_g_matrix() {
    let mut topology = molecules(&[&[2.0, 16.0, 3.0]]);
    let (theta, k) = (1.9, 400.0);
    topology.angles = vec![Angle { atoms: [0, 1, 2], theta0: theta, k }];
    let (a, b) = (0.1, 0.15);
    let (sine, cosine) = f64::sin_cos(theta);
    let x = [Vector3::new(a, 0.0, 0.0), Vector3::zeros(), Vector3::new(b * cosine, b * sine, 0.0)];
    // E. B. Wilson, J. Chem. Phys. 7, 1047 (1939).
    let g = 1.0 / (2.0 * a * a) + 1.0 / (3.0 * b * b) + (1.0 / (a * a) + 1.0 / (b * b) - 2.0 * cosine / (a * b)) / 16.0;
    assert!((square(&topology, &x) / (k * g) - 1.0).abs() < EXACT);
}

#[test]
fn atoms_held_together_move_as_one() {
    let mut topology = molecules(&[&[14.0, 9.0, 3.0]]);
    topology.bonds = vec![bond(0, 1), bond(1, 2)];
    topology.constraints = vec![Constraint { atoms: [1, 2], length: 0.1 }];
    assert!((square(&topology, &line(3)) / (K * (1.0 / 14.0 + 1.0 / 12.0)) - 1.0).abs() < EXACT);
    topology.constraints.push(Constraint { atoms: [0, 1], length: 0.1 });
    assert_eq!(fastest(&topology, &line(3)), None, "nothing is left that could vibrate");
}

#[test]
fn the_fastest_of_all_molecules_counts_wherever_it_stands() {
    let mut topology = molecules(&[&[12.0; 2], &[1.0; 3], &[4.0; 2]]);
    topology.bonds = vec![bond(0, 1), bond(5, 6)];
    let x: Vec<Vector3<f64>> = (0..7).map(|k| Vector3::new(0.1 * f64::from(k), 0.0, 0.0)).collect();
    let found = fastest(&topology, &x).unwrap();
    assert!((found.frequency.powi(2) / (K / 2.0) - 1.0).abs() < EXACT && found.place == "M2 1 (C0, C1)", "{found:?}");
}

/// Capped glutamic acid in water with steps of this length.
/// Capped glutamic acid, with lines of more sections.
fn job(step: &str, more: &str) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu/run.toml");
    let text = format!(
        "[system]\nstructure = \"glu.gro\"\ntopology = \"glu.top\"\n[dynamics]\nsteps = 10\ntime_step = \"{step}\"\n{more}\
         [output]\ntrajectory = \"0 ps\"\nenergy = \"0 ps\"\nlambda = \"0 ps\"\nlog = \"0 ps\"\n"
    );
    Config::parse(&text, &path).unwrap()
}

/// Capped glutamic acid: the largest eigenvalue of the whole matrix, P from a QR decomposition of the constraints.
#[test]
fn the_iteration_finds_what_a_dense_solver_finds() {
    let config = job("1 fs", "");
    let input = crate::system::read(&config).unwrap();
    let mut topology = input.topology;
    topology.constrain_bonds(BondConstraints::HBonds);
    let part = Part::new(&topology, &input.structure.positions).unwrap();
    let n = 3 * part.masses.len();
    let root: Vec<f64> = part.masses.iter().flat_map(|m| [m.sqrt(); 3]).collect();
    let mut matrix = DMatrix::zeros(n, n);
    for term in &part.terms {
        let mut row = nalgebra::DVector::zeros(n);
        for (atom, g) in term.atoms.iter().zip(&term.gradient) {
            (0..3).for_each(|a| row[3 * atom + a] += g[a] / root[3 * atom + a]);
        }
        matrix += term.k * &row * row.transpose();
    }
    let bonds: Vec<[u32; 2]> = topology
        .constraints
        .iter()
        .filter_map(|c| {
            let at = |atom: u32| part.atoms.iter().position(|one| *one == atom).map(|at| at as u32);
            Some([at(c.atoms[0])?, at(c.atoms[1])?])
        })
        .collect();
    let mut rigid = DMatrix::zeros(n, bonds.len());
    for (k, [i, j]) in bonds.iter().map(|pair| pair.map(|atom| atom as usize)).enumerate() {
        let u = (part.x[i] - part.x[j]).normalize();
        for a in 0..3 {
            rigid[(3 * i + a, k)] = u[a] / root[3 * i + a];
            rigid[(3 * j + a, k)] = -u[a] / root[3 * j + a];
        }
    }
    assert!(bonds.len() > 5, "its bonds to hydrogen are rigid");
    let q = rigid.qr().q();
    let projection = DMatrix::identity(n, n) - &q * q.transpose();
    let exact = SymmetricEigen::new(&projection * matrix * &projection).eigenvalues.max();
    let (found, mode) = part.largest().unwrap();
    assert!((found / exact - 1.0).abs() < RESIDUAL, "{found} {exact}");
    // A vector of length one, and a frequency that is its own.
    assert!((part.product(&mode, &mode) - 1.0).abs() < 1e-9);
    let image = part.apply(&mode).unwrap();
    let rest: Vec<Vector3<f64>> = image.iter().zip(&mode).map(|(a, v)| a - found * v).collect();
    assert!(part.product(&rest, &rest).sqrt() < 2.0 * RESIDUAL * found);
}

#[test]
fn a_step_near_the_resonance_is_warned_of_and_one_beyond_the_limit_refused() {
    let of = |step: &str| System::new(&job(step, "")).map(|(system, _)| (system.vibration.unwrap(), system.warnings));
    let said = |warnings: &[String]| warnings.iter().any(|text| text.contains("resonance of third order"));
    let (vibration, warnings) = of("2 fs").unwrap();
    assert!(!said(&warnings));
    let at = |part: f64| format!("{:.3} fs", 1e3 * part * vibration.limit());
    assert!(!said(&of(&at(0.77)).unwrap().1));
    let warnings: Vec<String> = of(&at(0.79)).unwrap().1;
    assert!(said(&warnings), "{warnings:?}");
    let error = of(&at(1.01)).unwrap_err().to_string();
    assert!(error.contains("its motion diverges") && error.contains(&vibration.place), "{error}");
}

#[test]
fn near_the_resonance_of_fourth_order_v_rescale_is_warned_of_and_langevin_dynamics_is_not() {
    let vibration = System::new(&job("2 fs", "")).unwrap().0.vibration.unwrap();
    let said = |part: f64, kind: &str| {
        let bath = match kind {
            "" => String::new(),
            kind => format!("[thermostat]\ntemperature = \"300 K\"\nkind = \"{kind}\"\n"),
        };
        let config = job(&format!("{:.3} fs", 1e3 * part * vibration.limit()), &bath);
        let found = vibration.check(&config).unwrap();
        found.is_some_and(|text| text.contains("fourth order") && text.contains("thermostat.kind = \"langevin\""))
    };
    assert!(said(0.70, "v-rescale") && said(0.77, "v-rescale"));
    assert!(!said(0.68, "v-rescale"), "below the resonance");
    assert!(!said(0.79, "v-rescale"), "that is near the one of third order");
    assert!(
        !said(0.70, "langevin") && !said(0.70, ""),
        "friction takes the energy, and without a thermostat it does not rise"
    );
}
