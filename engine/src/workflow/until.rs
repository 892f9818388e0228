//! `[titrate] until`: runs that go on until their pKa values are known well enough ([`crate::evaluation::until`]), or until they are as long as the job allows.
//!
//! Looks at the runs come at times that follow from the job alone, each 1.25 times the one before, up to the length of the job. Up to each look all runs are made as runs of that
//! length, which then become longer (walkers of an exchange stay meanwhile); so a titration that was stopped and continued looks at the same frames, and ends where one in one
//! piece would have ended. What each look found is kept in `until.json`; a look that is missing there is made again from the frames up to its time.
//!
//! At a look pH values may be added ([`Grows`]). Their runs begin there, with the states of other pH values. A decision follows from the frames up to the look, so that one that was
//! lost is made again; what has been added stays, also if the job asks for another error later. Where runs have gone on beyond a look nothing can begin at it any more.

mod added;
mod look;

pub use added::{Added, Grows};
pub use look::Look;

use crate::atomic::write_atomic;
use crate::config::{Config, time_of};
use crate::error::{Error, Result};
use crate::evaluation::pka::Options;
use crate::evaluation::runs::Run;
use crate::evaluation::until::{Check, GROWTH, LOOKS, Target, reached};
use crate::output::begun::Begun;
use crate::record::{Description, Labels};
use lambda::analysis::counted::Resampling;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Draws of the bootstrap at a look: errors to 4 %.
const DRAWS: u32 = 300;

/// The looks of a titration.
#[derive(Debug, Clone, PartialEq)]
pub struct Until {
    /// What is asked for.
    pub target: Target,
    /// Steps of every run at each look, rising; the last is the length that the job gives.
    pub schedule: Vec<u64>,
    /// Most pH values with those that are added.
    pub most_ph: usize,
    /// Time of each run (ps), without its start, before which sites that hardly changed ask for no pH.
    add_from: f64,
    ph: Vec<f64>,
    /// Whether walkers swap their pH.
    swaps: bool,
    time_step: f64,
    equilibration: f64,
    seed: u64,
    folder: PathBuf,
}

