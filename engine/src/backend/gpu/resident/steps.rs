//! One step, and the sequences of steps that are recorded.
//!
//! The barostat wants the pressure of a step at whose end it changes the box, and of the one after it, for the other half of the work of that
//! change. These steps compute the energies, from which the virial comes, and the box must have changed before anything else is computed. All others
//! leave the sums of their motion to be made beside the forces of the next step. A barostat along single axes acts on the host, which waits for its steps.

use super::{Resident, ResidentError};
use kernels::device::Graph;
use std::collections::BTreeMap;

/// What a step computes besides forces and motion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Nothing.
    Plain,
    /// The virial.
    Virial,
    /// The virial, and then another box.
    Rescales,
    /// The virial along each axis, for the host.
    Axes,
}

/// Recorded steps, by what they compute.
#[derive(Default)]
pub(super) struct Recorded(BTreeMap<Vec<Kind>, Graph>);

impl Recorded {
    /// The `many` steps from `first` on.
    ///
    /// # Errors
    /// What the driver says against recording them.
    pub(super) fn steps(&mut self, resident: &Resident, first: u64, many: u64) -> Result<&Graph, ResidentError> {
        use std::collections::btree_map::Entry;
        let kinds: Vec<Kind> = (first..first + many).map(|step| resident.kind(step)).collect();
        Ok(match self.0.entry(kinds) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(empty) => {
                let graph = resident.streams.main.capture(|| resident.enqueue_steps(empty.key()))?;
                empty.insert(graph)
            }
        })
    }
}

impl Resident {
    /// What `step` computes.
    pub(super) fn kind(&self, step: u64) -> Kind {
        let coupling = self.motion.coupling();
        if coupling.axes.is_some() && coupling.needs_pressure(step) {
            return Kind::Axes;
        }
        match coupling.box_changes(step) {
            true => Kind::Rescales,
            false if coupling.needs_pressure(step) => Kind::Virial,
            false => Kind::Plain,
        }
    }

    /// Whether `step` computes the energies, for the sake of the virial.
    pub fn has_energies(&self, step: u64) -> bool {
        self.kind(step) != Kind::Plain
    }

    /// Makes steps; forces are zero before and after.
    fn enqueue_steps(&self, kinds: &[Kind]) -> Result<(), ResidentError> {
        let (main, behind) = (&self.streams.main, &self.streams.behind);
        behind.wait_for(main)?;
        kinds.iter().try_for_each(|&kind| self.enqueue_step(kind))?;
        Ok(main.wait_for(behind)?)
    }

    fn enqueue_step(&self, kind: Kind) -> Result<(), ResidentError> {
        if let Some(sites) = &self.sites {
            // What moves λ and needs no forces.
            self.streams.sites.wait_for(&self.streams.main)?;
            sites.enqueue_prepare(&self.streams.sites)?;
        }
        let (main, behind) = (&self.streams.main, &self.streams.behind);
        self.enqueue_forces(kind != Kind::Plain, Some(behind))?;
        if kind == Kind::Axes {
            self.long_range.enqueue_images(main, self.motion.x(), &self.charges, &self.energies)?;
            self.motion.enqueue_groups(main, &self.forces, true)?;
        }
        if let Some(sites) = &self.sites {
            // λ, and the charges of the next step.
            let beside = &self.streams.sites;
            beside.wait_for(main)?;
            self.enqueue_derivatives(beside, sites)?;
            sites.enqueue_advance(beside, self.motion.due())?;
            sites.enqueue_charges(beside, &self.charges)?;
        }
        self.motion.enqueue_advance(main, &self.forces, true)?;
        if self.sites.is_some() {
            main.wait_for(&self.streams.sites)?;
        }
        match kind {
            Kind::Plain => {
                behind.wait_for(main)?;
                self.motion.enqueue_finish(behind, &self.energies, None)?;
            }
            // The next step may put its energies where those of this one are.
            Kind::Virial => self.motion.enqueue_finish(main, &self.energies, None)?,
            Kind::Axes => {
                self.motion.enqueue_groups(main, &self.forces, false)?;
                self.motion.enqueue_finish(main, &self.energies, None)?;
            }
            Kind::Rescales => {
                self.motion.enqueue_finish(main, &self.energies, self.long_range.geometry())?;
                let reference = (!self.bonded.restrained().is_empty()).then(|| self.bonded.references());
                self.motion.enqueue_rescale(main, reference)?;
            }
        }
        match &self.virtual_sites {
            Some(virtual_sites) => Ok(virtual_sites.enqueue_place(main, self.motion.x())?),
            None => Ok(()),
        }
    }
}
