//! A barostat that scales axes apart, in the whole engine: exact continuation, conserved energy, edges that stay, a constant volume at the start; what a GPU refuses.

use kernels::device::Device;
use nalgebra::Vector3;
use octitrate::config::Config;
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use std::path::{Path, PathBuf};

fn job(system: &str, sections: &str) -> Config {
    let stem = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(system);
    let stem = stem.display();
    let text = format!("[system]\nstructure = \"{stem}.gro\"\ntopology = \"{stem}.top\"\n[thermostat]\n{sections}");
    Config::parse(&text, Path::new("axes.toml")).unwrap()
}

fn fresh(config: &Config) -> Simulation {
    let mut simulation = Simulation::new(config).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    simulation
}

fn edges(simulation: &mut Simulation) -> Vector3<f64> {
    simulation.state().unwrap().cell.edges().unwrap()
}

/// With a glutamic acid that titrates and restrained waters as its buffer; stopped between a scaling and the step that completes its work, and elsewhere.
#[test]
fn continuation_is_exact() {
    let sections = "[electrostatics]\norder = 4\n[dynamics]\nsteps = 60\n[barostat]\ncoupling = \"anisotropic\"\ninterval = 5\n\
                    [titration]\nph = 4.0\nallow_uncalibrated = true\n[[titration.site]]\nresidue = \"GLH 2\"\n";
    let config = job("tests/good/glu/glu", sections);
    let mut whole = fresh(&config);
    let mut states = Vec::new();
    for step in [20, 23, 40] {
        whole.advance(step - whole.step()).unwrap();
        states.push(whole.state().unwrap());
    }
    assert!(states[0].bath.barostat.pending_edges != [0.0; 3] && states[1].bath.barostat.pending_edges == [0.0; 3]);
    for start in &states[..2] {
        let mut continued = Simulation::new(&config).unwrap();
        continued.restore(start).unwrap();
        continued.advance(40 - start.step).unwrap();
        assert!(continued.state().unwrap() == states[2], "continued from step {}", start.step);
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
        let mut simulation = fresh(&job("tests/good/water/water", &sections));
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

#[test]
fn a_device_refuses_axes_apart() {
    let config = job("tests/good/water/water", "[dynamics]\nsteps = 20\n[barostat]\ncoupling = \"semi-isotropic\"\n");
    let error = Simulation::on(&config, Some(&Device::of_tests().unwrap())).err().unwrap().to_string();
    assert!(error.contains("barostat.coupling: a GPU scales all axes alike"), "{error}");
}
