//! Rigid waters and fixed bonds: positions, velocities, virial.
//!
//! Atoms connected by constraints form groups; groups are independent and run in parallel. Rigid waters are solved
//! analytically ([`settle`]), all other groups by iteration ([`shake`]). Constraint forces act along the bonds at the
//! start of the step: x_i(t+dt) = x'_i + dt²/m_i Σ_k G_k r_k(t), and their virial is W = Σ_i x_i(t)·F_i = Σ_k G_k r_k².
//!
//! Molecules must be whole. Results do not depend on the number of threads. Units: nm, ps, u, kJ/mol.

mod build;
mod error;
pub(crate) mod mobility;
pub mod settle;
pub mod shake;
#[cfg(test)]
mod tests;

use std::ops::Range;

use forcefield::topology::{Constraint, Settle, Topology};
use nalgebra::Vector3;
use rayon::prelude::*;
use simba::simd::{SimdValue, WideF64x4};

pub use error::ConstraintError;

use build::{bond_groups, check, split_into_tasks, water};
use settle::Triangle;
use shake::{BondGroup, Stuck};

/// Relative tolerance of bond lengths unless said otherwise: far below the error of any integrator, cheap in f64.
pub const DEFAULT_TOLERANCE: f64 = 1e-10;

/// Groups that one task takes: enough work to outweigh its start.
const GROUPS_PER_TASK: usize = 256;

/// Atoms that constraints connect.
#[derive(Clone, Debug)]
pub enum Group {
    /// A rigid water: O, H, H, and its kind, an index into [`Constraints::kinds`].
    Water {
        /// O, H, H.
        atoms: [u32; 3],
        /// Shape and masses.
        kind: u32,
    },
    /// Any other.
    Bonds(BondGroup),
}

impl Group {
    /// Their indices.
    pub fn atoms(&self) -> &[u32] {
        match self {
            Self::Water { atoms, .. } => atoms,
            Self::Bonds(group) => &group.atoms,
        }
    }
}

/// Consecutive groups whose atoms lie in a range that no other task touches.
#[derive(Clone, Debug)]
struct Task {
    groups: Range<usize>,
    atoms: Range<usize>,
}

/// All constraints of a system, ready for use.
#[derive(Clone, Debug)]
pub struct Constraints {
    groups: Vec<Group>,
    kinds: Vec<Triangle>,
    tasks: Vec<Task>,
    tolerance: f64,
    count: usize,
}

impl Constraints {
    /// Constraints and rigid waters of a topology, bond lengths kept to the relative `tolerance`.
    ///
    /// # Errors
    /// As [`Self::from_parts`].
    pub fn new(topology: &Topology, tolerance: f64) -> Result<Self, ConstraintError> {
        Self::from_parts(&topology.masses(), &topology.constraints, &topology.settles, tolerance)
    }

    /// The same constraints with all masses equal: the metric of plain coordinates, for the minimiser.
    ///
    /// # Errors
    /// As [`Self::from_parts`].
    pub fn with_equal_masses(topology: &Topology, tolerance: f64) -> Result<Self, ConstraintError> {
        let masses = vec![1.0; topology.atoms.len()];
        Self::from_parts(&masses, &topology.constraints, &topology.settles, tolerance)
    }

    /// From masses (u, one per atom of the system), fixed distances and rigid waters.
    ///
    /// # Errors
    /// An atom that does not exist, without mass, in a water and another constraint; hydrogens of different
    /// masses; lengths that make no triangle.
    pub fn from_parts(
        masses: &[f64],
        constraints: &[Constraint],
        settles: &[Settle],
        tolerance: f64,
    ) -> Result<Self, ConstraintError> {
        check(masses, constraints, settles)?;
        let mut kinds = Vec::new();
        let mut groups = Vec::with_capacity(settles.len());
        for settle in settles {
            groups.push(water(masses, settle, &mut kinds)?);
        }
        groups.extend(bond_groups(masses, constraints).into_iter().map(Group::Bonds));
        groups.sort_by_key(|group| group.atoms().iter().copied().min());
        let tasks = split_into_tasks(&groups);
        let count = constraints.len() + 3 * settles.len();
        Ok(Self { groups, kinds, tasks, tolerance, count })
    }

