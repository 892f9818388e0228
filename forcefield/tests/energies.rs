//! Every short-range term of a peptide in water against GROMACS 2022.5 in double precision, for three force fields.
//! How the numbers were made: `energies/README.md`.

use std::path::{Path, PathBuf};

use forcefield::gromacs::{read_gro, read_topology};
use forcefield::lennard_jones::{DispersionCorrection, LennardJones, Modifier};
use forcefield::units::{BAR, COULOMB};
use forcefield::{Cell, Topology, bonded, pairs, restraints};
use nalgebra::Vector3;
use serde_json::Value;

/// Rounding of sums of 10⁵ pair terms of both signs, and 12 printed decimals.
const ENERGY: f64 = 1e-11;
/// GROMACS interpolates 1-4 pairs in a table of cubic splines; they are part of its forces and virial too.
const PAIR_TABLE: f64 = 1e-8;
/// Natural instead of periodic splines in GROMACS' correction maps: (2 − √3)¹² ≈ 1e-7 of the slopes at the map's edge.
const CMAP: f64 = 1e-7;
/// GROMACS integrates the dispersion correction of a switched potential over a table; its pressures are in rounded units.
const DISPERSION_TABLE: f64 = 1e-7;
/// Relative to the largest force, for the table of 1-4 pairs.
const FORCE: f64 = 1e-7;

struct Case {
    top: Topology,
    x: Vec<Vector3<f64>>,
    cell: Cell,
    expected: Value,
}

fn file(name: String) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/energies").join(name)
}

fn case(name: &str) -> Case {
    let structure = read_gro(&file(format!("{name}.gro"))).unwrap();
    Case {
        top: read_topology(&file(format!("{name}.top")), &[], &[]).unwrap(),
        x: structure.positions,
        cell: structure.cell,
        expected: serde_json::from_str(&std::fs::read_to_string(file(format!("{name}.json"))).unwrap()).unwrap(),
    }
}

fn assert_close(what: &str, got: f64, expected: &Value, tolerance: f64) {
    let expected = expected.as_f64().unwrap_or(0.0);
    let error = (got - expected).abs() / expected.abs().max(1.0);
    println!("{what:45} {got:22.12} {expected:22.12} {error:9.1e}");
    assert!(error < tolerance, "{what}: {got}, GROMACS {expected}");
}

fn check(name: &str) {
    let Case { top, x, cell, expected } = case(name);
    let zero = vec![Vector3::zeros(); x.len()];
    let mut bonded_forces = zero.clone();
    let b = bonded::evaluate(&top, &x, &mut bonded_forces);
    let pairs14 = pairs::lennard_jones_14(&top, &x, &mut bonded_forces);
    let shifted: Vec<_> = x.iter().map(|r| r + Vector3::new(0.01, -0.02, 0.005)).collect();
    let held = restraints::evaluate(&top.position_restraints, 1.0, &x, &shifted, cell, &mut zero.clone());
    for (term, v) in [
        ("bonds", b.bonds),
        ("angles", b.angles),
        ("urey_bradley", b.urey_bradley),
        ("proper_dihedrals", b.proper_dihedrals),
        ("improper_dihedrals", b.improper_dihedrals),
        ("ryckaert_bellemans", b.ryckaert_bellemans),
        ("cmap", b.cmap),
        ("lennard_jones_14", pairs14),
        ("position_restraints", held),
    ] {
        let tolerance = match term {
            "cmap" => CMAP,
            "lennard_jones_14" => PAIR_TABLE,
            _ => ENERGY,
        };
        assert_close(&format!("{name} {term}"), v.energy, &expected["terms"][term], tolerance);
    }
    let (q, mut phi, mut field) = (top.charges(), vec![0.0; x.len()], zero.clone());
    pairs::coulomb_14_potential(&top.pairs, &x, &q, &mut phi, &mut field);
    let coulomb = 0.5 * COULOMB * q.iter().zip(&phi).map(|(q, phi)| q * phi).sum::<f64>();
    assert_close(&format!("{name} coulomb_14"), coulomb, &expected["coulomb_14"], ENERGY);

    let cutoff = expected["cutoff"].as_f64().unwrap();
    let r_switch = expected["r_switch"].as_f64().unwrap();
    for (key, modifier) in [
        ("none", Modifier::None),
        ("potential_shift", Modifier::PotentialShift),
        ("force_switch", Modifier::ForceSwitch { r_switch }),
    ] {
        let expected = &expected["lennard_jones"][key];
        let mut lj = LennardJones::new(&top, cutoff, modifier, 0.1).unwrap();
        lj.rebuild(&x, cell).unwrap();
        let mut f = bonded_forces.clone();
        let v = lj.evaluate(&x, cell, &mut f);
        let check = |what: &str, got, key: &str, tolerance| {
            assert_close(&format!("{name} LJ {what}"), got, &expected[key], tolerance);
        };
        check(key, v.energy, "energy", ENERGY);
        let virial = v.virial + (b.total() + pairs14).virial;
        check("virial", virial, "virial_trace_of_bonded_and_lennard_jones", PAIR_TABLE);
        let volume = cell.volume().unwrap();
        let correction = DispersionCorrection::new(&top, cutoff, modifier).at_volume(volume);
        check("dispersion correction", correction.energy, "dispersion_correction", DISPERSION_TABLE);
        let pressure = correction.virial / (3.0 * volume * BAR);
        check("pressure correction", pressure, "pressure_correction_bar", DISPERSION_TABLE);
        check_forces(name, &f, expected);
    }
}

fn check_forces(name: &str, f: &[Vector3<f64>], expected: &Value) {
    let of_solute = expected["forces_on_solute"].as_array().unwrap();
    let reference: Vec<Vector3<f64>> =
        of_solute.iter().map(|row| Vector3::from_fn(|d, _| row[d].as_f64().unwrap())).collect();
    let largest = reference.iter().map(Vector3::norm).fold(0.0, f64::max);
    let worst = f.iter().zip(&reference).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    println!("{name} forces: worst {worst:.1e} of largest {largest:.1e}");
    assert!(worst < FORCE * largest, "{name}: force off by {worst} of {largest}");
    let squares: f64 = f.iter().map(Vector3::norm_squared).sum();
    assert_close(&format!("{name} Σ F²"), squares, &expected["force_sum_of_squares"], FORCE);
}

#[test]
fn amber99sb_ildn() {
    check("amber");
}

#[test]
fn charmm27() {
    check("charmm");
}

#[test]
fn opls_aa() {
    check("opls");
}
