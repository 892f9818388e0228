//! The solver: set-up, assignment of particles to boxes, evaluation.

use kernels::Real;
use rayon::prelude::*;

use crate::FmmError;
use crate::assignment::{Assignment, Geometry};
use crate::boundary::Boundary;
use crate::convolution::Convolution;
use crate::exclusions::Exclusions;
use crate::expansion::ExpansionTable;
use crate::grid::{BoxGrid, NearSet};
use crate::group::Group;
use crate::harmonics::count;
use crate::levels::LevelOperators;
use crate::passes::{Operators, Passes, StageTimings};
use crate::potentials::Potentials;
use crate::scratch::{LANES, Pool, ScratchPool};
use crate::sparse::{GroupPotentials, GroupSpace, GroupTask, SparseOperators};
use crate::tree::{MAX_ROOT, TreeShape};
use crate::work::Work;

/// Highest supported order.
pub const MAX_ORDER: usize = 60;

/// Accuracy and shape of the tree.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Settings {
    /// Order p of the expansions: (p+1)² coefficients. Order 0, monopoles alone, is allowed.
    pub order: usize,
    /// Root grid and refinements.
    pub tree: TreeShape,
    /// Boxes whose centres are less than this many box diameters (longest diagonals) apart interact directly, and all that touch. With cubes
    /// 1.12 means 27 near boxes (well-separated by one box, ws = 1), 1.2 33, 1.35 57, 1.5 81, 1.7 93 (about ws = 2). From 1 to 4.
    pub separation: f64,
}

impl Settings {
    /// Near boxes are those that touch: with cubes 27, ws = 1.
    pub const TOUCHING: f64 = 1.12;

    /// Near boxes are those up to two boxes apart: with cubes 93, ws = 2 but for the corners.
    pub const TWO_APART: f64 = 1.7;

    /// `order` and `tree`, near boxes those that touch.
    #[must_use]
    pub fn new(order: usize, tree: TreeShape) -> Self {
        Self { order, tree, separation: Self::TOUCHING }
    }

    /// Trees of root grids up to `max_root` boxes per axis.
    pub(crate) fn check(&self, max_root: usize) -> Result<(), FmmError> {
        if self.order > MAX_ORDER {
            return Err(FmmError::Order { order: self.order, max: MAX_ORDER });
        }
        if !(1.0..=4.0).contains(&self.separation) {
            return Err(FmmError::Separation { separation: self.separation });
        }
        self.tree.check(max_root)
    }
}

/// Fast multipole method for the Coulomb potential, k_e = 1, in precision `T`; see the [crate] documentation.
pub struct Fmm<T: Real> {
    boundary: Boundary,
    settings: Settings,
    operators: Operators<T>,
    assignment: Option<Assignment>,
    groups: Vec<Group>,
    sparse: SparseOperators<T>,
    passes: Passes<T>,
    pool: ScratchPool<T>,
    group_pool: Pool<GroupSpace<T>>,
    timings: StageTimings,
}

impl<T: Real> Fmm<T> {
    /// Prepare the operators.
    ///
    /// # Errors
    /// An order above [`MAX_ORDER`], an empty or too large tree, a separation out of range, periods that are not finite or not independent,
    /// boxes too thin.
    pub fn new(boundary: Boundary, settings: Settings) -> Result<Self, FmmError> {
        settings.check(MAX_ROOT)?;
        boundary.check()?;
        let geometry = Geometry::new(&boundary, settings.tree, &[]);
        let near = NearSet::checked(&geometry.unit_basis(), settings.separation)?;
        let operators = make_operators(settings, &geometry, near);
        Ok(Self {
            boundary,
            settings,
            operators,
            assignment: None,
            groups: Vec::new(),
            sparse: SparseOperators::default(),
            passes: Passes::new(),
            pool: Pool::new(),
            group_pool: Pool::new(),
            timings: StageTimings::default(),
        })
    }

    /// Order, tree, separation.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// The boundary with its present periods.
    pub fn boundary(&self) -> Boundary {
        self.boundary
    }

