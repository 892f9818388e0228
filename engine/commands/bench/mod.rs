//! `bench`: how fast, how accurate.

mod accuracy;
mod methods;
mod plots;
mod scaling;
mod sites;
mod speed;
mod systems;

use crate::cli::Bench;
use octitrate::error::Result;
use std::process::ExitCode;

/// Measures what is asked for.
///
/// # Errors
/// Settings that the method refuses, files that cannot be written.
pub fn bench(what: &Bench) -> Result<ExitCode> {
    match what {
        Bench::Fmm(arguments) => speed::speed(arguments),
        Bench::Sites(arguments) => sites::sites(arguments),
        Bench::Methods(arguments) => methods::methods(arguments),
        Bench::Plots(arguments) => plots::plots(arguments),
    }
}
