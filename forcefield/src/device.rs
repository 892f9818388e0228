//! Short-range terms on a GPU: Lennard-Jones with its Verlet list, bonded terms, 1-4 pairs, position restraints, what of them differs between
//! the forms of titratable sites; and virtual sites.
//!
//! Positions and the edges of the cell are f64 on the device. Forces are 64-bit fixed-point sums (2³² per kJ/mol/nm) that
//! other parts of the Hamiltonian add to as well, energies likewise (2²⁴ per kJ/mol) in one array with a slot for each
//! [`EnergyTerm`]; sums of integers do not depend on their order. Nothing here waits for the device except where it says so.
//! Units: nm, kJ/mol, kJ/mol/nm, e.

mod bonded;
mod lennard_jones;
mod variants;
mod virtual_sites;

pub use bonded::DeviceBonded;
pub use lennard_jones::{DeviceLennardJones, ListStatus, Settings};
pub use variants::DeviceVariants;
pub use virtual_sites::DeviceVirtualSites;

use crate::lennard_jones::LennardJonesError;
use kernels::device::{Buffer, DeviceError};
use thiserror::Error;

/// Fixed-point units of one kJ/mol/nm, and of one kJ/mol/e of potential.
pub const FORCE_ONE: f64 = 4_294_967_296.0;

/// Fixed-point units of one kJ/mol.
pub const ENERGY_ONE: f64 = 16_777_216.0;

/// Number of slots of the array of energies; those beyond [`EnergyTerm::ImagesZ`] are free for its other users.
pub const ENERGY_SLOTS: usize = 24;

/// Arithmetic of the pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// f32 on exact differences of fixed-point coordinates.
    #[default]
    Single,
    /// f64.
    Double,
}

/// Slots of the array of energies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum EnergyTerm {
    /// Harmonic bonds.
    Bonds,
    /// Harmonic angles.
    Angles,
    /// Urey–Bradley angles.
    UreyBradley,
    /// Periodic dihedrals that are not impropers.
    ProperDihedrals,
    /// Harmonic and periodic impropers.
    ImproperDihedrals,
    /// Ryckaert–Bellemans dihedrals.
    RyckaertBellemans,
    /// Correction maps.
    Cmap,
    /// Lennard-Jones within the cut-off.
    LennardJones,
    /// Lennard-Jones of 1-4 pairs.
    LennardJones14,
    /// Dispersion beyond the cut-off.
    Dispersion,
    /// Coulomb without 1-4 pairs.
    Coulomb,
    /// Coulomb of 1-4 pairs.
    Coulomb14,
    /// What interpolation between the forms of titratable sites adds.
    Interpolation,
    /// Position restraints.
    Restraints,
    /// Not an energy of its own: trace of the virial Σ r·F of all terms.
    Virial,
    /// Nor this: what Σ x F over the atoms misses of the virial along x, if [`Settings::axes`] asks for it.
    ImagesX,
    /// The same along y.
    ImagesY,
    /// The same along z.
    ImagesZ,
}

impl EnergyTerm {
    /// Its value, kJ/mol, in the array of energies read back.
    ///
    /// # Panics
    /// If there are fewer than [`ENERGY_SLOTS`] numbers.
    pub fn of(self, energies: &[i64]) -> f64 {
        energies[self as usize] as f64 / ENERGY_ONE
    }
}

/// The sums to which terms add.
#[derive(Clone, Copy)]
pub struct Sums<'a> {
    /// Forces on all atoms (3N).
    pub forces: &'a Buffer<i64>,
    /// Energies and virials ([`ENERGY_SLOTS`]).
    pub energies: &'a Buffer<i64>,
    /// Whether energies and the virial are wanted, too.
    pub with_energy: bool,
}

impl Sums<'_> {
    /// Refuses buffers that are too short for so many atoms.
    fn hold(self, n_atoms: usize) -> Result<(), DeviceError> {
        self.forces.holds(3 * n_atoms)?;
        self.energies.holds(if self.with_energy { ENERGY_SLOTS } else { 0 })
    }
}

/// Why a term cannot be computed on a device.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DeviceTermError {
    /// Settings that make no sense.
    #[error(transparent)]
    LennardJones(#[from] LennardJonesError),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// Restraints without the positions they hold.
    #[error("position restraints need reference positions of all {expected} atoms, there are {found}")]
    References {
        /// Number of atoms.
        expected: usize,
        /// Number of positions.
        found: usize,
    },
}
