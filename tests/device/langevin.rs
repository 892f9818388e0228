//! Jobs with `[thermostat] kind = "langevin"` on a device: as on the CPU, in pieces, from one device to another; temperatures, and the work of the bath.

use super::glu;
use forcefield::units::GAS_CONSTANT;
use kernels::device::Device;
use octitrate::config::Config;
use octitrate::config::quantity::Time;
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use octitrate::state::State;
use std::path::{Path, PathBuf};

const BATH: &str = "[thermostat]\nkind = \"langevin\"\nfriction = \"5 /ps\"\n";

/// λ that moves though the solute is held, a barostat.
fn all_of_it(electrostatics: &str) -> Config {
    let mut config = glu(&format!(
        "[electrostatics]\n{electrostatics}\n[dynamics]\nsteps = 40\nconstraints = \"h-bonds\"\n{BATH}[barostat]\ncoupling_time = \"0.1 ps\"\n\
         [position_restraints]\nduration = \"0.2 ps\"\nfade = \"0.1 ps\"\natoms = \"not hydrogen\"\n"
    ));
    config.titration.as_mut().unwrap().relax = Some(Time::new(0.0));
    config
}

fn start(config: &Config, device: Option<&Device>) -> Simulation {
    let mut simulation = Simulation::on(config, device).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    simulation
}

fn farthest(a: &State, b: &State) -> f64 {
    a.positions.iter().zip(&b.positions).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
}

/// The same friction and noise on every device, also where a run goes from the CPU to a GPU and back.
#[test]
fn a_job_with_everything_moves_as_on_the_cpu() {
    let device = Device::of_tests().unwrap();
    let config = all_of_it("precision = \"double\"\norder = 14\nseparation = 1.12");
    let run = |pieces: &[(Option<&Device>, u64)]| {
        let mut simulation = start(&config, pieces[0].0);
        simulation.advance(pieces[0].1).unwrap();
        for (device, steps) in &pieces[1..] {
            let state = simulation.state().unwrap();
            simulation = Simulation::on(&config, *device).unwrap();
            simulation.restore(&state).unwrap();
            simulation.advance(*steps).unwrap();
        }
        let frame = simulation.frame(Wanted::ALL).unwrap();
        let (energies, lambda) = (frame.energies.clone(), frame.lambda.clone());
        (energies, lambda[0], simulation.state().unwrap())
    };
    let gpu = Some(&device);
    let here = run(&[(None, 11)]);
    let work = here.2.bath.thermostat_work;
    assert!(work.abs() > 10.0 && (here.1 - 0.4).abs() > 1e-4, "{work} kJ/mol, λ {}", here.1);
    for there in [run(&[(gpu, 11)]), run(&[(None, 4), (gpu, 4), (None, 3)])] {
        // Forces differ by 1e-5 of 5000 kJ/mol/nm, as in lambda_feels_and_moves_as_on_the_cpu; ½ F t²/m of a hydrogen in 22 fs is 1e-5 nm.
        let apart = farthest(&here.2, &there.2);
        println!("positions differ by {apart:.1e} nm, λ by {:.1e}", (here.1 - there.1).abs());
        assert!(apart < 1e-5 && (here.1 - there.1).abs() < 1e-6, "{apart:e} nm, λ {} and {}", here.1, there.1);
        // Velocities differ by F t/m, and the work by their product with momenta, whose signs are random.
        assert!((there.2.bath.thermostat_work - work).abs() < 2e-2, "{work} and {}", there.2.bath.thermostat_work);
        assert!((here.2.cell.edges().unwrap() - there.2.cell.edges().unwrap()).norm() < 1e-6);
        for (a, b) in here.0.iter().zip(&there.0) {
            // The pressure is a difference of large numbers.
            let tolerance = if a.unit == "bar" { 4.0 } else { 1e-5 * a.value.abs() + 2e-2 };
            assert!((a.value - b.value).abs() <= tolerance, "{}: {} and {}", a.name, a.value, b.value);
        }
    }
}

