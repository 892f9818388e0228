//! Where the time of a step goes: each part is timed alone, by replay of graphs.
//!
//! In a step most parts run beside each other, so that their times add up to more than a step. Parts that move something are repeated a few
//! times only; the state is put back afterwards. Last comes the time of empty kernels of the sizes of those that wait for each other in a step:
//! no step is shorter, however little they do.

use super::{Graphs, Resident, ResidentError};
use crate::backend::gpu::empty::Empty;
use crate::backend::gpu::long_range::Part;
use crate::backend::gpu::replay::{Replays, median, replayed};
use crate::backend::gpu::schedule::Schedule;
use kernels::device::{Device, Launch};

/// Rounds of lists and steps that whole steps are timed in.
const ROUNDS: u64 = 5;

/// Replays of a part that moves something, which must not get far.
const FEW: Replays = Replays { launches: 3, most: 2 };

/// Replays of a part that moves nothing.
const MANY: Replays = Replays { launches: 5, most: 100 };

/// Name of each part, and its seconds.
type Parts = Vec<(&'static str, f64)>;

impl Resident {
    /// Median seconds of a whole step with its share of new lists, then of each part of it by itself. The state is what it was before.
    ///
    /// # Errors
    /// A lost device; whatever stops the motion.
    pub fn profile(&mut self, device: &Device) -> Result<Parts, ResidentError> {
        let (state, lists) = self.download()?;
        let references = self.bonded.references().read(&self.streams.main)?;
        let mut parts = Vec::new();
        let measured = self.whole_step(&mut parts).and_then(|()| self.parts(device, &mut parts));
        self.upload(&state, &[], Some(&lists))?;
        self.bonded.references().write(&self.streams.main, &references)?;
        self.streams.main.zero(&self.forces)?;
        self.lennard_jones.reset_status(&self.streams.main)?;
        measured.map(|()| parts)
    }

    fn whole_step(&mut self, parts: &mut Parts) -> Result<(), ResidentError> {
        let main = &self.streams.main;
        let Schedule { lists, boxes: boxes_every, .. } = self.schedule;
        let (many, all) = (self.schedule.batch(), lists.max(boxes_every));
        self.motion.cover(main, self.step, ROUNDS * all)?;
        if let Some(sites) = &mut self.sites {
            sites.supply(main, self.step)?;
        }
        main.zero(&self.forces)?;
        let mut graphs = self.record()?;
        let first = |round: u64, part: u64| self.step + round * all + part * many;
        let each = || (0..ROUNDS).flat_map(|round| (0..all / many).map(move |part| (round, part)));
        // Recorded before anything is timed.
        each().try_for_each(|(round, part)| graphs.steps.steps(self, first(round, part), many).map(drop))?;
        let mut time = |round| {
            let Graphs { pairs, boxes, both, steps, .. } = &mut graphs;
            let often = if lists < boxes_every { pairs } else { boxes };
            Ok::<_, ResidentError>(
                main.time(|| {
                    both.launch(main)?;
                    (0..all / many).try_for_each(|part| {
                        if part > 0 {
                            often.launch(main)?;
                        }
                        steps.steps(self, first(round, part), many)?.launch(main).map_err(ResidentError::from)
                    })
                })? / all as f64,
            )
        };
        // The first one is not counted.
        let seconds = (0..ROUNDS).map(&mut time).collect::<Result<Vec<f64>, _>>()?;
        self.motion.check(main)?;
        parts.push(("step, with its share of new lists", median(&seconds[1..])));
        Ok(())
    }

    fn parts(&mut self, device: &Device, parts: &mut Parts) -> Result<(), ResidentError> {
        let step = self.motion.check(&self.streams.main)?.step;
        // Whole, and its sums alone.
        self.motion.cover(&self.streams.main, step, 2 * FEW.times())?;
        let empty = Empty::new(device)?;
        let Self { long_range, lennard_jones, bonded, motion, virtual_sites, forces, energies, charges, .. } = &*self;
        // Most steps need no energies.
        let (main, x, edges, sums) = (&self.streams.main, motion.x(), motion.edges(), self.sums(false));
        let mut part = |name, replays, enqueue: &dyn Fn() -> Result<(), ResidentError>| {
            parts.push((name, median(&replayed(main, replays, enqueue)?)));
            Ok::<_, ResidentError>(())
        };
        part("new list, Lennard-Jones", MANY, &|| Ok(lennard_jones.enqueue_rebuild(main, x, edges)?))?;
        part("new boxes of the FMM", MANY, &|| long_range.enqueue_assign(main, x))?;
        part("Lennard-Jones", MANY, &|| Ok(lennard_jones.enqueue_forces(main, x, edges, sums)?))?;
        if !bonded.is_empty() {
            let pairs = &self.potential_14;
            part(
                "bonded terms, 1-4 pairs",
                MANY,
                &|| Ok(bonded.enqueue_forces(main, x, charges, edges, pairs, sums)?),
            )?;
        }
        if self.variants.is_some() {
            part("forms of other types and terms", MANY, &|| self.enqueue_variants(main, false))?;
        }
        for (piece, name) in Part::ALL.into_iter().filter(|(piece, _)| long_range.has(*piece)) {
            part(name, MANY, &|| long_range.enqueue_part(piece, main, x, charges, forces))?;
        }
        if let Some(sites) = &self.sites {
            part("charges of the sites", MANY, &|| Ok(sites.enqueue_charges(main, charges)?))?;
            if let Some(corrected) = self.corrected() {
                part("bracket of the sites", MANY, &|| Ok(sites.enqueue_interpolation(main, x, &corrected)?))?;
            }
            // Without the potentials of 1-4 pairs, which have been added up many times: λ would not bear them.
            main.zero(&self.potential_14)?;
            part("∂V/∂λ", MANY, &|| self.enqueue_derivatives(main, sites))?;
            part("bias of λ", MANY, &|| Ok(sites.enqueue_prepare(main)?))?;
            part("λ", FEW, &|| Ok(sites.enqueue_advance(main, motion.due())?))?;
        }
        if let Some(sites) = virtual_sites {
            part("virtual sites", MANY, &|| {
                sites.enqueue_spread(main, x, sums)?;
                Ok(sites.enqueue_place(main, x)?)
            })?;
        }
        // Without forces, which have been added up many times.
        main.zero(forces)?;
        main.zero(energies)?;
        let reference = (!bonded.restrained().is_empty()).then(|| bonded.references());
        let step = || Ok(motion.enqueue_step(main, forces, energies, long_range.geometry(), reference, true)?);
        let advance = || Ok(motion.enqueue_advance(main, forces, true)?);
        // Of the three parts of the motion a step waits for the first. The box changes in few steps.
        let moving: [(_, &dyn Fn() -> Result<(), ResidentError>); 2] =
            [("motion", &step), ("  v, x, constraints", &advance)];
        // Kernels that wait for new lists take no time.
        let mut stopped = Vec::new();
        for (name, enqueue) in moving {
            self.enqueue_both()?;
            part(name, FEW, enqueue)?;
            if motion.check(main)?.waits {
                stopped.push(name);
            }
        }
        part("  sums, what the next step does", FEW, &|| Ok(motion.enqueue_finish(main, energies, None)?))?;
        if motion.coupling().barostat.is_some() {
            part("  another box", FEW, &|| Ok(motion.enqueue_rescale(main, reference)?))?;
        }
        self.motion.check(main)?;
        let chain: Vec<Launch> = long_range.chain().into_iter().chain([motion.launch()]).collect();
        part("as many kernels as wait for each other", MANY, &|| Ok(empty.enqueue(main, &chain, false)?))?;
        part("the same, started early", MANY, &|| Ok(empty.enqueue(main, &chain, true)?))?;
        parts.retain(|(name, _)| !stopped.contains(name));
        Ok(())
    }
}
