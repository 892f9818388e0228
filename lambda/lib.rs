//! λ-dynamics for constant pH: titratable sites, their coordinates, biases, motion, and what a titration means.
//!
//! This crate knows sites and charges, and nothing of trees: charges go down to the electrostatics, potentials come up
//! ([`hamiltonian`]). A site has forms (protonated, deprotonated) with weights that sum to one; the linear coordinate of a
//! site with two forms is λ, the weight of the deprotonated form ([`coordinate::linear`]).
//!
//! The potential of λ is V = V_forcefield + V_MM + V_pH + V_barrier + walls ([`bias`]), the motion is a leap-frog with a
//! thermostat of its own ([`dynamics`]), and [`analysis`] turns λ(t) into fractions, pKa and errors.
//!
//! Units: nm, ps, u, e, kJ/mol, K; λ has no unit and its mass is in u nm².

pub mod bias;
pub mod device;
pub mod dynamics;
pub mod hamiltonian;
pub mod library;
pub mod site;

/// Coordinates that carry the weights of a site's forms.
pub mod coordinate {
    pub mod linear;
}

/// From λ(t) to fractions, pKa and calibration curves, each with errors.
pub mod analysis {
    pub mod blocks;
    pub mod bootstrap;
    pub mod fractions;
    pub mod hill;
    pub mod polynomial;
    #[cfg(test)]
    pub(crate) mod synthetic;
    pub mod titration;
}

pub use device::DeviceSites;
pub use dynamics::{LambdaDynamics, LambdaState};
pub use library::SiteLibrary;
pub use site::{Site, find_sites};
