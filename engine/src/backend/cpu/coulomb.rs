//! Coulomb interaction of all atoms.
//!
//! The pair interaction G_ij is the FMM's (periodic images included, excluded pairs left out) plus the scaled 1-4 pairs of the topology:
//!
//! ```text
//! φ_i = k_e Σ_j G_ij q_j          E_i = −∇φ_i            V = ½ Σ_i q_i φ_i
//! ```
//!
//! V is homogeneous of degree −1 in all lengths, so the trace of its virial Σ r·F is V.
//!
//! Units: nm, e, kJ/mol; φ in kJ/mol/e, E in kJ/mol/nm/e.

use crate::backend::fmm_settings::{boundary, charged, choose, describe, slack, workload};
use crate::config::{self, Precision};
use fmm::{Fmm, FmmError, FmmOfMembers, Potentials, Settings, TreeShape};
use forcefield::Cell;
use forcefield::pairs::coulomb_14_potential;
use forcefield::topology::{Pair14, Topology};
use forcefield::units::COULOMB;
use lambda::Site;
use nalgebra::Vector3;

/// Energy of the effective charges (kJ/mol).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CoulombEnergy {
    /// All pairs but excluded ones, with images.
    pub fmm: f64,
    /// Scaled 1-4 pairs.
    pub one_four: f64,
}

/// The Coulomb interaction of one system.
pub struct Coulomb {
    solver: Solver,
    choice: String,
    cell: Cell,
    pairs: Vec<Pair14>,
    output: Potentials,
    potential: Vec<f64>,
    field: Vec<Vector3<f64>>,
    /// Positions and box of the last assignment, and how far (nm) atoms may go from there.
    assigned: Vec<Vector3<f64>>,
    assigned_cell: Cell,
    slack: f64,
}

enum Solver {
    Single(Box<FmmOfMembers<f32>>),
    Double(Box<FmmOfMembers<f64>>),
}

impl Coulomb {
    /// For the atoms of `topology` in `cell`, of which those of `sites` may change their charges.
    /// `start` (nm): positions that the tree is chosen for; `flat`: the same leaf boxes without refinement, for [`Self::virial_of_images`].
    ///
    /// # Errors
    /// What the FMM refuses: order, depth, box.
    pub fn new(
        settings: &config::Electrostatics,
        (topology, sites): (&Topology, &[Site]),
        start: &[Vector3<f64>],
        cell: Cell,
        flat: bool,
    ) -> Result<Self, FmmError> {
        let n = topology.n_atoms();
        let charged = charged(topology, sites);
        let exclusions = fmm::Exclusions::from_pairs(n, topology.exclusions.pairs())
            .expect("invariant: a topology's exclusions name two different atoms of the system");
        let (boundary, workload) = (boundary(cell), workload(&charged.select(start), cell));
        let flattened = |chosen: Settings| match flat {
            true => Settings { tree: TreeShape { root: chosen.tree.leaves(), depth: 0 }, ..chosen },
            false => chosen,
        };
        let (solver, chosen) = match settings.precision {
            Precision::Single => {
                let chosen = flattened(choose::<f32>(settings, &workload)?);
                let fmm = FmmOfMembers::new(Fmm::new(boundary, chosen)?, charged.clone(), &exclusions)?;
                (Solver::Single(Box::new(fmm)), chosen)
            }
            Precision::Double => {
                let chosen = flattened(choose::<f64>(settings, &workload)?);
                let fmm = FmmOfMembers::new(Fmm::new(boundary, chosen)?, charged.clone(), &exclusions)?;
                (Solver::Double(Box::new(fmm)), chosen)
            }
        };
        Ok(Self {
            solver,
            choice: describe(settings, &chosen, &workload, &charged),
            cell,
            pairs: topology.pairs.clone(),
            output: Potentials::default(),
            potential: vec![0.0; n],
            field: vec![Vector3::zeros(); n],
            assigned: Vec::new(),
            assigned_cell: Cell::Open,
            slack: slack(&chosen, cell),
        })
    }

    /// Order, boxes, and what they were chosen for, in words.
    pub fn describe(&self) -> &str {
        &self.choice
    }

