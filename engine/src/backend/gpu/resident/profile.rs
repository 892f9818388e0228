//! Where the time of a step goes: each part is timed alone, by replay of graphs.
//!
//! In a step most parts run beside each other, so that their times add up to more than a step. Parts that move something are repeated a few
//! times only; the state is put back afterwards.

use super::{Resident, ResidentError};
use crate::backend::gpu::long_range::Part;
use crate::backend::gpu::replay::{Replays, median, replayed};
use crate::backend::gpu::schedule::Schedule;

/// Rounds of lists and steps that whole steps are timed in.
const ROUNDS: u64 = 5;

/// Replays of a part that moves something, which must not get far.
const FEW: Replays = Replays { launches: 3, most: 4 };

/// Replays of a part that moves nothing.
const MANY: Replays = Replays { launches: 5, most: 100 };

/// Name of each part, and its seconds.
type Parts = Vec<(&'static str, f64)>;

impl Resident {
    /// Median seconds of a whole step with its share of new lists, then of each part of it by itself. The state is what it was before.
    ///
    /// # Errors
    /// A lost device; whatever stops the motion.
    pub fn profile(&mut self) -> Result<Parts, ResidentError> {
        let (state, lists) = self.download()?;
        let references = self.bonded.references().read(&self.streams.main)?;
        let mut parts = Vec::new();
        let measured = self.whole_step(&mut parts).and_then(|()| self.parts(&mut parts));
        self.upload(&state, &[], Some(&lists))?;
        self.bonded.references().write(&self.streams.main, &references)?;
        self.streams.main.zero(&self.forces)?;
        self.lennard_jones.reset_status(&self.streams.main)?;
        measured.map(|()| parts)
    }

    fn whole_step(&mut self, parts: &mut Parts) -> Result<(), ResidentError> {
        let main = &self.streams.main;
        let Schedule { lists, boxes, .. } = self.schedule;
        let (many, all) = (self.schedule.batch(), lists.max(boxes));
        self.motion.cover(main, self.step, ROUNDS * all)?;
        if let Some(sites) = &self.sites {
            sites.supply(main, self.step)?;
        }
        main.zero(&self.forces)?;
        let graphs = self.record()?;
        let often = if lists < boxes { &graphs.pairs } else { &graphs.boxes };
        let lists_and_steps = || {
            graphs.both.launch(main)?;
            graphs.batch.launch(main)?;
            (1..all / many).try_for_each(|_| often.launch(main).and_then(|()| graphs.batch.launch(main)))
        };
        let time = |_| Ok::<_, ResidentError>(main.time(lists_and_steps)? / all as f64);
        // The first one is not counted.
        let seconds = (0..ROUNDS).map(time).collect::<Result<Vec<f64>, _>>()?;
        self.motion.check(main)?;
        parts.push(("step, with its share of new lists", median(&seconds[1..])));
        Ok(())
    }

    fn parts(&mut self, parts: &mut Parts) -> Result<(), ResidentError> {
        let step = self.motion.check(&self.streams.main)?.step;
        self.motion.cover(&self.streams.main, step, FEW.times())?;
        let Self { long_range, lennard_jones, bonded, motion, forces, energies, charges, .. } = &*self;
        let (main, x, edges, with_energy) = (&self.streams.main, motion.x(), motion.edges(), self.pace.has_virial());
        let mut part = |name, replays, enqueue: &dyn Fn() -> Result<(), ResidentError>| {
            parts.push((name, median(&replayed(main, replays, enqueue)?)));
            Ok::<_, ResidentError>(())
        };
        part("new list, Lennard-Jones", MANY, &|| Ok(lennard_jones.enqueue_rebuild(main, x, edges)?))?;
        part("new boxes of the FMM", MANY, &|| long_range.enqueue_assign(main, x))?;
        part("Lennard-Jones", MANY, &|| {
            Ok(lennard_jones.enqueue_forces(main, x, edges, forces, energies, with_energy)?)
        })?;
        if !bonded.is_empty() {
            let pairs = &self.potential_14;
            part("bonded terms, 1-4 pairs", MANY, &|| {
                Ok(bonded.enqueue_forces(main, x, charges, edges, forces, pairs, energies, with_energy)?)
            })?;
        }
        if self.variants.is_some() {
            part("forms of other types and terms", MANY, &|| self.enqueue_variants(main, with_energy))?;
        }
        for (piece, name) in Part::ALL {
            part(name, MANY, &|| long_range.enqueue_part(piece, main, x, charges, forces))?;
        }
        let potential = long_range.potential();
        if with_energy {
            part("Coulomb energy", MANY, &|| Ok(self.coulomb.enqueue(main, charges, potential, energies)?))?;
        }
        if let Some(sites) = &self.sites {
            part("charges of the sites", MANY, &|| Ok(sites.enqueue_charges(main, charges)?))?;
            let whole = self.whole();
            let corrected = self.corrected();
            part("∂V/∂λ", MANY, &|| Ok(sites.enqueue_interpolate(main, &whole, corrected.as_ref())?))?;
            part("λ", FEW, &|| Ok(sites.enqueue_advance(main, motion.due())?))?;
        }
        // Without forces, which have been added up many times.
        main.zero(forces)?;
        main.zero(energies)?;
        let reference = (!bonded.restrained().is_empty()).then(|| bonded.references());
        part("motion", FEW, &|| {
            Ok(motion.enqueue_step(main, forces, energies, long_range.geometry(), reference, true)?)
        })?;
        self.motion.check(main)?;
        Ok(())
    }
}
