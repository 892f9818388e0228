//! Whether the output files are still what they were when a checkpoint was made.
//!
//! A continued run cuts each file to the length that the checkpoint recorded. That is right only if nothing but whole entries of this run lie
//! before the cut: a file that was shortened, that an editor has given other line ends, or that a crash of the machine has left full of
//! zeros must not be continued. A trajectory may be put away, to save room, and an empty file left in its place: nothing but an intention does that, because files are
//! brought to the disk before their checkpoint is written.

use crate::output::files::Written;
use crate::trajectory::{trr, xtc};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes before the cut that are looked at: some hundred lines of a table.
const LOOK: u64 = 1 << 16;

/// Checks all files in `folder`; the error says what is wrong with the first one that is not as it was.
pub(super) fn check(folder: &Path, written: &BTreeMap<String, Written>) -> Result<(), String> {
    written.iter().try_for_each(|(name, written)| {
        let path = folder.join(name);
        if is_empty_trajectory(&path) {
            return Ok(());
        }
        let damage = damage(&path, written.bytes).map_err(|e| format!("{} cannot be read: {e}", path.display()))?;
        damage.map_or(Ok(()), |damage| Err(format!("{} {damage}", path.display())))
    })
}

/// Whether there is a trajectory at this path that holds nothing.
fn is_empty_trajectory(path: &Path) -> bool {
    let is_trajectory = path.extension().is_some_and(|extension| extension == "xtc" || extension == "trr");
    is_trajectory && path.metadata().is_ok_and(|data| data.is_file() && data.len() == 0)
}

/// The trajectories that had frames and have none now. They count as new ones from here on.
pub(super) fn emptied(folder: &Path, written: &mut BTreeMap<String, Written>) -> Vec<String> {
    let now_empty = written.iter_mut().filter(|(name, had)| had.bytes > 0 && is_empty_trajectory(&folder.join(name)));
    now_empty
        .map(|(name, had)| {
            *had = Written::from(0);
            name.clone()
        })
        .collect()
}

/// What is wrong with a file that had `length` bytes; `None` if nothing is seen.
fn damage(path: &Path, length: u64) -> std::io::Result<Option<String>> {
    let mut file = match File::open(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Some("is missing".into())),
        file => file?,
    };
    let present = file.metadata()?.len();
    if present < length {
        return Ok(Some(format!("has {present} bytes, and had {length} when the checkpoint was made")));
    }
    let scan = match path.extension().and_then(|extension| extension.to_str()) {
        Some("csv") if length > 0 => return damage_of_table(file, length),
        Some("xtc") => xtc::scan(&mut file)?,
        Some("trr") => trr::scan(&mut file)?,
        _ => return Ok(None),
    };
    // Every frame says how long it is: one must end where the checkpoint found the end.
    let ends_there = scan.end == length || scan.entries.iter().any(|frame| frame.at == length);
    Ok((!ends_there).then(|| {
        let frames = scan.entries.iter().filter(|frame| frame.at < length).count();
        format!("has a damaged frame after {frames} whole ones")
    }))
}

/// What is wrong with a table that had `length` bytes.
fn damage_of_table(mut file: File, length: u64) -> std::io::Result<Option<String>> {
    file.seek(SeekFrom::Start(length.saturating_sub(LOOK)))?;
    let mut end = Vec::new();
    file.take(length.min(LOOK)).read_to_end(&mut end)?;
    Ok(if end.contains(&b'\r') {
        Some("has other line ends (CRLF) than this program writes: an editor has changed it".into())
    } else if end.contains(&0) {
        Some("holds zeros where lines were, as after a crash of the machine".into())
    } else if end.last() != Some(&b'\n') {
        Some("has half a line where the checkpoint found its end: it was changed".into())
    } else {
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_damage_is_named() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("lambda.csv");
        let check =
            |length: u64| super::check(folder.path(), &BTreeMap::from([("lambda.csv".into(), Written::from(length))]));
        assert!(check(5).unwrap_err().ends_with("lambda.csv is missing"));
        let text = "time (ps),lambda A\n0,0.1\n0.1,0.2\n";
        let write = |text: &str| std::fs::write(&path, text).unwrap();
        write(text);
        // Lines behind the checkpoint are cut away: they do no harm.
        for length in [0, 19, 25, 33] {
            assert_eq!(check(length), Ok(()), "{length}");
        }
        assert!(check(34).unwrap_err().contains("has 33 bytes, and had 34"));
        assert!(check(23).unwrap_err().contains("half a line"));
        write(&text.replace('\n', "\r\n"));
        assert!(check(33).unwrap_err().contains("CRLF"));
        write(&text.replace("0.2", "\0\0\0"));
        assert!(check(33).unwrap_err().contains("zeros"));
        // Frames of no atoms: 56 bytes that start with the number 1995.
        let trajectory = folder.path().join("trajectory.xtc");
        let check = |length: u64| {
            super::check(folder.path(), &BTreeMap::from([("trajectory.xtc".into(), Written::from(length))]))
        };
        let mut frames =
            [[&1995_u32.to_be_bytes()[..], &[0; 52]].concat(), [&1995_u32.to_be_bytes()[..], &[0; 52]].concat()]
                .concat();
        std::fs::write(&trajectory, &frames).unwrap();
        for length in [0, 56, 112] {
            assert_eq!(check(length), Ok(()), "{length}");
        }
        assert!(check(60).unwrap_err().contains("a damaged frame after 2 whole ones"));
        frames[57] = 7;
        std::fs::write(&trajectory, &frames).unwrap();
        assert!(check(112).unwrap_err().contains("a damaged frame after 1 whole ones"));
    }
}
