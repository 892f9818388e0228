//! One run: from the job, or from its checkpoint, to its last step, with outputs, checkpoints and signals on the way.

use crate::checkpoint::{Owner, State};
use crate::error::Result;
use crate::output::Frame;

/// Something that moves in time: the simulation, and simple stand-ins in the tests of restarts.
pub trait Propagate {
    /// Steps done.
    fn step(&self) -> u64;

    /// One time step.
    ///
    /// # Errors
    /// [`crate::error::Error::Physics`] if the result is not finite or does not converge.
    fn advance(&mut self) -> Result<()>;

    /// The present state for the outputs; energies are filled in only if `energies` is true.
    ///
    /// # Errors
    /// [`crate::error::Error::Physics`] if energies have to be computed and are not finite.
    fn frame(&mut self, energies: bool) -> Result<Frame<'_>>;

    /// Everything that is needed to go on from here bit for bit.
    fn state(&self) -> State;

    /// Goes to a state of the same run.
    ///
    /// # Errors
    /// If the state does not fit the system.
    fn restore(&mut self, state: &State) -> Result<()>;

    /// What checkpoints of this run belong to.
    fn owner(&self) -> Owner;
}
