//! A dipeptide across the border of its box, with water, an ion and a second chain.

use super::*;
use forcefield::cell::PeriodicBox;

/// Residue, number, name and position (nm) along x.
const ATOMS: [(&str, i32, &str, f64); 16] = [
    ("ALA", 1, "N", 2.7),
    ("ALA", 1, "CA", 2.82),
    ("ALA", 1, "HA", 2.83),
    ("ALA", 1, "C", 2.95),
    ("GLH", 2, "N", 0.08),
    ("GLH", 2, "CA", 0.2),
    ("GLH", 2, "OE2", 0.4),
    ("GLH", 2, "HE2", 0.5),
    ("GLH", 2, "HB1", 0.3),
    ("GLH", 2, "C", 0.33),
    ("GLH", 2, "N", 0.9),
    ("GLH", 2, "C", 1.0),
    ("SOL", 3, "OW", 1.5),
    ("SOL", 3, "HW1", 1.6),
    ("SOL", 3, "HW2", 1.4),
    ("NA", 4, "NA", 2.0),
];

fn structure() -> Structure {
    let mut structure = Structure {
        cell: Cell::Periodic(PeriodicBox::rectangular(Vector3::new(3.0, 3.0, 3.0)).unwrap()),
        ..Structure::default()
    };
    for (residue, number, name, x) in ATOMS {
        structure.names.push((residue.into(), name.into()));
        structure.residue_numbers.push(number);
        structure.positions.push(Vector3::new(x, 1.0, 1.0));
    }
    // The last two of GLH 2 are a second chain of that name, as merged files have it.
    structure.residue_numbers[10] = 5;
    structure.residue_numbers[11] = 5;
    structure
}

#[test]
fn a_solute_is_whole_without_water_ions_and_other_hydrogens() {
    let library = SiteLibrary::builtin().unwrap();
    let sites = [("GLH 2", "glu"), ("GLH 9", "glu"), ("GLH 5", "glu")];
    let found = shown(&structure(), &sites, &library, "a test".into()).unwrap();
    let lines: Vec<&str> = found.pdb.lines().collect();
    assert_eq!((found.atoms, lines.len()), (10, 10));
    assert!(!found.pdb.contains("SOL") && !found.pdb.contains("HA ") && !found.pdb.contains("HB1"));
    // The second residue lies across the border: 3.08 nm, not 0.08.
    assert_eq!(&lines[3][30..38], "  30.800", "{}", found.pdb);
    assert_eq!(&lines[3][12..26], " N   GLU A   2");
    let place = found.sites[0].as_ref().unwrap();
    assert_eq!(place.atoms, 3..8);
    // The protonated form has the hydrogen, the other one does not.
    assert_eq!(place.hydrogens, [vec![6], vec![]]);
    assert!(found.sites[1].is_none() && found.sites[2].is_some());
}

#[test]
fn a_residue_is_told_by_the_number_of_its_molecule() {
    let mut both = structure();
    both.residue_numbers[10] = 2;
    both.residue_numbers[11] = 2;
    // A residue of another name between them keeps the two apart.
    both.names.insert(10, ("ACE".into(), "CH3".into()));
    both.names.insert(11, ("ACE".into(), "C".into()));
    both.residue_numbers.splice(10..10, [1, 1]);
    both.positions.splice(10..10, [Vector3::new(0.7, 1.0, 1.0), Vector3::new(0.8, 1.0, 1.0)]);
    let residues = residues(&both);
    assert_eq!(residues.iter().map(|residue| residue.chain).collect::<Vec<_>>(), [0, 0, 1, 1]);
    let found = |name: &str| residue_of(&both, &residues, name);
    assert_eq!([found("1:GLH 2"), found("2:GLH 2"), found("GLH 2"), found("3:GLH 2")], [Some(1), Some(3), None, None]);
    assert_eq!(found("nterm ALA 1"), Some(0));
}

/// Frames that a run writes count the residues of every molecule from 1: ten chlorides were one residue of ten atoms, in the picture of a protein without ions.
#[test]
fn ions_of_one_number_are_ions() {
    let mut salt = structure();
    for x in [2.1, 2.2] {
        salt.names.push(("NA".into(), "NA".into()));
        salt.residue_numbers.push(4);
        salt.positions.push(Vector3::new(x, 1.0, 1.0));
    }
    let found = shown(&salt, &[], &SiteLibrary::builtin().unwrap(), String::new()).unwrap();
    assert!(!found.pdb.contains("NA "), "{}", found.pdb);
}

#[test]
fn water_alone_is_not_shown() {
    let mut water = structure();
    water.names.drain(..12);
    water.residue_numbers.drain(..12);
    water.positions.drain(..12);
    assert!(shown(&water, &[], &SiteLibrary::default(), String::new()).unwrap_err().contains("nothing but water"));
}

#[test]
fn names_of_forms_and_ends_are_those_of_residues() {
    let usual = ["GL3", "ZGL3", "NAS3", "HSP", "ALA", "NALA", "ACE", "LIG"].map(usual_name);
    assert_eq!(usual, ["GLU", "GLU", "ASP", "HIS", "ALA", "ALA", "ACE", "LIG"]);
}
