//! `pka`: pKa values from runs.

use crate::cli::Pka;
use lambda::analysis::counted::Resampling;
use octitrate::error::Result;
use octitrate::workflow::pka::{self, Options};
use octitrate::workflow::pka_runs;
use std::process::ExitCode;

/// Evaluates the runs, writes tables, plots and report, and prints the short table.
///
/// # Errors
/// Folders without runs, files that are missing or damaged.
pub fn pka(arguments: &Pka) -> Result<ExitCode> {
    let folders = pka_runs::find(&arguments.folders)?;
    let of_the_titration = || arguments.folders.iter().find_map(|folder| pka_runs::equilibration(folder));
    let options = Options {
        equilibration: arguments.equilibration.or_else(of_the_titration).unwrap_or(0.0),
        threshold: arguments.threshold,
        resampling: Resampling { draws: arguments.draws, seed: arguments.seed },
        parquet: !arguments.no_parquet,
    };
    let evaluation = pka::evaluate(&folders, &options)?;
    let output = arguments.output.as_ref().unwrap_or(&arguments.folders[0]);
    println!("{}", pka::write(&evaluation, output, None)?);
    Ok(ExitCode::SUCCESS)
}
