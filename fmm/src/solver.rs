//! The solver on the CPU: set-up, assignment of particles to boxes, evaluation.

pub(crate) mod evaluation;
pub(crate) mod leaves;
pub(crate) mod operation_count;
pub(crate) mod operators;
pub mod regularised;
pub(crate) mod settings;
pub(crate) mod timings;
pub(crate) mod trace;
pub(crate) mod virial;

use std::slice;

use crate::FmmError;
use crate::checks::{check_charge, check_finite, check_length, not_finite};
use crate::coulomb::Coulomb;
use crate::geometry::assignment::{Assignment, Geometry};
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::NearSet;
use crate::geometry::tree::MAX_ROOT;
use crate::potentials::Potentials;
use crate::tuning::accuracy::tolerances;
use crate::tuning::close_pairs::{self, Evaluated};
use crate::tuning::rounding;
use crate::workspace::{Pool, ScratchPool, VECTORS};
use evaluation::Evaluation;
use kernels::Real;
use operation_count::Work;
use operators::Operators;
use settings::Settings;
use timings::{StageTimings, stopwatch};
use virial::{Parts, StretchedRoot, diagonal};

/// Fast multipole method for the Coulomb potential, k_e = 1, in precision `T`; see the [crate] documentation.
pub struct Fmm<T: Real> {
    boundary: Boundary,
    settings: Settings,
    operators: Operators<T>,
    assignment: Option<Assignment>,
    evaluation: Evaluation<T>,
    /// Energy of the last evaluation; none if something has changed since.
    energy: Option<f64>,
    /// How the operators change with the shape of the boxes, made when it is asked for.
    stretched: Option<StretchedRoot<T>>,
    pool: ScratchPool<T>,
    timings: StageTimings,
    /// None if it was made from settings.
    promise: Option<Promise>,
}

/// What a solver was made for.
struct Promise {
    /// Relative error of the forces.
    tolerance: f64,
    /// Those of the assignment.
    exclusions: Exclusions,
    /// Whether close pairs have not been looked at since the assignment.
    due: bool,
}

impl<T: Real> Fmm<T> {
    /// Prepare the operators.
    ///
    /// # Errors
    /// An order above [`MAX_ORDER`](crate::MAX_ORDER), an empty or too large tree, a separation out of range, periods that are not finite or not independent,
    /// boxes too thin.
    #[inline(never)]
    pub fn new(boundary: Boundary, settings: Settings) -> Result<Self, FmmError> {
        settings.check(MAX_ROOT)?;
        boundary.check()?;
        let geometry = Geometry::new(&boundary, settings.tree, &[]);
        let near = NearSet::checked(&geometry.unit_basis(), settings.separation)?;
        let operators = Operators::new(settings, &geometry, near);
        Ok(Self {
            boundary,
            settings,
            operators,
            assignment: None,
            evaluation: Evaluation::new(),
            energy: None,
            stretched: None,
            pool: Pool::new(),
            timings: StageTimings::default(),
            promise: None,
        })
    }

    /// The settings that it was made with.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// The boundary with its present periods.
    pub fn boundary(&self) -> Boundary {
        self.boundary
    }

    /// Changes the periods and keeps the assignment, because positions are expected to scale with the cell. Isotropic scaling costs nothing; a
    /// change of shape makes the operators anew. Near boxes stay near until the next [`assign`](Self::assign), so that errors grow with the strain: 1.1 times as large
    /// where a cube is stretched by a tenth, 4 times by a half (order 8). After a change beyond that, 1.7 for a cube, particles must be assigned again.
    ///
    /// # Errors
    /// Periods that are not finite or not independent; another kind of boundary; boxes too thin.
    #[inline(never)]
    pub fn set_boundary(&mut self, boundary: Boundary) -> Result<(), FmmError> {
        self.boundary.check_next(&boundary)?;
        // Near boxes stay near, so that the energy is smooth, unless the expansions of the others would not converge.
        let near = &self.operators.grid.near;
        let followed = (self.assignment.as_ref().map(|assignment| assignment.geometry.follow(&boundary)))
            .filter(|geometry| near.check_strain(&geometry.unit_basis()).is_ok());
        let (geometry, near) = match followed {
            Some(geometry) => (geometry, near.clone()),
            None => {
                let geometry = Geometry::new(&boundary, self.settings.tree, &[]);
                let near = NearSet::checked(&geometry.unit_basis(), self.settings.separation)?;
                self.assignment = None;
                (geometry, near)
            }
        };
        self.boundary = boundary;
        self.energy = None;
        self.follow(&geometry, near);
        if let Some(assignment) = &mut self.assignment {
            assignment.geometry = geometry;
        }
        Ok(())
    }

