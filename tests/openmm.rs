//! Jobs whose topology is a system that OpenMM serialised: energies and forces against its Reference platform in a periodic box, on the CPU and
//! on a device, and the whole way of a titration. How the files were made: `forcefield/tests/openmm/make.py`.

use kernels::device::Device;
use octitrate::config::Config;
use octitrate::simulation::Simulation;
use octitrate::system::{self, System};
use std::path::{Path, PathBuf};
use std::process::Command;

fn file(name: &str, extension: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("forcefield/tests/openmm").join(format!("{name}.{extension}"))
}

/// A job on these files with more sections.
fn text(structure: &Path, topology: &Path, sections: &str) -> String {
    format!("[system]\nstructure = \"{}\"\ntopology = \"{}\"\n{sections}", structure.display(), topology.display())
}

fn job(name: &str, sections: &str) -> Config {
    Config::parse(&text(&file(name, "gro"), &file(name, "xml"), sections), Path::new("openmm.toml")).unwrap()
}

fn check(name: &str, device: Option<&Device>, electrostatics: &str, tolerance: f64) {
    let sections = format!(
        "[electrostatics]\n{electrostatics}\n[van_der_waals]\ncutoff = \"0.9 nm\"\nmodifier = \"none\"\ndispersion_correction = false\n"
    );
    let mut simulation = Simulation::on(&job(name, &sections), device).unwrap();
    let point = simulation.single_point().unwrap();
    let expected: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(file(name, "json")).unwrap()).unwrap();
    let energy = |name: &str| point.energies.iter().find(|one| one.name == name).unwrap().value;
    let real = |value: &serde_json::Value| value.as_f64().unwrap_or(0.0);
    let periodic = &expected["periodic"];
    let terms = &expected["terms"];
    for (what, found, expected) in [
        (
            "Lennard-Jones",
            energy("Lennard-Jones") + energy("Lennard-Jones 1-4"),
            real(&periodic["lennard_jones"]) + real(&terms["LennardJones14"]),
        ),
        ("Coulomb", energy("Coulomb") + energy("Coulomb 1-4"), real(&periodic["coulomb"])),
        ("correction maps", energy("CMAP"), real(&terms["CMAPTorsionForce"])),
        (
            "dihedrals",
            energy("proper dihedrals") + energy("improper dihedrals"),
            real(&terms["PeriodicTorsionForce"]) + real(&terms["CustomTorsionForce"]),
        ),
    ] {
        let apart = (found - expected).abs() / expected.abs().max(1.0);
        println!("{name} {what}: {found} and {expected}, {apart:.1e}");
        assert!(apart < tolerance, "{name} {what}: {found}, OpenMM has {expected}");
    }
    let rows = periodic["forces"].as_array().unwrap();
    let (mut worst, mut largest) = (0.0_f64, 0.0_f64);
    let masses = System::new(&job(name, &sections)).unwrap().0.masses;
    // OpenMM has forces on virtual sites too, which it has handed to their parents.
    for ((force, row), _) in simulation.forces().iter().zip(rows).zip(&masses).filter(|(_, mass)| **mass > 0.0) {
        let apart: f64 = (0..3).map(|d| (force[d] - real(&row[d])).powi(2)).sum::<f64>().sqrt();
        worst = worst.max(apart);
        largest = largest.max(force.norm());
    }
    println!("{name} forces: worst {worst:.1e} of largest {largest:.1e}");
    assert!(worst < tolerance * largest, "{name}: a force differs by {worst} of {largest} kJ/mol/nm");
}

/// The expansions have an error of 1e-7 of the forces; energies of Coulomb sums are smaller than their terms.
#[test]
fn forces_in_a_box_are_those_of_openmm() {
    for name in ["ff14sb", "ff14sb-cufix", "ff19sb", "charmm36"] {
        check(name, None, "precision = \"double\"\ntolerance = 1e-7", 1e-6);
    }
}

/// The same on a device: order 16 in double precision leaves 1e-6.
#[test]
fn forces_on_a_device_are_those_of_openmm() {
    let device = Device::of_tests().unwrap();
    for name in ["ff14sb", "ff14sb-cufix", "charmm36"] {
        check(name, Some(&device), "precision = \"double\"\norder = 16", 1e-5);
    }
}

