//! P2M and the transform along z of the far field: arguments and source of `multipoles.cu`.

use kernels::Real;
use kernels::device::{In, Out, Source, arguments};

use super::{HARMONICS, Plan, cut};

arguments! {
    /// Arguments of `far_multipoles`.
    pub(super) struct MultipoleArgs<'a, T: Real> {
        /// x', y', z', q by place.
        particles: In<'a, [T; 4]>,
        /// First place of each leaf, and the end.
        starts: In<'a, u32>,
        /// Cosines and sines of a line along z.
        table_z: In<'a, [T; 2]>,
        /// `[κ₂][x][y][channel]`, complex.
        columns: Out<'a, [T; 2]>,
    }
}

/// The kernel for a plan.
pub(super) fn source<T: Real>(plan: &Plan) -> Source {
    cut::<T>("far_multipoles", include_str!("multipoles.cu"), plan, (plan.column_threads, plan.column_waves))
        .header(HARMONICS)
        .define("ROWS", plan.rows)
        .early_kernel::<MultipoleArgs<'static, T>>("far_multipoles")
}