    /// Makes the operators anew if the shape of the boxes, the root grid or the set of near boxes has changed.
    fn follow(&mut self, geometry: &Geometry, near: NearSet) {
        let grid = &self.operators.grid;
        if !grid.has_shape(&geometry.unit_basis()) || geometry.root() != grid.topology || near != grid.near {
            self.operators = Operators::new(self.settings, geometry, near);
            self.stretched = None;
        }
    }

    /// Sort the particles into boxes and find the pairs to skip. Positions may lie anywhere; the image each one is wrapped to stays frozen
    /// until the next call, so that the energy is smooth while particles move a little.
    ///
    /// # Errors
    /// A position that is not finite or absurdly far away, exclusions for another number of particles, an excluded pair that does not lie in
    /// near boxes, boxes too thin; [`FmmError::Rounding`] of a solver that was made for a tolerance. Nothing is assigned then, not even what was before.
    pub fn assign(&mut self, positions: &[[f64; 3]], exclusions: &Exclusions) -> Result<(), FmmError> {
        self.assign_with_targets(positions, 0, exclusions)
    }

    /// As [`assign`](Self::assign), where the last `targets` positions are points without a charge that make no potential and only feel it, such as those of a grid.
    /// `exclusions` count the particles before them. Targets meet no other targets, so that there may be several on one point.
    ///
    /// ```
    /// use fmm::{Boundary, Exclusions, Fmm, Potentials, Settings, TreeShape};
    ///
    /// let mut fmm = Fmm::<f64>::new(Boundary::Open, Settings::new(8, TreeShape { root: [1; 3], depth: 0 }))?;
    /// let positions = [[0.0, 0.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 1.0]]; // two charges, and a point between them
    /// fmm.assign_with_targets(&positions, 1, &Exclusions::none(2))?;
    /// let mut out = Potentials::default();
    /// let energy = fmm.evaluate(&positions, &[1.0, 3.0], &mut out)?;
    /// assert!((energy - 1.5).abs() < 1e-12 && (out.potential[2] - 4.0).abs() < 1e-12 && (out.field[2][2] + 2.0).abs() < 1e-12);
    /// # Ok::<(), fmm::FmmError>(())
    /// ```
    ///
    /// # Errors
    /// As there; fewer positions than targets.
    #[inline(never)]
    pub fn assign_with_targets(
        &mut self,
        positions: &[[f64; 3]],
        targets: usize,
        exclusions: &Exclusions,
    ) -> Result<(), FmmError> {
        self.forget();
        check_length("exclusions", particles(positions, targets)?, exclusions.n_particles())?;
        self.assign_with_homes((positions, positions), exclusions)
    }

    /// As [`assign`](Self::assign) for particles at `positions` that belong to the boxes in which their `homes` lie, half a box edge away at most.
    ///
    /// # Errors
    /// As there.
    pub(crate) fn assign_with_homes(
        &mut self,
        (homes, positions): (&[[f64; 3]], &[[f64; 3]]),
        exclusions: &Exclusions,
    ) -> Result<(), FmmError> {
        self.forget();
        let geometry = self.geometry(homes)?;
        let near = NearSet::checked(&geometry.unit_basis(), self.settings.separation)?;
        self.follow(&geometry, near);
        let near = &self.operators.grid.near;
        let assignment = Assignment::with_homes(geometry, near, (homes, positions), exclusions)?;
        if let Some(promise) = &mut self.promise {
            rounding::check::<T>(&assignment, positions, promise.tolerance)?;
            promise.exclusions.clone_from(exclusions);
            promise.due = true;
        }
        self.pool.grow();
        self.assignment = Some(assignment);
        Ok(())
    }

    /// Takes back the assignment.
    pub(crate) fn forget(&mut self) {
        (self.assignment, self.energy) = (None, None);
    }

    /// The boxes that [`assign`](Self::assign) would make for these positions.
    pub(crate) fn geometry(&self, positions: &[[f64; 3]]) -> Result<Geometry, FmmError> {
        check_finite(positions)?;
        Ok(Geometry::new(&self.boundary, self.settings.tree, positions))
    }

