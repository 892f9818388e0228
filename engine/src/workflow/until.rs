//! `[titrate] until`: runs that go on until their pKa values are known well enough ([`crate::evaluation::until`]), or until they are as long as the job allows.
//!
//! Looks at the runs come at times that follow from the job alone, each 1.25 times the one before, up to the length of the job. Up to each look all runs are made as runs of that
//! length, which then become longer; so a titration that was stopped and continued looks at the same frames, and ends where one in one piece would have ended. What each look
//! found is kept in `until.json`; a look that is missing there is made again from the frames up to its time.

use crate::atomic::write_atomic;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::evaluation::pka::Options;
use crate::evaluation::runs::Run;
use crate::evaluation::until::{Check, GROWTH, Target, reached};
use lambda::analysis::counted::Resampling;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// File with what was found at every look.
pub const CHECKS: &str = "until.json";
/// Draws of the bootstrap at a look: errors to 4 %.
const DRAWS: u32 = 300;

/// The looks of a titration.
#[derive(Debug, Clone, PartialEq)]
pub struct Until {
    /// What is asked for.
    pub target: Target,
    /// Steps of every run at each look, rising; the last is the length that the job gives.
    pub schedule: Vec<u64>,
    time_step: f64,
    equilibration: f64,
    seed: u64,
    folder: PathBuf,
}

/// The looks so far, as they are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Kept {
    target: Target,
    /// Start of each run that is left out (ps).
    equilibration: f64,
    /// pH values and replicas: folders of the runs.
    runs: Vec<String>,
    checks: Vec<Check>,
}

/// What a look led to.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Everything so far, in the order of time.
    pub checks: Vec<Check>,
    /// Whether the runs have reached what was asked for, or have their full length.
    pub is_last: bool,
}

impl Until {
    /// Of a job; `None` if its runs have a given length.
    pub fn of(config: &Config) -> Option<Self> {
        let titrate = config.titrate.as_ref()?;
        let error = titrate.until?;
        let target =
            Target { error, sites: titrate.until_sites.clone(), round_trips: titrate.until_round_trips as usize };
        let first = titrate.until_from.and_then(|from| config.interval(from)).unwrap_or(1);
        let exchange = titrate.exchange.and_then(|exchange| config.interval(exchange)).unwrap_or(1);
        let output = &config.output;
        let written = [output.lambda, output.energy, output.trajectory].map(|time| config.interval(time));
        let grain = grain(exchange, &written, first);
        Some(Self {
            target,
            schedule: schedule(first, config.steps(), grain),
            time_step: config.dynamics.time_step.get(),
            equilibration: titrate.equilibration(),
            seed: config.dynamics.seed,
            folder: config.folder().to_path_buf(),
        })
    }

    /// Refuses names of sites that the job does not have.
    ///
    /// # Errors
    /// [`Error::Input`] at the key.
    pub fn check_sites(&self, config: &Config, known: &[String]) -> Result<()> {
        let Some(wrong) = self.target.sites.iter().find(|site| !known.contains(site)) else { return Ok(()) };
        let help = format!("there are {}", known.join(", "));
        Err(config.error_at("titrate.until_sites", format!("no site is called {wrong:?}"), help))
    }

    /// Length of each run (ps) at look `number`.
    pub fn time(&self, number: usize) -> f64 {
        self.schedule[number] as f64 * self.time_step
    }

    /// Options of the evaluation, whose sites have converged if they are within the error asked for.
    pub fn options(&self) -> Options {
        let resampling = Resampling { draws: DRAWS, seed: self.seed };
        let (equilibration, largest_error) = (self.equilibration, self.target.error);
        Options { equilibration, resampling, largest_error, pairs: false, parquet: false, ..Options::default() }
    }

    /// Whether look `number` was made before and the runs went on from it.
    pub fn is_passed(&self, number: usize, folders: &[PathBuf]) -> bool {
        let known = self.kept(&self.nothing(folders));
        let upto = known.iter().position(|check| (check.time - self.time(number)).abs() < 1e-6);
        number + 1 < self.schedule.len() && upto.is_some_and(|upto| reached(&known[..=upto]).is_none())
    }

    /// No looks at the runs in these folders.
    fn nothing(&self, folders: &[PathBuf]) -> Kept {
        let name = |folder: &PathBuf| folder.strip_prefix(&self.folder).unwrap_or(folder).display().to_string();
        let runs = folders.iter().map(name).collect();
        Kept { target: self.target.clone(), equilibration: self.equilibration, runs, checks: Vec::new() }
    }

    /// Looks at the runs in these folders, which are as long as look `number` wants them or longer.
    ///
    /// # Errors
    /// [`Error::Input`] if a table is damaged or too short, [`Error::File`] if one is missing or if `until.json` cannot be written.
    pub fn look(&self, number: usize, folders: &[PathBuf]) -> Result<Look> {
        let mut kept = self.nothing(folders);
        let before = self.kept(&kept);
        for number in 0..=number {
            let time = self.time(number);
            let known = before.iter().find(|check| (check.time - time).abs() < 1e-6);
            let check = match known {
                Some(check) => check.clone(),
                None => self.check(time, folders)?,
            };
            kept.checks.push(check);
        }
        let is_last = reached(&kept.checks).is_some() || number + 1 == self.schedule.len();
        let look = Look { checks: kept.checks.clone(), is_last };
        // Those of later looks stay: a titration that is called again passes the earlier ones by.
        kept.checks.extend(before.into_iter().filter(|check| check.time > self.time(number) + 1e-6));
        let path = self.folder.join(CHECKS);
        let text = serde_json::to_string_pretty(&kept).map_err(|e| Error::input(e.to_string(), ""))?;
        write_atomic(&path, "write", (text + "\n").as_bytes())?;
        Ok(look)
    }

