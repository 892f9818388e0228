//! What a replica exchange finds in its folder before it starts.

use super::state::{ExchangeState, Places, settings};
use crate::checkpoint::{Checkpoint, Found, Identity};
use crate::config::Config;
use crate::error::Result;
use crate::output::files;
use crate::workflow::folder::{Folder, Kind};

/// The folder of a replica exchange, which is its own.
pub struct Start {
    /// The folder, held.
    pub folder: Folder,
    /// The walkers to go on with, if there are any.
    pub found: Option<Found<ExchangeState>>,
    /// Who is where.
    pub places: Places,
    /// What the exchange is.
    pub identity: Identity,
}

impl Start {
    /// Looks into the folder of the job and holds it; `of_first` is the identity of its first run, `slots` are the names of all.
    ///
    /// # Errors
    /// [`crate::error::Error::Input`] if the folder is of other work, if its checkpoint is of another exchange, has runs that the job has not, or is
    /// gone, or if another program is at work there.
    pub fn find(config: &Config, of_first: &Identity, slots: &[String]) -> Result<Self> {
        let folder = Folder::claim(config.folder(), Kind::Exchange)?;
        let mut found = Checkpoint::<ExchangeState>::load(config.folder())?;
        let identity = identity(config, of_first)?;
        match &found {
            Some(Found { checkpoint, .. }) => {
                checkpoint.check_identity(&identity, config.folder())?;
                // What is finished needs its trajectories no more.
                let ended = |slot: &String| files::is_finished(&config.folder().join(slot), config.length());
                let done = checkpoint.state.step() >= config.steps() && checkpoint.state.walkers.len() >= slots.len();
                if !(done && slots.iter().all(ended)) {
                    found = Checkpoint::load_to_continue(config.folder())?;
                }
            }
            None => folder.check_not_begun()?,
        }
        // Of the checkpoint that is gone on with, which may be the one before the newest.
        let places = match &found {
            Some(Found { checkpoint, .. }) => checkpoint.state.places(slots)?,
            None => Places::at_start(slots.len()),
        };
        Ok(Self { folder, found, places, identity })
    }
}

/// Refuses results of another exchange in the folder of a job, and holds nothing; `of_first` is the identity of its first run.
///
/// # Errors
/// [`crate::error::Error::Input`] that names the difference, or if there are checkpoints and none of them is good.
pub fn check_results(config: &Config, of_first: &Identity) -> Result<()> {
    let Some(found) = Checkpoint::<ExchangeState>::load(config.folder())? else { return Ok(()) };
    found.checkpoint.check_identity(&identity(config, of_first)?, config.folder())
}

/// What an exchange is.
fn identity(config: &Config, of_first: &Identity) -> Result<Identity> {
    Ok(Identity { settings: settings(config)?, ..of_first.clone() })
}
