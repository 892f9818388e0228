//! The whole program and its library on real systems: one binary, so that it is linked once.

mod chains;
mod config;
mod device;
mod dvdl;
mod fmm;
mod fuzz;
mod gromacs;
mod pka;
mod replicas;
mod restart;
mod simulation;
mod titration;
