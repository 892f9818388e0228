//! Many steps: what is launched when, and what happens where the device waits for new lists.

use super::steps::Kind;
use super::{Graphs, Resident, ResidentError, Wait};
use crate::backend::gpu::schedule::Schedule;
use crate::fading::FADING_INTERVAL;
use crate::motion::device::Standing;
use forcefield::Cell;
use forcefield::device::EnergyTerm;

/// Steps, counted from step 0, after which the host waits for the device and looks whether all went well.
const CHECK_INTERVAL: u64 = 100;

// Restraints change where the host waits for the device, so that steps which the device makes again have the forces of the first time.
const _: () = assert!(FADING_INTERVAL.is_multiple_of(CHECK_INTERVAL));

impl Resident {
    /// Makes so many steps, or fewer if the box asks for another plan: the number of those that are made, and whether it does.
    ///
    /// # Errors
    /// Whatever stops the motion.
    pub fn run(&mut self, steps: u64) -> Result<(u64, bool), ResidentError> {
        let start = self.step;
        self.motion.cover(&self.streams.main, self.step, steps)?;
        self.streams.main.zero(&self.forces)?;
        let end = self.step + steps;
        while self.step < end {
            let check = (self.step / CHECK_INTERVAL + 1) * CHECK_INTERVAL;
            let coupled = (self.step..check.min(end)).find(|&step| self.kind(step) == Kind::Axes);
            self.launch_steps(coupled.map_or(check.min(end), |step| step + 1))?;
            if let Some(step) = coupled {
                self.couple_axes(step)?;
            }
            if self.step.is_multiple_of(CHECK_INTERVAL) {
                self.arrive()?;
                self.check()?;
                if self.motion.coupling().has_barostat() && self.planned.is_outgrown_by(self.cell()?) {
                    return Ok((self.step - start, true));
                }
            }
        }
        Ok((steps, false))
    }

    /// Lets the barostat along single axes act on the `step` that was made last.
    fn couple_axes(&mut self, step: u64) -> Result<(), ResidentError> {
        self.arrive()?;
        let main = &self.streams.main;
        let slots = self.energies.read(main)?;
        let images = [EnergyTerm::ImagesX, EnergyTerm::ImagesY, EnergyTerm::ImagesZ].map(|term| term.of(&slots));
        let along = self.motion.pressure_times_volume(main, images.into())?;
        let reference = (!self.bonded.restrained().is_empty()).then(|| self.bonded.references());
        let Some(stretched) = self.motion.couple_axes(main, along, step, reference)? else { return Ok(()) };
        self.long_range.set_cell(main, stretched.cell)?;
        if let Some(sites) = &self.virtual_sites {
            sites.enqueue_place(main, self.motion.x())?;
        }
        if stretched.lists_are_stale {
            let graphs = self.recorded()?;
            graphs.both.launch(&self.streams.main)?;
            self.listed_at = Some(self.step);
            self.graphs = self.make_room()?.then_some(graphs);
        }
        Ok(())
    }

    /// The box where the device stands.
    fn cell(&self) -> Result<Cell, ResidentError> {
        let edges = self.motion.edges().read(&self.streams.main)?;
        Ok(Cell::from_packed(edges.as_chunks::<6>().0.first().copied().unwrap_or_default())?)
    }

    /// Makes the steps until step `end`.
    fn launch_steps(&mut self, end: u64) -> Result<(), ResidentError> {
        self.fade()?;
        self.arrived = false;
        let mut graphs = self.recorded()?;
        while self.step < end {
            self.supply_noise()?;
            let part = if self.sites.is_some() { end.min(self.noise_end) } else { end };
            self.update_lists(&graphs)?;
            let many = self.schedule.batch();
            let whole = self.step.is_multiple_of(many) && part - self.step >= many;
            let done = if whole { many } else { 1 };
            graphs.steps.steps(self, self.step, done)?.launch(&self.streams.main)?;
            self.step += done;
        }
        self.graphs = Some(graphs);
        Ok(())
    }

    /// Puts the force constants of the present step on the device, which waits for nothing else: all steps before are made.
    pub(super) fn fade(&mut self) -> Result<(), ResidentError> {
        let part = self.fading.part(self.step);
        if part != self.part {
            self.arrive()?;
            self.bonded.set_part(&self.streams.main, part)?;
            self.part = part;
        }
        Ok(())
    }

    /// Random numbers for λ at the present step; half a table before they run out the next ones are drawn beside the device.
    fn supply_noise(&mut self) -> Result<(), ResidentError> {
        let Some(sites) = &mut self.sites else { return Ok(()) };
        let steps = sites.supplied_steps() as u64;
        if self.step >= self.noise_end {
            sites.supply(&self.streams.main, self.step)?;
            self.noise_end = self.step + steps;
        } else if self.step + steps / 2 >= self.noise_end {
            sites.draw_ahead(self.noise_end);
        }
        Ok(())
    }

