//! `[position_restraints]` and constant volume at the start: what holds, fades and ends, on the CPU and on a device; the energy with its work; runs
//! in pieces that end in each stage and where stages meet.
//!
//! The device is the emulator, or the GPU named by OCTITRATE_TEST_DEVICE.

use kernels::device::Device;
use nalgebra::Vector3;
use octitrate::config::Config;
use octitrate::config::quantity::{Stiffness, Time};
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::state::State;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A peptide and forty molecules of water whose heavy atoms are held: whole for 100 steps, by half for another 100, then not at all.
fn job(sections: &str) -> Config {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("forcefield/tests/openmm/ff14sb");
    let path = path.display();
    let text = format!(
        "[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.xml\"\n{sections}\
         [position_restraints]\nduration = \"0.2 ps\"\nfade = \"0.1 ps\"\natoms = \"not hydrogen\"\n\
         force_constant = \"1500 kJ/mol/nm^2\"\n"
    );
    Config::parse(&text, Path::new("restraints.toml")).unwrap()
}

fn part(step: u64) -> f64 {
    [1.0, 0.5, 0.0][(step / 100).min(2) as usize]
}

/// Energy of the restraints, and the force on each atom, from the state alone.
fn by_hand(simulation: &Simulation, state: &State) -> (f64, Vec<Vector3<f64>>) {
    let k = 1500.0 * part(state.step);
    let topology = simulation.topology();
    let force = |i: usize| {
        let d = state.cell.minimum_image(state.positions[i] - state.restraint_references[i]);
        if topology.is_hydrogen(i as u32) { Vector3::zeros() } else { -k * d }
    };
    let forces: Vec<Vector3<f64>> = (0..state.positions.len()).map(force).collect();
    (if k == 0.0 { 0.0 } else { forces.iter().map(|f| f.norm_squared()).sum::<f64>() / (2.0 * k) }, forces)
}

fn column(simulation: &mut Simulation, name: &str) -> f64 {
    let frame = simulation.frame(Wanted::ALL).unwrap();
    frame.energies.iter().find(|quantity| quantity.name == name).unwrap().value
}

/// Without thermostats, the total energy falls where restraints fade, and the energy less their work does not.
#[test]
fn the_energy_less_the_work_of_fading_is_conserved() {
    let mut config =
        job("[electrostatics]\norder = 8\n[dynamics]\nsteps = 230\ntime_step = \"1 fs\"\nremove_com_interval = 0\n\
         velocity_temperature = \"300 K\"\n");
    let restraints = config.position_restraints.as_mut().unwrap();
    restraints.duration = Time::new(0.1);
    for device in [None, Some(Device::of_tests().unwrap())] {
        let mut simulation = Simulation::on(&config, device.as_ref()).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        for change in [100, 200] {
            simulation.advance(change - 1 - simulation.step()).unwrap();
            let (total, conserved) = (column(&mut simulation, "total"), column(&mut simulation, "conserved"));
            let before = simulation.state().unwrap();
            simulation.advance(1).unwrap();
            let state = simulation.state().unwrap();
            let work = state.restraint_work - before.restraint_work;
            // Half of the energy of whole restraints where force constants change, half way between two positions; the second half at the end.
            let at = |state: &State| by_hand(&simulation, &State { step: 150, ..state.clone() }).0;
            let energy = 0.5 * (at(&before) + at(&state));
            let late = at(&state) - energy;
            assert!(
                (work + energy).abs() < 1e-9 * energy,
                "step {change}: work {work}, half of the restraints {energy}"
            );
            let total = column(&mut simulation, "total") - total;
            let conserved = column(&mut simulation, "conserved") - conserved;
            println!(
                "step {change}: work {work:.1} kJ/mol, total {total:+.2}, conserved {conserved:+.3}; of the later positions {late:+.2}"
            );
            // From step to step it changes by 0.3 kJ/mol; with the energy of the later positions alone it would by 0.7 more.
            assert!(work < -50.0 && (total - work).abs() < 0.5);
            assert!(conserved.abs() < 0.5, "step {change}: {conserved}");
        }
        simulation.advance(30).unwrap();
        assert_eq!(column(&mut simulation, "position restraints"), 0.0);
    }
}

