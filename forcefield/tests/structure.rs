//! `.gro` files: columns, precision, velocities, box, errors with their line; writing and reading again.

use std::path::Path;

use forcefield::Cell;
use forcefield::Structure;
use forcefield::gromacs::{format_gro, parse_gro, read_gro, read_topology, write_gro};
use forcefield::topology::{Atom, Molecule, Residue, Topology};
use nalgebra::Vector3;

const TWO: &str = "two atoms, t= 1.0\n    2\n    1SOL     OW    1   0.126   1.624   1.679  0.1227 -0.0580  0.0434\n\
                   99999LONGEHW1ZZ    2  -1.190   1.661 111.747  0.8085  0.3191 -0.7791\n   1.82060   1.82060   2.00000\n";

fn parse(text: &str) -> Result<Structure, String> {
    parse_gro(text, Path::new("x.gro")).map_err(|e| e.to_string())
}

fn refused(text: &str, words: &[&str]) {
    let message = parse(text).expect_err(text);
    for word in words.iter().chain([&"x.gro"]) {
        assert!(message.contains(word), "'{word}' not in: {message}");
    }
}

#[test]
fn columns() {
    let s = parse(TWO).unwrap();
    assert_eq!(s.title, "two atoms, t= 1.0");
    assert_eq!(s.names[0], ("SOL".to_string(), "OW".to_string()));
    assert_eq!(s.names[1], ("LONGE".to_string(), "HW1ZZ".to_string()));
    assert_eq!(s.residue_numbers, [1, 99999]);
    assert_eq!(s.positions[1], Vector3::new(-1.190, 1.661, 111.747));
    assert_eq!(s.velocities.as_ref().unwrap()[1], Vector3::new(0.8085, 0.3191, -0.7791));
    assert_eq!(s.cell.edges(), Some(Vector3::new(1.8206, 1.8206, 2.0)));
    assert_eq!(format_gro(&s, 3, Path::new("x.gro")).unwrap(), TWO);
}

#[test]
fn any_precision_survives() {
    let mut s = parse(TWO).unwrap();
    s.positions[0] = Vector3::new(1.0 / 3.0, -2.0 / 7.0, 12.000_000_123);
    for decimals in [1, 3, 5, 9, 14] {
        let text = format_gro(&s, decimals, Path::new("x.gro")).unwrap();
        let again = parse(&text).unwrap();
        let error = (again.positions[0] - s.positions[0]).amax();
        // Half a unit of the last digit, and the rounding of f64 at 12.
        assert!(error <= 0.5 * 10f64.powi(-(decimals as i32)) + 2e-15, "{decimals} decimals: {error}");
        assert_eq!(format_gro(&again, decimals, Path::new("x.gro")).unwrap(), text);
    }
}

#[test]
fn without_velocities_or_box() {
    let s = parse("t\n1\n    1SOL     OW    1   0.126   1.624   1.679\n 0 0 0\n").unwrap();
    assert_eq!((s.velocities, s.cell), (None, Cell::Open));
    let s = parse("t\n1\n    1SOL     OW    1   0.126   1.624   1.679\n 3 3 3 0 0 0 0 0 0\n").unwrap();
    assert_eq!(s.cell.edges(), Some(Vector3::repeat(3.0)));
}

#[test]
fn triclinic_boxes_are_reduced_and_written_again() {
    let atom = "    1SOL     OW    1   0.126   1.624   1.679";
    let line = "   4.00000   4.00000   2.82843   0.00000   0.00000   0.00000   0.00000   2.00000   2.00000\n";
    let s = parse(&format!("t\n1\n{atom}\n{line}")).unwrap();
    let expected = [[4.0, 0.0, 0.0], [0.0, 4.0, 0.0], [2.0, 2.0, 2.82843]];
    assert_eq!(s.cell.periodic().unwrap().rows(), expected);
    assert!(format_gro(&s, 3, Path::new("x.gro")).unwrap().ends_with(line));
    // c + b − 2a and b + a are vectors of the same lattice.
    let s = parse(&format!("t\n1\n{atom}\n 4 4 2.82843 0 0 4 0 -6 2\n")).unwrap();
    assert_eq!(s.cell.periodic().unwrap().rows(), expected);
}