#[test]
fn a_run_with_friction_repeats_and_continues_bit_for_bit() {
    let device = Device::of_tests().unwrap();
    let config = all_of_it("order = 4");
    let mut whole = start(&config, Some(&device));
    whole.advance(13).unwrap();
    let state = whole.state().unwrap();
    whole.advance(13).unwrap();
    let expected = whole.state().unwrap();
    let mut continued = Simulation::on(&config, Some(&device)).unwrap();
    continued.restore(&state).unwrap();
    for steps in [6, 1, 6] {
        continued.advance(steps).unwrap();
        continued.frame(Wanted::ALL).unwrap();
    }
    assert!(continued.state().unwrap() == expected, "the continued run differs");
    let mut again = start(&config, Some(&device));
    again.advance(26).unwrap();
    assert!(again.state().unwrap() == expected, "a second run differs");
    // Another seed has other noise.
    let mut config = config;
    config.dynamics.seed += 1;
    let mut other = Simulation::on(&config, Some(&device)).unwrap();
    other.restore(&state).unwrap();
    other.advance(13).unwrap();
    assert!(farthest(&other.state().unwrap(), &expected) > 1e-3);
}

fn mean_and_spread(values: &[f64]) -> (f64, f64) {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt())
}

/// Peptides in forty molecules of water that start twice too hot: soon each kind of atom has the temperature of the bath, and the energy less its work
/// stays.
#[test]
fn a_box_becomes_thermal_and_its_energy_less_the_work_stays() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("forcefield/tests/openmm/ff14sb");
    let path = path.display();
    let text = format!(
        "[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.xml\"\n[electrostatics]\norder = 6\n[dynamics]\nsteps = 400\n\
         velocity_temperature = \"600 K\"\n[thermostat]\nkind = \"langevin\"\nfriction = \"20 /ps\"\n"
    );
    let config = Config::parse(&text, Path::new("langevin.toml")).unwrap();
    let mut simulation = start(&config, Some(&Device::of_tests().unwrap()));
    let topology = simulation.topology();
    let kind_of = |atom: u32| {
        let residue = &topology.residues[topology.atoms[atom as usize].residue as usize];
        if residue.name == "HOH" { 0 } else { 1 }
    };
    let kinds: Vec<usize> = (0..topology.atoms.len() as u32).map(kind_of).collect();
    let masses = topology.masses();
    let mut freedom = [0.0; 2];
    kinds.iter().for_each(|kind| freedom[*kind] += 3.0);
    topology.constraints.iter().for_each(|bond| freedom[kinds[bond.atoms[0] as usize]] -= 1.0);
    topology.settles.iter().for_each(|water| freedom[kinds[water.oxygen as usize]] -= 3.0);
    assert!(freedom[0] == 240.0 && freedom[1] > 240.0, "{freedom:?}");
    // Kinetic energies forget within 1/2γ, 12.5 steps.
    simulation.advance(100).unwrap();
    let (mut thermal, mut total, mut conserved) = ([Vec::new(), Vec::new()], Vec::new(), Vec::new());
    for _ in 0..30 {
        simulation.advance(10).unwrap();
        let frame = simulation.frame(Wanted::ALL).unwrap();
        let column = |name: &str| frame.energies.iter().find(|quantity| quantity.name == name).unwrap().value;
        total.push(column("total"));
        conserved.push(column("conserved"));
        let mut twice = [0.0; 2];
        let state = simulation.state().unwrap();
        for ((kind, mass), v) in kinds.iter().zip(&masses).zip(&state.velocities) {
            twice[*kind] += mass * v.norm_squared();
        }
        for kind in 0..2 {
            thermal[kind].push(twice[kind] / (freedom[kind] * GAS_CONSTANT * 300.0));
        }
    }
    let [total, conserved] = [total, conserved].map(|values| mean_and_spread(&values).1);
    println!("total ± {total:.2}, conserved ± {conserved:.2} kJ/mol");
    for (freedom, thermal) in freedom.iter().zip(&thermal) {
        let (mean, spread) = mean_and_spread(thermal);
        println!("{freedom} degrees of freedom: temperature {mean:.3} ± {spread:.3} of the bath's");
        // A third of 30 are independent at least: e^{−10/12.5} of one is left in the next, and potential energy gives some back. Five standard errors; the
        // spread has one of 1/√(2·10).
        let width = (2.0 / freedom).sqrt();
        assert!((mean - 1.0).abs() < 5.0 * width / 10.0_f64.sqrt(), "{mean}");
        assert!((0.25..2.1).contains(&(spread / width)), "{spread} {width}");
    }
    // Without the work both were the same.
    assert!(conserved < 0.2 * total, "{conserved} {total}");
}
