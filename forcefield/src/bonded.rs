//! Bonded terms: everything that acts along the chemical bonds of a molecule.
//!
//! Molecules must be whole (no periodic wrapping is done here). Forces are added to `f`, in kJ/mol/nm; every term returns
//! its energy and virial trace W = Σ r·F in kJ/mol, which is zero for angles and dihedrals because they do not change
//! under uniform scaling. Sums run in the order of the topology and so do not depend on the number of threads.

pub mod angle;
pub mod bond;
pub mod cmap;
pub mod dihedral;
#[cfg(test)]
pub(crate) mod finite_difference;
pub mod improper;
pub mod ryckaert_bellemans;
pub mod urey_bradley;

use nalgebra::Vector3;

use crate::energy::TermEnergy;
use crate::topology::Topology;
use cmap::CmapSpline;

/// Energies of the bonded terms of a system.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BondedEnergies {
    /// Harmonic bonds.
    pub bonds: TermEnergy,
    /// Harmonic angles.
    pub angles: TermEnergy,
    /// Urey–Bradley angles (angle and 1-3 distance together).
    pub urey_bradley: TermEnergy,
    /// Periodic dihedrals that are not impropers.
    pub proper_dihedrals: TermEnergy,
    /// Harmonic impropers and periodic dihedrals marked as improper.
    pub improper_dihedrals: TermEnergy,
    /// Ryckaert–Bellemans dihedrals.
    pub ryckaert_bellemans: TermEnergy,
    /// Correction maps.
    pub cmap: TermEnergy,
}

impl BondedEnergies {
    /// Sum of all terms.
    pub fn total(&self) -> TermEnergy {
        self.bonds
            + self.angles
            + self.urey_bradley
            + self.proper_dihedrals
            + self.improper_dihedrals
            + self.ryckaert_bellemans
            + self.cmap
    }
}

/// The part of the bonded terms that depends on the topology alone and is worked out once: the spline surfaces of its correction maps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bonded {
    surfaces: Vec<CmapSpline>,
}

impl Bonded {
    /// Prepare the bonded terms of `top`.
    pub fn new(top: &Topology) -> Self {
        Self { surfaces: top.cmap_grids.iter().map(CmapSpline::new).collect() }
    }

    /// All bonded terms of `top` (the topology given to [`Bonded::new`]) at positions `x` (nm, length = number of atoms);
    /// forces are added to `f` (same length).
    pub fn evaluate(&self, top: &Topology, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> BondedEnergies {
        let mut sum = BondedEnergies::default();
        for bond in top.bonds.iter().chain(&top.distances) {
            sum.bonds += bond::evaluate(bond, x, f);
        }
        for angle in &top.angles {
            sum.angles += angle::evaluate(angle, x, f);
        }
        for term in &top.urey_bradley {
            sum.urey_bradley += urey_bradley::evaluate(term, x, f);
        }
        for term in &top.propers {
            let energy = dihedral::evaluate(term, x, f);
            if term.improper {
                sum.improper_dihedrals += energy;
            } else {
                sum.proper_dihedrals += energy;
            }
        }
        for term in &top.harmonic_impropers {
            sum.improper_dihedrals += improper::evaluate(term, x, f);
        }
        for term in &top.ryckaert_bellemans {
            sum.ryckaert_bellemans += ryckaert_bellemans::evaluate(term, x, f);
        }
        for term in &top.cmaps {
            sum.cmap += cmap::evaluate(term, &self.surfaces[term.grid as usize], x, f);
        }
        sum
    }
}

/// Evaluates all bonded terms of `top` at `x` (nm) once. Who does so repeatedly keeps a [`Bonded`], which holds the correction maps' surfaces.
pub fn evaluate(top: &Topology, x: &[Vector3<f64>], f: &mut [Vector3<f64>]) -> BondedEnergies {
    Bonded::new(top).evaluate(top, x, f)
}
