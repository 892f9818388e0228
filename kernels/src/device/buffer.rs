//! Memory of a device as a list of numbers.

use super::{DeviceError, Memory, Queue, Stream, held, mixed};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::sync::Arc;

/// Memory of a device for `len` elements of type `T`. It is given back when the buffer and every [`Graph`](super::Graph) that works with it are
/// dropped, and the work that uses it is done.
pub struct Buffer<T> {
    memory: Arc<Memory>,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    pub(super) fn new(memory: Memory, len: usize) -> Self {
        Self { memory: held::enter(memory), len, element: PhantomData }
    }

    pub(super) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether a kernel may use `n` elements of it.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if there are fewer: the kernel would read or write beyond its end.
    pub fn holds(&self, n: usize) -> Result<(), DeviceError> {
        if self.len >= n { Ok(()) } else { Err(DeviceError::Length { expected: n, found: self.len }) }
    }

    /// Where it begins in the memory of the device.
    pub(super) fn address(&self) -> u64 {
        self.memory.address()
    }

    /// A pointer to the first element as an argument of a kernel: [`In`](super::In) or [`Out`](super::Out).
    pub fn arg<'a, P: From<&'a Self>>(&'a self) -> P {
        P::from(self)
    }

    /// Replaces the content once the stream has come to it; waits until that is done.
    ///
    /// # Errors
    /// [`DeviceError::Length`] for content of another length; a lost device.
    pub fn write(&self, stream: &Stream, content: &[T]) -> Result<(), DeviceError> {
        if content.len() != self.len {
            return Err(DeviceError::Length { expected: self.len, found: content.len() });
        }
        let bytes = bytemuck::cast_slice(content);
        stream.1.write(bytes.len());
        match (&*self.memory, &stream.0) {
            (Memory::Cuda(memory), Queue::Cuda(stream)) => memory.write(stream, bytes),
            (Memory::Emulator(memory), Queue::Emulator) => {
                memory.write(bytes);
                Ok(())
            }
            _ => Err(mixed()),
        }
    }

    /// Copies the first elements, as many as `out` has room for, once the stream has done all work enqueued so far.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `out` is longer than the buffer; a lost device.
    pub fn read_into(&self, stream: &Stream, out: &mut [T]) -> Result<(), DeviceError> {
        self.read_part(stream, 0, out)
    }

    /// Copies the elements from `first` on, as many as `out` has room for, once the stream has done all work enqueued so far.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if the buffer ends before that; a lost device.
    pub fn read_part(&self, stream: &Stream, first: usize, out: &mut [T]) -> Result<(), DeviceError> {
        let end = first.saturating_add(out.len());
        if end > self.len {
            return Err(DeviceError::Length { expected: self.len, found: end });
        }
        let offset = first * size_of::<T>();
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(out);
        stream.1.read(bytes.len());
        match (&*self.memory, &stream.0) {
            (Memory::Cuda(memory), Queue::Cuda(stream)) => memory.read(stream, offset, bytes),
            (Memory::Emulator(memory), Queue::Emulator) => {
                memory.read(offset, bytes);
                Ok(())
            }
            _ => Err(mixed()),
        }
    }

    /// A copy of the content once the stream has done all work enqueued so far.
    ///
    /// # Errors
    /// A lost device.
    pub fn read(&self, stream: &Stream) -> Result<Vec<T>, DeviceError> {
        let mut out = vec![T::zeroed(); self.len];
        self.read_into(stream, &mut out)?;
        Ok(out)
    }
}