/// Energies and forces of each stage on both backends, at the states of a run with a barostat.
#[test]
fn every_stage_holds_as_much_as_it_says() {
    let device = Device::of_tests().unwrap();
    let config = job(
        "[electrostatics]\norder = 3\n[dynamics]\nsteps = 250\n[thermostat]\n[barostat]\ncoupling_time = \"0.2 ps\"\n",
    );
    let mut plain = config.clone();
    plain.position_restraints = None;
    let mut run = Simulation::new(&config).unwrap();
    run.prepare(&mut |_| Ok(())).unwrap();
    let start = run.state().unwrap();
    for step in [60, 100, 199, 200] {
        run.advance(step - run.step()).unwrap();
        let mut state = run.state().unwrap();
        state.lists = Default::default();
        if step == 60 {
            let scale = state.cell.edges().unwrap().x / start.cell.edges().unwrap().x;
            assert!((scale - 1.0).abs() > 1e-5, "the box has not changed");
            let moved = |i: usize| (state.restraint_references[i] - start.restraint_references[i] * scale).norm();
            assert!((0..state.positions.len()).all(|i| moved(i) < 1e-12), "references follow the box");
        }
        let (energy, force) = by_hand(&run, &state);
        for device in [None, Some(&device)] {
            let mut held = Simulation::on(&config, device).unwrap();
            held.restore(&state).unwrap();
            let with = held.energies().unwrap();
            let mut free = Simulation::on(&plain, device).unwrap();
            free.restore(&State { restraint_references: Vec::new(), ..state.clone() }).unwrap();
            let without = free.energies().unwrap();
            // Energies are kept in units of 6e-8 kJ/mol on a device, one for each of ten blocks.
            assert!((with.restraints - energy).abs() < 1e-6, "step {step}: {} and {energy}", with.restraints);
            assert!((with.virial - without.virial + 2.0 * energy).abs() < 1e-5, "step {step}");
            let apart = held.forces().iter().zip(free.forces()).zip(&force).map(|((a, b), f)| (a - b - f).norm());
            let worst = apart.fold(0.0, f64::max);
            // Sums of forces of 1e4 kJ/mol/nm in f64.
            assert!(worst < 1e-7, "step {step}: forces are off by {worst}");
        }
    }
}

/// Stopped in every stage and at each change, on the CPU and on a device: the trajectory is that of a run in one piece, to the last bit.
#[test]
fn a_run_in_pieces_is_bit_for_bit_the_run_in_one() {
    let device = Device::of_tests().unwrap();
    // The volume is constant for 60 steps; the barostat first acts at the end of step 69.
    let config =
        job("[electrostatics]\norder = 3\n[dynamics]\nsteps = 300\n[thermostat]\n[barostat]\nstart = \"0.12 ps\"\n");
    let start = |device| {
        let mut simulation = Simulation::on(&config, device).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        simulation
    };
    for device in [None, Some(&device)] {
        let mut whole = start(device);
        whole.advance(233).unwrap();
        // Lists that are due are made when a frame is computed, here as in the pieces.
        whole.frame(Wanted::ALL).unwrap();
        let expected = whole.state().unwrap();
        assert!(expected.restraint_work < 0.0);
        let (mut pieces, mut volumes) = (start(device), Vec::new());
        for steps in [37, 22, 1, 40, 13, 86, 1, 33] {
            let state = pieces.state().unwrap();
            volumes.push((state.step, state.cell.volume().unwrap()));
            pieces = Simulation::on(&config, device).unwrap();
            pieces.restore(&state).unwrap();
            pieces.advance(steps).unwrap();
            pieces.frame(Wanted::ALL).unwrap();
        }
        for (step, volume) in &volumes {
            assert_eq!(*volume == volumes[0].1, *step <= 60, "step {step}: {volumes:?}");
        }
        let ended = pieces.state().unwrap();
        let same = [
            ("positions", ended.positions == expected.positions),
            ("baths", ended.bath == expected.bath),
            ("work of restraints", ended.restraint_work == expected.restraint_work),
            ("lists", ended.lists == expected.lists),
        ];
        assert!(
            ended == expected,
            "the continued run differs on {}: {same:?}",
            device.map_or("the CPU", |_| "a device")
        );
    }
}

