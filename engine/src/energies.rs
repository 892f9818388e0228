//! Every term of the potential energy, whoever computed it.
//!
//! Units: kJ/mol.

use crate::error::{PhysicsError, Result};
use crate::frame::Quantity;
use forcefield::Topology;
use forcefield::bonded::BondedEnergies;
use nalgebra::Vector3;

/// Every term of the potential energy (kJ/mol).
#[derive(Clone, Copy, Debug, Default)]
pub struct Energies {
    /// Bonds, angles, dihedrals, correction maps.
    pub bonded: BondedEnergies,
    /// Lennard-Jones within the cut-off.
    pub lennard_jones: f64,
    /// Lennard-Jones of 1-4 pairs.
    pub lennard_jones_14: f64,
    /// Dispersion beyond the cut-off.
    pub dispersion: f64,
    /// Coulomb of the effective charges, images included, 1-4 pairs excluded.
    pub coulomb: f64,
    /// Coulomb of 1-4 pairs.
    pub coulomb_14: f64,
    /// What V linear in the weights adds: `Σ_s ( Σ_α λ_sα W_s[q^α] − W_s[q] )`.
    pub interpolation: f64,
    /// Position restraints.
    pub restraints: f64,
    /// Trace of the virial Σ r·F of all terms.
    pub virial: f64,
}

impl Energies {
    /// The terms with the names they have in files.
    pub fn terms(&self) -> [Quantity; 14] {
        let b = &self.bonded;
        [
            ("bonds", b.bonds.energy),
            ("angles", b.angles.energy),
            ("Urey-Bradley", b.urey_bradley.energy),
            ("proper dihedrals", b.proper_dihedrals.energy),
            ("improper dihedrals", b.improper_dihedrals.energy),
            ("Ryckaert-Bellemans", b.ryckaert_bellemans.energy),
            ("CMAP", b.cmap.energy),
            ("Lennard-Jones", self.lennard_jones),
            ("Lennard-Jones 1-4", self.lennard_jones_14),
            ("dispersion correction", self.dispersion),
            ("Coulomb", self.coulomb),
            ("Coulomb 1-4", self.coulomb_14),
            ("interpolation", self.interpolation),
            ("position restraints", self.restraints),
        ]
        .map(|(name, value)| Quantity { name, unit: "kJ/mol", value })
    }

    /// Their sum.
    pub fn potential(&self) -> f64 {
        self.terms().iter().map(|term| term.value).sum()
    }

    /// Refuses energies or `forces` that are not finite, and names the term and the atom.
    ///
    /// # Errors
    /// [`PhysicsError`].
    pub fn check(&self, forces: &[Vector3<f64>], topology: &Topology) -> Result<()> {
        let term = self.terms().into_iter().find(|term| !term.value.is_finite());
        let atom = forces.iter().position(|force| !force.iter().all(|f| f.is_finite()));
        if term.is_none() && atom.is_none() {
            return Ok(());
        }
        Err(PhysicsError {
            message: "the energy or a force is not a finite number".into(),
            term: term.map_or("forces", |term| term.name).into(),
            atom: atom.map(|atom| topology.label(atom as u32)),
            help: "atoms that overlap: minimise first, or use a shorter time step".into(),
            ..PhysicsError::default()
        }
        .into())
    }
}
