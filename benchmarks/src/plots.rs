//! `plots`: everything on the results page of the FMM, benchmarks/RESULTS.md.

use crate::cli::Plots;
use crate::results::Folder;
use crate::{accuracy, methods, scaling};
use octitrate::charges::Precision;
use octitrate::error::Result;

/// Measures and draws everything.
///
/// # Errors
/// Files that cannot be written.
pub fn plots(arguments: &Plots) -> Result<()> {
    let folder = Folder::new(arguments.output.clone())?;
    accuracy::accuracy(&folder, arguments.particles as usize, arguments.highest_order)?;
    scaling::scaling(&folder, arguments.largest as usize)?;
    methods::crossover(&folder, arguments.largest as usize, 8, Precision::F32)
}
