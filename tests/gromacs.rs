//! Single points against GROMACS 2022.5 in double precision (`tests/reference/*.json`, made by `inputs/make/reference.py`):
//! each bonded term, 1-4 pairs, Lennard-Jones with every modifier, dispersion correction, virial, forces; Coulomb by FMM
//! against GROMACS' PME and against a plain Ewald sum, which agree with each other to 5e-13 in energy and 5e-9 in forces.
//!
//! AMBER99SB-ILDN, CHARMM27 (Urey–Bradley, CMAP, harmonic impropers) and OPLS-AA (Ryckaert–Bellemans, geometric rule); boxes with right
//! angles, a rhombic dodecahedron and a truncated octahedron.

use std::path::{Path, PathBuf};

use fmm::{Boundary, Fmm, Potentials, Settings, TreeShape};
use forcefield::bonded::Bonded;
use forcefield::lennard_jones::{LennardJones, Modifier, dispersion_correction};
use forcefield::{Cell, Topology, gromacs, pairs, units};
use nalgebra::Vector3;
use octitrate::fragments::Fragments;
use serde_json::Value;

/// Energies are stored with 15 digits; sums of 10⁴ terms in another order differ by less.
const ENERGY: f64 = 1e-11;
/// GROMACS tabulates 1-4 Lennard-Jones (1e-9 in energy and 2e-8 in forces were found) and sums the correction of the
/// force switch numerically (2e-11).
const TABULATED: f64 = 1e-8;
const FORCES: f64 = 1e-7;
/// GROMACS rounds 1/bar to 16.6054 mol nm³/kJ.
const GROMACS_BAR: f64 = 1e-6;
/// Order 40 on 4³ boxes: 3e-13 in energy were found, and 2e-10 in forces, which are stored with 10 digits.
const FMM: f64 = 1e-9;

