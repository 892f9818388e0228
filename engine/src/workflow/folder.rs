//! The folder of a job: whose it is, held against a second program, with the resolved job and the log in it.
//!
//! A folder belongs to one job. `folder.toml` says to what kind of work, and whether it has been begun, that is whether there was ever a
//! checkpoint. Results go into a folder that is new, empty, or the job's own; nothing else is written over. What a run or a titration has
//! in its folder is compared with the job by the checkpoints ([`crate::checkpoint::Identity`]).

use super::rerun::RERUN;
use crate::atomic::{read_toml, write_atomic};
use crate::config::{Config, RESOLVED};
use crate::error::{Error, InputError, Result};
use crate::invocation;
use crate::output::files;
use crate::output::progress::Log;
use crate::report::page::REPORT;
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

/// Name of the file that says whose a folder is.
pub const MARKER: &str = "folder.toml";
/// Name of the job of a run that a titration or a calibration has made, in the folder of the run.
pub const JOB: &str = "run.toml";
/// Name of the file with what such a run said when it failed.
pub const COMPLAINTS: &str = "errors.txt";
const LOCK: &str = ".lock";
/// What this program may have written into the folder of a run before the run itself comes.
const OURS: [&str; 4] = [JOB, COMPLAINTS, RERUN, files::START];
const HEADING: &str =
    "# The results of one job lie in this folder. It says so here, so that no other job writes over them.\n";

/// What to do about a folder that is not the job's own.
const ELSEWHERE: &str = "choose another folder (output.folder, or --output), or --force to move this one aside";

/// The work that a folder belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One run.
    Run,
    /// Runs at many pH values.
    Titration,
    /// Runs that swap their pH.
    Exchange,
    /// A calibration.
    Calibration,
    /// An evaluation of runs that lie elsewhere.
    Evaluation,
}

impl Kind {
    /// The work of a job.
    pub fn of(config: &Config) -> Self {
        match (&config.titrate, &config.calibrate) {
            (Some(titrate), _) if titrate.exchange.is_some() => Self::Exchange,
            (Some(_), _) => Self::Titration,
            (_, Some(_)) => Self::Calibration,
            _ => Self::Run,
        }
    }

    /// Whether this work keeps a checkpoint in its folder.
    fn has_checkpoint(self) -> bool {
        matches!(self, Self::Run | Self::Exchange)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Run => "a single run",
            Self::Titration => "a titration without replica exchange",
            Self::Exchange => "a titration with replica exchange",
            Self::Calibration => "a calibration",
            Self::Evaluation => "an evaluation of runs",
        })
    }
}

/// What `folder.toml` says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Marker {
    program: String,
    kind: Kind,
    begun: bool,
}

impl Marker {
    fn new(kind: Kind) -> Self {
        Self { program: format!("octitrate {}", env!("CARGO_PKG_VERSION")), kind, begun: false }
    }

    /// Reads that of a folder; `None` if it has none.
    fn read(folder: &Path) -> Result<Option<Self>> {
        read_toml(&folder.join(MARKER), ELSEWHERE)
    }
}

/// The folder of a job that is being worked on. Dropping it lets the next program in.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    marker: Marker,
    _lock: Lock,
}

impl Folder {
    /// Makes the folder or takes what is this job's own, and holds it. A folder that is refused stays as it is.
    ///
    /// # Errors
    /// [`Error::Input`] if the folder is of other work or holds files of others, or if another program is at work there; [`Error::File`] if it
    /// cannot be made.
    pub fn claim(path: &Path, kind: Kind) -> Result<Self> {
        let found = look(path, kind)?;
        let lock = hold(path)?;
        let marker = found.unwrap_or_else(|| Marker::new(kind));
        let folder = Self { path: path.to_path_buf(), marker, _lock: lock };
        if !path.join(MARKER).exists() {
            folder.save()?;
        }
        Ok(folder)
    }

    /// Takes the folder of an evaluation. One of the folders that are `evaluated` may hold it as well, beside its runs, unless something there
    /// has one of these `names` and is not from an evaluation.
    ///
    /// # Errors
    /// As [`Folder::claim`].
    pub fn claim_for_evaluation(path: &Path, evaluated: &[PathBuf], names: &[&str]) -> Result<()> {
        if !is_one_of(path, evaluated) {
            return Self::claim(path, Kind::Evaluation).map(|_| ());
        }
        if has_marker_beside_runs(path, names)? {
            return Ok(());
        }
        Self { path: path.to_path_buf(), marker: Marker::new(Kind::Evaluation), _lock: hold(path)? }.save()
    }

