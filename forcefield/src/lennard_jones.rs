//! Lennard-Jones between all pairs that are not excluded, within a cut-off.
//!
//! V = c12/r¹² − c6/r⁶ with the [`Modifier`] at the cut-off; open space or a periodic rectangular box (nearest image).
//! A Verlet list holds what lies within cut-off + buffer and stays valid while nothing has moved by more
//! than half the buffer ([`LennardJones::is_stale`]). Results do not depend on the number of threads; instruction sets
//! differ by rounding. Units: nm, kJ/mol, kJ/mol/nm.

mod dispersion;
mod kernel;
mod list;
mod modifier;
mod simd;
#[cfg(test)]
pub(crate) mod tests;

pub use dispersion::{DispersionCorrection, dispersion_correction};
pub(crate) use modifier::Modified;
pub use modifier::Modifier;

use nalgebra::Vector3;
use rayon::prelude::*;
use thiserror::Error;

use crate::Exclusions;
use crate::cell::Cell;
use crate::energy::TermEnergy;
use crate::topology::{LennardJonesTable, Topology};
use kernel::{Coefficients, Input};
use list::{Chunk, Clusters, NO_ATOM};
use simd::{Lane, Level};

/// Why Lennard-Jones cannot be computed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LennardJonesError {
    /// Not a positive finite length.
    #[error("the Lennard-Jones cut-off is {0} nm: it must be a positive length")]
    Cutoff(f64),
    /// Not a finite length ≥ 0.
    #[error("the buffer of the neighbour list is {0} nm: it must not be negative")]
    Buffer(f64),
    /// The switch must begin inside the cut-off.
    #[error(
        "the Lennard-Jones force switch begins at {r_switch} nm: it must lie between 0 and the cut-off {cutoff} nm"
    )]
    Switch {
        /// Given start, nm.
        r_switch: f64,
        /// Cut-off, nm.
        cutoff: f64,
    },
    /// A pair would meet in two images.
    #[error(
        "the box edge along {} is {edge} nm: it must be at least twice cut-off + buffer, {needed} nm",
        ["x", "y", "z"][*axis]
    )]
    BoxTooSmall {
        /// 0, 1, 2.
        axis: usize,
        /// Edge, nm.
        edge: f64,
        /// Smallest edge allowed, nm.
        needed: f64,
    },
    /// Lists know boxes with right angles only.
    #[error("the box is triclinic: the neighbour list is for rectangular boxes")]
    Triclinic,
    /// NaN or infinity.
    #[error("the position of atom {} is not finite", atom + 1)]
    NotFinite {
        /// 0-based index.
        atom: usize,
    },
    /// The list numbers clusters of eight atoms with 24 bits.
    #[error("{0} atoms are more than the neighbour list can number (about 10⁸)")]
    TooManyAtoms(usize),
}

/// Lennard-Jones interaction of a system with its Verlet list.
///
/// ```
/// use forcefield::lennard_jones::{LennardJones, Modifier};
/// use forcefield::topology::{Atom, AtomType, LennardJonesTable, Topology};
/// use forcefield::Exclusions;
/// use forcefield::Cell;
/// use nalgebra::Vector3;
/// // Two argon atoms, σ = 0.34 nm, ε = 1 kJ/mol, at r = σ across the boundary of a box: V = 0, r·F = 24 ε.
/// let (c6, c12) = (4.0 * 0.34f64.powi(6), 4.0 * 0.34f64.powi(12));
/// let atom = Atom { name: "AR".into(), type_index: 0, residue: 0, molecule: 0, charge: 0.0, mass: 39.948 };
/// let top = Topology {
///     atoms: vec![atom; 2],
///     atom_types: vec![AtomType { name: "AR".into(), atomic_number: Some(18) }],
///     lj: LennardJonesTable { n_types: 1, c6: vec![c6], c12: vec![c12] },
///     exclusions: Exclusions::from_pairs(2, []),
///     ..Default::default()
/// };
/// let cell = Cell::rectangular(Vector3::new(3.0, 3.0, 3.0)).expect("positive edges");
/// let x = [Vector3::new(0.1, 1.0, 1.0), Vector3::new(2.76, 1.0, 1.0)];
/// let mut lj = LennardJones::new(&top, 1.0, Modifier::None, 0.1)?;
/// lj.rebuild(&x, cell)?;
/// let mut f = [Vector3::zeros(); 2];
/// let v = lj.evaluate(&x, cell, &mut f);
/// assert!(v.energy.abs() < 1e-12 && (v.virial - 24.0).abs() < 1e-10);
/// assert!((f[0].x - 24.0 / 0.34).abs() < 1e-9 && (f[1].x + 24.0 / 0.34).abs() < 1e-9);
/// # Ok::<(), forcefield::lennard_jones::LennardJonesError>(())
/// ```
#[derive(Clone, Debug)]
pub struct LennardJones {
    modified: Modified,
    buffer: f64,
    level: Level,
    exclusions: Exclusions,
    /// Atoms with any Lennard-Jones interaction, and their class of equal parameters.
    active: Vec<u32>,
    active_class: Vec<u32>,
    /// c6 and c12 between classes.
    classes: LennardJonesTable,
    clusters: Clusters,
    coefficients: Coefficients,
    chunks: Vec<Chunk>,
    chunk_energies: Vec<TermEnergy>,
    /// Positions of the active atoms and the cell when the list was made.
    listed_at: Vec<Vector3<f64>>,
    listed_cell: Cell,
}

