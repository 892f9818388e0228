//! The engine on a device against the engine on the CPU: energies, forces, trajectories, exact continuation.
//!
//! The device is the emulator, or the GPU named by OCTITRATE_TEST_DEVICE.

use kernels::device::Device;
use octitrate::config::Config;
use octitrate::config::quantity::Time;
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::state::State;
use std::path::{Path, PathBuf};

mod langevin;
mod lines;

/// Water of tests/good/water with these sections.
fn water(sections: &str) -> Config {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/good/water/water");
    let path = path.display();
    let text = format!("[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n{sections}");
    Config::parse(&text, Path::new("device.toml")).unwrap()
}

/// Relative difference of forces, root mean square.
fn difference(a: &Simulation, b: &Simulation) -> f64 {
    let sum = |x: &mut dyn Iterator<Item = f64>| x.sum::<f64>();
    let apart = sum(&mut a.forces().iter().zip(b.forces()).map(|(a, b)| (a - b).norm_squared()));
    (apart / sum(&mut b.forces().iter().map(|f| f.norm_squared()))).sqrt()
}

#[test]
fn energies_and_forces_are_those_of_the_cpu() {
    let device = Device::of_tests().unwrap();
    // Boxes differ from those of the CPU, and with them the error of the expansions: order 16 leaves 7e-7 with 33 near boxes. Single: the
    // same at order 12, and rounding of the pairs.
    for (precision, order, tolerance) in [("double", 16, 2e-6), ("single", 12, 2e-5)] {
        let config = water(&format!("[electrostatics]\nprecision = \"{precision}\"\norder = {order}\n"));
        let mut here = Simulation::new(&config).unwrap();
        let mut there = Simulation::on(&config, Some(&device)).unwrap();
        let (ours, theirs) = (here.single_point().unwrap(), there.single_point().unwrap());
        let apart = difference(&there, &here);
        println!("{precision}: forces differ by {apart:.1e}");
        assert!(apart < tolerance, "{precision}: forces differ by {apart:e}");
        let scale = ours.energies.iter().map(|q| q.value.abs()).fold(0.0, f64::max);
        for (a, b) in ours.energies.iter().zip(&theirs.energies) {
            assert!((a.value - b.value).abs() <= 0.1 * tolerance * scale, "{}: {} and {}", a.name, a.value, b.value);
        }
    }
}

/// Two molecules on each other push with more than the fixed-point numbers of a device hold. A look at the start tells what the CPU tells, and a minimisation
/// takes them apart; so do looks and steps afterwards what they do without that past.
#[test]
fn atoms_on_each_other_are_named_and_minimised_as_on_the_cpu() {
    let config = water("[electrostatics]\norder = 4\n[minimise]\n[dynamics]\nsteps = 10\n[thermostat]\n");
    let device = Device::of_tests().unwrap();
    let [mut here, mut there] = [None, Some(&device)].map(|device| {
        let mut simulation = Simulation::on(&config, device).unwrap();
        let mut state = simulation.state().unwrap();
        let away = state.positions[0] - state.positions[300] + nalgebra::Vector3::new(0.07, 0.0, 0.0);
        for position in &mut state.positions[300..303] {
            *position += away;
        }
        simulation.restore(&state).unwrap();
        simulation
    });
    assert!(there.energies().is_err(), "nothing is beyond the numbers of the device");
    let [ours, theirs] = [&mut here, &mut there].map(|one| one.single_point().unwrap());
    assert!(ours.energies == theirs.energies && ours.forces == theirs.forces);
    let [ours, theirs] = [&mut here, &mut there].map(|one| one.check_first_forces(false).unwrap().unwrap());
    assert!(ours.contains("SOL 1 OW (atom 1)") || ours.contains("SOL 101 OW (atom 301)"), "{ours}");
    assert_eq!(ours, theirs);
    let largest = |one: &Simulation| one.forces().iter().map(|force| force.norm()).fold(0.0, f64::max);
    for one in [&mut here, &mut there] {
        one.prepare(&mut |_| Ok(())).unwrap();
        one.energies().unwrap();
        assert!(largest(one) < 1e5, "{:e}", largest(one));
        one.advance(10).unwrap();
    }
}

