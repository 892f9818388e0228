//! Errors of the engine and the exit status each of them means.
//!
//! Every error names what was found and what is valid. Input errors know the file, the key and, where the text is at
//! hand, the place in it; errors of the physics know the step, the energy term and the atom. The library only builds
//! these values; the program shows them (`cli/show.rs`).
//!
//! | exit status | meaning |
//! |---|---|
//! | 0 | done |
//! | 2 | the input, the command line or a file that cannot be read or written |
//! | 3 | the physics: a number that is not finite, constraints that do not converge, … |
//! | 4 | stopped before its limit of time, with a checkpoint: the same command continues (`signals.rs`) |
//! | 128 + n | stopped by signal n, with a checkpoint: 129 HUP, 130 INT, 138 USR1, 140 USR2, 143 TERM, 152 XCPU |

use forcefield::gromacs::StructureError;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Result of everything in the engine that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Any error of the engine.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The job cannot be started as it is written.
    #[error(transparent)]
    Input(#[from] Box<InputError>),
    /// The simulation cannot go on.
    #[error(transparent)]
    Physics(#[from] Box<PhysicsError>),
    /// The memory of a device is full; it may have room when another run has ended.
    #[error(transparent)]
    Memory(Box<InputError>),
    /// A file cannot be read or written.
    #[error("{}: cannot {action}: {}", path.display(), describe_io(source))]
    File {
        /// The file.
        path: PathBuf,
        /// What was tried, for example `write energies`.
        action: &'static str,
        /// What the system answered.
        source: std::io::Error,
    },
}

impl Error {
    /// Exit status of the program: 2 for input and files, 3 for physics.
    pub fn exit_status(&self) -> u8 {
        match self {
            Error::Input(_) | Error::Memory(_) | Error::File { .. } => 2,
            Error::Physics(_) => 3,
        }
    }

    /// Error of the operating system on `path` while trying to do `action`.
    pub fn file(path: &Path, action: &'static str, source: std::io::Error) -> Self {
        Error::File { path: path.to_path_buf(), action, source }
    }

    /// What reading or writing a structure says; the answer of the operating system in plain words, as for every other file.
    pub fn of_structure(error: StructureError) -> Self {
        match error {
            StructureError::Io { file, action: "write", reason } => Error::file(&file, "write the structure", reason),
            StructureError::Io { file, reason, .. } => Error::file(&file, "read the structure", reason),
            other => Error::input(other.to_string(), ""),
        }
    }

    /// Input error that belongs to no particular place in the job file.
    pub fn input(message: impl Into<String>, help: impl Into<String>) -> Self {
        InputError::new(message, help).into()
    }
}

impl Error {
    /// The same error; if it is one of the physics, with the step at which it happened.
    #[must_use]
    pub fn at_step(self, step: u64) -> Self {
        match self {
            Error::Physics(mut physics) => {
                physics.step.get_or_insert(step);
                Error::Physics(physics)
            }
            other => other,
        }
    }
}

impl From<InputError> for Error {
    fn from(error: InputError) -> Self {
        Error::Input(Box::new(error))
    }
}

impl From<PhysicsError> for Error {
    fn from(error: PhysicsError) -> Self {
        Error::Physics(Box::new(error))
    }
}

/// A mistake in the input: what was found, where, and what is valid.
#[derive(Debug, Clone, Default)]
pub struct InputError {
    /// What was found, in one sentence.
    pub message: String,
    /// What is valid; empty if the message says it already.
    pub help: String,
    /// Key in the job file, for example `dynamics.time_step`.
    pub key: Option<String>,
    /// File in which the mistake is.
    pub file: Option<PathBuf>,
    /// Text of that file and the bytes to point at.
    pub place: Option<(Arc<str>, Range<usize>)>,
}

impl InputError {
    /// New error without a place; the help may be empty.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        InputError { message: message.into(), help: help.into(), ..Default::default() }
    }

    /// The same error, in this file.
    #[must_use]
    pub fn in_file(mut self, file: &Path) -> Self {
        self.file = Some(file.to_path_buf());
        self
    }

    /// The same error, for this key of the job file (the place is found by [`crate::config::Config::locate`]).
    #[must_use]
    pub fn at_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Line and column, from 1, of the place.
    pub fn line_and_column(&self) -> Option<(usize, usize)> {
        let (text, span) = self.place.as_ref()?;
        let before = text.get(..span.start)?;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Some((before.matches('\n').count() + 1, column))
    }

    /// `file:line:column`, as far as known.
    pub fn location(&self) -> Option<String> {
        let file = self.file.as_ref()?.display();
        Some(match self.line_and_column() {
            Some((line, column)) => format!("{file}:{line}:{column}"),
            None => file.to_string(),
        })
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(location) = self.location() {
            write!(f, "{location}: ")?;
        }
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)?;
        if !self.help.is_empty() {
            write!(f, " ({})", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for InputError {}

/// The simulation left the range where its equations hold.
#[derive(Debug, Clone, Default)]
pub struct PhysicsError {
    /// What happened, in one sentence with the number found.
    pub message: String,
    /// Energy term or algorithm, for example `Lennard-Jones`, `SETTLE`.
    pub term: String,
    /// Atom with its residue, as `Topology::label` gives it.
    pub atom: Option<String>,
    /// Step at which it happened.
    pub step: Option<u64>,
    /// File with the frame, once it has been written.
    pub frame: Option<PathBuf>,
    /// What usually helps.
    pub help: String,
}

impl PhysicsError {
    /// What a term or an algorithm says.
    pub fn of(term: &str, error: &dyn fmt::Display) -> Error {
        Self { message: error.to_string(), term: term.into(), ..Self::default() }.into()
    }
}

impl fmt::Display for PhysicsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(step) = self.step {
            write!(f, "step {step}: ")?;
        }
        write!(f, "{}: {}", self.term, self.message)?;
        if let Some(atom) = &self.atom {
            write!(f, ", at {atom}")?;
        }
        if let Some(frame) = &self.frame {
            write!(f, "; the frame is in {}", frame.display())?;
        }
        if !self.help.is_empty() {
            write!(f, " ({})", self.help)?;
        }
        Ok(())
    }
}

impl std::error::Error for PhysicsError {}

/// The system's answer in plain words, without the error number.
fn describe_io(error: &std::io::Error) -> String {
    use std::io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "no such file or folder".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::StorageFull => "the disk is full".into(),
        ErrorKind::ReadOnlyFilesystem => "the file system is read-only".into(),
        ErrorKind::FileTooLarge => "the file would exceed the size limit set for this process".into(),
        ErrorKind::QuotaExceeded => "the disk quota is used up".into(),
        ErrorKind::AlreadyExists => "there is a file of this name, and a folder is needed".into(),
        ErrorKind::NotADirectory => "a part of the path is a file, not a folder".into(),
        ErrorKind::IsADirectory => "it is a folder, not a file".into(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    /// Trouble by message is searched by these words.
    #[test]
    fn structures_have_the_answers_of_the_system_in_plain_words() {
        let said = |action, kind: ErrorKind| {
            let error = StructureError::Io { file: "final.gro".into(), action, reason: kind.into() };
            Error::of_structure(error).to_string()
        };
        assert_eq!(said("write", ErrorKind::StorageFull), "final.gro: cannot write the structure: the disk is full");
        assert_eq!(
            said("read", ErrorKind::PermissionDenied),
            "final.gro: cannot read the structure: permission denied"
        );
        let other = StructureError::Count { file: "final.gro".into(), announced: 3, found: 4 };
        assert!(Error::of_structure(other).to_string().starts_with("final.gro: line 2 announces 3 atoms"));
    }
}
