//! Streams, ordered queues of work, and graphs, sequences of work recorded from them.

use super::counts::Counters;
use super::held::{self, Held};
use super::launch::{Function, SharedLimit};
use super::{Arguments, Buffer, DeviceError, Kernel, Launch, Memory, Shared, cuda, emulator, mixed};
use bytemuck::Pod;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// An ordered queue of work.
#[derive(Clone)]
pub struct Stream(pub(super) Queue, pub(super) Arc<Counters>);

#[derive(Clone)]
pub(super) enum Queue {
    Cuda(Arc<cuda::Stream>),
    Emulator,
}

impl Stream {
    /// Runs a kernel. An empty grid does nothing.
    ///
    /// The arguments have the type that the kernel was declared and compiled with, and their buffers live while the launch is enqueued.
    /// Memory that is dropped afterwards is not given to others before the work is done, or, if it is recorded, before its [`Graph`] is dropped.
    ///
    /// # Errors
    /// [`DeviceError::Launch`] for more threads than a GPU can run, [`DeviceError::SharedMemory`] for more shared memory than there is, a
    /// kernel of another device; what the driver says against the launch.
    pub fn launch<A: Arguments>(
        &self,
        kernel: &Kernel<A>,
        launch: Launch,
        arguments: A::With<'_>,
    ) -> Result<(), DeviceError> {
        held::keep_launch(&kernel.function, |found| arguments.addresses(found));
        let (at, size) = ((&raw const arguments).cast::<MaybeUninit<u8>>(), size_of::<A::With<'_>>());
        // SAFETY: the bytes of `arguments`, which lives to the end of this function; they may be uninitialised where it has padding.
        let bytes = unsafe { std::slice::from_raw_parts(at, size) };
        // SAFETY: the source of the kernel holds assertions that the kernel takes one `A` and that the compiler of the device lays `A` out
        // as Rust does; pointers in `A` are made of buffers that live now. `A: Arguments` promises that the kernel stays within them.
        unsafe { self.launch_raw((&kernel.name, &kernel.function, &kernel.shared), launch, bytes) }
    }

    /// Runs a kernel on the bytes of its only argument.
    ///
    /// # Safety
    /// The kernel must take a structure of these bytes, and do nothing but read and write memory that its pointers may lead to.
    unsafe fn launch_raw(
        &self,
        (name, function, shared): (&str, &Function, &SharedLimit),
        launch: Launch,
        argument: &[MaybeUninit<u8>],
    ) -> Result<(), DeviceError> {
        if launch.is_empty() {
            return Ok(());
        }
        self.check_recorder()?;
        launch.check(name, function.shared_memory())?;
        shared.raise(function, launch.shared_bytes)?;
        self.1.launch();
        match (&self.0, function) {
            // SAFETY: the caller's promise.
            (Queue::Cuda(stream), Function::Cuda(function)) => unsafe { function.launch(stream, &launch, argument) },
            (Queue::Emulator, Function::Emulator(function)) => {
                // SAFETY: the caller's promise.
                emulator::enqueue(unsafe { emulator::Work::launch(function, launch, argument) })
            }
            _ => Err(mixed()),
        }
    }

    /// Refuses what would be recorded by another thread than the one that records, because the sequence would not keep what it works with.
    fn check_recorder(&self) -> Result<(), DeviceError> {
        match &self.0 {
            Queue::Cuda(stream) if held::is_anyone_recording() && !held::is_recording() && stream.is_captured()? => {
                Err(DeviceError::Recording("a thread enqueues work on a stream that another thread records"))
            }
            _ => Ok(()),
        }
    }

    /// Sets every byte of a buffer to zero.
    ///
    /// # Errors
    /// A lost device.
    pub fn zero<T: Pod>(&self, buffer: &Buffer<T>) -> Result<(), DeviceError> {
        self.check_recorder()?;
        held::keep(buffer.memory());
        match (&self.0, &**buffer.memory()) {
            (Queue::Cuda(stream), Memory::Cuda(memory)) => stream.zero(memory),
            (Queue::Emulator, Memory::Emulator(memory)) => emulator::enqueue(emulator::Work::zero(memory)),
            _ => Err(mixed()),
        }
    }

    /// Copies a buffer into another of the same length on the device.
    ///
    /// # Errors
    /// Different lengths; a lost device.
    pub fn copy<T: Pod>(&self, from: &Buffer<T>, to: &Buffer<T>) -> Result<(), DeviceError> {
        if from.len() != to.len() {
            return Err(DeviceError::Length { expected: to.len(), found: from.len() });
        }
        self.check_recorder()?;
        held::keep(from.memory());
        held::keep(to.memory());
        match (&self.0, &**from.memory(), &**to.memory()) {
            (Queue::Cuda(stream), Memory::Cuda(from), Memory::Cuda(to)) => stream.copy(from, to),
            (Queue::Emulator, Memory::Emulator(from), Memory::Emulator(to)) => {
                emulator::enqueue(emulator::Work::copy(from, to))
            }
            _ => Err(mixed()),
        }
    }

    /// Makes work that is enqueued here from now on wait for all that has been enqueued on `other`.
    ///
    /// # Errors
    /// A lost device.
    pub fn wait_for(&self, other: &Stream) -> Result<(), DeviceError> {
        match (&self.0, &other.0) {
            (Queue::Cuda(stream), Queue::Cuda(other)) if Arc::ptr_eq(stream, other) => Ok(()),
            (Queue::Cuda(stream), Queue::Cuda(other)) => stream.wait_for(other),
            (Queue::Emulator, Queue::Emulator) => Ok(()),
            _ => Err(mixed()),
        }
    }

    /// Waits until all enqueued work is done.
    ///
    /// # Errors
    /// What went wrong in it.
    pub fn synchronize(&self) -> Result<(), DeviceError> {
        match &self.0 {
            Queue::Cuda(stream) => stream.synchronize(),
            Queue::Emulator => Ok(()),
        }
    }

    /// Records what `enqueue` puts on this stream, and on others that fork from it and join it again ([`Stream::wait_for`]), instead of
    /// doing it. The graph keeps the memory and the kernels that it uses, also where buffers are dropped or replaced meanwhile.
    ///
    /// # Errors
    /// Those of `enqueue`, and whatever cannot be recorded: reading a buffer, another sequence, on a GPU also work that other threads enqueue on
    /// the stream and memory that is made. If `enqueue` panics, nothing has been recorded or done; the stream of a GPU is of no use then.
    pub fn capture<E: From<DeviceError>>(&self, enqueue: impl FnOnce() -> Result<(), E>) -> Result<Graph, E> {
        self.1.record();
        let (recording, held) = match &self.0 {
            Queue::Cuda(stream) => {
                let (graph, held) = stream.capture(enqueue)?;
                (Recording::Cuda(Arc::new(graph)), held)
            }
            Queue::Emulator => {
                let (recorded, held) = emulator::record(enqueue)?;
                (Recording::Emulator(Arc::new(recorded)), held)
            }
        };
        Ok(Graph { recording, _held: Arc::new(held) })
    }

    /// Seconds that the work enqueued by `enqueue` takes on the device, measured by the device.
    ///
    /// # Errors
    /// Those of `enqueue` and of the work.
    pub fn time<E: From<DeviceError>>(&self, enqueue: impl FnOnce() -> Result<(), E>) -> Result<f64, E> {
        match &self.0 {
            Queue::Cuda(stream) => stream.time(enqueue),
            Queue::Emulator => {
                let start = std::time::Instant::now();
                enqueue()?;
                Ok(start.elapsed().as_secs_f64())
            }
        }
    }
}

/// A recorded sequence of work, with the memory and the kernels that it works with. Memory is given back when the last clone is dropped and the
/// work is done.
#[derive(Clone)]
pub struct Graph {
    // Dropped in this order.
    recording: Recording,
    _held: Arc<Held>,
}

#[derive(Clone)]
enum Recording {
    Cuda(Arc<cuda::Graph>),
    Emulator(Arc<emulator::Recorded>),
}

impl Graph {
    /// Enqueues all of it.
    ///
    /// # Errors
    /// [`DeviceError::Recording`] while this thread records; a lost device.
    pub fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        if held::is_recording() {
            return Err(held::nested());
        }
        stream.check_recorder()?;
        stream.1.graph();
        match (&self.recording, &stream.0) {
            (Recording::Cuda(graph), Queue::Cuda(stream)) => graph.launch(stream),
            (Recording::Emulator(recorded), Queue::Emulator) => recorded.run(),
            _ => Err(mixed()),
        }
    }
}
