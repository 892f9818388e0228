//! Kernels on the CPU: the text of a [`Source`] compiled as C++ with `emulator.h`, loaded, and run block by block.
//!
//! Memory is host memory, streams do their work at once, graphs keep theirs in a list. It is far too slow for anything but tests.

use super::cache::digest;
use super::held::{self, Held};
use super::launch::FREE_SHARED;
use super::{DeviceError, Extent, Launch, Source};
use libloading::Library;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// Shared memory that one block may have, bytes: as on Hopper.
pub const SHARED_MEMORY: u32 = 227 * 1024;

/// Optimised a little, which more than pays in tests that compile little and run long; loops become vectors, which takes no longer to compile and half of
/// the time of products of matrices. Full optimisation takes a quarter longer to compile and gains little more. Nobody asks for the errors and traps of
/// arithmetic, so that roots and roundings are instructions; `fma` is one on the machine that compiles, too. Numbers are the same. Symbols are hidden:
/// otherwise libraries would share statics of inline functions and templates, that is, shared memory.
const FLAGS: &[&str] = &[
    "-std=c++17",
    "-O1",
    "-ftree-vectorize",
    "-fno-math-errno",
    "-fno-trapping-math",
    #[cfg(target_arch = "x86_64")]
    "-march=native",
    "-w",
    "-fPIC",
    "-fvisibility=hidden",
    "-ffp-contract=off",
];

/// What makes CUDA C++ of C++.
const HEADER: &str = include_str!("emulator.h");

/// A loaded library. Shared memory of its kernels is static in it, and whoever loads it again gets the same memory: one launch at a time.
struct Loaded {
    library: Library,
    one_launch: Mutex<()>,
}

/// The libraries that are loaded.
static LOADED: Mutex<BTreeMap<PathBuf, Weak<Loaded>>> = Mutex::new(BTreeMap::new());

impl Loaded {
    fn new(path: &Path) -> Result<Arc<Self>, DeviceError> {
        let mut all = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = all.get(path).and_then(Weak::upgrade) {
            return Ok(loaded);
        }
        // SAFETY: code compiled from our own text; it has no initialisers with effects.
        let library = unsafe { Library::new(path) }.map_err(|e| DeviceError::Emulator(e.to_string()))?;
        let loaded = Arc::new(Self { library, one_launch: Mutex::new(()) });
        all.insert(path.into(), Arc::downgrade(&loaded));
        Ok(loaded)
    }
}

fn compiler() -> String {
    std::env::var("CXX").unwrap_or_else(|_| "c++".into())
}

/// Whether there is a C++ compiler; it is asked once.
pub fn check() -> Result<(), DeviceError> {
    static THERE: LazyLock<bool> =
        LazyLock::new(|| Command::new(compiler()).arg("--version").output().is_ok_and(|out| out.status.success()));
    if *THERE { Ok(()) } else { Err(DeviceError::Emulator(format!("no C++ compiler {:?}; set CXX", compiler()))) }
}

/// Host memory that kernels write through raw addresses.
#[derive(Clone)]
pub struct Memory(Arc<Vec<AtomicU64>>, usize);

impl Memory {
    /// `bytes` zeros.
    pub fn new(bytes: usize) -> Result<Self, DeviceError> {
        // Two words more, so that 16-byte alignment is always found and an empty buffer has an address.
        let words = bytes.div_ceil(8) + 2;
        let mut memory = Vec::new();
        memory.try_reserve_exact(words).map_err(|_| DeviceError::OutOfMemory { asked: bytes, free: 0 })?;
        memory.resize_with(words, || AtomicU64::new(0));
        Ok(Self(Arc::new(memory), bytes))
    }

    /// What it holds.
    pub fn bytes(&self) -> usize {
        self.1
    }

    /// Address of the first byte, aligned to 16.
    pub fn address(&self) -> u64 {
        (self.0.as_ptr() as u64).next_multiple_of(16)
    }

    /// Replaces the first bytes.
    pub fn write(&self, bytes: &[u8]) {
        // SAFETY: the memory holds self.1 bytes from `address`, `bytes` is not longer and cannot overlap with it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.address() as *mut u8, bytes.len().min(self.1)) };
    }

    /// Copies the bytes from `offset` on.
    pub fn read(&self, offset: usize, out: &mut [u8]) {
        let (from, length) = (self.address() + offset as u64, out.len().min(self.1.saturating_sub(offset)));
        // SAFETY: as in `write`.
        unsafe { std::ptr::copy_nonoverlapping(from as *const u8, out.as_mut_ptr(), length) };
    }
}

type Entry = unsafe extern "C" fn(*const Extent, *const Extent, u32, *const c_void, usize) -> i32;

