//! Differences between forms by name, on the peptide of the energy tests.

use std::path::{Path, PathBuf};

use forcefield::Topology;
use forcefield::gromacs::{read_topology, read_topology_keeping};
use forcefield::variants::{BondedTerm, NamedVariants};

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/energies/amber.top")
}

fn residue(top: &Topology, name: &str) -> u32 {
    top.residues.iter().position(|r| r.name == name).unwrap() as u32
}

fn type_of(top: &Topology, residue: u32, atom: &str) -> u32 {
    let atoms = top.residues[residue as usize].atoms.clone();
    top.atoms[atoms.into_iter().find(|&a| top.atoms[a as usize].name == atom).unwrap() as usize].type_index
}

const ALA: &str = r#"
[lj_types]
HA = ["H1", "HC"]
N = ["N", "N"]
[[bonded]]
atoms = ["-C", "N", "CA"]
function = 1
parameters = [[121.9, 418.4], [110.0, 400.0]]
[[bonded]]
atoms = ["N", "CA", "C", "O"]
function = 9
parameters = [[180.0, 1.5, 2], []]
[[bonded]]
atoms = ["CA", "C"]
function = 1
parameters = [[], [0.153, 265265.6]]
"#;

#[test]
fn names_are_looked_up() {
    let top = read_topology(&path(), &[], &[]).unwrap();
    let named: NamedVariants = toml::from_str(ALA).unwrap();
    assert!(!named.is_empty() && named.lj_types.values().flatten().any(|name| name == "HC"));
    let ala = residue(&top, "ALA");
    let found = named.resolve(&top, ala, 2).unwrap();
    assert_eq!(found.types.len(), 1, "N does not change");
    assert_eq!(found.types[0].types[0], type_of(&top, ala, "HA"));
    assert_eq!(top.atom_types[found.types[0].types[1] as usize].name, "HC");
    assert_eq!(found.terms.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
    let BondedTerm::Angle(angle) = found.terms[1][0] else { panic!("{:?}", found.terms[1]) };
    assert_eq!((angle.theta0, angle.k), (110f64.to_radians(), 400.0));
    assert_eq!(top.atoms[angle.atoms[0] as usize].name, "C");
    assert_eq!(top.atoms[angle.atoms[0] as usize].residue, ala - 1);
}

#[test]
fn wrong_names_and_numbers_are_explained() {
    let top = read_topology(&path(), &[], &[]).unwrap();
    let ala = residue(&top, "ALA");
    let error = |old: &str, new: &str| {
        let named: NamedVariants = toml::from_str(&ALA.replace(old, new)).unwrap();
        named.resolve(&top, ala, 2).unwrap_err().to_string()
    };
    assert!(error("HA", "HX1").contains("atom HX1 of residue ALA"));
    assert!(error("\"HC\"", "\"XX\"").contains("type XX"));
    assert!(error("[\"H1\", \"HC\"]", "[\"H1\"]").contains("for 1 forms, the site has 2"));
    assert!(
        error("[110.0, 400.0]", "[110.0]")
            .contains("function 1 takes 2 parameters (θ0 degrees, k kJ/mol/rad²), found 1")
    );
    assert!(error("function = 9", "function = 7").contains("function 7 of 4 atoms"));
    assert!(error("1.5, 2]", "1.5, 2.5]").contains("multiplicity"));
    assert!(error("1.5, 2]", "nan, 2]").contains("not a finite number"));
    let first = NamedVariants { bonded: toml::from_str::<NamedVariants>(ALA).unwrap().bonded, ..Default::default() };
    assert!(first.resolve(&top, 0, 2).unwrap_err().to_string().contains("atom -C"));
}

#[test]
fn types_of_other_forms_are_kept_on_demand() {
    let folder = temp_dir::TempDir::new().unwrap();
    let with_more = folder.path().join("more.top");
    let text = std::fs::read_to_string(path()).unwrap();
    let more = "[ atomtypes ]\nZZ 6 12.01 0.0 A 0.3 0.4";
    std::fs::write(&with_more, text.replace("[ atomtypes ]", more)).unwrap();
    let plain = read_topology(&with_more, &[], &[]).unwrap();
    let kept = read_topology_keeping(&with_more, &[], &[], &["nothing", "ZZ", "H1"], None).unwrap().0;
    assert_eq!(plain.lj, read_topology(&path(), &[], &[]).unwrap().lj);
    assert_eq!(kept.lj.n_types, plain.lj.n_types + 1);
    let name = |top: &Topology, t: usize| top.atom_types[t].name.clone();
    // Types of atoms come first and stay as they are.
    for i in 0..plain.lj.n_types {
        assert_eq!(name(&plain, i), name(&kept, i));
        for j in 0..plain.lj.n_types {
            assert_eq!(plain.lj.get(i as u32, j as u32), kept.lj.get(i as u32, j as u32));
        }
    }
    assert_eq!(plain.atoms, kept.atoms);
    let zz = kept.atom_types.iter().position(|t| t.name == "ZZ").unwrap() as u32;
    let (c6, c12) = kept.lj.get(zz, zz);
    assert!(
        (c6 - 4.0 * 0.4 * 0.3f64.powi(6)).abs() < 1e-12 * c6 && (c12 - 4.0 * 0.4 * 0.3f64.powi(12)).abs() < 1e-12 * c12
    );
}
