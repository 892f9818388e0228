//! Every refusal of the topology reader: file, line, what was found, what is supported. And the preprocessor.

use std::path::PathBuf;

use forcefield::Topology;
use forcefield::bonded::Bonded;
use forcefield::gromacs::{Symbols, TopologyError, read_topology, read_topology_keeping};
use forcefield::topology::{Bond, BondConstraints};
use nalgebra::Vector3;

const HEAD: &str =
    "[ defaults ]\n1 2 yes 0.5 0.8333\n[ atomtypes ]\nC 6 12 0 A 0.3 0.4\nH 1 1 0 A 0 0\nV 0 0 0 V 0 0\n";
const METHANE: &str = "[ moleculetype ]\nMET 3\n[ atoms ]\n1 C 1 MET C 1\n2 H 1 MET H1 1\n3 H 1 MET H2 1\n";
const TAIL: &str = "[ system ]\nmethane\n[ molecules ]\nMET 1\n";

fn read(text: &str, defines: &[(String, Option<String>)]) -> Result<Topology, TopologyError> {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("test.top");
    std::fs::write(&path, text).unwrap();
    read_topology(&path, &[], defines)
}

/// `middle` stands on line 13 and the following; the error must name `line` and contain all of `words`.
fn refused(middle: &str, line: usize, words: &[&str]) {
    message_of(&format!("{HEAD}{METHANE}{middle}\n{TAIL}"), line, words);
}

fn message_of(text: &str, line: usize, words: &[&str]) {
    let error = read(text, &[]).expect_err(text);
    let message = error.to_string();
    assert_eq!(error.line, line, "{message}");
    assert!(error.file.ends_with("test.top"));
    for word in words.iter().chain([&"test.top"]) {
        assert!(message.contains(word), "'{word}' not in: {message}");
    }
}

#[test]
fn the_unchanged_topology_is_read() {
    let top = read(&format!("{HEAD}{METHANE}{TAIL}"), &[]).unwrap();
    assert_eq!(top.n_atoms(), 3);
    assert_eq!(top.atom_types.len(), 2);
}

#[test]
fn unsupported_sections() {
    for name in [
        "virtual_sites4",
        "dummies3",
        "intermolecular_interactions",
        "pairs_nb",
        "distance_restraints",
        "dihedral_restraints",
        "polarization",
        "bodns",
    ] {
        refused(&format!("[ {name} ]\n1 2"), 13, &[name, "not supported", "dihedrals", "position_restraints"]);
    }
    refused("[ bonds", 13, &["[ bonds", "section header"]);
}

/// Function 6 of `[ bonds ]` is a harmonic distance between atoms that are not bonded: GROMACS excludes nothing for it, and constraints leave it as it is.
#[test]
fn harmonic_distances_exclude_nothing_and_are_not_held_fixed() {
    let bonds = "[ bonds ]\n1 2 1 0.1 10\n";
    let plain = read(&format!("{HEAD}{METHANE}{bonds}{TAIL}"), &[]).unwrap();
    let types = "[ bondtypes ]\nC H 6 0.3 20\n";
    let given = read(&format!("{HEAD}{METHANE}{bonds}1 3 6 0.3 20\n{TAIL}"), &[]).unwrap();
    let mut by_type = read(&format!("{HEAD}{types}{METHANE}{bonds}1 3 6\n{TAIL}"), &[]).unwrap();
    for top in [&given, &by_type] {
        assert_eq!((&top.exclusions, &top.bonds), (&plain.exclusions, &plain.bonds));
        assert_eq!(top.distances, [Bond { atoms: [0, 2], r0: 0.3, k: 20.0 }]);
    }
    let x = [Vector3::zeros(), Vector3::new(0.1, 0.0, 0.0), Vector3::new(0.0, 0.5, 0.0)];
    let mut forces = vec![Vector3::zeros(); 3];
    let energy = Bonded::new(&given).evaluate(&given, &x, &mut forces).bonds.energy;
    assert!((energy - 0.5 * 20.0 * 0.2 * 0.2).abs() < 1e-14, "{energy}");
    assert!((forces[2] - Vector3::new(0.0, -4.0, 0.0)).norm() < 1e-14, "{forces:?}");
    by_type.constrain_bonds(BondConstraints::AllBonds);
    assert_eq!((by_type.constraints.len(), by_type.distances.len()), (1, 1));
}

