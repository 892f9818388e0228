//! `analyse`: averages, errors and drift of the energies of runs.

use super::arguments::AnalyseArguments;
use super::job::refuse_a_job;
use octitrate::error::Result;
use octitrate::evaluation::energies;
use octitrate::report::analysis;
use octitrate::workflow::folder::Folder;
use std::process::ExitCode;

/// Evaluates the runs, writes table, plots and page, and prints the table.
///
/// # Errors
/// [`octitrate::error::Error::Input`] if a folder holds no run or a table is damaged or too short, [`octitrate::error::Error::File`] if a result cannot be
/// written.
pub fn analyse(arguments: &AnalyseArguments) -> Result<ExitCode> {
    arguments.folders.iter().try_for_each(|folder| refuse_a_job(folder))?;
    let output = arguments.output.as_ref().unwrap_or(&arguments.folders[0]);
    Folder::foresee_evaluation(output, &arguments.folders, &analysis::RESULTS)?;
    let (runs, left_out) = energies::read(&arguments.folders, arguments.equilibration)?;
    Folder::claim_for_evaluation(output, &arguments.folders, &analysis::RESULTS)?;
    line!("{}", analysis::write(&runs, left_out.as_deref(), output)?);
    Ok(ExitCode::SUCCESS)
}
