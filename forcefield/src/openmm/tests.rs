//! What is read of small systems, and what is refused.

use std::path::Path;

use nalgebra::Vector3;

use super::{SystemXml, parse_system};
use crate::cell::Cell;
use crate::gromacs::Structure;

/// A chain of four atoms in one residue beside a rigid water.
const CHAIN: &str = r#"<?xml version="1.0" ?>
<System openmmVersion="8.6.1" type="System" version="1">
<PeriodicBoxVectors><A x="3" y="0" z="0"/><B x="0" y="3" z="0"/><C x="0" y="0" z="3"/></PeriodicBoxVectors>
<Particles>
<Particle mass="12"/><Particle mass="12"/><Particle mass="12"/><Particle mass="1.008"/>
<Particle mass="16"/><Particle mass="1.008"/><Particle mass="1.008"/>
</Particles>
<Constraints>
<Constraint d=".109" p1="2" p2="3"/>
<Constraint d=".09572" p1="4" p2="5"/><Constraint d=".09572" p1="4" p2="6"/><Constraint d=".15139" p1="5" p2="6"/>
</Constraints>
<Forces>
<Force name="HarmonicBondForce" type="HarmonicBondForce" version="2"><Bonds>
<Bond d=".15" k="1000" p1="0" p2="1"/><Bond d=".15" k="2000" p1="1" p2="2"/>
</Bonds></Force>
<Force name="HarmonicAngleForce" type="HarmonicAngleForce" version="2"><Angles>
<Angle a="1.9" k="300" p1="0" p2="1" p3="2"/><Angle a="1.8" k="200" p1="1" p2="2" p3="3"/>
</Angles></Force>
<Force name="PeriodicTorsionForce" type="PeriodicTorsionForce" version="2"><Torsions>
<Torsion k="2" p1="0" p2="1" p3="2" p4="3" periodicity="3" phase="0"/>
<Torsion k="4" p1="0" p2="2" p3="1" p4="3" periodicity="2" phase="3.141592653589793"/>
</Torsions></Force>
<Force cutoff="1" dispersionCorrection="1" method="4" name="NonbondedForce" type="NonbondedForce" useSwitchingFunction="0" version="4">
<GlobalParameters/><ParticleOffsets/><ExceptionOffsets/>
<Particles>
<Particle eps=".5" q=".2" sig=".3"/><Particle eps=".5" q="-.1" sig=".3"/><Particle eps=".4" q="-.2" sig=".35"/><Particle eps="0" q=".1" sig="1"/>
<Particle eps=".6364" q="-.834" sig=".315061"/><Particle eps="0" q=".417" sig="1"/><Particle eps="0" q=".417" sig=".1"/>
</Particles>
<Exceptions>
<Exception eps="0" p1="0" p2="1" q="0" sig="1"/><Exception eps="0" p1="0" p2="2" q="0" sig="1"/><Exception eps="0" p1="1" p2="2" q="0" sig="1"/>
<Exception eps="0" p1="1" p2="3" q="0" sig="1"/><Exception eps="0" p1="2" p2="3" q="0" sig="1"/>
<Exception eps=".1" p1="0" p2="3" q=".016666" sig=".2"/>
<Exception eps="0" p1="4" p2="5" q="0" sig="1"/><Exception eps="0" p1="4" p2="6" q="0" sig="1"/><Exception eps="0" p1="5" p2="6" q="0" sig="1"/>
</Exceptions></Force>
<Force frequency="1" name="CMMotionRemover" type="CMMotionRemover" version="1"/>
</Forces>
</System>
"#;

fn structure() -> Structure {
    let atoms = [("ALA", 1, "CA"), ("ALA", 1, "CB"), ("ALA", 1, "CG"), ("ALA", 1, "HG")];
    let water = [("HOH", 2, "O"), ("HOH", 2, "H1"), ("HOH", 2, "H2")];
    let all = atoms.iter().chain(&water);
    Structure {
        title: "a chain".into(),
        positions: vec![Vector3::zeros(); 7],
        names: all.clone().map(|(residue, _, atom)| (residue.to_string(), atom.to_string())).collect(),
        residue_numbers: all.map(|(_, number, _)| *number).collect(),
        ..Structure::default()
    }
}

fn read(text: &str) -> Result<SystemXml, String> {
    parse_system(text, Path::new("system.xml"), &structure(), &["LJ 0.25 0.1", "CT"]).map_err(|e| e.to_string())
}

/// The chain with `from` replaced by `to`, which must be there.
fn with(from: &str, to: &str) -> Result<SystemXml, String> {
    assert!(CHAIN.contains(from), "{from}");
    read(&CHAIN.replace(from, to))
}

