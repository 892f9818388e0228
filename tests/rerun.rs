//! Trajectories that are written, read again and started from: `octitrate rerun`, `system.frame`, selections, `trajectory.trr`.

use kernels::device::Device;
use octitrate::config::Config;
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::signals::Stop;
use octitrate::simulation::Simulation;
use octitrate::trajectory::{Frames, StoredFrame};
use octitrate::workflow::rerun::rerun;
use octitrate::workflow::run::{Outcome, run};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// A site of three forms, one of two and a buffer in water at constant pressure, with these lines of `[output]` and more sections.
fn buffered(folder: &Path, output: &str, sections: &str) -> Config {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (path, library) = (root.join("tests/good/glu/glu"), root.join("tests/good/library"));
    let (path, library) = (path.display(), library.display());
    let text = format!(
        "[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n{sections}\n\
         [electrostatics]\norder = 14\nprecision = \"double\"\n[dynamics]\nsteps = 20\nconstraints = \"h-bonds\"\n[thermostat]\n[barostat]\n\
         [output]\nfolder = \"run\"\nenergy = \"10 fs\"\nlambda = \"10 fs\"\n{output}\n\
         [titration]\nph = 4.5\ncoordinate = \"hypersphere\"\n\
         library = [\"{library}/glu-three.toml\", \"{library}/acetyl.toml\", \"{library}/water-test.toml\"]\n\
         [[titration.site]]\nresidue = \"GLH 2\"\ninitial = [0.3, 0.5, 0.2]\n\
         [[titration.site]]\nresidue = \"ACE 1\"\ninitial = 0.4\n[titration.buffer]\n"
    );
    Config::parse(&text, &folder.join("job.toml")).unwrap()
}

/// A table as its columns by name.
fn columns(text: &str) -> BTreeMap<String, Vec<f64>> {
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let mut table: BTreeMap<String, Vec<f64>> = names.iter().map(|name| (name.to_string(), Vec::new())).collect();
    for line in lines {
        names.iter().zip(line).for_each(|(name, cell)| table.get_mut(*name).unwrap().push(cell.parse().unwrap()));
    }
    table
}

/// Largest difference of a column in two tables.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// The frames of a run, in full precision, have the energies, the pressure and ∂V/∂λ that the run had; on the device as well.
#[test]
fn frames_of_a_run_have_its_energies() {
    let folder = temp_dir::TempDir::new().unwrap();
    let output = "positions = \"10 fs\"\nvelocities = \"10 fs\"\nfull_precision = \"double\"\ntrajectory = \"20 fs\"\n";
    let config = buffered(folder.path(), output, "");
    let outcome = run(&config, &mut Simulation::new(&config).unwrap(), &Stop::default(), true).unwrap();
    assert_eq!(outcome, Outcome::Finished);
    let read = |name: &str| columns(&std::fs::read_to_string(config.result(name)).unwrap());
    let (energy, lambda) = (read("energy.csv"), read("lambda.csv"));

    let device = Device::of_tests().unwrap();
    for device in [None, Some(&device)] {
        let mut simulation = Simulation::on(&config, device).unwrap();
        let (frames, lambdas) = (config.result("trajectory.trr"), config.result("lambda.csv"));
        let result = rerun(&mut simulation, &frames, Some(&lambdas), &mut |_, _| ()).unwrap();
        assert_eq!((result.frames, result.left_out), (5, 0));
        let again = columns(&result.table);
        // λ has six digits, times slopes of 1000 kJ/mol. Boxes of the expansions are made anew for each frame, in the run every ten steps or so: at
        // order 14 that is 1e-6 of the forces, and of 5e4 kJ/mol of Coulomb energy. Boxes of the device are others.
        let (loose, of_device) = (0.02, device.is_some());
        let tolerance = |name: &str| match name {
            name if name.ends_with("(bar)") => {
                if of_device {
                    2.0
                } else {
                    0.5
                }
            }
            name if name.starts_with("lambda") => 1e-6,
            _ if of_device => 0.3,
            _ => loose,
        };
        for (name, values) in energy.iter().chain(&lambda) {
            let motion_of_lambda =
                ["total", "conserved", "λ kinetic", "λ temperature"].iter().any(|n| name.starts_with(n));
            match again.get(name) {
                Some(same) => {
                    let apart = apart(values, same);
                    println!("{name}: {apart:.1e}");
                    assert!(apart <= tolerance(name), "{name}: {apart}");
                }
                None => assert!(motion_of_lambda, "{name} is missing"),
            }
        }
        assert!(again.contains_key("pressure (bar)") && !again.contains_key("conserved (kJ/mol)"));
    }

    // Positions alone have no pressure. Rounded to 0.001 nm, bonds and pairs change by whole kJ/mol, but not by more.
    let mut simulation = Simulation::new(&config).unwrap();
    let result = rerun(&mut simulation, &config.result("trajectory.xtc"), None, &mut |_, _| ()).unwrap();
    let again = columns(&result.table);
    assert!(result.frames == 3 && !again.contains_key("pressure (bar)") && !again.contains_key("kinetic (kJ/mol)"));
    let kept: Vec<f64> = energy["volume (nm³)"].iter().step_by(2).copied().collect();
    assert!(apart(&again["volume (nm³)"], &kept) < 1e-4, "{:?} {kept:?}", again["volume (nm³)"]);
    assert_eq!(again["lambda ACE 1"], [0.4; 3], "λ of the job");
}

