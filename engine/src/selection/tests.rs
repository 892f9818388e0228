//! Selections in a system of a capped dipeptide, an ion, waters and a second chain.

use super::*;
use forcefield::topology::{Atom, Molecule, Residue, Settle};
use lambda::library::Correction;
use lambda::site::SiteKind;

/// Residues by molecule: `[(molecule, [(residue, number, atoms)])]`.
fn topology() -> Topology {
    let chain: &[(&str, i32, &[&str])] = &[
        ("ACE", 1, &["CH3", "C", "O"]),
        ("GLH", 2, &["N", "H", "CA", "CB", "OE1", "C", "O"]),
        ("NME", 3, &["N", "H"]),
    ];
    let second: &[(&str, i32, &[&str])] = &[("GLY", -1, &["N", "CA", "C", "O"])];
    let ligand: &[(&str, i32, &[&str])] = &[("LIG", 1, &["C1", "N"])];
    let ion: &[(&str, i32, &[&str])] = &[("NA", 4, &["NA"])];
    let water: &[(&str, i32, &[&str])] = &[("SOL", 5, &["OW", "HW1", "HW2"])];
    let odd: &[(&str, i32, &[&str])] = &[("XYZ", 6, &["OW", "HW1", "HW2"])];
    let molecules = [
        ("Protein_chain_A", chain),
        ("Protein_chain_B", second),
        ("LIG", ligand),
        ("NA", ion),
        ("SOL", water),
        ("W", odd),
    ];
    let mut top = Topology::default();
    for (molecule, (name, residues)) in molecules.into_iter().enumerate() {
        let start = top.atoms.len() as u32;
        for (residue, number, atoms) in residues {
            let first = top.atoms.len() as u32;
            for atom in *atoms {
                top.atoms.push(Atom {
                    name: (*atom).into(),
                    type_index: 0,
                    residue: top.residues.len() as u32,
                    molecule: molecule as u32,
                    charge: 0.0,
                    mass: 1.0,
                });
            }
            let atoms = first..top.atoms.len() as u32;
            top.residues.push(Residue {
                name: (*residue).into(),
                number: *number,
                insertion: Default::default(),
                molecule: molecule as u32,
                atoms,
            });
        }
        top.molecules.push(Molecule { name: name.into(), atoms: start..top.atoms.len() as u32 });
    }
    // The last molecule is water by its rigid geometry, not by its name.
    top.settles.push(Settle { oxygen: 22, hydrogens: [23, 24], d_oh: 0.1, d_hh: 0.16 });
    top
}

fn select(text: &str) -> Result<Vec<u32>, SelectionError> {
    let groups = IndexGroups::default();
    Atoms { topology: &topology(), sites: &[], groups: &groups }.select(&Expression::parse(text)?)
}

/// Each text with the atoms it means, counted by hand in [`topology`].
#[test]
fn every_word_and_key_selects_its_atoms() {
    let is = |text: &str, atoms: &[u32]| assert_eq!(select(text).unwrap(), atoms, "{text}");
    let all: Vec<u32> = (0..25).collect();
    is("all", &all);
    is("protein", &all[..16]);
    is("backbone", &[1, 2, 3, 5, 8, 9, 10, 12, 13, 14, 15]);
    is("water", &all[19..]);
    is("ions", &[18]);
    is("solute", &all[..18]);
    is("hydrogen", &[4, 11, 20, 21, 23, 24]);
    is("resname GLH LIG", &[3, 4, 5, 6, 7, 8, 9, 16, 17]);
    is("resid -1", &[12, 13, 14, 15]);
    is("resid 2-3 4", &[3, 4, 5, 6, 7, 8, 9, 10, 11, 18]);
    is("name CA CB", &[5, 6, 13]);
    is("name O* and protein", &[2, 7, 9, 15]);
    is("name HW?", &[20, 21, 23, 24]);
    is("molecule Protein_chain_B", &[12, 13, 14, 15]);
    is("molecule 2-3", &[12, 13, 14, 15, 16, 17]);
    is("molecule \"Protein_chain_*\" and resname GLY", &[12, 13, 14, 15]);
}

