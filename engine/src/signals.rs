//! Requests to stop: signals, a limit of time, or the end of the parent process.
//!
//! INT, TERM, HUP, USR1, USR2 and XCPU ask the running work to write a checkpoint and leave; queues send all of these before they kill. A second
//! INT or TERM ends the program at once. HUP is left alone where it was ignored at the start, as `nohup` does.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGXFSZ};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Signals that ask for a checkpoint, with their names.
const SIGNALS: [(i32, &str); 6] = [
    (SIGINT, "interrupted (SIGINT)"),
    (SIGTERM, "terminated (SIGTERM)"),
    (SIGHUP, "the terminal is gone (SIGHUP)"),
    (SIGUSR1, "asked to stop (SIGUSR1)"),
    (SIGUSR2, "asked to stop (SIGUSR2)"),
    (SIGXCPU, "the limit of CPU time is reached (SIGXCPU)"),
];

/// Exit status of work that has reached its limit of time.
pub const TIME_IS_UP: u8 = 4;

/// Whether, and by what, the work was asked to stop. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    cause: Arc<AtomicUsize>,
    deadline: Option<Instant>,
}

/// Stands for the end of the parent process in [`Stop::cause`].
const PARENT: usize = usize::MAX;
/// Stands for the limit of time.
const DEADLINE: usize = usize::MAX - 1;

impl Stop {
    /// Listens to signals from now on.
    ///
    /// # Errors
    /// The answer of the system if it does not allow it.
    pub fn on_signals() -> std::io::Result<Stop> {
        let stop = Stop::default();
        let armed = Arc::new(AtomicBool::new(false));
        let ignored = ignored_signals();
        for (signal, _) in SIGNALS {
            if signal == SIGHUP && ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            if [SIGINT, SIGTERM].contains(&signal) {
                // The order matters: a second signal finds the flag set and ends the program, the first one sets it.
                signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&armed))?;
                signal_hook::flag::register(signal, Arc::clone(&armed))?;
            }
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.cause), signal as usize)?;
        }
        // A file that would exceed the limit of the shell is an error of its writing then, and does not end the program.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        Ok(stop)
    }

    /// Also stops some time before `limit` has passed from now, so that a checkpoint can still be written: a tenth of the limit, two minutes
    /// at most. A limit beyond what a clock can show is none.
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        let deadline = Instant::now().checked_add(limit - (limit / 10).min(Duration::from_secs(120)));
        self.deadline = self.deadline.into_iter().chain(deadline).min();
        self
    }

    /// Also stops when standard input ends: the parent holds the other end and closes it to stop its children, and the
    /// system closes it if the parent is killed.
    pub fn also_when_stdin_ends(&self) {
        let cause = Arc::clone(&self.cause);
        std::thread::spawn(move || {
            let mut buffer = [0; 64];
            while std::io::stdin().read(&mut buffer).is_ok_and(|read| read > 0) {}
            cause.store(PARENT, Ordering::SeqCst);
        });
    }

    /// Asks the work to stop.
    pub fn request(&self) {
        self.cause.store(PARENT, Ordering::SeqCst);
    }

    /// Whether the work should stop.
    pub fn requested(&self) -> bool {
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            // A signal that came before is the cause.
            let _ = self.cause.compare_exchange(0, DEADLINE, Ordering::SeqCst, Ordering::SeqCst);
        }
        self.cause.load(Ordering::SeqCst) != 0
    }

    /// What asked the work to stop, in words.
    pub fn reason(&self) -> &'static str {
        match self.cause.load(Ordering::SeqCst) {
            DEADLINE => "the limit of time is near",
            cause => SIGNALS
                .iter()
                .find(|(signal, _)| *signal as usize == cause)
                .map_or("stopped by the program that started it", |(_, words)| words),
        }
    }

    /// Exit status: 128 + signal by the custom of shells, [`TIME_IS_UP`] for the limit of time.
    pub fn exit_status(&self) -> u8 {
        match self.cause.load(Ordering::SeqCst) {
            DEADLINE => TIME_IS_UP,
            PARENT => 128 + SIGTERM as u8,
            signal => 128 + signal as u8,
        }
    }
}

/// Bits of the signals that were ignored when the program was started, from `/proc/self/status`; none where there is no such file.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_time_leaves_time_for_a_checkpoint() {
        let stop = Stop::default().within(Duration::from_secs(3600)).within(Duration::from_secs(7200));
        let left = stop.deadline.unwrap() - Instant::now();
        assert!(left <= Duration::from_secs(3480) && left > Duration::from_secs(3470), "{left:?}");
        assert!(!stop.requested());
        assert!(!Stop::default().within(Duration::MAX).requested());
        let over = Stop::default().within(Duration::ZERO);
        assert!(over.requested() && over.exit_status() == TIME_IS_UP && over.reason().contains("limit of time"));
        let asked = Stop::default().within(Duration::ZERO);
        asked.request();
        assert!(asked.requested() && asked.exit_status() == 143);
    }
}
