//! The front door: a solver for a tolerance, or for an order, with a tree that suits the particles at hand.

use std::marker::PhantomData;

use kernels::Real;

use crate::FmmError;
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::tree::TreeShape;
use crate::solver::settings::Settings;
use crate::solver::{Fmm, particles};
use crate::tuning::accuracy;
use crate::tuning::cost::Workload;

/// Tolerance unless one or an order is given.
const TOLERANCE: f64 = 1e-4;

/// What decides the settings.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Accuracy {
    Tolerance(f64),
    Order { order: usize, separation: f64 },
}

/// Makes an [`Fmm`]; see [`Fmm::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct FmmBuilder<T> {
    boundary: Boundary,
    accuracy: Accuracy,
    tree: Option<TreeShape>,
    exclusions: Option<Exclusions>,
    targets: usize,
    minimum_leaf: f64,
    precision: PhantomData<T>,
}

impl Fmm<f64> {
    /// A solver from what is wanted of it: [`Boundary::Open`], a tolerance of 1e-4, double precision and no excluded pairs unless said otherwise.
    ///
    /// ```
    /// use fmm::{Boundary, Fmm, Potentials};
    ///
    /// let positions = [[0.1, 0.2, 0.3], [0.6, 0.9, 0.4], [0.5, 0.1, 0.8]];
    /// let mut fmm = Fmm::builder().boundary(Boundary::rectangular([1.0; 3])).tolerance(1e-6).build_for(&positions)?;
    /// let mut out = Potentials::default();
    /// let energy = fmm.evaluate(&positions, &[1.0, -2.0, 1.0], &mut out)?;
    /// assert!(energy < 0.0 && out.field.len() == 3);
    /// # Ok::<(), fmm::FmmError>(())
    /// ```
    pub fn builder() -> FmmBuilder<f64> {
        FmmBuilder {
            boundary: Boundary::Open,
            accuracy: Accuracy::Tolerance(TOLERANCE),
            tree: None,
            exclusions: None,
            targets: 0,
            minimum_leaf: 0.0,
            precision: PhantomData,
        }
    }
}

impl<T: Real> FmmBuilder<T> {
    /// Where images are.
    pub fn boundary(mut self, boundary: Boundary) -> Self {
        self.boundary = boundary;
        self
    }

    /// Relative error of the forces, as the root of the mean square over all particles, from 1e-12 (single precision: 1e-5) to 0.1. Order,
    /// separation and tree are those of [`accuracy::estimate`], which knows water: other disordered systems do the same or better; crystals, whose
    /// forces nearly cancel, do not. It takes the place of an order that was given before. [`accuracy::tune`] checks against exact sums instead.
    pub fn tolerance(mut self, tolerance: f64) -> Self {
        self.accuracy = Accuracy::Tolerance(tolerance);
        self
    }

    /// Order of the expansions, and how many box diameters apart boxes must be to interact by expansions ([`Settings::separation`]), in place of a
    /// tolerance.
    pub fn order(mut self, order: usize, separation: f64) -> Self {
        self.accuracy = Accuracy::Order { order, separation };
        self
    }

    /// This tree in place of the fastest one by the cost model.
    pub fn tree(mut self, tree: TreeShape) -> Self {
        self.tree = Some(tree);
        self
    }

    /// Pairs that do not interact. Leaf boxes are made large enough that these pairs lie in near boxes.
    pub fn exclusions(mut self, exclusions: Exclusions) -> Self {
        self.exclusions = Some(exclusions);
        self
    }

