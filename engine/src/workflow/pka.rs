//! `pka`: from folders of runs to pKa values and their report, whoever made the runs. `titrate` ends with the same evaluation.

pub use crate::evaluation::pka::{Evaluation, Options, SIGNIFICANT};
pub use crate::report::pka::{Beside, Measured, RESULTS, write};

use crate::error::{Error, Result};
use crate::evaluation;
use crate::evaluation::reduced::Reduced;
use crate::evaluation::runs::Run;
use crate::output::parquet;
use std::path::PathBuf;

/// Reads the runs in these folders, writes their Parquet files if `options` want them, and evaluates them together. The warnings say why there are
/// none, or no `u_nk.parquet`: runs of others, or of an archive, can be evaluated although nothing can be written beside them.
///
/// # Errors
/// Files that are missing or damaged, and as [`evaluation::pka::evaluate`].
pub fn evaluate(folders: &[PathBuf], options: &Options) -> Result<Evaluation> {
    let runs = folders.iter().map(|folder| Run::read(folder)).collect::<Result<Vec<_>>>()?;
    let missing = match options.parquet.then(|| write_beside(&runs, options.equilibration)) {
        Some(Err(error @ Error::File { .. })) => Some(format!("{error}: the runs get no Parquet files")),
        Some(written) => written?,
        None => None,
    };
    let mut evaluation = evaluation::pka::evaluate(runs, options)?;
    evaluation.warnings.extend(missing);
    Ok(evaluation)
}

/// Writes the table of each run once more, and V_pH at every pH of the frames that are evaluated; a sentence if the runs are not states of one system.
fn write_beside(runs: &[Run], equilibration: f64) -> Result<Option<String>> {
    for run in runs {
        parquet::write(&run.folder, &run.series, &run.sites)?;
    }
    let reduced = match Reduced::new(runs)? {
        Ok(reduced) => reduced,
        Err(reason) => return Ok(Some(format!("no {} is written: {reason}", parquet::U_NK))),
    };
    for (run, energies) in runs.iter().zip(&reduced.energies) {
        let (time, from) = (&run.series.time, run.cut(equilibration).max(run.sites.held));
        let first = time.partition_point(|time| *time <= from);
        let energies: Vec<Vec<f64>> = energies.iter().map(|state| state[first..].to_vec()).collect();
        parquet::write_reduced(&run.folder, (&time[first..], run.ph), (&reduced.ph, &energies), run.sites.temperature)?;
    }
    Ok(None)
}
