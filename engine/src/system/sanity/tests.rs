//! Each question is asked of what is wrong, and none of the systems that come with the program.

use super::*;
use crate::config::Config;
use crate::system::read;
use forcefield::Cell;
use forcefield::topology::BondConstraints;
use std::path::Path;

/// A shipped job and what its files say, glutamic acid in water.
fn glu() -> (Config, Topology, Structure) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu/run.toml");
    let config = Config::load(path).unwrap();
    let input = read(&config).unwrap();
    (config, input.topology, input.structure)
}

/// The same job with lines in front of it or in the place of others.
fn with(from: &str, to: &str) -> Config {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu/run.toml");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{text}");
    Config::parse(&text.replace(from, to), &path).unwrap()
}

fn scaled(structure: &Structure, atoms: f64, cell: f64) -> Structure {
    let mut out = structure.clone();
    out.positions.iter_mut().for_each(|x| *x *= atoms);
    out.cell = Cell::rectangular(structure.cell.edges().unwrap() * cell).unwrap();
    out
}

#[test]
fn a_sound_system_is_asked_nothing() {
    let (config, mut topology, structure) = glu();
    assert_eq!(files(&config, &topology, &structure).unwrap(), Vec::<String>::new());
    topology.constrain_bonds(BondConstraints::HBonds);
    assert_eq!(time_step(&config, &topology).unwrap(), None);
}

#[test]
fn coordinates_in_angstrom_are_an_error() {
    let (config, topology, structure) = glu();
    let message = |structure| files(&config, &topology, &structure).unwrap_err().to_string();
    assert!(message(scaled(&structure, 10.0, 10.0)).contains("are its coordinates in Ångström? A .gro file has nm"));
    // The box may have been left as it was.
    assert!(message(scaled(&structure, 10.0, 1.0)).contains("Ångström"));
    assert!(message(scaled(&structure, 0.1, 0.1)).contains("a tenth of what they should be"));
    assert!(message(scaled(&structure, 2.5, 2.5)).contains("the structure of another topology?"));
    // The box alone, a tenth of it: 1000 times as dense.
    assert!(message(scaled(&structure, 1.0, 0.1)).contains("more than any matter"));
}

/// A straight chain of 30 atoms in boxes in which its nearest image is beside it, behind its end, or along c; and in larger ones.
#[test]
fn a_molecule_beside_its_own_image_is_asked_for() {
    let (config, ..) = glu();
    let atom = forcefield::topology::Atom {
        name: "C".into(),
        type_index: 0,
        residue: 0,
        molecule: 0,
        charge: 0.0,
        mass: 12.0,
    };
    let residue =
        forcefield::topology::Residue { name: "CHN".into(), number: 1, insertion: None, molecule: 0, atoms: 0..30 };
    let topology = Topology { atoms: vec![atom; 30], residues: vec![residue], ..Topology::default() };
    let chain: Vec<Vector3<f64>> = (0..30).map(|k| Vector3::new(0.1 * f64::from(k), 0.3, 0.2)).collect();
    let fragments = Fragments::from_bonds(30, (0..29).map(|k| [k, k + 1]));
    let said = |rows| images(&config, &topology, &fragments, &chain, &PeriodicBox::triclinic(rows).unwrap());
    let near = |rows, distance: &str| {
        let said = said(rows).unwrap();
        assert!(said.contains(distance) && said.contains("cut-off of 1 nm"), "{said}");
    };
    near(
        [[3.6, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]],
        "0.70 nm from its own periodic image (CHN 1 C (atom 1) to CHN 1 C (atom 30))",
    );
    near([[5.0, 0.0, 0.0], [2.0, 0.9, 0.0], [0.0, 0.0, 4.0]], "0.90 nm");
    near([[8.0, 0.0, 0.0], [0.0, 4.0, 0.0], [3.2, 0.0, 0.8]], "0.85 nm");
    // Hundreds of edges long: more images than can be counted, of which the nearest are enough.
    near([[0.01, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 4.0]], "0.00 nm");
    assert_eq!(said([[3.95, 0.0, 0.0], [0.0, 1.1, 0.0], [0.0, 0.0, 1.1]]), None);
    assert_eq!(said([[8.0, 0.0, 0.0], [0.0, 4.0, 0.0], [3.6, 0.0, 0.8]]), None);
}

