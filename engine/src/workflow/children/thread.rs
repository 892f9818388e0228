//! Runs on GPUs: each a thread of this process, side by side on one device, which compiles its kernels once for all, or dealt out to several.
//!
//! Every run has its own streams and graphs. A simulation is built by all cores; from then on a run does the work of the host
//! in one thread of its own.

use super::child::Child;
use super::runner::{End, Runner, Working};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::signals::Stop;
use crate::simulation::Simulation;
use crate::workflow::folder::COMPLAINTS;
use crate::workflow::run::{Outcome, run};
use kernels::device::Device;
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Starts each run as a thread, on the device that has fewest.
pub struct Threads {
    places: Arc<Vec<Place>>,
}

/// A device and its runs.
struct Place {
    device: Device,
    load: Mutex<Load>,
}

/// How many runs a device has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Load {
    /// Runs that are there.
    runs: usize,
    /// Runs that its memory holds, if one too many has been tried.
    most: Option<usize>,
}

impl Place {
    fn load(&self) -> MutexGuard<'_, Load> {
        self.load.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Threads {
    /// A runner for `at_once` threads that compute on these devices, one at least.
    pub fn new(devices: &[&Device], at_once: usize) -> Self {
        let place = |device: &&Device| {
            if at_once > 1 {
                // A thread that spins while it waits holds up those that have work to enqueue.
                device.wait_asleep();
            }
            Place { device: (*device).clone(), load: Mutex::default() }
        };
        Self { places: Arc::new(devices.iter().map(place).collect()) }
    }
}

/// Where the next run goes: to the device that has fewest and is not full; if all are full, to the one that has fewest. None without devices.
fn next(loads: &[Load]) -> Option<usize> {
    let full = |load: &Load| load.most.is_some_and(|most| load.runs >= most);
    (0..loads.len()).min_by_key(|&index| (full(&loads[index]), loads[index].runs))
}

impl Runner for Threads {
    fn start(&self, child: &Child) -> Result<Box<dyn Working>> {
        let job = child.write()?;
        let loads: Vec<Load> = self.places.iter().map(|place| *place.load()).collect();
        let Some(index) = next(&loads) else { return Err(Error::input("no device for a run", "")) };
        let seat = Seat::take(&self.places, index);
        let device = self.places[index].device.clone();
        let work = move |stop: &Stop, ready: &AtomicBool| simulate(&job, &device, stop, ready);
        Ok(Box::new(Thread::start(child, Some(seat), work)?))
    }

    fn room(&self) -> Option<usize> {
        let loads: Vec<Load> = self.places.iter().map(|place| *place.load()).collect();
        room(&loads)
    }
}

/// Runs that all devices hold, if they are known to hold no more; while one of them has not been full yet, it may take as many as the fullest.
fn room(loads: &[Load]) -> Option<usize> {
    let most = loads.iter().filter_map(|load| load.most).max()?;
    Some(loads.iter().map(|load| load.most.unwrap_or(most.max(load.runs) + 1)).sum())
}

/// The place of a run on a device, which is free again when it is dropped.
struct Seat {
    places: Arc<Vec<Place>>,
    index: usize,
}

impl Seat {
    fn take(places: &Arc<Vec<Place>>, index: usize) -> Self {
        places[index].load().runs += 1;
        Self { places: Arc::clone(places), index }
    }

    /// There was no memory for this run beside the others of its device.
    fn is_one_too_many(&self) {
        let mut load = self.places[self.index].load();
        load.most = Some(load.runs - 1);
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.places[self.index].load().runs -= 1;
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
    /// Its place on a device, until it has ended.
    seat: Option<Seat>,
}

impl Thread {
    fn start(
        child: &Child,
        seat: Option<Seat>,
        work: impl FnOnce(&Stop, &AtomicBool) -> Result<Outcome> + Send + 'static,
    ) -> Result<Self> {
        let complaints = child.config.result(COMPLAINTS);
        // A run before may have left its complaints; mostly there are none.
        let _ = std::fs::remove_file(&complaints);
        let stop = Stop::default();
        let ready = Arc::new(AtomicBool::new(false));
        let (asked, built) = (stop.clone(), Arc::clone(&ready));
        let thread = std::thread::Builder::new().name(child.name.clone()).spawn(move || work(&asked, &built));
        let handle = thread.map_err(|e| Error::file(child.config.folder(), "start the thread of a run", e))?;
        Ok(Self { stop, ready, handle: Some(handle), complaints, seat })
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
        let seat = self.seat.take();
        if let (End::NoMemory(_), Some(seat)) = (&end, &seat) {
            seat.is_one_too_many();
        }
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
    fn runs_are_dealt_out_evenly_and_full_devices_are_left_alone() {
        let device = Device::of_tests().unwrap();
        let threads = Threads::new(&[&device, &device, &device], 9);
        let loads = || threads.places.iter().map(|place| *place.load()).collect::<Vec<_>>();
        let seat = || Seat::take(&threads.places, next(&loads()).unwrap());
        let mut seats: Vec<Seat> = (0..7).map(|_| seat()).collect();
        assert_eq!(seats.iter().map(|seat| seat.index).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(threads.room(), None);
        // The third one on the first device was one too many.
        seats[6].is_one_too_many();
        seats.pop();
        assert_eq!(loads()[0], Load { runs: 2, most: Some(2) });
        // The others may hold one more than it, and are tried first.
        assert_eq!(threads.room(), Some(2 + 3 + 3));
        seats.extend([seat(), seat()]);
        assert_eq!(seats[6..].iter().map(|seat| seat.index).collect::<Vec<_>>(), [1, 2]);
        drop(seats);
        assert!(loads().iter().all(|load| load.runs == 0));
    }

    #[test]
    fn a_panic_is_an_error_of_its_run() {
        let folder = temp_dir::TempDir::new().unwrap();
        let child = Child::of_tests(folder.path(), "pH 4.00");
        std::fs::create_dir(child.config.folder()).unwrap();
        let end_of = |work: fn(&Stop, &AtomicBool) -> Result<Outcome>| {
            let mut thread = Thread::start(&child, None, work).unwrap();
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
        drop(Thread::start(&child, None, |stop: &Stop, _: &AtomicBool| {
            while !stop.requested() {
                std::thread::yield_now();
            }
            Ok(Outcome::Stopped(3))
        }));
    }
}
