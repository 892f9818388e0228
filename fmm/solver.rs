//! The solver: set-up, assignment of particles to boxes, evaluation.

use kernels::Real;

use crate::FmmError;
use crate::assignment::Assignment;
use crate::convolution::Convolution;
use crate::exclusions::Exclusions;
use crate::expansion::ExpansionTable;
use crate::harmonics::count;
use crate::lattice::BoxGrid;
use crate::levels::LevelOperators;
use crate::passes::{Operators, Passes, StageTimings};
use crate::potentials::Potentials;
use crate::scratch::{LANES, ScratchPool};
use crate::sparse::{Group, GroupPotentials, SparseOperators};
use crate::tree::{TreeShape, elongation};

/// Highest supported order.
pub const MAX_ORDER: usize = 60;

/// What surrounds the particles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Boundary {
    /// Nothing.
    Open,
    /// Images of a rectangular cell in all three directions, with conducting surroundings (tin-foil); a net charge is neutralised by a
    /// uniform background.
    Periodic {
        /// Edges of the cell.
        edges: [f64; 3],
    },
}

/// Accuracy and shape of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Order p of the expansions: (p+1)² coefficients.
    pub order: usize,
    /// Root grid and refinements.
    pub tree: TreeShape,
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
    timings: StageTimings,
}

impl<T: Real> Fmm<T> {
    /// Prepare the operators.
    ///
    /// # Errors
    /// Order 0 or above [`MAX_ORDER`], an empty or too large tree, edges that are not positive, boxes too elongated to converge.
    pub fn new(boundary: Boundary, settings: Settings) -> Result<Self, FmmError> {
        if settings.order == 0 || settings.order > MAX_ORDER {
            return Err(FmmError::Order { order: settings.order, max: MAX_ORDER });
        }
        settings.tree.check()?;
        let operators = make_operators(
            settings,
            box_edges(&boundary, settings.tree)?,
            matches!(boundary, Boundary::Periodic { .. }),
        );
        Ok(Self {
            boundary,
            settings,
            operators,
            assignment: None,
            groups: Vec::new(),
            sparse: SparseOperators::default(),
            passes: Passes::new(),
            pool: ScratchPool::new(),
            timings: StageTimings::default(),
        })
    }

    /// Order and tree.
    pub fn settings(&self) -> Settings {
        self.settings
    }

    /// The boundary with its present edges.
    pub fn boundary(&self) -> Boundary {
        self.boundary
    }

    /// Change the cell edges, keeping the assignment: positions are expected to scale with the cell. Isotropic scaling costs nothing; a
    /// change of shape recomputes the operators. Nothing happens with an open boundary.
    ///
    /// # Errors
    /// As [`Fmm::new`].
    pub fn set_edges(&mut self, edges: [f64; 3]) -> Result<(), FmmError> {
        if self.boundary == Boundary::Open {
            return Ok(());
        }
        let boundary = Boundary::Periodic { edges };
        let shape = box_edges(&boundary, self.settings.tree)?;
        // A relative change of 1e-12 of the shape changes results by less than f64 sums of this length round.
        if (0..3).any(|a| (shape[a] - self.operators.box_edges[a]).abs() > 1e-12) {
            self.operators = make_operators(self.settings, shape, true);
            self.sparse = SparseOperators::default();
        }
        self.boundary = boundary;
        if let Some(assignment) = &mut self.assignment {
            assignment.geometry = crate::assignment::Geometry::new(&boundary, self.settings.tree, &[]);
        }
        Ok(())
    }