    /// The newest look at the runs in these folders, which are at its end.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn newest(&self, folders: &[PathBuf]) -> Result<Look> {
        let mut number = 0;
        loop {
            let look = self.look(number, folders)?;
            if look.is_last {
                return Ok(look);
            }
            number += 1;
        }
    }

    /// The looks that are kept and were made for the same target of the same runs.
    fn kept(&self, ours: &Kept) -> Vec<Check> {
        let text = std::fs::read_to_string(self.folder.join(CHECKS)).unwrap_or_default();
        let found: Option<Kept> = serde_json::from_str(&text).ok();
        let same = |found: &Kept| {
            (&found.target, found.equilibration, &found.runs) == (&ours.target, ours.equilibration, &ours.runs)
        };
        found.filter(same).map_or_else(Vec::new, |found| found.checks)
    }

    fn check(&self, time: f64, folders: &[PathBuf]) -> Result<Check> {
        let runs = folders.iter().map(|folder| Run::read_until(folder, time)).collect::<Result<Vec<_>>>()?;
        let evaluation = crate::evaluation::pka::evaluate(runs, &self.options())?;
        Ok(Check::new(&evaluation, &self.target, time))
    }
}

impl Look {
    /// What the log says of it: the newest check, what holds it up, and which pH values to change.
    pub fn lines(&self, until: &Until) -> Vec<String> {
        let Some(check) = self.checks.last() else { return Vec::new() };
        let mut lines = vec![format!("until {}: {}", until.target.error, check.summary(&until.target))];
        if !self.is_last && check.holds() {
            lines.push(format!("  all agree; they must still do so with {:.0} % more data", 100.0 * (GROWTH - 1.0)));
        }
        if !self.is_last
            && let Some(time) = check.estimate(&until.target).filter(|time| *time > check.time)
        {
            lines.push(format!("  by the largest error about {time:.0} ps of each run are needed"));
        }
        lines.extend(check.advice.iter().map(|advice| format!("  {advice}")));
        lines
    }

    /// How it ended, for the end of the log: reached, or what each site that was not within the error lacks.
    pub fn conclusion(&self, until: &Until) -> String {
        let Some(check) = self.checks.last() else { return String::new() };
        let error = until.target.error;
        let outside = if check.outside.is_empty() {
            String::new()
        } else {
            format!("not asked for, with pKa values outside the pH values: {}\n", check.outside.join(", "))
        };
        let mut text = match reached(&self.checks) {
            Some(first) => format!(
                "until {error}: all {} sites are within it from {} ps on, and the runs ended at {} ps\n",
                check.sites.len(),
                self.checks[first].time,
                check.time
            ),
            None => {
                let why: Vec<String> = check.stopping();
                let list = if why.is_empty() {
                    vec![format!("it held at the last look only; {:.0} % more data are wanted", 100.0 * (GROWTH - 1.0))]
                } else {
                    why
                };
                let lines: String = list.iter().map(|line| format!("  {line}\n")).collect();
                format!(
                    "until {error}: not reached within {} ps of each run, the length that the job gives\n{lines}",
                    check.time
                )
            }
        };
        text += &outside;
        check.advice.iter().for_each(|advice| text += &format!("{advice}\n"));
        text
    }
}

/// Most looks come when something is written anyway: a run writes its last step, so that one that ends elsewhere for a look has a line more. Intervals that would leave
/// looks a quarter of the first one apart and more are left aside.
fn grain(exchange: u64, written: &[Option<u64>], first: u64) -> u64 {
    let divisor = |mut a: u64, mut b: u64| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    written.iter().flatten().fold(exchange, |grain, &every| {
        let common = grain / divisor(grain, every) * every;
        if 4 * common <= first { common } else { grain }
    })
}

/// Steps of the looks: from `first` on each [`GROWTH`] times the one before, whole numbers of `grain`, the last at `last`.
fn schedule(first: u64, last: u64, grain: u64) -> Vec<u64> {
    let whole = |steps: f64| (steps / grain as f64 - 1e-9).ceil() as u64 * grain;
    let times = std::iter::successors(Some(whole(first as f64)), |&before| {
        Some(whole(before as f64 * GROWTH).max(before + grain))
    });
    let mut all: Vec<u64> = times.take_while(|&steps| steps < last).collect();
    all.push(last);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_with_a_quarter_more_data_and_at_the_end() {
        assert_eq!(schedule(100, 200, 1), [100, 125, 157, 197, 200]);
        // At whole numbers of exchanges, which swap before the frames of the next step are written.
        assert_eq!(schedule(95, 200, 10), [100, 130, 170, 200]);
        assert_eq!(schedule(10, 100, 10), [10, 20, 30, 40, 50, 70, 90, 100]);
        assert_eq!((schedule(300, 200, 1), schedule(200, 200, 1)), (vec![200], vec![200]));
        assert_eq!(grain(10, &[Some(4), None, Some(1000)], 1000), 20);
        assert_eq!((grain(1, &[Some(50), Some(100)], 5000), grain(10, &[Some(4)], 20)), (100, 10));
        let long = schedule(1000, 100_000, 7);
        assert!(
            long.windows(2)
                .rev()
                .skip(1)
                .all(|pair| pair[1] as f64 >= GROWTH * pair[0] as f64 && pair[1].is_multiple_of(7))
        );
    }
}
