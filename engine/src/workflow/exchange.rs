//! pH replica exchange in one process: one walker for each pH, neighbours swap their pH every few steps.
//!
//! At exchange number e (step e·interval) the pairs (1,2), (3,4), … try it if e is odd, (2,3), (4,5), … if it is even. Walkers i and j
//! with weights λ_i, λ_j swap with probability min(1, e^−Δ) (Metropolis; Sugita & Okamoto 1999, 10.1016/S0009-2614(99)01123-9; of pH: Meng &
//! Roitberg 2010, 10.1021/ct900676b),
//!
//!   Δ = [V_pH(λ_i; pH_j) + V_pH(λ_j; pH_i) − V_pH(λ_i; pH_i) − V_pH(λ_j; pH_j)] / RT
//!     = ln 10 (pH_i − pH_j)(d_i − d_j)        for V_pH linear in λ, d = Σ_s Σ_α λ_sα d_α protons lost
//!
//! All else stays with the walker. Files belong to the pH: `pH_4.00/replica_1/lambda.csv` is continuous in pH and says whose coordinates
//! each line has. Replicas are ladders of their own. Random numbers are keyed by seed, exchange and pair; one checkpoint holds all walkers,
//! each at its own step, and who has which pH, so that a run in pieces leaves the same bytes as a run in one.

use super::children::Child;
use super::exchange_leg::{Kept, Leg, outputs};
use super::exchange_report;
use super::exchange_state::{ExchangeState, settings};
use super::many::Many;
use super::run::{keep_frame, lock};
use crate::checkpoint::{Checkpoint, Found, Identity};
use crate::config::{Config, RESOLVED};
use crate::device::Chosen;
use crate::error::{Error, InputError, Result};
use crate::frame::Frame;
use crate::output::files::{self, Files};
use crate::output::progress::{Log, Progress, duration};
use crate::output::sites;
use crate::output::tables::Table;
use crate::propagate::{Propagate, Walker};
use crate::random::{RandomStream, indexed_generator};
use crate::signals::Stop;
use crate::simulation::Simulation;
use rand_distr::{Distribution, StandardUniform};
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Who had which pH after each exchange.
pub const JOURNAL: &str = "exchange.csv";
/// Frames that wait to be written, at most.
const WAITING: usize = 64;

/// The runs of an exchange.
#[derive(Debug, Clone, Copy)]
pub struct Ladders<'a> {
    /// The job.
    pub config: &'a Config,
    /// Its runs: all replicas of the first pH, then of the next.
    pub slots: &'a [Child],
    /// pH values, rising.
    pub ph: &'a [f64],
    /// Steps between exchanges.
    pub every: u64,
}

impl Ladders<'_> {
    /// Ladders that do not meet.
    pub fn replicas(&self) -> usize {
        self.slots.len() / self.ph.len()
    }

    fn ph_of(&self, slot: usize) -> f64 {
        self.ph[slot / self.replicas()]
    }

    /// Folder of a run below that of the job: `pH_4.00/replica_1`.
    pub fn label(&self, slot: usize) -> String {
        let folder = self.slots[slot].config.folder();
        folder.strip_prefix(self.config.folder()).unwrap_or(folder).display().to_string()
    }

    /// The pairs of slots that try to swap at exchange number `exchange`, each with a number of its own.
    pub fn pairs(&self, exchange: u64) -> impl Iterator<Item = (u64, [usize; 2])> {
        let (replicas, rungs) = (self.replicas(), self.ph.len());
        let first = usize::from(exchange.is_multiple_of(2));
        (0..replicas).flat_map(move |replica| {
            let pair =
                move |k: usize| ((replica * rungs + k) as u64, [k * replicas + replica, (k + 1) * replicas + replica]);
            (first..rungs.saturating_sub(1)).step_by(2).map(pair)
        })
    }
}

