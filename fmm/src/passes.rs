//! One evaluation, stage by stage: upward, across, downward, near field.
//!
//!   P2M → M2M → (root grid: convolution over all images; refined levels: M2L) → L2L → L2P,   P2P,
//!
//! then, for periodic cells, the part of the interaction that is not harmonic, with V the cell volume and y, z relative to the centres of the
//! root boxes of both particles (theory: the k = 0 term of the Ewald sum, equal to the dipole correction of a neutral cell and the
//! background of a charged one):
//!
//!   φ_i += (2π/3V)(Q y_i² − 2 y_i·D + T),  Q = Σ q, D = Σ q z, T = Σ q z².

use std::ops::Range;
use std::time::Instant;

use kernels::{FieldMut, LeafExceptions, Points, Real, Run, p2p};
use rayon::prelude::*;

use crate::FmmError;
use crate::assignment::Assignment;
use crate::convolution::Convolution;
use crate::expansion::{ExpansionTable, L2p, P2m};
use crate::grid::BoxGrid;
use crate::levels::LevelOperators;
use crate::potentials::Potentials;
use crate::scratch::ScratchPool;
use crate::tree::Level;

/// Leaf boxes per task.
const GRAIN: usize = 16;

/// Particles per task; sums over all particles are made of the sums of these, whatever the number of threads.
const CHUNK: usize = 1024;

/// Seconds spent in each stage of the last evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct StageTimings {
    /// Sorted local coordinates.
    pub sort: f64,
    /// Charges to multipoles.
    pub p2m: f64,
    /// Multipoles to parents.
    pub m2m: f64,
    /// M2L on refined levels.
    pub m2l: f64,
    /// M2L on the root grid with all images, as a convolution.
    pub lattice: f64,
    /// Local expansions to children.
    pub l2l: f64,
    /// Local expansions to potentials and fields.
    pub l2p: f64,
    /// Multipole expansions to potentials and fields: treecode only.
    #[serde(default)]
    pub m2p: f64,
    /// Near field.
    pub p2p: f64,
    /// Sum of near and far field, trace term, order of the caller.
    pub gather: f64,
}

impl StageTimings {
    /// Sum of all stages.
    pub fn total(&self) -> f64 {
        let far = self.p2m + self.m2m + self.m2l + self.lattice + self.l2l + self.l2p + self.m2p;
        self.sort + far + self.p2p + self.gather
    }
}

/// Adds the time since its last call to a number of seconds.
pub fn stopwatch() -> impl FnMut(&mut f64) {
    let mut clock = Instant::now();
    move |seconds| {
        let now = Instant::now();
        *seconds += (now - clock).as_secs_f64();
        clock = now;
    }
}

/// Operators of one order and box shape.
pub struct Operators<T: Real> {
    /// Coefficients per box, padded.
    pub stride: usize,
    /// Root grid; boxes of every level have its shape.
    pub grid: BoxGrid,
    /// Constants of P2M and L2P.
    pub table: ExpansionTable<T>,
    /// M2L on the root grid.
    pub root: Convolution<T>,
    /// Refined levels.
    pub levels: LevelOperators<T>,
}

/// Trace term: (2π/3V)(Q y² − 2 y·D + T).
#[derive(Clone, Copy, Debug, Default)]
pub struct Trace {
    prefactor: f64,
    charge: f64,
    dipole: [f64; 3],
    second: f64,
}

impl Trace {
    /// No charges in a cell of this volume; None: open boundary, no term.
    pub fn new(volume: Option<f64>) -> Self {
        Self { prefactor: volume.map_or(0.0, |v| 2.0 * std::f64::consts::PI / (3.0 * v)), ..Self::default() }
    }

    /// Add a charge at `y` from the centre of its root box.
    pub fn add(&mut self, q: f64, y: [f64; 3]) {
        self.charge += q;
        for (d, y) in self.dipole.iter_mut().zip(y) {
            *d += q * y;
            self.second += q * y * y;
        }
    }

    /// The sum of two sets of charges.
    fn joined(self, other: &Self) -> Self {
        Self {
            prefactor: self.prefactor,
            charge: self.charge + other.charge,
            dipole: [0, 1, 2].map(|a| self.dipole[a] + other.dipole[a]),
            second: self.second + other.second,
        }
    }

    /// Potential and field at `y`.
    pub fn at(&self, y: [f64; 3]) -> (f64, [f64; 3]) {
        let (mut phi, mut field) = (self.second, [0.0; 3]);
        for a in 0..3 {
            phi += y[a] * (self.charge * y[a] - 2.0 * self.dipole[a]);
            field[a] = -2.0 * self.prefactor * (self.charge * y[a] - self.dipole[a]);
        }
        (self.prefactor * phi, field)
    }
}

