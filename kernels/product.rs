//! Rows times a matrix: the multipole-to-local translation.
//!
//! ```text
//! c[t][n] += Σ_k b[s][k] · M[k][n]        for each pair (t, s)
//! ```
//!
//! b holds expansions (one in each row), M translates by one lattice vector between boxes, and the pairs say which
//! box receives from which: rows are picked by index, so that nothing is gathered. A block of rows is multiplied
//! with a panel of columns whose sums stay in registers; the panel stays in the first-level cache for all rows.

use crate::{Isa, Real};

/// A translation from row `source` of b to row `target` of c.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowPair {
    /// Row of c.
    pub target: u32,
    /// Row of b.
    pub source: u32,
}

/// A matrix, packed for the instruction set it will be used with.
#[derive(Clone, Debug)]
pub struct Operator<T> {
    isa: Isa,
    n_in: usize,
    n_out: usize,
    panels: Vec<Panel>,
    /// Panel after panel; inside a panel n_in rows of `vectors` vectors, zero beyond n_out.
    packed: Vec<Line<T>>,
}

/// A group of neighbouring columns.
#[derive(Clone, Copy, Debug)]
struct Panel {
    first_column: usize,
    /// Width in vectors, 1 to `MAX_VECTORS`.
    vectors: usize,
    /// First element in `packed`.
    start: usize,
}

/// Keeps vectors inside cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line<T>([T; LINE]);

const LINE: usize = 16;
/// Rows that are multiplied together.
const ROWS: usize = 8;
/// Widest panel.
const MAX_VECTORS: usize = 3;

impl<T: Real> Operator<T> {
    /// Pack the `n_in` × `n_out` matrix `row_major` for the fastest instruction set of this machine.
    ///
    /// # Panics
    /// If `row_major` has not n_in · n_out elements.
    #[must_use]
    pub fn new(n_in: usize, n_out: usize, row_major: &[f64]) -> Self {
        Self::for_isa(Isa::best(), n_in, n_out, row_major)
    }

    /// As [`Operator::new`], for a given instruction set.
    ///
    /// # Panics
    /// As [`Operator::new`], and if the instruction set is not available.
    #[must_use]
    pub fn for_isa(isa: Isa, n_in: usize, n_out: usize, row_major: &[f64]) -> Self {
        assert!(isa.is_available(), "{isa:?} is not available on this machine");
        assert_eq!(row_major.len(), n_in * n_out, "a {n_in} × {n_out} matrix was announced");
        let lanes = lanes::<T>(isa);
        let mut panels = Vec::new();
        let mut start = 0;
        let mut first_column = 0;
        for vectors in panel_widths(n_out.div_ceil(lanes), widest_panel(isa)) {
            panels.push(Panel { first_column, vectors, start });
            first_column += vectors * lanes;
            start += n_in * vectors * lanes;
        }
        let mut packed = vec![Line([T::zero(); LINE]); start.div_ceil(LINE)];
        for p in &panels {
            let width = p.vectors * lanes;
            let used = width.min(n_out - p.first_column);
            for k in 0..n_in {
                for n in 0..used {
                    let at = p.start + k * width + n;
                    packed[at / LINE].0[at % LINE] = T::of(row_major[k * n_out + p.first_column + n]);
                }
            }
        }
        Self { isa, n_in, n_out, panels, packed }
    }

    /// Rows of the matrix: elements of a row of b that are read.
    #[must_use]
    pub fn n_in(&self) -> usize {
        self.n_in
    }

    /// Columns of the matrix: elements of a row of c that are changed.
    #[must_use]
    pub fn n_out(&self) -> usize {
        self.n_out
    }

    fn element(&self, at: usize) -> T {
        self.packed[at / LINE].0[at % LINE]
    }
}

/// Elements of a vector.
fn lanes<T: Real>(isa: Isa) -> usize {
    let bytes = match isa {
        Isa::Avx512 => 64,
        Isa::Avx2 => 32,
        Isa::Portable => 16,
    };
    bytes / size_of::<T>()
}

/// ROWS × width sums, the panel's vectors and one element of b must fit the 32 (AVX-512) or 16 registers.
fn widest_panel(isa: Isa) -> usize {
    match isa {
        Isa::Avx512 => MAX_VECTORS,
        Isa::Avx2 | Isa::Portable => 2,
    }
}

/// Split `vectors` into as few panels as possible, as even as possible.
fn panel_widths(vectors: usize, widest: usize) -> impl Iterator<Item = usize> {
    let n = vectors.div_ceil(widest);
    (0..n).map(move |i| (vectors + i) / n)
}

/// c_t += b_s M for each pair (t, s) of `pairs`, in order. Row r of b is `b[r·b_stride ..][..n_in]`, row r of c is
/// `c[r·c_stride ..][..n_out]`; nothing else of c is touched. A target may occur several times.
///
/// # Panics
/// If a row of a pair lies outside b or c.
pub fn rows_times_matrix<T: Real>(
    operator: &Operator<T>,
    pairs: &[RowPair],
    b: &[T],
    b_stride: usize,
    c: &mut [T],
    c_stride: usize,
) {
    if operator.n_in == 0 || operator.n_out == 0 {
        return;
    }
    let rows = |n: usize, width: usize, stride: usize| if n < width { 0 } else { (n - width) / stride.max(1) + 1 };
    let (n_b, n_c) = (rows(b.len(), operator.n_in, b_stride), rows(c.len(), operator.n_out, c_stride));
    let inside = |p: &RowPair| (p.source as usize) < n_b && (p.target as usize) < n_c;
    assert!(pairs.iter().all(inside), "a row pair lies outside the {n_b} rows of b or the {n_c} rows of c");
    let rows = Rows { pairs, b, b_stride, c, c_stride };
    match operator.isa {
        // SAFETY: `for_isa` checked that the instruction set is available; all rows are inside b and c.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { x86::product_avx512(operator, rows) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { x86::product_avx2(operator, rows) },
        _ => product_portable(operator, rows),
    }
}

