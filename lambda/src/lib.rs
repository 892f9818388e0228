//! λ-dynamics for constant pH: titratable sites, their coordinates, biases, motion, and what a titration means.
//!
//! This crate knows sites and charges, and nothing of trees: charges go down to the electrostatics, potentials come up
//! ([`interpolation`]). A site has forms (protonated, deprotonated, tautomers) with weights that sum to one and follow from coordinates that
//! move ([`coordinate`]); for two forms λ is the weight of the second, deprotonated one.
//!
//! The potential of λ is V = V_forcefield + V_MM + V_pH + V_barrier + walls ([`bias`]), the motion is a leap-frog with constraints and a
//! thermostat of its own ([`motion`]), and [`analysis`] turns λ(t) into fractions, pKa and errors.
//!
//! Units: nm, ps, u, e, kJ/mol, K; λ has no unit and its mass is in u nm².

pub mod analysis;
pub mod bias;
pub mod coordinate;
pub mod device;
pub mod interpolation;
pub mod library;
pub mod motion;
pub mod site;
pub mod values;

pub use library::SiteLibrary;
pub use motion::{LambdaDynamics, LambdaState};
pub use site::{Site, find_sites};
pub use values::{SiteLayout, SiteValues};

/// The former name of [`interpolation`].
#[doc(hidden)]
pub use interpolation as hamiltonian;

/// The former name of [`motion`].
#[doc(hidden)]
pub mod dynamics {
    pub use crate::motion::*;
    pub(crate) mod constraints {
        pub(crate) use crate::motion::constraints::{ACCEPTED, MAX_ITERATIONS, TOLERANCE};
        pub(crate) fn scale(dynamics: &crate::motion::LambdaDynamics) -> f64 {
            dynamics.charge_scale()
        }
    }
}
