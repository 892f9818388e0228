//! How the slots of a replica exchange open their files, and how walkers join that were added on the way.

use super::setup::{Setup, number_of};
use super::state::ExchangeState;
use crate::error::{Error, InputError, Result};
use crate::output::begun::Begun;
use crate::output::files::{self, Files, Written};
use crate::output::progress::Log;
use crate::output::sites;
use crate::propagate::Walker;
use crate::record::Description;
use crate::workflow::children::Child;
use crate::workflow::run::name_trajectory_atoms;
use std::collections::BTreeMap;

/// Says how to have fewer walkers.
pub(super) fn too_many(error: Error, slot: &Child) -> Error {
    match error {
        Error::Memory(error) => {
            let help = "take fewer pH values or replicas: with titrate.exchange all walkers are in memory at once";
            InputError::new(format!("{}: {error}", slot.name), help).into()
        }
        other => other,
    }
}

/// Lets the walker of a slot that was added begin with the state of the one at the nearest pH; nothing of other slots.
pub(super) fn join<W: Walker>(
    setup: &Setup,
    walker: &mut W,
    number: usize,
    slot: usize,
    before: &ExchangeState,
    at: &[usize],
    log: &mut Log,
) -> Result<()> {
    let known = before.walkers.len();
    let Some((added, source)) = setup.source_among(slot, at, known) else { return Ok(()) };
    let owner = at[source];
    let Some(state) = before.walkers.get(owner).filter(|state| state.step == added.steps) else {
        let message = format!("pH {} was added at {} ps, and there is no walker to begin with", added.ph, added.time);
        return Err(InputError::new(message, "start again with --force").in_file(setup.config.folder()).into());
    };
    walker.restore(state)?;
    walker.set_ph(added.ph)?;
    let [walker, from_walker] = [number, owner].map(|number| Some(number_of(number)));
    let folder = setup.slots[slot].config.folder();
    let from = setup.label(source);
    Begun { time: added.time, from, why: added.why.clone(), walker, from_walker }.write(folder)?;
    let [number, owner] = [number, owner].map(number_of);
    log.line(&format!("walker {number} begins at pH {} with the state of walker {owner}", added.ph))
}

/// Longest time (ps) from the start in which a walker holds λ. Walkers that were added to an exchange that had become longer may hold it for longer
/// than the first ones, and any of them may come to any slot.
pub(super) fn held<W: Walker>(walkers: &[W]) -> f64 {
    walkers.iter().map(|walker| walker.describe().held).fold(0.0, f64::max)
}

/// Opens the output of every slot, new or cut to what a checkpoint knows as `written`, and says in its log what it is.
pub(super) fn open_files<W: Walker>(
    setup: &Setup,
    walkers: &mut [W],
    at: &[usize],
    written: &BTreeMap<String, Written>,
) -> Result<Vec<Files>> {
    let held = held(walkers);
    let open = |(slot, child): (usize, &Child)| {
        let walker = &mut walkers[at[slot]];
        let mut description = Description { held, ..walker.describe() };
        description.ph = Some(setup.ladders.ph_of(slot));
        let mut log = Log::open(&child.config.result(files::LOG), true)?;
        log.describe(&description)?;
        log.describe_run(&child.config, description.ph)?;
        sites::write(&child.config.result(files::SITES), &description)?;
        let prefix = format!("{}/", setup.label(slot));
        let own = written.iter().filter_map(|(name, file)| Some((name.strip_prefix(&prefix)?.into(), *file)));
        let own: BTreeMap<String, Written> = own.collect();
        let files = Files::open(&child.config, &description.lambdas(), walker.trajectory_atoms(), &own)?;
        name_trajectory_atoms(&child.config, walker, &own)?;
        Ok(files)
    };
    setup.slots.iter().enumerate().map(open).collect()
}