/// The rows of a product, every pair inside b and c.
struct Rows<'a, T> {
    pairs: &'a [RowPair],
    b: &'a [T],
    b_stride: usize,
    c: &'a mut [T],
    c_stride: usize,
}

/// The reference: row by row.
fn product_portable<T: Real>(operator: &Operator<T>, rows: Rows<'_, T>) {
    let lanes = lanes::<T>(operator.isa);
    for p in &operator.panels {
        let width = p.vectors * lanes;
        let used = width.min(operator.n_out - p.first_column);
        for pair in rows.pairs {
            let b = &rows.b[pair.source as usize * rows.b_stride..][..operator.n_in];
            let c = &mut rows.c[pair.target as usize * rows.c_stride + p.first_column..][..used];
            for (n, c) in c.iter_mut().enumerate() {
                *c += b.iter().enumerate().map(|(k, &b)| b * operator.element(p.start + k * width + n)).sum();
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Operator, Panel, ROWS, RowPair, Rows};
    use crate::Real;
    use crate::simd::Lanes;

    /// # Safety
    /// AVX-512, for which `operator` is packed; pairs inside b and c.
    #[target_feature(enable = "avx512f,avx512dq,avx512bw,avx512vl,avx2,fma")]
    pub unsafe fn product_avx512<T: Real>(operator: &Operator<T>, rows: Rows<'_, T>) {
        // SAFETY: the caller's promise.
        unsafe { product::<T::Avx512>(operator, rows) }
    }

    /// # Safety
    /// AVX2 and FMA, for which `operator` is packed; pairs inside b and c.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn product_avx2<T: Real>(operator: &Operator<T>, rows: Rows<'_, T>) {
        // SAFETY: the caller's promise.
        unsafe { product::<T::Avx2>(operator, rows) }
    }

    /// # Safety
    /// `L`'s instruction set, for which `operator` is packed; pairs inside b and c.
    #[inline(always)]
    unsafe fn product<L: Lanes>(operator: &Operator<L::Elem>, rows: Rows<'_, L::Elem>) {
        let Rows { pairs, b, b_stride, c, c_stride } = rows;
        let (b, c) = (b.as_ptr(), c.as_mut_ptr());
        for p in &operator.panels {
            let panel = PanelRows::<L> {
                // SAFETY: the panel starts inside `packed`.
                matrix: unsafe { operator.packed.as_ptr().cast::<L::Elem>().add(p.start) },
                n_in: operator.n_in,
                tail: tail(operator.n_out, p, L::LANES),
                b,
                b_stride,
                // SAFETY: the first column of a panel is below n_out ≤ the length of c, if there is any pair.
                c: unsafe { c.add(if pairs.is_empty() { 0 } else { p.first_column }) },
                c_stride,
            };
            // SAFETY: the panel has as many vectors as the arm says.
            unsafe {
                match p.vectors {
                    1 => all_rows::<L, 1>(&panel, pairs),
                    2 => all_rows::<L, 2>(&panel, pairs),
                    _ => all_rows::<L, 3>(&panel, pairs),
                }
            }
        }
    }

    /// Columns in use in the last vector of a panel.
    fn tail(n_out: usize, p: &Panel, lanes: usize) -> usize {
        (n_out - p.first_column - (p.vectors - 1) * lanes).min(lanes)
    }

    /// A panel of the matrix, and where the rows begin.
    struct PanelRows<L: Lanes> {
        matrix: *const L::Elem,
        n_in: usize,
        tail: usize,
        b: *const L::Elem,
        b_stride: usize,
        c: *mut L::Elem,
        c_stride: usize,
    }

    /// # Safety
    /// As `product`; `N` is the width of the panel.
    #[inline(always)]
    unsafe fn all_rows<L: Lanes, const N: usize>(panel: &PanelRows<L>, pairs: &[RowPair]) {
        let (blocks, rest) = pairs.as_chunks::<ROWS>();
        // SAFETY: the caller's promise.
        unsafe {
            for block in blocks {
                tile::<L, ROWS, N>(panel, block);
            }
            let (fours, rest) = rest.as_chunks::<4>();
            for block in fours {
                tile::<L, 4, N>(panel, block);
            }
            let (twos, one) = rest.as_chunks::<2>();
            for block in twos {
                tile::<L, 2, N>(panel, block);
            }
            for pair in one {
                tile::<L, 1, N>(panel, &[*pair]);
            }
        }
    }

    /// `M` rows times a panel of `N` vectors.
    ///
    /// # Safety
    /// As `all_rows`.
    #[inline(always)]
    unsafe fn tile<L: Lanes, const M: usize, const N: usize>(panel: &PanelRows<L>, pairs: &[RowPair; M]) {
        // SAFETY: rows of b have n_in elements, the panel n_in rows of N vectors, rows of c the panel's columns,
        // `tail` of them in the last vector.
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
                        s.add_to_first(at, panel.tail);
                    } else {
                        s.add(L::load(at)).store(at);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
