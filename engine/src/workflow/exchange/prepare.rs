//! The start of walkers that are new: minimisation, first forces, first velocities.

use crate::error::Result;
use crate::output::files;
use crate::output::progress::Log;
use crate::propagate::Walker;
use crate::workflow::children::Child;
use crate::workflow::run::keep_frame;
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;

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
