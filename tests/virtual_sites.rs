//! Molecules with virtual sites: against OpenMM (`tests/reference/*.json`, made by `inputs/make/virtual_sites.py`), against derivatives, on the CPU
//! and on a device.
//!
//! A capped glutamic acid in OPC (an average of three atoms), TIP4P-Ew and TIP5P (out of plane); and in TIP4P-Ew with sites of other kinds on
//! the peptide, one of them with a Lennard-Jones interaction.

use forcefield::gromacs::{read_gro, write_gro};
use forcefield::virtual_sites;
use kernels::device::Device;
use nalgebra::Vector3;
use octitrate::config::Config;
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::state::State;
use octitrate::system::System;
use octitrate::trajectory::StoredFrame;
use serde_json::Value;
use std::path::{Path, PathBuf};

const MODELS: [&str; 3] = ["opc", "tip4pew", "tip5p"];

/// Lennard-Jones that ends at 0.9 nm; boxes are 2.1 nm wide.
const SHORT: &str = "[van_der_waals]\ncutoff = \"0.9 nm\"\n[neighbour_list]\nbuffer = \"0.1 nm\"\n";

/// The FMM of both backends, exact to 1e-6 and better of forces.
const EXACT: &str = "[electrostatics]\nprecision = \"double\"\norder = 16\n";

