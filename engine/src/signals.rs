//! Requests to stop: SIGINT and SIGTERM, or the end of the parent process.
//!
//! The first signal asks the running work to write a checkpoint and leave; a second one ends the program at once.

use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Whether, and by what, the work was asked to stop. Clones share their state.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    signal: Arc<AtomicUsize>,
}

/// Stands for the end of the parent process in [`Stop::signal`].
const PARENT: usize = usize::MAX;

impl Stop {
    /// Listens to SIGINT and SIGTERM from now on.
    ///
    /// # Errors
    /// The answer of the system if it does not allow it.
    pub fn on_signals() -> std::io::Result<Stop> {
        let stop = Stop::default();
        let armed = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            // The order matters: a second signal finds the flag set and ends the program, the first one sets it.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&armed))?;
            signal_hook::flag::register(signal, Arc::clone(&armed))?;
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)?;
        }
        Ok(stop)
    }

    /// Also stops when standard input ends: the parent holds the other end and closes it to stop its children, and the
    /// system closes it if the parent is killed.
    pub fn also_when_stdin_ends(&self) {
        let signal = Arc::clone(&self.signal);
        std::thread::spawn(move || {
            let mut buffer = [0; 64];
            while std::io::stdin().read(&mut buffer).is_ok_and(|read| read > 0) {}
            signal.store(PARENT, Ordering::SeqCst);
        });
    }

    /// Asks the work to stop.
    pub fn request(&self) {
        self.signal.store(PARENT, Ordering::SeqCst);
    }

    /// Whether the work should stop.
    pub fn requested(&self) -> bool {
        self.signal.load(Ordering::SeqCst) != 0
    }

    /// What asked the work to stop, in words.
    pub fn reason(&self) -> &'static str {
        match self.signal.load(Ordering::SeqCst) as i32 {
            SIGINT => "interrupted (SIGINT)",
            SIGTERM => "terminated (SIGTERM)",
            _ => "stopped by the program that started it",
        }
    }

    /// Exit status by the custom of shells: 128 + signal.
    pub fn exit_status(&self) -> u8 {
        match self.signal.load(Ordering::SeqCst) as i32 {
            SIGINT => 128 + SIGINT as u8,
            _ => 128 + SIGTERM as u8,
        }
    }
}
