//! `pka`: folders of runs are evaluated to pKa values.

use crate::cli::arguments::PkaArguments;
use lambda::analysis::counted::Resampling;
use octitrate::error::Result;
use octitrate::evaluation::comparison::Comparison;
use octitrate::evaluation::finite_box::{FiniteBox, Solution};
use octitrate::evaluation::{measured, runs};
use octitrate::output::screen;
use octitrate::workflow::folder::{Folder, move_aside};
use octitrate::workflow::pka::{self, Beside, Options};
use std::path::PathBuf;
use std::process::ExitCode;

/// Evaluates the runs, writes tables, plots and report, and prints the short table.
///
/// # Errors
/// [`octitrate::error::Error::Input`] if a folder holds no run or a file is damaged, [`octitrate::error::Error::File`] if one is missing.
pub fn pka(arguments: &PkaArguments) -> Result<ExitCode> {
    let runs = runs::find(&arguments.folders)?;
    let of_the_titration = || arguments.folders.iter().find_map(|folder| runs::equilibration(folder));
    let options = Options {
        equilibration: arguments.equilibration.or_else(of_the_titration).unwrap_or(0.0),
        threshold: arguments.threshold,
        resampling: Resampling { draws: arguments.draws, seed: arguments.seed },
        parquet: !arguments.no_parquet,
        ..Options::default()
    };
    let read = |file: &PathBuf| measured::read(file, arguments.entry.as_deref());
    let measured = arguments.compare.as_ref().map(read).transpose()?;
    let of_the_job = || arguments.folders.iter().find_map(|folder| runs::finite_box(folder));
    let table = arguments.finite_box.clone().or_else(of_the_job);
    // A table that the job names may have stayed where the runs were made.
    let (table, gone) = match table {
        Some(path) if arguments.finite_box.is_none() && !path.exists() => (None, Some(path)),
        table => (table.as_deref().map(FiniteBox::read).transpose()?, None),
    };
    let mut evaluation = pka::evaluate(&runs, &options)?;
    evaluation.solution = table.map(|table| Solution::new(&table, &evaluation)).transpose()?;
    if let Some(path) = gone {
        let sentence =
            "which the job names, is not there: pKa values are those of the box; --finite-box says where it is";
        evaluation.warnings.push(format!("{}, {sentence}", path.display()));
    }
    if let Some((file, measured)) = arguments.compare.as_ref().zip(measured) {
        evaluation.comparison = Some(Comparison::new(&evaluation, &measured, file)?);
    }
    let output = arguments.output.as_ref().unwrap_or(&arguments.folders[0]);
    if arguments.force
        && let Some(aside) = move_aside(output, &runs.iter().map(PathBuf::as_path).collect::<Vec<_>>())?
    {
        screen::show(&format!("{} is {} now\n", output.display(), aside.display()));
    }
    Folder::claim_for_evaluation(output, &arguments.folders, &pka::RESULTS)?;
    line!("{}", pka::write(&evaluation, output, Beside::default())?);
    Ok(ExitCode::SUCCESS)
}
