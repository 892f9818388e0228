//! Rows times a matrix: the multipole-to-local translation.
//!
//! ```text
//! c[t][n] += Σ_k b[s][k] · M[k][n]        for each pair (t, s)
//! ```
//!
//! b holds expansions (one in each row), M translates by one lattice vector between boxes, and the pairs say which
//! box receives from which: rows are picked by index, so that nothing is gathered. A block of rows is multiplied
//! with a panel of columns whose sums stay in registers; the panel stays in the first-level cache for all rows.
//! (p + 1)² is often one more than a multiple of the vector length: a single last column is done by dot products.

mod registers;

use crate::dispatch::{InstructionSet, RegisterKernel};
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
    /// Last column, if it would be alone in a vector; never on the portable path.
    single: Option<Single>,
    /// Panel after panel; inside a panel n_in rows of `vectors` vectors, zero beyond n_out. Then the single column.
    packed: Vec<Line<T>>,
}

/// A column stored by itself, n_in elements.
#[derive(Clone, Copy, Debug)]
struct Single {
    column: usize,
    /// First element in `packed`.
    start: usize,
}

/// A group of neighbouring columns.
#[derive(Clone, Copy, Debug)]
struct Panel {
    first_column: usize,
    /// Width in vectors.
    vectors: usize,
    /// First element in `packed`.
    start: usize,
}

/// Keeps vectors inside cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Line<T>([T; LINE]);

const LINE: usize = 16;
impl<T: Real> Operator<T> {
    /// Pack the `n_in` × `n_out` matrix `row_major` for the fastest instruction set of this machine.
    ///
    /// # Panics
    /// If `row_major` has not n_in · n_out elements.
    #[must_use]
    pub fn new(n_in: usize, n_out: usize, row_major: &[f64]) -> Self {
        Self::for_isa(Isa::best(), n_in, n_out, row_major)
    }

    /// Pack the matrix for a given instruction set.
    ///
    /// # Panics
    /// If `row_major` has not n_in · n_out elements or the instruction set is not available.
    #[must_use]
    pub fn for_isa(isa: Isa, n_in: usize, n_out: usize, row_major: &[f64]) -> Self {
        assert!(isa.is_available(), "{isa:?} is not available on this machine");
        assert_eq!(row_major.len(), n_in * n_out, "a {n_in} × {n_out} matrix was announced");
        let lanes = lanes::<T>(isa);
        let mut panels = Vec::new();
        let (mut start, mut first_column) = (0, 0);
        let has_single = isa != Isa::Portable && n_out % lanes == 1;
        let in_panels = n_out - usize::from(has_single);
        for vectors in panel_widths(in_panels.div_ceil(lanes), widest_panel(isa)) {
            panels.push(Panel { first_column, vectors, start });
            first_column += vectors * lanes;
            start += n_in * vectors * lanes;
        }
        let single = has_single.then_some(Single { column: in_panels, start });
        let mut packed = vec![Line([T::zero(); LINE]); (start + n_in).div_ceil(LINE)];
        for (k, row) in row_major.chunks_exact(n_out.max(1)).enumerate() {
            for p in &panels {
                let columns = &row[p.first_column..in_panels.min(p.first_column + p.vectors * lanes)];
                // A vector lies in one line: panels start at multiples of the lanes.
                let first = p.start + k * p.vectors * lanes;
                for (at, vector) in (first..).step_by(lanes).zip(columns.chunks(lanes)) {
                    let to = &mut packed[at / LINE].0[at % LINE..];
                    to.iter_mut().zip(vector).for_each(|(to, v)| *to = T::of(*v));
                }
            }
            if let Some(s) = single {
                let at = s.start + k;
                packed[at / LINE].0[at % LINE] = T::of(row[s.column]);
            }
        }
        Self { isa, n_in, n_out, panels, single, packed }
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
}

/// Elements of a vector; the portable path takes a whole line for one.
fn lanes<T: Real>(isa: Isa) -> usize {
    match isa {
        Isa::Avx512 => 64 / size_of::<T>(),
        Isa::Avx2 => 32 / size_of::<T>(),
        Isa::Neon => 16 / size_of::<T>(),
        Isa::Portable => LINE,
    }
}

/// Widest panel in vectors.
fn widest_panel(isa: Isa) -> usize {
    match isa {
        Isa::Avx512 | Isa::Neon => 3,
        Isa::Avx2 => 2,
        Isa::Portable => 1,
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
    if let Some(product) = Product::new(operator, Rows { pairs, b, b_stride, c, c_stride }) {
        T::add_product(operator.isa, product);
    }
}

/// c_t = b_s M: as [`rows_times_matrix`], but what c held before is overwritten. Each target must occur only once.
///
/// # Panics
/// If a row of a pair lies outside b or c.
pub fn set_rows_times_matrix<T: Real>(
    operator: &Operator<T>,
    pairs: &[RowPair],
    b: &[T],
    b_stride: usize,
    c: &mut [T],
    c_stride: usize,
) {
    if let Some(product) = Product::new(operator, Rows { pairs, b, b_stride, c, c_stride }) {
        T::set_product(operator.isa, product);
    }
}

/// The rows of a product.
#[derive(Debug)]
struct Rows<'a, T> {
    pairs: &'a [RowPair],
    b: &'a [T],
    b_stride: usize,
    c: &'a mut [T],
    c_stride: usize,
}

/// A product whose rows are inside b and c.
#[derive(Debug)]
pub struct Product<'a, T, const ADD: bool> {
    operator: &'a Operator<T>,
    rows: Rows<'a, T>,
}

