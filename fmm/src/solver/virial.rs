//! The diagonal of the virial: what the energy does when one axis is stretched and the particles with it.
//!
//! ```text
//! W_a = Σ_i r_ia F_ia = −dE/dε_a,   r_a → (1 + ε) r_a for all positions and periods
//! ```
//!
//! The boxes are stretched too, so that with s_i, the position relative to the centre of the box, R the vector between two boxes, c the scale of a
//! box and T the operators of the root grid, E = E_near + M†T M/2c + E_trace gives
//!
//! ```text
//! W_a = Σ_i s_ia F_ia + ½ Σ_near R_a F_a + E_trace + ⅓ (E_far − Σ_i s_i·F_i^far) − M† T'_a M / 2c
//! ```
//!
//! The second term sums the forces F between near boxes, which the near field tells for sources that carry q R_a instead of q; T'_a is the change of T when a box
//! changes its shape and not its volume. Expansions are truncated as they are in the energy, whose derivative this is to rounding. Since E is
//! homogeneous of degree −1, W_x + W_y + W_z = E, and the third axis follows from two.
//!
//! T'_a is a central difference of lattice sums, which are exact to 1e-14: with a step of 1e-4 it is good to 1e-8 for low and 1e-5 for the
//! highest degrees, whose part of the energy is small.

use kernels::{FieldMut, Real, Run, p2p};
use rayon::prelude::*;

use crate::geometry::assignment::Assignment;
use crate::geometry::grid::BoxGrid;
use crate::lattice::waves::far_field;
use crate::operators::harmonics::count;
use crate::operators::m2l::convolution::Convolution;
use crate::operators::p2p::near_runs;
use crate::solver::evaluation::Evaluation;
use crate::solver::leaves::points;
use crate::workspace::ScratchPool;

/// Step of the differences of lattice sums, relative.
const STEP: f64 = 1e-4;

/// The change of the operators of a root grid when its boxes become longer along x or y, at constant volume.
pub struct StretchedRoot<T: Real> {
    axes: [Convolution<T>; 2],
}

impl<T: Real> StretchedRoot<T> {
    /// For expansions of order `order` with `stride` elements.
    pub fn new(grid: &BoxGrid, order: usize, stride: usize) -> Self {
        let at = |axis: usize, h: f64| far_field(&stretched(grid, axis, h), 2 * order);
        let axes = [0, 1].map(|axis| {
            let (mut waves, less) = (at(axis, STEP), at(axis, -STEP));
            waves.iter_mut().zip(less).for_each(|(more, less)| *more = (*more - less) / (2.0 * STEP));
            Convolution::from_waves(grid, order, stride, waves)
        });
        Self { axes }
    }

    /// ½ M† T' M for both axes; `locals` is work space.
    fn energies(&mut self, multipoles: &[T], (order, stride): (usize, usize), pool: &ScratchPool<T>) -> [f64; 2] {
        let mut locals = vec![T::zero(); multipoles.len()];
        self.axes.each_mut().map(|convolution| {
            convolution.apply(multipoles, &mut locals, 1, pool);
            let rows = multipoles.chunks_exact(stride).zip(locals.chunks_exact(stride));
            let of_box = |(m, l): (&[T], &[T])| -> f64 {
                m.iter().zip(l).take(count(order)).map(|(m, l)| m.widen() * l.widen()).sum()
            };
            0.5 * rows.map(of_box).sum::<f64>()
        })
    }
}

/// The grid with its boxes longer by e^(2h/3) along `axis` and shorter by e^(−h/3) along the others.
pub(crate) fn stretched(grid: &BoxGrid, axis: usize, h: f64) -> BoxGrid {
    let factor = |a: usize| (if a == axis { 2.0 * h / 3.0 } else { -h / 3.0 }).exp();
    let basis = grid.basis.map(|e| [0, 1, 2].map(|a| factor(a) * e[a]));
    BoxGrid { topology: grid.topology, basis, near: grid.near.clone() }
}

/// What the diagonal of the virial is made of besides the last evaluation.
pub struct Parts<'a, T: Real> {
    /// The boxes and who is in them; without refinement.
    pub to: &'a Assignment,
    /// Root grid.
    pub grid: &'a BoxGrid,
    /// The change of its operators.
    pub root: &'a mut StretchedRoot<T>,
    /// Order and elements of the expansions of a box.
    pub size: (usize, usize),
    /// Work space.
    pub pool: &'a ScratchPool<T>,
}

/// The diagonal of the virial at the last evaluation, whose energy was `energy`.
pub fn diagonal<T: Real>(evaluation: &Evaluation<T>, parts: Parts<'_, T>, energy: f64) -> [f64; 3] {
    let Parts { to, grid, root, size, pool } = parts;
    let scale = to.geometry.scale();
    let near = near_boxes(evaluation, to, grid, pool);
    let stretch = root.energies(&evaluation.multipoles[0], size, pool);
    let trace = evaluation.trace_energy(0);
    // Σ s F of each axis, of the expansions alone ⅓ (E − Σ s·F); in units of the scale.
    let (mut along, mut far) = ([0.0; 2], 0.0);
    for (k, sum) in evaluation.sums.iter().enumerate() {
        let [x, y, z, q] = [0, 1, 2, 3].map(|a| evaluation.sorted[a][k].widen());
        let [phi, ex, ey, ez] = [0, 1, 2, 3].map(|a| evaluation.far[a][k].widen());
        along[0] += q * x * sum[1];
        along[1] += q * y * sum[2];
        far += q * (0.5 * phi - (x * ex + y * ey + z * ez)) / 3.0;
    }
    let [x, y] = [0, 1].map(|a| scale * along[a] + (near[a] + far - stretch[a]) / scale + trace);
    [x, y, energy - x - y]
}

/// ½ Σ R_a F_a over near boxes for x and y, in units of the scale: R from the source to the target.
fn near_boxes<T: Real>(evaluation: &Evaluation<T>, to: &Assignment, grid: &BoxGrid, pool: &ScratchPool<T>) -> [f64; 2] {
    let (sorted, leaves) = (&evaluation.sorted, to.leaves());
    let of_leaf = |leaf: usize| {
        let places = leaves.particles(leaf);
        if places.is_empty() {
            return [0.0; 2];
        }
        let scratch = &mut *pool.get();
        scratch.runs.clear();
        near_runs(to, grid, leaf, &mut scratch.runs);
        let charges = &sorted[3][..];
        scratch.sources.gather(points(sorted, 0..charges.len()), &[charges, charges], &scratch.runs);
        for axis in 0..2 {
            let factors = scratch.runs.iter().map(|run: &Run<T>| (run.len as usize, run.shift[axis]));
            scratch.sources.weigh(axis, factors);
        }
        let [mut phi, mut ex, mut ey, mut ez] = [(); 4].map(|()| vec![T::zero(); 2 * places.len()]);
        let out = FieldMut { phi: &mut phi, ex: &mut ex, ey: &mut ey, ez: &mut ez };
        p2p(points(sorted, places.clone()), &scratch.sources, to.exceptions(leaf), out);
        [0, 1].map(|axis| {
            let field = &[&ex, &ey][axis][axis * places.len()..][..places.len()];
            -0.5 * field.iter().zip(&charges[places.clone()]).map(|(e, q)| e.widen() * q.widen()).sum::<f64>()
        })
    };
    let sums: Vec<[f64; 2]> = (0..leaves.len()).into_par_iter().map(of_leaf).collect();
    sums.iter().fold([0.0; 2], |sum, part| [sum[0] + part[0], sum[1] + part[1]])
}
