//! Systems that OpenMM serialised: every term and the forces against the Reference platform of OpenMM. How the files were made: `openmm/make.py`.

use std::path::{Path, PathBuf};

use forcefield::Structure;
use forcefield::gromacs::read_gro;
use forcefield::lennard_jones::{LennardJones, Modifier};
use forcefield::openmm::{SystemXml, read_system};
use forcefield::units::COULOMB;
use forcefield::variants::NamedVariants;
use forcefield::{Cell, Topology, bonded, pairs, virtual_sites};
use nalgebra::Vector3;
use serde_json::Value;

/// Positions have seven decimals and both programs the same formulas: rounding of sums alone.
const ENERGY: f64 = 1e-9;
/// Relative to the largest force: those of the reference have nine digits.
const FORCE: f64 = 1e-7;

fn file(name: &str, extension: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openmm").join(format!("{name}.{extension}"))
}

struct Case {
    name: &'static str,
    system: SystemXml,
    structure: Structure,
    expected: Value,
}

fn case(name: &'static str) -> Case {
    let structure = read_gro(&file(name, "gro")).unwrap();
    let system = read_system(&file(name, "xml"), &structure, &[]).unwrap();
    let expected = serde_json::from_str(&std::fs::read_to_string(file(name, "json")).unwrap()).unwrap();
    Case { name, system, structure, expected }
}

fn assert_close(what: &str, got: f64, expected: f64, tolerance: f64) {
    let error = (got - expected).abs() / expected.abs().max(1.0);
    println!("{what:40} {got:20.10} {expected:20.10} {error:9.1e}");
    assert!(error < tolerance, "{what}: {got}, OpenMM {expected}");
}

