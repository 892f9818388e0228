//! Lists of M2L: tiles of target boxes that receive from the same offsets, sorted by operator.

use kernels::device::structure;

/// No box.
pub const NONE: u32 = u32::MAX;

structure! {
    /// A run of entries of a tile, the work of one block.
    pub struct Job {
        /// The tile.
        pub tile: u32,
        /// First entry.
        pub first: u32,
        /// One after the last entry.
        pub end: u32,
    }
}

/// Interaction lists in tiles; see products.cuh.
#[derive(Clone, Debug)]
pub struct Lists {
    /// Rows of the target boxes of each tile, filled up with [`NONE`].
    pub targets: Vec<u32>,
    /// First entry of each tile, and the end.
    pub starts: Vec<u32>,
    /// Operator of each entry.
    pub entries: Vec<u32>,
    /// Row of the source of each box of each entry, or [`NONE`].
    pub sources: Vec<u32>,
    /// Number of translations.
    pub pairs: usize,
}

impl Lists {
    /// Lists of `groups` of target rows in tiles of `boxes`; boxes of a group receive from the same operators or nearly so. `sources(target, list)` appends
    /// (operator, source row), each operator at most once.
    pub fn new(boxes: usize, groups: &[Vec<u32>], mut sources: impl FnMut(u32, &mut Vec<(u32, u32)>)) -> Self {
        let mut out = Self { targets: Vec::new(), starts: vec![0], entries: Vec::new(), sources: Vec::new(), pairs: 0 };
        let mut list = Vec::new();
        // Place of each operator in the rows of the present tile.
        let mut places: Vec<u32> = Vec::new();
        for tile in groups.iter().flat_map(|group| group.chunks(boxes)) {
            let (mut operators, mut rows) = (Vec::new(), Vec::new());
            for (b, target) in tile.iter().enumerate() {
                list.clear();
                sources(*target, &mut list);
                out.pairs += list.len();
                for (operator, source) in &list {
                    let at = *operator as usize;
                    places.resize(places.len().max(at + 1), NONE);
                    if places[at] == NONE {
                        places[at] = operators.len() as u32;
                        operators.push(*operator);
                        rows.resize(rows.len() + boxes, NONE);
                    }
                    rows[places[at] as usize * boxes + b] = *source;
                }
            }
            out.targets.extend(tile);
            out.targets.resize(out.targets.len().next_multiple_of(boxes), NONE);
            operators.sort_unstable();
            for operator in operators {
                let place = std::mem::replace(&mut places[operator as usize], NONE) as usize;
                out.entries.push(operator);
                out.sources.extend(&rows[place * boxes..(place + 1) * boxes]);
            }
            out.starts.push(out.entries.len() as u32);
        }
        out
    }

    /// Number of tiles.
    pub fn tiles(&self) -> usize {
        self.starts.len() - 1
    }

    /// The entries of each tile in up to `parts` jobs, and the first job of each tile and the end.
    pub fn jobs(&self, parts: usize) -> (Vec<Job>, Vec<u32>) {
        let (mut jobs, mut first) = (Vec::new(), vec![0]);
        for tile in 0..self.tiles() {
            let (start, end) = (self.starts[tile] as usize, self.starts[tile + 1] as usize);
            let parts = parts.clamp(1, (end - start).max(1));
            let at = |part: usize| (start + (end - start) * part / parts) as u32;
            jobs.extend((0..parts).map(|part| Job { tile: tile as u32, first: at(part), end: at(part + 1) }));
            first.push(jobs.len() as u32);
        }
        (jobs, first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_sorted_and_jobs_cover_them() {
        let lists = Lists::new(2, &[vec![0, 1, 2], vec![3]], |t, list| list.extend([(9 - t, t + 10), (4, t)]));
        assert_eq!(lists.targets, [0, 1, 2, NONE, 3, NONE]);
        assert_eq!(lists.starts, [0, 3, 5, 7]);
        assert_eq!(lists.entries, [4, 8, 9, 4, 7, 4, 6]);
        assert_eq!(lists.sources, [0, 1, NONE, 11, 10, NONE, 2, NONE, 12, NONE, 3, NONE, 13, NONE]);
        assert_eq!(lists.pairs, 8);
        let (jobs, first) = lists.jobs(2);
        let jobs: &[[u32; 3]] = bytemuck::cast_slice(&jobs);
        assert_eq!(jobs, [[0, 0, 1], [0, 1, 3], [1, 3, 4], [1, 4, 5], [2, 5, 6], [2, 6, 7]]);
        assert_eq!(first, [0, 2, 4, 6]);
    }
}