impl<'a, T: Real, const ADD: bool> Product<'a, T, ADD> {
    /// `None` if the matrix has no columns. Panics if a row lies outside b or c.
    fn new(operator: &'a Operator<T>, rows: Rows<'a, T>) -> Option<Self> {
        if operator.n_out == 0 {
            return None;
        }
        let count = |len: usize, width: usize, stride: usize| match len.checked_sub(width) {
            None => 0,
            Some(rest) => rest.checked_div(stride).map_or(1, |n| n + 1),
        };
        let n_b = count(rows.b.len(), operator.n_in, rows.b_stride);
        let n_c = count(rows.c.len(), operator.n_out, rows.c_stride);
        let inside = |p: &RowPair| (p.source as usize) < n_b && (p.target as usize) < n_c;
        assert!(rows.pairs.iter().all(inside), "a row pair lies outside the {n_b} rows of b or the {n_c} rows of c");
        Some(Self { operator, rows })
    }
}

impl<T: Real, const ADD: bool> RegisterKernel for Product<'_, T, ADD> {
    type Output = ();
    /// The number of rows multiplied together depends on how many registers there are: 32, on AVX2 16.
    #[inline(always)]
    fn run<S: InstructionSet>(self, _: S) {
        let Self { operator, rows } = self;
        // SAFETY: `S` is available and the one for which the operator is packed; all rows are inside b and c.
        unsafe {
            match S::ISA {
                Isa::Portable => product_portable::<T, ADD>(operator, rows),
                Isa::Avx2 => registers::product::<S::Register<T>, 4, ADD>(operator, rows),
                Isa::Avx512 | Isa::Neon => registers::product::<S::Register<T>, 8, ADD>(operator, rows),
            }
        }
    }
}

/// Row by row, a line of columns at a time.
fn product_portable<T: Real, const ADD: bool>(operator: &Operator<T>, rows: Rows<'_, T>) {
    for p in &operator.panels {
        let matrix = &operator.packed[p.start / LINE..][..operator.n_in];
        for pair in rows.pairs {
            let b = &rows.b[pair.source as usize * rows.b_stride..][..operator.n_in];
            let mut sums = [T::zero(); LINE];
            for (&b, line) in b.iter().zip(matrix) {
                for (sum, &m) in sums.iter_mut().zip(&line.0) {
                    *sum += b * m;
                }
            }
            let used = LINE.min(operator.n_out - p.first_column);
            let c = &mut rows.c[pair.target as usize * rows.c_stride + p.first_column..][..used];
            for (c, sum) in c.iter_mut().zip(sums) {
                *c = if ADD { *c + sum } else { sum };
            }
        }
    }
}

#[cfg(test)]
mod tests;
