//! Checkpoints: everything a run needs to go on exactly where it was.
//!
//! Layout: the line `octitrate checkpoint 5`, MessagePack with named fields ([`Checkpoint`]: what the file belongs to, what was written to the output
//! files, the state), and 8 bytes of FNV-1a over all before. What there is of each atom takes the most room. It is packed (`packed.rs`), and positions from which lists were
//! made are stored as differences from the present ones ([`Stored`]): version 4 had numbers one by one and no differences, and is still read.
//!
//! A checkpoint is written to a temporary file, synced and renamed; the one
//! before it stays as `checkpoint.previous`. On continuation the output files are cut to the recorded lengths, so that a run in pieces
//! leaves the same bytes as a run in one.

mod identity;
#[cfg(test)]
mod tests;
mod written;

pub use identity::{Identity, SiteIdentity};

use crate::atomic::write_atomic;
use crate::error::{Error, InputError, Result};
use crate::output::files::Written;
use crate::state::State;
use forcefield::fnv::Fnv1a;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the newest checkpoint in the folder of a run.
pub const FILE: &str = "checkpoint";
/// Name of the one before it.
pub const PREVIOUS: &str = "checkpoint.previous";

/// What the first line begins with; its number follows.
const KIND: &str = "octitrate checkpoint ";
/// The version that is written.
const VERSION: u32 = 5;
/// The oldest that is read.
const OLDEST: u32 = 4;

/// What a checkpoint can hold of a run.
pub trait Stored: Serialize + DeserializeOwned {
    /// Turns what is nearly the same as something else into a difference from it, or such differences back: done twice it changes nothing.
    fn toggle_differences(&mut self);

    /// What else can be done where nothing in `folder` can be gone on with, in words that follow "or". The run may be one of many, of a titration or a calibration,
    /// whose others `--force` would move aside with it.
    fn anew(folder: &Path) -> String {
        format!(
            "move {} aside to begin this run anew; --force does that, and moves all runs aside where it is one of a titration or a calibration",
            folder.display()
        )
    }
}

impl Stored for State {
    fn toggle_differences(&mut self) {
        self.toggle_differences();
    }
}

/// A state with the run it belongs to. `S` is what goes on: a [`State`], or the states of all walkers of a replica exchange.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint<S = State> {
    /// The system and the settings of the run.
    pub identity: Identity,
    /// What had been written to each output file at this step, by name.
    pub written: BTreeMap<String, Written>,
    /// The state.
    pub state: S,
}

/// A checkpoint that was found, and a note if it is not the newest one.
#[derive(Debug, Clone, PartialEq)]
pub struct Found<S = State> {
    /// The newest good checkpoint.
    pub checkpoint: Checkpoint<S>,
    /// Why the newest file was not taken.
    pub note: Option<String>,
    /// Tables and trajectories that have been emptied since, in words.
    pub emptied: Option<String>,
}

fn checksum(bytes: &[u8]) -> u64 {
    let mut hash = Fnv1a::default();
    hash.bytes(bytes);
    hash.value()
}

impl<S: Stored> Checkpoint<S> {
    /// The file as bytes.
    fn encode(mut self) -> Vec<u8> {
        self.state.toggle_differences();
        let mut bytes = format!("{KIND}{VERSION}\n").into_bytes();
        rmp_serde::encode::write_named(&mut bytes, &self)
            .expect("invariant: a checkpoint has only texts, numbers and lists of known length");
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes
    }

    /// Reads what [`Checkpoint::encode`] wrote; the error says what is wrong with the bytes.
    fn decode(bytes: &[u8]) -> std::result::Result<Self, String> {
        let damaged = || "it is damaged: its checksum does not fit its content".to_string();
        let after = bytes.strip_prefix(KIND.as_bytes()).ok_or("it is not a checkpoint")?;
        let end = after.iter().position(|byte| *byte == b'\n').ok_or_else(damaged)?;
        let version = std::str::from_utf8(&after[..end]).ok().and_then(|text| text.parse::<u32>().ok());
        let version = version.ok_or_else(damaged)?;
        if !(OLDEST..=VERSION).contains(&version) {
            return Err(format!(
                "its format is {version}, of another version of octitrate, and this one reads {OLDEST} to {VERSION}: continue with the version that wrote it"
            ));
        }
        let (content, sum) = bytes.split_last_chunk::<8>().ok_or_else(damaged)?;
        if checksum(content) != u64::from_le_bytes(*sum) {
            return Err(damaged());
        }
        let body = content.get(KIND.len() + end + 1..).ok_or_else(damaged)?;
        let mut found: Self = rmp_serde::from_slice(body)
            .map_err(|e| format!("it is of another kind of run, or of another version: {e}"))?;
        if version > OLDEST {
            found.state.toggle_differences();
        }
        Ok(found)
    }

