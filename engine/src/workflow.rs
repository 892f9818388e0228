//! Work made of runs: one run ([`run`]), a titration ([`titrate`], [`exchange`]), a calibration ([`calibrate`]); pKa values from runs ([`pka`]),
//! energies of the frames of a trajectory ([`rerun`]).
//!
//! [`children`] holds and starts the runs of a job that is made of many, [`many`] takes such a job from its first run to its report; [`starts`] finds what has to run before it.

pub mod calibrate;
pub mod children;
pub mod drift;
pub mod exchange;
pub mod folder;
pub mod many;
pub mod pka;
pub mod rerun;
pub mod run;
pub mod starts;
pub mod titrate;
pub mod until;