    /// Number of constraints: one per fixed distance, three per water.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Relative tolerance of bond lengths.
    pub fn tolerance(&self) -> f64 {
        self.tolerance
    }

    /// All groups, in the order of their first atoms.
    pub fn all(&self) -> &[Group] {
        &self.groups
    }

    /// Shapes and masses of the rigid waters there are.
    pub fn kinds(&self) -> &[Triangle] {
        &self.kinds
    }

    /// Atoms of each group of atoms that constraints connect.
    pub fn groups(&self) -> impl Iterator<Item = &[u32]> {
        self.groups.iter().map(Group::atoms)
    }

    /// Move `x` (after a step without constraints) so that all constraints hold; `reference`: positions before the step.
    ///
    /// Returns Σ_i x_i·(m_i Δx_i), in u nm²; divided by dt² it is the virial of the constraint forces.
    ///
    /// # Errors
    /// A bond or a water that moved too far in one step.
    pub fn apply(&self, reference: &[Vector3<f64>], x: &mut [Vector3<f64>]) -> Result<f64, ConstraintError> {
        self.run(x, |task, x| self.move_task(task, reference, x, |_, _| ()))
    }

    /// As [`Self::apply`], and add the displacement divided by `dt` (ps) to the velocities `v` (nm/ps).
    ///
    /// Returns the virial Σ r·F of the constraint forces, kJ/mol.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn apply_with_velocities(
        &self,
        reference: &[Vector3<f64>],
        x: &mut [Vector3<f64>],
        v: &mut [Vector3<f64>],
        dt: f64,
    ) -> Result<f64, ConstraintError> {
        let sum = self.run_both(x, v, |task, x, v| {
            let start = task.atoms.start;
            self.move_task(task, reference, x, |atom, displacement| v[atom - start] += displacement / dt)
        })?;
        Ok(sum / (dt * dt))
    }

    /// Remove from `v` (nm/ps) the relative velocities along all bonds at positions `x`.
    ///
    /// The projection is orthogonal in the metric of the masses: it keeps the momentum of every group, and applied to
    /// Maxwell velocities it gives the canonical distribution of the constrained system. It serves any vector field,
    /// such as accelerations. Returns Σ r·(m Δv).
    ///
    /// # Errors
    /// Bonds along which no velocities can be removed.
    pub fn project(&self, x: &[Vector3<f64>], v: &mut [Vector3<f64>]) -> Result<f64, ConstraintError> {
        self.run(v, |task, v| {
            let mut virial = 0.0;
            for group in &self.groups[task.groups.clone()] {
                virial += self.project_group(group, x, v, task.atoms.start)?;
            }
            Ok(virial)
        })
    }

    /// Largest relative deviation of a bond from its length, with its atoms; `None` without constraints.
    pub fn largest_deviation(&self, x: &[Vector3<f64>]) -> Option<(f64, [u32; 2])> {
        let mut worst: Option<(f64, [u32; 2])> = None;
        let mut see = |i: u32, j: u32, length: f64| {
            let deviation = ((x[i as usize] - x[j as usize]).norm() / length - 1.0).abs();
            if worst.is_none_or(|(most, _)| deviation.is_nan() || deviation > most) {
                worst = Some((deviation, [i, j]));
            }
        };
        for group in &self.groups {
            match group {
                Group::Water { atoms: [o, h1, h2], kind } => {
                    let (d_oh, d_hh) = self.kinds[*kind as usize].lengths();
                    see(*o, *h1, d_oh);
                    see(*o, *h2, d_oh);
                    see(*h1, *h2, d_hh);
                }
                Group::Bonds(group) => {
                    for bond in &group.bonds {
                        let [i, j] = bond.ends.map(|end| group.atoms[end as usize]);
                        see(i, j, bond.length);
                    }
                }
            }
        }
        worst
    }

    /// Waters four by four while they are of one kind, everything else one by one.
    fn move_task(
        &self,
        task: &Task,
        reference: &[Vector3<f64>],
        x: &mut [Vector3<f64>],
        mut moved: impl FnMut(usize, Vector3<f64>),
    ) -> Result<f64, ConstraintError> {
        let start = task.atoms.start;
        let mut rest = &self.groups[task.groups.clone()];
        let mut virial = 0.0;
        while let Some((group, others)) = rest.split_first() {
            if let Some((waters, kind)) = four_waters(rest) {
                virial += self.move_waters(waters, kind, reference, x, start, &mut moved)?;
                rest = &rest[4..];
            } else {
                virial += self.move_group(group, reference, x, start, &mut moved)?;
                rest = others;
            }
        }
        Ok(virial)
    }

    fn move_waters(
        &self,
        waters: [[u32; 3]; 4],
        kind: u32,
        reference: &[Vector3<f64>],
        x: &mut [Vector3<f64>],
        start: usize,
        moved: &mut impl FnMut(usize, Vector3<f64>),
    ) -> Result<f64, ConstraintError> {
        let triangle = &self.kinds[kind as usize];
        let lanes = |k: usize| waters.map(|water| water[k] as usize);
        let old = [0, 1, 2].map(|k| Vector3::<WideF64x4>::from(lanes(k).map(|atom| reference[atom])));
        let free = [0, 1, 2].map(|k| Vector3::<WideF64x4>::from(lanes(k).map(|atom| x[atom - start])));
        let shift = triangle.settle(old, free);
        let mut virial = 0.0;
        for (lane, water) in waters.into_iter().enumerate() {
            let shift = shift.map(|s| s.extract(lane));
            virial += place_water(triangle, water, shift, reference, x, start, moved)?;
        }
        Ok(virial)
    }

    fn move_group(
        &self,
        group: &Group,
        reference: &[Vector3<f64>],
        x: &mut [Vector3<f64>],
        start: usize,
        moved: &mut impl FnMut(usize, Vector3<f64>),
    ) -> Result<f64, ConstraintError> {
        match group {
            Group::Water { atoms, kind } => {
                let triangle = &self.kinds[*kind as usize];
                let old = atoms.map(|atom| reference[atom as usize]);
                let free = atoms.map(|atom| x[atom as usize - start]);
                let shift = triangle.settle(old, free);
                place_water(triangle, *atoms, shift, reference, x, start, moved)
            }
            Group::Bonds(group) => {
                // Relative to the first atom, so that displacements keep their digits.
                let origin = reference[group.atoms[0] as usize];
                let near = |atom: &u32| (reference[*atom as usize] - origin, x[*atom as usize - start] - origin);
                let (old, free): (Vec<_>, Vec<_>) = group.atoms.iter().map(near).unzip();
                let mut new = free.clone();
                let virial = group.shake(&old, &mut new, self.tolerance).map_err(|stuck| shake_error(group, stuck))?;
                for ((&atom, new), free) in group.atoms.iter().zip(&new).zip(&free) {
                    let shift = new - free;
                    x[atom as usize - start] += shift;
                    moved(atom as usize, shift);
                }
                Ok(virial)
            }
        }
    }

    fn project_group(
        &self,
        group: &Group,
        x: &[Vector3<f64>],
        v: &mut [Vector3<f64>],
        start: usize,
    ) -> Result<f64, ConstraintError> {
        match group {
            Group::Water { atoms, kind } => {
                let at = atoms.map(|atom| atom as usize);
                let (new, virial) = self.kinds[*kind as usize]
                    .project(at.map(|atom| x[atom]), at.map(|atom| v[atom - start]))
                    .ok_or(ConstraintError::Velocity { atoms: [atoms[0], atoms[1]] })?;
                for k in 0..3 {
                    v[at[k] - start] = new[k];
                }
                Ok(virial)
            }
            Group::Bonds(group) => {
                let at: Vec<_> = group.atoms.iter().map(|&atom| x[atom as usize]).collect();
                let mut new: Vec<_> = group.atoms.iter().map(|&atom| v[atom as usize - start]).collect();
                let virial = group.project(&at, &mut new).map_err(|stuck| {
                    let ends = group.bonds[stuck.bond].ends;
                    ConstraintError::Velocity { atoms: ends.map(|end| group.atoms[end as usize]) }
                })?;
                for (&atom, new) in group.atoms.iter().zip(new) {
                    v[atom as usize - start] = new;
                }
                Ok(virial)
            }
        }
    }

    /// Run all tasks in parallel on their parts of `a`; sum of the results in the order of tasks, or the first error.
    fn run<F>(&self, a: &mut [Vector3<f64>], work: F) -> Result<f64, ConstraintError>
    where
        F: Fn(&Task, &mut [Vector3<f64>]) -> Result<f64, ConstraintError> + Sync,
    {
        let parts: Vec<_> = self.tasks.iter().zip(self.parts(a)).collect();
        let results: Vec<_> = parts.into_par_iter().with_max_len(1).map(|(task, a)| work(task, a)).collect();
        results.into_iter().sum()
    }

    fn run_both<F>(&self, a: &mut [Vector3<f64>], b: &mut [Vector3<f64>], work: F) -> Result<f64, ConstraintError>
    where
        F: Fn(&Task, &mut [Vector3<f64>], &mut [Vector3<f64>]) -> Result<f64, ConstraintError> + Sync,
    {
        let parts: Vec<_> = self.tasks.iter().zip(self.parts(a)).zip(self.parts(b)).collect();
        let results: Vec<_> = parts.into_par_iter().with_max_len(1).map(|((task, a), b)| work(task, a, b)).collect();
        results.into_iter().sum()
    }

    /// The slices of `a` that belong to the tasks.
    fn parts<'a>(&self, a: &'a mut [Vector3<f64>]) -> Vec<&'a mut [Vector3<f64>]> {
        let mut rest = a;
        let mut done = 0;
        let mut parts = Vec::with_capacity(self.tasks.len());
        for task in &self.tasks {
            let (part, after) = rest[task.atoms.start - done..].split_at_mut(task.atoms.len());
            parts.push(part);
            rest = after;
            done = task.atoms.end;
        }
        parts
    }
}