    /// Change the periods, keeping the assignment: positions are expected to scale with the cell. Isotropic scaling costs nothing; a change
    /// of shape makes the operators anew.
    ///
    /// # Errors
    /// Periods that are not finite or not independent; another kind of boundary; boxes too thin.
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

    /// New operators if the shape of the boxes has changed, or which of them are near.
    fn follow(&mut self, geometry: &Geometry, near: NearSet) {
        let (now, then) = (geometry.unit_basis(), self.operators.grid.basis);
        // A relative change of 1e-12 of the shape changes results by less than f64 sums of this length round.
        let same = (0..3).all(|a| (0..3).all(|x| (now[a][x] - then[a][x]).abs() <= 1e-12));
        if !same || geometry.root() != self.operators.grid.topology || near != self.operators.grid.near {
            self.operators = make_operators(self.settings, geometry, near);
            self.sparse = SparseOperators::default();
            self.sparse.prepare(&self.groups, &self.operators, self.settings.order);
        }
    }

    /// Sort the particles into boxes and find the pairs to skip. Positions may lie anywhere; the image each one is wrapped to stays frozen
    /// until the next call, so that the energy is smooth while particles move a little.
    ///
    /// `groups`: particles of each sparse site, for [`Fmm::evaluate_group`].
    ///
    /// # Errors
    /// A position that is not finite or absurdly far away, exclusions for another number of particles, an excluded pair that does not lie in
    /// near boxes, a group with a particle that does not exist, boxes too thin.
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
        self.passes.fit(&assignment, self.operators.stride);
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
    pub fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError> {
        let Some(assignment) = &self.assignment else { return Err(FmmError::NotAssigned) };
        check_length("positions", assignment.order.len(), positions.len())?;
        check_length("charges", assignment.order.len(), charges.len())?;
        check_charge(&self.boundary, charges)?;
        self.pool.grow();
        let (energy, timings) =
            self.passes.run(assignment, &mut self.operators, &self.pool, (positions, charges), out)?;
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
    pub fn work(&self) -> Option<Work> {
        let count = |to: &Assignment| Work::new::<T>(self.settings.order, &self.operators.grid, to);
        self.assignment.as_ref().map(count)
    }

    /// Seconds spent in each stage of the last [`Fmm::evaluate`].
    pub fn timings(&self) -> &StageTimings {
        &self.timings
    }
}

fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), FmmError> {
    if expected == found { Ok(()) } else { Err(FmmError::Length { what, expected, found }) }
}

fn check_finite(positions: &[[f64; 3]]) -> Result<(), FmmError> {
    match positions.par_iter().position_first(|p| p.iter().any(|x| !x.is_finite())) {
        Some(particle) => Err(FmmError::NotFinite { particle, what: "position" }),
        None => Ok(()),
    }
}

/// Slabs and wires have no energy unless they are neutral.
pub(crate) fn check_charge(boundary: &Boundary, charges: &[f64]) -> Result<(), FmmError> {
    if !matches!(boundary.periods().len(), 1 | 2) {
        return Ok(());
    }
    let (charge, size) = charges.iter().fold((0.0, 0.0), |(sum, size), q| (sum + q, size + q.abs()));
    // Charges of force fields add up to a neutral cell to some 1e-6 of one elementary charge among thousands.
    if charge.abs() > 1e-9 * size { Err(FmmError::Charged { charge }) } else { Ok(()) }
}

fn make_operators<T: Real>(settings: Settings, geometry: &Geometry, near: NearSet) -> Operators<T> {
    let Settings { order, tree, .. } = settings;
    let stride = count(order).next_multiple_of(LANES);
    let basis = geometry.unit_basis();
    let grid = BoxGrid { topology: geometry.root(), basis, near };
    Operators {
        stride,
        table: ExpansionTable::new(order),
        root: Convolution::new(&grid, order, stride),
        levels: LevelOperators::new(&grid, order, stride, tree.depth),
        grid,
    }
}
