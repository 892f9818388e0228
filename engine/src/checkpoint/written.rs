//! Whether the output files are still what they were when a checkpoint was made.
//!
//! A continued run cuts each file to the length that the checkpoint recorded. That is right only if nothing but whole entries of this run lie
//! before the cut: a file that was shortened, that an editor has given other line ends, or that a crash of the machine has left full of
//! zeros must not be continued. A trajectory may be put away, to save room, and a table that was damaged be given up, where an empty file is left in its place: a crash does
//! not do that, because files are brought to the disk before their checkpoint is written. It is told of, and the evaluation says of a table that it begins late.

use crate::output::files::Written;
use crate::trajectory::{trr, xtc};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes before the cut that are looked at: some hundred lines of a table.
const LOOK: u64 = 1 << 16;

/// Files that are named in a message, at most.
const NAMED: usize = 5;

/// Checks all files in `folder`; the error says what is wrong with those that are not as they were.
pub(super) fn check(folder: &Path, written: &BTreeMap<String, Written>) -> Result<(), String> {
    let wrong = |(name, written): (&String, &Written)| {
        let path = folder.join(name);
        if is_empty(&path) {
            return None;
        }
        match damage(&path, written.bytes) {
            Ok(damage) => damage.map(|damage| format!("{name} {damage}")),
            Err(e) => Some(format!("{name} cannot be read: {e}")),
        }
    };
    let mut all: Vec<String> = written.iter().filter_map(wrong).collect();
    if all.is_empty() {
        return Ok(());
    }
    let more = all.len().saturating_sub(NAMED);
    all.truncate(NAMED);
    let more = match more {
        0 => String::new(),
        1 => ", and 1 other file is not as it was".into(),
        more => format!(", and {more} other files are not as they were"),
    };
    Err(all.join(", ") + &more)
}

/// Whether there is a table or trajectory at this path that holds nothing.
fn is_empty(path: &Path) -> bool {
    let is_kept = path.extension().is_some_and(|ending| ["csv", "xtc", "trr"].iter().any(|known| ending == *known));
    is_kept && path.metadata().is_ok_and(|data| data.is_file() && data.len() == 0)
}

/// Takes tables and trajectories that had something in them and have nothing now for new ones from here on, and says so.
pub(super) fn emptied(folder: &Path, written: &mut BTreeMap<String, Written>) -> Option<String> {
    let (mut tables, mut trajectories) = (Vec::new(), Vec::new());
    for (name, had) in written.iter_mut().filter(|(name, had)| had.bytes > 0 && is_empty(&folder.join(name))) {
        *had = Written::from(0);
        if name.ends_with(".csv") { tables.push(name.as_str()) } else { trajectories.push(name.as_str()) }
    }
    let of = |names: &[&str], what: &str| {
        (!names.is_empty()).then(|| format!("{}: emptied since the checkpoint, with {what}", names.join(", ")))
    };
    let tables = of(&tables, "lines from here on: those before are lost");
    let said: Vec<String> = tables.into_iter().chain(of(&trajectories, "frames from here on")).collect();
    (!said.is_empty()).then(|| said.join("; "))
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

    /// All files are named, up to five; those that are empty are new from here on, whatever they had.
    #[test]
    fn many_files_are_named_and_empty_ones_begin_anew() {
        let folder = temp_dir::TempDir::new().unwrap();
        let names =
            ["1/lambda.csv", "2/lambda.csv", "3/lambda.csv", "3/trajectory.xtc", "4/lambda.csv", "5/lambda.csv"];
        let mut written: BTreeMap<String, Written> =
            names.into_iter().map(|name| (name.to_string(), Written::from(20))).collect();
        let message = check(folder.path(), &written).unwrap_err();
        assert!(message.starts_with("1/lambda.csv is missing, 2/lambda.csv is missing, "), "{message}");
        assert!(message.ends_with("4/lambda.csv is missing, and 1 other file is not as it was"), "{message}");
        for name in names {
            std::fs::create_dir_all(folder.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(check(folder.path(), &written), Ok(()));
        std::fs::write(folder.path().join("1/lambda.csv"), "x".repeat(19)).unwrap();
        std::fs::write(folder.path().join("5/lambda.csv"), "").unwrap();
        let message = check(folder.path(), &written).unwrap_err();
        assert_eq!(message, "1/lambda.csv has 19 bytes, and had 20 when the checkpoint was made");
        written.insert("2/lambda.csv".into(), Written::from(0));
        let said = emptied(folder.path(), &mut written).unwrap();
        let lost = "with lines from here on: those before are lost";
        assert_eq!(
            said,
            format!(
                "3/lambda.csv, 4/lambda.csv, 5/lambda.csv: emptied since the checkpoint, {lost}; 3/trajectory.xtc: emptied since the checkpoint, with frames from here on"
            )
        );
        assert_eq!([written["1/lambda.csv"].bytes, written["3/lambda.csv"].bytes], [20, 0]);
    }
}
