//! `titrate`: one job at many pH values, with replicas; fractions, Hill fits and a report.
//!
//! Each pH and replica is a run of its own in `pH_4.00/replica_1`, made of the job with that pH and another seed
//! ([`super::children`]). When all are finished their `lambda.csv` are evaluated together, so that calling the command
//! again after a Slurm array, or with more pH values, evaluates everything that is there.

use super::children::{self, Child};
use super::many::{Batch, Many};
use super::statistics::{self, Fraction};
use super::titrate_report;
use crate::config::{Config, Jobs};
use crate::error::{Error, InputError, Result};
use crate::output::files;
use crate::output::tables::LambdaSeries;
use lambda::analysis::hill::HillFit;

/// A titration as planned.
#[derive(Debug)]
pub struct Plan {
    ph: Vec<f64>,
    batch: Batch,
}

/// Everything a titration found.
#[derive(Debug, Clone, Default)]
pub struct Titration {
    /// Names of the sites.
    pub title: String,
    /// pH values, rising.
    pub ph: Vec<f64>,
    /// One entry for each site.
    pub sites: Vec<SiteCurve>,
    /// λ after equilibration: `[pH][replica]`.
    pub series: Vec<Vec<LambdaSeries>>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// The titration of one site.
#[derive(Debug, Clone)]
pub struct SiteCurve {
    /// `GLU 2`.
    pub name: String,
    /// One for each pH.
    pub fractions: Vec<Fraction>,
    /// Fitted Hill curve, with what is known of its pKa and slope; `None` if every frame is mixed.
    pub hill: Option<HillFit>,
    /// pKa of the residue in the library.
    pub reference: Option<f64>,
}

impl Many for Plan {
    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn title(&self) -> String {
        format!("titration at {} pH values: {} runs", self.ph.len(), self.batch.children.len())
    }

    fn conclude(&self) -> Result<String> {
        let (titration, config) = (self.evaluate()?, &self.batch.config);
        titrate_report::write(&titration, config)?;
        Ok(titrate_report::table(&titration, config.folder()))
    }
}

impl Plan {
    /// Plans the runs of a job; `jobs` overrides those of the job.
    ///
    /// # Errors
    /// [`Error::Input`] if the job has no section `[titrate]`.
    pub fn new(config: Config, jobs: Option<u32>) -> Result<Plan> {
        let Some(titrate) = &config.titrate else {
            let help = "add one, for example [titrate] ph = { min = 2.0, max = 7.0, step = 1.0 }";
            return Err(InputError::new("the job has no section [titrate]", help).in_file(config.path()).into());
        };
        let mut ph = titrate.ph.to_vec();
        ph.sort_by(f64::total_cmp);
        let replicas = titrate.replicas;
        let runs = ph.iter().flat_map(|&ph| (1..=replicas).map(move |replica| (ph, replica)));
        let children: Vec<Child> = runs.map(|(ph, replica)| child(&config, ph, replica)).collect();
        let jobs = jobs.map_or(titrate.jobs, Jobs::Count);
        Ok(Plan { ph, batch: Batch { config, children, jobs, noun: "runs", command: "titrate" } })
    }

    /// Evaluates the finished runs.
    ///
    /// # Errors
    /// If a `lambda.csv` is missing, damaged or of other sites.
    pub fn evaluate(&self) -> Result<Titration> {
        let start = self.batch.config.titrate.as_ref().map_or(0.0, |titrate| titrate.equilibration.get());
        let replicas = self.batch.children.len() / self.ph.len();
        let mut series: Vec<Vec<LambdaSeries>> = Vec::new();
        for children in self.batch.children.chunks(replicas) {
            let read = |child: &Child| Ok(LambdaSeries::read(&child.config.result(files::LAMBDA))?.after(start));
            series.push(children.iter().map(read).collect::<Result<_>>()?);
        }
        let names = &series[0][0].sites;
        if let Some((child, _)) =
            self.batch.children.iter().zip(series.iter().flatten()).find(|(_, one)| one.sites != *names)
        {
            let help = "remove the folder of that run";
            let message = format!("the run has other sites than the first one, {}", names.join(", "));
            return Err(InputError::new(message, help).in_file(child.config.folder()).into());
        }
        let mut sites = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let lambda: Vec<Vec<&[f64]>> =
                series.iter().map(|runs| runs.iter().map(|run| run.lambda[index].as_slice()).collect()).collect();
            let (fractions, hill) = statistics::titration(&self.ph, &lambda, self.batch.config.dynamics.seed)?;
            sites.push(SiteCurve {
                name: name.clone(),
                fractions,
                hill,
                reference: statistics::reference_pka(&self.batch.config, name)?,
            });
        }
        let title = names.join(", ");
        let mut titration = Titration { title, ph: self.ph.clone(), sites, series, warnings: Vec::new() };
        titration.warnings = self.warnings(&titration)?;
        Ok(titration)
    }

