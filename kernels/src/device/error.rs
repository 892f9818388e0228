//! What can go wrong between this program and a GPU.

use thiserror::Error;

/// Why a device cannot be used, or stopped working.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DeviceError {
    /// libcuda is missing.
    #[error("no NVIDIA driver found (libcuda)")]
    NoDriver,
    /// libnvrtc is missing.
    #[error(
        "the NVIDIA run-time compiler (libnvrtc) was not found; install a CUDA toolkit of version 12 or 13, or the Python package nvidia-cuda-nvrtc with a link libnvrtc.so to its libnvrtc.so.13, and add the folder of libnvrtc.so to LD_LIBRARY_PATH"
    )]
    NoCompiler,
    /// There is a driver, but no GPU of this number.
    #[error("no GPU {ordinal}: {}", match found { 0 => "the driver sees none".to_string(), 1 => "the only one is cuda:0".to_string(), n => format!("they are cuda:0 to cuda:{}", n - 1) })]
    NoDevice {
        /// What was asked for.
        ordinal: usize,
        /// GPUs there are.
        found: usize,
    },
    /// The GPU is too old.
    #[error("{name} has compute capability {}.{}; {}.{} or newer is needed", capability.0, capability.1, needed.0, needed.1)]
    Capability {
        /// Name of the GPU.
        name: String,
        /// What it has.
        capability: (u32, u32),
        /// What is needed.
        needed: (u32, u32),
    },
    /// Memory of the GPU is exhausted.
    #[error("the GPU is out of memory: {:.1} MiB more were asked for, {:.1} MiB are free", *asked as f64 / 1048576.0, *free as f64 / 1048576.0)]
    OutOfMemory {
        /// Bytes asked for.
        asked: usize,
        /// Bytes free.
        free: usize,
    },
    /// More threads or blocks than GPUs can run: a fault of this program.
    #[error("kernel {kernel}: no GPU runs {blocks:?} blocks of {threads:?} threads")]
    Launch {
        /// The kernel.
        kernel: String,
        /// Blocks along x, y, z.
        blocks: [u32; 3],
        /// Threads of a block along x, y, z.
        threads: [u32; 3],
    },
    /// A structure that host and device lay out differently: a fault of this program.
    #[error("{what} is {host} on the host and {device} on the device")]
    Layout {
        /// Which size or place of a field, in C++.
        what: String,
        /// Bytes on the host.
        host: usize,
        /// Bytes on the device.
        device: i64,
    },
    /// A block of threads does not fit.
    #[error("{what} needs {asked} bytes of shared memory; this GPU has {limit} for one block")]
    SharedMemory {
        /// What the block works on, or the kernel.
        what: String,
        /// Bytes asked for.
        asked: usize,
        /// Bytes that there are.
        limit: usize,
    },
    /// The compiler does not serve this kind of GPU.
    #[error("the run-time compiler NVRTC {version} does not serve {target}, only {}; install another version of the CUDA toolkit", known.iter().map(|k| format!("sm_{k}")).collect::<Vec<_>>().join(", "))]
    Architecture {
        /// Architecture of the GPU.
        target: String,
        /// Version of the compiler.
        version: String,
        /// Compute capabilities that it serves, 10 major + minor.
        known: Vec<i32>,
    },
    /// Kernels that do not compile: a fault of this program.
    #[error("kernels {source_name} do not compile for {target}:\n{log}")]
    Compile {
        /// Name of the source.
        source_name: String,
        /// Architecture or compiler.
        target: String,
        /// What the compiler said.
        log: String,
    },
    /// No such kernel in a module: a fault of this program.
    #[error("no kernel {kernel} in {source_name}")]
    NoKernel {
        /// The kernel.
        kernel: String,
        /// Name of the source.
        source_name: String,
    },
    /// Lists of different lengths.
    #[error("{found} elements where there must be {expected}")]
    Length {
        /// Elements of the buffer, or those that a kernel needs.
        expected: usize,
        /// Elements found.
        found: usize,
    },
    /// The GPU failed while it ran; its context is lost.
    #[error("the GPU failed in {call}: {code} ({text}); what it held is lost")]
    Lost {
        /// Driver call that reported it.
        call: &'static str,
        /// Name of the error.
        code: String,
        /// What the driver says about it.
        text: String,
    },
    /// Any other error of the driver.
    #[error("{call}: {code} ({text})")]
    Driver {
        /// Driver call.
        call: &'static str,
        /// Name of the error.
        code: String,
        /// What the driver says about it.
        text: String,
    },
    /// What cannot be recorded into a sequence.
    #[error("{0}")]
    Recording(&'static str),
    /// The emulator cannot work.
    #[error("emulated device: {0}")]
    Emulator(String),
}
