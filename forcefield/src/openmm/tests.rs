//! What is read of small systems, and what is refused.

use std::path::Path;

use nalgebra::Vector3;

use super::{SystemXml, parse_system};
use crate::cell::Cell;
use crate::structure::Structure;
use crate::topology::{Bond, Topology};
use crate::virtual_sites::{VirtualSite, VirtualSiteKind};

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

/// A prmtop of AMBER has a bond from the oxygen to the site of its water. It is as constant as the water is rigid, and a bond of the site to an atom elsewhere is not.
#[test]
fn bonds_to_sites_of_rigid_water_are_left_out() {
    let site =
        r#"<Particle mass="0"><ThreeParticleAverageSite p1="4" p2="5" p3="6" w1=".7" w2=".15" w3=".15"/></Particle>"#;
    let text = CHAIN.replace(
        r#"<Particle mass="1.008"/>
<Particle mass="16"/>"#,
        &format!("{site}\n<Particle mass=\"16\"/>"),
    );
    let text = text.replace(r#"<Constraint d=".109" p1="2" p2="3"/>"#, "");
    let bonds = r#"<Bond d=".15" k="2000" p1="1" p2="2"/><Bond d=".016" k="462750" p1="3" p2="4"/><Bond d=".3" k="9" p1="2" p2="3"/>"#;
    let text = text.replace(r#"<Bond d=".15" k="2000" p1="1" p2="2"/>"#, bonds);
    let bonds_of = |text: &str| read(text).unwrap().topology.bonds.iter().map(|bond| bond.atoms).collect::<Vec<_>>();
    assert_eq!(bonds_of(&text), [[0, 1], [1, 2], [2, 3]]);
    // Of water that bends it is not constant.
    let free = text.replace(r#"<Constraint d=".15139" p1="5" p2="6"/>"#, "");
    assert_eq!(bonds_of(&free), [[0, 1], [1, 2], [3, 4], [2, 3]]);
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
            r#"<Particle mass="0"><SymmetrySite p1="0"/></Particle>"#,
            "line 6: atom 5 is a virtual site of the kind SymmetrySite, which is not supported; supported are TwoParticleAverageSite",
        ),
        (
            r#"<Particle mass="16"/>"#,
            r#"<Particle mass="3"><TwoParticleAverageSite p1="0" p2="1" w1=".5" w2=".5"/></Particle>"#,
            "HOH 2 O (atom 5) is a virtual site with a mass of 3 u",
        ),
        (
            r#"<Particle mass="16"/>"#,
            r#"<Particle mass="0"><TwoParticleAverageSite p1="0" p2="1" w1=".5"/></Particle>"#,
            "<TwoParticleAverageSite> has no attribute w2",
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
        (
            r#"type="CMMotionRemover""#,
            r#"type="CustomExternalForce""#,
            "CustomBondForce and CustomTorsionForce of some energies; remove it from the system: [position_restraints] of the job",
        ),
        (r#"type="CMMotionRemover""#, r#"type="DrudeForce""#, "supported are force fields of fixed charges"),
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

/// A Lennard-Jones interaction by types, with exclusions as those of the chain.
fn by_types(energy: &str, parameters: &str, particles: &str, rest: &str) -> String {
    let excluded = [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3], [0, 3], [4, 5], [4, 6], [5, 6]];
    let excluded: String = excluded.iter().map(|[i, j]| format!("<Exclusion p1=\"{i}\" p2=\"{j}\"/>")).collect();
    format!(
        "<Forces><Force energy=\"{energy}\" name=\"LJ\" type=\"CustomNonbondedForce\" method=\"2\" cutoff=\"1.2\" useSwitchingFunction=\"1\" \
         switchingDistance=\"1\"><PerParticleParameters>{parameters}</PerParticleParameters><GlobalParameters/><Particles>{particles}</Particles>\
         <Exclusions>{excluded}</Exclusions>{rest}</Force>"
    )
}

/// c12 = 1e-6 (1 + 2 (i + j)) and c6 = 1e-3 of types i and j, and those of atoms 1 (type 0) and 3 (type 1).
const TABLES: &str = r#"<Functions>
<Function name="a" type="Discrete2DFunction" xsize="2" ysize="2"><Values><Value v="1e-6"/><Value v="3e-6"/><Value v="3e-6"/><Value v="5e-6"/></Values></Function>
<Function name="b" type="Discrete2DFunction" xsize="2" ysize="2"><Values><Value v=".001"/><Value v=".001"/><Value v=".001"/><Value v=".001"/></Values></Function>
</Functions>"#;
const TYPES: &str = r#"<Particle param1="0"/><Particle param1="0"/><Particle param1="1"/><Particle param1="1"/><Particle param1="1"/><Particle param1="0"/><Particle param1="0"/>"#;

#[test]
fn lennard_jones_by_types_is_told_by_its_values() {
    let parameter = r#"<Parameter name="type"/>"#;
    for energy in [
        "a(type1, type2)/r^12 - b(type1, type2)/r^6;",
        "A/r6^2-B/r6;r6=r^6;A=a(type1,type2);B=b(type1,type2)",
        "(sqrt(a(type1,type2))/r6)^2-b(type1,type2)/r6; r6=r^6",
    ] {
        let found = with("<Forces>", &by_types(energy, parameter, TYPES, TABLES)).unwrap();
        let top = found.topology;
        let own = |sigma: f64, epsilon: f64| (4.0 * epsilon * sigma.powi(6), 4.0 * epsilon * sigma.powi(12));
        let [first, third, last] = [0, 2, 6].map(|atom: usize| top.atoms[atom].type_index);
        for (i, j, sigma, epsilon, c12) in
            [(first, third, 0.325, 0.2f64.sqrt(), 3e-6), (third, third, 0.35, 0.4, 5e-6), (last, last, 0.0, 0.0, 1e-6)]
        {
            let ((c6, twelve), (own6, own12)) = (top.lj.get(i, j), own(sigma, epsilon));
            // Two values far apart give both coefficients to twelve digits.
            assert!((c6 - own6 - 1e-3).abs() < 1e-12 * c6 && (twelve - own12 - c12).abs() < 1e-11 * twelve, "{energy}");
        }
        assert!(
            found.notes.iter().any(|note| note.contains("a cut-off of 1.2 nm, switched from 1 nm")),
            "{:?}",
            found.notes
        );
    }
    // These tables follow no rule by which pairs of another type would be known.
    let top = with("<Forces>", &by_types("a(type1, type2)/r^12 - b(type1, type2)/r^6;", parameter, TYPES, TABLES))
        .unwrap()
        .topology;
    assert!(top.atom_types.iter().all(|one| one.name != "LJ 0.25 0.1"), "{:?}", top.atom_types);
    // Geometric rule, by parameters of particles.
    let particles = r#"<Particle param1=".03" param2=".002"/>"#.repeat(7);
    let parameters = r#"<Parameter name="C"/><Parameter name="A"/>"#;
    let top = with("<Forces>", &by_types("A1*A2/r^12-C1*C2/r^6", parameters, &particles, "")).unwrap().topology;
    let (c6, c12) = top.lj.get(top.atoms[6].type_index, top.atoms[6].type_index);
    assert!((c6 - 9e-4).abs() < 1e-15 && (c12 - 4e-6).abs() < 1e-17);
}

/// Corrections of pairs: a custom force beside the Lennard-Jones interactions of all atoms that is zero but between two kinds. It changes that pair alone, and no type
/// with itself, by which fingerprints of residues and water models are known.
#[test]
fn a_correction_of_a_pair_changes_that_pair_alone() {
    let table = |name: &str, value: f64| {
        let values: String =
            [0.0, 0.0, 0.0, 0.0, 0.0, value, 0.0, value, 0.0].iter().map(|v| format!("<Value v=\"{v}\"/>")).collect();
        format!(
            "<Function name=\"{name}\" type=\"Discrete2DFunction\" xsize=\"3\" ysize=\"3\"><Values>{values}</Values></Function>"
        )
    };
    let tables = format!("<Functions>{}{}</Functions>", table("a", 3e-6), table("b", 2e-3));
    let particles: String = [1, 0, 2, 0, 0, 0, 0].iter().map(|kind| format!("<Particle param1=\"{kind}\"/>")).collect();
    let energy = "a(kind1, kind2)/r^12 - b(kind1, kind2)/r^6";
    let text = by_types(energy, r#"<Parameter name="kind"/>"#, &particles, &tables);
    let (top, plain) = (with("<Forces>", &text).unwrap().topology, read(CHAIN).unwrap().topology);
    let of = |top: &Topology, i: usize, j: usize| top.lj.get(top.atoms[i].type_index, top.atoms[j].type_index);
    for (i, j) in (0..7).flat_map(|i| (0..7).map(move |j| (i, j))) {
        let ((c6, c12), (was6, was12)) = (of(&top, i, j), of(&plain, i, j));
        let (more6, more12) = if [i.min(j), i.max(j)] == [0, 2] { (2e-3, 3e-6) } else { (0.0, 0.0) };
        // Two values far apart give both coefficients to twelve digits; what is zero everywhere is zero.
        assert!(
            (c6 - was6 - more6).abs() <= 1e-11 * more6 && (c12 - was12 - more12).abs() <= 1e-11 * more12,
            "{i} {j}"
        );
    }
    assert_eq!(top.pairs, plain.pairs);
}

/// The chain with a custom force on its first atoms.
fn custom(kind: &str, energy: &str, parameters: [&str; 2], values: [f64; 2]) -> Result<SystemXml, String> {
    let [list, entry, end] =
        if kind == "Bond" { ["Bonds", "Bond", ""] } else { ["Torsions", "Torsion", "p3=\"2\" p4=\"3\" "] };
    let names: String = parameters.iter().map(|name| format!("<Parameter name=\"{name}\"/>")).collect();
    let [a, b] = values;
    let [p1, p2] = if kind == "Bond" { [0, 3] } else { [0, 1] };
    with(
        "<Forces>",
        &format!(
            "<Forces><Force energy=\"{energy}\" type=\"Custom{kind}Force\"><Per{kind}Parameters>{names}</Per{kind}Parameters><GlobalParameters>\
         <Parameter default=\"2\" name=\"scale\"/></GlobalParameters><{list}><{entry} p1=\"{p1}\" p2=\"{p2}\" {end}param1=\"{a}\" \
         param2=\"{b}\"/></{list}></Force>"
        ),
    )
}

#[test]
fn pairs_and_distances_of_custom_bonds() {
    for (energy, names, values) in [
        ("4*epsilon*((sigma/r)^12-(sigma/r)^6)", ["sigma", "epsilon"], [0.3, 0.5]),
        ("2*scale*e*(s^12-s^6); s=d/r", ["e", "d"], [0.5, 0.3]),
        ("-C/r^6+A/r^12", ["C", "A"], [2.0 * 0.3f64.powi(6), 2.0 * 0.3f64.powi(12)]),
    ] {
        let top = custom("Bond", energy, names, values).unwrap().topology;
        let [pair] = top.pairs[..] else { panic!("{:?}", top.pairs) };
        let own = 4.0 * 0.1 * 0.2f64.powi(6);
        // It is added to the exception of the same atoms, which keeps its factor.
        assert!((pair.c6 - own - 2.0 * 0.3f64.powi(6)).abs() < 1e-15 && (pair.coulomb_scale - 0.8333).abs() < 1e-12);
    }
    let top = custom("Bond", "scale*k*(r-r0)^2", ["k", "r0"], [400.0, 0.37]).unwrap().topology;
    assert_eq!(top.bonds.first().map(|bond| (bond.atoms, bond.r0, bond.k)), Some(([0, 3], 0.37, 1600.0)));
    // The length at rest is in the formula and in no parameter, or has another unit there.
    for energy in ["k*(r-rest)^2; rest=0.37", "k*(10*r-z)^2/100"] {
        let top = custom("Bond", energy, ["k", "z"], [400.0, 3.7]).unwrap().topology;
        let Bond { atoms, r0, k } = top.bonds[0];
        assert!(atoms == [0, 3] && (r0 - 0.37).abs() < 1e-12 && (k - 800.0).abs() < 1e-9, "{energy}: {r0} {k}");
    }
}

/// A function that is zero at the distances of bonds and pairs need not be zero everywhere: restraints with a flat bottom act far away.
#[test]
fn what_acts_only_far_away_is_no_energy_of_zero() {
    for energy in ["k*max(0, r-z)^2", "k*step(r-z)*(r-z)", "k*step(r-z)/r^6"] {
        for z in [3.5, 9.0, 25.0, 100.0] {
            let error = custom("Bond", energy, ["k", "z"], [50.0, z]).unwrap_err();
            assert!(error.contains("its values are not of a form that is computed"), "{energy}, z = {z}: {error}");
        }
    }
    let list = r#"<Parameter name="k"/>"#;
    let error = with("<Forces>", &by_types("k1*step(r-3.5)*(r-3.5)", list, TYPES, ""));
    assert!(error.unwrap_err().contains("its values are not of a form that is computed"));
}

#[test]
fn harmonic_impropers_are_told_by_their_values() {
    for (energy, names, values, xi0, k) in [
        (
            "k*min(d, 2*pi - d)^2; d = abs(theta - theta0); pi = 3.141592653589793",
            ["k", "theta0"],
            [50.0, 0.3],
            0.3,
            100.0,
        ),
        ("k*min(d,2*pi-d)^2;d=abs(theta-t);pi=3.1415926535", ["k", "t"], [50.0, -3.0], -3.0, 100.0),
        (
            "0.5*k*(t-z)^2; t = step(-(theta-z+pi))*2*pi+theta+step(theta-z-pi)*(-2*pi); pi = 3.14159265358979",
            ["z", "k"],
            [2.0, 70.0],
            2.0,
            70.0,
        ),
        // The angle at rest is in the formula.
        (
            "k*min(d, 2*pi - d)^2; d = abs(theta - 0.5); pi = 3.141592653589793",
            ["k", "theta0"],
            [50.0, 0.3],
            0.5,
            100.0,
        ),
        // Without the turn it is the same function where nothing has to be turned.
        ("k*(theta-theta0)^2", ["k", "theta0"], [50.0, 0.0], 0.0, 100.0),
    ] {
        let top = custom("Torsion", energy, names, values).unwrap().topology;
        let [one] = top.harmonic_impropers[..] else { panic!("{:?}", top.harmonic_impropers) };
        let is_close = (one.xi0 - xi0).abs() < 1e-12 && (one.k - k).abs() < 1e-9;
        assert!(one.atoms == [0, 1, 2, 3] && is_close, "{energy}: {one:?}");
    }
    assert!(custom("Torsion", "k*(theta-z)^2", ["k", "z"], [0.0, 0.0]).unwrap().topology.harmonic_impropers.is_empty());
}

#[test]
fn other_energies_are_refused_with_their_expression() {
    let of = |kind, energy, values| custom(kind, energy, ["k", "z"], values).unwrap_err();
    for (error, expected) in [
        (
            of("Torsion", "k*(theta-z)^2", [50.0, 0.3]),
            "CustomTorsionForce has the energy \"k*(theta-z)^2\", which is not supported: with k = 50, z = 0.3",
        ),
        (
            of("Torsion", "k*(1-cos(theta))", [50.0, 0.0]),
            "valid is any form of k/2 (theta - theta0)^2 that takes the difference between -pi and pi",
        ),
        (of("Bond", "k*(r^2-z^2)^2", [50.0, 0.3]), "valid is any form of c12/r^12 - c6/r^6 or of k/2 (r - r0)^2"),
        (of("Bond", "k*step(0.8-r)/r^6", [50.0, 0.3]), "with k = 50, z = 0.3 its values are not"),
        (of("Bond", "k*bessel(r)", [50.0, 0.3]), "\"k*bessel(r)\", which is not supported: bessel() is not known"),
    ] {
        assert!(error.contains(expected), "\n  expected {expected}\n  found    {error}");
    }
    let parameter = r#"<Parameter name="type"/>"#;
    let pairs = "a(type1,type2)/r^12-b(type1,type2)/r^6";
    let cut = by_types(pairs, parameter, TYPES, TABLES).replace(r#"<Exclusion p1="0" p2="3"/>"#, "");
    let more =
        by_types(pairs, parameter, TYPES, TABLES).replace("<Exclusions>", r#"<Exclusions><Exclusion p1="2" p2="6"/>"#);
    for (text, expected) in [
        (by_types("a(type1,type2)/r^12-type1/r^4", parameter, TYPES, TABLES), "valid is any form of c12/r^12 - c6/r^6"),
        (by_types("type1/r^6", parameter, TYPES, TABLES), "it changes when the two particles are exchanged"),
        (
            by_types(pairs, parameter, r#"<Particle param1="0"/>"#, TABLES),
            "CustomNonbondedForce 'LJ' has parameters for 1 particles, the system has 7",
        ),
        (
            by_types(pairs, parameter, TYPES, &TABLES.replace("Discrete2DFunction", "Continuous2DFunction")),
            "a tabulated function of type Continuous2DFunction",
        ),
        (
            by_types(pairs, parameter, TYPES, "<InteractionGroups><InteractionGroup/></InteractionGroups>"),
            "'LJ': interaction groups are not supported",
        ),
        (
            by_types(pairs, parameter, TYPES, "<ComputedValues><Value/></ComputedValues>"),
            "'LJ': computed values are not supported",
        ),
        (cut, "'LJ' does not exclude the pair of particles 0 and 3"),
        (more, "'LJ' excludes the pair of particles 2 and 6"),
    ] {
        let error = with("<Forces>", &text).unwrap_err();
        assert!(error.contains(expected), "\n  expected {expected}\n  found    {error}");
    }
}

/// Expressions that programs write. None ends the process, and a message stays readable.
#[test]
fn energies_of_many_terms_are_read_and_deep_ones_refused_with_their_line() {
    let doubled: String = (0..26).map(|k| format!("a{k}; a{k}=a{0}+", k + 1)).collect();
    let zeros = vec!["0*r"; 200_000].join("+");
    for energy in [&zeros, &format!("{doubled}a26; a26=0*r")] {
        let top = custom("Bond", &format!("k*(r-z)^2+{energy}"), ["k", "z"], [400.0, 0.3]).unwrap().topology;
        assert_eq!(top.bonds.first().map(|bond| (bond.r0, bond.k)), Some((0.3, 800.0)));
    }
    let nested = format!("{}r{}", "(".repeat(100_000), ")".repeat(100_000));
    let unknown = format!("{zeros}+q");
    for (energy, expected) in
        [(&nested, "nested too deep; valid are 200 levels of parentheses"), (&unknown, "q is not known")]
    {
        let error = custom("Bond", energy, ["k", "z"], [400.0, 0.3]).unwrap_err();
        assert!(error.starts_with("system.xml, line 12: CustomBondForce has the energy"), "{error}");
        assert!(error.contains(expected) && error.len() < 1000, "{error}");
    }
}

#[test]
fn virtual_sites_of_every_kind() {
    let mut structure = structure();
    let particles = r#"<Particle mass="16"/><Particle mass="1.008"/><Particle mass="1.008"/>"#;
    let sites = r#"<Particle mass="0"><TwoParticleAverageSite p1="4" p2="5" w1=".25" w2=".75"/></Particle>
<Particle mass="0"><ThreeParticleAverageSite p1="4" p2="5" p3="6" w1=".5" w2=".25" w3=".25"/></Particle>
<Particle mass="0"><OutOfPlaneSite p1="4" p2="5" p3="6" w12=".3" w13=".2" wc="4"/></Particle>
<Particle mass="0"><LocalCoordinatesSite p1="4" p2="5" p3="6" pos1=".01" pos2=".02" pos3=".03" wo1="1" wo2="0" wo3="0" wx1="-1" wx2=".5" wx3=".5" wy1="-1" wy2="1" wy3="0"/></Particle>"#;
    let parameters = r#"<Particle eps="0" q=".417" sig=".1"/>"#;
    let text = CHAIN.replace(particles, &format!("{particles}{sites}"));
    let text = text.replace(parameters, &format!("{parameters}{}", r#"<Particle eps="0" q="0" sig="1"/>"#.repeat(4)));
    for name in ["A", "B", "C", "D"] {
        structure.positions.push(Vector3::zeros());
        structure.names.push(("HOH".into(), name.into()));
        structure.residue_numbers.push(2);
    }
    let top = parse_system(&text, Path::new("system.xml"), &structure, &[]).unwrap().topology;
    let local = VirtualSiteKind::LocalCoordinates {
        origin: vec![1.0, 0.0, 0.0],
        x: vec![-1.0, 0.5, 0.5],
        y: vec![-1.0, 1.0, 0.0],
        position: [0.01, 0.02, 0.03],
    };
    assert_eq!(
        top.virtual_sites,
        [
            VirtualSite::average2(7, [4, 5], [0.25, 0.75]),
            VirtualSite::average3(8, [4, 5, 6], [0.5, 0.25, 0.25]),
            VirtualSite::out_of_plane(9, [4, 5, 6], [0.3, 0.2, 4.0]),
            VirtualSite { site: 10, parents: vec![4, 5, 6], kind: local },
        ]
    );
    // They belong to the molecule of their parents, which is a rigid water still.
    assert_eq!((top.molecules[1].atoms.clone(), top.settles.len(), top.constraints.len()), (4..11, 1, 1));
}
