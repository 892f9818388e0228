//! Section `[titrate]`: runs of one job at many pH values.

use super::auto_or::AutoOr;
use super::check::{Check, exists, make_absolute, not_negative, ph, positive, require, whole_steps, wrong};
use super::dynamics::Dynamics;
use super::quantity::Time;
use super::titration::barrier::{BARRIER_LOOK_INTERVAL, frozen};
use super::values::Values;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Fewest lines of λ of a run with which it can be evaluated at all.
const FEWEST_LINES: f64 = 1.0;

/// Runs that go on at the same time.
pub type Jobs = AutoOr<1, 4096>;

/// `[titrate]`: runs of this file at many pH values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Titrate {
    /// The pH values: a list, `[3.0, 4.0]`, or a range, `{ min = 2.0, max = 7.0, step = 1.0 }`. A pKa needs values on both sides of it where
    /// the site is partly deprotonated; the examples take five of them, 0.75 apart.
    pub ph: Values,
    /// Number of runs at each pH, with different seeds.
    #[serde(default = "one")]
    #[schemars(range(min = 1))]
    pub replicas: u32,
    /// Structures, GROMACS `.gro` files, at which the replicas of each pH begin in turn in place of `system.structure`; as many as `replicas` at most. They have
    /// the atoms of `system.structure`, in other conformations: where replicas that began elsewhere agree, the start is forgotten. The paths are
    /// relative to the job file. One that is not there and that a job beside it writes, `start_2/final.gro` that of `start_2.toml`, `octitrate titrate` makes first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-absent" = "all begin at `system.structure`"))]
    pub structures: Vec<PathBuf>,
    /// Start of each run that is left out of the evaluation at least (ps), shorter than a run. More is left out where the beginning of a run
    /// differs from the rest of it. λ is held during the first part of it, `titration.relax`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "a tenth of a run, with `until` of the first look, or twice `titration.relax`, `barostat.start`, `[position_restraints]` or the time for which a barrier adapts if that is longer"))]
    pub equilibration: Option<Time>,
    /// Time between two attempts of neighbours to swap their pH (ps), a whole number of time steps. With it the titration is a replica
    /// exchange: all runs go on in one process with one checkpoint, and transitions at one pH help the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "the runs are independent of each other"))]
    pub exchange: Option<Time>,
    /// Error of the pKa (pK units, 0.01 to 1) at which the runs may end: they go on until every site of `until_sites` is known as well by everything
    /// that could tell that it is not, or until they are as long as `dynamics` says. The runs are looked at when they are as long as `until_from`,
    /// and whenever they have become a quarter longer; what is asked for must hold for each site until a quarter more data are there.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "number_or_text")]
    #[schemars(with = "Option<f64>", range(min = 0.01, max = 1.0), extend("x-absent" = "all runs are as long as `dynamics` says"))]
    pub until: Option<f64>,
    /// The sites that `until` asks for: by their names in the job, `GL3 35`, with the molecule or the end where it takes that, or as the report calls them, `Glu 35`.
    /// `octitrate check` shows both.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-absent" = "all sites whose pKa lies within the pH values"))]
    pub until_sites: Vec<String>,
    /// Length of the runs at the first look (ps), longer than the equilibration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "a tenth of the length that `dynamics` gives"))]
    pub until_from: Option<Time>,
    /// Round trips between the lowest and the highest pH, all walkers of an exchange together, that `until` asks for. Five replicas that begin at several `structures`
    /// need none: their scatter is the error.
    #[serde(default = "ten")]
    pub until_round_trips: u32,
    /// Most pH values that the titration may come to have, those of `ph` included. At each look of `until` new ones are added where a pKa lies
    /// beyond the pH values or in a wide gap of them, or where neighbours would hardly swap; their runs begin with the states of others.
    /// With 0, or any number that is not larger than that of `ph`, they are recommended only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "half as many again as `ph` has"))]
    pub until_max_ph: Option<u32>,
    /// Time of each run (ps), without its equilibration, before which no pH is added for a site that has changed its protonation fewer than ten times: its
    /// frames say where the runs began and not where its pKa lies. Glu in water changes its protonation some five times in 100 ps near its pKa.
    #[serde(default = "hundred")]
    pub until_add_from: Time,
    /// Table of by how much pKa values come out too high in this box, by the number of protons that all sites have lost: `finite_box.csv`, which `octitrate prepare`
    /// writes. With it the evaluation has pKa values in solution, too, without what the size of the box does. The path is relative to the job file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-absent" = "pKa values are those of the box alone"))]
    pub finite_box: Option<PathBuf>,
    /// Number of runs that go on at once, or `"auto"` for as many as there are cores, or 32 on each GPU (up to 63, so that no few are left for the end).
    #[serde(default)]
    pub jobs: Jobs,
}

