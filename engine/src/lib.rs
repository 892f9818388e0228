//! octitrate.

pub mod atomic;
pub mod barostat;
pub mod cell;
pub mod checkpoint;
pub mod com;
pub mod config;
pub mod constraints;
pub mod device;
pub mod electrostatics;
pub mod error;
pub mod frame;
pub mod hamiltonian;
pub mod integrator;
pub mod minimise;
pub mod output;
pub mod propagate;
pub mod random;
pub mod record;
pub mod signals;
pub mod simulation;
pub mod system;
pub mod thermostat;
pub mod titration;
#[cfg(test)]
mod toy;
pub mod workflow;
