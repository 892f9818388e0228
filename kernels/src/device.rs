//! GPUs: finding them, compiling kernels, memory, launches, graphs.
//!
//! One set of types over two backends: CUDA through its driver (nothing of CUDA is needed to build; kernels are compiled at run time and kept
//! on disk), and an emulator that compiles the same kernel text as C++ and runs it on the CPU, slowly, so that every kernel is tested on
//! machines without a GPU. Kernels are CUDA C++ in `.cu` files beside the Rust code that launches them, specialised by defines
//! ([`Source`]); all start with `prelude.cuh`.
//!
//! Work is enqueued on a [`Stream`] and runs in its order. A sequence that repeats is captured once into a [`Graph`]. Buffers are written by
//! the device through shared references; keeping streams in order is the caller's part, as in CUDA.

mod buffer;
mod compile;
mod cuda;
mod emulator;
mod error;
mod sort;
mod source;

use bytemuck::Pod;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

pub use crate::args;
pub use buffer::Buffer;
pub use compile::compiles;
pub use cuda::{Gpu, MINIMUM_CAPABILITY, probe};
pub use error::DeviceError;
pub use sort::CountingSort;
pub use source::{Arg, Source};

/// A device that runs kernels; clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<Shared>);

struct Shared {
    backend: Backend,
    modules: Mutex<HashMap<String, Module>>,
}

/// Memory of either kind of device.
pub(crate) enum Memory {
    Cuda(cuda::Memory),
    Emulator(emulator::Memory),
}

enum Backend {
    Cuda(Arc<cuda::Context>),
    Emulator,
}

impl Device {
    /// The GPU `ordinal`, counted from 0 as the driver counts them.
    ///
    /// # Errors
    /// No driver, no run-time compiler, no such GPU, a GPU too old.
    pub fn cuda(ordinal: usize) -> Result<Self, DeviceError> {
        Ok(Self::with(Backend::Cuda(cuda::Context::shared(ordinal)?)))
    }

    /// The CPU in the place of a GPU, for tests.
    ///
    /// # Errors
    /// No C++ compiler (the variable CXX, or `c++`).
    pub fn emulator() -> Result<Self, DeviceError> {
        emulator::check()?;
        Ok(Self::with(Backend::Emulator))
    }

    /// The device that tests use: the emulator, or the GPU that the variable OCTITRATE_TEST_DEVICE names (`cuda:0`).
    ///
    /// # Errors
    /// As [`Device::cuda`] and [`Device::emulator`].
    pub fn of_tests() -> Result<Self, DeviceError> {
        let wanted = std::env::var("OCTITRATE_TEST_DEVICE").unwrap_or_default();
        match wanted.strip_prefix("cuda:").and_then(|ordinal| ordinal.parse().ok()) {
            Some(ordinal) => Self::cuda(ordinal),
            None => Self::emulator(),
        }
    }

    fn with(backend: Backend) -> Self {
        Self(Arc::new(Shared { backend, modules: Mutex::default() }))
    }

    /// Name of the device.
    pub fn name(&self) -> String {
        match &self.0.backend {
            Backend::Cuda(context) => context.gpu().name.clone(),
            Backend::Emulator => "emulator".into(),
        }
    }

    /// What is known of the GPU; none for the emulator.
    pub fn gpu(&self) -> Option<&Gpu> {
        match &self.0.backend {
            Backend::Cuda(context) => Some(context.gpu()),
            Backend::Emulator => None,
        }
    }

    /// Multiprocessors; 1 for the emulator.
    pub fn multiprocessors(&self) -> u32 {
        self.gpu().map_or(1, |gpu| gpu.multiprocessors)
    }

    /// Bytes of shared memory that one block may have.
    pub fn shared_memory(&self) -> u32 {
        self.gpu().map_or(emulator::SHARED_MEMORY, |gpu| gpu.shared_memory)
    }

    /// Free and total memory, bytes; none for the emulator.
    ///
    /// # Errors
    /// A lost device.
    pub fn memory(&self) -> Result<Option<(usize, usize)>, DeviceError> {
        match &self.0.backend {
            Backend::Cuda(context) => context.memory().map(Some),
            Backend::Emulator => Ok(None),
        }
    }

