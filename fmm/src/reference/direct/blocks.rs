//! The direct sum as a method: all pairs through the near-field kernel, in either precision, on all threads.
//!
//! Particles are sorted along a Morton curve and cut into blocks, also where the curve jumps. Coordinates are relative to the middle of the
//! own block and sources are moved by the vector between the middles, as in the near field of the FMM, so that single precision loses nothing to the size
//! of the system. Sums over some thousand sources run in `T`, the rest in f64.

use kernels::{ExceptionTable, FieldMut, Real, Run, SourceBlock, p2p};
use rayon::prelude::*;

use super::summation::energy;
use crate::FmmError;
use crate::checks::{check_length, check_particles, not_finite};
use crate::coulomb::Coulomb;
use crate::geometry::boundary::{Boundary, norm};
use crate::geometry::exclusions::Exclusions;
use crate::geometry::tree::spread;
use crate::potentials::Potentials;
use crate::solver::leaves::points;
use crate::solver::timings::{StageTimings, stopwatch};
use crate::workspace::Pool;

/// Most particles per block: targets that share gathered sources.
const BLOCK: usize = 128;

/// Blocks of sources that are gathered at a time; in f32 they fill the nearest cache.
const SOURCES: usize = 16;

/// Blocks end where the next particle is farther away than this many times the median of such distances.
const JUMP: f64 = 32.0;

/// Cells per axis that particles are sorted by.
const CELLS: f64 = 8192.0;

/// Work space of one thread.
struct Workspace<T: Real> {
    runs: Vec<Run<T>>,
    sources: SourceBlock<T>,
    pairs: Vec<(u32, u32)>,
    exceptions: ExceptionTable,
    sums: [[T; BLOCK]; 4],
}

impl<T: Real> Default for Workspace<T> {
    fn default() -> Self {
        Self {
            runs: Vec::new(),
            sources: SourceBlock::new(),
            pairs: Vec::new(),
            exceptions: ExceptionTable::new(),
            sums: [[T::zero(); BLOCK]; 4],
        }
    }
}

/// Direct sum over all pairs in open space, k_e = 1, in precision `T`. The work grows as N²; the error is rounding alone.
pub struct Direct<T: Real> {
    assigned: Option<Sorted>,
    /// x, y, z relative to the middle of the block over the scale, and charge.
    sorted: [Vec<T>; 4],
    middles: Vec<[f64; 3]>,
    /// Potential and field by sorted place, in units of the scale.
    sums: Vec<[f64; 4]>,
    pool: Pool<Workspace<T>>,
    timings: StageTimings,
}

/// Order of the particles.
struct Sorted {
    /// Particle at each sorted place.
    order: Vec<u32>,
    /// Sorted place of each particle.
    place: Vec<u32>,
    /// First sorted place of each block, and the end.
    starts: Vec<usize>,
    exclusions: Exclusions,
    /// Length of about the distance of neighbours.
    scale: f64,
}

impl<T: Real> Direct<T> {
    /// The direct sum.
    ///
    /// # Errors
    /// A boundary that is not open.
    pub fn new(boundary: Boundary) -> Result<Self, FmmError> {
        if boundary != Boundary::Open {
            return Err(FmmError::OpenOnly { method: "direct sum", periods: boundary.periods().len() });
        }
        Ok(Self {
            assigned: None,
            sorted: std::array::from_fn(|_| Vec::new()),
            middles: Vec::new(),
            sums: Vec::new(),
            pool: Pool::new(),
            timings: StageTimings::default(),
        })
    }

    /// The whole evaluation; returns the energy.
    fn sum(
        &mut self,
        to: &Sorted,
        positions: &[[f64; 3]],
        charges: &[f64],
        out: &mut Potentials,
    ) -> Result<f64, FmmError> {
        check_length("positions", to.order.len(), positions.len())?;
        check_length("charges", to.order.len(), charges.len())?;
        self.pool.grow();
        let mut times = StageTimings::default();
        let mut lap = stopwatch();
        self.sort(to, positions, charges);
        lap(&mut times.sort);
        self.p2p(to);
        lap(&mut times.p2p);
        let inverse = 1.0 / to.scale;
        out.potential.clear();
        out.field.clear();
        for place in &to.place {
            let [phi, field @ ..] = self.sums[*place as usize];
            out.potential.push(phi * inverse);
            out.field.push(field.map(|e| e * inverse * inverse));
        }
        let energy = energy(charges, out);
        lap(&mut times.gather);
        self.timings = times;
        let finite = |e: &[f64; 3]| e.iter().all(|e| e.is_finite());
        if energy.is_finite() && out.potential.iter().all(|phi| phi.is_finite()) && out.field.iter().all(finite) {
            return Ok(energy);
        }
        Err(not_finite(&Boundary::Open, positions, charges, out))
    }

    /// Local coordinates in sorted order.
    fn sort(&mut self, to: &Sorted, positions: &[[f64; 3]], charges: &[f64]) {
        let inverse = 1.0 / to.scale;
        self.sorted.iter_mut().for_each(Vec::clear);
        self.middles.clear();
        for block in to.starts.windows(2) {
            let order = &to.order[block[0]..block[1]];
            let (low, high) = bounds(order.iter().map(|i| positions[*i as usize]));
            let middle = [0, 1, 2].map(|a| 0.5 * (low[a] + high[a]));
            self.middles.push(middle);
            for i in order {
                let r = positions[*i as usize];
                (0..3).for_each(|a| self.sorted[a].push(T::of((r[a] - middle[a]) * inverse)));
                self.sorted[3].push(T::of(charges[*i as usize]));
            }
        }
    }

