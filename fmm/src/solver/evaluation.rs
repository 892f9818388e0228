//! One evaluation, stage by stage: upward, across, downward, near field.
//!
//!   P2M → M2M → (root grid: convolution over all images; refined levels: M2L) → L2L → L2P,   P2P
//!
//! Near field, far field and the trace term of periodic cells (`trace.rs`) are added up at the end, in the caller's order and units.

use kernels::{FieldMut, LeafExceptions, Real, Run, p2p};
use rayon::prelude::*;

use crate::FmmError;
use crate::checks::check_finite;
use crate::geometry::assignment::Assignment;
use crate::geometry::boundary::dot;
use crate::operators::expansion::ExpansionTable;
use crate::operators::l2p::L2p;
use crate::operators::m2m::M2m;
use crate::operators::p2m::P2m;
use crate::operators::p2p::near_runs;
use crate::potentials::Potentials;
use crate::solver::leaves::{over_leaves, points, split_front};
use crate::solver::operators::Operators;
use crate::solver::timings::{StageTimings, stopwatch};
use crate::solver::trace::Trace;
use crate::workspace::{ScratchPool, VECTORS};

/// How far particles may lie outside of the box that they were assigned to, in box edges along each axis. With order 8 and near boxes that touch, fields have errors
/// of 1e-5 at home, 7e-4 where all particles have moved by 0.3 edges and 1e-2 by 0.5 (`tests/moving.rs`). Soft faces ([`crate::regularised`]) need up to a half.
pub const MAX_STRAY: f64 = 0.5;

/// Leaf boxes per task.
const GRAIN: usize = 16;

/// Particles per task. Sums over all particles are sums of the sums over these, so that they do not depend on the number of threads.
const CHUNK: usize = 1024;

/// Largest distance from the centre of a box along an axis, in box edges, with room for rounding.
const FARTHEST: f64 = 0.5 + MAX_STRAY + 1e-9;

/// The particle that has gone farthest from its box, or one that is nowhere.
fn strayed(to: &Assignment, positions: &[[f64; 3]]) -> FmmError {
    if let Err(error) = check_finite(positions) {
        return error;
    }
    let (geometry, leaves) = (&to.geometry, to.leaves());
    let outside = |k: usize| {
        let centre = geometry.centres(leaves.coordinates[to.leaf_of[k] as usize]).0;
        let r = to.wrapped(k, positions);
        let from_centre = [0, 1, 2].map(|a| r[a] - centre[a]);
        geometry.inverse().map(|row| dot(row, from_centre).abs()).into_iter().fold(0.0, f64::max) - 0.5
    };
    let all = (0..to.order.len()).map(|k| (to.order[k] as usize, outside(k)));
    let (particle, boxes) = all.fold((0, 0.0), |most, one| if one.1 > most.1 { one } else { most });
    FmmError::Strayed { particle, boxes }
}

/// The charges of each charge vector among sorted particles.
fn vectors<T>(sorted: &[Vec<T>; 4]) -> std::slice::ChunksExact<'_, T> {
    sorted[3].chunks_exact(sorted[0].len().max(1))
}

/// Work space of an evaluation: sorted particles and the expansions of all boxes.
pub struct Evaluation<T> {
    /// Number of charge vectors.
    vectors: usize,
    /// x, y, z relative to the leaf centre over the leaf scale, and charges, one vector after the other.
    pub sorted: [Vec<T>; 4],
    /// Position relative to the centre of the root box.
    in_root: Vec<[f64; 3]>,
    /// φ, E_x, E_y, E_z that the expansions make, in units of the leaf scale: of each leaf those of the first charge vector, then of the next.
    pub far: [Vec<T>; 4],
    near: [Vec<T>; 4],
    /// Potential and field of one charge vector in f64, by sorted place.
    pub sums: Vec<[f64; 4]>,
    /// Multipole expansions of each level, of each box one for each charge vector.
    pub multipoles: Vec<Vec<T>>,
    locals: Vec<Vec<T>>,
    /// For each chunk of particles how far the farthest of them lies from the centre of its box, in box edges along one axis.
    farthest: Vec<f64>,
    /// For each chunk the moments of one charge vector, and those of all particles for each vector.
    chunk_traces: Vec<Trace>,
    traces: Vec<Trace>,
    /// For each chunk: energy, and whether all results are finite.
    energies: Vec<(f64, bool)>,
}

