//! Treecode: multipole expansions evaluated at the particles themselves, N log N work; open boundary.
//!
//!   P2M → M2M → M2P,   P2P
//!
//! Boxes and multipole expansions are those of the FMM. There are no local expansions: for every leaf the tree is searched from the root
//! down, and a box of diameter D (longest diagonal) whose centre is d away from that of the leaf, of diameter δ, is taken as a whole if
//!
//!   D < θ (d − δ/2),   θ: the opening
//!
//! so that all particles of the leaf lie farther than D/θ from its centre: what order p leaves out is a part (θ/2)^{p+1} of the potential
//! at worst. Else its children are tried; leaves are summed particle by particle, and so are boxes of so few particles that their
//! expansion would cost more.
//!
//! References: J. Barnes, P. Hut, Nature 324, 446 (1986), doi:10.1038/324446a0; one search for a group of particles: J. E. Barnes,
//! J. Comput. Phys. 87, 161 (1990), doi:10.1016/0021-9991(90)90232-P; against the FMM on the same tree: R. Yokota, L. A. Barba,
//! Int. J. High Perform. Comput. Appl. 26, 337 (2012), doi:10.1177/1094342011429952.

mod lists;

use kernels::{Points, Real, Run};
use rayon::prelude::*;

use crate::FmmError;
use crate::checks::{check_length, check_particles, not_finite};
use crate::coulomb::Coulomb;
use crate::geometry::assignment::{Assignment, Geometry};
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::{BoxGrid, NearSet};
use crate::geometry::tree::{MAX_LEAVES, MAX_ROOT, TreeShape};
use crate::operators::expansion::ExpansionTable;
use crate::operators::harmonics::count;
use crate::operators::m2m::M2m;
use crate::operators::m2p::{M2p, M2pTable};
use crate::potentials::Potentials;
use crate::solver::evaluation::Evaluation;
use crate::solver::leaves::{over_leaves, points, split_front};
use crate::solver::settings::{MAX_ORDER, Settings};
use crate::solver::timings::{StageTimings, stopwatch};
use crate::tuning::cost::Workload;
use crate::workspace::{LANES, Pool, ScratchPool};
use lists::{Criterion, Lists};

/// Leaves per task of M2P.
const GRAIN: usize = 4;

/// Particles per leaf. This number was measured to be the fastest: vectors are full, and pairs cost as much as expansions.
const PER_LEAF: f64 = 64.0;

/// Accuracy and shape of the tree.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct TreecodeSettings {
    /// Order p of the expansions: (p+1)² coefficients.
    pub order: usize,
    /// Root grid and refinements.
    pub tree: TreeShape,
    /// θ: a box is taken as a whole if its diameter is less than θ times the distance of its centre from the sphere around the leaf.
    /// From 0.1 to 1.9.
    pub opening: f64,
}

impl TreecodeSettings {
    /// With this opening force errors are those of the FMM of the same order whose near boxes touch: 0.6 to 0.9 times as large in uniform
    /// clouds, from order 3 to 12.
    pub const OPENING: f64 = 1.4;

    /// `order` and `tree`, the default opening.
    #[must_use]
    pub fn new(order: usize, tree: TreeShape) -> Self {
        Self { order, tree, opening: Self::OPENING }
    }

    /// `order`, the default opening, and a tree with the best number of particles per leaf.
    #[must_use]
    pub fn auto(order: usize, workload: &Workload) -> Self {
        Self::new(order, tree(workload))
    }

    fn check(&self) -> Result<(), FmmError> {
        if self.order > MAX_ORDER {
            return Err(FmmError::Order { order: self.order, max: MAX_ORDER });
        }
        if !(0.1..=1.9).contains(&self.opening) {
            return Err(FmmError::Opening { opening: self.opening });
        }
        self.tree.check(MAX_ROOT)
    }
}

/// The tree with leaves nearest to [`PER_LEAF`] particles, none smaller than the workload allows: one root box, or a few per axis.
fn tree(workload: &Workload) -> TreeShape {
    let edges = workload.edges;
    let shortest = edges.iter().copied().fold(f64::INFINITY, f64::min);
    let mut best = (TreeShape::near_cubic(edges, 0), f64::INFINITY);
    // More than 3 root boxes per axis would be more work than the boxes of coarser levels that they replace.
    for cut in [1, 3] {
        let root = edges.map(|e| (e / shortest * f64::from(cut)).round());
        for depth in 0..=13 {
            let n = root.map(|m| m * f64::from(1 << depth));
            let small = (0..3).any(|a| edges[a] / n[a] < workload.minimum_leaf);
            if small || root.iter().any(|m| *m > MAX_ROOT as f64) || n.iter().any(|n| *n > MAX_LEAVES as f64) {
                break;
            }
            let leaves = (n.iter().product::<f64>() * workload.filled).max(1.0);
            let misfit = (workload.particles as f64 / leaves / PER_LEAF).ln().abs();
            if misfit < best.1 {
                best = (TreeShape { root: root.map(|m| m as usize), depth }, misfit);
            }
        }
    }
    best.0
}

