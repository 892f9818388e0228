//! The whole engine on real systems: exact continuation, independence of threads, conservation of energy with λ moving.

use octitrate::config::Config;
use octitrate::output::Wanted;
use octitrate::simulation::Simulation;
use octitrate::workflow::run::Propagate;
use std::path::{Path, PathBuf};

fn job(extra: &str) -> Config {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("inputs/01-glu/glu");
    let path = path.display();
    let text = format!("[system]\nstructure = \"{path}.gro\"\ntopology = \"{path}.top\"\n{extra}");
    Config::parse(&text, Path::new("simulation.toml")).unwrap()
}

fn fresh(config: &Config) -> Simulation {
    let mut simulation = Simulation::new(config).unwrap();
    simulation.prepare(&mut |_| Ok(())).unwrap();
    simulation
}

fn advance(simulation: &mut Simulation, steps: u64) {
    simulation.advance(steps).unwrap();
}

/// Everything at once: thermostats, barostat, λ.
const WHOLE: &str = "[dynamics]\nsteps = 100\n[thermostat]\n[barostat]\n[titration]\nph = 4.0\n\
                     [[titration.site]]\nresidue = \"GLH 2\"\n";

/// A run that is stopped anywhere and goes on in a new process does bit for bit what it would have done.
#[test]
fn continuation_is_exact() {
    let config = job(WHOLE);
    let mut whole = fresh(&config);
    advance(&mut whole, 37);
    let state = whole.state().unwrap();
    advance(&mut whole, 43);
    let mut continued = Simulation::new(&config).unwrap();
    continued.restore(&state).unwrap();
    assert!(continued.state().unwrap() == state, "the restored state is not the saved one");
    advance(&mut continued, 43);
    assert!(continued.state().unwrap() == whole.state().unwrap(), "the continued run differs");
    let columns = [&mut whole, &mut continued].map(|s| s.frame(Wanted::ALL).unwrap().energies);
    assert_eq!(columns[0], columns[1]);
}

/// Looking at energies does not change the trajectory, and neither does the number of threads.
#[test]
fn observers_and_threads_change_nothing() {
    let config = job(WHOLE);
    let run = |threads: usize, look: bool| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut simulation = fresh(&config);
            for _ in 0..25 {
                advance(&mut simulation, 1);
                if look {
                    simulation.frame(Wanted::ALL).unwrap();
                }
            }
            simulation.state().unwrap()
        })
    };
    let reference = run(1, false);
    assert!(run(1, true) == reference, "frame() changes the trajectory");
    assert!(run(3, false) == reference, "three threads give another trajectory");
}

/// Slope (kJ/mol/ps/atom) of the total energy of a 4 ps run at constant energy, λ moving.
fn drift(precision: &str, order: u32) -> f64 {
    let config = job(&format!(
        "[electrostatics]\nprecision = \"{precision}\"\norder = {order}\n[dynamics]\nsteps = 2000\n\
         [titration]\nph = 4.25\ntemperature = \"300 K\"\n[[titration.site]]\nresidue = \"GLH 2\"\ninitial = 0.5\n"
    ));
    let mut simulation = fresh(&config);
    let mut points = Vec::new();
    let mut range = (f64::INFINITY, f64::NEG_INFINITY);
    for _ in 0..200 {
        advance(&mut simulation, 10);
        let frame = simulation.frame(Wanted::ALL).unwrap();
        range = (range.0.min(frame.lambda[0]), range.1.max(frame.lambda[0]));
        let conserved = frame.energies.iter().find(|q| q.name == "conserved").unwrap().value;
        points.push((frame.time, conserved));
    }
    let n = points.len() as f64;
    let (t, e) = points.iter().fold((0.0, 0.0), |(t, e), p| (t + p.0 / n, e + p.1 / n));
    let slope = points.iter().map(|p| (p.0 - t) * (p.1 - e)).sum::<f64>()
        / points.iter().map(|p| (p.0 - t).powi(2)).sum::<f64>();
    let rms = (points.iter().map(|p| (p.1 - e - slope * (p.0 - t)).powi(2)).sum::<f64>() / n).sqrt();
    let per_atom = slope / simulation.topology().n_atoms() as f64;
    println!(
        "{precision}, order {order}: drift {per_atom:.1e} kJ/mol/ps/atom, rms {rms:.2} kJ/mol, λ {:.3} to {:.3}",
        range.0, range.1
    );
    assert!(range.1 - range.0 > 0.02, "λ has not moved: {range:?}");
    per_atom
}

/// 4 ps tell a drift of some 5e-4 kJ/mol/ps/atom from the noise of 2 fs steps; a wrong force or a lost ∂V/∂λ gives far more.
/// Longer runs are on the benchmark page.
#[test]
fn energy_is_conserved_with_lambda_moving() {
    for (precision, order) in [("single", 8), ("double", 8)] {
        let drift = drift(precision, order);
        assert!(drift.abs() < 1e-3, "{precision}, order {order}: {drift:.1e} kJ/mol/ps/atom");
    }
}