fn project(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn reference(model: &str) -> PathBuf {
    project("tests/reference").join(model)
}

fn job(stem: &Path, sections: &str) -> Config {
    let stem = stem.display();
    let text = format!("[system]\nstructure = \"{stem}.gro\"\ntopology = \"{stem}.top\"\n{sections}");
    Config::parse(&text, Path::new("virtual_sites.toml")).unwrap()
}

/// The peptide in TIP4P-Ew with four more sites behind its 28 atoms: on a bond, at an angle, out of plane, and at a centre of mass, which has a
/// Lennard-Jones interaction.
fn decorated(folder: &Path) -> PathBuf {
    const ATOMS: u32 = 28;
    let (source, target) = (reference("tip4pew"), folder.join("decorated"));
    let mut structure = read_gro(&source.with_extension("gro")).unwrap();
    let site = |k: u32| (Vector3::zeros(), ("NME".to_string(), format!("LP{k}")));
    for k in (1..=4).rev() {
        let (x, name) = site(k);
        structure.positions.insert(ATOMS as usize, x);
        structure.names.insert(ATOMS as usize, name);
        structure.residue_numbers.insert(ATOMS as usize, structure.residue_numbers[ATOMS as usize - 1]);
    }
    write_gro(&target.with_extension("gro"), &structure, 9).unwrap();
    let text = std::fs::read_to_string(source.with_extension("top")).unwrap();
    let (peptide, rest) = text.split_once("[ moleculetype ]\nSOL").unwrap();
    // Pairs that are excluded must be near.
    let more = "[ atoms ]\n29 MW 3 NME LP1 29 0.05 0\n30 MW 3 NME LP2 30 0.05 0\n31 MW 3 NME LP3 31 -0.12 0\n32 HC 3 NME LP4 32 0.02 0\n\
         [ virtual_sites2 ]\n29 18 17 2 -0.05\n[ virtual_sites3 ]\n30 22 21 23 3 110 0.06\n31 7 5 9 4 -0.3 -0.35 5.0\n\
         [ virtual_sitesn ]\n32 2 25 26 27 28\n[ exclusions ]\n29 17 18 19 20 14\n30 21 22 23 24 9 25\n\
         31 7 5 9 8 6 10 1 11 21\n32 25 26 27 28 23 24 21 22 30\n\n";
    std::fs::write(target.with_extension("top"), format!("{peptide}{more}[ moleculetype ]\nSOL{rest}")).unwrap();
    target
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn json(model: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(reference(model).with_extension("json")).unwrap()).unwrap()
}

/// Energies by term and forces after they are spread; 1e-8 of an energy and 1e-7 of the forces are what an Ewald sum with a tolerance of 1e-12 and
/// an FMM of order 24 leave (found: 1e-9 and 1e-8).
#[test]
fn single_points_are_those_of_openmm() {
    for model in MODELS {
        let sections = "[van_der_waals]\ncutoff = \"0.9 nm\"\nmodifier = \"none\"\ndispersion_correction = false\n\
                        [electrostatics]\nprecision = \"double\"\norder = 24\n[dynamics]\nconstraints = \"none\"\n";
        let mut simulation = Simulation::new(&job(&reference(model), sections)).unwrap();
        let found = simulation.single_point().unwrap();
        let of = |names: &[&str]| -> f64 {
            names.iter().map(|name| found.energies.iter().find(|q| q.name == *name).unwrap().value).sum()
        };
        let expected = json(model);
        for (ours, theirs) in [
            (of(&["bonds"]), "HarmonicBondForce"),
            (of(&["angles"]), "HarmonicAngleForce"),
            (of(&["proper dihedrals", "improper dihedrals"]), "PeriodicTorsionForce"),
            (of(&["Lennard-Jones", "Lennard-Jones 1-4"]), "LennardJones"),
            (of(&["Coulomb", "Coulomb 1-4"]), "Coulomb"),
            (of(&["potential"]), "total"),
        ] {
            let theirs_is = number(&expected["energies"][theirs]);
            let error = (ours / theirs_is - 1.0).abs();
            println!("{model} {theirs}: {error:.1e}");
            assert!(error < 1e-8, "{model} {theirs}: {ours} and {theirs_is}");
        }
        let (mut apart, mut norm) = (0.0, 0.0);
        for (atom, row) in expected["atoms"].as_array().unwrap().iter().zip(expected["forces"].as_array().unwrap()) {
            let theirs = Vector3::from_fn(|d, _| number(&row[d]));
            apart += (found.forces[atom.as_u64().unwrap() as usize] - theirs).norm_squared();
            norm += theirs.norm_squared();
        }
        let error = (apart / norm).sqrt();
        println!("{model} forces: {error:.1e}");
        assert!(error < 1e-7, "{model}: forces differ by {error:e}");
        let sites = &simulation.topology().virtual_sites;
        assert!(sites.len() > 200 && sites.iter().all(|one| found.forces[one.site as usize] == Vector3::zeros()));
    }
}

/// The decorated peptide by `gmx_d mdrun` (GROMACS 2022.5, double precision, PME of order 12 with a spacing of 0.05 nm, `[ settles ]` taken out
/// so that the virial holds forces only), with the site on the bond and with one of function 2 of three atoms in its place.
#[test]
fn other_kinds_of_sites_are_those_of_gromacs() {
    let folder = temp_dir::TempDir::new().unwrap();
    let stem = decorated(folder.path());
    let sections = "[van_der_waals]\ncutoff = \"0.9 nm\"\nmodifier = \"none\"\ndispersion_correction = false\n\
                    [electrostatics]\nprecision = \"double\"\norder = 24\n[dynamics]\nconstraints = \"none\"\n";
    let check = |lennard_jones: f64, coulomb: f64, virial: f64| {
        let found = Simulation::new(&job(&stem, sections)).unwrap().energies().unwrap();
        println!("{} {} {}", found.lennard_jones, found.coulomb, found.virial);
        assert!((found.lennard_jones / lennard_jones - 1.0).abs() < 1e-11, "{}", found.lennard_jones);
        assert!((found.coulomb / coulomb - 1.0).abs() < 1e-8, "{}", found.coulomb);
        assert!((found.virial / virial - 1.0).abs() < 1e-7, "{} and {virial}", found.virial);
    };
    check(2582.448225582, -16974.155163721, 43920.516086);
    let file = stem.with_extension("top");
    let text = std::fs::read_to_string(&file).unwrap().replace("29 18 17 2 -0.05\n[ virtual_sites3 ]\n", "");
    let text = text.replace("[ virtual_sites2 ]\n", "[ virtual_sites3 ]\n29 18 17 19 2 0.4 -0.05\n");
    std::fs::write(&file, text).unwrap();
    check(2582.448225582, -16973.965463466, 43921.064978);
}

/// Without Lennard-Jones, which jumps at a plain cut-off in both programs; the reference is a numerical derivative, good to 1e-7.
#[test]
fn the_virial_is_that_of_openmm() {
    let folder = temp_dir::TempDir::new().unwrap();
    for model in MODELS {
        let stem = folder.path().join(model);
        std::fs::copy(reference(model).with_extension("gro"), stem.with_extension("gro")).unwrap();
        let text = std::fs::read_to_string(reference(model).with_extension("top")).unwrap();
        let mut section = String::new();
        let inert = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            if line.starts_with('[') {
                section = line.to_string();
            } else if section == "[ atomtypes ]" && !words.is_empty() {
                return format!("{} 0 0\n", words[..words.len() - 2].join(" "));
            }
            format!("{line}\n")
        };
        std::fs::write(stem.with_extension("top"), text.lines().map(inert).collect::<String>()).unwrap();
        let sections = "[van_der_waals]\ncutoff = \"0.9 nm\"\n[electrostatics]\nprecision = \"double\"\norder = 24\n\
                        [dynamics]\nconstraints = \"none\"\n";
        let ours = Simulation::new(&job(&stem, sections)).unwrap().energies().unwrap().virial;
        let theirs = number(&json(model)["virial_without_lennard_jones"]);
        println!("{model}: {ours} {theirs}");
        assert!((ours / theirs - 1.0).abs() < 1e-6, "{model}: {ours} and {theirs}");
    }
}