    /// Lets threads that wait for the device sleep between looks, for many of them at work side by side. Else they spin, which is faster for
    /// one alone.
    pub fn wait_asleep(&self) {
        if let Backend::Cuda(context) = &self.0.backend {
            context.wait_asleep();
        }
    }

    /// Kernels ready to launch. The same source is compiled once in a process, and for GPUs once on a machine.
    ///
    /// # Errors
    /// [`DeviceError::Compile`].
    pub fn compile(&self, source: &Source) -> Result<Module, DeviceError> {
        let key = format!("{} {:?}", source.whole(""), source.options());
        let mut modules = self.0.modules.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(module) = modules.get(&key) {
            return Ok(module.clone());
        }
        let code = match &self.0.backend {
            Backend::Cuda(context) => Code::Cuda(Arc::new(cuda::Module::new(context, source)?)),
            Backend::Emulator => Code::Emulator(Arc::new(emulator::Module::new(source)?)),
        };
        let module = Module { name: source.name(), code };
        modules.insert(key, module.clone());
        Ok(module)
    }

    /// A buffer of `len` zeros.
    ///
    /// # Errors
    /// Out of memory.
    pub fn zeros<T: Pod>(&self, len: usize) -> Result<Buffer<T>, DeviceError> {
        let none = DeviceError::OutOfMemory { asked: usize::MAX, free: 0 };
        let bytes = len.checked_mul(size_of::<T>()).ok_or(none)?;
        let memory = match &self.0.backend {
            Backend::Cuda(context) => Memory::Cuda(cuda::Memory::new(context, bytes)?),
            Backend::Emulator => Memory::Emulator(emulator::Memory::new(bytes)?),
        };
        Ok(Buffer::new(memory, len))
    }

    /// A buffer with this content.
    ///
    /// # Errors
    /// Out of memory.
    pub fn upload<T: Pod>(&self, content: &[T]) -> Result<Buffer<T>, DeviceError> {
        let buffer = self.zeros(content.len())?;
        match buffer.memory() {
            Memory::Cuda(memory) => memory.fill(bytemuck::cast_slice(content))?,
            Memory::Emulator(memory) => memory.write(bytemuck::cast_slice(content)),
        }
        Ok(buffer)
    }

    /// A stream: work on it runs in order, beside that of other streams.
    ///
    /// # Errors
    /// A lost device.
    pub fn stream(&self) -> Result<Stream, DeviceError> {
        Ok(Stream(match &self.0.backend {
            Backend::Cuda(context) => Queue::Cuda(Arc::new(cuda::Stream::new(context)?)),
            Backend::Emulator => Queue::Emulator,
        }))
    }
}

/// Compiled kernels.
#[derive(Clone)]
pub struct Module {
    name: &'static str,
    code: Code,
}

#[derive(Clone)]
enum Code {
    Cuda(Arc<cuda::Module>),
    Emulator(Arc<emulator::Module>),
}

impl Module {
    /// The kernel of this name.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`].
    pub fn kernel(&self, name: &str) -> Result<Kernel, DeviceError> {
        let function = match &self.code {
            Code::Cuda(module) => module.function(name).map(|f| Function::Cuda(Arc::new(f))),
            Code::Emulator(module) => module.function(name).map(|f| Function::Emulator(Arc::new(f))),
        };
        let none = || DeviceError::NoKernel { kernel: name.into(), source_name: self.name.into() };
        function.map(|function| Kernel { name: name.into(), function }).ok_or_else(none)
    }
}

/// One kernel.
#[derive(Clone)]
pub struct Kernel {
    name: Arc<str>,
    function: Function,
}

#[derive(Clone)]
enum Function {
    Cuda(Arc<cuda::Function>),
    Emulator(Arc<emulator::Function>),
}

/// Blocks of a grid, or threads of a block, along x, y, z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Extent(pub [u32; 3]);

