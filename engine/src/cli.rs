//! The command line over the engine: what can be written on it, what each command does, and errors as a person sees them.

/// Prints a text to standard output; the function that calls it returns a [`octitrate::Result`].
macro_rules! part {
    ($($text:tt)*) => { octitrate::output::screen::print(&format!($($text)*))? };
}

/// Prints a line like [`part`].
macro_rules! line {
    () => { part!("\n") };
    ($($text:tt)*) => { part!("{}\n", format_args!($($text)*)) };
}

mod analyse;
mod arguments;
mod bench;
mod calibrate;
mod check;
mod drift;
mod energy;
mod fmm;
mod info;
mod job;
mod many;
mod pka;
mod prepare;
mod rerun;
mod run;
mod schema;
mod settings;
mod show;

use arguments::{Cli, Command};
use clap::Parser;
use octitrate::error::{Error, Result};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::ffi::OsString;
use std::process::ExitCode;

/// Does what the command line says, and shows the error if it cannot be done; the exit status of the program.
pub fn main() -> ExitCode {
    match execute(Cli::parse_from(words(std::env::args_os()))) {
        Ok(code) => code,
        Err(error) => {
            show::error(&error);
            ExitCode::from(error.exit_status())
        }
    }
}

/// The words of the command line. `help prepare` and `help site` become `prepare --help` and `site --help`, because the Python package knows their arguments.
fn words(given: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = given.into_iter().collect();
    if let [_, help, command] = &mut words[..]
        && *help == "help"
        && (*command == "prepare" || *command == "site")
    {
        *help = std::mem::replace(command, "--help".into());
    }
    words
}

fn execute(cli: Cli) -> Result<ExitCode> {
    threads(cli.threads)?;
    open_files();
    match cli.command {
        Command::Prepare(arguments) => prepare::prepare(&arguments),
        Command::Site(arguments) => prepare::site(&arguments),
        Command::Run(arguments) => run::run(&arguments, cli.device),
        Command::Titrate(arguments) => many::titrate(&arguments, cli.device, cli.threads),
        Command::Calibrate(arguments) => calibrate::calibrate(&arguments, cli.device, cli.threads),
        Command::Pka(arguments) => pka::pka(&arguments),
        Command::Analyse(arguments) => analyse::analyse(&arguments),
        Command::Drift(arguments) => drift::drift(&arguments, cli.device),
        Command::Energy(arguments) => energy::energy(&arguments, cli.device),
        Command::Rerun(arguments) => rerun::rerun(&arguments, cli.device),
        Command::Check(arguments) => check::check(&arguments, cli.device),
        Command::Schema(arguments) => schema::schema(&arguments),
        Command::Info(arguments) => info::info(&arguments, cli.device),
        Command::Bench(what) => bench::bench(&what, cli.device),
        Command::Fmm(arguments) => fmm::fmm(&arguments, cli.device),
    }
}

/// Allows as many open files as the system does: walkers of a replica exchange have three each, and the usual limit of 1024 ends at 340 of them. Where it
/// cannot be raised, the file that is one too many says so.
fn open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Sets the number of threads of everything that follows.
fn threads(count: Option<u32>) -> Result<()> {
    let Some(count) = count else { return Ok(()) };
    let built = rayon::ThreadPoolBuilder::new().num_threads(count as usize).build_global();
    built.map_err(|e| Error::input(format!("{count} threads cannot be started: {e}"), "take fewer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `octitrate help prepare` showed that there are arguments, and not which.
    #[test]
    fn help_about_a_command_of_the_python_package_is_asked_of_it() {
        let words = |text: &str| words(text.split(' ').map(OsString::from)).join(" ".as_ref());
        assert_eq!(words("octitrate help prepare"), "octitrate prepare --help");
        assert_eq!(words("octitrate help site"), "octitrate site --help");
        for text in ["octitrate help titrate", "octitrate prepare help", "octitrate help", "octitrate help prepare x"] {
            assert_eq!(words(text), text);
        }
    }
}
