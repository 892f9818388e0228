//! `bench`: how fast, how accurate.

mod accuracy;
mod device_fmm;
mod device_sites;
mod m2l;
mod md;
mod methods;
mod plots;
mod scaling;
mod sites;
mod speed;
mod systems;

use crate::cli::Bench;
use octitrate::device::Choice;
use octitrate::error::{Error, Result};
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
        Bench::M2l(arguments) => m2l::m2l(arguments, device),
        Bench::Methods(arguments) => cpu("bench methods", device).and_then(|()| methods::methods(arguments)),
        Bench::Plots(arguments) => cpu("bench plots", device).and_then(|()| plots::plots(arguments)),
    }
}

/// Refuses a GPU that would not be used.
fn cpu(command: &str, device: Choice) -> Result<()> {
    match device {
        Choice::Cuda(_) => {
            let help = "bench fmm, bench m2l, bench sites and bench md measure a GPU";
            Err(Error::input(format!("--device {device}: {command} measures the CPU"), help))
        }
        Choice::Auto | Choice::Cpu => Ok(()),
    }
}
