//! `titrate`: one job at many pH values, with replicas; fractions, Hill fits and a report.
//!
//! Each pH and replica is a run of its own in `pH_4.00/replica_1`, made of the job with that pH and another seed
//! ([`super::children`]). When all are finished their `lambda.csv` are evaluated together ([`super::pka`]), so that calling the
//! command again after a Slurm array, or with more pH values, evaluates everything that is there. With `titrate.until` the runs become longer from
//! one look at them to the next ([`super::until`]): every look is a stage of the same runs, and of those at pH values that a look before has added. These begin
//! with a checkpoint that is made of that of another pH, and go on from it as any run does.

use super::children::{self, Child};
use super::exchange::Joined;
use super::folder::{Folder, Kind};
use super::many::{Batch, Many, Stage};
use super::pka::{self, Beside, Evaluation, Options};
use super::until::{Added, Grows, Until};
use crate::checkpoint::{Checkpoint, Found, Identity};
use crate::config::{Config, Jobs};
use crate::error::{InputError, Result};
use crate::evaluation::finite_box::{FiniteBox, Solution};
use crate::evaluation::runs;
use crate::invocation::quoted;
use crate::output::begun::Begun;
use crate::record::{Description, counted};
use lambda::analysis::counted::Resampling;
use std::path::PathBuf;

/// How far below or above the pKa of every model compound a pH tells nothing, unless a protein moves a pKa by as much (pK units).
const FAR: f64 = 3.0;

/// A sentence on pH values of a titration at which no site is expected to change its form; `expected` are the pKa values that the job itself expects.
pub fn far_from_all(ph: &[f64], system: &Description, expected: &[f64]) -> Option<String> {
    let models = system.sites.iter().filter_map(|site| site.pka);
    let pkas: Vec<f64> = models.chain(expected.iter().copied()).collect();
    let far: Vec<f64> = ph.iter().copied().filter(|ph| pkas.iter().all(|pka| (ph - pka).abs() > FAR)).collect();
    if pkas.is_empty() || far.is_empty() {
        return None;
    }
    let (low, high) = pkas.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &pka| (a.min(pka), b.max(pka)));
    let of = if low == high { format!("a pKa of {low}") } else { format!("pKa values of {low} to {high}") };
    let listed: Vec<String> = far.iter().map(f64::to_string).collect();
    let whose =
        if expected.is_empty() { "model compounds of the sites" } else { "model compounds and start_pka of the sites" };
    Some(format!(
        "nothing is expected to titrate at {} of {} ({}): {whose} have {of}, more than {FAR} units away; without these the other pH values get the time, or the job ends sooner",
        far.len(),
        counted(ph.len(), "pH value"),
        listed.join(", ")
    ))
}

/// A titration as planned.
#[derive(Debug)]
pub struct TitrationPlan {
    ph: Vec<f64>,
    batch: Batch,
    until: Option<Until>,
    finite_box: Option<FiniteBox>,
}

impl Many for TitrationPlan {
    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn title(&self) -> String {
        let known = |until: &Until| format!(" until errors are within {}, at most", until.target.error);
        let until = self.until.as_ref().map_or(String::new(), known);
        let (runs, length) = (self.batch.children.len(), self.batch.config.length());
        format!("titration at {}{until}: {} of {length} ps", counted(self.ph.len(), "pH value"), counted(runs, "run"))
    }

    fn check_sites(&self, system: &Description) -> Result<()> {
        self.until.as_ref().map_or(Ok(()), |until| until.check_sites(&self.batch.config, system))
    }

    fn stage(&self, number: usize) -> Result<Option<Stage>> {
        let Some(until) = &self.until else { return Ok(None) };
        let look = until.look(number - 1, self)?;
        if look.is_last {
            return Ok(None);
        }
        let title = format!("{}\nruns go on to {} ps, at most", look.lines(until).join("\n"), until.time(number));
        let steps = until.schedule[number];
        let ph = self.ph_with(|added| added.steps < steps);
        Ok(Some(Stage { title, children: self.children(&ph, steps) }))
    }

    fn conclude(&self) -> Result<String> {
        let config = &self.batch.config;
        // The report shows the looks, the newest included.
        let conclusion = match &self.until {
            Some(until) => until.newest(self)?.conclusion(until) + "\n",
            None => String::new(),
        };
        let settings = config.to_toml()?;
        let beside = Beside { settings: Some(&settings), ..Beside::default() };
        let table = pka::write(&self.evaluate()?, config.folder(), beside)?;
        Ok(conclusion + &table)
    }
}