impl<T: Real> Evaluation<T> {
    /// Empty work space.
    pub fn new() -> Self {
        let empty = || std::array::from_fn(|_| Vec::new());
        Self {
            vectors: 0,
            sorted: empty(),
            in_root: Vec::new(),
            far: empty(),
            near: empty(),
            sums: Vec::new(),
            multipoles: Vec::new(),
            locals: Vec::new(),
            farthest: Vec::new(),
            chunk_traces: Vec::new(),
            traces: Vec::new(),
            energies: Vec::new(),
        }
    }

    /// Make room for an assignment and `vectors` charge vectors.
    pub fn fit(&mut self, to: &Assignment, stride: usize, vectors: usize) {
        let n = to.order.len();
        self.vectors = vectors;
        let [x, y, z, charges] = &mut self.sorted;
        for v in [x, y, z] {
            v.resize(n, T::zero());
        }
        for v in self.far.iter_mut().chain(&mut self.near).chain([charges]) {
            v.resize(n * vectors, T::zero());
        }
        self.in_root.resize(n, [0.0; 3]);
        self.sums.resize(n, [0.0; 4]);
        self.traces.resize(vectors, Trace::default());
        let chunks = n.div_ceil(CHUNK);
        self.farthest.resize(chunks, 0.0);
        self.chunk_traces.resize(chunks, Trace::default());
        self.energies.resize(chunks, (0.0, true));
        for expansions in [&mut self.multipoles, &mut self.locals] {
            expansions.resize(to.levels.len(), Vec::new());
            for (v, level) in expansions.iter_mut().zip(&to.levels) {
                v.resize(level.len() * vectors * stride, T::zero());
            }
        }
    }

    /// Near and far field of all charge vectors, for [`gather`](Self::gather); adds to the times of the stages.
    ///
    /// # Errors
    /// A particle that has left its box.
    pub fn run(
        &mut self,
        to: &Assignment,
        operators: &mut Operators<T>,
        pool: &ScratchPool<T>,
        (positions, charges): (&[[f64; 3]], &[&[f64]]),
        times: &mut StageTimings,
    ) -> Result<(), FmmError> {
        let mut lap = stopwatch();
        self.fit(to, operators.stride, charges.len());
        let vectors = self.vectors;
        self.sort(to, positions, charges)?;
        lap(&mut times.sort);
        self.p2m(to, &operators.table, operators.stride, pool);
        lap(&mut times.p2m);
        self.upward(to, &operators.m2m, pool);
        lap(&mut times.m2m);
        operators.root.apply(&self.multipoles[0], &mut self.locals[0], vectors, pool);
        lap(&mut times.lattice);
        for d in 1..to.levels.len() {
            let pair = (&to.levels[d - 1], &to.levels[d]);
            let (coarse, fine) = self.locals.split_at_mut(d);
            operators.l2l.apply(&coarse[d - 1], pair.1, &mut fine[0], vectors, pool);
            lap(&mut times.l2l);
            operators.m2l.apply(&operators.grid, pair, (&self.multipoles[d], &mut fine[0]), vectors, pool);
            lap(&mut times.m2l);
        }
        self.l2p(to, operators, pool);
        lap(&mut times.l2p);
        let grid = &operators.grid;
        self.p2p(to, &|leaf, runs| near_runs(to, grid, leaf, runs), &|leaf| to.exceptions(leaf), pool);
        lap(&mut times.p2p);
        Ok(())
    }

