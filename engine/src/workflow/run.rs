//! One run: from the job, or from its checkpoint, to its last step, with outputs, checkpoints and signals on the way.
//!
//! A checkpoint is made when everything due at its step has been written. A continued run therefore starts by moving on,
//! and a run in pieces leaves the same files as a run in one.

use super::folder::{Folder, Kind};
use crate::atomic::write_atomic;
use crate::checkpoint::{Checkpoint, Found, Identity};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::frame::{Upto, Wanted};
use crate::output::files::{self, Files, Written};
use crate::output::progress::{Log, Progress, duration};
use crate::output::sites;
use crate::propagate::Propagate;
use crate::record::{are, counted};
use crate::signals::Stop;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All steps are done now.
    Finished,
    /// All steps had been done by an earlier run.
    AlreadyFinished,
    /// The run was asked to stop at this step, and its checkpoint is written.
    Stopped(u64),
}

/// Runs a job to its end, or until asked to stop. Messages go to the log, and to the screen unless `quiet`.
///
/// # Errors
/// [`Error::Physics`] if the simulation cannot go on, with the frame in `failed.gro`; [`Error::File`] if a result cannot be written;
/// [`Error::Input`] if the checkpoint in the folder is of another job, or another program is at work there.
pub fn run(config: &Config, simulation: &mut dyn Propagate, stop: &Stop, quiet: bool) -> Result<Outcome> {
    let folder = config.folder();
    let mut held = Folder::claim(folder, Kind::Run)?;
    let identity = simulation.identity();
    let mut found = <Checkpoint>::load(folder)?;
    match &found {
        Some(Found { checkpoint, .. }) => {
            checkpoint.check_identity(&identity, folder)?;
            let step = checkpoint.state.step;
            if step >= config.steps() && files::is_finished(folder, config.length()) {
                let said = format!(
                    "finished before: {} {} done; results are in {}",
                    counted(step, "step"),
                    are(step as usize),
                    folder.display()
                );
                held.open_log(config, quiet)?.line(&said)?;
                return Ok(Outcome::AlreadyFinished);
            }
            found = Checkpoint::load_to_continue(folder)?;
        }
        None => held.check_not_begun()?,
    }
    let mut log = held.open_log(config, quiet)?;
    // What is gone on with says for how long λ is held and how high barriers are.
    found.as_ref().map_or(Ok(()), |found| simulation.restore(&found.checkpoint.state))?;
    let description = simulation.describe();
    log.describe(&description)?;
    log.describe_run(config, description.ph)?;
    let written = match &found {
        Some(Found { checkpoint, note, emptied }) => {
            if let Some(note) = note {
                log.line(&format!("warning: {note}; continuing from the one before"))?;
            }
            log.line(&format!("continuing from step {}", checkpoint.state.step))?;
            emptied.iter().try_for_each(|words| log.line(words))?;
            checkpoint.written.clone()
        }
        None => {
            simulation
                .prepare(&mut |text| log.line(text))
                .map_err(|e| keep_frame(&config.result(files::FAILED), simulation, e))?;
            Default::default()
        }
    };
    sites::write(&config.result(files::SITES), &description)?;
    let mut files = Files::open(config, &description.lambdas(), simulation.trajectory_atoms(), &written)?;
    name_trajectory_atoms(config, simulation, &written)?;
    files.expect(simulation.keep(files.calendar().lines(), found.is_some())?);
    let mut work = Work { config, files, identity, log, saved: Instant::now() };
    if found.is_none() {
        let first = work.outputs(simulation).and_then(|()| work.checkpoint(simulation));
        first.map_err(|e| keep_frame(&config.result(files::FAILED), simulation, e))?;
    }
    held.begun()?;
    let outcome = work.steps(simulation, stop).map_err(|e| {
        // Lines of before the failure are good; if there is no way to them, the error is still the one to report.
        let _ = work.lines(simulation, Upto::Passed);
        keep_frame(&config.result(files::FAILED), simulation, e)
    })?;
    if outcome == Outcome::Finished {
        let description = simulation.describe();
        description.results.iter().try_for_each(|line| work.log.line(line))?;
        sites::write(&config.result(files::SITES), &description)?;
        simulation.write_structure(&config.result(files::FINAL), None)?;
    }
    Ok(outcome)
}

/// Writes the names of the atoms of `trajectory.xtc` beside it at its start, if they are not all, and where they are lost. The trajectory has been opened, which refuses other
/// atoms than it has.
pub(super) fn name_trajectory_atoms(
    config: &Config,
    simulation: &mut dyn Propagate,
    written: &BTreeMap<String, Written>,
) -> Result<()> {
    let path = config.result(files::TRAJECTORY_STRUCTURE);
    let is_written = config.interval(config.output.trajectory).is_some();
    let wanted = is_written && (!written.contains_key(files::TRAJECTORY) || !path.exists());
    match simulation.trajectory_atoms().map(<[u32]>::to_vec).filter(|_| wanted) {
        Some(atoms) => simulation.write_structure(&path, Some(&atoms)),
        None => Ok(()),
    }
}

