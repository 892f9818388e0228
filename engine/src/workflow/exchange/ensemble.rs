//! All walkers of a replica exchange in motion, from the start or a checkpoint to the last step.

use super::books::Books;
use super::going::{one_by_one, side_by_side};
use super::journal::widened;
use super::leg::Course;
use super::open::{held, join, open_files, too_many};
use super::prepare::{at_once, prepare};
use super::setup::{Setup, number_of};
use super::start::Start;
use super::state::{ExchangeState, Places};
use super::stays::Stays;
use super::watch::Watch;
use crate::atomic::write_atomic;
use crate::checkpoint::{Checkpoint, Found, Identity};
use crate::config::{Config, RESOLVED};
use crate::error::{Error, Result};
use crate::evaluation::mixing::Mixing;
use crate::frame::Upto;
use crate::output::files::{self, EXCHANGE, Written};
use crate::output::progress::{Log, duration};
use crate::output::sites;
use crate::output::tables::Table;
use crate::propagate::{Propagate, Walker};
use crate::record::Description;
use crate::report;
use crate::signals::Stop;
use crate::workflow::folder::Folder;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// All walkers from the start, or from the checkpoint that was found, to the last step; false if asked to stop before it.
///
/// `build` makes walker `number` (from 0) of a job, many of them at once. `walkers` are those that have come to the checkpoint in this process, if there are any, and are at
/// the end those that have made all steps: they need not be built again. `side_by_side`: each walker in a thread of its own, as a GPU wants it; else one after the other,
/// each with all threads.
///
/// # Errors
/// The first error of a walker, with the frame that failed in `failed.gro`; [`Error::File`] if an output cannot be written; [`Error::Input`] if
/// the device has no memory for all walkers.
pub fn run<W: Walker>(
    setup: &Setup,
    build: &(dyn Fn(usize, &Config) -> Result<W> + Sync),
    walkers: &mut Vec<W>,
    start: Start,
    side_by_side: bool,
    log: &mut Log,
    stop: &Stop,
) -> Result<bool> {
    let last = setup.config.steps();
    if let Some(found) = &start.found
        && found.checkpoint.state.step() >= last
        && found.checkpoint.state.walkers.len() == setup.slots.len()
        && setup.slots.iter().all(|slot| files::is_finished(slot.config.folder(), setup.config.length()))
    {
        log.line(&format!("finished before: {last} steps are done"))?;
        return Ok(true);
    }
    log.line(&format!(
        "replica exchange: {} walkers at {} pH values, {} ps each, pH swapped every {} ps",
        setup.slots.len(),
        setup.ladders.ph.len(),
        setup.config.length(),
        setup.interval()
    ))?;
    for slot in setup.slots {
        let folder = slot.config.folder();
        std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of a run", e))?;
        slot.config.save(&folder.join(RESOLVED))?;
    }
    let known = start.found.as_ref().map_or(0, |found| found.checkpoint.state.walkers.len());
    let mut all = std::mem::take(walkers);
    all.truncate(known);
    let first = all.len();
    let built = at_once(start.places.origins.len() - first, &|number| {
        let number = first + number;
        let origin = start.places.origins[number];
        let slot = &setup.slots[origin];
        let is_added = number >= known && setup.source_among(origin, &start.places.at, known).is_some();
        build(number, &slot.config).map_err(|e| if is_added { e } else { too_many(e, slot) })
    })?;
    all.extend(built);
    let mut ensemble = Ensemble::open(setup, all, start, side_by_side, log)?;
    let ended = ensemble.steps(log, stop)?;
    *walkers = ensemble.walkers;
    Ok(ended)
}

/// What an exchange goes on from.
#[derive(Default)]
struct Continued {
    /// Walkers that have a state.
    known: usize,
    /// Step of the last swaps.
    swapped: u64,
    /// What has been written of each file.
    written: BTreeMap<String, Written>,
}

/// Takes the walkers to the states of a checkpoint, and lets those join whose pH was added since.
fn go_on<W: Walker>(
    setup: &Setup,
    walkers: &mut [W],
    found: Found<ExchangeState>,
    places: &Places,
    log: &mut Log,
) -> Result<Continued> {
    let Found { checkpoint, note, emptied } = found;
    let Places { origins, at } = places;
    if let Some(note) = note {
        log.line(&format!("warning: {note}; continuing from the one before"))?;
    }
    let (state, written) = (checkpoint.state, checkpoint.written);
    log.line(&format!("continuing from step {}", state.step()))?;
    emptied.iter().try_for_each(|words| log.line(words))?;
    let known = state.walkers.len();
    for (walker, state) in walkers.iter_mut().zip(&state.walkers) {
        walker.restore(state)?;
    }
    for (slot, &walker) in at.iter().enumerate().filter(|(_, walker)| **walker < known) {
        walkers[walker].set_ph(setup.ladders.ph_of(slot))?;
    }
    for (number, &slot) in origins.iter().enumerate().skip(known) {
        join(setup, &mut walkers[number], number, slot, &state, at, log)?;
    }
    let alone = origins[known..].iter().filter(|slot| setup.source_among(**slot, at, known).is_none()).count();
    if alone > 0 {
        log.line(&match alone {
            1 => "a run is new: it first goes alone as far as the others".to_string(),
            _ => format!("{alone} runs are new: they first go alone as far as the others"),
        })?;
    }
    Ok(Continued { known, swapped: state.swapped, written })
}

