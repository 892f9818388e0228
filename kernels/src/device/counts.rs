//! How much work the host has given to a device: what tests and measurements count where a GPU's clock would be too coarse.

use std::sync::atomic::{AtomicU64, Ordering};

/// Work of the host with a device so far. The difference of two looks is what was done in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Kernels launched or recorded one by one.
    pub launches: u64,
    /// Sequences recorded.
    pub recorded: u64,
    /// Recorded sequences launched.
    pub graphs: u64,
    /// Reads of memory of the device, for each of which the host waits.
    pub reads: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Writes of memory of the device.
    pub writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
}

impl std::ops::Sub for Counts {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            launches: self.launches - before.launches,
            recorded: self.recorded - before.recorded,
            graphs: self.graphs - before.graphs,
            reads: self.reads - before.reads,
            bytes_read: self.bytes_read - before.bytes_read,
            writes: self.writes - before.writes,
            bytes_written: self.bytes_written - before.bytes_written,
        }
    }
}

/// The same while it is counted, by all threads that use the device.
#[derive(Debug, Default)]
pub(super) struct Counters {
    launches: AtomicU64,
    recorded: AtomicU64,
    graphs: AtomicU64,
    reads: AtomicU64,
    bytes_read: AtomicU64,
    writes: AtomicU64,
    bytes_written: AtomicU64,
}

impl Counters {
    pub fn launch(&self) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    pub fn record(&self) {
        self.recorded.fetch_add(1, Ordering::Relaxed);
    }

    pub fn graph(&self) {
        self.graphs.fetch_add(1, Ordering::Relaxed);
    }

    pub fn read(&self, bytes: usize) {
        self.reads.fetch_add(1, Ordering::Relaxed);
        self.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn write(&self, bytes: usize) {
        self.writes.fetch_add(1, Ordering::Relaxed);
        self.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub fn look(&self) -> Counts {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        Counts {
            launches: of(&self.launches),
            recorded: of(&self.recorded),
            graphs: of(&self.graphs),
            reads: of(&self.reads),
            bytes_read: of(&self.bytes_read),
            writes: of(&self.writes),
            bytes_written: of(&self.bytes_written),
        }
    }
}