impl LennardJones {
    /// The Lennard-Jones term of `top` with cut-off and list buffer in nm. Atoms without Lennard-Jones are left out.
    ///
    /// # Errors
    /// A cut-off, buffer or switch that makes no sense; too many atoms.
    pub fn new(top: &Topology, cutoff: f64, modifier: Modifier, buffer: f64) -> Result<Self, LennardJonesError> {
        check_settings(top, cutoff, modifier, buffer)?;
        let active: Vec<u32> =
            (0..top.atoms.len() as u32).filter(|&a| !top.lj.is_inert(top.atoms[a as usize].type_index)).collect();
        let types: Vec<u32> = active.iter().map(|&a| top.atoms[a as usize].type_index).collect();
        let (active_class, classes) = merge_types(&types, &top.lj);
        Ok(Self {
            modified: Modified::new(cutoff, modifier),
            buffer,
            level: Level::best(),
            exclusions: top.exclusions.clone(),
            active,
            active_class,
            classes,
            clusters: Clusters::default(),
            coefficients: Coefficients::default(),
            chunks: Vec::new(),
            chunk_energies: Vec::new(),
            listed_at: Vec::new(),
            listed_cell: Cell::Open,
        })
    }

    /// Make the list for positions `x` (nm, one per atom of the system, anywhere in space).
    ///
    /// # Errors
    /// Edges below 2 (cut-off + buffer), a triclinic box; positions that are not finite.
    pub fn rebuild(&mut self, x: &[Vector3<f64>], cell: Cell) -> Result<(), LennardJonesError> {
        let reach = self.modified.cutoff + self.buffer;
        check_cell(cell, reach)?;
        if let Some(&a) = self.active.iter().find(|&&a| !x[a as usize].iter().all(|c| c.is_finite())) {
            return Err(LennardJonesError::NotFinite { atom: a as usize });
        }
        self.clusters.sort(&self.active, x, cell);
        self.fill_coefficients(x.len());
        list::build(&self.clusters, &self.exclusions, cell, reach, self.level, &mut self.chunks);
        self.listed_at.clear();
        self.listed_at.extend(self.active.iter().map(|&a| x[a as usize]));
        self.listed_cell = cell;
        Ok(())
    }

    /// Whether the list may miss a pair within the cut-off: it was never made, the kind of boundary changed, or an atom
    /// has moved by more than half of what is left of the buffer. Uniform scaling with the box is not counted as
    /// movement: from edges L to sL the buffer that is left is s (cut-off + buffer) − cut-off, s the smallest of the axes.
    pub fn is_stale(&self, x: &[Vector3<f64>], cell: Cell) -> bool {
        let Some(scale) = cell.stretch_since(&self.listed_cell) else { return true };
        if self.listed_at.len() != self.active.len() {
            return true;
        }
        let reach = self.modified.cutoff + self.buffer;
        let limit = 0.5 * (scale.min() * reach - self.modified.cutoff);
        if limit < 0.0 {
            return true;
        }
        // A comparison that is false for NaN: such positions make the list stale.
        let in_place = self
            .active
            .iter()
            .zip(&self.listed_at)
            .all(|(&a, then)| (x[a as usize] - then.component_mul(&scale)).norm_squared() <= limit * limit);
        !in_place
    }

    /// Energy and virial at `x`; forces are added to `f` (kJ/mol/nm). The list must have been made and not be stale;
    /// the edges of `cell` may differ from those of the list by the scaling of a barostat.
    ///
    /// # Panics
    /// If `cell` is of another kind (open or periodic) than at the last [`LennardJones::rebuild`].
    pub fn evaluate(&mut self, x: &[Vector3<f64>], cell: Cell, f: &mut [Vector3<f64>]) -> TermEnergy {
        assert_eq!(cell.is_periodic(), self.listed_cell.is_periodic(), "boundary of the list and of the evaluation");
        self.clusters.load(x, cell);
        let input =
            Input { clusters: &self.clusters, coefficients: &self.coefficients, modified: &self.modified, cell };
        let level = self.level;
        self.chunks
            .par_iter_mut()
            .map(|chunk| kernel::evaluate(level, input, chunk))
            .collect_into_vec(&mut self.chunk_energies);
        for chunk in &self.chunks {
            for (slot, force) in (chunk.first_slot..).zip(&chunk.forces) {
                let atom = self.clusters.atoms[slot];
                if atom != NO_ATOM {
                    f[atom as usize] += Vector3::from(*force);
                }
            }
        }
        self.chunk_energies.iter().copied().sum()
    }

