//! Lennard-Jones between all pairs that are not excluded, within a cut-off.
//!
//! V = c12/r¹² − c6/r⁶ with the [`Modifier`] at the cut-off; open space or a periodic box of any shape (nearest image).
//! A Verlet list holds what lies within cut-off + buffer and stays valid while nothing has moved by more
//! than half the buffer ([`LennardJones::is_stale`]). Results do not depend on the number of threads; instruction sets
//! differ by rounding. Units: nm, kJ/mol, kJ/mol/nm.

mod classes;
mod clusters;
mod dispersion;
mod drift;
pub(crate) mod kinds;
mod list;
mod list_origin;
pub(crate) mod modifier;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use classes::Classes;
pub use dispersion::{DispersionCorrection, dispersion_correction};
pub use drift::{ListDrift, Mobility};
pub use modifier::Modifier;

use kernels::Isa;
use kernels::lennard_jones::{CLUSTER, Entry, Modified, Pairs, lennard_jones_on};
use nalgebra::Vector3;
use rayon::prelude::*;
use thiserror::Error;

use crate::ExcludedPairs;
use crate::cell::{Cell, PeriodicBox};
use crate::energy::TermEnergy;
use crate::topology::Topology;
use classes::Coefficients;
use clusters::{Clusters, NO_ATOM};
use list::{Builder, Chunk};
pub(crate) use list_origin::ListOrigin;

/// Why Lennard-Jones cannot be computed.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LennardJonesError {
    /// The cut-off is not a positive finite length.
    #[error("the Lennard-Jones cut-off is {0} nm: it must be a positive length")]
    Cutoff(f64),
    /// The buffer is not a finite length ≥ 0.
    #[error("the buffer of the neighbour list is {0} nm: it must not be negative")]
    Buffer(f64),
    /// The switch does not begin inside the cut-off.
    #[error(
        "the Lennard-Jones force switch begins at {r_switch} nm: it must lie between 0 and the cut-off {cutoff} nm"
    )]
    Switch {
        /// Where the switch was to begin, nm.
        r_switch: f64,
        /// Cut-off, nm.
        cutoff: f64,
    },
    /// The box is so small that a pair would meet in two images.
    #[error(
        "the box edge along {} is {edge} nm: it must be at least twice cut-off + buffer, {needed} nm",
        ["x", "y", "z"][*axis]
    )]
    BoxTooSmall {
        /// 0, 1, 2 for x, y, z.
        axis: usize,
        /// Edge, nm.
        edge: f64,
        /// Smallest edge allowed, nm.
        needed: f64,
    },
    /// The same in a box without right angles.
    #[error(
        "images in the triclinic box are {distance:.4} nm apart: it must be at least twice cut-off + buffer, {needed} nm"
    )]
    ImagesTooNear {
        /// Length of the shortest lattice vector, nm.
        distance: f64,
        /// Shortest one allowed, nm.
        needed: f64,
    },
    /// On a device, opposite faces of a box without right angles are so near that rounding of fractional coordinates misses nearest images.
    #[error(
        "opposite faces of the triclinic box are {height:.4} nm apart: on a device it must be at least twice cut-off + buffer, {needed} nm"
    )]
    FacesTooNear {
        /// Distance of the nearest opposite faces, nm.
        height: f64,
        /// Shortest one allowed, nm.
        needed: f64,
    },
    /// On a device, a box without right angles after one with right angles, for which the kernels are made.
    #[error("the box has no right angles, where the first one had: on a device both must be alike")]
    Angles,
    /// A coordinate is NaN or infinite.
    #[error("the position of atom {} is not finite", atom + 1)]
    NotFinite {
        /// Its 0-based index.
        atom: usize,
    },
    /// There are more atoms than the list can number: it has 24 bits for clusters of eight.
    #[error("{0} atoms are more than the neighbour list can number (about 10⁸)")]
    TooManyAtoms(usize),
}

