//! Text files of people: UTF-8 with or without a mark at the start, or a sentence about what else it is.

use crate::error::{Error, InputError, Result};
use std::path::Path;

/// Reads a text; `action` says what for, such as "read the job file". The mark that some editors put at the start (BOM) is left out.
///
/// # Errors
/// [`Error::File`] if the file cannot be read; [`Error::Input`] with the line if it is in another encoding.
pub fn read(path: &Path, action: &'static str) -> Result<String> {
    let bytes = std::fs::read(path).map_err(|e| Error::file(path, action, e))?;
    decode(bytes).map_err(|(message, help)| InputError::new(message, help).in_file(path).into())
}

fn decode(bytes: Vec<u8>) -> std::result::Result<String, (String, &'static str)> {
    let help = "save it as UTF-8";
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(("the file is in UTF-16".into(), help));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text)),
        Err(e) => {
            let (at, bytes) = (e.utf8_error().valid_up_to(), e.as_bytes());
            let line = bytes[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
            if bytes.contains(&0) {
                return Err(("the file is not a text".into(), ""));
            }
            Err((
                format!("line {line} holds the byte {:#04x}, which is no UTF-8: the file may be in Latin-1", bytes[at]),
                help,
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_read_or_named() {
        assert_eq!(decode(b"\xef\xbb\xbf[system]".to_vec()).unwrap(), "[system]");
        assert_eq!(decode("Å".into()).unwrap(), "Å");
        let latin = decode(b"a\nb\n# 5 \xc5".to_vec()).unwrap_err().0;
        assert_eq!(latin, "line 3 holds the byte 0xc5, which is no UTF-8: the file may be in Latin-1");
        assert_eq!(decode(b"\xff\xfea\0".to_vec()).unwrap_err().0, "the file is in UTF-16");
        assert_eq!(decode(b"TPX\0\x91".to_vec()).unwrap_err().0, "the file is not a text");
    }
}