/// Particles of a leaf in units of another level, and what the boxes of that level make there.
struct Workspace<T> {
    scaled: [Vec<T>; 3],
    sums: [Vec<T>; 4],
}

impl<T> Default for Workspace<T> {
    fn default() -> Self {
        Self { scaled: std::array::from_fn(|_| Vec::new()), sums: std::array::from_fn(|_| Vec::new()) }
    }
}

/// Treecode for the Coulomb potential in open space, k_e = 1, in precision `T`.
pub struct Treecode<T: Real> {
    settings: TreecodeSettings,
    stride: usize,
    table: ExpansionTable<T>,
    m2p_table: M2pTable<T>,
    m2m: M2m<T>,
    criterion: Criterion,
    assigned: Option<(Assignment, Lists)>,
    evaluation: Evaluation<T>,
    /// The coefficients that M2P needs of the multipole expansions of each level.
    coefficients: Vec<Vec<T>>,
    pool: ScratchPool<T>,
    spaces: Pool<Workspace<T>>,
    timings: StageTimings,
}

impl<T: Real> Treecode<T> {
    /// Prepare the operators.
    ///
    /// # Errors
    /// A boundary that is not open, an order above [`MAX_ORDER`], an empty or too large tree, an opening out of range.
    pub fn new(boundary: Boundary, settings: TreecodeSettings) -> Result<Self, FmmError> {
        if boundary != Boundary::Open {
            return Err(FmmError::OpenOnly { method: "treecode", periods: boundary.periods().len() });
        }
        settings.check()?;
        let TreecodeSettings { order, tree, opening } = settings;
        let geometry = Geometry::new(&boundary, tree, &[]);
        let stride = count(order).next_multiple_of(LANES);
        let basis = geometry.unit_basis();
        let grid = BoxGrid { topology: geometry.root(), basis, near: NearSet::new(&basis, Settings::TOUCHING) };
        Ok(Self {
            settings,
            stride,
            table: ExpansionTable::new(order),
            m2p_table: M2pTable::new(order),
            m2m: M2m::new(&grid, order, stride, tree.depth),
            criterion: Criterion::new(order, opening, tree.depth),
            assigned: None,
            evaluation: Evaluation::new(),
            coefficients: Vec::new(),
            pool: Pool::new(),
            spaces: Pool::new(),
            timings: StageTimings::default(),
        })
    }

    /// Order, tree, opening.
    pub fn settings(&self) -> TreecodeSettings {
        self.settings
    }
}

impl<T: Real> Coulomb for Treecode<T> {
    fn name(&self) -> &'static str {
        "treecode"
    }

    fn assign(&mut self, positions: &[[f64; 3]], exclusions: &Exclusions) -> Result<(), FmmError> {
        self.assigned = None;
        check_particles(positions, exclusions)?;
        let geometry = Geometry::new(&Boundary::Open, self.settings.tree, positions);
        let assignment = Assignment::sorted(geometry, None, positions)?;
        let lists = Lists::new(&assignment, &self.criterion, exclusions)?;
        self.evaluation.fit(&assignment, self.stride, 1);
        self.assigned = Some((assignment, lists));
        Ok(())
    }

    fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError> {
        let Some((to, lists)) = &self.assigned else { return Err(FmmError::NotAssigned) };
        check_length("positions", to.order.len(), positions.len())?;
        check_length("charges", to.order.len(), charges.len())?;
        self.pool.grow();
        self.spaces.grow();
        let (evaluation, times) = (&mut self.evaluation, &mut self.timings);
        *times = StageTimings::default();
        let mut lap = stopwatch();
        evaluation.sort(to, positions, &[charges])?;
        lap(&mut times.sort);
        evaluation.p2m(to, &self.table, self.stride, &self.pool);
        lap(&mut times.p2m);
        evaluation.upward(to, &self.m2m, &self.pool);
        lap(&mut times.m2m);
        convert(&self.m2p_table, evaluation, &mut self.coefficients, (self.m2p_table.width(), self.stride));
        m2p(&self.m2p_table, (to, lists), evaluation, &self.coefficients, &self.spaces);
        lap(&mut times.m2p);
        evaluation.p2p(to, &|leaf, runs| near_runs(to, lists, leaf, runs), &|leaf| lists.exceptions(leaf), &self.pool);
        lap(&mut times.p2p);
        let (energy, finite) = evaluation.gather(to, (0, charges), out);
        lap(&mut times.gather);
        if finite { Ok(energy) } else { Err(not_finite(&Boundary::Open, positions, charges, out)) }
    }

    fn timings(&self) -> &StageTimings {
        &self.timings
    }
}