#[test]
fn names_come_from_the_structure_and_terms_from_the_file() {
    let SystemXml { topology: top, cell, notes, unknown_factors } = read(CHAIN).unwrap();
    assert_eq!(top.label(3), "ALA 1 HG (atom 4)");
    assert_eq!(
        top.molecules.iter().map(|m| (m.name.as_str(), m.atoms.clone())).collect::<Vec<_>>(),
        [("ALA", 0..4), ("HOH", 4..7)]
    );
    assert_eq!((top.bonds.len(), top.angles.len(), top.constraints.len(), top.settles.len()), (2, 2, 1, 1));
    let water = top.settles[0];
    assert_eq!((water.oxygen, water.hydrogens, water.d_oh, water.d_hh), (4, [5, 6], 0.09572, 0.15139));
    // The second torsion is no chain of bonds.
    assert_eq!(top.propers.iter().map(|one| one.improper).collect::<Vec<_>>(), [false, true]);
    let [pair] = top.pairs[..] else { panic!("{:?}", top.pairs) };
    assert!(pair.atoms == [0, 3] && (pair.coulomb_scale - 0.8333).abs() < 1e-12);
    assert!((pair.c6 / (4.0 * 0.1 * 0.2f64.powi(6)) - 1.0).abs() < 1e-14);
    assert_eq!(top.exclusions.n_pairs(), 9);
    // σ without ε is no type of its own; the last type is the one that was asked for.
    let types: Vec<u32> = top.atoms.iter().map(|atom| atom.type_index).collect();
    assert_eq!((types, top.lj.n_types), (vec![0, 0, 1, 2, 3, 2, 2], 5));
    assert_eq!(top.atom_types[4].name, "LJ 0.25 0.1");
    let (c6, c12) = top.lj.get(0, 1);
    let (sigma, epsilon) = ((c12 / c6).powf(1.0 / 6.0), c6 * c6 / (4.0 * c12));
    assert!((sigma - 0.325).abs() < 1e-14 && (epsilon - 0.2f64.sqrt()).abs() < 1e-14);
    assert!(matches!(cell, Cell::Periodic(one) if one.rows()[2] == [0.0, 0.0, 3.0]));
    assert!(
        notes.iter().any(|note| note.contains("made for PME, cut-off 1 nm, with dispersion correction")),
        "{notes:?}"
    );
    assert!(notes.iter().any(|note| note.contains("CMMotionRemover is left out")), "{notes:?}");
    assert_eq!(unknown_factors, Vec::<[u32; 2]>::new());
}

