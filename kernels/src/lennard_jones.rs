//! Lennard-Jones: one point against clusters of eight at a time.
//!
//! Per pair inside the cut-off, with u = 1/r² and p = u³:
//!
//! ```text
//! V = c12 p² − c6 p − constants        r·F = 12 c12 p² − 6 c6 p + switch        F = (r·F) r⃗ u
//! ```
//!
//! Each power may be modified at the cut-off ([`Modified`]). The caller lists which clusters a point meets ([`Entry`], [`Run`]), every pair
//! from both sides, so that the force on a point is summed in one place and in one order; energy and virial are halved for it. c6 and c12
//! of the eight points of a cluster with points of one class stand side by side, so that any combination rule costs the same two loads.
//! Units are the caller's: lengths of the positions, energies of c6 and c12.

use crate::{CacheLine, Isa, Vector, VectorKernel, dispatch_vectors_on};

/// Points in a cluster.
pub const CLUSTER: usize = 8;

/// One number for each point of a cluster.
pub type Eight = CacheLine<f64, CLUSTER>;

/// Constants of the modified power 1/r^α, α = 6 or 12:
/// V_α = 1/r^α − a x³/3 − b x⁴/4 − shift and −dV_α/dr = α/r^(α+1) + a x² + b x³ with x = max(r − r_switch, 0).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Power {
    /// Factor of x² in the force.
    pub a: f64,
    /// Factor of x³ in the force.
    pub b: f64,
    /// Constant taken off the potential.
    pub shift: f64,
}

/// Both powers modified for one cut-off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modified {
    /// Distance from which on there is no interaction.
    pub cutoff: f64,
    /// Start of the switch; equal to the cut-off without a switch.
    pub r_switch: f64,
    /// 1/r⁶.
    pub six: Power,
    /// 1/r¹².
    pub twelve: Power,
}

/// Points in clusters of [`CLUSTER`].
#[derive(Clone, Copy, Debug)]
pub struct Clusters<'a> {
    /// Coordinates x, y, z of each cluster.
    pub positions: &'a [[Eight; 3]],
    /// Bits of the places of each cluster that hold a point.
    pub filled: &'a [u8],
}

/// A cluster that a point may meet, and which points of it: cluster · 256 + bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry(u32);

impl Entry {
    /// Clusters that an entry can number.
    pub const MAX_CLUSTERS: usize = 1 << 24;

    /// The places of `cluster` (below [`Entry::MAX_CLUSTERS`]) whose bit is set.
    #[inline]
    pub fn new(cluster: u32, bits: u8) -> Self {
        Self(cluster << 8 | u32::from(bits))
    }

    /// Its cluster.
    #[inline]
    pub fn cluster(self) -> u32 {
        self.0 >> 8
    }

    /// Bits of the points that are met.
    #[inline]
    pub fn bits(self) -> u8 {
        self.0 as u8
    }

    /// Take the point at `place` (below [`CLUSTER`]) out.
    #[inline]
    pub fn remove(&mut self, place: usize) {
        self.0 &= !(1 << place);
    }
}

/// The entries of one point in one of its periodic images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// Place of the point, counted through all clusters.
    pub slot: u32,
    /// Whole edges a, b, c of the box by which the point is displaced.
    pub image: [i8; 3],
    /// First of its entries.
    pub start: u32,
    /// End of its entries.
    pub end: u32,
}

/// Which points meet which clusters, and with which coefficients.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    /// All points.
    pub clusters: Clusters<'a>,
    /// Edges a, b, c of the box, lower-triangular; they do not count where every image is zero.
    pub rows: [[f64; 3]; 3],
    /// c6 and c12 of every cluster with points of a class, at \[class · (number of clusters) + cluster\]; finite also where there is no point.
    pub coefficients: &'a [[Eight; 2]],
    /// Class of each slot.
    pub classes: &'a [u32],
    /// The points that meet anything.
    pub runs: &'a [Run],
    /// Their entries.
    pub entries: &'a [Entry],
}

/// Half the sums over all pairs met.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    /// Energy.
    pub energy: f64,
    /// Virial Σ r·F.
    pub virial: f64,
    /// What images add to the virial along each axis: Σ d_a F_a over the runs, d the displacement of a run and F its force. With Σ x_a F_a over all
    /// points it is the virial along the axis, where every pair is met from both sides.
    pub images: [f64; 3],
}

/// Energy and virial of `pairs`; the forces of the slots from `first_slot` on replace what `forces` held.
///
/// NEON takes the portable arithmetic, which has always been that of these processors, so that their results stay what they are.
///
/// # Panics
/// If the instruction set is not available, an index lies outside its slice, or a run has a slot that `forces` does not have.
pub fn lennard_jones_on(
    isa: Isa,
    pairs: Pairs<'_>,
    modified: &Modified,
    first_slot: usize,
    forces: &mut [[f64; 3]],
) -> Sums {
    forces.fill([0.0; 3]);
    let kernel = AllRuns { pairs, modified, first_slot, forces };
    dispatch_vectors_on(arithmetic_of(isa), kernel)
}