#[test]
fn words_are_combined_in_the_usual_order() {
    // and before or; not before both.
    assert_eq!(select("resname LIG or protein and name CB").unwrap(), [6, 16, 17]);
    assert_eq!(select("(resname LIG or protein) and name N").unwrap(), [3, 10, 12, 17]);
    assert_eq!(select("not (protein or water)").unwrap(), [16, 17, 18]);
    assert_eq!(select("not protein and not water").unwrap(), [16, 17, 18]);
    assert_eq!(select("not not ions").unwrap(), [18]);
}

#[test]
fn sites_and_the_buffer_are_known() {
    let site = |kind, atoms: &[u32]| Site {
        name: String::new(),
        entry: String::new(),
        residues: Vec::new(),
        atoms: atoms.to_vec(),
        forms: Vec::new(),
        pka: None,
        correction: Correction::Uncalibrated,
        force_field: Default::default(),
        kind,
    };
    let sites = [site(SiteKind::Titratable, &[5, 6, 7]), site(SiteKind::Buffer { molecules: 1 }, &[19, 20, 21])];
    let groups = IndexGroups::default();
    let top = topology();
    let atoms = Atoms { topology: &top, sites: &sites, groups: &groups };
    let select = |text: &str| atoms.select(&Expression::parse(text).unwrap()).unwrap();
    assert_eq!(select("site"), [5, 6, 7]);
    assert_eq!(select("site or buffer"), [5, 6, 7, 19, 20, 21]);
}

#[test]
fn index_groups_are_read_and_named() {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("index.ndx");
    std::fs::write(&path, "; made by hand\n[ Backbone ]\n4 6 ; CA\n 9\n[ C alphas ]\n6\n[ Backbone ]\n10\n").unwrap();
    let groups = IndexGroups::read(&path, 25).unwrap();
    let top = topology();
    let atoms = Atoms { topology: &top, sites: &[], groups: &groups };
    let select = |text: &str| atoms.select(&Expression::parse(text).unwrap());
    assert_eq!(select("group Backbone").unwrap(), [3, 5, 8, 9]);
    assert_eq!(select("group 'C alphas' or ions").unwrap(), [5, 18]);
    let error = select("group CA").unwrap_err();
    assert!(error.valid().contains("\"Backbone\", \"C alphas\""), "{error} {}", error.valid());
    std::fs::write(&path, "[ a ]\n1 2\n3 26\n").unwrap();
    let message = IndexGroups::read(&path, 25).unwrap_err().to_string();
    assert!(message.contains("line 3: found \"26\"") && message.contains("from 1 to 25"), "{message}");
}

/// The message names the place in the text and what could stand there.
#[test]
fn mistakes_are_named_with_their_place() {
    let wrong = |text: &str, place: &str, valid: &str| {
        let error = select(text).unwrap_err();
        assert!(error.to_string().contains(place) && error.valid().contains(valid), "{error}; {}", error.valid());
    };
    wrong("protien", "at character 1 of \"protien\": found \"protien\"", "all, protein, backbone");
    wrong("protein and", "found the end of the text", "resname");
    wrong("protein water", "at character 9 of \"protein water\": found \"water\"", "and, or");
    wrong("(protein", "found the end", "and, or, or )");
    wrong("protein)", "at character 8", "and, or");
    wrong("resname and protein", "at character 9", "one value of resname");
    wrong("resid 5-x", "found \"5-x\"", "10-20");
    wrong("resid 9-5", "found \"9-5\"", "10-20");
    wrong("name 'CA", "quotation mark", "ends with '");
    wrong("", "at character 1", "all, protein");
    wrong("resname HIS", "selects no atom", "the residues are ACE GLH NME GLY LIG NA SOL XYZ");
    wrong("site", "selects no atom", "molecules are");
    wrong("group A", "the group \"A\" is unknown", "output.index");
}
