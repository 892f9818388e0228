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
//!
//! At a pH that a look has added ([`super::until`]) each ladder gets a walker that begins with the state of the one that has the nearest pH.

mod books;
mod ensemble;
mod going;
mod joined;
mod journal;
mod leg;
mod meetings;
mod open;
mod prepare;
mod setup;
mod start;
mod state;
mod stays;
mod watch;

pub(super) use joined::Joined;
pub use start::check_results;

use super::children::Child;
use super::many::{Host, Many};
use super::titrate::TitrationPlan;
use super::until::Until;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::evaluation::ladders::Ladders;
use crate::output::progress::Log;
use crate::signals::Stop;
use crate::simulation::Simulation;
use ensemble::run;
use setup::Setup;
use start::Start;

/// Runs a titration with replica exchange and evaluates it; false if asked to stop before the end.
///
/// # Errors
/// [`crate::error::Error::Input`] if the job has no exchange, or if its folder is not its own or another program is at work there; the first error of a walker; as [`Many::conclude`].
pub fn titrate(plan: &TitrationPlan, host: &Host, stop: &Stop) -> Result<bool> {
    let batch = plan.batch();
    let config = &batch.config;
    let every = config.titrate.as_ref().and_then(|titrate| config.interval(titrate.exchange?));
    let Some(every) = every else {
        return Err(config.error_at("titrate", "there is no exchange", "set titrate.exchange = \"1 ps\""));
    };
    let until = plan.until();
    plan.check_sites(host.description)?;
    let whole = [config.steps()];
    let stages = until.map_or(&whole[..], |until| &until.schedule);
    // A thread that spins while it waits holds up those that have work to enqueue.
    host.place.devices().iter().for_each(|device| device.wait_asleep());
    let mut log: Option<Log> = None;
    // They stay from look to look.
    let mut walkers = Vec::new();
    for (number, &steps) in stages.iter().enumerate() {
        let joined = Joined::find(config)?;
        if until.is_some_and(|until| until.is_passed(number, plan)) && joined.has_reached(steps) {
            continue;
        }
        let stage = Stage { plan, host, every, steps };
        // Looks that were lost are made again: pH values that they added have walkers already, and are told by the look alone.
        if let Some(until) = until
            && joined.has_reached(steps)
            && joined.is_more_than(stage.ph(&joined).len() * batch.children.len() / plan.ph().len())
        {
            until.look(number, plan)?;
            continue;
        }
        let ended = match stage.run(&joined, &mut walkers, &mut log, stop) {
            Err(Error::Memory(error)) => {
                match until.zip(Some(stage.fresh(&joined)).filter(|fresh| !fresh.is_empty())) {
                    None => Err(Error::Memory(error)),
                    // A checkpoint has them already, and none can be taken away.
                    Some((_, fresh)) if stage.has_any(&Joined::find(config)?, &fresh) => {
                        let message = format!("the walkers of pH {fresh:?}, which are new, have no memory: {error}");
                        let help = "go on with the same command where a GPU has more memory or is not shared; octitrate pka evaluates what there is";
                        return Err(Error::input(message, help));
                    }
                    Some((until, fresh)) => {
                        let why = format!("no memory for its walkers: {error}");
                        until.withdraw(&fresh, &why, plan)?;
                        let line = format!("pH {fresh:?} cannot be added, nor any other: {why}");
                        log.as_mut().map_or(Ok(()), |log| log.line(&line))?;
                        stage.run(&joined, &mut walkers, &mut log, stop)
                    }
                }
            }
            ended => ended,
        };
        let ended = ended?;
        let log = log.as_mut().ok_or_else(|| Error::input("the log of the exchange is gone", ""))?;
        if !ended {
            log.line("the same command continues")?;
            return Ok(false);
        }
        let Some(until) = until else { continue };
        let look = until.look(number, plan)?;
        look.lines(until).iter().try_for_each(|line| log.line(line))?;
        if look.is_last {
            break;
        }
    }
    let table = plan.conclude()?;
    log.map_or(Ok(()), |mut log| log.line(&format!("\n{table}")))?;
    Ok(true)
}

/// An exchange up to a look.
struct Stage<'a> {
    plan: &'a TitrationPlan,
    host: &'a Host<'a>,
    every: u64,
    steps: u64,
}

impl Stage<'_> {
    /// Runs it; false if asked to stop before its end.
    fn run(&self, joined: &Joined, walkers: &mut Vec<Simulation>, log: &mut Option<Log>, stop: &Stop) -> Result<bool> {
        let Self { plan, host, every, steps } = *self;
        let config = &plan.batch().config;
        let mut part = config.clone();
        part.dynamics.steps = Some(steps);
        let ph = self.ph(joined);
        let slots = plan.children(&ph, steps);
        let ladders = Ladders { ph: &ph, replicas: slots.len() / ph.len() };
        let added = plan.until().map_or_else(Vec::new, Until::added);
        let setup = Setup { config: &part, slots: &slots, ladders, every, added: &added };
        let start = Start::find(&part, host.identity, &setup.labels())?;
        let log = match log {
            Some(log) => log,
            None => {
                let mut new = start.folder.open_log(config, host.quiet)?;
                new.line(&format!("device: {}", host.place))?;
                new.describe(host.description)?;
                log.insert(new)
            }
        };
        // Walkers are dealt out, and neighbours of a ladder need not be on one device: all they tell each other is λ.
        let devices = host.place.devices();
        let build = |number: usize, config: &Config| {
            let device = (!devices.is_empty()).then(|| devices[number % devices.len()]);
            Simulation::among_many(config, device)
        };
        run(&setup, &build, walkers, start, !devices.is_empty(), log, stop)
    }

    /// pH values that take part: those added before its end, and those that have walkers already.
    fn ph(&self, joined: &Joined) -> Vec<f64> {
        self.plan.ph_with(|added| added.steps < self.steps || self.has(joined, added.ph))
    }

    /// Those that get walkers.
    fn fresh(&self, joined: &Joined) -> Vec<f64> {
        let own = |ph: &f64| self.plan.ph().contains(ph) || self.has(joined, *ph);
        self.ph(joined).into_iter().filter(|ph| !own(ph)).collect()
    }

    fn has_any(&self, joined: &Joined, ph: &[f64]) -> bool {
        ph.iter().any(|ph| self.has(joined, *ph))
    }

    fn has(&self, joined: &Joined, ph: f64) -> bool {
        let folder = self.plan.batch().config.folder();
        let runs = self.plan.children(&[ph], self.steps);
        let name = |child: &Child| {
            let own = child.config.folder();
            own.strip_prefix(folder).unwrap_or(own).display().to_string()
        };
        runs.first().is_some_and(|child| joined.has(&name(child)))
    }
}

#[cfg(test)]
mod tests;
