//! Rows of numbers to lines of [`Vector`](super::Vector) and back.
//!
//! A block of `LANES` registers, one from each row, is transposed in registers: log₂(`LANES`) perfect shuffles.

use super::Line;
use crate::real::sealed::Vectors;
use crate::simd::Lanes;

type LineOf<L> = <<L as Lanes>::Elem as Vectors>::Line;

/// Transpose the first `L::LANES` vectors: perfect shuffles of the upper with the lower half turn row bits into column bits one by one.
///
/// # Safety
/// `L`'s instruction set.
#[inline(always)]
unsafe fn transpose<L: Lanes>(block: &mut [L; 16]) {
    const { assert!(L::LANES.is_power_of_two() && L::LANES <= 16) }
    let half = L::LANES / 2;
    for _ in 0..L::LANES.trailing_zeros() {
        let before = *block;
        for i in 0..half {
            // SAFETY: the caller's promise.
            (block[2 * i], block[2 * i + 1]) = unsafe { before[i].interleave(before[i + half]) };
        }
    }
}

/// [`Vector::gather`](super::Vector::gather).
///
/// # Safety
/// `L`'s instruction set.
#[inline(always)]
pub unsafe fn gather<L: Lanes, const N: usize>(rows: &[&[L::Elem]], lines: &mut [LineOf<L>]) {
    let lanes = N * L::LANES;
    let n = lines.len();
    assert!(rows.len() == lanes && rows.iter().all(|r| r.len() >= n), "{lanes} rows of {n}");
    if n < L::LANES {
        for (c, line) in lines.iter_mut().enumerate() {
            for (to, row) in line.get_mut().iter_mut().zip(rows) {
                *to = row[c];
            }
        }
        return;
    }
    for first in (0..n).step_by(L::LANES) {
        // The last block overlaps with the one before.
        let first = first.min(n - L::LANES);
        for part in 0..N {
            // SAFETY: the caller's promise; rows have `n` elements, lines N · L::LANES.
            unsafe {
                let mut block = [L::zero(); 16];
                for (i, v) in block.iter_mut().enumerate().take(L::LANES) {
                    *v = L::load(rows.get_unchecked(part * L::LANES + i).as_ptr().add(first));
                }
                transpose(&mut block);
                for (i, v) in block.iter().enumerate().take(L::LANES) {
                    let line = lines.get_unchecked_mut(first + i).get_mut().as_mut_ptr();
                    v.store(line.add(part * L::LANES));
                }
            }
        }
    }
}

/// [`Vector::scatter_add`](super::Vector::scatter_add).
///
/// # Safety
/// `L`'s instruction set.
#[inline(always)]
pub unsafe fn scatter_add<L: Lanes, const N: usize>(lines: &[LineOf<L>], all: &mut [L::Elem], starts: &[usize]) {
    let lanes = N * L::LANES;
    let n = lines.len();
    assert!(starts.len() <= lanes, "at most {lanes} rows");
    assert!(starts.iter().all(|s| s.checked_add(n).is_some_and(|end| end <= all.len())), "rows leave the array");
    for first in (0..n).step_by(L::LANES) {
        let width = L::LANES.min(n - first);
        for (part, starts) in starts.chunks(L::LANES).enumerate() {
            // SAFETY: the caller's promise; lines have N · L::LANES elements, rows `n` from their start.
            unsafe {
                let mut block = [L::zero(); 16];
                for (i, v) in block.iter_mut().enumerate().take(width) {
                    let line = lines.get_unchecked(first + i).get().as_ptr();
                    *v = L::load(line.add(part * L::LANES));
                }
                transpose(&mut block);
                for (v, start) in block.into_iter().zip(starts) {
                    let to = all.as_mut_ptr().add(start + first);
                    if width == L::LANES {
                        v.add(L::load(to)).store(to);
                    } else {
                        v.write_first::<true>(to, width);
                    }
                }
            }
        }
    }
}
