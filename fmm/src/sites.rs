//! Sites: what a small group of particles does to itself, with several charge vectors at once.
//!
//! Boxes, operators, lattice sums and the trace term are those of the whole evaluation, so that the potentials are equal to rounding to those of
//! a whole evaluation in which all other charges are zero. The cost follows the particles, boxes and charge vectors of the group, not the size
//! of the whole tree.

pub(crate) mod boxes;
pub(crate) mod evaluation;
pub(crate) mod operators;
mod potentials;

pub use potentials::GroupPotentials;