    /// From now on nothing is assigned or evaluated without a word where rounding of coordinates makes larger errors of the forces than `tolerance`.
    pub(crate) fn promise(&mut self, tolerance: f64) {
        self.promise = Some(Promise { tolerance, exclusions: Exclusions::none(0), due: false });
    }

    /// Whether rounding of the coordinates of close pairs leaves the forces of an evaluation of these `charges`, whose result was `out`, as accurate as `tolerance` asks
    /// for. A solver that [`Fmm::builder`](Fmm::builder) made for a tolerance asks this at the first evaluation after each assignment. What comes after it, until the next
    /// assignment, is not looked at, although particles move and charges change. A solver from [`Settings`] asks nothing, those of [`accuracy::tune`](crate::accuracy::tune)
    /// neither.
    ///
    /// For 3 000 to 100 000 particles that are evenly spread it takes 13 to 19 % of the time of assignment and evaluation together in single precision, 4 to 11 % in double precision (`examples/close_pairs.rs`, two cores), and more where particles crowd in a part of their boxes.
    ///
    /// ```
    /// use fmm::{Boundary, Exclusions, Fmm, FmmError, Potentials, Settings, TreeShape};
    ///
    /// let mut fmm = Fmm::<f32>::new(Boundary::Open, Settings::new(8, TreeShape { root: [1; 3], depth: 0 }))?;
    /// let (positions, charges) = ([[0.1, 0.0, 0.0], [0.1 + 1e-6, 0.0, 0.0], [1.0, 1.0, 1.0]], [1.0, 1.0, 1.0]);
    /// let none = Exclusions::none(3);
    /// fmm.assign(&positions, &none)?;
    /// let mut out = Potentials::default();
    /// fmm.evaluate(&positions, &charges, &mut out)?;
    /// let refused = fmm.check_close_pairs(&positions, &charges, &none, &out, 1e-4);
    /// assert!(matches!(refused, Err(FmmError::ClosePair { i: 0, j: 1, error, .. }) if error > 1e-4));
    /// # Ok::<(), FmmError>(())
    /// ```
    ///
    /// # Errors
    /// [`FmmError::ClosePair`] where two particles are too close; [`FmmError::Coincident`] where they are images of each other but for rounding; no assignment, lists of
    /// another length, a tolerance that is none of [`accuracy::tolerances`](crate::accuracy::tolerances).
    #[inline(never)]
    pub fn check_close_pairs(
        &self,
        positions: &[[f64; 3]],
        charges: &[f64],
        exclusions: &Exclusions,
        out: &Potentials,
        tolerance: f64,
    ) -> Result<(), FmmError> {
        let Some(to) = &self.assignment else { return Err(FmmError::NotAssigned) };
        check_length("positions", to.order.len(), positions.len())?;
        check_length("charges", to.n_sources, charges.len())?;
        check_length("exclusions", to.n_sources, exclusions.n_particles())?;
        check_length("fields", positions.len(), out.field.len())?;
        let allowed = tolerances::<T>();
        if !allowed.contains(&tolerance) {
            return Err(FmmError::Tolerance { tolerance, least: *allowed.start(), most: *allowed.end() });
        }
        let evaluated = Evaluated { positions, charges, fields: &out.field, exclusions };
        close_pairs::check::<T>(&self.boundary, (to, &self.operators.grid), evaluated, tolerance)
    }

    /// Potential and field of all particles at every particle, then at every target; returns the energy ½ Σ q φ. Its virial trace Σ r·F equals the energy.
    ///
    /// `charges` are those of the particles; targets have none.
    /// `positions` are those of [`assign`](Self::assign) or near them: errors grow as particles leave their boxes, some 50 times where all have moved by 0.3 box edges
    /// (order 8, near boxes that touch). Particles that are somewhere else altogether need a new assignment.
    ///
    /// # Errors
    /// No assignment, lists of another length, positions or charges that are not finite, two particles on one point, a net charge in a slab
    /// or a wire, a particle more than half a box edge outside of its box; [`FmmError::ClosePair`], see [`check_close_pairs`](Self::check_close_pairs). `out` is undefined
    /// then.
    #[inline(never)]
    pub fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError> {
        self.begin(positions)?;
        self.check_charges(charges)?;
        let mut energy = 0.0;
        let results = (slice::from_mut(out), slice::from_mut(&mut energy));
        self.evaluate_together(positions, &[charges], results).map_err(|(_, error)| error)?;
        self.kept();
        self.energy = Some(energy);
        Ok(energy)
    }

