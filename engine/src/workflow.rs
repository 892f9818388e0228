//! Work made of runs: one run ([`run`]), a titration ([`titrate`]), a calibration ([`calibrate`]); pKa values from runs ([`pka`]).

pub mod calibrate;
pub mod calibrate_report;
pub mod calibrate_result;
pub mod children;
pub mod exchange;
mod exchange_leg;
pub mod exchange_report;
mod exchange_state;
pub mod many;
pub mod pka;
pub mod pka_plots;
pub mod pka_report;
pub mod pka_runs;
pub mod pka_tables;
pub mod run;
pub mod titrate;
