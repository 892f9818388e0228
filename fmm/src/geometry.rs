//! Where things are: boundary conditions, boxes, the tree, particles in boxes, pairs to skip.

pub(crate) mod assignment;
pub(crate) mod boundary;
pub mod exclusions;
pub(crate) mod grid;
pub(crate) mod tree;
