//! The engine on a device against the engine on the CPU: energies, forces, trajectories, exact continuation.
//!
//! The device is the emulator, or the GPU named by OCTITRATE_TEST_DEVICE.

use kernels::device::Device;
use octitrate::config::Config;
use octitrate::output::Wanted;
use octitrate::simulation::Simulation;
use octitrate::workflow::run::Propagate;
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
    assert!((here.edges.unwrap() - there.edges.unwrap()).norm() < 1e-7);
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
         [titration]\nph = 4.0\n[[titration.site]]\nresidue = \"GLH 2\"\ninitial = 0.4\n"
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

/// Lists cease to serve, so that their interval comes down; that must depend neither on who looks, nor on where the run is stopped.
#[test]
fn observers_and_stops_leave_the_interval_of_the_lists_alone() {
    let device = Device::of_tests().unwrap();
    let files = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files");
    let text = format!(
        "[system]\nstructure = \"{0}/water.gro\"\ntopology = \"{0}/water.top\"\n[electrostatics]\norder = 3\n\
         [neighbour_list]\nbuffer = \"0.02 nm\"\n[dynamics]\nsteps = 300\n[thermostat]\n",
        files.display()
    );
    let config = Config::parse(&text, Path::new("device.toml")).unwrap();
    let start = || {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        simulation
    };
    let mut whole = start();
    let first = whole.list_interval();
    whole.advance(230).unwrap();
    let expected = whole.state().unwrap();
    assert!(whole.list_interval() < first, "lists served: {first:?}");

    let mut watched = start();
    for steps in [37, 1, 50, 30, 90, 22] {
        watched.advance(steps).unwrap();
        watched.frame(Wanted::ALL).unwrap();
        watched.state().unwrap();
    }
    assert!(watched.state().unwrap() == expected, "observers change the trajectory");

    let mut stopped = start();
    stopped.advance(87).unwrap();
    let state = stopped.state().unwrap();
    let mut continued = Simulation::on(&config, Some(&device)).unwrap();
    continued.restore(&state).unwrap();
    continued.advance(143).unwrap();
    assert!(continued.state().unwrap() == expected, "the continued run differs");
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
        a.positions == b.positions && a.velocities == b.velocities && a.edges == b.edges,
        "the continued run differs"
    );
    let mut again = start();
    again.advance(24).unwrap();
    assert!(again.state().unwrap().positions == a.positions, "a second run differs");
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
            for name in ["near field", "far field", "sites among themselves", "Lennard-Jones", "λ", "motion"] {
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
