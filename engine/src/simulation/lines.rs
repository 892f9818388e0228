//! Lines of the tables that are kept while a device moves on: what a line says is noted there when it is true, and fetched when somebody looks or the
//! room is full.
//!
//! ∂V/∂λ at a step is left by the step itself, whose forces know it. Energies need an evaluation of their own, so that a trajectory does not depend
//! on how often they are written; it is enqueued when the step is reached. Biases are those of that moment.

use super::Simulation;
use super::observe::Known;
use crate::backend::Moment;
use crate::error::Result;
use crate::frame::{Frame, LineIntervals, Quantity, Upto};
use crate::titration::{Biases, Sites};
use lambda::SiteValues;
use lambda::motion::LambdaState;
use std::collections::VecDeque;
use std::sync::Arc;

/// Lines of a run.
#[derive(Default)]
pub(super) struct Lines {
    /// Which are kept.
    kept: LineIntervals,
    /// The next step with a line of energies, which is not noted yet.
    next_energies: Option<u64>,
    /// The next step with a line of λ, which nobody has got yet.
    next_lambda: Option<u64>,
    /// What goes with each moment that the backend has noted, oldest first.
    notes: VecDeque<Note>,
    /// Lines that nobody has asked for.
    done: Vec<Frame<'static>>,
}

/// What goes with a moment that the backend has noted.
struct Note {
    step: u64,
    biases: Arc<Biases>,
    barrier_work: f64,
    /// Whether it is one of the lines that are kept.
    is_line: bool,
}

impl Simulation {
    /// [`crate::propagate::Propagate::keep`].
    pub(super) fn keep_lines(&mut self, wanted: LineIntervals, continued: bool) -> Result<LineIntervals> {
        let first = self.state.step + u64::from(continued);
        // What has been kept for others is none of these lines.
        self.backend.noted(&self.state, true)?;
        self.backend.kept(&self.state, true)?;
        let mut kept = LineIntervals { last: wanted.last, ..LineIntervals::default() };
        if self.backend.notes() {
            kept.energies = wanted.energies;
        }
        if let (Some(every), Some(first)) = (wanted.lambda, wanted.lambda_from(first))
            && self.backend.keep(every, first)?
        {
            kept.lambda = Some(every);
        }
        self.lines = Lines {
            kept,
            next_energies: kept.energies_from(first),
            next_lambda: kept.lambda_from(first),
            ..Lines::default()
        };
        Ok(kept)
    }

    /// [`crate::propagate::Propagate::lines`].
    pub(super) fn kept_lines(&mut self, upto: Upto) -> Result<Vec<Frame<'static>>> {
        if upto == Upto::Present {
            self.note_if_due()?;
        }
        self.collect(upto != Upto::AtHand)?;
        if self.lines.kept.lambda.is_some() {
            for row in self.backend.kept(&self.state, upto != Upto::AtHand)? {
                let lambda = LambdaState { coordinates: row.coordinates, ..LambdaState::default() };
                let by_weight = self.system.layout().with_values(row.derivatives);
                let by_weight = by_weight.expect("invariant: the backend has the sites of the system");
                self.add_line(row.step, &lambda, Some(&by_weight), Vec::new());
                self.lines.next_lambda = self.lines.kept.lambda_from(row.step + 1);
            }
            if upto == Upto::Present && self.lines.next_lambda == Some(self.state.step) {
                self.present_lambda()?;
            }
        }
        let mut done = std::mem::take(&mut self.lines.done);
        done.sort_by_key(|frame| frame.step);
        Ok(done)
    }

    /// The line of λ at the present step, which is computed for it alone; the step that begins here does not leave it again.
    fn present_lambda(&mut self) -> Result<()> {
        self.load()?;
        self.backend.evaluate_derivatives(&mut self.state)?;
        self.store_lambda()?;
        let (step, lambda) = (self.state.step, self.state.sites.lambda.clone());
        let by_weight = self.derivatives().clone();
        self.add_line(step, &lambda, Some(&by_weight), Vec::new());
        self.lines.next_lambda = self.lines.kept.lambda_from(step + 1);
        if let (Some(every), Some(next)) = (self.lines.kept.lambda, self.lines.next_lambda) {
            self.backend.keep(every, next)?;
        }
        Ok(())
    }

    /// Steps from now to the next line of energies.
    pub(super) fn steps_to_line(&self) -> u64 {
        self.lines.next_energies.map_or(u64::MAX, |next| next.saturating_sub(self.state.step).max(1))
    }

    /// Notes the present moment if a line is due.
    pub(super) fn note_if_due(&mut self) -> Result<()> {
        if self.lines.next_energies == Some(self.state.step) {
            self.note(true)?;
            self.lines.next_energies = self.lines.kept.energies_from(self.state.step + 1);
        }
        Ok(())
    }

    fn note(&mut self, is_line: bool) -> Result<()> {
        self.load()?;
        self.backend.note(&self.state)?;
        let (biases, barrier_work) = (Arc::clone(&self.biases), self.work_of_changes());
        self.lines.notes.push_back(Note { step: self.state.step, biases, barrier_work, is_line });
        Ok(())
    }

    /// The columns of `energy.csv` at the present step, by way of the backend's notes.
    pub(super) fn noted_columns(&mut self) -> Result<Vec<Quantity>> {
        self.note(false)?;
        match self.collect(true)? {
            Some(columns) => Ok(columns),
            // The motion has stopped before: fetching the state tells why.
            None => self.store().map(|()| Vec::new()),
        }
    }

    /// Makes lines of what the backend has noted. The answer is the columns of the last moment that is not a line.
    fn collect(&mut self, wait: bool) -> Result<Option<Vec<Quantity>>> {
        let mut asked = None;
        for moment in self.backend.noted(&self.state, wait)? {
            // Moments after a failure are left out.
            while self.lines.notes.front().is_some_and(|note| note.step != moment.step) {
                self.lines.notes.pop_front();
            }
            let note = self.lines.notes.pop_front().expect("invariant: every moment was noted here");
            let columns = self.columns(&moment, &note.biases, note.barrier_work, Known::All);
            let columns = columns.map_err(|e| e.at_step(moment.step))?;
            if note.is_line {
                let Moment { step, lambda, .. } = moment;
                self.add_line(step, &lambda, None, columns);
            } else {
                asked = Some(columns);
            }
        }
        Ok(asked)
    }

    fn add_line(&mut self, step: u64, lambda: &LambdaState, dvdl: Option<&SiteValues>, energies: Vec<Quantity>) {
        let sites = self.system.sites.as_ref();
        let weights = sites.map_or(SiteValues::default(), |sites| sites.weights(lambda));
        self.lines.done.push(Frame {
            step,
            time: step as f64 * self.system.plan.dt,
            energies,
            lambda: Sites::columns(&weights, false),
            dvdl: dvdl.map_or(Vec::new(), |dvdl| Sites::columns(dvdl, true)),
            walker: None,
            positions: &[],
            velocities: &[],
            forces: &[],
            cell: self.state.cell,
        });
    }
}
