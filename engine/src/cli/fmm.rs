//! `fmm`: the charges of a file by the fast multipole method, and how accurate the result is.

use crate::cli::arguments::{FmmArguments, ToleranceOf};
use crate::cli::settings::{ChosenSettings, Wanted};
use fmm::accuracy::{MEASURED_FRACTION, Tuned};
use fmm::{Potentials, Settings};
use kernels::device::Device;
use octitrate::backend::choice;
use octitrate::charges::file::{self, Reference};
use octitrate::charges::{Sampled, System, forces, relative};
use octitrate::error::Result;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Order unless the command line gives one, or a tolerance.
const ORDER: u32 = 30;

/// Evaluates the charges of a file and prints energy and errors.
///
/// # Errors
/// [`octitrate::error::Error::Input`] if the file is not as it should be, or the method refuses it; a GPU that cannot be used.
pub fn fmm(arguments: &FmmArguments, wanted: choice::Choice) -> Result<ExitCode> {
    let (system, reference) = file::read(&arguments.file)?;
    let mut device = wanted.open()?.device;
    let found = match Found::new(&system, arguments, device.as_ref()) {
        Err(refused) if device.is_some() && wanted == choice::Choice::Auto => {
            // What is wrong with the file is refused here as well, in the same words.
            let found = Found::new(&system, arguments, None)?;
            octitrate::output::screen::show(&format!(
                "the CPU computes; {} cannot: {refused}\n",
                name_of(device.as_ref())
            ));
            device = None;
            found
        }
        found => found?,
    };
    let choice = &found.choice;
    // Without anything to compare with, exact sums at some of the particles tell the error.
    let sampled = if reference.is_empty() { Some(system.sampled_errors(&found.potentials)?) } else { None };
    let errors = errors(&system, &reference, &found);
    if arguments.json {
        let mut object = choice.description(arguments.precision, system.len());
        object["device"] = json!(name_of(device.as_ref()));
        object["boundary"] = file::boundary_as_json(&system.boundary);
        if let (Some(tuned), Some(wanted)) = (&choice.tuned, arguments.accuracy.tolerance) {
            object["tolerance"] = json!({ "value": wanted, "of": name(arguments.tolerance_of), "found": tuned.error });
            object["trials"] = tuned.trials.iter().map(trial).collect();
        }
        object["energy"] = json!(found.energy);
        object["relative_errors"] = errors.iter().map(|(name, error)| (name.to_string(), json!(error))).collect();
        if let Some(Sampled { particles, potentials, forces }) = sampled {
            object["sampled_errors"] = json!({ "particles": particles, "potentials": potentials, "forces": forces });
        }
        line!("{object:#}");
        return Ok(ExitCode::SUCCESS);
    }
    if let (Some(tuned), Some(wanted)) = (&choice.tuned, arguments.accuracy.tolerance) {
        print_trials(&system, tuned, arguments, wanted, device.is_some())?;
    }
    line!("{}, {}", choice.sentence(system.len()), name_of(device.as_ref()));
    line!("boundary: {}", file::boundary_in_words(&system.boundary));
    line!("energy                       {:.12e}", found.energy);
    for (name, error) in errors {
        line!("relative error of {name:<10} {error:.2e}");
    }
    if let Some(Sampled { particles, potentials, forces }) = sampled {
        line!("relative errors at {particles} particles, against exact sums (the file has no results to compare with)");
        line!("relative error of potentials {potentials:.2e}");
        line!("relative error of forces     {forces:.2e}");
    }
    Ok(ExitCode::SUCCESS)
}

/// Settings and results.
struct Found {
    choice: ChosenSettings,
    energy: f64,
    potentials: Potentials,
}

impl Found {
    fn new(system: &System, arguments: &FmmArguments, device: Option<&Device>) -> Result<Self> {
        let precision = arguments.precision;
        let of = arguments.tolerance_of;
        let wanted = Wanted { accuracy: &arguments.accuracy, of, precision, default_order: ORDER };
        let choice = wanted.choose(system, device)?;
        let (energy, potentials) = match device {
            Some(device) => system.solve_on(device, choice.settings, precision)?,
            None => {
                let solved = system.solve(choice.settings, precision, 0, 1)?;
                (solved.energy, solved.potentials)
            }
        };
        Ok(Self { choice, energy, potentials })
    }
}

fn name_of(device: Option<&Device>) -> String {
    device.map_or_else(|| "CPU".into(), Device::name)
}

/// Relative errors of the results that the file gives to compare with.
fn errors(system: &System, reference: &Reference, found: &Found) -> Vec<(&'static str, f64)> {
    let energy = reference.energy.map(|e| relative([found.energy].into_iter(), [e].into_iter()));
    let potentials = (reference.potentials.as_ref())
        .map(|exact| relative(found.potentials.potential.iter().copied(), exact.iter().copied()));
    let forces = (reference.forces.as_ref())
        .map(|exact| relative(forces(&system.charges, &found.potentials.field), exact.iter().flatten().copied()));
    let all = [("energy", energy), ("potentials", potentials), ("forces", forces)];
    all.into_iter().filter_map(|(name, error)| Some((name, error?))).collect()
}

fn name(of: ToleranceOf) -> &'static str {
    match of {
        ToleranceOf::Force => "force",
        ToleranceOf::Energy => "energy",
        ToleranceOf::AbsoluteEnergy => "absolute-energy",
    }
}

fn trial(trial: &fmm::accuracy::Trial) -> Value {
    let Settings { order, tree, separation } = trial.settings;
    json!({
        "order": order, "root": tree.root, "depth": tree.depth, "separation": separation,
        "expected": trial.expected, "found": trial.found, "estimated_seconds": trial.cost,
    })
}

/// What was tried for a tolerance, and why the choice fell as it did.
fn print_trials(system: &System, tuned: &Tuned, arguments: &FmmArguments, wanted: f64, on_device: bool) -> Result<()> {
    let workload = fmm::Workload::new(&system.boundary, &system.positions, system.minimum_leaf);
    let place = if on_device { "GPU" } else { "one core" };
    line!("order  root grid     depth  separation  near boxes  expected    found  cost, {place}");
    for trial in &tuned.trials {
        let Settings { order, tree, separation } = trial.settings;
        let root = tree.root.map(|n| n.to_string()).join(" × ");
        let near = workload.near_boxes(&trial.settings);
        let (expected, found, cost) = (trial.expected, trial.found, 1e3 * trial.cost);
        let mark = if trial.settings == tuned.settings { "  chosen" } else { "" };
        line!(
            "{order:>5}  {root:<12}  {:>5}  {separation:>10}  {near:>10}  {expected:>8.1e} {found:>8.1e}  {cost:>11.3} ms{mark}",
            tree.depth
        );
    }
    let (error, exact) = match arguments.tolerance_of {
        ToleranceOf::Force => ("relative force error", format!("at {} particles, against exact sums", tuned.samples)),
        ToleranceOf::Energy => ("relative energy error", "against ten more orders in double precision".into()),
        ToleranceOf::AbsoluteEnergy => ("energy error", "against ten more orders in double precision".into()),
    };
    line!(
        "chosen: the cheapest of these with a {error} below {:.0} % of {wanted:e} ({exact}): {:.1e}",
        100.0 * MEASURED_FRACTION,
        tuned.error
    );
    Ok(())
}
