//! The folder of a job: held against a second program, with the resolved job and the log in it.

use crate::config::{Config, RESOLVED};
use crate::error::{Error, InputError, Result};
use crate::output::files;
use crate::output::progress::Log;
use std::fs::File;
use std::path::Path;

/// The folder of a job that is being worked on. Dropping it lets the next program in.
#[derive(Debug)]
pub struct Folder {
    _lock: File,
}

impl Folder {
    /// Makes the folder and holds it.
    ///
    /// # Errors
    /// [`Error::Input`] if another program is at work there, [`Error::File`] if the folder cannot be made.
    pub fn hold(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|e| Error::file(folder, "make the folder of the results", e))?;
        let path = folder.join(".lock");
        let file = File::create(&path).map_err(|e| Error::file(&path, "create", e))?;
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock) => {
                let message = "another octitrate is running in this folder";
                Err(InputError::new(message, "wait for it, or choose another output.folder").in_file(folder).into())
            }
            // Some file systems have no locks: then nothing is held, and nothing is lost but this protection.
            Ok(()) | Err(std::fs::TryLockError::Error(_)) => Ok(Self { _lock: file }),
        }
    }

    /// Opens the log of the job, on the screen as well unless `quiet`, and writes `resolved.toml`.
    ///
    /// # Errors
    /// [`Error::File`] if one of the files cannot be written.
    pub fn open_log(&self, config: &Config, quiet: bool) -> Result<Log> {
        config.save(&config.result(RESOLVED))?;
        Log::open(&config.result(files::LOG), quiet)
    }
}