#[test]
fn a_few_steps_are_those_of_the_cpu() {
    let device = Device::of_tests().unwrap();
    let config = water(
        "[electrostatics]\nprecision = \"double\"\norder = 16\n[dynamics]\nsteps = 20\n[thermostat]\n[barostat]\n",
    );
    let run = |device: Option<&Device>| {
        let mut simulation = Simulation::on(&config, device).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        simulation.advance(12).unwrap();
        let conserved = simulation.frame(Wanted::ALL).unwrap().energies;
        (simulation.state().unwrap(), conserved)
    };
    let ((here, ours), (there, theirs)) = (run(None), run(Some(&device)));
    let apart = here.positions.iter().zip(&there.positions).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    // Forces differ by 1e-6 of 5000 kJ/mol/nm, at most some times that; ½ F t²/m of a hydrogen in 24 fs is 1e-6 nm.
    println!("positions differ by {apart:.1e} nm");
    assert!(apart < 5e-6, "positions differ by {apart:e} nm");
    assert_eq!(here.step, there.step);
    assert!((here.cell.edges().unwrap() - there.cell.edges().unwrap()).norm() < 1e-7);
    for (a, b) in ours.iter().zip(&theirs) {
        // The pressure is a difference of large numbers: 1 bar of 1e4.
        let tolerance = if a.unit == "bar" { 2.0 } else { 1e-5 * a.value.abs() + 1e-2 };
        assert!((a.value - b.value).abs() <= tolerance, "{}: {} and {}", a.name, a.value, b.value);
    }
}

#[test]
fn a_barostat_of_any_interval_does_the_work_of_the_cpu() {
    let device = Device::of_tests().unwrap();
    // Steps that need the virial are few, and their pattern is another one in each sequence between two lists.
    for interval in [1, 3, 20] {
        let config = water(&format!(
            "[electrostatics]\nprecision = \"double\"\norder = 16\n[dynamics]\nsteps = 23\n[thermostat]\n\
             [barostat]\ninterval = {interval}\ncoupling_time = \"0.1 ps\"\n"
        ));
        let run = |device: Option<&Device>| {
            let mut simulation = Simulation::on(&config, device).unwrap();
            simulation.prepare(&mut |_| Ok(())).unwrap();
            simulation.advance(23).unwrap();
            simulation.state().unwrap()
        };
        let (here, there) = (run(None), run(Some(&device)));
        let (ours, theirs) = (here.bath.barostat.work, there.bath.barostat.work);
        assert!(
            ours.abs() > 0.01,
            "interval {interval}: work {ours} kJ/mol, too little to see a step that is left out"
        );
        // The pressure differs by 2 bar of some thousand, as in a_few_steps_are_those_of_the_cpu.
        assert!((ours - theirs).abs() < 2e-3 * ours.abs() + 1e-4, "interval {interval}: {ours} and {theirs} kJ/mol");
        assert!((here.cell.edges().unwrap() - there.cell.edges().unwrap()).norm() < 1e-6);
    }
}

/// Glutamic acid in water, λ free.
fn glu(sections: &str) -> Config {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/good/glu/glu");
    let path = path.display();
    let text = format!(
        "[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n{sections}\
         [titration]\nph = 4.0\nallow_uncalibrated = true\n[[titration.site]]\nresidue = \"GLH 2\"\ninitial = 0.4\n"
    );
    Config::parse(&text, Path::new("device.toml")).unwrap()
}

