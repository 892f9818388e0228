//! `pka`: from folders of runs to pKa values and their report, whoever made the runs. `titrate` ends with the same evaluation.

pub use crate::evaluation::pka::{Evaluation, Options, SIGNIFICANT};
pub use crate::report::pka::{Beside, Measured, RESULTS, write};

use crate::error::Result;
use crate::evaluation;
use crate::evaluation::reduced::Reduced;
use crate::evaluation::runs::Run;
use crate::output::parquet;
use std::path::PathBuf;

/// Reads the runs in these folders, writes their Parquet files if `options` want them, and evaluates them together. The warnings say why there is
/// no `u_nk.parquet`, if there is none.
///
/// # Errors
/// Files that are missing or damaged, and as [`evaluation::pka::evaluate`].
pub fn evaluate(folders: &[PathBuf], options: &Options) -> Result<Evaluation> {
    let mut runs = Vec::new();
    for folder in folders {
        let run = Run::read(folder)?;
        if options.parquet {
            parquet::write(folder, &run.series, &run.sites)?;
        }
        runs.push(run);
    }
    let missing = if options.parquet { write_reduced(&runs)? } else { None };
    let mut evaluation = evaluation::pka::evaluate(runs, options)?;
    evaluation.warnings.extend(missing);
    Ok(evaluation)
}

/// Writes V_pH at every pH for each run; a sentence if the runs are not states of one system.
fn write_reduced(runs: &[Run]) -> Result<Option<String>> {
    let reduced = match Reduced::new(runs)? {
        Ok(reduced) => reduced,
        Err(reason) => return Ok(Some(format!("no {} is written: {reason}", parquet::U_NK))),
    };
    for (run, energies) in runs.iter().zip(&reduced.energies) {
        let frames = (&run.series.time[..], run.ph);
        parquet::write_reduced(&run.folder, frames, (&reduced.ph, energies), run.sites.temperature)?;
    }
    Ok(None)
}