/// Work space of an evaluation: sorted particles and the expansions of all boxes.
pub struct Passes<T> {
    /// x, y, z relative to the leaf centre over the leaf scale, and charge.
    pub sorted: [Vec<T>; 4],
    /// Position relative to the centre of the root box.
    in_root: Vec<[f64; 3]>,
    /// φ, E_x, E_y, E_z that the expansions make, in units of the leaf scale.
    pub far: [Vec<T>; 4],
    near: [Vec<T>; 4],
    /// Potential and field in f64, by sorted place.
    sums: Vec<[f64; 4]>,
    /// Multipole expansions of each level.
    pub multipoles: Vec<Vec<T>>,
    locals: Vec<Vec<T>>,
    /// For each chunk of particles: moments; energy, and whether all results are finite.
    traces: Vec<Trace>,
    energies: Vec<(f64, bool)>,
}

impl<T: Real> Passes<T> {
    /// Empty work space.
    pub fn new() -> Self {
        let empty = || std::array::from_fn(|_| Vec::new());
        Self {
            sorted: empty(),
            in_root: Vec::new(),
            far: empty(),
            near: empty(),
            sums: Vec::new(),
            multipoles: Vec::new(),
            locals: Vec::new(),
            traces: Vec::new(),
            energies: Vec::new(),
        }
    }

    /// Make room for an assignment.
    pub fn fit(&mut self, to: &Assignment, stride: usize) {
        let n = to.order.len();
        for v in self.sorted.iter_mut().chain(&mut self.far).chain(&mut self.near) {
            v.resize(n, T::zero());
        }
        self.in_root.resize(n, [0.0; 3]);
        self.sums.resize(n, [0.0; 4]);
        self.traces.resize(n.div_ceil(CHUNK), Trace::default());
        self.energies.resize(n.div_ceil(CHUNK), (0.0, true));
        for expansions in [&mut self.multipoles, &mut self.locals] {
            expansions.resize(to.levels.len(), Vec::new());
            for (v, level) in expansions.iter_mut().zip(&to.levels) {
                v.resize(level.len() * stride, T::zero());
            }
        }
    }

    /// The whole evaluation; returns the energy.
    pub fn run(
        &mut self,
        to: &Assignment,
        operators: &mut Operators<T>,
        pool: &ScratchPool<T>,
        (positions, charges): (&[[f64; 3]], &[f64]),
        out: &mut Potentials,
    ) -> Result<(f64, StageTimings), FmmError> {
        let mut times = StageTimings::default();
        let mut lap = stopwatch();
        let trace = self.sort(to, positions, charges);
        lap(&mut times.sort);
        self.p2m(to, &operators.table, operators.stride, pool);
        lap(&mut times.p2m);
        self.upward(to, &operators.levels, pool);
        lap(&mut times.m2m);
        operators.root.apply(&self.multipoles[0], &mut self.locals[0], pool);
        lap(&mut times.lattice);
        for d in 1..to.levels.len() {
            let pair = (&to.levels[d - 1], &to.levels[d]);
            let (coarse, fine) = self.locals.split_at_mut(d);
            operators.levels.l2l(&coarse[d - 1], pair.1, &mut fine[0], pool);
            lap(&mut times.l2l);
            operators.levels.m2l(&operators.grid, pair, &self.multipoles[d], &mut fine[0], pool);
            lap(&mut times.m2l);
        }
        self.l2p(to, operators, pool);
        lap(&mut times.l2p);
        let grid = &operators.grid;
        self.p2p(to, &|leaf, runs| near_runs(to.leaves(), grid, leaf, runs), &|leaf| to.exceptions(leaf), pool);
        lap(&mut times.p2p);
        let (energy, finite) = self.gather(to, trace, charges, out);
        lap(&mut times.gather);
        if finite {
            return Ok((energy, times));
        }
        Err(blame(positions, charges, out))
    }

