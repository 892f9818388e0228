//! Forms that differ in Lennard-Jones types and bonded terms, on a device: the same as on the CPU, energies that are conserved while λ moves, and
//! exact continuation. The device is the emulator, or the GPU named by OCTITRATE_TEST_DEVICE.

use kernels::device::Device;
use nalgebra::Vector3;
use octitrate::config::Config;
use octitrate::energies::Energies;
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::state::{SitesState, State};
use std::path::{Path, PathBuf};

/// Glutamic acid of three forms in water, λ free: with other types and angles, and with other angles alone, which a device computes on a stream of their own.
/// The folder has the second entry.
fn varied(folder: &Path, sections: &str) -> [Config; 2] {
    let angles_alone = folder.join("glu-varied.toml");
    let text = std::fs::read_to_string(library()).unwrap();
    let types = text.find("[[lj_types]]").unwrap()..text.find("[[bonded]]").unwrap();
    std::fs::write(&angles_alone, [&text[..types.start], &text[types.end..]].concat()).unwrap();
    [library(), angles_alone].map(|entry| of_library("tests/good/glu/glu", &entry, sections, ""))
}

/// His in a peptide as OpenMM writes it with CHARMM36, Lennard-Jones by a table of types: with HD2 and HE1 of each form, the larger of which no atom of the system has, and with
/// 1-4 pairs whose other atoms have parameters of their own for these.
fn of_charmm(folder: &Path, sections: &str) -> Config {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let entry = std::fs::read_to_string(root.join("python/octitrate/corrections/charmm36m-tip3p/his.toml")).unwrap();
    let types = "[[lj_types]]\natom = \"HD2\"\ntypes = [\"LJ 0.1603618 0.192464\", \"LJ 0.2615679 0.0326352\", \"LJ 0.2615679 0.0326352\"]\n\
                 [[lj_types]]\natom = \"HE1\"\ntypes = [\"LJ 0.1247258 0.192464\", \"LJ 0.1603618 0.192464\", \"LJ 0.1603618 0.192464\"]\n\n[correction]";
    let entry = entry.replacen("[correction]", types, 1).replace("\"HIP\", \"NHIP\", \"ZHIP\"", "\"HIS\"");
    std::fs::write(folder.join("his.toml"), entry).unwrap();
    let text = format!(
        "[system]\nstructure = \"{root}.gro\"\ntopology = \"{root}.xml\"\n{sections}[van_der_waals]\ncutoff = \"1.1 nm\"\n\
         [titration]\nph = 6.5\ntemperature = \"300 K\"\nlibrary = [\"{library}\"]\n\
         allow_mismatch = [\"cutoff\", \"modifier\", \"water\", \"parameters\"]\n\
         [[titration.site]]\nresidue = \"HIS 15\"\ninitial = [0.3, 0.5, 0.2]\n",
        root = root.join("forcefield/tests/openmm/charmm36").display(),
        library = folder.join("his.toml").display(),
    );
    Config::parse(&text, &folder.join("charmm.toml")).unwrap()
}

fn library() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/good/library/glu-varied.toml")
}

fn of_library(system: &str, library: &Path, sections: &str, titration: &str) -> Config {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(system);
    let (path, library) = (path.display(), library.display());
    let text = format!(
        "[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n{sections}\
         [titration]\nph = 4.0\n{titration}temperature = \"300 K\"\nlibrary = [\"{library}\"]\n\
         [[titration.site]]\nresidue = \"GLH 2\"\ninitial = [0.3, 0.5, 0.2]\n"
    );
    Config::parse(&text, Path::new("variants.toml")).unwrap()
}

/// Relative difference of forces, root mean square.
fn difference(a: &[Vector3<f64>], b: &[Vector3<f64>]) -> f64 {
    let apart: f64 = a.iter().zip(b).map(|(a, b)| (a - b).norm_squared()).sum();
    (apart / b.iter().map(Vector3::norm_squared).sum::<f64>()).sqrt()
}