/// Runs a titration with replica exchange and evaluates it; false if asked to stop before the end.
///
/// # Errors
/// Those of the runs and of the files.
pub fn titrate(job: &dyn Many, ph: &[f64], place: &Chosen, stop: &Stop) -> Result<bool> {
    let batch = job.batch();
    let config = &batch.config;
    let every = config.titrate.as_ref().and_then(|titrate| config.interval(titrate.exchange?));
    let Some(every) = every else {
        return Err(config.error_at("titrate", "there is no exchange", "set titrate.exchange = \"1 ps\""));
    };
    let folder = config.folder();
    let _lock = lock(folder)?;
    config.save(&folder.join(RESOLVED))?;
    let mut log = Log::open(&folder.join(files::LOG), false)?;
    log.line(&format!("device: {place}"))?;
    let device = place.device.as_ref();
    if let Some(device) = device {
        // Threads that spin hold up those that have work to enqueue.
        device.wait_asleep();
    }
    let ladders = Ladders { config, slots: &batch.children, ph, every };
    let mut build = |config: &Config| Simulation::among_many(config, device);
    if !run(&ladders, &mut build, device.is_some(), &mut log, stop)? {
        log.line("the same command continues")?;
        return Ok(false);
    }
    let table = job.conclude()?;
    log.line(&format!("\n{table}"))?;
    Ok(true)
}

/// All walkers from the start, or from their checkpoint, to the last step; false if asked to stop before it.
///
/// `side_by_side`: each walker in a thread of its own, as a GPU wants it; else one after the other, each with all threads.
///
/// # Errors
/// Those of the walkers and of the files.
pub fn run<W: Walker>(
    ladders: &Ladders,
    build: &mut dyn FnMut(&Config) -> Result<W>,
    side_by_side: bool,
    log: &mut Log,
    stop: &Stop,
) -> Result<bool> {
    let folder = ladders.config.folder();
    let found = Checkpoint::<ExchangeState>::load(folder)?;
    let last = ladders.config.steps();
    if let Some(found) = &found
        && found.checkpoint.state.step() >= last
        && ladders.slots.iter().all(|slot| slot.config.result(files::FINAL).exists())
    {
        log.line(&format!("finished before: {last} steps are done"))?;
        return Ok(true);
    }
    let dt = ladders.config.dynamics.time_step.get();
    log.line(&format!(
        "replica exchange: {} walkers at {} pH values, {} ps each, pH swapped every {} ps",
        ladders.slots.len(),
        ladders.ph.len(),
        last as f64 * dt,
        ladders.every as f64 * dt
    ))?;
    let mut walkers = Vec::new();
    for slot in ladders.slots {
        let folder = slot.config.folder();
        std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of a run", e))?;
        slot.config.save(&folder.join(RESOLVED))?;
        walkers.push(build(&slot.config).map_err(|e| too_many(e, slot))?);
    }
    let mut exchange = Exchange::open(ladders, walkers, found, side_by_side, log)?;
    exchange.steps(log, stop)
}

/// Says how to have fewer walkers.
fn too_many(error: Error, slot: &Child) -> Error {
    match error {
        Error::Memory(error) => {
            let help = "take fewer pH values or replicas: with titrate.exchange all walkers are in memory at once";
            InputError::new(format!("{}: {error}", slot.name), help).into()
        }
        other => other,
    }
}

/// An exchange in progress.
struct Exchange<'a, W> {
    ladders: &'a Ladders<'a>,
    walkers: Vec<W>,
    /// Walker at each slot.
    at: Vec<usize>,
    /// Output of each slot.
    files: Vec<Files>,
    journal: Table,
    identity: Identity,
    /// One pool of one thread for each walker, if they run side by side.
    pools: Vec<rayon::ThreadPool>,
    saved: Instant,
}

