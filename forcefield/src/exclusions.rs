//! Pairs of atoms without non-bonded interaction, as a compressed symmetric list.
//!
//! Row i holds the partners of atom i in increasing order, never i itself; j is in row i exactly if i is in row j.

/// Symmetric, sorted list of excluded pairs of atoms (compressed sparse rows), as a topology has it; `fmm::Exclusions` is what a solver for charges checks
/// and takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExcludedPairs {
    offsets: Vec<u32>,
    partners: Vec<u32>,
}

impl Default for ExcludedPairs {
    fn default() -> Self {
        Self { offsets: vec![0], partners: Vec::new() }
    }
}

impl ExcludedPairs {
    /// From pairs of atoms below `n_atoms`, in any order; repeated pairs and i = i are taken once and left out.
    ///
    /// # Panics
    /// If an index is not below `n_atoms`.
    pub fn from_pairs(n_atoms: usize, pairs: impl IntoIterator<Item = [u32; 2]>) -> Self {
        let mut both: Vec<[u32; 2]> = Vec::new();
        for [i, j] in pairs {
            assert!((i as usize) < n_atoms && (j as usize) < n_atoms, "excluded pair ({i}, {j}) of {n_atoms} atoms");
            if i != j {
                both.push([i, j]);
                both.push([j, i]);
            }
        }
        both.sort_unstable();
        both.dedup();
        let mut offsets = vec![0u32; n_atoms + 1];
        for [i, _] in &both {
            offsets[*i as usize + 1] += 1;
        }
        for i in 0..n_atoms {
            offsets[i + 1] += offsets[i];
        }
        Self { offsets, partners: both.into_iter().map(|[_, j]| j).collect() }
    }

    /// Add the rows of `other` for atoms that follow those already there.
    pub fn append(&mut self, other: &ExcludedPairs) {
        let (atoms, start) = (self.n_atoms() as u32, self.partners.len() as u32);
        self.offsets.extend(other.offsets[1..].iter().map(|o| o + start));
        self.partners.extend(other.partners.iter().map(|j| j + atoms));
    }

    /// Number of atoms (rows).
    pub fn n_atoms(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Partners of `atom`, in increasing order.
    #[inline]
    pub fn of(&self, atom: u32) -> &[u32] {
        let i = atom as usize;
        &self.partners[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// Whether the pair is excluded.
    pub fn contains(&self, i: u32, j: u32) -> bool {
        self.of(i).binary_search(&j).is_ok()
    }

    /// Number of excluded pairs (each counted once).
    pub fn n_pairs(&self) -> usize {
        self.partners.len() / 2
    }

    /// Every excluded pair once, i < j, in increasing order.
    pub fn pairs(&self) -> impl Iterator<Item = [u32; 2]> + '_ {
        (0..self.n_atoms() as u32).flat_map(|i| self.of(i).iter().filter(move |&&j| i < j).map(move |&j| [i, j]))
    }

    /// Row offsets, length `n_atoms + 1`.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// Partners of all rows, one after the other.
    pub fn partners(&self) -> &[u32] {
        &self.partners
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symmetric_sorted_and_unique() {
        let e = ExcludedPairs::from_pairs(5, [[3, 1], [1, 3], [0, 1], [4, 4]]);
        assert_eq!(e.of(0), [1]);
        assert_eq!(e.of(1), [0, 3]);
        assert_eq!(e.of(2), [0u32; 0]);
        assert_eq!(e.of(3), [1]);
        assert_eq!(e.of(4), [0u32; 0]);
        assert_eq!(e.n_pairs(), 2);
        assert!(e.contains(3, 1) && !e.contains(3, 0));
        assert_eq!(e.pairs().collect::<Vec<_>>(), [[0, 1], [1, 3]]);
    }

    #[test]
    fn appended_rows_are_shifted() {
        let mut e = ExcludedPairs::default();
        let water = ExcludedPairs::from_pairs(3, [[0, 1], [0, 2], [1, 2]]);
        e.append(&water);
        e.append(&water);
        assert_eq!(e, ExcludedPairs::from_pairs(6, [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]]));
    }

    #[test]
    fn default_has_no_atoms() {
        assert_eq!(ExcludedPairs::default().n_atoms(), 0);
    }
}