    /// Warnings of the runs, and those the numbers give rise to.
    fn warnings(&self, titration: &Titration) -> Result<Vec<String>> {
        let mut warnings: Vec<String> = Vec::new();
        for child in &self.batch.children {
            let path = child.config.result(files::LOG);
            let text = std::fs::read_to_string(&path).map_err(|e| Error::file(&path, "read", e))?;
            warnings.extend(text.lines().filter_map(|line| line.strip_prefix("warning: ")).map(str::to_string));
        }
        for site in &titration.sites {
            warnings.extend(doubts(site, &titration.ph));
        }
        let mut seen = std::collections::BTreeSet::new();
        warnings.retain(|warning| seen.insert(warning.clone()));
        Ok(warnings)
    }
}

/// Fewer transitions than this at a pH near the pKa leave its fraction to chance.
const FEW_TRANSITIONS: usize = 10;
/// More mixed frames than this say that λ is not at its two ends.
const MANY_MIXED: f64 = 0.25;

/// What the numbers of a site give reason to doubt.
fn doubts(site: &SiteCurve, ph: &[f64]) -> Vec<String> {
    let mut doubts = Vec::new();
    let name = &site.name;
    let list = |choose: &dyn Fn(&Fraction) -> bool| -> Vec<String> {
        ph.iter().zip(&site.fractions).filter(|(_, fraction)| choose(fraction)).map(|(ph, _)| format!("{ph}")).collect()
    };
    let between = |fraction: &Fraction| fraction.deprotonated.is_some_and(|s| (0.1..=0.9).contains(&s));
    let few = list(&|fraction| between(fraction) && fraction.transitions < FEW_TRANSITIONS);
    if !few.is_empty() {
        doubts.push(format!(
            "{name}: fewer than {FEW_TRANSITIONS} transitions at pH {}; run longer, or lower titration.barrier",
            few.join(", ")
        ));
    }
    let mixed = list(&|fraction| fraction.mixed > MANY_MIXED);
    if !mixed.is_empty() {
        doubts.push(format!(
            "{name}: more than {:.0} % mixed frames (λ from 0.2 to 0.8) at pH {}; raise titration.barrier",
            100.0 * MANY_MIXED,
            mixed.join(", ")
        ));
    }
    let empty = list(&|fraction| fraction.deprotonated.is_none());
    if !empty.is_empty() {
        doubts.push(format!("{name}: no frame with λ below 0.2 or above 0.8 at pH {}", empty.join(", ")));
    }
    doubts.extend(doubts_of_fit(site, ph));
    doubts
}

/// What the Hill fit of a site gives reason to doubt.
fn doubts_of_fit(site: &SiteCurve, ph: &[f64]) -> Vec<String> {
    let name = &site.name;
    let Some(hill) = &site.hill else { return Vec::new() };
    let mut doubts = Vec::new();
    let (low, high) = (ph[0], ph[ph.len() - 1]);
    match hill.pka.value() {
        None => doubts.push(format!("{name}: the fractions do not determine the pKa; run longer, or add pH values where the site is partly deprotonated")),
        Some(pka) if !(low..=high).contains(&pka) => {
            doubts.push(format!("{name}: the fitted pKa of {pka:.2} lies outside the pH values, {low} to {high}"));
        }
        Some(_) => {}
    }
    if let (Some(slope), Some(error)) = (hill.slope.value(), hill.slope.error())
        && (slope - 1.0).abs() > (3.0 * error).max(0.3)
    {
        doubts.push(format!(
            "{name}: the Hill coefficient is {slope:.2} ± {error:.2}; a single site has 1: the runs may be too short"
        ));
    }
    doubts
}

/// The run of one pH and replica.
fn child(config: &Config, ph: f64, replica: u32) -> Child {
    let short = (ph * 100.0).round() / 100.0 == ph;
    let label = if short { format!("{ph:.2}") } else { format!("{ph}") };
    let mut job = config.clone();
    job.titrate = None;
    if let Some(titration) = &mut job.titration {
        titration.ph = Some(ph);
    }
    // Keyed by the pH itself, so that adding pH values leaves finished runs as they are.
    let index = ph.to_bits().rotate_left(17) ^ u64::from(replica);
    job.dynamics.seed = children::seed(config.dynamics.seed, index);
    job.output.folder = config.folder().join(format!("pH_{label}")).join(format!("replica_{replica}"));
    Child { name: format!("pH {label}, replica {replica}"), config: job }
}