/// Lennard-Jones interaction of a system with its Verlet list.
///
/// ```
/// use forcefield::lennard_jones::{LennardJones, Modifier};
/// use forcefield::topology::{Atom, AtomType, LennardJonesTable, Topology};
/// use forcefield::ExcludedPairs;
/// use forcefield::Cell;
/// use nalgebra::Vector3;
/// // Two argon atoms, σ = 0.34 nm, ε = 1 kJ/mol, at r = σ across the boundary of a box: V = 0, r·F = 24 ε.
/// let (c6, c12) = (4.0 * 0.34f64.powi(6), 4.0 * 0.34f64.powi(12));
/// let atom = Atom { name: "AR".into(), type_index: 0, residue: 0, molecule: 0, charge: 0.0, mass: 39.948 };
/// let top = Topology {
///     atoms: vec![atom; 2],
///     atom_types: vec![AtomType { name: "AR".into(), atomic_number: Some(18) }],
///     lj: LennardJonesTable { n_types: 1, c6: vec![c6], c12: vec![c12] },
///     exclusions: ExcludedPairs::from_pairs(2, []),
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
    isa: Isa,
    exclusions: ExcludedPairs,
    /// Atoms with any Lennard-Jones interaction.
    active: Vec<u32>,
    /// Their classes of equal coefficients.
    classes: Classes,
    clusters: Clusters,
    coefficients: Coefficients,
    chunks: Vec<Chunk>,
    chunk_energies: Vec<TermEnergy>,
    /// What images add to the virial along each axis, of each chunk at the last evaluation, kJ/mol.
    chunk_images: Vec<Vector3<f64>>,
    /// From where the active atoms were listed.
    origin: ListOrigin,
}

impl LennardJones {
    /// The Lennard-Jones term of `top` with cut-off and list buffer in nm. Atoms without Lennard-Jones are left out.
    ///
    /// # Errors
    /// One of [`LennardJonesError::Cutoff`], [`Buffer`](LennardJonesError::Buffer), [`Switch`](LennardJonesError::Switch) for a setting that
    /// makes no sense; [`LennardJonesError::TooManyAtoms`].
    pub fn new(top: &Topology, cutoff: f64, modifier: Modifier, buffer: f64) -> Result<Self, LennardJonesError> {
        check_settings(top, cutoff, modifier, buffer)?;
        let active: Vec<u32> =
            (0..top.atoms.len() as u32).filter(|&a| !top.lj.is_inert(top.atoms[a as usize].type_index)).collect();
        let types: Vec<u32> = active.iter().map(|&a| top.atoms[a as usize].type_index).collect();
        Ok(Self {
            modified: modifier.at_cutoff(cutoff),
            buffer,
            isa: Isa::best(),
            exclusions: top.exclusions.clone(),
            active,
            classes: Classes::new(&types, &top.lj),
            clusters: Clusters::default(),
            coefficients: Coefficients::default(),
            chunks: Vec::new(),
            chunk_energies: Vec::new(),
            chunk_images: Vec::new(),
            origin: ListOrigin::default(),
        })
    }

    /// Make the list for positions `x` (nm, one per atom of the system, anywhere in space).
    ///
    /// # Errors
    /// [`LennardJonesError::BoxTooSmall`] or [`LennardJonesError::ImagesTooNear`] for images nearer than 2 (cut-off + buffer), and
    /// [`LennardJonesError::NotFinite`] for a position.
    pub fn rebuild(&mut self, x: &[Vector3<f64>], cell: Cell) -> Result<(), LennardJonesError> {
        let reach = self.modified.cutoff + self.buffer;
        check_cell(cell, reach)?;
        if let Some(&a) = self.active.iter().find(|&&a| !x[a as usize].iter().all(|c| c.is_finite())) {
            return Err(LennardJonesError::NotFinite { atom: a as usize });
        }
        self.clusters.sort(&self.active, x, cell);
        self.coefficients.fill(&self.classes, &self.active, &self.clusters);
        let (clusters, exclusions) = (&self.clusters, &self.exclusions);
        Builder { clusters, exclusions, cell, reach, isa: self.isa }.build(&mut self.chunks);
        self.origin.note(self.active.iter().map(|&a| x[a as usize]), cell);
        Ok(())
    }

    /// Whether the list may miss a pair within the cut-off: it was never made, the kind of boundary changed, or an atom
    /// has moved by more than half of what is left of the buffer. Uniform scaling with the box is not counted as movement.
    pub fn is_stale(&self, x: &[Vector3<f64>], cell: Cell) -> bool {
        self.origin.is_stale(self.active.iter().map(|&a| x[a as usize]), cell, (self.modified.cutoff, self.buffer))
    }

