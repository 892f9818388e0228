//! `titrate` and `calibrate`: jobs that are made of many runs.

use super::arguments::WorkflowArguments;
use super::job::{check_is_one_run, executable, job, make_room, signals, warn, with_results_in};
use octitrate::backend::choice::{Choice, Gpus};
use octitrate::config::Config;
use octitrate::error::{Error, Result};
use octitrate::invocation::quoted;
use octitrate::output::progress::Log;
use octitrate::output::screen;
use octitrate::propagate::Propagate;
use octitrate::signals::Stop;
use octitrate::simulation::Simulation;
use octitrate::workflow::calibrate::CalibrationPlan;
use octitrate::workflow::children::{Child, Queue, Scheduler, alone};
use octitrate::workflow::exchange;
use octitrate::workflow::many::{self, Host, Many};
use octitrate::workflow::starts;
use octitrate::workflow::titrate::TitrationPlan;
use std::path::Path;
use std::process::ExitCode;

/// A command with its arguments.
struct Call<'a> {
    arguments: &'a WorkflowArguments,
    device: Choice,
    threads: Option<u32>,
    stop: &'a Stop,
}

/// Titrates: independent runs, or runs that swap their pH in this process. Structures that it begins with and jobs beside it make come first.
///
/// # Errors
/// A job that is not valid or has no section `[titrate]`; as [`many::run`] and [`exchange::titrate`].
pub fn titrate(arguments: &WorkflowArguments, device: Choice, threads: Option<u32>) -> Result<ExitCode> {
    let stop = signals(arguments.how.limits.max_hours, false)?;
    let call = Call { arguments, device, threads, stop: &stop };
    // A script for a queue is written at once or not at all; that of one job can be written before there are structures, which it makes itself.
    if arguments.how.slurm
        && let Some(config) = starts::without(&arguments.job)
        && config.titrate.as_ref().is_some_and(|titrate| titrate.exchange.is_some())
    {
        return call.in_one_job(config);
    }
    if arguments.scheduler().is_none() && !call.make_starts()? {
        return Ok(ExitCode::from(stop.exit_status()));
    }
    let plan = TitrationPlan::new(job(&arguments.job, arguments.output.as_deref())?, arguments.how.jobs)?;
    let config = &plan.batch().config;
    if config.titrate.as_ref().is_none_or(|titrate| titrate.exchange.is_none()) {
        return independent(&plan, &call);
    }
    if let Some((_, option)) = arguments.scheduler() {
        let help = format!("start the command itself, without {option}; --slurm prints a script of one job that does");
        return Err(config.error_at("titrate.exchange", "runs that swap their pH go on in one process", help));
    }
    let executable = executable()?;
    compute(&plan, &call, &executable, |host, stop| exchange::titrate(&plan, host, stop))
}

/// Calibrates a job: windows, then rounds of free runs; until `stop` is asked for.
///
/// # Errors
/// A job that is not valid or has no section `[calibrate]`; as [`many::run`].
pub fn calibrate(arguments: &WorkflowArguments, device: Choice, threads: Option<u32>, stop: &Stop) -> Result<ExitCode> {
    let config = job(&arguments.job, arguments.output.as_deref())?;
    let call = Call { arguments, device, threads, stop };
    independent(&CalibrationPlan::new(config, arguments.how.jobs)?, &call)
}

