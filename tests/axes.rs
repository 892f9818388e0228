//! A barostat that scales axes apart, in the whole engine, on the CPU and on a device: exact continuation, the same motion, conserved energy, edges that stay, a constant volume at
//! the start.

use kernels::device::Device;
use nalgebra::Vector3;
use octitrate::config::Config;
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::state::State;
use std::path::{Path, PathBuf};

fn job(system: &str, sections: &str) -> Config {
    let stem = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(system);
    let stem = stem.display();
    let text = format!("[system]\nstructure = \"{stem}.gro\"\ntopology = \"{stem}.top\"\n[thermostat]\n{sections}");
    Config::parse(&text, Path::new("axes.toml")).unwrap()
}

fn fresh(config: &Config, device: Option<&Device>) -> Simulation {
    let mut simulation = Simulation::on(config, device).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    simulation
}

fn edges(simulation: &mut Simulation) -> Vector3<f64> {
    simulation.state().unwrap().cell.edges().unwrap()
}

#[test]
fn continuation_is_exact() {
    check_continuation(None);
}

#[test]
fn continuation_is_exact_on_a_device() {
    check_continuation(Some(&Device::of_tests().unwrap()));
}

/// With a glutamic acid that titrates and restrained waters as its buffer; stopped between a scaling and the step that completes its work, and elsewhere. The box changes so fast that
/// the shape about which a device knows operators moves on.
fn check_continuation(device: Option<&Device>) {
    let sections = "[electrostatics]\norder = 4\n[dynamics]\nsteps = 60\n[barostat]\ncoupling = \"anisotropic\"\ninterval = 5\n\
                    coupling_time = \"0.05 ps\"\npressure = [\"-3000 bar\", \"-1500 bar\", \"1 bar\"]\n\
                    [titration]\nph = 4.0\nallow_uncalibrated = true\n[[titration.site]]\nresidue = \"GLH 2\"\n";
    let config = job("tests/good/glu/glu", sections);
    let mut whole = fresh(&config, device);
    let mut states = Vec::new();
    for step in [20, 23, 40] {
        whole.advance(step - whole.step()).unwrap();
        states.push(whole.state().unwrap());
    }
    assert!(states[0].bath.barostat.pending_edges != [0.0; 3] && states[1].bath.barostat.pending_edges == [0.0; 3]);
    for start in &states[..2] {
        let mut continued = Simulation::on(&config, device).unwrap();
        continued.restore(start).unwrap();
        continued.advance(40 - start.step).unwrap();
        assert!(continued.state().unwrap() == states[2], "continued from step {}", start.step);
    }
    if device.is_some() {
        let shape = |state: &State| state.gpu.as_ref().and_then(|gpu| gpu.shape).unwrap();
        assert!(shape(&states[0]) != states[0].cell && shape(&states[2]) != shape(&states[1]), "its shape moves on");
    }
    let columns = whole.frame(Wanted::ALL).unwrap().energies.clone();
    let edges = edges(&mut whole);
    let found: Vec<f64> = columns.iter().filter(|c| c.name.starts_with("box ")).map(|c| c.value).collect();
    assert_eq!(found, edges.as_slice());
}