impl TitrationPlan {
    /// Plans the runs of a job; `jobs`, if given, is how many go on at once instead of what the job says.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if the job has no section `[titrate]`, or a table `titrate.finite_box` that is not understood.
    pub fn new(config: Config, jobs: Option<u32>) -> Result<TitrationPlan> {
        let Some(titrate) = &config.titrate else {
            let start = if config.calibrate.is_some() { "calibrate" } else { "run" };
            let help = format!(
                "octitrate {start} {} starts it as it is; or add a section, for example [titrate] ph = {{ min = 2.0, max = 7.0, step = 1.0 }}",
                config.path().display()
            );
            return Err(InputError::new("the job has no section [titrate]", help).in_file(config.path()).into());
        };
        let mut ph = titrate.ph.to_vec();
        ph.sort_by(f64::total_cmp);
        let jobs = jobs.map_or(titrate.jobs, Jobs::Number);
        let kind = if titrate.exchange.is_some() { Kind::Exchange } else { Kind::Titration };
        let finite_box = titrate.finite_box.as_deref().map(FiniteBox::read).transpose()?;
        let until = Until::of(&config);
        let steps = until.as_ref().map_or(config.steps(), |until| until.schedule[0]);
        let children = children(&config, &ph, steps);
        let batch = Batch { config, children, jobs, noun: "runs", command: "titrate", kind, staged: until.is_some() };
        Ok(TitrationPlan { ph, batch, until, finite_box })
    }

    /// The looks at the runs, if these go on until their pKa values are known.
    pub fn until(&self) -> Option<&Until> {
        self.until.as_ref()
    }

    /// The runs at these pH values, of so many steps.
    pub fn children(&self, ph: &[f64], steps: u64) -> Vec<Child> {
        children(&self.batch.config, ph, steps)
    }

    /// Folders of all runs, those at pH values that were added included.
    pub fn folders(&self) -> Vec<PathBuf> {
        let added: Vec<f64> = self.ph_with(|_| true).into_iter().filter(|ph| !self.ph.contains(ph)).collect();
        Grows::folders(self, &added)
    }

    /// The pH values of the job, rising.
    pub fn ph(&self) -> &[f64] {
        &self.ph
    }

    /// These and the ones that were added and are `wanted`, rising.
    pub fn ph_with(&self, wanted: impl Fn(&Added) -> bool) -> Vec<f64> {
        let added = self.until.as_ref().map_or_else(Vec::new, Until::added);
        let added = added.into_iter().filter(|added| added.withdrawn.is_none() && wanted(added));
        let mut all: Vec<f64> = self.ph.iter().copied().chain(added.map(|added| added.ph)).collect();
        all.sort_by(f64::total_cmp);
        all
    }

    /// Runs in the folder that the job had once: pH values or replicas were taken away.
    fn others(&self) -> Vec<String> {
        let added = self.until.as_ref().map_or_else(Vec::new, Until::added);
        let withdrawn = added.into_iter().filter(|added| added.withdrawn.is_some());
        let withdrawn: Vec<String> = withdrawn.map(|added| format!("pH_{}/", runs::ph_label(added.ph))).collect();
        let mut others = runs::others(self.batch.config.folder(), &self.folders());
        others.retain(|run| !withdrawn.iter().any(|ph| run.starts_with(ph)));
        others
    }

    /// Reads the finished runs and evaluates them together.
    ///
    /// # Errors
    /// As [`pka::evaluate`].
    pub fn evaluate(&self) -> Result<Evaluation> {
        let config = &self.batch.config;
        let resampling = Resampling { seed: config.dynamics.seed, ..Resampling::default() };
        let equilibration = config.titrate.as_ref().map_or(0.0, crate::config::Titrate::equilibration);
        let usual = Options::default();
        let largest_error = self.until.as_ref().map_or(usual.largest_error, |until| until.target.error);
        let mut evaluation =
            pka::evaluate(&self.folders(), &Options { equilibration, resampling, largest_error, ..usual })?;
        match self.finite_box.as_ref().map(|table| Solution::new(table, &evaluation)).transpose() {
            Ok(solution) => evaluation.solution = solution,
            // The runs are made: what they say is not lost for a table.
            Err(error) => evaluation.warnings.push(format!("{error}; pKa values are those of the box")),
        }
        let others = self.others();
        if !others.is_empty() {
            let (are, them) = if others.len() == 1 { ("is", "it") } else { ("are", "them") };
            let folder = quoted(&config.folder().display().to_string());
            evaluation.warnings.push(format!(
                "{} {are} in {folder} and not among the runs of the job any more, which leaves {them} out; octitrate pka {folder} counts {them}",
                others.join(", ")
            ));
        }
        Ok(evaluation)
    }
}

