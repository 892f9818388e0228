//! The CUDA driver: context, memory, modules, streams, graphs.
//!
//! Nothing here is called before [`probe`] has found the driver's library: cudarc panics without it.

mod memory;
mod stream;
mod usage;

pub use memory::Memory;
pub use stream::{Graph, Stream};
pub use usage::{Usage, usage};

use super::{DeviceError, Launch, Source, compile, held};
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use std::ffi::{CString, c_void};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};

/// Turing, the oldest that NVRTC 13 serves. Kernels need Volta's independent threads in a warp.
pub const MINIMUM_CAPABILITY: (u32, u32) = (7, 5);

/// Hopper, the oldest that starts kernels early, and the oldest driver that records this (major · 1000 + minor · 10).
const EARLY: ((u32, u32), i32) = ((9, 0), 12_030);

/// Variable of the environment that makes kernels wait for the end of those before them where it is 0: to find out whether early starts are to blame.
const EARLY_VARIABLE: &str = "OCTITRATE_EARLY_KERNELS";

/// A GPU that the driver sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Its number for the driver.
    pub ordinal: usize,
    /// Its name.
    pub name: String,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Memory, bytes.
    pub memory: usize,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Shared memory that one block may have, bytes.
    pub shared_memory: u32,
    /// Clock of the multiprocessors, Hz.
    pub clock: f64,
}

fn check<T>(call: &'static str, result: Result<T, DriverError>) -> Result<T, DeviceError> {
    result.map_err(|error| {
        let name = error.error_name().map_or_else(|_| format!("{:?}", error.0), |s| s.to_string_lossy().into_owned());
        let text = error.error_string().map_or_else(|_| String::new(), |s| s.to_string_lossy().into_owned());
        if is_lost(error.0) {
            DeviceError::Lost { call, code: name, text }
        } else {
            DeviceError::Driver { call, code: name, text }
        }
    })
}

/// Whether what a context holds is gone after this error.
fn is_lost(code: sys::CUresult) -> bool {
    use sys::CUresult as R;
    matches!(
        code,
        R::CUDA_ERROR_ILLEGAL_ADDRESS
            | R::CUDA_ERROR_MISALIGNED_ADDRESS
            | R::CUDA_ERROR_LAUNCH_FAILED
            | R::CUDA_ERROR_LAUNCH_TIMEOUT
            | R::CUDA_ERROR_HARDWARE_STACK_ERROR
            | R::CUDA_ERROR_ILLEGAL_INSTRUCTION
            | R::CUDA_ERROR_INVALID_ADDRESS_SPACE
            | R::CUDA_ERROR_INVALID_PC
            | R::CUDA_ERROR_ASSERT
            | R::CUDA_ERROR_ECC_UNCORRECTABLE
            | R::CUDA_ERROR_NVLINK_UNCORRECTABLE
            | R::CUDA_ERROR_MPS_CLIENT_TERMINATED
            | R::CUDA_ERROR_CONTEXT_IS_DESTROYED
            | R::CUDA_ERROR_DEINITIALIZED
            | R::CUDA_ERROR_UNKNOWN
    )
}

/// All GPUs.
///
/// # Errors
/// [`DeviceError::NoDriver`], or what the driver says.
pub fn probe() -> Result<Vec<Gpu>, DeviceError> {
    // SAFETY: only looks for the library.
    if !unsafe { sys::is_culib_present() } {
        return Err(DeviceError::NoDriver);
    }
    queues();
    match result::init() {
        Err(DriverError(sys::CUresult::CUDA_ERROR_NO_DEVICE)) => return Ok(Vec::new()),
        other => check("cuInit", other)?,
    }
    let n = check("cuDeviceGetCount", result::device::get_count())?;
    (0..n as usize).map(describe).collect()
}

/// Asks the driver for as many hardware queues as there can be, before it starts: with the 8 it takes by itself, streams of many systems wait
/// for each other. A number that the user has set stays.
fn queues() {
    const NAME: &str = "CUDA_DEVICE_MAX_CONNECTIONS";
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        if std::env::var_os(NAME).is_none() {
            // SAFETY: called when the program looks for GPUs, before it starts threads that read the environment outside of Rust's lock.
            unsafe { std::env::set_var(NAME, "32") };
        }
    });
}

fn describe(ordinal: usize) -> Result<Gpu, DeviceError> {
    use sys::CUdevice_attribute as A;
    let device = check("cuDeviceGet", result::device::get(ordinal as i32))?;
    // SAFETY: a device that the driver has just given.
    let get = |what| check("cuDeviceGetAttribute", unsafe { result::device::get_attribute(device, what) });
    Ok(Gpu {
        ordinal,
        name: check("cuDeviceGetName", result::device::get_name(device))?.trim_end_matches('\0').to_string(),
        capability: (
            get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)? as u32,
            get(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)? as u32,
        ),
        // SAFETY: as above.
        memory: check("cuDeviceTotalMem", unsafe { result::device::total_mem(device) })?,
        multiprocessors: get(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)? as u32,
        shared_memory: get(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)? as u32,
        clock: f64::from(get(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE)?) * 1e3,
    })
}

