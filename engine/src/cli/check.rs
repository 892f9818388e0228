//! `check`: a job with all its files is read, and nothing but the forces of its start is computed.

use super::arguments::CheckArguments;
use super::bench::pace;
use super::job::{job, one_run, warn, with_results_in};
use octitrate::backend::choice::Choice;
use octitrate::checkpoint::{Checkpoint, FILE};
use octitrate::config::quantity::Time;
use octitrate::config::{Config, Jobs};
use octitrate::error::Result;
use octitrate::evaluation::runs::holding;
use octitrate::output::progress::duration;
use octitrate::propagate::Propagate;
use octitrate::record::counted;
use octitrate::simulation::Simulation;
use octitrate::workflow::calibrate::CalibrationPlan;
use octitrate::workflow::children::Concurrency;
use octitrate::workflow::exchange;
use octitrate::workflow::folder::{Folder, Kind};
use octitrate::workflow::many::Many;
use octitrate::workflow::starts;
use octitrate::workflow::titrate::{TitrationPlan, far_from_all};
use octitrate::workflow::until::Until;
use std::process::ExitCode;

/// Reads a job with all its files and says what it is.
///
/// # Errors
/// The first thing that is wrong with the job or one of its files.
pub fn check(arguments: &CheckArguments, device: Choice) -> Result<ExitCode> {
    // Structures that runs beside it make first are not there before them.
    let first = starts::missing(&arguments.job);
    let output = arguments.output.as_deref();
    let config = match starts::without(&arguments.job).filter(|_| !first.is_empty()) {
        Some(config) => with_results_in(output, config)?,
        None => job(&arguments.job, output)?,
    };
    first.iter().try_for_each(|start| job(start, None).map(drop))?;
    let mut simulation = Simulation::chosen(&one_run(&config)?, &mut device.open()?, &mut warn)?;
    let description = simulation.describe();
    for (name, value) in &description.facts {
        line!("{name:<20} {value}");
    }
    let (names, labels) = (description.site_names(), description.labels());
    if !names.is_empty() {
        line!("{:<20} {}", "titratable sites", labels.list(&names));
        let mut other: Vec<String> = names.iter().map(|name| labels.name_and_label(name)).collect();
        other.retain(|both| !names.contains(both));
        if !other.is_empty() {
            line!("{:<20} {}", "names in the job", other.join(", "));
        }
    }
    for group in &description.untitrated {
        line!("{:<20} {}: {}", "does not titrate", labels.of(&group.name), group.reason);
    }
    let length = Time::new(config.length());
    let length = match (&config.titrate, &config.calibrate) {
        (Some(titrate), _) => {
            let count = titrate.ph.to_vec().len() * titrate.replicas as usize;
            let left_out = Time::new(titrate.equilibration());
            let swaps = titrate.exchange.map_or(String::new(), |time| format!(", which swap their pH every {time}"));
            let each = if count == 1 { "" } else { "each " };
            format!("{}{swaps}, {each}{length}, of which the first {left_out} are left out", counted(count, "run"))
        }
        (_, Some(_)) => CalibrationPlan::new(config.clone(), None)?.said(),
        _ => length.to_string(),
    };
    line!("{:<20} {length}, time step {}", "length", config.dynamics.time_step);
    for start in &first {
        line!("{:<20} {}, by octitrate titrate, for a structure to begin with", "runs first", start.display());
    }
    for (number, stage) in (1..).zip(config.stages()) {
        line!("{:<20} {number}. {stage}", if number == 1 { "stages of a run" } else { "" });
    }
    let until = Until::of(&config);
    if let Some(until) = &until {
        until.check_sites(&config, &description)?;
        let (first, looks) = (until.time(0), until.schedule.len());
        let error = until.target.error;
        let more = until.most_ph - config.titrate.as_ref().map_or(0, |titrate| titrate.ph.to_vec().len());
        let growth = match more {
            0 => "pH values are recommended, none are added".to_string(),
            1 => "a pH value may be added where it tells more".to_string(),
            more => format!("up to {more} pH values are added where they tell more"),
        };
        line!("{:<20} errors of {error}; {looks} looks at most, the first at {}; {growth}", "until", Time::new(first));
    }
    line!("{:<20} {}", "results", results(&config, &simulation)?);
    let asked = config.titration.iter().flat_map(|titration| &titration.sites);
    let expected: Vec<f64> = asked.filter_map(|site| site.start_pka).collect();
    let far = config.titrate.as_ref().and_then(|titrate| far_from_all(&titrate.ph.to_vec(), &description, &expected));
    for warning in description.warnings.iter().chain(&far).chain(&until.as_ref().and_then(Until::doubt)) {
        line!("warning: {warning}");
    }
    // The forces of the first step tell what no file does: atoms that lie on each other.
    if let Some(hint) = simulation.check_first_forces(false)? {
        line!("warning: {hint}");
    }
    drop(simulation);
    if arguments.hours {
        line!("{:<20} {}", "time", hours(&config, device)?);
    }
    line!("the job can be run");
    Ok(ExitCode::SUCCESS)
}

