//! `log.txt`, and what the person at the terminal sees while a run goes on.

use crate::config::Config;
use crate::config::quantity::Time;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::output::screen;
use crate::record::{Description, counted};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// One picosecond per second, in nanoseconds per day.
pub const NS_PER_DAY: f64 = 86.4;

/// Messages of a run: all of them go to the log file, and to standard error as well unless the log is quiet.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    /// None: it goes to the screen alone.
    file: Option<File>,
    quiet: bool,
    terminal: bool,
    /// Whether the last line on the screen is one that is rewritten in place.
    in_place: bool,
}

impl Log {
    /// Opens the log of a run; a continued run goes on in the same file.
    ///
    /// # Errors
    /// [`Error::File`] if it cannot be written.
    pub fn open(path: &Path, quiet: bool) -> Result<Log> {
        let file = File::options().append(true).create(true).open(path);
        let file = file.map_err(|e| Error::file(path, "write", e))?;
        Ok(Log { path: path.to_path_buf(), file: Some(file), ..Log::on_screen(quiet) })
    }

    /// A log without a file.
    pub fn on_screen(quiet: bool) -> Log {
        Log { path: PathBuf::new(), file: None, quiet, terminal: std::io::stderr().is_terminal(), in_place: false }
    }

    /// Writes a line into the file and onto the screen.
    ///
    /// # Errors
    /// [`Error::File`] if the log cannot be written.
    pub fn line(&mut self, text: &str) -> Result<()> {
        self.record(text)?;
        self.show(text);
        Ok(())
    }

    /// Writes a line into the file alone.
    ///
    /// # Errors
    /// [`Error::File`] if the log cannot be written.
    pub fn record(&mut self, text: &str) -> Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        writeln!(file, "{text}").map_err(|e| Error::file(&self.path, "write", e))
    }

    /// Writes what a run is into the file, and its warnings onto the screen as well.
    ///
    /// # Errors
    /// [`Error::File`] if the log cannot be written.
    pub fn describe(&mut self, description: &Description) -> Result<()> {
        for (name, value) in &description.facts {
            self.record(&format!("{name}: {value}"))?;
        }
        let labels = description.labels();
        for group in &description.untitrated {
            self.record(&format!("does not titrate: {}: {}", labels.of(&group.name), group.reason))?;
        }
        description.warnings.iter().try_for_each(|warning| self.line(&format!("warning: {warning}")))
    }

    /// Writes what belongs to one run alone into the file: its pH and its length.
    ///
    /// # Errors
    /// [`Error::File`] if the log cannot be written.
    pub fn describe_run(&mut self, config: &Config, ph: Option<f64>) -> Result<()> {
        ph.map_or(Ok(()), |ph| self.record(&format!("pH: {ph}")))?;
        let (length, step) = (Time::new(config.length()), config.dynamics.time_step);
        self.record(&format!("length: {length} in {} of {step}", counted(config.steps(), "step")))
    }

    fn show(&mut self, text: &str) {
        if !self.quiet {
            let clear = if self.in_place { "\r\x1b[K" } else { "" };
            screen::show(&format!("{clear}{text}\n"));
            self.in_place = false;
        }
    }

    /// Time between two lines of progress of work that has gone on for so long: a fraction of a second on a terminal, where they replace each
    /// other; else half a minute at first, and ever more, up to ten minutes.
    pub fn pause(&self, elapsed: Duration) -> Duration {
        let seldom = (elapsed / 10).clamp(Duration::from_secs(30), Duration::from_secs(600));
        if self.terminal { Duration::from_millis(300) } else { seldom }
    }

    /// Shows a line that the next one replaces; where the screen is no terminal it is a line of its own.
    pub fn replace(&mut self, text: &str) {
        if self.quiet {
            return;
        }
        if self.terminal {
            screen::show(&format!("\r\x1b[K{text}"));
            self.in_place = true;
        } else {
            screen::show(&format!("{text}\n"));
        }
    }

    /// Ends a line that is shown in place, so that it stays.
    pub fn settle(&mut self) {
        if self.in_place {
            screen::show("\n");
            self.in_place = false;
        }
    }
}

/// Speed and remaining time of a run.
#[derive(Debug)]
pub struct Progress {
    time_step: f64,
    first: u64,
    last: u64,
    started: Instant,
    shown: Instant,
    header: bool,
}