/// The points of one cluster, displaced, that look for what is near them.
#[derive(Clone, Copy, Debug)]
pub struct Seekers {
    /// Their cluster.
    pub cluster: u32,
    /// Added to their coordinates.
    pub shift: [f64; 3],
    /// Square of the distance within which another point is near.
    pub limit: f64,
}

/// For each point of `seekers` in turn, append those of `candidates` that have a point near it to `entries`, in their order and with all their
/// points. Returns where the entries of each place of the cluster end; a place without a point has none.
///
/// # Panics
/// If the instruction set is not available or there is no such cluster.
pub fn select_near_on(
    isa: Isa,
    clusters: Clusters<'_>,
    candidates: &[u32],
    seekers: Seekers,
    entries: &mut Vec<Entry>,
) -> [usize; CLUSTER] {
    dispatch_vectors_on(arithmetic_of(isa), Select { clusters, candidates, seekers, entries })
}

fn arithmetic_of(isa: Isa) -> Isa {
    if isa == Isa::Neon { Isa::Portable } else { isa }
}

struct Select<'a> {
    clusters: Clusters<'a>,
    candidates: &'a [u32],
    seekers: Seekers,
    entries: &'a mut Vec<Entry>,
}

impl VectorKernel<f64> for Select<'_> {
    type Output = [usize; CLUSTER];
    #[inline(always)]
    fn run<V: Vector<Elem = f64, Line = Eight>>(self, zero: V) -> [usize; CLUSTER] {
        let Self { clusters, candidates, seekers: Seekers { cluster, shift, limit }, entries } = self;
        let own = &clusters.positions[cluster as usize];
        let limit = zero.splat(limit);
        let mut ends = [0; CLUSTER];
        for (place, end) in ends.iter_mut().enumerate() {
            if clusters.filled[cluster as usize] >> place & 1 == 1 {
                let position = std::array::from_fn(|d| zero.splat(own[d].0[place] + shift[d]));
                // An entry is always written and kept if it is near, because a branch on that cannot be predicted.
                let start = entries.len();
                entries.resize(start + candidates.len(), Entry::default());
                let found = select(clusters, candidates, position, limit, &mut entries[start..]);
                entries.truncate(start + found);
            }
            *end = entries.len();
        }
        ends
    }
}

/// Writes the clusters near `position` to `found`, which has room for all `candidates`; returns their number.
#[inline(always)]
fn select<V: Vector<Elem = f64, Line = Eight>>(
    clusters: Clusters<'_>,
    candidates: &[u32],
    position: [V; 3],
    limit: V,
    found: &mut [Entry],
) -> usize {
    let mut next = 0;
    for &cluster in candidates {
        let (others, filled) = (&clusters.positions[cluster as usize], clusters.filled[cluster as usize]);
        let [dx, dy, dz] = difference(position, others);
        let r2 = dz.mul_add(dz, dy.mul_add(dy, dx.mul(dx)));
        found[next] = Entry::new(cluster, filled);
        next += usize::from(limit.any(r2.less(limit, u16::from(filled))));
    }
    next
}

/// What is done at the cut-off, as a constant of the compiled kernel.
const PLAIN: u8 = 0;
const SHIFTED: u8 = 1;
const SWITCHED: u8 = 2;

struct AllRuns<'a> {
    pairs: Pairs<'a>,
    modified: &'a Modified,
    first_slot: usize,
    forces: &'a mut [[f64; 3]],
}

impl VectorKernel<f64> for AllRuns<'_> {
    type Output = Sums;
    #[inline(always)]
    fn run<V: Vector<Elem = f64, Line = Eight>>(self, zero: V) -> Sums {
        if self.modified.r_switch < self.modified.cutoff {
            self.sums::<V, SWITCHED>(zero)
        } else if self.modified.six.shift != 0.0 {
            self.sums::<V, SHIFTED>(zero)
        } else {
            self.sums::<V, PLAIN>(zero)
        }
    }
}

