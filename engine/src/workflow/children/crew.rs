//! All runs of a job at work, as many at once as there is room for, until all are finished, one fails, or the work shall stop.

use super::child::Child;
use super::runner::{End, Runner, Working};
use crate::error::{Error, InputError, PhysicsError, Result};
use crate::output::progress::{Log, NS_PER_DAY, duration};
use crate::record::counted;
use crate::signals::Stop;
use std::time::{Duration, Instant};

/// Time between two looks at the runs; a tenth of it while runs are being started.
const LOOK: Duration = Duration::from_millis(50);

/// A child that runs.
struct Running<'a> {
    child: &'a Child,
    work: Box<dyn Working>,
    /// Time that it had simulated when it was started (ps).
    first: f64,
}

/// The children at work and those that wait; dropping it asks all that run to stop before it waits for the first.
struct Crew<'a> {
    running: Vec<Running<'a>>,
    /// The next one is the last.
    waiting: Vec<&'a Child>,
    /// Number of children that may run at once.
    at_once: usize,
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        self.running.iter_mut().for_each(|run| run.work.stop());
    }
}

/// Runs all children that are not finished, at most `at_once` at once; fewer if the memory of a device does not hold so many.
///
/// True if all are finished; false if asked to stop, and then every child has written its checkpoint.
///
/// # Errors
/// The message of the first child that fails; the others are stopped with checkpoints.
pub fn run_all(runner: &dyn Runner, children: &[Child], at_once: usize, log: &mut Log, stop: &Stop) -> Result<bool> {
    let mut waiting = Vec::new();
    for child in children {
        if !child.finished()? {
            waiting.push(child);
        }
    }
    let done = children.len() - waiting.len();
    if done > 0 && !waiting.is_empty() {
        let were = if done == 1 { "was" } else { "were" };
        log.line(&format!("{done} of {} {were} finished before", counted(children.len(), "run")))?;
    }
    waiting.reverse();
    let mut crew = Crew { running: Vec::new(), waiting, at_once: at_once.max(1) };
    let mut watch = Watch { started: Instant::now(), shown: None, simulated: 0.0 };
    while !(crew.waiting.is_empty() && crew.running.is_empty()) {
        if stop.requested() {
            log.settle();
            log.line(&match crew.running.len() {
                1 => format!("{}: the run writes its checkpoint", stop.reason()),
                many => format!("{}: {many} runs write their checkpoints", stop.reason()),
            })?;
            return Ok(false);
        }
        crew.start(runner)?;
        crew.collect(runner, &mut watch, log)?;
        watch.show(log, children, &crew);
        let starting = !crew.waiting.is_empty() && crew.running.len() < crew.at_once;
        std::thread::sleep(if starting { LOOK / 10 } else { LOOK });
    }
    log.settle();
    if done < children.len() {
        let seconds = watch.started.elapsed().as_secs_f64();
        let (runs, speed) = (children.len() - done, watch.simulated / seconds * NS_PER_DAY);
        log.line(&format!("{} in {}: {speed:.2} ns/day in all", counted(runs, "run"), duration(seconds)))?;
    }
    Ok(true)
}

impl Crew<'_> {
    /// Starts children while there is room, each when all before it hold their memory.
    fn start(&mut self, runner: &dyn Runner) -> Result<()> {
        while self.running.len() < self.at_once
            && self.running.iter().all(|run| run.work.ready())
            && let Some(child) = self.waiting.pop()
        {
            let first = child.time();
            self.running.push(Running { child, work: runner.start(child)?, first });
        }
        Ok(())
    }

    /// Takes out the children that have ended. One for which there was no memory waits again, and fewer run at once from then on.
    fn collect(&mut self, runner: &dyn Runner, watch: &mut Watch, log: &mut Log) -> Result<()> {
        let mut index = 0;
        while index < self.running.len() {
            let Some(end) = self.running[index].work.ended()? else {
                index += 1;
                continue;
            };
            let Running { child, first, .. } = self.running.swap_remove(index);
            match end {
                End::Finished => watch.simulated += child.config.length() - first,
                End::NoMemory(_) if self.at_once > 1 => {
                    // Where one of several devices is full, there may still be room on the others.
                    self.at_once = runner.room().unwrap_or(self.running.len()).clamp(1, self.at_once - 1);
                    watch.simulated += child.time() - first;
                    self.waiting.push(child);
                    log.settle();
                    log.line(&format!(
                        "the memory of a GPU is full: from now on {} at once",
                        counted(self.at_once, "run")
                    ))?;
                }
                End::NoMemory(said) => return Err(failure(child, &said, false)),
                End::Failed { said, physics } => return Err(failure(child, &said, physics)),
            }
        }
        Ok(())
    }
}

/// The error for a child that failed.
fn failure(child: &Child, said: &str, physics: bool) -> Error {
    let rest = format!("failed; the others keep their checkpoints\n\n  {said}");
    if physics {
        return PhysicsError { term: child.name.clone(), message: rest, ..Default::default() }.into();
    }
    let help = "the same command continues when the cause is removed";
    InputError::new(format!("the run {} {rest}", child.name), help).in_file(child.config.folder()).into()
}

/// Progress of all children together.
struct Watch {
    started: Instant,
    shown: Option<Instant>,
    /// Time simulated by children that ended since the start (ps).
    simulated: f64,
}

