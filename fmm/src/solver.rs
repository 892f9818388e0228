//! The solver on the CPU: set-up, assignment of particles to boxes, evaluation.

pub(crate) mod evaluation;
pub(crate) mod leaves;
pub(crate) mod operation_count;
pub(crate) mod operators;
pub mod regularised;
pub(crate) mod settings;
pub(crate) mod timings;
pub(crate) mod trace;

use kernels::Real;
use rayon::prelude::*;

use crate::FmmError;
use crate::checks::{check_charge, check_finite, check_length};
use crate::coulomb::Coulomb;
use crate::geometry::assignment::{Assignment, Geometry};
use crate::geometry::boundary::Boundary;
use crate::geometry::exclusions::Exclusions;
use crate::geometry::grid::NearSet;
use crate::geometry::tree::MAX_ROOT;
use crate::potentials::Potentials;
use crate::sites::GroupPotentials;
use crate::sites::boxes::Group;
use crate::sites::evaluation::{GroupSpace, GroupTask};
use crate::sites::operators::SparseOperators;
use crate::workspace::{Pool, ScratchPool};
use evaluation::Evaluation;
use operation_count::Work;
use operators::Operators;
use settings::Settings;
use timings::StageTimings;

/// Fast multipole method for the Coulomb potential, k_e = 1, in precision `T`; see the [crate] documentation.
pub struct Fmm<T: Real> {
    boundary: Boundary,
    settings: Settings,
    operators: Operators<T>,
    assignment: Option<Assignment>,
    groups: Vec<Group>,
    sparse: SparseOperators<T>,
    evaluation: Evaluation<T>,
    pool: ScratchPool<T>,
    group_pool: Pool<GroupSpace<T>>,
    timings: StageTimings,
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
            groups: Vec::new(),
            sparse: SparseOperators::default(),
            evaluation: Evaluation::new(),
            pool: Pool::new(),
            group_pool: Pool::new(),
            timings: StageTimings::default(),
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
    /// change of shape makes the operators anew.
    ///
    /// # Errors
    /// Periods that are not finite or not independent; another kind of boundary; boxes too thin.
    #[inline(never)]
    pub fn set_boundary(&mut self, boundary: Boundary) -> Result<(), FmmError> {
        boundary.check()?;
        if boundary.periods().len() != self.boundary.periods().len() {
            return Err(FmmError::Kind { before: self.boundary.periods().len(), after: boundary.periods().len() });
        }
        let (geometry, near) = match &self.assignment {
            // Near boxes stay near, so that the energy is smooth.
            Some(assignment) => (assignment.geometry.follow(&boundary), self.operators.grid.near.clone()),
            None => {
                let geometry = Geometry::new(&boundary, self.settings.tree, &[]);
                let near = NearSet::checked(&geometry.unit_basis(), self.settings.separation)?;
                (geometry, near)
            }
        };
        self.boundary = boundary;
        self.follow(&geometry, near);
        if let Some(assignment) = &mut self.assignment {
            assignment.geometry = geometry;
        }
        Ok(())
    }

    /// Makes the operators anew if the shape of the boxes, the root grid or the set of near boxes has changed.
    fn follow(&mut self, geometry: &Geometry, near: NearSet) {
        let (now, then) = (geometry.unit_basis(), self.operators.grid.basis);
        // A relative change of the shape by 1e-12 changes results by less than the rounding of f64 sums of this length.
        let same = (0..3).all(|a| (0..3).all(|x| (now[a][x] - then[a][x]).abs() <= 1e-12));
        if !same || geometry.root() != self.operators.grid.topology || near != self.operators.grid.near {
            self.operators = Operators::new(self.settings, geometry, near);
            self.sparse = SparseOperators::default();
            self.sparse.prepare(&self.groups, &self.operators, self.settings.order);
        }
    }

    /// Sort the particles into boxes and find the pairs to skip. Positions may lie anywhere; the image each one is wrapped to stays frozen
    /// until the next call, so that the energy is smooth while particles move a little.
    ///
    /// `groups` holds the particles of each site, for [`Fmm::evaluate_group`].
    ///
    /// # Errors
    /// A position that is not finite or absurdly far away, exclusions for another number of particles, an excluded pair that does not lie in
    /// near boxes, a group with a particle that does not exist, boxes too thin.
    #[inline(never)]
    pub fn assign(
        &mut self,
        positions: &[[f64; 3]],
        exclusions: &Exclusions,
        groups: &[Vec<u32>],
    ) -> Result<(), FmmError> {
        check_length("exclusions", positions.len(), exclusions.n_particles())?;
        for (group, particles) in groups.iter().enumerate() {
            if let Some(&p) = particles.iter().find(|p| **p as usize >= positions.len()) {
                return Err(FmmError::Particle { group, particle: p as usize });
            }
        }
        let geometry = self.geometry(positions)?;
        self.assignment = None;
        self.groups.clear();
        let near = NearSet::checked(&geometry.unit_basis(), self.settings.separation)?;
        self.follow(&geometry, near);
        let near = &self.operators.grid.near;
        let assignment = Assignment::new(geometry, near, positions, exclusions)?;
        self.evaluation.fit(&assignment, self.operators.stride);
        self.groups = groups.par_iter().map(|g| Group::new(g, &assignment, near, positions, exclusions)).collect();
        self.sparse.prepare(&self.groups, &self.operators, self.settings.order);
        self.pool.grow();
        self.group_pool.grow();
        self.assignment = Some(assignment);
        Ok(())
    }

