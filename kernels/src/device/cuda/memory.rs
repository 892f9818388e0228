//! Memory of the GPU, given and taken back in stream order.
//!
//! cuMemAlloc and cuMemFree wait for everything that runs on the GPU, so that a simulation could not be set up while others run. Memory
//! therefore comes from the driver's pool, in a stream of its own that waits for nobody, and what is dropped is kept until there is
//! enough of it that taking it back is worth waiting for the work that may still use it.

use super::{Context, Stream, check};
use crate::device::DeviceError;
use cudarc::driver::result::{self, DriverError};
use cudarc::driver::sys;
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Dropped memory that is kept, bytes: that of some ten simulations of 5 000 atoms.
const KEPT: usize = 1 << 30;

/// Where the memory of a context comes from.
pub(super) struct Pool {
    /// Gives memory, fills it and takes it back.
    queue: sys::CUstream,
    /// The driver's pool; some drivers have none.
    pool: Option<sys::CUmemoryPool>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// All streams that may use memory.
    streams: Vec<sys::CUstream>,
    /// Memory that has been dropped.
    dropped: Vec<sys::CUdeviceptr>,
    /// Its size, bytes.
    bytes: usize,
}

// SAFETY: handles of the driver, valid in every thread.
unsafe impl Send for Pool {}
// SAFETY: see above.
unsafe impl Sync for Pool {}

/// `queue` waits for what `stream` has been given so far.
fn wait(queue: sys::CUstream, stream: sys::CUstream) -> Result<(), DriverError> {
    let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
    // SAFETY: streams and event live; the driver keeps the event until it is reached.
    unsafe {
        let waits = result::event::record(event, stream)
            .and_then(|()| result::stream::wait_event(queue, event, sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT));
        result::event::destroy(event)?;
        waits
    }
}

