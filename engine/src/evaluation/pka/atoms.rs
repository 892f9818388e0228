//! Which file names the atoms of a trajectory.
//!
//! | file | names |
//! |---|---|
//! | `trajectory.gro` | the atoms that were selected, where they are not all |
//! | `final.gro` | all atoms, of a run that is finished |
//! | `system.structure` of the job | all atoms, of a run that is not |
//!
//! The first two have the names of the topology. A structure may have other names of residues, or other numbers: it serves only if it has the residues of
//! the sites.

use super::shown::Unusable;
use crate::config::RESOLVED;
use crate::evaluation::job::Job;
use crate::evaluation::runs::Run;
use crate::output::files;
use forcefield::Structure;
use forcefield::gromacs::read_gro;
use lambda::site::SiteRequest;
use std::path::Path;

/// The structure that names the atoms of the trajectory of a run, for sites of these names, and what the file is called.
pub(super) fn naming<'a>(
    run: &Run,
    mut sites: impl Iterator<Item = &'a str>,
) -> std::result::Result<(String, Structure), Unusable> {
    let (frames, chosen, last) = (files::TRAJECTORY, files::TRAJECTORY_STRUCTURE, files::FINAL);
    let refused = |what: String, help| Err(Unusable { help, ..Unusable::new(what, "", run) });
    let own = |name: &str| Some(run.folder.join(name)).filter(|path| path.exists());
    if let Some(chosen) = own(chosen) {
        return read(&chosen, run);
    }
    let job = Job::read(&run.folder.join(RESOLVED));
    if job.value("output", "trajectory_atoms").is_some_and(|atoms| atoms != "all") {
        return refused(format!("{chosen}, which names the atoms of {frames}, is missing"), "put it back");
    }
    if let Some(last) = own(last) {
        return read(&last, run);
    }
    let Some(path) = job.path("system", "structure") else {
        let what = format!("none of {chosen}, {last} and {RESOLVED} is there to name the atoms of {frames}");
        return refused(what, "put one of them back");
    };
    let names = format!("which names the atoms of {frames} while a run is not finished");
    if !path.exists() {
        let what = format!("{}, the structure of the job, is missing, {names}", path.display());
        return refused(what, "put it back, or evaluate again when the run is finished");
    }
    let (name, structure) = read(&path, run)?;
    match sites.find(|site| !has_residue(&structure, site)) {
        None => Ok((name, structure)),
        Some(site) => refused(
            format!("{name}, the structure of the job, {names}, has no {site}, as the topology calls it"),
            "evaluate again when the run is finished",
        ),
    }
}

fn read(path: &Path, run: &Run) -> std::result::Result<(String, Structure), Unusable> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match read_gro(path) {
        Ok(structure) => Ok((name, structure)),
        Err(why) => Err(Unusable::new(format!("{name} cannot be read"), &why.to_string(), run)),
    }
}

/// Whether a structure has the residue of a site.
fn has_residue(structure: &Structure, site: &str) -> bool {
    let Ok(SiteRequest { name, number, .. }) = site.parse() else { return false };
    structure.names.iter().zip(&structure.residue_numbers).any(|(names, own)| names.0 == name && *own == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_of_the_job_names_the_atoms_of_a_run_that_is_not_finished() {
        let folder = temp_dir::TempDir::new().unwrap();
        let run = Run { folder: folder.path().join("pH_4.00/replica_1"), ..Run::default() };
        std::fs::create_dir_all(&run.folder).unwrap();
        let write = |name: &str, text: &str| std::fs::write(run.folder.join(name), text).unwrap();
        let named = |site: &str| naming(&run, [site].into_iter()).map(|(name, _)| name).map_err(|why| why.what);
        let refused = |site: &str| named(site).unwrap_err();
        assert!(refused("GL3 15").starts_with("none of trajectory.gro, final.gro and resolved.toml is there"));
        let path = folder.path().join("system.gro");
        let job = |atoms: &str| {
            write(RESOLVED, &format!("[system]\nstructure = {path:?}\n[output]\ntrajectory_atoms = \"{atoms}\"\n"));
        };
        job("solute");
        assert!(refused("GL3 15").starts_with("trajectory.gro, which names the atoms of trajectory.xtc, is missing"));
        job("all");
        let missing = format!("{}, the structure of the job, is missing", path.display());
        assert!(refused("GL3 15").starts_with(&missing), "{}", refused("GL3 15"));
        let structure = |residue: &str| {
            format!("x\n    1\n   15{residue}      N    1   0.000   0.000   0.000\n   2.0   2.0   2.0\n")
        };
        std::fs::write(&path, structure("GL3")).unwrap();
        for site in ["GL3 15", "nterm GL3 15", "2:GL3 15"] {
            assert_eq!(named(site).as_deref(), Ok("system.gro"), "{site}");
        }
        // The topology calls or numbers the residue otherwise.
        for site in ["GLH 15", "GL3 16"] {
            assert!(refused(site).contains(&format!(" has no {site}, as the topology calls it")), "{}", refused(site));
        }
        std::fs::write(&path, "rubbish").unwrap();
        assert_eq!(refused("GL3 15"), "system.gro cannot be read");
        // What the run has written itself comes first, and has the names of the topology.
        write(files::FINAL, &structure("GLH"));
        assert_eq!(named("GL3 15").as_deref(), Ok("final.gro"));
        write(files::TRAJECTORY_STRUCTURE, &structure("GLH"));
        assert_eq!(named("GL3 15").as_deref(), Ok("trajectory.gro"));
    }
}
