//! λ-dynamics for constant pH: titratable sites, their coordinates, biases, motion, and what a titration means.
//!
//! This crate knows sites and charges, and nothing of trees: charges go down to the electrostatics, potentials come up
//! ([`hamiltonian`]). A site has forms (protonated, deprotonated, tautomers) with weights that sum to one and follow from coordinates that
//! move ([`coordinate`]); for two forms λ is the weight of the second, deprotonated one.
//!
//! The potential of λ is V = V_forcefield + V_MM + V_pH + V_barrier + walls ([`bias`]), the motion is a leap-frog with constraints and a
//! thermostat of its own ([`dynamics`]), and [`analysis`] turns λ(t) into fractions, pKa and errors.
//!
//! Units: nm, ps, u, e, kJ/mol, K; λ has no unit and its mass is in u nm².

pub mod bias;
pub mod coordinate;
pub mod device;
pub mod dynamics;
pub mod hamiltonian;
pub mod library;
pub mod site;

/// From λ(t) to fractions, pKa and calibration curves, each with errors.
pub mod analysis {
    pub mod blocks;
    pub mod bootstrap;
    pub mod counted;
    pub mod ends;
    pub mod equilibrium;
    pub mod flatness;
    pub mod hill;
    pub mod histogram;
    pub mod occupancy;
    pub mod pairs;
    pub mod simplex_fit;
    #[cfg(test)]
    pub(crate) mod synthetic;
    pub mod titration;
}

pub use dynamics::{LambdaDynamics, LambdaState};
pub use library::SiteLibrary;
pub use site::{Site, find_sites};
