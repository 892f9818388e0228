//! Streams of the CUDA driver, and sequences recorded from them.

use super::{Context, Memory, check};
use crate::device::DeviceError;
use crate::device::held::{self, Held};
use cudarc::driver::result;
use cudarc::driver::sys;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between two looks whether the GPU is done: short beside the hundreds of steps that are waited for.
const PAUSE: Duration = Duration::from_micros(50);

/// A stream.
pub struct Stream {
    context: Arc<Context>,
    pub(super) stream: sys::CUstream,
    /// Whether the last work it has been given is a kernel, which the next one may then overlap.
    pub(super) after_kernel: AtomicBool,
}

// SAFETY: handles of the driver, valid in every thread.
unsafe impl Send for Stream {}
// SAFETY: see above.
unsafe impl Sync for Stream {}

/// An event that is destroyed when dropped; the driver keeps it until work that needs it is done.
struct Event(sys::CUevent);

impl Event {
    fn new(flags: sys::CUevent_flags) -> Result<Self, DeviceError> {
        Ok(Self(check("cuEventCreate", result::event::create(flags))?))
    }

    fn record(&self, stream: &Stream) -> Result<(), DeviceError> {
        // SAFETY: both live.
        check("cuEventRecord", unsafe { result::event::record(self.0, stream.stream) })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: created once.
        let _ = unsafe { result::event::destroy(self.0) };
    }
}

impl Stream {
    /// A stream that does not wait for the default one; blocks of kernels of an `urgent` one go before those of others.
    pub fn new(context: &Arc<Context>, urgent: bool) -> Result<Self, DeviceError> {
        context.bind()?;
        let kind = result::stream::StreamKind::NonBlocking;
        let stream = if urgent {
            let (_, greatest) = check("cuCtxGetStreamPriorityRange", result::stream::get_priority_range())?;
            check("cuStreamCreateWithPriority", result::stream::create_with_priority(kind, greatest))?
        } else {
            check("cuStreamCreate", result::stream::create(kind))?
        };
        context.pool.enter(stream);
        Ok(Self { context: Arc::clone(context), stream, after_kernel: AtomicBool::new(false) })
    }

    /// What comes next waits for all that is here, in the ordinary way.
    pub(super) fn other_work(&self) {
        self.after_kernel.store(false, Ordering::Relaxed);
    }

