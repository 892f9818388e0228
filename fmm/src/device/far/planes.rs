//! The transforms along x and y of the far field: arguments and source of `planes.cu`.

use kernels::Real;
use kernels::device::{In, Out, Source, arguments};

use super::{Plan, cut};

arguments! {
    /// Arguments of `far_forward` and `far_back`.
    pub(super) struct PlaneArgs<'a, T: Real> {
        /// Columns forwards, waves back.
        from: In<'a, [T; 2]>,
        /// Cosines and sines of a line along x, then of one along y.
        tables: In<'a, [T; 2]>,
        /// Phases of the shear along x.
        turns_x: In<'a, [T; 2]>,
        /// Phases of the shear along y.
        turns_y: In<'a, [T; 2]>,
        /// Waves forwards, columns back.
        to: Out<'a, [T; 2]>,
    }
}

/// Both kernels for a plan.
pub(super) fn source<T: Real>(plan: &Plan) -> Source {
    cut::<T>("far_planes", include_str!("planes.cu"), plan, (plan.plane_threads(), plan.plane_waves))
        .define("CG", plan.channels)
        .define("PER_ROUND", plan.lines)
        .define("SHEARED", u32::from(plan.sheared))
        .early_kernel::<PlaneArgs<'static, T>>("far_forward")
        .early_kernel::<PlaneArgs<'static, T>>("far_back")
}
