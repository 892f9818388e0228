//! Near field on the device.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, Kernel, Source, Stream, args};

use super::{PAIR, real_name};

/// How the pairs of a leaf are dealt out to threads; results differ by rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearShape {
    /// Threads that work on one leaf: a multiple of 32.
    pub threads: u32,
    /// Targets of a thread.
    pub targets: u32,
    /// Sources held in shared memory at a time.
    pub sources: u32,
    /// Threads that copy one near box: a divisor of `threads`.
    pub lanes: u32,
    /// Sources between two checks for the end.
    pub unroll: u32,
}

impl NearShape {
    /// For some ten to twenty particles in each box.
    #[must_use]
    pub fn default_for<T>() -> Self {
        let sources = if size_of::<T>() == 4 { 512 } else { 256 };
        Self { threads: 128, targets: 2, sources, lanes: 8, unroll: 4 }
    }
}

/// The near-field kernel.
pub struct NearField {
    kernel: Kernel,
    threads: u32,
}

impl NearField {
    /// # Errors
    /// Of the device.
    pub fn new<T: Real + Pod>(device: &Device, shape: NearShape) -> Result<Self, DeviceError> {
        let module = device.compile(&source::<T>(shape))?;
        Ok(Self { kernel: module.kernel("near_field")?, threads: shape.threads })
    }

    /// φ' and E' of the near boxes at every particle, by sorted place.
    ///
    /// # Errors
    /// Of the device.
    pub fn enqueue<T: Real + Pod>(
        &self,
        stream: &Stream,
        n_leaves: usize,
        [starts, near_starts, runs]: [&Buffer<u32>; 3],
        [sorted, shifts, out]: [&Buffer<T>; 3],
    ) -> Result<(), DeviceError> {
        let arguments = args![sorted, starts, near_starts, runs, shifts, out];
        stream.launch(&self.kernel, n_leaves as u32, self.threads, 0, arguments)
    }
}

/// The kernel of a shape.
pub(super) fn source<T>(shape: NearShape) -> Source {
    Source::new("near", include_str!("near.cu"))
        .header(PAIR)
        .define("REAL", real_name::<T>())
        .define("THREADS", shape.threads)
        .define("TARGETS", shape.targets)
        .define("SOURCES", shape.sources)
        .define("LANES", shape.lanes)
        .define("UNROLL", shape.unroll)
}