    /// All pairs.
    fn p2p(&mut self, to: &Sorted) {
        let (sorted, middles, pool) = (&self.sorted, &self.middles, &self.pool);
        let block = |block: usize| {
            let space = &mut *pool.get();
            let mut totals = vec![[0.0; 4]; to.starts[block + 1] - to.starts[block]];
            for first in (0..middles.len()).step_by(SOURCES) {
                space.add(to, sorted, middles, (block, first), &mut totals);
            }
            totals
        };
        self.sums.clear();
        self.sums.par_extend((0..middles.len()).into_par_iter().flat_map_iter(block));
    }
}

impl<T: Real> Workspace<T> {
    /// Add what the blocks from `first` on make at the particles of `block`.
    fn add(
        &mut self,
        to: &Sorted,
        sorted: &[Vec<T>; 4],
        middles: &[[f64; 3]],
        (block, first): (usize, usize),
        totals: &mut [[f64; 4]],
    ) {
        let blocks = first..middles.len().min(first + SOURCES);
        let sources = to.starts[blocks.start]..to.starts[blocks.end];
        let targets = to.starts[block]..to.starts[block + 1];
        self.runs.clear();
        self.runs.extend(blocks.map(|source| {
            let shift = [0, 1, 2].map(|a| T::of((middles[source][a] - middles[block][a]) / to.scale));
            let (start, end) = (to.starts[source], to.starts[source + 1]);
            Run { start: start as u32, len: (end - start) as u32, shift }
        }));
        self.sources.gather(points(sorted, 0..to.order.len()), &[&sorted[3]], &self.runs);
        self.pairs.clear();
        for (t, place) in targets.clone().enumerate() {
            let i = to.order[place];
            let skipped = to.exclusions.partners(i as usize).iter().chain([&i]).map(|j| to.place[*j as usize]);
            let here = skipped.filter(|k| sources.contains(&(*k as usize)));
            self.pairs.extend(here.map(|k| (t as u32, k - sources.start as u32)));
        }
        self.exceptions.clear();
        self.exceptions.push_leaf(targets.len(), sources.len(), &mut self.pairs);
        let [phi, ex, ey, ez] = self.sums.each_mut().map(|v| {
            let v = &mut v[..totals.len()];
            v.fill(T::zero());
            v
        });
        let exceptions = self.exceptions.leaf(0);
        p2p(points(sorted, targets), &self.sources, exceptions, FieldMut { phi, ex, ey, ez });
        for (t, total) in totals.iter_mut().enumerate() {
            (0..4).for_each(|c| total[c] += self.sums[c][t].widen());
        }
    }
}

impl<T: Real> Coulomb for Direct<T> {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn assign(&mut self, positions: &[[f64; 3]], exclusions: &Exclusions) -> Result<(), FmmError> {
        self.assigned = None;
        check_particles(positions, exclusions)?;
        let (low, high) = bounds(positions.iter().copied());
        let extent = (0..3).map(|a| high[a] - low[a]).fold(0.0, f64::max);
        let extent = if extent > 0.0 && extent.is_finite() { extent } else { 1.0 };
        let key = |p: &[f64; 3]| {
            let cell = |a: usize| ((p[a] - low[a]) / extent * CELLS).min(CELLS - 1.0) as u64;
            spread(cell(0)) << 2 | spread(cell(1)) << 1 | spread(cell(2))
        };
        let mut keys: Vec<(u64, u32)> = positions.par_iter().map(key).zip(0..positions.len() as u32).collect();
        keys.par_sort_unstable();
        let order: Vec<u32> = keys.into_iter().map(|(_, i)| i).collect();
        let mut place = vec![0; order.len()];
        order.iter().enumerate().for_each(|(k, i)| place[*i as usize] = k as u32);
        let scale = extent / (positions.len().max(1) as f64).cbrt();
        let starts = starts(&order, positions);
        self.assigned = Some(Sorted { order, place, starts, exclusions: exclusions.clone(), scale });
        Ok(())
    }

    fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError> {
        let Some(to) = self.assigned.take() else { return Err(FmmError::NotAssigned) };
        let energy = self.sum(&to, positions, charges, out);
        self.assigned = Some(to);
        energy
    }

    fn timings(&self) -> &StageTimings {
        &self.timings
    }
}

/// First places of blocks of at most [`BLOCK`] sorted particles without jumps, and the end.
fn starts(order: &[u32], positions: &[[f64; 3]]) -> Vec<usize> {
    let mut out = vec![0];
    for first in (0..order.len()).step_by(BLOCK) {
        let group = &order[first..order.len().min(first + BLOCK)];
        let step =
            |pair: &[u32]| norm([0, 1, 2].map(|a| positions[pair[1] as usize][a] - positions[pair[0] as usize][a]));
        let steps: Vec<f64> = group.windows(2).map(step).collect();
        let mut sorted = steps.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let longest = sorted.get(steps.len() / 2).map_or(0.0, |median| JUMP * median);
        out.extend((1..group.len()).filter(|k| steps[k - 1] > longest).map(|k| first + k));
        out.push(first + group.len());
    }
    out
}

/// Lowest and highest coordinates.
fn bounds(positions: impl Iterator<Item = [f64; 3]>) -> ([f64; 3], [f64; 3]) {
    positions.fold(([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]), |(low, high), p| {
        ([0, 1, 2].map(|a| low[a].min(p[a])), [0, 1, 2].map(|a| high[a].max(p[a])))
    })
}
