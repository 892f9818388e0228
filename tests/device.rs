//! The engine on a device against the engine on the CPU: energies, forces, trajectories, exact continuation.
//!
//! The device is the emulator, or the GPU named by OCTITRATE_TEST_DEVICE.

use kernels::device::Device;
use octitrate::config::Config;
use octitrate::config::quantity::Time;
use octitrate::frame::{Frame, LineIntervals, Upto, Wanted};
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::state::State;
use std::path::{Path, PathBuf};

/// Water of inputs/03-water with these sections.
fn water(sections: &str) -> Config {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("inputs/03-water/water");
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

/// Glutamic acid in water, λ free.
fn glu(sections: &str) -> Config {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu/glu");
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
    let (path, library) = (root.join("inputs/01-glu/glu"), root.join("tests/good/library"));
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
    whole.advance(130).unwrap();
    let expected = whole.state().unwrap();
    // An oxygen may go 0.16 nm; this one does 0.018 nm a step, and what it meets slows it down.
    let notices = whole.notices();
    assert!((1..4).contains(&notices.len()), "{notices:?}");
    assert!(notices[0].contains("step 11: ") && notices[0].contains("OW (atom 301) had gone 0.16 nm"), "{notices:?}");
    assert!(notices[0].contains("farther than thermal motion goes; new ones were made there"), "{notices:?}");
    assert!(whole.notices().is_empty() && whole.list_interval() == Some(20));

    let mut watched = start();
    for steps in [10, 1, 3, 23, 50, 43] {
        watched.advance(steps).unwrap();
        watched.frame(Wanted::ALL).unwrap();
        watched.state().unwrap();
    }
    assert!(watched.state().unwrap() == expected, "observers change the trajectory");
    assert_eq!(watched.notices(), notices);

    // Before the lists are made anew, at the step where they are, and after it.
    for stop in [7, 11, 13] {
        let mut stopped = start();
        stopped.advance(stop).unwrap();
        let state = stopped.state().unwrap();
        let mut continued = Simulation::on(&config, Some(&device)).unwrap();
        continued.restore(&state).unwrap();
        continued.advance(130 - stop).unwrap();
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
    let order = "[electrostatics]\norder = 8\n";
    let (seldom, often) = (after(order), after(&format!("{order}[neighbour_list]\ninterval = \"2 fs\"\n")));
    assert_eq!((seldom.1, often.1), (Some(20), Some(1)));
    let worst = seldom.0.iter().zip(&often.0).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    // The boxes of the FMM differ, and with them its error: found 5.2e-4 after 38 fs. The molecule has passed others at 0.3 nm meanwhile, which
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
            for name in ["near field", "far field", "Lennard-Jones", "λ", "motion"] {
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

/// What frames say at the steps that have lines, asked for one by one.
fn asked(simulation: &mut Simulation, every: LineIntervals, steps: u64) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        let step = simulation.step();
        let wanted = Wanted {
            energies: every.energies_from(step) == Some(step),
            derivatives: every.lambda_from(step) == Some(step),
            ..Wanted::default()
        };
        if wanted != Wanted::default() {
            let frame = simulation.frame(wanted).unwrap();
            lines.extend([
                in_words(&Frame { dvdl: Vec::new(), ..frame.clone() }),
                in_words(&Frame { energies: Vec::new(), ..frame }),
            ]);
        }
        if step == steps {
            lines.retain(|line| !line.is_empty());
            return lines;
        }
        simulation.advance(1).unwrap();
    }
}

/// Every bit of a line; empty if it says nothing.
fn in_words(line: &Frame) -> String {
    match (line.energies.is_empty(), line.dvdl.is_empty()) {
        (true, true) => String::new(),
        _ => format!("{} {:?} {:?} {:?}", line.step, line.energies, line.lambda, line.dvdl),
    }
}

/// Lines that are kept on a device are those of frames, to the last bit, whoever looks and whenever.
#[test]
fn lines_that_are_kept_are_those_of_frames() {
    let device = Device::of_tests().unwrap();
    let sections = "[electrostatics]\norder = 3\n[dynamics]\nsteps = 26\n[thermostat]\n[barostat]\n";
    let config = buffered("linear", sections, "");
    let mut by_hand = Simulation::on(&config, Some(&device)).unwrap();
    by_hand.prepare(&mut |_| Ok(())).unwrap();
    let start = by_hand.state().unwrap();
    let again = |state: &State| {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.restore(state).unwrap();
        simulation
    };
    let every = LineIntervals { energies: Some(10), lambda: Some(3), last: 26 };
    let mut expected = asked(&mut by_hand, every, 26);
    assert_eq!(expected.len(), 4 + 9);
    expected.sort_unstable();
    let found = |simulation: &mut Simulation, looks: &[(u64, Upto)]| {
        let mut lines = Vec::new();
        for &(to, upto) in looks {
            simulation.advance(to - simulation.step()).unwrap();
            lines.extend(simulation.lines(upto).unwrap());
        }
        let steps: Vec<u64> = lines.iter().filter(|line| !line.dvdl.is_empty()).map(|line| line.step).collect();
        assert!(steps.is_sorted(), "{steps:?}");
        lines.iter().map(in_words).collect::<Vec<String>>()
    };
    let mut kept = again(&start);
    assert_eq!(kept.keep(every, false).unwrap(), every);
    let mut lines = found(&mut kept, &[(26, Upto::Passed)]);
    // Another pH changes neither what has been noted before, nor the forces on λ at the present step.
    kept.set_ph(9.0).unwrap();
    lines.extend(found(&mut kept, &[(26, Upto::Present)]));
    kept.set_ph(4.5).unwrap();
    lines.sort_unstable();
    assert_eq!(lines, expected);
    assert!(kept.state().unwrap() == by_hand.state().unwrap(), "lines change the trajectory");

    let mut looked = again(&start);
    looked.keep(every, false).unwrap();
    let looks = [(0, Upto::Present), (3, Upto::Passed), (10, Upto::Present), (11, Upto::AtHand), (12, Upto::Present)];
    let mut lines = found(&mut looked, &looks);
    let state = looked.state().unwrap();
    drop(looked);
    let mut continued = again(&state);
    continued.keep(every, true).unwrap();
    lines.extend(found(&mut continued, &[(14, Upto::AtHand), (15, Upto::Passed), (26, Upto::Present)]));
    lines.sort_unstable();
    assert_eq!(lines, expected);
}

/// A motion that has waited for lists makes steps again that had been launched: their lines are told once, and are those of the steps that were made.
#[test]
fn lines_of_a_motion_that_has_waited_are_those_of_frames() {
    let device = Device::of_tests().unwrap();
    let config = glu("[electrostatics]\norder = 3\n[dynamics]\nsteps = 40\n[thermostat]\n");
    let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    let mut state = simulation.state().unwrap();
    // The last molecule is water.
    let n = state.velocities.len();
    state.velocities[n - 3..].iter_mut().for_each(|velocity| velocity.x += 9.0);
    let start = || {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.restore(&state).unwrap();
        simulation
    };
    let every = LineIntervals { energies: Some(10), lambda: Some(1), last: 40 };
    let mut by_hand = start();
    let mut expected = asked(&mut by_hand, every, 40);
    assert!(!by_hand.notices().is_empty(), "the motion has not waited");
    let mut kept = start();
    kept.keep(every, false).unwrap();
    kept.advance(40).unwrap();
    let mut lines: Vec<String> = kept.lines(Upto::Present).unwrap().iter().map(in_words).collect();
    lines.sort_unstable();
    expected.sort_unstable();
    assert_eq!(lines, expected);
}

/// While a run moves, lines of λ cost neither an evaluation nor a look; one of energies is an evaluation and three launches, and two reads, by which the
/// host knows that the motion has come there and does not wait for lists. Lists are due once in the 20 steps that are compared.
/// More lines than there is room for on the device are fetched before newer ones take their place.
#[test]
fn lines_cost_what_they_must_and_none_is_lost() {
    let device = Device::of_tests().unwrap();
    let config = glu("[electrostatics]\norder = 3\n[dynamics]\nsteps = 160\n[thermostat]\n");
    let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    simulation.advance(1).unwrap();
    let none = LineIntervals::default();
    let mut counts = |every: LineIntervals| {
        simulation.keep(every, true).unwrap();
        let before = device.counts();
        simulation.advance(20).unwrap();
        device.counts() - before
    };
    let plain = counts(none);
    assert_eq!(counts(LineIntervals { lambda: Some(1), ..none }), plain);
    let energies = counts(LineIntervals { energies: Some(25), ..none });
    let expected = (plain.reads + 2, plain.writes, plain.launches + 3);
    assert_eq!((energies.reads, energies.writes, energies.launches), expected);
    // From step 61 on.
    simulation.keep(LineIntervals { energies: Some(1), lambda: Some(1), last: 160 }, false).unwrap();
    simulation.advance(99).unwrap();
    let early = simulation.lines(Upto::AtHand).unwrap();
    assert!(early.iter().any(|line| line.dvdl.is_empty()) && early.iter().any(|line| line.energies.is_empty()));
    let all: Vec<Frame> = early.into_iter().chain(simulation.lines(Upto::Present).unwrap()).collect();
    for kind in [|line: &Frame| !line.dvdl.is_empty(), |line: &Frame| !line.energies.is_empty()] {
        assert!(all.iter().filter(|line| kind(line)).map(|line| line.step).eq(61..=160));
    }
}
