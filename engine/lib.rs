//! octitrate.

pub mod config;
pub mod error;
pub mod output;
pub mod checkpoint;
pub mod signals;
pub mod workflow;
pub mod cell;
pub mod com;
pub mod constraints;
pub mod integrator;
pub mod random;
pub mod minimise;
pub mod barostat;
pub mod thermostat;
#[cfg(test)]
mod toy;
