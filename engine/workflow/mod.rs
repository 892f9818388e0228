//! Work made of runs: one run ([`run`]), a titration ([`titrate`]), a calibration ([`calibrate`]).

pub mod run;