#[test]
fn lambda_feels_and_moves_as_on_the_cpu() {
    let device = Device::of_tests().unwrap();
    let config =
        glu("[electrostatics]\nprecision = \"double\"\norder = 14\nseparation = 1.12\n[dynamics]\nsteps = 20\n\
                      constraints = \"h-bonds\"\n[thermostat]\n");
    let run = |device: Option<&Device>| {
        let mut simulation = Simulation::on(&config, device).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        let before = simulation.frame(Wanted::ALL).unwrap();
        let (energies, dvdl) = (before.energies.clone(), before.dvdl.clone());
        simulation.advance(11).unwrap();
        let after = simulation.frame(Wanted { derivatives: true, ..Wanted::default() }).unwrap();
        (energies, dvdl, after.lambda.clone(), after.dvdl.clone())
    };
    let (here, there) = (run(None), run(Some(&device)));
    assert!(here.1[0].abs() > 1.0, "∂V/∂λ is {:?}", here.1);
    for (a, b) in here.0.iter().zip(&there.0) {
        let tolerance = if a.unit == "bar" { 2.0 } else { 1e-5 * a.value.abs() + 1e-2 };
        assert!((a.value - b.value).abs() <= tolerance, "{}: {} and {}", a.name, a.value, b.value);
    }
    // Truncation of order 14 in different boxes: 1e-5 of potentials of some 100 kJ/mol/e at a dozen charges.
    println!("∂V/∂λ {:?} and {:?}; λ {:?} and {:?}", here.1, there.1, here.2, there.2);
    assert!((here.1[0] - there.1[0]).abs() < 1e-2, "{:?} {:?}", here.1, there.1);
    assert!((here.2[0] - 0.4).abs() > 1e-4 && (here.2[0] - there.2[0]).abs() < 1e-6, "{:?} {:?}", here.2, there.2);
    assert!((here.3[0] - there.3[0]).abs() < 2e-2, "{:?} {:?}", here.3, there.3);
}

/// λ that is held stays where it is, on a GPU as on the CPU, and a checkpoint in that time goes on to the last bit.
#[test]
fn lambda_is_held_as_on_the_cpu() {
    let device = Device::of_tests().unwrap();
    let mut config =
        glu("[electrostatics]\norder = 4\n[dynamics]\nsteps = 20\nconstraints = \"h-bonds\"\n[thermostat]\n");
    config.titration.as_mut().unwrap().relax = Some(Time::new(0.012));
    let run = |device: Option<&Device>, pieces: &[u64]| {
        let mut simulation = Simulation::on(&config, device).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        let mut lambda = Vec::new();
        for &steps in pieces {
            let state = simulation.state().unwrap();
            simulation = Simulation::on(&config, device).unwrap();
            simulation.restore(&state).unwrap();
            simulation.advance(steps).unwrap();
            lambda.push(simulation.frame(Wanted::default()).unwrap().lambda[0]);
        }
        (lambda, simulation.state().unwrap())
    };
    for device in [None, Some(&device)] {
        let (lambda, pieces) = run(device, &[4, 2, 1, 3]);
        assert_eq!(lambda[..2], [0.4, 0.4]);
        assert!(lambda[2] != 0.4 && lambda[3] != lambda[2], "{lambda:?}");
        let (_, whole) = run(device, &[10]);
        assert!(whole.sites == pieces.sites && whole.positions == pieces.positions);
    }
    // Forces differ by some 1e-5 in single precision, of which λ sees four steps.
    let ends = [None, Some(&device)].map(|device| run(device, &[10]).0[0]);
    assert!((ends[0] - ends[1]).abs() < 1e-5, "{ends:?}");
}

/// A site of three forms and one of two bonded to it, with a buffer that keeps the box neutral.
fn buffered(coordinate: &str, sections: &str, titration: &str) -> Config {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let (path, library) = (root.join("tests/good/glu/glu"), root.join("tests/good/library"));
    let (path, library) = (path.display(), library.display());
    let text = format!(
        "[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n{sections}\
         [titration]\nph = 4.5\ncoordinate = \"{coordinate}\"\n{titration}\
         library = [\"{library}/glu-three.toml\", \"{library}/acetyl.toml\", \"{library}/water-test.toml\"]\n\
         [[titration.site]]\nresidue = \"GLH 2\"\ninitial = [0.3, 0.5, 0.2]\n\
         [[titration.site]]\nresidue = \"ACE 1\"\ninitial = 0.4\n[titration.buffer]\n"
    );
    Config::parse(&text, Path::new("device.toml")).unwrap()
}