impl<'a, W: Walker> Exchange<'a, W> {
    fn open(
        ladders: &'a Ladders<'a>,
        mut walkers: Vec<W>,
        found: Option<Found<ExchangeState>>,
        side_by_side: bool,
        log: &mut Log,
    ) -> Result<Self> {
        let (config, n) = (ladders.config, walkers.len());
        let identity = Identity { settings: settings(config)?, ..walkers[0].identity() };
        let mut at: Vec<usize> = (0..n).collect();
        let mut lengths = BTreeMap::new();
        let fresh = found.is_none();
        match found {
            Some(Found { checkpoint, note }) => {
                checkpoint.check_identity(&identity, config.folder())?;
                if let Some(note) = note {
                    log.line(&format!("warning: {note}; continuing from the one before"))?;
                }
                let state = checkpoint.state;
                state.check(n)?;
                log.line(&format!("continuing from step {}", state.step()))?;
                at = state.walker_at;
                for (slot, &walker) in at.iter().enumerate() {
                    walkers[walker].restore(&state.walkers[walker])?;
                    walkers[walker].set_ph(ladders.ph_of(slot))?;
                }
                lengths = checkpoint.lengths;
            }
            None => {
                for (walker, slot) in walkers.iter_mut().zip(ladders.slots) {
                    walker
                        .prepare(&mut |text| log.line(&format!("{}: {text}", slot.name)))
                        .map_err(|e| keep_frame(&slot.config.result(files::FAILED), walker, e))?;
                }
            }
        }
        let mut outputs = Vec::new();
        for (slot, child) in ladders.slots.iter().enumerate() {
            let mut description = walkers[at[slot]].describe();
            description.ph = Some(ladders.ph_of(slot));
            let mut log = Log::open(&child.config.result(files::LOG), true)?;
            for (name, value) in &description.facts {
                log.record(&format!("{name}: {value}"))?;
            }
            for warning in &description.warnings {
                log.line(&format!("warning: {warning}"))?;
            }
            sites::write(&child.config.result(files::SITES), &description)?;
            let prefix = format!("{}/", ladders.label(slot));
            let own = lengths.iter().filter_map(|(name, length)| Some((name.strip_prefix(&prefix)?.into(), *length)));
            outputs.push(Files::open(&child.config, &description.lambdas(), &own.collect())?);
        }
        let journal = Table::open(&config.result(JOURNAL), lengths.get(JOURNAL).copied())?;
        let pool = || rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pools = (0..if side_by_side { n } else { 0 }).map(|_| pool()).collect::<std::result::Result<_, _>>();
        let pools =
            pools.map_err(|e| Error::input(format!("a thread cannot be started: {e}"), "take fewer pH values"))?;
        let mut exchange =
            Self { ladders, walkers, at, files: outputs, journal, identity, pools, saved: Instant::now() };
        if fresh {
            exchange.advance(0, &Stop::default())?;
            exchange.record(0)?;
            exchange.checkpoint()?;
        }
        Ok(exchange)
    }

    /// The step that all walkers have reached.
    fn step(&self) -> u64 {
        self.walkers.iter().map(Propagate::step).min().unwrap_or(0)
    }

    fn steps(&mut self, log: &mut Log, stop: &Stop) -> Result<bool> {
        let (config, every, last) = (self.ladders.config, self.ladders.every, self.ladders.config.steps());
        let pause = Duration::from_secs_f64(config.output.checkpoint.get());
        let (first, started) = (self.step(), Instant::now());
        let mut progress = Progress::new(config.dynamics.time_step.get(), first, last);
        while self.step() < last {
            let target = ((self.step() / every + 1) * every).min(last);
            if stop.requested() || !self.advance(target, stop)? {
                self.checkpoint()?;
                log.settle();
                log.line(&format!("{} at step {} of {last}", stop.reason(), self.step()))?;
                return Ok(false);
            }
            if target.is_multiple_of(every) {
                self.exchange(target)?;
            }
            if progress.due(log) {
                progress.show(log, target, &[]);
                self.files.iter_mut().try_for_each(Files::flush)?;
                self.journal.flush()?;
            }
            if self.saved.elapsed() >= pause {
                self.checkpoint()?;
            }
        }
        self.checkpoint()?;
        log.settle();
        let seconds = started.elapsed().as_secs_f64();
        if last > first {
            let speed = progress.speed(last) * self.walkers.len() as f64;
            log.line(&format!(
                "{} steps of each walker in {}: {speed:.2} ns/day in all",
                last - first,
                duration(seconds)
            ))?;
        }
        for (slot, child) in self.ladders.slots.iter().enumerate() {
            let walker = &mut self.walkers[self.at[slot]];
            let mut description = walker.describe();
            description.ph = Some(self.ladders.ph_of(slot));
            let mut own = Log::open(&child.config.result(files::LOG), true)?;
            description.results.iter().try_for_each(|line| own.line(line))?;
            sites::write(&child.config.result(files::SITES), &description)?;
            walker.write_structure(&child.config.result(files::FINAL))?;
        }
        log.line(&exchange_report::write(self.ladders)?)?;
        Ok(true)
    }