impl From<[u32; 3]> for Extent {
    fn from(extent: [u32; 3]) -> Self {
        Self(extent)
    }
}

impl From<u32> for Extent {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

/// An ordered queue of work.
#[derive(Clone)]
pub struct Stream(Queue);

#[derive(Clone)]
enum Queue {
    Cuda(Arc<cuda::Stream>),
    Emulator,
}

impl Stream {
    /// Runs a kernel on `grid` blocks of `block` threads with `shared` bytes of dynamic shared memory. An empty grid does nothing.
    ///
    /// The arguments must be those of the kernel, in type and order, with buffers large enough for what it does: as with every GPU, a kernel
    /// that writes elsewhere destroys what is there.
    ///
    /// # Errors
    /// More shared memory than there is; what the driver says against the launch.
    pub fn launch(
        &self,
        kernel: &Kernel,
        grid: impl Into<Extent>,
        block: impl Into<Extent>,
        shared: u32,
        args: &[Arg],
    ) -> Result<(), DeviceError> {
        let (grid, block) = (grid.into(), block.into());
        if grid.0.contains(&0) || block.0.contains(&0) {
            return Ok(());
        }
        let limit = match &kernel.function {
            Function::Cuda(function) => function.shared_memory(),
            Function::Emulator(_) => emulator::SHARED_MEMORY,
        };
        if shared > limit {
            let what = format!("kernel {}", kernel.name);
            return Err(DeviceError::SharedMemory { what, asked: shared as usize, limit: limit as usize });
        }
        match (&self.0, &kernel.function) {
            (Queue::Cuda(stream), Function::Cuda(function)) => function.launch(stream, grid.0, block.0, shared, args),
            (Queue::Emulator, Function::Emulator(function)) => {
                emulator::enqueue(emulator::Work::launch(function, grid, block, shared, args))
            }
            _ => Err(mixed()),
        }
    }

    /// Sets every byte of a buffer to zero.
    ///
    /// # Errors
    /// A lost device.
    pub fn zero<T: Pod>(&self, buffer: &Buffer<T>) -> Result<(), DeviceError> {
        match (&self.0, buffer.memory()) {
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
        match (&self.0, from.memory(), to.memory()) {
            (Queue::Cuda(stream), Memory::Cuda(from), Memory::Cuda(to)) => stream.copy(from, to),
            (Queue::Emulator, Memory::Emulator(from), Memory::Emulator(to)) => {
                emulator::enqueue(emulator::Work::copy(from, to))
            }
            _ => Err(mixed()),
        }
    }

    /// Work enqueued here from now on waits for all that has been enqueued on `other`.
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
    /// doing it. Buffers used must outlive the graph.
    ///
    /// # Errors
    /// Those of `enqueue`; anything that cannot be recorded, such as reading a buffer.
    pub fn capture<E: From<DeviceError>>(&self, enqueue: impl FnOnce() -> Result<(), E>) -> Result<Graph, E> {
        Ok(Graph(match &self.0 {
            Queue::Cuda(stream) => Recording::Cuda(Arc::new(stream.capture(enqueue)?)),
            Queue::Emulator => Recording::Emulator(Arc::new(emulator::record(enqueue)?)),
        }))
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

/// A recorded sequence of work.
#[derive(Clone)]
pub struct Graph(Recording);

#[derive(Clone)]
enum Recording {
    Cuda(Arc<cuda::Graph>),
    Emulator(Arc<emulator::Recorded>),
}

impl Graph {
    /// Enqueues all of it.
    ///
    /// # Errors
    /// A lost device.
    pub fn launch(&self, stream: &Stream) -> Result<(), DeviceError> {
        match (&self.0, &stream.0) {
            (Recording::Cuda(graph), Queue::Cuda(stream)) => graph.launch(stream),
            (Recording::Emulator(recorded), Queue::Emulator) => recorded.run(),
            _ => Err(mixed()),
        }
    }
}

fn mixed() -> DeviceError {
    DeviceError::Emulator("a buffer, kernel or stream of another device".into())
}

#[cfg(test)]
mod tests;
