//! The program `octitrate`: the command line over the engine.
//!
//! Exit status: see [`octitrate::error`].

#![forbid(unsafe_code)]
// `output::screen` writes without a panic.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