    /// As [`evaluate`](Self::evaluate) for several charge vectors at the same positions, each with its result in `out`, which gets as many entries; returns their energies.
    ///
    /// A vector costs less than an evaluation, and its results are the same to the last bit: particles are sorted and operators read once for
    /// eight vectors, distances of near particles computed once for four. In double precision each of eight vectors takes 0.6 to 0.75 of the
    /// time of an evaluation. Memory for expansions and for results of the inner loops is that of at most eight vectors.
    ///
    /// ```
    /// use fmm::{Fmm, Potentials};
    ///
    /// let positions = [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [0.0, 4.0, 0.0]];
    /// let mut fmm = Fmm::builder().tolerance(1e-8).build_for(&positions)?;
    /// let mut out = Vec::new();
    /// let energies = fmm.evaluate_vectors(&positions, &[&[1.0, 1.0, 0.0], &[0.0, 0.0, 8.0]], &mut out)?;
    /// // The two charges of the first vector are 2 apart; the one of the second is 4 away from the first particle, and meets no other.
    /// assert!((energies[0] - 0.5).abs() < 1e-12 && (out[1].potential[0] - 2.0).abs() < 1e-12 && energies[1].abs() < 1e-12);
    ///
    /// // Potentials are linear in the charges: a column of the matrix for each unit charge.
    /// let unit: Vec<Vec<f64>> = (0..3).map(|i| (0..3).map(|j| if i == j { 1.0 } else { 0.0 }).collect()).collect();
    /// let unit: Vec<&[f64]> = unit.iter().map(Vec::as_slice).collect();
    /// fmm.evaluate_vectors(&positions, &unit, &mut out)?;
    /// assert!((out[1].potential[0] - 0.5).abs() < 1e-12 && (out[2].potential[0] - 0.25).abs() < 1e-12);
    /// # Ok::<(), fmm::FmmError>(())
    /// ```
    ///
    /// # Errors
    /// As there; what is wrong with one of the charge vectors alone is [`FmmError::Vector`]. `out` is undefined then. Afterwards there is no [`virial`](Self::virial), which is that of
    /// an [`evaluate`](Self::evaluate).
    #[inline(never)]
    pub fn evaluate_vectors(
        &mut self,
        positions: &[[f64; 3]],
        charges: &[&[f64]],
        out: &mut Vec<Potentials>,
    ) -> Result<Vec<f64>, FmmError> {
        self.begin(positions)?;
        for (vector, charges) in charges.iter().enumerate() {
            self.check_charges(charges).map_err(|error| error.of_vector(vector))?;
        }
        let n = charges.len();
        out.resize_with(n, Potentials::default);
        let mut energies = vec![0.0; n];
        // As few passes as possible, as even as possible.
        let together = n.div_ceil(n.div_ceil(VECTORS).max(1)).max(1);
        let passes = charges.chunks(together).zip(out.chunks_mut(together)).zip(energies.chunks_mut(together));
        for (pass, ((charges, out), energies)) in passes.enumerate() {
            self.evaluate_together(positions, charges, (out, energies))
                .map_err(|(vector, error)| error.of_vector(pass * together + vector))?;
        }
        self.kept();
        Ok(energies)
    }

    /// Close pairs have been looked at.
    fn kept(&mut self) {
        if let Some(promise) = &mut self.promise {
            promise.due = false;
        }
    }

    /// Forgets the last evaluation.
    ///
    /// # Errors
    /// No assignment, another number of positions.
    fn begin(&mut self, positions: &[[f64; 3]]) -> Result<(), FmmError> {
        let Some(assignment) = &self.assignment else { return Err(FmmError::NotAssigned) };
        (self.energy, self.timings) = (None, StageTimings::default());
        self.pool.grow();
        check_length("positions", assignment.order.len(), positions.len())
    }

    /// # Errors
    /// Charges for another number of particles, a net charge where there may be none.
    fn check_charges(&self, charges: &[f64]) -> Result<(), FmmError> {
        let n_sources = self.assignment.as_ref().map_or(0, |assignment| assignment.n_sources);
        check_length("charges", n_sources, charges.len())?;
        check_charge(&self.boundary, charges)
    }

