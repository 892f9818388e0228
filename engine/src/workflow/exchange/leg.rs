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
}

impl<W: Walker> Leg<'_, W> {
    /// Goes to the target; false if asked to stop before. Frames go to `keep`.
    ///
    /// # Errors
    /// [`Error::Physics`] of the walker, with the frame that failed in `failed.gro`; errors of `keep`.
    pub fn go(&mut self, stop: &Stop, keep: &mut dyn FnMut(&Frame, Due) -> Result<()>) -> Result<bool> {
        self.steps(stop, keep).map_err(|e| match keep_frame(&self.child.config.result(files::FAILED), self.walker, e) {
            Error::Physics(mut physics) => {
                physics.term = format!("{}: {}", self.child.name, physics.term);
                Error::Physics(physics)
            }
            other => other,
        })
    }

    fn steps(&mut self, stop: &Stop, keep: &mut dyn FnMut(&Frame, Due) -> Result<()>) -> Result<bool> {
        for (step, due) in std::mem::take(&mut self.due) {
            if !self.walk(step, stop)? {
                return Ok(false);
            }
            let mut frame = self.walker.frame(due.wanted())?;
            frame.walker = Some(number_of(self.number));
            keep(&frame, due)?;
        }
        self.walk(self.target, stop)
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