/// Coulomb energy and forces of all pairs that are not excluded, in open space.
fn coulomb(top: &Topology, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> f64 {
    let (q, mut energy) = (top.charges(), 0.0);
    for i in 0..x.len() {
        for j in i + 1..x.len() {
            if top.exclusions.contains(i as u32, j as u32) {
                continue;
            }
            let d = x[i] - x[j];
            let pair = COULOMB * q[i] * q[j] / d.norm();
            energy += pair;
            f[i] += d * (pair / d.norm_squared());
            f[j] -= d * (pair / d.norm_squared());
        }
    }
    let (mut phi, mut field) = (vec![0.0; x.len()], vec![Vector3::zeros(); x.len()]);
    pairs::coulomb_14_potential(&top.pairs, x, &q, &mut phi, &mut field);
    for i in 0..x.len() {
        energy += 0.5 * COULOMB * q[i] * phi[i];
        f[i] += field[i] * (COULOMB * q[i]);
    }
    energy
}

/// All terms in open space.
fn check(Case { name, system: SystemXml { topology: top, .. }, structure, expected }: &Case) {
    let x = &structure.positions;
    let mut f = vec![Vector3::zeros(); x.len()];
    let b = bonded::evaluate(top, x, &mut f);
    let distances: f64 = top
        .urey_bradley
        .iter()
        .map(|one| {
            let [i, _, k] = one.atoms.map(|atom| atom as usize);
            0.5 * one.k13 * ((x[i] - x[k]).norm() - one.r13).powi(2)
        })
        .sum();
    let terms = &expected["terms"];
    let of = |force: &str| terms[force].as_f64().unwrap_or(0.0);
    assert_close(&format!("{name} bonds"), b.bonds.energy + distances, of("HarmonicBondForce"), ENERGY);
    let angles = b.angles.energy + b.urey_bradley.energy - distances;
    assert_close(&format!("{name} angles"), angles, of("HarmonicAngleForce"), ENERGY);
    let dihedrals = b.proper_dihedrals.energy + b.improper_dihedrals.energy;
    let of_dihedrals = of("PeriodicTorsionForce") + of("CustomTorsionForce");
    assert_close(&format!("{name} dihedrals"), dihedrals, of_dihedrals, ENERGY);
    assert_close(&format!("{name} maps"), b.cmap.energy, of("CMAPTorsionForce"), ENERGY);
    assert_close(&format!("{name} Ryckaert-Bellemans"), b.ryckaert_bellemans.energy, of("RBTorsionForce"), ENERGY);
    let expected = &expected["open"];
    let mut lj = LennardJones::new(top, 50.0, Modifier::None, 1.0).unwrap();
    lj.rebuild(x, Cell::Open).unwrap();
    let van_der_waals = lj.evaluate(x, Cell::Open, &mut f).energy + pairs::lennard_jones_14(top, x, &mut f).energy;
    let of_forces = expected["lennard_jones"].as_f64().unwrap() + of("LennardJones14");
    assert_close(&format!("{name} Lennard-Jones"), van_der_waals, of_forces, ENERGY);
    let electrostatic = coulomb(top, x, &mut f);
    assert_close(&format!("{name} Coulomb"), electrostatic, expected["coulomb"].as_f64().unwrap(), ENERGY);
    let reference = expected["forces"].as_array().unwrap();
    let reference: Vec<Vector3<f64>> =
        reference.iter().map(|row| Vector3::from_fn(|d, _| row[d].as_f64().unwrap())).collect();
    // OpenMM, too, hands the forces of virtual sites to their parents; what it says of the sites themselves has no meaning.
    virtual_sites::spread(&top.virtual_sites, x, &mut f);
    let largest = reference.iter().map(Vector3::norm).fold(0.0, f64::max);
    let real = f.iter().zip(&reference).zip(&top.atoms).filter(|(_, atom)| atom.mass > 0.0);
    let worst = real.map(|((a, b), _)| (a - b).norm()).fold(0.0, f64::max);
    println!("{name} forces: worst {worst:.1e} of largest {largest:.1e}");
    assert!(worst < FORCE * largest, "{name}: force off by {worst} of {largest}");
}

#[test]
fn ff14sb() {
    let case = case("ff14sb");
    let top = &case.system.topology;
    assert_eq!((top.settles.len(), top.molecules.len(), top.cmaps.len()), (40, 41, 0));
    check(&case);
}

/// A salt bridge with the pair corrections of `octitrate prepare`: they are 5.3 kJ/mol of the 266 of Lennard-Jones interactions.
#[test]
fn ff14sb_with_cufix() {
    let case = case("ff14sb-cufix");
    let top = &case.system.topology;
    let of = |residue: &str, name: &str| {
        let atom = top.atoms.iter().find(|one| top.residues[one.residue as usize].name == residue && one.name == name);
        atom.unwrap().type_index
    };
    let (c6, c12) = top.lj.get(of("LYS", "NZ"), of("ASP", "OD1"));
    assert_close("σ of N and O", (c12 / c6).powf(1.0 / 6.0), 0.318_496, ENERGY);
    assert_close("ε of N and O", c6 * c6 / (4.0 * c12), (0.71128_f64 * 0.87864).sqrt(), ENERGY);
    check(&case);
}

#[test]
fn ff19sb() {
    let case = case("ff19sb");
    assert!(!case.system.topology.cmaps.is_empty());
    check(&case);
}

#[test]
fn charmm36() {
    let case = case("charmm36");
    let top = &case.system.topology;
    assert!(!top.urey_bradley.is_empty() && !top.harmonic_impropers.is_empty());
    assert_eq!(top.settles.len(), 40);
    check(&case);
}

/// The carbonyl oxygen of CHARMM has ε 0.12 kcal/mol and a radius of 1.7 Å, HD2 of a neutral His 0.0078 and 1.468 (Huang et al. 2017, doi:10.1038/nmeth.4067). No atom
/// of this system is such a hydrogen.
#[test]
fn charmm36_has_pairs_of_a_type_that_no_atom_has() {
    let [sigma, epsilon] = [0.2 * 1.468 / 2f64.powf(1.0 / 6.0), 0.0078 * 4.184];
    let oxygen = [0.2 * 1.7 / 2f64.powf(1.0 / 6.0), 0.12 * 4.184];
    let (name, own) = (format!("LJ {sigma} {epsilon}"), format!("LJ {} {}", oxygen[0], oxygen[1]));
    let structure = read_gro(&file("charmm36", "gro")).unwrap();
    let top = read_system(&file("charmm36", "xml"), &structure, &[&name, &own]).unwrap().topology;
    let atom = top.atoms.iter().position(|atom| atom.name == "O").unwrap();
    let (residue, kind) = (top.atoms[atom].residue, top.atoms[atom].type_index);
    let named = NamedVariants { lj_types: [("O".to_string(), vec![own, name])].into(), ..NamedVariants::default() };
    let [found] = &named.resolve(&top, residue, 2).unwrap().types[..] else { panic!() };
    // The type of the atom has these numbers and is told by them: the table may have more of it.
    assert_eq!((found.atom as usize, found.types[0]), (atom, kind));
    let (c6, c12) = top.lj.get(found.types[1], kind);
    let (sigma, epsilon) = (0.5 * (sigma + oxygen[0]), (epsilon * oxygen[1]).sqrt());
    assert_close("c6", c6, 4.0 * epsilon * sigma.powi(6), 1e-9 * c6);
    assert_close("c12", c12, 4.0 * epsilon * sigma.powi(12), 1e-9 * c12);
    assert_eq!(top.lj.get(kind, found.types[1]), (c6, c12));
    assert!(top.wells_14.is_empty());
    // That of an acid in 1-4 pairs, where the oxygen of an amide has it, too: another type than that of the atom.
    let name = format!("LJ {} {} {} {}", oxygen[0], oxygen[1], 0.2 * 1.4 / 2f64.powf(1.0 / 6.0), oxygen[1]);
    let top = read_system(&file("charmm36", "xml"), &structure, &[&name]).unwrap().topology;
    let named = NamedVariants { lj_types: [("O".to_string(), vec![name])].into(), ..NamedVariants::default() };
    let found = named.resolve(&top, residue, 1).unwrap().types[0].types[0];
    assert_ne!(found, kind);
    assert!(top.lj.well(found).unwrap().is_same(top.lj.well(kind).unwrap()));
    let in_pairs = top.wells_14[&found];
    assert_close("σ in 1-4 pairs", in_pairs.sigma, 0.249_452, 1e-6);
    for wrong in ["LJ 0.26", "LJ 0.26 0.03 0.2", "LJ -0.26 0.03", "LJ 0.26 -0.03", "LJ 0.26 nan", "LJ 0.26 soft"] {
        let top = read_system(&file("charmm36", "xml"), &structure, &[wrong]).unwrap().topology;
        let named = NamedVariants { lj_types: [("O".into(), vec![wrong.to_string()])].into(), ..Default::default() };
        let error = named.resolve(&top, residue, 1).unwrap_err().to_string();
        assert!(error.contains(&format!("type {wrong} of residue")) && error.contains("none negative"), "{error}");
    }
}

#[test]
fn ff14sb_in_opc() {
    let case = case("ff14sb-opc");
    let top = &case.system.topology;
    assert_eq!((top.settles.len(), top.virtual_sites.len(), top.molecules.len()), (30, 30, 31));
    let placed: Vec<_> = top.virtual_sites.iter().map(|one| one.position(&case.structure.positions)).collect();
    for (site, placed) in top.virtual_sites.iter().zip(placed) {
        // Seven decimals of the structure.
        assert!((placed - case.structure.positions[site.site as usize]).norm() < 2e-7);
    }
    check(&case);
}