    /// Local coordinates in sorted order; moments of the trace term.
    pub fn sort(&mut self, to: &Assignment, positions: &[[f64; 3]], charges: &[f64]) -> Trace {
        let (geometry, leaves) = (&to.geometry, to.leaves());
        let scale = 1.0 / geometry.scale();
        let empty = Trace::new(geometry.volume);
        let [x, y, z, q] = self.sorted.each_mut().map(|v| v.par_chunks_mut(CHUNK));
        let parts = (x, y, z, q, self.in_root.par_chunks_mut(CHUNK), &mut self.traces);
        parts.into_par_iter().enumerate().for_each(|(chunk, (x, y, z, q, in_root, trace))| {
            *trace = empty;
            let (mut leaf, mut centres) = (u32::MAX, ([0.0; 3], [0.0; 3]));
            for n in 0..q.len() {
                let k = chunk * CHUNK + n;
                if to.leaf_of[k] != leaf {
                    leaf = to.leaf_of[k];
                    centres = geometry.centres(leaves.coordinates[leaf as usize]);
                }
                let r = to.wrapped(k, positions);
                let charge = charges[to.order[k] as usize];
                in_root[n] = [0, 1, 2].map(|a| r[a] - centres.1[a]);
                [x[n], y[n], z[n]] = [0, 1, 2].map(|a| T::of((r[a] - centres.0[a]) * scale));
                q[n] = T::of(charge);
                trace.add(charge, in_root[n]);
            }
        });
        self.traces.iter().fold(empty, Trace::joined)
    }

    /// Multipole expansions of the leaves.
    pub fn p2m(&mut self, to: &Assignment, table: &ExpansionTable<T>, stride: usize, pool: &ScratchPool<T>) {
        let (sorted, leaves) = (&self.sorted, to.leaves());
        let expansions = &mut self.multipoles[to.geometry.tree.depth];
        expansions.par_chunks_mut(GRAIN * stride).enumerate().for_each(|(chunk, rows)| {
            let scratch = &mut *pool.get();
            for (n, out) in rows.chunks_exact_mut(stride).enumerate() {
                let places = leaves.particles(chunk * GRAIN + n);
                if places.is_empty() {
                    out.fill(T::zero());
                    continue;
                }
                let points = points(sorted, places.clone());
                kernels::dispatch_vectors(P2m { table, points, charges: &sorted[3][places], out, scratch });
            }
        });
    }

    /// Multipole expansions of all other boxes.
    pub fn upward(&mut self, to: &Assignment, operators: &LevelOperators<T>, pool: &ScratchPool<T>) {
        for d in (0..to.geometry.tree.depth).rev() {
            let (coarse, fine) = self.multipoles.split_at_mut(d + 1);
            operators.m2m(&to.levels[d], &mut coarse[d], &to.levels[d + 1], &fine[0], pool);
        }
    }

    fn l2p(&mut self, to: &Assignment, operators: &Operators<T>, pool: &ScratchPool<T>) {
        let Operators { stride, table, .. } = operators;
        let (sorted, leaves) = (&self.sorted, to.leaves());
        let locals = &self.locals[to.geometry.tree.depth];
        over_leaves(leaves, GRAIN, self.far.each_mut().map(Vec::as_mut_slice), &|range, mut out| {
            let scratch = &mut *pool.get();
            for leaf in range {
                let places = leaves.particles(leaf);
                let part = split_front(&mut out, places.len());
                if !places.is_empty() {
                    let local = &locals[leaf * stride..][..*stride];
                    kernels::dispatch_vectors(L2p { table, points: points(sorted, places), local, out: part, scratch });
                }
            }
        });
    }

    /// Near field. `runs` appends the source boxes of a leaf, as seen from it; `exceptions`: what the pairs with them skip.
    pub fn p2p<'e>(
        &mut self,
        to: &Assignment,
        runs: &(impl Fn(usize, &mut Vec<Run<T>>) + Sync),
        exceptions: &(impl Fn(usize) -> LeafExceptions<'e> + Sync),
        pool: &ScratchPool<T>,
    ) {
        let (sorted, leaves) = (&self.sorted, to.leaves());
        over_leaves(leaves, GRAIN, self.near.each_mut().map(Vec::as_mut_slice), &|range, mut out| {
            let scratch = &mut *pool.get();
            for leaf in range {
                let places = leaves.particles(leaf);
                let part = split_front(&mut out, places.len());
                if places.is_empty() {
                    continue;
                }
                scratch.runs.clear();
                runs(leaf, &mut scratch.runs);
                let all = points(sorted, 0..sorted[0].len());
                scratch.sources.gather(all, &[&sorted[3]], &scratch.runs);
                let [phi, ex, ey, ez] = part;
                for v in [&mut *phi, &mut *ex, &mut *ey, &mut *ez] {
                    v.fill(T::zero());
                }
                p2p(points(sorted, places), &scratch.sources, exceptions(leaf), &mut [FieldMut { phi, ex, ey, ez }]);
            }
        });
    }

