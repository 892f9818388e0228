//! `bench`: how fast the program is, and how accurate at that.

mod device_fmm;
mod md;
mod speed;

pub use md::pace;

use crate::cli::arguments::Bench;
use octitrate::backend::choice::Choice;
use octitrate::charges::Sampled;
use octitrate::error::Result;
use std::process::ExitCode;

/// Measures what is asked for.
///
/// # Errors
/// [`octitrate::error::Error::Input`] if the method refuses the settings or a GPU that was asked for cannot be used.
pub fn bench(what: &Bench, device: Choice) -> Result<ExitCode> {
    match what {
        Bench::Fmm(arguments) => speed::speed(arguments, device),
        Bench::Md(arguments) => md::md(arguments, device),
    }
}

/// Prints the errors of a result at some of its charges.
fn show_errors(sampled: &Sampled) -> Result<()> {
    line!();
    line!("at {} charges, against exact sums:", sampled.particles);
    line!("relative error of potentials {:.2e}", sampled.potentials);
    line!("relative error of forces     {:.2e}", sampled.forces);
    Ok(())
}
