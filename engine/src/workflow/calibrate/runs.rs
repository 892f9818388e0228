//! The jobs of a calibration: windows of fixed weights, and rounds of free runs.

use super::target::{Target, What};
use crate::config::quantity::Energy;
use crate::config::{Barrier, Config, Coordinate, CoordinateCount, Molecules, PhTerm, SiteSettings, Start};
use crate::output::files;
use crate::workflow::children::{Child, seed};
use std::path::PathBuf;

/// Buffer molecules unless the job says how many: 2N + 1 for one site.
const BUFFERS: u32 = 3;
/// Number of the first free run for its seed, behind the numbers of all windows.
const FIRST_FREE: u64 = 1 << 32;
/// Number of the first window of the second start for its seed, behind those of the first.
const FIRST_OF_START: u64 = 1 << 20;
/// Number of the first run that looks for conformations for its seed, behind the numbers of all free runs.
const FIRST_CONFORMER: u64 = 1 << 40;

/// Runs that look for conformations, `calibrate.conformers` of them: λ is held at each form in turn.
pub fn conformers(config: &Config, target: &Target) -> Vec<Child> {
    let forms = target.entry.forms.len();
    let one = |number: usize| {
        let vertex: Vec<f64> = (0..forms).map(|form| f64::from(u8::from(form == number % forms))).collect();
        let Child { config: mut job, .. } = window(config, target, &vertex, [0, 0]);
        job.dynamics.steps = Some((conformer_time(config) / config.dynamics.time_step.get()).round() as u64);
        job.dynamics.seed = seed(config.dynamics.seed, FIRST_CONFORMER + number as u64);
        job.output.folder = conformer(config, number);
        Child::new(format!("conformation {}", number + 1), job)
    };
    let count = config.calibrate.as_ref().map_or(0, |calibrate| calibrate.conformers);
    (0..count as usize).map(one).collect()
}

/// Length of a run that looks for conformations (ps).
pub fn conformer_time(config: &Config) -> f64 {
    let asked = config.calibrate.as_ref().and_then(|calibrate| calibrate.conformer_time);
    asked.map_or(2.0 * config.length(), |time| time.get())
}

/// Folder of run number `number`, from 0, that looks for conformations.
fn conformer(config: &Config, number: usize) -> PathBuf {
    config.folder().join(format!("conformer_{}", number + 1))
}

/// The runs of all windows, by start and window. Those of the first start begin at the structure of the job, or at the first of
/// `calibrate.structures`; the others at their structures, or where the run before them ended at other weights. With `calibrate.conformers` all begin
/// where those runs end, in turn: the first window at the first of them in its first start, at the second in its second, and so on.
pub fn windows(config: &Config, target: &Target, weights: &[Vec<f64>]) -> Vec<Vec<Child>> {
    let starts = config.calibrate.as_ref().map_or(1, |calibrate| calibrate.starts as usize);
    let mut runs: Vec<Vec<Child>> = Vec::new();
    for start in 0..starts {
        let before = runs.last();
        let one = |(index, weights): (usize, &Vec<f64>)| {
            let number = if looks_for_conformers(config) { index * starts + start } else { start };
            let run = window(config, target, weights, [start, index]);
            let elsewhere = || Some(before?[from(index, start, before?.len())].config.result(files::FINAL));
            match (conformer_end(config, number), named_structure(config, number)) {
                (Some(end), _) => run.beginning_at(end),
                (None, Some(structure)) => at_structure(run, structure),
                (None, None) => match elsewhere() {
                    Some(end) => run.beginning_at(end),
                    None => run,
                },
            }
        };
        let all = weights.iter().enumerate().map(one).collect();
        runs.push(all);
    }
    runs
}

/// Window at whose end the run of window `index` of `windows` begins, the second one as `start` 1: half the list away, a third of it for the third run.
fn from(index: usize, start: usize, windows: usize) -> usize {
    (index + windows.div_ceil(start + 1)) % windows
}

fn looks_for_conformers(config: &Config) -> bool {
    config.calibrate.as_ref().is_some_and(|calibrate| calibrate.conformers > 0)
}

/// The end of one of the runs that look for conformations, if the job has them, for run number `run`, from 0.
fn conformer_end(config: &Config, run: usize) -> Option<PathBuf> {
    let number = run.checked_rem(config.calibrate.as_ref()?.conformers as usize)?;
    Some(conformer(config, number).join(files::FINAL))
}

/// The structure that a job names, if it does, for run number `run`, from 0.
fn named_structure(config: &Config, run: usize) -> Option<PathBuf> {
    let structures = &config.calibrate.as_ref()?.structures;
    structures.get(run.checked_rem(structures.len())?).cloned()
}

/// The run, which begins at a structure of the job.
fn at_structure(mut run: Child, structure: PathBuf) -> Child {
    run.config.system.begin_at(structure);
    run
}

