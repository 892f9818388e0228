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
use crate::workspace::ScratchPool;

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
/// then `stride` imaginary parts; neither direction is normalised.
pub struct GridTransform<T> {
    shape: [usize; 3],
    cycle: [usize; 3],
    stride: usize,
    lines: [Line<T>; 3],
    /// See [`turns`].
    turns: [Vec<(T, T)>; 2],
    slabs: Vec<T>,
    columns: Vec<T>,
    back: Vec<T>,
}

impl<T: Real> GridTransform<T> {
    /// For `shape` boxes of the cycle `torus`, `stride` (a multiple of the lanes) coefficients per box.
    pub fn new(shape: [usize; 3], torus: &Topology, stride: usize) -> Self {
        let cycle = torus.shape;
        let [mx, my, _] = shape;
        let [_, ny, nz] = cycle;
        let hz = nz / 2 + 1;
        let row = 2 * stride;
        Self {
            shape,
            cycle,
            stride,
            lines: cycle.map(Line::new),
            turns: turns(shape, torus),
            slabs: vec![T::zero(); mx * my * hz * row],
            columns: vec![T::zero(); mx * ny * hz * row],
            back: vec![T::zero(); ny * hz * mx * row],
        }
    }

    /// Elements of the transform: rows `[κ₁][κ₂][κ₀]`.
    pub fn len(&self) -> usize {
        let [nx, ny, nz] = self.cycle;
        nx * ny * (nz / 2 + 1) * 2 * self.stride
    }

    fn turn(&self, axis: usize, line: usize) -> &[(T, T)] {
        let m = self.shape[axis];
        if self.turns[axis].is_empty() { &[] } else { &self.turns[axis][line * m..][..m] }
    }

    /// `waves`, rows `[κ₁][κ₂][κ₀]`, from `boxes`, one row of `stride` elements per box, z fastest.
    pub fn forward(&mut self, boxes: &[T], waves: &mut [T], pool: &ScratchPool<T>) {
        let mut slabs = std::mem::take(&mut self.slabs);
        let mut columns = std::mem::take(&mut self.columns);
        let this = &*self;
        let [mx, my, mz] = this.shape;
        let [nx, ny, nz] = this.cycle;
        let (hz, stride, row) = (nz / 2 + 1, this.stride, 2 * this.stride);
        let [line_x, line_y, line_z] = &this.lines;
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
        waves.par_chunks_mut(hz * nx * row).enumerate().for_each(|(ky, out)| {
            let scratch = &mut *pool.get();
            for kz in 0..hz {
                kernels::dispatch(LineKernel {
                    line: line_x,
                    stride,
                    n_in: mx,
                    n_out: nx,
                    forward: true,
                    turn: this.turn(0, ky * hz + kz),
                    input: &columns,
                    read: |x: usize| ((x * ny + ky) * hz + kz) * row,
                    output: out,
                    write: |kx: usize| (kz * nx + kx) * row,
                    scratch,
                });
            }
        });
        (self.slabs, self.columns) = (slabs, columns);
    }

    /// `boxes` from a transform whose row of κ begins at element `place(κ)` of `waves`.
    pub fn back<P>(&mut self, waves: &[T], place: P, boxes: &mut [T], pool: &ScratchPool<T>)
    where
        P: Fn([usize; 3]) -> usize + Sync,
    {
        let mut slabs = std::mem::take(&mut self.slabs);
        let mut back = std::mem::take(&mut self.back);
        let this = &*self;
        let [mx, my, mz] = this.shape;
        let [nx, ny, nz] = this.cycle;
        let (hz, stride, row) = (nz / 2 + 1, this.stride, 2 * this.stride);
        let [line_x, line_y, line_z] = &this.lines;
        back.par_chunks_mut(hz * mx * row).enumerate().for_each(|(ky, out)| {
            let scratch = &mut *pool.get();
            for kz in 0..hz {
                kernels::dispatch(LineKernel {
                    line: line_x,
                    stride,
                    n_in: nx,
                    n_out: mx,
                    forward: false,
                    turn: this.turn(0, ky * hz + kz),
                    input: waves,
                    read: |kx: usize| place([kx, ky, kz]),
                    output: out,
                    write: |x: usize| (kz * mx + x) * row,
                    scratch,
                });
            }
        });
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
                    input: &back,
                    read: |ky: usize| ((ky * hz + kz) * mx + x) * row,
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
        (self.slabs, self.back) = (slabs, back);
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
