//! The product in registers: the sums of a few rows times a panel of columns stay there.

use super::{Operator, Panel, RowPair, Rows, Single};
use crate::simd::Lanes;

/// `R` rows at a time: R × panel sums, the panel's vectors and one element of b must fit the 32 (AVX-512, NEON) or 16 registers.
///
/// # Safety
/// `L`'s instruction set, for which `operator` is packed; pairs inside b and c.
#[inline(always)]
pub unsafe fn product<L: Lanes, const R: usize, const ADD: bool>(
    operator: &Operator<L::Elem>,
    rows: Rows<'_, L::Elem>,
) {
    let Rows { pairs, b, b_stride, c, c_stride } = rows;
    if pairs.is_empty() {
        return;
    }
    let (b, c) = (b.as_ptr(), c.as_mut_ptr());
    let part = |start: usize, column: usize, tail: usize| Part::<L> {
        // SAFETY: panels and the single column start inside `packed` or at its end.
        matrix: unsafe { operator.packed.as_ptr().cast::<L::Elem>().add(start) },
        n_in: operator.n_in,
        tail,
        b,
        b_stride,
        // SAFETY: there is a row of c, and it has more than `column` elements.
        c: unsafe { c.add(column) },
        c_stride,
    };
    for p in &operator.panels {
        let panel = part(p.start, p.first_column, tail(operator.n_out, p, L::LANES));
        // SAFETY: the panel has as many vectors as the arm says.
        unsafe {
            match p.vectors {
                1 => all_rows::<L, R, 1, ADD>(&panel, pairs),
                2 => all_rows::<L, R, 2, ADD>(&panel, pairs),
                _ => all_rows::<L, R, 3, ADD>(&panel, pairs),
            }
        }
    }
    if let Some(Single { column, start }) = operator.single {
        let single = part(start, column, 1);
        let (fours, rest) = pairs.as_chunks::<4>();
        // SAFETY: `single` holds n_in elements.
        unsafe {
            for block in fours {
                dot::<L, 4, ADD>(&single, block);
            }
            for pair in rest {
                dot::<L, 1, ADD>(&single, &[*pair]);
            }
        }
    }
}

/// Columns in use in the last vector of a panel.
fn tail(n_out: usize, p: &Panel, lanes: usize) -> usize {
    (n_out - p.first_column - (p.vectors - 1) * lanes).min(lanes)
}

/// A panel or the single column of the matrix, and where its rows of b and its elements of c begin.
struct Part<L: Lanes> {
    matrix: *const L::Elem,
    n_in: usize,
    tail: usize,
    b: *const L::Elem,
    b_stride: usize,
    c: *mut L::Elem,
    c_stride: usize,
}

/// # Safety
/// The promises of `product`; `N` is the width of the panel.
#[inline(always)]
unsafe fn all_rows<L: Lanes, const R: usize, const N: usize, const ADD: bool>(panel: &Part<L>, pairs: &[RowPair]) {
    let (blocks, rest) = pairs.as_chunks::<R>();
    let (fours, rest) = rest.as_chunks::<4>();
    let (twos, one) = rest.as_chunks::<2>();
    // SAFETY: the caller's promise.
    unsafe {
        for block in blocks {
            tile::<L, R, N, ADD>(panel, block);
        }
        for block in fours {
            tile::<L, 4, N, ADD>(panel, block);
        }
        for block in twos {
            tile::<L, 2, N, ADD>(panel, block);
        }
        for pair in one {
            tile::<L, 1, N, ADD>(panel, &[*pair]);
        }
    }
}

/// `M` rows times a panel of `N` vectors.
///
/// # Safety
/// The promises of `all_rows`.
#[inline(always)]
unsafe fn tile<L: Lanes, const M: usize, const N: usize, const ADD: bool>(panel: &Part<L>, pairs: &[RowPair; M]) {
    // SAFETY: rows of b have n_in elements, the panel n_in rows of N vectors, rows of c the panel's columns, `tail` of
    // them in the last vector.
    unsafe {
        let b = pairs.map(|p| panel.b.add(p.source as usize * panel.b_stride));
        let mut sums = [[L::zero(); N]; M];
        let mut matrix = panel.matrix;
        for k in 0..panel.n_in {
            let row: [L; N] = std::array::from_fn(|n| L::load(matrix.add(n * L::LANES)));
            for m in 0..M {
                let element = L::splat(*b[m].add(k));
                for n in 0..N {
                    sums[m][n] = element.mul_add(row[n], sums[m][n]);
                }
            }
            matrix = matrix.add(N * L::LANES);
        }
        for (pair, sum) in pairs.iter().zip(sums) {
            let c = panel.c.add(pair.target as usize * panel.c_stride);
            for (n, s) in sum.into_iter().enumerate() {
                let at = c.add(n * L::LANES);
                if n + 1 == N && panel.tail < L::LANES {
                    s.write_first::<ADD>(at, panel.tail);
                } else if ADD {
                    s.add(L::load(at)).store(at);
                } else {
                    s.store(at);
                }
            }
        }
    }
}

/// `M` ≤ 4 rows times the single column.
///
/// # Safety
/// The promises of `product`; `single` holds n_in elements.
#[inline(always)]
unsafe fn dot<L: Lanes, const M: usize, const ADD: bool>(single: &Part<L>, pairs: &[RowPair; M]) {
    const { assert!(M <= 4) }
    // SAFETY: rows of b and the column have n_in elements; each row of c has its element.
    unsafe {
        let b = pairs.map(|p| single.b.add(p.source as usize * single.b_stride));
        let mut sums = [L::zero(); 4];
        let whole = single.n_in - single.n_in % L::LANES;
        for k in (0..whole).step_by(L::LANES) {
            let column = L::load(single.matrix.add(k));
            for m in 0..M {
                sums[m] = L::load(b[m].add(k)).mul_add(column, sums[m]);
            }
        }
        let mut sums = L::sum_each(sums);
        for k in whole..single.n_in {
            for m in 0..M {
                sums[m] += *b[m].add(k) * *single.matrix.add(k);
            }
        }
        for (pair, sum) in pairs.iter().zip(sums) {
            let c = single.c.add(pair.target as usize * single.c_stride);
            *c = if ADD { *c + sum } else { sum };
        }
    }
}
