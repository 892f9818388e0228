//! Names by which runs and titrations that are evaluated together are told from each other.

use super::Run;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The part that all of these folders have in common; empty for none of them.
fn common(folders: impl IntoIterator<Item = PathBuf>) -> PathBuf {
    let both = |a: PathBuf, b: PathBuf| a.iter().zip(b.iter()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    folders.into_iter().reduce(both).unwrap_or_default()
}

/// Names by which the folders of titrations are told from each other, as short as they can be: what comes behind the part that all have in common. A single one needs none.
pub fn names_of_titrations(folders: &[PathBuf]) -> Vec<String> {
    let common = common(folders.iter().map(|folder| folder.parent().unwrap_or(folder).to_path_buf()));
    let name = |folder: &PathBuf| folder.strip_prefix(&common).unwrap_or(folder).display().to_string();
    if folders.len() < 2 { vec![String::new(); folders.len()] } else { folders.iter().map(name).collect() }
}

/// Names by which runs are told from each other: `pH_4.00/replica_1`, of several titrations with the name of each before it, `first/pH_4.00/replica_1`.
pub fn names_of_runs<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<String> {
    let runs: Vec<&Run> = runs.collect();
    let titrations: BTreeSet<&Path> = runs.iter().map(|run| run.titration()).collect();
    if titrations.len() < 2 {
        return runs.iter().map(|run| run.short_name()).collect();
    }
    let above = titrations.iter().map(|titration| titration.parent().unwrap_or(titration).to_path_buf());
    let common = common(above);
    runs.iter().map(|run| run.folder.strip_prefix(&common).unwrap_or(&run.folder).display().to_string()).collect()
}
