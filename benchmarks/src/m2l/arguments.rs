//! Arguments of the kernels of the published schemes.

use kernels::Real;
use kernels::device::{In, Out, arguments};

arguments! {
    /// Arguments of `naive`, `grouped`, `basic` and `siblings`.
    pub(super) struct WalkArgs<'a, T: Real> {
        multipoles: In<'a, T>,
        locals: Out<'a, T>,
        operators: In<'a, T>,
        slots: In<'a, i32>,
        n: i32,
        periodic: i32,
    }

    /// Arguments of `clusters`.
    pub(super) struct ClusterArgs<'a, T: Real> {
        multipoles: In<'a, T>,
        out: Out<'a, T>,
        operators: In<'a, T>,
        offsets: In<'a, i32>,
        n_offsets: i32,
        n: i32,
        periodic: i32,
    }

    /// Arguments of `add_slices`.
    pub(super) struct SliceArgs<'a, T: Real> {
        parts: In<'a, T>,
        locals: Out<'a, T>,
        slices: i32,
        length: i32,
    }

    /// Arguments of `symmetric`.
    pub(super) struct SymmetricArgs<'a, T: Real> {
        multipoles: In<'a, T>,
        locals: Out<'a, T>,
        operators: In<'a, T>,
        targets: In<'a, u32>,
        starts: In<'a, u32>,
        entries: In<'a, u32>,
        sources: In<'a, u32>,
        bitsets: In<'a, u32>,
        exchange: In<'a, u32>,
    }
}