    /// Sorts the atoms into the boxes of the tree; they stay there until the next call.
    ///
    /// # Errors
    /// Positions that are not finite; an excluded pair too far apart.
    pub fn assign(&mut self, x: &[Vector3<f64>], cell: Cell) -> Result<(), FmmError> {
        self.follow(cell)?;
        self.assigned.clear();
        self.assigned.extend_from_slice(x);
        self.assigned_cell = cell;
        let x: &[[f64; 3]] = bytemuck::cast_slice(x);
        match &mut self.solver {
            Solver::Single(fmm) => fmm.assign(x),
            Solver::Double(fmm) => fmm.assign(x),
        }
    }

    /// Whether an atom is so far from where it was assigned that the expansions of its box lose accuracy. Uniform scaling
    /// with the box does not count.
    pub fn is_stale(&self, x: &[Vector3<f64>], cell: Cell) -> bool {
        let Some(scale) = cell.stretch_since(&self.assigned_cell) else { return true };
        let moved = |(x, then): (&Vector3<f64>, &Vector3<f64>)| {
            (x - then.component_mul(&scale)).norm_squared() > self.slack * self.slack
        };
        self.assigned.len() != x.len() || x.iter().zip(&self.assigned).any(moved)
    }

    /// Energy of the charges `q` (e) at `x` (nm); potentials and fields are then at hand.
    ///
    /// # Errors
    /// Results that are not finite.
    pub fn evaluate(&mut self, x: &[Vector3<f64>], cell: Cell, q: &[f64]) -> Result<CoulombEnergy, FmmError> {
        self.follow(cell)?;
        let positions: &[[f64; 3]] = bytemuck::cast_slice(x);
        let energy = match &mut self.solver {
            Solver::Single(fmm) => fmm.evaluate(positions, q, &mut self.output)?,
            Solver::Double(fmm) => fmm.evaluate(positions, q, &mut self.output)?,
        };
        self.potential.fill(0.0);
        self.field.fill(Vector3::zeros());
        coulomb_14_potential(&self.pairs, x, q, &mut self.potential, &mut self.field);
        let one_four = 0.5 * q.iter().zip(&self.potential).map(|(q, phi)| q * phi).sum::<f64>();
        complete(&mut self.potential, &mut self.field, &self.output.potential, &self.output.field);
        Ok(CoulombEnergy { fmm: COULOMB * energy, one_four: COULOMB * one_four })
    }

    /// The virial of the FMM along each axis at the last [`Self::evaluate`], at `x` with charges `q`, less Σ x_a F_a of its forces (kJ/mol).
    ///
    /// # Errors
    /// A tree that is refined.
    pub fn virial_of_images(&mut self, x: &[Vector3<f64>], q: &[f64]) -> Result<Vector3<f64>, FmmError> {
        let whole = match &mut self.solver {
            Solver::Single(fmm) => fmm.fmm_mut().virial()?,
            Solver::Double(fmm) => fmm.fmm_mut().virial()?,
        };
        let of_atom =
            |((x, field), q): ((&Vector3<f64>, &[f64; 3]), &f64)| *q * x.component_mul(&Vector3::from(*field));
        let of_atoms: Vector3<f64> = x.iter().zip(&self.output.field).zip(q).map(of_atom).sum();
        Ok(COULOMB * (Vector3::from(whole) - of_atoms))
    }

    /// φ_i (kJ/mol/e) of the last [`Self::evaluate`]; that of 1-4 pairs alone at atoms that never have a charge.
    pub fn potential(&self) -> &[f64] {
        &self.potential
    }

    /// E_i (kJ/mol/nm/e) of the last [`Self::evaluate`]; likewise.
    pub fn field(&self) -> &[Vector3<f64>] {
        &self.field
    }

    /// Lets the tree follow a box that has changed.
    fn follow(&mut self, cell: Cell) -> Result<(), FmmError> {
        if cell.is_periodic() && cell != self.cell {
            match &mut self.solver {
                Solver::Single(fmm) => fmm.fmm_mut().set_boundary(boundary(cell))?,
                Solver::Double(fmm) => fmm.fmm_mut().set_boundary(boundary(cell))?,
            }
            self.cell = cell;
        }
        Ok(())
    }
}

/// Adds what the FMM made to what 1-4 pairs made, and gives both their unit.
fn complete(potential: &mut [f64], field: &mut [Vector3<f64>], fmm_potential: &[f64], fmm_field: &[[f64; 3]]) {
    for (phi, fmm) in potential.iter_mut().zip(fmm_potential) {
        *phi = COULOMB * (*phi + fmm);
    }
    for (field, fmm) in field.iter_mut().zip(fmm_field) {
        *field = COULOMB * (*field + Vector3::from(*fmm));
    }
}
