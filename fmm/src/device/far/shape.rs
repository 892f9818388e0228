//! A root grid whose boxes change their shape in small steps, as a barostat along single axes changes it: launches of `shape.cu`.
//!
//! Operators of another shape are lattice sums of their own, which take the host as long as some hundred steps of a protein in water. Between them they are a polynomial of second degree
//! about a reference shape. A field of degree n goes with the power n + 1 of lengths, so that at [`FARTHEST`] what is left out is (n + 1)³ ε³/6, 6e-7 of
//! the field of two dipoles and 2e-4 of the highest degrees, which are a small part; of the slopes (n + 1)³ ε²/2. Beyond that the shape of then becomes the reference.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};

use super::{FarField, Step, cut, tables};
use crate::device::boxes::BoxGeometry;
use crate::geometry::grid::BoxGrid;
use crate::solver::virial::stretched;

/// Largest stretch ε of a shape from its reference.
const FARTHEST: f64 = 5e-3;

/// Step of the differences, relative: errors of the first derivatives are (n + 1)³ h²/6, the rounding of the second ones is 1e-7.
const STEP: f64 = 3e-4;

/// Threads of a block.
const THREADS: usize = 128;

/// Blocks of the sum over wave vectors.
const BLOCKS: u32 = 64;

arguments! {
    /// Arguments of `far_shape`.
    struct ShapeArgs<'a, T: Real> {
        tables: In<'a, T>,
        out: Out<'a, T>,
        slope_x: Out<'a, T>,
        slope_y: Out<'a, T>,
        along_x: f64,
        along_y: f64,
        n: i32,
        /// So that the size is a multiple of eight.
        unused: i32,
    }

    /// Arguments of `far_slope`.
    struct SlopeArgs<'a, T: Real> {
        multipoles: In<'a, [T; 2]>,
        locals: In<'a, [T; 2]>,
        geometry: In<'a, BoxGeometry>,
        sums: Out<'a, i64>,
        strength: f64,
        axis: i32,
        /// So that the size is a multiple of eight.
        unused: i32,
    }
}

/// The operators of a root grid as a function of the shape of its boxes.
pub struct RootShapes<T: Real> {
    shape: Kernel<ShapeArgs<'static, T>>,
    slope: Kernel<SlopeArgs<'static, T>>,
    /// Edges of a box of volume one.
    reference: [[f64; 3]; 3],
    tables: Buffer<T>,
    slopes: [Buffer<T>; 2],
    multipoles: Buffer<T>,
    /// Numbers of the coefficients of all operators.
    n: usize,
}

impl<T: Real + Pod> RootShapes<T> {
    /// For the operators of `far`, which are those of `grid`.
    ///
    /// # Errors
    /// No memory; no compiler.
    pub fn new(device: &Device, stream: &Stream, far: &FarField<T>, grid: &BoxGrid) -> Result<Self, DeviceError> {
        let module = device.compile(&source::<T>(far))?;
        let n = far.operators.coefficients.len();
        let mut out = Self {
            shape: module.kernel("far_shape")?,
            slope: module.kernel("far_slope")?,
            reference: grid.basis,
            tables: device.zeros(6 * n)?,
            slopes: [device.zeros(n)?, device.zeros(n)?],
            multipoles: device.zeros(far.waves.len())?,
            n,
        };
        out.set_reference(stream, far, grid)?;
        Ok(out)
    }

    /// Makes the shape of `grid` the reference, and its operators those of `far`.
    ///
    /// # Errors
    /// A lost device.
    pub fn set_reference(&mut self, stream: &Stream, far: &FarField<T>, grid: &BoxGrid) -> Result<(), DeviceError> {
        self.reference = grid.basis;
        self.tables.write(stream, &polynomial(grid, far.plan.order))?;
        self.enqueue_shape(stream, far, [0.0; 2])
    }

    /// Lets the operators of `far` follow the shape of `grid`. Whether it has become the reference for that.
    ///
    /// # Errors
    /// A lost device.
    pub fn follow(&mut self, stream: &Stream, far: &FarField<T>, grid: &BoxGrid) -> Result<bool, DeviceError> {
        let stretch = stretch(&self.reference, &grid.basis);
        let is_far = stretch.iter().any(|along| along.abs() > FARTHEST);
        if is_far {
            self.set_reference(stream, far, grid)?;
        } else {
            self.enqueue_shape(stream, far, stretch)?;
        }
        Ok(is_far)
    }