/// The walkers of an exchange in progress.
struct Ensemble<'a, W> {
    setup: &'a Setup<'a>,
    walkers: Vec<W>,
    /// Slot in which each walker started.
    origins: Vec<usize>,
    /// Where each walker is, and was since the last checkpoint.
    stays: Vec<Stays>,
    books: Books<'a>,
    identity: Identity,
    /// One pool of one thread for each walker, if they run side by side.
    pools: Vec<rayon::ThreadPool>,
    /// Time for which each walker has waited for partners, and for which all have moved.
    waited: Vec<Duration>,
    moved: Duration,
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
        let (config, n) = (setup.config, walkers.len());
        let Continued { known, swapped, written } = match found {
            Some(found) => go_on(setup, &mut walkers, found, &places, log)?,
            None => Continued::default(),
        };
        let Places { origins, at } = places;
        let pool = || rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pools = (0..if side_by_side { n } else { 0 }).map(|_| pool()).collect::<std::result::Result<Vec<_>, _>>();
        let pools =
            pools.map_err(|e| Error::input(format!("a thread cannot be started: {e}"), "take fewer pH values"))?;
        // Walkers of pH values that were added go on from the states of others.
        let continues =
            |number: usize| number < known || (known > 0 && setup.source_among(origins[number], &at, known).is_some());
        let new = walkers.iter_mut().zip(&origins).enumerate().filter(|(number, _)| !continues(*number));
        prepare(new.map(|(_, (walker, &slot))| (walker, &setup.slots[slot])).collect(), &pools, log)?;
        let mut files = open_files(setup, &mut walkers, &at, &written)?;
        for (number, walker) in walkers.iter_mut().enumerate() {
            // All walkers are of one kind and keep the same.
            let kept = walker.keep(files[0].calendar().lines(), continues(number))?;
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
        let reached = walkers.iter().map(Propagate::step).collect();
        let lines_from: Vec<u64> =
            at.iter().map(|&walker| walkers[walker].step() + u64::from(continues(walker))).collect();
        let mut ensemble = Self {
            setup,
            stays: slots_of(&at).into_iter().map(Stays::new).collect(),
            books: Books::new(setup, files, journal, &lines_from, swapped / setup.every, reached),
            walkers,
            origins,
            identity,
            pools,
            waited: vec![Duration::ZERO; n],
            moved: Duration::ZERO,
            folder,
        };
        if known < n {
            ensemble.first_frames(known)?;
            if known == 0 {
                ensemble.books.record(0, &at)?;
            }
            ensemble.checkpoint()?;
        }
        ensemble.folder.begun()?;
        if grown {
            std::fs::rename(&wide, &path).map_err(|e| Error::file(&path, "write", e))?;
        }
        Ok(ensemble)
    }

    /// Writes what is due at step 0 of the walkers from number `first` on, which are new.
    fn first_frames(&mut self, first: usize) -> Result<()> {
        for (number, walker) in self.walkers.iter_mut().enumerate().skip(first) {
            let files = self.books.files(self.stays[number].now());
            let due = files.calendar().due(0);
            if due.any() {
                let mut frame = walker.frame(due.wanted())?;
                frame.walker = Some(number_of(number));
                files.write(&frame, due)?;
            }
        }
        Ok(())
    }

    /// The step that all walkers have reached.
    fn step(&self) -> u64 {
        self.walkers.iter().map(Propagate::step).min().unwrap_or(0)
    }

    /// Whether all walkers have made all steps and all attempts.
    fn is_done(&self) -> bool {
        let (last, every) = (self.setup.config.steps(), self.setup.every);
        self.step() >= last && (self.books.made() + 1) * every > last
    }

    fn steps(&mut self, log: &mut Log, stop: &Stop) -> Result<bool> {
        let (config, last) = (self.setup.config, self.setup.config.steps());
        let (first, started) = (self.step(), Instant::now());
        let mut watch = Watch::new(config, first, log);
        while !self.is_done() {
            if !stop.requested() {
                self.go(&mut watch, stop)?;
            }
            if self.is_done() {
                break;
            }
            self.checkpoint()?;
            watch.saved();
            if stop.requested() {
                watch.line(&format!("{} at step {} of {last}", stop.reason(), self.step()))?;
                self.waiting().map_or(Ok(()), |text| watch.line(&text))?;
                return Ok(false);
            }
        }
        self.checkpoint()?;
        if last > first {
            let speed = watch.progress.speed(last) * self.walkers.len() as f64;
            let spent = duration(started.elapsed().as_secs_f64());
            watch.line(&format!("{} steps of each walker in {spent}: {speed:.2} ns/day in all", last - first))?;
            self.waiting().map_or(Ok(()), |text| watch.line(&text))?;
        }
        self.finish(log)?;
        Ok(true)
    }

    /// The time for which walkers have waited for each other, in words; none if they go one after the other.
    fn waiting(&self) -> Option<String> {
        let moved = self.moved.as_secs_f64();
        let shares = self.waited.iter().map(|waited| 100.0 * waited.as_secs_f64() / moved);
        let (number, most) = shares.clone().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let mean = shares.sum::<f64>() / self.waited.len() as f64;
        let number = number_of(number);
        let text = format!(
            "walkers waited for their partners for {mean:.1} % of the time, walker {number} longest: {most:.1} %"
        );
        (!self.pools.is_empty() && moved > 0.0).then_some(text)
    }

    /// The walkers on their way, and those who look after them.
    fn courses(&mut self) -> (Vec<Course<'_, W>>, &mut Books<'a>, &[rayon::ThreadPool]) {
        let (setup, made, calendar) = (self.setup, self.books.made(), self.books.files(0).calendar());
        let both = self.walkers.iter_mut().zip(&mut self.stays).enumerate();
        let course = |(number, (walker, stays))| Course { walker, number, setup, stays, made, calendar };
        (both.map(course).collect(), &mut self.books, &self.pools)
    }

    /// Walkers go until a checkpoint is due, or they are asked to stop, or they are at the last step; those that were added later first go as far as the others.
    fn go(&mut self, watch: &mut Watch, stop: &Stop) -> Result<()> {
        let (setup, began) = (self.setup, Instant::now());
        let swapped = self.books.made() * setup.every;
        let until = if self.step() < swapped { swapped } else { setup.config.steps() };
        let (mut courses, books, pools) = self.courses();
        let ended = if pools.is_empty() {
            one_by_one(setup, &mut courses, until, (books, watch), stop).map(|()| Vec::new())
        } else {
            side_by_side(courses, pools, until, (books, watch), stop)
        };
        let waited = match ended {
            Ok(waited) => waited,
            Err(e) => {
                // Lines of before a failure are good. Those that have a gap before them are not written: a walker that waits at the step of a swap has the
                // line there yet, and the one that took its place may have gone on.
                let _ = self.tell_lines(Upto::Passed);
                return Err(e);
            }
        };
        self.waited.iter_mut().zip(waited).for_each(|(all, now)| *all += now);
        self.moved += began.elapsed();
        for (number, walker) in self.walkers.iter_mut().enumerate() {
            let notices = walker.notices();
            notices.iter().try_for_each(|text| watch.line(&format!("walker {}: {text}", number_of(number))))?;
        }
        Ok(())
    }

    /// Writes lines that walkers have kept, as far as none is missing before them.
    fn tell_lines(&mut self, upto: Upto) -> Result<()> {
        let (courses, books, _) = self.courses();
        let told: Vec<Result<()>> = courses
            .into_iter()
            .map(|mut course| course.tell_lines(upto, &mut |news| books.take(news).map(|_| ())))
            .collect();
        told.into_iter().collect()
    }

    /// Writes what ends each run, and the page about the exchange.
    fn finish(&mut self, log: &mut Log) -> Result<()> {
        let held = held(&self.walkers);
        for (walker, stays) in self.walkers.iter_mut().zip(&self.stays) {
            let (slot, child) = (stays.now(), &self.setup.slots[stays.now()]);
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

    fn checkpoint(&mut self) -> Result<()> {
        self.tell_lines(Upto::Present)?;
        self.books.write_all_lines()?;
        let written = self.books.sync()?;
        let walkers = self.walkers.iter_mut().map(Propagate::state).collect::<Result<Vec<_>>>()?;
        let labels = self.setup.labels();
        let state = ExchangeState {
            walkers,
            origins: self.origins.iter().map(|&slot| labels[slot].clone()).collect(),
            walker_at: self
                .stays
                .iter()
                .enumerate()
                .map(|(walker, stays)| (labels[stays.now()].clone(), walker))
                .collect(),
            swapped: self.books.made() * self.setup.every,
        };
        Checkpoint { state, identity: self.identity.clone(), written }.save(self.setup.config.folder())?;
        self.stays.iter_mut().for_each(Stays::forget);
        Ok(())
    }
}

/// Slot of each walker, where `at` is the walker at each slot.
fn slots_of(at: &[usize]) -> Vec<usize> {
    let mut slots = vec![0; at.len()];
    at.iter().enumerate().for_each(|(slot, &walker)| slots[walker] = slot);
    slots
}