/// Where results go, and what is there of this job.
fn results(config: &Config, simulation: &Simulation) -> Result<String> {
    let (folder, kind) = (config.folder(), Kind::of(config));
    // Runs of a titration that do not swap have their checkpoints below its folder.
    let begun = Folder::foresee(folder, kind)? || holding(FILE, &[folder.to_path_buf()]).is_ok();
    let identity = simulation.identity();
    let there = match kind {
        Kind::Run => <Checkpoint>::load(folder)?.map(|found| found.checkpoint),
        _ => None,
    };
    if let Some(checkpoint) = &there {
        checkpoint.check_identity(&identity, folder)?;
    }
    match kind {
        // Of structures that are made first nothing is known before.
        _ if !starts::missing(config.path()).is_empty() => {}
        Kind::Titration => TitrationPlan::new(config.clone(), None)?.batch().check_first_runs(&identity)?,
        Kind::Calibration => CalibrationPlan::new(config.clone(), None)?.batch().check_first_runs(&identity)?,
        Kind::Exchange => exchange::check_results(config, &identity)?,
        Kind::Run | Kind::Evaluation => {}
    }
    let step = there.map(|checkpoint| checkpoint.state.step);
    Ok(match (step, begun) {
        (Some(step), _) => format!("{}, which holds this run up to step {step}", folder.display()),
        (None, true) => format!("{}, which holds results of this job: it goes on from them", folder.display()),
        (None, false) => folder.display().to_string(),
    })
}

/// Steps of each part that is timed, on a GPU and on the CPU: with the lists that are made on the way.
const PART: [u64; 2] = [200, 20];

/// How long a job takes, in words, from a short run of as many copies as will go side by side. Swaps of pH, output and the evaluation come on top, some
/// hundredths of it; with `until` in a job of minutes, a sixth.
fn hours(config: &Config, device: Choice) -> Result<String> {
    let place = device.open_all()?;
    let devices = place.devices();
    let (first, stages, jobs) = match (&config.titrate, &config.calibrate) {
        (Some(titrate), _) => {
            let plan = TitrationPlan::new(config.clone(), None)?;
            let runs = plan.batch().children.len();
            // Walkers of an exchange are all at work at once.
            let jobs = titrate.exchange.map_or(plan.batch().jobs, |_| Jobs::Number(runs as u32));
            (plan.batch().first().clone(), vec![(runs, config.steps())], jobs)
        }
        (_, Some(_)) => {
            let plan = CalibrationPlan::new(config.clone(), None)?;
            (plan.batch().first().clone(), plan.steps(), plan.batch().jobs)
        }
        _ => (config.clone(), vec![(1, config.steps())], Jobs::Number(1)),
    };
    let runs = stages.iter().map(|(runs, _)| *runs).max().unwrap_or(1);
    // On the CPU one after the other with all cores takes as long as several with some of them each.
    let at_once = if devices.is_empty() { 1 } else { Concurrency::of_gpus(jobs, runs, devices.len()).runs };
    let on_each = at_once.div_ceil(devices.len().max(1));
    let part = PART[usize::from(devices.is_empty())];
    let measured = pace(&first, devices.first().copied(), on_each, part)?;
    // The mean: lists, and whatever else happens in a few steps only, take their part of the whole.
    let each = measured.slowest.iter().sum::<f64>() / measured.slowest.len() as f64;
    let rounds = runs.div_ceil(at_once) as f64;
    let time = |steps: u64| duration(steps as f64 * each * rounds);
    let side_by_side = if on_each > 1 { format!(" of {on_each} runs side by side") } else { String::new() };
    let step = format!("{:.3} ms for a step{side_by_side}, measured", 1e3 * each);
    Ok(match Until::of(config) {
        Some(until) => {
            let (first, last) = (until.schedule[0], config.steps());
            let given = config.titrate.as_ref().map_or(1, |titrate| titrate.ph.to_vec().len());
            let growth = until.most_ph as f64 / given as f64;
            // From the first look on there may be as many pH values as the job allows.
            let most = duration((first as f64 + (last - first) as f64 * growth) * each * rounds);
            let with = match until.most_ph - given {
                0 => String::new(),
                more => format!(" (with {more} pH values added at the first look)"),
            };
            format!("{} to the first look, {most} at most{with}, and what starts and looks take; {step}", time(first))
        }
        None => {
            let of = |&(runs, steps): &(usize, u64)| steps as f64 * each * runs.div_ceil(at_once) as f64;
            let before = if config.calibrate.is_some() { " before the free runs" } else { "" };
            format!("{}{before}; {step}", duration(stages.iter().map(of).sum()))
        }
    })
}
