//! Many runs of one job, each in a folder of its own: processes on the CPU, threads on a GPU.
//!
//! Both write the same files. Finished runs are not started again; the others continue from their checkpoints, or start.
//! Asked to stop, or when one has failed, all write their checkpoints.

mod process;
mod slurm;
mod thread;

pub use process::Processes;
pub use slurm::slurm;
pub use thread::Threads;

use crate::checkpoint::Checkpoint;
use crate::config::{Config, Jobs};
use crate::error::{Error, InputError, PhysicsError, Result};
use crate::output::files;
use crate::output::progress::{Log, duration};
use crate::signals::Stop;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// 1 ps/s in ns/day.
const NS_PER_DAY: f64 = 86.4;
/// Job file of a child, in its folder.
pub const JOB: &str = "run.toml";
/// What a child that failed said.
const COMPLAINTS: &str = "errors.txt";

/// One run of many.
#[derive(Debug)]
pub struct Child {
    /// Name in messages, `pH 4.00, replica 2`.
    pub name: String,
    /// Its job; `config.folder()` is its own folder.
    pub config: Config,
}

impl Child {
    /// Whether all its steps are done and its results are complete.
    ///
    /// # Errors
    /// If it has checkpoints and none of them is good.
    pub fn finished(&self) -> Result<bool> {
        let folder = self.config.folder();
        let found = <Checkpoint>::load(folder)?;
        let done = found.is_some_and(|found| found.checkpoint.state.step >= self.config.steps());
        Ok(done && folder.join(files::FINAL).exists())
    }

    /// Writes its folder and its job file.
    fn write(&self) -> Result<PathBuf> {
        let folder = self.config.folder();
        std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of a run", e))?;
        let job = folder.join(JOB);
        self.config.save(&job)?;
        Ok(job)
    }

    /// Time simulated so far (ps), from the last whole line of its `lambda.csv`.
    fn time(&self) -> f64 {
        last_time(&self.config.result(files::LAMBDA)).unwrap_or(0.0)
    }

    fn length(&self) -> f64 {
        self.config.steps() as f64 * self.config.dynamics.time_step.get()
    }
}

/// First column of the last whole line of a table.
fn last_time(path: &Path) -> Option<f64> {
    let mut file = File::open(path).ok()?;
    let size = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(4096))).ok()?;
    let mut tail = String::new();
    file.read_to_string(&mut tail).ok()?;
    let (whole, _) = tail.rsplit_once('\n')?;
    whole.lines().last()?.split(',').next()?.parse().ok()
}

/// Runs at once on a GPU unless a number is given.
///
/// 3 000 to 10 000 atoms are 24 to 80 blocks of 128 threads in most kernels of a step, where a large GPU holds 2 000 blocks. Of systems of
/// 3 500 atoms an H200 does 8 100 ns/day with 16, 12 400 with 32 and 12 800 with 64, where the launches of kernels are its limit.
const ON_A_GPU: usize = 32;

/// Between two looks at the runs; a tenth of it while runs are being started.
const LOOK: Duration = Duration::from_millis(50);

/// How many children run at once, and with how many threads each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Children at once.
    pub jobs: usize,
    /// Threads of each.
    pub threads: usize,
}

impl Share {
    /// All cores (or the threads asked for on the command line) for this many runs: one run per core while there are
    /// enough, else several cores per run.
    pub fn of_cores(jobs: Jobs, runs: usize) -> Share {
        let cores = rayon::current_num_threads();
        let jobs = at_once(jobs, cores, runs);
        Share { jobs, threads: (cores / jobs).max(1) }
    }

    /// A GPU for this many runs, with one thread of the host each.
    pub fn of_gpu(jobs: Jobs, runs: usize) -> Share {
        Share { jobs: at_once(jobs, ON_A_GPU, runs), threads: 1 }
    }
}