/// Force fields of GROMACS up to 2018 have parameters of implicit solvent, which only an .mdp could ask for.
#[test]
fn parameters_of_implicit_solvent_change_nothing() {
    let with = format!(
        "{HEAD}[ implicit_genborn_params ]\nH 0.1 1 1.0 0.12 0.85\nnowhere 0.1 1\n[ implicit_surface_params ]\nH 0.1\n{METHANE}{TAIL}"
    );
    let without = format!("{HEAD}{METHANE}{TAIL}");
    assert_eq!(read(&with, &[]).unwrap(), read(&without, &[]).unwrap());
    // They belong to the force field and not to a molecule.
    refused("[ implicit_genborn_params ]\nH 0.1 1 1.0 0.12 0.85", 13, &["cannot stand here"]);
}

#[test]
fn unsupported_functions() {
    refused("[ bonds ]\n1 2 5", 14, &["[ bonds ]", "type 5", "1 (harmonic)"]);
    refused("[ bonds ]\n1 2 7 0.1 10", 14, &["type 7", "6 (harmonic, without exclusions)"]);
    refused("[ pairs ]\n1 2 2 0.5 1 1 1 1", 14, &["[ pairs ]", "type 2"]);
    refused("[ angles ]\n2 1 3 2 90 10", 14, &["type 2", "5 (Urey–Bradley)"]);
    refused("[ constraints ]\n1 2 3 0.1", 14, &["type 3"]);
    refused("[ settles ]\n1 2 0.1 0.16", 14, &["[ settles ]", "type 2"]);
    refused("[ position_restraints ]\n1 2 1 1 1", 14, &["type 2", "1 (harmonic)"]);
    let four = format!("{METHANE}4 H 1 MET H3 1\n[ dihedrals ]\n1 2 3 4 8 1 2\n{TAIL}");
    message_of(&format!("{HEAD}{four}"), 15, &["[ dihedrals ]", "type 8", "9 (periodic, several terms)"]);
    message_of("[ defaults ]\n2 2\n", 2, &["non-bonded function '2'", "Lennard-Jones"]);
    message_of("[ defaults ]\n1 4\n", 2, &["combination rule '4'"]);
    message_of("[ defaults ]\n1 2 maybe\n", 2, &["gen-pairs 'maybe'", "yes, no"]);
    message_of("[ defaults ]\n1 2 yes 1 1 9\n", 2, &["repulsion power '9'", "12"]);
    message_of(&format!("{HEAD}[ bondtypes ]\nC H 3 0.1 4 5\n"), 8, &["[ bondtypes ]", "type 3"]);
}

