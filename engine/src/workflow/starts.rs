//! Runs that make structures which a titration begins with.
//!
//! `octitrate prepare --starts` names in `titrate.structures` what the jobs beside the titration write: `start_2/final.gro` is that of `start_2.toml`. `octitrate titrate` runs those
//! whose structure is not there yet, side by side, before anything else.

use crate::config::{Config, job_that_writes};
use crate::output::files;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The jobs that make the structures of this titration which are not there, in the order in which it names them. None where the job cannot be read, which is
/// said when it is read for good, and for structures that no job beside it makes.
pub fn missing(titration: &Path) -> Vec<PathBuf> {
    let text = std::fs::read_to_string(titration).unwrap_or_default();
    let job: toml::Table = text.parse().unwrap_or_default();
    let named = job.get("titrate").and_then(|section| section.get("structures")).and_then(toml::Value::as_array);
    let named = named.into_iter().flatten().filter_map(toml::Value::as_str);
    let folder = titration.parent().unwrap_or(Path::new(""));
    let mut seen = BTreeSet::new();
    named
        .map(|structure| folder.join(structure))
        .filter(|structure| !structure.exists())
        .filter_map(|structure| made_by(&structure))
        .filter(|job| seen.insert(job.clone()))
        .collect()
}

/// A titration without its structures, if it is a valid job but for these: nobody shall wait for them to be told of another mistake.
pub fn without(titration: &Path) -> Option<Config> {
    let text = std::fs::read_to_string(titration).unwrap_or_default();
    let mut job: toml::Table = text.parse().unwrap_or_default();
    if let Some(section) = job.get_mut("titrate").and_then(toml::Value::as_table_mut) {
        section.remove("structures");
    }
    Config::parse(&job.to_string(), titration).ok()
}

/// The job whose run writes this structure: that of the name of its folder, beside it.
fn made_by(structure: &Path) -> Option<PathBuf> {
    let is_last = structure.file_name()? == files::FINAL;
    is_last.then(|| job_that_writes(structure.parent()?)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_structures_that_are_not_there_are_found() {
        let place = temp_dir::TempDir::new().unwrap();
        let titration = place.path().join("titrate.toml");
        let write = |name: &str, text: &str| std::fs::write(place.path().join(name), text).unwrap();
        assert!(missing(&titration).is_empty());
        write(
            "titrate.toml",
            "[titrate]\nstructures = [\"system.gro\", \"start_2/final.gro\", \"start_3/final.gro\", \"start_3/final.gro\", \"start_4/final.gro\", \"start_5/other.gro\", \"start_6/final.gro\", \"start_7/final.gro\"]\n",
        );
        ["start_2.toml", "start_3.toml", "start_5.toml", "system.toml"].iter().for_each(|name| write(name, ""));
        write("start_6.toml", "[output]\nfolder = \"start_6\"");
        write("start_7.toml", "[output]\nfolder = \"elsewhere\"");
        std::fs::create_dir(place.path().join("start_2")).unwrap();
        write("start_2/final.gro", "");
        // The second is there, the fourth has no job, no run writes the fifth, and the seventh job writes to another folder.
        assert_eq!(missing(&titration), [place.path().join("start_3.toml"), place.path().join("start_6.toml")]);
        write("titrate.toml", "[titrate]\nstructures = 3");
        assert!(missing(&titration).is_empty());
    }
}
