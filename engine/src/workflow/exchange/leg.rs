//! The way of a walker from one attempt to swap to the next, with its outputs.

use super::books::{Kept, News};
use super::setup::{Setup, number_of};
use super::stays::Stays;
use crate::error::{Error, Result};
use crate::evaluation::ladders::Pair;
use crate::frame::Upto;
use crate::output::calendar::{Calendar, Due};
use crate::output::files;
use crate::propagate::Walker;
use crate::workflow::run::keep_frame;

/// What is due on the way from `step` to `target`: steps, and what is written there.
fn outputs(calendar: &Calendar, step: u64, target: u64) -> impl Iterator<Item = (u64, Due)> {
    let all = std::iter::successors(Some(calendar.next(step)), |&step| Some(calendar.next(step)));
    let all = all.take_while(move |&step| step <= target).map(|step| (step, calendar.due(step)));
    all.filter(|(_, due)| due.any())
}

/// A walker on its way, and what goes with it.
pub struct Course<'a, W> {
    /// The walker.
    pub walker: &'a mut W,
    /// Its number, from 0.
    pub number: usize,
    /// The runs.
    pub setup: &'a Setup<'a>,
    /// Where it has been.
    pub stays: &'a mut Stays,
    /// The last attempt that it has made.
    pub made: u64,
    /// When files get entries.
    pub calendar: Calendar,
}

impl<W: Walker> Course<'_, W> {
    /// The step to which it goes next on its way to `until`, and the number of the attempt that is made there, if one is; none if it is at the end of its way.
    /// A walker that was added later first comes to the step of the last attempt of the others.
    pub fn next(&self, until: u64) -> Option<(u64, Option<u64>)> {
        let (step, every) = (self.walker.step(), self.setup.every);
        let attempted = self.made * every;
        let next = if step < attempted { (step / every + 1) * every } else { attempted + every };
        // A walker that has waited in vain is at its step and has yet to make its attempt.
        let open = step < until || next <= until;
        let number = Some(self.made + 1).filter(|number| number * every == next && next <= until);
        open.then(|| (next.min(until), number))
    }

    /// The pair of which it is a part at an attempt.
    pub fn pair(&self, number: u64) -> Option<Pair> {
        let slot = self.stays.now();
        self.setup.ladders.pairs(number).find(|pair| pair.slots.contains(&slot))
    }

    /// Goes to `target`, and says what it would cost there to take the place of its partner of `pair`: [V_pH(λ; to) − V_pH(λ; from)] / RT, zero without a
    /// pair. That needs λ alone, and each walker asks its own device. None if `goes_on` says that it shall stop before; it is asked
    /// at the pace of the simulation.
    ///
    /// # Errors
    /// [`Error::Physics`] of the walker, with the frame that failed in `failed.gro`; errors of `tell`.
    pub fn leg(
        &mut self,
        target: u64,
        pair: Option<Pair>,
        goes_on: &mut dyn FnMut() -> bool,
        tell: &mut dyn FnMut(News) -> Result<()>,
    ) -> Result<Option<f64>> {
        let slot = &self.setup.slots[self.stays.now()];
        self.steps(target, pair, goes_on, tell).map_err(|e| {
            match keep_frame(&slot.config.result(files::FAILED), self.walker, e) {
                Error::Physics(mut physics) => {
                    physics.term = format!("{}: {}", slot.name, physics.term);
                    Error::Physics(physics)
                }
                other => other,
            }
        })
    }

    fn steps(
        &mut self,
        target: u64,
        pair: Option<Pair>,
        goes_on: &mut dyn FnMut() -> bool,
        tell: &mut dyn FnMut(News) -> Result<()>,
    ) -> Result<Option<f64>> {
        let (slot, calendar) = (self.stays.now(), self.calendar);
        for (step, due) in outputs(&calendar, self.walker.step(), target) {
            if !self.walk(step, goes_on)? {
                return Ok(None);
            }
            let mut frame = self.walker.frame(due.wanted())?;
            frame.walker = Some(number_of(self.number));
            tell(News::Frame(Box::new(Kept::new(slot, &frame, due))))?;
        }
        if !self.walk(target, goes_on)? {
            return Ok(None);
        }
        self.tell_lines(Upto::AtHand, tell)?;
        for text in self.walker.notices() {
            tell(News::Notice { walker: self.number, text })?;
        }
        let Some(Pair { slots: [a, b], .. }) = pair else { return Ok(Some(0.0)) };
        let [from, to] = [slot, if slot == a { b } else { a }].map(|slot| self.setup.ladders.ph_of(slot));
        Ok(Some(self.walker.ph_energy(to)? - self.walker.ph_energy(from)?))
    }

    /// Goes to `step`.
    fn walk(&mut self, step: u64, goes_on: &mut dyn FnMut() -> bool) -> Result<bool> {
        while self.walker.step() < step {
            if !goes_on() {
                return Ok(false);
            }
            let (now, pace) = (self.walker.step(), self.walker.pace());
            self.walker.advance(step.min((now / pace + 1) * pace) - now)?;
        }
        Ok(true)
    }

    /// Hands over lines that it has kept, each with the slot in which it was then: the line at the step of a swap belongs to the slot of before.
    ///
    /// # Errors
    /// Those of the walker, and of `tell`.
    pub fn tell_lines(&mut self, upto: Upto, tell: &mut dyn FnMut(News) -> Result<()>) -> Result<()> {
        let mut lines = Vec::new();
        for mut frame in self.walker.lines(upto)? {
            frame.walker = Some(number_of(self.number));
            lines.push((self.stays.at(frame.step), frame));
        }
        if lines.is_empty() { Ok(()) } else { tell(News::Lines(lines)) }
    }

    /// An attempt has been made, as one of `pair` or without a partner: the walker goes to the slot of its partner if they swap.
    ///
    /// # Errors
    /// If a device that holds the walker is lost; errors of `tell`.
    pub fn settle(&mut self, number: u64, swap: Option<Pair>, tell: &mut dyn FnMut(News) -> Result<()>) -> Result<()> {
        if let Some(Pair { slots: [a, b], .. }) = swap {
            let slot = if self.stays.now() == a { b } else { a };
            self.walker.set_ph(self.setup.ladders.ph_of(slot))?;
            self.stays.go(number * self.setup.every, slot);
        }
        self.made = number;
        self.reached(Some(number), tell)
    }

    /// Tells that it has come to the end of a leg, and which attempt it has made there.
    ///
    /// # Errors
    /// Those of `tell`.
    pub fn reached(&self, attempt: Option<u64>, tell: &mut dyn FnMut(News) -> Result<()>) -> Result<()> {
        let attempt = attempt.map(|number| (number, self.stays.now()));
        tell(News::Reached { walker: self.number, step: self.walker.step(), attempt })
    }
}
