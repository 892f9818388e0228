//! Compiled kernels kept on disk in a folder: $OCTITRATE_CACHE, else $XDG_CACHE_HOME/octitrate, else ~/.cache/octitrate.
//!
//! The name of a kept file is a digest of all that its content follows from (text, options, architecture, version of the compiler), and its
//! first line a digest of the content. A file whose content is not what the line says, of a disk that was full or failed, is made anew; so is
//! one that the driver refuses. Files appear whole: written beside their place, then renamed. A cache that cannot be written is no error.

use super::DeviceError;
use std::path::{Path, PathBuf};

/// Before the digest in the first line of a file.
const MAGIC: &str = "octitrate kernels ";

/// 128 bits of two FNV-1a hashes with different starts.
pub fn digest(parts: &[&[u8]]) -> String {
    let hash = |start: u64| {
        let bytes = parts.iter().flat_map(|part| part.iter().chain(&[0xff]));
        bytes.fold(start, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
    };
    format!("{:016x}{:016x}", hash(0xcbf2_9ce4_8422_2325), hash(0x9e37_79b9_7f4a_7c15))
}

/// Code for the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Machine code, or PTX that ends with a zero.
    pub bytes: Vec<u8>,
    /// Whether it comes from the disk.
    pub kept: bool,
}

/// The folder of the cache; none if there is no home.
pub fn folder() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    given("OCTITRATE_CACHE")
        .or_else(|| given("XDG_CACHE_HOME").map(|p| p.join("octitrate")))
        .or_else(|| given("HOME").map(|p| p.join(".cache/octitrate")))
}

/// What is kept at `place`, unless it is damaged or `fresh` code is wanted; else what `make` makes, which is then kept.
///
/// # Errors
/// Those of `make`.
pub fn kept_or_made(
    place: Option<&Path>,
    fresh: bool,
    make: impl FnOnce() -> Result<Vec<u8>, DeviceError>,
) -> Result<Code, DeviceError> {
    if let Some(bytes) = place.filter(|_| !fresh).and_then(read) {
        return Ok(Code { bytes, kept: true });
    }
    let bytes = make()?;
    if let Some(place) = place {
        write(place, &bytes);
    }
    Ok(Code { bytes, kept: false })
}

/// The content of a file that is what its first line says.
fn read(place: &Path) -> Option<Vec<u8>> {
    let file = std::fs::read(place).ok()?;
    let end = file.iter().position(|byte| *byte == b'\n')?;
    let (first, content) = (&file[..end], &file[end + 1..]);
    (first == head(content).as_bytes()).then(|| content.to_vec())
}

fn head(content: &[u8]) -> String {
    format!("{MAGIC}{}", digest(&[content]))
}

/// A cache is a help, not a duty: failures to write it are silent.
fn write(place: &Path, content: &[u8]) {
    let Some(folder) = place.parent() else { return };
    let own = place.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    let file = [head(content).as_bytes(), b"\n", content].concat();
    let done = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&own, file));
    if done.and_then(|()| std::fs::rename(&own, place)).is_err() {
        let _ = std::fs::remove_file(&own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &[u8] = b"\x7fELF\nmachine\0code";

    fn made() -> Result<Vec<u8>, DeviceError> {
        Ok(CODE.to_vec())
    }

    fn never() -> Result<Vec<u8>, DeviceError> {
        panic!("compiled although it is kept")
    }

    #[test]
    fn what_was_made_is_kept_and_found_again() {
        let folder = std::env::temp_dir().join(format!("octitrate-cache-kept-{}", std::process::id()));
        let place = folder.join("add-1.cubin");
        assert_eq!(kept_or_made(Some(&place), false, made).unwrap(), Code { bytes: CODE.into(), kept: false });
        assert_eq!(kept_or_made(Some(&place), false, never).unwrap(), Code { bytes: CODE.into(), kept: true });
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        // Without a folder, or with one that cannot be made, everything is made anew.
        assert!(!kept_or_made(None, false, made).unwrap().kept);
        assert!(!kept_or_made(Some(&place.join("below a file")), false, made).unwrap().kept);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_file_is_made_anew() {
        let folder = std::env::temp_dir().join(format!("octitrate-cache-damaged-{}", std::process::id()));
        let place = folder.join("add-2.cubin");
        kept_or_made(Some(&place), false, made).unwrap();
        let good = std::fs::read(&place).unwrap();
        let mut flipped = good.clone();
        flipped[good.len() - 3] ^= 4;
        let damages: [&[u8]; 6] =
            [&flipped, &good[..good.len() - 1], &good[..20], b"", CODE, &[&good[..], b"0"].concat()];
        for damaged in damages {
            std::fs::write(&place, damaged).unwrap();
            let code = kept_or_made(Some(&place), false, made).unwrap();
            assert_eq!(code, Code { bytes: CODE.into(), kept: false }, "{damaged:?}");
            assert_eq!(std::fs::read(&place).unwrap(), good);
        }
        // What the driver refuses is made anew although it is whole.
        let fresh = kept_or_made(Some(&place), true, || Ok(b"other".to_vec())).unwrap();
        assert!(!fresh.kept && kept_or_made(Some(&place), false, never).unwrap().bytes == b"other");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
