//! How atoms move: leap-frog, constraints, thermostats, barostat, motion of the centre of mass, minimisation.

pub mod barostat;
pub mod com;
pub mod constraints;
pub mod device;
pub mod langevin;
pub mod leapfrog;
pub mod minimise;
pub mod thermostat;