impl Watch {
    /// Shows how far all `children` are, now and then.
    fn show(&mut self, log: &mut Log, children: &[Child], crew: &Crew) {
        let pause = log.pause(self.started.elapsed());
        if self.shown.get_or_insert(self.started).elapsed() < pause {
            return;
        }
        self.shown = Some(Instant::now());
        let (running, waiting) = (&crew.running, crew.waiting.len());
        let total: f64 = children.iter().map(|child| child.config.length()).sum();
        let now: Vec<f64> = running.iter().map(|run| run.child.time()).collect();
        let fresh: f64 = running.iter().zip(&now).map(|(run, time)| time - run.first).sum();
        let left: f64 = running.iter().zip(&now).map(|(run, time)| run.child.config.length() - time).sum::<f64>()
            + waiting as f64 * children.first().map_or(0.0, |child| child.config.length());
        let seconds = self.started.elapsed().as_secs_f64();
        let speed = (self.simulated + fresh) / seconds;
        let mut text = format!(
            "{:>5.1} %   {} of {} done, {} running",
            100.0 * (1.0 - left / total),
            children.len() - running.len() - waiting,
            counted(children.len(), "run"),
            running.len()
        );
        if speed > 0.0 {
            text.push_str(&format!("   {:.2} ns/day in all   {} left", speed * NS_PER_DAY, duration(left / speed)));
        }
        log.replace(&text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A device with room for some runs, each of which ends when it has been looked at some times; one fails at the first look.
    struct Room {
        free: Rc<Cell<usize>>,
        stopped: Rc<Cell<usize>>,
        looks: usize,
        failing: &'static str,
    }

    struct Guest {
        free: Rc<Cell<usize>>,
        stopped: Rc<Cell<usize>>,
        inside: bool,
        looks: usize,
        fails: bool,
    }

    impl Runner for Room {
        fn start(&self, child: &Child) -> Result<Box<dyn Working>> {
            let (free, stopped) = (Rc::clone(&self.free), Rc::clone(&self.stopped));
            let (inside, fails) = (free.get() > 0, child.name == self.failing);
            free.set(free.get() - usize::from(inside));
            let looks = if fails { 1 } else { self.looks };
            Ok(Box::new(Guest { free, stopped, inside, looks, fails }))
        }

        fn room(&self) -> Option<usize> {
            None
        }
    }

    impl Working for Guest {
        fn ready(&self) -> bool {
            self.inside
        }

        fn ended(&mut self) -> Result<Option<End>> {
            if !self.inside {
                return Ok(Some(End::NoMemory("no room".into())));
            }
            self.looks = self.looks.saturating_sub(1);
            Ok((self.looks == 0).then(|| match self.fails {
                true => End::Failed { said: "it broke".into(), physics: true },
                false => End::Finished,
            }))
        }

        fn stop(&mut self) {
            self.stopped.set(self.stopped.get() + 1);
        }
    }

    impl Drop for Guest {
        fn drop(&mut self) {
            self.free.set(self.free.get() + usize::from(self.inside));
        }
    }

    /// Seven runs, four at once; the result, what the log says, and how many were asked to stop.
    fn in_room_for(room: usize, looks: usize, failing: &'static str, stop: &Stop) -> (Result<bool>, String, usize) {
        let folder = temp_dir::TempDir::new().unwrap();
        let children: Vec<Child> =
            (0..7).map(|index| Child::of_tests(folder.path(), &format!("run {index}"))).collect();
        let path = folder.path().join("log");
        let runner = Room { free: Rc::new(Cell::new(room)), stopped: Rc::default(), looks, failing };
        let result = run_all(&runner, &children, 4, &mut Log::open(&path, true).unwrap(), stop);
        assert_eq!(runner.free.get(), room);
        (result, std::fs::read_to_string(path).unwrap(), runner.stopped.get())
    }

    #[test]
    fn runs_that_do_not_fit_wait_for_the_others() {
        let (done, said, _) = in_room_for(2, 2, "", &Stop::default());
        assert!(
            done.unwrap()
                && said.starts_with("the memory of a GPU is full: from now on 2 runs at once\n7 runs in 0 s: "),
            "{said}"
        );
        let (done, said, _) = in_room_for(4, 2, "", &Stop::default());
        assert!(done.unwrap() && said.lines().count() == 1, "{said}");
        let (failed, ..) = in_room_for(0, 2, "", &Stop::default());
        let message = failed.unwrap_err().to_string();
        assert!(message.contains("the run run 0 failed") && message.contains("no room"), "{message}");
    }

    #[test]
    fn a_run_that_fails_stops_the_others() {
        let (failed, _, stopped) = in_room_for(4, 2, "run 1", &Stop::default());
        let error = failed.unwrap_err();
        assert!(error.exit_status() == 3 && error.to_string().contains("run 1: failed"), "{error}");
        assert!(error.to_string().contains("it broke"), "{error}");
        // Numbers 0, 2 and 3 are on their way, 4 has not begun.
        assert_eq!(stopped, 3);
    }

    #[test]
    fn all_are_asked_to_stop() {
        let stop = Stop::default();
        stop.request();
        let (done, said, _) = in_room_for(4, 2, "", &stop);
        assert!(!done.unwrap() && said.contains("0 runs write their checkpoints"), "{said}");
    }
}