/// The minimisation feels the restraints, whose references are those of the structure.
#[test]
fn what_is_minimised_is_held_where_the_structure_has_it() {
    let ended = |k: f64| {
        let mut config = job("[electrostatics]\norder = 3\n[dynamics]\nsteps = 10\n[minimise]\nsteps = 40\n");
        config.position_restraints.as_mut().unwrap().force_constant = Stiffness::new(k);
        let mut simulation = Simulation::new(&config).unwrap();
        let start = simulation.state().unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        let end = simulation.state().unwrap();
        assert_eq!(start.restraint_references, end.restraint_references);
        let topology = simulation.topology();
        // Atoms that nothing holds have none: in a checkpoint they would take room.
        for (atom, reference) in start.restraint_references.iter().enumerate() {
            let held = topology.position_restraints.iter().any(|held| held.atom as usize == atom);
            assert_eq!(*reference, if held { start.positions[atom] } else { Vector3::zeros() });
        }
        let heavy = (0..end.positions.len()).filter(|&i| !topology.is_hydrogen(i as u32));
        let moved: Vec<f64> = heavy.map(|i| (end.positions[i] - start.positions[i]).norm_squared()).collect();
        (moved.iter().sum::<f64>() / moved.len() as f64).sqrt()
    };
    let (soft, hard) = (ended(1.0), ended(1e6));
    println!("moved by {soft:.1e} nm, held by {hard:.1e} nm");
    assert!(hard < 0.3 * soft, "{soft} {hard}");
}

/// The solute is what is held unless the job says otherwise, and neither what the topology restrains nor the buffer is held twice.
#[test]
fn heavy_atoms_of_the_solute_are_held_by_default() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let (path, library) = (path.join("tests/good/glu/glu"), path.join("tests/good/library/water-test.toml"));
    let text = format!(
        "[system]\nstructure = \"{0}.gro\"\ntopology = \"{0}.top\"\n[dynamics]\nduration = \"100 ps\"\n[thermostat]\n[position_restraints]\n\
         ATOMS[titration]\nph = 4.0\nallow_uncalibrated = true\nlibrary = [\"{1}\"]\n[[titration.site]]\nresidue = \"GLH 2\"\n[titration.buffer]\n",
        path.display(),
        library.display()
    );
    let held = |atoms: &str| {
        let text = text.replace("ATOMS", atoms);
        let simulation = Simulation::new(&Config::parse(&text, Path::new("held.toml")).unwrap()).unwrap();
        let topology = simulation.topology();
        let held = topology.position_restraints.iter().filter(|held| held.fades);
        let held: Vec<&str> = held.map(|held| topology.atoms[held.atom as usize].name.as_str()).collect();
        let fact = simulation.describe().facts.into_iter().find(|(name, _)| name == "position restraints").unwrap().1;
        assert!(fact.starts_with(&format!("{} atoms at 1000 kJ/mol/nm^2: ", held.len())), "{fact}");
        assert_eq!(simulation.describe().held, 40.0, "λ is held until the end of the restraints");
        (held.join(" "), topology.position_restraints.len())
    };
    let (solute, all) = held("");
    assert_eq!(solute, "CH3 C O N CA CB CG CD OE1 OE2 C O N CH3");
    // With three molecules of the buffer, which stay held.
    assert_eq!(all, 14 + 3);
    assert_eq!(held("atoms = \"name CA or buffer\"\n").1, 1 + 6 + 3);
}