    /// Results and energies of at most [`VECTORS`] charge vectors.
    ///
    /// # Errors
    /// No assignment, a particle outside of its box, results that are not finite; with the number of the vector where it was found.
    fn evaluate_together(
        &mut self,
        positions: &[[f64; 3]],
        charges: &[&[f64]],
        (out, energies): (&mut [Potentials], &mut [f64]),
    ) -> Result<(), (usize, FmmError)> {
        let Some(to) = &self.assignment else { return Err((0, FmmError::NotAssigned)) };
        // On a thread of rayon's pool: from outside it each parallel loop of all stages would be handed over and waited for.
        rayon::scope(|_| {
            let given = (positions, charges);
            let summed = self.evaluation.run(to, &mut self.operators, &self.pool, given, &mut self.timings);
            summed.map_err(|error| (0, error))?;
            let mut lap = stopwatch();
            for (vector, (charges, (out, energy))) in charges.iter().zip(out.iter_mut().zip(energies)).enumerate() {
                let finite;
                (*energy, finite) = self.evaluation.gather(to, (vector, charges), out);
                if let Some(Promise { tolerance, exclusions, due: true }) = &self.promise {
                    let evaluated = Evaluated { positions, charges, fields: &out.field, exclusions };
                    let boxes = (to, &self.operators.grid);
                    close_pairs::check::<T>(&self.boundary, boxes, evaluated, *tolerance).map_err(|e| (vector, e))?;
                }
                if !finite {
                    return Err((vector, not_finite(&self.boundary, positions, charges, out)));
                }
            }
            lap(&mut self.timings.gather);
            Ok(())
        })
    }

    /// The diagonal of the virial, W_a = Σ r_a F_a = −dE/dε_a (charge² per length) for a stretch of axis a, periods and positions, by 1 + ε: at the
    /// positions and charges of the last [`evaluate`](Self::evaluate), and as exact as its energy. The sum of the three is the energy.
    ///
    /// It costs another near field and, after every change of the shape of the cell, four times the making of the operators of the root grid.
    ///
    /// # Errors
    /// No evaluation since the last assignment or change of the boundary; a tree that is refined.
    #[inline(never)]
    pub fn virial(&mut self) -> Result<[f64; 3], FmmError> {
        let (Some(to), Some(energy)) = (&self.assignment, self.energy) else { return Err(FmmError::NotEvaluated) };
        if self.settings.tree.depth > 0 {
            return Err(FmmError::RefinedVirial { depth: self.settings.tree.depth });
        }
        let (grid, size) = (&self.operators.grid, (self.settings.order, self.operators.stride));
        let root = self.stretched.get_or_insert_with(|| StretchedRoot::new(grid, size.0, size.1));
        Ok(diagonal(&self.evaluation, Parts { to, grid, root, size, pool: &self.pool }, energy))
    }

    /// Boxes, pairs and floating-point operations of an evaluation of the present assignment, if there is one.
    #[must_use]
    #[inline(never)]
    pub fn work(&self) -> Option<Work> {
        let count = |to: &Assignment| Work::new::<T>(self.settings.order, &self.operators.grid, to);
        self.assignment.as_ref().map(count)
    }

    /// Seconds spent in each stage of the last [`Fmm::evaluate`].
    pub fn timings(&self) -> &StageTimings {
        &self.timings
    }
}

/// How many of the positions are those of particles, when the last are `targets`.
///
/// # Errors
/// Fewer positions than targets.
pub(crate) fn particles(positions: &[[f64; 3]], targets: usize) -> Result<usize, FmmError> {
    let length = FmmError::Length { what: "positions", expected: targets, found: positions.len() };
    positions.len().checked_sub(targets).ok_or(length)
}

impl<T: Real> std::fmt::Debug for Fmm<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let particles = self.assignment.as_ref().map(|to| to.order.len());
        let mut out = f.debug_struct("Fmm");
        out.field("boundary", &self.boundary).field("settings", &self.settings).field("particles", &particles);
        out.finish_non_exhaustive()
    }
}

impl<T: Real> Coulomb for Fmm<T> {
    fn name(&self) -> &'static str {
        "fmm"
    }

    fn assign(&mut self, positions: &[[f64; 3]], exclusions: &Exclusions) -> Result<(), FmmError> {
        Self::assign(self, positions, exclusions)
    }

    fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError> {
        Self::evaluate(self, positions, charges, out)
    }

    fn timings(&self) -> &StageTimings {
        Self::timings(self)
    }
}
