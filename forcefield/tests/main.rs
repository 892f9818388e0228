//! Readers and energies against GROMACS: one binary, so that it is linked once.

mod bad_topology;
mod energies;
mod grompp;
mod openmm;
mod structure;
mod variants;
