//! `pka`: from folders of runs to pKa values and their report, whoever made the runs. `titrate` ends with the same evaluation.

pub use crate::evaluation::pka::{Evaluation, Options, SIGNIFICANT};
pub use crate::report::pka::{RESULTS, write};

use crate::error::Result;
use crate::evaluation;
use crate::evaluation::runs::Run;
use crate::output::parquet;
use std::path::PathBuf;

/// Reads the runs in these folders, writes their Parquet files if `options` want them, and evaluates them together.
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
    evaluation::pka::evaluate(runs, options)
}
