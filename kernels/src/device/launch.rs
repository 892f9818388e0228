//! Modules of compiled kernels, kernels with the type of their arguments, and how many threads run one.

use super::{Arguments, DeviceError, cuda, emulator, source::KernelType};
use std::any::TypeId;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// Compiled kernels.
#[derive(Clone)]
pub struct Module {
    name: &'static str,
    kernels: Arc<[KernelType]>,
    /// What blocks of each of them may have.
    shared: Arc<[Arc<SharedLimit>]>,
    code: Code,
}

#[derive(Clone)]
pub(super) enum Code {
    Cuda(Arc<cuda::Module>),
    Emulator(Arc<emulator::Module>),
}

impl Module {
    /// With the kernels that its source declares.
    pub(super) fn new(name: &'static str, kernels: &[KernelType], code: Code) -> Self {
        Self { name, kernels: kernels.into(), shared: kernels.iter().map(|_| Arc::default()).collect(), code }
    }

    /// The kernel of this name, which takes arguments of type `A`.
    ///
    /// # Errors
    /// [`DeviceError::NoKernel`] unless the source declares such a kernel with these arguments ([`Source::kernel`](super::Source::kernel)).
    pub fn kernel<A: Arguments + 'static>(&self, name: &str) -> Result<Kernel<A>, DeviceError> {
        let is_meant = |k: &(&KernelType, _)| k.0.name == name && k.0.arguments == TypeId::of::<A>();
        let found = self.kernels.iter().zip(&*self.shared).find(is_meant).and_then(|(declared, shared)| {
            let function = match &self.code {
                Code::Cuda(module) => Function::Cuda(Arc::new(module.function(name, declared.early)?)),
                Code::Emulator(module) => Function::Emulator(Arc::new(module.function(name)?)),
            };
            Some((function, Arc::clone(shared)))
        });
        let kernel = format!("{name}({})", A::NAME);
        let none = || DeviceError::NoKernel { kernel, source_name: self.name.into() };
        let (function, shared) = found.ok_or_else(none)?;
        Ok(Kernel { name: name.into(), function, shared, arguments: PhantomData })
    }
}

/// A kernel that takes arguments of type `A`; [`Stream::launch`](super::Stream::launch) runs it.
pub struct Kernel<A> {
    pub(super) name: Arc<str>,
    pub(super) function: Function,
    pub(super) shared: Arc<SharedLimit>,
    arguments: PhantomData<fn(A)>,
}

impl<A> Clone for Kernel<A> {
    fn clone(&self) -> Self {
        let (name, shared) = (Arc::clone(&self.name), Arc::clone(&self.shared));
        Self { name, function: self.function.clone(), shared, arguments: PhantomData }
    }
}

/// Dynamic shared memory that blocks of a kernel may have without being asked for, bytes.
pub(super) const FREE_SHARED: u32 = 48 * 1024;

/// Dynamic shared memory that blocks of a kernel may have so far, bytes. A driver keeps one number for a kernel of a module, and each request takes the
/// place of the one before, a lower one too. So all handles of the kernel have one limit in common, which only rises.
#[derive(Debug)]
pub(super) struct SharedLimit(Mutex<u32>);

impl Default for SharedLimit {
    fn default() -> Self {
        Self(Mutex::new(FREE_SHARED))
    }
}

impl SharedLimit {
    /// Lets blocks of `function` have at least so many bytes.
    pub fn raise(&self, function: &Function, bytes: u32) -> Result<(), DeviceError> {
        if bytes <= FREE_SHARED {
            return Ok(());
        }
        let mut allowed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes > *allowed {
            match function {
                Function::Cuda(function) => function.allow_shared(bytes)?,
                Function::Emulator(function) => function.allow_shared(bytes),
            }
            *allowed = bytes;
        }
        Ok(())
    }
}

#[derive(Clone)]
pub(super) enum Function {
    Cuda(Arc<cuda::Function>),
    Emulator(Arc<emulator::Function>),
}

impl Function {
    /// Shared memory that one block may have, bytes.
    pub fn shared_memory(&self) -> u32 {
        match self {
            Self::Cuda(function) => function.shared_memory(),
            Self::Emulator(_) => emulator::SHARED_MEMORY,
        }
    }
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

/// How many threads run a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks of the grid. With a zero among them the launch does nothing.
    pub blocks: Extent,
    /// Threads of each block.
    pub threads: Extent,
    /// Dynamic shared memory of each block, bytes.
    pub shared_bytes: u32,
}

/// What every GPU that is supported can do: blocks along x, y, z; threads along x, y, z; threads of a block.
const MOST_BLOCKS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
const MOST_THREADS: [u32; 3] = [1024, 1024, 64];
const MOST_THREADS_OF_BLOCK: u64 = 1024;

impl Launch {
    /// So many blocks of so many threads, without dynamic shared memory.
    pub fn new(blocks: impl Into<Extent>, threads: impl Into<Extent>) -> Self {
        Self { blocks: blocks.into(), threads: threads.into(), shared_bytes: 0 }
    }

    /// At least one thread for each of `n`, in whole blocks of `threads`.
    ///
    /// # Panics
    /// If `threads` is zero, or there are more than 2³² blocks: faults of the calling code.
    pub fn for_each(n: usize, threads: u32) -> Self {
        let blocks = n.div_ceil(threads as usize);
        Self::new(u32::try_from(blocks).expect("invariant: fewer than 2³² blocks"), threads)
    }

    /// With so many bytes of dynamic shared memory for each block.
    #[must_use]
    pub fn with_shared(self, shared_bytes: u32) -> Self {
        Self { shared_bytes, ..self }
    }

    /// Whether there is nothing to do.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.0.contains(&0) || self.threads.0.contains(&0)
    }

    /// Whether a GPU can run it, on which a block may have `limit` bytes of shared memory.
    pub(super) fn check(&self, kernel: &str, limit: u32) -> Result<(), DeviceError> {
        let within = |n: [u32; 3], most: [u32; 3]| n.iter().zip(most).all(|(n, most)| *n <= most);
        let all: u64 = self.threads.0.iter().map(|n| u64::from(*n)).product();
        if !within(self.blocks.0, MOST_BLOCKS) || !within(self.threads.0, MOST_THREADS) || all > MOST_THREADS_OF_BLOCK {
            let (blocks, threads) = (self.blocks.0, self.threads.0);
            return Err(DeviceError::Launch { kernel: kernel.into(), blocks, threads });
        }
        if self.shared_bytes > limit {
            let what = format!("kernel {kernel}");
            return Err(DeviceError::SharedMemory { what, asked: self.shared_bytes as usize, limit: limit as usize });
        }
        Ok(())
    }
}