fn at_once(jobs: Jobs, auto: usize, runs: usize) -> usize {
    let jobs = match jobs {
        Jobs::Auto => auto,
        Jobs::Count(count) => count as usize,
    };
    jobs.min(runs).max(1)
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Its results are complete.
    Finished,
    /// The device has no memory for it beside the others; in the words of the device.
    NoMemory(String),
    /// It cannot go on.
    Failed {
        /// Why, in its own words.
        said: String,
        /// Whether the physics failed.
        physics: bool,
    },
}

/// A run on its way; dropping it asks it to stop and waits for its checkpoint.
pub trait Working {
    /// Whether it holds all the memory of the device that it needs; the next run is started then.
    fn ready(&self) -> bool;

    /// How it ended, once it has.
    ///
    /// # Errors
    /// If the system cannot say.
    fn ended(&mut self) -> Result<Option<End>>;

    /// Asks it to write its checkpoint and leave.
    fn stop(&mut self);
}

/// Starts runs.
pub trait Runner {
    /// Starts the run, or continues it.
    ///
    /// # Errors
    /// [`Error::File`].
    fn start(&self, child: &Child) -> Result<Box<dyn Working>>;
}

/// A child that runs.
struct Running<'a> {
    child: &'a Child,
    work: Box<dyn Working>,
    first: f64,
}

/// The children that run; dropping them asks all to stop before it waits for the first.
struct Crew<'a>(Vec<Running<'a>>);

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|run| run.work.stop());
    }
}

/// Runs all children that are not finished, at most `at_once` at once; fewer if the memory of a device does not hold so many.
///
/// True if all are finished; false if asked to stop, then every child has written its checkpoint.
///
/// # Errors
/// The first child that fails: its own message, and the others are stopped with checkpoints.
pub fn run_all(runner: &dyn Runner, children: &[Child], at_once: usize, log: &mut Log, stop: &Stop) -> Result<bool> {
    let mut waiting = Vec::new();
    for child in children {
        if !child.finished()? {
            waiting.push(child);
        }
    }
    let done = children.len() - waiting.len();
    if done > 0 && !waiting.is_empty() {
        log.line(&format!("{done} of {} runs were finished before", children.len()))?;
    }
    waiting.reverse();
    let mut at_once = at_once.max(1);
    let mut crew = Crew(Vec::new());
    let mut watch = Watch { started: Instant::now(), shown: None, simulated: 0.0 };
    while !(waiting.is_empty() && crew.0.is_empty()) {
        if stop.requested() {
            log.settle();
            log.line(&format!("{}: {} runs write their checkpoints", stop.reason(), crew.0.len()))?;
            return Ok(false);
        }
        while crew.0.len() < at_once
            && crew.0.iter().all(|run| run.work.ready())
            && let Some(child) = waiting.pop()
        {
            let first = child.time();
            crew.0.push(Running { child, work: runner.start(child)?, first });
        }
        let mut index = 0;
        while index < crew.0.len() {
            let Some(end) = crew.0[index].work.ended()? else {
                index += 1;
                continue;
            };
            let Running { child, first, .. } = crew.0.swap_remove(index);
            match end {
                End::Finished => watch.simulated += child.length() - first,
                End::NoMemory(_) if at_once > 1 => {
                    at_once = crew.0.len().clamp(1, at_once - 1);
                    watch.simulated += child.time() - first;
                    waiting.push(child);
                    log.settle();
                    log.line(&format!("the memory of the GPU is full: from now on {at_once} runs at once"))?;
                }
                End::NoMemory(said) => return Err(failure(child, &said, false)),
                End::Failed { said, physics } => return Err(failure(child, &said, physics)),
            }
        }
        watch.show(log, children, &crew.0, waiting.len());
        let starting = !waiting.is_empty() && crew.0.len() < at_once;
        std::thread::sleep(if starting { LOOK / 10 } else { LOOK });
    }
    log.settle();
    if done < children.len() {
        let seconds = watch.started.elapsed().as_secs_f64();
        let (runs, speed) = (children.len() - done, watch.simulated / seconds * NS_PER_DAY);
        log.line(&format!("{runs} runs in {}: {speed:.2} ns/day in all", duration(seconds)))?;
    }
    Ok(true)
}

