//! The most that a device can do: fused multiply-adds in registers, as many in flight as hide the latency. Rates of kernels are given as
//! fractions of it.

use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, Kernel, Launch, Out, Source, Stream, arguments};

arguments! {
    /// Arguments of `multiply_adds`.
    struct PeakArgs<'a, T: Real> {
        /// A number for each thread, so that nothing is left out.
        out: Out<'a, f64> as real,
        a: T,
        b: T,
        /// Steps of the loop.
        steps: i32,
    }
}

/// Sums in flight in each thread of the kernels that measure peaks (`CHAINS` of peak.cu).
pub const CHAINS: f64 = 16.0;

/// Threads of a block of these kernels.
pub const THREADS: u32 = 256;

/// Measured floating-point operations per second; a multiply-add counts as two.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Peak {
    /// f32.
    pub single: f64,
    /// f64.
    pub double: f64,
}

/// How much work a kernel that measures a peak is given: enough blocks to fill the device, and a loop in each thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Blocks of [`THREADS`].
    pub blocks: u32,
    /// Steps of the loop of a thread.
    pub steps: i32,
}

impl Load {
    /// Milliseconds of work for a GPU, and little for the emulator.
    pub fn of(device: &Device) -> Self {
        Self { blocks: 16 * device.multiprocessors(), steps: if device.gpu().is_some() { 4096 } else { 16 } }
    }

    /// Operations of all threads, if each of their chains does `per_chain` in a step.
    pub fn operations(&self, per_chain: f64) -> f64 {
        per_chain * CHAINS * f64::from(self.steps) * f64::from(THREADS) * f64::from(self.blocks)
    }
}

/// Measures what the device does in either precision.
///
/// # Errors
/// If the device cannot compile or run the kernels.
pub fn peak(device: &Device) -> Result<Peak, DeviceError> {
    let load = Load::of(device);
    let stream = device.stream()?;
    let out = device.zeros::<f64>((THREADS * load.blocks) as usize)?;
    let (single, double) = (seconds::<f32>(device, &stream, load, &out)?, seconds::<f64>(device, &stream, load, &out)?);
    Ok(Peak { single: load.operations(2.0) / single, double: load.operations(2.0) / double })
}

/// Seconds for the load in precision `T`.
fn seconds<T: Real>(device: &Device, stream: &Stream, load: Load, out: &Buffer<f64>) -> Result<f64, DeviceError> {
    let kernel: Kernel<PeakArgs<'static, T>> = device.compile(&source::<T>())?.kernel("multiply_adds")?;
    let arguments = PeakArgs { out: out.arg(), a: T::of(0.5), b: T::of(0.75), steps: load.steps };
    least_seconds(stream, |s| s.launch(&kernel, Launch::new(load.blocks, THREADS), arguments))
}

/// The kernel in precision `T`.
pub(super) fn source<T: Real>() -> Source {
    let source = Source::new("peak", include_str!("peak.cu")).define("REAL", super::real_name::<T>());
    source.kernel::<PeakArgs<'static, T>>("multiply_adds")
}

/// Least time (s) of five calls, after one that is not timed.
///
/// # Errors
/// Those of `call`.
pub fn least_seconds(stream: &Stream, call: impl Fn(&Stream) -> Result<(), DeviceError>) -> Result<f64, DeviceError> {
    call(stream)?;
    let mut least = f64::INFINITY;
    for _ in 0..5 {
        least = least.min(stream.time(|| call(stream))?);
    }
    Ok(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::device::compiles;

    #[test]
    fn the_peak_is_measured() {
        let found = peak(&Device::of_tests().unwrap()).unwrap();
        assert!(found.single > 0.0 && found.single.is_finite() && found.double > 0.0 && found.double.is_finite());
    }

    /// Needs libnvrtc, no GPU.
    #[test]
    fn kernels_compile_for_gpus() {
        [source::<f32>(), source::<f64>()].iter().for_each(|source| compiles(source, "sm_75").unwrap());
    }
}