#[test]
fn a_box_ten_times_too_large_is_asked_for() {
    let (config, topology, structure) = glu();
    let said = files(&config, &topology, &scaled(&structure, 1.0, 10.0)).unwrap();
    assert!(said.len() == 1 && said[0].contains("is the box in Ångström, ten times too large?"), "{said:?}");
    // Without water there is no density to compare with, but the room around the atoms.
    let solute: Vec<usize> = (0..topology.n_atoms())
        .filter(|&i| topology.residues[topology.atoms[i].residue as usize].name != "SOL")
        .collect();
    let mut dry = topology.clone();
    dry.settles.clear();
    dry.atoms.truncate(solute.len());
    dry.residues.truncate(3);
    let mut alone = structure.clone();
    alone.positions.truncate(solute.len());
    alone.velocities = None;
    alone.positions[0].x += 2.0;
    alone.cell = Cell::rectangular(Vector3::repeat(30.0)).unwrap();
    let said = density(&config, &dry, &alone).unwrap().unwrap();
    assert!(said.contains("the box is 30.0 nm wide") && said.contains("in Ångström?"), "{said}");
    alone.cell = Cell::rectangular(Vector3::repeat(10.0)).unwrap();
    assert_eq!(density(&config, &dry, &alone).unwrap(), None);
}

/// Water of four sites as a prmtop of AMBER has it, with a bond from the oxygen to the site: no vibration, whatever its force constant.
#[test]
fn a_bond_to_a_site_without_mass_has_no_vibration() {
    let (config, mut topology, _) = glu();
    topology.constrain_bonds(BondConstraints::HBonds);
    let oxygen = topology.settles[0].oxygen;
    let site = topology.n_atoms() as u32;
    topology.atoms.push(topology.atoms[oxygen as usize].clone());
    let bond = forcefield::topology::Bond { atoms: [oxygen, site], r0: 0.015, k: 5e7 };
    topology.bonds.push(bond);
    assert!(time_step(&config, &topology).unwrap_err().to_string().contains("its motion diverges"));
    topology.atoms[site as usize].mass = 0.0;
    assert_eq!(time_step(&config, &topology).unwrap(), None);
}

/// Two atoms of glutamic acid are called SG and moved to each other: with a bond, free, and as far apart as sulfurs that touch.
#[test]
fn sulfurs_of_a_disulfide_without_a_bond_are_asked_for() {
    let (_, mut topology, mut structure) = glu();
    let [i, j] = [4, 20];
    [i, j].into_iter().for_each(|atom| topology.atoms[atom].name = "SG".into());
    let mut said = |x: f64, topology: &Topology| {
        structure.positions[j] = structure.positions[i] + Vector3::new(x, 0.0, 0.0);
        disulfides(topology, &structure)
    };
    let message = said(0.2, &topology).unwrap();
    assert!(message.contains("SG (atom 5) and ") && message.contains("SG (atom 21) (0.200 nm)"), "{message}");
    // Through the side of the box.
    let edge = glu().2.cell.edges().unwrap().x;
    assert_eq!(said(0.2 + edge, &topology), Some(message));
    assert_eq!(said(0.35, &topology), None);
    let bond = forcefield::topology::Bond { atoms: [j as u32, i as u32], r0: 0.2, k: 1e5 };
    topology.bonds.push(bond);
    assert_eq!(said(0.2, &topology), None);
}

#[test]
fn a_single_bad_bond_is_named() {
    let (config, topology, mut structure) = glu();
    structure.positions[4].x += 0.3;
    let said = files(&config, &topology, &structure).unwrap();
    let label = topology.label(4);
    assert!(said.len() == 1 && said[0].contains("far from the length at rest") && said[0].contains(&label), "{said:?}");
}

#[test]
fn charges_are_asked_for() {
    let (config, topology, structure) = glu();
    let asked = |change: fn(&mut Topology)| {
        let mut topology = topology.clone();
        change(&mut topology);
        files(&config, &topology, &structure)
    };
    let message = asked(|top| top.atoms[3].charge = 1e6).unwrap_err().to_string();
    assert!(message.contains("has a charge of 1000000 e") && message.contains("elementary charge?"), "{message}");
    let said = asked(|top| top.atoms[3].charge += 18.0).unwrap();
    assert!(said[0].contains("in units of the elementary charge?"), "{said:?}");
    let said = asked(|top| top.atoms[3].charge += 0.25).unwrap();
    assert!(said.len() == 1 && said[0].contains("a net charge of +0.2500 e, not a whole number"), "{said:?}");
    let said = asked(|top| top.atoms[3000..3400].iter_mut().for_each(|atom| atom.charge = 1.0)).unwrap();
    assert!(said.iter().any(|line| line.contains("are the ions missing?")), "{said:?}");
}

