//! A barostat that changes the density by much: lists get more room, and boxes, lists and buffers are planned anew, without a trace of who has
//! looked and where the run was stopped. The device is the emulator, or the GPU named by OCTITRATE_TEST_DEVICE.

use kernels::device::Device;
use octitrate::config::Config;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use std::fmt::Write;
use std::path::Path;

/// Argon on a lattice, 6 atoms in a nm³, that a pressure of 2 kbar makes denser: lengths fall by 0.3 % every 40 fs, which lists made as often bear.
fn argon(folder: &Path, sections: &str) -> Config {
    const SIDE: usize = 8;
    const SPACING: f64 = 0.55;
    let n = SIDE * SIDE * SIDE;
    let mut gro = format!("argon\n{n}\n");
    for i in 0..n {
        let at = |k: usize| SPACING * (k as f64 + 0.5) + 0.02 * ((i * 37 + k * 11) % 13) as f64 / 13.0;
        let (x, y, z) = (at(i % SIDE), at(i / SIDE % SIDE), at(i / SIDE / SIDE));
        writeln!(gro, "{:5}{:<5}{:>5}{:5}{x:8.3}{y:8.3}{z:8.3}", i + 1, "AR", "AR", i + 1).unwrap();
    }
    let edge = SPACING * SIDE as f64;
    writeln!(gro, "{edge:.5} {edge:.5} {edge:.5}").unwrap();
    let top = format!(
        "[ defaults ]\n1 2 no\n[ atomtypes ]\nAR 39.948 0.0 A 0.34 1.0\n[ moleculetype ]\nAR 0\n[ atoms ]\n\
         1 AR 1 AR AR 1\n[ system ]\nargon\n[ molecules ]\nAR {n}\n"
    );
    std::fs::write(folder.join("argon.gro"), gro).unwrap();
    std::fs::write(folder.join("argon.top"), top).unwrap();
    let text = format!(
        "[system]\nstructure = \"argon.gro\"\ntopology = \"argon.top\"\n[van_der_waals]\ncutoff = \"0.85 nm\"\n\
         [neighbour_list]\nbuffer = \"0.15 nm\"\n[electrostatics]\norder = 2\n[dynamics]\nsteps = 2000\ntime_step = \"4 fs\"\nvelocity_temperature = \"200 K\"\n\
         [thermostat]\ntemperature = \"200 K\"\n\
         [barostat]\npressure = \"2000 bar\"\ncompressibility = \"1.2e-4 /bar\"\ncoupling_time = \"1 ps\"\n{sections}"
    );
    Config::parse(&text, &folder.join("job.toml")).unwrap()
}

#[test]
fn a_box_that_shrinks_by_a_third_is_planned_anew() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    let config = argon(folder.path(), "");
    let start = || {
        let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
        simulation.prepare(&mut |_| Ok(())).unwrap();
        simulation
    };
    let mut whole = start();
    let volume = |simulation: &mut Simulation| simulation.state().unwrap().cell.volume().unwrap();
    let before = volume(&mut whole);
    whole.advance(420).unwrap();
    let after = volume(&mut whole);
    let notices = whole.notices();
    println!("{before:.1} to {after:.1} nm³; {notices:#?}");
    assert!(after < 0.75 * before, "{before} {after}");
    assert!(notices.iter().any(|notice| notice.contains("planned anew")), "{notices:?}");
    // In pieces, each continued from the state before, and looked at on the way.
    let mut pieces = start();
    for steps in [130, 170, 61, 59] {
        pieces.advance(steps).unwrap();
        pieces.energies().unwrap();
        let state = pieces.state().unwrap();
        pieces = Simulation::on(&config, Some(&device)).unwrap();
        pieces.restore(&state).unwrap();
    }
    assert!(pieces.state().unwrap() == whole.state().unwrap(), "the run in pieces differs");
    // What the device computes with its new plan is what the CPU computes.
    let mut here = Simulation::new(&config).unwrap();
    here.restore(&whole.state().unwrap()).unwrap();
    let (ours, theirs) = (here.energies().unwrap(), whole.energies().unwrap());
    assert!((ours.lennard_jones / theirs.lennard_jones - 1.0).abs() < 1e-5, "{ours:?} {theirs:?}");
    assert!((ours.virial - theirs.virial).abs() < 1e-4 * ours.virial.abs() + 1e-2, "{} {}", ours.virial, theirs.virial);
}

/// Atoms that fly to the middle of the box: its density stays, that around an atom rises fourfold.
#[test]
fn a_list_without_room_for_all_neighbours_gets_it() {
    let device = Device::of_tests().unwrap();
    let folder = temp_dir::TempDir::new().unwrap();
    let mut config = argon(folder.path(), "");
    (config.barostat, config.thermostat) = (None, None);
    let mut start = Simulation::on(&config, Some(&device)).unwrap();
    start.prepare(&mut |_| Ok(())).unwrap();
    let mut state = start.state().unwrap();
    let middle = 0.5 * state.cell.edges().unwrap();
    for (x, v) in state.positions.iter().zip(&mut state.velocities) {
        *v = -0.5 * (x - middle);
    }
    let run = |pieces: &[u64]| {
        let mut state = state.clone();
        for &steps in pieces {
            let mut simulation = Simulation::on(&config, Some(&device)).unwrap();
            simulation.restore(&state).unwrap();
            simulation.advance(steps).unwrap();
            state = simulation.state().unwrap();
        }
        state
    };
    let (whole, pieces) = (run(&[300]), run(&[37, 163, 80, 19, 1]));
    assert!(whole == pieces, "more room has left a trace");
}
