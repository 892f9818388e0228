//! Kernels are compiled by NVRTC, for the GPU itself or, if it is newer than the compiler, to PTX for the newest architecture that the compiler
//! knows and the GPU can run: the driver then compiles that. What has been compiled is kept ([`super::cache`]).

use super::cache::{Code, digest, folder, kept_or_made};
use super::{DeviceError, Source};
use cudarc::nvrtc::{result, sys};
use std::ffi::CString;
use std::fmt::{Display, Formatter};
use std::io::Write;
use std::sync::Once;

/// What code is made for; compute capabilities as 10 major + minor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// Machine code of one architecture.
    Machine(i32),
    /// PTX, which the driver compiles for this architecture and all later ones.
    Virtual(i32),
}

impl Target {
    /// For a GPU of this capability and a compiler that serves those `known`; a compiler that does not tell is asked and answers for itself. None
    /// for a GPU that is older than all of them.
    fn choose(capability: i32, known: &[i32]) -> Option<Self> {
        if known.is_empty() || known.contains(&capability) {
            return Some(Self::Machine(capability));
        }
        known.iter().copied().filter(|k| *k < capability).max().map(Self::Virtual)
    }

    /// What the driver takes.
    fn extension(self) -> &'static str {
        match self {
            Self::Machine(_) => "cubin",
            Self::Virtual(_) => "ptx",
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Machine(number) => write!(f, "sm_{number}"),
            Self::Virtual(number) => write!(f, "compute_{number}"),
        }
    }
}

/// Whether libnvrtc is there.
pub fn has_compiler() -> bool {
    // SAFETY: only looks for the library.
    unsafe { sys::is_culib_present() }
}

/// For tests: whether a source compiles for an architecture such as `sm_90`. Needs no GPU. Where there is no compiler nothing is checked, which
/// is said once, unless the variable OCTITRATE_NEEDS_NVRTC is set (`scripts/test.sh` does that where there is a compiler): then that is an error.
///
/// # Errors
/// What the compiler says against the source or the architecture; no compiler, if it is needed.
pub fn compiles(source: &Source, architecture: &str) -> Result<(), DeviceError> {
    let capability = architecture.strip_prefix("sm_").and_then(|number| number.parse().ok()).unwrap_or_default();
    match code(source, capability, false) {
        Err(DeviceError::NoCompiler) if std::env::var_os("OCTITRATE_NEEDS_NVRTC").is_none() => {
            SAID.call_once(say_that_nothing_is_compiled);
            Ok(())
        }
        result => result.map(|_| ()),
    }
}

/// Whether it was said that nothing is compiled for GPUs.
static SAID: Once = Once::new();

/// What `eprintln` writes in a test that passes is not shown; this is.
fn say_that_nothing_is_compiled() {
    let _ = writeln!(
        std::io::stderr(),
        "no libnvrtc: tests of whether kernels compile for GPUs check NOTHING; scripts/setup.sh fetches it and scripts/test.sh finds it, and where \
         OCTITRATE_NEEDS_NVRTC is set they fail without it"
    );
}

/// Code of a source for GPUs of a compute capability (10 major + minor); `fresh`: not what is kept. Needs no GPU.
pub(super) fn code(source: &Source, capability: i32, fresh: bool) -> Result<Code, DeviceError> {
    if !has_compiler() {
        return Err(DeviceError::NoCompiler);
    }
    let (mut major, mut minor) = (0, 0);
    // SAFETY: two places to write to.
    unsafe { sys::nvrtcVersion(&mut major, &mut minor) };
    let version = format!("{major}.{minor}");
    let known = architectures();
    let Some(target) = Target::choose(capability, &known) else {
        return Err(DeviceError::Architecture { target: format!("sm_{capability}"), version, known });
    };
    let text = source.whole();
    let mut options = vec![format!("--gpu-architecture={target}"), "--std=c++17".into()];
    options.extend(source.options().iter().map(|o| (*o).to_string()));
    let key = digest(&[text.as_bytes(), options.join(" ").as_bytes(), version.as_bytes()]);
    let place = folder().map(|folder| folder.join(format!("{}-{key}.{}", source.name(), target.extension())));
    kept_or_made(place.as_deref(), fresh, || translate(source, &text, &options, target))
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

fn translate(source: &Source, text: &str, options: &[String], target: Target) -> Result<Vec<u8>, DeviceError> {
    let failed = |log: String| DeviceError::Compile {
        source_name: source.name().into(),
        target: target.to_string(),
        log: log.trim_end_matches('\0').to_string(),
    };
    let code = CString::new(text).map_err(|e| failed(e.to_string()))?;
    let name = CString::new(format!("{}.cu", source.name())).map_err(|e| failed(e.to_string()))?;
    let program = result::create_program(&code, Some(&name)).map_err(|e| failed(e.to_string()))?;
    // SAFETY: `program` was just created, `code` and `name` outlive it, and it is destroyed last.
    unsafe {
        let compiled = result::compile_program(program, options);
        let out = match (compiled, target) {
            (Ok(()), Target::Machine(_)) => get_cubin(program).map_err(|e| failed(e.to_string())),
            (Ok(()), Target::Virtual(_)) => get_ptx(program).map_err(|e| failed(e.to_string())),
            (Err(e), _) => {
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

/// The text with the zero at its end, which the driver needs.
///
/// # Safety
/// A compiled program.
unsafe fn get_ptx(program: sys::nvrtcProgram) -> Result<Vec<u8>, result::NvrtcError> {
    // SAFETY: the caller's program.
    let mut text: Vec<u8> = unsafe { result::get_ptx(program) }?.into_iter().map(|c| c as u8).collect();
    if text.last() != Some(&0) {
        text.push(0);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_gets_machine_code_or_the_newest_ptx_it_can_run() {
        let known = [75, 80, 86, 90, 100, 120];
        assert_eq!(Target::choose(90, &known), Some(Target::Machine(90)));
        // Newer than the compiler, and one that the compiler has left out.
        assert_eq!(Target::choose(130, &known), Some(Target::Virtual(120)));
        assert_eq!(Target::choose(103, &known), Some(Target::Virtual(100)));
        assert_eq!(Target::choose(70, &known), None);
        assert_eq!(Target::choose(90, &[]), Some(Target::Machine(90)));
        assert_eq!([Target::Machine(90), Target::Virtual(120)].map(|t| t.to_string()), ["sm_90", "compute_120"]);
    }
}
