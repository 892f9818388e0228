//! Lennard-Jones energies, forces and virial of the Verlet list: one atom against eight at a time.
//!
//! Per pair inside the cut-off, with u = 1/r², p = u³ (the potential of [`modifier`](super::modifier)):
//! V = c12 p² − c6 p minus the constants; r·F = 12 c12 p² − 6 c6 p plus the switch. Forces (r·F) r⃗ u are summed per atom;
//! every pair is met twice, so energy and virial are halved. c6 and c12 of the eight atoms with atoms of one class are
//! stored side by side ([`Coefficients`]), so that any combination rule and any exception to it cost the same two loads.

use super::list::{Chunk, Clusters, image_shift};
use super::modifier::Modified;
use super::simd::{Lane, Level, Simd};
use crate::cell::Cell;
use crate::energy::TermEnergy;

/// Treatment at the cut-off as a constant of the compiled kernel.
const PLAIN: u8 = 0;
const SHIFTED: u8 = 1;
const SWITCHED: u8 = 2;

/// c6 and c12 of every cluster against every class of atoms with equal parameters.
#[derive(Clone, Debug, Default)]
pub(super) struct Coefficients {
    /// \[class · clusters + cluster\]: c6 and c12 of its eight atoms, 0 in the padding.
    pub pairs: Vec<[Lane; 2]>,
    /// Class of the atom of each slot.
    pub class: Vec<u32>,
}

/// What the kernel reads.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub clusters: &'a Clusters,
    pub coefficients: &'a Coefficients,
    pub modified: &'a Modified,
    pub cell: Cell,
}

