//! Work space of the threads. It is kept between evaluations, so that a repeated evaluation allocates nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};

use kernels::{Real, RowPair, Run, SourceBlock};

/// Lanes of the loops compiled by `kernels::dispatch`: one AVX-512 register in f32, two in f64.
pub const LANES: usize = 16;

/// Most charge vectors of one pass. Memory and the caches hold the expansions of so many; more save little, as the near field shares distances among four.
pub const VECTORS: usize = 8;

/// One value per lane.
pub type Lane<T> = [T; LANES];

/// Work space of one thread.
pub struct Scratch<T: Real> {
    /// Rows of lanes: folded input of a Fourier line.
    pub lanes: Vec<Lane<T>>,
    /// Sums of P2M.
    pub lines: Vec<T::Line>,
    /// Coefficients of potential and gradient of one box.
    pub coefficients: Vec<T>,
    /// Wave vectors of lines of the root grid, and products.
    pub waves: [Vec<T>; 2],
    /// Row pairs of each operator.
    pub buckets: Buckets,
    /// Near boxes of one leaf.
    pub runs: Vec<Run<T>>,
    /// Gathered sources of one leaf.
    pub sources: SourceBlock<T>,
}

/// Row pairs sorted by operator.
#[derive(Default)]
pub struct Buckets {
    used: usize,
    lists: Vec<Vec<RowPair>>,
}

impl Buckets {
    /// Empty lists for `n` operators.
    pub fn clear(&mut self, n: usize) {
        self.used = n;
        self.lists.resize_with(self.lists.len().max(n), Vec::new);
        self.lists[..n].iter_mut().for_each(Vec::clear);
    }

    /// Add a pair of boxes, target and source with `vectors` rows each, to operator `operator`.
    pub fn push(&mut self, operator: usize, (target, source): (usize, usize), vectors: usize) {
        let pair = |v: usize| RowPair { target: (target * vectors + v) as u32, source: (source * vectors + v) as u32 };
        self.lists[operator].extend((0..vectors).map(pair));
    }

    /// The operators with their pairs.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &[RowPair])> {
        self.lists[..self.used].iter().map(Vec::as_slice).enumerate().filter(|(_, pairs)| !pairs.is_empty())
    }
}

impl<T: Real> Default for Scratch<T> {
    fn default() -> Self {
        Self {
            lanes: Vec::new(),
            lines: Vec::new(),
            coefficients: Vec::new(),
            waves: Default::default(),
            buckets: Buckets::default(),
            runs: Vec::new(),
            sources: SourceBlock::new(),
        }
    }
}

/// Work spaces, at most one per thread in use at a time.
pub struct Pool<S> {
    slots: Vec<Mutex<S>>,
}

/// Work spaces of the passes over all particles.
pub type ScratchPool<T> = Pool<Scratch<T>>;

impl<S: Default> Pool<S> {
    /// One work space per thread of the current pool, and one for a thread outside.
    pub fn new() -> Self {
        let mut pool = Self { slots: Vec::new() };
        pool.grow();
        pool
    }

    /// Make room for the current thread pool.
    pub fn grow(&mut self) {
        let threads = rayon::current_num_threads() + 1;
        self.slots.resize_with(self.slots.len().max(threads), Mutex::default);
    }

    /// The calling thread's work space. Nothing may be spawned while it is held.
    pub fn get(&self) -> MutexGuard<'_, S> {
        let i = rayon::current_thread_index().unwrap_or(usize::MAX).min(self.slots.len() - 1);
        self.slots[i].lock().unwrap_or_else(PoisonError::into_inner)
    }
}