    /// Sort the particles into boxes and find the pairs to skip. Positions may lie anywhere; the image each one is wrapped to stays frozen
    /// until the next call, so that the energy is smooth while particles move a little.
    ///
    /// `groups`: particles of each sparse site, for [`Fmm::evaluate_group`].
    ///
    /// # Errors
    /// A position that is not finite, exclusions for another number of particles, an excluded pair that does not lie in neighbouring boxes, a
    /// group with a particle that does not exist.
    pub fn assign(
        &mut self,
        positions: &[[f64; 3]],
        exclusions: &Exclusions,
        groups: &[Vec<u32>],
    ) -> Result<(), FmmError> {
        if exclusions.n_particles() != positions.len() {
            return Err(FmmError::Length {
                what: "exclusions",
                expected: positions.len(),
                found: exclusions.n_particles(),
            });
        }
        for (group, particles) in groups.iter().enumerate() {
            if let Some(&p) = particles.iter().find(|p| **p as usize >= positions.len()) {
                return Err(FmmError::Particle { group, particle: p as usize });
            }
        }
        self.assignment = None;
        let assignment = Assignment::new(&self.boundary, self.settings.tree, positions, exclusions)?;
        self.passes.fit(&assignment, self.operators.stride);
        self.pool.grow();
        self.groups = groups.iter().map(|g| Group::new(g, &assignment, positions, exclusions)).collect();
        self.sparse.prepare(&self.groups, &assignment, &self.operators, self.settings.order);
        self.assignment = Some(assignment);
        Ok(())
    }

    /// Potential and field of all particles at every particle; returns the energy ½ Σ q φ. Its virial trace Σ r·F equals the energy.
    ///
    /// # Errors
    /// No assignment, lists of another length, positions or charges that are not finite, two particles on one point.
    pub fn evaluate(&mut self, positions: &[[f64; 3]], charges: &[f64], out: &mut Potentials) -> Result<f64, FmmError> {
        let Some(assignment) = &self.assignment else { return Err(FmmError::NotAssigned) };
        check_length("positions", assignment.order.len(), positions.len())?;
        check_length("charges", assignment.order.len(), charges.len())?;
        self.pool.grow();
        let (energy, timings) =
            self.passes.run(assignment, &mut self.operators, &self.pool, (positions, charges), out)?;
        self.timings = timings;
        Ok(energy)
    }

    /// What the charges of one group make on the group's own particles, for several charge vectors at once: images included, exclusions
    /// skipped, with the boxes and operators of [`Fmm::evaluate`], so that the error of the expansions is the same to rounding.
    ///
    /// `charges[v][k]` is the charge of the k-th particle of the group in vector v.
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
        let Some(assignment) = &self.assignment else { return Err(FmmError::NotAssigned) };
        let Some(members) = self.groups.get(group) else { return Err(FmmError::Group { group }) };
        check_length("positions", assignment.order.len(), positions.len())?;
        for q in charges {
            check_length("charges of a group", members.len(), q.len())?;
        }
        members.evaluate(assignment, &self.operators, &self.sparse, positions, charges, out)
    }

    /// Seconds spent in each stage of the last [`Fmm::evaluate`].
    pub fn timings(&self) -> &StageTimings {
        &self.timings
    }
}

fn check_length(what: &'static str, expected: usize, found: usize) -> Result<(), FmmError> {
    if expected == found { Ok(()) } else { Err(FmmError::Length { what, expected, found }) }
}

/// Edges of a box over its scale, the cube root of its volume.
fn box_edges(boundary: &Boundary, tree: TreeShape) -> Result<[f64; 3], FmmError> {
    let Boundary::Periodic { edges } = *boundary else { return Ok([1.0; 3]) };
    if edges.iter().any(|e| !(e.is_finite() && *e > 0.0)) {
        return Err(FmmError::Edges { edges });
    }
    let n = tree.leaves();
    let leaf = [0, 1, 2].map(|a| edges[a] / n[a] as f64);
    if elongation(leaf) >= 1.0 {
        return Err(FmmError::Elongated { edges: leaf });
    }
    let scale = leaf.iter().product::<f64>().cbrt();
    Ok(leaf.map(|e| e / scale))
}

fn make_operators<T: Real>(settings: Settings, box_edges: [f64; 3], periodic: bool) -> Operators<T> {
    let Settings { order, tree } = settings;
    let stride = count(order).next_multiple_of(LANES);
    let grid = BoxGrid { shape: tree.root, edges: box_edges, periodic };
    Operators {
        stride,
        box_edges,
        grid,
        table: ExpansionTable::new(order),
        root: Convolution::new(&grid, order, stride),
        levels: LevelOperators::new(order, stride, box_edges, tree.depth),
    }
}
