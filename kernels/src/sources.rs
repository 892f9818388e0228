//! The near particles of one leaf, copied side by side.
//!
//! Particles are stored box after box, with coordinates relative to the centre of their own box (short numbers, so
//! that `f32` loses nothing to the size of the system). The near field of a leaf needs 27 such runs, each displaced
//! by the vector between the two box centres. Copying them once into one contiguous block costs a few per cent of
//! the pair work, leaves one partial vector at the end instead of 27, and gives every pair a fixed place for
//! [`crate::ExceptionTable`].

use crate::dispatch::{InstructionSet, RegisterKernel};
use crate::simd::Lanes;
use crate::{Isa, Real};

/// Sources behind one exception mask; a multiple of every vector length in use.
pub const CHUNK: usize = 16;

/// Coordinates of points, one slice for each axis, equally long.
#[derive(Clone, Copy, Debug)]
pub struct Points<'a, T> {
    /// x coordinates.
    pub x: &'a [T],
    /// y coordinates.
    pub y: &'a [T],
    /// z coordinates.
    pub z: &'a [T],
}

impl<T> Points<'_, T> {
    /// Number of points.
    ///
    /// # Panics
    /// If the three slices differ in length.
    #[must_use]
    pub fn len(&self) -> usize {
        assert!(self.x.len() == self.y.len() && self.x.len() == self.z.len(), "x, y, z differ in length");
        self.x.len()
    }

    /// Whether there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A source box as seen from the target box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run<T> {
    /// First particle.
    pub start: u32,
    /// Number of particles.
    pub len: u32,
    /// Added to each coordinate: centre of the source box (in its image) − centre of the target box.
    pub shift: [T; 3],
}

/// The gathered sources of one leaf: coordinates and one or several charge vectors. Reusable; it only grows.
#[derive(Clone, Debug, Default)]
pub struct SourceBlock<T> {
    len: usize,
    n_vec: usize,
    stride: usize,
    /// x, y, z, then the charge vectors: rows of `stride` elements.
    rows: Vec<T>,
}

impl<T: Real> SourceBlock<T> {
    /// An empty block.
    #[must_use]
    pub fn new() -> Self {
        Self { len: 0, n_vec: 0, stride: 0, rows: Vec::new() }
    }

    /// Number of sources.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no sources.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of charge vectors.
    #[must_use]
    pub fn n_vec(&self) -> usize {
        self.n_vec
    }

    /// Elements of each row that may be read: `len` rounded up to whole chunks.
    pub(crate) fn padded(&self) -> usize {
        self.len.next_multiple_of(CHUNK)
    }

    /// x, y or z (row 0, 1, 2) or charge vector v (row 3 + v) with its padding (zeros).
    pub(crate) fn row(&self, row: usize) -> &[T] {
        &self.rows[row * self.stride..][..self.padded()]
    }

    /// Replace the contents by the particles of `runs`, one run after the other, displaced by the runs' shifts.
    /// `charges`: one slice for each charge vector, as long as `points`.
    ///
    /// # Panics
    /// If slices differ in length or a run leaves them.
    pub fn gather(&mut self, points: Points<'_, T>, charges: &[&[T]], runs: &[Run<T>]) {
        self.gather_on(Isa::best(), points, charges, runs);
    }

    pub(crate) fn gather_on(&mut self, isa: Isa, points: Points<'_, T>, charges: &[&[T]], runs: &[Run<T>]) {
        let n = points.len();
        assert!(charges.iter().all(|q| q.len() == n), "charges and points differ in number");
        assert!(runs.iter().all(|r| r.start as usize + r.len as usize <= n), "a run leaves the particles");
        self.len = runs.iter().map(|r| r.len as usize).sum();
        self.n_vec = charges.len();
        // One chunk more than the padded length: copies are made in whole vectors that may overhang.
        self.stride = self.padded() + CHUNK;
        let size = (3 + self.n_vec) * self.stride;
        if self.rows.len() < size {
            self.rows.resize(size, T::zero());
        }
        let rows = &mut self.rows[..size];
        T::copy_runs(isa, CopyRuns { rows, stride: self.stride, points, charges, runs });
        for row in rows.chunks_exact_mut(self.stride) {
            row[self.len..].fill(T::zero());
        }
    }
}