#[test]
fn wrong_numbers() {
    refused("[ bonds ]\n1 2 1 0.1", 14, &["1 parameters", "expected 2"]);
    refused("[ bonds ]\n1 2 1 gb_2", 14, &["column 4", "finite number", "'gb_2'"]);
    refused("[ bonds ]\n1 2 1 0.1 nan", 14, &["column 5", "'nan'"]);
    refused("[ bonds ]\n1 2 1 0.1 10 0.2 10", 14, &["state (B)", "not supported"]);
    refused("[ bonds ]\n1 x 1", 14, &["column 2", "integer", "'x'"]);
    refused("[ bonds ]\n1 9 1", 14, &["atom 9", "'MET'", "1 to 3"]);
    refused("[ bonds ]\n2 2 1 0.1 3", 14, &["atom 2 twice"]);
    refused("[ bonds ]\n1", 14, &["1 columns"]);
    refused("[ settles ]\n2 1 0.1 0.16", 14, &["atom 4"]);
    refused("[ settles ]\n1 1 0.1 0.26", 14, &["d_HH < 2 d_OH"]);
    refused("[ constraints ]\n1 2 1 -0.1", 14, &["length", "positive"]);
    refused("[ exclusions ]\n1 2 7", 14, &["atom 7"]);
    refused("[ bonds ]\n1 2 1", 14, &["no parameters", "atom types C H", "C 1, H1 2"]);
    refused("[ atoms ]\n5 H 1 MET H 1", 14, &["number 5", "4 was expected"]);
    refused("[ atoms ]\n4 Q 1 MET H 1", 14, &["atom type 'Q'", "[ atomtypes ]"]);
    refused("[ atoms ]\n4 H 1 MET H 1 0.1 0", 14, &["mass 0", "MET 1 H", "positive"]);
    refused("[ atoms ]\n4 V 1 MET M 1", 14, &["particle kind V", "virtual sites", "[ virtual_sites3 ]"]);
    refused("[ atoms ]\n4 H 1 MET H 1 0.1 1 H 0.2 1", 14, &["state (B)"]);
    message_of(&format!("{HEAD}{METHANE}[ system ]\nx\n[ molecules ]\nMET -1\n"), 16, &["count is -1"]);
    message_of(&format!("{HEAD}{METHANE}[ system ]\nx\n[ molecules ]\nPRO 1\n"), 16, &["'PRO'", "MET"]);
    message_of(
        &format!("{HEAD}{METHANE}[ system ]\nx\n[ molecules ]\nMET 99999999\n"),
        0,
        &["299999997 atoms", "at most"],
    );
    message_of(&format!("{HEAD}{METHANE}[ system ]\nx\n"), 0, &["no atoms", "[ molecules ]"]);
    message_of("[ defaults ]\n1\n", 2, &["1 columns", "comb-rule"]);
    message_of(&format!("{HEAD}[ moleculetype ]\nNIL 1\n[ system ]\nx\n[ molecules ]\nNIL 1\n"), 12, &["no [ atoms ]"]);
    message_of(&format!("{HEAD}D 1 1 0\n"), 7, &["[ atomtypes ]", "4 columns"]);
    message_of("[ defaults ]\n1 1\n[ atomtypes ]\nC 6 12 0 A -1e-3 1e-6\n", 4, &["c6 is -0.001", "zero or positive"]);
}

#[test]
fn virtual_sites_that_cannot_be_placed() {
    // The molecule has four atoms, the last one without mass.
    let site = |lines: &str| format!("[ atoms ]\n4 V 1 MET M 1\n{lines}");
    let text = |lines: &str| format!("{HEAD}{METHANE}{}\n{TAIL}", site(lines));
    assert_eq!(read(&text("[ virtual_sites2 ]\n4 1 2 1 0.3"), &[]).unwrap().virtual_sites.len(), 1);
    for (lines, line, words) in [
        ("[ virtual_sites2 ]\n4 1 2 3 0.3", 16, &["[ virtual_sites2 ]", "type 3", "2 (fixed distance)"][..]),
        ("[ virtual_sites3 ]\n4 1 2 3 5 0.3 0.2", 16, &["[ virtual_sites3 ]", "type 5", "4 (3out)"]),
        ("[ virtual_sites3 ]\n4 1 2 3 1 0.3", 16, &["1 parameters", "expected 2"]),
        ("[ virtual_sites3 ]\n4 1 2 3 4 0.3 0.2", 16, &["2 parameters", "expected 3"]),
        ("[ virtual_sites3 ]\n4 1 2 3 1", 16, &["no parameters", "pdb2gmx -vsite", "hydrogen_mass", "function a b"]),
        ("[ virtual_sites2 ]\n4 1 2 1", 16, &["[ virtual_sites2 ] line has no parameters", "function a"]),
        ("[ virtual_sites3 ]\n4 1 2 3", 16, &["no parameters"]),
        ("[ virtual_sites3 ]\n4 1 2 2 1 0.3 0.2", 16, &["atom 2 twice"]),
        ("[ virtual_sites3 ]\n4 1 2 9 1 0.3 0.2", 16, &["atom 9", "1 to 4"]),
        ("[ virtual_sitesn ]\n4 4 1 2", 16, &["[ virtual_sitesn ]", "type 4", "2 (centre of mass)"]),
        ("[ virtual_sitesn ]\n4 3 1 0.5 2", 16, &["5 columns"]),
        ("[ virtual_sitesn ]\n4 3 1 0.5 2 -0.5", 16, &["sum of weights is 0", "positive"]),
        ("[ virtual_sites1 ]\n4 1 2", 16, &["[ virtual_sites1 ]", "type 2"]),
        ("[ virtual_sites1 ]\n4 1\n4 2", 8, &["'MET'", "MET 1 M (atom 4) is constructed as a virtual site twice"]),
        ("[ virtual_sites1 ]\n4 1\n3 2", 8, &["MET 1 H2 (atom 3)", "mass of 1 u"]),
        ("[ constraints ]\n1 4 1 0.1\n[ virtual_sites1 ]\n4 1", 8, &["held fixed", "is a virtual site"]),
        (
            "[ position_restraints ]\n4 1 1 1 1\n[ virtual_sites1 ]\n4 1",
            8,
            &["position restraint", "restrain its parents"],
        ),
    ] {
        refused(&site(lines), line, words);
    }
    refused(
        "[ atoms ]\n4 V 1 MET M 1 0 0\n5 V 1 MET M2 1\n[ virtual_sites1 ]\n4 5\n5 1",
        8,
        &["follows MET 1 M2 (atom 5)"],
    );
    let shell = HEAD.replace("V 0 0 0 V 0 0", "V 0 0 0 S 0 0");
    message_of(
        &format!("{shell}{METHANE}{}\n{TAIL}", site("[ virtual_sites1 ]\n4 1")),
        14,
        &["particle kind S", "no shells"],
    );
}

