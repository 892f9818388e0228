//! Runs on a GPU: each a thread of this process, side by side on one device, which compiles its kernels once for all.
//!
//! Every run has its own streams and graphs. A simulation is built by all cores; from then on a run does the work of the host
//! in one thread of its own.

use super::child::{COMPLAINTS, Child};
use super::runner::{End, Runner, Working};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::signals::Stop;
use crate::simulation::Simulation;
use crate::workflow::run::{Outcome, run};
use kernels::device::Device;
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Starts each run as a thread.
pub struct Threads {
    device: Device,
}

impl Threads {
    /// A runner for `at_once` threads that compute on this device.
    pub fn new(device: &Device, at_once: usize) -> Self {
        if at_once > 1 {
            // A thread that spins while it waits holds up those that have work to enqueue.
            device.wait_asleep();
        }
        Self { device: device.clone() }
    }
}

impl Runner for Threads {
    fn start(&self, child: &Child) -> Result<Box<dyn Working>> {
        let job = child.write()?;
        let device = self.device.clone();
        let work = move |stop: &Stop, ready: &AtomicBool| simulate(&job, &device, stop, ready);
        Ok(Box::new(Thread::start(child, work)?))
    }
}

/// Runs a job file, and sets `ready` when its simulation has been built.
fn simulate(job: &Path, device: &Device, stop: &Stop, ready: &AtomicBool) -> Result<Outcome> {
    let config = Config::load(job)?;
    let mut simulation = Simulation::among_many(&config, Some(device))?;
    ready.store(true, Ordering::Relaxed);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let pool = pool.map_err(|e| Error::input(format!("a thread cannot be started: {e}"), "take fewer runs at once"))?;
    pool.install(|| run(&config, &mut simulation, stop, true))
}

struct Thread {
    stop: Stop,
    ready: Arc<AtomicBool>,
    /// `None` once the thread has been waited for.
    handle: Option<JoinHandle<Result<Outcome>>>,
    complaints: PathBuf,
}

impl Thread {
    fn start(child: &Child, work: impl FnOnce(&Stop, &AtomicBool) -> Result<Outcome> + Send + 'static) -> Result<Self> {
        let complaints = child.config.result(COMPLAINTS);
        // A run before may have left its complaints; mostly there are none.
        let _ = std::fs::remove_file(&complaints);
        let stop = Stop::default();
        let ready = Arc::new(AtomicBool::new(false));
        let (asked, built) = (stop.clone(), Arc::clone(&ready));
        let thread = std::thread::Builder::new().name(child.name.clone()).spawn(move || work(&asked, &built));
        let handle = thread.map_err(|e| Error::file(child.config.folder(), "start the thread of a run", e))?;
        Ok(Self { stop, ready, handle: Some(handle), complaints })
    }
}

/// How a thread ended.
fn judge(result: std::thread::Result<Result<Outcome>>) -> End {
    let failed = |said: String, physics| End::Failed { said, physics };
    match result {
        Ok(Ok(Outcome::Finished | Outcome::AlreadyFinished)) => End::Finished,
        Ok(Ok(Outcome::Stopped(step))) => failed(format!("it was stopped at step {step}"), false),
        Ok(Err(Error::Memory(error))) => End::NoMemory(error.to_string()),
        Ok(Err(error @ Error::Physics(_))) => failed(error.to_string(), true),
        Ok(Err(error)) => failed(error.to_string(), false),
        Err(panic) => failed(format!("{}; this is a fault of the program", words(&*panic)), false),
    }
}

/// The message of a panic.
fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it ended unexpectedly")
}

impl Working for Thread {
    fn ready(&self) -> bool {
        self.ready.load(Ordering::Relaxed)
    }

    fn ended(&mut self) -> Result<Option<End>> {
        let Some(handle) = self.handle.take_if(|handle| handle.is_finished()) else { return Ok(None) };
        let end = judge(handle.join());
        if let End::Failed { said, .. } = &end {
            // If this cannot be written, the error still says it.
            let _ = std::fs::write(&self.complaints, said);
        }
        Ok(Some(end))
    }

    fn stop(&mut self) {
        self.stop.request();
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.stop();
        // Where the end of the run matters it was asked for before; that a checkpoint could not be written is told in the folder.
        if let Some(Ok(Err(error))) = self.handle.take().map(JoinHandle::join) {
            let _ = std::fs::write(&self.complaints, error.to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_its_run() {
        let folder = tempfile::tempdir().unwrap();
        let child = Child::of_tests(folder.path(), "pH 4.00");
        std::fs::create_dir(child.config.folder()).unwrap();
        let end_of = |work: fn(&Stop, &AtomicBool) -> Result<Outcome>| {
            let mut thread = Thread::start(&child, work).unwrap();
            loop {
                match thread.ended().unwrap() {
                    Some(end) => return end,
                    None => std::thread::yield_now(),
                }
            }
        };
        assert_eq!(end_of(|_, _| Ok(Outcome::Finished)), End::Finished);
        let End::Failed { said, physics } = end_of(|_, _| panic!("index {} out of range", 7)) else { unreachable!() };
        assert!(!physics && said == "index 7 out of range; this is a fault of the program", "{said}");
        assert_eq!(std::fs::read_to_string(child.config.result(COMPLAINTS)).unwrap(), said);
        let full = |_: &Stop, _: &AtomicBool| Err(Error::Memory(Box::new(crate::error::InputError::new("full", ""))));
        assert_eq!(end_of(full), End::NoMemory("full".into()));

        // Dropped, it is asked to stop and waited for.
        drop(Thread::start(&child, |stop: &Stop, _: &AtomicBool| {
            while !stop.requested() {
                std::thread::yield_now();
            }
            Ok(Outcome::Stopped(3))
        }));
    }
}
