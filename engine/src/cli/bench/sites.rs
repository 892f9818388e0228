//! `bench sites`: what titratable sites cost beside one pass over all charges.

use super::device_sites::{self, OnDevice};
use super::site_charges::{Forms, Sites, Times, system_of};
use crate::cli::arguments::BenchSites;
use fmm::device::GroupsError;
use fmm::{Fmm, FmmError, GroupPotentials, Potentials, Settings, TreeShape, Workload};
use kernels::device::Device;
use octitrate::backend::choice::Choice;
use octitrate::charges::{System, device_refused, median_and_least, refused};
use octitrate::error::{Error, Result};
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

/// Seconds of each repetition.
#[derive(Default)]
struct Seconds {
    assign: Vec<f64>,
    assign_with_sites: Vec<f64>,
    evaluate: Vec<f64>,
    sites: Vec<f64>,
}

/// Times sites, on a GPU if there is one.
///
/// # Errors
/// More atoms in sites than there are; settings that the method refuses; a GPU that cannot be used.
pub fn sites(arguments: &BenchSites, device: Choice) -> Result<ExitCode> {
    let device = device.open()?.device;
    let (system, groups, forms) = system_of(arguments)?;
    let (order, repeats) = (arguments.order as usize, arguments.repeats as usize);
    let workload = Workload::new(&system.boundary, &system.positions, system.minimum_leaf);
    let settings = |tree| Settings::new(order, tree);
    match &device {
        None => {
            let settings = settings(TreeShape::auto::<f32>(order, Settings::TOUCHING, &workload));
            let times = measure(&system, settings, &groups, &forms, repeats).map_err(refused)?;
            print(arguments, &system, settings, &times, None)?;
        }
        Some(device) => {
            let tree = TreeShape::finest_root_on::<f32>(device, order, Settings::TOUCHING, &workload);
            let found = device_sites::measure(&system, device, settings(tree), (&groups, &forms), repeats);
            let found = found.map_err(|e| match e {
                GroupsError::Device(e) => device_refused(&e),
                GroupsError::Fmm(e) => refused(e),
                other => Error::input(other.to_string(), "--device cpu has other limits"),
            })?;
            print(arguments, &system, settings(tree), &found.times, Some((device, &found)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn print(
    arguments: &BenchSites,
    system: &System,
    settings: Settings,
    times: &Times,
    on: Option<(&Device, &OnDevice)>,
) -> Result<()> {
    let Times { assign, assign_with_sites, evaluate, sites } = *times;
    let (share, threads) = (sites[0] / evaluate[0], rayon::current_num_threads());
    let overhead = on.map(|(_, found)| found.both[0] / evaluate[0] - 1.0);
    let (count, atoms, order, tree) = (arguments.sites, arguments.atoms, settings.order, settings.tree);
    if arguments.json {
        let pair = |[median, least]: [f64; 2]| json!({ "median": median, "least": least });
        let mut object = json!({
            "particles": system.len(), "sites": count, "forms": arguments.forms, "atoms": atoms, "order": order,
            "root": tree.root, "depth": tree.depth, "precision": "f32", "threads": threads,
            "seconds": {
                "assign": pair(assign), "assign_with_sites": pair(assign_with_sites),
                "evaluate": pair(evaluate), "sites": pair(sites),
            },
            "sites_over_evaluate": share,
        });
        if let Some((device, found)) = on {
            object["device"] = json!(device.name());
            object["seconds"]["evaluate_with_sites"] = pair(found.both);
            object["overhead"] = json!(overhead);
            object["deviation_from_cpu"] = json!(found.deviation);
        }
        line!("{object:#}");
        return Ok(());
    }
    let [a, b, c] = tree.root;
    let place = on.map_or_else(|| format!("{threads} threads"), |(device, _)| device.name());
    line!("{} charges, order {order}, root grid {a} × {b} × {c}, depth {}, f32, {place}", system.len(), tree.depth);
    line!("{count} sites of {atoms} atoms with {} forms", arguments.forms);
    line!("{:<30} {:>11} {:>11}   of {}", "", "median", "least", arguments.repeats);
    let mut lines = vec![
        ("tree and lists", assign),
        ("tree and lists with the sites", assign_with_sites),
        ("evaluation of all charges", evaluate),
        ("evaluation of all sites", sites),
    ];
    lines.extend(on.map(|(_, found)| ("both, side by side", found.both)));
    for (name, [median, least]) in lines {
        line!("{name:<30} {:>11.4} {:>11.4} ms", 1e3 * median, 1e3 * least);
    }
    line!("the sites take {:.2} % of an evaluation of all charges", 100.0 * share);
    if let Some(overhead) = overhead {
        line!("beside it they make it {:.2} % longer", 100.0 * overhead);
    }
    if let Some(deviation) = on.and_then(|(_, found)| found.deviation) {
        line!("largest deviation of their potentials from the CPU in double precision: {deviation:.1e}");
    }
    Ok(())
}

fn measure(
    system: &System,
    settings: Settings,
    groups: &Sites,
    forms: &Forms,
    repeats: usize,
) -> std::result::Result<Times, FmmError> {
    let mut solver = Fmm::<f32>::new(system.boundary, settings)?;
    let (mut potentials, mut own) = (Potentials::default(), Vec::<GroupPotentials>::new());
    let mut seconds = Seconds::default();
    for repeat in 0..=repeats {
        let mut clock = Instant::now();
        let mut lap = |list: &mut Vec<f64>| {
            // The first round warms up.
            if repeat > 0 {
                list.push(clock.elapsed().as_secs_f64());
            }
            clock = Instant::now();
        };
        solver.assign(&system.positions, &system.exclusions, &[])?;
        lap(&mut seconds.assign);
        solver.assign(&system.positions, &system.exclusions, groups)?;
        lap(&mut seconds.assign_with_sites);
        solver.evaluate(&system.positions, &system.charges, &mut potentials)?;
        lap(&mut seconds.evaluate);
        solver.evaluate_groups(&system.positions, forms, &mut own)?;
        lap(&mut seconds.sites);
    }
    let Seconds { assign, assign_with_sites, evaluate, sites } = seconds;
    let [assign, assign_with_sites, evaluate, sites] =
        [assign, assign_with_sites, evaluate, sites].map(median_and_least);
    Ok(Times { assign, assign_with_sites, evaluate, sites })
}
