//! Arguments of `calibrate`.

use super::WorkflowOptions;
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;

/// `calibrate`: of a job, or of model compounds.
#[derive(Debug, Args)]
pub struct CalibrateArguments {
    /// The job.
    #[arg(value_name = "JOB.toml", required_unless_present_any = ["residue", "force_field", "water", "pair_corrections", "temperature", "library"])]
    pub job: Option<PathBuf>,
    /// Folder of the results, instead of output.folder of the job; with --residue that of the model compounds, instead of FORCE_FIELD-WATER.
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// What is built without a job.
    #[command(flatten)]
    pub compounds: Compounds,
    /// How the runs go on.
    #[command(flatten, next_help_heading = "How the runs go on")]
    pub how: WorkflowOptions,
}

/// Model compounds that the Python package builds.
#[derive(Debug, Args)]
#[command(next_help_heading = "Without a job")]
pub struct Compounds {
    /// Residues to calibrate, by commas: TYR, "nterm ARG", "cterm LEU", "cterm side GLU", water.
    #[arg(long, value_name = "LIST", conflicts_with_all = ["job", "slurm", "hyperqueue", "force"])]
    pub residue: Option<String>,
    /// Force field: charmm36m-ecc (default), charmm36m, ff19SB, ff14SB or amber99sb-ildn.
    #[arg(long, value_name = "NAME", requires = "residue", conflicts_with = "job")]
    pub force_field: Option<String>,
    /// Water model, instead of that of the force field.
    #[arg(long, value_name = "NAME", requires = "residue", conflicts_with = "job")]
    pub water: Option<String>,
    /// Weaker salt bridges, as in `prepare`: cufix.
    #[arg(long, value_name = "NAME", requires = "residue", conflicts_with = "job")]
    pub pair_corrections: Option<String>,
    /// Temperature in K, instead of 300.
    #[arg(long, value_name = "K", requires = "residue", conflicts_with = "job")]
    pub temperature: Option<String>,
    /// Library that gets the entries, instead of the one that `prepare` reads by itself.
    #[arg(long, value_name = "FOLDER", requires = "residue", conflicts_with = "job")]
    pub library: Option<PathBuf>,
}

impl CalibrateArguments {
    /// What was asked for, as the Python package takes it.
    pub fn words(&self) -> Vec<OsString> {
        let asked = &self.compounds;
        let texts = [
            ("--residue", &asked.residue),
            ("--force-field", &asked.force_field),
            ("--water", &asked.water),
            ("--pair-corrections", &asked.pair_corrections),
            ("--temperature", &asked.temperature),
        ];
        let texts = texts.into_iter().filter_map(|(name, text)| Some((name, OsString::from(text.as_ref()?))));
        let paths = [("--output", &self.output), ("--library", &asked.library)];
        let paths = paths.into_iter().filter_map(|(name, path)| Some((name, OsString::from(path.as_ref()?))));
        texts
            .chain(paths)
            .map(|(name, value)| {
                // in one word, so that a value that begins with a dash is one
                let mut word = OsString::from(name);
                word.push("=");
                word.push(value);
                word
            })
            .collect()
    }
}
