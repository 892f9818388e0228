//! What rounding of coordinates does to the forces of the closest pairs.
//!
//! The difference of two coordinates is wrong by e, the rounding of both, however close they are, and the force of a pair at distance d by a part 2e/d of it. Where
//! particles lie at random the closest pairs have forces so large that they decide the error of all of them. With e_ij the error that the inner loops make of the field of
//! a unit charge j at i, and the fields E_i of an evaluation,
//!
//!   ε² = Σ_i q_i² |Σ_j q_j e_ij|² / Σ_i q_i² |E_i − Σ_j q_j e_ij|²
//!
//! over close pairs. All of it is known: e_ij from the positions of the pair and from what they are rounded to, and the fields of charges of one sign as those of both. 1 000
//! charges ±1 at random places on a line have 4e-6 to 2e-3 of error in single precision, and this is what is found, within a few per cent, where it is more than the other
//! errors (`tests/close.rs`).
//!
//! The error of a pair is at most c / d³, with c some ε box edges. Pairs are left out that do not have a relative error c / d of the tolerance, and those that do not have
//! one of a quarter of what the tolerance leaves to a particle, c |q_i q_j| / d³ > ¼ tolerance √(Σ_i q_i² E_i² / N). The second limit is the shorter one where particles
//! crowd in a part of a box: all of their pairs, as near by as the first wants them, took a hundred times as long as the evaluation.

use kernels::Real;
use rayon::prelude::*;

use crate::FmmError;
use crate::checks::at_one_point;
use crate::geometry::assignment::Assignment;
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::BoxGrid;

/// Distance, over ε and the longest edge of a box, at which a pair has at most a relative error of 1: two coordinates, a shift by a box and their sum are rounded
/// along each of three axes, none of them larger than 1.5 edges, which is 2 √3 (½ + ½ + 1 + ½) / 2.
const REACH: f64 = 4.4;

/// Part of the error that the tolerance leaves to a particle, below which a pair is left out.
const NEGLIGIBLE: f64 = 0.25;

/// Part of the tolerance that close pairs may take. Added up as errors of independent pairs are, it leaves 0.3 of it to all others.
const SHARE: f64 = 0.95;

/// Particles, and what an evaluation found.
#[derive(Clone, Copy)]
pub struct Evaluated<'a> {
    /// Of sources and targets.
    pub positions: &'a [[f64; 3]],
    /// Of sources.
    pub charges: &'a [f64],
    /// Fields, at least those at sources.
    pub fields: &'a [[f64; 3]],
    /// Pairs that do not interact.
    pub exclusions: &'a Exclusions,
}

/// The pairs whose forces suffer most.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClosePairs {
    /// The two particles of the worst of them, if there is any.
    pub worst: Option<[usize; 2]>,
    /// How far apart they are, in the units of the positions.
    pub distance: f64,
    /// Relative error of all forces that these pairs make.
    pub error: f64,
}

/// Whether rounding of the coordinates of close pairs leaves the forces as accurate as `tolerance` asks for.
///
/// # Errors
/// [`FmmError::ClosePair`] where two particles are too close; [`FmmError::Coincident`] where they are images of each other.
pub fn check<T: Real>(
    boundary: &Boundary,
    boxes: (&Assignment, &BoxGrid),
    evaluated: Evaluated,
    tolerance: f64,
) -> Result<(), FmmError> {
    match ClosePairs::find::<T>(boxes, evaluated, tolerance) {
        ClosePairs { worst: Some([i, j]), distance, error } if error > SHARE * tolerance => {
            let at_one_point = at_one_point(boundary, evaluated.positions, i, [j].into_iter());
            let single = size_of::<T>() == 4;
            Err(at_one_point.unwrap_or(FmmError::ClosePair { i, j, distance, error, tolerance, single }))
        }
        _ => Ok(()),
    }
}

/// What was found in some boxes.
#[derive(Default)]
struct Found {
    /// Particles that have close ones, with the error of their field.
    errors: Vec<(usize, [f64; 3])>,
    /// Square of the error of the worst pair, its particles and their distance.
    worst: (f64, Option<[usize; 2]>, f64),
}

