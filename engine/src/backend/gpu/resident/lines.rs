//! What a resident system keeps for the lines of tables, so that nobody has to look at every line: what steps leave of λ, and moments.

use super::{Resident, ResidentError};
use crate::backend::gpu::moments::{Noted, Parts};
use lambda::device::KeptStep;

impl Resident {
    /// Whether the present step computes energies, for the sake of the virial.
    pub fn step_has_energies(&self) -> bool {
        self.pace.of(self.step).virial()
    }

    /// From now on each step whose number is a multiple of `every` leaves ξ and ∂V/∂λ; false if there are no sites.
    ///
    /// # Errors
    /// A lost device.
    pub fn keep(&self, every: u64) -> Result<bool, ResidentError> {
        let Some(sites) = &self.sites else { return Ok(false) };
        sites.keep(&self.streams.main, every)?;
        Ok(true)
    }

    /// What steps from `first` to before `end` have left ([`lambda::device::DeviceSites::kept`]).
    ///
    /// # Errors
    /// A lost device.
    pub fn kept(&mut self, first: u64, end: u64, every: u64) -> Result<Vec<KeptStep>, ResidentError> {
        // A motion that has waited for lists makes its steps again.
        self.arrive()?;
        let main = &self.streams.main;
        Ok(self.sites.as_ref().map_or(Ok(Vec::new()), |sites| sites.kept(main, first, end, every))?)
    }

    /// Notes the present moment; nothing moves. The host waits until the motion has come there, and for nothing else.
    ///
    /// # Errors
    /// What the driver says against a launch.
    pub fn note(&mut self) -> Result<(), ResidentError> {
        self.launch_evaluation(true)?;
        let main = &self.streams.main;
        self.motion.enqueue_look_ahead(main, &self.forces, &self.energies)?;
        let parts = Parts {
            energies: &self.energies,
            looked: self.motion.looked_at(),
            coupling: self.motion.coupling_state(),
            edges: self.motion.edges(),
            step: self.motion.clock(),
            sites: self.sites.as_ref(),
        };
        Ok(self.moments.enqueue(main, &parts)?)
    }

    /// Whether there is no room for another moment before [`Self::noted`].
    pub fn notes_are_full(&self) -> bool {
        self.moments.is_full()
    }

    /// Waits, and tells the moments that have been noted since the last call. What is wrong with the steps is told by others: lines of before a failure
    /// are good.
    ///
    /// # Errors
    /// A lost device.
    pub fn noted(&mut self) -> Result<Vec<Noted>, ResidentError> {
        Ok(self.moments.take(&self.streams.main)?)
    }
}
