//! Work made of runs: one run ([`run`]), a titration ([`titrate`]), a calibration ([`calibrate`]).

pub mod calibrate;
pub mod calibrate_report;
pub mod children;
pub mod many;
pub mod run;
pub mod statistics;
pub mod titrate;
pub mod titrate_report;