    /// Takes every walker to `target`, with all outputs on the way; false if asked to stop before.
    fn advance(&mut self, target: u64, stop: &Stop) -> Result<bool> {
        let mut slot_of = vec![0; self.at.len()];
        self.at.iter().enumerate().for_each(|(slot, &walker)| slot_of[walker] = slot);
        let mut legs = Vec::new();
        for (number, walker) in self.walkers.iter_mut().enumerate() {
            let slot = slot_of[number];
            let due = outputs(&self.files[slot], walker.step(), target);
            legs.push(Leg { walker, number, slot, due, child: &self.ladders.slots[slot], target });
        }
        let files = &mut self.files;
        if self.pools.is_empty() {
            for mut leg in legs {
                let slot = leg.slot;
                if !leg.go(stop, &mut |frame, due| files[slot].write(frame, due))? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        // Files stay in this thread.
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel::<Kept>(WAITING);
            let threads: Vec<_> = legs
                .into_iter()
                .zip(&self.pools)
                .map(|(mut leg, pool)| {
                    let sender = sender.clone();
                    let slot = leg.slot;
                    let mut keep = move |frame: &Frame, due| {
                        // Closed only if writing failed, which is told there.
                        let _ = sender.send(Kept::new(slot, frame, due));
                        Ok(())
                    };
                    scope.spawn(move || pool.install(|| leg.go(stop, &mut keep)))
                })
                .collect();
            drop(sender);
            let written = receiver.into_iter().try_for_each(|kept| kept.write(&mut files[kept.slot]));
            let ended = threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Vec<_>>();
            let all = ended.into_iter().try_fold(true, |all, one| Ok(all & one?));
            written.and(all)
        })
    }

    /// Lets neighbours swap their pH.
    fn exchange(&mut self, step: u64) -> Result<()> {
        let number = step / self.ladders.every;
        let pairs: Vec<(u64, [usize; 2])> = self.ladders.pairs(number).collect();
        for (index, [a, b]) in pairs {
            let (i, j) = (self.at[a], self.at[b]);
            let (low, high) = (self.ladders.ph_of(a), self.ladders.ph_of(b));
            let mut cost = |walker: usize, from: f64, to: f64| -> Result<f64> {
                let walker = &mut self.walkers[walker];
                Ok(walker.ph_energy(to)? - walker.ph_energy(from)?)
            };
            let delta = cost(i, low, high)? + cost(j, high, low)?;
            let seed = self.ladders.config.dynamics.seed;
            let chance: f64 =
                StandardUniform.sample(&mut indexed_generator(seed, RandomStream::Exchange, number, index));
            if chance < (-delta).exp() {
                self.at.swap(a, b);
                self.walkers[i].set_ph(high)?;
                self.walkers[j].set_ph(low)?;
            }
        }
        self.record(step)
    }

    /// Writes who has which pH.
    fn record(&mut self, step: u64) -> Result<()> {
        let names: Vec<String> = (0..self.at.len()).map(|slot| self.ladders.label(slot)).collect();
        let walkers: Vec<u32> = self.at.iter().map(|&walker| number_of(walker)).collect();
        self.journal.walkers(step as f64 * self.ladders.config.dynamics.time_step.get(), &names, &walkers)
    }

    fn checkpoint(&mut self) -> Result<()> {
        let mut lengths = BTreeMap::from([(JOURNAL.to_string(), self.journal.sync()?)]);
        for (slot, files) in self.files.iter_mut().enumerate() {
            let label = self.ladders.label(slot);
            lengths.extend(files.sync()?.into_iter().map(|(name, length)| (format!("{label}/{name}"), length)));
        }
        let walkers = self.walkers.iter_mut().map(Propagate::state).collect::<Result<Vec<_>>>()?;
        let state = ExchangeState { walkers, walker_at: self.at.clone() };
        Checkpoint { state, identity: self.identity.clone(), lengths }.save(self.ladders.config.folder())?;
        self.saved = Instant::now();
        Ok(())
    }
}

/// Number of a walker in files, from 1.
pub(super) fn number_of(walker: usize) -> u32 {
    walker as u32 + 1
}

#[cfg(test)]
mod tests;
