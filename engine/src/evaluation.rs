//! From the tables that runs left behind to what they say: pKa values, free energies of model compounds, mixing of replicas.
//!
//! Everything here reads folders of runs, whoever made them; nothing is written but by [`crate::report`].

pub(crate) mod background;
pub(crate) mod calibration;
pub mod comparison;
pub mod energies;
pub mod finite_box;
pub(crate) mod job;
pub mod ladders;
pub mod measured;
pub(crate) mod mixing;
pub mod pka;
mod pure;
pub(crate) mod reduced;
pub mod runs;
pub mod until;