/// All terms, sites that are no linear function of their parents: −dE/ds of all lengths s, on the CPU and on a device.
#[test]
fn the_virial_is_the_derivative_by_the_size_of_the_box() {
    let folder = temp_dir::TempDir::new().unwrap();
    let device = Device::of_tests().unwrap();
    for stem in [reference("tip5p"), decorated(folder.path())] {
        // A smooth end of Lennard-Jones, and an FMM whose truncation does not show.
        let exact = job(
            &stem,
            "[van_der_waals]\ncutoff = \"0.9 nm\"\nmodifier = \"force-switch\"\n[neighbour_list]\nbuffer = \"0.1 nm\"\n\
             [electrostatics]\nprecision = \"double\"\norder = 20\n",
        );
        let mut simulation = Simulation::new(&exact).unwrap();
        let state = simulation.state().unwrap();
        let mut energy = |s: f64| {
            let cell = state.cell.scaled(s).unwrap();
            let positions = state.positions.iter().map(|x| x * s).collect();
            let frame = StoredFrame { step: 0, time: 0.0, cell, positions, velocities: Vec::new(), forces: Vec::new() };
            simulation.place(&frame, Path::new("scaled")).unwrap();
            simulation.energies().unwrap()
        };
        let h = 1e-5;
        let slope = |h: f64, energy: &mut dyn FnMut(f64) -> f64| (energy(1.0 + h) - energy(1.0 - h)) / (2.0 * h);
        let mut potential = |s: f64| energy(s).potential();
        let expected = -(4.0 * slope(0.5 * h, &mut potential) - slope(h, &mut potential)) / 3.0;
        let ours = energy(1.0).virial;
        println!("{}: {ours} {expected}", stem.display());
        // Numerical derivatives of 2e4 kJ/mol; the trace of the FMM is exact to its truncation, 1e-8.
        assert!((ours / expected - 1.0).abs() < 1e-6, "{ours} and {expected}");
        let theirs = Simulation::on(&exact, Some(&device)).unwrap().energies().unwrap().virial;
        assert!((theirs / expected - 1.0).abs() < 1e-4, "on a device {theirs}, expected {expected}");
    }
}