    fn enqueue_shape(
        &self,
        stream: &Stream,
        far: &FarField<T>,
        [along_x, along_y]: [f64; 2],
    ) -> Result<(), DeviceError> {
        let arguments = ShapeArgs {
            tables: self.tables.arg(),
            out: far.operators.coefficients.arg(),
            slope_x: self.slopes[0].arg(),
            slope_y: self.slopes[1].arg(),
            along_x,
            along_y,
            n: self.n as i32,
            unused: 0,
        };
        stream.launch(&self.shape, Launch::for_each(self.n, THREADS as u32), arguments)
    }

    /// Adds −M† T'_a M / 2c of the three axes to `sums` from `first` on, of the particles `sorted` into boxes; what `far` has made of them is made again.
    ///
    /// # Errors
    /// What the driver says against a launch.
    pub fn enqueue_slopes(
        &self,
        stream: &Stream,
        far: &FarField<T>,
        (sorted, starts): (&Buffer<T>, &Buffer<u32>),
        (geometry, strength): (In<'_, BoxGeometry>, f64),
        (sums, first): (&Buffer<i64>, usize),
    ) -> Result<(), DeviceError> {
        for step in [Step::Multipoles, Step::Forward] {
            far.enqueue_step(step, stream, sorted, starts, sorted)?;
        }
        stream.copy(&far.waves, &self.multipoles)?;
        for (axis, slopes) in self.slopes.iter().enumerate() {
            if axis > 0 {
                stream.copy(&self.multipoles, &far.waves)?;
            }
            far.enqueue_operators(stream, slopes.into())?;
            let arguments = SlopeArgs {
                multipoles: (&self.multipoles).into(),
                locals: (&far.waves).into(),
                geometry,
                sums: Out::from_element(sums, first),
                strength,
                axis: axis as i32,
                unused: 0,
            };
            stream.launch(&self.slope, Launch::new(BLOCKS, THREADS as u32), arguments)?;
        }
        Ok(())
    }
}

/// ε_x and ε_y that lead from boxes of the edges `from` to those of `to`, both along the axes and of one volume.
fn stretch(from: &[[f64; 3]; 3], to: &[[f64; 3]; 3]) -> [f64; 2] {
    let [x, y, z] = [0, 1, 2].map(|a| (to[a][a] / from[a][a]).ln());
    let mean = (x + y + z) / 3.0;
    let [x, y] = [x - mean, y - mean];
    [2.0 * x + y, 2.0 * y + x]
}

/// T, T_x, T_y, T_xx, T_xy and T_yy of the coefficients of all operators about the shape of `grid`.
fn polynomial<T: Real>(grid: &BoxGrid, order: usize) -> Vec<T> {
    let at = |x: f64, y: f64| tables::coefficients::<f64>(&stretched(&stretched(grid, 0, x), 1, y), order);
    let h = STEP;
    let middle = at(0.0, 0.0);
    let ([more_x, less_x], [more_y, less_y]) = ([at(h, 0.0), at(-h, 0.0)], [at(0.0, h), at(0.0, -h)]);
    let [more, less] = [at(h, h), at(-h, -h)];
    let all = |value: &dyn Fn(usize) -> f64| (0..middle.len()).map(value).collect::<Vec<f64>>();
    let first = |more: &[f64], less: &[f64]| all(&|i| (more[i] - less[i]) / (2.0 * h));
    let second = |more: &[f64], less: &[f64]| all(&|i| (more[i] - 2.0 * middle[i] + less[i]) / (h * h));
    let (xx, yy, both) = (second(&more_x, &less_x), second(&more_y, &less_y), second(&more, &less));
    let mixed = all(&|i| 0.5 * (both[i] - xx[i] - yy[i]));
    let parts = [middle.clone(), first(&more_x, &less_x), first(&more_y, &less_y), xx, mixed, yy];
    parts.into_iter().flatten().map(T::of).collect()
}

/// The kernels for the plan of `far`.
fn source<T: Real>(far: &FarField<T>) -> Source {
    cut::<T>("far_shape", include_str!("shape.cu"), &far.plan, (THREADS, 1))
        .kernel::<ShapeArgs<'static, T>>("far_shape")
        .kernel::<SlopeArgs<'static, T>>("far_slope")
}