fn one() -> u32 {
    1
}

fn hundred() -> Time {
    Time::new(100.0)
}

fn ten() -> u32 {
    10
}

/// A number, or the text of one, as quantities with units are written.
#[derive(Deserialize)]
#[serde(untagged)]
enum Number {
    /// A number.
    Plain(f64),
    /// The text of a number.
    Text(String),
}

fn number_or_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    match Number::deserialize(deserializer)? {
        Number::Plain(number) => Ok(Some(number)),
        Number::Text(text) => text.trim().parse().map(Some).map_err(|_| {
            serde::de::Error::custom(format!("expected a number of pK units such as 0.2, found {text:?}"))
        }),
    }
}

impl Titrate {
    /// Makes the paths absolute; they are relative to `folder`. Checks that the files exist.
    pub(super) fn resolve_paths(&mut self, folder: &Path) -> Check {
        self.structures.iter_mut().for_each(|path| make_absolute(folder, path));
        let exists = |(index, structure): (usize, &PathBuf)| {
            // What `octitrate prepare --starts` names is made by a run of the job beside this one.
            let job = structure.parent().map(|made| made.with_extension("toml")).filter(|job| job.is_file());
            let name = job.as_deref().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
            let valid = name.map_or_else(
                || "a GROMACS structure, .gro".into(),
                |name| format!("what `octitrate run {name}` writes, which octitrate titrate runs by itself, or another structure, .gro"),
            );
            exists(&format!("titrate.structures.{index}"), structure, &valid)
        };
        self.structures.iter().enumerate().try_for_each(exists)?;
        self.finite_box.iter_mut().for_each(|path| make_absolute(folder, path));
        let table = |path: &PathBuf| {
            super::check::exists("titrate.finite_box", path, "a table, finite_box.csv of octitrate prepare")
        };
        self.finite_box.as_ref().map_or(Ok(()), table)
    }

    /// The structure at which this replica (from 1) begins, if it is another one than that of the system.
    pub fn structure(&self, replica: u32) -> Option<&Path> {
        let index = (replica as usize - 1).checked_rem(self.structures.len())?;
        self.structures.get(index).map(PathBuf::as_path)
    }

    /// Start of each run that is left out (ps).
    pub fn equilibration(&self) -> f64 {
        self.equilibration.map_or(0.0, |time| time.get())
    }

    /// Most pH values with those that `until` adds; the number of those in `ph` if none are added.
    pub fn most_ph(&self) -> usize {
        let given = self.ph.to_vec().len();
        match (self.until, self.until_max_ph) {
            (None, _) => given,
            (Some(_), None) => (3 * given).div_ceil(2),
            (Some(_), Some(most)) => given.max(most as usize),
        }
    }

    /// Fills in the equilibration; the time in which λ is held, `relax`, is the first half of it unless given, and no shorter than until the
    /// restraints, and the time at constant volume, `end`. Barriers that adapt do so for `adapting` (ps) once λ moves.
    pub(super) fn resolve_equilibration(
        &mut self,
        relax: &mut Option<Time>,
        (end, adapting): (Option<Time>, f64),
        dynamics: &Dynamics,
    ) -> Check {
        let step = dynamics.time_step.get();
        // To whole steps, as short decimal numbers.
        let whole = |time: f64| Time::new(((time / step * (1.0 + 1e-12)).floor() * step * 1e9).round() / 1e9);
        let end = end.map_or(0.0, |end| end.get());
        // Where a run is hardly longer than its restraints, all that is left is half for λ to settle, half to count.
        let after = (2.0 * end).min(0.5 * (end + dynamics.length()));
        let frozen = |relax: f64| frozen(relax, adapting, dynamics.time_step);
        let asked = match *relax {
            Some(relax) => (2.0 * relax.get()).max(frozen(relax.get())),
            None => after.max(2.0 * adapting).max(frozen(end)),
        };
        // What is looked at first decides, where there are looks.
        let mut first = dynamics.length();
        if self.until.is_some() {
            let left_out = self.equilibration.map_or(asked, |time| time.get());
            first = self.until_from.get_or_insert(whole((0.1 * first).max(2.5 * left_out).min(first))).get();
        }
        let equilibration = *self.equilibration.get_or_insert(whole((0.1 * first).max(asked)));
        // Where barriers adapt what they leave of it, to a multiple of the steps between their looks.
        let look = BARRIER_LOOK_INTERVAL as f64 * step;
        let left =
            ((0.5 * equilibration.get()).min(equilibration.get() - adapting).max(0.0) / look + 1e-9).floor() * look;
        let half = if adapting > 0.0 { left } else { 0.5 * equilibration.get() };
        let relax = *relax.get_or_insert(Time::new(whole(half).get().max(end)));
        self.check_until(dynamics)?;
        let frozen = Time::new(frozen(relax.get()));
        if frozen.get() > equilibration.get() {
            let message = format!("barriers adapt until {frozen}, and {equilibration} are left out of the evaluation");
            let help =
                format!("leave out {frozen} or more, or let barriers adapt for less (`during` of titration.barrier)");
            return Err(wrong("titrate.equilibration", message, help));
        }
        if relax.get() <= equilibration.get() {
            return dynamics.check_equilibration("titrate.equilibration", equilibration);
        }
        let message = format!("λ is held for {relax}, and {equilibration} are left out of the evaluation");
        let help = format!("leave out more than {relax}, or hold λ for less (titration.relax)");
        Err(wrong("titrate.equilibration", message, help))
    }

