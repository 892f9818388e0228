//! How walkers go: one after the other, or each in a thread of its own, which waits for the partner of an attempt and for nobody else.

use super::books::{Books, News};
use super::leg::Course;
use super::meetings::{Attempt, Meetings};
use super::setup::Setup;
use super::watch::Watch;
use crate::error::Result;
use crate::evaluation::ladders::Pair;
use crate::propagate::Walker;
use crate::signals::Stop;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;

/// What walkers have told and nobody has taken down, at most.
const WAITING: usize = 64;
/// Longest time between two looks at the clock.
const LOOK: Duration = Duration::from_millis(100);

/// All walkers, leg by leg and one after the other, to step `until`, or until a checkpoint is due, or until one is asked to stop.
///
/// # Errors
/// The first of a walker, or of a file.
pub fn one_by_one<W: Walker>(
    setup: &Setup,
    courses: &mut [Course<W>],
    until: u64,
    (books, watch): (&mut Books, &mut Watch),
    stop: &Stop,
) -> Result<()> {
    while let Some((target, number)) = courses.iter().filter_map(|course| course.next(until)).min() {
        let mut tell = |news| take(news, books, watch);
        let mut costs = vec![0.0; courses.len()];
        let here = |course: &&mut Course<W>| course.walker.step() <= target && course.next(until).is_some();
        for course in courses.iter_mut().filter(here) {
            let pair = number.and_then(|number| course.pair(number));
            let cost = course.leg(target, pair, &mut || !stop.requested(), &mut tell)?;
            let Some(cost) = cost else { return Ok(()) };
            costs[course.number] = cost;
            if number.is_none() {
                course.reached(None, &mut tell)?;
            }
        }
        if let Some(number) = number {
            let cost = |pair: &Pair| -> f64 {
                let two = courses.iter().filter(|course| pair.slots.contains(&course.stays.now()));
                two.map(|course| costs[course.number]).sum()
            };
            let swaps: Vec<Pair> =
                setup.ladders.pairs(number).filter(|pair| setup.swaps(number, pair.index, cost(pair))).collect();
            for course in courses.iter_mut() {
                let swap = swaps.iter().find(|pair| pair.slots.contains(&course.stays.now()));
                course.settle(number, swap.copied(), &mut tell)?;
            }
        }
        if watch.look(books)? || stop.requested() {
            return Ok(());
        }
    }
    Ok(())
}

/// Takes down what a walker tells.
fn take(news: News, books: &mut Books, watch: &mut Watch) -> Result<()> {
    match books.take(news)? {
        Some(text) => watch.line(&text),
        None => Ok(()),
    }
}

/// Each walker in a thread of its own, with a pool of its own, to step `until`, or until a checkpoint is due, or until one is asked to stop; files stay in this
/// thread. All have then made the same attempts. The answer is how long each has waited for partners.
///
/// # Errors
/// As [`one_by_one`]; the others stop where they are.
pub fn side_by_side<W: Walker>(
    courses: Vec<Course<W>>,
    pools: &[rayon::ThreadPool],
    until: u64,
    (books, watch): (&mut Books, &mut Watch),
    stop: &Stop,
) -> Result<Vec<Duration>> {
    let meetings = &Meetings::new(courses.len(), books.made());
    // Walkers that were added later make no attempt on their way to the others, and may stop anywhere.
    let attempts = courses.iter().any(|course| course.next(until).is_some_and(|(_, number)| number.is_some()));
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(WAITING);
        let mut threads = Vec::new();
        for (mut course, pool) in courses.into_iter().zip(pools) {
            let sender = sender.clone();
            // The channel is closed only if writing failed, and that error is returned below.
            let mut tell = move |news| {
                let _ = sender.send(news);
                Ok(())
            };
            threads.push(scope.spawn(move || pool.install(|| go(&mut course, until, meetings, stop, &mut tell))));
        }
        drop(sender);
        let written = write(&receiver, (books, watch), meetings, attempts);
        if written.is_err() {
            meetings.abandon();
        }
        drop(receiver);
        let join = |thread: ScopedJoinHandle<Result<Duration>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let ended: Vec<Result<Duration>> = threads.into_iter().map(join).collect();
        written.and(ended.into_iter().collect())
    })
}

/// Takes down what walkers tell until the last of them has ended, and brings them to rest if a checkpoint is due: after an attempt if they make `attempts`,
/// so that every piece of the way has one.
fn write(
    receiver: &Receiver<News>,
    (books, watch): (&mut Books, &mut Watch),
    meetings: &Meetings,
    attempts: bool,
) -> Result<()> {
    loop {
        match receiver.recv_timeout(LOOK) {
            Ok(news) => take(news, books, watch)?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        if watch.look(books)? {
            if attempts {
                meetings.end_after_next();
            } else {
                meetings.end_now();
            }
        }
    }
}

/// The way of one walker. The answer is how long it has waited.
fn go<W: Walker>(
    course: &mut Course<W>,
    until: u64,
    meetings: &Meetings,
    stop: &Stop,
    tell: &mut dyn FnMut(News) -> Result<()>,
) -> Result<Duration> {
    let guard = meetings.guard();
    let (walker, mut waited, mut moved) = (course.number, Duration::ZERO, false);
    while let Some((target, number)) = course.next(until) {
        let mut goes_on = || {
            let asked = stop.requested();
            if asked {
                meetings.end_now();
            }
            // A checkpoint that is due at once must not keep all where they are.
            let ends = meetings.is_over(walker) && (moved || asked);
            moved = true;
            !ends
        };
        let pair = number.and_then(|number| course.pair(number));
        if number.is_some() {
            waited += meetings.set_out(walker);
        }
        let Some(cost) = course.leg(target, pair, &mut goes_on, tell)? else { break };
        let Some(number) = number else {
            course.reached(None, tell)?;
            continue;
        };
        let swapped = match pair {
            None => meetings.pass(walker, number).then_some(false),
            Some(Pair { index, .. }) => {
                let attempt = Attempt { number, pair: index, walker, cost };
                let (swapped, time) = meetings.meet(attempt, |cost| course.setup.swaps(number, index, cost));
                waited += time;
                swapped
            }
        };
        let Some(swapped) = swapped else { break };
        course.settle(number, pair.filter(|_| swapped), tell)?;
    }
    guard.release();
    Ok(waited)
}