    /// The boxes that [`assign`](Self::assign) would make for these positions.
    pub(crate) fn geometry(&self, positions: &[[f64; 3]]) -> Result<Geometry, FmmError> {
        check_finite(positions)?;
        Ok(Geometry::new(&self.boundary, self.settings.tree, positions))
    }

    /// Potential and field of all particles at every particle; returns the energy ½ Σ q φ. Its virial trace Σ r·F equals the energy.
    ///
    /// # Errors
    /// No assignment, lists of another length, positions or charges that are not finite, two particles on one point, a net charge in a slab
    /// or a wire.
    #[inline(never)]
    pub fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError> {
        let Some(assignment) = &self.assignment else { return Err(FmmError::NotAssigned) };
        check_length("positions", assignment.order.len(), positions.len())?;
        check_length("charges", assignment.order.len(), charges.len())?;
        check_charge(&self.boundary, charges)?;
        self.pool.grow();
        let (energy, timings) =
            self.evaluation.run(assignment, &mut self.operators, &self.pool, (positions, charges), out)?;
        self.timings = timings;
        Ok(energy)
    }

    /// What the charges of one group make on the group's own particles, for several charge vectors at once: images included, exclusions
    /// skipped, with the boxes and operators of [`Fmm::evaluate`], so that the error of the expansions is the same to rounding.
    ///
    /// `charges[v][k]` is the charge of the k-th particle of the group in vector v. They need not be neutral, in slabs and wires neither:
    /// potentials then hold the constant that these leave open, the same as in [`Fmm::evaluate`].
    ///
    /// # Errors
    /// No assignment, no such group, lists of another length, results that are not finite.
    #[inline(never)]
    pub fn evaluate_group(
        &mut self,
        positions: &[[f64; 3]],
        group: usize,
        charges: &[Vec<f64>],
        out: &mut GroupPotentials,
    ) -> Result<(), FmmError> {
        self.one_group(positions, group, charges, out)
    }

    /// [`evaluate_group`](Self::evaluate_group) for all groups, in parallel: `charges[g][v][k]`, and one entry of `out` for each group.
    ///
    /// # Errors
    /// As [`evaluate_group`](Self::evaluate_group).
    #[inline(never)]
    pub fn evaluate_groups(
        &mut self,
        positions: &[[f64; 3]],
        charges: &[Vec<Vec<f64>>],
        out: &mut Vec<GroupPotentials>,
    ) -> Result<(), FmmError> {
        check_length("charges of all groups", self.groups.len(), charges.len())?;
        out.resize_with(charges.len(), GroupPotentials::default);
        self.group_pool.grow();
        let one = |(group, (charges, out)): (usize, (&Vec<Vec<f64>>, &mut GroupPotentials))| {
            self.one_group(positions, group, charges, out)
        };
        charges.par_iter().zip(out).enumerate().try_for_each(one)
    }

    fn one_group(
        &self,
        positions: &[[f64; 3]],
        group: usize,
        charges: &[Vec<f64>],
        out: &mut GroupPotentials,
    ) -> Result<(), FmmError> {
        let Some(to) = &self.assignment else { return Err(FmmError::NotAssigned) };
        let Some(members) = self.groups.get(group) else { return Err(FmmError::Group { group }) };
        check_length("positions", to.order.len(), positions.len())?;
        for q in charges {
            check_length("charges of a group", members.len(), q.len())?;
        }
        let task = GroupTask { group: members, to, operators: &self.operators, sparse: &self.sparse };
        task.evaluate(positions, charges, &mut self.group_pool.get(), out)
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

impl<T: Real> Coulomb for Fmm<T> {
    fn name(&self) -> &'static str {
        "fmm"
    }

    fn assign(&mut self, positions: &[[f64; 3]], exclusions: &Exclusions) -> Result<(), FmmError> {
        Self::assign(self, positions, exclusions, &[])
    }

    fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError> {
        Self::evaluate(self, positions, charges, out)
    }

    fn timings(&self) -> &StageTimings {
        Self::timings(self)
    }
}
