//! pH replica exchange in one process: there is one walker for each pH, and neighbours swap their pH every few steps.
//!
//! At exchange number e (step e·interval) the pairs (1,2), (3,4), … try to swap if e is odd, (2,3), (4,5), … if it is even. Walkers i and j
//! with weights λ_i, λ_j swap with probability min(1, e^−Δ) (Metropolis; Sugita & Okamoto 1999, 10.1016/S0009-2614(99)01123-9; of pH: Meng &
//! Roitberg 2010, 10.1021/ct900676b),
//!
//!   Δ = [V_pH(λ_i; pH_j) + V_pH(λ_j; pH_i) − V_pH(λ_i; pH_i) − V_pH(λ_j; pH_j)] / RT
//!     = ln 10 (pH_i − pH_j)(d_i − d_j)        for V_pH linear in λ, d = Σ_s Σ_α λ_sα d_α protons lost
//!
//! A walker needs λ of its partner and nothing else, so that it waits for that one alone, and for nobody where it has none: walkers that have threads
//! of their own are at different exchanges (`meetings.rs`). They come to rest between the same two for a checkpoint.
//!
//! All else stays with the walker. Files belong to the pH: `pH_4.00/replica_1/lambda.csv` is continuous in pH and says whose coordinates
//! each line has. Replicas are ladders of their own. Random numbers are keyed by seed, exchange and pair; one checkpoint holds all walkers,
//! each at its own step, and who has which pH, so that a run in pieces leaves the same bytes as a run in one.

mod books;
mod ensemble;
mod going;
mod journal;
mod leg;
mod meetings;
mod prepare;
mod setup;
mod start;
mod state;
mod stays;
mod watch;

pub use ensemble::run;
pub use setup::Setup;

use super::many::{Host, Many};
use super::titrate::TitrationPlan;
use crate::config::Config;
use crate::error::Result;
use crate::evaluation::ladders::Ladders;
use crate::output::progress::Log;
use crate::signals::Stop;
use crate::simulation::Simulation;
use start::Start;

/// Runs a titration with replica exchange and evaluates it; false if asked to stop before the end.
///
/// # Errors
/// [`crate::error::Error::Input`] if the job has no exchange, or if its folder is not its own or another program is at work there; as [`run`] and [`Many::conclude`].
pub fn titrate(plan: &TitrationPlan, host: &Host, stop: &Stop) -> Result<bool> {
    let (batch, ph) = (plan.batch(), plan.ph());
    let config = &batch.config;
    let every = config.titrate.as_ref().and_then(|titrate| config.interval(titrate.exchange?));
    let Some(every) = every else {
        return Err(config.error_at("titrate", "there is no exchange", "set titrate.exchange = \"1 ps\""));
    };
    let ladders = Ladders { ph, replicas: batch.children.len() / ph.len() };
    let until = plan.until();
    plan.check_sites(&host.description.site_names())?;
    let whole = [config.steps()];
    let stages = until.map_or(&whole[..], |until| &until.schedule);
    let devices = host.place.devices();
    // A thread that spins while it waits holds up those that have work to enqueue.
    devices.iter().for_each(|device| device.wait_asleep());
    let mut log: Option<Log> = None;
    for (number, &steps) in stages.iter().enumerate() {
        if until.is_some_and(|until| until.is_passed(number, &plan.folders())) {
            continue;
        }
        let mut part = config.clone();
        part.dynamics.steps = Some(steps);
        let slots = plan.children(steps);
        let setup = Setup { config: &part, slots: &slots, ladders, every };
        let start = Start::find(&part, host.identity, &setup.labels())?;
        let log = match &mut log {
            Some(log) => log,
            None => {
                let mut new = start.folder.open_log(config, host.quiet)?;
                new.line(&format!("device: {}", host.place))?;
                new.describe(host.description)?;
                log.insert(new)
            }
        };
        // Walkers are dealt out, and neighbours of a ladder need not be on one device: all they tell each other is λ.
        let mut next = devices.iter().cycle();
        let mut build = |config: &Config| Simulation::among_many(config, next.next().copied());
        if !run(&setup, &mut build, start, !devices.is_empty(), log, stop)? {
            log.line("the same command continues")?;
            return Ok(false);
        }
        let Some(until) = until else { continue };
        let look = until.look(number, &plan.folders())?;
        look.lines(until).iter().try_for_each(|line| log.line(line))?;
        if look.is_last {
            break;
        }
    }
    let table = plan.conclude()?;
    log.map_or(Ok(()), |mut log| log.line(&format!("\n{table}")))?;
    Ok(true)
}

#[cfg(test)]
mod tests;