    /// The last so many positions are targets, which have no charge; see [`Fmm::assign_with_targets`].
    ///
    /// ```
    /// use fmm::{Fmm, Potentials};
    ///
    /// let charges = [1.0, -1.0];
    /// let positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 2.0, 0.0], [3.0, 0.0, 0.0]];
    /// let mut fmm = Fmm::builder().tolerance(1e-8).targets(2).build_for(&positions)?;
    /// let mut out = Potentials::default();
    /// fmm.evaluate(&positions, &charges, &mut out)?;
    /// assert!(out.potential[2].abs() < 1e-9 && (out.potential[3] - (1.0 / 3.0 - 1.0 / 2.0)).abs() < 1e-9);
    /// # Ok::<(), fmm::FmmError>(())
    /// ```
    pub fn targets(mut self, targets: usize) -> Self {
        self.targets = targets;
        self
    }

    /// Smallest edge of a leaf box, in units of the positions; 0 or less, or what is no number, asks for none. Excluded pairs need room beyond their present distance if particles move before
    /// the next [`Fmm::assign`].
    pub fn minimum_leaf(mut self, length: f64) -> Self {
        self.minimum_leaf = length;
        self
    }

    /// Pairs and expansions in f32 instead of f64; results are sums in f64 either way.
    pub fn single_precision(self) -> FmmBuilder<f32> {
        let Self { boundary, accuracy, tree, exclusions, targets, minimum_leaf, .. } = self;
        FmmBuilder { boundary, accuracy, tree, exclusions, targets, minimum_leaf, precision: PhantomData }
    }

    /// The solver, with the particles at `positions` assigned to its boxes.
    ///
    /// # Errors
    /// A tolerance out of range; [`FmmError::Rounding`] where particles crowd in a leaf box so that rounding of their coordinates alone makes larger errors than the
    /// tolerance, as of any later [`Fmm::assign`]; what [`Fmm::new`] and [`Fmm::assign`] refuse. Whether the closest pairs do so depends on the charges: it is the first
    /// evaluation after each assignment that refuses ([`FmmError::ClosePair`]).
    pub fn build_for(self, positions: &[[f64; 3]]) -> Result<Fmm<T>, FmmError> {
        self.boundary.check()?;
        let particles = particles(positions, self.targets)?;
        let exclusions = self.exclusions.unwrap_or_else(|| Exclusions::none(particles));
        let excluded = longest_excluded(&self.boundary, positions, &exclusions);
        let workload = Workload::in_own_unit(&self.boundary, positions, excluded.max(self.minimum_leaf));
        let mut settings = match self.accuracy {
            Accuracy::Tolerance(tolerance) => accuracy::estimate::<T>(tolerance, &workload)?,
            Accuracy::Order { order, separation } => {
                let first = TreeShape { root: [1; 3], depth: 0 };
                // The order is checked before the cost model sees it.
                let settings = Settings { order, separation, tree: self.tree.unwrap_or(first) };
                settings.check(crate::geometry::tree::MAX_ROOT)?;
                Settings { tree: TreeShape::auto::<T>(order, separation, &workload), ..settings }
            }
        };
        settings.tree = self.tree.unwrap_or(settings.tree);
        let mut fmm = Fmm::new(self.boundary, settings)?;
        if let Accuracy::Tolerance(tolerance) = self.accuracy {
            fmm.promise(tolerance);
        }
        fmm.assign_with_targets(positions, self.targets, &exclusions)?;
        Ok(fmm)
    }
}