const TITRATION: &str = "[dynamics]\nsteps = 20\ntime_step = \"1 fs\"\n[thermostat]\n[titration]\nph = 7.0\ncompensation = \"background\"\n\
                         allow_uncalibrated = true\n";

#[test]
fn residues_are_sites_under_the_names_of_openmm() {
    let config = job("ff14sb", &format!("{TITRATION}allow_mismatch = [\"parameters\"]\n"));
    let (system, _) = System::new(&config).unwrap();
    let names: Vec<&str> = system.titratable().iter().map(|site| site.name.as_str()).collect();
    assert_eq!(names, ["ARG 14", "HIS 15", "ASP 18"]);
    // ff14SB has the charges of AMBER99SB-ILDN, and other torsions.
    let strict = job("ff14sb", TITRATION);
    let error = System::new(&strict).unwrap_err().to_string();
    assert!(error.contains("parameters: dihedral ") && !error.contains("water:"), "{error}");
}

/// Without a factor of 1-4 pairs λ would move charges whose pairs are not known.
#[test]
fn sites_whose_pairs_have_no_factor_are_refused() {
    let folder = temp_dir::TempDir::new().unwrap();
    let topology = folder.path().join("system.xml");
    let text_of = std::fs::read_to_string(file("ff14sb", "xml")).unwrap();
    let settings = format!("{TITRATION}allow_mismatch = [\"parameters\"]\n");
    let config = job("ff14sb", &settings);
    let system = system::read(&config).unwrap().topology;
    let asp = system.residues.iter().find(|residue| residue.name == "ASP").unwrap().atoms.clone();
    let proton = asp.clone().find(|&atom| system.atoms[atom as usize].name == "HD2").unwrap();
    let charged = |pair: &&forcefield::topology::Pair14| pair.atoms.contains(&proton) && pair.coulomb_scale > 0.0;
    let pair = system.pairs.iter().find(charged).unwrap();
    // One product is half of what it was.
    let [i, j] = pair.atoms;
    let line = text_of
        .lines()
        .find(|line| line.contains("<Exception") && line.contains(&format!("p1=\"{i}\" p2=\"{j}\"")))
        .unwrap();
    let start = line.find(" q=\"").unwrap() + 4;
    let product: f64 = line[start..].split('"').next().unwrap().parse().unwrap();
    let changed = format!("{}{}{}", &line[..start], 0.5 * product, &line[start + line[start..].find('"').unwrap()..]);
    std::fs::write(&topology, text_of.replace(line, &changed)).unwrap();
    let job = text(&file("ff14sb", "gro"), &topology, &settings);
    let error = System::new(&Config::parse(&job, Path::new("openmm.toml")).unwrap()).unwrap_err().to_string();
    assert!(
        error.contains("ASP 18: the Coulomb energies of its 1-4 pairs are not one factor times the charges"),
        "{error}"
    );
}

/// Sites are placed anew, where the structure has seven decimals: 1e-7 nm at a curvature of 1e5 kJ/mol/nm².
#[test]
fn forces_with_virtual_sites_are_those_of_openmm() {
    check("ff14sb-opc", None, "precision = \"double\"\ntolerance = 1e-7", 1e-5);
    check("ff14sb-opc", Some(&Device::of_tests().unwrap()), "precision = \"double\"\norder = 16", 1e-5);
}

/// The commands of the program, one after the other.
#[test]
fn a_system_of_openmm_runs_and_titrates() {
    let folder = temp_dir::TempDir::new().unwrap();
    let settings = format!("{TITRATION}allow_mismatch = [\"parameters\"]\n");
    let run = |name: &str, text: String, command: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_octitrate"));
        let output = program.args([command, path.to_str().unwrap()]).current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let job = |settings: &str| text(&file("ff14sb", "gro"), &file("ff14sb", "xml"), settings);
    let said = run("run.toml", job(&settings), "check");
    for fact in ["the system was made for PME", "CMMotionRemover is left out", "1 chain_1, 40 HOH"] {
        assert!(said.contains(fact), "{said}");
    }
    run("run.toml", job(&settings), "run");
    assert!(folder.path().join("run/final.gro").exists());
    let titration = settings.replace("ph = 7.0\n", "")
        + "[titrate]\nph = [4.0, 7.0]\nequilibration = \"5 fs\"\n[output]\nlambda = \"1 fs\"\n";
    run("titrate.toml", job(&titration), "titrate");
    assert!(folder.path().join("titrate").is_dir());
}