    /// What [`Self::claim_for_evaluation`] would refuse, without a change to anything, and whether results can be written there: nobody shall wait for an evaluation to be told of that.
    ///
    /// # Errors
    /// As [`Self::claim_for_evaluation`].
    pub fn foresee_evaluation(path: &Path, evaluated: &[PathBuf], names: &[&str]) -> Result<()> {
        if is_one_of(path, evaluated) {
            has_marker_beside_runs(path, names)?;
        } else {
            look(path, Kind::Evaluation)?;
        }
        check_writable(path).map_err(|e| {
            let message = Error::file(path, "write the results there", e).to_string();
            InputError::new(message, "choose another folder for the results: --output").into()
        })
    }

    /// What [`Self::claim`] would find, without a change to anything: whether the folder holds results of this job.
    ///
    /// # Errors
    /// As [`Folder::claim`], and if nothing can be written there.
    pub fn foresee(path: &Path, kind: Kind) -> Result<bool> {
        let found = look(path, kind)?;
        check_writable(path).map_err(|e| Error::file(path, "make the folder of the results", e))?;
        Ok(found.is_some_and(|marker| marker.begun) || (kind.has_checkpoint() && has_checkpoint(path)))
    }

    fn save(&self) -> Result<()> {
        let text = toml::to_string(&self.marker).map_err(|e| Error::input(e.to_string(), ""))?;
        write_atomic(&self.path.join(MARKER), "write", format!("{HEADING}{text}").as_bytes())
    }

    /// Records that there is a checkpoint from now on.
    ///
    /// # Errors
    /// [`Error::File`] if that cannot be written.
    pub fn begun(&mut self) -> Result<()> {
        if !self.marker.begun {
            self.marker.begun = true;
            self.save()?;
        }
        Ok(())
    }

    /// Refuses to start from the beginning where a checkpoint has been: the results in the folder would be lost.
    ///
    /// # Errors
    /// [`Error::Input`].
    pub fn check_not_begun(&self) -> Result<()> {
        if !self.marker.begun {
            return Ok(());
        }
        let help = "put the checkpoint back to continue, or start again with --force, which moves the folder aside";
        Err(InputError::new("there are results in the folder, but their checkpoint is gone", help)
            .in_file(&self.path)
            .into())
    }

    /// Opens the log of the job, on the screen as well unless `quiet`, with what computes, when and where; and writes `resolved.toml`.
    ///
    /// # Errors
    /// [`Error::File`] if one of the files cannot be written.
    pub fn open_log(&self, config: &Config, quiet: bool) -> Result<Log> {
        config.save(&config.result(RESOLVED))?;
        let mut log = Log::open(&config.result(files::LOG), quiet)?;
        let host = invocation::host().map_or(String::new(), |host| format!(", host {host}"));
        log.record(&format!("octitrate {}, {}{host}", env!("CARGO_PKG_VERSION"), invocation::now()))?;
        log.record(&format!("command: {}", invocation::command()))?;
        log.record(&format!("threads: {}", rayon::current_num_threads()))?;
        Ok(log)
    }
}

/// Whether a folder, or the nearest one above it that is there, can be written into.
fn check_writable(path: &Path) -> std::io::Result<()> {
    let nearest = path.ancestors().find(|path| path.as_os_str().is_empty() || path.exists()).unwrap_or(path);
    let nearest = if nearest.as_os_str().is_empty() { Path::new(".") } else { nearest };
    Ok(access(nearest, Access::WRITE_OK | Access::EXEC_OK)?)
}

/// Whether a folder is one of these.
fn is_one_of(path: &Path, folders: &[PathBuf]) -> bool {
    let same = |other: &PathBuf| {
        std::fs::canonicalize(other).is_ok_and(|other| std::fs::canonicalize(path).is_ok_and(|path| path == other))
    };
    folders.iter().any(same)
}

/// Whether a folder of runs, in which an evaluation may lie, too, says whose it is.
///
/// # Errors
/// [`Error::Input`] if something there has one of these `names` and is not from an evaluation.
fn has_marker_beside_runs(path: &Path, names: &[&str]) -> Result<bool> {
    match Marker::read(path)?.map(|marker| marker.kind) {
        // A calibration has a page of the same name.
        Some(Kind::Calibration) if names.contains(&REPORT) => look(path, Kind::Evaluation).map(|_| true),
        Some(_) => Ok(true),
        None => match names.iter().find(|name| path.join(name).exists()) {
            None => Ok(false),
            Some(taken) => {
                let message =
                    format!("there is a file {taken}, and the folder does not say that it is from an evaluation");
                let help = "choose another folder for the results: --output";
                Err(InputError::new(message, help).in_file(path).into())
            }
        },
    }
}

