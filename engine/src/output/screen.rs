//! What goes to standard output and standard error.
//!
//! The screen is not a result. A terminal that has vanished, or a reader that has read enough as in `octitrate info | head`, ends neither a
//! command nor a run, where the macros of the standard library would panic. A result that was asked for on standard output and cannot be
//! written, on a full disk, is an error like that of any other file.

use crate::error::{Error, Result};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Writes a text to standard output.
///
/// # Errors
/// [`Error::File`] if it cannot be written although somebody reads it.
pub fn print(text: &str) -> Result<()> {
    written(&mut std::io::stdout().lock(), text)
}

fn written(out: &mut dyn Write, text: &str) -> Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done.map_err(|e| Error::file(Path::new("standard output"), "write", e)),
    }
}

/// Shows a text on standard error, if there is anybody to see it.
pub fn show(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Answers(ErrorKind);

    impl Write for Answers {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_has_gone_is_no_error_and_a_full_disk_is_one() {
        assert!(written(&mut Answers(ErrorKind::BrokenPipe), "x").is_ok());
        let message = written(&mut Answers(ErrorKind::StorageFull), "x").unwrap_err().to_string();
        assert_eq!(message, "standard output: cannot write: the disk is full");
    }
}