/// The primary context of one GPU.
pub struct Context {
    pool: memory::Pool,
    context: Primary,
    gpu: Gpu,
    /// Held while a sequence is recorded, and by what the driver forbids meanwhile to all threads: memory given, filled and taken back.
    quiet: Mutex<()>,
    /// Whether threads that wait for the GPU sleep.
    asleep: AtomicBool,
    /// Whether kernels may be started before those ahead of them have ended.
    early: bool,
}

/// The driver's context of a device, released when dropped.
struct Primary {
    device: sys::CUdevice,
    context: sys::CUcontext,
}

impl Primary {
    fn bind(&self) -> Result<(), DeviceError> {
        // SAFETY: the context is retained as long as `self` lives.
        check("cuCtxSetCurrent", unsafe { result::ctx::set_current(self.context) })
    }
}

impl Drop for Primary {
    fn drop(&mut self) {
        // SAFETY: retained once.
        let _ = unsafe { result::primary_ctx::release(self.device) };
    }
}

// SAFETY: a context may be used from every thread; each call makes it current first.
unsafe impl Send for Context {}
// SAFETY: see above.
unsafe impl Sync for Context {}

impl Context {
    /// Takes hold of a GPU, together with all in this process that have taken hold of it before: the driver has one context for them.
    pub fn shared(ordinal: usize) -> Result<Arc<Self>, DeviceError> {
        static HELD: Mutex<Vec<Weak<Context>>> = Mutex::new(Vec::new());
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.retain(|context| context.strong_count() > 0);
        if let Some(context) = held.iter().filter_map(Weak::upgrade).find(|context| context.gpu.ordinal == ordinal) {
            return Ok(context);
        }
        let context = Arc::new(Self::new(ordinal)?);
        held.push(Arc::downgrade(&context));
        Ok(context)
    }

    fn new(ordinal: usize) -> Result<Self, DeviceError> {
        let mut all = probe()?;
        if ordinal >= all.len() {
            return Err(DeviceError::NoDevice { ordinal, found: all.len() });
        }
        let gpu = all.swap_remove(ordinal);
        if gpu.capability < MINIMUM_CAPABILITY {
            return Err(DeviceError::Capability {
                name: gpu.name,
                capability: gpu.capability,
                needed: MINIMUM_CAPABILITY,
            });
        }
        if !compile::has_compiler() {
            return Err(DeviceError::NoCompiler);
        }
        let device = check("cuDeviceGet", result::device::get(ordinal as i32))?;
        // SAFETY: a device that the driver has just given; released by `Primary`.
        let context = check("cuDevicePrimaryCtxRetain", unsafe { result::primary_ctx::retain(device) })?;
        let context = Primary { device, context };
        context.bind()?;
        let pool = memory::Pool::new(device)?;
        let mut driver = 0;
        // SAFETY: a place to write to.
        check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut driver) }.result())?;
        let is_unwanted = std::env::var(EARLY_VARIABLE).is_ok_and(|value| value == "0");
        let early = !is_unwanted && gpu.capability >= EARLY.0 && driver >= EARLY.1;
        Ok(Self { pool, context, gpu, quiet: Mutex::new(()), asleep: AtomicBool::new(false), early })
    }

    /// What it is.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Free and total bytes.
    pub fn memory(&self) -> Result<(usize, usize), DeviceError> {
        self.bind()?;
        let (free, total) = check("cuMemGetInfo", result::mem_get_info())?;
        Ok((free + self.pool.unused()?, total))
    }

    /// Lets threads that wait sleep between looks.
    pub fn wait_asleep(&self) {
        self.asleep.store(true, Ordering::Relaxed);
    }

    /// Waits until no other thread records. A thread that records must not wait for itself; the driver then says what is forbidden.
    fn quiet(&self) -> Option<MutexGuard<'_, ()>> {
        (!held::is_recording()).then(|| self.quiet.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn bind(&self) -> Result<(), DeviceError> {
        self.context.bind()
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // The pool goes next, in this context.
        let _ = self.bind();
    }
}

/// Loaded kernels.
pub struct Module {
    context: Arc<Context>,
    module: sys::CUmodule,
}

// SAFETY: handles of the driver, valid in every thread.
unsafe impl Send for Module {}
// SAFETY: see above.
unsafe impl Sync for Module {}

