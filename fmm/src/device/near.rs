//! Near field on the device: launches of `near.cu`.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};

use super::{PAIR, real_name};

arguments! {
    /// Arguments of `near_field`.
    struct NearArgs<'a, T: Real> {
        /// x', y', z', q by sorted place.
        sorted: In<'a, [T; 4]>,
        /// First place of each leaf, and the end.
        starts: In<'a, u32>,
        /// First near box of each leaf, and the end.
        near_starts: In<'a, u32>,
        /// For each near box: first place, particles, particles of the leaf's near boxes before it, slot of its offset.
        runs: In<'a, [u32; 4]>,
        /// Displacement of each near offset.
        shifts: In<'a, [T; 4]>,
        /// φ', E' by sorted place.
        out: Out<'a, [T; 4]>,
    }
}

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
    /// The shape that suits some ten to twenty particles in each box.
    #[must_use]
    pub fn default_for<T>() -> Self {
        let sources = if size_of::<T>() == 4 { 512 } else { 256 };
        Self { threads: 128, targets: 2, sources, lanes: 8, unroll: 4 }
    }
}

/// The near-field kernel.
pub struct NearField<T: Real> {
    kernel: Kernel<NearArgs<'static, T>>,
    threads: u32,
}

impl<T: Real + Pod> NearField<T> {
    /// Compiles the kernel for a shape.
    ///
    /// # Errors
    /// A kernel that does not compile; a lost device.
    pub fn new(device: &Device, shape: NearShape) -> Result<Self, DeviceError> {
        let module = device.compile(&source::<T>(shape))?;
        Ok(Self { kernel: module.kernel("near_field")?, threads: shape.threads })
    }

    /// φ' and E' of the near boxes at every particle, by sorted place.
    ///
    /// # Errors
    /// What the driver says against the launch.
    pub fn enqueue(
        &self,
        stream: &Stream,
        n_leaves: usize,
        [starts, near_starts, runs]: [&Buffer<u32>; 3],
        [sorted, shifts, out]: [&Buffer<T>; 3],
    ) -> Result<(), DeviceError> {
        let arguments = NearArgs {
            sorted: sorted.arg(),
            starts: starts.arg(),
            near_starts: near_starts.arg(),
            runs: runs.arg(),
            shifts: shifts.arg(),
            out: out.arg(),
        };
        stream.launch(&self.kernel, Launch::new(n_leaves as u32, self.threads), arguments)
    }
}

/// The kernel of a shape.
pub(super) fn source<T: Real>(shape: NearShape) -> Source {
    Source::new("near", include_str!("near.cu"))
        .header(PAIR)
        .define("REAL", real_name::<T>())
        .define("THREADS", shape.threads)
        .define("TARGETS", shape.targets)
        .define("SOURCES", shape.sources)
        .define("LANES", shape.lanes)
        .define("UNROLL", shape.unroll)
        .kernel::<NearArgs<'static, T>>("near_field")
}
