//! Kernels are compiled by NVRTC and kept on disk in a folder: $OCTITRATE_CACHE, else $XDG_CACHE_HOME/octitrate, else ~/.cache/octitrate.
//!
//! The name of a kept file is a digest of the text, the options, the architecture and the version of the compiler, so that a file is either
//! right or never found. Files appear whole: written beside their place, then renamed. A cache that cannot be written is no error.

use super::{DeviceError, Source};
use cudarc::nvrtc::{result, sys};
use std::ffi::CString;
use std::path::PathBuf;

/// 128 bits of two FNV-1a hashes with different starts.
pub(super) fn digest(parts: &[&[u8]]) -> String {
    let hash = |start: u64| {
        let bytes = parts.iter().flat_map(|part| part.iter().chain(&[0xff]));
        bytes.fold(start, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x100_0000_01b3))
    };
    format!("{:016x}{:016x}", hash(0xcbf2_9ce4_8422_2325), hash(0x9e37_79b9_7f4a_7c15))
}

fn cache() -> Option<PathBuf> {
    let given = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    given("OCTITRATE_CACHE")
        .or_else(|| given("XDG_CACHE_HOME").map(|p| p.join("octitrate")))
        .or_else(|| given("HOME").map(|p| p.join(".cache/octitrate")))
}

/// Whether libnvrtc is there.
pub fn has_compiler() -> bool {
    // SAFETY: only looks for the library.
    unsafe { sys::is_culib_present() }
}

/// For tests: whether a source compiles for an architecture such as `sm_90`. Needs no GPU. Where there is no compiler nothing is checked,
/// unless the variable OCTITRATE_NEEDS_NVRTC is set (`scripts/test.sh` does that).
///
/// # Errors
/// What the compiler says against the source or the architecture; no compiler, if it is needed.
pub fn compiles(source: &Source, architecture: &str) -> Result<(), DeviceError> {
    match cubin(source, architecture) {
        Err(DeviceError::NoCompiler) if std::env::var_os("OCTITRATE_NEEDS_NVRTC").is_none() => Ok(()),
        result => result.map(|_| ()),
    }
}

/// Machine code of a source for an architecture. Needs no GPU.
pub(super) fn cubin(source: &Source, architecture: &str) -> Result<Vec<u8>, DeviceError> {
    if !has_compiler() {
        return Err(DeviceError::NoCompiler);
    }
    let text = source.whole("");
    let mut options = vec![format!("--gpu-architecture={architecture}"), "--std=c++17".into()];
    options.extend(source.options().iter().map(|o| (*o).to_string()));
    let (mut major, mut minor) = (0, 0);
    // SAFETY: two places to write to.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) };
    let version = format!("{major}.{minor}");
    let known = architectures();
    if !known.is_empty() && !known.iter().any(|number| format!("sm_{number}") == architecture) {
        return Err(DeviceError::Architecture { target: architecture.into(), version, known });
    }
    let key = digest(&[text.as_bytes(), options.join(" ").as_bytes(), version.as_bytes()]);
    let place = cache().map(|folder| folder.join(format!("{}-{key}.cubin", source.name())));
    if let Some(kept) = place.as_ref().and_then(|p| std::fs::read(p).ok()) {
        return Ok(kept);
    }
    let code = translate(source, &text, &options, architecture)?;
    if let Some(place) = place {
        keep(&place, &code);
    }
    Ok(code)
}

/// Compute capabilities (10 major + minor) that the compiler serves.
fn architectures() -> Vec<i32> {
    let mut n = 0;
    // SAFETY: a place to write to.
    if unsafe { sys::nvrtcGetNumSupportedArchs(&mut n) }.result().is_err() {
        return Vec::new();
    }
    let mut all = vec![0; usize::try_from(n).unwrap_or_default()];
    // SAFETY: room for as many as were told.
    let told = unsafe { sys::nvrtcGetSupportedArchs(all.as_mut_ptr()) };
    told.result().map_or_else(|_| Vec::new(), |()| all)
}

/// A cache is a help, not a duty: failures to write it are silent.
fn keep(place: &std::path::Path, code: &[u8]) {
    let Some(folder) = place.parent() else { return };
    let own = place.with_extension(format!("{}-{:?}", std::process::id(), std::thread::current().id()));
    let done = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&own, code));
    if done.and_then(|()| std::fs::rename(&own, place)).is_err() {
        let _ = std::fs::remove_file(&own);
    }
}

fn translate(source: &Source, text: &str, options: &[String], architecture: &str) -> Result<Vec<u8>, DeviceError> {
    let failed = |log: String| DeviceError::Compile {
        source_name: source.name().into(),
        target: architecture.into(),
        log: log.trim_end_matches('\0').to_string(),
    };
    let code = CString::new(text).map_err(|e| failed(e.to_string()))?;
    let name = CString::new(format!("{}.cu", source.name())).map_err(|e| failed(e.to_string()))?;
    let program = result::create_program(&code, Some(&name)).map_err(|e| failed(e.to_string()))?;
    // SAFETY: `program` was just created, `code` and `name` outlive it, and it is destroyed last.
    unsafe {
        let compiled = result::compile_program(program, options);
        let out = match compiled {
            Ok(()) => get_cubin(program).map_err(|e| failed(e.to_string())),
            Err(e) => {
                let log = result::get_program_log(program);
                let bytes: Vec<u8> = log.unwrap_or_default().iter().map(|c| *c as u8).collect();
                Err(failed(format!("{e}\n{}", String::from_utf8_lossy(&bytes))))
            }
        };
        let _ = result::destroy_program(program);
        out
    }
}

/// # Safety
/// A compiled program.
unsafe fn get_cubin(program: sys::nvrtcProgram) -> Result<Vec<u8>, result::NvrtcError> {
    let mut size = 0;
    // SAFETY: the caller's program; `code` has the size that the library asks for.
    unsafe {
        sys::nvrtcGetCUBINSize(program, &mut size).result()?;
        let mut code = vec![0_u8; size];
        sys::nvrtcGetCUBIN(program, code.as_mut_ptr().cast()).result()?;
        Ok(code)
    }
}
