//! Folders of runs, by their names and files: those of a titration, those that have something to read, and those that lack what they should have.

use crate::config::RESOLVED;
use crate::config::quantity::Time;
use crate::error::{Error, InputError, Result};
use crate::evaluation::until::LOOKS;
use crate::invocation::quoted;
use crate::output::{begun, files};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// Levels of folders below a titration that are searched for runs: `pH_4.00/replica_1`.
const DEPTH: usize = 2;

/// The folder of the titration in one that `octitrate prepare` wrote, whose job is `titrate.toml`, once it has begun; any other folder as it is.
pub fn of_prepared(folder: &Path) -> PathBuf {
    let titration = folder.join("titrate");
    let is_prepared = folder.join("titrate.toml").is_file() && !folder.join(RESOLVED).exists();
    if is_prepared && titration.join(RESOLVED).is_file() { titration } else { folder.to_path_buf() }
}

/// Folders of runs of a titration that have made a step, among these folders and below them, in the order of their names; each once. A run below one of these folders
/// that has lost a file ([`lost`]) is left out.
///
/// # Errors
/// As [`holding`]; [`Error::Input`] if no run has made a step, or if none has all of its files.
pub fn find(folders: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found = holding(files::LAMBDA, folders)?;
    found.retain(|run| has_lines(run));
    let named: Vec<PathBuf> = folders.iter().filter_map(|folder| std::fs::canonicalize(folder).ok()).collect();
    let whole = |run: &PathBuf| lost_file(run).is_none() || named.contains(run);
    // Where none is whole the first of them is refused by name.
    if found.iter().any(whole) {
        found.retain(whole);
    }
    if found.is_empty() {
        let message = format!("no run has made a step yet: each {} is empty", files::LAMBDA);
        return Err(InputError::new(message, "evaluate them later").in_file(&folders[0]).into());
    }
    Ok(found)
}

/// Whether there is something to read of the run in this folder. The table of a run that has not made a step is missing or empty; that of one that was finished is never so.
pub fn has_lines(folder: &Path) -> bool {
    let table = std::fs::metadata(folder.join(files::LAMBDA));
    folder.join(files::FINAL).exists() || table.is_ok_and(|table| table.len() > 0)
}

/// Folders that hold a `file`, among these folders and below them, in the order of their names; each once.
///
/// # Errors
/// [`Error::File`] if a folder cannot be read, [`Error::Input`] if there is none.
pub fn holding(file: &str, folders: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in folders {
        let mut here = Vec::new();
        descend(file, folder, DEPTH, &mut here)?;
        if here.is_empty() {
            let help = "name the folder of a run, or of a titration with its runs in pH_*/replica_*";
            let message = format!("there is no {file}, neither in the folder nor below it");
            return Err(InputError::new(message, help).in_file(folder).into());
        }
        for run in here {
            if !found.contains(&run) {
                found.push(run);
            }
        }
    }
    Ok(found)
}

fn descend(file: &str, folder: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let unreadable = |e| Error::file(folder, "look into the folder", e);
    let folder = std::fs::canonicalize(folder).map_err(unreadable)?;
    if folder.join(file).is_file() {
        found.push(folder);
        return Ok(());
    }
    if depth == 0 {
        return Ok(());
    }
    let mut inside = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            inside.push(path);
        }
    }
    inside.sort();
    inside.iter().try_for_each(|folder| descend(file, folder, depth - 1, found))
}

/// The equilibration (ps) that the job of a titration leaves out, if this is the folder of one, or of one of its runs.
pub fn equilibration(folder: &Path) -> Option<f64> {
    Time::parse(&of_the_titration(folder, "equilibration")?).ok().map(|time| time.get())
}

/// The table `titrate.finite_box` that the job of a titration names, if this is the folder of one, or of one of its runs.
pub fn finite_box(folder: &Path) -> Option<PathBuf> {
    of_the_titration(folder, "finite_box").map(PathBuf::from)
}

/// Runs that a titration should have by its job, or that have a folder there, and that have no frames: names such as `pH_4.00/replica_1`, for each of these
/// folders that is the folder of a titration.
pub fn without_frames(folders: &[PathBuf]) -> Vec<PathBuf> {
    let all = folders.iter().flat_map(|folder| planned(folder));
    all.filter(|run| !has_lines(run) && lost_file(run).is_none()).collect()
}

/// Runs of the same kind that have lost a file without which they cannot be read, each with the name of the file.
pub fn lost(folders: &[PathBuf]) -> Vec<(PathBuf, &'static str)> {
    let all = folders.iter().flat_map(|folder| planned(folder));
    all.filter_map(|run| lost_file(&run).map(|file| (run, file))).collect()
}

/// The file that the run in this folder has had, because another one could not be there without it, and has no more. A table and `sites.toml` are opened before anything is written.
pub(super) fn lost_file(folder: &Path) -> Option<&'static str> {
    let length = |name: &str| std::fs::metadata(folder.join(name)).ok().map(|file| file.len());
    let finished = length(files::FINAL).is_some();
    match length(files::LAMBDA) {
        None if finished || length(files::ENERGY).is_some_and(|length| length > 0) => Some(files::LAMBDA),
        Some(0) if finished => Some(files::LAMBDA),
        Some(1..) if length(files::SITES).is_none() => Some(files::SITES),
        Some(1..) if length(begun::FILE).is_none() && began_at_a_look(folder) => Some(begun::FILE),
        _ => None,
    }
}