/// The next four groups and their kind, if they are waters of one kind.
fn four_waters(groups: &[Group]) -> Option<([[u32; 3]; 4], u32)> {
    let four = groups.first_chunk::<4>()?;
    let Group::Water { kind: first, .. } = &four[0] else { return None };
    let mut waters = [[0; 3]; 4];
    for (water, group) in waters.iter_mut().zip(four) {
        match group {
            Group::Water { atoms, kind } if kind == first => *water = *atoms,
            _ => return None,
        }
    }
    Some((waters, *first))
}

/// Apply the displacements of one water; returns Σ r·(m Δx).
fn place_water(
    triangle: &Triangle,
    atoms: [u32; 3],
    shift: [Vector3<f64>; 3],
    reference: &[Vector3<f64>],
    x: &mut [Vector3<f64>],
    start: usize,
    moved: &mut impl FnMut(usize, Vector3<f64>),
) -> Result<f64, ConstraintError> {
    let at = atoms.map(|atom| atom as usize);
    // Masses times displacements sum to zero: any origin will do.
    let lever = |k: usize| (reference[at[k]] - reference[at[0]]).dot(&shift[k]);
    let virial = triangle.mass_h * (lever(1) + lever(2));
    if !virial.is_finite() {
        return Err(ConstraintError::Settle { atoms });
    }
    for k in 0..3 {
        x[at[k] - start] += shift[k];
        moved(at[k], shift[k]);
    }
    Ok(virial)
}

fn shake_error(group: &BondGroup, stuck: Stuck) -> ConstraintError {
    let bond = group.bonds[stuck.bond];
    ConstraintError::Shake {
        atoms: bond.ends.map(|end| group.atoms[end as usize]),
        found: stuck.length,
        wanted: bond.length,
    }
}