impl Module {
    /// Compiles for this GPU and loads.
    pub fn new(context: &Arc<Context>, source: &Source) -> Result<Self, DeviceError> {
        let (major, minor) = context.gpu.capability;
        let capability = (10 * major + minor) as i32;
        let code = compile::code(source, capability, false)?;
        let module = match Self::load(context, &code.bytes) {
            // Kept by another driver, or wrong for a reason that its digest does not show.
            Err(DeviceError::Driver { .. }) if code.kept => {
                Self::load(context, &compile::code(source, capability, true)?.bytes)?
            }
            loaded => loaded?,
        };
        Ok(Self { context: Arc::clone(context), module })
    }

    fn load(context: &Context, code: &[u8]) -> Result<sys::CUmodule, DeviceError> {
        context.bind()?;
        let _quiet = context.quiet();
        // SAFETY: machine code or PTX made by the compiler, or kept with its digest; the driver checks its head, and PTX ends with a zero.
        check("cuModuleLoadData", unsafe { result::module::load_data(code.as_ptr().cast()) })
    }

    /// The kernel of this name; `early`: it may be started before the one ahead of it has ended.
    pub fn function(self: &Arc<Self>, name: &str, early: bool) -> Option<Function> {
        self.context.bind().ok()?;
        // SAFETY: the module is loaded as long as `self` lives, which the function keeps.
        let function = unsafe { result::module::get_function(self.module, CString::new(name).ok()?) }.ok()?;
        Some(Function { name: name.into(), module: Arc::clone(self), function, early: early && self.context.early })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: loaded in `new`.
            let _ = unsafe { result::module::unload(self.module) };
        }
    }
}

/// One kernel.
pub struct Function {
    name: String,
    module: Arc<Module>,
    function: sys::CUfunction,
    /// Whether it may be started before the kernel ahead of it has ended.
    early: bool,
}

// SAFETY: handles of the driver, valid in every thread.
unsafe impl Send for Function {}
// SAFETY: see above.
unsafe impl Sync for Function {}

impl Function {
    /// Shared memory that one block may have, bytes.
    pub fn shared_memory(&self) -> u32 {
        self.module.context.gpu.shared_memory
    }

    /// Lets blocks have up to so many bytes of dynamic shared memory, whatever they might have before.
    pub fn allow_shared(&self, bytes: u32) -> Result<(), DeviceError> {
        self.module.context.bind()?;
        let what = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: a loaded function.
        let set = unsafe { result::function::set_function_attribute(self.function, what, bytes as i32) };
        check("cuFuncSetAttribute", set)
    }

    /// Enqueues a launch.
    ///
    /// # Safety
    /// The kernel must take a structure of these bytes, and stay within the memory that its pointers lead to.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        launch: &Launch,
        argument: &[MaybeUninit<u8>],
    ) -> Result<(), DeviceError> {
        self.module.context.bind()?;
        let (grid, block, shared) = (launch.blocks.0, launch.threads.0, launch.shared_bytes);
        let mut pointers = [argument.as_ptr().cast_mut().cast::<c_void>()];
        // What has been enqueued before on this stream must be a kernel, and nothing else is waited for.
        let early = self.early && stream.after_kernel.load(Ordering::Relaxed);
        let mut attributes = [sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        }];
        let launched = if early {
            let config = sys::CUlaunchConfig {
                gridDimX: grid[0],
                gridDimY: grid[1],
                gridDimZ: grid[2],
                blockDimX: block[0],
                blockDimY: block[1],
                blockDimZ: block[2],
                sharedMemBytes: shared,
                hStream: stream.stream,
                attrs: attributes.as_mut_ptr(),
                numAttrs: 1,
            };
            let (function, pointers) = (self.function, pointers.as_mut_ptr());
            // SAFETY: the caller promises that the argument is that of the kernel; the driver reads it and the attributes during the call.
            let launched = unsafe { sys::cuLaunchKernelEx(&config, function, pointers, std::ptr::null_mut()) };
            check("cuLaunchKernelEx", launched.result())
        } else {
            let (g, b) = ((grid[0], grid[1], grid[2]), (block[0], block[1], block[2]));
            // SAFETY: as above.
            check("cuLaunchKernel", unsafe {
                result::launch_kernel(self.function, g, b, shared, stream.stream, &mut pointers)
            })
        };
        stream.after_kernel.store(true, Ordering::Relaxed);
        launched.map_err(|error| match error {
            DeviceError::Driver { call, code, text } => {
                let text = format!("{text}; kernel {}, grid {grid:?}, block {block:?}, {shared} bytes", self.name);
                DeviceError::Driver { call, code, text }
            }
            other => other,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_end_a_context_are_told_apart() {
        use sys::CUresult as R;
        for code in [R::CUDA_ERROR_ILLEGAL_ADDRESS, R::CUDA_ERROR_LAUNCH_FAILED, R::CUDA_ERROR_ECC_UNCORRECTABLE] {
            assert!(is_lost(code));
        }
        for code in [R::CUDA_ERROR_OUT_OF_MEMORY, R::CUDA_ERROR_INVALID_VALUE, R::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED]
        {
            assert!(!is_lost(code));
        }
    }
}
