//! Work on the particles of leaf boxes, in parallel: each task has a run of leaves and their part of the results.

use std::ops::Range;

use kernels::{Points, Real};

use crate::geometry::tree::Level;

/// The points at some sorted places.
pub fn points<T>(sorted: &[Vec<T>; 4], range: Range<usize>) -> Points<'_, T> {
    Points { x: &sorted[0][range.clone()], y: &sorted[1][range.clone()], z: &sorted[2][range] }
}

/// Cut the first `n` elements off each slice.
pub fn split_front<'a, T>(slices: &mut [&'a mut [T]; 4], n: usize) -> [&'a mut [T]; 4] {
    slices.each_mut().map(|s| {
        let (front, rest) = std::mem::take(s).split_at_mut(n);
        *s = rest;
        front
    })
}

/// Run `work` on ranges of at most `grain` leaves with their parts of `out`, in parallel; `vectors` elements for each particle.
pub fn over_leaves<T: Real>(
    leaves: &Level,
    grain: usize,
    vectors: usize,
    out: [&mut [T]; 4],
    work: &(impl Fn(Range<usize>, [&mut [T]; 4]) + Sync),
) {
    over_range(leaves, (grain, vectors), 0..leaves.len(), out, work);
}

fn over_range<T: Real>(
    leaves: &Level,
    (grain, vectors): (usize, usize),
    range: Range<usize>,
    mut out: [&mut [T]; 4],
    work: &(impl Fn(Range<usize>, [&mut [T]; 4]) + Sync),
) {
    if range.len() <= grain {
        return work(range, out);
    }
    let middle = range.start + range.len() / 2;
    let front = split_front(&mut out, (leaves.starts[middle] - leaves.starts[range.start]) as usize * vectors);
    rayon::join(
        || over_range(leaves, (grain, vectors), range.start..middle, front, work),
        || over_range(leaves, (grain, vectors), middle..range.end, out, work),
    );
}
