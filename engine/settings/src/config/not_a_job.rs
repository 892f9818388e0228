//! What stands in the place of a job file by mistake: a folder, or one of the files that a job names.

use crate::error::InputError;
use std::path::Path;

/// Jobs as `octitrate prepare`, `octitrate site` and the examples call them, in the order in which they are run.
const JOBS: [&str; 4] = ["equilibrate.toml", "calibrate.toml", "run.toml", "titrate.toml"];

/// The mistake, if the path is that of a folder, or of a file whose name says that it is a structure or a topology.
pub(super) fn explain(path: &Path) -> Option<InputError> {
    let of = |message: &str, help: String| Some(InputError::new(message, help).in_file(path));
    if path.is_dir() {
        let jobs: Vec<String> = JOBS
            .iter()
            .map(|name| path.join(name))
            .filter(|job| job.is_file())
            .map(|job| job.display().to_string())
            .collect();
        let help = if jobs.is_empty() { String::new() } else { format!("jobs in it: {}", jobs.join(", ")) };
        return of("a folder, where a job file is meant", help);
    }
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    let (_, extension) = name.strip_suffix(".gz").unwrap_or(&name).rsplit_once('.')?;
    if !path.is_file() {
        return None;
    }
    match extension {
        "pdb" | "ent" | "cif" | "mmcif" | "pdbx" => {
            let help = format!("octitrate prepare {} makes a folder with the job of a protein", path.display());
            of("a structure of the PDB, where a job file is meant", help)
        }
        "gro" | "top" | "itp" | "xml" | "prmtop" | "parm7" | "rst7" | "psf" | "tpr" | "mdp" | "xtc" | "trr" => {
            let help = "a job is a TOML file that names its structure and its topology in [system]".to_string();
            of(&format!("a .{extension} file, where a job file is meant"), help)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_and_structures_are_told_from_jobs() {
        let place = temp_dir::TempDir::new().unwrap();
        let said = |name: &str| explain(&place.path().join(name)).map(|error| (error.message, error.help));
        let write = |name: &str| std::fs::write(place.path().join(name), "").unwrap();
        ["titrate.toml", "1ABC.pdb.gz", "1abc.cif", "conf.gro", "job"].iter().for_each(|name| write(name));
        let (message, help) = said("").unwrap();
        assert_eq!(message, "a folder, where a job file is meant");
        assert!(
            help.starts_with("jobs in it: ") && help.ends_with("titrate.toml") && !help.contains("run.toml"),
            "{help}"
        );
        std::fs::remove_file(place.path().join("titrate.toml")).unwrap();
        assert_eq!(said("").unwrap().1, "");
        for name in ["1ABC.pdb.gz", "1abc.cif"] {
            let (_, help) = said(name).unwrap();
            assert!(help.starts_with("octitrate prepare ") && help.contains(name), "{help}");
        }
        assert_eq!(said("conf.gro").unwrap().0, "a .gro file, where a job file is meant");
        // A file that is not there is said to be not there.
        assert_eq!([said("job"), said("2abc.pdb"), said("job.toml")], [const { None }; 3]);
    }
}