    /// Local coordinates and charges in sorted order; moments of the trace term.
    ///
    /// # Errors
    /// A particle that has left its box.
    pub fn sort(&mut self, to: &Assignment, positions: &[[f64; 3]], charges: &[&[f64]]) -> Result<(), FmmError> {
        let (geometry, leaves) = (&to.geometry, to.leaves());
        let scale = 1.0 / geometry.scale();
        let (empty, edges) = (Trace::new(geometry.volume), geometry.inverse());
        let [x, y, z, sorted_charges] = &mut self.sorted;
        let [x, y, z] = [x, y, z].map(|v| v.par_chunks_mut(CHUNK));
        let parts = (x, y, z, self.in_root.par_chunks_mut(CHUNK), &mut self.farthest);
        parts.into_par_iter().enumerate().for_each(|(chunk, (x, y, z, in_root, farthest))| {
            *farthest = 0.0;
            let (mut leaf, mut centres) = (u32::MAX, ([0.0; 3], [0.0; 3]));
            for n in 0..in_root.len() {
                let k = chunk * CHUNK + n;
                if to.leaf_of[k] != leaf {
                    leaf = to.leaf_of[k];
                    centres = geometry.centres(leaves.coordinates[leaf as usize]);
                }
                let r = to.wrapped(k, positions);
                in_root[n] = [0, 1, 2].map(|a| r[a] - centres.1[a]);
                let from_centre = [0, 1, 2].map(|a| r[a] - centres.0[a]);
                [x[n], y[n], z[n]] = from_centre.map(|d| T::of(d * scale));
                for row in edges {
                    *farthest = farthest.max(dot(row, from_centre).abs());
                }
            }
        });
        if self.farthest.iter().any(|farthest| *farthest > FARTHEST) {
            return Err(strayed(to, positions));
        }
        let in_root = &self.in_root;
        let of_vectors = sorted_charges.chunks_exact_mut(to.order.len().max(1)).zip(charges).zip(&mut self.traces);
        for ((sorted, charges), trace) in of_vectors {
            let parts = (sorted.par_chunks_mut(CHUNK), &mut self.chunk_traces);
            parts.into_par_iter().enumerate().for_each(|(chunk, (sorted, trace))| {
                *trace = empty;
                for (n, q) in sorted.iter_mut().enumerate() {
                    let k = chunk * CHUNK + n;
                    // Targets have none.
                    let charge = charges.get(to.order[k] as usize).copied().unwrap_or_default();
                    *q = T::of(charge);
                    trace.add(charge, in_root[k]);
                }
            });
            *trace = self.chunk_traces.iter().fold(empty, Trace::joined);
        }
        Ok(())
    }

    /// Multipole expansions of the leaves.
    pub fn p2m(&mut self, to: &Assignment, table: &ExpansionTable<T>, stride: usize, pool: &ScratchPool<T>) {
        let (sorted, leaves, row) = (&self.sorted, to.leaves(), self.vectors * stride);
        let expansions = &mut self.multipoles[to.geometry.tree.depth];
        expansions.par_chunks_mut(GRAIN * row).enumerate().for_each(|(chunk, rows)| {
            let scratch = &mut *pool.get();
            for (n, out) in rows.chunks_exact_mut(row).enumerate() {
                let places = leaves.particles(chunk * GRAIN + n);
                if places.is_empty() {
                    out.fill(T::zero());
                    continue;
                }
                let points = points(sorted, places.clone());
                for (out, charges) in out.chunks_exact_mut(stride).zip(vectors(sorted)) {
                    kernels::dispatch_vectors(P2m { table, points, charges: &charges[places.clone()], out, scratch });
                }
            }
        });
    }

    /// Multipole expansions of all other boxes.
    pub fn upward(&mut self, to: &Assignment, operators: &M2m<T>, pool: &ScratchPool<T>) {
        for d in (0..to.geometry.tree.depth).rev() {
            let (coarse, fine) = self.multipoles.split_at_mut(d + 1);
            operators.apply((&to.levels[d], &to.levels[d + 1]), &mut coarse[d], &fine[0], self.vectors, pool);
        }
    }