    /// Waits for all its work.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        self.context.bind()?;
        while self.context.asleep.load(Ordering::Relaxed) {
            // SAFETY: the stream lives.
            match unsafe { sys::cuStreamQuery(self.stream) } {
                sys::CUresult::CUDA_ERROR_NOT_READY => std::thread::sleep(PAUSE),
                answer => return check("cuStreamQuery", answer.result()),
            }
        }
        // SAFETY: the stream lives.
        check("cuStreamSynchronize", unsafe { result::stream::synchronize(self.stream) })
    }

    /// Enqueues zeros.
    pub fn zero(&self, memory: &Memory) -> Result<(), DeviceError> {
        self.context.bind()?;
        if memory.bytes == 0 {
            return Ok(());
        }
        self.other_work();
        // SAFETY: memory of this size.
        check("cuMemsetD8Async", unsafe { result::memset_d8_async(memory.pointer, 0, memory.bytes, self.stream) })
    }

    /// Enqueues a copy between memories of the same size.
    pub fn copy(&self, from: &Memory, to: &Memory) -> Result<(), DeviceError> {
        self.context.bind()?;
        if from.bytes == 0 {
            return Ok(());
        }
        self.other_work();
        // SAFETY: both have `from.bytes` bytes: the caller compared lengths.
        check("cuMemcpyDtoDAsync", unsafe {
            result::memcpy_dtod_async(to.pointer, from.pointer, from.bytes, self.stream)
        })
    }

    /// Later work here waits for what `other` has been given so far.
    pub fn wait_for(&self, other: &Self) -> Result<(), DeviceError> {
        self.context.bind()?;
        let event = Event::new(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING)?;
        event.record(other)?;
        self.other_work();
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: stream and event live.
        check("cuStreamWaitEvent", unsafe { result::stream::wait_event(self.stream, event.0, flags) })
    }

    /// Seconds that the device needs for what `enqueue` enqueues.
    pub fn time<E: From<DeviceError>>(&self, enqueue: impl FnOnce() -> Result<(), E>) -> Result<f64, E> {
        self.context.bind()?;
        let flags = sys::CUevent_flags::CU_EVENT_DEFAULT;
        let (start, end) = (Event::new(flags)?, Event::new(flags)?);
        start.record(self)?;
        enqueue()?;
        end.record(self)?;
        self.synchronize()?;
        // SAFETY: both events have been recorded and reached.
        let ms = check("cuEventElapsedTime", unsafe { result::event::elapsed(start.0, end.0) })?;
        Ok(f64::from(ms) * 1e-3)
    }

    /// Records what `enqueue` puts on this stream, and what that works with.
    pub fn capture<E: From<DeviceError>>(&self, enqueue: impl FnOnce() -> Result<(), E>) -> Result<(Graph, Held), E> {
        self.context.bind()?;
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let _quiet = self.context.quiet();
        self.other_work();
        let recorded = held::record(|| self.record(mode, enqueue));
        self.other_work();
        let (recorded, held) = recorded?;
        Ok((Graph::new(&self.context, recorded)?, held))
    }

    /// Whether what is enqueued here is recorded.
    pub fn is_captured(&self) -> Result<bool, DeviceError> {
        self.context.bind()?;
        // SAFETY: the stream lives.
        let status = check("cuStreamIsCapturing", unsafe { result::stream::is_capturing(self.stream) })?;
        Ok(status != sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE)
    }

    fn record<E: From<DeviceError>>(
        &self,
        mode: sys::CUstreamCaptureMode,
        enqueue: impl FnOnce() -> Result<(), E>,
    ) -> Result<sys::CUgraph, E> {
        // SAFETY: the stream lives and is not the default one.
        check("cuStreamBeginCapture", unsafe { result::stream::begin_capture(self.stream, mode) })?;
        let enqueued = enqueue();
        // SAFETY: begun above. It must end, whatever happened in between.
        let graph = check("cuStreamEndCapture", unsafe { result::stream::end_capture(self.stream) });
        enqueued?;
        Ok(graph?)
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            let _quiet = self.context.quiet();
            self.context.pool.leave(self.stream);
            // SAFETY: created once; work on it still completes.
            let _ = unsafe { result::stream::destroy(self.stream) };
        }
    }
}

/// A recorded sequence, ready to run.
pub struct Graph {
    context: Arc<Context>,
    graph: sys::CUgraph,
    executable: sys::CUgraphExec,
}

// SAFETY: handles of the driver, valid in every thread.
unsafe impl Send for Graph {}
// SAFETY: see above.
unsafe impl Sync for Graph {}

impl Graph {
    fn new(context: &Arc<Context>, graph: sys::CUgraph) -> Result<Self, DeviceError> {
        let mut executable = std::ptr::null_mut();
        // Kernels keep the priorities of the streams that they were recorded from; else all would have that of the launch.
        let flags = sys::CUgraphInstantiate_flags_enum::CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY.0 as u64;
        // SAFETY: `graph` has just been recorded; it is destroyed with `executable` in `drop`.
        let made = unsafe { sys::cuGraphInstantiateWithFlags(&mut executable, graph, flags) };
        check("cuGraphInstantiate", made.result())?;
        Ok(Self { context: Arc::clone(context), graph, executable })
    }

    /// Enqueues all of it.
    pub fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        self.context.bind()?;
        stream.other_work();
        // SAFETY: both live.
        check("cuGraphLaunch", unsafe { result::graph::launch(self.executable, stream.stream) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        if self.context.bind().is_ok() {
            // SAFETY: made once in `new`.
            let _ = unsafe { result::graph::exec_destroy(self.executable) };
            // SAFETY: see above.
            let _ = unsafe { result::graph::destroy(self.graph) };
        }
    }
}