impl Found {
    fn joined(mut self, other: Self) -> Self {
        self.errors.extend(other.errors);
        let worst = if other.worst.0 > self.worst.0 { other.worst } else { self.worst };
        Self { errors: self.errors, worst }
    }
}

/// Particles in their boxes, in units of these.
struct Particles<'a, T> {
    to: &'a Assignment,
    evaluated: Evaluated<'a>,
    /// From one box to those near it.
    shifts: Vec<[T; 3]>,
    /// As the inner loops have them, by sorted place.
    local: Vec<[T; 3]>,
    /// Lowest and highest coordinates of the sources of each box.
    bounds: Vec<[[T; 3]; 2]>,
}

impl ClosePairs {
    /// The pairs that matter to forces which are to have an error of `tolerance`.
    pub fn find<T: Real>((to, grid): (&Assignment, &BoxGrid), evaluated: Evaluated, tolerance: f64) -> Self {
        let Evaluated { charges, fields, .. } = evaluated;
        let scale = to.geometry.scale();
        let longest = grid.basis.iter().flatten().fold(0.0, |l: f64, x| l.max(x.abs()));
        let bound = REACH * T::epsilon().widen() * longest;
        let largest = charges.iter().fold(0.0, |l: f64, q| l.max(q.abs()));
        if largest == 0.0 {
            return Self::default();
        }
        // Coordinates that were rounded to one point have a field without end, of which nothing is left: what is known is that of the close pairs.
        let field = |i: usize| fields[i].map(|e| e * scale * scale);
        let field = |i: usize| if square(field(i)).is_finite() { field(i) } else { [0.0; 3] };
        let all: f64 = (0..charges.len()).map(|i| charges[i].powi(2) * square(field(i))).sum();
        let typical = (all / charges.len().max(1) as f64).sqrt();
        let matters = (bound * largest * largest / (NEGLIGIBLE * tolerance * typical)).cbrt();
        // The smaller one, and the first where there is no field at all.
        let reach = (bound / tolerance).min(matters);

        let particles = Particles::<T>::new(to, grid, evaluated);
        let of_leaf = |leaf: usize| particles.of_leaf(leaf, T::of(reach));
        // Put together in the order of the boxes, whatever the number of threads.
        let found: Vec<Found> = (0..to.leaves().len()).into_par_iter().map(of_leaf).collect();
        let Found { errors, worst } = found.into_iter().fold(Found::default(), Found::joined);
        let mut exact: Vec<f64> = (0..charges.len()).map(|i| charges[i].powi(2) * square(field(i))).collect();
        let mut difference = 0.0;
        for (i, error) in errors {
            difference += charges[i].powi(2) * square(error);
            exact[i] = charges[i].powi(2) * square([0, 1, 2].map(|a| field(i)[a] - error[a]));
        }
        let error = if difference > 0.0 { (difference / exact.iter().sum::<f64>()).sqrt() } else { 0.0 };
        Self { worst: worst.1, distance: worst.2 * scale, error }
    }
}

impl<'a, T: Real> Particles<'a, T> {
    fn new(to: &'a Assignment, grid: &BoxGrid, evaluated: Evaluated<'a>) -> Self {
        let (geometry, leaves) = (&to.geometry, to.leaves());
        let per_scale = 1.0 / geometry.scale();
        let of_leaf = |leaf: usize| {
            let centre = geometry.centres(leaves.coordinates[leaf]).0;
            let local = move |k: usize| {
                let r = to.wrapped(k, evaluated.positions);
                [0, 1, 2].map(|a| T::of((r[a] - centre[a]) * per_scale))
            };
            leaves.particles(leaf).map(local)
        };
        let local: Vec<[T; 3]> = (0..leaves.len()).into_par_iter().flat_map_iter(of_leaf).collect();
        let bounds = |leaf: usize| {
            let none = [[T::infinity(); 3], [T::neg_infinity(); 3]];
            local[to.sources(leaf)].iter().fold(none, |[low, high], r| {
                [[0, 1, 2].map(|a| r[a].min(low[a])), [0, 1, 2].map(|a| r[a].max(high[a]))]
            })
        };
        let bounds = (0..leaves.len()).into_par_iter().map(bounds).collect();
        let shifts = grid.near.offsets().iter().map(|offset| grid.vector(offset.map(f64::from)).map(T::of)).collect();
        Self { to, evaluated, shifts, local, bounds }
    }