    /// Energy and virial at `x`; forces are added to `f` (kJ/mol/nm). The list must have been made and not be stale;
    /// the edges of `cell` may differ from those of the list by the scaling of a barostat.
    ///
    /// # Panics
    /// If there is no list, or `cell` is of another kind (open or periodic) than at the last [`LennardJones::rebuild`].
    pub fn evaluate(&mut self, x: &[Vector3<f64>], cell: Cell, f: &mut [Vector3<f64>]) -> TermEnergy {
        assert_eq!(cell.is_periodic(), self.origin.cell().is_periodic(), "boundary of the list and of the evaluation");
        assert!(self.origin.is_for(self.active.len()), "the list is to be rebuilt before the first evaluation");
        self.clusters.load(x, cell);
        let (clusters, rows) = (self.clusters.view(), cell.periodic().map_or_else(Default::default, PeriodicBox::rows));
        let (Coefficients { pairs, classes }, modified, isa) = (&self.coefficients, &self.modified, self.isa);
        let kernel = |chunk: &mut Chunk| {
            let Chunk { first_slot, runs, entries, forces, .. } = chunk;
            let pairs = Pairs { clusters, rows, coefficients: pairs, classes, runs, entries };
            let sums = lennard_jones_on(isa, pairs, modified, *first_slot, forces);
            (TermEnergy { energy: sums.energy, virial: sums.virial }, Vector3::from(sums.images))
        };
        self.chunks.par_iter_mut().map(kernel).unzip_into_vecs(&mut self.chunk_energies, &mut self.chunk_images);
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

    /// At the last [`Self::evaluate`], the virial along each axis, W_a = Σ r_a F_a over all pairs, less Σ x_a F_a over the atoms at `x`
    /// (kJ/mol): what Σ x_a F_a misses where pairs meet across a face of the box.
    pub fn virial_of_images(&self, x: &[Vector3<f64>], cell: Cell) -> Vector3<f64> {
        if !cell.is_periodic() {
            return Vector3::zeros();
        }
        let mut sum: Vector3<f64> = self.chunk_images.iter().sum();
        for chunk in &self.chunks {
            for (slot, force) in (chunk.first_slot..).zip(&chunk.forces) {
                let atom = self.clusters.atoms[slot];
                if atom != NO_ATOM {
                    let wrapped = Vector3::from(self.clusters.position(slot));
                    sum += (wrapped - x[atom as usize]).component_mul(&Vector3::from(*force));
                }
            }
        }
        sum
    }

    /// Number of atoms with Lennard-Jones interaction.
    pub fn n_active(&self) -> usize {
        self.active.len()
    }
}

/// Whether a list of the pairs within `reach` (nm) can be made in `cell` on the CPU.
pub fn fits(cell: Cell, reach: f64) -> bool {
    check_cell(cell, reach).is_ok()
}

/// Whether a list of the pairs within `reach` (nm) can be made in `cell` on a device.
pub fn fits_on_device(cell: Cell, reach: f64) -> bool {
    check_cell_on_device(cell, reach).is_ok()
}

/// Whether each pair within `reach` (nm) meets in one image only.
pub(crate) fn check_cell(cell: Cell, reach: f64) -> Result<(), LennardJonesError> {
    let needed = 2.0 * reach;
    let Some(periodic) = cell.periodic() else { return Ok(()) };
    if periodic.is_rectangular() {
        let edges = periodic.diagonal();
        // A comparison that is also false for NaN.
        return match (0..3).find(|&d| !(edges[d] >= needed && edges[d].is_finite())) {
            Some(axis) => Err(LennardJonesError::BoxTooSmall { axis, edge: edges[axis], needed }),
            None => Ok(()),
        };
    }
    let distance = periodic.image_distance();
    if distance >= needed { Ok(()) } else { Err(LennardJonesError::ImagesTooNear { distance, needed }) }
}

/// [`check_cell`], and whether the nearest image within `reach` (nm) is that of rounded fractional coordinates, as devices find it.
pub(crate) fn check_cell_on_device(cell: Cell, reach: f64) -> Result<(), LennardJonesError> {
    check_cell(cell, reach)?;
    let needed = 2.0 * reach;
    let height = cell.periodic().map_or(f64::INFINITY, |periodic| periodic.heights().min());
    if height >= needed { Ok(()) } else { Err(LennardJonesError::FacesTooNear { height, needed }) }
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
    // Half of the clusters may be filled in part only.
    if top.atoms.len() > Entry::MAX_CLUSTERS * CLUSTER / 2 {
        return Err(LennardJonesError::TooManyAtoms(top.atoms.len()));
    }
    Ok(())
}