    /// Checks that runs, with `until` up to the first look, have lines of `lambda.csv` after their equilibration.
    pub(super) fn check_lines(&self, dynamics: &Dynamics, lambda: Time) -> Check {
        let length = self.until_from.map_or(dynamics.length(), |first| first.get());
        let line = |time: f64| (time / lambda.get() + 1e-6).floor();
        let left = line(length) - line(self.equilibration());
        if lambda.get() <= 0.0 || left >= FEWEST_LINES {
            return Ok(());
        }
        let message = format!(
            "a line every {lambda} leaves {left} of each run to evaluate, whose {} ps begin with an equilibration of {} ps",
            Time::new((length * 1e9).round() / 1e9).get(),
            self.equilibration()
        );
        Err(wrong(
            "output.lambda",
            message,
            "write λ more often, make the runs longer, or titrate.equilibration shorter",
        ))
    }

    /// Checks all keys; the runs are those of `dynamics`.
    pub(super) fn check(&self, dynamics: &Dynamics) -> Check {
        self.ph.check("titrate.ph", "pH value", 1)?;
        self.ph.to_vec().into_iter().try_for_each(|value| ph("titrate.ph", value))?;
        require(self.replicas > 0, "titrate.replicas", self.replicas, "a whole number, 1 or more")?;
        let (count, valid) = (self.structures.len(), "as many structures as titrate.replicas at most; raise that");
        require(count <= self.replicas as usize, "titrate.structures", format!("{count} structures"), valid)?;
        self.equilibration.map_or(Ok(()), |time| dynamics.check_equilibration("titrate.equilibration", time))?;
        self.check_until(dynamics)?;
        let Some(exchange) = self.exchange else {
            return Ok(());
        };
        positive("titrate.exchange", exchange)?;
        whole_steps("titrate.exchange", exchange, dynamics.time_step)?;
        let help = "give more values, or remove titrate.exchange";
        match self.ph.to_vec().len() {
            0 | 1 => Err(wrong("titrate.exchange", "one pH value alone has no neighbour to swap with", help)),
            _ => Ok(()),
        }
    }

    /// Checks the keys of `until`.
    fn check_until(&self, dynamics: &Dynamics) -> Check {
        not_negative("titrate.until_add_from", self.until_add_from)?;
        let Some(until) = self.until else {
            let stray = [
                ("titrate.until_sites", !self.until_sites.is_empty()),
                ("titrate.until_from", self.until_from.is_some()),
            ];
            return match stray.iter().find(|(_, is_given)| *is_given) {
                Some((key, _)) => Err(wrong(key, "the runs have a given length", "add titrate.until, or remove it")),
                None => Ok(()),
            };
        };
        require((0.01..=1.0).contains(&until), "titrate.until", until, "a number of pK units, 0.01 to 1")?;
        let Some(from) = self.until_from else { return Ok(()) };
        positive("titrate.until_from", from)?;
        whole_steps("titrate.until_from", from, dynamics.time_step)?;
        if from.get() > dynamics.length() {
            let message = format!("the first look is at {from}, and runs are {} ps long at most", dynamics.length());
            return Err(wrong("titrate.until_from", message, "look sooner, or set a longer dynamics.duration"));
        }
        match self.equilibration.filter(|left_out| left_out.get() >= from.get()) {
            Some(left_out) => {
                let message = format!("the first look is at {from}, and {left_out} are left out of the evaluation");
                Err(wrong("titrate.until_from", message, "look later, or shorten titrate.equilibration"))
            }
            None => Ok(()),
        }
    }
}
