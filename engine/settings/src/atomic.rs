//! Files that are complete or absent: written beside their place, synced, renamed.

use crate::error::{Error, InputError, Result};
use serde::de::DeserializeOwned;
use std::io::Write;
use std::path::Path;

/// Writes a whole file so that either the old or the new content is there, never a part: temporary file, sync, rename. The temporary file is that of this process:
/// two evaluations of the same runs at once write the same files.
///
/// # Errors
/// [`Error::File`] that names `path`; the temporary file is removed.
pub fn write_atomic(path: &Path, action: &'static str, content: &[u8]) -> Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(name);
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)?;
        sync_folder(path)
    };
    write().map_err(|e| {
        // The error below is the one to report; a left-over temporary file harms nothing.
        let _ = std::fs::remove_file(&temporary);
        Error::file(path, action, e)
    })
}

/// Reads a TOML file that this program wrote; `None` if there is none.
///
/// # Errors
/// [`Error::Input`] with `help` if it is not as this program writes it, [`Error::File`] if it cannot be read.
pub fn read_toml<T: DeserializeOwned>(path: &Path, help: &'static str) -> Result<Option<T>> {
    match std::fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        text => {
            let text = text.map_err(|e| Error::file(path, "read", e))?;
            let found = toml::from_str(&text).map_err(|e| {
                let message = format!("it is not as this program writes it: {}", e.message());
                InputError::new(message, help).in_file(path)
            })?;
            Ok(Some(found))
        }
    }
}

/// Makes a rename in the folder of `path` permanent.
fn sync_folder(path: &Path) -> std::io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => std::fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_fails_leaves_what_was_there_and_nothing_else() {
        let folder = temp_dir::TempDir::new().unwrap();
        let path = folder.path().join("result");
        write_atomic(&path, "write", b"first").unwrap();
        write_atomic(&path, "write", b"second").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"second");
        // What another process is writing at the same time is not touched.
        let other = folder.path().join("result.tmp");
        std::fs::write(&other, b"of another").unwrap();
        write_atomic(&path, "write", b"third").unwrap();
        assert_eq!(
            (std::fs::read(&path).unwrap(), std::fs::read(&other).unwrap()),
            (b"third".to_vec(), b"of another".to_vec())
        );
        std::fs::remove_file(other).unwrap();
        // A folder cannot be replaced by a file: the rename at the end fails.
        let taken = folder.path().join("taken");
        std::fs::create_dir_all(taken.join("inside")).unwrap();
        let message = write_atomic(&taken, "write the plot", b"x").unwrap_err().to_string();
        assert!(message.starts_with(&format!("{}: cannot write the plot: ", taken.display())), "{message}");
        let mut left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, ["result", "taken"]);
    }
}