#[test]
fn three_forms_and_a_buffer_feel_and_move_as_on_the_cpu() {
    let device = Device::of_tests().unwrap();
    for (coordinate, interpolation) in [("linear", "hamiltonian"), ("hypersphere", "charge"), ("nexp", "hamiltonian")] {
        let sections = "[electrostatics]\nprecision = \"double\"\norder = 14\nseparation = 1.12\n[dynamics]\nsteps = 20\n[thermostat]\n";
        let config = buffered(
            coordinate,
            sections,
            &format!("interpolation = \"{interpolation}\"\nallow_mismatch = [\"interpolation\"]\n"),
        );
        let run = |device: Option<&Device>| {
            let mut simulation = Simulation::on(&config, device).unwrap();
            simulation.prepare(&mut |_| Ok(())).unwrap();
            let before = simulation.frame(Wanted::ALL).unwrap();
            let (energies, dvdl) = (before.energies.clone(), before.dvdl.clone());
            simulation.advance(7).unwrap();
            assert!(simulation.net_charge().unwrap().abs() < 1e-9);
            simulation.set_ph(6.0).unwrap();
            simulation.advance(4).unwrap();
            (energies, dvdl, simulation.weights().unwrap(), simulation.net_charge().unwrap())
        };
        let (here, there) = (run(None), run(Some(&device)));
        for (a, b) in here.0.iter().zip(&there.0) {
            let tolerance = if a.unit == "bar" { 2.0 } else { 1e-5 * a.value.abs() + 1e-2 };
            assert!((a.value - b.value).abs() <= tolerance, "{coordinate}, {}: {} and {}", a.name, a.value, b.value);
        }
        println!("{coordinate}: ∂V/∂λ {:?} and {:?}; weights {:?} and {:?}", here.1, there.1, here.2, there.2);
        assert_eq!(here.1.len(), 5);
        // Truncation of order 14 in different boxes: 1e-5 of potentials of some 100 kJ/mol/e at a dozen charges; a buffer has five molecules.
        for (a, b) in here.1.iter().zip(&there.1) {
            assert!((a - b).abs() < 2e-2 + 1e-5 * a.abs(), "{coordinate}: {:?} {:?}", here.1, there.1);
        }
        for (a, b) in here.2.iter().zip(&there.2) {
            assert!((a - b).abs() < 2e-6, "{coordinate}: {:?} {:?}", here.2, there.2);
        }
        assert!((here.2[0] - 0.3).abs() > 1e-4, "{:?}", here.2);
        assert!(there.3.abs() < 1e-9, "{coordinate}: the box has {:e} e", there.3);
    }
}

#[test]
fn barriers_adapt_and_buffers_continue_bit_for_bit() {
    let device = Device::of_tests().unwrap();
    let titration = "barrier = { rate = \"20 /ns\", start = \"4 kJ/mol\", during = \"0.2 ps\" }\n";
    // The restraints of the buffer follow the box, which the barostat changes.
    let sections = "[electrostatics]\norder = 3\n[dynamics]\nsteps = 400\n[thermostat]\n[barostat]\n";
    let config = buffered("linear", sections, titration);
    let height = |simulation: &Simulation| simulation.describe().sites[0].barrier.unwrap();
    let mut whole = Simulation::on(&config, Some(&device)).unwrap();
    whole.prepare(&mut |_| Ok(())).unwrap();
    whole.advance(113).unwrap();
    assert!(height(&whole) < 4.0, "the barrier is still {}", height(&whole));
    let state = whole.state().unwrap();
    whole.advance(95).unwrap();
    let mut continued = Simulation::on(&config, Some(&device)).unwrap();
    continued.restore(&state).unwrap();
    for steps in [40, 50, 5] {
        continued.advance(steps).unwrap();
        continued.frame(Wanted::ALL).unwrap();
    }
    assert_eq!(height(&continued), height(&whole));
    assert!(continued.state().unwrap() == whole.state().unwrap(), "the continued run differs");
    assert!(whole.net_charge().unwrap().abs() < 1e-9);
}