/// A titration with exchange that is killed again and again, in every stage: its files are those of one that was left alone.
#[test]
fn an_exchange_that_is_killed_leaves_the_same_bytes() {
    let folder = temp_dir::TempDir::new().unwrap();
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/good/glu/glu");
    let text = format!(
        "[system]\nstructure = \"{0}.gro\"\ntopology = \"{0}.top\"\n[electrostatics]\norder = 3\n[minimise]\nsteps = 3\n\
         [position_restraints]\nduration = \"0.2 ps\"\nfade = \"0.1 ps\"\natoms = \"not hydrogen\"\n[dynamics]\nsteps = 400\n\
         [thermostat]\n[barostat]\nstart = \"0.1 ps\"\n[titration]\nallow_uncalibrated = true\n[[titration.site]]\nresidue = \"GLH 2\"\n\
         [titration.buffer]\n[titrate]\nph = [4.0, 5.0]\nexchange = \"20 fs\"\n\
         [output]\nenergy = \"20 fs\"\nlambda = \"20 fs\"\ntrajectory = \"100 fs\"\ncheckpoint = \"0.001 s\"\n",
        path.display()
    );
    let job = folder.path().join("job.toml");
    std::fs::write(&job, text).unwrap();
    let start = |out: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_octitrate"));
        command.args(["titrate", "--quiet", "--device", "cpu", "--threads", "2"]).arg(&job).arg("--output").arg(out);
        command.stdout(Stdio::null()).spawn().unwrap()
    };
    let (whole, pieces) = (folder.path().join("whole"), folder.path().join("pieces"));
    assert!(start(&whole).wait().unwrap().success());
    let (checkpoint, energy) = (pieces.join("checkpoint"), pieces.join("pH_4.00/replica_1/energy.csv"));
    let lines = || std::fs::read_to_string(&energy).map_or(0, |text| text.lines().count());
    // At constant volume, while restraints are whole, while they fade, and after them; each time beyond what a checkpoint knows.
    let mut stops = 0;
    for wanted in [3, 8, 15, 25] {
        let mut child = start(&pieces);
        let started = Instant::now();
        while !(checkpoint.exists() && lines() >= wanted) && started.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(2));
        }
        child.kill().unwrap();
        stops += usize::from(!child.wait().unwrap().success());
    }
    assert!(stops > 0, "the titration was over before it was killed");
    assert!(start(&pieces).wait().unwrap().success());
    for name in ["energy.csv", "lambda.csv", "trajectory.xtc", "final.gro"] {
        for run in ["pH_4.00", "pH_5.00"] {
            let read = |folder: &Path| std::fs::read(folder.join(run).join("replica_1").join(name)).unwrap();
            assert!(read(&pieces) == read(&whole), "{run}/{name} differs");
        }
    }
    // λ of both walkers is held until the restraints have ended, whichever pH they have, and moves then.
    let table = |run: &str, name: &str| std::fs::read_to_string(whole.join(run).join("replica_1").join(name)).unwrap();
    let lambda = |run: &str| -> Vec<String> {
        table(run, "lambda.csv").lines().skip(1).map(|line| line.split(',').nth(2).unwrap().to_string()).collect()
    };
    for run in ["pH_4.00", "pH_5.00"] {
        let text = table(run, "energy.csv");
        let at = text.lines().next().unwrap().split(',').position(|head| head.starts_with("volume")).unwrap();
        let volumes: Vec<&str> = text.lines().skip(1).map(|line| line.split(',').nth(at).unwrap()).collect();
        assert!(volumes[..6].iter().all(|volume| *volume == volumes[0]) && volumes[6] != volumes[0], "{volumes:?}");
    }
    let (acid, base) = (lambda("pH_4.00"), lambda("pH_5.00"));
    assert_eq!(acid.len(), 41);
    let starts = [&acid[0], &base[0]];
    for run in [&acid, &base] {
        assert!(run[..21].iter().all(|value| starts.contains(&value)) && !starts.contains(&&run[40]), "{run:?}");
    }
    // Each walker has a seed of its own.
    assert_ne!(table("pH_4.00", "energy.csv").lines().nth(1), table("pH_5.00", "energy.csv").lines().nth(1));
}
