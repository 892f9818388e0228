//! All walkers of a replica exchange in motion: from one exchange to the next, with outputs, swaps and checkpoints.

use super::journal::widened;
use super::leg::{Kept, Leg, outputs};
use super::setup::{Setup, number_of};
use super::start::Start;
use super::state::{ExchangeState, Places};
use crate::atomic::write_atomic;
use crate::checkpoint::{Checkpoint, Found, Identity};
use crate::config::{Config, RESOLVED};
use crate::error::{Error, InputError, Result};
use crate::evaluation::ladders::Pair;
use crate::evaluation::mixing::Mixing;
use crate::frame::Frame;
use crate::output::files::{self, EXCHANGE, Files, Written};
use crate::output::progress::{Log, Progress, duration};
use crate::output::sites;
use crate::output::tables::Table;
use crate::propagate::{Propagate, Walker};
use crate::random::{RandomStream, indexed_generator};
use crate::record::Description;
use crate::report;
use crate::signals::Stop;
use crate::workflow::children::Child;
use crate::workflow::folder::Folder;
use crate::workflow::run::{keep_frame, name_trajectory_atoms};
use rand_distr::{Distribution, StandardUniform};
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

/// Frames that wait to be written, at most.
const WAITING: usize = 64;

/// All walkers from the start, or from the checkpoint that was found, to the last step; false if asked to stop before it.
///
/// `side_by_side`: each walker in a thread of its own, as a GPU wants it; else one after the other, each with all threads.
///
/// # Errors
/// The first error of a walker, with the frame that failed in `failed.gro`; [`Error::File`] if an output cannot be written; [`Error::Input`] if
/// the device has no memory for all walkers.
pub fn run<W: Walker>(
    setup: &Setup,
    build: &mut dyn FnMut(&Config) -> Result<W>,
    start: Start,
    side_by_side: bool,
    log: &mut Log,
    stop: &Stop,
) -> Result<bool> {
    let last = setup.config.steps();
    if let Some(found) = &start.found
        && found.checkpoint.state.step() >= last
        && found.checkpoint.state.walkers.len() == setup.slots.len()
        && setup.slots.iter().all(|slot| slot.config.result(files::FINAL).exists())
    {
        log.line(&format!("finished before: {last} steps are done"))?;
        return Ok(true);
    }
    let dt = setup.config.dynamics.time_step.get();
    log.line(&format!(
        "replica exchange: {} walkers at {} pH values, {} ps each, pH swapped every {} ps",
        setup.slots.len(),
        setup.ladders.ph.len(),
        last as f64 * dt,
        setup.interval()
    ))?;
    let mut walkers = Vec::new();
    for &origin in &start.places.origins {
        let slot = &setup.slots[origin];
        let folder = slot.config.folder();
        std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of a run", e))?;
        slot.config.save(&folder.join(RESOLVED))?;
        walkers.push(build(&slot.config).map_err(|e| too_many(e, slot))?);
    }
    let mut ensemble = Ensemble::open(setup, walkers, start, side_by_side, log)?;
    ensemble.steps(log, stop)
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

/// Longest time (ps) from the start in which a walker holds λ. Walkers that were added to an exchange that had become longer may hold it for longer
/// than the first ones, and any of them may come to any slot.
fn held<W: Walker>(walkers: &[W]) -> f64 {
    walkers.iter().map(|walker| walker.describe().held).fold(0.0, f64::max)
}

/// Opens the output of every slot, new or cut to what a checkpoint knows as `written`, and says in its log what it is.
fn open_files<W: Walker>(
    setup: &Setup,
    walkers: &mut [W],
    at: &[usize],
    written: &BTreeMap<String, Written>,
) -> Result<Vec<Files>> {
    let held = held(walkers);
    let open = |(slot, child): (usize, &Child)| {
        let walker = &mut walkers[at[slot]];
        let mut description = Description { held, ..walker.describe() };
        description.ph = Some(setup.ladders.ph_of(slot));
        Log::open(&child.config.result(files::LOG), true)?.describe(&description)?;
        sites::write(&child.config.result(files::SITES), &description)?;
        let prefix = format!("{}/", setup.label(slot));
        let own = written.iter().filter_map(|(name, file)| Some((name.strip_prefix(&prefix)?.into(), *file)));
        let own: BTreeMap<String, Written> = own.collect();
        name_trajectory_atoms(&child.config, walker, &own)?;
        Files::open(&child.config, &description.lambdas(), walker.trajectory_atoms(), &own)
    };
    setup.slots.iter().enumerate().map(open).collect()
}

/// The walkers of an exchange in progress.
struct Ensemble<'a, W> {
    setup: &'a Setup<'a>,
    walkers: Vec<W>,
    /// Slot in which each walker started.
    origins: Vec<usize>,
    /// Walker at each slot.
    at: Vec<usize>,
    /// Step of the last swaps.
    swapped: u64,
    /// Output of each slot.
    files: Vec<Files>,
    journal: Table,
    identity: Identity,
    /// One pool of one thread for each walker, if they run side by side.
    pools: Vec<rayon::ThreadPool>,
    saved: Instant,
    /// Held until the end.
    folder: Folder,
}