/// Runs that know nothing of each other, or the script by which a queue runs them.
fn independent(plan: &dyn Many, call: &Call) -> Result<ExitCode> {
    let executable = executable()?;
    let config = &plan.batch().config;
    if let Some((scheduler, _)) = call.arguments.scheduler() {
        let first = Simulation::new(plan.batch().first())?;
        plan.check_sites(&first.describe())?;
        let identity = first.identity();
        make_room(config, config.folder(), call.arguments.how.limits.force)?;
        // The runs of a bundle share the cores of a task: they launch kernels, and mostly wait.
        let few = if matches!(call.device, Choice::Cuda(_)) { 8 } else { 1 };
        let of_task = match call.device {
            Choice::Cuda(_) => Choice::Cuda(Gpus::one(0)),
            _ => Choice::Cpu,
        };
        let command = plan.batch().command;
        let (again, within) =
            (call.again(&executable, command, call.device)?, call.again(&executable, command, of_task)?);
        let queue = Queue {
            scheduler,
            executable: &executable,
            again: &again,
            within: &within,
            device: call.device,
            threads: call.threads.unwrap_or(few),
            jobs: plan.batch().jobs,
            max_hours: call.arguments.how.limits.max_hours,
        };
        screen::print(&many::queued(plan, &queue, &identity)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    compute(plan, call, &executable, |host, stop| many::run(plan, host, stop))
}

/// Opens the device, tries the first run on it, and does the work until it is finished or a signal asks it to stop.
///
/// What the first run would refuse is better said before any is started, and in terms of this job.
fn compute(
    plan: &dyn Many,
    call: &Call,
    executable: &Path,
    work: impl FnOnce(&Host, &Stop) -> Result<bool>,
) -> Result<ExitCode> {
    let (config, limits) = (&plan.batch().config, call.arguments.how.limits);
    let mut place = call.device.open_all()?;
    let first = Simulation::chosen(plan.batch().first(), &mut place, &mut warn)?;
    let (identity, description) = (first.identity(), first.describe());
    drop(first);
    make_room(config, config.folder(), limits.force)?;
    let host = Host {
        executable,
        place: &place,
        identity: &identity,
        description: &description,
        quiet: call.arguments.how.quiet,
    };
    let finished = work(&host, call.stop)?;
    Ok(if finished { ExitCode::SUCCESS } else { ExitCode::from(call.stop.exit_status()) })
}

impl WorkflowArguments {
    /// Whose script is wanted, and the option that asked for it.
    fn scheduler(&self) -> Option<(Scheduler, &'static str)> {
        let slurm = self.how.slurm.then_some((Scheduler::Slurm, "--slurm"));
        slurm.or(self.how.hyperqueue.then_some((Scheduler::HyperQueue, "--hyperqueue")))
    }
}

impl Call<'_> {
    /// Runs the jobs that make structures which the titration begins with, as far as these are not there; false if asked to stop before the end.
    fn make_starts(&self) -> Result<bool> {
        let jobs = starts::missing(&self.arguments.job);
        if jobs.is_empty() || starts::without(&self.arguments.job).is_none() {
            return Ok(true);
        }
        let children = jobs.iter().map(|path| {
            let config = job(path, None)?;
            check_is_one_run(&config)?;
            Ok(Child::new(path.file_stem().unwrap_or_default().to_string_lossy().into_owned(), config))
        });
        let children = children.collect::<Result<Vec<Child>>>()?;
        let Some(first) = children.first() else { return Ok(true) };
        let mut place = self.device.open_all()?;
        drop(Simulation::chosen(&first.config, &mut place, &mut warn)?);
        let mut log = Log::on_screen(self.arguments.how.quiet);
        let names: Vec<&str> = children.iter().map(|child| child.name.as_str()).collect();
        log.line(&format!("structures to begin with are made first, by runs: {}", names.join(", ")))?;
        let done = many::side_by_side(&children, &executable()?, &place, &mut log, self.stop)?;
        if !done {
            log.line("the same command continues")?;
        }
        Ok(done)
    }

    /// Prints the script for Slurm of a titration whose runs swap their pH, after what the first run would refuse. Nothing is written.
    fn in_one_job(&self, mut config: Config) -> Result<ExitCode> {
        // Structures that the job makes first need not be there yet; all others must.
        if starts::missing(&self.arguments.job).is_empty() {
            config = Config::load(&self.arguments.job)?;
        }
        let config = with_results_in(self.arguments.output.as_deref(), config)?;
        let plan = TitrationPlan::new(config, self.arguments.how.jobs)?;
        plan.check_sites(&Simulation::new(plan.batch().first())?.describe())?;
        let (name, limits) = (plan.batch().command, self.arguments.how.limits);
        // Device, threads and the limit of time are those of the job of Slurm, whose end is known.
        let mut bare = self.arguments.clone();
        bare.how.limits.max_hours = None;
        let call = Call { arguments: &bare, device: Choice::Auto, threads: None, stop: self.stop };
        let command = call.again(&executable()?, name, Choice::Auto)?;
        screen::print(&alone(name, &command, self.device, self.threads.unwrap_or(8), limits.max_hours))?;
        Ok(ExitCode::SUCCESS)
    }

    /// The command as it was called, to be called again from anywhere on this device; without `--slurm`, `--hyperqueue` and `--force`.
    fn again(&self, executable: &Path, command: &str, device: Choice) -> Result<String> {
        let absolute = |path: &Path| {
            let path = std::path::absolute(path).map_err(|e| Error::file(path, "find", e))?;
            Ok::<_, Error>(quoted(&path.display().to_string()))
        };
        let mut words = vec![absolute(executable)?, command.into(), absolute(&self.arguments.job)?];
        if let Some(output) = &self.arguments.output {
            words.extend(["--output".into(), absolute(output)?]);
        }
        let numbers = [("--jobs", self.arguments.how.jobs), ("--threads", self.threads)];
        for (name, number) in numbers.into_iter().filter_map(|(name, number)| Some((name, number?))) {
            words.extend([name.to_string(), number.to_string()]);
        }
        if device != Choice::Auto {
            words.extend(["--device".into(), device.to_string()]);
        }
        if let Some(hours) = self.arguments.how.limits.max_hours {
            words.extend(["--max-hours".into(), hours.to_string()]);
        }
        Ok(words.join(" "))
    }
}