/// Writes the positions of a failed step, and what they tell of the cause, and names their file in the error.
pub(super) fn keep_frame(path: &Path, simulation: &mut dyn Propagate, error: Error) -> Error {
    match error {
        Error::Physics(mut physics) => {
            // If the frame cannot be written, the physics is still the error to report.
            if simulation.write_structure(path, None).is_ok() {
                physics.frame = Some(path.to_path_buf());
            }
            if let Some(text) = simulation.failure() {
                let _ = write_atomic(&path.with_file_name(files::FAILURE), "write", text.as_bytes());
            }
            Error::Physics(physics)
        }
        other => other,
    }
}

/// A run in progress.
struct Work<'a> {
    config: &'a Config,
    files: Files,
    identity: Identity,
    log: Log,
    saved: Instant,
}

/// The part of the time between two checkpoints after which the next one is written where it is short.
const EARLY: f64 = 0.9;

/// Whether a checkpoint is due when a `part` of the time between two has gone. Lists on the CPU serve for some twenty steps: it is worth a look at each of the last ones whether
/// it makes them anew, because a third of a checkpoint is then left out.
fn is_due(part: f64, makes_lists: impl FnOnce() -> bool) -> bool {
    part >= 1.0 || (part >= EARLY && makes_lists())
}

impl Work<'_> {
    fn steps(&mut self, simulation: &mut dyn Propagate, stop: &Stop) -> Result<Outcome> {
        let last = self.config.steps();
        let logged = self.config.interval(self.config.output.log);
        let pause = self.config.output.checkpoint.get();
        let first = simulation.step();
        let mut progress = Progress::new(self.config.dynamics.time_step.get(), first, last);
        let started = Instant::now();
        while simulation.step() < last {
            if stop.requested() {
                self.checkpoint(simulation)?;
                let step = simulation.step();
                let text = format!("{} at step {step} of {last}; the same command continues", stop.reason());
                self.log.settle();
                self.log.line(&text)?;
                return Ok(Outcome::Stopped(step));
            }
            simulation.advance(self.next(simulation, logged) - simulation.step())?;
            self.outputs(simulation)?;
            for notice in simulation.notices() {
                self.log.settle();
                self.log.line(&notice)?;
            }
            let step = simulation.step();
            if logged.is_some_and(|every| step.is_multiple_of(every)) {
                let wanted = Wanted { energies: true, ..Wanted::default() };
                progress.record(&mut self.log, &simulation.frame(wanted)?)?;
                self.lines(simulation, Upto::Passed)?;
                self.files.flush()?;
            }
            if progress.due(&self.log) {
                progress.show(&mut self.log, step, &simulation.frame(Wanted::default())?.lambda);
            }
            if is_due(self.saved.elapsed().as_secs_f64() / pause, || simulation.makes_lists()) {
                self.checkpoint(simulation)?;
            }
        }
        self.checkpoint(simulation)?;
        let (done, seconds) = (last.saturating_sub(first), started.elapsed().as_secs_f64());
        self.log.settle();
        if done > 0 {
            let (speed, each) = (progress.speed(last), 1e3 * seconds / done as f64);
            let spent = duration(seconds);
            self.log.line(&format!(
                "finished: {} in {spent}, {speed:.2} ns/day, {each:.3} ms each",
                counted(done, "step")
            ))?;
        }
        Ok(Outcome::Finished)
    }

    /// The step to go to next: one at which something is due, or a multiple of the pace of the simulation. It does not depend on where the
    /// run was stopped before.
    fn next(&self, simulation: &dyn Propagate, logged: Option<u64>) -> u64 {
        let (step, pace) = (simulation.step(), simulation.pace());
        let due = [Some(self.files.calendar().next(step)), logged.map(|every| (step / every + 1) * every)];
        due.into_iter().flatten().chain([(step / pace + 1) * pace]).min().unwrap_or(step + 1)
    }

    /// Writes what is due at the present step.
    fn outputs(&mut self, simulation: &mut dyn Propagate) -> Result<()> {
        let due = self.files.calendar().due(simulation.step());
        if due.any() {
            self.files.write(&simulation.frame(due.wanted())?, due)?;
        }
        self.lines(simulation, Upto::AtHand)
    }

    /// Writes lines that the simulation has kept.
    fn lines(&mut self, simulation: &mut dyn Propagate, upto: Upto) -> Result<()> {
        simulation.lines(upto)?.iter().try_for_each(|line| self.files.line(line))
    }

    fn checkpoint(&mut self, simulation: &mut dyn Propagate) -> Result<()> {
        self.lines(simulation, Upto::Present)?;
        let written = self.files.sync()?;
        Checkpoint { state: simulation.state()?, identity: self.identity.clone(), written }
            .save(self.config.folder())?;
        self.saved = Instant::now();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::is_due;

    #[test]
    fn a_checkpoint_comes_a_little_early_where_it_is_short_and_never_late() {
        for (part, makes_lists, due) in
            [(0.0, true, false), (0.89, true, false), (0.9, true, true), (0.99, false, false), (1.0, false, true)]
        {
            assert_eq!(is_due(part, || makes_lists), due, "{part} {makes_lists}");
        }
    }
}