/// A trajectory of some atoms has a structure beside it, and is no input for what needs all atoms.
#[test]
fn chosen_atoms_have_names_and_no_energies() {
    let folder = temp_dir::TempDir::new().unwrap();
    let output = "trajectory = \"20 fs\"\ntrajectory_atoms = \"resname GLH and not hydrogen\"\nforces = \"20 fs\"";
    let config = buffered(folder.path(), output, "");
    let mut simulation = Simulation::new(&config).unwrap();
    run(&config, &mut simulation, &Stop::default(), true).unwrap();
    let names = forcefield::gromacs::read_gro(&config.result("trajectory.gro")).unwrap();
    let heavy = ["N", "CA", "CB", "CG", "CD", "OE1", "OE2", "C", "O"];
    assert!(names.names.iter().all(|(residue, atom)| residue == "GLH" && !atom.starts_with('H')));
    assert_eq!(names.positions.len(), heavy.len());
    let mut frames = Frames::open(&config.result("trajectory.xtc")).unwrap();
    assert_eq!((frames.entries().len(), frames.read(0).unwrap().positions.len()), (3, heavy.len()));

    let refused = |name: &str| {
        let mut simulation = Simulation::new(&config).unwrap();
        rerun(&mut simulation, &config.result(name), None, &mut |_, _| ()).unwrap_err().to_string()
    };
    assert!(refused("trajectory.xtc").contains("the frames have 9 atoms, the system has"));
    let section = format!("frame = \"{}\"", config.result("trajectory.xtc").display());
    let message = Simulation::new(&buffered(folder.path(), "", &section)).map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("have 9 atoms, the system has") && message.contains("system.frame"), "{message}");

    // Forces are those of the force field at the last step, without constraints.
    let mut frames = Frames::open(&config.result("trajectory.trr")).unwrap();
    let last = frames.read(2).unwrap();
    assert!(last.positions.is_empty() && frames.find(None).unwrap_err().to_string().contains("no frame has positions"));
    let now = simulation.frame(Wanted { forces: true, ..Wanted::default() }).unwrap();
    // Single precision.
    let scale = now.forces.iter().map(|f| f.amax()).fold(0.0, f64::max);
    let apart = now.forces.iter().zip(&last.forces).map(|(a, b)| (a - b).amax()).fold(0.0, f64::max);
    assert!(scale > 100.0 && apart <= 1e-7 * scale, "{apart} of {scale}");
}

/// What a device gives for `trajectory.trr` belongs together: its forces are those of its positions and its box, in the middle of a run.
#[test]
fn positions_and_forces_of_a_device_belong_together() {
    let folder = temp_dir::TempDir::new().unwrap();
    let config = buffered(folder.path(), "", "");
    let mut there = Simulation::on(&config, Some(&Device::of_tests().unwrap())).unwrap();
    there.prepare(&mut |_| Ok(())).unwrap();
    there.advance(7).unwrap();
    let weights = there.weights().unwrap().to_vec();
    let frame = there.frame(Wanted { positions: true, forces: true, ..Wanted::default() }).unwrap();
    let stored = StoredFrame { cell: frame.cell, positions: frame.positions.to_vec(), ..StoredFrame::default() };
    let mut here = Simulation::new(&config).unwrap();
    here.place(&stored, Path::new("frame")).unwrap();
    here.set_weights(&weights).unwrap();
    let forces = here.single_point().unwrap().forces;
    let apart = forces.iter().zip(frame.forces).map(|(a, b)| (a - b).norm_squared()).sum::<f64>();
    let apart = (apart / forces.iter().map(|f| f.norm_squared()).sum::<f64>()).sqrt();
    // Other boxes at order 14: 1e-6 to 1e-5. Positions one step away would give 1e-2.
    println!("forces differ by {apart:.1e}");
    assert!(apart < 3e-5, "{apart:e}");
}

