//! All walkers of a replica exchange in motion: from one exchange to the next, with outputs, swaps and checkpoints.

use super::journal::widened;
use super::leg::{Arrival, Leg, Offer, one_by_one, outputs, side_by_side};
use super::open::{held, join, open_files, too_many};
use super::setup::{Setup, number_of};
use super::start::Start;
use super::state::{ExchangeState, Places};
use crate::atomic::write_atomic;
use crate::checkpoint::{Checkpoint, Found, Identity};
use crate::config::{Config, RESOLVED};
use crate::error::{Error, Result};
use crate::evaluation::ladders::Pair;
use crate::evaluation::mixing::Mixing;
use crate::frame::{Frame, Upto};
use crate::output::files::{self, EXCHANGE, Files, Written};
use crate::output::progress::{Log, Progress, duration};
use crate::output::sites;
use crate::output::tables::Table;
use crate::propagate::{Propagate, Walker};
use crate::random::{RandomStream, indexed_generator};
use crate::record::Description;
use crate::report;
use crate::signals::Stop;
use crate::workflow::folder::Folder;
use crate::workflow::run::keep_frame;
use rand_distr::{Distribution, StandardUniform};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

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
    let known = start.found.as_ref().map_or(0, |found| found.checkpoint.state.walkers.len());
    for (number, &origin) in start.places.origins.iter().enumerate() {
        let slot = &setup.slots[origin];
        let folder = slot.config.folder();
        std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of a run", e))?;
        slot.config.save(&folder.join(RESOLVED))?;
        let is_added = number >= known && setup.source(origin).is_some();
        walkers.push(build(&slot.config).map_err(|e| if is_added { e } else { too_many(e, slot) })?);
    }
    let mut ensemble = Ensemble::open(setup, walkers, start, side_by_side, log)?;
    ensemble.steps(log, stop)
}

