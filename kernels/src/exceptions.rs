//! Pairs that a box's near field leaves out: each particle with itself, and excluded pairs.
//!
//! Targets are taken in blocks of [`TARGET_BLOCK`], sources in chunks of [`CHUNK`]. A block has one entry, a bit
//! mask for each of its targets, for each chunk in which anything is skipped; all other chunks run without mask work. The unused
//! lanes of the last chunk are masked the same way. Nothing here depends on precision or instruction set.

use crate::CHUNK;

/// Targets that share one list of exceptions.
pub const TARGET_BLOCK: usize = 4;

/// What one block of targets skips in one chunk of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    /// Index of the chunk.
    pub chunk: u32,
    /// For each target of the block, bit j set: source `chunk·CHUNK + j` is skipped.
    pub skip: [u16; TARGET_BLOCK],
}

/// The exceptions of all leaves, stored flat, in the order in which they were pushed.
#[derive(Clone, Debug, Default)]
pub struct ExceptionTable {
    leaves: Vec<Leaf>,
    /// End of each block's entries; the entries of a block start where those of the block before end.
    block_ends: Vec<u32>,
    entries: Vec<Exception>,
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    first_block: u32,
    first_entry: u32,
    n_targets: u32,
    n_sources: u32,
}

/// The exceptions of one leaf.
#[derive(Clone, Copy, Debug)]
pub struct LeafExceptions<'a> {
    pub(crate) n_targets: usize,
    pub(crate) n_sources: usize,
    first_entry: usize,
    block_ends: &'a [u32],
    entries: &'a [Exception],
}

impl<'a> LeafExceptions<'a> {
    /// Exceptions of target block `block`, by ascending chunk.
    pub(crate) fn of_block(&self, block: usize) -> &'a [Exception] {
        let start = match block {
            0 => self.first_entry,
            _ => self.block_ends[block - 1] as usize,
        };
        &self.entries[start..self.block_ends[block] as usize]
    }
}

impl ExceptionTable {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of leaves pushed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Whether no leaf was pushed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Forget all leaves, keep the memory.
    pub fn clear(&mut self) {
        self.leaves.clear();
        self.block_ends.clear();
        self.entries.clear();
    }

    /// Append a leaf of `n_targets` particles that sees `n_sources` near particles, in the order in which
    /// [`crate::SourceBlock::gather`] lays them out. `pairs`: (target, source) to skip, in any order, repeats
    /// allowed; sorted in place.
    ///
    /// # Panics
    /// If a pair lies outside `n_targets` × `n_sources`, or the table outgrows `u32` indices.
    pub fn push_leaf(&mut self, n_targets: usize, n_sources: usize, pairs: &mut [(u32, u32)]) {
        let index = |n: usize| u32::try_from(n).expect("particles and exceptions are counted in u32");
        let block = |target: u32| target as usize / TARGET_BLOCK;
        let chunk = |source: u32| source / CHUNK as u32;
        self.leaves.push(Leaf {
            first_block: index(self.block_ends.len()),
            first_entry: index(self.entries.len()),
            n_targets: index(n_targets),
            n_sources: index(n_sources),
        });
        pairs.sort_unstable_by_key(|&(t, s)| (block(t), s, t));
        let last_chunk = index(n_sources / CHUNK);
        let used = n_sources % CHUNK;
        let mut rest = &*pairs;
        for b in 0..n_targets.div_ceil(TARGET_BLOCK) {
            let first = self.entries.len();
            let n = rest.iter().take_while(|p| block(p.0) == b).count();
            for &(t, s) in &rest[..n] {
                assert!((t as usize) < n_targets && (s as usize) < n_sources, "pair ({t}, {s}) outside the leaf");
                let entry = self.entry(first, chunk(s));
                entry.skip[t as usize % TARGET_BLOCK] |= 1 << (s as usize % CHUNK);
            }
            rest = &rest[n..];
            if used > 0 {
                let entry = self.entry(first, last_chunk);
                entry.skip.iter_mut().for_each(|m| *m |= u16::MAX << used);
            }
            self.block_ends.push(index(self.entries.len()));
        }
        assert!(rest.is_empty(), "pair ({}, {}) outside the leaf", rest[0].0, rest[0].1);
    }

    /// The entry of `chunk` in the block whose entries begin at `first`; chunks come in ascending order.
    fn entry(&mut self, first: usize, chunk: u32) -> &mut Exception {
        if self.entries[first..].last().is_none_or(|e| e.chunk != chunk) {
            self.entries.push(Exception { chunk, skip: [0; TARGET_BLOCK] });
        }
        self.entries.last_mut().expect("invariant: just pushed")
    }

    /// The exceptions of leaf `i`.
    ///
    /// # Panics
    /// If fewer leaves were pushed.
    #[must_use]
    pub fn leaf(&self, i: usize) -> LeafExceptions<'_> {
        let leaf = self.leaves[i];
        let first_block = leaf.first_block as usize;
        let n_blocks = (leaf.n_targets as usize).div_ceil(TARGET_BLOCK);
        LeafExceptions {
            n_targets: leaf.n_targets as usize,
            n_sources: leaf.n_sources as usize,
            first_entry: leaf.first_entry as usize,
            block_ends: &self.block_ends[first_block..first_block + n_blocks],
            entries: &self.entries,
        }
    }
}