    /// Waits until the device has come to the step that it has been told to go to. Where it has stopped on its way because lists did not serve,
    /// it gets new ones.
    pub(super) fn arrive(&mut self) -> Result<(), ResidentError> {
        while !self.arrived {
            let standing = self.motion.check(&self.streams.main)?;
            self.arrived = !standing.waits;
            if standing.waits {
                self.go_on(standing)?;
            }
        }
        Ok(())
    }

    /// Lets a motion that waits go on to where it was to go, with lists from the positions that it has.
    fn go_on(&mut self, standing: Standing) -> Result<(), ResidentError> {
        let at = standing.step;
        let end = std::mem::replace(&mut self.step, at);
        // Where the list is due anyway nothing has happened.
        if !at.is_multiple_of(self.schedule.lists) {
            let distance = |(atom, part): (usize, f64)| (atom, part * self.schedule.limits.farthest[atom]);
            self.waits.push(Wait { step: at, atom: standing.astray.map(distance) });
        }
        let graphs = self.recorded()?;
        // No more than what is due there, if anything is: a list that had no room leaves no trace.
        let boxes = at.is_multiple_of(self.schedule.boxes) || !at.is_multiple_of(self.schedule.lists);
        (if boxes { &graphs.both } else { &graphs.pairs }).launch(&self.streams.main)?;
        self.listed_at = Some(at);
        self.graphs = self.make_room()?.then_some(graphs);
        let main = &self.streams.main;
        self.motion.cover(main, at, end - at)?;
        // Random numbers may already be those of later steps.
        self.noise_end = at;
        main.zero(&self.forces)?;
        self.motion.release(main)?;
        self.launch_steps(end)
    }

    /// Where the motion has waited for lists since the last call.
    pub fn take_waits(&mut self) -> Vec<Wait> {
        std::mem::take(&mut self.waits)
    }

    /// Waits, and looks for what went wrong.
    pub(super) fn check(&self) -> Result<(), ResidentError> {
        let main = &self.streams.main;
        self.motion.check(main)?;
        if let Some(sites) = &self.sites {
            sites.check(main)?;
        }
        self.long_range.check(main)?;
        let list = self.lennard_jones.status(main)?;
        if list.neighbours > list.capacity {
            return Err(ResidentError::Neighbours { found: list.neighbours, room: list.capacity });
        }
        if list.unfit {
            return Err(ResidentError::Unfit);
        }
        let variants = self.variants.as_ref().map_or(Ok(false), |variants| variants.saturated(main))?;
        if list.saturated || variants || (!self.bonded.is_empty() && self.bonded.saturated(main)?) {
            return Err(ResidentError::Saturated);
        }
        Ok(())
    }

    /// Makes what is due at this step, and room for it, for somebody who computes at once.
    pub(super) fn complete_lists(&mut self, graphs: Graphs) -> Result<Graphs, ResidentError> {
        let before = self.listed_at;
        self.update_lists(&graphs)?;
        if self.listed_at == before || self.make_room()? {
            return Ok(graphs);
        }
        self.motion.release(&self.streams.main)?;
        self.record()
    }

    /// Makes the list anew with more room if it has none for all neighbours; false if it had none, and all that is recorded is of no use.
    fn make_room(&mut self) -> Result<bool, ResidentError> {
        let main = &self.streams.main;
        let list = self.lennard_jones.status(main)?;
        if list.neighbours <= list.capacity {
            return Ok(true);
        }
        // A new list forgets what was wrong with the old one.
        if list.unfit {
            return Err(ResidentError::Unfit);
        }
        if list.saturated {
            return Err(ResidentError::Saturated);
        }
        self.lennard_jones.rebuild(main, self.motion.x(), self.motion.edges())?;
        self.enqueue_changing_places(main)?;
        self.motion.enqueue_mark_lists(main, Some(self.crowd()))?;
        Ok(false)
    }

    /// Makes what is due at this step.
    pub(super) fn update_lists(&mut self, graphs: &Graphs) -> Result<(), ResidentError> {
        let Schedule { lists, boxes, .. } = self.schedule;
        let graph = match [lists, boxes].map(|interval| self.step.is_multiple_of(interval)) {
            _ if self.listed_at == Some(self.step) => return Ok(()),
            [true, true] => &graphs.both,
            [true, false] => &graphs.pairs,
            [false, true] => &graphs.boxes,
            [false, false] => return Ok(()),
        };
        graph.launch(&self.streams.main)?;
        self.listed_at = Some(self.step);
        Ok(())
    }
}
