//! `fmm` and `bench fmm`: the fast multipole method alone, against a file of reference values and against the clock.

use crate::cli::{BenchFmm, BoundaryArgument, Fmm as Arguments, PrecisionArgument};
use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, Settings, TreeShape, Workload};
use kernels::Real;
use octitrate::config::Depth;
use octitrate::error::{Error, InputError, Result};
use rand::RngExt;
use rand::SeedableRng;
use serde::Deserialize;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

/// Evaluations that are timed; the fastest counts.
const REPEATS: usize = 5;

/// Charges with the results of a plain sum; dimensionless, k_e = 1.
#[derive(Deserialize)]
struct Reference {
    cell: [[f64; 3]; 3],
    periodic: String,
    positions: Vec<[f64; 3]>,
    charges: Vec<f64>,
    energy: f64,
    potentials: Vec<f64>,
    forces: Vec<[f64; 3]>,
}

/// What is evaluated, and how.
struct Task<'a> {
    precision: PrecisionArgument,
    boundary: Boundary,
    order: u32,
    depth: Depth,
    positions: &'a [[f64; 3]],
    charges: &'a [f64],
    repeats: usize,
}

/// Results of one evaluation, and seconds of set-up, assignment and evaluation.
struct Evaluated {
    settings: Settings,
    energy: f64,
    potentials: Potentials,
    seconds: [f64; 3],
    stages: Vec<(&'static str, f64)>,
}

/// Computes a reference file and prints the relative errors.
///
/// # Errors
/// [`Error::Input`] if the file is not as it should be, or the method refuses it.
pub fn fmm(arguments: &Arguments) -> Result<ExitCode> {
    let path = &arguments.file;
    let text = std::fs::read_to_string(path).map_err(|e| Error::file(path, "read the charges", e))?;
    let help = "valid is a JSON object with cell, periodic, positions, charges, energy, potentials, forces";
    let wrong = |message: String| -> Error { InputError::new(message, help).in_file(path).into() };
    let reference: Reference = serde_json::from_str(&text).map_err(|e| wrong(e.to_string()))?;
    let n = reference.positions.len();
    if [reference.charges.len(), reference.potentials.len(), reference.forces.len()] != [n; 3] {
        return Err(wrong(format!("positions, charges, potentials and forces differ in number: {n} positions")));
    }
    let boundary = boundary(&reference, path)?;
    let (positions, charges) = (&reference.positions[..], &reference.charges[..]);
    let (precision, order, depth) = (arguments.precision, arguments.order, arguments.depth);
    let found =
        Task { precision, boundary, order, depth, positions, charges, repeats: 1 }.evaluate().map_err(refused)?;
    let forces = found.potentials.field.iter().zip(charges).flat_map(|(field, q)| field.map(|e| q * e));
    let errors = [
        ("energy", ((found.energy - reference.energy) / reference.energy).abs()),
        ("potentials", relative(found.potentials.potential.iter().copied(), reference.potentials.iter().copied())),
        ("forces", relative(forces, reference.forces.iter().flatten().copied())),
    ];
    if arguments.json {
        let mut object = description(found.settings, precision, n);
        object["energy"] = json!(found.energy);
        object["relative_errors"] = errors.iter().map(|(name, error)| (name.to_string(), json!(error))).collect();
        println!("{object:#}");
    } else {
        println!("{}", sentence(found.settings, n));
        for (name, error) in errors {
            println!("relative error of {name:<11} {error:.2e}");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Times random charges in a unit cube.
///
/// # Errors
/// [`Error::Input`] if the method refuses the settings.
pub fn bench(arguments: &BenchFmm) -> Result<ExitCode> {
    let n = arguments.particles as usize;
    let mut random = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    let positions: Vec<[f64; 3]> = (0..n).map(|_| std::array::from_fn(|_| random.random::<f64>())).collect();
    // Neutral: the mean is taken off.
    let mut charges: Vec<f64> = (0..n).map(|_| random.random_range(-1.0..1.0)).collect();
    let mean = charges.iter().sum::<f64>() / n as f64;
    charges.iter_mut().for_each(|q| *q -= mean);
    let boundary = match arguments.boundary {
        BoundaryArgument::Open => Boundary::Open,
        BoundaryArgument::Periodic => Boundary::rectangular([1.0; 3]),
    };
    let (precision, order, depth) = (arguments.precision, arguments.order, arguments.depth);
    let (positions, charges) = (&positions[..], &charges[..]);
    let task = Task { precision, boundary, order, depth, positions, charges, repeats: REPEATS };
    let found = task.evaluate().map_err(refused)?;
    let [setup, assign, best] = found.seconds;
    if arguments.json {
        let mut object = description(found.settings, precision, n);
        object["seconds"] = json!({ "setup": setup, "assign": assign, "evaluate": best });
        object["stages"] = found.stages.iter().map(|(name, seconds)| (name.to_string(), json!(seconds))).collect();
        object["threads"] = json!(rayon::current_num_threads());
        println!("{object:#}");
        return Ok(ExitCode::SUCCESS);
    }
    println!("{}, {} threads", sentence(found.settings, n), rayon::current_num_threads());
    println!("operators        {:>10.3} ms, once", 1e3 * setup);
    println!("tree and lists   {:>10.3} ms", 1e3 * assign);
    println!("evaluation       {:>10.3} ms, fastest of {REPEATS}", 1e3 * best);
    for (name, seconds) in &found.stages {
        println!("  {name:<14} {:>10.3} ms", 1e3 * seconds);
    }
    Ok(ExitCode::SUCCESS)
}

fn refused(error: FmmError) -> Error {
    Error::input(error.to_string(), "take another order or depth")
}

fn description(settings: Settings, precision: PrecisionArgument, n: usize) -> serde_json::Value {
    let tree = settings.tree;
    let precision = if precision == PrecisionArgument::F32 { "f32" } else { "f64" };
    json!({ "particles": n, "order": settings.order, "root": tree.root, "depth": tree.depth, "precision": precision })
}

fn sentence(settings: Settings, n: usize) -> String {
    format!("{n} charges, order {}, root grid {:?}, depth {}", settings.order, settings.tree.root, settings.tree.depth)
}

/// What surrounds the charges of a reference file.
fn boundary(reference: &Reference, path: &Path) -> Result<Boundary> {
    let cell @ [a, b, _] = reference.cell;
    match reference.periodic.as_str() {
        "" | "none" | "open" => Ok(Boundary::Open),
        "x" => Ok(Boundary::Wire { period: a }),
        "xy" => Ok(Boundary::Slab { periods: [a, b] }),
        "xyz" => Ok(Boundary::Periodic { cell }),
        other => {
            let valid = "valid are \"xyz\", \"xy\" (a slab), \"x\" (a wire) and \"none\"";
            Err(InputError::new(format!("periodic is \"{other}\""), valid).in_file(path).into())
        }
    }
}

impl Task<'_> {
    fn evaluate(&self) -> std::result::Result<Evaluated, FmmError> {
        match self.precision {
            PrecisionArgument::F32 => self.in_precision::<f32>(),
            PrecisionArgument::F64 => self.in_precision::<f64>(),
        }
    }

    fn settings<T: Real>(&self) -> Settings {
        let order = self.order as usize;
        let workload = Workload::new(&self.boundary, self.positions, 0.0);
        let tree = match self.depth {
            Depth::Levels(depth) => TreeShape::near_cubic(workload.edges, depth as usize),
            Depth::Auto => TreeShape::auto::<T>(order, Settings::TOUCHING, &workload),
        };
        Settings::new(order, tree)
    }

    /// The fastest of `repeats` evaluations.
    fn in_precision<T: Real>(&self) -> std::result::Result<Evaluated, FmmError> {
        let settings = self.settings::<T>();
        let started = Instant::now();
        let mut solver = Fmm::<T>::new(self.boundary, settings)?;
        let setup = started.elapsed().as_secs_f64();
        let exclusions = Exclusions::none(self.positions.len());
        let (mut assign, mut best) = (f64::INFINITY, f64::INFINITY);
        let (mut energy, mut potentials, mut stages) = (0.0, Potentials::default(), Vec::new());
        for _ in 0..self.repeats {
            let started = Instant::now();
            solver.assign(self.positions, &exclusions, &[])?;
            assign = assign.min(started.elapsed().as_secs_f64());
            let started = Instant::now();
            energy = solver.evaluate(self.positions, self.charges, &mut potentials)?;
            let seconds = started.elapsed().as_secs_f64();
            if seconds < best {
                (best, stages) = (seconds, stages_of(&solver));
            }
        }
        Ok(Evaluated { settings, energy, potentials, seconds: [setup, assign, best], stages })
    }
}

/// Seconds of each stage of the last evaluation, in order.
fn stages_of<T: Real>(solver: &Fmm<T>) -> Vec<(&'static str, f64)> {
    let t = solver.timings();
    let far = [("p2m", t.p2m), ("m2m", t.m2m), ("m2l", t.m2l), ("lattice", t.lattice), ("l2l", t.l2l), ("l2p", t.l2p)];
    [&[("sort", t.sort)], &far[..], &[("p2p", t.p2p), ("gather", t.gather)]].concat()
}

/// ‖a − b‖ / ‖b‖.
fn relative(a: impl Iterator<Item = f64>, b: impl Iterator<Item = f64>) -> f64 {
    let (difference, norm) = a.zip(b).fold((0.0, 0.0), |(d, n), (a, b)| (d + (a - b) * (a - b), n + b * b));
    (difference / norm).sqrt()
}