    fn l2p(&mut self, to: &Assignment, operators: &Operators<T>, pool: &ScratchPool<T>) {
        let Operators { stride, table, .. } = operators;
        let (sorted, leaves, row) = (&self.sorted, to.leaves(), self.vectors * stride);
        let locals = &self.locals[to.geometry.tree.depth];
        over_leaves(leaves, GRAIN, self.vectors, self.far.each_mut().map(Vec::as_mut_slice), &|range, mut out| {
            let scratch = &mut *pool.get();
            for leaf in range {
                let places = leaves.particles(leaf);
                if places.is_empty() {
                    continue;
                }
                let points = points(sorted, places.clone());
                for local in locals[leaf * row..][..row].chunks_exact(*stride) {
                    let out = split_front(&mut out, places.len());
                    kernels::dispatch_vectors(L2p { table, points, local, out, scratch });
                }
            }
        });
    }

    /// Near field. `runs` appends the source boxes of a leaf, as seen from it, and `exceptions` says which pairs with them are skipped.
    pub fn p2p<'e>(
        &mut self,
        to: &Assignment,
        runs: &(impl Fn(usize, &mut Vec<Run<T>>) + Sync),
        exceptions: &(impl Fn(usize) -> LeafExceptions<'e> + Sync),
        pool: &ScratchPool<T>,
    ) {
        let (sorted, leaves, n_vectors) = (&self.sorted, to.leaves(), self.vectors);
        let mut charges = [[].as_slice(); VECTORS];
        charges.iter_mut().zip(vectors(sorted)).for_each(|(charges, of_vector)| *charges = of_vector);
        let (charges, all) = (&charges[..n_vectors], points(sorted, 0..sorted[0].len()));
        over_leaves(leaves, GRAIN, n_vectors, self.near.each_mut().map(Vec::as_mut_slice), &|range, mut out| {
            let scratch = &mut *pool.get();
            for leaf in range {
                let places = leaves.particles(leaf);
                if places.is_empty() {
                    continue;
                }
                scratch.runs.clear();
                runs(leaf, &mut scratch.runs);
                scratch.sources.gather(all, charges, &scratch.runs);
                let [phi, ex, ey, ez] = split_front(&mut out, places.len() * n_vectors);
                for v in [&mut *phi, &mut *ex, &mut *ey, &mut *ez] {
                    v.fill(T::zero());
                }
                p2p(points(sorted, places), &scratch.sources, exceptions(leaf), FieldMut { phi, ex, ey, ez });
            }
        });
    }

    /// Energy of the trace term of one charge vector at the last evaluation.
    pub fn trace_energy(&self, vector: usize) -> f64 {
        self.traces[vector].energy()
    }

    /// Near + far + trace of one charge vector in the caller's order and units. Returns the energy, and whether all results are finite.
    pub fn gather(&mut self, to: &Assignment, (vector, charges): (usize, &[f64]), out: &mut Potentials) -> (f64, bool) {
        let (n, leaves, vectors, trace) = (to.order.len(), to.leaves(), self.vectors, self.traces[vector]);
        out.potential.resize(n, 0.0);
        out.field.resize(n, [0.0; 3]);
        let inverse = 1.0 / to.geometry.scale();
        let (near, far, in_root) = (&self.near, &self.far, &self.in_root);
        // The sums are made in sorted order first, so that the caller's order costs one cache line for each particle.
        self.sums.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, sums)| {
            let (mut leaf, mut before) = (u32::MAX, 0);
            for (n, sum) in sums.iter_mut().enumerate() {
                let k = chunk * CHUNK + n;
                if to.leaf_of[k] != leaf {
                    leaf = to.leaf_of[k];
                    let places = leaves.particles(leaf as usize);
                    before = places.start * (vectors - 1) + places.len() * vector;
                }
                let (phi, field) = trace.at(in_root[k]);
                let value = |q: usize| near[q][before + k].widen() + far[q][before + k].widen();
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
                energy.0 += charges.get(i).copied().unwrap_or_default() * phi;
                energy.1 &= [phi, ex, ey, ez].iter().all(|v| v.is_finite());
            }
        });
        // An empty sum is −0.
        let energy = self.energies.iter().map(|e| e.0).sum::<f64>() + 0.0;
        (0.5 * energy, energy.is_finite() && self.energies.iter().all(|e| e.1))
    }
}