/// Energy and virial of a chunk; its forces are written into it.
pub(super) fn evaluate(level: Level, input: Input, chunk: &mut Chunk) -> TermEnergy {
    match level {
        // SAFETY: the value of the variant exists only where the processor has the instructions.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512(s) => unsafe { evaluate_avx512(s, input, chunk) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2(s) => unsafe { evaluate_avx2(s, input, chunk) },
        Level::Scalar(s) => evaluate_generic(s, input, chunk),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
fn evaluate_avx512(s: super::simd::Avx512, input: Input, chunk: &mut Chunk) -> TermEnergy {
    evaluate_generic(s, input, chunk)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn evaluate_avx2(s: super::simd::Avx2, input: Input, chunk: &mut Chunk) -> TermEnergy {
    evaluate_generic(s, input, chunk)
}

#[inline(always)]
fn evaluate_generic<S: Simd>(s: S, input: Input, chunk: &mut Chunk) -> TermEnergy {
    if input.modified.r_switch < input.modified.cutoff {
        chunk_energy::<S, SWITCHED>(s, input, chunk)
    } else if input.modified.six.shift != 0.0 {
        chunk_energy::<S, SHIFTED>(s, input, chunk)
    } else {
        chunk_energy::<S, PLAIN>(s, input, chunk)
    }
}

/// Constants of the modified powers in all lanes; A and B divided by 6 as the virial is accumulated.
struct Splats<V> {
    cutoff2: V,
    r_switch: V,
    zero: V,
    force6: [V; 2],
    force12: [V; 2],
    energy6: [V; 3],
    energy12: [V; 3],
}

impl<V: Copy> Splats<V> {
    #[inline(always)]
    fn new<S: Simd<V = V>>(s: S, m: &Modified) -> Self {
        Self {
            cutoff2: s.splat(m.cutoff * m.cutoff),
            r_switch: s.splat(m.r_switch),
            zero: s.splat(0.0),
            force6: [s.splat(m.six.a / 6.0), s.splat(m.six.b / 6.0)],
            force12: [s.splat(m.twelve.a / 6.0), s.splat(m.twelve.b / 6.0)],
            energy6: [s.splat(m.six.shift), s.splat(m.six.a / 3.0), s.splat(m.six.b / 4.0)],
            energy12: [s.splat(m.twelve.shift), s.splat(m.twelve.a / 3.0), s.splat(m.twelve.b / 4.0)],
        }
    }
}

#[inline(always)]
fn chunk_energy<S: Simd, const MODE: u8>(s: S, input: Input, chunk: &mut Chunk) -> TermEnergy {
    let k = Splats::new(s, input.modified);
    let n_clusters = input.clusters.filled.len();
    let edges = input.cell.edges().unwrap_or_default();
    let (mut energy, mut virial) = (k.zero, k.zero);
    chunk.forces.fill([0.0; 3]);
    for run in &chunk.runs {
        let slot = run.slot as usize;
        let (r, shift) = (input.clusters.position(slot), image_shift(run.image as usize));
        let [x, y, z]: [S::V; 3] = std::array::from_fn(|d| s.splat(r[d] + shift[d] * edges[d]));
        let row = &input.coefficients.pairs[input.coefficients.class[slot] as usize * n_clusters..][..n_clusters];
        let (mut fx, mut fy, mut fz) = (k.zero, k.zero, k.zero);
        for &entry in &chunk.entries[run.start as usize..run.end as usize] {
            let (cluster, bits) = ((entry >> 8) as usize, entry as u8);
            let [jx, jy, jz] = &input.clusters.xyz[cluster];
            let (dx, dy, dz) = (s.sub(x, s.load(jx)), s.sub(y, s.load(jy)), s.sub(z, s.load(jz)));
            let r2 = s.fma(dz, dz, s.fma(dy, dy, s.mul(dx, dx)));
            let inside = s.less(r2, k.cutoff2, bits);
            let (c6, c12) = (s.load(&row[cluster][0]), s.load(&row[cluster][1]));
            let (v, w, u) = pair::<S, MODE>(s, &k, inside, r2, c6, c12);
            energy = s.add(energy, v);
            virial = s.add(virial, w);
            let f = s.mul(w, u);
            fx = s.fma(f, dx, fx);
            fy = s.fma(f, dy, fy);
            fz = s.fma(f, dz, fz);
        }
        let force = &mut chunk.forces[slot - chunk.first_slot];
        force[0] += 6.0 * s.sum(fx);
        force[1] += 6.0 * s.sum(fy);
        force[2] += 6.0 * s.sum(fz);
    }
    TermEnergy { energy: 0.5 * s.sum(energy), virial: 3.0 * s.sum(virial) }
}

/// V, r·F / 6 and 1/r² of eight pairs, zero outside the cut-off.
#[inline(always)]
fn pair<S: Simd, const MODE: u8>(
    s: S,
    k: &Splats<S::V>,
    inside: S::M,
    r2: S::V,
    c6: S::V,
    c12: S::V,
) -> (S::V, S::V, S::V) {
    let (u, inverse) = if MODE == SWITCHED {
        let inverse = s.rsqrt(inside, r2);
        (s.mul(inverse, inverse), inverse)
    } else {
        (s.recip(inside, r2), k.zero)
    };
    let p = s.mul(s.mul(u, u), u);
    let repulsion = s.mul(s.mul(c12, p), p);
    let plain = s.fnma(c6, p, repulsion);
    let w = s.add(repulsion, plain);
    match MODE {
        PLAIN => (plain, w, u),
        SHIFTED => {
            let constant = s.fnma(c6, k.energy6[0], s.mul(c12, k.energy12[0]));
            (s.sub(plain, s.keep(inside, constant)), w, u)
        }
        _ => {
            let r = s.mul(r2, inverse);
            let x = s.max(s.sub(r, k.r_switch), k.zero);
            let x2 = s.mul(x, x);
            let force = |[a, b]: [S::V; 2]| s.fma(b, x, a);
            let extra = s.mul(s.mul(r, x2), s.fnma(c6, force(k.force6), s.mul(c12, force(k.force12))));
            let x3 = s.mul(x2, x);
            let constant = |[c, a, b]: [S::V; 3]| s.fma(x3, s.fma(b, x, a), c);
            let off = s.fnma(c6, constant(k.energy6), s.mul(c12, constant(k.energy12)));
            (s.sub(plain, s.keep(inside, off)), s.add(w, s.keep(inside, extra)), u)
        }
    }
}
