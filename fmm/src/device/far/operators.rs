//! The operators of all wave vectors: arguments and source of `operators.cu`.

use kernels::Real;
use kernels::device::{In, Out, Source, arguments, structure};

use super::{Plan, cut};

structure! {
    /// What a channel needs.
    pub struct Channel {
        /// Where it goes in the sources.
        pub at: i32,
        /// Its degree.
        pub degree: i32,
        /// 1 if it changes sign with x, else 0.
        pub is_odd_x: i32,
        /// 1 if it changes sign with y, else 0.
        pub is_odd_y: i32,
    }

    /// Source (j, k).
    pub struct Origin {
        /// Place of V_jk in the square of all V_LM (at L² + L + M).
        pub plus: i32,
        /// Place of V_{j,−k}.
        pub minus: i32,
        /// 2j.
        pub twice: i32,
        /// Whether k is odd.
        pub is_odd: i32,
    }
}

arguments! {
    /// Arguments of `far_operators`.
    pub(super) struct OperatorArgs<'a, T: Real> {
        /// V_LM of each operator, M ≥ 0.
        coefficients: In<'a, [T; 2]>,
        /// Where V_LM and V_{L,−M} go in the square of all.
        places: In<'a, i32>,
        channels: In<'a, Channel>,
        scales: In<'a, T>,
        origins: In<'a, Origin>,
        /// First target (l, m) of each tile.
        tiles: In<'a, [i32; 2]>,
        /// `[κ₂][κ₀][κ₁][channel]`, complex; in place.
        waves: Out<'a, [T; 2]>,
        n_tiles: i32,
    }
}

/// The kernel for a plan.
pub(super) fn source<T: Real>(plan: &Plan) -> Source {
    cut::<T>("far_operators", include_str!("operators.cu"), plan, (plan.operator_threads, 1))
        .define("IMAGES", plan.images)
        .define("ROWS", plan.tile)
        .define("UNIQUE_Y", plan.unique[1])
        .early_kernel::<OperatorArgs<'static, T>>("far_operators")
}
