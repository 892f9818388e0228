//! The program `octitrate`: the command line over the engine.
//!
//! Exit status: 0 done, 2 input or files, 3 physics, 130 or 143 stopped by a signal with the checkpoint written.

mod cli;
mod commands;
mod show;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    match commands::execute(cli::Cli::parse()) {
        Ok(code) => code,
        Err(error) => {
            show::error(&error);
            ExitCode::from(error.exit_status())
        }
    }
}
