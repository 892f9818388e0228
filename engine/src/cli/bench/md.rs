//! `bench md`: whole steps of molecular dynamics, alone or several copies side by side.

use crate::cli::arguments::BenchMd;
use crate::cli::job::{job, one_run};
use kernels::device::Device;
use octitrate::backend::choice::Choice;
use octitrate::config::Config;
use octitrate::error::{Error, Result};
use octitrate::propagate::Propagate;
use octitrate::simulation::Simulation;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

/// Parts that the steps are timed in.
const PARTS: u64 = 5;

/// Steps before a profile.
const WARM: u64 = 100;

/// Times steps and prints their median.
///
/// # Errors
/// A job that is not valid, and [`Error::Physics`] if its simulation cannot go on.
pub fn md(arguments: &BenchMd, device: Choice) -> Result<ExitCode> {
    let config = of_production(one_run(&job(&arguments.job, None)?)?);
    let chosen = device.open()?;
    let device = chosen.device.as_ref();
    if arguments.profile {
        let Some(device) = device else {
            let message = format!("--profile is for a GPU, but the CPU computes: {chosen}");
            return Err(Error::input(message, "choose one: --device cuda:0"));
        };
        return profile(&config, device, arguments.json);
    }
    let replicas = arguments.replicas as usize;
    let Pace { atoms, lists, slowest } = pace(&config, device, replicas, (arguments.steps / PARTS).max(1))?;
    let seconds = slowest[slowest.len() / 2];
    let speed = replicas as f64 * config.dynamics.time_step.get() * 86.4 / seconds;
    let name = device.map_or_else(|| "CPU".to_string(), Device::name);
    let [low, high] = [slowest[0], slowest[slowest.len() - 1]].map(|s| s * 1e3);
    if arguments.json {
        let object = json!({
            "device": name, "atoms": atoms, "replicas": replicas, "ms_per_step": seconds * 1e3, "ms_range": [low, high],
            "ns_per_day": speed, "list_interval": lists,
        });
        line!("{object:#}");
    } else {
        let lists = lists.map_or(String::new(), |steps| format!(", lists every {steps} steps"));
        let copies = if replicas == 1 { String::new() } else { format!("{replicas} copies, ") };
        line!(
            "{name}: {copies}{atoms} atoms, {:.4} ms/step ({low:.4} to {high:.4}), {speed:.1} ns/day{lists}",
            seconds * 1e3
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// The job without its time at constant volume, whose steps are quicker than those of the rest.
fn of_production(mut config: Config) -> Config {
    config.barostat.iter_mut().for_each(|barostat| barostat.start = None);
    config
}

/// How fast copies of a system go side by side.
pub struct Pace {
    /// Atoms of each.
    pub atoms: usize,
    /// Steps between two lists of neighbours, where that is a fixed number.
    pub lists: Option<u64>,
    /// Seconds per step of the slowest copy in each of some parts, rising.
    pub slowest: Vec<f64>,
}

/// Times so many copies of a system side by side, in parts of `part` steps, or a few more: parts end where the host waits for what it has told the
/// device to do.
///
/// # Errors
/// A job that is not valid, a device without memory for all copies, and [`Error::Physics`] if a simulation cannot go on.
pub fn pace(config: &Config, device: Option<&Device>, replicas: usize, part: u64) -> Result<Pace> {
    let config = &of_production(config.clone());
    if let Some(device) = device.filter(|_| replicas > 1) {
        device.wait_asleep();
    }
    let barrier = Barrier::new(replicas);
    let one = &|index: usize| measure(config, device, (index, replicas == 1), part, &barrier);
    // Threads of its own for each copy, as runs side by side have.
    let threads = (rayon::current_num_threads() / replicas).max(1);
    let pools = (0..replicas).map(|_| rayon::ThreadPoolBuilder::new().num_threads(threads).build());
    let pools = pools.collect::<std::result::Result<Vec<_>, _>>();
    let pools = pools.map_err(|e| Error::input(format!("threads cannot be started: {e}"), "take fewer copies"))?;
    let results: Vec<Result<Measured>> = std::thread::scope(|scope| {
        let start = |(index, pool): (usize, rayon::ThreadPool)| scope.spawn(move || pool.install(|| one(index)));
        let copies: Vec<_> = pools.into_iter().enumerate().map(start).collect();
        copies.into_iter().map(|copy| copy.join().unwrap_or_else(|_| Err(stopped()))).collect()
    });
    let mut slowest = vec![0.0_f64; PARTS as usize];
    let (mut atoms, mut lists) = (0, None);
    for result in results {
        let measured = result?;
        (atoms, lists) = (measured.atoms, measured.list_interval);
        slowest.iter_mut().zip(measured.times).for_each(|(slowest, time)| *slowest = slowest.max(time));
    }
    slowest.sort_by(f64::total_cmp);
    Ok(Pace { atoms, lists, slowest })
}

/// What one copy of the system measures.
struct Measured {
    atoms: usize,
    list_interval: Option<u64>,
    /// Seconds per step of each part.
    times: Vec<f64>,
}

/// Prints µs of each part of a step.
fn profile(config: &Config, device: &Device, as_json: bool) -> Result<ExitCode> {
    let mut simulation = prepare(config, Some(device), true, 2 * WARM)?;
    let parts = simulation.profile()?;
    let (name, atoms) = (device.name(), simulation.topology().n_atoms());
    if as_json {
        let one = |(name, seconds): &(&str, f64)| json!({ "part": name, "microseconds": 1e6 * seconds });
        let parts: Vec<_> = parts.iter().map(one).collect();
        line!("{:#}", json!({ "device": name, "atoms": atoms, "parts": parts }));
        return Ok(ExitCode::SUCCESS);
    }
    line!("{name}: {atoms} atoms; µs, each part alone");
    for (name, seconds) in parts {
        line!("{name:<36} {:>10.2}", 1e6 * seconds);
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(
    config: &Config,
    device: Option<&Device>,
    (index, alone): (usize, bool),
    part: u64,
    all: &Barrier,
) -> Result<Measured> {
    let mut config = config.clone();
    config.dynamics.seed = octitrate::workflow::children::seed(config.dynamics.seed, index as u64);
    let prepared = prepare(&config, device, alone, part);
    // The others must not wait for one that failed.
    all.wait();
    let mut simulation = prepared?;
    let times = timed(&mut simulation, part)?;
    Ok(Measured { atoms: simulation.topology().n_atoms(), list_interval: simulation.list_interval(), times })
}

/// Seconds per step of each part, all of whole paces.
fn timed(simulation: &mut Simulation, part: u64) -> Result<Vec<f64>> {
    let part = part.next_multiple_of(simulation.pace());
    let one = |_| {
        let start = Instant::now();
        steps(simulation, part)?;
        Ok(start.elapsed().as_secs_f64() / part as f64)
    };
    (0..PARTS).map(one).collect()
}

fn prepare(config: &Config, device: Option<&Device>, alone: bool, part: u64) -> Result<Simulation> {
    let mut simulation = if alone { Simulation::on(config, device)? } else { Simulation::among_many(config, device)? };
    simulation.prepare(&mut |_| Ok(()))?;
    let first = (part / 2).max(1).next_multiple_of(simulation.pace());
    steps(&mut simulation, first)?;
    Ok(simulation)
}

/// Advances at the pace of a run.
fn steps(simulation: &mut Simulation, steps: u64) -> Result<()> {
    let end = simulation.step() + steps;
    while simulation.step() < end {
        let (step, pace) = (simulation.step(), simulation.pace());
        simulation.advance(((step / pace + 1) * pace).min(end) - step)?;
    }
    Ok(())
}

fn stopped() -> Error {
    Error::input("a copy of the system stopped unexpectedly", "this is a fault of the program")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A GPU is told to make a hundred steps and waited for at their end: a part of thirty would be over when it has been told.
    #[test]
    fn parts_end_where_the_host_waits_for_the_device() {
        let device = Device::of_tests().unwrap();
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files");
        let text = format!(
            "[system]\nstructure = \"{0}/water.gro\"\ntopology = \"{0}/water.top\"\n[electrostatics]\norder = 4\n\
             [neighbour_list]\nbuffer = \"0.1 nm\"\n[dynamics]\nsteps = 1\n",
            files.display()
        );
        let config = Config::parse(&text, &files.join("job.toml")).unwrap();
        let mut simulation = prepare(&config, Some(&device), true, 30).unwrap();
        let pace = simulation.pace();
        assert_eq!(simulation.step(), pace);
        assert_eq!(timed(&mut simulation, 30).unwrap().len() as u64, PARTS);
        assert_eq!(simulation.step(), (1 + PARTS) * pace);
    }
}
