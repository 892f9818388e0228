//! Discrete Fourier transform of a whole grid of boxes, line by line along each axis.
//!
//! The boxes modulo the lattice of the cell are a finite group, whose characters are the phases e^{−2πi(f₀i + f₁j + f₂k)} with
//!
//!   f₂ = κ₂/n₂,   f₁ = (κ₁ − s₁₂ f₂)/n₁,   f₀ = (κ₀ − s₀₁ f₁ − s₀₂ f₂)/n₀,   κ_a = 0, 1, …, n_a − 1:
//!
//! one on every lattice vector. With shears s a line is turned before its transform, by e^{2πi j s₁₂ f₂/n₁} or e^{2πi i (s₀₁ f₁ + s₀₂ f₂)/n₀}.

use std::f64::consts::PI;

use kernels::Real;
use rayon::prelude::*;

use super::line::{Line, LineKernel, RealLine};
use crate::geometry::grid::Topology;
use crate::workspace::{Scratch, ScratchPool};

/// f of wave vector κ: the character of box u is e^{−2πi f·u}.
pub fn wave_vector(torus: &Topology, kappa: [usize; 3]) -> [f64; 3] {
    let [s01, s02, s12] = torus.shear.map(f64::from);
    let [n0, n1, n2] = torus.shape.map(|n| n as f64);
    let [k0, k1, k2] = kappa.map(|k| k as f64);
    let f2 = k2 / n2;
    let f1 = (k1 - s12 * f2) / n1;
    [(k0 - s01 * f1 - s02 * f2) / n0, f1, f2]
}

/// Transform of `shape` real boxes, the rest of the cycle empty, to the wave vectors κ₂ ≤ n₂/2 and back. A row is `stride` real parts,
/// then `stride` imaginary parts; neither direction is normalised. Along x lines may be taken one by one, so that their wave vectors, most of all data, need not leave
/// the cache.
pub struct GridTransform<T> {
    shape: [usize; 3],
    cycle: [usize; 3],
    stride: usize,
    lines: [Line<T>; 3],
    /// See [`turns`].
    turns: [Vec<(T, T)>; 2],
    slabs: Vec<T>,
    columns: Vec<T>,
}

impl<T: Real> GridTransform<T> {
    /// For `shape` boxes of the cycle `torus`, `stride` (a multiple of the lanes) coefficients per box.
    pub fn new(shape: [usize; 3], torus: &Topology, stride: usize) -> Self {
        let cycle = torus.shape;
        let lines = cycle.map(Line::new);
        let mut out =
            Self { shape, cycle, stride, lines, turns: turns(shape, torus), slabs: Vec::new(), columns: Vec::new() };
        out.fit(stride);
        out
    }

    /// For `stride` coefficients per box from now on.
    pub fn fit(&mut self, stride: usize) {
        self.stride = stride;
        let ([mx, my, _], [_, ny, nz]) = (self.shape, self.cycle);
        let (hz, row) = (nz / 2 + 1, 2 * stride);
        self.slabs.resize(mx * my * hz * row, T::zero());
        self.columns.resize(mx * ny * hz * row, T::zero());
    }

    /// Elements of the transform: rows `[κ₁][κ₂][κ₀]`.
    pub fn len(&self) -> usize {
        let [_, ny, nz] = self.cycle;
        ny * (nz / 2 + 1) * self.len_of_waves()
    }

    /// Elements of the boxes of one line along x.
    pub fn len_of_line(&self) -> usize {
        self.shape[0] * 2 * self.stride
    }

    /// Elements of the wave vectors of one line along x.
    pub fn len_of_waves(&self) -> usize {
        self.cycle[0] * 2 * self.stride
    }

    fn turn(&self, axis: usize, line: usize) -> &[(T, T)] {
        let m = self.shape[axis];
        if self.turns[axis].is_empty() { &[] } else { &self.turns[axis][line * m..][..m] }
    }

    /// `waves`, rows `[κ₁][κ₂][κ₀]`, from `boxes`, one row of `stride` elements per box, z fastest.
    pub fn forward(&mut self, boxes: &[T], waves: &mut [T], pool: &ScratchPool<T>) {
        self.along_z_and_y(boxes, pool);
        let hz = self.cycle[2] / 2 + 1;
        waves.par_chunks_mut(self.len_of_waves()).enumerate().for_each(|(i, out)| {
            self.along_x([i / hz, i % hz], out, &mut pool.get());
        });
    }

    /// The part of [`forward`](Self::forward) before [`along_x`](Self::along_x).
    pub fn along_z_and_y(&mut self, boxes: &[T], pool: &ScratchPool<T>) {
        let mut slabs = std::mem::take(&mut self.slabs);
        let mut columns = std::mem::take(&mut self.columns);
        let this = &*self;
        let [_, my, mz] = this.shape;
        let [_, ny, nz] = this.cycle;
        let (hz, stride, row) = (nz / 2 + 1, this.stride, 2 * this.stride);
        let [_, line_y, line_z] = &this.lines;
        slabs.par_chunks_mut(my * hz * row).enumerate().for_each(|(x, slab)| {
            let scratch = &mut *pool.get();
            for y in 0..my {
                let input = &boxes[(x * my + y) * mz * stride..][..mz * stride];
                let output = &mut slab[y * hz * row..][..hz * row];
                kernels::dispatch(RealLine { line: line_z, stride, n: mz, input, output, scratch, forward: true });
            }
        });
        columns.par_chunks_mut(ny * hz * row).enumerate().for_each(|(x, out)| {
            let scratch = &mut *pool.get();
            for kz in 0..hz {
                kernels::dispatch(LineKernel {
                    line: line_y,
                    stride,
                    n_in: my,
                    n_out: ny,
                    forward: true,
                    turn: this.turn(1, kz),
                    input: &slabs,
                    read: |y: usize| ((x * my + y) * hz + kz) * row,
                    output: out,
                    write: |ky: usize| (ky * hz + kz) * row,
                    scratch,
                });
            }
        });
        (self.slabs, self.columns) = (slabs, columns);
    }