/// Longest distance of an excluded pair, its nearest images taken. Pairs without a particle, or with one that is nowhere, are left to
/// [`Fmm::assign`].
fn longest_excluded(boundary: &Boundary, positions: &[[f64; 3]], exclusions: &Exclusions) -> f64 {
    let rows = 0..exclusions.n_particles().min(positions.len());
    let pairs = rows.flat_map(|i| exclusions.partners(i).iter().map(move |j| (i, *j as usize)));
    let distance = |(i, j): (usize, usize)| {
        let (a, b) = (positions[i], positions.get(j)?);
        Some(boundary.nearest([0, 1, 2].map(|x| a[x] - b[x])))
    };
    pairs.filter_map(distance).filter(|d| d.is_finite()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Potentials, ewald};

    /// 216 charges ±1, one anywhere in each cell of edge 1 of a cube.
    fn charges() -> (Vec<[f64; 3]>, Vec<f64>) {
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / (1_u64 << 31) as f64
        };
        let position = |i: usize| [i / 36, i / 6 % 6, i % 6].map(|c| c as f64 + random());
        let positions: Vec<[f64; 3]> = (0..216).map(position).collect();
        (positions, (0..216).map(|i| if i * 7 % 216 < 108 { 1.0 } else { -1.0 }).collect())
    }

    /// Relative error of the forces, and number of leaf boxes.
    fn force_error(boundary: Boundary, (x, q): (&[[f64; 3]], &[f64]), tolerance: f64) -> (f64, usize) {
        let mut fmm = Fmm::builder().boundary(boundary).tolerance(tolerance).build_for(x).unwrap();
        let mut out = Potentials::default();
        fmm.evaluate(x, q, &mut out).unwrap();
        let (_, exact) = ewald::evaluate(&boundary, x, q, &Exclusions::none(x.len()), 1e-16).unwrap();
        // Charges are ±1: forces are as large as fields.
        let pairs = || out.field.iter().flatten().zip(exact.field.iter().flatten());
        let (error, size) = pairs().fold((0.0, 0.0), |(e, s), (a, b)| (e + (a - b) * (a - b), s + b * b));
        (f64::sqrt(error / size), fmm.settings().tree.leaves().iter().product())
    }

    #[test]
    fn tolerances_are_kept() {
        let (x, q) = charges();
        for boundary in [Boundary::Open, Boundary::rectangular([6.0; 3])] {
            for tolerance in [1e-2, 1e-5, 1e-8] {
                let found = force_error(boundary, (&x, &q), tolerance).0;
                assert!(found < tolerance, "{boundary:?}: {found:e} for {tolerance:e}");
            }
        }
    }

    /// A square of 15 × 15 cells and a row of 216 have one charge in each cell, so that more boxes than charges are too many.
    #[test]
    fn planes_and_lines_have_no_more_boxes_than_charges() {
        let (x, q) = charges();
        let within = |c: f64| c.fract();
        let plane: Vec<[f64; 3]> =
            (0..216).map(|i| [(i / 15) as f64 + within(x[i][0]), (i % 15) as f64 + within(x[i][1]), 7.0]).collect();
        let line: Vec<[f64; 3]> = (0..216).map(|i| [-3.0, i as f64 + within(x[i][2]), 2.0]).collect();
        let slab = Boundary::Slab { periods: [[15.0, 0.0, 0.0], [0.0, 15.0, 0.0]] };
        let wire = Boundary::Wire { period: [0.0, 216.0, 0.0] };
        for (boundary, x) in [(Boundary::Open, &plane), (slab, &plane), (Boundary::Open, &line), (wire, &line)] {
            for tolerance in [1e-3, 1e-7] {
                let (found, leaves) = force_error(boundary, (x, &q), tolerance);
                assert!(found < tolerance, "{boundary:?}: {found:e} for {tolerance:e}");
                assert!(leaves <= 216, "{boundary:?}: {leaves} boxes");
            }
        }
    }

    /// One charge far away from 215 others in a cube of edge 1: leaf boxes are so large that the others are in a corner of one of them.
    #[test]
    fn tolerances_are_kept_or_refused_where_coordinates_are_rounded() {
        let (x, q) = charges();
        let with = |distance: f64| {
            let mut x: Vec<[f64; 3]> = x.iter().map(|r| r.map(|c| c / 6.0)).collect();
            x[7] = [distance, 0.5, 0.5];
            x
        };
        fn error<T: Real>(builder: FmmBuilder<T>, x: &[[f64; 3]], q: &[f64]) -> Result<f64, FmmError> {
            let mut fmm = builder.build_for(x)?;
            let mut out = Potentials::default();
            fmm.evaluate(x, q, &mut out)?;
            let (_, exact) = crate::direct::evaluate(x, q, &Exclusions::none(x.len()))?;
            let pairs = || out.field.iter().flatten().zip(exact.field.iter().flatten());
            let (error, size) = pairs().fold((0.0, 0.0), |(e, s), (a, b)| (e + (a - b) * (a - b), s + b * b));
            Ok(f64::sqrt(error / size))
        }
        let mut refused = [0; 2];
        // Every distance that a precision serves, and some beyond, where it is refused.
        for exponent in (0..=8).chain([12, 20]) {
            let x = with(10f64.powi(exponent));
            let single = error(Fmm::builder().tolerance(1e-4).single_precision(), &x, &q);
            let double = error(Fmm::builder().tolerance(1e-10), &x, &q);
            for ((found, wanted), refused) in [(single, 1e-4), (double, 1e-10)].into_iter().zip(&mut refused) {
                match found {
                    Ok(found) => {
                        println!("1e{exponent}: {found:e}, {wanted:e}");
                        assert!(found < wanted && *refused == 0, "1e{exponent}: {found:e}, {wanted:e}");
                    }
                    Err(FmmError::Rounding { particles: 215, error, .. }) => {
                        assert!(error > wanted);
                        *refused += 1;
                    }
                    Err(error) => panic!("1e{exponent}: {error}"),
                }
            }
        }
        assert_eq!(refused, [7, 4]);
        let error = error(Fmm::builder().tolerance(1e-4).single_precision(), &with(1e6), &q).unwrap_err().to_string();
        assert!(error.contains("215 particles") && error.contains("double precision"), "{error}");
        // Whoever chooses the order has been promised nothing.
        assert!(Fmm::builder().order(4, 1.2).single_precision().build_for(&with(1e6)).is_ok());
    }

    #[test]
    fn what_is_given_is_taken() {
        let (x, _) = charges();
        let tree = TreeShape { root: [3; 3], depth: 1 };
        let fmm = Fmm::builder().order(7, 1.2).tree(tree).single_precision().build_for(&x).unwrap();
        assert_eq!(fmm.settings(), Settings { order: 7, tree, separation: 1.2 });
    }

    #[test]
    fn excluded_pairs_across_the_boundary_are_near() {
        let (mut x, q) = charges();
        // The same place in a distant image.
        x[1][0] += 60.0;
        let exclusions = Exclusions::from_pairs(x.len(), [[0, 1], [0, 5]]).unwrap();
        let boundary = Boundary::rectangular([6.0; 3]);
        assert!(longest_excluded(&boundary, &x, &exclusions) < 3.0);
        let mut fmm = Fmm::builder().boundary(boundary).exclusions(exclusions).build_for(&x).unwrap();
        assert!(fmm.evaluate(&x, &q, &mut Potentials::default()).unwrap().is_finite());
    }

    #[test]
    fn wrong_requests_are_errors() {
        let (x, _) = charges();
        for tolerance in [0.0, -1.0, 1.0, 1e-14, f64::NAN] {
            let error = Fmm::builder().tolerance(tolerance).build_for(&x).err().unwrap();
            assert!(error.to_string().contains("must lie between 1e-12 and 1e-1"), "{error}");
        }
        // What 1e-6 gives is up to 5e-6.
        let error = Fmm::builder().single_precision().tolerance(1e-6).build_for(&x).err().unwrap();
        assert!(error.to_string().ends_with("must lie between 1e-5 and 1e-1 in single precision"), "{error}");
        assert_eq!(Fmm::builder().order(99, 1.2).build_for(&x).err(), Some(FmmError::Order { order: 99, max: 60 }));
        let error = Fmm::builder().exclusions(Exclusions::none(3)).build_for(&x).err();
        assert_eq!(error, Some(FmmError::Length { what: "exclusions", expected: 216, found: 3 }));
    }
}
