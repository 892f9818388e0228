//! An entry as a file, after a calibration.

use super::{Correction, Elsewhere, Entry, LibraryError};
use serde::Serialize;

/// How the comment begins that the Python package and `octitrate site` write above a correction that is not known yet.
const NOT_YET: &str = "# Not calibrated yet";

/// Text of an entry with its correction replaced by `correction`, that of the model compound or the one at `residue` ([`Elsewhere`]); everything before
/// the corrections, comments included, is kept as it is, but for the comment that it is not known yet.
///
/// # Errors
/// [`LibraryError::Parse`] and [`LibraryError::Inconsistent`] for a bad entry, for a table after `[correction]`, and for
/// a calibration that the library would refuse to read.
pub fn entry_with_calibration(
    text: &str,
    file: &str,
    residue: Option<&str>,
    correction: &Correction,
) -> Result<String, LibraryError> {
    let inconsistent = |reason: String| LibraryError::Inconsistent { file: file.to_string(), reason };
    let mut entry = Entry::from_toml(text, file)?;
    let tables = ["[correction", "[[elsewhere", "[elsewhere"];
    let is_correction = |line: &&str| tables.iter().any(|table| line.trim_start().starts_with(table));
    let mut head: Vec<&str> = text.lines().take_while(|line| !is_correction(line)).collect();
    let mut rest = text.lines().skip(head.len());
    if rest.any(|line| line.trim_start().starts_with('[') && !is_correction(&line)) {
        return Err(inconsistent("[correction] must be the last table".into()));
    }
    head.retain(|line| !line.starts_with(NOT_YET));
    entry.put(residue, correction);
    #[derive(Serialize)]
    struct Tail<'a> {
        #[serde(skip_serializing_if = "<[Elsewhere]>::is_empty")]
        elsewhere: &'a [Elsewhere],
        correction: &'a Correction,
    }
    let tail = toml::to_string(&Tail { elsewhere: &entry.elsewhere, correction: &entry.correction })
        .map_err(|error| inconsistent(format!("correction cannot be written: {error}")))?;
    let written = format!("{}\n{tail}", head.join("\n"));
    entry.text.clone_from(&written);
    if Entry::from_toml(&written, file)? != entry {
        return Err(inconsistent("the entry written does not read back as it was".into()));
    }
    Ok(written)
}
