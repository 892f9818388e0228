//! The program `octitrate`: the command line over the engine.
//!
//! Exit status: 0 done, 2 input or files, 3 physics, 130 or 143 stopped by a signal with the checkpoint written.

#![forbid(unsafe_code)]

mod cli;

fn main() -> std::process::ExitCode {
    cli::main()
}