impl<T: Real> SourceBlock<T> {
    /// Multiply the charges of vector `vector` by a factor for each run, in the order of the runs: (number of sources, factor).
    ///
    /// # Panics
    /// If there is no such vector or the runs have more sources than were gathered.
    pub fn weigh(&mut self, vector: usize, factors: impl Iterator<Item = (usize, T)>) {
        assert!(vector < self.n_vec, "there is no such charge vector");
        let mut charges = &mut self.rows[(3 + vector) * self.stride..][..self.len];
        for (len, factor) in factors {
            let (run, rest) = charges.split_at_mut(len);
            run.iter_mut().for_each(|q| *q *= factor);
            charges = rest;
        }
    }
}

/// Copy one run to place `at` of every row of `rows`, coordinates displaced.
fn copy_run<T: Real>(rows: &mut [T], stride: usize, points: Points<'_, T>, charges: &[&[T]], run: &Run<T>, at: usize) {
    let (start, len) = (run.start as usize, run.len as usize);
    let (coordinates, charge_rows) = rows.split_at_mut(3 * stride);
    for ((row, source), shift) in
        coordinates.chunks_exact_mut(stride).zip([points.x, points.y, points.z]).zip(run.shift)
    {
        for (t, &s) in row[at..at + len].iter_mut().zip(&source[start..start + len]) {
            *t = s + shift;
        }
    }
    for (row, q) in charge_rows.chunks_exact_mut(stride).zip(charges) {
        row[at..at + len].copy_from_slice(&q[start..start + len]);
    }
}

/// Runs inside `points` and `charges`, to be copied to 3 + `charges.len()` rows of `stride` elements, at least one chunk longer than all runs
/// together.
#[derive(Debug)]
pub struct CopyRuns<'a, T> {
    rows: &'a mut [T],
    stride: usize,
    points: Points<'a, T>,
    charges: &'a [&'a [T]],
    runs: &'a [Run<T>],
}

impl<T: Real> RegisterKernel for CopyRuns<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<S: InstructionSet>(self, _: S) {
        if S::ISA == Isa::Portable {
            let mut at = 0;
            for run in self.runs {
                copy_run(self.rows, self.stride, self.points, self.charges, run, at);
                at += run.len as usize;
            }
        } else {
            // SAFETY: `S` is available.
            unsafe { self.whole_registers::<S::Register<T>>() }
        }
    }
}

impl<T: Real> CopyRuns<'_, T> {
    /// Whole registers, the last one of a run overhanging into the place of the next run, which is written later.
    ///
    /// # Safety
    /// `L`'s instruction set.
    #[inline(always)]
    unsafe fn whole_registers<L: Lanes<Elem = T>>(self) {
        const { assert!(CHUNK.is_multiple_of(L::LANES)) }
        let Self { rows, stride, points, charges, runs } = self;
        let n = points.x.len();
        let axes = [points.x, points.y, points.z].map(<[_]>::as_ptr);
        let mut at = 0;
        for run in runs {
            let (start, len) = (run.start as usize, run.len as usize);
            if start + len.next_multiple_of(L::LANES) > n {
                copy_run(rows, stride, points, charges, run, at);
            } else {
                // SAFETY: reads end at start + whole vectors ≤ n; writes end before at + len + LANES ≤ stride, since
                // at + len ≤ Σ len ≤ stride − CHUNK.
                unsafe {
                    let target = rows.as_mut_ptr().add(at);
                    let shift = run.shift.map(|s| L::splat(s));
                    for i in (0..len).step_by(L::LANES) {
                        for a in 0..3 {
                            L::load(axes[a].add(start + i)).add(shift[a]).store(target.add(a * stride + i));
                        }
                        for (v, q) in charges.iter().enumerate() {
                            L::load(q.as_ptr().add(start + i)).store(target.add((3 + v) * stride + i));
                        }
                    }
                }
            }
            at += len;
        }
    }
}