/// Each function against its formula in the manual of GROMACS.
#[test]
fn virtual_sites_are_where_gromacs_puts_them() {
    let x = [[0.1, 0.2, 0.3], [0.19, 0.22, 0.27], [0.05, 0.28, 0.35], [0.0; 3]].map(Vector3::<f64>::from);
    let [i, j, k, _] = x;
    let (ij, ik, jk) = (j - i, k - i, k - j);
    let along = 0.7 * ij + 0.3 * ik;
    let across = jk - ij * (ij.dot(&jk) / ij.norm_squared());
    let (sine, cosine) = 115.0_f64.to_radians().sin_cos();
    for (lines, expected) in [
        ("[ virtual_sites1 ]\n4 2", j),
        ("[ virtual_sites2 ]\n4 1 2 1 0.3", i + 0.3 * ij),
        ("[ virtual_sites2 ]\n4 1 2 2 0.03", i + 0.03 * ij.normalize()),
        ("[ virtual_sites3 ]\n4 1 2 3 1 0.3 0.2", i + 0.3 * ij + 0.2 * ik),
        ("[ virtual_sites3 ]\n4 1 2 3 2 0.3 0.02", i + 0.02 * along.normalize()),
        (
            "[ virtual_sites3 ]\n4 1 2 3 3 115 0.05",
            i + 0.05 * cosine * ij.normalize() + 0.05 * sine * across.normalize(),
        ),
        ("[ virtual_sites3 ]\n4 1 2 3 4 -0.3 -0.2 6.5", i - 0.3 * ij - 0.2 * ik + 6.5 * ij.cross(&ik)),
        ("[ virtual_sitesn ]\n4 1 1 2 3", (i + j + k) / 3.0),
        ("[ virtual_sitesn ]\n4 2 1 2 3", (12.0 * i + j + k) / 14.0),
        ("[ virtual_sitesn ]\n4 3 1 2.0 3 6.0", (i + 3.0 * k) / 4.0),
    ] {
        let top = read(&format!("{HEAD}{METHANE}[ atoms ]\n4 V 1 MET M 1\n{lines}\n{TAIL}"), &[]).unwrap();
        let mut placed = x;
        forcefield::virtual_sites::place(&top.virtual_sites, &mut placed);
        assert!((placed[3] - expected).norm() < 1e-14, "{lines}: {}", placed[3] - expected);
    }
}