/// The looks so far, as they are kept.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Kept {
    target: Target,
    /// Start of each run that is left out (ps).
    equilibration: f64,
    /// pH values and replicas: folders of the runs of the job.
    runs: Vec<String>,
    /// pH values that were added to those of the job.
    #[serde(default)]
    added: Vec<Added>,
    checks: Vec<Check>,
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
            most_ph: titrate.most_ph(),
            add_from: titrate.until_add_from.get(),
            ph: titrate.ph.to_vec(),
            swaps: titrate.exchange.is_some(),
            time_step: config.dynamics.time_step.get(),
            equilibration: titrate.equilibration(),
            seed: config.dynamics.seed,
            folder: config.folder().to_path_buf(),
        })
    }

    /// Refuses sites that the system, as described, does not have or that have no pKa.
    ///
    /// # Errors
    /// [`Error::Input`] at the key.
    pub fn check_sites(&self, config: &Config, system: &Description) -> Result<()> {
        let labels = Labels::of_sites(system.titrating());
        let Some(wrong) = self.target.sites.iter().find(|site| labels.name_of(site).is_none()) else { return Ok(()) };
        let known: Vec<String> = system.titrating().map(|site| labels.name_and_label(&site.name)).collect();
        let help = format!("sites that titrate: {}", known.join(", "));
        Err(config.error_at("titrate.until_sites", format!("no site that titrates is called {wrong:?}"), help))
    }

    /// A sentence if λ has hardly moved at the first look.
    pub fn doubt(&self) -> Option<String> {
        let counts = self.time(0) - self.equilibration;
        (counts < self.add_from * (1.0 - 1e-6)).then(|| {
            format!(
                "at the first look of titrate.until, after {} ps, {} ps of each run are evaluated, in which λ has hardly moved: until there are {} ps (titrate.until_add_from), sites with fewer than ten \
                 changes of the protonation get no pH values, and pKa values say little; look later (titrate.until_from)",
                self.time(0),
                (counts * 1e6).round() / 1e6,
                self.add_from
            )
        })
    }

    /// Length of each run (ps) at look `number`.
    pub fn time(&self, number: usize) -> f64 {
        time_of(self.schedule[number], self.time_step)
    }

    /// Options of the evaluation, whose sites have converged if they are within the error asked for.
    pub fn options(&self) -> Options {
        let resampling = Resampling { draws: DRAWS, seed: self.seed };
        let (equilibration, largest_error) = (self.equilibration, self.target.error);
        Options { equilibration, resampling, largest_error, for_report: false, parquet: false, ..Options::default() }
    }

    /// Whether look `number` was made before and the runs went on from it.
    pub fn is_passed(&self, number: usize, plan: &dyn Grows) -> bool {
        let known = self.kept(plan).checks;
        let upto = known.iter().position(|check| (check.time - self.time(number)).abs() < 1e-6);
        number + 1 < self.schedule.len() && upto.is_some_and(|upto| reached(&known[..=upto], &self.target).is_none())
    }

    /// The pH values that were added so far, in the order of time.
    pub fn added(&self) -> Vec<Added> {
        let text = std::fs::read_to_string(self.folder.join(LOOKS)).unwrap_or_default();
        let found: Kept = serde_json::from_str(&text).unwrap_or_default();
        let mut added = found.added;
        // One that the job has by now is its own.
        added.retain(|added| !self.ph.contains(&added.ph));
        added
    }

    /// Takes back pH values that no run could begin at, and adds no more.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn withdraw(&self, ph: &[f64], why: &str, plan: &dyn Grows) -> Result<()> {
        let mut kept = self.kept(plan);
        let mine = kept.added.iter_mut().filter(|added| ph.contains(&added.ph));
        mine.for_each(|added| added.withdrawn = Some(why.to_string()));
        let places = kept.checks.iter_mut().flat_map(|check| &mut check.places);
        places.filter(|place| ph.contains(&place.ph)).for_each(|place| place.added = false);
        self.save(&kept)
    }

    /// Looks at the runs of a titration, which are as long as look `number` wants them or longer, and adds pH values to it.
    ///
    /// # Errors
    /// [`Error::Input`] if a table is damaged or too short, [`Error::File`] if one is missing or if `until.json` cannot be written; as [`Grows::begin`].
    pub fn look(&self, number: usize, plan: &dyn Grows) -> Result<Look> {
        let before = self.kept(plan);
        let mut kept = Kept { checks: Vec::new(), ..before.clone() };
        for number in 0..=number {
            let time = self.time(number);
            let known = before.checks.iter().find(|check| (check.time - time).abs() < 1e-6);
            let check = match known {
                Some(check) => check.clone(),
                None => {
                    let mut check = self.check(time, plan, &kept.added)?;
                    if number + 1 < self.schedule.len() {
                        self.grow(&mut check, self.schedule[number], plan, &mut kept.added)?;
                    }
                    check
                }
            };
            kept.checks.push(check);
        }
        let is_last = reached(&kept.checks, &self.target).is_some() || number + 1 == self.schedule.len();
        let look = Look { checks: kept.checks.clone(), is_last };
        // Those of later looks stay: a titration that is called again passes the earlier ones by.
        kept.checks.extend(before.checks.into_iter().filter(|check| check.time > self.time(number) + 1e-6));
        self.save(&kept)?;
        Ok(look)
    }

    /// The newest look at the runs of a titration, which are at its end.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn newest(&self, plan: &dyn Grows) -> Result<Look> {
        let mut number = 0;
        loop {
            let look = self.look(number, plan)?;
            if look.is_last {
                return Ok(look);
            }
            number += 1;
        }
    }

    /// What is kept of the looks; none of them where they were made for another target, or for other runs.
    fn kept(&self, plan: &dyn Grows) -> Kept {
        let name = |folder: PathBuf| folder.strip_prefix(&self.folder).unwrap_or(&folder).display().to_string();
        let runs = plan.folders(&[]).into_iter().map(name).collect();
        let (target, equilibration, added) = (self.target.clone(), self.equilibration, self.added());
        let mut ours = Kept { target, equilibration, runs, added, checks: Vec::new() };
        let text = std::fs::read_to_string(self.folder.join(LOOKS)).unwrap_or_default();
        let found: Option<Kept> = serde_json::from_str(&text).ok();
        let same = |found: &Kept| {
            (&found.target, found.equilibration, &found.runs) == (&ours.target, ours.equilibration, &ours.runs)
        };
        if let Some(found) = found.filter(same) {
            ours.checks = found.checks;
        }
        ours
    }

    fn save(&self, kept: &Kept) -> Result<()> {
        let text = serde_json::to_string_pretty(kept).map_err(|e| Error::input(e.to_string(), ""))?;
        write_atomic(&self.folder.join(LOOKS), "write", (text + "\n").as_bytes())
    }

    /// Looks at the runs that have anything to show at this time.
    fn check(&self, time: f64, plan: &dyn Grows, added: &[Added]) -> Result<Check> {
        let mut runs = Vec::new();
        for folder in plan.folders(&added::running(added)) {
            if Begun::read(&folder)?.is_none_or(|begun| begun.time < time - 1e-6) {
                runs.push(Run::read_until(&folder, time)?);
            }
        }
        let evaluation = crate::evaluation::pka::evaluate(runs, &self.options())?;
        Ok(Check::new(&evaluation, &self.target, time, self.add_from))
    }

    /// Begins runs at the places of a check, as many as the job allows; `steps` is the length of all others.
    fn grow(&self, check: &mut Check, steps: u64, plan: &dyn Grows, added: &mut Vec<Added>) -> Result<()> {
        let refused = added.iter().any(|added| added.withdrawn.is_some());
        let mut ph = self.ph.clone();
        ph.extend(added::running(added));
        let sources = ph.clone();
        for place in &mut check.places {
            if added.iter().any(|known| known.ph == place.ph && known.steps == steps && known.withdrawn.is_none()) {
                place.added = true;
                continue;
            }
            if refused || ph.len() >= self.most_ph || ph.contains(&place.ph) {
                continue;
            }
            let Some(from) = self.source(place.ph, &sources, added) else { continue };
            let new = Added { ph: place.ph, steps, time: check.time, from, why: place.why.clone(), withdrawn: None };
            if plan.begin(&new)? {
                place.added = true;
                ph.push(new.ph);
                added.push(new);
            }
        }
        Ok(())
    }

    /// The pH whose state a new run begins with: the nearest. Runs that do not swap keep what they began with: there it is the nearest of those
    /// from which the fewest have begun, directly or by others, so that not all that is known near a pKa comes from one state.
    fn source(&self, new: f64, sources: &[f64], added: &[Added]) -> Option<f64> {
        let root = |ph: f64| {
            let parent = |ph: f64| added.iter().find(|added| added.ph == ph).map(|added| added.from);
            (0..added.len()).fold(ph, |ph, _| parent(ph).unwrap_or(ph))
        };
        let family = |ph: f64| {
            let kin = added.iter().filter(|other| other.withdrawn.is_none() && root(other.ph) == root(ph)).count();
            if self.swaps { 0 } else { kin }
        };
        let far = |ph: f64| (ph - new).abs();
        sources.iter().copied().min_by(|&a, &b| family(a).cmp(&family(b)).then(far(a).total_cmp(&far(b))))
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

    /// Runs that do not swap take turns in giving their states; walkers that do begin with the nearest.
    #[test]
    fn new_runs_begin_with_the_nearest_state_from_which_the_fewest_have_begun() {
        let until = |swaps| Until {
            target: Target { error: 0.2, sites: Vec::new(), round_trips: 0 },
            schedule: vec![100],
            most_ph: 6,
            add_from: 0.0,
            ph: vec![4.0, 5.0, 6.0],
            swaps,
            time_step: 0.002,
            equilibration: 0.0,
            seed: 1,
            folder: PathBuf::new(),
        };
        let added = |ph, from| Added { ph, steps: 100, time: 0.2, from, why: String::new(), withdrawn: None };
        // 3 began with the state of 4, and 2 with that of 3: both count for 4.
        let known = [added(3.0, 4.0), added(2.0, 3.0)];
        let sources = [4.0, 5.0, 6.0, 3.0, 2.0];
        assert_eq!(until(true).source(1.0, &sources, &known), Some(2.0));
        assert_eq!(until(false).source(1.0, &sources, &known), Some(5.0));
        assert_eq!(until(false).source(1.0, &sources[..3], &[]), Some(4.0));
        // One that could not begin counts for nobody.
        let withdrawn = [Added { withdrawn: Some("no memory".into()), ..added(3.0, 4.0) }];
        assert_eq!(until(false).source(1.0, &sources[..3], &withdrawn), Some(4.0));
    }

    /// Jobs that try the program out, of some picoseconds, look before anything has happened.
    #[test]
    fn a_look_before_the_protonation_can_have_changed_is_doubted() {
        let until = |add_from, equilibration| Until {
            target: Target::default(),
            schedule: vec![1000, 2000],
            most_ph: 6,
            add_from,
            ph: vec![4.0, 5.0],
            swaps: false,
            time_step: 0.002,
            equilibration,
            seed: 1,
            folder: PathBuf::new(),
        };
        let said = until(100.0, 0.5).doubt().unwrap();
        assert!(
            said.starts_with("at the first look of titrate.until, after 2 ps, 1.5 ps of each run are evaluated"),
            "{said}"
        );
        assert_eq!((until(2.0, 0.0).doubt(), until(0.0, 0.5).doubt()), (None, None));
    }

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
