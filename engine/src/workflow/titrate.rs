//! `titrate`: one job at many pH values, with replicas; fractions, Hill fits and a report.
//!
//! Each pH and replica is a run of its own in `pH_4.00/replica_1`, made of the job with that pH and another seed
//! ([`super::children`]). When all are finished their `lambda.csv` are evaluated together ([`super::pka`]), so that calling the
//! command again after a Slurm array, or with more pH values, evaluates everything that is there.

use super::children::{self, Child};
use super::folder::Kind;
use super::many::{Batch, Many};
use super::pka::{self, Beside, Evaluation, Options};
use crate::config::{Config, Jobs};
use crate::error::{InputError, Result};
use lambda::analysis::counted::Resampling;
use std::path::PathBuf;

/// A titration as planned.
#[derive(Debug)]
pub struct TitrationPlan {
    ph: Vec<f64>,
    batch: Batch,
}

impl Many for TitrationPlan {
    fn batch(&self) -> &Batch {
        &self.batch
    }

    fn title(&self) -> String {
        format!("titration at {} pH values: {} runs", self.ph.len(), self.batch.children.len())
    }

    fn conclude(&self) -> Result<String> {
        let config = &self.batch.config;
        let settings = config.to_toml()?;
        pka::write(&self.evaluate()?, config.folder(), Beside { settings: Some(&settings), ..Beside::default() })
    }
}

impl TitrationPlan {
    /// Plans the runs of a job; `jobs`, if given, is how many go on at once instead of what the job says.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if the job has no section `[titrate]`.
    pub fn new(config: Config, jobs: Option<u32>) -> Result<TitrationPlan> {
        let Some(titrate) = &config.titrate else {
            let help = "add one, for example [titrate] ph = { min = 2.0, max = 7.0, step = 1.0 }";
            return Err(InputError::new("the job has no section [titrate]", help).in_file(config.path()).into());
        };
        let mut ph = titrate.ph.to_vec();
        ph.sort_by(f64::total_cmp);
        let replicas = titrate.replicas;
        let runs = ph.iter().flat_map(|&ph| (1..=replicas).map(move |replica| (ph, replica)));
        let children: Vec<Child> = runs.map(|(ph, replica)| child(&config, ph, replica)).collect();
        let jobs = jobs.map_or(titrate.jobs, Jobs::Number);
        let kind = if titrate.exchange.is_some() { Kind::Exchange } else { Kind::Titration };
        Ok(TitrationPlan { ph, batch: Batch { config, children, jobs, noun: "runs", command: "titrate", kind } })
    }

    /// The pH values, rising.
    pub fn ph(&self) -> &[f64] {
        &self.ph
    }

    /// Reads the finished runs and evaluates them together.
    ///
    /// # Errors
    /// As [`pka::evaluate`].
    pub fn evaluate(&self) -> Result<Evaluation> {
        let config = &self.batch.config;
        let folders: Vec<PathBuf> = self.batch.children.iter().map(|c| c.config.folder().to_path_buf()).collect();
        let resampling = Resampling { seed: config.dynamics.seed, ..Resampling::default() };
        let equilibration = config.titrate.as_ref().map_or(0.0, crate::config::Titrate::equilibration);
        pka::evaluate(&folders, &Options { equilibration, resampling, ..Options::default() })
    }
}

/// The run at one pH, of one replica.
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