#[test]
fn they_feel_and_move_as_on_the_cpu() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    let sections = "[electrostatics]\nprecision = \"double\"\norder = 14\nseparation = 1.12\n[dynamics]\nsteps = 20\n\
                    time_step = \"1 fs\"\nconstraints = \"h-bonds\"\n[thermostat]\n[barostat]\n";
    let [both, angles] = varied(folder.path(), sections);
    for config in &[both, angles, of_charmm(folder.path(), sections)] {
        let run = |device: Option<&Device>| {
            let mut simulation = Simulation::on(config, device).unwrap();
            simulation.prepare(&mut |_| Ok(())).unwrap();
            let before = simulation.frame(Wanted::ALL).unwrap();
            let (energies, dvdl) = (before.energies.clone(), before.dvdl.clone());
            let forces = simulation.forces().to_vec();
            simulation.advance(11).unwrap();
            let after = simulation.frame(Wanted::ALL).unwrap().dvdl.clone();
            (forces, energies, dvdl, simulation.state().unwrap(), simulation.weights().unwrap(), after)
        };
        let (here, there) = (run(None), run(Some(&device)));
        // Boxes differ, and with them the error of the expansions of order 14.
        let apart = difference(&there.0, &here.0);
        println!("forces differ by {apart:.1e}; ∂V/∂λ {:?} and {:?}; {:?} and {:?}", here.2, there.2, here.4, there.4);
        assert!(apart < 2e-5, "forces differ by {apart:e}");
        for (a, b) in here.1.iter().zip(&there.1) {
            let tolerance = if a.unit == "bar" { 2.0 } else { 1e-5 * a.value.abs() + 1e-2 };
            assert!((a.value - b.value).abs() <= tolerance, "{}: {} and {}", a.name, a.value, b.value);
            // Terms without electrostatics agree to the quanta of energies.
            if ["angles", "Lennard-Jones", "Lennard-Jones 1-4"].contains(&a.name) {
                assert!(
                    (a.value - b.value).abs() < 1e-6 * a.value.abs() + 1e-5,
                    "{}: {} and {}",
                    a.name,
                    a.value,
                    b.value
                );
            }
        }
        // Truncation of order 14 in different boxes: 1e-5 of potentials of some 100 kJ/mol/e at a dozen charges.
        for (a, b) in here.2.iter().zip(&there.2).chain(here.5.iter().zip(&there.5)) {
            assert!((a - b).abs() < 2e-2 + 1e-5 * a.abs(), "{:?} {:?}; {:?} {:?}", here.2, there.2, here.5, there.5);
        }
        let apart = here.3.positions.iter().zip(&there.3.positions).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(apart < 5e-6, "positions differ by {apart:e} nm");
        for (a, b) in here.4.iter().zip(&there.4) {
            assert!((a - b).abs() < 2e-6, "{:?} {:?}", here.4, there.4);
        }
        assert!((here.4[0] - 0.3).abs() > 1e-4, "{:?}", here.4);
    }
}

/// Types hold for the residues that they are given for: those of another residue of the entry are as good as none.
#[test]
fn types_of_another_residue_change_nothing() {
    let folder = temp_dir::TempDir::new().unwrap();
    let text = std::fs::read_to_string(library()).unwrap().replace("[\"GLH\"]", "[\"GLH\", \"ZGLH\"]");
    let types_in = |residue: &str| {
        let entry = folder.path().join(format!("{residue}.toml"));
        std::fs::write(&entry, text.replace("\n\n[[bonded]]", &format!("\nresidues = [\"{residue}\"]\n\n[[bonded]]")))
            .unwrap();
        entry
    };
    let dvdl = |entry: &Path| {
        let config = of_library("tests/good/glu/glu", entry, "[electrostatics]\norder = 8\n", "");
        let mut simulation = Simulation::on(&config, None).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        simulation.frame(Wanted::ALL).unwrap().dvdl.clone()
    };
    let without = folder.path().join("without.toml");
    let oxygen = text.rfind("[[lj_types]]").unwrap()..text.find("[[bonded]]").unwrap();
    std::fs::write(&without, [&text[..oxygen.start], &text[oxygen.end..]].concat()).unwrap();
    // The last of the types, those of the oxygen, is the one that the residues are of.
    let (here, there, none) = (dvdl(&types_in("GLH")), dvdl(&types_in("ZGLH")), dvdl(&without));
    assert_eq!(here, dvdl(&library()));
    assert_eq!(there, none);
    assert!(here.iter().zip(&there).any(|(a, b)| (a - b).abs() > 0.1), "{here:?} {there:?}");
}

/// What changes between forms: Lennard-Jones with its 1-4 pairs, and angles.
fn of_forms(energies: &Energies) -> [f64; 2] {
    [energies.lennard_jones + energies.lennard_jones_14, energies.bonded.angles.energy]
}