    /// Near + far + trace in the caller's order and units. Returns the energy, and whether all results are finite.
    pub fn gather(&mut self, to: &Assignment, trace: Trace, charges: &[f64], out: &mut Potentials) -> (f64, bool) {
        let n = charges.len();
        out.potential.resize(n, 0.0);
        out.field.resize(n, [0.0; 3]);
        let inverse = 1.0 / to.geometry.scale();
        let (near, far, in_root) = (&self.near, &self.far, &self.in_root);
        // In sorted order first, then one cache line for each particle.
        self.sums.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, sums)| {
            for (n, sum) in sums.iter_mut().enumerate() {
                let k = chunk * CHUNK + n;
                let (phi, field) = trace.at(in_root[k]);
                let value = |q: usize| near[q][k].widen() + far[q][k].widen();
                let along = |a: usize| field[a] + inverse * inverse * value(a + 1);
                *sum = [phi + inverse * value(0), along(0), along(1), along(2)];
            }
        });
        let sums = &self.sums;
        let parts = (out.potential.par_chunks_mut(CHUNK), out.field.par_chunks_mut(CHUNK), &mut self.energies);
        parts.into_par_iter().enumerate().for_each(|(chunk, (potential, fields, energy))| {
            *energy = (0.0, true);
            for (n, (potential, field)) in potential.iter_mut().zip(fields).enumerate() {
                let i = chunk * CHUNK + n;
                let [phi, ex, ey, ez] = sums[to.place[i] as usize];
                (*potential, *field) = (phi, [ex, ey, ez]);
                energy.0 += charges[i] * phi;
                energy.1 &= [phi, ex, ey, ez].iter().all(|v| v.is_finite());
            }
        });
        let energy: f64 = self.energies.iter().map(|e| e.0).sum();
        (0.5 * energy, energy.is_finite() && self.energies.iter().all(|e| e.1))
    }
}

/// Why a result is not finite.
pub fn blame(positions: &[[f64; 3]], charges: &[f64], out: &Potentials) -> FmmError {
    if let Some(particle) = positions.iter().position(|p| p.iter().any(|x| !x.is_finite())) {
        return FmmError::NotFinite { particle, what: "position" };
    }
    if let Some(particle) = charges.iter().position(|q| !q.is_finite()) {
        return FmmError::NotFinite { particle, what: "charge" };
    }
    let infinite = |i: &usize| !out.potential[*i].is_finite() || out.field[*i].iter().any(|v| !v.is_finite());
    FmmError::Coincident { particle: (0..out.potential.len()).find(infinite).unwrap_or(0) }
}

/// The near boxes of a leaf as seen from it, appended.
fn near_runs<T: Real>(leaves: &Level, grid: &BoxGrid, leaf: usize, runs: &mut Vec<Run<T>>) {
    runs.extend(leaves.near(leaf).iter().map(|n| {
        let places = leaves.particles(n.source as usize);
        let shift = grid.vector(grid.near.offsets()[n.slot as usize].map(f64::from)).map(T::of);
        Run { start: places.start as u32, len: places.len() as u32, shift }
    }));
}

/// The points at some sorted places.
pub fn points<T>(sorted: &[Vec<T>; 4], range: Range<usize>) -> Points<'_, T> {
    Points { x: &sorted[0][range.clone()], y: &sorted[1][range.clone()], z: &sorted[2][range] }
}

/// Cut the first `n` elements off each slice.
pub fn split_front<'a, T>(slices: &mut [&'a mut [T]; 4], n: usize) -> [&'a mut [T]; 4] {
    slices.each_mut().map(|s| {
        let (front, rest) = std::mem::take(s).split_at_mut(n);
        *s = rest;
        front
    })
}

/// Run `work` on ranges of at most `grain` leaves with their parts of `out`, in parallel.
pub fn over_leaves<T: Real>(
    leaves: &Level,
    grain: usize,
    out: [&mut [T]; 4],
    work: &(impl Fn(Range<usize>, [&mut [T]; 4]) + Sync),
) {
    over_range(leaves, grain, 0..leaves.len(), out, work);
}

fn over_range<T: Real>(
    leaves: &Level,
    grain: usize,
    range: Range<usize>,
    mut out: [&mut [T]; 4],
    work: &(impl Fn(Range<usize>, [&mut [T]; 4]) + Sync),
) {
    if range.len() <= grain {
        return work(range, out);
    }
    let middle = range.start + range.len() / 2;
    let front = split_front(&mut out, (leaves.starts[middle] - leaves.starts[range.start]) as usize);
    rayon::join(
        || over_range(leaves, grain, range.start..middle, front, work),
        || over_range(leaves, grain, middle..range.end, out, work),
    );
}