/// How far (nm) sites are from where their parents have them.
fn misplaced(topology: &forcefield::Topology, state: &State) -> f64 {
    let mut placed = state.positions.clone();
    virtual_sites::place(&topology.virtual_sites, &mut placed);
    placed.iter().zip(&state.positions).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// Relative difference of forces, root mean square.
fn difference(a: &[Vector3<f64>], b: &[Vector3<f64>]) -> f64 {
    let apart: f64 = a.iter().zip(b).map(|(a, b)| (a - b).norm_squared()).sum();
    (apart / b.iter().map(Vector3::norm_squared).sum::<f64>()).sqrt()
}

#[test]
fn a_device_feels_and_moves_as_the_cpu_does() {
    let folder = temp_dir::TempDir::new().unwrap();
    let device = Device::of_tests().unwrap();
    for stem in [reference("tip5p"), decorated(folder.path())] {
        let config = job(
            &stem,
            &format!(
                "{SHORT}{EXACT}[minimise]\nsteps = 3\n[dynamics]\nsteps = 20\n[thermostat]\n[barostat]\ninterval = 5\n"
            ),
        );
        let run = |device: Option<&Device>| {
            let mut simulation = Simulation::on(&config, device).unwrap();
            let first = simulation.single_point().unwrap();
            simulation.prepare(&mut |_| Ok(())).unwrap();
            let state = simulation.state().unwrap();
            assert_eq!(misplaced(simulation.topology(), &state), 0.0, "after the minimisation");
            simulation.advance(12).unwrap();
            let columns = simulation.frame(Wanted::ALL).unwrap().energies;
            let state = simulation.state().unwrap();
            // Products may be fused on a GPU.
            assert!(misplaced(simulation.topology(), &state) < 1e-14, "after some steps");
            let mut sites = simulation.topology().virtual_sites.iter();
            assert!(sites.all(|one| state.velocities[one.site as usize] == Vector3::zeros()));
            (first, columns, state)
        };
        let ((start, ours, here), (there_start, theirs, there)) = (run(None), run(Some(&device)));
        let apart = difference(&there_start.forces, &start.forces);
        println!("forces differ by {apart:.1e}");
        // As in `device.rs`: boxes differ, and with them the truncation.
        assert!(apart < 4e-6, "forces differ by {apart:e}");
        let apart = here.positions.iter().zip(&there.positions).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        println!("positions differ by {apart:.1e} nm");
        assert!(apart < 1e-5, "positions differ by {apart:e} nm");
        assert!((here.cell.edges().unwrap() - there.cell.edges().unwrap()).norm() < 1e-6);
        for (a, b) in ours.iter().zip(&theirs) {
            let tolerance = if a.unit == "bar" { 5.0 } else { 2e-5 * a.value.abs() + 2e-2 };
            assert!((a.value - b.value).abs() <= tolerance, "{}: {} and {}", a.name, a.value, b.value);
        }
    }
}

/// A glutamic acid in TIP4P-Ew that titrates, with three molecules as its buffer; the forms of these have charges on oxygens, which other molecules
/// have not.
fn with_buffer(electrostatics: &str) -> Config {
    let library = project("tests/good/library/water-four-test.toml");
    let glu = project("lambda/library/glu.toml");
    job(
        &reference("tip4pew"),
        &format!(
            "{SHORT}[electrostatics]\n{electrostatics}\n[dynamics]\nsteps = 100\n[thermostat]\n[barostat]\n[titration]\nph = 4.0\n\
             allow_uncalibrated = true\nallow_mismatch = [\"interpolation\", \"images\", \"temperature\", \"cutoff\", \"modifier\", \"water\", \"boundary\", \"parameters\"]\nlibrary = [\"{}\", \"{}\"]\n[[titration.site]]\nresidue = \"GLH 2\"\n\
             initial = 0.3\n[titration.buffer]\nmolecules = 3\ndistance = \"0.3 nm\"\n",
            glu.display(),
            library.display()
        ),
    )
}

/// The derivatives by λ of a device that leaves out uncharged oxygens, but not those of the buffer.
#[test]
fn a_device_has_the_derivatives_of_the_cpu_with_a_buffer_of_four_sites() {
    let config = with_buffer("precision = \"double\"\norder = 16");
    let device = Device::of_tests().unwrap();
    let [here, there] = [None, Some(&device)].map(|device| {
        let mut simulation = Simulation::on(&config, device).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        simulation.frame(Wanted { derivatives: true, ..Wanted::default() }).unwrap().dvdl.clone()
    });
    println!("{here:?} {there:?}");
    assert!(here.len() == 2 && here.iter().all(|slope| slope.abs() > 1.0), "{here:?}");
    // Truncation of order 16 in other boxes: as in `device.rs`.
    assert!(here.iter().zip(&there).all(|(a, b)| (a - b).abs() < 1e-2), "{here:?} {there:?}");
}

/// Bit for bit, with a glutamic acid that titrates, buffers of four sites, thermostats and barostat; on the CPU and on a device. The charges of
/// a buffer include that of its massless site.
#[test]
fn runs_with_a_buffer_of_four_sites_continue_bit_for_bit() {
    let config = with_buffer("order = 8");
    let (system, state) = System::new(&config).unwrap();
    let buffer = system.titratable().iter().find(|site| site.name == "buffer").unwrap();
    assert_eq!(buffer.atoms.len(), 12);
    let massless = buffer.atoms.iter().filter(|&&atom| system.topology.atoms[atom as usize].mass == 0.0).count();
    assert_eq!(massless, 3);
    // 30 % of the acid's charge is gone, and the molecules have it.
    let weights = system.weights(&state);
    let charge: f64 = (0..2).map(|form| weights.sites().last().unwrap()[form] * buffer.net_charge(form)).sum();
    assert!((charge - 0.3).abs() < 1e-3 + 1e-9, "{charge}");
    let device = Device::of_tests().unwrap();
    for device in [None, Some(&device)] {
        let steps = if device.is_some() { [7, 9] } else { [33, 44] };
        let mut whole = Simulation::on(&config, device).unwrap();
        whole.prepare(&mut |_| Ok(())).unwrap();
        whole.advance(steps[0]).unwrap();
        let state = whole.state().unwrap();
        whole.advance(steps[1]).unwrap();
        let mut continued = Simulation::on(&config, device).unwrap();
        continued.restore(&state).unwrap();
        continued.advance(steps[1]).unwrap();
        assert!(continued.state().unwrap() == whole.state().unwrap(), "the continued run differs");
        let state = whole.state().unwrap();
        assert!(misplaced(whole.topology(), &state) < 1e-14);
    }
}

/// Virtual sites are no degrees of freedom, and do not count as anything that could be heavy.
#[test]
fn degrees_of_freedom_are_those_of_the_atoms() {
    let sections = format!("{SHORT}[dynamics]\nconstraints = \"h-bonds\"\n");
    let system = |model: &str| System::new(&job(&reference(model), &sections)).unwrap().0;
    for (model, sites) in [("tip4pew", 1), ("tip5p", 2)] {
        let system = system(model);
        let waters = system.topology.settles.len();
        assert_eq!(system.topology.virtual_sites.len(), sites * waters);
        let hydrogens = 28 - 14;
        assert_eq!(system.degrees_of_freedom, 3 * 28 - hydrogens + 6 * waters - 3);
    }
}

/// Energy over 1 000 steps of TIP5P water and of the decorated peptide, whose forces are spread in the least simple ways.
#[test]
fn energy_is_conserved() {
    let folder = temp_dir::TempDir::new().unwrap();
    for stem in [reference("tip5p"), decorated(folder.path())] {
        let config = job(
            &stem,
            "[van_der_waals]\ncutoff = \"0.9 nm\"\nmodifier = \"force-switch\"\n[electrostatics]\norder = 10\n[minimise]\nsteps = 20\n\
             [dynamics]\nsteps = 1000\ntime_step = \"1 fs\"\nvelocity_temperature = \"300 K\"\n",
        );
        let mut simulation = Simulation::new(&config).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        let mut conserved = Vec::new();
        for _ in 0..40 {
            simulation.advance(25).unwrap();
            let columns = simulation.frame(Wanted::ALL).unwrap().energies;
            conserved.push(columns.iter().find(|q| q.name == "conserved").unwrap().value);
        }
        let half = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let change = half(&conserved[20..]) - half(&conserved[..20]);
        println!("{}: the second half is {change:.3} kJ/mol above the first", stem.display());
        // 3 000 kJ/mol are kinetic; forces without their spreading heat by hundreds.
        assert!(change.abs() < 1.0, "the energy changes by {change} kJ/mol");
    }
}