/// The run number `start` of window number `index`, both from 0, at these weights of the forms.
fn window(config: &Config, target: &Target, weights: &[f64], [start, index]: [usize; 2]) -> Child {
    let mut job = base(config);
    if let Some(titration) = &mut job.titration {
        match &target.what {
            What::Site { settings, .. } => {
                let fixed =
                    if let [_, lambda] = weights { Start::Lambda(*lambda) } else { Start::Weights(weights.to_vec()) };
                let held = SiteSettings {
                    initial: None,
                    start_pka: None,
                    coordinate: None,
                    offset: None,
                    barrier: None,
                    ..(**settings).clone()
                };
                titration.sites = vec![SiteSettings { fixed: Some(fixed), ..held }];
            }
            What::Buffer => titration.buffer.iter_mut().for_each(|buffer| buffer.fixed = Some(weights[1])),
        }
    }
    job.dynamics.seed = seed(config.dynamics.seed, index as u64 + FIRST_OF_START * start as u64);
    let label = label(weights);
    let (folder, more) = match start {
        0 => (config.folder().to_path_buf(), String::new()),
        start => (config.folder().join(format!("start_{}", start + 1)), format!(", start {}", start + 1)),
    };
    job.output.folder = folder.join(format!("lambda_{label}"));
    Child::new(format!("λ = {}{more}", label.replace('_', " ")), job)
}

/// A round of free runs: without barrier, at pH = pK, with the V_MM that all before it led to.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
    /// The job.
    pub config: &'a Config,
    /// What is calibrated.
    pub target: &'a Target,
    /// Number of the round, from 1.
    pub number: usize,
}

impl Round<'_> {
    /// Folder of its runs.
    pub fn folder(&self) -> PathBuf {
        self.config.folder().join(format!("round_{}", self.number))
    }

    /// File with the entry whose V_MM the runs have.
    pub fn library(&self) -> PathBuf {
        self.folder().join(format!("{}.toml", self.target.entry.name))
    }

    /// Length of each run (ps).
    pub fn length(&self) -> f64 {
        let asked = self.config.calibrate.as_ref().and_then(|calibrate| calibrate.round);
        asked.map_or(10.0 * self.config.length(), |round| round.get())
    }

    /// The runs.
    pub fn children(&self) -> Vec<Child> {
        let runs = self.config.calibrate.as_ref().map_or(0, |calibrate| calibrate.runs);
        (0..runs as usize).map(|run| self.child(run)).collect()
    }

    /// Folder of run number `run`, from 0.
    fn run(&self, run: usize) -> PathBuf {
        self.folder().join(format!("run_{}", run + 1))
    }

    /// Run number `run`, from 0.
    fn child(&self, run: usize) -> Child {
        let mut job = base(self.config);
        job.dynamics.steps = Some((self.length() / self.config.dynamics.time_step.get()).round() as u64);
        if let Some(titration) = &mut job.titration {
            titration.coordinate = Coordinate::Linear;
            titration.coupling = CoordinateCount::Auto;
            titration.barrier = Barrier::Height(Energy::new(0.0));
            titration.ph_term = PhTerm::None;
            titration.library.insert(0, self.library());
            match &self.target.what {
                What::Site { settings, .. } => {
                    let initial = Some(start(self.target.entry.forms.len(), run));
                    let free = SiteSettings {
                        start_pka: None,
                        coordinate: None,
                        offset: None,
                        barrier: None,
                        fixed: None,
                        ..(**settings).clone()
                    };
                    titration.sites = vec![SiteSettings { initial, ..free }];
                }
                What::Buffer => {
                    titration.sites.clear();
                    titration.buffer.iter_mut().for_each(|b| (b.fixed, b.neutral) = (None, false));
                }
            }
        }
        let index = FIRST_FREE + ((self.number as u64) << 16) + run as u64;
        job.dynamics.seed = seed(self.config.dynamics.seed, index);
        job.output.folder = self.run(run);
        let child = Child::new(format!("round {}, run {}", self.number, run + 1), job);
        // A later round goes on from where the one before ended, so that what was still settling there has more time.
        let before = (self.number > 1).then(|| Round { number: self.number - 1, ..*self }.run(run).join(files::FINAL));
        match (before.or_else(|| conformer_end(self.config, run)), named_structure(self.config, run)) {
            (Some(end), _) => child.beginning_at(end),
            (None, Some(structure)) => at_structure(child, structure),
            (None, None) => child,
        }
    }
}

/// What all runs have in common. The number of buffer molecules is the same in all of them, and it does not matter yet whether their
/// correction is calibrated.
fn base(config: &Config) -> Config {
    let mut job = config.clone();
    job.calibrate = None;
    if let Some(titration) = &mut job.titration {
        titration.allow_uncalibrated = true;
        if let Some(buffer) = &mut titration.buffer
            && buffer.molecules == Molecules::Auto
        {
            buffer.molecules = Molecules::Number(BUFFERS);
        }
    }
    job
}

/// Where free run `run` starts: half of the weight is that of one form, the rest is shared by all.
pub fn start(forms: usize, run: usize) -> Start {
    let share = 0.5 / forms as f64;
    let weight = |form: usize| if form == run % forms { share + 0.5 } else { share };
    if forms == 2 { Start::Lambda(weight(1)) } else { Start::Weights((0..forms).map(weight).collect()) }
}

/// `0.50` for two forms, `0.25_0.50_0.25` for more.
fn label(weights: &[f64]) -> String {
    let number = |weight: f64| {
        let short = (weight * 100.0).round() / 100.0 == weight;
        if short { format!("{weight:.2}") } else { format!("{weight}") }
    };
    match weights {
        [_, lambda] => number(*lambda),
        _ => weights.iter().map(|&weight| number(weight)).collect::<Vec<_>>().join("_"),
    }
}
