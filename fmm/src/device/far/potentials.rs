//! The transform back along z and L2P of the far field: arguments and source of `potentials.cu`.

use kernels::Real;
use kernels::device::{In, Out, Source, arguments};

use super::{HARMONICS, Plan, cut};

arguments! {
    /// Arguments of `far_potentials`.
    pub(super) struct PotentialArgs<'a, T: Real> {
        /// `[κ₂][x][y][channel]`, complex.
        columns: In<'a, [T; 2]>,
        /// Cosines and sines of a line along z.
        table_z: In<'a, [T; 2]>,
        /// Channels that the field of each channel comes from.
        gradient: In<'a, i32>,
        /// Their weights.
        weights: In<'a, T>,
        /// x', y', z', q by place.
        particles: In<'a, [T; 4]>,
        /// First place of each leaf, and the end.
        starts: In<'a, u32>,
        /// φ', E' by place.
        out: Out<'a, [T; 4]>,
    }
}

/// The kernel for a plan.
pub(super) fn source<T: Real>(plan: &Plan) -> Source {
    let strands = (plan.column_threads / crate::harmonics::count(plan.order)).max(1);
    cut::<T>("far_potentials", include_str!("potentials.cu"), plan, (plan.column_threads, plan.column_waves))
        .header(HARMONICS)
        .define("BOXES", plan.boxes)
        .define("STRANDS", strands)
        .early_kernel::<PotentialArgs<'static, T>>("far_potentials")
}
