//! What rounding of coordinates does to the forces of the closest pairs.
//!
//! The difference of two coordinates is wrong by e, the rounding of both, however close they are, and the force of a pair at distance d by a part 2e/d of it. Where
//! particles lie at random the closest pairs have forces so large that they decide the error of all of them: with e_ij that of the force of a pair,
//!
//!   ε² = Σ q_i² q_j² e_ij² / Σ q_i² q_j² / d_ij⁴   over all pairs.
//!
//! 1 000 charges ±1 at random places on a line have pairs a millionth of it apart, and 4e-6 to 2e-3 of error in single precision. The estimate rounds each pair as the
//! inner loops do, so that it knows the places of these particles and not only how close they are; it is what is found where rounding is more than the other errors
//! (`tests/close.rs`). Only pairs are looked at that may have a larger error than is wanted. All others count as the evenly spaced particles of [`Crowd`](super::rounding::Crowd)
//! would: Σ 1/d⁴ ≈ 4π/a⁴ for each of them, with a their spacing.

use kernels::{Real, Run};
use rayon::prelude::*;

use crate::geometry::assignment::Assignment;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::BoxGrid;
use crate::operators::p2p::near_runs;

/// Distance, over ε and the longest edge of a box, at which a pair has at most a relative error of 1: two coordinates, a shift by a box and their sum are rounded
/// along each of three axes, none of them larger than 1.5 edges, which is 2 √3 (½ + ½ + 1 + ½) / 2.
const REACH: f64 = 4.4;

/// The pairs whose forces suffer most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClosePairs {
    /// The two particles of the worst of them, if there is any.
    pub worst: Option<[usize; 2]>,
    /// How far apart they are, in the units of the positions.
    pub distance: f64,
    /// Estimated relative error of all forces.
    pub error: f64,
}

/// Sums over the pairs of some boxes.
#[derive(Clone, Copy, Default)]
struct Sums {
    difference: f64,
    size: f64,
    /// Square of the error of the worst pair, its particles and their distance.
    worst: (f64, Option<[usize; 2]>, f64),
}

impl Sums {
    fn joined(self, other: Self) -> Self {
        let worst = if other.worst.0 > self.worst.0 { other.worst } else { self.worst };
        Self { difference: self.difference + other.difference, size: self.size + other.size, worst }
    }
}

/// Particles in their boxes, and pairs that do not interact.
struct Particles<'a, T> {
    to: &'a Assignment,
    grid: &'a BoxGrid,
    positions: &'a [[f64; 3]],
    exclusions: &'a Exclusions,
    /// As the inner loops have them, by sorted place.
    local: Vec<[T; 3]>,
}

impl ClosePairs {
    /// All pairs that may have a larger relative error than `tolerance`. Where there are no `charges` all are ±1.
    pub fn find<T: Real>(
        (to, grid): (&Assignment, &BoxGrid),
        positions: &[[f64; 3]],
        charges: Option<&[f64]>,
        exclusions: &Exclusions,
        tolerance: f64,
    ) -> Self {
        let (geometry, leaves) = (&to.geometry, to.leaves());
        let scale = 1.0 / geometry.scale();
        let local = |k: usize| {
            let centre = geometry.centres(leaves.coordinates[to.leaf_of[k] as usize]).0;
            let r = to.wrapped(k, positions);
            [0, 1, 2].map(|a| T::of((r[a] - centre[a]) * scale))
        };
        let local = (0..to.order.len()).into_par_iter().map(local).collect();
        let particles = Particles { to, grid, positions, exclusions, local };
        let longest = grid.basis.iter().flatten().fold(0.0, |l: f64, x| l.max(x.abs()));
        let reach = REACH * T::epsilon().widen() * longest / tolerance;
        let charge = |i: usize| charges.map_or(1.0, |charges| charges[i]);
        let mean_square = charges.map_or(1.0, |q| q.iter().map(|q| q * q).sum::<f64>() / q.len().max(1) as f64);
        let of_leaf = |leaf: usize| particles.of_leaf(leaf, reach, charge, mean_square);
        // Added up in the order of the boxes, whatever the number of threads.
        let all: Vec<Sums> = (0..leaves.len()).into_par_iter().map(of_leaf).collect();
        let Sums { difference, size, worst } = all.into_iter().fold(Sums::default(), Sums::joined);
        let error = if difference > 0.0 { (difference / size).sqrt() } else { 0.0 };
        Self { worst: worst.1, distance: worst.2 / scale, error }
    }
}