    /// Writes the checkpoint of a run; the one before stays as [`PREVIOUS`].
    ///
    /// # Errors
    /// [`Error::File`]; the checkpoint before is then still there.
    pub fn save(self, folder: &Path) -> Result<()> {
        let newest = folder.join(FILE);
        let previous = folder.join(PREVIOUS);
        let fresh = folder.join("checkpoint.new");
        write_atomic(&fresh, "write the checkpoint", &self.encode())?;
        if newest.exists() {
            std::fs::rename(&newest, &previous)
                .map_err(|e| Error::file(&previous, "keep the previous checkpoint", e))?;
        }
        std::fs::rename(&fresh, &newest).map_err(|e| Error::file(&newest, "write the checkpoint", e))
    }

    /// Reads the newest good checkpoint of a run: `None` if there is none; with a note if the newest was damaged or missing and the one before was
    /// taken.
    ///
    /// # Errors
    /// [`Error::Input`] if there are checkpoints and none of them is good.
    pub fn load(folder: &Path) -> Result<Option<Found<S>>> {
        Self::newest(folder, |_| Ok(()))
    }

    /// Reads the newest checkpoint from which a run can go on: it is good, and the output files are still what they were when it was made. A table or trajectory that
    /// is empty now has been put away or given up on purpose, and begins anew.
    ///
    /// # Errors
    /// As [`Self::load`]; it names the files that were changed.
    pub fn load_to_continue(folder: &Path) -> Result<Option<Found<S>>> {
        let mut found = Self::newest(folder, |found| written::check(folder, &found.written))?;
        if let Some(found) = &mut found {
            found.emptied = written::emptied(folder, &mut found.checkpoint.written);
        }
        Ok(found)
    }

    fn newest(folder: &Path, check: impl Fn(&Self) -> std::result::Result<(), String>) -> Result<Option<Found<S>>> {
        let mut refused: Vec<(&str, String)> = Vec::new();
        let mut changed = false;
        for name in [FILE, PREVIOUS] {
            let path = folder.join(name);
            let bytes = match std::fs::read(&path) {
                Ok(bytes) => bytes,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
                Err(e) => return Err(Error::file(&path, "read the checkpoint", e)),
            };
            let decoded = Self::decode(&bytes);
            let checked = decoded.and_then(|found| match check(&found) {
                Ok(()) => Ok(found),
                Err(reason) => {
                    changed = true;
                    Err(reason)
                }
            });
            match checked {
                Ok(checkpoint) => {
                    let note = refused.pop().map(|(name, reason)| format!("{name} was not used: {reason}"));
                    return Ok(Some(Found { checkpoint, note, emptied: None }));
                }
                Err(reason) => refused.push((name, reason)),
            }
        }
        let why = match &refused[..] {
            [] => return Ok(None),
            [(_, first), (_, second)] if first == second => {
                format!("neither {FILE} nor {PREVIOUS} was used: {first}")
            }
            refused => {
                refused.iter().map(|(name, why)| format!("{name} was not used: {why}")).collect::<Vec<_>>().join("; ")
            }
        };
        let back = if changed {
            "put back what was changed or lost; or leave an empty file in its place (what is left of it can be kept elsewhere): then the same command goes on from the checkpoint, and the file has lines or frames from there on"
        } else {
            "put back what was changed"
        };
        let help = format!("{back}; or {}", S::anew(folder));
        Err(InputError::new(format!("no checkpoint is usable; {why}"), help).in_file(folder).into())
    }

    /// Refuses a checkpoint of another run.
    ///
    /// # Errors
    /// [`Error::Input`] that names the first difference.
    pub fn check_identity(&self, ours: &Identity, folder: &Path) -> Result<()> {
        let Some(difference) = self.identity.difference(ours) else { return Ok(()) };
        let message = format!("the checkpoint belongs to another run: {difference}");
        let help = format!("choose another output.folder, or {}", S::anew(folder));
        Err(InputError::new(message, help).in_file(&folder.join(FILE)).into())
    }
}
