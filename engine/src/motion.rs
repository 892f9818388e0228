//! How atoms move: leap-frog, constraints, thermostats, barostat, motion of the centre of mass, minimisation.

pub mod barostat;
pub(crate) mod com;
pub mod constraints;
pub mod device;
pub mod langevin;
pub mod leapfrog;
pub(crate) mod minimise;
pub mod thermostat;
