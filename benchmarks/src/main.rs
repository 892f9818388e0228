//! The program `octitrate-benchmarks`: methods for Coulomb interactions side by side. Nothing of it is part of octitrate itself; what octitrate
//! uses is measured by `octitrate bench`.

#![forbid(unsafe_code)]

mod accuracy;
mod cli;
mod lists;
mod m2l;
mod methods;
mod plots;
mod results;
mod salt;
mod scaling;
mod schemes;
mod sizes;

use clap::Parser;
use cli::{Cli, Command};
use octitrate::backend::choice::Choice;
use octitrate::error::{Error, Result};
use std::process::ExitCode;

fn main() -> ExitCode {
    match execute(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.exit_status())
        }
    }
}

fn execute(cli: &Cli) -> Result<()> {
    if let Some(count) = cli.threads {
        let built = rayon::ThreadPoolBuilder::new().num_threads(count as usize).build_global();
        built.map_err(|e| Error::input(format!("{count} threads cannot be started: {e}"), "take fewer"))?;
    }
    match &cli.command {
        Command::M2l(arguments) => schemes::schemes(arguments, cli.device),
        Command::Methods(arguments) => cpu("methods", cli.device).and_then(|()| methods::methods(arguments)),
        Command::Lists(arguments) => cpu("lists", cli.device).and_then(|()| lists::lists(arguments)),
        Command::Plots(arguments) => cpu("plots", cli.device).and_then(|()| plots::plots(arguments)),
    }
}

/// Refuses a GPU that would not be used.
fn cpu(command: &str, device: Choice) -> Result<()> {
    match device {
        Choice::Cuda(_) => {
            let help = "m2l measures a GPU, and so do octitrate bench fmm and bench md";
            Err(Error::input(format!("--device {device}: {command} measures the CPU"), help))
        }
        Choice::Auto | Choice::Cpu => Ok(()),
    }
}