/// What the folder says of itself; `None` if it is new or empty.
///
/// # Errors
/// [`Error::Input`] if it is of other work, or holds files and does not say whose.
fn look(path: &Path, kind: Kind) -> Result<Option<Marker>> {
    let refused = |message: String, help: &str| -> Error { InputError::new(message, help).in_file(path).into() };
    if path.is_file() {
        return Err(refused("the results need a folder, and this is a file".into(), "choose another output.folder"));
    }
    if let Some(found) = Marker::read(path)? {
        if found.kind == kind {
            return Ok(Some(found));
        }
        return Err(refused(format!("the folder holds {}, the job is {kind}", found.kind), ELSEWHERE));
    }
    let files = strangers(path)?;
    // A checkpoint says itself whose it is.
    if files.is_empty() || (kind.has_checkpoint() && has_checkpoint(path)) {
        return Ok(None);
    }
    let (more, shown) = (files.len().saturating_sub(3), files[..files.len().min(3)].join(", "));
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(refused(format!("the folder holds files that are not of this job: {shown}{more}"), ELSEWHERE))
}

/// Whether the folder has a checkpoint.
fn has_checkpoint(path: &Path) -> bool {
    [crate::checkpoint::FILE, crate::checkpoint::PREVIOUS].iter().any(|name| path.join(name).exists())
}

/// Names of the files in a folder that this program does not ignore, sorted. Hidden ones, empty ones (a shell makes them before the program
/// starts, as in `octitrate run … > out/log`) and the output of a queue do no harm.
fn strangers(path: &Path) -> Result<Vec<String>> {
    let entries = match std::fs::read_dir(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| Error::file(path, "look into the folder", e))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| Error::file(path, "look into the folder", e))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let empty = entry.metadata().is_ok_and(|data| data.is_file() && data.len() == 0);
        let of_slurm = name.starts_with("slurm-") && name.ends_with(".out");
        let of_hyperqueue = name.starts_with("hq-") && (name.ends_with(".out") || name.ends_with(".err"));
        let of_queue = of_slurm || of_hyperqueue;
        if !(name.starts_with('.') || empty || of_queue || OURS.contains(&name.as_str())) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// A lock that ends with this value. Closing the file alone would not end it while a process that was started meanwhile has yet to close its copy of the
/// file, as every process does that is about to run another program.
#[derive(Debug)]
struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // An error means that there is no lock, and a file that is closed has none for long.
        let _ = self.0.unlock();
    }
}

/// Makes the folder and locks it.
fn hold(path: &Path) -> Result<Lock> {
    std::fs::create_dir_all(path).map_err(|e| Error::file(path, "make the folder of the results", e))?;
    let lock = path.join(LOCK);
    let file = File::create(&lock).map_err(|e| Error::file(&lock, "create", e))?;
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => {
            let message = "another octitrate is running in this folder";
            Err(InputError::new(message, "wait for it, or choose another output.folder").in_file(path).into())
        }
        // Some file systems have no locks: then nothing is held, and nothing is lost but this protection.
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Lock(file)),
    }
}