/// The coefficients that M2P needs of the multipole expansions of all boxes, `width` elements for each.
fn convert<T: Real>(
    table: &M2pTable<T>,
    evaluation: &Evaluation<T>,
    out: &mut Vec<Vec<T>>,
    (width, stride): (usize, usize),
) {
    out.resize_with(evaluation.multipoles.len(), Vec::new);
    for (out, multipoles) in out.iter_mut().zip(&evaluation.multipoles) {
        out.resize(multipoles.len() / stride * width, T::zero());
        let boxes = out.par_chunks_mut(width).zip(multipoles.par_chunks(stride));
        boxes.for_each_init(Vec::new, |scratch, (out, multipole)| {
            table.field_coefficients(multipole, scratch);
            out.copy_from_slice(scratch);
        });
    }
}

/// Potential and field of the accepted boxes. Boxes are cubes, and their edge is the scale of their level.
fn m2p<T: Real>(
    table: &M2pTable<T>,
    (to, lists): (&Assignment, &Lists),
    evaluation: &mut Evaluation<T>,
    coefficients: &[Vec<T>],
    spaces: &Pool<Workspace<T>>,
) {
    let (leaves, depth, sorted) = (to.leaves(), to.geometry.tree.depth, &evaluation.sorted);
    over_leaves(leaves, GRAIN, 1, evaluation.far.each_mut().map(Vec::as_mut_slice), &|range, mut out| {
        let Workspace { scaled, sums } = &mut *spaces.get();
        for leaf in range {
            let places = leaves.particles(leaf);
            let n = places.len();
            let mut part = split_front(&mut out, n);
            part.iter_mut().for_each(|v| v.fill(T::zero()));
            let Points { x, y, z } = points(sorted, places);
            for (d, level) in to.levels.iter().enumerate() {
                let boxes = lists.far(leaf, d);
                if boxes.is_empty() {
                    continue;
                }
                // Lengths in units of this level's scale.
                let ratio = 0.5f64.powi((depth - d) as i32);
                for (scaled, x) in scaled.iter_mut().zip([x, y, z]) {
                    scaled.clear();
                    scaled.extend(x.iter().map(|x| *x * T::of(ratio)));
                }
                for sum in &mut *sums {
                    sum.clear();
                    sum.resize(n, T::zero());
                }
                let width = coefficients[d].len() / level.len();
                for &source in boxes {
                    let centre = level.coordinates[source as usize];
                    let own = |a: usize| (f64::from(leaves.coordinates[leaf][a]) + 0.5) * ratio;
                    let shift = [0, 1, 2].map(|a| T::of(own(a) - f64::from(centre[a]) - 0.5));
                    let points = Points { x: &scaled[0], y: &scaled[1], z: &scaled[2] };
                    let coefficients = &coefficients[d][source as usize * width..][..width];
                    let out = sums.each_mut().map(Vec::as_mut_slice);
                    kernels::dispatch_vectors(M2p { table, points, shift, coefficients, out });
                }
                for ((part, sum), power) in part.iter_mut().zip(&*sums).zip([1, 2, 2, 2]) {
                    let factor = T::of(ratio.powi(power));
                    part.iter_mut().zip(sum).for_each(|(p, s)| *p += factor * *s);
                }
            }
        }
    });
}

/// The leaves that `leaf` sees directly, appended.
fn near_runs<T: Real>(to: &Assignment, lists: &Lists, leaf: usize, runs: &mut Vec<Run<T>>) {
    let leaves = to.leaves();
    let own = leaves.coordinates[leaf];
    runs.extend(lists.near(leaf).iter().map(|source| {
        let (places, at) = (leaves.particles(*source as usize), leaves.coordinates[*source as usize]);
        let shift = [0, 1, 2].map(|a| T::of(f64::from(at[a]) - f64::from(own[a])));
        Run { start: places.start as u32, len: places.len() as u32, shift }
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_hold_about_as_many_particles_as_are_best() {
        for n in [300, 1000, 3000, 10_000, 100_000, 1_000_000] {
            for edges in [[1.0; 3], [4.0, 1.0, 1.0]] {
                let workload = Workload {
                    particles: n,
                    boundary: Boundary::Open,
                    edges,
                    filled: 1.0,
                    density: None,
                    minimum_leaf: 0.0,
                };
                let leaves = tree(&workload).leaves();
                let per_leaf = n as f64 / leaves.iter().product::<usize>() as f64;
                // Leaves per axis: 1, 2, 3, 4, 6, 8, …, at most a factor 3/2 and so 3.4 in volume, half of it to either side; 8 from 1 to 2.
                assert!((20.0..160.0).contains(&per_leaf), "{n} {edges:?}: {leaves:?}, {per_leaf} per leaf");
            }
        }
        let workload = Workload {
            particles: 100_000,
            boundary: Boundary::Open,
            edges: [1.0; 3],
            filled: 1.0,
            density: None,
            minimum_leaf: 0.2,
        };
        assert_eq!(tree(&workload).leaves(), [4; 3]);
    }
}