impl Grows for TitrationPlan {
    fn folders(&self, added: &[f64]) -> Vec<PathBuf> {
        let folder = |child: &Child| child.config.folder().to_path_buf();
        let mut all: Vec<PathBuf> = self.batch.children.iter().map(folder).collect();
        // Of runs that have not made a step there is nothing to read.
        let begun = self.children(added, 0);
        all.extend(begun.iter().map(folder).filter(|folder| runs::has_lines(folder)));
        all
    }

    fn begin(&self, new: &Added) -> Result<bool> {
        let [runs, sources] = [new.ph, new.from].map(|ph| self.children(&[ph], new.steps));
        let known: Vec<Option<Begun>> =
            runs.iter().map(|child| Begun::read(child.config.folder())).collect::<Result<_>>()?;
        let known: Vec<bool> =
            known.into_iter().map(|begun| begun.is_some_and(|begun| (begun.time - new.time).abs() < 1e-6)).collect();
        if known.iter().all(|known| *known) {
            return Ok(true);
        }
        if self.batch.kind == Kind::Exchange {
            // The walkers join when the exchange goes on.
            return Ok(Joined::find(&self.batch.config)?.is_at(new.steps));
        }
        let mut states = Vec::new();
        for ((child, source), known) in runs.iter().zip(&sources).zip(&known) {
            let found = <Checkpoint>::load(source.config.folder())?;
            let Some(found) = found.filter(|found| found.checkpoint.state.step == new.steps) else { return Ok(false) };
            if !known && <Checkpoint>::load(child.config.folder())?.is_some() {
                return Ok(false);
            }
            states.push(found);
        }
        for ((child, source), found) in runs.iter().zip(&sources).zip(states) {
            begin(child, source, new, found)?;
        }
        Ok(true)
    }
}

/// Lets a run begin with the state of another one. What says so comes last, so that one that was broken off is done again.
fn begin(child: &Child, source: &Child, new: &Added, found: Found) -> Result<()> {
    let folder = child.config.folder();
    let mut held = Folder::claim(folder, Kind::Run)?;
    let Checkpoint { identity, mut state, .. } = found.checkpoint;
    state.sites.ph = Some(new.ph);
    let identity = Identity { settings: child.config.trajectory_settings()?, ..identity };
    Checkpoint { identity, state, written: Default::default() }.save(folder)?;
    held.begun()?;
    let from = short_name(source);
    Begun { time: new.time, from, why: new.why.clone(), walker: None, from_walker: None }.write(folder)
}

/// `pH_4.00/replica_1`.
fn short_name(child: &Child) -> String {
    let folder = child.config.folder();
    let parts: Vec<_> = folder.iter().map(|part| part.to_string_lossy()).collect();
    parts[parts.len().saturating_sub(2)..].join("/")
}

/// The runs of a job at these pH values, of so many steps: all replicas of the first pH, then of the next.
fn children(config: &Config, ph: &[f64], steps: u64) -> Vec<Child> {
    let replicas = config.titrate.as_ref().map_or(1, |titrate| titrate.replicas);
    let runs = ph.iter().flat_map(|&ph| (1..=replicas).map(move |replica| (ph, replica)));
    let mut all: Vec<Child> = runs.map(|(ph, replica)| child(config, ph, replica)).collect();
    all.iter_mut().for_each(|child| child.config.dynamics.steps = Some(steps));
    all
}

/// The run at one pH, of one replica.
fn child(config: &Config, ph: f64, replica: u32) -> Child {
    let mut job = config.clone();
    if let Some(structure) = config.titrate.as_ref().and_then(|titrate| titrate.structure(replica)) {
        job.system.begin_at(structure.to_path_buf());
    }
    job.titrate = None;
    if let Some(titration) = &mut job.titration {
        titration.ph = Some(ph);
    }
    // Keyed by the pH itself, so that adding pH values leaves finished runs as they are.
    let index = ph.to_bits().rotate_left(17) ^ u64::from(replica);
    job.dynamics.seed = children::seed(config.dynamics.seed, index);
    job.output.folder = config.folder().join(runs::run_folder(ph, replica));
    Child::new(format!("pH {}, replica {replica}", runs::ph_label(ph)), job)
}
