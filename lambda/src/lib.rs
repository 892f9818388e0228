//! λ-dynamics for constant pH: titratable sites, their coordinates, biases, motion, and what a titration means.
//!
//! This crate knows sites and charges, and nothing of trees: charges go down to the electrostatics, potentials come up
//! ([`interpolation`]). A [`site`] has forms (protonated, deprotonated, tautomers) whose weights sum to one and follow from coordinates
//! that move ([`coordinate`]); for two forms λ is the weight of the second, deprotonated one.
//!
//! The potential of λ is V = V_forcefield + V_MM + V_pH + V_barrier + walls ([`bias`]), the motion is a leap-frog with constraints and a
//! thermostat of its own ([`motion`]), and [`analysis`] turns λ(t) into fractions, pKa and errors. Values of all sites are flat lists with
//! a layout, indexed by site ([`values`]).
//!
//! ```
//! use lambda::coordinate::{Coordinate, MASS};
//! use lambda::motion::{LambdaDynamics, LambdaSettings, SiteMotion};
//!
//! // A site of two forms in the potential V = 20 kJ/mol (λ − 0.3)², for 10 ps without a thermostat.
//! let settings = LambdaSettings { time_step: 0.002, temperature: 300.0, coupling_time: None, seed: 1 };
//! let site = SiteMotion { coordinate: Coordinate::Linear, n_forms: 2, mass: MASS, charges: vec![0.0, -1.0] };
//! let dynamics = LambdaDynamics::new(settings, vec![site], None)?;
//! let mut state = dynamics.initial_state(&[0.7, 0.3])?;
//! let mut energies = Vec::new();
//! for step in 0..5000 {
//!     let lambda = dynamics.weights(&state).site(0)[1];
//!     let kinetic = dynamics.step(&mut state, &[0.0, 40.0 * (lambda - 0.3)], step)?.kinetic;
//!     energies.push(kinetic + 20.0 * (lambda - 0.3).powi(2));
//! }
//! assert!(energies.iter().all(|energy| (energy - energies[0]).abs() < 1e-4 * energies[0]));
//! # Ok::<(), lambda::motion::DynamicsError>(())
//! ```
//!
//! `examples/dvdl.rs` goes from atoms to ∂V/∂λ and on to λ(t).
//!
//! Units: nm, ps, u, e, kJ/mol, K; λ has no unit and its mass is in u nm².

#![forbid(unsafe_code)]

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
