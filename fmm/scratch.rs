//! Work space for the threads, kept between evaluations so that these allocate nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kernels::{Real, RowPair, Run, SourceBlock};

/// Lanes of the loops compiled by `kernels::dispatch`: one AVX-512 register in f32, two in f64.
pub const LANES: usize = 16;

/// One value per lane.
pub type Lane<T> = [T; LANES];

/// Work space of one thread.
pub struct Scratch<T> {
    /// Rows of lanes: folded input of a Fourier line, sums of P2M, coefficients of L2P.
    pub lanes: Vec<Lane<T>>,
    /// Coefficients of potential and gradient of one box.
    pub coefficients: Vec<[T; 4]>,
    /// Row pairs of one operator.
    pub pairs: Vec<RowPair>,
    /// Near boxes of one leaf.
    pub runs: Vec<Run<T>>,
    /// Gathered sources of one leaf.
    pub sources: SourceBlock<T>,
}

/// Work spaces, at most one per thread in use at a time.
pub struct ScratchPool<T> {
    slots: Vec<Mutex<Scratch<T>>>,
}

impl<T: Real> ScratchPool<T> {
    /// One work space per thread of the current pool, and one for a thread outside.
    pub fn new() -> Self {
        let mut pool = Self { slots: Vec::new() };
        pool.grow();
        pool
    }

    /// Make room for the current thread pool.
    pub fn grow(&mut self) {
        let empty = || Scratch {
            lanes: Vec::new(),
            coefficients: Vec::new(),
            pairs: Vec::new(),
            runs: Vec::new(),
            sources: SourceBlock::new(),
        };
        while self.slots.len() < rayon::current_num_threads() + 1 {
            self.slots.push(Mutex::new(empty()));
        }
    }

    /// The calling thread's work space. Nothing may be spawned while it is held.
    pub fn get(&self) -> MutexGuard<'_, Scratch<T>> {
        let i = rayon::current_thread_index().unwrap_or(usize::MAX).min(self.slots.len() - 1);
        self.slots[i].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