#[test]
fn refusals() {
    let atom = "    1SOL     OW    1   0.126   1.624   1.679";
    refused(&format!("t\n2\n{atom}\n 3 3 3\n"), &["announces 2 atoms", "holds 1"]);
    refused(&format!("t\n1\n{atom}\n{atom}\n 3 3 3\n"), &["announces 1 atoms", "holds 2"]);
    let frame = format!("t\n1\n{atom}\n 3 3 3\n");
    refused(&frame.repeat(3), &["announces 1 atoms", "holds 9", "several frames: keep the lines of one"]);
    refused(&format!("t\n1\n{atom}\n 3 3 3 0 1 0 0 0 0\n"), &["line 4", "numbers 4, 5 and 7 must be zero"]);
    refused(&format!("t\n1\n{atom}\n 3 3 0.001 0 0 1 0 0 1\n"), &["line 4", "almost a plane"]);
    refused(&format!("t\n1\n{atom}\n 3 3 -3 0 0 1 0 0 1\n"), &["line 4", "positive"]);
    refused(&format!("t\n1\n{atom}\n 3 -3 3\n"), &["line 4", "positive"]);
    refused(&format!("t\n1\n{atom}\n 3 3\n"), &["line 4", "3 or 9 numbers"]);
    refused(&format!("t\n1\n{atom}\n 3 inf 3\n"), &["line 4", "'inf'"]);
    refused(&format!("t\nmany\n{atom}\n 3 3 3\n"), &["line 2", "'many'"]);
    refused("t\n", &["too early"]);
    refused(
        &format!("t\n2\n{atom}\n    1SOL    HW1    2   0.126     nan   1.679\n 3 3 3\n"),
        &["line 4", "'nan'", "SOL 1 HW1"],
    );
    refused(&format!("t\n2\n{atom}\n    1SOL    HW1    2   0.126   1.0\n 3 3 3\n"), &["line 4", "coordinate"]);
    refused(&format!("t\n2\n{atom}  0.1000  0.1000  0.1000\n{atom}\n 3 3 3\n"), &["line 4", "some do not"]);
    refused("t\n1\n    1SOL     OW    1   0.126   1.624\n 3 3 3\n", &["line 3", "three coordinates"]);
    let message = read_gro(Path::new("/nonexistent/x.gro")).unwrap_err().to_string();
    assert!(message.contains("/nonexistent/x.gro: cannot read"), "{message}");
}

#[test]
fn values_that_do_not_fit_are_not_written() {
    let mut s = parse(TWO).unwrap();
    for bad in [f64::NAN, f64::INFINITY, -1000.0, 99999.0] {
        s.positions[1].y = bad;
        let message = format_gro(&s, 3, Path::new("x.gro")).unwrap_err().to_string();
        assert!(message.contains("position of atom 2"), "{message}");
    }
    let folder = temp_dir::TempDir::new().unwrap();
    let path = folder.path().join("x.gro");
    assert!(write_gro(&path, &s, 3).is_err());
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none());
    s.positions[1].y = 0.0;
    write_gro(&path, &s, 3).unwrap();
    assert_eq!(read_gro(&path).unwrap(), s);
    assert!(write_gro(&folder.path().join("none/x.gro"), &s, 3).is_err());
}

#[test]
fn structure_against_topology() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/amber.top");
    let top = read_topology(&top, &[], &[]).unwrap();
    let mut s = Structure::from_topology(&top, vec![Vector3::zeros(); top.n_atoms()], None, Cell::Open);
    assert_eq!(s.check_against(&top).unwrap(), []);
    s.names[16].1 = "HX".into();
    let warnings = s.check_against(&top).unwrap();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].to_string(), "atom 17 is HX in the structure but ASN 2 CG (atom 17) in the topology");
    s.positions.pop();
    let message = s.check_against(&top).unwrap_err().to_string();
    assert!(message.contains("39 atoms") && message.contains("has 40"), "{message}");
}

/// Behind a protein, water and ions are numbered as `gmx editconf` of GROMACS 2022.5 numbers them in the structure of a `.tpr` of hirustasin. A ligand that is there once
/// keeps the number of its topology.
#[test]
fn water_that_has_one_number_in_the_topology_is_numbered_on() {
    let top = |molecules: &[(&str, &[(&str, i32)])]| {
        let mut top = Topology::default();
        for (name, residues) in molecules {
            let (molecule, first) = (top.molecules.len() as u32, top.atoms.len() as u32);
            for &(name, number) in *residues {
                let (residue, atom) = (top.residues.len() as u32, top.atoms.len() as u32);
                top.atoms.push(Atom { name: "X".into(), type_index: 0, residue, molecule, charge: 0.0, mass: 1.0 });
                let (name, atoms) = (name.into(), atom..atom + 1);
                top.residues.push(Residue { name, number, insertion: None, molecule, atoms });
            }
            let atoms = first..top.atoms.len() as u32;
            top.molecules.push(Molecule { name: (*name).into(), atoms });
        }
        top
    };
    let numbers = |molecules: &[(&str, &[(&str, i32)])]| {
        let top = top(molecules);
        Structure::from_topology(&top, vec![Vector3::zeros(); top.n_atoms()], None, Cell::Open).residue_numbers
    };
    let protein: (&str, &[(&str, i32)]) = ("Protein", &[("ALA", 4), ("ALA", 5)]);
    let (water, sodium, ligand) = (("SOL", &[("SOL", 1)][..]), ("NA", &[("NA", 1)][..]), ("LIG", &[("LIG", 1)][..]));
    assert_eq!(numbers(&[protein, water, water, sodium, sodium]), [4, 5, 6, 7, 8, 9]);
    assert_eq!(numbers(&[protein, ligand, water, water, sodium, sodium]), [4, 5, 1, 6, 7, 8, 9]);
    // Already different, or one alone: as they are.
    assert_eq!(numbers(&[protein, water, sodium, ("SOL", &[("SOL", 2)])]), [4, 5, 1, 1, 2]);
    assert_eq!(numbers(&[water, water]), [1, 2]);
}