struct System {
    top: Topology,
    x: Vec<Vector3<f64>>,
    cell: Cell,
    reference: Value,
}

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Topology, whole molecules and reference numbers.
fn system(stem: &str, json: &str) -> System {
    let top = gromacs::read_topology(&project(&format!("{stem}.top")), &[], &[]).unwrap();
    let structure = gromacs::read_gro(&project(&format!("{stem}.gro"))).unwrap();
    let cell = structure.cell;
    let mut x = structure.positions;
    Fragments::new(&top).make_whole(cell.periodic().unwrap(), &mut x).unwrap();
    let text = std::fs::read_to_string(project(&format!("tests/reference/{json}"))).unwrap();
    System { top, x, cell, reference: serde_json::from_str(&text).unwrap() }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// `ours` must equal `theirs` to the relative tolerance.
fn assert_close(what: &str, ours: f64, theirs: f64, tolerance: f64) {
    let error = (ours - theirs).abs() / theirs.abs();
    assert!(
        error <= tolerance,
        "{what}: {ours} against {theirs}, relative difference {error:.1e} above {tolerance:.0e}"
    );
}

/// Relative L2 difference of forces `ours` and those stored under `name`.
fn force_error(s: &System, ours: &[Vector3<f64>], name: &str) -> f64 {
    let forces = &s.reference["forces"];
    let atoms = forces["atoms"].as_array().unwrap().iter().map(|i| i.as_u64().unwrap() as usize);
    let (mut difference, mut norm) = (0.0, 0.0);
    for (atom, row) in atoms.zip(forces[name].as_array().unwrap()) {
        let theirs = Vector3::new(number(&row[0]), number(&row[1]), number(&row[2]));
        difference += (ours[atom] - theirs).norm_squared();
        norm += theirs.norm_squared();
    }
    (difference / norm).sqrt()
}

/// Bonded terms, 1-4 pairs and Lennard-Jones.
fn short_range(stem: &str, json: &str) {
    let s = system(stem, json);
    let mut f = vec![Vector3::zeros(); s.x.len()];
    let bonded = Bonded::new(&s.top).evaluate(&s.top, &s.x, &mut f);
    let terms = &s.reference["bonded"];
    for (names, ours) in [
        (&["bonds"][..], bonded.bonds),
        (&["angles"], bonded.angles),
        (&["urey_bradley"], bonded.urey_bradley),
        (&["proper_dihedrals"], bonded.proper_dihedrals),
        (&["periodic_impropers", "harmonic_impropers"], bonded.improper_dihedrals),
        (&["ryckaert_bellemans"], bonded.ryckaert_bellemans),
        (&["cmap"], bonded.cmap),
    ] {
        match names.iter().filter_map(|name| terms[name].as_f64()).reduce(|a, b| a + b) {
            Some(theirs) => assert_close(names[0], ours.energy, theirs, ENERGY),
            None => assert_eq!(ours.energy, 0.0, "{names:?} is no term of GROMACS here"),
        }
    }
    let pairs_14 = pairs::lennard_jones_14(&s.top, &s.x, &mut f);
    if let Some(theirs) = terms["lennard_jones_14"].as_f64() {
        assert_close("1-4 pairs", pairs_14.energy, theirs, TABULATED);
    }

    let before = (bonded.total() + pairs_14).virial;
    let volume = s.cell.volume().unwrap();
    let modifiers = [
        ("potential-shift", Modifier::PotentialShift),
        ("force-switch", Modifier::ForceSwitch { r_switch: 0.8 }),
        ("none", Modifier::None),
    ];
    for (name, modifier) in modifiers {
        let mut lj = LennardJones::new(&s.top, 1.0, modifier, 0.1).unwrap();
        lj.rebuild(&s.x, s.cell).unwrap();
        let mut with_lj = f.clone();
        let ours = lj.evaluate(&s.x, s.cell, &mut with_lj);
        let theirs = &s.reference["lennard_jones"][name];
        assert_close(name, ours.energy, number(&theirs["energy"]), ENERGY);
        assert_close("virial", before + ours.virial, number(&theirs["virial_trace_with_bonded_and_14"]), TABULATED);
        let tail = dispersion_correction(&s.top, 1.0, modifier, volume);
        assert_close("dispersion correction", tail.energy, number(&theirs["dispersion_correction"]), TABULATED);
        let pressure = tail.virial / (3.0 * volume) / units::BAR;
        let theirs = number(&theirs["dispersion_correction_pressure_bar"]);
        assert_close("pressure of the dispersion correction", pressure, theirs, GROMACS_BAR);
        if matches!(modifier, Modifier::None) {
            let error = force_error(&s, &with_lj, "bonded_and_lennard_jones_none");
            assert!(error < FORCES, "forces: {error:.1e}");
        }
    }
}

/// Coulomb energy (without 1-4 pairs), potentials and fields by FMM of order 40 on 4³ boxes, k_e = 1.
fn coulomb(s: &System, charges: &[f64]) -> (f64, Potentials) {
    let boundary = Boundary::Periodic { cell: s.cell.periodic().unwrap().rows() };
    let settings = Settings::new(40, TreeShape { root: [4; 3], depth: 0 });
    let positions: Vec<[f64; 3]> = s.x.iter().map(|&x| x.into()).collect();
    let exclusions = fmm::Exclusions::from_pairs(positions.len(), s.top.exclusions.pairs()).unwrap();
    let mut fmm = Fmm::<f64>::new(boundary, settings).unwrap();
    fmm.assign(&positions, &exclusions).unwrap();
    let mut out = Potentials::default();
    let energy = fmm.evaluate(&positions, charges, &mut out).unwrap();
    (energy, out)
}

fn long_range(stem: &str, json: &str) {
    let s = system(stem, json);
    let charges: Vec<f64> = s.top.atoms.iter().map(|atom| atom.charge).collect();
    let (energy, out) = coulomb(&s, &charges);
    let theirs = &s.reference["coulomb"];
    assert_close("Ewald", energy * units::COULOMB, number(&theirs["ewald"]["energy"]), FMM);
    assert_close("PME", energy * units::COULOMB, number(&theirs["gromacs"]["energy"]), FMM);

    let (mut phi, mut field) = (vec![0.0; charges.len()], vec![Vector3::zeros(); charges.len()]);
    pairs::coulomb_14_potential(&s.top.pairs, &s.x, &charges, &mut phi, &mut field);
    let energy_14 = 0.5 * units::COULOMB * charges.iter().zip(&phi).map(|(q, phi)| q * phi).sum::<f64>();
    if !s.top.pairs.is_empty() {
        assert_close("1-4 Coulomb", energy_14, number(&s.reference["coulomb_14"]), ENERGY);
    }

    let strength = charges.iter().map(|q| q * units::COULOMB);
    let plain: Vec<_> = strength.clone().zip(&out.field).map(|(q, e)| Vector3::from(*e) * q).collect();
    let whole: Vec<_> = strength.zip(&field).zip(&plain).map(|((q, e), plain)| plain + e * q).collect();
    let (ewald, pme) = (force_error(&s, &plain, "coulomb_ewald"), force_error(&s, &whole, "coulomb_and_14_gromacs"));
    assert!(ewald < FMM, "forces against Ewald: {ewald:.1e}");
    assert!(pme < FORCES, "forces against PME: {pme:.1e}");
}

#[test]
fn glutamic_acid_in_water() {
    short_range("inputs/01-glu/glu", "glu.json");
    long_range("inputs/01-glu/glu", "glu.json");
}

#[test]
fn peptide_amber() {
    short_range("tests/reference/peptide", "peptide.json");
    long_range("tests/reference/peptide", "peptide.json");
}

#[test]
fn peptide_charmm() {
    short_range("tests/reference/peptide-charmm", "peptide-charmm.json");
    long_range("tests/reference/peptide-charmm", "peptide-charmm.json");
}

#[test]
fn peptide_opls() {
    short_range("tests/reference/peptide-opls", "peptide-opls.json");
    long_range("tests/reference/peptide-opls", "peptide-opls.json");
}

/// Salt water in a box whose images are 2.77 nm apart and whose faces 1.96 nm: less than twice the reach of the list.
#[test]
fn rhombic_dodecahedron() {
    short_range("tests/reference/dodecahedron", "dodecahedron.json");
    long_range("tests/reference/dodecahedron", "dodecahedron.json");
}

#[test]
fn truncated_octahedron() {
    short_range("tests/reference/octahedron", "octahedron.json");
    long_range("tests/reference/octahedron", "octahedron.json");
}

/// The deprotonated charges of the library: net charge −1 and its background, which GROMACS counts too.
#[test]
fn deprotonated_glutamic_acid_has_the_energy_of_its_background() {
    let s = system("inputs/01-glu/glu", "glu-deprotonated.json");
    let residue = s.top.residues.iter().find(|residue| residue.name == "GLH").unwrap();
    let mut charges: Vec<f64> = s.top.atoms.iter().map(|atom| atom.charge).collect();
    for atom in residue.atoms.clone() {
        charges[atom as usize] = number(&s.reference["charges"][&s.top.atoms[atom as usize].name]);
    }
    assert_close("net charge", charges.iter().sum(), -1.0, 1e-12);
    let theirs = &s.reference["coulomb"];
    let energy = coulomb(&s, &charges).0 * units::COULOMB;
    assert_close("Ewald", energy, number(&theirs["ewald"]), FMM);
    assert_close("PME", energy, number(&theirs["gromacs"]), FMM);
}