    fn of_leaf(&self, leaf: usize, reach: T) -> Found {
        let Evaluated { charges, exclusions, .. } = self.evaluated;
        let [low, high] = self.bounds[leaf];
        let widest = (0..3).fold(0, |w, a| if high[a] - low[a] > high[w] - low[w] { a } else { w });
        let sources = self.beside(leaf, reach, widest);
        let mut found = Found::default();
        for k in self.to.sources(leaf) {
            let (at, i) = (self.local[k], self.to.order[k] as usize);
            let mut error = [0.0; 3];
            let first = sources.partition_point(|(r, _)| at[widest] - r[widest] > reach);
            let near = sources[first..].iter().take_while(|(r, _)| r[widest] - at[widest] <= reach);
            for &(r, other) in near {
                let apart = [0, 1, 2].map(|a| (at[a] - r[a]).widen());
                let j = self.to.order[other] as usize;
                if square(apart) > reach.widen().powi(2) || other == k || exclusions.partners(i).contains(&(j as u32)) {
                    continue;
                }
                let (exact, distance) = force(self.difference(i, j));
                let rounded = force(apart).0;
                // Two particles on one point are named by an evaluation, unless they are images of each other and only nearly there.
                let of_pair = [0, 1, 2].map(|a| charges[j] * (rounded[a] - exact[a]));
                (0..3).for_each(|a| error[a] += of_pair[a]);
                let worst = charges[i].powi(2) * square(of_pair);
                if worst > found.worst.0 {
                    found.worst = (worst, Some([i.min(j), i.max(j)]), distance);
                }
            }
            if error != [0.0; 3] {
                found.errors.push((i, error));
            }
        }
        found
    }

    /// The sources within reach of those of a box, as the inner loops see them from there, with their sorted places; by their coordinate along `axis`.
    fn beside(&self, leaf: usize, reach: T, axis: usize) -> Vec<([T; 3], usize)> {
        let [low, high] = self.bounds[leaf].map(|r| r.map(T::widen));
        let within = |low_other: [T; 3], high_other: [T; 3]| {
            let reach = reach.widen();
            (0..3).all(|a| high_other[a].widen() >= low[a] - reach && low_other[a].widen() <= high[a] + reach)
        };
        let mut sources = Vec::new();
        for near in self.to.leaves().near(leaf) {
            let shift = self.shifts[near.slot as usize];
            let shifted = |r: [T; 3]| [0, 1, 2].map(|a| r[a] + shift[a]);
            let [low, high] = self.bounds[near.source as usize].map(shifted);
            if within(low, high) {
                let places = self.to.sources(near.source as usize).map(|k| (shifted(self.local[k]), k));
                sources.extend(places.filter(|(r, _)| within(*r, *r)));
            }
        }
        sources.sort_unstable_by(|a: &([T; 3], usize), b| a.0[axis].widen().total_cmp(&b.0[axis].widen()));
        sources
    }

    /// From the nearest image of particle `j` to particle `i`, in units of the boxes, with no other rounding than that of the positions themselves.
    fn difference(&self, i: usize, j: usize) -> [f64; 3] {
        let (geometry, positions) = (&self.to.geometry, self.evaluated.positions);
        let (scale, d) = (1.0 / geometry.scale(), [0, 1, 2].map(|a| positions[i][a] - positions[j][a]));
        let nearest = if geometry.shortest.is_finite() { geometry.wrapped(d, geometry.nearest_image(d)) } else { d };
        nearest.map(|d| d * scale)
    }
}

fn square(d: [f64; 3]) -> f64 {
    d.iter().map(|d| d * d).sum()
}

/// The field d / |d|³ of a unit charge, and |d|. There is none of a charge at no distance: its error is the field that it should have.
fn force(d: [f64; 3]) -> ([f64; 3], f64) {
    let distance = square(d).sqrt();
    if distance > 0.0 { (d.map(|d| d / distance / distance / distance), distance) } else { ([0.0; 3], 0.0) }
}