#[test]
fn sections_out_of_place() {
    refused("[ bondtypes ]\nC H 1 0.1 10", 13, &["[ bondtypes ]", "before the first [ moleculetype ]"]);
    refused("[ defaults ]\n1 1", 13, &["[ defaults ]"]);
    refused("[ molecules ]\nMET 1", 13, &["[ system ]"]);
    message_of("[ atomtypes ]\n", 1, &["[ defaults ]", "first"]);
    message_of(&format!("{HEAD}[ bonds ]\n"), 7, &["[ moleculetype ]"]);
    message_of(&format!("{HEAD}{METHANE}{TAIL}[ moleculetype ]\n"), 17, &["[ system ] and [ molecules ] come last"]);
    message_of("stray text\n", 1, &["'stray text'", "[ defaults ]"]);
    message_of("", 0, &["[ defaults ]"]);
}

#[test]
fn contradictions() {
    message_of(&format!("{HEAD}C 6 12 0 A 0.3 0.5\n"), 7, &["atom type 'C'", "line 4"]);
    refused("[ moleculetype ]\nMET 1", 14, &["molecule type 'MET'", "line 8"]);
    let with = |lines: &str| format!("{HEAD}{lines}");
    message_of(&with("[ bondtypes ]\nC H 1 0.1 2\nH C 1 0.1 3\n"), 9, &["[ bondtypes ] H C", "line 8"]);
    message_of(&with("[ nonbond_params ]\nC H 1 0.1 2\nC H 1 0.1 3\n"), 9, &["[ nonbond_params ] C H"]);
    let split = "[ dihedraltypes ]\nC C C H 9 0 1 1\nC C C C 9 0 1 1\nC C C H 9 0 2 2\n";
    message_of(&with(split), 10, &["C C C H", "consecutive lines", "line 8"]);
    message_of(&with("[ dihedraltypes ]\nC C C H 2 0 1\nH C C C 2 0 2\n"), 9, &["second time", "line 8"]);
    message_of(&with("[ dihedraltypes ]\nC C C H 9 0 1 1.5\n"), 8, &["multiplicity is 1.5"]);
    message_of(&with("[ cmaptypes ]\nC C C C C 1 3 3 1 2 3\n"), 8, &["3 parameters", "3 × 3 = 9"]);
}

#[test]
fn preprocessor_lines() {
    refused("#include \"none.itp\"", 13, &["\"none.itp\"", "not found", "looked in"]);
    refused("#include none.itp", 13, &["quotes"]);
    refused("#include \"test.top\"", 13, &["circle"]);
    refused("#ifdef A", 13, &["no #endif"]);
    refused("#else", 13, &["no open #ifdef"]);
    refused("#endif", 13, &["no open #ifdef"]);
    refused("#if A > 1", 13, &["#if A > 1", "#ifdef NAME"]);
    refused("#pragma once", 13, &["#pragma once", "not supported"]);
    refused("#define", 13, &["lacks a name"]);
    refused("#error choose a water model", 13, &["choose a water model"]);
    refused("#define A A\n[ bonds ]\n1 2 A", 15, &["macro 'A' is defined by itself"]);
    refused("#define A B\n#define B A\n[ bonds ]\n1 2 A", 16, &["macro 'A' is defined by itself"]);
    let chain = |n: usize, end: &str| {
        let levels: Vec<String> = (0..n).map(|k| format!("#define M{k} M{}", k + 1)).collect();
        format!("{}\n#define M{n} {end}\n[ bonds ]\n1 2 M0 0.1 7", levels.join("\n"))
    };
    let top = read(&format!("{HEAD}{METHANE}{}\n{TAIL}", chain(199, "1")), &[]).unwrap();
    assert_eq!(top.bonds, [Bond { atoms: [0, 1], r0: 0.1, k: 7.0 }]);
    refused(&chain(200, "1"), 215, &["more than 200 levels", "'M200'", "valid are 200 levels"]);
    refused(&chain(50_000, "SOL"), 50_015, &["more than 200 levels"]);
    refused(&chain(50_000, "M0"), 50_015, &["more than 200 levels"]);
    // Each level doubles the line: forty would fill the memory.
    let levels: Vec<String> = (0..40).map(|k| format!("#define A{k} A{0} A{0}", k + 1)).collect();
    refused(&format!("{}\n[ bonds ]\n1 2 A0", levels.join("\n")), 54, &["more than 10000000 characters"]);
}