/// Moves a file or folder of results aside, `run` to `run.1` or the first name that is free; the new name, or `None` if there was nothing.
///
/// # Errors
/// [`Error::Input`] if one of the `inputs` of the job lies there, or if another program is at work there; [`Error::File`] if it cannot be moved.
pub fn move_aside(path: &Path, inputs: &[&Path]) -> Result<Option<PathBuf>> {
    if !path.exists() || (path.is_dir() && strangers(path)?.is_empty()) {
        return Ok(None);
    }
    let here = std::fs::canonicalize(path).map_err(|e| Error::file(path, "look into the folder", e))?;
    let inside = |input: &&&Path| std::fs::canonicalize(input).is_ok_and(|input| input.starts_with(&here));
    if let Some(input) = inputs.iter().find(inside) {
        let message = format!("the results would take the place of an input of the job, {}", input.display());
        return Err(InputError::new(message, "choose another place for them").in_file(path).into());
    }
    let _lock = if path.is_dir() { Some(hold(path)?) } else { None };
    let name = here.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = (1..).map(|number: u32| here.with_file_name(format!("{name}.{number}"))).find(|path| !path.exists());
    let aside = aside.expect("invariant: there are more numbers than files");
    std::fs::rename(&here, &aside).map_err(|e| Error::file(path, "move aside", e))?;
    Ok(Some(aside))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(found: Result<Folder>) -> String {
        found.unwrap_err().to_string()
    }

    #[test]
    fn a_folder_is_new_or_ones_own() {
        let place = temp_dir::TempDir::new().unwrap();
        let path = place.path().join("run");
        let mut folder = Folder::claim(&path, Kind::Run).unwrap();
        assert!(message(Folder::claim(&path, Kind::Run)).contains("another octitrate is running"));
        folder.check_not_begun().unwrap();
        folder.begun().unwrap();
        drop(folder);
        let again = Folder::claim(&path, Kind::Run).unwrap();
        assert!(again.check_not_begun().unwrap_err().to_string().contains("their checkpoint is gone"));
        drop(again);
        let other = message(Folder::claim(&path, Kind::Exchange));
        assert!(other.contains("holds a single run, the job is a titration with replica exchange"), "{other}");
    }

    /// A program that another thread starts holds copies of all files for a moment.
    #[test]
    fn a_lock_ends_although_a_copy_of_its_file_is_open() {
        let folder = temp_dir::TempDir::new().unwrap();
        let lock = hold(folder.path()).unwrap();
        let copy = lock.0.try_clone().unwrap();
        assert!(hold(folder.path()).is_err());
        drop(lock);
        assert!(hold(folder.path()).is_ok());
        drop(copy);
    }

    #[test]
    fn a_folder_with_files_of_others_is_refused_and_stays_as_it_is() {
        let place = temp_dir::TempDir::new().unwrap();
        let path = place.path().join("run");
        std::fs::create_dir(&path).unwrap();
        for name in [".hidden", "slurm-1.out", "hq-1.out", "hq-1.err", "run.toml"] {
            std::fs::write(path.join(name), "text").unwrap();
        }
        std::fs::write(path.join("output.txt"), "").unwrap();
        drop(Folder::claim(&path, Kind::Run).unwrap());
        std::fs::remove_file(path.join(MARKER)).unwrap();
        for name in ["a.csv", "b.csv", "c.csv", "d.csv"] {
            std::fs::write(path.join(name), "text").unwrap();
        }
        std::fs::remove_file(path.join(LOCK)).unwrap();
        let refused = message(Folder::claim(&path, Kind::Run));
        assert!(refused.contains("not of this job: a.csv, b.csv, c.csv and 1 more"), "{refused}");
        assert!(!path.join(LOCK).exists() && !path.join(MARKER).exists());
        let file = path.join("a.csv");
        assert!(message(Folder::claim(&file, Kind::Run)).contains("this is a file"));
    }

    #[test]
    fn an_evaluation_lies_beside_its_runs_or_alone() {
        let place = temp_dir::TempDir::new().unwrap();
        let claim = |name: &str, evaluated: &[PathBuf]| {
            let path = place.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            Folder::claim_for_evaluation(&path, evaluated, &[REPORT, "pka.csv"]).map_err(|e| e.to_string())
        };
        let put = |name: &str| std::fs::write(place.path().join(name), "text").unwrap();
        let runs = [place.path().join("runs")];
        claim("runs", &runs).unwrap();
        put("runs/pka.csv");
        claim("runs", &runs).unwrap();
        std::fs::remove_file(place.path().join("runs").join(MARKER)).unwrap();
        assert!(claim("runs", &runs).unwrap_err().contains("there is a file pka.csv"));
        claim("new", &runs).unwrap();
        claim("new", &runs).unwrap();
        drop(Folder::claim(&place.path().join("calibration"), Kind::Calibration).unwrap());
        let refused = claim("calibration", &[place.path().join("calibration")]).unwrap_err();
        assert!(refused.contains("holds a calibration, the job is an evaluation"), "{refused}");
        // All of it can be told before, and changes nothing.
        let foresee = |name: &str, evaluated: &[PathBuf]| {
            let path = place.path().join(name);
            Folder::foresee_evaluation(&path, evaluated, &[REPORT, "pka.csv"]).map_err(|e| e.to_string())
        };
        foresee("new", &runs).unwrap();
        foresee("not/there", &runs).unwrap();
        assert!(!place.path().join("not").exists());
        assert!(foresee("runs", &runs).unwrap_err().contains("there is a file pka.csv"));
        assert!(foresee("calibration", &runs).unwrap_err().contains("holds a calibration"));
        // A file that cannot be executed is a folder that nobody can write into, whoever asks.
        put("file");
        assert!(check_writable(&place.path().join("file")).is_err() && check_writable(place.path()).is_ok());
    }

    #[test]
    fn what_is_moved_aside_gets_the_next_free_name_and_inputs_stay() {
        let place = temp_dir::TempDir::new().unwrap();
        let path = place.path().join("run");
        assert_eq!(move_aside(&path, &[]).unwrap(), None);
        for number in 1..=2 {
            std::fs::create_dir(&path).unwrap();
            assert_eq!(move_aside(&path, &[]).unwrap(), None);
            std::fs::write(path.join("energy.csv"), format!("{number}")).unwrap();
            let aside = move_aside(&path, &[]).unwrap().unwrap();
            assert!(aside.ends_with(format!("run.{number}")) && !path.exists(), "{}", aside.display());
            assert_eq!(std::fs::read_to_string(aside.join("energy.csv")).unwrap(), format!("{number}"));
        }
        let input = place.path().join("run.1/energy.csv");
        let refused = move_aside(&place.path().join("run.1"), &[&input]).unwrap_err().to_string();
        assert!(refused.contains("would take the place of an input of the job"), "{refused}");
    }
}
