//! `pka`: folders of runs are evaluated to pKa values.

use crate::cli::arguments::PkaArguments;
use crate::cli::job::refuse_a_job;
use lambda::analysis::counted::Resampling;
use octitrate::error::{Error, Result};
use octitrate::evaluation::comparison::Comparison;
use octitrate::evaluation::finite_box::{FiniteBox, Solution};
use octitrate::evaluation::{measured, runs};
use octitrate::output::{begun, files, screen};
use octitrate::workflow::folder::{Folder, move_aside};
use octitrate::workflow::pka::{self, Beside, Evaluation, Options};
use std::path::PathBuf;
use std::process::ExitCode;

/// Evaluates the runs, writes tables, plots and report, and prints the short table.
///
/// # Errors
/// [`octitrate::error::Error::Input`] if a folder holds no run or a file is damaged, [`octitrate::error::Error::File`] if one is missing.
pub fn pka(arguments: &PkaArguments) -> Result<ExitCode> {
    arguments.folders.iter().try_for_each(|folder| refuse_a_job(folder))?;
    let folders: Vec<PathBuf> = arguments.folders.iter().map(|folder| runs::of_prepared(folder)).collect();
    let runs = runs::find(&folders)?;
    let output = arguments.output.as_ref().unwrap_or(&folders[0]);
    if !arguments.force {
        Folder::foresee_evaluation(output, &folders, &pka::RESULTS)?;
    }
    let of_the_titrations: Vec<f64> = folders.iter().filter_map(|folder| runs::equilibration(folder)).collect();
    let longest = || of_the_titrations.iter().copied().reduce(f64::max);
    let options = Options {
        equilibration: arguments.equilibration.or_else(longest).unwrap_or(0.0),
        threshold: arguments.threshold,
        resampling: Resampling { draws: arguments.draws, seed: arguments.seed },
        parquet: !arguments.no_parquet,
        ..Options::default()
    };
    let read = |file: &PathBuf| measured::read(file, arguments.entry.as_deref());
    let measured = arguments.compare.as_ref().map(read).transpose()?;
    let asked = arguments.finite_box.as_deref().map(FiniteBox::read).transpose()?;
    let mut evaluation = pka::evaluate(&runs, &options)?;
    evaluation.warnings.extend(not_there(&folders));
    if arguments.equilibration.is_none() {
        evaluation.warnings.extend(of_several_lengths(&of_the_titrations));
    }
    match asked {
        Some(table) => evaluation.solution = Some(Solution::new(&table, &evaluation)?),
        None => of_the_jobs(&mut evaluation, &folders),
    }
    if let Some((file, measured)) = arguments.compare.as_ref().zip(measured) {
        let found = Comparison::new(&evaluation, &measured, file)?;
        evaluation.comparison = Some(Comparison { entry: arguments.entry.clone(), ..found });
    }
    if arguments.force
        && let Some(aside) = move_aside(output, &runs.iter().map(PathBuf::as_path).collect::<Vec<_>>())?
    {
        screen::show(&format!("{} is {} now\n", output.display(), aside.display()));
    }
    Folder::claim_for_evaluation(output, &folders, &pka::RESULTS)?;
    line!("{}", pka::write(&evaluation, output, Beside::default())?);
    Ok(ExitCode::SUCCESS)
}

/// That the longest equilibration of several titrations (ps) counts for all, if they differ.
fn of_several_lengths(all: &[f64]) -> Option<String> {
    let (least, most) = (all.iter().copied().reduce(f64::min)?, all.iter().copied().reduce(f64::max)?);
    (least < most).then(|| {
        format!(
            "the jobs leave out {least} to {most} ps at the start of their runs: {most} ps of every run are left out, and --equilibration takes another time"
        )
    })
}

/// What is said of runs of the titrations in these folders that could not be evaluated.
fn not_there(folders: &[PathBuf]) -> Vec<String> {
    let named = |runs: &[&PathBuf]| match runs {
        [] => None,
        [one] => Some((one.display().to_string(), "has", "is")),
        [first, more @ ..] => Some((format!("{} and {} more", first.display(), more.len()), "have", "are")),
    };
    let (without, lost) = (runs::without_frames(folders), runs::lost(folders));
    let without = named(&without.iter().collect::<Vec<_>>());
    let mut said: Vec<String> = without
        .into_iter()
        .map(|(runs, have, _)| format!("{runs} {have} no frames: evaluated are the other runs of the titration alone"))
        .collect();
    for file in [files::LAMBDA, files::SITES, begun::FILE] {
        let of_file: Vec<&PathBuf> = lost.iter().filter(|(_, lost)| *lost == file).map(|(run, _)| run).collect();
        said.extend(named(&of_file).map(|(runs, have, are)| {
            format!("{runs} {have} lost {file} and {are} left out: put it back, and evaluate again with all runs")
        }));
    }
    said
}

/// pKa values in solution by the table that the jobs of these titrations name; a warning where that cannot be, because nobody asked for it.
fn of_the_jobs(evaluation: &mut Evaluation, folders: &[PathBuf]) {
    let mut named: Vec<PathBuf> = folders.iter().filter_map(|folder| runs::finite_box(folder)).collect();
    named.dedup();
    let tables: Result<Vec<FiniteBox>> = named.iter().map(|path| FiniteBox::read(path)).collect();
    let solution = tables.and_then(|tables| match &tables[..] {
        [] => Ok(None),
        [first, rest @ ..] if rest.iter().all(|table| table.is_like(first)) => {
            Solution::new(first, evaluation).map(Some)
        }
        _ => Err(Error::input("the titrations are in boxes of different sizes", "")),
    });
    match solution {
        Ok(solution) => evaluation.solution = solution,
        Err(error) => evaluation
            .warnings
            .push(format!("{error}: pKa values are those of the box, and --finite-box takes another table")),
    }
}
