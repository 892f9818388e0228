//! `pka`: folders of runs are evaluated to pKa values.

use crate::cli::arguments::PkaArguments;
use lambda::analysis::counted::Resampling;
use octitrate::error::Result;
use octitrate::evaluation::runs;
use octitrate::workflow::pka::{self, Options};
use std::process::ExitCode;

/// Evaluates the runs, writes tables, plots and report, and prints the short table.
///
/// # Errors
/// [`octitrate::error::Error::Input`] if a folder holds no run or a file is damaged, [`octitrate::error::Error::File`] if one is missing.
pub fn pka(arguments: &PkaArguments) -> Result<ExitCode> {
    let folders = runs::find(&arguments.folders)?;
    let of_the_titration = || arguments.folders.iter().find_map(|folder| runs::equilibration(folder));
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