/// The error of a child.
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
    fn show(&mut self, log: &mut Log, children: &[Child], running: &[Running], waiting: usize) {
        let pause = if log.is_terminal() { Duration::from_millis(500) } else { Duration::from_secs(15) };
        if self.shown.get_or_insert(self.started).elapsed() < pause {
            return;
        }
        self.shown = Some(Instant::now());
        let total: f64 = children.iter().map(Child::length).sum();
        let now: Vec<f64> = running.iter().map(|run| run.child.time()).collect();
        let fresh: f64 = running.iter().zip(&now).map(|(run, time)| time - run.first).sum();
        let left: f64 = running.iter().zip(&now).map(|(run, time)| run.child.length() - time).sum::<f64>()
            + waiting as f64 * children.first().map_or(0.0, Child::length);
        let seconds = self.started.elapsed().as_secs_f64();
        let speed = (self.simulated + fresh) / seconds;
        let mut text = format!(
            "{:>5.1} %   {} of {} runs done, {} running",
            100.0 * (1.0 - left / total),
            children.len() - running.len() - waiting,
            children.len(),
            running.len()
        );
        if speed > 0.0 {
            text.push_str(&format!("   {:.2} ns/day in all   {} left", speed * NS_PER_DAY, duration(left / speed)));
        }
        log.replace(&text);
    }
}

/// A seed for run `index`, far from those of other runs and other jobs (SplitMix64; Steele 2014, 10.1145/2660193.2660195).
pub fn seed(base: u64, index: u64) -> u64 {
    let mut z = base
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(index.wrapping_add(1).wrapping_mul(0xd1b5_4a32_d192_ed03));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // TOML has signed integers; 32 bits are enough to keep streams apart and short enough to read.
    (z ^ (z >> 31)) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A run that is never computed.
    pub(super) fn child(folder: &Path, name: &str) -> Child {
        let job = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/bad/files/job.toml");
        let text = "[system]\nstructure = \"water.gro\"\ntopology = \"water.top\"";
        let mut config = Config::parse(text, &job).unwrap();
        config.output.folder = folder.join(name);
        Child { name: name.into(), config }
    }

    #[test]
    fn seeds_differ() {
        let mut seeds: Vec<u64> = (0..20).flat_map(|base| (0..50).map(move |index| seed(base, index))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 1000);
    }

    #[test]
    fn time_of_a_growing_table_is_that_of_its_last_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lambda.csv");
        assert_eq!(last_time(&path), None);
        std::fs::write(&path, "time (ps),lambda A\n").unwrap();
        assert_eq!(last_time(&path), None);
        std::fs::write(&path, "time (ps),lambda A\n0.5,0.1\n1.5,0.2\n2.").unwrap();
        assert_eq!(last_time(&path), Some(1.5));
    }

    #[test]
    fn all_cores_are_shared() {
        let cores = rayon::current_num_threads();
        assert_eq!(Share::of_cores(Jobs::Auto, 1), Share { jobs: 1, threads: cores });
        assert_eq!(Share::of_cores(Jobs::Auto, 10 * cores), Share { jobs: cores, threads: 1 });
        assert_eq!(Share::of_cores(Jobs::Count(3), 2).jobs, 2);
    }

    #[test]
    fn a_gpu_has_some_runs_unless_told_otherwise() {
        let jobs = |jobs, runs| Share::of_gpu(jobs, runs).jobs;
        assert_eq!([jobs(Jobs::Auto, 100), jobs(Jobs::Auto, 5), jobs(Jobs::Count(16), 100)], [32, 5, 16]);
    }

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
        let folder = tempfile::tempdir().unwrap();
        let children: Vec<Child> = (0..7).map(|index| child(folder.path(), &format!("run {index}"))).collect();
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
                && said.starts_with("the memory of the GPU is full: from now on 2 runs at once\n7 runs in 0 s: "),
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