    /// Number of atoms with Lennard-Jones interaction.
    pub fn n_active(&self) -> usize {
        self.active.len()
    }

    /// c6 and c12 of every class with every cluster.
    fn fill_coefficients(&mut self, n_atoms: usize) {
        let mut class_of = vec![0; n_atoms];
        for (&a, &class) in self.active.iter().zip(&self.active_class) {
            class_of[a as usize] = class;
        }
        let atoms = &self.clusters.atoms;
        let class = &mut self.coefficients.class;
        class.clear();
        class.extend(atoms.iter().map(|&a| if a == NO_ATOM { 0 } else { class_of[a as usize] }));
        let n = self.clusters.filled.len();
        self.coefficients.pairs.clear();
        self.coefficients.pairs.resize(self.classes.n_types * n, [Lane::default(); 2]);
        for (row, pairs) in self.coefficients.pairs.chunks_exact_mut(n.max(1)).enumerate() {
            for (slot, &class) in self.coefficients.class.iter().enumerate() {
                if atoms[slot] != NO_ATOM {
                    let (c6, c12) = self.classes.get(row as u32, class);
                    pairs[slot / 8][0].0[slot % 8] = c6;
                    pairs[slot / 8][1].0[slot % 8] = c12;
                }
            }
        }
    }
}

/// Whether each pair within `reach` (nm) meets in one image of a rectangular box only.
pub(crate) fn check_cell(cell: Cell, reach: f64) -> Result<(), LennardJonesError> {
    if cell.is_triclinic() {
        return Err(LennardJonesError::Triclinic);
    }
    let Some(edges) = cell.edges() else { return Ok(()) };
    // A comparison that is also false for NaN.
    match (0..3).find(|&d| !(edges[d] >= 2.0 * reach && edges[d].is_finite())) {
        Some(axis) => Err(LennardJonesError::BoxTooSmall { axis, edge: edges[axis], needed: 2.0 * reach }),
        None => Ok(()),
    }
}

/// Whether cut-off, modifier and buffer (nm) make sense for `top`.
pub(crate) fn check_settings(
    top: &Topology,
    cutoff: f64,
    modifier: Modifier,
    buffer: f64,
) -> Result<(), LennardJonesError> {
    if !(cutoff > 0.0 && cutoff.is_finite()) {
        return Err(LennardJonesError::Cutoff(cutoff));
    }
    if !(buffer >= 0.0 && buffer.is_finite()) {
        return Err(LennardJonesError::Buffer(buffer));
    }
    if let Modifier::ForceSwitch { r_switch } = modifier
        && !(r_switch > 0.0 && r_switch < cutoff)
    {
        return Err(LennardJonesError::Switch { r_switch, cutoff });
    }
    // Twice: room for partly filled clusters.
    if top.atoms.len() > 1 << 26 {
        return Err(LennardJonesError::TooManyAtoms(top.atoms.len()));
    }
    Ok(())
}

/// Types that have equal coefficients with every other type become one class: class of each atom, and the table of classes.
pub(crate) fn merge_types(types: &[u32], table: &LennardJonesTable) -> (Vec<u32>, LennardJonesTable) {
    let mut used: Vec<u32> = types.to_vec();
    used.sort_unstable();
    used.dedup();
    let same = |a: u32, b: u32| used.iter().all(|&c| table.get(a, c) == table.get(b, c));
    let mut representatives: Vec<u32> = Vec::new();
    let mut class_of_type = vec![0; table.n_types];
    for &t in &used {
        let class = representatives.iter().position(|&r| same(r, t)).unwrap_or(representatives.len());
        if class == representatives.len() {
            representatives.push(t);
        }
        class_of_type[t as usize] = class as u32;
    }
    let all = || representatives.iter().flat_map(|&a| representatives.iter().map(move |&b| table.get(a, b)));
    let classes = LennardJonesTable {
        n_types: representatives.len(),
        c6: all().map(|c| c.0).collect(),
        c12: all().map(|c| c.1).collect(),
    };
    (types.iter().map(|&t| class_of_type[t as usize]).collect(), classes)
}
