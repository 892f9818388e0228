//! The convolution over a root grid whose boxes are refined: from multipoles to local expansions.

use bytemuck::Pod;
use kernels::Real;
use kernels::device::{Buffer, Device, DeviceError, In, Kernel, Launch, Out, Source, Stream, arguments};

use super::{FarField, LINES, Plan, Step, tables};
use crate::device::products::row_length;
use crate::device::real_name;
use crate::geometry::grid::BoxGrid;

arguments! {
    /// Arguments of `root_columns`.
    struct RootColumnArgs<'a, T: Real> {
        /// Multipoles, a row for each box.
        rows: In<'a, T>,
        /// Cosines and sines of a line along z.
        table: In<'a, [T; 2]>,
        columns: Out<'a, [T; 2]>,
    }

    /// Arguments of `root_locals`.
    struct RootLocalArgs<'a, T: Real> {
        columns: In<'a, [T; 2]>,
        /// Cosines and sines of a line along z.
        table: In<'a, [T; 2]>,
        /// Local expansions, a row for each box.
        rows: Out<'a, T>,
    }
}

/// Threads of a column of boxes.
const THREADS: usize = 128;

/// [`FarField`] between expansions instead of particles.
pub struct RootField<T: Real> {
    far: FarField<T>,
    to_columns: Kernel<RootColumnArgs<'static, T>>,
    to_locals: Kernel<RootLocalArgs<'static, T>>,
    nothing: (Buffer<T>, Buffer<u32>),
}

impl<T: Real + Pod> RootField<T> {
    /// For expansions of order `order` on `grid`.
    ///
    /// # Errors
    /// As [`FarField::new`].
    pub fn new(device: &Device, grid: &BoxGrid, order: usize) -> Result<Self, DeviceError> {
        let far = FarField::new(device, grid, order, grid.topology.len())?;
        let module = device.compile(&source::<T>(&far.plan))?;
        Ok(Self {
            to_columns: module.kernel("root_columns")?,
            to_locals: module.kernel("root_locals")?,
            nothing: (device.zeros(1)?, device.zeros(1)?),
            far,
        })
    }

    /// Local expansions that the multipoles of all boxes and images that are not near make, overwritten; rows of
    /// [`row_length`] in the order of [`places`], one for each box, z fastest.
    ///
    /// # Errors
    /// [`DeviceError::Length`] if `multipoles` or `locals` lacks a row; what the device says against a launch.
    pub fn enqueue(&self, stream: &Stream, multipoles: &Buffer<T>, locals: &Buffer<T>) -> Result<(), DeviceError> {
        let room = self.far.plan.shape.iter().product::<usize>() * row_length(self.far.plan.order);
        multipoles.holds(room)?;
        locals.holds(room)?;
        let (far, (particles, starts)) = (&self.far, &self.nothing);
        let (columns, complex) = (far.plan.columns() as u32, 2 * far.plan.stride * far.plan.real);
        let (table, launch) = (far.tables[0].arg(), Launch::new(columns, THREADS as u32));
        let shared = (far.plan.shape[2] * complex / 2) as u32;
        let arguments = RootColumnArgs { rows: multipoles.arg(), table, columns: far.columns.arg() };
        stream.launch(&self.to_columns, launch.with_shared(shared), arguments)?;
        for step in [Step::Forward, Step::Operators, Step::Back] {
            far.enqueue_step(step, stream, particles, starts, particles)?;
        }
        let shared = (far.plan.half() * complex) as u32;
        let arguments = RootLocalArgs { columns: far.columns.arg(), table, rows: locals.arg() };
        stream.launch(&self.to_locals, launch.with_shared(shared), arguments)
    }
}

/// The transforms along z.
pub(super) fn source<T: Real>(plan: &Plan) -> Source {
    let ([mx, my, mz], [_, _, nz]) = (plan.shape, plan.cycle);
    Source::new("far_root", include_str!("root.cu"))
        .header(LINES)
        .define("REAL", real_name::<T>())
        .define("MX", mx)
        .define("MY", my)
        .define("MZ", mz)
        .define("NZ", nz)
        .define("KS", plan.stride)
        .define("KB", plan.column_waves)
        .define("ROW", row_length(plan.order))
        .define("THREADS", THREADS)
        .kernel::<RootColumnArgs<'static, T>>("root_columns")
        .kernel::<RootLocalArgs<'static, T>>("root_locals")
}

/// Place in a row of each coefficient, by its index.
pub fn places(order: usize) -> Vec<usize> {
    tables::places(order)
}