impl<'a, W: Walker> Ensemble<'a, W> {
    fn open(
        setup: &'a Setup<'a>,
        mut walkers: Vec<W>,
        start: Start,
        side_by_side: bool,
        log: &mut Log,
    ) -> Result<Self> {
        let Start { folder, found, places, identity } = start;
        let (config, n, Places { origins, at }) = (setup.config, walkers.len(), places);
        let mut written = BTreeMap::new();
        let (mut known, mut swapped) = (0, 0);
        if let Some(Found { checkpoint, note }) = found {
            if let Some(note) = note {
                log.line(&format!("warning: {note}; continuing from the one before"))?;
            }
            log.line(&format!("continuing from step {}", checkpoint.state.step()))?;
            (known, swapped) = (checkpoint.state.walkers.len(), checkpoint.state.swapped);
            for (walker, state) in walkers.iter_mut().zip(&checkpoint.state.walkers) {
                walker.restore(state)?;
            }
            for (slot, &walker) in at.iter().enumerate().filter(|(_, walker)| **walker < known) {
                walkers[walker].set_ph(setup.ladders.ph_of(slot))?;
            }
            written = checkpoint.written;
            if known < n {
                log.line(&format!("{} runs are new: they first go alone as far as the others", n - known))?;
            }
        }
        for (walker, &slot) in walkers.iter_mut().zip(&origins).skip(known) {
            let slot = &setup.slots[slot];
            walker
                .prepare(&mut |text| log.line(&format!("{}: {text}", slot.name)))
                .map_err(|e| keep_frame(&slot.config.result(files::FAILED), walker, e))?;
        }
        let files = open_files(setup, &mut walkers, &at, &written)?;
        let (path, length) = (config.result(EXCHANGE), written.get(EXCHANGE).map(|file: &Written| file.bytes));
        // The journal with more columns takes the place of the old one when a checkpoint knows it.
        let wide = path.with_extension("csv.new");
        let grown = known > 0 && known < n;
        let journal = if grown {
            let text = widened(&path, length.unwrap_or(0), &setup.labels())?;
            write_atomic(&wide, "write", text.as_bytes())?;
            Table::open(&wide, Some(text.len() as u64))?
        } else {
            Table::open(&path, length)?
        };
        let pool = || rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pools = (0..if side_by_side { n } else { 0 }).map(|_| pool()).collect::<std::result::Result<_, _>>();
        let pools =
            pools.map_err(|e| Error::input(format!("a thread cannot be started: {e}"), "take fewer pH values"))?;
        let mut ensemble = Self {
            setup,
            walkers,
            origins,
            at,
            swapped,
            files,
            journal,
            identity,
            pools,
            saved: Instant::now(),
            folder,
        };
        if known < n {
            ensemble.advance(0, &Stop::default())?;
            if known == 0 {
                ensemble.record(0)?;
            }
            ensemble.checkpoint()?;
        }
        ensemble.folder.begun()?;
        if grown {
            std::fs::rename(&wide, &path).map_err(|e| Error::file(&path, "write", e))?;
        }
        Ok(ensemble)
    }

    /// The step that all walkers have reached.
    fn step(&self) -> u64 {
        self.walkers.iter().map(Propagate::step).min().unwrap_or(0)
    }