#[test]
fn charges_that_a_force_field_scales_are_whole() {
    let (config, mut topology, structure) = glu();
    // Ions in place of the last two molecules of water, and a solute with the charge of one of them.
    let ions = topology.molecules.len() - 2;
    for (molecule, charge) in topology.molecules[ions..].iter_mut().zip([0.75, -0.75]) {
        molecule.atoms.end = molecule.atoms.start + 1;
        topology.atoms[molecule.atoms.start as usize].charge = charge;
    }
    topology.atoms[3].charge += 0.75;
    assert_eq!(topology.whole_charge(), 0.75);
    let said = files(&config, &topology, &structure).unwrap();
    assert!(said.iter().all(|line| !line.contains("whole number")), "{said:?}");
    topology.atoms[3].charge += 0.25;
    let said = files(&config, &topology, &structure).unwrap();
    assert!(said.iter().any(|line| line.contains("a net charge of +1.0000 e, not a whole number")), "{said:?}");
    // Ions that do not agree, and none at all.
    let last = topology.molecules.last().unwrap().atoms.start as usize;
    topology.atoms[last].charge = -1.0;
    assert_eq!(topology.whole_charge(), 1.0);
    topology.molecules.truncate(ions);
    assert_eq!(topology.whole_charge(), 1.0);
    // A model compound of such a force field, whose box has no ions, and a residue that is incomplete.
    for (charge, whole) in [(-0.25, 0.75), (0.75, 0.75), (0.12, 1.0)] {
        topology.atoms[3].charge += charge;
        assert_eq!(topology.whole_charge(), whole, "{charge}");
    }
}

#[test]
fn temperatures_are_asked_for() {
    let (config, topology, mut structure) = glu();
    let hot = with("temperature = \"300 K\"", "temperature = \"3000 K\"");
    let said = files(&hot, &topology, &structure).unwrap();
    assert!(said.len() == 1 && said[0].contains("the temperature is 3000 K"), "{said:?}");
    structure.velocities.as_mut().unwrap().iter_mut().for_each(|v| *v *= 10.0);
    let said = files(&config, &topology, &structure).unwrap();
    assert!(said.len() == 1 && said[0].contains("are they in Ångström/ps?"), "{said:?}");
}

#[test]
fn a_time_step_is_asked_for_by_what_it_has_to_follow() {
    let (_, free, _) = glu();
    let mut rigid = free.clone();
    rigid.constrain_bonds(BondConstraints::HBonds);
    let step = |text: &str| with("time_step = \"2 fs\"", &format!("time_step = \"{text}\""));
    assert_eq!(time_step(&step("4 fs"), &rigid).unwrap(), None);
    // A carbonyl vibrates once in 20 fs.
    let said = time_step(&step("5 fs"), &rigid).unwrap().unwrap();
    assert!(said.contains("less than five time steps of 5 fs"), "{said}");
    assert!(said.ends_with(": take a shorter step"), "{said}");
    let message = time_step(&step("10 fs"), &rigid).unwrap_err().to_string();
    assert!(message.contains("its motion diverges (take a shorter step)"), "{message}");
    let message = time_step(&step("0.1 ps"), &rigid).unwrap_err().to_string();
    assert!(message.contains("found 0.1 ps, with atoms of 1.008 u: is it in fs?"), "{message}");
    // Bonds to hydrogen vibrate once in 9 to 11 fs.
    let said = time_step(&step("2 fs"), &free).unwrap().unwrap();
    assert!(said.contains("constraints = \"h-bonds\""), "{said}");
    assert!(time_step(&step("4 fs"), &free).is_err());
    assert_eq!(time_step(&step("1 fs"), &free).unwrap(), None);
    // Heavy hydrogens allow more.
    let mut all = free;
    all.constrain_bonds(BondConstraints::AllBonds);
    assert!(time_step(&step("10 fs"), &all).unwrap().unwrap().contains("are masses of hydrogens increased?"));
    all.atoms.iter_mut().for_each(|atom| atom.mass = atom.mass.max(5.0));
    assert_eq!(time_step(&step("10 fs"), &all).unwrap(), None);
}
