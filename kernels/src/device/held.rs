//! What a recorded sequence works with, which lives as long as the sequence.
//!
//! Arguments of kernels hold addresses, and a sequence is launched long after the borrows behind them have ended. While a thread records, each
//! launch therefore looks up the memory behind the pointers of its arguments ([`Shared::addresses`](super::Shared::addresses)), and the
//! sequence keeps that memory and the kernels. Addresses are those of buffers that live at that moment, in one space for all GPUs and the host.
//! Nothing of this happens when a sequence is launched.

use super::launch::Function;
use super::{DeviceError, Memory};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// All memory of buffers, by its first address.
static LIVING: Mutex<BTreeMap<u64, Weak<Memory>>> = Mutex::new(BTreeMap::new());

/// Threads that record.
static RECORDERS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// What the sequence that this thread records works with.
    static RECORDING: RefCell<Option<Held>> = const { RefCell::new(None) };
}

/// What a sequence keeps.
#[derive(Default)]
pub struct Held {
    memory: BTreeMap<u64, Arc<Memory>>,
    kernels: Vec<Function>,
}

fn living() -> MutexGuard<'static, BTreeMap<u64, Weak<Memory>>> {
    LIVING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// New memory of a buffer.
pub(super) fn enter(memory: Memory) -> Arc<Memory> {
    let memory = Arc::new(memory);
    living().insert(memory.address(), Arc::downgrade(&memory));
    memory
}

/// Memory is about to be given back.
pub(super) fn leave(memory: &Memory) {
    living().remove(&memory.address());
}

/// Whether this thread records.
pub(super) fn is_recording() -> bool {
    // Streams may be dropped after what their thread kept.
    RECORDING.try_with(|recording| recording.borrow().is_some()).unwrap_or(false)
}

/// Whether any thread records.
pub(super) fn is_anyone_recording() -> bool {
    RECORDERS.load(Ordering::Relaxed) > 0
}

/// The sequence that this thread records, if it does, keeps this kernel and the memory at the addresses that `arguments` names.
pub(super) fn keep_launch(kernel: &Function, arguments: impl FnOnce(&mut dyn FnMut(u64))) {
    RECORDING.with_borrow_mut(|recording| {
        let Some(held) = recording else { return };
        held.kernels.push(kernel.clone());
        arguments(&mut |address| {
            let found = living().range(..=address).next_back().and_then(|(_, memory)| memory.upgrade());
            // The null pointer leads to none.
            if let Some(memory) = found.filter(|memory| address - memory.address() < memory.bytes().max(1) as u64) {
                held.memory.insert(memory.address(), memory);
            }
        });
    });
}

/// The sequence that this thread records, if it does, keeps this memory.
pub(super) fn keep(memory: &Arc<Memory>) {
    RECORDING.with_borrow_mut(|recording| {
        if let Some(held) = recording {
            held.memory.insert(memory.address(), Arc::clone(memory));
        }
    });
}

/// Ends the recording of this thread, also where it panics.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let held = RECORDING.take();
        RECORDERS.fetch_sub(1, Ordering::Relaxed);
        drop(held);
    }
}

/// What `record` makes while this thread records, and what that works with.
///
/// # Errors
/// Those of `record`; a sequence within another.
pub(super) fn record<T, E: From<DeviceError>>(record: impl FnOnce() -> Result<T, E>) -> Result<(T, Held), E> {
    if is_recording() {
        return Err(nested().into());
    }
    RECORDERS.fetch_add(1, Ordering::Relaxed);
    RECORDING.set(Some(Held::default()));
    let _end = End;
    let recorded = record()?;
    Ok((recorded, RECORDING.take().unwrap_or_default()))
}

/// One sequence cannot be part of another.
pub(super) fn nested() -> DeviceError {
    DeviceError::Recording("a sequence is recorded or launched while another one is recorded")
}
