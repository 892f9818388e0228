//! Constant-pH molecular dynamics with a built-in fast multipole method, as a library.
//!
//! A job file says what is simulated and how ([`Config`]). A [`Simulation`] holds the system it describes and moves it in time
//! ([`Propagate`]); between two steps its energies, forces and the weights λ of the forms of every titratable site can be read and set.
//! Units are nm, ps, u, e, kJ/mol and K.
//!
//! ```
//! use octitrate::{Config, Propagate, Simulation};
//!
//! # fn main() -> octitrate::Result<()> {
//! let config = Config::load("inputs/01-glu/run.toml")?;
//! let mut simulation = Simulation::new(&config)?;
//! simulation.prepare(&mut |_| Ok(()))?;
//! simulation.advance(5)?;
//! let weights = simulation.weights()?;
//! println!("after {} steps λ of the first site is {:.3}", simulation.step(), weights.site(0)[1]);
//! # assert_eq!(simulation.step(), 5);
//! # assert!((weights.site(0).iter().sum::<f64>() - 1.0).abs() < 1e-12);
//! # assert!(weights.iter().all(|weight| (-0.2..=1.2).contains(weight)));
//! # Ok(())
//! # }
//! ```
//!
//! Nothing is written unless it is asked for. [`workflow::run::run`] does what the command `octitrate run` does: outputs, checkpoints,
//! continuation. `engine/examples/run.rs` drives a run step by step.
//!
//! The modules stand on each other, the first on all that follow:
//!
//! | module | holds |
//! |---|---|
//! | [`workflow`] | jobs made of runs: one run, titrations, calibrations, pKa values |
//! | [`report`] | pages, plots and tables for people |
//! | [`evaluation`] | from the tables of runs to pKa values, free energies and mixing |
//! | [`output`] | the files of a run |
//! | [`simulation`] | a state that moves |
//! | [`backend`] | what moves it: the CPU, or a GPU |
//! | [`state`], [`system`] | what changes in a simulation, and what does not; sites and their biases ([`titration`]) |
//! | [`trajectory`] | frames in TRR and XTC files |
//! | [`motion`] | integrator, constraints, thermostat, barostat, minimisation |
//! | [`config`] | the job file |
//! | [`error`] | what can go wrong, in sentences |

#![forbid(unsafe_code)]
// `output::screen` writes without a panic.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

pub mod backend;
pub mod charges;
pub mod checkpoint;
pub mod energies;
pub mod evaluation;
pub mod fragments;
pub mod frame;
pub mod invocation;
pub mod motion;
pub mod output;
mod packed;
pub mod propagate;
mod random;
pub mod record;
pub mod report;
mod selection;
pub mod signals;
pub mod simulation;
pub mod state;
pub mod system;
pub mod titration;
#[cfg(test)]
mod toy;
pub mod trajectory;
pub mod workflow;

pub use settings::{atomic, config, error, fading, text};

pub use config::Config;
pub use error::{Error, Result};
pub use propagate::Propagate;
pub use simulation::Simulation;
