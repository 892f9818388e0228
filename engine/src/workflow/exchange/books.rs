//! The files of an exchange, which one thread holds, and what walkers tell it.
//!
//! Walkers are not all at one step. Frames come in the order of steps all the same: who takes a slot over meets the one who leaves it, and that one has
//! told everything. Lines that a device has kept come later, some of this walker before those of that one, and wait here until those
//! before them are there. `exchange.csv` gets a row when all walkers have made an attempt.

use super::setup::{Setup, number_of};
use crate::error::Result;
use crate::frame::{Frame, LineIntervals};
use crate::output::calendar::Due;
use crate::output::files::{EXCHANGE, Files, Written};
use crate::output::tables::Table;
use nalgebra::Vector3;
use std::collections::BTreeMap;

/// A frame on its way to the thread that writes it.
pub struct Kept {
    slot: usize,
    due: Due,
    frame: Frame<'static>,
    positions: Vec<Vector3<f64>>,
    velocities: Vec<Vector3<f64>>,
    forces: Vec<Vector3<f64>>,
}

impl Kept {
    /// Copies a frame that belongs to the files of a slot.
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
    /// [`crate::error::Error::File`] if a file cannot be written.
    fn write(&self, files: &mut Files) -> Result<()> {
        let Self { positions, velocities, forces, .. } = self;
        let frame = Frame { positions, velocities, forces, ..self.frame.clone() };
        files.write(&frame, self.due)
    }
}

/// What a walker tells of its way.
pub enum News {
    /// A frame that is due.
    Frame(Box<Kept>),
    /// Lines that it has kept, each with the slot to which it belongs.
    Lines(Vec<(usize, Frame<'static>)>),
    /// Something for the log.
    Notice {
        /// Who says so, from 0.
        walker: usize,
        /// What.
        text: String,
    },
    /// It has come to the end of a leg.
    Reached {
        /// Who, from 0.
        walker: usize,
        /// At this step.
        step: u64,
        /// Number of the attempt that it has made there, and the slot in which it is from now on.
        attempt: Option<(u64, usize)>,
    },
}

/// Lines of one table that wait for those before them.
#[derive(Default)]
struct Waiting {
    lines: BTreeMap<u64, Frame<'static>>,
    /// Step of the next line.
    next: Option<u64>,
}

impl Waiting {
    /// Writes the lines that have none before them, or, if `all`, whatever there is.
    fn write(&mut self, files: &mut Files, all: bool, next: impl Fn(u64) -> Option<u64>) -> Result<()> {
        while let Some(entry) = self.lines.first_entry() {
            if !all && Some(*entry.key()) != self.next {
                break;
            }
            let (step, frame) = entry.remove_entry();
            self.next = next(step + 1);
            files.line(&frame)?;
        }
        Ok(())
    }
}

/// The files of an exchange.
pub struct Books<'a> {
    setup: &'a Setup<'a>,
    files: Vec<Files>,
    journal: Table,
    kept: LineIntervals,
    /// Lines of energies and of λ of each slot.
    waiting: Vec<[Waiting; 2]>,
    /// Slots of the walkers that have made an attempt which not all have made.
    rows: BTreeMap<u64, Vec<(usize, usize)>>,
    /// The last attempt that all have made, or that was made before they began.
    made: u64,
    /// Step at which each walker was last known to be.
    reached: Vec<u64>,
}

impl<'a> Books<'a> {
    /// With these files of all slots, in which the next lines are those from the steps `lines_from` on, and the table of attempts that goes on after number
    /// `made`; walkers are at the steps `reached`.
    pub fn new(
        setup: &'a Setup<'a>,
        files: Vec<Files>,
        journal: Table,
        lines_from: &[u64],
        made: u64,
        reached: Vec<u64>,
    ) -> Self {
        let kept = files.first().map_or(LineIntervals::default(), |files| files.calendar().kept());
        let waiting = |&step: &u64| {
            [kept.energies_from(step), kept.lambda_from(step)].map(|next| Waiting { next, ..Waiting::default() })
        };
        let waiting = lines_from.iter().map(waiting).collect();
        Self { setup, files, journal, kept, waiting, rows: BTreeMap::new(), made, reached }
    }

    /// The files of a slot.
    pub fn files(&mut self, slot: usize) -> &mut Files {
        &mut self.files[slot]
    }

    /// The last attempt that all walkers have made.
    pub fn made(&self) -> u64 {
        self.made
    }

    /// The step that all walkers have reached, as far as they have told.
    pub fn reached(&self) -> u64 {
        self.reached.iter().min().copied().unwrap_or(0)
    }

    /// Takes down what a walker tells. The answer is what belongs into the log.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a file cannot be written.
    pub fn take(&mut self, news: News) -> Result<Option<String>> {
        match news {
            News::Frame(kept) => kept.write(&mut self.files[kept.slot])?,
            News::Lines(lines) => {
                for (slot, frame) in lines {
                    let table = usize::from(frame.energies.is_empty());
                    self.waiting[slot][table].lines.insert(frame.step, frame);
                }
                (0..self.files.len()).try_for_each(|slot| self.write_lines(slot, false))?;
            }
            News::Notice { walker, text } => return Ok(Some(format!("walker {}: {text}", number_of(walker)))),
            News::Reached { walker, step, attempt } => {
                self.reached[walker] = step;
                let Some((number, slot)) = attempt else { return Ok(None) };
                let row = self.rows.entry(number).or_default();
                row.push((slot, walker));
                if row.len() == self.files.len() {
                    let mut row = self.rows.remove(&number).unwrap_or_default();
                    row.sort_unstable();
                    let walkers: Vec<usize> = row.into_iter().map(|(_, walker)| walker).collect();
                    self.made = number;
                    self.record(number * self.setup.every, &walkers)?;
                }
            }
        }
        Ok(None)
    }

    fn write_lines(&mut self, slot: usize, all: bool) -> Result<()> {
        let ([energies, lambda], files, kept) = (&mut self.waiting[slot], &mut self.files[slot], self.kept);
        energies.write(files, all, |step| kept.energies_from(step))?;
        lambda.write(files, all, |step| kept.lambda_from(step))
    }

    /// Writes the lines that are there, when none will come any more that belongs before them.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a table cannot be written.
    pub fn write_all_lines(&mut self) -> Result<()> {
        (0..self.files.len()).try_for_each(|slot| self.write_lines(slot, true))
    }

    /// Writes who is at which slot at a step.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if the table cannot be written.
    pub fn record(&mut self, step: u64, walkers: &[usize]) -> Result<()> {
        let walkers: Vec<u32> = walkers.iter().map(|&walker| number_of(walker)).collect();
        let time = step as f64 * self.setup.config.dynamics.time_step.get();
        self.journal.walkers(time, &self.setup.labels(), &walkers)
    }

    /// Hands all lines to the system, so that others can follow the run.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a table cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        self.files.iter_mut().try_for_each(Files::flush)?;
        self.journal.flush()
    }

    /// Brings everything to the disk, and says what is in each file for the checkpoint.
    ///
    /// # Errors
    /// [`crate::error::Error::File`] if a file cannot be written, or a trajectory has lost frames.
    pub fn sync(&mut self) -> Result<BTreeMap<String, Written>> {
        let mut written = BTreeMap::from([(EXCHANGE.to_string(), Written::from(self.journal.sync()?))]);
        for (slot, files) in self.files.iter_mut().enumerate() {
            let label = self.setup.label(slot);
            written.extend(files.sync()?.into_iter().map(|(name, file)| (format!("{label}/{name}"), file)));
        }
        Ok(written)
    }
}