/// Compiled and loaded kernels.
pub struct Module {
    entries: HashMap<String, (Entry, Arc<AtomicU32>)>,
    library: Arc<Loaded>,
}

impl Module {
    /// Compiles and loads.
    pub fn new(source: &Source) -> Result<Self, DeviceError> {
        let kernels = source.kernels().iter().map(|kernel| (kernel.name, kernel.early));
        let mut text = source.whole();
        for (kernel, early) in kernels.clone() {
            text.push_str(&format!(
                "\nextern \"C\" __attribute__((visibility(\"default\"))) int emulate_{kernel}(const dim3 *g, const dim3 *b, unsigned s, const void *a, size_t n) {{ return emulator::launch({kernel}, g, b, s, a, n, {early}); }}\n"
            ));
        }
        let path = build(source.name(), &text)?;
        let library = Loaded::new(&path)?;
        let mut entries = HashMap::new();
        for (kernel, _) in kernels {
            // SAFETY: the symbol was defined above with this signature.
            let entry = unsafe { library.library.get::<Entry>(format!("emulate_{kernel}").as_bytes()) };
            let entry = *entry.map_err(|e| DeviceError::Emulator(e.to_string()))?;
            entries.insert(kernel.into(), (entry, Arc::new(AtomicU32::new(FREE_SHARED))));
        }
        Ok(Self { entries, library })
    }

    /// The kernel of this name.
    pub fn function(&self, name: &str) -> Option<Function> {
        let (entry, allowed) = self.entries.get(name)?;
        let (allowed, library) = (Arc::clone(allowed), Arc::clone(&self.library));
        Some(Function { name: name.into(), entry: *entry, allowed, library })
    }
}

/// Compiles to a shared library that is kept under the temporary folder.
fn build(name: &str, text: &str) -> Result<PathBuf, DeviceError> {
    let failed = |e: std::io::Error| DeviceError::Emulator(format!("cannot write kernels: {e}"));
    let folder = std::env::temp_dir().join("octitrate-emulator");
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let stem = format!("{name}-{}", digest(&[HEADER.as_bytes(), text.as_bytes(), how().as_bytes()]));
    let library = folder.join(format!("{stem}.so"));
    if library.exists() {
        return Ok(library);
    }
    let header = header(&folder).map_err(failed)?;
    let own = own(&stem);
    let (code, made) = (folder.join(format!("{own}.cpp")), folder.join(format!("{own}.so")));
    std::fs::write(&code, text).map_err(failed)?;
    let flags = ["-shared", "-Wl,-Bsymbolic", "-x", "c++"];
    let out = compile(&flags, &[Path::new("-include"), &header, &code], &made).map_err(failed)?;
    if !out.status.success() {
        let log = String::from_utf8_lossy(&out.stderr).into_owned();
        return Err(DeviceError::Compile { source_name: name.into(), target: compiler(), log });
    }
    std::fs::remove_file(&code).map_err(failed)?;
    std::fs::rename(&made, &library).map_err(failed)?;
    Ok(library)
}

/// The header in a folder of its own, beside it what the compiler makes of it once for all kernels, each of which takes half of the time then. A compiler
/// that makes nothing of it reads the header itself.
fn header(folder: &Path) -> std::io::Result<PathBuf> {
    let stem = format!("header-{}", digest(&[HEADER.as_bytes(), how().as_bytes()]));
    let kept = folder.join(&stem).join("emulator.h");
    if kept.exists() {
        return Ok(kept);
    }
    let made = folder.join(own(&stem));
    std::fs::create_dir_all(&made)?;
    let text = made.join("emulator.h");
    std::fs::write(&text, HEADER)?;
    compile(&["-x", "c++-header"], &[&text], &made.join("emulator.h.gch"))?;
    match std::fs::rename(&made, folder.join(&stem)) {
        // another thread or process was faster
        Err(_) if kept.exists() => std::fs::remove_dir_all(&made)?,
        done => done?,
    }
    Ok(kept)
}

/// How libraries are made, for their names.
fn how() -> String {
    format!("{} {}", compiler(), FLAGS.join(" "))
}

/// A name that no other thread or process has.
fn own(stem: &str) -> String {
    format!("{stem}-{}-{:?}", std::process::id(), std::thread::current().id()).replace(['(', ')'], "")
}

fn compile(flags: &[&str], from: &[&Path], to: &Path) -> std::io::Result<std::process::Output> {
    Command::new(compiler()).args(FLAGS).args(flags).args(from).arg("-o").arg(to).output()
}

/// One kernel.
pub struct Function {
    name: String,
    entry: Entry,
    /// Dynamic shared memory that blocks may have, bytes: one number for all handles of the kernel, as a driver keeps it.
    allowed: Arc<AtomicU32>,
    library: Arc<Loaded>,
}

