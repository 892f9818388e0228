//! Particle to particle: the near field of one leaf.
//!
//! ```text
//! φ_i += Σ_j q_j / r_ij        E_i += Σ_j q_j (x_i − x_j) / r_ij³        k_e = 1
//! ```
//!
//! for all targets i (whatever their own charge) and all gathered sources j except the pairs of
//! [`LeafExceptions`]. Every pair is computed from both sides, so that targets are independent of each other.
//! A few targets stay in registers and share each loaded vector of sources. Sums run in the precision of `T`, in an
//! order that depends on the instruction set only.
//!
//! A distance of zero that is not an exception gives an infinite or undefined result: the caller checks.

mod registers;

use crate::dispatch::{InstructionSet, RegisterKernel};
use crate::{CHUNK, Isa, LeafExceptions, Points, Real, SourceBlock, TARGET_BLOCK};

/// Potential and field at the targets, for one charge vector after the other: each slice has as many elements as there are targets, times the charge vectors.
#[derive(Debug)]
pub struct FieldMut<'a, T> {
    /// φ.
    pub phi: &'a mut [T],
    /// E_x.
    pub ex: &'a mut [T],
    /// E_y.
    pub ey: &'a mut [T],
    /// E_z.
    pub ez: &'a mut [T],
}

/// Add potential and field of `sources` at `targets` to `out`, for each charge vector of `sources`, with
/// the fastest instruction set of this machine. The sums of a charge vector do not depend on which others there are, not in the last bit.
///
/// # Panics
/// If lengths disagree: the slices of `out` with targets and charge vectors, `exceptions` with targets and sources.
pub fn p2p<T: Real>(
    targets: Points<'_, T>,
    sources: &SourceBlock<T>,
    exceptions: LeafExceptions<'_>,
    out: FieldMut<'_, T>,
) {
    p2p_on(Isa::best(), targets, sources, exceptions, out);
}

/// [`p2p`] with a given instruction set.
///
/// # Panics
/// Where [`p2p`] does, and if the instruction set is not available.
pub fn p2p_on<T: Real>(
    isa: Isa,
    targets: Points<'_, T>,
    sources: &SourceBlock<T>,
    exceptions: LeafExceptions<'_>,
    out: FieldMut<'_, T>,
) {
    let n = targets.len();
    assert_eq!(exceptions.n_targets, n, "exceptions and targets differ in number");
    assert_eq!(exceptions.n_sources, sources.len(), "exceptions and sources differ in number");
    let lengths = [out.phi.len(), out.ex.len(), out.ey.len(), out.ez.len()];
    assert_eq!(lengths, [n * sources.n_vec(); 4], "there must be one result for each target and charge vector");
    T::near_field(isa, NearField { targets, sources, exceptions, out });
}

/// Arguments of [`p2p_on`] after their lengths were checked.
#[derive(Debug)]
pub struct NearField<'a, T> {
    targets: Points<'a, T>,
    sources: &'a SourceBlock<T>,
    exceptions: LeafExceptions<'a>,
    out: FieldMut<'a, T>,
}

impl<T: Real> RegisterKernel for NearField<'_, T> {
    type Output = ();
    /// The number of targets that stay in registers depends on how many registers there are: 32, on AVX2 16.
    #[inline(always)]
    fn run<S: InstructionSet>(self, _: S) {
        let Self { targets, sources, exceptions, out } = self;
        // SAFETY: `S` is available; `p2p_on` has checked the lengths.
        unsafe {
            match S::ISA {
                Isa::Portable => p2p_portable(targets, sources, exceptions, out),
                Isa::Avx2 => registers::all_blocks::<S::Register<T>, 2>(targets, sources, exceptions, out),
                Isa::Avx512 | Isa::Neon => {
                    registers::all_blocks::<S::Register<T>, 4>(targets, sources, exceptions, out)
                }
            }
        }
    }
}

/// Target by target, a chunk of sources at a time.
fn p2p_portable<T: Real>(
    targets: Points<'_, T>,
    sources: &SourceBlock<T>,
    exceptions: LeafExceptions<'_>,
    out: FieldMut<'_, T>,
) {
    let n = targets.len();
    for v in 0..sources.n_vec() {
        let [sx, sy, sz, q] = [0, 1, 2, 3 + v].map(|row| sources.row(row).as_chunks::<CHUNK>().0);
        for i in 0..n {
            let mut skips = exceptions.of_block(i / TARGET_BLOCK).iter().peekable();
            let mut sums = [[T::zero(); CHUNK]; 4];
            for chunk in 0..q.len() {
                let [x, y, z, q] = [&sx[chunk], &sy[chunk], &sz[chunk], &q[chunk]];
                let d: [[T; 3]; CHUNK] =
                    std::array::from_fn(|j| [targets.x[i] - x[j], targets.y[i] - y[j], targets.z[i] - z[j]]);
                let mut inverse = d.map(|[x, y, z]| (x * x + y * y + z * z).sqrt().recip());
                if let Some(e) = skips.next_if(|e| e.chunk as usize == chunk) {
                    let skip = e.skip[i % TARGET_BLOCK];
                    (0..CHUNK).filter(|j| skip & (1 << j) != 0).for_each(|j| inverse[j] = T::zero());
                }
                for j in 0..CHUNK {
                    let phi = q[j] * inverse[j];
                    let slope = phi * inverse[j] * inverse[j];
                    sums[0][j] += phi;
                    sums[1][j] += slope * d[j][0];
                    sums[2][j] += slope * d[j][1];
                    sums[3][j] += slope * d[j][2];
                }
            }
            let [phi, ex, ey, ez] = sums.map(|lanes| lanes.into_iter().sum::<T>());
            for (o, sum) in [&mut *out.phi, out.ex, out.ey, out.ez].into_iter().zip([phi, ex, ey, ez]) {
                o[v * n + i] += sum;
            }
        }
    }
}

#[cfg(test)]
mod tests;
