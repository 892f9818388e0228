//! What each command does.

mod bench;
mod energy;
mod fmm;
mod info;
mod pka;
mod solve;

use crate::cli::{Cli, Command, Run, Workflow};
use octitrate::config::Config;
use octitrate::device::Choice;
use octitrate::error::{Error, Result};
use octitrate::signals::Stop;
use octitrate::simulation::Simulation;
use octitrate::workflow::many::{self, Many};
use octitrate::workflow::run::{Outcome, run};
use octitrate::workflow::{calibrate, exchange, titrate};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Does what the command line says.
///
/// # Errors
/// Any [`Error`]; its exit status is that of the program.
pub fn execute(cli: Cli) -> Result<ExitCode> {
    threads(cli.threads)?;
    match cli.command {
        Command::Run(arguments) => run_job(&arguments, cli.device),
        Command::Titrate(arguments) => {
            let config = job(&arguments.job, arguments.output.as_deref())?;
            let plan = titrate::Plan::new(config, arguments.jobs)?;
            let exchanges = plan.batch().config.titrate.as_ref().is_some_and(|titrate| titrate.exchange.is_some());
            if exchanges { exchange_ph(&plan, &arguments, cli.device) } else { run_many(&plan, &arguments, cli.device) }
        }
        Command::Calibrate(arguments) => {
            let config = job(&arguments.job, arguments.output.as_deref())?;
            run_many(&calibrate::Plan::new(config, arguments.jobs)?, &arguments, cli.device)
        }
        Command::Pka(arguments) => pka::pka(&arguments),
        Command::Energy(arguments) => energy::energy(&arguments, cli.device),
        Command::Check(arguments) => energy::check(&arguments, cli.device),
        Command::Info => info::info(cli.device),
        Command::Bench(what) => bench::bench(&what, cli.device),
        Command::Fmm(arguments) => fmm::fmm(&arguments, cli.device),
    }
}

/// Sets the number of threads of everything that follows.
fn threads(count: Option<u32>) -> Result<()> {
    let Some(count) = count else { return Ok(()) };
    let built = rayon::ThreadPoolBuilder::new().num_threads(count as usize).build_global();
    built.map_err(|e| Error::input(format!("{count} threads cannot be started: {e}"), "take fewer"))
}

/// Reads a job; its results go to `output` if given.
fn job(path: &Path, output: Option<&Path>) -> Result<Config> {
    let mut config = Config::load(path)?;
    if let Some(folder) = output {
        config.output.folder = std::path::absolute(folder).map_err(|e| Error::file(folder, "use the folder", e))?;
    }
    Ok(config)
}

fn signals() -> Result<Stop> {
    Stop::on_signals().map_err(|e| Error::input(format!("signals cannot be handled: {e}"), ""))
}

fn executable() -> Result<PathBuf> {
    std::env::current_exe().map_err(|e| Error::input(format!("this program cannot find itself: {e}"), ""))
}

fn run_job(arguments: &Run, device: Choice) -> Result<ExitCode> {
    let config = job(&arguments.job, arguments.output.as_deref())?;
    for (name, present) in [("titrate", config.titrate.is_some()), ("calibrate", config.calibrate.is_some())] {
        if present {
            let message = format!("the job is many runs, it has a section [{name}]");
            return Err(config.error_at(
                name,
                message,
                format!("start it with: octitrate {name} {}", arguments.job.display()),
            ));
        }
    }
    if config.steps() == 0 && config.minimise.is_none() {
        return Err(config.error_at(
            "dynamics",
            "the run has no length",
            "set dynamics.duration, for example \"10 ps\"",
        ));
    }
    let stop = signals()?;
    if arguments.leash {
        stop.also_when_stdin_ends();
    }
    let mut say = |line: &str| {
        if !arguments.quiet {
            warn(line);
        }
    };
    let mut simulation = Simulation::chosen(&config, &mut device.open()?, &mut say)?;
    match run(&config, &mut simulation, &stop, arguments.quiet)? {
        Outcome::Finished | Outcome::AlreadyFinished => Ok(ExitCode::SUCCESS),
        Outcome::Stopped(_) => Ok(ExitCode::from(stop.exit_status())),
    }
}

fn run_many(plan: &dyn Many, arguments: &Workflow, device: Choice) -> Result<ExitCode> {
    // What the first run would refuse is better said before any is started, and in terms of this job.
    let first = plan.batch().first();
    if arguments.slurm {
        Simulation::new(first)?;
        print!("{}", many::slurm(plan, &executable()?, device)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut chosen = device.open()?;
    Simulation::chosen(first, &mut chosen, &mut warn)?;
    let stop = signals()?;
    let finished = many::run(plan, &executable()?, &chosen, &stop)?;
    Ok(if finished { ExitCode::SUCCESS } else { ExitCode::from(stop.exit_status()) })
}

/// A titration whose runs swap their pH: one process.
fn exchange_ph(plan: &titrate::Plan, arguments: &Workflow, device: Choice) -> Result<ExitCode> {
    let config = &plan.batch().config;
    if arguments.slurm {
        let help = "submit the command itself, without --slurm";
        return Err(config.error_at("titrate.exchange", "runs that swap their pH are one process", help));
    }
    let mut chosen = device.open()?;
    Simulation::chosen(plan.batch().first(), &mut chosen, &mut warn)?;
    let stop = signals()?;
    let finished = exchange::titrate(plan, plan.ph(), &chosen, &stop)?;
    Ok(if finished { ExitCode::SUCCESS } else { ExitCode::from(stop.exit_status()) })
}

/// A line for the person, not for the results.
fn warn(line: &str) {
    eprintln!("warning: {line}");
}
