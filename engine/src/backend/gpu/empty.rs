//! Kernels that do nothing: how long a chain of launches takes by itself.

use kernels::device::{Buffer, Device, DeviceError, Kernel, Launch, Out, Source, Stream, arguments};

arguments! {
    /// Arguments of both kernels.
    struct EmptyArgs<'a> {
        /// Of no use.
        nothing: Out<'a, u32>,
    }
}

/// A kernel that does nothing, and the same as one that may start before the kernel ahead of it has ended.
pub struct Empty {
    usual: Kernel<EmptyArgs<'static>>,
    early: Kernel<EmptyArgs<'static>>,
    nothing: Buffer<u32>,
}

fn source() -> Source {
    let text = "KERNEL void usual(const __grid_constant__ EmptyArgs a) {}\n\
                KERNEL void early(const __grid_constant__ EmptyArgs a) { await_predecessor(); }\n";
    Source::new("empty", text).kernel::<EmptyArgs<'static>>("usual").early_kernel::<EmptyArgs<'static>>("early")
}

impl Empty {
    /// Compiles them.
    ///
    /// # Errors
    /// No compiler; out of memory.
    pub fn new(device: &Device) -> Result<Self, DeviceError> {
        let module = device.compile(&source())?;
        Ok(Self { usual: module.kernel("usual")?, early: module.kernel("early")?, nothing: device.zeros(1)? })
    }

    /// One after the other, each with as many threads.
    ///
    /// # Errors
    /// What the driver says against a launch.
    pub fn enqueue(&self, stream: &Stream, chain: &[Launch], early: bool) -> Result<(), DeviceError> {
        let kernel = if early { &self.early } else { &self.usual };
        let launch = |&launch: &Launch| stream.launch(kernel, launch, EmptyArgs { nothing: self.nothing.arg() });
        chain.iter().try_for_each(launch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernels::device::compiles;

    #[test]
    fn nothing_is_done_as_often_as_was_asked() {
        let device = Device::of_tests().unwrap();
        let (empty, stream) = (Empty::new(&device).unwrap(), device.stream().unwrap());
        let before = device.counts();
        let chain = [Launch::new(3, 64), Launch::new(1, 128).with_shared(1024)];
        empty.enqueue(&stream, &chain, false).unwrap();
        empty.enqueue(&stream, &chain, true).unwrap();
        stream.synchronize().unwrap();
        assert_eq!((device.counts() - before).launches, 4);
        assert_eq!(empty.nothing.read(&stream).unwrap(), [0]);
        ["sm_75", "sm_90"].into_iter().for_each(|architecture| compiles(&source(), architecture).unwrap());
    }
}