/// A run that starts from a frame of another one goes the same way, and one that starts from the structure does not.
#[test]
fn a_run_from_a_frame_goes_the_same_way() {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("inputs/03-water/water");
    let water = |system: &str, steps: u64, name: &str| {
        let path = path.display();
        let text = format!(
            "[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n{system}[electrostatics]\nprecision = \"double\"\norder = 16\n\
             [dynamics]\nsteps = {steps}\nremove_com_interval = 0\nvelocity_temperature = \"300 K\"\n[output]\nfolder = \"{name}\"\n\
             trajectory = \"0 ps\"\npositions = \"20 fs\"\nvelocities = \"20 fs\"\nfull_precision = \"double\"\n"
        );
        Config::parse(&text, &folder.path().join("job.toml")).unwrap()
    };
    let go = |config: &Config| {
        run(config, &mut Simulation::new(config).unwrap(), &Stop::default(), true).unwrap();
        Frames::open(&config.result("trajectory.trr")).unwrap().find(None).unwrap()
    };
    let whole = go(&water("", 20, "whole"));
    let from = "frame = \"whole/trajectory.trr\"\nframe_time = \"20 fs\"\n";
    let part = go(&water(from, 10, "part"));
    let apart = |a: &[nalgebra::Vector3<f64>], b: &[nalgebra::Vector3<f64>]| {
        a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
    };
    // Lists are made at other steps: forces differ by 1e-6 of 5000 kJ/mol/nm at order 16 (30 times as much at order 12), which moves a hydrogen by
    // 1e-6 nm in 20 fs and changes its velocity by 1e-4 nm/ps.
    let (x, v) = (apart(&whole.positions, &part.positions), apart(&whole.velocities, &part.velocities));
    println!("positions differ by {x:.1e} nm, velocities by {v:.1e} nm/ps");
    assert!(x < 5e-6 && v < 4e-4 && part.time == 0.02, "{x} nm, {v} nm/ps");
    let start = go(&water("", 10, "start"));
    assert!(apart(&whole.positions, &start.positions) > 1e-3);
    // A frame that is not there is named with those that are.
    let refused = |system: &str| Simulation::new(&water(system, 10, "no")).map(|_| ()).unwrap_err().to_string();
    let message = refused("frame = \"whole/trajectory.trr\"\nframe_time = \"30 fs\"\n");
    assert!(message.contains("no frame at this time, 0.03 ps") && message.contains("from 0 to 0.04 ps"), "{message}");
}

/// The command, with the resolved job of the run, and what it says of a λ that is not there.
#[test]
fn the_command_writes_a_table() {
    let folder = temp_dir::TempDir::new().unwrap();
    let config = buffered(folder.path(), "positions = \"20 fs\"\n", "");
    run(&config, &mut Simulation::new(&config).unwrap(), &Stop::default(), true).unwrap();
    let octitrate = |arguments: &[&str]| {
        let run = folder.path().join("run");
        let job = run.join("resolved.toml");
        let mut command = Command::new(env!("CARGO_BIN_EXE_octitrate"));
        command.args(["--device", "cpu", "rerun"]).arg(&job).arg("--trajectory").arg(run.join("trajectory.trr"));
        command.args(arguments).output().unwrap()
    };
    let lambda = folder.path().join("run/lambda.csv");
    let output = octitrate(&["--lambda", lambda.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = std::fs::read_to_string(folder.path().join("run/rerun.csv")).unwrap();
    assert!(
        table.lines().count() == 4 && table.contains("potential (kJ/mol)") && table.contains("lambda GLH 2:"),
        "{table}"
    );

    let text = std::fs::read_to_string(&lambda).unwrap();
    let first: Vec<&str> = text.lines().take(2).collect();
    std::fs::write(&lambda, first.join("\n") + "\n").unwrap();
    let output = octitrate(&["--lambda", lambda.to_str().unwrap(), "-o", "never.csv"]);
    let said = String::from_utf8_lossy(&output.stderr).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        output.status.code() == Some(2) && said.contains("no λ for the frame at 0.02 ps; the nearest line is at 0 ps"),
        "{said}"
    );
    assert!(!Path::new("never.csv").exists());

    // Nothing else is written over.
    let energies = folder.path().join("run/energy.csv");
    let before = std::fs::read(&energies).unwrap();
    let output = octitrate(&["-o", energies.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && said.contains("there is another file of this name"), "{said}");
    assert!(std::fs::read(&energies).unwrap() == before);
}