impl Function {
    /// Lets blocks have up to so many bytes of dynamic shared memory, whatever they might have before.
    pub fn allow_shared(&self, bytes: u32) {
        self.allowed.store(bytes, Ordering::Relaxed);
    }
}

/// A copy of the argument of a kernel, aligned for every number type.
pub struct Argument {
    words: Box<[MaybeUninit<u64>]>,
    size: usize,
}

impl Argument {
    fn new(bytes: &[MaybeUninit<u8>]) -> Self {
        let mut words = vec![MaybeUninit::uninit(); bytes.len().div_ceil(8)].into_boxed_slice();
        // SAFETY: there is room for as many bytes, and both may be uninitialised.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), words.as_mut_ptr().cast(), bytes.len()) };
        Self { words, size: bytes.len() }
    }
}

/// Work that has been enqueued.
pub enum Work {
    /// A kernel is launched.
    Launch(Arc<Function>, Launch, Argument),
    /// Memory is set to zero.
    Zero(Memory),
    /// The first memory is copied to the second.
    Copy(Memory, Memory),
}

impl Work {
    /// The launch of a kernel.
    ///
    /// # Safety
    /// The function must take a structure of these bytes; it may be run as long as the memory that the structure points to lives.
    pub unsafe fn launch(function: &Arc<Function>, launch: Launch, argument: &[MaybeUninit<u8>]) -> Self {
        Self::Launch(Arc::clone(function), launch, Argument::new(argument))
    }

    /// Sets memory to zero.
    pub fn zero(memory: &Memory) -> Self {
        Self::Zero(memory.clone())
    }

    /// Copies memory.
    pub fn copy(from: &Memory, to: &Memory) -> Self {
        Self::Copy(from.clone(), to.clone())
    }

    fn run(&self) -> Result<(), DeviceError> {
        match self {
            Self::Launch(function, Launch { blocks, threads, shared_bytes }, argument) => {
                let (at, size) = (argument.words.as_ptr().cast::<c_void>(), argument.size);
                if *shared_bytes > function.allowed.load(Ordering::Relaxed) {
                    return Err(failure(&function.name, "more shared memory than its blocks may have"));
                }
                let _one = function.library.one_launch.lock().unwrap_or_else(PoisonError::into_inner);
                // SAFETY: whoever made the work promised that the function takes these bytes; they live through the call.
                let code = unsafe { (function.entry)(blocks, threads, *shared_bytes, at, size) };
                match code {
                    0 => Ok(()),
                    1 => Err(failure(&function.name, "its threads wait at different barriers")),
                    3 => Err(failure(
                        &function.name,
                        "may start early, but not all its threads wait for the kernel ahead",
                    )),
                    4 => Err(failure(&function.name, "more threads in a block than any GPU has")),
                    5 => Err(failure(&function.name, "no memory for its threads")),
                    _ => Err(failure(&function.name, "arguments of another size")),
                }
            }
            Self::Zero(memory) => {
                memory.write(&vec![0; memory.1]);
                Ok(())
            }
            Self::Copy(from, to) => {
                let mut bytes = vec![0; from.1];
                from.read(0, &mut bytes);
                to.write(&bytes);
                Ok(())
            }
        }
    }
}

fn failure(kernel: &str, what: &str) -> DeviceError {
    DeviceError::Emulator(format!("kernel {kernel}: {what}"))
}

thread_local! {
    static RECORDING: RefCell<Option<Vec<Work>>> = const { RefCell::new(None) };
}

/// Does the work, or adds it to the recording of this thread.
pub fn enqueue(work: Work) -> Result<(), DeviceError> {
    let rest = RECORDING.with_borrow_mut(|recording| match recording {
        Some(list) => {
            list.push(work);
            None
        }
        None => Some(work),
    });
    rest.map_or(Ok(()), |work| work.run())
}

/// A list of work.
pub struct Recorded(Vec<Work>);

impl Recorded {
    /// Does it all.
    pub fn run(&self) -> Result<(), DeviceError> {
        self.0.iter().try_for_each(Work::run)
    }
}

/// Records what this thread enqueues, and what that works with.
pub fn record<E: From<DeviceError>>(enqueue: impl FnOnce() -> Result<(), E>) -> Result<(Recorded, Held), E> {
    /// Ends the recording, also where it panics.
    struct End;

    impl Drop for End {
        fn drop(&mut self) {
            RECORDING.set(None);
        }
    }

    held::record(|| {
        RECORDING.set(Some(Vec::new()));
        let _end = End;
        enqueue()?;
        Ok(Recorded(RECORDING.take().unwrap_or_default()))
    })
}