/// The walkers of an exchange in progress.
struct Ensemble<'a, W> {
    setup: &'a Setup<'a>,
    walkers: Vec<W>,
    /// Slot in which each walker started.
    origins: Vec<usize>,
    /// Walker at each slot.
    at: Vec<usize>,
    /// Slot of each walker before the last swaps.
    before: Vec<usize>,
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
            for (number, &slot) in origins.iter().enumerate().skip(known) {
                if setup.source(slot).is_some() {
                    join(setup, &mut walkers[number], number, slot, &checkpoint.state, &at, log)?;
                }
            }
            written = checkpoint.written;
            let alone = origins[known..].iter().filter(|slot| setup.source(**slot).is_none()).count();
            if alone > 0 {
                log.line(&format!("{alone} runs are new: they first go alone as far as the others"))?;
            }
        }
        for (walker, &slot) in walkers.iter_mut().zip(&origins).skip(known) {
            if known > 0 && setup.source(slot).is_some() {
                continue;
            }
            let slot = &setup.slots[slot];
            walker
                .prepare(&mut |text| log.line(&format!("{}: {text}", slot.name)))
                .map_err(|e| keep_frame(&slot.config.result(files::FAILED), walker, e))?;
        }
        let mut files = open_files(setup, &mut walkers, &at, &written)?;
        for (number, walker) in walkers.iter_mut().enumerate() {
            // All walkers are of one kind and keep the same.
            let is_continued = number < known || (known > 0 && setup.source(origins[number]).is_some());
            let kept = walker.keep(files[0].intervals(), is_continued)?;
            files.iter_mut().for_each(|files| files.expect(kept));
        }
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
            before: slots_of(&at),
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
            ensemble.advance(0, &[], &Stop::default())?;
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
            // Walkers that were added later first catch up with the others, whose swaps are done.
            let number = Some(target / every).filter(|_| target > self.swapped && target.is_multiple_of(every));
            let pairs: Vec<Pair> = number.map_or(Vec::new(), |number| self.setup.ladders.pairs(number).collect());
            let costs = if stop.requested() { None } else { self.advance(target, &pairs, stop)? };
            self.notices(log)?;
            let Some(costs) = costs else {
                self.checkpoint()?;
                log.settle();
                log.line(&format!("{} at step {} of {last}", stop.reason(), self.step()))?;
                return Ok(false);
            };
            if let Some(number) = number {
                self.exchange(number, &pairs, &costs)?;
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

    /// What walkers have to say of their way.
    fn notices(&mut self, log: &mut Log) -> Result<()> {
        for (number, walker) in self.walkers.iter_mut().enumerate() {
            for notice in walker.notices() {
                log.settle();
                log.line(&format!("walker {}: {notice}", number_of(number)))?;
            }
        }
        Ok(())
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

    /// Takes every walker to `target`, with all outputs on the way. The answer is what each walker would pay there for the pH of its partner in
    /// `pairs`; none if asked to stop before.
    fn advance(&mut self, target: u64, pairs: &[Pair], stop: &Stop) -> Result<Option<Vec<f64>>> {
        let mut offers = vec![None; self.at.len()];
        for &Pair { slots: [a, b], .. } in pairs {
            let (low, high) = (self.setup.ladders.ph_of(a), self.setup.ladders.ph_of(b));
            offers[self.at[a]] = Some(Offer { from: low, to: high });
            offers[self.at[b]] = Some(Offer { from: high, to: low });
        }
        let slot_of = slots_of(&self.at);
        let mut legs = Vec::new();
        for (number, walker) in self.walkers.iter_mut().enumerate().filter(|(_, walker)| walker.step() <= target) {
            let slot = slot_of[number];
            let due = outputs(&self.files[slot], walker.step(), target);
            let (child, offer) = (&self.setup.slots[slot], offers[number]);
            legs.push(Leg { walker, number, slot, due, child, target, offer });
        }
        let ended = if self.pools.is_empty() {
            one_by_one(legs, &mut self.files, stop)
        } else {
            side_by_side(legs, &self.pools, &mut self.files, stop)
        };
        // Those of the target come when the steps that begin there are made. After a failure lines of before it are good.
        let written = self.write_lines(Upto::Passed);
        let ended = ended?;
        written?;
        let mut costs = vec![0.0; self.at.len()];
        for (number, arrival) in ended {
            match arrival {
                Arrival::Stopped => return Ok(None),
                Arrival::There(cost) => costs[number] = cost,
            }
        }
        Ok(Some(costs))
    }

    /// Writes lines that walkers have kept since the last swaps, or at the step of these: that one belongs to the pH of before.
    fn write_lines(&mut self, upto: Upto) -> Result<()> {
        let slot_of = slots_of(&self.at);
        let mut lines: Vec<(usize, Frame)> = Vec::new();
        for (number, walker) in self.walkers.iter_mut().enumerate() {
            for mut line in walker.lines(upto)? {
                line.walker = Some(number_of(number));
                let slots = if line.step <= self.swapped { &self.before } else { &slot_of };
                lines.push((slots[number], line));
            }
        }
        lines.sort_by_key(|(slot, line)| (*slot, line.step));
        lines.iter().try_for_each(|(slot, line)| self.files[*slot].line(line))
    }

    /// Lets neighbours swap their pH, at what it would cost each walker.
    fn exchange(&mut self, number: u64, pairs: &[Pair], costs: &[f64]) -> Result<()> {
        self.before = slots_of(&self.at);
        for &Pair { index, slots: [a, b] } in pairs {
            let (i, j) = (self.at[a], self.at[b]);
            let delta = costs[i] + costs[j];
            let seed = self.setup.config.dynamics.seed;
            let chance: f64 =
                StandardUniform.sample(&mut indexed_generator(seed, RandomStream::Exchange, number, index));
            if chance < (-delta).exp() {
                self.at.swap(a, b);
                self.walkers[i].set_ph(self.setup.ladders.ph_of(b))?;
                self.walkers[j].set_ph(self.setup.ladders.ph_of(a))?;
            }
        }
        self.swapped = number * self.setup.every;
        self.record(self.swapped)
    }

    /// Writes who has which pH.
    fn record(&mut self, step: u64) -> Result<()> {
        let names = self.setup.labels();
        let walkers: Vec<u32> = self.at.iter().map(|&walker| number_of(walker)).collect();
        self.journal.walkers(step as f64 * self.setup.config.dynamics.time_step.get(), &names, &walkers)
    }

    fn checkpoint(&mut self) -> Result<()> {
        self.write_lines(Upto::Present)?;
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

/// Slot of each walker, where `at` is the walker at each slot.
fn slots_of(at: &[usize]) -> Vec<usize> {
    let mut slots = vec![0; at.len()];
    at.iter().enumerate().for_each(|(slot, &walker)| slots[walker] = slot);
    slots
}
