//! The whole program and its library on real systems: one binary, so that it is linked once.

mod chains;
mod config;
mod device;
mod drift;
mod dvdl;
mod exchange;
mod fmm;
mod folders;
mod fuzz;
mod gromacs;
mod lists;
mod manual;
mod openmm;
mod pka;
mod plans;
mod provenance;
mod replicas;
mod rerun;
mod restart;
mod restraints;
mod schema;
mod simulation;
mod titration;
mod triclinic;
mod variants;
mod virtual_sites;