/// Water in which one molecule is much faster than thermal motion.
fn violent(sections: &str) -> (Config, State) {
    let config = water(&format!("[dynamics]\nsteps = 300\n[thermostat]\n{sections}"));
    let mut simulation = Simulation::on(&config, Some(&Device::of_tests().unwrap())).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    let mut state = simulation.state().unwrap();
    for velocity in &mut state.velocities[300..303] {
        velocity.x += 9.0;
    }
    (config, state)
}

/// What was wrong is told as on the CPU, and the frame in which it was can be looked at: the molecule that is too fast and the one that it hit.
#[test]
fn a_motion_that_cannot_go_on_leaves_its_last_frame() {
    let (config, mut state) = violent("[electrostatics]\norder = 3\n");
    let from = state.positions[300];
    for velocity in &mut state.velocities[300..303] {
        velocity.x += 90.0;
    }
    let mut simulation = Simulation::on(&config, Some(&Device::of_tests().unwrap())).unwrap();
    simulation.restore(&state).unwrap();
    let error = simulation.advance(100).unwrap_err().to_string();
    assert!(error.contains("motion") && error.contains("step "), "{error}");
    let folder = temp_dir::TempDir::new().unwrap();
    let frame = folder.path().join("failed.gro");
    simulation.write_structure(&frame, None).unwrap();
    let text = std::fs::read_to_string(&frame).unwrap();
    assert_eq!(text.lines().count(), state.positions.len() + 3);
    let moved = (simulation.state().unwrap().positions[300] - from).norm();
    assert!(moved > 0.1, "{moved}");
    let told = simulation.failure().unwrap();
    assert!(told.contains("Fastest atoms") && told.contains("(atom 301): "), "{told}");
}

/// An atom goes farther than the lists allow before the next ones are due. The device stops there, and gets new lists; that must depend neither
/// on who looks, nor on where the run is stopped, and no step may be made with lists that do not serve.
#[test]
fn lists_that_do_not_serve_are_made_anew_whoever_looks() {
    let device = Device::of_tests().unwrap();
    let (config, state) = violent("[electrostatics]\norder = 3\n");
    let start = || {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.restore(&state).unwrap();
        simulation
    };
    let mut whole = start();
    assert_eq!(whole.list_interval(), Some(20));
    whole.advance(30).unwrap();
    let expected = whole.state().unwrap();
    // An oxygen may go 0.16 nm; this one does 0.018 nm a step, and what it meets slows it down.
    let notices = whole.notices();
    assert!((1..4).contains(&notices.len()), "{notices:?}");
    assert!(notices[0].contains("step 9: ") && notices[0].contains("OW (atom 301) had gone 0.16 nm"), "{notices:?}");
    assert!(notices[0].contains("farther than thermal motion goes; new ones were made there"), "{notices:?}");
    assert!(whole.notices().is_empty() && whole.list_interval() == Some(20));

    let mut watched = start();
    for steps in [8, 1, 5, 16] {
        watched.advance(steps).unwrap();
        watched.frame(Wanted::ALL).unwrap();
        watched.state().unwrap();
    }
    assert!(watched.state().unwrap() == expected, "observers change the trajectory");
    assert_eq!(watched.notices(), notices);

    // Before the lists are made anew, at the step where they are, and after it.
    for stop in [7, 9, 11] {
        let mut stopped = start();
        stopped.advance(stop).unwrap();
        let state = stopped.state().unwrap();
        let mut continued = Simulation::on(&config, Some(&device)).unwrap();
        continued.restore(&state).unwrap();
        continued.advance(30 - stop).unwrap();
        assert!(continued.state().unwrap() == expected, "the run that was stopped at step {stop} differs");
    }
}

