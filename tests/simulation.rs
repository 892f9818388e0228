//! The whole engine on real systems: exact continuation, independence of threads, conservation of energy with λ moving.

use octitrate::config::Config;
use octitrate::frame::Wanted;
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use std::path::{Path, PathBuf};

fn job(extra: &str) -> Config {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let (path, library) = (root.join("tests/good/glu/glu"), root.join("tests/good/library"));
    let path = path.display();
    let extra = extra.replace("LIBRARY", &library.display().to_string());
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
const WHOLE: &str = "[dynamics]\nsteps = 100\n[thermostat]\n[barostat]\n[titration]\nph = 4.0\nallow_uncalibrated = true\n\
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

/// A site of three forms and one of two bonded to it, with a buffer.
fn buffered(coordinate: &str, dynamics: &str, titration: &str) -> Config {
    job(&format!(
        "{dynamics}[titration]\nph = 4.5\ntemperature = \"300 K\"\ncoordinate = \"{coordinate}\"\n{titration}\
         library = [\"LIBRARY/glu-three.toml\", \"LIBRARY/acetyl.toml\", \"LIBRARY/water-test.toml\"]\n\
         [[titration.site]]\nresidue = \"GLH 2\"\ninitial = [0.3, 0.5, 0.2]\n\
         [[titration.site]]\nresidue = \"ACE 1\"\ninitial = 0.4\n[titration.buffer]\n"
    ))
}

const COORDINATES: [&str; 3] = ["linear", "hypersphere", "nexp"];

/// The box has no charge at any step, whatever moves, and a stopped run goes on to the last bit.
#[test]
fn a_buffered_box_is_neutral_at_every_step_and_continues_exactly() {
    for coordinate in COORDINATES {
        let config = buffered(
            coordinate,
            "[electrostatics]\norder = 6\n[dynamics]\nsteps = 100\n[thermostat]\n[barostat]\n",
            "",
        );
        let mut whole = fresh(&config);
        let start = whole.weights().unwrap();
        let neutral = |simulation: &mut Simulation| {
            let charge = simulation.net_charge().unwrap();
            assert!(charge.abs() < 1e-9, "{coordinate}: the box has {charge:e} e");
        };
        let mut state = whole.state().unwrap();
        for step in 0..40 {
            neutral(&mut whole);
            if step == 17 {
                state = whole.state().unwrap();
            }
            advance(&mut whole, 1);
        }
        let moved = whole.weights().unwrap();
        let change = moved.iter().zip(&start).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(change > 1e-3, "{coordinate}: weights have moved by {change} only");
        let starts = [0..3, 3..5, 5..7];
        assert!(starts.iter().all(|at| (moved[at.clone()].iter().sum::<f64>() - 1.0).abs() < 1e-12), "{moved:?}");
        let mut continued = Simulation::new(&config).unwrap();
        continued.restore(&state).unwrap();
        for _ in 17..40 {
            neutral(&mut continued);
            advance(&mut continued, 1);
        }
        assert!(continued.state().unwrap() == whole.state().unwrap(), "{coordinate}: the continued run differs");
    }
}

/// What the conserved energy E does beside the work W = ∫ Σ (∂V/∂λ) dλ of the reported derivatives on all λ.
struct Books {
    /// Slope of E against W: the relative error of the force on λ, or of the derivative that is reported.
    slope: f64,
    /// Standard deviation of E beside that, kJ/mol.
    rest: f64,
    /// Standard deviation of W, kJ/mol.
    work: f64,
}

/// Keeps the books of a run of `steps` steps.
fn books(config: &Config, steps: u64) -> Books {
    let mut simulation = fresh(config);
    let (mut work, mut energy) = (vec![0.0], Vec::new());
    let mut last: Option<(Vec<f64>, Vec<f64>)> = None;
    for _ in 0..steps {
        let frame = simulation.frame(Wanted { energies: true, derivatives: true, ..Wanted::default() }).unwrap();
        energy.push(frame.energies.iter().find(|q| q.name == "conserved").unwrap().value);
        let now = (frame.lambda.clone(), frame.dvdl.clone());
        if let Some((lambda, dvdl)) = last.replace(now.clone()) {
            let one = |k: usize| 0.5 * (dvdl[k] + now.1[k]) * (now.0[k] - lambda[k]);
            work.push(work[work.len() - 1] + (0..lambda.len()).map(one).sum::<f64>());
        }
        advance(&mut simulation, 1);
    }
    let centred = |list: &[f64]| -> Vec<f64> {
        let mean = list.iter().sum::<f64>() / list.len() as f64;
        list.iter().map(|x| x - mean).collect()
    };
    let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() / a.len() as f64;
    let (w, e) = (centred(&work), centred(&energy));
    let slope = product(&w, &e) / product(&w, &w);
    let rest: Vec<f64> = e.iter().zip(&w).map(|(e, w)| e - slope * w).collect();
    Books { slope, rest: product(&rest, &rest).sqrt(), work: product(&w, &w).sqrt() }
}

/// Constant energy with every coordinate, both interpolations, both precisions and a buffer that follows. The force field does 200 to 350 kJ/mol of work on λ.
/// A ∂V/∂λ that is wrong by a part δ makes E change by δ W, whatever else happens; atoms alone make E scatter by 0.7 kJ/mol in steps of
/// 1 fs, which leaves |δ| ≤ 0.002 in these runs, and twice that is allowed. All forces on λ times 1.02, those of the bias included, which take back a part of the work, gave 0.0075.
#[test]
fn the_work_on_lambda_is_taken_from_the_atoms() {
    for (coordinate, interpolation, precision) in [
        ("linear", "hamiltonian", "double"),
        ("linear", "charge", "single"),
        ("hypersphere", "hamiltonian", "single"),
        ("hypersphere", "charge", "double"),
        ("nexp", "hamiltonian", "double"),
        ("nexp", "charge", "single"),
    ] {
        let titration = format!(
            "interpolation = \"{interpolation}\"\nallow_mismatch = [\"interpolation\"]\nbarrier = \"0 kJ/mol\"\nmass = \"2 u nm^2\"\n"
        );
        let dynamics = format!(
            "[electrostatics]\norder = 8\nprecision = \"{precision}\"\n[dynamics]\nsteps = 400\ntime_step = \"1 fs\"\n"
        );
        let Books { slope, rest, work } = books(&buffered(coordinate, &dynamics, &titration), 400);
        let what = format!("{coordinate}, {interpolation}, {precision}");
        println!("{what}: slope {slope:.4}, rest {rest:.2} kJ/mol, work {work:.0} kJ/mol");
        assert!(work > 40.0, "{what}: the work scatters by {work} kJ/mol only");
        assert!(slope.abs() < 0.004, "{what}: {slope} of the work on λ is missing");
        assert!(rest < 1.5, "{what}: the energy is off by {rest} kJ/mol");
    }
}

/// Barriers adapt at multiples of 100 steps and are frozen after a thousand, wherever a run is stopped and whoever looks.
#[test]
fn barriers_adapt_and_continue_exactly() {
    let titration = "barrier = { rate = \"20 /ns\", start = \"4 kJ/mol\", during = \"0.2 ps\" }\n";
    let config = buffered("linear", "[electrostatics]\norder = 3\n[dynamics]\nsteps = 400\n[thermostat]\n", titration);
    let height = |simulation: &Simulation| simulation.describe().sites[0].barrier.unwrap();
    let mut whole = fresh(&config);
    assert_eq!(height(&whole), 4.0);
    advance(&mut whole, 130);
    assert!(height(&whole) < 4.0, "no transition in 0.2 ps: the barrier comes down, but it is {}", height(&whole));
    let state = whole.state().unwrap();
    advance(&mut whole, 120);
    let mut continued = Simulation::new(&config).unwrap();
    continued.restore(&state).unwrap();
    for _ in 0..12 {
        advance(&mut continued, 10);
        continued.frame(Wanted::ALL).unwrap();
    }
    assert_eq!(height(&continued), height(&whole));
    // Looking at a step may make the lists that it needs earlier than moving on from it would.
    whole.frame(Wanted::ALL).unwrap();
    assert!(continued.state().unwrap() == whole.state().unwrap(), "the continued run differs");
    assert_eq!(whole.describe().results.len(), 2);
}

/// Another pH changes V_pH by what it should, and nothing else.
#[test]
fn ph_can_be_changed_between_steps() {
    let config = buffered("linear", "[electrostatics]\norder = 3\n[dynamics]\nsteps = 10\n", "");
    let mut simulation = fresh(&config);
    let terms = |simulation: &mut Simulation| {
        let energies = simulation.frame(Wanted::ALL).unwrap().energies;
        let ph = energies.iter().find(|q| q.name == "pH").unwrap().value;
        (ph, energies.iter().find(|q| q.name == "potential").unwrap().value)
    };
    let (before, rest) = terms(&mut simulation);
    let protons = simulation.protons().unwrap();
    assert!((protons - (0.7 + 0.4)).abs() < 1e-6, "{protons}");
    let expected = simulation.ph_energy(6.0).unwrap();
    simulation.set_ph(6.0).unwrap();
    let (after, same) = terms(&mut simulation);
    // −RT ln10 Δ(pH) d, at 300 K 5.7435 kJ/mol.
    assert!((after - before + 5.743_5 * 1.5 * protons).abs() < 1e-2, "{before} {after}");
    assert!((after - expected).abs() < 1e-9 && same == rest);
}

/// The molecules of the buffer stay where they were, and are the same in every run of a structure.
#[test]
fn buffer_molecules_are_chosen_and_held() {
    let config = buffered("linear", "[electrostatics]\norder = 3\n[dynamics]\nsteps = 60\n[thermostat]\n", "");
    let mut simulation = fresh(&config);
    let description = simulation.describe();
    let buffer = description.sites.last().unwrap().clone();
    assert_eq!((buffer.name.as_str(), buffer.molecules.len()), ("buffer", 5), "2N + 1 for two sites");
    assert_eq!(description.lambdas(), ["GLH 2:protonated", "GLH 2:first", "GLH 2:second", "ACE 1", "buffer"]);
    let fact = &description.facts.iter().find(|(name, _)| name == "charge buffer").unwrap().1;
    assert!(
        fact.contains("5 molecules SOL") && fact.contains("2N + 1") && fact.contains("nm from the solute"),
        "{fact}"
    );
    assert_eq!(Simulation::new(&config).unwrap().describe().sites.last().unwrap().molecules, buffer.molecules);
    let atoms: Vec<usize> = {
        let topology = simulation.topology();
        buffer.molecules.iter().map(|r| topology.residues[*r as usize - 1].atoms.start as usize).collect()
    };
    let start = simulation.state().unwrap();
    advance(&mut simulation, 60);
    let end = simulation.state().unwrap();
    let restrained = simulation.energies().unwrap().restraints;
    assert!(restrained > 0.0);
    for atom in atoms {
        let moved = (end.positions[atom] - start.positions[atom]).norm();
        assert!(moved < 0.2, "atom {atom} has moved by {moved} nm");
    }
}

/// Sites that are held have a buffer that is held as well, where the box is neutral: windows of a calibration.
#[test]
fn a_buffer_of_fixed_sites_is_fixed_where_the_box_is_neutral() {
    let config = job("[electrostatics]\norder = 3\n[dynamics]\nsteps = 10\n[titration]\ntemperature = \"300 K\"\n\
         library = [\"LIBRARY/glu-three.toml\", \"LIBRARY/water-test.toml\"]\n\
         [[titration.site]]\nresidue = \"GLH 2\"\nfixed = [-0.1, 0.8, 0.3]\n[titration.buffer]\nmolecules = 3\n");
    let mut simulation = fresh(&config);
    // q = ½ − λ_b of each of three molecules takes up −1.1 e.
    let weights = simulation.weights().unwrap();
    assert!((weights[4] - (0.5 - 1.1 / 3.0)).abs() < 1e-12, "{weights:?}");
    assert!(simulation.net_charge().unwrap().abs() < 1e-9);
    advance(&mut simulation, 5);
    assert_eq!(simulation.weights().unwrap(), weights);
    let coordinates: Vec<String> = simulation.describe().sites.iter().map(|site| site.coordinate.clone()).collect();
    assert_eq!(coordinates, ["fixed", "fixed"]);
}

/// A buffer alone in water: held at any λ, or free without a thought of the charge.
#[test]
fn a_buffer_may_be_alone() {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    for (buffer, moves) in [("fixed = 0.2", false), ("neutral = false", true)] {
        let text = format!(
            "[system]\nstructure = \"{0}.gro\"\ntopology = \"{0}.top\"\n[electrostatics]\norder = 3\n[dynamics]\nsteps = 10\n\
             [titration]\ntemperature = \"300 K\"\nlibrary = [\"{1}\"]\nph_term = \"none\"\n[titration.buffer]\nmolecules = 2\n{buffer}\n",
            root.join("inputs/03-water/water").display(),
            root.join("tests/good/library/water-test.toml").display()
        );
        let config = Config::parse(&text, Path::new("buffer.toml")).unwrap();
        let mut simulation = fresh(&config);
        let start = simulation.weights().unwrap();
        assert_eq!(simulation.describe().lambdas(), ["buffer"]);
        let dvdl = simulation.single_point().unwrap().dvdl;
        assert!(dvdl.len() == 1 && dvdl[0].abs() > 1.0, "{dvdl:?}");
        advance(&mut simulation, 5);
        assert_eq!(simulation.weights().unwrap() != start, moves, "{buffer}");
    }
}