#[test]
fn a_distance_across_an_angle_is_no_bond() {
    let distance = r#"<Bond d=".15" k="2000" p1="1" p2="2"/><Bond d=".25" k="700" p1="2" p2="0"/>"#;
    let top = with(r#"<Bond d=".15" k="2000" p1="1" p2="2"/>"#, distance).unwrap().topology;
    let [one] = top.urey_bradley[..] else { panic!("{:?}", top.urey_bradley) };
    assert_eq!((one.atoms, one.theta0, one.k, one.r13, one.k13), ([0, 1, 2], 1.9, 300.0, 0.25, 700.0));
    assert_eq!((top.bonds.len(), top.angles.len()), (2, 1));
}

#[test]
fn terms_on_fixed_distances_are_left_out() {
    let flexible = r#"<Bond d=".15" k="2000" p1="1" p2="2"/><Bond d=".109" k="7" p1="3" p2="2"/><Bond d=".1" k="7" p1="4" p2="5"/>"#;
    let text = CHAIN.replace(r#"<Bond d=".15" k="2000" p1="1" p2="2"/>"#, flexible);
    let angle = r#"<Angle a="1.8" k="200" p1="5" p2="4" p3="6"/></Angles>"#;
    let found = read(&text.replace("</Angles>", angle)).unwrap();
    assert_eq!((found.topology.bonds.len(), found.topology.angles.len()), (2, 2));
    assert!(found.notes.iter().any(|note| note.starts_with("2 harmonic bonds and 1 angles are left out")));
}

/// A hydrogen without charge has the factor of its neighbours, since it has a charge in another form.
#[test]
fn pairs_of_neutral_atoms_get_the_factor_of_their_residue() {
    // Another 1-4 pair, by a bond from the second carbon to an atom of the water.
    let neutral = CHAIN.replace(r#"eps="0" q=".1" sig="1""#, r#"eps="0" q="0" sig="1""#);
    let alone = neutral.replace(
        r#"<Exception eps=".1" p1="0" p2="3" q=".016666" sig=".2"/>"#,
        r#"<Exception eps="0" p1="0" p2="3" q="0" sig="1"/>"#,
    );
    let found = read(&alone).unwrap();
    assert_eq!(found.unknown_factors, [[0, 3]]);
    let known = alone.replace(r#"p1="0" p2="2" q="0""#, r#"p1="0" p2="2" q="-.02""#);
    let found = read(&known).unwrap();
    assert_eq!(found.unknown_factors, Vec::<[u32; 2]>::new());
    let of = |atoms| found.topology.pairs.iter().find(|pair| pair.atoms == atoms).unwrap().coulomb_scale;
    assert!((of([0, 2]) - 0.5).abs() < 1e-15 && of([0, 3]) == of([0, 2]));
    // Atoms nearer than three bonds are excluded, whatever their charges.
    assert!(found.topology.pairs.iter().all(|pair| pair.atoms != [1, 3]));
}

#[test]
fn what_is_not_understood_is_refused_with_its_line() {
    let force = |text: &str| format!("<Forces>\n{text}");
    for (from, to, expected) in [
        ("<Forces>", "<Forces", "system.xml, line "),
        ("System", "ForceField", "the XML holds a <ForceField>, not a <System>"),
        (r#"<Particle mass="16"/>"#, "", "the system has 6 particles, but the structure has 7 atoms"),
        (r#"mass="16""#, r#"mass="0""#, "line 6: atom 5 has a mass of 0 u"),
        (
            r#"<Particle mass="16"/>"#,
            r#"<Particle mass="0"><TwoParticleAverageSite p1="0" p2="1" w1=".5" w2=".5"/></Particle>"#,
            "atom 5 is a virtual site (TwoParticleAverageSite)",
        ),
        (
            r#"d=".109" p1="2" p2="3""#,
            r#"d=".109" p1="2" p2="7""#,
            "line 9: p2 of <Constraint> is '7'; valid is a particle from 0 to 6",
        ),
        (r#"d=".109" p1="2" p2="3""#, r#"d=".109" p1="2" p2="2""#, "<Constraint> names particle 2 twice"),
        (r#"d=".109""#, r#"d="0""#, "d of <Constraint> is '0'; valid is a positive number"),
        (r#"k="1000""#, r#"k="soft""#, "line 14: k of <Bond> of HarmonicBondForce is 'soft'; valid is a finite number"),
        (r#"k="1000""#, r#"k="inf""#, "k of <Bond> of HarmonicBondForce is 'inf'"),
        (r#"k="1000" "#, "", "<Bond> of HarmonicBondForce has no attribute k"),
        (r#"periodicity="3""#, r#"periodicity="-3""#, "periodicity of <Torsion> of PeriodicTorsionForce is '-3'"),
        (r#"eps=".5" q=".2""#, r#"eps="-.5" q=".2""#, "eps of <Particle> of NonbondedForce is '-.5'"),
        (
            r#"<Particle eps=".6364" q="-.834" sig=".315061"/>"#,
            "",
            "NonbondedForce has parameters for 6 particles, the system has 7",
        ),
        (r#"method="4""#, r#"method="9""#, "method of NonbondedForce is '9'; valid is a number from 0 to 5"),
        (r#"method="4""#, r#"method="4" includeDirectSpace="0""#, "NonbondedForce: includeDirectSpace = 0"),
        (
            "<GlobalParameters/>",
            "<GlobalParameters><Parameter/></GlobalParameters>",
            "NonbondedForce: global parameters",
        ),
        ("<ParticleOffsets/>", "<ParticleOffsets><Offset/></ParticleOffsets>", "NonbondedForce: offsets of particles"),
        (
            "<ExceptionOffsets/>",
            "<ExceptionOffsets><Offset/></ExceptionOffsets>",
            "NonbondedForce: offsets of exceptions",
        ),
        (
            r#"q=".1" sig="1""#,
            r#"q="0" sig="1""#,
            "q of <Exception> of NonbondedForce is '.016666'; valid is 0, since the charges",
        ),
        (
            r#"type="CMMotionRemover""#,
            r#"type="CustomExternalForce""#,
            "CustomExternalForce 'CMMotionRemover' is not supported; supported are HarmonicBondForce",
        ),
        (r#"type="NonbondedForce""#, r#"type="MonteCarloBarostat""#, "Forces has no NonbondedForce"),
    ] {
        let error = with(from, to).unwrap_err();
        assert!(error.contains(expected), "{to}:\n  expected {expected}\n  found    {error}");
    }
    let map = |size: usize, energies: usize, torsion: &str| {
        let energies = "<Energy e=\"1\"/>".repeat(energies);
        let maps = format!("<Maps><Map size=\"{size}\">{energies}</Map></Maps>");
        force(&format!("<Force type=\"CMAPTorsionForce\">{maps}<Torsions><Torsion {torsion}/></Torsions></Force>"))
    };
    let chain = r#"a1="0" a2="1" a3="2" a4="3" b1="1" b2="2" b3="3" b4="4""#;
    for (text, expected) in [
        (map(5, 25, ""), "size of <Map> of CMAPTorsionForce is '5'; valid is an even number"),
        (map(4, 15, ""), "CMAPTorsionForce: a map of size 4 has 15 energies, where 16 belong"),
        (
            map(4, 16, &format!("{chain} map=\"1\"")),
            "map of <Torsion> of CMAPTorsionForce is '1'; valid is a map from 0 to 0",
        ),
        (map(4, 16, &format!("{} map=\"0\"", chain.replace("b1=\"1\"", "b1=\"5\""))), "torsions 0 1 2 3 and 5 2 3 4"),
    ] {
        let error = with("<Forces>", &text).unwrap_err();
        assert!(error.contains(expected), "{text}:\n  expected {expected}\n  found    {error}");
    }
    let nonbonded = &CHAIN[CHAIN.find("<Force cutoff").unwrap()..CHAIN.find("<Force frequency").unwrap()];
    assert!(with("<Forces>", &force(nonbonded)).unwrap_err().contains("a second NonbondedForce"));
}