#[test]
fn files_that_include_files_have_a_limit() {
    let folder = temp_dir::TempDir::new().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    for k in 1..5000 {
        write(&format!("{k}.itp"), &format!("#include \"{}.itp\"\n", k + 1));
    }
    write("5000.itp", "");
    let read = |first: usize| {
        write("test.top", &format!("{HEAD}#include \"{first}.itp\"\n{METHANE}{TAIL}"));
        read_topology(&folder.path().join("test.top"), &[], &[])
    };
    // 199 files beside the topology itself.
    assert_eq!(read(5000 - 198).unwrap().n_atoms(), 3);
    for first in [5000 - 199, 1] {
        let error = read(first).unwrap_err();
        assert!(error.line == 1 && error.file.ends_with(format!("{}.itp", first + 198)), "{error}");
        assert!(error.to_string().contains("200 files already include each other; valid are 200 levels"), "{error}");
    }
}

#[test]
fn conditions_and_macros() {
    let text = format!(
        "{HEAD}{METHANE}#ifdef STIFF\n#ifdef NEVER\n#pragma\n#endif\n#define K 500 ; strong\n#else\n#define K SOFT\n\
         #define SOFT 50\n#endif\n[ bonds ]\n1 \\\n 2 1 0.1 K ; with a comment\n#undef K\n#ifndef K\n1 3 1 0.2 7\n#endif\n{TAIL}"
    );
    let soft = read(&text, &[]).unwrap();
    let stiff = read(&text, &[("STIFF".into(), None)]).unwrap();
    let k = |top: &Topology| top.bonds.iter().map(|b| b.k).collect::<Vec<_>>();
    assert_eq!(k(&soft), [50.0, 7.0]);
    assert_eq!(k(&stiff), [500.0, 7.0]);
}

/// A name that nothing asks for changes nothing: whoever gave it believes that it does.
#[test]
fn names_that_nothing_asks_for_are_told() {
    let text = format!(
        "{HEAD}{METHANE}#ifndef GUARD\n#define GUARD\n#endif\n#ifdef POSRES\n#ifdef FAR\n#endif\n#endif\n#ifndef FLEXIBLE\n#endif\n\
         [ bonds ]\n1 2 1 0.1 K\n{TAIL}"
    );
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("test.top");
    std::fs::write(&path, text).unwrap();
    let symbols = |names: &[&str]| {
        let mut defines: Vec<(String, Option<String>)> = names.iter().map(|name| (name.to_string(), None)).collect();
        defines.push(("K".into(), Some("5".into())));
        read_topology_keeping(&path, &[], &defines, &[], None).unwrap().1
    };
    let (unused, asked) = (vec!["-DPOSRES".to_string(), "FAR".into()], vec!["FLEXIBLE".to_string(), "POSRES".into()]);
    assert_eq!(symbols(&["-DPOSRES", "FAR"]), Symbols { unused, asked: asked.clone() });
    // FAR is asked for only where POSRES is given; K is used by a line.
    let symbols = symbols(&["POSRES", "FAR", "FLEXIBLE"]);
    assert_eq!((symbols.unused, symbols.asked), (vec![], vec!["FAR".to_string(), "FLEXIBLE".into(), "POSRES".into()]));
}

#[test]
fn includes_are_found_beside_the_including_file_and_in_given_directories() {
    let folder = temp_dir::TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("run/test.top", &format!("#include \"field.ff/forcefield.itp\"\n#include \"methane.itp\"\n{TAIL}"));
    write("library/field.ff/forcefield.itp", "** a force field **\n#include \"types.itp\"\n");
    write("library/field.ff/types.itp", HEAD);
    write("run/methane.itp", METHANE);
    let path = folder.path().join("run/test.top");
    assert!(read_topology(&path, &[], &[]).is_err());
    let library: PathBuf = folder.path().join("library");
    assert_eq!(read_topology(&path, &[library], &[]).unwrap().n_atoms(), 3);
    let missing = read_topology(&folder.path().join("none.top"), &[], &[]).unwrap_err().to_string();
    assert!(missing.contains("none.top: cannot read the file"), "{missing}");
}
