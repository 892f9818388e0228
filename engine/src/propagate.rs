//! What the run loop asks of something that moves in time.

use crate::checkpoint::Identity;
use crate::error::Result;
use crate::frame::{Frame, LineIntervals, Upto, Wanted};
use crate::record::Description;
use crate::state::State;
use std::path::Path;

/// Something that moves in time: the simulation, and simple stand-ins in the tests of restarts.
pub trait Propagate {
    /// What it is.
    fn describe(&self) -> Description;

    /// Steps done.
    fn step(&self) -> u64;

    /// Steps that are best done at once: between two looks at signals and the clock.
    fn pace(&self) -> u64;

    /// So many time steps.
    ///
    /// # Errors
    /// [`crate::error::Error::Physics`] if the result is not finite or does not converge.
    fn advance(&mut self, steps: u64) -> Result<()>;

    /// What has happened since the last call that belongs into the log, a line each.
    fn notices(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// The present state for the outputs, as far as it is wanted.
    ///
    /// # Errors
    /// [`crate::error::Error::Physics`] if energies have to be computed and are not finite.
    fn frame(&mut self, wanted: Wanted) -> Result<Frame<'_>>;

    /// From now on keeps what the lines of the tables need on its way, for [`Self::lines`], where that costs less than to stop and ask for frames. The
    /// first lines are those of the present step, or, of a run that is continued, those after it. The answer is which lines it keeps; the others
    /// are asked for with [`Self::frame`].
    ///
    /// # Errors
    /// If a device is lost.
    fn keep(&mut self, lines: LineIntervals, continued: bool) -> Result<LineIntervals>;

    /// The lines that have been kept since the last call: frames that have energies, or λ and ∂V/∂λ, in the order of steps. They do not depend on when,
    /// or how often, they are asked for.
    ///
    /// # Errors
    /// [`crate::error::Error::Physics`] if energies are not finite; if a device is lost.
    fn lines(&mut self, upto: Upto) -> Result<Vec<Frame<'static>>>;

    /// Whether lists of neighbours are made anew at the present step: a checkpoint of it is shorter.
    fn makes_lists(&self) -> bool {
        false
    }

    /// Everything that is needed to go on from here bit for bit.
    ///
    /// # Errors
    /// If a device that holds the state is lost.
    fn state(&mut self) -> Result<State>;

    /// Goes to a state of the same run.
    ///
    /// # Errors
    /// If the state does not fit the system.
    fn restore(&mut self, state: &State) -> Result<()>;

    /// What checkpoints of this run belong to.
    fn identity(&self) -> Identity;

    /// Makes a fresh start: minimisation, first velocities. Messages go to `say`.
    ///
    /// # Errors
    /// [`crate::error::Error::Physics`].
    fn prepare(&mut self, say: &mut dyn FnMut(&str) -> Result<()>) -> Result<()>;

    /// The atoms (0-based, rising) that `trajectory.xtc` holds; `None`: all.
    fn trajectory_atoms(&self) -> Option<&[u32]>;

    /// Writes positions and velocities, of all atoms or of these, as a structure file.
    ///
    /// # Errors
    /// [`crate::error::Error::File`].
    fn write_structure(&mut self, path: &Path, atoms: Option<&[u32]>) -> Result<()>;

    /// What the state in which it could not go on tells of the cause.
    fn failure(&mut self) -> Option<String> {
        None
    }
}

/// A simulation whose pH can be changed between two steps.
pub trait Walker: Propagate + Send {
    /// V_pH/RT of the present weights if the pH were `ph`, up to a constant.
    ///
    /// # Errors
    /// If a device that holds the weights is lost.
    fn ph_energy(&mut self, ph: f64) -> Result<f64>;

    /// Puts the simulation at this pH.
    ///
    /// # Errors
    /// A pH that is not finite; a device that is lost.
    fn set_ph(&mut self, ph: f64) -> Result<()>;
}
