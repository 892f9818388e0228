//! The near field in registers: a few targets stay in registers and share each loaded vector of sources.

use super::FieldMut;
use crate::exceptions::Exception;
use crate::simd::Lanes;
use crate::{CHUNK, LeafExceptions, Points, Real, SourceBlock, TARGET_BLOCK};

/// Charge vectors by fours, twos and ones; targets in register blocks, `B` for a single charge vector.
///
/// # Safety
/// `L`'s instruction set; lengths as `p2p_on` checks them.
#[inline(always)]
pub unsafe fn all_blocks<L: Lanes, const B: usize>(
    targets: Points<'_, L::Elem>,
    sources: &SourceBlock<L::Elem>,
    exceptions: LeafExceptions<'_>,
    mut out: FieldMut<'_, L::Elem>,
) {
    let n = targets.len();
    for block in 0..n.div_ceil(TARGET_BLOCK) {
        let skips = exceptions.of_block(block);
        let (first, end) = (block * TARGET_BLOCK, n.min((block + 1) * TARGET_BLOCK));
        let mut done = 0;
        while done < sources.n_vec() {
            // SAFETY: targets first..end exist, and at least the stated number of vectors is left.
            unsafe {
                done += match sources.n_vec() - done {
                    1 => targets_by::<L, B, 1>(targets, sources, done, skips, first..end, &mut out),
                    2 | 3 => targets_by::<L, 2, 2>(targets, sources, done, skips, first..end, &mut out),
                    _ => targets_by::<L, 1, 4>(targets, sources, done, skips, first..end, &mut out),
                }
            }
        }
    }
}

/// One block of at most `TARGET_BLOCK` targets, `B` of them at a time, then the remaining ones singly.
/// Returns `V`.
///
/// # Safety
/// The promises of `all_blocks`; `range` inside the targets and one target block; the sources have at least `vector + V` charge vectors.
#[inline(always)]
unsafe fn targets_by<L: Lanes, const B: usize, const V: usize>(
    targets: Points<'_, L::Elem>,
    sources: &SourceBlock<L::Elem>,
    vector: usize,
    skips: &[Exception],
    range: std::ops::Range<usize>,
    out: &mut FieldMut<'_, L::Elem>,
) -> usize {
    let mut i = range.start;
    // SAFETY: i + B or i + 1 stays inside `range`.
    unsafe {
        while i + B <= range.end {
            targets_together::<L, B, V>(targets, sources, vector, skips, i, out);
            i += B;
        }
        while i < range.end {
            targets_together::<L, 1, V>(targets, sources, vector, skips, i, out);
            i += 1;
        }
    }
    V
}

/// `B` targets from `first` on, against all sources, for charge vectors `vector .. vector + V`.
///
/// # Safety
/// The promises of `targets_by`.
#[inline(always)]
unsafe fn targets_together<L: Lanes, const B: usize, const V: usize>(
    targets: Points<'_, L::Elem>,
    sources: &SourceBlock<L::Elem>,
    vector: usize,
    skips: &[Exception],
    first: usize,
    out: &mut FieldMut<'_, L::Elem>,
) {
    let n_chunks = sources.padded() / CHUNK;
    let s = [0, 1, 2].map(|row| sources.row(row).as_ptr());
    let q: [_; V] = std::array::from_fn(|v| sources.row(3 + vector + v).as_ptr());
    let n = targets.x.len();
    // SAFETY: the instruction set is `L`'s; targets first .. first + B exist; every vector offset is below
    // `padded`, to which all rows extend; the table's chunks are below n_chunks, since it was built for as many
    // sources; results have n elements for each charge vector.
    unsafe {
        let position: [[L; 3]; B] =
            std::array::from_fn(|b| [targets.x, targets.y, targets.z].map(|c| L::splat(*c.get_unchecked(first + b))));
        let mut sums = [[[L::zero(); 4]; V]; B];
        let mut chunk = 0;
        for e in skips {
            for at in (chunk * CHUNK..e.chunk as usize * CHUNK).step_by(L::LANES) {
                add_vector::<L, B, V, false>(&position, s, q, at, [0; B], &mut sums);
            }
            for part in (0..CHUNK).step_by(L::LANES) {
                let skip = std::array::from_fn(|b| e.skip[(first + b) % TARGET_BLOCK] >> part);
                let at = e.chunk as usize * CHUNK + part;
                add_vector::<L, B, V, true>(&position, s, q, at, skip, &mut sums);
            }
            chunk = e.chunk as usize + 1;
        }
        for at in (chunk * CHUNK..n_chunks * CHUNK).step_by(L::LANES) {
            add_vector::<L, B, V, false>(&position, s, q, at, [0; B], &mut sums);
        }
        let scale = L::ROOT_SCALE.recip();
        let (scale, cubed) = (L::Elem::of(scale), L::Elem::of(scale.powi(3)));
        for (b, of_target) in sums.into_iter().enumerate() {
            for (v, sums) in of_target.into_iter().enumerate() {
                let ([phi, ex, ey, ez], at) = (L::sum_each(sums), (vector + v) * n + first + b);
                *out.phi.get_unchecked_mut(at) += phi * scale;
                *out.ex.get_unchecked_mut(at) += ex * cubed;
                *out.ey.get_unchecked_mut(at) += ey * cubed;
                *out.ez.get_unchecked_mut(at) += ez * cubed;
            }
        }
    }
}

/// The sources `at .. at + LANES` against `B` targets; with `MASKED`, less those whose bit in `skip` is set.
///
/// # Safety
/// `L`'s instruction set; `at + LANES` elements behind each pointer.
#[inline(always)]
unsafe fn add_vector<L: Lanes, const B: usize, const V: usize, const MASKED: bool>(
    position: &[[L; 3]; B],
    s: [*const L::Elem; 3],
    q: [*const L::Elem; V],
    at: usize,
    skip: [u16; B],
    sums: &mut [[[L; 4]; V]; B],
) {
    // SAFETY: the caller's promise.
    unsafe {
        let [sx, sy, sz] = [L::load(s[0].add(at)), L::load(s[1].add(at)), L::load(s[2].add(at))];
        for b in 0..B {
            let [dx, dy, dz] = [position[b][0].sub(sx), position[b][1].sub(sy), position[b][2].sub(sz)];
            let r2 = dz.mul_add(dz, dy.mul_add(dy, dx.mul(dx)));
            let inverse = if MASKED { r2.inverse_root().keep(L::mask(!skip[b])) } else { r2.inverse_root() };
            let inverse2 = inverse.mul(inverse);
            for v in 0..V {
                let phi = L::load(q[v].add(at)).mul(inverse);
                let slope = phi.mul(inverse2);
                let [sum_phi, sum_x, sum_y, sum_z] = &mut sums[b][v];
                *sum_phi = sum_phi.add(phi);
                *sum_x = slope.mul_add(dx, *sum_x);
                *sum_y = slope.mul_add(dy, *sum_y);
                *sum_z = slope.mul_add(dz, *sum_z);
            }
        }
    }
}