    /// The wave vectors κ₀ of one (κ₁, κ₂), after [`along_z_and_y`](Self::along_z_and_y).
    pub fn along_x(&self, [ky, kz]: [usize; 2], waves: &mut [T], scratch: &mut Scratch<T>) {
        let ([mx, ..], [nx, ny, nz]) = (self.shape, self.cycle);
        let (hz, row) = (nz / 2 + 1, 2 * self.stride);
        kernels::dispatch(LineKernel {
            line: &self.lines[0],
            stride: self.stride,
            n_in: mx,
            n_out: nx,
            forward: true,
            turn: self.turn(0, ky * hz + kz),
            input: &self.columns,
            read: |x: usize| ((x * ny + ky) * hz + kz) * row,
            output: waves,
            write: |kx: usize| kx * row,
            scratch,
        });
    }

    /// Back from the wave vectors κ₀ of one (κ₁, κ₂) to the boxes of their line along x.
    pub fn back_along_x(&self, [ky, kz]: [usize; 2], waves: &[T], boxes: &mut [T], scratch: &mut Scratch<T>) {
        let ([mx, ..], [nx, _, nz], row) = (self.shape, self.cycle, 2 * self.stride);
        kernels::dispatch(LineKernel {
            line: &self.lines[0],
            stride: self.stride,
            n_in: nx,
            n_out: mx,
            forward: false,
            turn: self.turn(0, ky * (nz / 2 + 1) + kz),
            input: waves,
            read: |kx: usize| kx * row,
            output: boxes,
            write: |x: usize| x * row,
            scratch,
        });
    }

    /// `boxes` from their lines along x, of which that of (κ₁, κ₂) begins at element `place(κ₁, κ₂)` of `lines`.
    pub fn back_along_y_and_z<P>(&mut self, lines: &[T], place: P, boxes: &mut [T], pool: &ScratchPool<T>)
    where
        P: Fn(usize, usize) -> usize + Sync,
    {
        let mut slabs = std::mem::take(&mut self.slabs);
        let this = &*self;
        let [_, my, mz] = this.shape;
        let [_, ny, nz] = this.cycle;
        let (hz, stride, row) = (nz / 2 + 1, this.stride, 2 * this.stride);
        let [_, line_y, line_z] = &this.lines;
        slabs.par_chunks_mut(my * hz * row).enumerate().for_each(|(x, out)| {
            let scratch = &mut *pool.get();
            for kz in 0..hz {
                kernels::dispatch(LineKernel {
                    line: line_y,
                    stride,
                    n_in: ny,
                    n_out: my,
                    forward: false,
                    turn: this.turn(1, kz),
                    input: lines,
                    read: |ky: usize| place(ky, kz) + x * row,
                    output: out,
                    write: |y: usize| (y * hz + kz) * row,
                    scratch,
                });
            }
        });
        boxes.par_chunks_mut(my * mz * stride).enumerate().for_each(|(x, out)| {
            let scratch = &mut *pool.get();
            for y in 0..my {
                let input = &slabs[(x * my + y) * hz * row..][..hz * row];
                let output = &mut out[y * mz * stride..][..mz * stride];
                kernels::dispatch(RealLine { line: line_z, stride, n: mz, input, output, scratch, forward: false });
            }
        });
        self.slabs = slabs;
    }
}

/// The phases (cos, sin) of the shears along axis 0, `[κ₁][κ₂][i]`, and axis 1, `[κ₂][j]`, for `shape` boxes; empty without shears.
pub fn turns<T: Real>(shape: [usize; 3], torus: &Topology) -> [Vec<(T, T)>; 2] {
    if torus.shear == [0; 3] {
        return [Vec::new(), Vec::new()];
    }
    let [_, ny, nz] = torus.shape;
    let line = |slope: f64, boxes: usize| {
        (0..boxes).map(move |i| {
            let (sin, cos) = (2.0 * PI * slope * i as f64).sin_cos();
            (T::of(cos), T::of(sin))
        })
    };
    // What the wave vector lacks of κ/n is in the turn.
    let slope = |axis: usize, kappa: [usize; 3]| -wave_vector(torus, kappa)[axis];
    let waves = 0..nz / 2 + 1;
    let along_y = waves.clone().flat_map(|kz| line(slope(1, [0, 0, kz]), shape[1])).collect();
    let along_x = (0..ny)
        .flat_map(|ky| waves.clone().map(move |kz| [0, ky, kz]))
        .flat_map(|kappa| line(slope(0, kappa), shape[0]))
        .collect();
    [along_x, along_y]
}