    fn steps(&mut self, log: &mut Log, stop: &Stop) -> Result<bool> {
        let (config, every, last) = (self.setup.config, self.setup.every, self.setup.config.steps());
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
            // Walkers that were added later first catch up with the others, whose swaps are done.
            if target > self.swapped && target.is_multiple_of(every) {
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
        self.finish(log)?;
        Ok(true)
    }

    /// Writes what ends each run, and the page about the exchange.
    fn finish(&mut self, log: &mut Log) -> Result<()> {
        let held = held(&self.walkers);
        for (slot, child) in self.setup.slots.iter().enumerate() {
            let walker = &mut self.walkers[self.at[slot]];
            let mut description = Description { held, ..walker.describe() };
            description.ph = Some(self.setup.ladders.ph_of(slot));
            let mut own = Log::open(&child.config.result(files::LOG), true)?;
            description.results.iter().try_for_each(|line| own.line(line))?;
            sites::write(&child.config.result(files::SITES), &description)?;
            walker.write_structure(&child.config.result(files::FINAL), None)?;
        }
        let config = self.setup.config;
        let mixing = Mixing::read(&config.result(EXCHANGE), &self.setup.ladders)?;
        log.line(&report::exchange::write(&mixing, self.setup.interval(), config.folder())?)
    }

    /// Takes every walker to `target`, with all outputs on the way; false if asked to stop before.
    fn advance(&mut self, target: u64, stop: &Stop) -> Result<bool> {
        let mut slot_of = vec![0; self.at.len()];
        self.at.iter().enumerate().for_each(|(slot, &walker)| slot_of[walker] = slot);
        let mut legs = Vec::new();
        for (number, walker) in self.walkers.iter_mut().enumerate().filter(|(_, walker)| walker.step() <= target) {
            let slot = slot_of[number];
            let due = outputs(&self.files[slot], walker.step(), target);
            legs.push(Leg { walker, number, slot, due, child: &self.setup.slots[slot], target });
        }
        if self.pools.is_empty() {
            for mut leg in legs {
                let slot = leg.slot;
                if !leg.go(stop, &mut |frame, due| self.files[slot].write(frame, due))? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        side_by_side(legs, &self.pools, &mut self.files, stop)
    }

    /// Lets neighbours swap their pH.
    fn exchange(&mut self, step: u64) -> Result<()> {
        let number = step / self.setup.every;
        let pairs: Vec<Pair> = self.setup.ladders.pairs(number).collect();
        for Pair { index, slots: [a, b] } in pairs {
            let (i, j) = (self.at[a], self.at[b]);
            let (low, high) = (self.setup.ladders.ph_of(a), self.setup.ladders.ph_of(b));
            let mut cost = |walker: usize, from: f64, to: f64| -> Result<f64> {
                let walker = &mut self.walkers[walker];
                Ok(walker.ph_energy(to)? - walker.ph_energy(from)?)
            };
            let delta = cost(i, low, high)? + cost(j, high, low)?;
            let seed = self.setup.config.dynamics.seed;
            let chance: f64 =
                StandardUniform.sample(&mut indexed_generator(seed, RandomStream::Exchange, number, index));
            if chance < (-delta).exp() {
                self.at.swap(a, b);
                self.walkers[i].set_ph(high)?;
                self.walkers[j].set_ph(low)?;
            }
        }
        self.swapped = step;
        self.record(step)
    }

    /// Writes who has which pH.
    fn record(&mut self, step: u64) -> Result<()> {
        let names = self.setup.labels();
        let walkers: Vec<u32> = self.at.iter().map(|&walker| number_of(walker)).collect();
        self.journal.walkers(step as f64 * self.setup.config.dynamics.time_step.get(), &names, &walkers)
    }

    fn checkpoint(&mut self) -> Result<()> {
        let mut written = BTreeMap::from([(EXCHANGE.to_string(), Written::from(self.journal.sync()?))]);
        for (slot, files) in self.files.iter_mut().enumerate() {
            let label = self.setup.label(slot);
            written.extend(files.sync()?.into_iter().map(|(name, file)| (format!("{label}/{name}"), file)));
        }
        let walkers = self.walkers.iter_mut().map(Propagate::state).collect::<Result<Vec<_>>>()?;
        let labels = self.setup.labels();
        let origins = self.origins.iter().map(|&slot| labels[slot].clone()).collect();
        let state = ExchangeState {
            walkers,
            origins,
            walker_at: labels.into_iter().zip(self.at.clone()).collect(),
            swapped: self.swapped,
        };
        Checkpoint { state, identity: self.identity.clone(), written }.save(self.setup.config.folder())?;
        self.saved = Instant::now();
        Ok(())
    }
}

/// Each leg in a thread of its own, with a pool of its own; files stay in this thread. False if asked to stop.
fn side_by_side<W: Walker>(
    legs: Vec<Leg<W>>,
    pools: &[rayon::ThreadPool],
    files: &mut [Files],
    stop: &Stop,
) -> Result<bool> {
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel::<Kept>(WAITING);
        let mut threads = Vec::new();
        for (mut leg, pool) in legs.into_iter().zip(pools) {
            let (sender, slot) = (sender.clone(), leg.slot);
            let mut keep = move |frame: &Frame, due| {
                // The channel is closed only if writing failed, and that error is returned below.
                let _ = sender.send(Kept::new(slot, frame, due));
                Ok(())
            };
            threads.push(scope.spawn(move || pool.install(|| leg.go(stop, &mut keep))));
        }
        drop(sender);
        let written = receiver.into_iter().try_for_each(|kept| kept.write(&mut files[kept.slot]));
        let join = |thread: ScopedJoinHandle<Result<bool>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let ended: Vec<Result<bool>> = threads.into_iter().map(join).collect();
        let all = ended.into_iter().try_fold(true, |all, one| Ok(all & one?));
        written.and(all)
    })
}
