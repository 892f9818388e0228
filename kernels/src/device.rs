//! GPUs: finding them, compiling kernels, memory, launches, graphs.
//!
//! One set of types serves two backends. The first is CUDA through its driver: nothing of CUDA is needed to build, because kernels are
//! compiled at run time and kept on disk. The second is an emulator, which compiles the same text as C++ and runs it on the CPU, slowly, so
//! that every kernel is tested on machines without a GPU. Kernels are CUDA C++ in `.cu` files, each beside the Rust file of the same name
//! that launches it; defines specialise them ([`Source`]), and all of them start with `prelude.cuh`.
//!
//! Work is enqueued on a [`Stream`] and runs in its order. A sequence that repeats is captured once into a [`Graph`], which keeps the memory and the
//! kernels that it works with. Devices write buffers through shared references; as in CUDA, it is the caller who keeps streams in order.
//!
//! # Arguments
//!
//! A kernel takes one structure by value. [`arguments!`] makes it of one definition, for Rust and for C++, and [`structure!`] does the same
//! for what buffers hold. The chain is closed by types: [`Source::kernel`] declares which kernel takes which structure and makes the source
//! fail to compile if its text says otherwise or lays the structure out in another way, [`Module::kernel`] gives a [`Kernel`] of that type
//! only, and [`Stream::launch`] takes nothing else. The one launch that is `unsafe` lies behind it. What no type can check, that a kernel
//! stays within its buffers, is promised by whoever writes the definition of its arguments.
//!
//! ```
//! use kernels::device::{Device, DeviceError, In, Kernel, Launch, Out, Source, arguments};
//!
//! arguments! {
//!     struct AddArgs<'a> {
//!         x: In<'a, f64>,
//!         y: Out<'a, f64>,
//!         factor: f64,
//!         n: i32,
//!     }
//! }
//!
//! // y ← y + factor x, a thread for each element.
//! const TEXT: &str = "
//! KERNEL void add(const __grid_constant__ AddArgs a) {
//!     const int i = blockIdx.x * blockDim.x + threadIdx.x;
//!     if (i < a.n) a.y[i] += a.factor * a.x[i];
//! }";
//!
//! # fn main() -> Result<(), DeviceError> {
//! let device = Device::emulator()?;
//! let source = Source::new("add", TEXT).kernel::<AddArgs<'static>>("add");
//! let add: Kernel<AddArgs<'static>> = device.compile(&source)?.kernel("add")?;
//! let (x, y) = (device.upload(&[1.0, 2.0, 3.0])?, device.upload(&[10.0, 20.0, 30.0])?);
//! let stream = device.stream()?;
//! stream.launch(&add, Launch::for_each(3, 128), AddArgs { x: x.arg(), y: y.arg(), factor: 0.5, n: 3 })?;
//! assert_eq!(y.read(&stream)?, [10.5, 21.0, 31.5]);
//! # Ok(())
//! # }
//! ```

mod arguments;
mod buffer;
mod cache;
mod compile;
mod counts;
mod cuda;
mod emulator;
mod error;
mod held;
mod launch;
mod layout;
mod shared;
mod sort;
mod source;
mod stream;

use counts::Counters;
use launch::Code;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use stream::Queue;

pub use crate::{arguments, structure};
pub use arguments::{Arguments, In, Out};
pub use buffer::Buffer;
#[doc(hidden)]
pub use bytemuck::{Pod, Zeroable};
pub use compile::compiles;
pub use counts::Counts;
pub use cuda::{Gpu, MINIMUM_CAPABILITY, Usage, probe, usage};
pub use error::DeviceError;
pub use launch::{Extent, Kernel, Launch, Module};
pub use layout::check_layouts;
pub use shared::{Field, Layout, Layouts, Shared};
pub use sort::CountingSort;
pub use source::Source;
pub use stream::{Graph, Stream};

/// A device that runs kernels; clones are the same device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    backend: Backend,
    modules: Mutex<HashMap<String, Arc<Mutex<Option<Module>>>>>,
    counters: Arc<Counters>,
}

/// Memory of either kind of device.
pub(crate) enum Memory {
    Cuda(cuda::Memory),
    Emulator(emulator::Memory),
}

impl Memory {
    /// Where it begins; no other memory in this process has this address.
    fn address(&self) -> u64 {
        match self {
            Self::Cuda(memory) => memory.address(),
            Self::Emulator(memory) => memory.address(),
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Cuda(memory) => memory.bytes,
            Self::Emulator(memory) => memory.bytes(),
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        held::leave(self);
    }
}

enum Backend {
    Cuda(Arc<cuda::Context>),
    Emulator,
}

impl Device {
    /// The GPU `ordinal`, counted from 0 as the driver counts them.
    ///
    /// # Errors
    /// If there is no driver, no run-time compiler or no such GPU, or if the GPU is too old.
    pub fn cuda(ordinal: usize) -> Result<Self, DeviceError> {
        Ok(Self::with(Backend::Cuda(cuda::Context::shared(ordinal)?)))
    }

    /// The CPU in the place of a GPU, for tests.
    ///
    /// # Errors
    /// If there is no C++ compiler (the variable CXX names it, else it is `c++`).
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
        Self(Arc::new(Inner { backend, modules: Mutex::default(), counters: Arc::default() }))
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

    /// Number of multiprocessors; the emulator has one.
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

    /// What has been given to this device so far, by all streams of this [`Device`] and its clones.
    pub fn counts(&self) -> Counts {
        self.0.counters.look()
    }

    /// Lets threads that wait for the device sleep between two looks, which leaves the CPU to others where many simulations run side by side.
    /// Otherwise they spin, which is faster for one simulation alone.
    pub fn wait_asleep(&self) {
        if let Backend::Cuda(context) = &self.0.backend {
            context.wait_asleep();
        }
    }

    /// Compiles kernels. The same source is compiled once in a process, and for GPUs once on a machine; threads may compile different ones at a time.
    ///
    /// # Errors
    /// [`DeviceError::Compile`] with what the compiler said.
    pub fn compile(&self, source: &Source) -> Result<Module, DeviceError> {
        let key = format!("{} {:?} {:?}", source.whole(), source.options(), source.kernels());
        // Others may compile other sources meanwhile; who wants the same one waits for it.
        let slot = Arc::clone(self.0.modules.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default());
        let mut compiled = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = &*compiled {
            return Ok(module.clone());
        }
        let code = match &self.0.backend {
            Backend::Cuda(context) => Code::Cuda(Arc::new(cuda::Module::new(context, source)?)),
            Backend::Emulator => Code::Emulator(Arc::new(emulator::Module::new(source)?)),
        };
        let module = Module::new(source.name(), source.kernels(), code);
        *compiled = Some(module.clone());
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
        match &**buffer.memory() {
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
        self.stream_with(false)
    }

    /// A stream whose kernels go before those of others wherever both could: for the chain of many short ones on which the rest waits. Recorded
    /// sequences keep that.
    ///
    /// # Errors
    /// A lost device.
    pub fn urgent_stream(&self) -> Result<Stream, DeviceError> {
        self.stream_with(true)
    }

    fn stream_with(&self, urgent: bool) -> Result<Stream, DeviceError> {
        let queue = match &self.0.backend {
            Backend::Cuda(context) => Queue::Cuda(Arc::new(cuda::Stream::new(context, urgent)?)),
            Backend::Emulator => Queue::Emulator,
        };
        Ok(Stream(queue, Arc::clone(&self.0.counters)))
    }
}

fn mixed() -> DeviceError {
    DeviceError::Emulator("a buffer, kernel or stream of another device".into())
}

#[cfg(test)]
mod tests;
