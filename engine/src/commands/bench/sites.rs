//! `bench sites`: what titratable sites cost beside one pass over all charges.
//!
//! Water at its density in a periodic cube, f32. A site is a compact cluster of whole molecules of the lattice, cut to the number of atoms
//! asked for; sites are spread evenly. Each form is a set of random charges on the site's atoms.

use super::device_sites::{self, OnDevice};
use super::systems;
use crate::cli::{BenchSites, BoundaryArgument, SystemArgument};
use crate::commands::solve::{System, device_refused, median_and_least, refused};
use fmm::device::GroupsError;
use fmm::{Fmm, FmmError, GroupPotentials, Potentials, Settings, TreeShape, Workload};
use kernels::device::Device;
use octitrate::device::Choice;
use octitrate::error::{Error, Result};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;
use std::process::ExitCode;
use std::time::Instant;

/// Atoms of each site, one list for each.
pub type Sites = Vec<Vec<u32>>;

/// Charges of each form of each site.
pub type Forms = Vec<Vec<Vec<f64>>>;

/// Seconds of each repetition.
#[derive(Default)]
struct Seconds {
    assign: Vec<f64>,
    assign_with_sites: Vec<f64>,
    evaluate: Vec<f64>,
    sites: Vec<f64>,
}

/// Seconds: median, least.
pub struct Times {
    pub assign: [f64; 2],
    pub assign_with_sites: [f64; 2],
    pub evaluate: [f64; 2],
    pub sites: [f64; 2],
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
            print(arguments, &system, settings, &times, None);
        }
        Some(device) => {
            let tree = TreeShape::finest_root_on::<f32>(device, order, Settings::TOUCHING, &workload);
            let found = device_sites::measure(&system, device, settings(tree), (&groups, &forms), repeats);
            let found = found.map_err(|e| match e {
                GroupsError::Device(e) => device_refused(&e),
                GroupsError::Fmm(e) => refused(e),
                other => Error::input(other.to_string(), "--device cpu has other limits"),
            })?;
            print(arguments, &system, settings(tree), &found.times, Some((device, &found)));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The water, its sites, and charges of their forms.
///
/// # Errors
/// More atoms in sites than there are.
pub fn system_of(arguments: &BenchSites) -> Result<(System, Sites, Forms)> {
    let system = systems::make(SystemArgument::Water, BoundaryArgument::Periodic, arguments.particles as usize)?;
    let per_axis = systems::molecules_per_axis(arguments.particles as usize);
    let (count, atoms) = (arguments.sites as usize, arguments.atoms as usize);
    let groups = clusters(per_axis, count, atoms)?;
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut charges = |n: usize| (0..n).map(|_| random.random_range(-1.0..1.0)).collect::<Vec<f64>>();
    let forms = (0..count).map(|_| (0..arguments.forms).map(|_| charges(atoms)).collect()).collect();
    Ok((system, groups, forms))
}

fn print(arguments: &BenchSites, system: &System, settings: Settings, times: &Times, on: Option<(&Device, &OnDevice)>) {
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
        println!("{object:#}");
        return;
    }
    let [a, b, c] = tree.root;
    let place = on.map_or_else(|| format!("{threads} threads"), |(device, _)| device.name());
    println!("{} charges, order {order}, root grid {a} × {b} × {c}, depth {}, f32, {place}", system.len(), tree.depth);
    println!("{count} sites of {atoms} atoms with {} forms", arguments.forms);
    println!("{:<30} {:>11} {:>11}   of {}", "", "median", "least", arguments.repeats);
    let mut lines = vec![
        ("tree and lists", assign),
        ("tree and lists with the sites", assign_with_sites),
        ("evaluation of all charges", evaluate),
        ("evaluation of all sites", sites),
    ];
    lines.extend(on.map(|(_, found)| ("both, side by side", found.both)));
    for (name, [median, least]) in lines {
        println!("{name:<30} {:>11.4} {:>11.4} ms", 1e3 * median, 1e3 * least);
    }
    println!("the sites take {:.2} % of an evaluation of all charges", 100.0 * share);
    if let Some(overhead) = overhead {
        println!("beside it they make it {:.2} % longer", 100.0 * overhead);
    }
    if let Some(deviation) = on.and_then(|(_, found)| found.deviation) {
        println!("largest deviation of their potentials from the CPU in double precision: {deviation:.1e}");
    }
}

/// `count` clusters of `atoms` atoms in a lattice of `m` molecules per axis: blocks of molecules, evenly spread.
fn clusters(m: usize, count: usize, atoms: usize) -> Result<Sites> {
    let molecules = atoms.div_ceil(3);
    let edge = (1..).find(|e: &usize| e.pow(3) >= molecules).unwrap_or(1);
    let blocks = (m / edge).pow(3);
    if count > blocks {
        let help = format!("take more --particles, or at most {blocks} --sites");
        return Err(Error::input(format!("{count} sites of {atoms} atoms do not fit into the lattice of water"), help));
    }
    let across = m / edge;
    let cluster = |site: usize| {
        let block = site * blocks / count;
        let corner = [block / (across * across), block / across % across, block % across].map(|c| c * edge);
        let molecule = |i: usize| {
            let [x, y, z] = [i / (edge * edge), i / edge % edge, i % edge];
            ((corner[0] + x) * m + corner[1] + y) * m + corner[2] + z
        };
        (0..molecules).map(molecule).flat_map(|i| 3 * i as u32..3 * i as u32 + 3).take(atoms).collect()
    };
    Ok((0..count).map(cluster).collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_are_compact_and_share_no_atom() {
        let sites = clusters(10, 27, 12).unwrap();
        let mut all: Vec<u32> = sites.iter().flatten().copied().collect();
        assert_eq!(all.len(), 27 * 12);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 27 * 12);
        assert!(all.iter().all(|i| *i < 3000));
        // Four molecules of a block of eight.
        assert_eq!(sites[0], [0, 1, 2, 3, 4, 5, 30, 31, 32, 33, 34, 35]);
        assert!(clusters(10, 126, 12).is_err());
    }
}