/// The same motion with lists that are made in every step: what the lists of 20 steps missed, no force has missed.
#[test]
fn forces_miss_no_pair_of_an_atom_out_of_control() {
    let device = Device::of_tests().unwrap();
    let after = |sections: &str| {
        let (config, state) = violent(sections);
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.restore(&state).unwrap();
        simulation.advance(19).unwrap();
        (simulation.state().unwrap().positions, simulation.list_interval())
    };
    let order = "[electrostatics]\norder = 10\n";
    let (seldom, often) = (after(order), after(&format!("{order}[neighbour_list]\ninterval = \"2 fs\"\n")));
    assert_eq!((seldom.1, often.1), (Some(20), Some(1)));
    let worst = seldom.0.iter().zip(&often.0).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    // The boxes of the FMM differ, and with them its error: found 3.3e-4 after 38 fs. The molecule has passed others at 0.3 nm meanwhile, which
    // it would have gone through unseen.
    assert!(worst < 1e-3, "{worst}");
}

#[test]
fn a_run_in_pieces_is_bit_for_bit_the_run_in_one() {
    let device = Device::of_tests().unwrap();
    let config = glu(
        "[electrostatics]\norder = 4\n[dynamics]\nsteps = 40\nconstraints = \"h-bonds\"\n[thermostat]\n[barostat]\n",
    );
    let start = || {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        simulation
    };
    let mut whole = start();
    whole.advance(13).unwrap();
    let state = whole.state().unwrap();
    whole.advance(11).unwrap();
    let mut continued = Simulation::on(&config, Some(&device)).unwrap();
    continued.restore(&state).unwrap();
    assert!(continued.state().unwrap() == state, "the restored state is not the saved one");
    continued.advance(11).unwrap();
    let (a, b) = (whole.state().unwrap(), continued.state().unwrap());
    assert!(
        a.positions == b.positions && a.velocities == b.velocities && a.cell == b.cell,
        "the continued run differs"
    );
    let mut again = start();
    again.advance(24).unwrap();
    assert!(again.state().unwrap().positions == a.positions, "a second run differs");
}

/// The number of boxes depends on the device, and a run may be continued on another one. Its boxes were then taken over without a look, and
/// kernels read boxes of one grid by the numbers of another.
#[test]
fn a_checkpoint_with_other_boxes_gets_those_of_this_device() {
    let device = Device::of_tests().unwrap();
    let config = glu("[electrostatics]\norder = 6\n[dynamics]\nsteps = 40\nconstraints = \"h-bonds\"\n[thermostat]\n");
    let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    simulation.advance(3).unwrap();
    let state = simulation.state().unwrap();
    let potential = |state| {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.restore(state).unwrap();
        simulation.energies().unwrap().potential()
    };
    let expected = potential(&state);
    let mut other = state.clone();
    let geometry = &mut other.gpu.as_mut().unwrap().geometry;
    // Half as many boxes along each axis: edges of a box, and their inverse.
    geometry[..9].iter_mut().for_each(|x| *x *= 2.0);
    geometry[9..18].iter_mut().for_each(|x| *x *= 0.5);
    let found = potential(&other);
    // Lists are of another step: the error of the expansions changes, by 1e-5 of the energy at this order.
    assert!((found - expected).abs() < 1e-4 * expected.abs(), "{found} and {expected}");
}

#[test]
fn a_profile_leaves_no_trace() {
    let device = Device::of_tests().unwrap();
    let config = glu("[electrostatics]\norder = 2\n[dynamics]\nsteps = 40\nconstraints = \"h-bonds\"\n[thermostat]\n");
    let run = |profile: bool| {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        simulation.advance(3).unwrap();
        if profile {
            let parts = simulation.profile().unwrap();
            println!("{parts:?}");
            let names: Vec<&str> = parts.iter().map(|part| part.0).collect();
            let (split, floor) = (["  operators", "  v, x, constraints"], "as many kernels as wait for each other");
            for name in ["near field", "far field", "Lennard-Jones", "λ", "motion", floor].into_iter().chain(split) {
                assert!(names.contains(&name), "{name} is not among {names:?}");
            }
            assert!(parts.iter().all(|part| part.1 > 0.0), "{parts:?}");
        }
        simulation.advance(2).unwrap();
        simulation.state().unwrap()
    };
    let (with, without) = (run(true), run(false));
    assert!(
        with.positions == without.positions && with.velocities == without.velocities,
        "the profile moved something"
    );
    assert!(Simulation::on(&config, None).unwrap().profile().unwrap().is_empty());
}
