//! Pairs of particles that do not interact, as compressed symmetric rows.
//!
//! Row i holds the partners of particle i in increasing order, never i itself; j is in row i exactly if i is in row j.
//! In a periodic system an excluded pair is skipped for its nearest image only; all other images interact.

use thiserror::Error;

/// Symmetric, sorted list of excluded pairs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exclusions {
    offsets: Vec<u32>,
    partners: Vec<u32>,
}

/// Why a list of excluded pairs was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum ExclusionError {
    /// An index is too large.
    #[error("excluded pair ({i}, {j}) names a particle that does not exist: there are {n}")]
    OutOfRange {
        /// First particle.
        i: u32,
        /// Second particle.
        j: u32,
        /// Number of particles.
        n: usize,
    },
    /// A particle paired with itself. A particle never interacts with itself, only with its images, which stay.
    #[error("particle {i} is excluded from itself; an excluded pair needs two different particles")]
    SelfPair {
        /// The particle.
        i: u32,
    },
    /// Too many particles or pairs for 32-bit indices.
    #[error("{n} entries are more than a 32-bit index can count")]
    TooMany {
        /// Number of particles, or twice the number of pairs.
        n: usize,
    },
}

impl Exclusions {
    /// No excluded pairs among `n` particles.
    #[must_use]
    pub fn none(n: usize) -> Self {
        Self { offsets: vec![0; n + 1], partners: Vec::new() }
    }

    /// From pairs of particles below `n`, in any order; repeated pairs, also (i, j) and (j, i), count once.
    ///
    /// # Errors
    /// An index not below `n`, a particle paired with itself, or more entries than `u32` counts.
    pub fn from_pairs(n: usize, pairs: impl IntoIterator<Item = [u32; 2]>) -> Result<Self, ExclusionError> {
        let mut both: Vec<[u32; 2]> = Vec::new();
        for [i, j] in pairs {
            if i as usize >= n || j as usize >= n {
                return Err(ExclusionError::OutOfRange { i, j, n });
            }
            if i == j {
                return Err(ExclusionError::SelfPair { i });
            }
            both.extend([[i, j], [j, i]]);
        }
        both.sort_unstable();
        both.dedup();
        for entries in [n, both.len()] {
            u32::try_from(entries).map_err(|_| ExclusionError::TooMany { n: entries })?;
        }
        let mut offsets = vec![0_u32; n + 1];
        for [i, _] in &both {
            offsets[*i as usize + 1] += 1;
        }
        for i in 0..n {
            offsets[i + 1] += offsets[i];
        }
        Ok(Self { offsets, partners: both.into_iter().map(|[_, j]| j).collect() })
    }

    /// The pairs whose two particles both have a number by `number`, which keeps their order, among `n` particles.
    pub(crate) fn kept(&self, n: usize, number: impl Fn(u32) -> Option<u32>) -> Self {
        let (mut offsets, mut partners) = (vec![0; n + 1], Vec::with_capacity(self.partners.len()));
        let mut next = 0;
        for i in 0..self.n_particles() {
            let Some(own) = number(i as u32) else { continue };
            // Particles that have no pair fill the rows up to this one.
            offsets[next..=own as usize].fill(partners.len() as u32);
            partners.extend(self.partners(i).iter().filter_map(|j| number(*j)));
            next = own as usize + 1;
        }
        offsets[next..].fill(partners.len() as u32);
        Self { offsets, partners }
    }

    /// Number of particles.
    #[must_use]
    pub fn n_particles(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of excluded pairs, each counted once.
    #[must_use]
    pub fn n_pairs(&self) -> usize {
        self.partners.len() / 2
    }

    /// Partners of particle `i`, in increasing order.
    ///
    /// # Panics
    /// If there is no particle `i`.
    #[inline]
    #[must_use]
    pub fn partners(&self, i: usize) -> &[u32] {
        &self.partners[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }

    /// Whether i and j are an excluded pair.
    #[must_use]
    pub fn contains(&self, i: usize, j: usize) -> bool {
        u32::try_from(j).is_ok_and(|j| self.partners(i).binary_search(&j).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_symmetric_sorted_and_unique() {
        let e = Exclusions::from_pairs(5, [[3, 1], [1, 3], [0, 1], [1, 4]]).unwrap();
        let rows: Vec<_> = (0..5).map(|i| e.partners(i)).collect();
        assert_eq!(rows, [&[1][..], &[0, 3, 4], &[], &[1], &[1]]);
        assert_eq!((e.n_particles(), e.n_pairs()), (5, 3));
        assert!(e.contains(3, 1) && e.contains(1, 3) && !e.contains(3, 0));
    }

    #[test]
    fn none_has_empty_rows() {
        let e = Exclusions::none(3);
        assert_eq!((e.n_particles(), e.n_pairs(), e.partners(2).len()), (3, 0, 0));
    }

    #[test]
    fn impossible_pairs_are_refused() {
        let refused = |pair| Exclusions::from_pairs(4, [[0, 1], pair]).unwrap_err().to_string();
        assert_eq!(refused([2, 4]), "excluded pair (2, 4) names a particle that does not exist: there are 4");
        assert_eq!(
            refused([2, 2]),
            "particle 2 is excluded from itself; an excluded pair needs two different particles"
        );
    }
}
