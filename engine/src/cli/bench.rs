//! `bench`: how fast, how accurate.

mod device_fmm;
mod device_sites;
mod md;
mod site_charges;
mod sites;
mod speed;

use crate::cli::arguments::Bench;
use octitrate::device::Choice;
use octitrate::error::Result;
use std::process::ExitCode;

/// Measures what is asked for.
///
/// # Errors
/// Settings that the method refuses, files that cannot be written.
pub fn bench(what: &Bench, device: Choice) -> Result<ExitCode> {
    match what {
        Bench::Fmm(arguments) => speed::speed(arguments, device),
        Bench::Md(arguments) => md::md(arguments, device),
        Bench::Sites(arguments) => sites::sites(arguments, device),
    }
}