impl Pool {
    /// That of the current context.
    pub fn new(device: sys::CUdevice) -> Result<Self, DeviceError> {
        let queue = check("cuStreamCreate", result::stream::create(result::stream::StreamKind::NonBlocking))?;
        let what = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
        // SAFETY: a device that the driver has given.
        let pools = check("cuDeviceGetAttribute", unsafe { result::device::get_attribute(device, what) })? != 0;
        let pool = if pools {
            // SAFETY: as above.
            let pool = check("cuDeviceGetDefaultMemPool", unsafe { result::device::get_default_mem_pool(device) })?;
            let what = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
            let mut all = u64::MAX;
            // SAFETY: this attribute is a number of 64 bits.
            let kept = unsafe { result::mem_pool::set_attribute(pool, what, (&raw mut all).cast::<c_void>()) };
            check("cuMemPoolSetAttribute", kept)?;
            Some(pool)
        } else {
            None
        };
        Ok(Self { queue, pool, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A stream has been made.
    pub fn enter(&self, stream: sys::CUstream) {
        self.state().streams.push(stream);
    }

    /// A stream is about to be destroyed: what it has been given may still use memory.
    pub fn leave(&self, stream: sys::CUstream) {
        let mut state = self.state();
        state.streams.retain(|&other| other != stream);
        // A lost device has no work left.
        let _ = wait(self.queue, stream);
    }

    /// Takes back what has been dropped, in stream order.
    fn take_back(&self) -> Result<(), DriverError> {
        let mut state = self.state();
        for &stream in &state.streams {
            wait(self.queue, stream)?;
        }
        state.bytes = 0;
        // SAFETY: given by `give`, and dropped.
        state.dropped.drain(..).try_for_each(|pointer| unsafe { result::free_async(pointer, self.queue) })
    }

    /// Memory of at least 16 bytes with any content, once the queue has come to it.
    fn give(&self, bytes: usize) -> Result<sys::CUdeviceptr, DriverError> {
        let bytes = bytes.max(16);
        let Some(pool) = self.pool else {
            // SAFETY: the context is current; freed by `drop_memory`.
            return unsafe { result::malloc_sync(bytes) };
        };
        if self.state().bytes > KEPT {
            self.take_back()?;
        }
        // SAFETY: the context is current; dropped once.
        match unsafe { result::malloc_async(self.queue, bytes) } {
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                self.take_back()?;
                // SAFETY: the stream and the pool live.
                unsafe {
                    result::stream::synchronize(self.queue)?;
                    result::mem_pool::trim_to(pool, 0)?;
                    result::malloc_async(self.queue, bytes)
                }
            }
            other => other,
        }
    }

    fn drop_memory(&self, pointer: sys::CUdeviceptr, bytes: usize) {
        if self.pool.is_some() {
            let mut state = self.state();
            state.dropped.push(pointer);
            state.bytes += bytes;
        } else {
            // SAFETY: given by `give`; cuMemFree waits for work that uses it.
            let _ = unsafe { result::free_sync(pointer) };
        }
    }

    /// Bytes that the pool holds and nobody uses.
    pub fn unused(&self) -> Result<usize, DeviceError> {
        use sys::CUmemPool_attribute as A;
        let Some(pool) = self.pool else { return Ok(0) };
        let get = |what| {
            let mut bytes = 0_u64;
            // SAFETY: these attributes are numbers of 64 bits.
            let got = unsafe { result::mem_pool::get_attribute(pool, what, (&raw mut bytes).cast::<c_void>()) };
            check("cuMemPoolGetAttribute", got).map(|()| bytes as usize)
        };
        let used = get(A::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)?;
        Ok((get(A::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)? + self.state().bytes).saturating_sub(used))
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // The context goes: no stream is left, and each has been waited for by the queue.
        let _ = self.take_back();
        // SAFETY: created once.
        let _ = unsafe { result::stream::synchronize(self.queue).and_then(|()| result::stream::destroy(self.queue)) };
        if let Some(pool) = self.pool {
            // SAFETY: the driver's pool lives as long as the driver.
            let _ = unsafe { result::mem_pool::trim_to(pool, 0) };
        }
    }
}

/// Memory of the GPU.
pub struct Memory {
    context: Arc<Context>,
    pub(super) pointer: sys::CUdeviceptr,
    pub bytes: usize,
}

impl Memory {
    /// `bytes` zeros.
    pub fn new(context: &Arc<Context>, bytes: usize) -> Result<Self, DeviceError> {
        context.bind()?;
        let Some(_quiet) = context.quiet() else { return Err(recording()) };
        let pool = &context.pool;
        let pointer = match pool.give(bytes) {
            Err(DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => {
                return Err(DeviceError::OutOfMemory { asked: bytes, free: context.memory()?.0 });
            }
            other => check("cuMemAllocAsync", other)?,
        };
        let out = Self { context: Arc::clone(context), pointer, bytes };
        // SAFETY: memory of this size has just been given.
        check("cuMemsetD8Async", unsafe { result::memset_d8_async(pointer, 0, bytes.max(16), pool.queue) })?;
        // SAFETY: the stream lives.
        check("cuStreamSynchronize", unsafe { result::stream::synchronize(pool.queue) })?;
        Ok(out)
    }

    /// Address on the GPU.
    pub fn address(&self) -> u64 {
        self.pointer
    }

    /// Content of memory that nothing else uses yet.
    pub fn fill(&self, content: &[u8]) -> Result<(), DeviceError> {
        self.context.bind()?;
        let queue = self.context.pool.queue;
        let Some(_quiet) = self.context.quiet() else { return Err(recording()) };
        // SAFETY: `content` has at most `self.bytes` bytes: the caller made the memory for it. It lives until the stream is done.
        check("cuMemcpyHtoDAsync", unsafe { result::memcpy_htod_async(self.pointer, content, queue) })?;
        // SAFETY: the stream lives.
        check("cuStreamSynchronize", unsafe { result::stream::synchronize(queue) })
    }

    /// Writes in stream order, then waits.
    pub fn write(&self, stream: &Stream, content: &[u8]) -> Result<(), DeviceError> {
        self.context.bind()?;
        stream.other_work();
        // SAFETY: lengths were compared by the caller; `content` lives until the stream is done.
        check("cuMemcpyHtoDAsync", unsafe { result::memcpy_htod_async(self.pointer, content, stream.stream) })?;
        stream.synchronize()
    }

    /// Reads from byte `offset` on in stream order, then waits.
    pub fn read(&self, stream: &Stream, offset: usize, out: &mut [u8]) -> Result<(), DeviceError> {
        self.context.bind()?;
        if self.context.asleep.load(Ordering::Relaxed) {
            // A copy to ordinary memory waits inside the driver, and holds up other threads there.
            stream.synchronize()?;
        }
        // SAFETY: as in `write`; `offset` was compared with them.
        let copied = unsafe { result::memcpy_dtoh_async(out, self.pointer + offset as u64, stream.stream) };
        check("cuMemcpyDtoHAsync", copied)?;
        stream.synchronize()
    }
}

/// Memory has its own stream, which is not recorded.
fn recording() -> DeviceError {
    DeviceError::Recording("memory is given or filled while a sequence is recorded")
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            self.context.pool.drop_memory(self.pointer, self.bytes);
        }
    }
}