impl Progress {
    /// The progress of a run from step `first` to step `last` that starts now; `time_step` in ps.
    pub fn new(time_step: f64, first: u64, last: u64) -> Progress {
        Progress { time_step, first, last, started: Instant::now(), shown: Instant::now(), header: false }
    }

    /// Speed up to this step (ns/day).
    pub fn speed(&self, step: u64) -> f64 {
        let simulated = (step - self.first) as f64 * self.time_step * 1e-3;
        simulated / self.started.elapsed().as_secs_f64().max(1e-9) * 86400.0
    }

    /// Writes a line with the numbers of a frame into the log, and before the first the heads of its columns.
    ///
    /// # Errors
    /// [`Error::File`] if the log cannot be written.
    pub fn record(&mut self, log: &mut Log, frame: &Frame) -> Result<()> {
        if !self.header {
            self.header = true;
            let header = ["step", "time (ps)", "temperature", "potential", "conserved", "pressure", "ns/day"];
            log.record(&header.map(|name| format!("{name:>13}")).join(" "))?;
        }
        let find = |name: &str| match frame.energies.iter().find(|quantity| quantity.name == name) {
            Some(quantity) => format!("{:.3}", quantity.value),
            None => "-".into(),
        };
        let time = format!("{:.3}", frame.time);
        let numbers = [find("temperature"), find("potential"), find("conserved"), find("pressure")];
        let cells =
            [frame.step.to_string(), time].into_iter().chain(numbers).chain([format!("{:.2}", self.speed(frame.step))]);
        let mut text = cells.map(|cell| format!("{cell:>13}")).collect::<Vec<_>>().join(" ");
        if !frame.lambda.is_empty() {
            let shown: Vec<String> = frame.lambda.iter().take(8).map(|lambda| format!("{lambda:.3}")).collect();
            text.push_str(&format!("   lambda {}", shown.join(" ")));
        }
        log.record(&text)
    }

    /// Whether it is time to show something.
    pub fn due(&self, log: &Log) -> bool {
        self.shown.elapsed() >= log.pause(self.started.elapsed())
    }

    /// Shows how far the run is, and λ of the first sites.
    pub fn show(&mut self, log: &mut Log, step: u64, lambda: &[f64]) {
        self.shown = Instant::now();
        let done = (step - self.first) as f64 / (self.last - self.first).max(1) as f64;
        let left = self.started.elapsed().as_secs_f64() * (1.0 - done) / done.max(1e-9);
        let mut text = format!(
            "{:>5.1} %   {:.2} of {:.2} ps   {:.2} ns/day   {} left",
            100.0 * step as f64 / self.last.max(1) as f64,
            step as f64 * self.time_step,
            self.last as f64 * self.time_step,
            self.speed(step),
            duration(left),
        );
        if !lambda.is_empty() {
            let shown: Vec<String> = lambda.iter().take(4).map(|lambda| format!("{lambda:.2}")).collect();
            text.push_str(&format!("   λ {}", shown.join(" ")));
        }
        log.replace(&text);
    }
}

/// Seconds as a person says them: `42 s`, `3 min 20 s`, `5 h 10 min`, `2 d 3 h`.
pub fn duration(seconds: f64) -> String {
    let s = seconds.clamp(0.0, 1e9).round() as u64;
    match s {
        0..=119 => format!("{s} s"),
        120..=7199 => format!("{} min {} s", s / 60, s % 60),
        7200..=172_799 => format!("{} h {} min", s / 3600, s % 3600 / 60),
        _ => format!("{} d {} h", s / 86400, s % 86400 / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of days in a queue leaves some hundred lines, not thousands.
    #[test]
    fn without_a_terminal_progress_becomes_seldom() {
        let folder = temp_dir::TempDir::new().unwrap();
        let mut log = Log::open(&folder.path().join("log.txt"), true).unwrap();
        log.terminal = false;
        let pause = |seconds| log.pause(Duration::from_secs(seconds)).as_secs();
        assert_eq!([pause(1), pause(1000), pause(86_400)], [30, 100, 600]);
    }

    #[test]
    fn durations_are_readable() {
        assert_eq!(duration(0.4), "0 s");
        assert_eq!(duration(200.0), "3 min 20 s");
        assert_eq!(duration(18_600.0), "5 h 10 min");
        assert_eq!(duration(183_600.0), "2 d 3 h");
    }
}