impl<T: Real> Particles<'_, T> {
    fn of_leaf(&self, leaf: usize, reach: f64, charge: impl Fn(usize) -> f64, mean_square: f64) -> Sums {
        let targets = self.to.sources(leaf);
        let mut sums = Sums::default();
        if targets.is_empty() {
            return sums;
        }
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        for r in &self.local[targets.clone()] {
            let r = r.map(T::widen);
            (low, high) = ([0, 1, 2].map(|a| r[a].min(low[a])), [0, 1, 2].map(|a| r[a].max(high[a])));
        }
        let widest = (0..3).fold(0, |w, a| if high[a] - low[a] > high[w] - low[w] { a } else { w });
        let n = targets.len() as f64;
        let spacing = (high[widest] - low[widest]) / n.cbrt();
        if spacing > 0.0 {
            sums.size = 4.0 * std::f64::consts::PI * n * mean_square.powi(2) / spacing.powi(4);
        }

        let mut runs: Vec<Run<T>> = Vec::new();
        near_runs(self.to, self.grid, leaf, &mut runs);
        let mut sources: Vec<([T; 3], usize)> = Vec::new();
        for Run { start, len, shift } in runs {
            let places = start as usize..(start + len) as usize;
            let shifted = places.map(|k| ([0, 1, 2].map(|a| self.local[k][a] + shift[a]), k));
            let beside = |r: &[T; 3]| (0..3).all(|a| (low[a] - reach..=high[a] + reach).contains(&r[a].widen()));
            sources.extend(shifted.filter(|(r, _)| beside(r)));
        }
        sources.sort_unstable_by(|a, b| a.0[widest].widen().total_cmp(&b.0[widest].widen()));
        for k in targets {
            let (at, i) = (self.local[k].map(T::widen), self.to.order[k] as usize);
            let first = sources.partition_point(|(r, _)| r[widest].widen() < at[widest] - reach);
            for (r, other) in &sources[first..] {
                let found = [0, 1, 2].map(|a| at[a] - r[a].widen());
                if -found[widest] > reach {
                    break;
                }
                let j = self.to.order[*other] as usize;
                if *other == k
                    || found.iter().any(|d| d.abs() > reach)
                    || self.exclusions.partners(i).contains(&(j as u32))
                {
                    continue;
                }
                let (exact, distance) = force(self.difference(i, j));
                let rounded = force(found).0;
                // Two particles on one point are named by an evaluation, unless they are images of each other and only nearly there.
                if distance > 0.0 || rounded != exact {
                    let error: f64 = (0..3).map(|a| (rounded[a] - exact[a]).powi(2)).sum();
                    let weight = (charge(i) * charge(j)).powi(2);
                    sums.difference += weight * error;
                    sums.size += if distance > 0.0 { weight * distance.powi(-4) } else { 0.0 };
                    if weight * error > sums.worst.0 {
                        sums.worst = (weight * error, Some([i.min(j), i.max(j)]), distance);
                    }
                }
            }
        }
        sums
    }

    /// From the nearest image of particle `j` to particle `i`, in units of the boxes, with no other rounding than that of the positions themselves.
    fn difference(&self, i: usize, j: usize) -> [f64; 3] {
        let (geometry, d) = (&self.to.geometry, [0, 1, 2].map(|a| self.positions[i][a] - self.positions[j][a]));
        let scale = 1.0 / geometry.scale();
        geometry.wrapped(d, geometry.nearest_image(d)).map(|d| d * scale)
    }
}

/// The field d / |d|³ of a unit charge, and |d|. There is none of a charge at no distance: its error is the field that it should have.
fn force(d: [f64; 3]) -> ([f64; 3], f64) {
    let distance = d.iter().map(|d| d * d).sum::<f64>().sqrt();
    if distance > 0.0 { (d.map(|d| d / distance / distance / distance), distance) } else { ([0.0; 3], 0.0) }
}
