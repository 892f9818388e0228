//! How walkers are built, and the start of those that are new: minimisation, first forces, first velocities.

use crate::error::Result;
use crate::output::files;
use crate::output::progress::Log;
use crate::propagate::Walker;
use crate::workflow::children::Child;
use crate::workflow::run::keep_frame;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;

/// Walkers that are built at once: while its files are read one takes some kilobytes for each atom, which many cores would take many times.
const AT_ONCE: usize = 16;

/// Builds `count` walkers, as many at once as there are cores, 16 at most: reading the files of one and placing its buffers takes a core for up to a second.
///
/// Threads of their own, because a thread of the pool that waits for what another one computes takes up the next walker meanwhile, and may then wait for itself.
///
/// # Errors
/// The first in the order of the walkers; none is begun after one.
pub fn at_once<W: Send>(count: usize, build: &(dyn Fn(usize) -> Result<W> + Sync)) -> Result<Vec<W>> {
    let (next, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let some = || {
        let mut mine = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            let built = build(number);
            failed.fetch_or(built.is_err(), Ordering::Relaxed);
            mine.push((number, built));
        }
        mine
    };
    let mut all = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..rayon::current_num_threads().min(AT_ONCE).min(count)).map(|_| scope.spawn(some)).collect();
        let join = |thread: ScopedJoinHandle<Vec<(usize, Result<W>)>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(join).collect::<Vec<_>>()
    });
    all.sort_by_key(|(number, _)| *number);
    all.into_iter().map(|(_, built)| built).collect()
}

/// Prepares walkers, each as the start of a run: at once, each in a thread with a pool of its own, or, without pools, one after the other. None of them
/// knows of the others.
///
/// # Errors
/// The first of a walker, with the frame that failed in `failed.gro`; [`crate::error::Error::File`] if the log cannot be written.
pub fn prepare<W: Walker>(walkers: Vec<(&mut W, &Child)>, pools: &[rayon::ThreadPool], log: &mut Log) -> Result<()> {
    if pools.is_empty() {
        return walkers.into_iter().try_for_each(|(walker, child)| one(walker, child, &mut |text| log.line(&text)));
    }
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let mut threads = Vec::new();
        for ((walker, child), pool) in walkers.into_iter().zip(pools) {
            let sender = sender.clone();
            // The channel is closed only if the log cannot be written, and that error is returned below.
            let mut say = move |text| {
                let _ = sender.send(text);
                Ok(())
            };
            threads.push(scope.spawn(move || pool.install(|| one(walker, child, &mut say))));
        }
        drop(sender);
        let written = receiver.into_iter().try_for_each(|text: String| log.line(&text));
        let join = |thread: ScopedJoinHandle<Result<()>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let ended: Vec<Result<()>> = threads.into_iter().map(join).collect();
        written.and(ended.into_iter().collect())
    })
}

fn one<W: Walker>(walker: &mut W, child: &Child, say: &mut dyn FnMut(String) -> Result<()>) -> Result<()> {
    let prepared = walker.prepare(&mut |text| say(format!("{}: {text}", child.name)));
    prepared.map_err(|e| keep_frame(&child.config.result(files::FAILED), walker, e))
}