impl AllRuns<'_> {
    #[inline(always)]
    fn sums<V: Vector<Elem = f64, Line = Eight>, const MODE: u8>(self, zero: V) -> Sums {
        let Self { pairs, modified, first_slot, forces } = self;
        let constants = Constants::new(zero, modified);
        let Clusters { positions, filled } = pairs.clusters;
        let n_clusters = filled.len();
        let (mut energy, mut virial, mut images) = (zero, zero, [0.0; 3]);
        for run in pairs.runs {
            let slot = run.slot as usize;
            let [xs, ys, zs] = &positions[slot / CLUSTER];
            let r = [xs, ys, zs].map(|c| c.0[slot % CLUSTER]);
            let [[ax, ..], [bx, by, _], [cx, cy, cz]] = pairs.rows;
            let [i, j, k] = run.image.map(f64::from);
            let shift = [i * ax + j * bx + k * cx, j * by + k * cy, k * cz];
            let position: [V; 3] = std::array::from_fn(|d| zero.splat(r[d] + shift[d]));
            let row = &pairs.coefficients[pairs.classes[slot] as usize * n_clusters..][..n_clusters];
            let (mut fx, mut fy, mut fz) = (zero, zero, zero);
            for entry in &pairs.entries[run.start as usize..run.end as usize] {
                let cluster = entry.cluster() as usize;
                let [dx, dy, dz] = difference(position, &positions[cluster]);
                let r2 = dz.mul_add(dz, dy.mul_add(dy, dx.mul(dx)));
                let inside = r2.less(constants.cutoff2, u16::from(entry.bits()));
                let [c6, c12] = [zero.load(&row[cluster][0]), zero.load(&row[cluster][1])];
                let pair = constants.pair::<MODE>(inside, r2, c6, c12);
                energy = energy.add(pair.energy);
                virial = virial.add(pair.sixth_virial);
                let f = pair.sixth_virial.mul(pair.inverse_r2);
                fx = f.mul_add(dx, fx);
                fy = f.mul_add(dy, fy);
                fz = f.mul_add(dz, fz);
            }
            let force = &mut forces[slot - first_slot];
            for (d, f) in [fx, fy, fz].into_iter().enumerate() {
                let f = 6.0 * sum(f);
                force[d] += f;
                images[d] += 0.5 * shift[d] * f;
            }
        }
        Sums { energy: 0.5 * sum(energy), virial: 3.0 * sum(virial), images }
    }
}

/// From the points of a cluster to one point in all elements.
#[inline(always)]
fn difference<V: Vector<Elem = f64, Line = Eight>>([x, y, z]: [V; 3], from: &[Eight; 3]) -> [V; 3] {
    [x.sub(x.load(&from[0])), y.sub(y.load(&from[1])), z.sub(z.load(&from[2]))]
}

/// Sum over the elements in an order that is the same for every instruction set.
#[inline(always)]
fn sum<V: Vector<Elem = f64, Line = Eight>>(v: V) -> f64 {
    let mut line = CacheLine([0.0; CLUSTER]);
    v.store(&mut line);
    let a = line.0;
    ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
}

/// Constants of the modified powers in all elements; a and b of the forces are divided by 6, as the virial is accumulated.
struct Constants<V> {
    cutoff2: V,
    r_switch: V,
    zero: V,
    force6: [V; 2],
    force12: [V; 2],
    energy6: [V; 3],
    energy12: [V; 3],
}

/// Eight pairs, zero outside the cut-off.
struct Pair<V> {
    energy: V,
    sixth_virial: V,
    inverse_r2: V,
}

impl<V: Vector<Elem = f64, Line = Eight>> Constants<V> {
    #[inline(always)]
    fn new(zero: V, m: &Modified) -> Self {
        let force = |p: Power| [zero.splat(p.a / 6.0), zero.splat(p.b / 6.0)];
        let energy = |p: Power| [zero.splat(p.shift), zero.splat(p.a / 3.0), zero.splat(p.b / 4.0)];
        Self {
            cutoff2: zero.splat(m.cutoff * m.cutoff),
            r_switch: zero.splat(m.r_switch),
            zero,
            force6: force(m.six),
            force12: force(m.twelve),
            energy6: energy(m.six),
            energy12: energy(m.twelve),
        }
    }

    #[inline(always)]
    fn pair<const MODE: u8>(&self, inside: V::Mask, r2: V, c6: V, c12: V) -> Pair<V> {
        let (inverse_r2, inverse_r) = if MODE == SWITCHED {
            let inverse_r = r2.inverse_root_where(inside);
            (inverse_r.mul(inverse_r), inverse_r)
        } else {
            (r2.reciprocal_where(inside), self.zero)
        };
        let p = inverse_r2.mul(inverse_r2).mul(inverse_r2);
        let repulsion = c12.mul(p).mul(p);
        let plain = c6.negative_mul_add(p, repulsion);
        let virial = repulsion.add(plain);
        match MODE {
            PLAIN => Pair { energy: plain, sixth_virial: virial, inverse_r2 },
            SHIFTED => {
                let constant = c6.negative_mul_add(self.energy6[0], c12.mul(self.energy12[0]));
                Pair { energy: plain.sub(constant.keep(inside)), sixth_virial: virial, inverse_r2 }
            }
            _ => {
                let r = r2.mul(inverse_r);
                let x = r.sub(self.r_switch).max(self.zero);
                let x2 = x.mul(x);
                let force = |[a, b]: [V; 2]| b.mul_add(x, a);
                let extra = c6.negative_mul_add(force(self.force6), c12.mul(force(self.force12)));
                let extra = r.mul(x2).mul(extra);
                let x3 = x2.mul(x);
                let constant = |[c, a, b]: [V; 3]| x3.mul_add(b.mul_add(x, a), c);
                let off = c6.negative_mul_add(constant(self.energy6), c12.mul(constant(self.energy12)));
                Pair { energy: plain.sub(off.keep(inside)), sixth_virial: virial.add(extra.keep(inside)), inverse_r2 }
            }
        }
    }
}

#[cfg(test)]
mod tests;
