//! From the tables that runs left behind to what they say: pKa values, free energies of model compounds, mixing of replicas.
//!
//! Everything here reads folders of runs, whoever made them; nothing is written but by [`crate::report`].

pub mod background;
pub mod calibration;
pub mod comparison;
pub mod energies;
pub mod finite_box;
pub mod job;
pub mod ladders;
pub mod measured;
pub mod mixing;
pub mod pka;
mod pure;
pub mod reduced;
pub mod runs;
pub mod until;