/// Whether the run in this folder began with the state of another one, by the looks at its titration: what says so in its folder is needed to know how much of its start is left out.
fn began_at_a_look(folder: &Path) -> bool {
    // Runs that began at their first step are told by their tables alone.
    let Some(first) = first_time(&folder.join(files::LAMBDA)).filter(|first| *first > 0.0) else { return false };
    let text = std::fs::read_to_string(titration_of(folder).join(LOOKS)).unwrap_or_default();
    let looks: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let mut added = looks["added"].as_array().into_iter().flatten();
    let ph = ph_of_folder(folder);
    let own = added.find(|added| added["ph"].as_f64() == ph && added["withdrawn"].is_null());
    // One that was removed and made anew begins at its first step, too.
    own.and_then(|added| added["time"].as_f64()).is_some_and(|time| first > time - 1e-6)
}

/// First column of the first line of a table.
fn first_time(table: &Path) -> Option<f64> {
    let line = BufReader::new(File::open(table).ok()?).lines().nth(1)?.ok()?;
    line.split(',').next()?.parse().ok()
}

/// The pH that the folder of a run says that it has, as the folders of titrations do: `pH_4.00/replica_1`.
pub(super) fn ph_of_folder(run: &Path) -> Option<f64> {
    let of_ph = run.parent().filter(|_| starts(run, "replica_"))?;
    of_ph.file_name()?.to_str()?.strip_prefix("pH_")?.parse().ok()
}

/// Runs that a titration should have by its job, or that have a folder there; none if this is not the folder of a titration.
fn planned(folder: &Path) -> Vec<PathBuf> {
    let mut runs = in_folder(folder);
    if let Some(titrate) = section_titrate(folder) {
        let numbers = titrate.get("ph").and_then(toml::Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let replicas = titrate.get("replicas").and_then(toml::Value::as_integer).unwrap_or(1);
        let of_ph = |ph: f64| (1..=replicas).map(move |replica| run_folder(ph, replica));
        runs.extend(numbers.iter().filter_map(toml::Value::as_float).flat_map(of_ph));
    }
    runs.sort();
    runs.dedup();
    runs.into_iter().map(|run| folder.join(run)).collect()
}

/// Runs with frames in the folder of a titration that are none of `known`, by their names, such as `pH_4.00/replica_1`.
pub fn others(folder: &Path, known: &[PathBuf]) -> Vec<String> {
    let there = in_folder(folder).into_iter().filter(|run| {
        let path = folder.join(run);
        !known.contains(&path) && has_lines(&path)
    });
    there.map(|run| run.display().to_string()).collect()
}

/// Folders that are called as those of runs, below the folder of a titration, in the order of their names.
fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let inside = |folder: &Path, with: &str| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir() && starts(path, with)).collect()
    };
    let there = inside(folder, "pH_").into_iter().flat_map(|ph| inside(&ph, "replica_"));
    let mut runs: Vec<PathBuf> = there.filter_map(|run| Some(run.strip_prefix(folder).ok()?.to_path_buf())).collect();
    runs.sort();
    runs
}

/// Folder of a run below that of its titration, `pH_4.00/replica_1`.
pub fn run_folder(ph: f64, replica: impl std::fmt::Display) -> PathBuf {
    PathBuf::from(format!("pH_{}", ph_label(ph))).join(format!("replica_{replica}"))
}

/// A pH with two decimals, or as many as it has.
pub fn ph_label(ph: f64) -> String {
    if (ph * 100.0).round() / 100.0 == ph { format!("{ph:.2}") } else { format!("{ph}") }
}

/// Whether the last part of a path starts with this.
fn starts(path: &Path, with: &str) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(with))
}

/// The section `[titrate]` of the job in a folder.
fn section_titrate(folder: &Path) -> Option<toml::Table> {
    let text = std::fs::read_to_string(folder.join(RESOLVED)).ok()?;
    let job: toml::Table = text.parse().ok()?;
    job.get("titrate")?.as_table().cloned()
}

/// The text of a key of the section `[titrate]`, if this is the folder of a titration, of a pH in it or of a run.
fn of_the_titration(folder: &Path, key: &str) -> Option<String> {
    let folder = std::fs::canonicalize(folder).ok()?;
    let of_ph = if starts(&folder, "replica_") { folder.parent()? } else { &folder };
    let above = if starts(of_ph, "pH_") { of_ph.parent()? } else { of_ph };
    let titrate = section_titrate(&folder).or_else(|| section_titrate(above))?;
    titrate.get(key)?.as_str().map(str::to_string)
}

/// How the other runs of its titration are evaluated without the one in this folder, as the end of a sentence; nothing for a run by itself.
pub(super) fn without(run: &Path) -> Option<String> {
    let titration = titration_of(run);
    let folder = quoted(&titration.display().to_string());
    (titration != run).then(|| format!("octitrate pka {folder} evaluates the other runs without it"))
}

/// The folder of the titration that has the run in this folder, `pH_4.00/replica_1`; the folder itself if it is a run by itself.
pub(super) fn titration_of(run: &Path) -> &Path {
    let above = run.parent().filter(|above| starts(run, "replica_") && starts(above, "pH_"));
    above.and_then(Path::parent).unwrap_or(run)
}