/// Water: the conserved energy with large changes of the box beside that without any; a plane that keeps its size, and a volume that is constant at the start.
#[test]
fn the_energy_with_its_work_is_conserved_in_water() {
    let run = |barostat: &str| {
        let sections = format!(
            "[electrostatics]\nprecision = \"double\"\n[van_der_waals]\ncutoff = \"0.8 nm\"\n[dynamics]\nsteps = 200\n{barostat}"
        );
        let mut simulation = fresh(&job("tests/good/water/water", &sections), None);
        let start = edges(&mut simulation);
        simulation.advance(19).unwrap();
        assert_eq!(edges(&mut simulation), start, "the volume is constant");
        let of = |name: &str, simulation: &mut Simulation| {
            let frame = simulation.frame(Wanted::ALL).unwrap();
            frame.energies.iter().find(|column| column.name == name).unwrap().value
        };
        let mut rows = Vec::new();
        while simulation.step() < 199 {
            rows.push(["conserved", "total"].map(|name| of(name, &mut simulation)));
            simulation.advance(5).unwrap();
        }
        let change = edges(&mut simulation).component_div(&start);
        let work = simulation.state().unwrap().bath.barostat.work;
        let spread = |k: usize| {
            let mean = rows.iter().map(|row| row[k]).sum::<f64>() / rows.len() as f64;
            (rows.iter().map(|row| (row[k] - mean).powi(2)).sum::<f64>() / rows.len() as f64).sqrt()
        };
        println!(
            "{barostat}: edges {change:?}, work {work:.1}, σ of conserved {:.2}, total {:.1}",
            spread(0),
            spread(1)
        );
        (change, work, spread(0))
    };
    let (_, _, without) = run("");
    let strong = "coupling_time = \"0.1 ps\"\ninterval = 5\nstart = \"0.04 ps\"\npressure = \"1500 bar\"";
    let (change, work, with) = run(&format!("[barostat]\ncoupling = \"semi-isotropic\"\n{strong}"));
    assert!(change.x == change.y && (change.x - 1.0).abs() > 1e-3 && (change.x - change.z).abs() > 1e-4);
    // The work of 1500 bar is many times what the energy with it scatters by.
    assert!(work.abs() > 20.0 && with < 2.0 * without + 0.05 * work.abs(), "{work}: {with} and {without}");
    let fixed = "compressibility = [\"0 /bar\", \"4.5e-5 /bar\"]";
    let (change, ..) = run(&format!("[barostat]\ncoupling = \"semi-isotropic\"\n{fixed}\n{strong}"));
    assert!(change.x == 1.0 && change.y == 1.0 && (change.z - 1.0).abs() > 1e-3);
}

/// Water and a glutamic acid that titrates, restrained: the same motion, and the same work of the barostat.
#[test]
fn a_device_moves_as_the_cpu_does() {
    let sections = "[electrostatics]\nprecision = \"double\"\norder = 12\n[dynamics]\nsteps = 22\n\
                    [barostat]\ncoupling = \"semi-isotropic\"\ninterval = 5\ncoupling_time = \"0.1 ps\"\npressure = \"1500 bar\"\nsurface_tension = \"500 bar nm\"\n\
                    [position_restraints]\n\
                    [titration]\nph = 4.0\nallow_uncalibrated = true\n[[titration.site]]\nresidue = \"GLH 2\"\n";
    let config = job("tests/good/glu/glu", sections);
    let [cpu, device] = [None, Some(&Device::of_tests().unwrap())].map(|device| {
        let mut simulation = fresh(&config, device);
        simulation.advance(22).unwrap();
        simulation.state().unwrap()
    });
    let edges = |state: &State| state.cell.edges().unwrap();
    let changed = (edges(&cpu).component_div(&job_edges(&config)) - Vector3::repeat(1.0)).abs();
    let apart = (edges(&cpu) - edges(&device)).abs().max();
    let works = [&cpu, &device].map(|state| state.bath.barostat.work);
    let farthest = cpu.positions.iter().zip(&device.positions).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
    println!(
        "edges {:?} changed by {changed:?}, apart by {apart:.1e} nm; work {works:?}; atoms {farthest:.1e} nm",
        edges(&cpu)
    );
    // Expansions of another grid differ by 1e-5 of the forces: hydrogens by 1e-5 nm after 44 fs, the virial of 1e4 kJ/mol by 0.1, which acts on strains of a hundredth.
    assert!(changed.min() > 1e-3 && apart < 1e-6 && farthest < 5e-5);
    assert!((works[0] - works[1]).abs() < 2e-3 && works[0].abs() > 0.1);
}

fn job_edges(config: &Config) -> Vector3<f64> {
    Simulation::new(config).unwrap().state().unwrap().cell.edges().unwrap()
}
