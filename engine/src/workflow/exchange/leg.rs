//! The way of a walker from one exchange to the next, with its outputs.
//!
//! Walkers that go side by side send their frames to the thread that holds the files.

use super::setup::number_of;
use crate::error::{Error, Result};
use crate::frame::Frame;
use crate::output::files::{self, Due, Files};
use crate::propagate::Walker;
use crate::signals::Stop;
use crate::workflow::children::Child;
use crate::workflow::run::keep_frame;
use nalgebra::Vector3;
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;

/// Frames that wait to be written, at most.
const WAITING: usize = 64;

/// What is due on the way from `step` to `target`: steps, and what is written there. Step 0 itself is due if it is the target.
pub fn outputs(files: &Files, step: u64, target: u64) -> Vec<(u64, Due)> {
    let first = if target == 0 { 0 } else { files.next(step) };
    let all = std::iter::successors(Some(first), |&step| Some(files.next(step))).take_while(|&step| step <= target);
    all.map(|step| (step, files.due(step))).filter(|(_, due)| due.any()).collect()
}

/// A frame on its way to the thread that writes it.
pub struct Kept {
    /// Slot whose files it belongs to.
    pub slot: usize,
    due: Due,
    frame: Frame<'static>,
    positions: Vec<Vector3<f64>>,
    velocities: Vec<Vector3<f64>>,
    forces: Vec<Vector3<f64>>,
}

impl Kept {
    /// Copies a frame.
    pub fn new(slot: usize, frame: &Frame, due: Due) -> Self {
        Self {
            slot,
            due,
            positions: frame.positions.to_vec(),
            velocities: frame.velocities.to_vec(),
            forces: frame.forces.to_vec(),
            frame: Frame { positions: &[], velocities: &[], forces: &[], ..frame.clone() },
        }
    }

    /// Writes the frame.
    ///
    /// # Errors
    /// [`Error::File`] if a file cannot be written.
    pub fn write(&self, files: &mut Files) -> Result<()> {
        let Self { positions, velocities, forces, .. } = self;
        let frame = Frame { positions, velocities, forces, ..self.frame.clone() };
        files.write(&frame, self.due)
    }
}

/// The way of one walker to the next exchange.
pub struct Leg<'a, W> {
    /// The walker.
    pub walker: &'a mut W,
    /// Its number, from 0.
    pub number: usize,
    /// Slot whose files its output belongs to.
    pub slot: usize,
    /// The run of that slot.
    pub child: &'a Child,
    /// What is due on the way.
    pub due: Vec<(u64, Due)>,
    /// Step to go to.
    pub target: u64,
    /// The pH that it may get there in the place of its own.
    pub offer: Option<Offer>,
}

/// A pH for another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer {
    /// The pH that the walker has.
    pub from: f64,
    /// The pH of its partner.
    pub to: f64,
}

/// How the way of a walker ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arrival {
    /// It was asked to stop before the target.
    Stopped,
    /// It is there, and this is what taking the offer would cost: [V_pH(λ; to) − V_pH(λ; from)] / RT; zero without an offer.
    There(f64),
}

impl<W: Walker> Leg<'_, W> {
    /// Goes to the target, and says there what the offer would cost: that needs λ alone, and each walker asks its own device. Frames go to `keep`.
    ///
    /// # Errors
    /// [`Error::Physics`] of the walker, with the frame that failed in `failed.gro`; errors of `keep`.
    pub fn go(&mut self, stop: &Stop, keep: &mut dyn FnMut(&Frame, Due) -> Result<()>) -> Result<Arrival> {
        self.steps(stop, keep).map_err(|e| match keep_frame(&self.child.config.result(files::FAILED), self.walker, e) {
            Error::Physics(mut physics) => {
                physics.term = format!("{}: {}", self.child.name, physics.term);
                Error::Physics(physics)
            }
            other => other,
        })
    }

    fn steps(&mut self, stop: &Stop, keep: &mut dyn FnMut(&Frame, Due) -> Result<()>) -> Result<Arrival> {
        for (step, due) in std::mem::take(&mut self.due) {
            if !self.walk(step, stop)? {
                return Ok(Arrival::Stopped);
            }
            let mut frame = self.walker.frame(due.wanted())?;
            frame.walker = Some(number_of(self.number));
            keep(&frame, due)?;
        }
        if !self.walk(self.target, stop)? {
            return Ok(Arrival::Stopped);
        }
        let Some(Offer { from, to }) = self.offer else { return Ok(Arrival::There(0.0)) };
        Ok(Arrival::There(self.walker.ph_energy(to)? - self.walker.ph_energy(from)?))
    }

    /// Goes to `step`, with a look at signals at the pace of the simulation.
    fn walk(&mut self, step: u64, stop: &Stop) -> Result<bool> {
        while self.walker.step() < step {
            if stop.requested() {
                return Ok(false);
            }
            let (now, pace) = (self.walker.step(), self.walker.pace());
            self.walker.advance(step.min((now / pace + 1) * pace) - now)?;
        }
        Ok(true)
    }
}

/// Number of a walker, and how its leg ended.
pub type Ended = (usize, Arrival);

/// One leg after the other, until one is stopped.
///
/// # Errors
/// The first of a walker, or of a file.
pub fn one_by_one<W: Walker>(legs: Vec<Leg<W>>, files: &mut [Files], stop: &Stop) -> Result<Vec<Ended>> {
    let mut ended = Vec::new();
    for mut leg in legs {
        let slot = leg.slot;
        let arrival = leg.go(stop, &mut |frame, due| files[slot].write(frame, due))?;
        ended.push((leg.number, arrival));
        if arrival == Arrival::Stopped {
            break;
        }
    }
    Ok(ended)
}

/// Each leg in a thread of its own, with a pool of its own; files stay in this thread.
///
/// # Errors
/// As [`one_by_one`].
pub fn side_by_side<W: Walker>(
    legs: Vec<Leg<W>>,
    pools: &[rayon::ThreadPool],
    files: &mut [Files],
    stop: &Stop,
) -> Result<Vec<Ended>> {
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel::<Kept>(WAITING);
        let mut threads = Vec::new();
        for (mut leg, pool) in legs.into_iter().zip(pools) {
            let (sender, slot) = (sender.clone(), leg.slot);
            let mut keep = move |frame: &Frame, due| {
                // The channel is closed only if writing failed, and that error is returned below.
                let _ = sender.send(Kept::new(slot, frame, due));
                Ok(())
            };
            threads.push(scope.spawn(move || {
                let arrival = pool.install(|| leg.go(stop, &mut keep))?;
                Ok((leg.number, arrival))
            }));
        }
        drop(sender);
        let written = receiver.into_iter().try_for_each(|kept| kept.write(&mut files[kept.slot]));
        let join = |thread: ScopedJoinHandle<Result<Ended>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let ended: Vec<Result<Ended>> = threads.into_iter().map(join).collect();
        written.and(ended.into_iter().collect())
    })
}