/// Without baths the sum of all energies, that of λ included, stays what it is: ∂V/∂λ and forces belong to one potential.
#[test]
fn energy_is_conserved_while_lambda_moves() {
    let device = Device::of_tests().unwrap();
    // Forms that differ by so much that it would be missed.
    let folder = temp_dir::TempDir::new().unwrap();
    let other = folder.path().join("glu-varied.toml");
    let text = std::fs::read_to_string(library()).unwrap();
    let text = text
        .replace("[\"HO\", \"H1\", \"HC\"]", "[\"HO\", \"H1\", \"CT\"]")
        .replace("[117.0, 600.0]", "[140.0, 600.0]");
    std::fs::write(&other, text).unwrap();
    let config = of_library(
        "inputs/01-glu/glu",
        &other,
        "[electrostatics]\norder = 8\n[dynamics]\nsteps = 400\ntime_step = \"0.5 fs\"\nremove_com_interval = 0\n\
         velocity_temperature = \"300 K\"\n",
        "",
    );
    let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    let start = simulation.state().unwrap().sites;
    let mut conserved = Vec::new();
    for _ in 0..8 {
        simulation.advance(15).unwrap();
        let frame = simulation.frame(Wanted::ALL).unwrap();
        conserved.push(frame.energies.iter().find(|e| e.name == "conserved").unwrap().value);
    }
    let state = simulation.state().unwrap();
    let at = |sites: SitesState| {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.restore(&State { sites, ..state.clone() }).unwrap();
        of_forms(&simulation.energies().unwrap())
    };
    // So much λ alone does to these terms, at fixed positions: it would be lost if ∂V/∂λ lacked them.
    let (now, then) = (at(state.sites.clone()), at(start));
    let exchanged = [now[0] - then[0], now[1] - then[1]];
    let mean = conserved.iter().sum::<f64>() / conserved.len() as f64;
    let worst = conserved.iter().map(|e| (e - mean).abs()).fold(0.0, f64::max);
    println!("conserved to {worst:.2} kJ/mol, {exchanged:.2?} exchanged: {conserved:?}");
    // Leap-frog with bonds that stretch: the kinetic energy of two half steps is not that of the step, 0.2 kJ/mol.
    assert!(exchanged.iter().all(|e| e.abs() > 1.5) && worst < 0.6, "{worst} of {exchanged:?}");
}

#[test]
fn a_run_in_pieces_is_bit_for_bit_the_run_in_one() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    for config in
        &varied(folder.path(), "[electrostatics]\norder = 4\n[dynamics]\nsteps = 60\n[thermostat]\n[barostat]\n")
    {
        let mut whole = Simulation::on(config, Some(&device)).unwrap();
        whole.prepare(&mut |_| Ok(())).unwrap();
        whole.advance(13).unwrap();
        let state = whole.state().unwrap();
        whole.advance(31).unwrap();
        let mut continued = Simulation::on(config, Some(&device)).unwrap();
        continued.restore(&state).unwrap();
        for steps in [3, 20, 8] {
            continued.advance(steps).unwrap();
            continued.frame(Wanted::ALL).unwrap();
        }
        let (a, b) = (whole.state().unwrap(), continued.state().unwrap());
        assert!(a.sites.lambda.coordinates != state.sites.lambda.coordinates);
        assert!(a == b, "the continued run differs");
    }
}

/// What eases a torsion is there whether forms replace the other terms on its atoms or not.
#[test]
fn barriers_between_rotamers_are_lowered_where_forms_have_torsions_of_their_own() {
    let folder = temp_dir::TempDir::new().unwrap();
    let with_torsion = folder.path().join("glu-varied.toml");
    let text = std::fs::read_to_string(library()).unwrap();
    let torsion = "[[bonded]]\natoms = [\"CA\", \"CB\", \"CG\", \"CD\"]\nfunction = 9\n\
                   parameters = [[180.0, 1.0, 1.0], [180.0, 5.0, 1.0], []]\n\n[correction]";
    std::fs::write(&with_torsion, text.replacen("[correction]", torsion, 1)).unwrap();
    let torsions = |entry: &Path, titration: &str| {
        let config = of_library("tests/good/glu/glu", entry, "[electrostatics]\norder = 4\n", titration);
        let mut simulation = Simulation::on(&config, None).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        simulation.energies().unwrap().bonded.proper_dihedrals.energy
    };
    let eased = |entry: &Path| torsions(entry, "ease_rotamers = \"8 kJ/mol\"\n") - torsions(entry, "");
    let (plain, of_forms) = (eased(&library()), eased(&with_torsion));
    assert!((torsions(&with_torsion, "") - torsions(&library(), "")).abs() > 0.1);
    assert!(plain.abs() > 0.5, "{plain}");
    assert!((plain - of_forms).abs() < 1e-9, "{plain} {of_forms}");
}
