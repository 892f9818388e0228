//! octitrate.

pub mod atomic;
pub mod backend;
pub mod charges;
pub mod checkpoint;
pub mod config;
pub mod device;
pub mod energies;
pub mod error;
pub mod evaluation;
pub mod fragments;
pub mod frame;
pub mod motion;
pub mod output;
pub mod propagate;
pub mod random;
pub mod record;
pub mod report;
pub mod signals;
pub mod simulation;
pub mod state;
pub mod system;
pub mod titration;
#[cfg(test)]
mod toy;
pub mod workflow;
